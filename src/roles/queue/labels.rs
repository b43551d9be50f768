//! Which nodes jobs run on where a policy only counts them: the lowest that happen to be free when they start, and, if
//! there are enough, are not booked before the job has to end.
//!
//! Counts allow what no choice of nodes does: of two nodes each may be booked for a while, one after the other, and a
//! job on one node go on all the time. It then moves when its node is wanted. To whoever only counts that costs
//! nothing.

use super::{Reserved, Step};
use crate::grid::{NodeSet, TaskId};
use crate::time::Time;

#[derive(Clone)]
pub(super) struct Labels {
    free: NodeSet,
    /// What is still to be set aside, the earliest first.
    coming: Vec<Reserved>,
    /// What has been set aside.
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
        let key = |booking: &Reserved| (booking.from, booking.until);
        let place = self.coming.partition_point(|other| key(other) <= key(booking));
        self.coming.insert(place, booking.clone());
    }

    /// Whether some of these nodes are booked already for some of that time.
    pub fn are_booked(&self, wanted: &Reserved) -> bool {
        self.coming.iter().chain(&self.aside).any(|other| other.meets(wanted))
    }

    /// All that is booked for some of that time.
    pub fn booked_over(&self, from: Time, until: Time) -> NodeSet {
        Reserved::over(self.coming.iter().chain(&self.aside), from, until)
    }

    pub fn release(&mut self, booking: &Reserved) {
        if let Some(place) = self.aside.iter().position(|other| other == booking) {
            self.aside.remove(place);
            self.free.insert(&booking.nodes);
        } else if let Some(place) = self.coming.iter().position(|other| other == booking) {
            self.coming.remove(place);
        }
    }

    /// Takes back nodes whose time is over, and sets aside those whose time has come: whoever is on them moves.
    pub fn keep_up<'a>(&mut self, now: Time, tenants: impl Iterator<Item = Tenant<'a>>, steps: &mut Vec<Step>) {
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
        // Before anybody moves, so that nobody moves to a node that is wanted, too.
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
            // The others are wanted before the job has to end; it moves then, if it is still there.
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

    /// When something is to be set aside or taken back next.
    pub fn next(&self) -> Option<Time> {
        let aside = self.aside.iter().map(|booking| booking.until);
        aside.chain(self.coming.first().map(|booking| booking.from)).min()
    }
}
