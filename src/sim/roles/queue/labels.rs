//! Nodes of jobs under a policy that only counts them: the lowest free ones at the start, and, if possible, ones that
//! are not booked before the job's latest end.
//!
//! Counts allow schedules that no fixed choice of nodes does: each of two nodes may be booked for a while, one after
//! the other, while a job on one node runs all the time. The job then moves when its node is booked. Under a counting
//! policy moves are free.

use super::{Reserved, Step};
use crate::grid::{NodeSet, TaskId};
use crate::time::Time;

#[derive(Clone)]
pub(super) struct Labels {
    free: NodeSet,
    /// Bookings that have not begun, ascending.
    coming: Vec<Reserved>,
    /// Bookings that have begun.
    aside: Vec<Reserved>,
}

/// A job on its nodes.
pub(super) struct Tenant<'a> {
    pub job: TaskId,
    pub until: Time,
    pub nodes: &'a mut NodeSet,
}

impl Labels {
    pub fn new(nodes: u32) -> Labels {
        Labels { free: NodeSet::all(nodes), coming: Vec::new(), aside: Vec::new() }
    }

    pub fn book(&mut self, booking: &Reserved) {
        let place = self.coming.partition_point(|other| booking_key(other) <= booking_key(booking));
        self.coming.insert(place, booking.clone());
    }

    /// True if some of these nodes are booked during some of that time.
    pub fn are_booked(&self, wanted: &Reserved) -> bool {
        self.coming.iter().chain(&self.aside).any(|other| other.meets(wanted))
    }

    /// Nodes booked during some of that time.
    pub fn booked_over(&self, from: Time, until: Time) -> NodeSet {
        Reserved::nodes_within(self.coming.iter().chain(&self.aside), from, until)
    }

    pub fn release(&mut self, booking: &Reserved) {
        if let Some(place) = self.aside.iter().position(|other| other == booking) {
            self.aside.remove(place);
            self.free.insert(&booking.nodes);
        } else if let Some(place) = self.coming.iter().position(|other| other == booking) {
            self.coming.remove(place);
        }
    }

    /// Frees the nodes of ended bookings, and sets aside those of bookings that begin: jobs on them move.
    pub fn advance_bookings<'a>(
        &mut self,
        now: Time,
        tenants: impl Iterator<Item = Tenant<'a>>,
        steps: &mut Vec<Step>,
    ) {
        let free = &mut self.free;
        self.aside.retain(|booking| {
            let over = booking.until <= now;
            if over {
                free.insert(&booking.nodes);
            }
            !over
        });
        let begun = self.coming.partition_point(|booking| booking.from <= now);
        if begun == 0 {
            return;
        }

        let mut wanted = NodeSet::default();
        for booking in self.coming.drain(..begun).filter(|booking| booking.until > now) {
            wanted.unite(&booking.nodes);
            self.aside.push(booking);
        }
        // Before any move, so that no job moves to a wanted node.
        self.free.subtract(&wanted);
        for Tenant { job, until, nodes } in tenants.filter(|tenant| tenant.nodes.meets(&wanted)) {
            let count = nodes.len();
            nodes.subtract(&wanted);
            nodes.unite(&self.take(count - nodes.len(), until));
            steps.push(Step::Move { job, nodes: nodes.clone() });
        }
    }

    pub fn take(&mut self, count: u32, until: Time) -> NodeSet {
        const COUNTED: &str = "as many nodes are free as have been counted";
        if self.coming.is_empty() {
            return self.free.take_lowest(count).expect(COUNTED);
        }
        let mut undisturbed = self.free.clone();
        for booking in self.coming.iter().take_while(|booking| booking.from < until) {
            undisturbed.subtract(&booking.nodes);
        }
        let nodes = undisturbed.lowest(count).unwrap_or_else(|| {
            // The others are booked before the job's latest end; it moves then, if it still runs.
            let mut rest = self.free.clone();
            rest.subtract(&undisturbed);
            undisturbed.unite(&rest.lowest(count - undisturbed.len()).expect(COUNTED));
            undisturbed
        });
        self.free.subtract(&nodes);
        nodes
    }

    pub fn give_back(&mut self, nodes: &NodeSet) {
        self.free.insert(nodes);
    }

    /// Time of the next begin or end of a booking.
    pub fn next(&self) -> Option<Time> {
        let aside = self.aside.iter().map(|booking| booking.until);
        aside.chain(self.coming.first().map(|booking| booking.from)).min()
    }
}

fn booking_key(booking: &Reserved) -> (Time, Time) {
    (booking.from, booking.until)
}
