//! Node pool of EASY and FCFS in which nodes have identities.

use std::collections::VecDeque;

use super::blocks::Limits;
use super::easy::{Backfill, Easy, NodePool};
use super::order::Ranking;
use super::{NodeRequest, Policy, Reserved, Step};
use crate::grid::{Bits, Calendar, NodeSet, Set, TaskId};
use crate::time::{Span, Time};

pub(super) fn build_policy(nodes: u32, reserved: &[Reserved], ranking: Ranking, backfill: Backfill) -> Box<dyn Policy> {
    match nodes {
        0..=256 => Box::new(Easy::new(ByNode::<Bits<4>>::new(nodes, reserved), ranking, backfill)),
        257..=1024 => Box::new(Easy::new(ByNode::<Bits<16>>::new(nodes, reserved), ranking, backfill)),
        _ => Box::new(Easy::new(ByNode::<NodeSet>::new(nodes, reserved), ranking, backfill)),
    }
}

#[derive(Clone)]
struct ByNode<S> {
    /// Nodes without a job; reserved nodes count as free.
    free: S,
    free_count: u32,
    /// Latest end and number of nodes of each running job, in this order.
    ends: Vec<(Time, TaskId, u32)>,
    /// Nodes of each running job.
    held: Vec<S>,
    reserved: Calendar,
    /// Ends of reservations, ascending.
    reserved_ends: VecDeque<Time>,
}

#[derive(Clone)]
struct Shadow<S> {
    start: Time,
    /// Free nodes that the reservation of the head does not need.
    spare: S,
    spare_count: u32,
}

impl<S: Set> ByNode<S> {
    fn new(nodes: u32, reserved: &[Reserved]) -> ByNode<S> {
        let mut calendar = Calendar::new(nodes);
        let mut ends: Vec<Time> = reserved.iter().map(|reserved| reserved.until).collect();
        ends.sort_unstable();
        for Reserved { from, until, nodes } in reserved {
            calendar.insert(*from, *until, nodes).expect("what is reserved does not overlap");
        }
        ByNode {
            free: S::from_nodes(&NodeSet::all(nodes)),
            free_count: nodes,
            ends: Vec::new(),
            held: Vec::new(),
            reserved: calendar,
            reserved_ends: ends.into(),
        }
    }

    /// The part of some nodes that is not reserved within the span.
    fn unreserved(&self, nodes: &S, from: Time, span: Span) -> S {
        let mut rest = nodes.clone();
        if !self.reserved_ends.is_empty() {
            rest.remove_all(&S::from_nodes(&self.reserved.busy_over(from, from + span)));
        }
        rest
    }

    /// Without reservations, nodes that become free stay free, so counting finds the start.
    fn reserve_by_ends(&self, head: &NodeRequest) -> (Time, S) {
        let mut count = self.free_count;
        let enough = self.ends.iter().find(|end| {
            count += end.2;
            count >= head.nodes
        });
        let start = enough.expect("a job that fits the site can start once all others have ended").0;
        let mut free = self.free.clone();
        let ended = self.ends.iter().take_while(|end| end.0 <= start).count();
        self.held[..ended].iter().for_each(|held| free.add_all(held));
        (start, free.lowest_nodes(head.nodes).expect("they have been counted"))
    }

    /// A start becomes possible only at the end of a job or of a reservation.
    fn reserve_around(&self, head: &NodeRequest) -> (Time, S) {
        let mut times: Vec<Time> =
            self.ends.iter().map(|end| end.0).chain(self.reserved_ends.iter().copied()).collect();
        times.sort_unstable();
        times.dedup();
        let mut free = self.free.clone();
        let mut count = self.free_count;
        let mut ended = 0;
        // Unless more nodes become free, a reservation rules out all starts before its end.
        let mut blocked_before = Time::ZERO;
        for start in times {
            while ended < self.ends.len() && self.ends[ended].0 <= start {
                free.add_all(&self.held[ended]);
                count += self.ends[ended].2;
                ended += 1;
                blocked_before = Time::ZERO;
            }
            if count < head.nodes || start < blocked_before {
                continue;
            }
            match self.reserved.lowest_of(&free.to_nodes(), start, head.walltime, head.nodes) {
                Ok(nodes) => return (start, S::from_nodes(&nodes)),
                Err(until) => blocked_before = until,
            }
        }
        unreachable!("a job that fits the site can start once all others have ended")
    }
}

impl<S: Set + Send + 'static> NodePool for ByNode<S> {
    type Room = S;
    type Shadow = Shadow<S>;
    const MOVES: bool = false;

    fn is_used_up(&self) -> bool {
        self.free_count == 0
    }

    fn for_head(&self, now: Time, request: &NodeRequest) -> Option<S> {
        if request.nodes > self.free_count {
            return None;
        }
        self.unreserved(&self.free, now, request.walltime).lowest_nodes(request.nodes)
    }

    fn for_follower(&self, now: Time, request: &NodeRequest, shadow: &Shadow<S>) -> Option<S> {
        let lasts = now + request.walltime > shadow.start;
        let (nodes, count) = if lasts { (&shadow.spare, shadow.spare_count) } else { (&self.free, self.free_count) };
        if request.nodes > count {
            return None;
        }
        self.unreserved(nodes, now, request.walltime).lowest_nodes(request.nodes)
    }

    fn follower_limits(&self, now: Time, shadow: &Shadow<S>) -> Limits {
        Limits {
            nodes: self.free_count,
            nodes_beside_head: shadow.spare_count,
            until_head: Limits::span_until(now, shadow.start),
        }
    }

    fn head_reservation(&self, _: Time, head: &NodeRequest) -> Shadow<S> {
        let (start, nodes) =
            if self.reserved_ends.is_empty() { self.reserve_by_ends(head) } else { self.reserve_around(head) };
        let mut spare = self.free.clone();
        spare.remove_all(&nodes);
        Shadow { start, spare_count: spare.len(), spare }
    }

    fn shrink_shadow(&self, _: Time, _: &NodeRequest, room: &S, shadow: &mut Shadow<S>) {
        shadow.spare.remove_all(room);
        shadow.spare_count = shadow.spare.len();
    }

    fn start_job(&mut self, now: Time, request: &NodeRequest, room: S) -> NodeSet {
        self.free.remove_all(&room);
        self.free_count -= request.nodes;
        let key = (now + request.walltime, request.job, request.nodes);
        let place = self.ends.partition_point(|end| *end < key);
        let nodes = room.to_nodes();
        self.ends.insert(place, key);
        self.held.insert(place, room);
        nodes
    }

    fn adopt(&mut self, now: Time, request: &NodeRequest, nodes: &NodeSet) -> bool {
        self.start_job(now, request, S::from_nodes(nodes));
        true
    }

    fn end_job(&mut self, _: Time, job: TaskId, until: Time) {
        let place = self.ends.partition_point(|end| (end.0, end.1) < (until, job));
        assert!(self.ends.get(place).is_some_and(|end| end.1 == job), "job {job} ends but does not run");
        let (_, _, count) = self.ends.remove(place);
        self.free.add_all(&self.held.remove(place));
        self.free_count += count;
    }

    fn has_room(&self, _: Time, booking: &Reserved) -> bool {
        let Reserved { from, until, nodes } = booking;
        let set = S::from_nodes(nodes);
        let mut running = self.ends.iter().zip(&self.held).filter(|(end, _)| end.0 > *from);
        !running.any(|(_, held)| held.shares_nodes(&set)) && !self.reserved.busy_over(*from, *until).meets(nodes)
    }

    fn taken_nodes(&self, from: Time, until: Time) -> NodeSet {
        let mut nodes = self.reserved.busy_over(from, until);
        let running = self.ends.iter().zip(&self.held).filter(|(end, _)| end.0 > from);
        running.for_each(|(_, held)| nodes.unite(&held.to_nodes()));
        nodes
    }

    fn add_booking(&mut self, now: Time, booking: &Reserved) {
        let Reserved { from, until, nodes } = booking;
        self.reserved.insert((*from).max(now), *until, nodes).expect("what is booked does not overlap");
        let place = self.reserved_ends.partition_point(|end| end < until);
        self.reserved_ends.insert(place, *until);
    }

    fn release_booking(&mut self, now: Time, booking: &Reserved) {
        let Reserved { from, until, nodes } = booking;
        self.reserved.remove((*from).max(now), *until, nodes).expect("what is released is booked");
        let place = self.reserved_ends.partition_point(|end| end < until);
        self.reserved_ends.remove(place);
    }

    fn advance_bookings(&mut self, now: Time, _: &mut Vec<Step>) -> bool {
        let before = self.reserved_ends.len();
        while self.reserved_ends.pop_front_if(|end| *end <= now).is_some() {}
        let anything_ended = self.reserved_ends.len() < before;
        if anything_ended {
            self.reserved.advance(now);
        }
        anything_ended
    }

    fn next_wake(&self, is_anybody_waiting: bool) -> Option<Time> {
        self.reserved_ends.front().copied().filter(|_| is_anybody_waiting)
    }

    fn running_ends(&self) -> &[(Time, TaskId, u32)] {
        &self.ends
    }
}
