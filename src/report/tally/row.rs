//! What is known of a job and its tasks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SiteFacts;
use super::stints::{Left, Stint, Stints};
use crate::grid::{Area, Invalid, Job, Needs, NodeSet};
use crate::kernel::ActorId;
use crate::protocol::{Bargain, ReserveAnswer};
use crate::time::{Span, Time};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobRow {
    pub job: Arc<Job>,
    pub user: ActorId,
    /// Which of the topology's systems it was handed to.
    pub system: u32,
    pub fate: Fate,
    pub critical_path: Span,
    pub tasks: Vec<TaskRow>,
    /// What was answered, where it asked for a reservation.
    pub answered: Option<AnsweredRow>,
    /// What each of its parallel tasks needs of its node, if it does not need all of it.
    pub needs: Option<Needs>,
    /// What came of its user's bargaining, where there was any.
    pub bargain: Option<Bargain>,
}

/// Shorter times count as this where stretches are bounded.
const STRETCH_LEAST: Span = Span::from_secs(10);

/// A request for nodes between two times, and its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnsweredRow {
    pub ready: Time,
    pub deadline: Time,
    /// What was booked last, if anything was.
    pub answer: ReserveAnswer,
    /// How often other nodes were booked as some had failed, and the end of what was booked last.
    pub moved: u32,
    pub until: Option<Time>,
    /// What its user got when the promise was broken, if it was.
    pub broken: Option<Area>,
}

/// What the router made of a job.
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
    /// Its request was declined, or made no sense.
    TurnedAway,
    /// No queue takes it.
    Rejected(Invalid),
    /// Its user took it back.
    Cancelled {
        at: Time,
    },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaskRow {
    /// An index into the sites.
    pub site: Option<u32>,
    /// When the router gave it to the site.
    pub assigned: Option<Time>,
    pub start: Option<Time>,
    pub end: Option<Time>,
    pub cores: NodeSet,
    /// Whether it was ended at its walltime.
    pub killed: bool,
    /// Whether it has been given to a site since it was lost last.
    pub is_sent_again: bool,
    /// Whether its site has taken it in from its user, where users tell of their jobs themselves.
    pub entered: bool,
    /// Where it was on and off its cores between start and end, or on other ones than at the end; most never are.
    pub stints: Option<Box<Stints>>,
    /// What failures have done to it, if they have.
    pub setbacks: Option<Box<Setbacks>>,
}

/// What failures did to a task, and what it did about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setbacks {
    /// How often it was lost, and how often it was started again.
    pub lost: u32,
    pub again: u32,
    /// How much it did for nothing; work is that of each of its cores.
    pub wasted: Span,
    /// How often it saved its work, and how much work that was.
    pub checkpoints: u64,
    pub spent: Span,
    /// The same since it was lost last.
    spent_now: Span,
    /// From each loss until it ran again.
    pub recovering: Span,
    lost_at: Time,
}

impl Setbacks {
    /// It has saved its work.
    pub fn checkpoint(&mut self, times: u64, spent: Span) {
        self.checkpoints += times;
        self.spent = self.spent + spent;
        self.spent_now = spent;
    }

    /// It is lost after so much work, of which so much is saved.
    pub fn lose(&mut self, now: Time, worked: Span, saved: Span) {
        let kept = saved + std::mem::take(&mut self.spent_now);
        self.lost += 1;
        self.wasted = self.wasted + less(worked, kept);
        self.lost_at = now;
    }

    /// It begins from the start, wherever that will be: of all that it did, nothing is of use.
    pub fn start_over(&mut self, worked: Span) {
        self.wasted = less(worked, self.spent);
    }

    /// It runs again.
    pub fn go_on(&mut self, now: Time) {
        self.again += 1;
        self.recovering = self.recovering + now.since(self.lost_at);
    }
}

/// What is left of some work without a part of it.
pub fn less(work: Span, part: Span) -> Span {
    Span::from_micros(work.micros().saturating_sub(part.micros()))
}

/// The ways in which a job or a task can stand at the end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Finished,
    /// At its walltime.
    Killed,
    Removed,
    Refused,
    Unfinished,
}

impl TaskRow {
    /// From when to when it was on which cores, up to now where it still is.
    pub fn stints(&self, now: Time) -> impl Iterator<Item = Stint<'_>> {
        let until = self.end.unwrap_or(now);
        let alone = self.start.filter(|_| self.stints.is_none()).map(|start| Stint::alone(start, until, &self.cores));
        let stints = self.stints.iter().flat_map(move |stints| stints.each(until, &self.cores));
        stints.chain(alone)
    }

    /// It is lost: when it was given to the site where it ran is kept, as it may be given away anew.
    pub fn keep_sending(&mut self) {
        if let (Some(at), Some(stints)) = (self.assigned, &mut self.stints) {
            stints.keep_sending(at);
        }
    }

    /// When it was given to sites: where it was lost, and last.
    pub fn sendings(&self) -> impl Iterator<Item = Time> + use<'_> {
        let lost = self.stints.as_ref().map_or(&[][..], |stints| stints.sent());
        // It may go on where it was lost.
        let last = self.assigned.filter(|at| lost.last() != Some(at));
        lost.iter().copied().chain(last)
    }

    /// How long it has been on cores, all in all.
    pub fn ran_by(&self, now: Time) -> Span {
        self.stints(now).fold(Span::ZERO, |ran, stint| ran + stint.to.since(stint.from))
    }

    /// How much work each of its cores did in each stint up to now, and why that was over. Who shares its nodes does as
    /// much as its share lets it, and nothing until what it costs to be paused or moved is over.
    pub fn worked<'a>(
        &'a self,
        now: Time,
        needs: Option<Needs>,
        sites: &'a [SiteFacts],
    ) -> impl Iterator<Item = (Span, Option<Left>)> + 'a {
        let (mut before, mut held) = (None::<Stint<'_>>, Time::ZERO);
        self.stints(now).map(move |stint| {
            let site = stint.site.or(self.site).map(|site| &sites[site as usize]);
            let left = before.as_ref().and_then(|before| before.left);
            match (&before, left, site) {
                (Some(before), Some(left @ (Left::Suspended | Left::Moved)), Some(site)) => {
                    let come = if left == Left::Moved { stint.newly_there(before) } else { stint.tasks() };
                    held = held.max(stint.from + site.move_cost.of(come, needs.unwrap_or(Needs::NODE).memory));
                }
                // It comes as if it were new.
                (_, Some(Left::Lost), _) => held = Time::ZERO,
                _ => {}
            }
            let time = stint.to.since(stint.from.max(held));
            let worked = (site.map_or(Span::ZERO, |site| site.work(needs, time, stint.share)), stint.left);
            before = Some(stint);
            worked
        })
    }

    /// Whether it is lost, and nobody has sent it to a site again.
    fn is_gone(&self) -> bool {
        self.is_lost() && !self.is_sent_again
    }

    /// Whether a node of it has failed, and it has not run since.
    pub fn is_lost(&self) -> bool {
        self.stints.as_ref().is_some_and(|stints| stints.is_lost())
    }

    /// What failures have done to it, which is nothing for most.
    pub fn setbacks(&mut self) -> &mut Setbacks {
        self.setbacks.get_or_insert_default()
    }

    pub(super) fn on_cores_since(&self) -> Option<Time> {
        self.stints.as_ref().map_or(self.start, |stints| stints.since())
    }
}

impl JobRow {
    /// What it takes beside itself, in tasks: a stint of a task takes as much as one.
    pub fn tasks_and_stints(&self) -> usize {
        self.tasks.iter().map(|task| 1 + task.stints.as_ref().map_or(0, |stints| stints.count())).sum()
    }

    /// Whether nothing more can happen to it: what was given to a site before the job was given up goes on to its end,
    /// but what was taken back in time never starts.
    pub(super) fn is_over(&self) -> bool {
        let is_over =
            |task: &TaskRow| task.end.is_some() || (task.start.is_none() && task.assigned.is_none()) || task.is_gone();
        match self.fate {
            Fate::Open => false,
            Fate::Cancelled { .. } => self.tasks.iter().all(|task| task.end.is_some() || task.start.is_none()),
            _ => self.tasks.iter().all(is_over),
        }
    }

    pub fn cancelled(&self) -> bool {
        matches!(self.fate, Fate::Cancelled { .. })
    }

    pub fn standing(&self) -> Standing {
        match self.fate {
            Fate::Open => Standing::Unfinished,
            Fate::Completed { .. } if self.tasks.iter().any(|task| task.killed) => Standing::Killed,
            Fate::Completed { .. } => Standing::Finished,
            Fate::Removed { .. } | Fate::Cancelled { .. } => Standing::Removed,
            Fate::Refused | Fate::NotAdmitted | Fate::TurnedAway | Fate::Rejected(_) => Standing::Refused,
        }
    }

    /// Where a task stands; one that was running when its job was removed goes on to its end.
    pub fn task_standing(&self, index: usize) -> Standing {
        let task = &self.tasks[index];
        match (task.end, task.start, self.fate) {
            (Some(_), ..) if task.killed => Standing::Killed,
            (Some(_), ..) => Standing::Finished,
            (None, None, Fate::Removed { .. } | Fate::Cancelled { .. }) => Standing::Removed,
            (None, Some(_), Fate::Removed { .. }) if task.is_lost() => Standing::Removed,
            (None, None, Fate::Refused | Fate::NotAdmitted | Fate::TurnedAway | Fate::Rejected(_)) => Standing::Refused,
            _ => Standing::Unfinished,
        }
    }

    /// When it was given up or taken back.
    pub fn given_up(&self) -> Option<Time> {
        match self.fate {
            Fate::Removed { at } | Fate::Cancelled { at } => Some(at),
            _ => None,
        }
    }

    /// When it could start at the earliest: where it asked for a reservation, nobody waits before the ready time.
    pub fn wanted(&self) -> Time {
        self.answered.as_ref().map_or(self.job.arrive, |answered| answered.ready.max(self.job.arrive))
    }

    /// How long it waited for its first task to start, if that did.
    pub fn wait(&self) -> Option<Span> {
        Some(self.start()?.since(self.wanted()))
    }

    /// When the first of its tasks started.
    pub fn start(&self) -> Option<Time> {
        self.tasks.iter().filter_map(|task| task.start).min()
    }

    /// When the last of its tasks that ended did, at its site.
    pub fn last_end(&self) -> Option<Time> {
        self.tasks.iter().filter_map(|task| task.end).max()
    }

    /// For each task when the last of its predecessors ended; where it has none, from when on the job was wanted.
    pub fn ready(&self) -> Vec<Option<Time>> {
        let mut ready = Vec::new();
        self.ready_into(&mut ready);
        ready
    }

    /// The same, into memory that is there.
    pub fn ready_into(&self, ready: &mut Vec<Option<Time>>) {
        ready.clear();
        ready.resize(self.tasks.len(), Some(self.wanted()));
        for edge in &self.job.edges {
            let end = self.tasks[edge.from as usize].end;
            let latest = &mut ready[edge.to as usize];
            *latest = latest.zip(end).map(|(latest, end)| latest.max(end));
        }
    }

    /// How many times its critical path the job took, if it was completed.
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

    /// How long it took from when it was wanted, by the time that it would have taken alone, if it finished; very short
    /// times count as some seconds.
    pub fn stretch(&self) -> Option<f64> {
        let end = self.last_end().filter(|_| self.standing() == Standing::Finished)?;
        let [took, alone] =
            [end.since(self.wanted()), self.critical_path].map(|span| span.max(STRETCH_LEAST).micros() as f64);
        Some(took / alone)
    }

    /// How old its result was, in critical paths, when that counts for its worth. A service that reckons with values
    /// does so when it hears of the end; elsewhere a job is in time that ends in time, whenever word of it comes.
    fn aged(&self) -> Option<f64> {
        match self.fate {
            Fate::Completed { value: None, .. } => self.in_paths(self.last_end()?),
            _ => self.slr(),
        }
    }

    /// Whether its user got nothing: it never finished, or not before its final deadline. `None` for a job that has
    /// no deadline. Whoever was told at once that it would come too late did not starve.
    pub fn starved(&self) -> Option<bool> {
        let worth = self.job.worth.as_ref()?;
        let last = worth.curve.final_();
        Some(match self.fate {
            Fate::NotAdmitted => false,
            _ if self.standing() == Standing::Killed => true,
            // Whoever is promised an end at the deadline has it then.
            Fate::Completed { value: None, .. } => self.aged().is_none_or(|age| age > last),
            _ => self.slr().is_none_or(|slr| slr >= last),
        })
    }

    /// What its user got, if its kind of job is worth anything. Where nobody reckons with values, it follows from the
    /// end; what was killed has no result.
    pub fn value(&self) -> Option<f64> {
        let worth = self.job.worth.as_ref()?;
        match self.fate {
            Fate::Completed { value: Some(value), .. } => Some(value),
            Fate::Completed { .. } if self.standing() == Standing::Killed => Some(0.0),
            Fate::Completed { .. } => Some(self.aged().map_or(0.0, |age| worth.max * worth.curve.factor(age))),
            _ => Some(0.0),
        }
    }
}
