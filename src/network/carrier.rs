//! Carries data from site to site for an actor at the hub: requests in, arrivals out.
//!
//! Where one service uses the network, its carrier holds the flows itself and spends no message on them: a timer is all. Where
//! several do, the flows are with the [`Exchange`](super::Exchange), and the carrier asks it.

use std::collections::BTreeMap;

use super::flows::{FlowId, RouteId};
use super::{Paths, Transfers};
use crate::kernel::{ActorId, Outbox};
use crate::protocol::{Landed, Message, Ship};
use crate::time::Time;

/// The network as a service sees it. Each load bears a note for its owner.
///
/// At each of its moments the owner first takes what has [`arrived`](Carrier::arrived), then [`sends`](Carrier::send)
/// what is to go out, and at last asks to be [`woken`](Carrier::wake) when there is something again.
pub struct Carrier<T> {
    paths: Paths,
    /// By load.
    notes: Vec<Option<T>>,
    flows: Held,
}

/// What a service is told of the network.
pub struct Network {
    pub paths: Paths,
    /// Who holds the flows where others use the network too, and the numbers that it knows the service's sites by.
    pub shared: Option<(ActorId, Vec<u32>)>,
}

impl Network {
    pub fn carrier<T>(self) -> Carrier<T> {
        match self.shared {
            Some((exchange, sites)) => Carrier::over(exchange, sites, self.paths),
            None => Carrier::new(self.paths),
        }
    }
}

impl From<Paths> for Network {
    fn from(paths: Paths) -> Network {
        Network { paths, shared: None }
    }
}

/// Where the flows are.
enum Held {
    Here(Box<Flows>),
    /// Numbers of loads are given again once these have arrived.
    There {
        exchange: ActorId,
        sites: Vec<u32>,
        free: Vec<u64>,
        landed: Vec<u64>,
    },
}

struct Flows {
    transfers: Transfers,
    routes: BTreeMap<(u32, u32), RouteId>,
    ended: Vec<FlowId>,
    /// The earliest of the timers that are set for a change of the transfers.
    alarm: Option<Time>,
}

impl<T> Carrier<T> {
    /// Capacities are in bytes a microsecond, latencies in microseconds.
    pub fn new(paths: Paths) -> Carrier<T> {
        let flows = Flows {
            transfers: Transfers::new(paths.links.clone()),
            routes: BTreeMap::new(),
            ended: Vec::new(),
            alarm: None,
        };
        Carrier { paths, notes: Vec::new(), flows: Held::Here(Box::new(flows)) }
    }

    /// The same where others use the network too: `sites` are the numbers that it knows the owner's sites by.
    fn over(exchange: ActorId, sites: Vec<u32>, paths: Paths) -> Carrier<T> {
        let flows = Held::There { exchange, sites, free: Vec::new(), landed: Vec::new() };
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
    pub fn send<R>(
        &mut self,
        now: Time,
        (from, to): (u32, u32),
        bytes: u64,
        note: T,
        out: &mut Outbox<Message, R>,
    ) -> Time {
        let paths = &self.paths;
        let load = match &mut self.flows {
            Held::Here(flows) => flows.start(now, paths, (from, to), bytes).index(),
            Held::There { exchange, sites, free, .. } => {
                let load = free.pop().unwrap_or(self.notes.len() as u64);
                let [from, to] = [from, to].map(|site| sites[site as usize]);
                out.send(*exchange, Message::Ship(Ship { load, from, to, bytes, edge: None }));
                load as usize
            }
        };
        if self.notes.len() <= load {
            self.notes.resize_with(load + 1, || None);
        }
        self.notes[load] = Some(note);
        // Latencies are whole microseconds, and so are their sums as far as a clock reaches.
        Time::from_micros(now.micros() + paths.latency(from as usize, to as usize) as u64)
    }

    /// Takes in what the exchange tells; `from` is who does.
    pub fn hear(&mut self, from: ActorId, Landed { load }: Landed) {
        if let Held::There { exchange, landed, .. } = &mut self.flows
            && from == *exchange
        {
            landed.push(load);
        }
    }

    /// Moves on to `now`, and gives the notes of all flows that have ended by then, in order of their end.
    pub fn arrived(&mut self, now: Time) -> Vec<T> {
        let notes = &mut self.notes;
        let mut note = |load: usize| notes[load].take().expect("a flow ends once");
        match &mut self.flows {
            Held::Here(flows) => {
                flows.transfers.advance(now, &mut flows.ended);
                flows.ended.drain(..).map(|flow| note(flow.index())).collect()
            }
            Held::There { free, landed, .. } => {
                free.extend_from_slice(landed);
                landed.drain(..).map(|load| note(load as usize)).collect()
            }
        }
    }

    /// Asks for a moment when something may have ended, if that has not been asked for yet.
    pub fn wake<M, R>(&mut self, now: Time, out: &mut Outbox<M, R>) {
        if let Held::Here(flows) = &mut self.flows {
            flows.wake(now, out);
        }
    }
}

impl Flows {
    fn start(&mut self, now: Time, paths: &Paths, (from, to): (u32, u32), bytes: u64) -> FlowId {
        let transfers = &mut self.transfers;
        let route = self.routes.entry((from, to));
        let route = *route.or_insert_with(|| transfers.flows().route(paths.route(from as usize, to as usize)));
        transfers.start(now, route, bytes)
    }

    fn wake<M, R>(&mut self, now: Time, out: &mut Outbox<M, R>) {
        if self.alarm.is_some_and(|alarm| alarm <= now) {
            self.alarm = None;
        }
        if let Some(next) = self.transfers.next_change()
            && self.alarm.is_none_or(|alarm| next < alarm || next == now)
        {
            out.wake_at(next, 0);
            self.alarm = Some(next);
        }
    }
}
