//! The state of a job and of its tasks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SiteFacts;
use super::stints::{Stint, StintEnd, Stints};
use hansa_sim::grid::{Area, Invalid, Job, JobShape, Needs, NodeSet, Task};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::{Bargain, ReserveAnswer};
use hansa_sim::time::{Span, Time};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobRow {
    pub job: Arc<Job>,
    pub user: ActorId,
    /// Number of the system of the topology that it was submitted to.
    pub system: u32,
    pub fate: Fate,
    pub critical_path: Span,
    pub tasks: Vec<TaskRow>,
    /// The answer to its request for a reservation, if it made one.
    pub answered: Option<AnsweredRow>,
    /// The shapes of its request for a reservation, if it has several; its task is in the chosen one, and its critical
    /// path is the shortest run time.
    pub shapes: Option<Box<ShapesRow>>,
    /// Needs of each of its parallel tasks on a node, if it does not need all of it.
    pub needs: Option<Needs>,
    /// The end of its user's negotiation, if there was one.
    pub bargain: Option<Bargain>,
}

/// Least duration in bounded stretches: shorter ones count as this.
const STRETCH_LEAST: Span = Span::from_secs(10);

/// A request for nodes between two times, and its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnsweredRow {
    /// Time of the first answer.
    pub at: Time,
    pub ready: Time,
    pub deadline: Time,
    /// The last booking, if there was one.
    pub answer: ReserveAnswer,
    /// Number of new bookings after failures of nodes, and the end of the last one.
    pub moved: u32,
    pub until: Option<Time>,
    /// The compensation of its user, if the promise was broken.
    pub broken: Option<Area>,
}

/// The shapes of a malleable job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShapesRow {
    pub shapes: Vec<JobShape>,
    /// The shape of the last booking, or the first one.
    pub chosen: u32,
}

impl ShapesRow {
    /// The shortest duration of all shapes, from which slowdowns count.
    pub fn shortest_duration(&self) -> Span {
        self.shapes.iter().map(|shape| shape.duration).min().unwrap_or(Span::ZERO)
    }
}

/// The decision of the router about a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Fate {
    Open,
    Completed {
        at: Time,
        value: Option<f64>,
    },
    Removed {
        at: Time,
    },
    Refused,
    NotAdmitted,
    /// Its request was declined or senseless.
    TurnedAway,
    /// No queue accepts it.
    Rejected(Invalid),
    /// Its user took it back.
    Cancelled {
        at: Time,
    },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaskRow {
    /// Site of the task, as an index; None before its assignment.
    pub site: Option<u32>,
    /// Time at which the router assigned it to the site.
    pub assigned: Option<Time>,
    pub start: Option<Time>,
    pub end: Option<Time>,
    pub cores: NodeSet,
    /// True if it was killed at its walltime.
    pub killed: bool,
    /// True if its site ended it for another task.
    pub preempted: bool,
    /// True if it has been assigned to a site since it was lost or requeued last.
    pub is_sent_again: bool,
    /// True if its site has accepted it from its user, where users report their own jobs.
    pub entered: bool,
    /// Its stints, if there was a break between start and end, or a change of cores; most tasks have none.
    pub stints: Option<Box<Stints>>,
    /// The consequences of failures and of preemptions, if there were any.
    pub setbacks: Option<Box<Setbacks>>,
}

/// The consequences of failures and of preemptions for a task, and its checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setbacks {
    /// Numbers of losses and of new starts after them.
    pub lost: u32,
    pub again: u32,
    /// Number of times that its site requeued it.
    pub requeued: u32,
    /// Wasted work of all its cores.
    pub wasted: Area,
    /// Number of checkpoints, and the work of all its cores that they took.
    pub checkpoints: u64,
    pub spent: Area,
    /// Work of checkpoints of each of its cores since it was lost or requeued last.
    spent_now: Span,
    /// Duration from each loss until it ran again.
    pub recovering: Span,
    lost_at: Time,
}

impl Setbacks {
    /// Records checkpoints, with the work that each of its cores spent on them.
    pub fn record_checkpoints(&mut self, times: u64, spent: Span, cores: u32) {
        self.checkpoints += times;
        self.spent += Area::of(cores, spent);
        self.spent_now = spent;
    }

    /// Records a loss, with the work of each of its cores since the last loss and the saved part of it.
    pub fn record_loss(&mut self, now: Time, worked: Span, saved: Span, cores: u32) {
        self.waste(worked, saved, cores);
        self.lost += 1;
        self.lost_at = now;
    }

    /// Records that its site requeued it, with the work of each of its cores since the last start, none of which is
    /// saved.
    pub fn record_requeue(&mut self, worked: Span, cores: u32) {
        self.waste(worked, Span::ZERO, cores);
        self.requeued += 1;
    }

    fn waste(&mut self, worked: Span, saved: Span, cores: u32) {
        let kept = saved + std::mem::take(&mut self.spent_now);
        self.wasted += Area::of(cores, Span::from_micros(worked.micros().saturating_sub(kept.micros())));
    }

    /// Records that it starts from the beginning, at any site: all its work, in core microseconds, is wasted.
    pub fn start_over(&mut self, worked: u128) {
        self.wasted = Area::from_micros(u64::try_from(worked).unwrap_or(u64::MAX)).saturating_sub(self.spent);
    }

    /// Records that it runs again after a loss.
    pub fn record_restart(&mut self, now: Time) {
        self.again += 1;
        self.recovering = self.recovering + now.since(self.lost_at);
    }
}

/// States of a job or a task at the end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Finished,
    /// Killed at its walltime.
    Killed,
    /// Ended for another one.
    Preempted,
    Removed,
    Refused,
    Unfinished,
}

impl Standing {
    /// True if it ended at its site, but before its work was done.
    pub fn has_no_result(self) -> bool {
        matches!(self, Standing::Killed | Standing::Preempted)
    }
}

impl TaskRow {
    /// The stints so far, each with its times and its cores.
    pub fn stints(&self, now: Time) -> impl Iterator<Item = Stint<'_>> {
        let until = self.end.unwrap_or(now);
        let alone =
            self.start.filter(|_| self.stints.is_none()).map(|start| Stint::only_stint(start, until, &self.cores));
        let stints = self.stints.iter().flat_map(move |stints| stints.all_stints(until, &self.cores));
        stints.chain(alone)
    }

    /// Keeps the time of its assignment to the site where it was lost or requeued, as it may be assigned anew.
    pub fn record_assignment(&mut self) {
        if let (Some(at), Some(stints)) = (self.assigned, &mut self.stints) {
            stints.record_assignment(at);
        }
    }

    /// Times of its assignments: to the sites where it was lost or requeued, and the last one.
    pub fn assignment_times(&self) -> impl Iterator<Item = Time> + use<'_> {
        let lost = self.stints.as_ref().map_or(&[][..], |stints| stints.sent_times());
        // It may continue where it was lost.
        let last = self.assigned.filter(|at| lost.last() != Some(at));
        lost.iter().copied().chain(last)
    }

    /// Total duration on cores until `now`.
    pub fn run_time_by(&self, now: Time) -> Span {
        self.stints(now).fold(Span::ZERO, |ran, stint| ran + stint.to.since(stint.from))
    }

    /// Each stint so far, with the work of each of its cores in it. A task on shared nodes does as much as its share
    /// allows, and nothing while it pays for a pause or a move.
    pub fn worked_stints<'a>(
        &'a self,
        now: Time,
        needs: Option<Needs>,
        sites: &'a [SiteFacts],
    ) -> impl Iterator<Item = (Stint<'a>, Span)> + 'a {
        let mut before = None::<Stint<'a>>;
        let mut held = Time::ZERO;
        self.stints(now).map(move |stint| {
            let site = stint.site.or(self.site).map(|site| &sites[site as usize]);
            let left = before.as_ref().and_then(|before| before.left);
            match (&before, left, site) {
                (Some(before), Some(left @ (StintEnd::Suspended | StintEnd::Moved)), Some(site)) => {
                    let memory = needs.unwrap_or(Needs::NODE).memory;
                    held = held.max(match left {
                        StintEnd::Moved => site.move_cost.after_move(stint.from, stint.newly_there(before), memory),
                        _ => site.move_cost.after_pause(before.to, stint.from, stint.tasks(), memory),
                    });
                }
                // It starts as if it were new.
                (_, Some(left), _) if left.starts_over() => held = Time::ZERO,
                _ => {}
            }
            let time = stint.to.since(stint.from.max(held));
            before = Some(stint);
            (stint, site.map_or(Span::ZERO, |site| site.dedicated_time(needs, time, stint.share)))
        })
    }

    /// True if it awaits another start and has not been sent to a site again.
    fn is_gone(&self) -> bool {
        self.awaits_restart() && !self.is_sent_again
    }

    /// True if a node of it has failed, or its site has requeued it, and it has not run since.
    pub fn awaits_restart(&self) -> bool {
        self.stints.as_ref().is_some_and(|stints| stints.awaits_restart())
    }

    /// True if a node of it has failed, and it has not run since.
    pub fn is_lost(&self) -> bool {
        self.stints.as_ref().is_some_and(|stints| stints.is_lost())
    }

    /// The consequences of failures and of preemptions for it; most tasks have none.
    pub fn setbacks_mut(&mut self) -> &mut Setbacks {
        self.setbacks.get_or_insert_default()
    }

    pub fn on_cores_since(&self) -> Option<Time> {
        self.stints.as_ref().map_or(self.start, |stints| stints.since())
    }
}

impl JobRow {
    /// Its size in tasks; a stint of a task counts as one.
    pub fn tasks_and_stints(&self) -> usize {
        self.tasks.iter().map(|task| 1 + task.stints.as_ref().map_or(0, |stints| stints.count())).sum()
    }

    /// True if nothing more can happen to it. A task that was assigned to a site before the job was given up continues
    /// to its end, but one that was taken back in time never starts.
    pub(super) fn is_over(&self) -> bool {
        match self.fate {
            Fate::Open => false,
            Fate::Cancelled { .. } => self.tasks.iter().all(|task| task.end.is_some() || task.start.is_none()),
            _ => self
                .tasks
                .iter()
                .all(|task| task.end.is_some() || (task.start.is_none() && task.assigned.is_none()) || task.is_gone()),
        }
    }

    /// Sets the shapes of its request; false if it cannot have them.
    pub fn set_shapes(&mut self, shapes: &[JobShape]) -> bool {
        let fits = JobShape::are_of(shapes, &self.job) && self.shapes.is_none() && self.answered.is_none();
        if fits {
            self.critical_path = shapes.iter().map(|shape| shape.runtime).min().unwrap_or(Span::ZERO);
            self.shapes = Some(Box::new(ShapesRow { shapes: shapes.to_vec(), chosen: 0 }));
        }
        fits
    }

    /// Gives its task one of its shapes; false if it does not have that, or runs or has ended in another one.
    pub fn take_shape(&mut self, chosen: u32) -> bool {
        let runs = self.tasks.iter().any(|task| task.start.is_some() && !task.awaits_restart());
        let Some(row) = self.shapes.as_mut().filter(|_| !runs) else { return false };
        let Some(JobShape { nodes, duration, runtime }) = row.shapes.get(chosen as usize).copied() else {
            return false;
        };
        row.chosen = chosen;
        for task in &mut Arc::make_mut(&mut self.job).tasks {
            (task.cores, task.walltime, task.runtime) = (nodes, duration, runtime);
        }
        true
    }

    /// Number of cores of a task in a stint; `cores` is its present number. A malleable job that is lost may start
    /// again on another number of nodes.
    pub fn cores_in(&self, cores: u32, stint: &Stint<'_>) -> u32 {
        if self.shapes.is_some() { stint.tasks() } else { cores }
    }

    /// Work of a task so far, in core microseconds.
    pub fn work_done(&self, index: usize, now: Time, sites: &[SiteFacts]) -> u128 {
        let cores = self.job.tasks[index].cores;
        let stints = self.tasks[index].worked_stints(now, self.needs, sites);
        stints.map(|(stint, worked)| u128::from(self.cores_in(cores, &stint)) * u128::from(worked.micros())).sum()
    }

    /// The cores and the time that its one task asked for: of several shapes, those of the first.
    pub fn requested_size(&self, task: &Task) -> (u32, Span) {
        let first = self.shapes.as_ref().and_then(|row| row.shapes.first());
        first.map_or((task.cores, task.walltime), |shape| (shape.nodes, shape.duration))
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self.fate, Fate::Cancelled { .. })
    }

    pub fn standing(&self) -> Standing {
        match self.fate {
            Fate::Open => Standing::Unfinished,
            Fate::Completed { .. } if self.tasks.iter().any(|task| task.killed) => Standing::Killed,
            Fate::Completed { .. } if self.tasks.iter().any(|task| task.preempted) => Standing::Preempted,
            Fate::Completed { .. } => Standing::Finished,
            Fate::Removed { .. } | Fate::Cancelled { .. } => Standing::Removed,
            Fate::Refused | Fate::NotAdmitted | Fate::TurnedAway | Fate::Rejected(_) => Standing::Refused,
        }
    }

    /// State of a task; one that was running when its job was removed continues to its end.
    pub fn task_standing(&self, index: usize) -> Standing {
        let task = &self.tasks[index];
        match (task.end, task.start, self.fate) {
            (Some(_), ..) if task.killed => Standing::Killed,
            (Some(_), ..) if task.preempted => Standing::Preempted,
            (Some(_), ..) => Standing::Finished,
            (None, None, Fate::Removed { .. } | Fate::Cancelled { .. }) => Standing::Removed,
            (None, Some(_), Fate::Removed { .. }) if task.awaits_restart() => Standing::Removed,
            (None, None, Fate::Refused | Fate::NotAdmitted | Fate::TurnedAway | Fate::Rejected(_)) => Standing::Refused,
            _ => Standing::Unfinished,
        }
    }

    /// Number of times that sites requeued its tasks.
    pub fn requeues(&self) -> u32 {
        self.tasks.iter().filter_map(|task| task.setbacks.as_ref()).map(|setbacks| setbacks.requeued).sum()
    }

    /// Time at which it was given up or taken back.
    pub fn given_up(&self) -> Option<Time> {
        match self.fate {
            Fate::Removed { at } | Fate::Cancelled { at } => Some(at),
            _ => None,
        }
    }

    /// Its earliest start: a job with a request for a reservation does not wait before the ready time.
    pub fn earliest_start(&self) -> Time {
        self.answered.as_ref().map_or(self.job.arrive, |answered| answered.ready.max(self.job.arrive))
    }

    /// Wait until the start of its first task, if that started.
    pub fn wait(&self) -> Option<Span> {
        Some(self.start()?.since(self.earliest_start()))
    }

    /// Start of its first task.
    pub fn start(&self) -> Option<Time> {
        self.tasks.iter().filter_map(|task| task.start).min()
    }

    /// End of the last of its ended tasks, at its site.
    pub fn last_end(&self) -> Option<Time> {
        self.tasks.iter().filter_map(|task| task.end).max()
    }

    /// Ready time of each task: the last end of its predecessors, or without any the earliest start of the job.
    pub fn ready_times(&self) -> Vec<Option<Time>> {
        let mut ready = Vec::new();
        self.ready_into(&mut ready);
        ready
    }

    /// Like `ready_times`, into an existing buffer.
    pub fn ready_into(&self, ready: &mut Vec<Option<Time>>) {
        ready.clear();
        ready.resize(self.tasks.len(), Some(self.earliest_start()));
        for edge in &self.job.edges {
            let end = self.tasks[edge.from as usize].end;
            let latest = &mut ready[edge.to as usize];
            *latest = latest.zip(end).map(|(latest, end)| latest.max(end));
        }
    }

    /// Turnaround of a completed job, divided by its critical path.
    pub fn slr(&self) -> Option<f64> {
        match self.fate {
            Fate::Completed { at, .. } => self.in_paths(at),
            _ => None,
        }
    }

    fn in_paths(&self, end: Time) -> Option<f64> {
        let took = end.since(self.job.arrive);
        (!self.critical_path.is_zero()).then(|| took.micros() as f64 / self.critical_path.micros() as f64)
    }

    /// Its duration from its earliest start, divided by the duration it would have had alone, if it finished; very
    /// short durations count as some seconds.
    pub fn stretch_factor(&self) -> Option<f64> {
        let end = self.last_end().filter(|_| self.standing() == Standing::Finished)?;
        let [took, alone] =
            [end.since(self.earliest_start()), self.critical_path].map(|span| span.max(STRETCH_LEAST).micros() as f64);
        Some(took / alone)
    }

    /// Age of its result in critical paths, as far as it counts for its worth. A service with values counts it when it
    /// hears of the end; elsewhere a job that ends in time is in time, independent of the message.
    fn result_age(&self) -> Option<f64> {
        match self.fate {
            Fate::Completed { value: None, .. } => self.in_paths(self.last_end()?),
            _ => self.slr(),
        }
    }

    /// True if its user got nothing: it never finished, or not before its final deadline. `None` for a job without a
    /// deadline. A job that was rejected at once as too late did not starve.
    pub fn has_starved(&self) -> Option<bool> {
        let worth = self.job.worth.as_ref()?;
        let last = worth.curve.final_();
        Some(match self.fate {
            Fate::NotAdmitted => false,
            _ if self.standing().has_no_result() => true,
            // A job that is promised an end at the deadline has it then.
            Fate::Completed { value: None, .. } => self.result_age().is_none_or(|age| age > last),
            _ => self.slr().is_none_or(|slr| slr >= last),
        })
    }

    /// Value of its result, if its kind of job has one. Where no service computes values, it follows from the end; a
    /// killed job has no result.
    pub fn value(&self) -> Option<f64> {
        let worth = self.job.worth.as_ref()?;
        match self.fate {
            Fate::Completed { value: Some(value), .. } => Some(value),
            Fate::Completed { .. } if self.standing().has_no_result() => Some(0.0),
            Fate::Completed { .. } => Some(self.result_age().map_or(0.0, |age| worth.max * worth.curve.factor(age))),
            _ => Some(0.0),
        }
    }
}
