//! FCFS and EASY over counts of nodes.

use std::collections::VecDeque;

use super::counts::Counts;
use super::labels::Labels;
use super::{Ask, Policy, Reserved, Start};
use crate::grid::{JobId, NodeSet};
use crate::time::Time;

pub(super) fn build(nodes: u32, reserved: &[Reserved], backfill: bool) -> Box<dyn Policy> {
    let mut counts = Counts::default();
    for Reserved { from, until, nodes } in reserved {
        counts.insert(*from, *until, nodes.len());
    }
    let last_reserved = reserved.iter().map(|reserved| reserved.until).max().unwrap_or(Time::ZERO);
    Box::new(ByCount {
        backfill,
        nodes,
        free: nodes,
        ends: Vec::new(),
        held: Vec::new(),
        queue: VecDeque::new(),
        tried: 0,
        shadow: None,
        counts: (!reserved.is_empty()).then_some(counts),
        last_reserved,
        labels: Labels::new(nodes, reserved),
    })
}

struct ByCount {
    backfill: bool,
    nodes: u32,
    /// Where no job runs; what is reserved counts as free.
    free: u32,
    /// When each running job has to end, and how many nodes it frees then; in this order.
    ends: Vec<(Time, JobId, u32)>,
    held: Vec<NodeSet>,
    queue: VecDeque<Ask>,
    /// How many of the queue have been tried in vain since something ended.
    tried: usize,
    shadow: Option<Shadow>,
    /// Running jobs and what is reserved; only kept where anything is.
    counts: Option<Counts>,
    last_reserved: Time,
    labels: Labels,
}

/// The reservation of the head.
struct Shadow {
    start: Time,
    end: Time,
    nodes: u32,
    /// What is left beside it, if nothing is reserved for anything else.
    spare: u32,
}

impl ByCount {
    fn fits(&self, now: Time, ask: &Ask) -> bool {
        let room = |counts: &Counts| counts.most(now, now + ask.walltime) + ask.nodes <= self.nodes;
        ask.nodes <= self.free && self.counts.as_ref().is_none_or(room)
    }

    fn fits_beside(&self, now: Time, ask: &Ask, shadow: &Shadow) -> bool {
        let end = now + ask.walltime;
        if !self.fits(now, ask) {
            return false;
        }
        if end <= shadow.start {
            return true;
        }
        match &self.counts {
            None => ask.nodes <= shadow.spare,
            Some(counts) => {
                let most = counts.most(shadow.start, end.min(shadow.end));
                most + shadow.nodes + ask.nodes <= self.nodes
            }
        }
    }

    fn start(&mut self, now: Time, ask: &Ask, starts: &mut Vec<Start>) {
        let end = now + ask.walltime;
        self.free -= ask.nodes;
        if let Some(counts) = &mut self.counts {
            counts.insert(now, end, ask.nodes);
        }
        let nodes = self.labels.take(ask.nodes);
        let key = (end, ask.job, ask.nodes);
        let place = self.ends.partition_point(|end| *end < key);
        self.ends.insert(place, key);
        self.held.insert(place, nodes.clone());
        starts.push(Start { job: ask.job, nodes });
    }

    fn reserve(&self, now: Time, head: &Ask) -> Shadow {
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

    fn start_followers(&mut self, now: Time, starts: &mut Vec<Start>) {
        let Some(head) = self.queue.front() else { return };
        let first = self.tried.max(1);
        if first >= self.queue.len() || self.free == 0 {
            return;
        }
        let mut shadow = self.shadow.take().unwrap_or_else(|| self.reserve(now, head));
        let mut kept = first;
        for place in first..self.queue.len() {
            let ask = self.queue[place];
            if self.fits_beside(now, &ask, &shadow) {
                if now + ask.walltime > shadow.start {
                    shadow.spare = shadow.spare.saturating_sub(ask.nodes);
                }
                self.start(now, &ask, starts);
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

    fn look_anew(&mut self) {
        (self.tried, self.shadow) = (0, None);
    }
}

impl Policy for ByCount {
    fn end(&mut self, now: Time, job: JobId, until: Time) {
        let place = self.ends.partition_point(|end| (end.0, end.1) < (until, job));
        assert!(self.ends.get(place).is_some_and(|end| end.1 == job), "job {job} ends that does not run");
        let (_, _, count) = self.ends.remove(place);
        self.labels.give_back(&self.held.remove(place));
        self.free += count;
        if let Some(counts) = self.counts.as_mut().filter(|_| now < until) {
            counts.remove(now, until, count);
        }
        self.look_anew();
    }

    fn submit(&mut self, _: Time, ask: Ask) {
        self.queue.push_back(ask);
    }

    fn pass(&mut self, now: Time, starts: &mut Vec<Start>) {
        if let Some(counts) = &mut self.counts {
            counts.advance(now);
            self.labels.keep_up(now);
            // Anything reserved may have ended.
            (self.tried, self.shadow) = (0, None);
            if now >= self.last_reserved {
                self.counts = None;
            }
        }
        while self.tried == 0 {
            let Some(head) = self.queue.front().copied().filter(|head| self.fits(now, head)) else { break };
            self.queue.pop_front();
            self.start(now, &head, starts);
        }
        if self.backfill {
            self.start_followers(now, starts);
        }
        self.tried = self.queue.len();
    }

    fn wake(&self) -> Option<Time> {
        self.labels.next()
    }
}
