//! Conservative backfilling: a plan with a place for every job in the queue, over nodes by identity or by count.
//!
//! A. Mu'alem, D. Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM
//! SP2 with backfilling", 2001. Every job in the queue holds a place in the plan, and no place is ever moved back,
//! unless the plan is rebuilt from scratch. It is compressed when a job ends early.

use std::collections::BTreeSet;

use super::labels::Tenant;
use super::order::Ranking;
use super::places::Places;
use super::plan::{Counted, NodePlan};
use super::planned::PlannedQueue;
use super::{NodeRequest, Policy, Reserved, Step};
use crate::grid::{Calendar, NodeSet, TaskId};
use crate::time::Time;

/// Repair of the plan when a job ends before its walltime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replan {
    /// In order of the queue, each job is taken out and put back at the earliest place, with the others in place.
    OneByOne,
    /// All jobs are taken out, and put back in order of the queue.
    FromScratch,
}

pub(super) fn by_node(nodes: u32, reserved: &[Reserved], ranking: Ranking, replan: Replan) -> Box<dyn Policy> {
    Box::new(QueuePlanner::new(Calendar::new(nodes), replan, reserved, ranking))
}

pub(super) fn by_count(nodes: u32, reserved: &[Reserved], ranking: Ranking) -> Box<dyn Policy> {
    Box::new(QueuePlanner::new(Counted::new(nodes), Replan::OneByOne, reserved, ranking))
}

#[derive(Clone)]
struct QueuePlanner<P: NodePlan> {
    places: Places<P>,
    replan: Replan,
    ranking: Ranking,
    /// Waiting jobs in order of rank, with their places.
    queue: PlannedQueue<P::Room>,
    /// Bookings that are not over.
    booked: Vec<Reserved>,
    /// Running jobs, sorted by (until, job).
    running: Vec<PlannedRun<P::Room>>,
    /// True if nodes have become free that the plan does not use yet.
    stale: bool,
    /// End of the freed time that some jobs of the queue have not been tried in.
    freed_to: Time,
    /// Earliest start in the plan.
    next: Time,
}

#[derive(Clone)]
struct PlannedRun<R> {
    until: Time,
    job: TaskId,
    room: R,
    nodes: NodeSet,
}

impl<P: NodePlan> QueuePlanner<P> {
    fn new(plan: P, replan: Replan, reserved: &[Reserved], ranking: Ranking) -> QueuePlanner<P> {
        let mut places = Places::new(plan);
        for booking in reserved {
            places.insert(booking.from, booking.until, &P::room_of(booking));
            places.book(booking);
        }
        QueuePlanner {
            places,
            replan,
            ranking,
            queue: PlannedQueue::new(),
            booked: reserved.to_vec(),
            running: Vec::new(),
            stale: false,
            freed_to: Time::ZERO,
            next: Time::NEVER,
        }
    }

    fn refresh_plan(&mut self, now: Time) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.places.advance(now);
        if self.ranking.take_drift(now) {
            self.queue.sort_by(|a, b| self.ranking.compare(now, a, b));
        }
        match self.replan {
            Replan::OneByOne => self.improve_each(now),
            Replan::FromScratch => self.replace_from(now, 0),
        }
        self.look_ahead();
    }

    fn improve_each(&mut self, now: Time) {
        // A job that moves ahead leaves room, which jobs ahead of it in the queue use the next time.
        let mut left_to = Time::ZERO;
        self.queue.change_from(0, |planned| {
            let start = planned.start;
            let end = planned.end();
            if self.places.improve_place(now, self.freed_to.max(left_to), planned) && start < Time::NEVER {
                left_to = left_to.max(end);
            }
        });
        self.freed_to = left_to;
    }

    /// Places all jobs of the queue from index `from` on again; those ahead stay.
    fn replace_from(&mut self, now: Time, from: usize) {
        self.queue.iter_from(from).for_each(|planned| self.places.take_out(planned));
        self.queue.change_from(from, |planned| *planned = self.places.place(now, planned.waiting));
    }

    /// Takes jobs that obstruct a booking out of the plan, and adds their indices to `displaced`: the last in the queue
    /// gives way first.
    fn clear(&mut self, now: Time, booking: &Reserved, room: &P::Room, displaced: &mut BTreeSet<usize>) {
        let has = |plan: &P| plan.is_room_free(booking.from.max(now), booking.until, room);
        let mut is_clear = has(self.places.plan());
        for place in (0..self.queue.len()).rev() {
            if is_clear {
                break;
            }
            let planned = self.queue.get(place);
            if !displaced.contains(&place) && self.places.plan().is_in_way(planned, booking) {
                self.places.take_out(planned);
                displaced.insert(place);
                is_clear = has(self.places.plan());
            }
        }
    }

    /// Notes that nodes in the plan are free again up to a time.
    fn freed(&mut self, until: Time) {
        self.stale = true;
        self.freed_to = self.freed_to.max(until);
    }

    fn look_ahead(&mut self) {
        self.next = self.queue.earliest_start();
    }
}

impl<P: NodePlan> Policy for QueuePlanner<P> {
    fn end_job(&mut self, now: Time, job: TaskId, until: Time) {
        let place = self.running.partition_point(|running| (running.until, running.job) < (until, job));
        assert!(self.running.get(place).is_some_and(|running| running.job == job), "job {job} ends but does not run");
        let PlannedRun { room, nodes, .. } = self.running.remove(place);
        self.places.give_back(&nodes);
        self.ranking.end_job(now, job);
        if now < until {
            self.places.remove(now, until, &room);
            self.freed(until);
        }
    }

    /// Waiting jobs have the first choice of freed nodes. A plan from scratch places jobs of lower rank again.
    fn submit_job(&mut self, now: Time, request: NodeRequest) {
        // A plan in another order has no place for the job.
        self.stale |= self.replan == Replan::FromScratch && self.ranking.has_stepped(now);
        self.refresh_plan(now);
        self.places.advance(now);
        let new = self.ranking.arrival(now, request);
        let place = self.ranking.place(now, &new, self.queue.len(), |index| &self.queue.get(index).waiting);
        let behind = match self.replan {
            Replan::OneByOne => self.queue.len(),
            Replan::FromScratch => place,
        };
        self.queue.iter_from(behind).for_each(|planned| self.places.take_out(planned));
        let planned = self.places.place(now, new);
        self.next = self.next.min(planned.start);
        if behind < self.queue.len() {
            self.queue.change_from(behind, |planned| *planned = self.places.place(now, planned.waiting));
            self.next = self.queue.earliest_start().min(planned.start);
        }
        self.queue.insert(place, planned);
    }

    fn adopt(&mut self, now: Time, request: NodeRequest, nodes: &NodeSet) -> bool {
        if P::MOVES {
            return false;
        }
        self.places.advance(now);
        let until = now + request.walltime;
        let room = P::room_of(&Reserved { from: now, until, nodes: nodes.clone() });
        self.places.insert(now, until, &room);
        let place = self.running.partition_point(|running| (running.until, running.job) < (until, request.job));
        self.running.insert(place, PlannedRun { until, job: request.job, room, nodes: nodes.clone() });
        self.ranking.adopt_job(now, &request);
        true
    }

    /// All other jobs give way, and get the earliest places left, in order of the queue.
    fn submit_first(&mut self, now: Time, request: NodeRequest) {
        self.places.advance(now);
        self.queue.iter().for_each(|planned| self.places.take_out(planned));
        let first = self.ranking.first(now, request);
        let first = self.places.place(now, first);
        self.queue.change_from(0, |planned| *planned = self.places.place(now, planned.waiting));
        self.queue.insert(0, first);
        // All jobs have just been placed with everything that is free.
        (self.stale, self.freed_to) = (false, Time::ZERO);
        self.look_ahead();
    }

    fn withdraw_job(&mut self, _: Time, job: TaskId) {
        let Some(planned) = self.queue.remove_job(job) else { return };
        self.places.take_out(&planned);
        if planned.start < Time::NEVER {
            self.freed(planned.end());
        }
        self.look_ahead();
    }

    fn has_room(&self, _: Time, booking: &Reserved) -> bool {
        let running = self.running.iter().map(|running| (running.until, &running.nodes));
        self.places.plan().has_room(running, &self.booked, booking)
    }

    fn taken_nodes(&self, from: Time, until: Time) -> NodeSet {
        let mut nodes = Reserved::nodes_within(self.booked.iter(), from, until);
        if !P::MOVES {
            let running = self.running.iter().filter(|running| running.until > from);
            running.for_each(|running| nodes.unite(&running.nodes));
        }
        nodes
    }

    /// Waiting jobs have the first choice of freed nodes.
    fn add_booking(&mut self, now: Time, booking: &Reserved) {
        self.refresh_plan(now);
        self.close_nodes(now, std::slice::from_ref(booking));
    }

    /// Only jobs that obstruct the bookings lose their places, and get the earliest ones left, in order of the queue;
    /// the places that they leave are free for all.
    fn close_nodes(&mut self, now: Time, bookings: &[Reserved]) {
        self.places.advance(now);
        let mut displaced = BTreeSet::new();
        for booking in bookings {
            let room = P::room_of(booking);
            self.clear(now, booking, &room, &mut displaced);
            self.places.insert(booking.from.max(now), booking.until, &room);
            self.places.book(booking);
            self.booked.push(booking.clone());
        }
        for place in &displaced {
            let end = self.queue.get(*place).end();
            self.queue.change(*place, |planned| *planned = self.places.place(now, planned.waiting));
            if self.replan == Replan::OneByOne {
                self.freed(end);
            }
        }
        // In a plan from scratch, jobs ahead of the first displaced one would stay.
        if let Some(first) = displaced.first().filter(|_| self.replan == Replan::FromScratch) {
            self.replace_from(now, *first);
        }
        // Drifting ranks may have changed since the plan was made, so that jobs ahead might be elsewhere, too.
        self.stale |= self.ranking.drifts() && self.replan == Replan::FromScratch;
        self.look_ahead();
    }

    fn release_booking(&mut self, now: Time, booking: &Reserved) {
        self.places.advance(now);
        self.places.remove(booking.from.max(now), booking.until, &P::room_of(booking));
        self.places.release(booking);
        self.booked.retain(|other| other != booking);
        self.freed(booking.until);
    }

    fn make_way(&mut self, now: Time, steps: &mut Vec<Step>) {
        let tenants = self.running.iter_mut().map(|PlannedRun { until, job, nodes, .. }| Tenant {
            job: *job,
            until: *until,
            nodes,
        });
        self.places.advance_bookings(now, tenants, steps);
    }

    fn run_pass(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.booked.retain(|booking| booking.until > now);
        self.refresh_plan(now);
        self.places.advance(now);
        self.make_way(now, steps);
        if self.next > now {
            return;
        }
        let places = &mut self.places;
        let running = &mut self.running;
        let ranking = &mut self.ranking;
        self.queue.take_due(now, |planned| {
            let until = planned.end();
            let job = planned.request().job;
            let nodes = places.take(&planned.room, until);
            ranking.start_job(now, &planned.waiting);
            steps.push(Step::Start { job, nodes: nodes.clone() });
            let place = running.partition_point(|running| (running.until, running.job) < (until, job));
            running.insert(place, PlannedRun { until, job, room: planned.room, nodes });
        });
        self.look_ahead();
    }

    fn next_wake(&self) -> Option<Time> {
        let start = Some(self.next).filter(|next| *next < Time::NEVER);
        let booked =
            self.places.plan().next_booking_change().filter(|_| !self.queue.is_empty() || !self.running.is_empty());
        start.into_iter().chain(booked).min()
    }

    fn moves_jobs(&self) -> bool {
        P::MOVES
    }

    /// Unless a job arrives or ends early, every job starts at its place.
    fn planned_starts(&self, now: Time, extra: Option<&Reserved>) -> Vec<(TaskId, Time)> {
        if !self.stale {
            let plan = self.places.plan();
            if extra.is_none_or(|extra| plan.is_room_free(extra.from.max(now), extra.until, &P::room_of(extra))) {
                return queue_starts(self);
            }
        }
        let mut future = self.clone();
        if let Some(extra) = extra {
            future.add_booking(now, extra);
        }
        future.refresh_plan(now);
        queue_starts(&future)
    }
}

fn queue_starts<P: NodePlan>(planner: &QueuePlanner<P>) -> Vec<(TaskId, Time)> {
    planner.queue.iter().map(|planned| (planned.request().job, planned.start)).collect()
}
