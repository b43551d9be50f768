//! Carries data from site to site for an actor at the hub: requests in, arrivals out, and a timer between.

use std::collections::BTreeMap;

use super::flows::{FlowId, RouteId};
use super::{Paths, Transfers};
use crate::kernel::Outbox;
use crate::time::Time;

/// The network of a run, kept by whoever decides what data goes where. Each load bears a note for its owner.
///
/// At each of its moments the owner first takes what has [`arrived`](Carrier::arrived), then [`sends`](Carrier::send)
/// what is to go out, and at last asks to be [`woken`](Carrier::wake) when there is something again.
pub struct Carrier<T> {
    paths: Paths,
    transfers: Transfers,
    routes: BTreeMap<(u32, u32), RouteId>,
    /// By flow.
    notes: Vec<Option<T>>,
    ended: Vec<FlowId>,
    /// The earliest of the timers that are set for a change of the transfers.
    alarm: Option<Time>,
}

impl<T> Carrier<T> {
    /// Capacities are in bytes a microsecond, latencies in microseconds.
    pub fn new(paths: Paths) -> Carrier<T> {
        Carrier {
            transfers: Transfers::new(paths.links.clone()),
            paths,
            routes: BTreeMap::new(),
            notes: Vec::new(),
            ended: Vec::new(),
            alarm: None,
        }
    }

    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Whether there are links that could hold data up; without, there is nothing to tell of transfers.
    pub fn has_limits(&self) -> bool {
        self.paths.links.iter().any(|link| link.capacity.is_finite())
    }

    /// Releases a flow between two sites, and says when it becomes active.
    pub fn send(&mut self, now: Time, (from, to): (u32, u32), bytes: u64, note: T) -> Time {
        let (paths, transfers) = (&self.paths, &mut self.transfers);
        let route = self.routes.entry((from, to));
        let route = *route.or_insert_with(|| transfers.flows().route(paths.route(from as usize, to as usize)));
        let flow = transfers.start(now, route, bytes);
        if self.notes.len() <= flow.index() {
            self.notes.resize_with(flow.index() + 1, || None);
        }
        self.notes[flow.index()] = Some(note);
        // Latencies are whole microseconds, and so are their sums as far as a clock reaches.
        Time::from_micros(now.micros() + paths.latency(from as usize, to as usize) as u64)
    }

    /// Moves on to `now`, and gives the notes of all flows that have ended by then, in order of their end.
    pub fn arrived(&mut self, now: Time) -> Vec<T> {
        self.transfers.advance(now, &mut self.ended);
        let notes = self.ended.drain(..).map(|flow| self.notes[flow.index()].take());
        notes.map(|note| note.expect("a flow ends once")).collect()
    }

    /// Asks for a moment when something may have ended, if that has not been asked for yet.
    pub fn wake<M, R>(&mut self, now: Time, out: &mut Outbox<M, R>) {
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
