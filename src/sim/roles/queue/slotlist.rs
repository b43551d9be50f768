//! Conservative backfilling with a list of free slots; each job takes the first suitable one (`grid::FreeList`).
//!
//! G. Singh, "An end-to-end framework for provisioning based resource and application management in grids", 2008,
//! chapter 4. Nodes are only counted, and yet a job may start later than counts allow, as slots in the list are not
//! rearranged. While all jobs take the time that they request, each gets its place on arrival; otherwise the list is
//! rebuilt: running jobs and bookings in order of starts, then the queue. A rebuild costs O(slots) per job.

use super::labels::{Labels, Tenant};
use super::order::{Ranking, Waiting};
use super::plan::leave_room;
use super::{NodeRequest, Policy, Reserved, Step};
use crate::grid::{FreeList, NodeSet, TaskId};
use crate::time::Time;

pub(super) fn build_policy(nodes: u32, reserved: &[Reserved], ranking: Ranking) -> Box<dyn Policy> {
    Box::new(SlotList::new(nodes, reserved, ranking))
}

#[derive(Clone)]
struct SlotList {
    nodes: u32,
    list: FreeList,
    ranking: Ranking,
    /// Jobs with their starts in the list, in order of rank.
    queue: Vec<(Waiting, Time)>,
    /// Bookings that are not over, in order of arrival.
    booked: Vec<Reserved>,
    /// Running jobs, sorted by (until, job).
    running: Vec<RunningJob>,
    labels: Labels,
    /// True if nodes are free or taken that the list does not know of.
    stale: bool,
}

#[derive(Clone)]
struct RunningJob {
    until: Time,
    job: TaskId,
    nodes: NodeSet,
}

impl SlotList {
    fn new(nodes: u32, reserved: &[Reserved], ranking: Ranking) -> SlotList {
        let mut labels = Labels::new(nodes);
        reserved.iter().for_each(|booking| labels.book(booking));
        let list = FreeList::default();
        let booked = reserved.to_vec();
        let queue = Vec::new();
        let running = Vec::new();
        let mut site = SlotList { nodes, list, ranking, queue, booked, running, labels, stale: true };
        site.refresh_plan(Time::ZERO);
        site
    }

    fn refresh_plan(&mut self, now: Time) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let running = self.running.iter().map(|running| (now, running.until, running.nodes.len()));
        let booked = self.booked.iter().filter(|booking| booking.until > now);
        let booked = booked.map(|booking| (booking.from.max(now), booking.until, booking.nodes.len()));
        let mut fixed: Vec<(Time, Time, u32)> = running.chain(booked).collect();
        fixed.sort_by_key(|(from, ..)| *from);
        self.list.restart(now, self.nodes);
        for (from, until, count) in fixed {
            let start = self.list.place(count, until - from, from);
            assert_eq!(start, Some(from), "what was placed before began no later, so there is room");
        }
        if self.ranking.take_drift(now) {
            self.queue.sort_unstable_by(|(a, _), (b, _)| self.ranking.compare(now, a, b));
        }
        for (waiting, start) in &mut self.queue {
            *start = place_job(&mut self.list, now, &waiting.request);
        }
    }
}

fn place_job(list: &mut FreeList, now: Time, request: &NodeRequest) -> Time {
    list.place_in_time(request.nodes, request.walltime, now)
}

impl Policy for SlotList {
    fn end_job(&mut self, now: Time, job: TaskId, until: Time) {
        let at = self.running.partition_point(|running| (running.until, running.job) < (until, job));
        assert!(self.running.get(at).is_some_and(|running| running.job == job), "job {job} ends but does not run");
        self.labels.give_back(&self.running.remove(at).nodes);
        self.ranking.end_job(now, job);
        self.stale |= now < until;
    }

    fn submit_job(&mut self, now: Time, request: NodeRequest) {
        self.refresh_plan(now);
        self.list.trim(now);
        let start = place_job(&mut self.list, now, &request);
        let new = self.ranking.arrival(now, request);
        let place = self.ranking.place(now, &new, self.queue.len(), |index| &self.queue[index].0);
        self.queue.insert(place, (new, start));
    }

    fn submit_first(&mut self, now: Time, request: NodeRequest) {
        // Its place is found when the list is rebuilt.
        let first = self.ranking.first(now, request);
        self.queue.insert(0, (first, now));
        self.stale = true;
    }

    fn moves_jobs(&self) -> bool {
        true
    }

    fn withdraw_job(&mut self, _: Time, job: TaskId) {
        let before = self.queue.len();
        self.queue.retain(|(waiting, _)| waiting.request.job != job);
        self.stale |= self.queue.len() < before;
    }

    fn has_room(&self, _: Time, booking: &Reserved) -> bool {
        let running = self.running.iter().map(|running| (running.until, running.nodes.len()));
        leave_room(running, &self.booked, booking, self.nodes)
    }

    fn taken_nodes(&self, from: Time, until: Time) -> NodeSet {
        Reserved::nodes_within(self.booked.iter(), from, until)
    }

    fn add_booking(&mut self, _: Time, booking: &Reserved) {
        self.labels.book(booking);
        self.booked.push(booking.clone());
        self.stale = true;
    }

    fn release_booking(&mut self, _: Time, booking: &Reserved) {
        self.labels.release(booking);
        self.booked.retain(|other| other != booking);
        self.stale = true;
    }

    fn make_way(&mut self, now: Time, steps: &mut Vec<Step>) {
        let tenants =
            self.running.iter_mut().map(|RunningJob { until, job, nodes }| Tenant { job: *job, until: *until, nodes });
        self.labels.advance_bookings(now, tenants, steps);
    }

    fn run_pass(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.booked.retain(|booking| booking.until > now);
        self.refresh_plan(now);
        self.make_way(now, steps);
        let SlotList { queue, running, labels, ranking, .. } = self;
        queue.retain(|(waiting, start)| {
            if *start > now {
                return true;
            }
            let request = &waiting.request;
            let until = now + request.walltime;
            let job = request.job;
            ranking.start_job(now, waiting);
            let nodes = labels.take(request.nodes, until);
            steps.push(Step::Start { job, nodes: nodes.clone() });
            let at = running.partition_point(|running| (running.until, running.job) < (until, job));
            running.insert(at, RunningJob { until, job, nodes });
            false
        });
    }

    fn next_wake(&self) -> Option<Time> {
        let start = self.queue.iter().map(|(_, start)| *start).min().filter(|start| *start < Time::NEVER);
        let booked = self.labels.next().filter(|_| !self.queue.is_empty() || !self.running.is_empty());
        start.into_iter().chain(booked).min()
    }

    fn planned_starts(&self, now: Time, extra: Option<&Reserved>) -> Vec<(TaskId, Time)> {
        if !self.stale && extra.is_none() {
            return list_starts(self);
        }
        let mut future = self.clone();
        extra.iter().for_each(|extra| future.add_booking(now, extra));
        future.refresh_plan(now);
        list_starts(&future)
    }
}

fn list_starts(list: &SlotList) -> Vec<(TaskId, Time)> {
    list.queue.iter().map(|(waiting, start)| (waiting.request.job, *start)).collect()
}
