//! Plans of conservative backfilling: over nodes by identity, or by count.

use std::ops::Range;

use super::labels::{Labels, Tenant};
use super::order::Waiting;
use super::{NodeRequest, Reserved, Step};
use crate::grid::{Calendar, Counts, NodeSet};
use crate::time::Time;

/// A plan of the nodes of a site over time, in which each waiting job has a place.
pub(super) trait NodePlan: Clone + Send + 'static {
    /// The nodes of a place: their identities, or only their number.
    type Room: Clone + Send;
    /// True if running jobs may be moved.
    const MOVES: bool;

    /// Nodes of a booking.
    fn room_of(booking: &Reserved) -> Self::Room;
    /// True if these nodes are free from start to end.
    fn is_room_free(&self, start: Time, end: Time, room: &Self::Room) -> bool;
    /// True if running jobs and bookings leave these nodes free.
    fn has_room<'a>(
        &self,
        running: impl Iterator<Item = (Time, &'a NodeSet)>,
        booked: &[Reserved],
        wanted: &Reserved,
    ) -> bool;
    /// True if a place obstructs a booking that has no room: they overlap where room is missing.
    fn is_in_way(&self, place: &PlannedJob<Self::Room>, booking: &Reserved) -> bool;
    /// Earliest place for a job; [`Time::NEVER`], without nodes, if time ends before it would.
    fn earliest_place(&self, from: Time, request: &NodeRequest) -> (Time, Self::Room);
    fn insert(&mut self, start: Time, end: Time, room: &Self::Room);
    fn remove(&mut self, start: Time, end: Time, room: &Self::Room);
    /// The place that a job would get if it were placed again: the earliest of `starts` before its own, or its own
    /// start with better nodes, provided that it does not lie after `starts`. None if the job stays.
    fn improved_place(
        &self,
        starts: Range<Time>,
        request: &NodeRequest,
        start: Time,
        room: &Self::Room,
    ) -> Option<(Time, Self::Room)>;
    fn advance_to(&mut self, now: Time);
    /// Nodes for a job that starts.
    fn take_nodes(&mut self, room: &Self::Room, until: Time) -> NodeSet;
    fn give_back(&mut self, nodes: &NodeSet);
    /// Reserves the nodes of a booking; running jobs and other bookings leave room for it.
    fn add_booking(&mut self, booking: &Reserved);
    /// Frees the rest of a booking.
    fn release_booking(&mut self, booking: &Reserved);
    fn advance_bookings<'a>(&mut self, now: Time, tenants: impl Iterator<Item = Tenant<'a>>, steps: &mut Vec<Step>);
    fn next_booking_change(&self) -> Option<Time>;
}

/// A job of the queue with its place; without a place if that is at [`Time::NEVER`].
#[derive(Clone)]
pub(super) struct PlannedJob<R> {
    pub waiting: Waiting,
    pub start: Time,
    pub room: R,
}

impl<R> PlannedJob<R> {
    pub fn request(&self) -> &NodeRequest {
        &self.waiting.request
    }

    pub fn end(&self) -> Time {
        self.start + self.request().walltime
    }
}

impl NodePlan for Calendar {
    type Room = NodeSet;
    const MOVES: bool = false;

    fn room_of(booking: &Reserved) -> NodeSet {
        booking.nodes.clone()
    }

    fn is_room_free(&self, start: Time, end: Time, nodes: &NodeSet) -> bool {
        !self.busy_over(start, end).meets(nodes)
    }

    fn has_room<'a>(
        &self,
        mut running: impl Iterator<Item = (Time, &'a NodeSet)>,
        booked: &[Reserved],
        wanted: &Reserved,
    ) -> bool {
        !running.any(|(until, nodes)| until > wanted.from && nodes.meets(&wanted.nodes))
            && !booked.iter().any(|other| other.meets(wanted))
    }

    fn is_in_way(&self, place: &PlannedJob<NodeSet>, booking: &Reserved) -> bool {
        place.start < booking.until && booking.from < place.end() && place.room.meets(&booking.nodes)
    }

    fn earliest_place(&self, from: Time, request: &NodeRequest) -> (Time, NodeSet) {
        let place = Calendar::earliest(self, from, request.walltime, request.nodes, Time::NEVER);
        place.filter(|(start, _)| request.in_time(*start) < Time::NEVER).unwrap_or((Time::NEVER, NodeSet::default()))
    }

    fn insert(&mut self, start: Time, end: Time, nodes: &NodeSet) {
        if start < Time::NEVER {
            Calendar::insert(self, start, end, nodes).expect("a place in the plan is free");
        }
    }

    fn remove(&mut self, start: Time, end: Time, nodes: &NodeSet) {
        if start < Time::NEVER {
            Calendar::remove(self, start, end, nodes).expect("what is planned is in the plan");
        }
    }

    fn improved_place(
        &self,
        starts: Range<Time>,
        request: &NodeRequest,
        start: Time,
        nodes: &NodeSet,
    ) -> Option<(Time, NodeSet)> {
        Calendar::improved(self, starts, start, request.walltime, nodes)
    }

    fn advance_to(&mut self, now: Time) {
        Calendar::advance(self, now);
    }

    fn take_nodes(&mut self, nodes: &NodeSet, _: Time) -> NodeSet {
        nodes.clone()
    }

    fn give_back(&mut self, _: &NodeSet) {}

    fn add_booking(&mut self, _: &Reserved) {}

    fn release_booking(&mut self, _: &Reserved) {}

    fn advance_bookings<'a>(&mut self, _: Time, _: impl Iterator<Item = Tenant<'a>>, _: &mut Vec<Step>) {}

    fn next_booking_change(&self) -> Option<Time> {
        None
    }
}

/// Nodes are only counted; a job gets its nodes when it starts.
#[derive(Clone)]
pub(super) struct Counted {
    nodes: u32,
    counts: Counts,
    labels: Labels,
}

impl Counted {
    pub fn new(nodes: u32) -> Counted {
        Counted { nodes, counts: Counts::default(), labels: Labels::new(nodes) }
    }
}

impl NodePlan for Counted {
    type Room = u32;
    const MOVES: bool = true;

    fn room_of(booking: &Reserved) -> u32 {
        booking.nodes.len()
    }

    fn is_room_free(&self, start: Time, end: Time, width: &u32) -> bool {
        self.counts.most(start, end) + width <= self.nodes
    }

    fn has_room<'a>(
        &self,
        running: impl Iterator<Item = (Time, &'a NodeSet)>,
        booked: &[Reserved],
        wanted: &Reserved,
    ) -> bool {
        leave_room(running.map(|(until, nodes)| (until, nodes.len())), booked, wanted, self.nodes)
    }

    fn is_in_way(&self, place: &PlannedJob<u32>, booking: &Reserved) -> bool {
        let from = place.start.max(booking.from);
        let until = place.end().min(booking.until);
        from < until && !self.is_room_free(from, until, &booking.nodes.len())
    }

    fn earliest_place(&self, from: Time, request: &NodeRequest) -> (Time, u32) {
        (request.in_time(self.counts.earliest(from, request.walltime, self.nodes - request.nodes)), request.nodes)
    }

    fn improved_place(
        &self,
        starts: Range<Time>,
        request: &NodeRequest,
        start: Time,
        width: &u32,
    ) -> Option<(Time, u32)> {
        // It has room where it overlaps its own place, as no more than all nodes are ever busy.
        let ahead = self.counts.earliest_ahead(starts, request.walltime, self.nodes - width, start)?;
        Some((ahead, *width))
    }

    fn insert(&mut self, start: Time, end: Time, width: &u32) {
        self.counts.insert(start, end, *width);
    }

    fn remove(&mut self, start: Time, end: Time, width: &u32) {
        self.counts.remove(start, end, *width);
    }

    fn advance_to(&mut self, now: Time) {
        self.counts.advance(now);
    }

    fn take_nodes(&mut self, width: &u32, until: Time) -> NodeSet {
        self.labels.take(*width, until)
    }

    fn add_booking(&mut self, booking: &Reserved) {
        self.labels.book(booking);
    }

    fn release_booking(&mut self, booking: &Reserved) {
        self.labels.release(booking);
    }

    fn advance_bookings<'a>(&mut self, now: Time, tenants: impl Iterator<Item = Tenant<'a>>, steps: &mut Vec<Step>) {
        self.labels.advance_bookings(now, tenants, steps);
    }

    fn give_back(&mut self, nodes: &NodeSet) {
        self.labels.give_back(nodes);
    }

    fn next_booking_change(&self) -> Option<Time> {
        self.labels.next()
    }
}

/// True if running jobs, each with its latest end and number of nodes, and bookings leave room for another booking on
/// `nodes` nodes in all.
pub(super) fn leave_room(
    running: impl Iterator<Item = (Time, u32)>,
    booked: &[Reserved],
    wanted: &Reserved,
    nodes: u32,
) -> bool {
    let running = running.filter(|(until, _)| *until > wanted.from).map(|(until, count)| (wanted.from, until, count));
    let set_aside = booked.iter().map(|booking| (booking.from, booking.until, booking.nodes.len()));
    let most = Counts::from_bookings(running.chain(set_aside)).most(wanted.from, wanted.until);
    most + wanted.nodes.len() <= nodes && !booked.iter().any(|other| other.meets(wanted))
}
