//! Transport of data between sites for an actor at the hub: requests in, arrivals out.
//!
//! If one service uses the network, its carrier holds the flows itself and needs timers only, no messages. If several
//! do, the [`Exchange`](super::Exchange) holds the flows, and the carrier sends it requests.

use std::collections::BTreeMap;

use super::faults::Notice;
use super::flows::{FlowId, RouteId};
use super::transfers::time_after;
use super::{Faults, Paths, Transfers};
use crate::grid::EdgeId;
use crate::kernel::{ActorId, Outbox};
use crate::protocol::{Landed, Message, Record, Ship};
use crate::time::Time;

/// A service's view of the network. Each load carries a note for its owner, which logs the start and the delivery of
/// the load; the effects of link failures are logged here, or by the exchange.
///
/// At each event the owner first takes the loads that have [arrived](Carrier::take_arrived), then
/// [`sends`](Carrier::send) new ones, and last sets a timer with [`wake`](Carrier::wake).
pub struct Carrier<T> {
    paths: Paths,
    /// Edge and owner's note of each load.
    notes: Vec<Option<(EdgeId, T)>>,
    flows: Whereabouts,
}

/// Configuration of the network for a service.
pub struct Network {
    pub paths: Paths,
    /// Link failures; None if links do not fail, or the exchange holds the flows.
    pub faults: Option<Faults>,
    /// The exchange and its numbers for the service's sites; None if the network is not shared.
    pub shared: Option<(ActorId, Vec<u32>)>,
}

impl Network {
    pub fn carrier<T>(self) -> Carrier<T> {
        match self.shared {
            Some((exchange, sites)) => Carrier::over_network(exchange, sites, self.paths),
            None => Carrier::new(self.paths, self.faults),
        }
    }
}

impl From<Paths> for Network {
    fn from(paths: Paths) -> Network {
        Network { paths, faults: None, shared: None }
    }
}

/// Location of the flows: in the owner, or in the exchange.
enum Whereabouts {
    Here(Box<Local>),
    /// In the exchange. Numbers of loads are reused after arrival.
    There {
        exchange: ActorId,
        sites: Vec<u32>,
        free: Vec<u64>,
        landed: Vec<u64>,
    },
}

/// Token of the timers that [`Carrier::wake`] sets.
pub const ALARM: u64 = 1;

/// Flows held by their owner.
struct Local {
    transfers: Transfers,
    faults: Option<Faults>,
    routes: BTreeMap<(u32, u32), RouteId>,
    ended: Vec<FlowId>,
    /// The earliest timer set for a change of the transfers.
    alarm: Option<Time>,
}

impl<T> Carrier<T> {
    /// Creates a carrier that holds its flows. Capacities are in bytes per microsecond, latencies in microseconds.
    pub fn new(paths: Paths, faults: Option<Faults>) -> Carrier<T> {
        let flows = Local {
            transfers: Transfers::new(paths.links.clone()),
            faults,
            routes: BTreeMap::new(),
            ended: Vec::new(),
            alarm: None,
        };
        Carrier { paths, notes: Vec::new(), flows: Whereabouts::Here(Box::new(flows)) }
    }

    /// Creates a carrier on a shared network; `sites` are the exchange's numbers of the owner's sites.
    fn over_network(exchange: ActorId, sites: Vec<u32>, paths: Paths) -> Carrier<T> {
        let flows = Whereabouts::There { exchange, sites, free: Vec::new(), landed: Vec::new() };
        Carrier { paths, notes: Vec::new(), flows }
    }

    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// True if a link can delay data; otherwise transfers are instant and need no report.
    pub fn has_limits(&self) -> bool {
        self.paths.links.iter().any(|link| link.capacity.is_finite())
    }

    /// Releases a flow between two sites and returns the time at which it becomes active.
    pub fn send(
        &mut self,
        now: Time,
        (from, to): (u32, u32),
        (edge, bytes): (EdgeId, u64),
        note: T,
        out: &mut Outbox<Message, Record>,
    ) -> Time {
        let paths = &self.paths;
        let (load, active) = match &mut self.flows {
            Whereabouts::Here(flows) => {
                flows.catch_up(now, out);
                let (flow, active) = flows.start(now, paths, (from, to), bytes);
                (flow.index(), active)
            }
            Whereabouts::There { exchange, sites, free, .. } => {
                let load = free.pop().unwrap_or(self.notes.len() as u64);
                let ends = [from, to].map(|site| sites[site as usize]);
                out.send(
                    *exchange,
                    Message::Ship(Ship { load, from: ends[0], to: ends[1], bytes, edge, on_behalf: false }),
                );
                (load as usize, time_after(now, paths.latency(from as usize, to as usize)))
            }
        };
        if self.notes.len() <= load {
            self.notes.resize_with(load + 1, || None);
        }
        self.notes[load] = Some((edge, note));
        active
    }

    /// Receives an arrival; ignored unless `from` is the exchange.
    pub fn take_landing(&mut self, from: ActorId, Landed { load }: Landed) {
        if let Whereabouts::There { exchange, landed, .. } = &mut self.flows
            && from == *exchange
        {
            landed.push(load);
        }
    }

    /// Advances to `now` and returns the notes of all flows that have ended by then, by end.
    pub fn take_arrived(&mut self, now: Time, out: &mut Outbox<Message, Record>) -> Vec<T> {
        let notes = &mut self.notes;
        match &mut self.flows {
            Whereabouts::Here(flows) => {
                flows.advance(now);
                flows.log_faults(notes, out);
                flows.ended.drain(..).map(|flow| take_note(notes, flow.index())).collect()
            }
            Whereabouts::There { free, landed, .. } => {
                free.extend_from_slice(landed);
                landed.drain(..).map(|load| take_note(notes, load as usize)).collect()
            }
        }
    }

    /// True if a flow that has not been taken has ended by `now`. A timer may have been set for an end that has moved
    /// to a later time since.
    pub fn has_brought(&mut self, now: Time) -> bool {
        match &mut self.flows {
            Whereabouts::Here(flows) => {
                flows.advance(now);
                !flows.ended.is_empty()
            }
            Whereabouts::There { landed, .. } => !landed.is_empty(),
        }
    }

    /// Sets a timer for the time at which a flow may end, unless an earlier one is set.
    pub fn wake(&mut self, now: Time, out: &mut Outbox<Message, Record>) {
        if let Whereabouts::Here(flows) = &mut self.flows {
            flows.settle_broken(now);
            flows.log_faults(&self.notes, out);
            flows.wake(now, out);
        }
    }
}

fn take_note<T>(notes: &mut [Option<(EdgeId, T)>], load: usize) -> T {
    notes[load].take().expect("a flow ends once").1
}

impl Local {
    fn start(&mut self, now: Time, paths: &Paths, ends: (u32, u32), bytes: u64) -> (FlowId, Time) {
        let transfers = &mut self.transfers;
        let route = self.routes.entry(ends);
        let route = *route.or_insert_with(|| transfers.flows().route(&paths.route(ends.0 as usize, ends.1 as usize)));
        match &mut self.faults {
            None => (transfers.start(now, route, bytes), time_after(now, transfers.flows().latency(route))),
            Some(faults) => faults.start(now, route, ends, bytes, transfers),
        }
    }

    fn advance(&mut self, now: Time) {
        match &mut self.faults {
            None => self.transfers.advance(now, &mut self.ended),
            Some(faults) => faults.advance(now, &mut self.transfers, &mut self.ended),
        }
    }

    /// Applies the link failures since the network was last in use.
    fn catch_up(&mut self, now: Time, out: &mut Outbox<Message, Record>) {
        if let Some(faults) = &mut self.faults {
            // No flow was under way, so there are no notes.
            log_notices::<()>(faults.catch_up(now, self.transfers.flows()), &[], out);
        }
    }

    /// Settles flows that have just been released on a broken route.
    fn settle_broken(&mut self, now: Time) {
        if let Some(faults) = &mut self.faults {
            faults.settle_stopped(now, &[], self.transfers.flows());
        }
    }

    fn log_faults<T>(&mut self, notes: &[Option<(EdgeId, T)>], out: &mut Outbox<Message, Record>) {
        if let Some(faults) = &mut self.faults {
            log_notices(faults.take_notices(), notes, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox<Message, Record>) {
        if self.alarm.is_some_and(|alarm| alarm <= now) {
            self.alarm = None;
        }
        let change = self.faults.as_ref().and_then(Faults::next);
        if let Some(next) = self.transfers.next_change().into_iter().chain(change).min()
            && self.alarm.is_none_or(|alarm| next < alarm || next == now)
        {
            out.wake_at(next, ALARM);
            self.alarm = Some(next);
        }
    }
}

/// Logs the effects of link failures.
fn log_notices<T>(notices: Vec<Notice>, notes: &[Option<(EdgeId, T)>], out: &mut Outbox<Message, Record>) {
    for notice in notices {
        out.log(match notice {
            Notice::Turned { cable, is_up: false, since } => Record::LinkDown { link: cable, since },
            Notice::Turned { cable, is_up: true, since } => Record::LinkUp { link: cable, since },
            Notice::Stalled { flow, left } => Record::Stalled { edge: flow_edge(flow, notes), left },
            Notice::Continued { flow, left, via, active } => {
                Record::Continued { edge: flow_edge(flow, notes), left, via, active }
            }
        });
    }
}

fn flow_edge<T>(flow: FlowId, notes: &[Option<(EdgeId, T)>]) -> EdgeId {
    notes[flow.index()].as_ref().expect("what is told of is under way").0
}
