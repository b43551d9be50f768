//! Carries data from site to site for an actor at the hub: requests in, arrivals out.
//!
//! Where one service uses the network, its carrier holds the flows itself and spends no message on them: a timer is
//! all. Where several do, the flows are with the [`Exchange`](super::Exchange), and the carrier asks it.

use std::collections::BTreeMap;

use super::faults::Notice;
use super::flows::{FlowId, RouteId};
use super::transfers::after;
use super::{Faults, Paths, Transfers};
use crate::grid::EdgeId;
use crate::kernel::{ActorId, Outbox};
use crate::protocol::{Landed, Message, Record, Ship};
use crate::time::Time;

/// The network as a service sees it. Each load bears a note for its owner, who writes down that it was sent and
/// delivered; what links that fail do to it is written down here, or by the exchange.
///
/// At each of its moments the owner first takes what has [`arrived`](Carrier::arrived), then [`sends`](Carrier::send)
/// what is to go out, and at last asks to be [`woken`](Carrier::wake) when there is something again.
pub struct Carrier<T> {
    paths: Paths,
    /// By load: whose data it is, and what its owner wants to know of it.
    notes: Vec<Option<(EdgeId, T)>>,
    flows: Whereabouts,
}

/// What a service is told of the network.
pub struct Network {
    pub paths: Paths,
    /// How links fail, if any does and the flows are with the service.
    pub faults: Option<Faults>,
    /// Who holds the flows where others use the network too, and the numbers that it knows the service's sites by.
    pub shared: Option<(ActorId, Vec<u32>)>,
}

impl Network {
    pub fn carrier<T>(self) -> Carrier<T> {
        match self.shared {
            Some((exchange, sites)) => Carrier::over(exchange, sites, self.paths),
            None => Carrier::new(self.paths, self.faults),
        }
    }
}

impl From<Paths> for Network {
    fn from(paths: Paths) -> Network {
        Network { paths, faults: None, shared: None }
    }
}

/// Where the flows are.
enum Whereabouts {
    Here(Box<Local>),
    /// Numbers of loads are given again once these have arrived.
    There {
        exchange: ActorId,
        sites: Vec<u32>,
        free: Vec<u64>,
        landed: Vec<u64>,
    },
}

/// Marks the timers that [`Carrier::wake`] asks for.
pub const ALARM: u64 = 1;

/// Flows that are with their owner.
struct Local {
    transfers: Transfers,
    faults: Option<Faults>,
    routes: BTreeMap<(u32, u32), RouteId>,
    ended: Vec<FlowId>,
    /// The earliest of the timers that are set for a change of the transfers.
    alarm: Option<Time>,
}

impl<T> Carrier<T> {
    /// Capacities are in bytes a microsecond, latencies in microseconds.
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

    /// The same where others use the network too: `sites` are the numbers that it knows the owner's sites by.
    fn over(exchange: ActorId, sites: Vec<u32>, paths: Paths) -> Carrier<T> {
        let flows = Whereabouts::There { exchange, sites, free: Vec::new(), landed: Vec::new() };
        Carrier { paths, notes: Vec::new(), flows }
    }

    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Whether there are links that could hold data up; without, there is nothing to tell of transfers.
    pub fn has_limits(&self) -> bool {
        self.paths.links.iter().any(|link| link.capacity.is_finite())
    }

    /// Releases a flow between two sites, and says when it becomes active.
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
                (load as usize, after(now, paths.latency(from as usize, to as usize)))
            }
        };
        if self.notes.len() <= load {
            self.notes.resize_with(load + 1, || None);
        }
        self.notes[load] = Some((edge, note));
        active
    }

    /// Takes in what the exchange tells; `from` is who does.
    pub fn hear(&mut self, from: ActorId, Landed { load }: Landed) {
        if let Whereabouts::There { exchange, landed, .. } = &mut self.flows
            && from == *exchange
        {
            landed.push(load);
        }
    }

    /// Moves on to `now`, and gives the notes of all flows that have ended by then, in order of their end.
    pub fn arrived(&mut self, now: Time, out: &mut Outbox<Message, Record>) -> Vec<T> {
        let notes = &mut self.notes;
        let take = |notes: &mut Vec<Option<(EdgeId, T)>>, load: usize| notes[load].take().expect("a flow ends once").1;
        match &mut self.flows {
            Whereabouts::Here(flows) => {
                flows.advance(now);
                flows.tell(notes, out);
                flows.ended.drain(..).map(|flow| take(notes, flow.index())).collect()
            }
            Whereabouts::There { free, landed, .. } => {
                free.extend_from_slice(landed);
                landed.drain(..).map(|load| take(notes, load as usize)).collect()
            }
        }
    }

    /// Whether a flow has ended by now that has not been told of. An alarm may have been set for an end that has since
    /// become a later one.
    pub fn has_brought(&mut self, now: Time) -> bool {
        match &mut self.flows {
            Whereabouts::Here(flows) => {
                flows.advance(now);
                !flows.ended.is_empty()
            }
            Whereabouts::There { landed, .. } => !landed.is_empty(),
        }
    }

    /// Asks for a moment when something may have ended, if that has not been asked for yet.
    pub fn wake(&mut self, now: Time, out: &mut Outbox<Message, Record>) {
        if let Whereabouts::Here(flows) = &mut self.flows {
            flows.settle(now);
            flows.tell(&self.notes, out);
            flows.wake(now, out);
        }
    }
}

impl Local {
    fn start(&mut self, now: Time, paths: &Paths, ends: (u32, u32), bytes: u64) -> (FlowId, Time) {
        let transfers = &mut self.transfers;
        let route = self.routes.entry(ends);
        let way = || paths.route(ends.0 as usize, ends.1 as usize);
        let route = *route.or_insert_with(|| transfers.flows().route(&way()));
        match &mut self.faults {
            None => (transfers.start(now, route, bytes), after(now, transfers.flows().latency(route))),
            Some(faults) => faults.start(now, route, ends, bytes, transfers),
        }
    }

    fn advance(&mut self, now: Time) {
        match &mut self.faults {
            None => self.transfers.advance(now, &mut self.ended),
            Some(faults) => faults.advance(now, &mut self.transfers, &mut self.ended),
        }
    }

    /// Looks at what happened to links while nothing was under way.
    fn catch_up(&mut self, now: Time, out: &mut Outbox<Message, Record>) {
        if let Some(faults) = &mut self.faults {
            // Of flows there is nothing to tell.
            tell::<()>(faults.catch_up(now, self.transfers.flows()), &[], out);
        }
    }

    /// Local that have just been released may be on a way that is cut.
    fn settle(&mut self, now: Time) {
        if let Some(faults) = &mut self.faults {
            faults.settle(now, &[], self.transfers.flows());
        }
    }

    fn tell<T>(&mut self, notes: &[Option<(EdgeId, T)>], out: &mut Outbox<Message, Record>) {
        if let Some(faults) = &mut self.faults {
            tell(faults.take_notices(), notes, out);
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

/// Writes down what links that fail have done.
fn tell<T>(notices: Vec<Notice>, notes: &[Option<(EdgeId, T)>], out: &mut Outbox<Message, Record>) {
    let edge = |flow: FlowId| notes[flow.index()].as_ref().expect("what is told of is under way").0;
    for notice in notices {
        out.log(match notice {
            Notice::Turned { cable, is_up: false, since } => Record::LinkDown { link: cable, since },
            Notice::Turned { cable, is_up: true, since } => Record::LinkUp { link: cable, since },
            Notice::Stalled { flow, left } => Record::Stalled { edge: edge(flow), left },
            Notice::Continued { flow, left, via, active } => Record::Continued { edge: edge(flow), left, via, active },
        });
    }
}
