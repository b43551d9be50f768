//! FCFS and EASY over nodes by identity.
//!
//! Nothing is planned but the reservation of the head, so a pass needs the free nodes, the running jobs by their ends, and
//! one walk over the queue. While nothing ends, the reservation stands, and whoever could not start cannot start later:
//! a pass then looks at newcomers alone.

use std::collections::VecDeque;

use super::{Ask, Policy, Reserved, Start};
use crate::grid::{Bits, Calendar, JobId, NodeSet, Set};
use crate::time::{Span, Time};

pub(super) fn build(nodes: u32, reserved: &[Reserved], backfill: bool) -> Box<dyn Policy> {
    match nodes {
        0..=256 => Box::new(ByNode::<Bits<4>>::new(nodes, reserved, backfill)),
        257..=1024 => Box::new(ByNode::<Bits<16>>::new(nodes, reserved, backfill)),
        _ => Box::new(ByNode::<NodeSet>::new(nodes, reserved, backfill)),
    }
}

struct ByNode<S> {
    backfill: bool,
    /// Those on which no job runs; what is reserved counts as free.
    free: S,
    free_count: u32,
    /// When each running job has to end, how many nodes it frees then, and which; in this order.
    ends: Vec<(Time, JobId, u32)>,
    held: Vec<S>,
    queue: VecDeque<Ask>,
    /// How many of the queue have been tried in vain since something ended.
    tried: usize,
    shadow: Option<Shadow<S>>,
    reserved: Calendar,
    /// When what is reserved becomes free, ascending.
    reserved_ends: VecDeque<Time>,
}

/// The reservation of the head.
struct Shadow<S> {
    start: Time,
    /// What is free now and not in it.
    spare: S,
    spare_count: u32,
}

impl<S: Set> ByNode<S> {
    fn new(nodes: u32, reserved: &[Reserved], backfill: bool) -> ByNode<S> {
        let mut calendar = Calendar::new(nodes);
        let mut ends: Vec<Time> = reserved.iter().map(|reserved| reserved.until).collect();
        ends.sort_unstable();
        for Reserved { from, until, nodes } in reserved {
            calendar.insert(*from, *until, nodes).expect("what is reserved does not overlap");
        }
        ByNode {
            backfill,
            free: S::of(&NodeSet::all(nodes)),
            free_count: nodes,
            ends: Vec::new(),
            held: Vec::new(),
            queue: VecDeque::new(),
            tried: 0,
            shadow: None,
            reserved: calendar,
            reserved_ends: ends.into(),
        }
    }

    /// Of some nodes those that are not reserved for something else in the span.
    fn unreserved(&self, nodes: &S, from: Time, span: Span) -> S {
        let mut rest = nodes.clone();
        if !self.reserved_ends.is_empty() {
            rest.take(&S::of(&self.reserved.busy_over(from, from + span)));
        }
        rest
    }

    /// The lowest nodes for a job that starts now and has nobody ahead of it.
    fn for_head(&self, now: Time, ask: &Ask) -> Option<S> {
        if ask.nodes > self.free_count {
            return None;
        }
        self.unreserved(&self.free, now, ask.walltime).lowest(ask.nodes)
    }

    /// The lowest nodes for a job that starts now and leaves the head its own.
    fn for_follower(&self, now: Time, ask: &Ask, shadow: &Shadow<S>) -> Option<S> {
        let lasts = now + ask.walltime > shadow.start;
        let (nodes, count) = if lasts { (&shadow.spare, shadow.spare_count) } else { (&self.free, self.free_count) };
        if ask.nodes > count {
            return None;
        }
        self.unreserved(nodes, now, ask.walltime).lowest(ask.nodes)
    }

    fn start(&mut self, now: Time, ask: &Ask, nodes: S, starts: &mut Vec<Start>) {
        self.free.take(&nodes);
        self.free_count -= ask.nodes;
        let key = (now + ask.walltime, ask.job, ask.nodes);
        let place = self.ends.partition_point(|end| *end < key);
        starts.push(Start { job: ask.job, nodes: nodes.nodes() });
        self.ends.insert(place, key);
        self.held.insert(place, nodes);
    }

    /// The earliest time at which enough nodes are free for the head's whole walltime, and the lowest of these.
    fn reserve(&self, head: &Ask) -> Shadow<S> {
        let (start, nodes) =
            if self.reserved_ends.is_empty() { self.reserve_by_ends(head) } else { self.reserve_around(head) };
        let mut spare = self.free.clone();
        spare.take(&nodes);
        Shadow { start, spare_count: spare.len(), spare }
    }

    /// With nothing reserved, what becomes free stays free: it is enough to count.
    fn reserve_by_ends(&self, head: &Ask) -> (Time, S) {
        let mut count = self.free_count;
        let enough = self.ends.iter().find(|end| {
            count += end.2;
            count >= head.nodes
        });
        let start = enough.expect("a job that fits the site can start once all others have ended").0;
        let mut free = self.free.clone();
        let ended = self.ends.iter().take_while(|end| end.0 <= start).count();
        self.held[..ended].iter().for_each(|held| free.add(held));
        (start, free.lowest(head.nodes).expect("they have been counted"))
    }

    fn reserve_around(&self, head: &Ask) -> (Time, S) {
        let mut times: Vec<Time> =
            self.ends.iter().map(|end| end.0).chain(self.reserved_ends.iter().copied()).collect();
        times.sort_unstable();
        times.dedup();
        let mut free = self.free.clone();
        let mut ended = 0;
        for start in times {
            while ended < self.ends.len() && self.ends[ended].0 <= start {
                free.add(&self.held[ended]);
                ended += 1;
            }
            if let Some(nodes) = self.unreserved(&free, start, head.walltime).lowest(head.nodes) {
                return (start, nodes);
            }
        }
        unreachable!("a job that fits the site can start once all others have ended")
    }

    fn start_heads(&mut self, now: Time, starts: &mut Vec<Start>) {
        while let Some(head) = self.queue.front().copied() {
            // As long as nothing ends, a head that has been tried stays where it is.
            if self.tried > 0 {
                return;
            }
            let Some(nodes) = self.for_head(now, &head) else { return };
            self.queue.pop_front();
            self.start(now, &head, nodes, starts);
        }
    }

    fn start_followers(&mut self, now: Time, starts: &mut Vec<Start>) {
        let Some(head) = self.queue.front() else { return };
        let first = self.tried.max(1);
        if first >= self.queue.len() || self.free_count == 0 {
            return;
        }
        let mut shadow = self.shadow.take().unwrap_or_else(|| self.reserve(head));
        let mut kept = first;
        for place in first..self.queue.len() {
            let ask = self.queue[place];
            if let Some(nodes) = self.for_follower(now, &ask, &shadow) {
                shadow.spare.take(&nodes);
                shadow.spare_count = shadow.spare.len();
                self.start(now, &ask, nodes, starts);
                continue;
            }
            if kept < place {
                self.queue[kept] = ask;
            }
            kept += 1;
        }
        self.queue.truncate(kept);
        self.shadow = Some(shadow);
    }

    /// Forgets what was tried: something is free that was not.
    fn look_anew(&mut self) {
        (self.tried, self.shadow) = (0, None);
    }
}

impl<S: Set + Send> Policy for ByNode<S> {
    fn end(&mut self, _: Time, job: JobId, until: Time) {
        let place = self.ends.partition_point(|end| (end.0, end.1) < (until, job));
        assert!(self.ends.get(place).is_some_and(|end| end.1 == job), "job {job} ends that does not run");
        let (_, _, count) = self.ends.remove(place);
        self.free.add(&self.held.remove(place));
        self.free_count += count;
        self.look_anew();
    }

    fn submit(&mut self, _: Time, ask: Ask) {
        self.queue.push_back(ask);
    }

    fn pass(&mut self, now: Time, starts: &mut Vec<Start>) {
        while self.reserved_ends.pop_front_if(|end| *end <= now).is_some() {
            self.reserved.advance(now);
            self.look_anew();
        }
        self.start_heads(now, starts);
        if self.backfill {
            self.start_followers(now, starts);
        }
        self.tried = self.queue.len();
    }

    fn wake(&self) -> Option<Time> {
        self.reserved_ends.front().copied().filter(|_| !self.queue.is_empty())
    }
}
