//! The network: links, and flows that share them max-min fairly.
//!
//! A [`Link`] has a capacity in data per unit of time and a latency; what unit that is, its user decides. A flow is
//! released over a route of distinct links, uses bandwidth once the latencies of all its links have elapsed, and has
//! ended when its volume has gone through. A flow without volume ends when it becomes active; over an empty route data
//! needs no time. Of a link `l` with `N` active flows, `capacity * efficiency(N)` can be used
//! ([`Efficiency::of`]); `N` counts flows that are held back elsewhere too. Rates are max-min fair: all flows grow
//! together, and stop when one of their links is full. They change only when a flow starts or ends.
//!
//! ```
//! use hansa::network::{Efficiency, Flows, Link, LinkId, Mode};
//!
//! let cable = Link { capacity: 100.0, latency: 1.0, efficiency: Efficiency::None, mode: Mode::Shared };
//! let mut flows = Flows::new(vec![cable]);
//! let route = flows.route(&[LinkId(0)]);
//! let long = flows.start(0.0, route, 400.0);
//! let short = flows.start(0.0, route, 100.0);
//!
//! let mut ended = Vec::new();
//! while let Some(next) = flows.next_change() {
//!     flows.advance(next, &mut ended);
//! }
//! let ends: Vec<_> = ended.iter().map(|ended| (ended.flow, ended.at)).collect();
//! assert_eq!(ends, [(short, 3.0), (long, 6.0)]);
//! ```
//!
//! A simulation that has events of its own takes the earlier of them and [`Flows::next_change`], advances to it,
//! handles what has ended, starts what that releases, and so on. [`Transfers`] is the same in whole microseconds of
//! virtual time.

mod carrier;
mod exchange;
mod faults;
mod flows;
mod link;
mod map;
mod model;
mod paths;
mod stager;
mod transfers;

#[cfg(test)]
pub(crate) mod judge;
#[cfg(test)]
mod tests;

pub use carrier::{ALARM, Carrier, Network};
pub use exchange::Exchange;
pub use faults::{Detours, FailureTarget, Faults};
pub use flows::{Ended, FlowId, FlowTime, Flows, Moment, RouteId};
pub use link::{Efficiency, Link, LinkId, Mode};
pub use map::{Hop, Map};
pub use model::{Duplex, EFFICIENCIES, MODES, Model};
pub use paths::Paths;
pub use stager::{Staged, Stager};
pub use transfers::Transfers;
