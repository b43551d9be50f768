//! Keeps what the tables need while a log goes by.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::grid::{EdgeId, Graph, Invalid, Job, JobId, Kind, NodeSet, TaskId};
use crate::kernel::{ActorId, Entry};
use crate::protocol::{Answer, Record};
use crate::systems::reservation::Reservation;
use crate::time::{Span, Time};
use crate::topology::Topology;

use super::Names;
use super::schedule::Queues;
use super::transfers::Transfers;

/// Takes a run's log, entry by entry, and remembers what became of every job and task.
///
/// It shares the jobs with whoever made them and adds some 90 bytes a task and 120 a job: a run of 100,000 tasks is
/// held in about 10 megabytes.
#[derive(Clone, Debug)]
pub struct Tally {
    pub(super) topology: String,
    pub(super) names: Names,
    pub(super) sites: Vec<SiteFacts>,
    site_of: BTreeMap<ActorId, u32>,
    tick: Span,
    ccr_millionths: u64,
    /// Whether this topology is about reservations.
    pub(super) reserving: bool,
    /// What there is to know of queues, where this topology is about these.
    pub(super) queues: Option<Queues>,
    pub(super) jobs: BTreeMap<JobId, JobRow>,
    pub(super) transfers: Transfers,
    pub(super) entries: u64,
    /// The time of the last entry.
    pub(super) last: Time,
}

#[derive(Clone, Debug)]
pub(super) struct SiteFacts {
    pub name: String,
    pub cores: u32,
    pub kind: Kind,
    /// The number of its core 0 when the cores of all sites are numbered through.
    pub first_core: u64,
    pub latency: Span,
    pub report_every: Span,
}

#[derive(Clone, Debug)]
pub(super) struct JobRow {
    pub job: Arc<Job>,
    pub user: ActorId,
    pub fate: Fate,
    pub critical_path: Span,
    pub tasks: Vec<TaskRow>,
    /// What was answered, where it asked for a reservation.
    pub answered: Option<AnsweredRow>,
}

/// A request for nodes between two times, and its answer.
#[derive(Clone, Debug)]
pub(super) struct AnsweredRow {
    pub ready: Time,
    pub deadline: Time,
    pub answer: Answer,
}

/// What the router made of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
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

#[derive(Clone, Debug, Default)]
pub(super) struct TaskRow {
    /// An index into the sites.
    pub site: Option<u32>,
    /// When the router gave it to the site.
    pub assigned: Option<Time>,
    pub start: Option<Time>,
    pub end: Option<Time>,
    pub cores: NodeSet,
    /// Whether it was ended at its walltime.
    pub killed: bool,
}

/// The ways in which a job or a task can stand at the end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Finished,
    /// At its walltime.
    Killed,
    Removed,
    Refused,
    Unfinished,
}

/// An entry that does not go with those before it: the log is not one of a run of this topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    #[error("job {0} arrives twice")]
    Twice(JobId),
    #[error("job {0} is not one task, which is all that a queue takes")]
    NotOneTask(JobId),
    #[error("job {0} has an edge that does not lead from a task to a later one")]
    Edge(JobId),
    #[error("job {0} has not arrived")]
    UnknownJob(JobId),
    #[error("there is no task {0}")]
    UnknownTask(TaskId),
    #[error("{0} is not a site")]
    NotASite(String),
    #[error("task {0} has {1} already")]
    Again(TaskId, &'static str),
    #[error("job {0} has been answered already")]
    Answered(JobId),
    #[error("job {0} has ended already")]
    Ended(JobId),
    #[error("job {0} is complete, but not all of its tasks are")]
    Incomplete(JobId),
    #[error("task {0} ends without having started")]
    NeverStarted(TaskId),
    #[error("the data of {0} is sent twice")]
    SentTwice(EdgeId),
    #[error("the data of {0} arrives without being on its way")]
    NotOnItsWay(EdgeId),
    #[error("task {0} starts on cores that {1} does not have")]
    NoSuchCores(TaskId, String),
}

impl Tally {
    pub fn new(topology: &Topology, names: &Names) -> Tally {
        let mut first_core = 0;
        let mut sites = Vec::new();
        let mut site_of = BTreeMap::new();
        for (site, index) in topology.sites.iter().zip(0u32..) {
            let actor = names.actor(&site.name).expect("every site of a topology has its actor");
            site_of.insert(actor, index);
            sites.push(SiteFacts {
                name: site.name.clone(),
                cores: site.cores,
                kind: site.kind,
                first_core,
                latency: site.latency,
                report_every: site.report_every,
            });
            first_core += u64::from(site.cores);
        }
        Tally {
            topology: topology.name.clone(),
            names: names.clone(),
            sites,
            site_of,
            tick: topology.systems[0].tick(),
            ccr_millionths: topology.systems[0].ccr_millionths(),
            reserving: topology.settings::<Reservation>().is_some(),
            queues: Queues::of(topology),
            jobs: BTreeMap::new(),
            transfers: Transfers::of(topology),
            entries: 0,
            last: Time::ZERO,
        }
    }

    /// Takes the next entry of the log.
    pub fn add(&mut self, entry: &Entry<Record>) -> Result<(), Inconsistent> {
        self.entries += 1;
        self.last = self.last.max(entry.stamp.time);
        let now = entry.stamp.time;
        match &entry.record {
            Record::Arrived { job, user } => self.admit(job, *user, Fate::Open),
            Record::Refused { job, user, .. } => self.admit(job, *user, Fate::Refused),
            Record::NotAdmitted { job, user } => self.admit(job, *user, Fate::NotAdmitted),
            Record::Rejected { job, user, why } => self.admit(job, *user, Fate::Rejected(*why)),
            Record::Assigned { task, site } => {
                let site = self.site(*site)?;
                let row = self.task(*task)?;
                (row.site, row.assigned) = (Some(site), Some(now));
                Ok(())
            }
            Record::Started { task, cores } => self.start(*task, entry.actor, cores, now),
            Record::Finished { task } | Record::Killed { task } => {
                let row = self.task(*task)?;
                match (row.start, row.end) {
                    (_, Some(_)) => return Err(Inconsistent::Again(*task, "finished")),
                    (None, _) => return Err(Inconsistent::NeverStarted(*task)),
                    _ => (row.end, row.killed) = (Some(now), matches!(entry.record, Record::Killed { .. })),
                }
                Ok(())
            }
            Record::Completed { job, value } => {
                let row = self.open(*job)?;
                if row.tasks.iter().any(|task| task.end.is_none()) {
                    return Err(Inconsistent::Incomplete(*job));
                }
                row.fate = Fate::Completed { at: now, value: *value };
                Ok(())
            }
            Record::Removed { job } => {
                self.open(*job)?.fate = Fate::Removed { at: now };
                Ok(())
            }
            Record::Answered { job, ready, deadline, answer } => {
                let row = self.open(*job)?;
                if row.answered.is_some() {
                    return Err(Inconsistent::Answered(*job));
                }
                row.answered = Some(AnsweredRow { ready: *ready, deadline: *deadline, answer: answer.clone() });
                if !matches!(answer, Answer::Accepted { .. }) {
                    row.fate = Fate::TurnedAway;
                }
                Ok(())
            }
            Record::Cancelled { job } => {
                self.open(*job)?.fate = Fate::Cancelled { at: now };
                Ok(())
            }
            Record::Sent { edge, from, to, bytes, active } => {
                let ends = (self.site(*from)?, self.site(*to)?);
                if !self.jobs.contains_key(&edge.job) {
                    return Err(Inconsistent::UnknownJob(edge.job));
                }
                self.transfers.sent(*edge, ends, *bytes, (now, *active))
            }
            Record::Delivered { edge } => self.transfers.delivered(*edge, now),
        }
    }

    /// Whether there is a table of reservations to write.
    pub fn is_reserving(&self) -> bool {
        self.reserving
    }

    /// Whether each job is a single task that keeps its nodes, whose numbers matter.
    pub(super) fn is_rigid(&self) -> bool {
        self.reserving || self.queues.is_some()
    }

    pub(super) fn site_index(&self, actor: ActorId) -> Option<usize> {
        self.site_of.get(&actor).map(|site| *site as usize)
    }

    /// How many jobs have come to their end, one way or another.
    pub fn jobs_ended(&self) -> u64 {
        self.jobs.values().filter(|job| job.fate != Fate::Open).count() as u64
    }

    /// Every stretch of time for which a task was ready, its job submitted and its predecessors finished, but had not
    /// started: with its kind, and cut where the job was given up or the log ends.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (Kind, Time, Time)> {
        let rows = self.jobs.values().filter(|row| row.standing() != Standing::Refused);
        rows.flat_map(move |row| {
            let given_up = row.given_up().unwrap_or(self.last);
            let until = move |task: &TaskRow| task.start.unwrap_or(given_up);
            let tasks = row.ready().into_iter().zip(&row.tasks).zip(&row.job.tasks);
            let stretches = tasks.filter_map(move |((from, held), task)| Some((task.kind, from?, until(held))));
            stretches.filter(|(_, from, to)| from < to)
        })
    }

    fn admit(&mut self, job: &Arc<Job>, user: ActorId, fate: Fate) -> Result<(), Inconsistent> {
        let tasks = job.tasks.len();
        if job.edges.iter().any(|edge| edge.from >= edge.to || edge.to as usize >= tasks) {
            return Err(Inconsistent::Edge(job.id));
        }
        if self.queues.is_some() && tasks != 1 {
            return Err(Inconsistent::NotOneTask(job.id));
        }
        let critical_path = critical_path(job, self.tick, self.ccr_millionths);
        let tasks = vec![TaskRow::default(); tasks];
        let row = JobRow { job: job.clone(), user, fate, critical_path, tasks, answered: None };
        match self.jobs.insert(job.id, row) {
            None => Ok(()),
            Some(_) => Err(Inconsistent::Twice(job.id)),
        }
    }

    fn start(&mut self, task: TaskId, actor: ActorId, cores: &NodeSet, now: Time) -> Result<(), Inconsistent> {
        let site = self.site(actor)?;
        let facts = &self.sites[site as usize];
        if cores.runs().last().is_some_and(|&(_, last)| last >= facts.cores) {
            return Err(Inconsistent::NoSuchCores(task, facts.name.clone()));
        }
        let row = self.task(task)?;
        if row.start.is_some() {
            return Err(Inconsistent::Again(task, "started"));
        }
        (row.site, row.start, row.cores) = (Some(site), Some(now), cores.clone());
        Ok(())
    }

    fn site(&self, actor: ActorId) -> Result<u32, Inconsistent> {
        self.site_of.get(&actor).copied().ok_or_else(|| Inconsistent::NotASite(self.names.of_actor(actor)))
    }

    fn task(&mut self, task: TaskId) -> Result<&mut TaskRow, Inconsistent> {
        let row = self.jobs.get_mut(&task.job).ok_or(Inconsistent::UnknownJob(task.job))?;
        row.tasks.get_mut(task.index as usize).ok_or(Inconsistent::UnknownTask(task))
    }

    fn open(&mut self, job: JobId) -> Result<&mut JobRow, Inconsistent> {
        let row = self.jobs.get_mut(&job).ok_or(Inconsistent::UnknownJob(job))?;
        if row.fate == Fate::Open { Ok(row) } else { Err(Inconsistent::Ended(job)) }
    }
}

impl JobRow {
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

    /// For each task when the last of its predecessors ended; where it has none, from when on the job was wanted.
    pub fn ready(&self) -> Vec<Option<Time>> {
        let mut ready = vec![Some(self.wanted()); self.tasks.len()];
        for edge in &self.job.edges {
            let end = self.tasks[edge.from as usize].end;
            let latest = &mut ready[edge.to as usize];
            *latest = latest.zip(end).map(|(latest, end)| latest.max(end));
        }
        ready
    }

    /// How many times its critical path the job took, if it was completed.
    pub fn slr(&self) -> Option<f64> {
        match self.fate {
            Fate::Completed { at, .. } if !self.critical_path.is_zero() => {
                Some(at.since(self.job.arrive).micros() as f64 / self.critical_path.micros() as f64)
            }
            _ => None,
        }
    }

    /// Whether its user got nothing: it never finished, or not before its final deadline. `None` for a job that has
    /// no deadline. Whoever was told at once that it would come too late did not starve.
    pub fn starved(&self) -> Option<bool> {
        let worth = self.job.worth.as_ref()?;
        if self.fate == Fate::NotAdmitted {
            return Some(false);
        }
        Some(self.slr().is_none_or(|slr| slr >= worth.curve.final_()))
    }

    /// What its user got, if its kind of job is worth anything.
    pub fn value(&self) -> Option<f64> {
        self.job.worth.as_ref()?;
        match self.fate {
            Fate::Completed { value, .. } => value,
            _ => Some(0.0),
        }
    }
}

/// The longest way through a job: run times, plus the delays that no placement avoids.
fn critical_path(job: &Job, tick: Span, ccr_millionths: u64) -> Span {
    let delay = |from: usize| {
        let ticks = job.tasks[from].runtime.micros().div_ceil(tick.micros().max(1));
        let delay = (u128::from(ticks) * u128::from(ccr_millionths)).div_ceil(1_000_000);
        Span::from_micros(u64::try_from(delay * u128::from(tick.micros())).unwrap_or(u64::MAX))
    };
    let forced = |from: usize, to: usize| match job.tasks[from].kind == job.tasks[to].kind {
        true => Span::ZERO,
        false => delay(from),
    };
    let ranks = Graph::new(job.tasks.len(), &job.edges).upward_ranks(|task| job.tasks[task].runtime, forced);
    ranks.into_iter().max().unwrap_or(Span::ZERO)
}
