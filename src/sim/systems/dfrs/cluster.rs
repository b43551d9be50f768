//! State of one cluster, and the events of an instant. Sections 3 and 4 of the paper.

use std::cmp::Ordering;

use super::algorithm::{Action, Fractional, Grace, Optimise, Periodic, VirtualTime};
use super::greedy::{self, Failures};
use super::idle::{Idle, PriorityBand};
use super::ranking::PriorityRanking;
use super::room::{Fits, NodeLoads, TaskPlaces, UpNodes};
use super::{MappingRefusal, Moves, Need, mcb8, stretch, yields};
use crate::grid::sharing::need::TOLERANCE;
use crate::grid::{Images, MoveCost, NodeSet, TaskId};
use crate::time::{Span, Time};

/// A cluster whose jobs share nodes.
///
/// It never learns run times: its owner reports completions.
///
/// Costs, for `J` live jobs, `R` tasks of running jobs and `N` nodes; nothing grows with finished jobs. Each instant
/// costs O(R + N), plus the yields (`yields/`). A greedy submission adds O(N) per task of the job; a completion adds
/// two or three scans of all `J` (`idle.rs`), O(N) per waiting job that may fit, and O(N) per task of jobs that do;
/// MCB8 adds one scan of all `J`, and the costs of `mcb8.rs` for jobs whose memory fits in total: paused jobs, however
/// many, cost hardly more than the scan.
#[derive(Clone, Debug)]
pub struct Cluster {
    rules: Fractional,
    cost: MoveCost,
    nodes: u32,
    /// Nodes that are down; no jobs are on them or placed on them.
    down: NodeSet,
    /// In order of submission; a lost job moves to the end.
    live: Vec<ClusterJob>,
    /// Indices into `live` of running jobs, ascending.
    running: Vec<usize>,
    /// Previous placements of jobs that moved in this instant, unordered.
    before: Vec<(usize, TaskPlaces)>,
    /// Jobs on no node, by priority.
    idle: Idle,
    /// Scratch buffer, kept to avoid reallocation: thousands are ranked at an instant.
    ranking: PriorityRanking,
    /// Time of the first submission, from which ticks count.
    first: Option<Time>,
    last_tick: Option<Time>,
}

/// Idle jobs that are ranked first; if they are not enough, four times as many, and so on.
const FIRST_BAND: usize = 64;

/// A submitted job that has not ended.
#[derive(Clone, Debug)]
pub struct ClusterJob {
    pub job: TaskId,
    pub need: Need,
    pub submitted: Time,
    /// Nodes of its tasks; empty while it is on no node.
    pub places: TaskPlaces,
    /// Yield: fraction of its processor need that it gets.
    pub share: f64,
    /// True if it has moved in this instant.
    is_sent: bool,
    has_run: bool,
    /// Time of its last pause; meaningless before the first one.
    paused: Time,
    /// Progress at `from`, in microseconds; a float, because shares are.
    pub(super) done: f64,
    /// Time from which it makes progress.
    from: Time,
    /// Yield integrated over waits for a penalty or for images, up to `settled`, in microseconds.
    held: f64,
    /// Time up to which `held` is computed.
    settled: Time,
}

/// Stage of a live job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStage {
    Waiting,
    Running,
    Paused,
}

/// Events of an instant, since the last one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// Jobs that have ended or were recalled.
    pub gone: Vec<TaskId>,
    /// Nodes that are down from now on; None if there is no change.
    pub down: Option<NodeSet>,
    /// Jobs that were on a failed node and restart, each with its saved progress.
    pub lost: Vec<(TaskId, f64)>,
    /// New jobs in order of submission.
    pub come: Vec<(TaskId, Need)>,
}

impl Events {
    /// True if these events took a job off its nodes: it ended, or was lost.
    pub fn have_released(&self, job: TaskId) -> bool {
        self.gone.contains(&job) || self.lost.iter().any(|lost| lost.0 == job)
    }
}

/// Changes of an instant, job by job in order of submission.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub paused: Vec<TaskId>,
    /// Progress of each paused job, in microseconds.
    pub paused_done: Vec<f64>,
    pub migrated: Vec<Placed>,
    pub resumed: Vec<Placed>,
    pub started: Vec<Placed>,
    /// Yields of jobs on nodes that differ from before, including those of new jobs.
    pub yields: Vec<(TaskId, f64)>,
}

/// New placement of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub job: TaskId,
    pub need: Need,
    pub places: TaskPlaces,
    /// Number of tasks on nodes without a task of this job before: all tasks, unless the job was moved.
    pub moved: u32,
    /// Time from which it makes progress.
    pub from: Time,
}

impl Cluster {
    pub fn new(rules: Fractional, nodes: u32) -> Cluster {
        Cluster {
            rules,
            cost: rules.move_cost(None),
            nodes,
            down: NodeSet::default(),
            live: Vec::new(),
            running: Vec::new(),
            before: Vec::new(),
            idle: Idle::new(&rules),
            ranking: PriorityRanking::default(),
            first: None,
            last_tick: None,
        }
    }

    /// Sets the rate at which images of tasks are transferred.
    pub fn moving(self, images: Option<Images>) -> Cluster {
        Cluster { cost: self.rules.move_cost(images), ..self }
    }

    /// True if the cluster could ever run a job. Other jobs must not be passed to `advance`.
    pub fn check(&self, need: &Need) -> Result<(), MappingRefusal> {
        need.check(self.nodes)
    }

    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    pub fn down(&self) -> &NodeSet {
        &self.down
    }

    /// Live jobs in order of submission.
    pub fn live(&self) -> &[ClusterJob] {
        &self.live
    }

    /// Running jobs, in order of submission. Only these can end.
    pub fn running(&self) -> impl Iterator<Item = &ClusterJob> {
        self.running.iter().map(|at| &self.live[*at])
    }

    /// The next tick after `now`; None if there are no live jobs.
    pub fn next_tick(&self, now: Time) -> Option<Time> {
        let first = self.first.filter(|_| self.rules.periodic.is_some() && !self.live.is_empty())?;
        let ticks = now.since(first).micros() / self.rules.period.micros() + 1;
        Some(first + Span::from_micros(ticks.saturating_mul(self.rules.period.micros())))
    }

    /// Processes all events of an instant, which must follow the last one. A tick is recognised by the time.
    ///
    /// A loss counts as a completion and a submission for the placement of other jobs; a repair of nodes counts as a
    /// completion.
    pub fn advance(&mut self, now: Time, events: &Events) -> Changes {
        let Events { gone, down, lost, come } = events;
        gone.iter().for_each(|job| _ = self.remove(*job));
        let lost: Vec<ClusterJob> =
            lost.iter().filter_map(|(job, saved)| self.restart_lost(now, *job, *saved)).collect();
        let are_back = down.as_ref().is_some_and(|down| !down.contains(&self.down));
        if let Some(down) = down {
            self.down.clone_from(down);
        }
        let is_freed = !gone.is_empty() || !lost.is_empty() || are_back;
        let are_coming = !come.is_empty() || !lost.is_empty();
        if self.first.is_none() && !come.is_empty() {
            self.first = Some(now);
        }
        let is_tick = self.is_tick(now);
        self.last_tick = if is_tick { Some(now) } else { self.last_tick };

        // Completion action of the greedy policies.
        if is_freed && self.rules.completion == Action::Greedy {
            self.fill(now);
        }
        // Submission action, job by job.
        for live in lost.into_iter().chain(come.iter().map(|(job, need)| ClusterJob::new(*job, *need, now))) {
            self.idle.push(&live, now);
            self.live.push(live);
            self.admit(now);
        }
        // MCB8, at a tick or as submission or completion action.
        let is_full_turn = is_tick
            || are_coming && self.rules.submission == Action::Mcb8
            || is_freed && self.rules.completion == Action::Mcb8;
        let mut shares = None;
        if is_full_turn && !self.live.is_empty() {
            shares = self.place_all(now);
        }

        let mut changes = self.commit(now);
        // Between ticks, MCB8-stretch keeps the yields.
        let is_settled = self.rules.periodic == Some(Periodic::Stretch) && !is_tick;
        if !is_settled && (is_full_turn || is_freed || are_coming) {
            let shares = shares.unwrap_or_else(|| self.yields());
            self.share(now, &shares, &mut changes);
        }
        changes
    }

    fn is_tick(&self, now: Time) -> bool {
        let Some(first) = self.first.filter(|first| self.rules.periodic.is_some() && *first < now) else {
            return false;
        };
        now.since(first).micros().is_multiple_of(self.rules.period.micros()) && self.last_tick != Some(now)
    }

    fn remove(&mut self, job: TaskId) -> Option<ClusterJob> {
        // An ended job was running, usually.
        let found = self
            .running
            .iter()
            .copied()
            .find(|at| self.is_job_at(at, job))
            .or_else(|| (0..self.live.len()).find(|at| self.is_job_at(at, job)));
        let at = found?;
        let live = self.live.remove(at);
        self.idle.remove(at);
        self.running.retain(|other| *other != at);
        let later = self.running.partition_point(|other| *other < at);
        self.running[later..].iter_mut().for_each(|other| *other -= 1);
        Some(live)
    }

    fn is_job_at(&self, at: &usize, job: TaskId) -> bool {
        self.live[*at].job == job
    }

    /// Takes a job off its failed nodes. Returns it with its saved progress and its time of submission, to be started
    /// again.
    fn restart_lost(&mut self, now: Time, job: TaskId, saved: f64) -> Option<ClusterJob> {
        let ClusterJob { need, submitted, .. } = self.remove(job)?;
        Some(ClusterJob { submitted, done: saved, ..ClusterJob::new(job, need, now) })
    }

    /// Number of nodes that are up.
    fn up_nodes(&self) -> u32 {
        self.nodes - self.down.len()
    }

    /// Moves a job to other nodes, or to none.
    fn send(&mut self, now: Time, at: usize, places: TaskPlaces) {
        match self.running.binary_search(&at) {
            Err(index) if !places.is_empty() => self.running.insert(index, at),
            Ok(index) if places.is_empty() => _ = self.running.remove(index),
            _ => {}
        }
        self.move_to(now, at, places);
    }

    /// Like `send`, for callers that update `running` themselves.
    fn move_to(&mut self, now: Time, at: usize, places: TaskPlaces) {
        let live = &mut self.live[at];
        let before = std::mem::replace(&mut live.places, places);
        if !std::mem::replace(&mut live.is_sent, true) {
            self.before.push((at, before));
        }
        self.idle.set(at, live, now);
    }

    /// Places jobs without nodes, from highest to lowest priority, if there is room. A job that does not fit does not
    /// block others.
    ///
    /// The first few jobs take most of the room; of the others only those are ranked that may fit then.
    fn fill(&mut self, now: Time) {
        let mut room = self.room();
        let mut failures = Failures::default();
        let mut ranking = std::mem::take(&mut self.ranking);
        let mut band = PriorityBand::ABOVE_ALL;
        let mut wanted = FIRST_BAND;
        while !band.is_last() {
            let fits = room.fits();
            band = self.idle.next_band(band, wanted, now, &fits);
            wanted *= 4;
            ranking.restart(std::iter::empty());
            self.idle.rank(band, now, &fits, &mut ranking);
            // Room only shrinks: after this many misses in a row, jobs that surely do not fit are dropped unsorted.
            let mut misses = 0;
            let mut patience = 4;
            while let Some(at) = ranking.next() {
                let need = self.live[at].need;
                if !failures.rule_out(&need) {
                    if let Some(places) = greedy::place_tasks(&mut room, &need) {
                        self.send(now, at, places);
                        misses = 0;
                        continue;
                    }
                    failures.add_failure(&need);
                }
                misses += 1;
                if misses > patience {
                    let fits = room.fits();
                    ranking.retain(|at| fits.may_fit(self.live[at].need.memory, self.live[at].need.tasks));
                    (misses, patience) = (0, 2 * patience);
                }
            }
        }
        self.ranking = ranking;
    }

    /// Submission action for the newest job.
    fn admit(&mut self, now: Time) {
        if !matches!(self.rules.submission, Action::Greedy | Action::GreedyP | Action::GreedyPM) {
            return;
        }
        let newest = self.live.len() - 1;
        let need = self.live[newest].need;
        let mut room = self.room();
        if let Some(places) = greedy::place_tasks(&mut room, &need) {
            self.send(now, newest, places);
            return;
        }
        // No job is displaced for a job that does not fit even then.
        if self.rules.submission == Action::Greedy || need.check(self.up_nodes()).is_err() {
            return;
        }

        let running = self.by_priority(now, self.running.iter().copied());
        let views: Vec<_> = running.iter().map(|at| (&self.live[*at].need, &self.live[*at].places)).collect();
        let displaced: Vec<usize> =
            greedy::find_displaced(&room, &need, &views).into_iter().map(|at| running[at]).collect();
        displaced.iter().for_each(|at| self.send(now, *at, TaskPlaces::new()));

        let mut room = self.room();
        self.send(now, newest, greedy::place_tasks(&mut room, &need).unwrap_or_default());
        if self.rules.submission == Action::GreedyPM {
            for at in displaced {
                let places = greedy::place_tasks(&mut room, &self.live[at].need).unwrap_or_default();
                self.send(now, at, places);
            }
        }
    }

    /// Places all jobs by MCB8; returns the shares if the placement determines them.
    fn place_all(&mut self, now: Time) -> Option<Vec<f64>> {
        let order = self.placeable(now);
        let mut kept = order.clone();
        kept.sort_unstable();
        let order: Vec<usize> =
            order.iter().map(|at| kept.binary_search(at).expect("the same in another order")).collect();
        let up = UpNodes::without_down(self.nodes, &self.down);
        let pinned = |live: &ClusterJob| self.is_pinned(live, now).then(|| up.numbered(&live.places));
        let pinned: Vec<Option<TaskPlaces>> = kept.iter().map(|at| pinned(&self.live[*at])).collect();
        let jobs: Vec<mcb8::Candidate<'_>> = { kept.iter().zip(&pinned) }
            .map(|(at, pinned)| mcb8::Candidate { need: &self.live[*at].need, pinned: pinned.as_ref() })
            .collect();
        if self.rules.periodic != Some(Periodic::Stretch) {
            let mapping = mcb8::map_jobs(up.count(), &jobs, &order, self.rules.sort);
            self.put_all(now, &kept, mapping, &up);
            return None;
        }
        let period = self.rules.period.micros() as f64;
        let virtual_time = self.rules.virtual_time;
        let age = |live: &ClusterJob| {
            let flow = now.since(live.submitted).micros() as f64;
            stretch::Age::new(flow, live.virtual_time(now, virtual_time), period)
        };
        let ages: Vec<stretch::Age> = kept.iter().map(|at| age(&self.live[*at])).collect();
        let (mapping, target) = stretch::map_jobs(up.count(), &jobs, &order, &ages, self.rules.sort);
        self.put_all(now, &kept, mapping, &up);
        let ages: Vec<stretch::Age> = self.running().map(age).collect();
        let mapped = self.running_places();
        Some(match self.rules.optimise {
            Optimise::Avg => stretch::average_yields(self.nodes, &mapped, &ages, target),
            Optimise::Min | Optimise::Max => stretch::maximum_yields(self.nodes, &mapped, &ages, target),
        })
    }

    fn is_pinned(&self, live: &ClusterJob, now: Time) -> bool {
        match self.rules.grace {
            _ if live.places.is_empty() => false,
            None => false,
            // Rounding must not decide about a job that has reached the limit.
            Some(Grace::VirtualTime(least)) => {
                live.virtual_time(now, self.rules.virtual_time) < least.micros() as f64 * (1.0 - TOLERANCE)
            }
            Some(Grace::FlowTime(least)) => now.since(live.submitted) < least,
        }
    }

    /// Jobs of highest priority whose total memory fits, descending: MCB8 cannot place more. O(J + K log K) for K of
    /// them, unless far more have equal priority. A job that does not fit while nodes are down does not block others.
    fn placeable(&mut self, now: Time) -> Vec<usize> {
        let mut ranking = std::mem::take(&mut self.ranking);
        let up = self.up_nodes();
        // Jobs that can never fit are not accepted.
        let mut memory = 0.0;
        let mut order = Vec::new();
        let mut band = PriorityBand::ABOVE_ALL;
        let mut wanted = self.running.len() + FIRST_BAND;
        'all: while !band.is_last() {
            band = self.idle.next_band(band, wanted, now, &Fits::ALL);
            wanted *= 4;
            let running = self.running.iter().map(|at| (self.live[*at].priority(now, &self.rules), *at));
            ranking.restart(running.filter(|(priority, _)| band.has(*priority)));
            self.idle.rank(band, now, &Fits::ALL, &mut ranking);
            for at in ranking.by_ref().filter(|at| self.down.is_empty() || self.live[*at].need.check(up).is_ok()) {
                memory += self.live[at].need.total_memory();
                if memory > mcb8::tolerant_capacity(up) {
                    break 'all;
                }
                order.push(at);
            }
        }
        self.ranking = ranking;
        order
    }

    /// Moves these jobs to their nodes, out of those that are up, and takes all other jobs off their nodes.
    fn put_all(&mut self, now: Time, jobs: &[usize], mapping: Vec<TaskPlaces>, up: &UpNodes) {
        for at in std::mem::take(&mut self.running) {
            if jobs.binary_search(&at).is_err() {
                self.move_to(now, at, TaskPlaces::new());
            }
        }
        for (at, places) in jobs.iter().zip(mapping) {
            let places = up.original_places(places);
            if !places.is_empty() {
                self.running.push(*at);
            }
            if self.live[*at].places != places {
                self.move_to(now, *at, places);
            }
        }
    }

    /// Compares the new placements with the old ones and applies the changes.
    fn commit(&mut self, now: Time) -> Changes {
        let mut changes = Changes::default();
        let mut sent = std::mem::take(&mut self.before);
        sent.sort_unstable_by_key(|(at, _)| *at);
        for (at, before) in sent {
            let live = &mut self.live[at];
            live.is_sent = false;
            if live.places == before {
                continue;
            }
            live.settle(now);
            if live.places.is_empty() {
                live.share = 0.0;
                live.paused = now;
                changes.paused.push(live.job);
                changes.paused_done.push(live.done);
                continue;
            }
            let is_first = !live.has_run;
            live.has_run = true;
            let moved = newly_placed(&before, &live.places);
            if !is_first {
                let memory = live.need.memory;
                // A job that is moved again still waits for transfers under way.
                live.from = live.from.max(match before.is_empty() {
                    true => self.cost.after_pause(live.paused, now, moved, memory),
                    false => self.cost.after_move(now, moved, memory),
                });
            }
            let placed = Placed { job: live.job, need: live.need, places: live.places.clone(), moved, from: live.from };
            if is_first {
                changes.started.push(placed);
            } else if before.is_empty() {
                changes.resumed.push(placed);
            } else {
                changes.migrated.push(placed);
            }
        }
        changes
    }

    /// Yields of the running jobs.
    fn yields(&self) -> Vec<f64> {
        match self.rules.optimise {
            Optimise::Avg => yields::average_yields(self.nodes, &self.running_places()),
            Optimise::Min | Optimise::Max => yields::minimum_yields(self.nodes, &self.running_places()),
        }
    }

    fn share(&mut self, now: Time, shares: &[f64], changes: &mut Changes) {
        for (at, share) in self.running.iter().zip(shares) {
            let live = &mut self.live[*at];
            if live.share != *share {
                live.settle(now);
                live.share = *share;
                changes.yields.push((live.job, *share));
            }
        }
    }

    fn running_places(&self) -> Vec<(&Need, &TaskPlaces)> {
        self.running().map(|live| (&live.need, &live.places)).collect()
    }

    fn room(&self) -> NodeLoads {
        NodeLoads::with_jobs(self.nodes, &self.down, self.running_places())
    }

    /// Some of the live jobs from highest to lowest priority.
    fn by_priority(&self, now: Time, jobs: impl Iterator<Item = usize>) -> Vec<usize> {
        PriorityRanking::from_jobs(jobs.map(|at| (self.live[at].priority(now, &self.rules), at))).collect()
    }
}

impl Moves {
    /// Counts the pauses and moves of an instant.
    pub fn count(&mut self, changes: &Changes, need: impl Fn(TaskId) -> Need) {
        self.preemptions += changes.paused.len() as u64;
        self.migrations += changes.migrated.len() as u64;
        self.paused += changes.paused.iter().map(|job| need(*job).total_memory()).sum::<f64>();
        let migrated = changes.migrated.iter().map(|placed| f64::from(placed.moved) * need(placed.job).memory);
        self.migrated += migrated.sum::<f64>();
    }
}

#[cfg(test)]
impl Cluster {
    /// Adds a job that was submitted at time zero and has been on this node since, with this yield.
    pub(super) fn put(&mut self, job: TaskId, need: Need, node: u32, share: f64) {
        let placed = ClusterJob {
            places: vec![(node, need.tasks)],
            share,
            has_run: true,
            ..ClusterJob::new(job, need, Time::ZERO)
        };
        self.running.push(self.live.len());
        self.idle.push(&placed, Time::ZERO);
        self.live.push(placed);
    }
}

impl ClusterJob {
    pub(super) fn new(job: TaskId, need: Need, now: Time) -> ClusterJob {
        ClusterJob {
            job,
            need,
            submitted: now,
            places: TaskPlaces::new(),
            share: 0.0,
            is_sent: false,
            has_run: false,
            paused: now,
            done: 0.0,
            from: now,
            held: 0.0,
            settled: now,
        }
    }

    pub fn stage(&self) -> JobStage {
        match (self.places.is_empty(), self.has_run) {
            (false, _) => JobStage::Running,
            (true, true) => JobStage::Paused,
            (true, false) => JobStage::Waiting,
        }
    }

    /// Integral of its yield over the time in which it makes progress, in microseconds.
    pub fn progress(&self, now: Time) -> f64 {
        self.done + self.share * now.since(self.from).micros() as f64
    }

    /// Its virtual time in microseconds.
    pub fn virtual_time(&self, now: Time, rule: VirtualTime) -> f64 {
        match rule {
            VirtualTime::Progress => self.progress(now),
            VirtualTime::Yield => self.progress(now) + self.stalled_yield(now),
        }
    }

    /// Integral of its yield over the time in which it makes no progress.
    fn stalled_yield(&self, now: Time) -> f64 {
        self.held + self.share * now.min(self.from).since(self.settled).micros() as f64
    }

    /// Its priority by the rules: infinite while it has no virtual time.
    pub fn priority(&self, now: Time, rules: &Fractional) -> f64 {
        let flow = now.since(self.submitted).micros() as f64;
        rules.priority.of(flow, self.virtual_time(now, rules.virtual_time))
    }

    /// End of the job, if `runtime` is its run time on exclusive nodes, and nothing else happens.
    pub fn end(&self, runtime: Span) -> Time {
        if self.places.is_empty() || self.share == 0.0 {
            return Time::NEVER;
        }
        let left = (runtime.micros() as f64 - self.done).max(0.0) / self.share;
        self.from + Span::from_micros(left.round() as u64)
    }

    fn settle(&mut self, now: Time) {
        (self.held, self.done) = (self.stalled_yield(now), self.progress(now));
        self.from = self.from.max(now);
        self.settled = now;
    }
}

/// Number of tasks on nodes that had fewer before. Both arguments are ascending by node.
fn newly_placed(before: &TaskPlaces, after: &TaskPlaces) -> u32 {
    let mut before = before.iter().peekable();
    let mut sum = 0;
    for (node, tasks) in after {
        while before.next_if(|other| other.0 < *node).is_some() {}
        let had = before.peek().filter(|other| other.0.cmp(node) == Ordering::Equal).map_or(0, |other| other.1);
        sum += tasks.saturating_sub(had);
    }
    sum
}
