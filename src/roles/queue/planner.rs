//! Conservative backfilling: a plan with a place for everybody in the queue, over nodes by identity or by count.

use std::collections::BTreeSet;

use super::counts::{Counts, leave_room};
use super::labels::{Labels, Tenant};
use super::{Ask, Policy, Reserved, Step};
use crate::grid::{Calendar, NodeSet, TaskId};
use crate::time::Time;

/// What becomes of the plan when a job ends before its walltime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replan {
    /// In order of the queue each is taken out and put back at the earliest place, with the others where they are.
    OneByOne,
    /// All are taken out, and put back in order of the queue.
    FromScratch,
}

pub(super) fn by_node(nodes: u32, reserved: &[Reserved], replan: Replan) -> Box<dyn Policy> {
    Box::new(Planner::new(Calendar::new(nodes), replan, reserved))
}

pub(super) fn by_count(nodes: u32, reserved: &[Reserved]) -> Box<dyn Policy> {
    let counted = Counted { nodes, counts: Counts::default(), labels: Labels::new(nodes) };
    Box::new(Planner::new(counted, Replan::OneByOne, reserved))
}

/// Where places are found.
trait Plan: Clone + Send + 'static {
    /// What a place takes up.
    type Room: Clone + PartialEq + Send;
    /// Whether jobs may be moved while they run.
    const MOVES: bool;

    /// What a booking takes up.
    fn room_of(booking: &Reserved) -> Self::Room;
    /// Whether there is room from start to end.
    fn has(&self, start: Time, end: Time, room: &Self::Room) -> bool;
    /// Whether there is room among running jobs and bookings.
    fn has_room<'a>(
        &self,
        running: impl Iterator<Item = (Time, &'a NodeSet)>,
        booked: &[Reserved],
        wanted: &Reserved,
    ) -> bool;
    /// Whether a place is in the way of a booking for which there is no room: they overlap, at times where it matters.
    fn is_in_way(&self, place: &Planned<Self::Room>, booking: &Reserved) -> bool;
    /// The earliest place for a job; at [`Time::NEVER`], where nothing takes up anything, if time ends before any does.
    fn earliest(&self, from: Time, ask: &Ask) -> (Time, Self::Room);
    fn insert(&mut self, start: Time, end: Time, room: &Self::Room);
    fn remove(&mut self, start: Time, end: Time, room: &Self::Room);
    /// Puts somebody who holds a place in the plan at the earliest one, and tells it if it is another one. He has held
    /// the earliest until something was freed, between now and `freed_to`.
    fn put_anew(
        &mut self,
        (now, _freed_to): (Time, Time),
        ask: &Ask,
        start: Time,
        room: &Self::Room,
    ) -> Option<(Time, Self::Room)> {
        self.remove(start, start + ask.walltime, room);
        let (earliest, best) = self.earliest(now, ask);
        self.insert(earliest, earliest + ask.walltime, &best);
        (earliest != start || best != *room).then_some((earliest, best))
    }
    fn advance(&mut self, now: Time);
    /// The nodes for a job that starts.
    fn take(&mut self, room: &Self::Room, until: Time) -> NodeSet;
    fn give_back(&mut self, nodes: &NodeSet);
    /// Bookings come, go, begin and end.
    fn book(&mut self, booking: &Reserved);
    fn release(&mut self, booking: &Reserved);
    fn keep_up<'a>(&mut self, now: Time, tenants: impl Iterator<Item = Tenant<'a>>, steps: &mut Vec<Step>);
    fn next(&self) -> Option<Time>;
}

impl Plan for Calendar {
    type Room = NodeSet;
    const MOVES: bool = false;

    fn room_of(booking: &Reserved) -> NodeSet {
        booking.nodes.clone()
    }

    fn has(&self, start: Time, end: Time, nodes: &NodeSet) -> bool {
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

    fn is_in_way(&self, place: &Planned<NodeSet>, booking: &Reserved) -> bool {
        place.start < booking.until && booking.from < place.end() && place.room.meets(&booking.nodes)
    }

    fn earliest(&self, from: Time, ask: &Ask) -> (Time, NodeSet) {
        let place = Calendar::earliest(self, from, ask.walltime, ask.nodes, Time::NEVER);
        place.filter(|(start, _)| ask.in_time(*start) < Time::NEVER).unwrap_or((Time::NEVER, NodeSet::default()))
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

    /// Most of the queue stays where it is, so the plan is left alone until it is clear who does not.
    fn put_anew(
        &mut self,
        (now, freed_to): (Time, Time),
        ask: &Ask,
        start: Time,
        room: &NodeSet,
    ) -> Option<(Time, NodeSet)> {
        let (earliest, best) = if start < Time::NEVER {
            self.improved(now..freed_to, start, ask.walltime, room)?
        } else {
            Some(Plan::earliest(self, now, ask)).filter(|(earliest, _)| *earliest < Time::NEVER)?
        };
        Plan::remove(self, start, start + ask.walltime, room);
        Plan::insert(self, earliest, earliest + ask.walltime, &best);
        Some((earliest, best))
    }

    fn advance(&mut self, now: Time) {
        Calendar::advance(self, now);
    }

    fn take(&mut self, nodes: &NodeSet, _: Time) -> NodeSet {
        nodes.clone()
    }

    fn give_back(&mut self, _: &NodeSet) {}

    fn book(&mut self, _: &Reserved) {}

    fn release(&mut self, _: &Reserved) {}

    fn keep_up<'a>(&mut self, _: Time, _: impl Iterator<Item = Tenant<'a>>, _: &mut Vec<Step>) {}

    fn next(&self) -> Option<Time> {
        None
    }
}

#[derive(Clone)]
struct Counted {
    nodes: u32,
    counts: Counts,
    labels: Labels,
}

impl Plan for Counted {
    type Room = u32;
    const MOVES: bool = true;

    fn room_of(booking: &Reserved) -> u32 {
        booking.nodes.len()
    }

    fn has(&self, start: Time, end: Time, width: &u32) -> bool {
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

    fn is_in_way(&self, place: &Planned<u32>, booking: &Reserved) -> bool {
        let (from, until) = (place.start.max(booking.from), place.end().min(booking.until));
        from < until && !self.has(from, until, &booking.nodes.len())
    }

    fn earliest(&self, from: Time, ask: &Ask) -> (Time, u32) {
        (ask.in_time(self.counts.earliest(from, ask.walltime, self.nodes - ask.nodes)), ask.nodes)
    }

    fn insert(&mut self, start: Time, end: Time, width: &u32) {
        self.counts.insert(start, end, *width);
    }

    fn remove(&mut self, start: Time, end: Time, width: &u32) {
        self.counts.remove(start, end, *width);
    }

    fn advance(&mut self, now: Time) {
        self.counts.advance(now);
    }

    fn take(&mut self, width: &u32, until: Time) -> NodeSet {
        self.labels.take(*width, until)
    }

    fn book(&mut self, booking: &Reserved) {
        self.labels.book(booking);
    }

    fn release(&mut self, booking: &Reserved) {
        self.labels.release(booking);
    }

    fn keep_up<'a>(&mut self, now: Time, tenants: impl Iterator<Item = Tenant<'a>>, steps: &mut Vec<Step>) {
        self.labels.keep_up(now, tenants, steps);
    }

    fn give_back(&mut self, nodes: &NodeSet) {
        self.labels.give_back(nodes);
    }

    fn next(&self) -> Option<Time> {
        self.labels.next()
    }
}

#[derive(Clone)]
struct Planner<P: Plan> {
    plan: P,
    replan: Replan,
    queue: Vec<Planned<P::Room>>,
    /// What is booked and not over.
    booked: Vec<Reserved>,
    /// By (until, job).
    running: Vec<Running<P::Room>>,
    /// Something has become free that the plan does not make use of yet.
    stale: bool,
    /// Up to when something has become free that not everybody in the queue has looked at.
    freed_to: Time,
    /// The earliest start in the plan.
    next: Time,
}

#[derive(Clone)]
struct Planned<R> {
    ask: Ask,
    start: Time,
    room: R,
}

#[derive(Clone)]
struct Running<R> {
    until: Time,
    job: TaskId,
    room: R,
    nodes: NodeSet,
}

impl<R> Planned<R> {
    fn end(&self) -> Time {
        self.start + self.ask.walltime
    }
}

impl<P: Plan> Planner<P> {
    fn new(mut plan: P, replan: Replan, reserved: &[Reserved]) -> Planner<P> {
        for booking in reserved {
            plan.insert(booking.from, booking.until, &P::room_of(booking));
            plan.book(booking);
        }
        Planner {
            plan,
            replan,
            queue: Vec::new(),
            booked: reserved.to_vec(),
            running: Vec::new(),
            stale: false,
            freed_to: Time::ZERO,
            next: Time::NEVER,
        }
    }

    fn freshen(&mut self, now: Time) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.plan.advance(now);
        match self.replan {
            Replan::OneByOne => self.put_each_anew(now),
            Replan::FromScratch => self.put_all_anew(now, 0),
        }
        self.look_ahead();
    }

    fn put_each_anew(&mut self, now: Time) {
        // Whoever moves ahead leaves room behind, of which those before him in the queue make use the next time.
        let mut left_to = Time::ZERO;
        for Planned { ask, start, room } in &mut self.queue {
            let freed_to = self.freed_to.max(left_to);
            if let Some((earliest, best)) = self.plan.put_anew((now, freed_to), ask, *start, room) {
                assert!(earliest <= *start, "a place in the plan only ever moves ahead");
                if *start < Time::NEVER {
                    left_to = left_to.max(*start + ask.walltime);
                }
                (*start, *room) = (earliest, best);
            }
        }
        self.freed_to = left_to;
    }

    /// From a place in the queue on; those ahead of it stay.
    fn put_all_anew(&mut self, now: Time, from: usize) {
        self.queue[from..].iter().for_each(|planned| self.plan.remove(planned.start, planned.end(), &planned.room));
        self.queue[from..].iter_mut().for_each(|planned| put(&mut self.plan, now, planned));
    }

    /// Takes out of the plan whoever is in the way of a booking, and adds him to those who have given way already: the
    /// last in the queue gives way first.
    fn clear(&mut self, now: Time, booking: &Reserved, room: &P::Room, displaced: &mut BTreeSet<usize>) {
        let has = |plan: &P| plan.has(booking.from.max(now), booking.until, room);
        let mut is_clear = has(&self.plan);
        for place in (0..self.queue.len()).rev() {
            if is_clear {
                break;
            }
            let planned = &self.queue[place];
            if !displaced.contains(&place) && self.plan.is_in_way(planned, booking) {
                self.plan.remove(planned.start, planned.end(), &planned.room);
                displaced.insert(place);
                is_clear = has(&self.plan);
            }
        }
    }

    /// Something in the plan is free again up to a time.
    fn freed(&mut self, until: Time) {
        self.stale = true;
        self.freed_to = self.freed_to.max(until);
    }

    fn look_ahead(&mut self) {
        self.next = self.queue.iter().map(|planned| planned.start).min().unwrap_or(Time::NEVER);
    }
}

/// Puts somebody who holds no place at the earliest one.
fn put<P: Plan>(plan: &mut P, now: Time, planned: &mut Planned<P::Room>) {
    let Planned { ask, start, room } = planned;
    (*start, *room) = plan.earliest(now, ask);
    plan.insert(*start, *start + ask.walltime, room);
}

impl<P: Plan> Policy for Planner<P> {
    fn end(&mut self, now: Time, job: TaskId, until: Time) {
        let place = self.running.partition_point(|running| (running.until, running.job) < (until, job));
        assert!(self.running.get(place).is_some_and(|running| running.job == job), "job {job} ends but does not run");
        let Running { room, nodes, .. } = self.running.remove(place);
        self.plan.give_back(&nodes);
        if now < until {
            self.plan.remove(now, until, &room);
            self.freed(until);
        }
    }

    /// Those who wait already have the first choice of what has become free.
    fn submit(&mut self, now: Time, ask: Ask) {
        self.freshen(now);
        self.plan.advance(now);
        let (start, room) = self.plan.earliest(now, &ask);
        self.plan.insert(start, start + ask.walltime, &room);
        self.next = self.next.min(start);
        self.queue.push(Planned { ask, start, room });
    }

    /// All others give way, and get the earliest places that are left, in order of the queue.
    fn submit_first(&mut self, now: Time, ask: Ask) {
        self.plan.advance(now);
        for Planned { ask, start, room } in &self.queue {
            self.plan.remove(*start, *start + ask.walltime, room);
        }
        let (start, room) = self.plan.earliest(now, &ask);
        self.queue.insert(0, Planned { ask, start, room });
        self.queue.iter_mut().for_each(|planned| put(&mut self.plan, now, planned));
        // Everybody has just had his choice of all that is free.
        (self.stale, self.freed_to) = (false, Time::ZERO);
        self.look_ahead();
    }

    fn withdraw(&mut self, _: Time, job: TaskId) {
        let Some(place) = self.queue.iter().position(|planned| planned.ask.job == job) else { return };
        let planned = self.queue.remove(place);
        self.plan.remove(planned.start, planned.end(), &planned.room);
        if planned.start < Time::NEVER {
            self.freed(planned.end());
        }
        self.look_ahead();
    }

    fn has_room(&self, _: Time, booking: &Reserved) -> bool {
        let running = self.running.iter().map(|running| (running.until, &running.nodes));
        self.plan.has_room(running, &self.booked, booking)
    }

    fn taken(&self, from: Time, until: Time) -> NodeSet {
        let mut nodes = Reserved::over(self.booked.iter(), from, until);
        if !P::MOVES {
            let running = self.running.iter().filter(|running| running.until > from);
            running.for_each(|running| nodes.unite(&running.nodes));
        }
        nodes
    }

    /// Those who wait have the first choice of what has become free.
    fn book(&mut self, now: Time, booking: &Reserved) {
        self.freshen(now);
        self.close(now, std::slice::from_ref(booking));
    }

    /// Only those in its way lose their places, and get the earliest that are left, in order of the queue; what they
    /// leave behind is everybody's.
    fn close(&mut self, now: Time, bookings: &[Reserved]) {
        self.plan.advance(now);
        let mut displaced = BTreeSet::new();
        for booking in bookings {
            let room = P::room_of(booking);
            self.clear(now, booking, &room, &mut displaced);
            self.plan.insert(booking.from.max(now), booking.until, &room);
            self.plan.book(booking);
            self.booked.push(booking.clone());
        }
        for place in &displaced {
            let end = self.queue[*place].end();
            put(&mut self.plan, now, &mut self.queue[*place]);
            if self.replan == Replan::OneByOne {
                self.freed(end);
            }
        }
        // In a plan that is made from scratch those ahead of all these would be where they are.
        if let Some(first) = displaced.first().filter(|_| self.replan == Replan::FromScratch) {
            self.put_all_anew(now, *first);
        }
        self.look_ahead();
    }

    fn release(&mut self, now: Time, booking: &Reserved) {
        self.plan.advance(now);
        self.plan.remove(booking.from.max(now), booking.until, &P::room_of(booking));
        self.plan.release(booking);
        self.booked.retain(|other| other != booking);
        self.freed(booking.until);
    }

    fn make_way(&mut self, now: Time, steps: &mut Vec<Step>) {
        let tenants =
            self.running.iter_mut().map(|Running { until, job, nodes, .. }| Tenant { job: *job, until: *until, nodes });
        self.plan.keep_up(now, tenants, steps);
    }

    fn pass(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.booked.retain(|booking| booking.until > now);
        self.freshen(now);
        self.plan.advance(now);
        self.make_way(now, steps);
        if self.next > now {
            return;
        }
        let plan = &mut self.plan;
        let running = &mut self.running;
        self.queue.retain(|planned| {
            if planned.start > now {
                return true;
            }
            let (until, job) = (planned.end(), planned.ask.job);
            let nodes = plan.take(&planned.room, until);
            steps.push(Step::Start { job, nodes: nodes.clone() });
            let place = running.partition_point(|running| (running.until, running.job) < (until, job));
            running.insert(place, Running { until, job, room: planned.room.clone(), nodes });
            false
        });
        self.look_ahead();
    }

    fn wake(&self) -> Option<Time> {
        let start = Some(self.next).filter(|next| *next < Time::NEVER);
        let booked = self.plan.next().filter(|_| !self.queue.is_empty() || !self.running.is_empty());
        start.into_iter().chain(booked).min()
    }

    fn moves(&self) -> bool {
        P::MOVES
    }

    /// As long as nothing comes and nothing ends early, everybody starts at his place.
    fn plan(&self, now: Time, extra: Option<&Reserved>) -> Vec<(TaskId, Time)> {
        let places =
            |planner: &Planner<P>| planner.queue.iter().map(|planned| (planned.ask.job, planned.start)).collect();
        let is_in_way = |extra: &Reserved| !self.plan.has(extra.from.max(now), extra.until, &P::room_of(extra));
        if !self.stale && !extra.is_some_and(is_in_way) {
            return places(self);
        }
        let mut future = self.clone();
        if let Some(extra) = extra {
            future.book(now, extra);
        }
        future.freshen(now);
        places(&future)
    }
}
