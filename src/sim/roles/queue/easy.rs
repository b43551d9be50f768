//! EASY, or aggressive backfilling: a job may overtake others if it does not delay the first job in the queue.
//!
//! D. Lifka, "The ANL/IBM SP scheduling system", 1995.
//!
//! Only the reservation of the head is planned, so a pass needs the free nodes, the running jobs by their ends, and one
//! walk over the queue. Unless something becomes free, the reservation stands, and a job that could not start cannot
//! start later: a pass then considers only new jobs. FCFS is EASY without the walk.

use super::blocks::{BlockQueue, Limits};
use super::order::{Ranking, Waiting};
use super::{NodeRequest, Policy, Reserved, Step};
use crate::grid::{NodeSet, TaskId};
use crate::time::Time;

/// Jobs that may overtake the head of the queue, if they do not delay it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backfill {
    /// No job overtakes: first come, first served.
    None,
    /// All jobs that fit may overtake.
    All,
    /// Jobs ahead of the first one that does not fit may overtake.
    UntilMisfit,
}

/// Nodes of a site in EASY's view: by identity, or by count.
pub(super) trait NodePool: Clone + Send + 'static {
    /// Nodes for a job.
    type Room;
    /// The reservation of the head.
    type Shadow: Clone + Send;
    /// True if running jobs may be moved.
    const MOVES: bool;

    fn is_used_up(&self) -> bool;
    /// Nodes for a job that starts now, with no job ahead of it.
    fn for_head(&self, now: Time, request: &NodeRequest) -> Option<Self::Room>;
    /// Nodes for a job that starts now and leaves the head its reservation.
    fn for_follower(&self, now: Time, request: &NodeRequest, shadow: &Self::Shadow) -> Option<Self::Room>;
    /// Bounds of the jobs for which [`NodePool::for_follower`] may find nodes.
    fn follower_limits(&self, now: Time, shadow: &Self::Shadow) -> Limits;
    /// Earliest time at which the head fits for its whole walltime, and its nodes then.
    fn head_reservation(&self, now: Time, head: &NodeRequest) -> Self::Shadow;
    /// Subtracts a follower that has started from the nodes beside the head's reservation.
    fn shrink_shadow(&self, now: Time, request: &NodeRequest, room: &Self::Room, shadow: &mut Self::Shadow);
    fn start_job(&mut self, now: Time, request: &NodeRequest, room: Self::Room) -> NodeSet;
    /// Takes over a running job, like [`Policy::adopt`].
    fn adopt(&mut self, _now: Time, _request: &NodeRequest, _nodes: &NodeSet) -> bool {
        false
    }
    fn end_job(&mut self, now: Time, job: TaskId, until: Time);
    fn has_room(&self, now: Time, booking: &Reserved) -> bool;
    fn taken_nodes(&self, from: Time, until: Time) -> NodeSet;
    fn add_booking(&mut self, now: Time, booking: &Reserved);
    fn release_booking(&mut self, now: Time, booking: &Reserved);
    /// Lets bookings begin and end; true if anything may have become free.
    fn advance_bookings(&mut self, now: Time, steps: &mut Vec<Step>) -> bool;
    fn next_wake(&self, is_anybody_waiting: bool) -> Option<Time>;
    /// Latest ends of running jobs, ascending.
    fn running_ends(&self) -> &[(Time, TaskId, u32)];
}

#[derive(Clone)]
pub(super) struct Easy<S: NodePool> {
    supply: S,
    backfill: Backfill,
    ranking: Ranking,
    /// Waiting jobs in order of rank.
    queue: BlockQueue,
    /// Number of jobs of the queue that have been tried without success since something became free.
    tried: usize,
    shadow: Option<S::Shadow>,
}

impl<S: NodePool> Easy<S> {
    pub fn new(supply: S, ranking: Ranking, backfill: Backfill) -> Easy<S> {
        Easy { supply, backfill, ranking, queue: BlockQueue::default(), tried: 0, shadow: None }
    }

    fn start(&mut self, now: Time, waiting: &Waiting, room: S::Room, steps: &mut Vec<Step>) {
        let nodes = self.supply.start_job(now, &waiting.request, room);
        self.ranking.start_job(now, waiting);
        steps.push(Step::Start { job: waiting.request.job, nodes });
    }

    fn start_heads(&mut self, now: Time, steps: &mut Vec<Step>) {
        // Unless something becomes free, a head that has been tried stays.
        while self.tried == 0
            && let Some(head) = self.queue.first().copied()
            && let Some(room) = self.supply.for_head(now, &head.request)
        {
            self.queue.pop_first();
            self.start(now, &head, room, steps);
        }
    }

    fn start_followers(&mut self, now: Time, steps: &mut Vec<Step>) {
        let Some(head) = self.queue.first().map(|head| head.request) else { return };
        let first = self.tried.max(1);
        // A follower that was tried and has not started is a misfit.
        let is_over = self.backfill == Backfill::UntilMisfit && first > 1;
        if is_over || first >= self.queue.len() || self.supply.is_used_up() {
            return;
        }
        let mut shadow = self.shadow.take().unwrap_or_else(|| self.supply.head_reservation(now, &head));
        let mut cursor = self.queue.cursor(first);
        loop {
            let limits = match self.backfill {
                Backfill::UntilMisfit => Limits::NONE,
                _ => self.supply.follower_limits(now, &shadow),
            };
            let Some(request) = self.queue.next_within(limits, &mut cursor) else { break };
            if let Some(room) = self.supply.for_follower(now, &request, &shadow) {
                let waiting = self.queue.remove(&cursor);
                self.supply.shrink_shadow(now, &request, &room, &mut shadow);
                self.start(now, &waiting, room, steps);
            } else if self.backfill == Backfill::UntilMisfit {
                break;
            } else {
                cursor.pass();
            }
        }
        self.shadow = Some(shadow);
    }

    /// Sorts the queue, if ranks have changed while jobs waited. O(queue) if they have not.
    fn sort(&mut self, now: Time) {
        if self.ranking.take_drift(now)
            && !self.queue.iter().is_sorted_by(|a, b| self.ranking.compare(now, a, b).is_le())
        {
            let mut jobs: Vec<Waiting> = self.queue.iter().copied().collect();
            jobs.sort_unstable_by(|a, b| self.ranking.compare(now, a, b));
            self.queue = BlockQueue::of(&jobs);
            self.discard_tries();
        }
    }

    /// Discards the results of earlier tries: nodes have become free or taken.
    fn discard_tries(&mut self) {
        (self.tried, self.shadow) = (0, None);
    }
}

impl<S: NodePool> Policy for Easy<S> {
    fn end_job(&mut self, now: Time, job: TaskId, until: Time) {
        self.supply.end_job(now, job, until);
        self.ranking.end_job(now, job);
        self.discard_tries();
    }

    fn submit_job(&mut self, now: Time, request: NodeRequest) {
        let new = self.ranking.arrival(now, request);
        let ranking = &self.ranking;
        // A queue whose ranks have changed is sorted before each pass.
        let is_last =
            self.queue.insert(new, |other| ranking.is_unsorted() || ranking.compare(now, other, &new).is_le());
        if !is_last {
            self.discard_tries();
        }
    }

    fn adopt(&mut self, now: Time, request: NodeRequest, nodes: &NodeSet) -> bool {
        self.discard_tries();
        let is_adopted = self.supply.adopt(now, &request, nodes);
        if is_adopted {
            self.ranking.adopt_job(now, &request);
        }
        is_adopted
    }

    fn submit_first(&mut self, now: Time, request: NodeRequest) {
        let first = self.ranking.first(now, request);
        self.queue.push_first(first);
        self.discard_tries();
    }

    fn withdraw_job(&mut self, _: Time, job: TaskId) {
        self.queue.remove_job(job);
        self.discard_tries();
    }

    fn has_room(&self, now: Time, booking: &Reserved) -> bool {
        self.supply.has_room(now, booking)
    }

    fn taken_nodes(&self, from: Time, until: Time) -> NodeSet {
        self.supply.taken_nodes(from, until)
    }

    fn add_booking(&mut self, now: Time, booking: &Reserved) {
        self.supply.add_booking(now, booking);
        self.discard_tries();
    }

    fn release_booking(&mut self, now: Time, booking: &Reserved) {
        self.supply.release_booking(now, booking);
        self.discard_tries();
    }

    fn make_way(&mut self, now: Time, steps: &mut Vec<Step>) {
        if self.supply.advance_bookings(now, steps) {
            self.discard_tries();
        }
    }

    fn run_pass(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.make_way(now, steps);
        self.sort(now);
        self.start_heads(now, steps);
        if self.backfill != Backfill::None {
            self.start_followers(now, steps);
        }
        self.tried = self.queue.len();
    }

    fn next_wake(&self) -> Option<Time> {
        self.supply.next_wake(!self.queue.is_empty())
    }

    fn moves_jobs(&self) -> bool {
        S::MOVES
    }

    /// Simulates the future with all jobs taking their walltimes.
    fn planned_starts(&self, now: Time, extra: Option<&Reserved>) -> Vec<(TaskId, Time)> {
        let mut future = self.clone();
        if let Some(extra) = extra {
            future.add_booking(now, extra);
        }
        let queue: Vec<NodeRequest> = self.queue.iter().map(|waiting| waiting.request).collect();
        let mut plan: Vec<(TaskId, Time)> = queue.iter().map(|request| (request.job, Time::NEVER)).collect();
        let mut places: Vec<usize> = (0..plan.len()).collect();
        places.sort_unstable_by_key(|place| plan[*place].0);
        let mut now = now;
        let mut steps = Vec::new();
        loop {
            future.run_pass(now, &mut steps);
            for step in steps.drain(..) {
                if let Step::Start { job, .. } = step {
                    let place = places.binary_search_by_key(&job, |place| plan[*place].0);
                    let place = places[place.expect("a job that starts was in the queue")];
                    plan[place].1 = queue[place].in_time(now);
                }
            }
            if future.queue.is_empty() {
                return plan;
            }
            let end = future.supply.running_ends().first().map(|end| end.0);
            let wake = future.next_wake().filter(|wake| *wake > now);
            now = end.into_iter().chain(wake).min().expect("a waiting job waits for an event");
            if now == Time::NEVER {
                return plan;
            }
            while let Some(&(until, job, _)) = future.supply.running_ends().first().filter(|end| end.0 <= now) {
                future.end_job(now, job, until);
            }
        }
    }
}
