//! A plan with lower bounds on the starts that fit into it.

use super::labels::Tenant;
use super::no_sooner::{NoSooner, first_that_reaches};
use super::order::Waiting;
use super::plan::{NodePlan, PlannedJob};
use super::{NodeRequest, Reserved, Step};
use crate::grid::NodeSet;
use crate::time::Time;

/// All changes of a plan go through here, so that the bounds always match the plan.
#[derive(Clone)]
pub(super) struct Places<P> {
    plan: P,
    no_sooner: NoSooner,
}

impl<P: NodePlan> Places<P> {
    pub fn new(plan: P) -> Places<P> {
        Places { plan, no_sooner: NoSooner::default() }
    }

    /// The plan, for queries.
    pub fn plan(&self) -> &P {
        &self.plan
    }

    pub fn insert(&mut self, start: Time, end: Time, room: &P::Room) {
        self.plan.insert(start, end, room);
    }

    pub fn remove(&mut self, start: Time, end: Time, room: &P::Room) {
        self.plan.remove(start, end, room);
        if start < Time::NEVER {
            self.no_sooner.lower_bounds(start);
        }
    }

    pub fn take_out(&mut self, planned: &PlannedJob<P::Room>) {
        self.remove(planned.start, planned.end(), &planned.room);
    }

    /// Places a job without a place at the earliest one.
    pub fn place(&mut self, now: Time, waiting: Waiting) -> PlannedJob<P::Room> {
        let request = waiting.request;
        let from = self.no_sooner.than(request.nodes, request.walltime).max(now);
        let (start, room) = self.plan.earliest_place(from, &request);
        self.plan.insert(start, start + request.walltime, &room);
        self.add_bound(now, &request, start);
        PlannedJob { waiting, start, room }
    }

    /// Moves a job to the earliest place; true if it moves. It held the earliest one until something was freed, between
    /// now and `freed_to`.
    ///
    /// Most jobs stay where they are, so the plan is changed only for those that move.
    pub fn improve_place(&mut self, now: Time, freed_to: Time, planned: &mut PlannedJob<P::Room>) -> bool {
        let PlannedJob { waiting: Waiting { request, .. }, start, room } = &*planned;
        let no_sooner = self.no_sooner.than(request.nodes, request.walltime);
        let better = if *start < Time::NEVER {
            // The bounds are of a plan with this job in it, so they apply only to starts from which it would not reach
            // its own place.
            let from = no_sooner.min(first_that_reaches(*start, request.walltime)).max(now);
            self.plan.improved_place(from..freed_to, request, *start, room)
        } else {
            Some(self.plan.earliest_place(no_sooner.max(now), request)).filter(|(earliest, _)| *earliest < Time::NEVER)
        };
        let Some((earliest, better)) = better else {
            self.add_bound(now, planned.request(), planned.start);
            return false;
        };
        assert!(earliest <= *start, "a place in the plan only ever moves ahead");
        self.take_out(planned);
        (planned.start, planned.room) = (earliest, better);
        self.insert(planned.start, planned.end(), &planned.room);
        self.add_bound(now, planned.request(), earliest);
        true
    }

    /// Adds the bound of a search that found `start`, unless it is now.
    fn add_bound(&mut self, now: Time, request: &NodeRequest, start: Time) {
        if start > now {
            self.no_sooner.add_bound(request.nodes, request.walltime, start);
        }
    }

    pub fn advance(&mut self, now: Time) {
        self.no_sooner.advance(now);
        self.plan.advance_to(now);
    }

    pub fn take(&mut self, room: &P::Room, until: Time) -> NodeSet {
        self.plan.take_nodes(room, until)
    }

    pub fn give_back(&mut self, nodes: &NodeSet) {
        self.plan.give_back(nodes);
    }

    pub fn book(&mut self, booking: &Reserved) {
        self.plan.add_booking(booking);
    }

    pub fn release(&mut self, booking: &Reserved) {
        self.plan.release_booking(booking);
    }

    pub fn advance_bookings<'a>(
        &mut self,
        now: Time,
        tenants: impl Iterator<Item = Tenant<'a>>,
        steps: &mut Vec<Step>,
    ) {
        self.plan.advance_bookings(now, tenants, steps);
    }
}
