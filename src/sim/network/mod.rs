//! The network: links, and flows that share them max-min fairly.
//!
//! A [`Link`] has a capacity in data per unit of time, and a latency; the caller chooses the units. A flow is released
//! over a route of distinct links, uses bandwidth once the latencies of all its links have elapsed, and ends when its
//! volume has been transferred. A flow without volume ends when it becomes active; over an empty route data needs no
//! time. A link `l` with `N` active flows has a usable capacity of `capacity * efficiency(N)` ([`Efficiency::of`]); `N`
//! includes flows that other links limit. Rates are max-min fair: all rates rise together, and a rate stops when one of
//! its links is full. Rates change only when a flow starts or ends.
//!
//! ```
//! use hansa_sim::network::{Efficiency, Flows, Link, LinkId, Mode};
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
//! A simulation with other events advances to the earlier of its next event and [`Flows::next_change`], handles the
//! flows that have ended, starts new ones, and repeats. [`Transfers`] is the same in whole microseconds of virtual
//! time.

mod carrier;
mod exchange;
mod faults;
mod flows;
mod link;
mod lone;
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
pub use flows::{EndedFlow, FlowId, FlowMoment, FlowTime, Flows, RouteId};
pub use link::{Efficiency, Link, LinkId, Mode};
pub use lone::LoneTimes;
pub use map::{AdjacencyMap, Hop};
pub use model::{Duplex, EFFICIENCIES, MODES, Model};
pub use paths::Paths;
pub use stager::{Staged, Stager};
pub use transfers::Transfers;
