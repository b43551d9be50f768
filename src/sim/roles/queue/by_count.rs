//! Node pool of EASY and FCFS in which nodes are only counted.

use super::blocks::Limits;
use super::easy::{Backfill, Easy, NodePool};
use super::labels::{Labels, Tenant};
use super::order::Ranking;
use super::{NodeRequest, Policy, Reserved, Step};
use crate::grid::{Counts, NodeSet, TaskId};
use crate::time::Time;

pub(super) fn build_policy(nodes: u32, reserved: &[Reserved], ranking: Ranking, backfill: Backfill) -> Box<dyn Policy> {
    let mut supply = ByCount {
        nodes,
        free: nodes,
        ends: Vec::new(),
        held: Vec::new(),
        counts: None,
        last_reserved: Time::ZERO,
        labels: Labels::new(nodes),
    };
    reserved.iter().for_each(|reserved| supply.add_booking(Time::ZERO, reserved));
    Box::new(Easy::new(supply, ranking, backfill))
}

#[derive(Clone)]
struct ByCount {
    nodes: u32,
    /// Nodes without a job; reserved nodes count as free.
    free: u32,
    /// Latest end and number of nodes of each running job, in this order.
    ends: Vec<(Time, TaskId, u32)>,
    held: Vec<NodeSet>,
    /// Nodes of running jobs and reservations over time; None without reservations.
    counts: Option<Counts>,
    last_reserved: Time,
    labels: Labels,
}

#[derive(Clone)]
struct Shadow {
    start: Time,
    end: Time,
    nodes: u32,
    /// Nodes left beside it, if nothing else is reserved.
    spare: u32,
}

impl ByCount {
    fn fits(&self, now: Time, request: &NodeRequest) -> bool {
        request.nodes <= self.free
            && self
                .counts
                .as_ref()
                .is_none_or(|counts| counts.most(now, now + request.walltime) + request.nodes <= self.nodes)
    }
}

impl NodePool for ByCount {
    type Room = ();
    type Shadow = Shadow;
    const MOVES: bool = true;

    fn is_used_up(&self) -> bool {
        self.free == 0
    }

    fn for_head(&self, now: Time, request: &NodeRequest) -> Option<()> {
        self.fits(now, request).then_some(())
    }

    fn for_follower(&self, now: Time, request: &NodeRequest, shadow: &Shadow) -> Option<()> {
        let end = now + request.walltime;
        if !self.fits(now, request) {
            return None;
        }
        let fits_beside = end <= shadow.start
            || match &self.counts {
                None => request.nodes <= shadow.spare,
                Some(counts) => {
                    let most = counts.most(shadow.start, end.min(shadow.end));
                    most + shadow.nodes + request.nodes <= self.nodes
                }
            };
        fits_beside.then_some(())
    }

    fn follower_limits(&self, now: Time, shadow: &Shadow) -> Limits {
        let nodes_beside_head = if self.counts.is_some() { self.free } else { self.free.min(shadow.spare) };
        Limits { nodes: self.free, nodes_beside_head, until_head: Limits::span_until(now, shadow.start) }
    }

    fn head_reservation(&self, now: Time, head: &NodeRequest) -> Shadow {
        if let Some(counts) = &self.counts {
            let start = counts.earliest(now, head.walltime, self.nodes - head.nodes);
            return Shadow { start, end: start + head.walltime, nodes: head.nodes, spare: 0 };
        }
        let mut free = self.free;
        let mut ends = self.ends.iter();
        let mut start = now;
        while free < head.nodes {
            let end = ends.next().expect("a job that fits the site can start once all others have ended");
            (start, free) = (end.0, free + end.2);
        }
        let more: u32 = ends.take_while(|end| end.0 == start).map(|end| end.2).sum();
        Shadow { start, end: start + head.walltime, nodes: head.nodes, spare: free + more - head.nodes }
    }

    fn shrink_shadow(&self, now: Time, request: &NodeRequest, (): &(), shadow: &mut Shadow) {
        if now + request.walltime > shadow.start {
            shadow.spare = shadow.spare.saturating_sub(request.nodes);
        }
    }

    fn start_job(&mut self, now: Time, request: &NodeRequest, (): ()) -> NodeSet {
        let end = now + request.walltime;
        self.free -= request.nodes;
        if let Some(counts) = &mut self.counts {
            counts.insert(now, end, request.nodes);
        }
        let nodes = self.labels.take(request.nodes, end);
        let key = (end, request.job, request.nodes);
        let place = self.ends.partition_point(|end| *end < key);
        self.ends.insert(place, key);
        self.held.insert(place, nodes.clone());
        nodes
    }

    fn end_job(&mut self, now: Time, job: TaskId, until: Time) {
        let place = self.ends.partition_point(|end| (end.0, end.1) < (until, job));
        assert!(self.ends.get(place).is_some_and(|end| end.1 == job), "job {job} ends but does not run");
        let (_, _, count) = self.ends.remove(place);
        self.labels.give_back(&self.held.remove(place));
        self.free += count;
        if let Some(counts) = self.counts.as_mut().filter(|_| now < until) {
            counts.remove(now, until, count);
        }
    }

    fn has_room(&self, _: Time, booking: &Reserved) -> bool {
        let Reserved { from, until, nodes } = booking;
        let most = match &self.counts {
            Some(counts) => counts.most(*from, *until),
            // The number of running jobs only falls.
            None => self.ends.iter().filter(|end| end.0 > *from).map(|end| end.2).sum(),
        };
        most + nodes.len() <= self.nodes && !self.labels.are_booked(booking)
    }

    fn taken_nodes(&self, from: Time, until: Time) -> NodeSet {
        self.labels.booked_over(from, until)
    }

    fn add_booking(&mut self, now: Time, booking: &Reserved) {
        let counts = self.counts.get_or_insert_with(|| {
            let mut counts = Counts::default();
            self.ends.iter().for_each(|end| counts.insert(now, end.0, end.2));
            counts
        });
        counts.insert(booking.from.max(now), booking.until, booking.nodes.len());
        self.last_reserved = self.last_reserved.max(booking.until);
        self.labels.book(booking);
    }

    fn release_booking(&mut self, now: Time, booking: &Reserved) {
        let counts = self.counts.as_mut().expect("they are kept while anything is booked");
        counts.remove(booking.from.max(now), booking.until, booking.nodes.len());
        self.labels.release(booking);
    }

    fn advance_bookings(&mut self, now: Time, steps: &mut Vec<Step>) -> bool {
        let Some(counts) = &mut self.counts else { return false };
        counts.advance(now);
        let tenants = self.ends.iter().zip(&mut self.held);
        let tenants = tenants.map(|(&(until, job, _), nodes)| Tenant { job, until, nodes });
        self.labels.advance_bookings(now, tenants, steps);
        if now >= self.last_reserved {
            self.counts = None;
        }
        // A reservation may have ended.
        true
    }

    fn next_wake(&self, is_anybody_waiting: bool) -> Option<Time> {
        self.labels.next().filter(|_| is_anybody_waiting || !self.ends.is_empty())
    }

    fn running_ends(&self) -> &[(Time, TaskId, u32)] {
        &self.ends
    }
}
