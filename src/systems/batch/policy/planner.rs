//! Conservative backfilling: a plan with a place for everybody in the queue, over nodes by identity or by count.

use super::counts::Counts;
use super::labels::Labels;
use super::{Ask, Policy, Reserved, Start};
use crate::grid::{Calendar, JobId, NodeSet};
use crate::time::{Span, Time};

/// What becomes of the plan when a job ends before its walltime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replan {
    /// In order of the queue each is taken out and put back at the earliest place, with the others where they are.
    OneByOne,
    /// All are taken out, and put back in order of the queue.
    FromScratch,
}

pub(super) fn by_node(nodes: u32, reserved: &[Reserved], replan: Replan) -> Box<dyn Policy> {
    let mut calendar = Calendar::new(nodes);
    for Reserved { from, until, nodes } in reserved {
        calendar.insert(*from, *until, nodes).expect("what is reserved does not overlap");
    }
    Box::new(Planner::new(calendar, replan))
}

pub(super) fn by_count(nodes: u32, reserved: &[Reserved]) -> Box<dyn Policy> {
    let mut counts = Counts::default();
    for Reserved { from, until, nodes } in reserved {
        counts.insert(*from, *until, nodes.len());
    }
    Box::new(Planner::new(Counted { nodes, counts, labels: Labels::new(nodes, reserved) }, Replan::OneByOne))
}

/// Where places are found.
trait Plan: Send {
    /// What a place takes up.
    type Room: Clone + PartialEq + Send;

    fn earliest(&self, from: Time, span: Span, width: u32) -> (Time, Self::Room);
    fn insert(&mut self, start: Time, end: Time, room: &Self::Room);
    fn remove(&mut self, start: Time, end: Time, room: &Self::Room);
    /// Puts somebody who holds a place in the plan at the earliest one, and tells it if it is another one. He has held the
    /// earliest until something was freed, between now and `freed_to`.
    fn put_anew(
        &mut self,
        (now, _freed_to): (Time, Time),
        ask: &Ask,
        start: Time,
        room: &Self::Room,
    ) -> Option<(Time, Self::Room)> {
        self.remove(start, start + ask.walltime, room);
        let (earliest, best) = self.earliest(now, ask.walltime, ask.nodes);
        self.insert(earliest, earliest + ask.walltime, &best);
        (earliest != start || best != *room).then_some((earliest, best))
    }
    fn advance(&mut self, now: Time);
    /// The nodes for a job that starts.
    fn take(&mut self, room: &Self::Room) -> NodeSet;
    fn give_back(&mut self, nodes: &NodeSet);
    fn next(&self) -> Option<Time>;
}

impl Plan for Calendar {
    type Room = NodeSet;

    fn earliest(&self, from: Time, span: Span, width: u32) -> (Time, NodeSet) {
        Calendar::earliest(self, from, span, width, Time::NEVER).expect("a job that fits the site starts some time")
    }

    fn insert(&mut self, start: Time, end: Time, nodes: &NodeSet) {
        Calendar::insert(self, start, end, nodes).expect("a place in the plan is free");
    }

    fn remove(&mut self, start: Time, end: Time, nodes: &NodeSet) {
        Calendar::remove(self, start, end, nodes).expect("what is planned is in the plan");
    }

    /// Most of the queue stays where it is, so the plan is left alone until it is clear who does not.
    fn put_anew(
        &mut self,
        (now, freed_to): (Time, Time),
        ask: &Ask,
        start: Time,
        room: &NodeSet,
    ) -> Option<(Time, NodeSet)> {
        let (earliest, best) = self.improved(now..freed_to, start, ask.walltime, room)?;
        Plan::remove(self, start, start + ask.walltime, room);
        Plan::insert(self, earliest, earliest + ask.walltime, &best);
        Some((earliest, best))
    }

    fn advance(&mut self, now: Time) {
        Calendar::advance(self, now);
    }

    fn take(&mut self, nodes: &NodeSet) -> NodeSet {
        nodes.clone()
    }

    fn give_back(&mut self, _: &NodeSet) {}

    fn next(&self) -> Option<Time> {
        None
    }
}

struct Counted {
    nodes: u32,
    counts: Counts,
    labels: Labels,
}

impl Plan for Counted {
    type Room = u32;

    fn earliest(&self, from: Time, span: Span, width: u32) -> (Time, u32) {
        (self.counts.earliest(from, span, self.nodes - width), width)
    }

    fn insert(&mut self, start: Time, end: Time, width: &u32) {
        self.counts.insert(start, end, *width);
    }

    fn remove(&mut self, start: Time, end: Time, width: &u32) {
        self.counts.remove(start, end, *width);
    }

    fn advance(&mut self, now: Time) {
        self.counts.advance(now);
        self.labels.keep_up(now);
    }

    fn take(&mut self, width: &u32) -> NodeSet {
        self.labels.take(*width)
    }

    fn give_back(&mut self, nodes: &NodeSet) {
        self.labels.give_back(nodes);
    }

    fn next(&self) -> Option<Time> {
        self.labels.next()
    }
}

struct Planner<P: Plan> {
    plan: P,
    replan: Replan,
    queue: Vec<Planned<P::Room>>,
    /// By (until, job).
    running: Vec<Running<P::Room>>,
    /// Something has ended early that the plan does not make use of yet.
    stale: bool,
    /// Up to when something has become free that not everybody in the queue has looked at.
    freed_to: Time,
    /// The earliest start in the plan.
    next: Time,
}

struct Planned<R> {
    ask: Ask,
    start: Time,
    room: R,
}

struct Running<R> {
    until: Time,
    job: JobId,
    room: R,
    nodes: NodeSet,
}

impl<P: Plan> Planner<P> {
    fn new(plan: P, replan: Replan) -> Planner<P> {
        Planner {
            plan,
            replan,
            queue: Vec::new(),
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
            Replan::FromScratch => self.put_all_anew(now),
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
                left_to = left_to.max(*start + ask.walltime);
                (*start, *room) = (earliest, best);
            }
        }
        self.freed_to = left_to;
    }

    fn put_all_anew(&mut self, now: Time) {
        let plan = &mut self.plan;
        for Planned { ask, start, room } in &self.queue {
            plan.remove(*start, *start + ask.walltime, room);
        }
        for Planned { ask, start, room } in &mut self.queue {
            (*start, *room) = plan.earliest(now, ask.walltime, ask.nodes);
            plan.insert(*start, *start + ask.walltime, room);
        }
    }

    fn look_ahead(&mut self) {
        self.next = self.queue.iter().map(|planned| planned.start).min().unwrap_or(Time::NEVER);
    }
}

impl<P: Plan> Policy for Planner<P> {
    fn end(&mut self, now: Time, job: JobId, until: Time) {
        let place = self.running.partition_point(|running| (running.until, running.job) < (until, job));
        assert!(self.running.get(place).is_some_and(|running| running.job == job), "job {job} ends that does not run");
        let Running { room, nodes, .. } = self.running.remove(place);
        self.plan.give_back(&nodes);
        if now < until {
            self.plan.remove(now, until, &room);
            self.stale = true;
            self.freed_to = self.freed_to.max(until);
        }
    }

    /// Those who wait already have the first choice of what has become free.
    fn submit(&mut self, now: Time, ask: Ask) {
        self.freshen(now);
        self.plan.advance(now);
        let (start, room) = self.plan.earliest(now, ask.walltime, ask.nodes);
        self.plan.insert(start, start + ask.walltime, &room);
        self.next = self.next.min(start);
        self.queue.push(Planned { ask, start, room });
    }

    fn pass(&mut self, now: Time, starts: &mut Vec<Start>) {
        self.freshen(now);
        self.plan.advance(now);
        if self.next > now {
            return;
        }
        let plan = &mut self.plan;
        let running = &mut self.running;
        self.queue.retain(|Planned { ask, start, room }| {
            if *start > now {
                return true;
            }
            let nodes = plan.take(room);
            let (until, job) = (*start + ask.walltime, ask.job);
            starts.push(Start { job, nodes: nodes.clone() });
            let place = running.partition_point(|running| (running.until, running.job) < (until, job));
            running.insert(place, Running { until, job, room: room.clone(), nodes });
            false
        });
        self.look_ahead();
    }

    fn wake(&self) -> Option<Time> {
        let start = Some(self.next).filter(|next| *next < Time::NEVER);
        start.into_iter().chain(self.plan.next()).min()
    }
}
