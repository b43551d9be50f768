//! Keeps what the tables need while a log goes by.

use std::collections::{BTreeMap, btree_map};
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grid::{EdgeId, Graph, Invalid, Job, JobId, Kind, Needs, NodeSet, TaskId, forced_ranks, output_delay};
use crate::kernel::{ActorId, Entry};
use crate::protocol::{Answer, Record};
use crate::systems::{Gives, System};
use crate::time::{Span, Time};
use crate::topology::Topology;

use super::Names;
use super::ledger::{Ledger, Merged, Store};
use super::own_numbers::OwnNumbers;
use super::subjects::{self, Present, USUAL, Words};
use super::transfers::Transfers;

/// Takes a run's log, entry by entry, and remembers what became of every job and task.
///
/// One that keeps all, as pages want it, shares the jobs with whoever made them and adds some 90 bytes a task and 120 a
/// job. One that puts aside what is over keeps in memory what is not, and a bit a job.
#[derive(Debug)]
pub struct Tally {
    pub(super) topology: String,
    pub(super) names: Names,
    pub(super) sites: Vec<SiteFacts>,
    pub(super) site_of: BTreeMap<ActorId, u32>,
    /// By the number of their actors.
    systems: Vec<Reckoning>,
    pub(super) subjects: Vec<Present>,
    pub(super) own_numbers: OwnNumbers,
    /// All jobs, or those that are not over.
    pub(super) jobs: BTreeMap<JobId, JobRow>,
    /// Those that are, where they are put aside.
    over: Option<Ledger>,
    pub(super) transfers: Transfers,
    pub(super) totals: Totals,
    /// By system: how often a task was taken back to be handed in elsewhere.
    withdrawn: Vec<u64>,
    pub(super) entries: u64,
    /// The time of the last entry.
    pub(super) last: Time,
}

/// How a system reckons.
#[derive(Clone, Copy, Debug)]
struct Reckoning {
    tick: Span,
    ccr_millionths: u64,
    /// Whether its jobs are one task each.
    is_rigid: bool,
    gives: Gives,
}

/// What is known of all jobs without looking at them again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub jobs: u64,
    ended: u64,
    /// The first and the last submission.
    pub arrivals: Option<(Time, Time)>,
    /// Tasks that have started.
    pub started: u64,
    running: u64,
    /// When the last task ended that did.
    end: Time,
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
    /// Which of the topology's systems use it.
    pub systems: Vec<usize>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JobRow {
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
}

/// A request for nodes between two times, and its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AnsweredRow {
    pub ready: Time,
    pub deadline: Time,
    pub answer: Answer,
}

/// What the router made of a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// Where it was on and off its cores between start and end, or on other ones than at the end; most never are.
    pub stints: Option<Box<Stints>>,
}

/// What a task did in between.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Stints {
    /// From when to when it was on which cores.
    over: Vec<(Time, Time, NodeSet)>,
    /// Since when it has been on the cores that it has now; `None` while it is suspended.
    since: Option<Time>,
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
    #[error("task {0} is at {1}, which was not given it")]
    Elsewhere(TaskId, String),
    #[error("task {0} is not running")]
    NotRunning(TaskId),
    #[error("task {0} has not been suspended")]
    NotSuspended(TaskId),
    #[error("task {0} is given what is no share")]
    NoShare(TaskId),
    #[error("it is said twice what job {0} needs")]
    NeedsAgain(JobId),
    #[error("the data of {0} is sent twice")]
    SentTwice(EdgeId),
    #[error("the data of {0} arrives without being on its way")]
    NotOnItsWay(EdgeId),
    #[error("task {0} starts on cores that {1} does not have")]
    NoSuchCores(TaskId, String),
}

/// Why an entry is not taken.
#[derive(Debug, thiserror::Error)]
pub enum Untaken {
    #[error(transparent)]
    Inconsistent(#[from] Inconsistent),
    #[error("cannot put aside what is over: {0}")]
    Io(#[from] io::Error),
}

impl Tally {
    /// A tally that puts aside what is over: into the store, where there is much of it.
    pub fn putting_aside(topology: &Topology, names: &Names, store: Box<dyn Store>) -> Tally {
        let mut tally = Tally::new(topology, names);
        tally.over = Some(Ledger::new(store));
        tally.transfers.let_go();
        tally
    }

    /// A tally that keeps all.
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
                systems: site.systems.clone(),
            });
            first_core += u64::from(site.cores);
        }
        Tally {
            topology: topology.name.clone(),
            names: names.clone(),
            sites,
            site_of,
            systems: topology.systems.iter().map(|system| Reckoning::of(&**system)).collect(),
            subjects: subjects::of(topology),
            own_numbers: OwnNumbers::of(topology),
            jobs: BTreeMap::new(),
            over: None,
            transfers: Transfers::of(topology),
            totals: Totals::default(),
            withdrawn: vec![0; topology.systems.len()],
            entries: 0,
            last: Time::ZERO,
        }
    }

    /// Takes the next entry of the log. One that contradicts those before it changes nothing.
    pub fn add(&mut self, entry: &Entry<Record>) -> Result<(), Untaken> {
        let touched = self.take(entry)?;
        self.entries += 1;
        self.last = self.last.max(entry.stamp.time);
        match touched {
            Some(job) => self.put_aside(job),
            None => Ok(()),
        }
    }

    /// Takes an entry; gives the job that nothing more can happen to because of it, if there may be one.
    fn take(&mut self, entry: &Entry<Record>) -> Result<Option<JobId>, Inconsistent> {
        let now = entry.stamp.time;
        match &entry.record {
            Record::Arrived { job, user } => self.admit(job, *user, entry.actor, Fate::Open),
            Record::Refused { job, user, .. } => self.admit(job, *user, entry.actor, Fate::Refused),
            Record::NotAdmitted { job, user } => self.admit(job, *user, entry.actor, Fate::NotAdmitted),
            Record::Rejected { job, user, why } => self.admit(job, *user, entry.actor, Fate::Rejected(*why)),
            Record::Assigned { task, site } => {
                let site = self.site(*site)?;
                let row = self.task(*task)?;
                if row.start.is_some() {
                    return Err(Inconsistent::Again(*task, "started"));
                }
                (row.site, row.assigned) = (Some(site), Some(now));
                Ok(None)
            }
            Record::Started { task, cores } => self.start(*task, entry.actor, cores, now),
            Record::Finished { task } => self.end(*task, entry.actor, now, false),
            Record::Killed { task } => self.end(*task, entry.actor, now, true),
            Record::Withdrawn { task } => {
                let row = self.task(*task)?;
                if row.site.is_none() || row.start.is_some() {
                    return Err(Inconsistent::Again(*task, "started"));
                }
                (row.site, row.assigned) = (None, None);
                if let Some(job) = self.jobs.get(&task.job) {
                    self.withdrawn[job.system as usize] += 1;
                }
                Ok(None)
            }
            Record::Needs { job, needs } => {
                let row = self.open(*job)?;
                match row.needs {
                    _ if !needs.make_sense() => return Err(Inconsistent::NoShare(TaskId { job: *job, index: 0 })),
                    Some(_) => return Err(Inconsistent::NeedsAgain(*job)),
                    None => row.needs = Some(*needs),
                }
                Ok(None)
            }
            Record::Suspended { task } => self.leave(*task, entry.actor, now),
            Record::Resumed { task, cores } => self.enter(*task, entry.actor, cores, now),
            Record::Moved { task, cores } => {
                let site = self.holds(*task, entry.actor, cores)?;
                self.given(*task, site)?;
                self.leave(*task, entry.actor, now)?;
                self.enter(*task, entry.actor, cores, now)
            }
            Record::Shared { task, share } => {
                let site = self.site(entry.actor)?;
                match self.given(*task, site)? {
                    _ if !(0.0..=1.0).contains(share) => Err(Inconsistent::NoShare(*task)),
                    row if row.start.is_none() || row.end.is_some() => Err(Inconsistent::NotRunning(*task)),
                    _ => Ok(None),
                }
            }
            Record::Completed { job, value } => {
                let row = self.open(*job)?;
                if row.tasks.iter().any(|task| task.end.is_none()) {
                    return Err(Inconsistent::Incomplete(*job));
                }
                row.fate = Fate::Completed { at: now, value: *value };
                self.ended(*job)
            }
            Record::Removed { job } => {
                self.open(*job)?.fate = Fate::Removed { at: now };
                self.ended(*job)
            }
            Record::Answered { job, ready, deadline, answer } => {
                let row = self.open(*job)?;
                if row.answered.is_some() {
                    return Err(Inconsistent::Answered(*job));
                }
                row.answered = Some(AnsweredRow { ready: *ready, deadline: *deadline, answer: answer.clone() });
                if matches!(answer, Answer::Accepted { .. }) {
                    return Ok(None);
                }
                row.fate = Fate::TurnedAway;
                self.ended(*job)
            }
            Record::Cancelled { job } => {
                self.open(*job)?.fate = Fate::Cancelled { at: now };
                self.ended(*job)
            }
            Record::Sent { edge, from, to, bytes, active } => {
                let ends = (self.site(*from)?, self.site(*to)?);
                if !self.jobs.contains_key(&edge.job) {
                    return Err(unknown(self.over.as_ref(), edge.job));
                }
                self.transfers.sent(*edge, ends, *bytes, (now, *active))?;
                Ok(None)
            }
            Record::Delivered { edge } => {
                self.transfers.delivered(*edge, now)?;
                self.transfers.settle(&self.sites);
                Ok(None)
            }
        }
    }

    /// Whether it is a job of a subject whose jobs only wait for nodes.
    pub(super) fn only_waits(&self, row: &JobRow) -> bool {
        self.waiting_only().any(|present| present.systems.contains(&row.system))
    }

    fn waiting_only(&self) -> impl Iterator<Item = &Present> {
        self.subjects.iter().filter(|present| present.subject.one_task)
    }

    /// Whether its jobs are one task each, which their users may take back from where they wait.
    pub(super) fn has_queues(&self, system: u32) -> bool {
        self.systems[system as usize].is_rigid
    }

    /// How reports speak of its jobs.
    pub(super) fn words(&self) -> Words {
        self.subjects.iter().find_map(|present| present.subject.words).unwrap_or(USUAL)
    }

    /// The number by which `jobs.csv` knows a job.
    pub(super) fn number(&self, job: JobId) -> u64 {
        self.own_numbers.number(job)
    }

    /// Of several workloads whose jobs have numbers of their own, the one that a job is from.
    pub(super) fn workload(&self, job: JobId) -> Option<usize> {
        self.own_numbers.workload(job)
    }

    /// How often a task of a system was taken back.
    pub(super) fn withdrawn(&self, system: u32) -> u64 {
        self.withdrawn[system as usize]
    }

    /// Whether it is a single task that keeps its nodes, as its system's jobs should be.
    pub(super) fn is_one_task(&self, row: &JobRow) -> bool {
        self.only_waits(row) && row.tasks.len() == 1
    }

    /// The numbers of the sites that any of these systems uses.
    pub(super) fn sites_of(&self, systems: &[u32]) -> Vec<usize> {
        let uses = |site: &SiteFacts| site.systems.iter().any(|system| systems.contains(&(*system as u32)));
        (0..self.sites.len()).filter(|site| uses(&self.sites[*site])).collect()
    }

    /// Whether there are other systems beside those whose jobs only wait for nodes.
    pub(super) fn is_mixed(&self) -> bool {
        let waiting: usize = self.waiting_only().map(|present| present.systems.len()).sum();
        waiting > 0 && self.systems.len() > waiting
    }

    /// Whether each job is a single task that keeps its nodes, whose numbers matter.
    pub(super) fn is_rigid(&self) -> bool {
        self.waiting_only().map(|present| present.systems.len()).sum::<usize>() == self.systems.len()
    }

    pub(super) fn site_index(&self, actor: ActorId) -> Option<usize> {
        self.site_of.get(&actor).map(|site| *site as usize)
    }

    /// How many jobs have come to their end, one way or another.
    pub fn jobs_ended(&self) -> u64 {
        self.totals.ended
    }

    /// Every job, by number.
    pub(super) fn rows(&self) -> io::Result<Rows<'_>> {
        let over = self.over.as_ref().map(Ledger::read).transpose()?;
        Ok(Rows { here: self.jobs.values().peekable(), over })
    }

    /// When the last task ended, or the log if one was running then.
    pub(super) fn end_of_work(&self) -> Option<Time> {
        let Totals { started, running, end, .. } = self.totals;
        if running > 0 { Some(self.last) } else { (started > 0).then_some(end) }
    }

    /// What the moments are called at which each system gives out tasks.
    pub(super) fn gives(&self) -> impl Iterator<Item = Gives> {
        self.systems.iter().map(|system| system.gives)
    }

    pub(super) fn gives_of(&self, row: &JobRow) -> Gives {
        self.systems[row.system as usize].gives
    }

    /// Every stretch of time for which a task was ready, its job submitted and its predecessors finished, but had not
    /// started: with its kind, and cut where the job was given up or the log ends.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (Kind, Time, Time)> {
        self.waiting_of(|_| true)
    }

    /// The same for some of the jobs.
    pub(super) fn waiting_of(&self, which: impl Fn(&JobRow) -> bool) -> impl Iterator<Item = (Kind, Time, Time)> {
        let rows = self.jobs.values().filter(move |row| row.standing() != Standing::Refused && which(row));
        rows.flat_map(move |row| {
            let given_up = row.given_up().unwrap_or(self.last);
            let until = move |task: &TaskRow| task.start.unwrap_or(given_up);
            let tasks = row.ready().into_iter().zip(&row.tasks).zip(&row.job.tasks);
            let stretches = tasks.filter_map(move |((from, held), task)| Some((task.kind, from?, until(held))));
            stretches.filter(|(_, from, to)| from < to)
        })
    }

    fn admit(
        &mut self,
        job: &Arc<Job>,
        user: ActorId,
        service: ActorId,
        fate: Fate,
    ) -> Result<Option<JobId>, Inconsistent> {
        let tasks = job.tasks.len();
        if job.edges.iter().any(|edge| edge.from >= edge.to || edge.to as usize >= tasks) {
            return Err(Inconsistent::Edge(job.id));
        }
        if self.over.as_ref().is_some_and(|over| over.holds(job.id)) {
            return Err(Inconsistent::Twice(job.id));
        }
        // Services come first. Whoever else tells of a job has made it up.
        let system = service.0.min(self.systems.len() as u32 - 1);
        if self.has_queues(system) && tasks != 1 {
            return Err(Inconsistent::NotOneTask(job.id));
        }
        let critical_path = critical_path(job, &self.systems[system as usize]);
        let tasks = vec![TaskRow::default(); tasks];
        let row = JobRow { job: job.clone(), user, system, fate, critical_path, tasks, answered: None, needs: None };
        match self.jobs.entry(job.id) {
            btree_map::Entry::Vacant(place) => place.insert(row),
            btree_map::Entry::Occupied(_) => return Err(Inconsistent::Twice(job.id)),
        };
        self.totals.jobs += 1;
        let (first, last) = self.totals.arrivals.unwrap_or((job.arrive, job.arrive));
        self.totals.arrivals = Some((first.min(job.arrive), last.max(job.arrive)));
        if fate == Fate::Open { Ok(None) } else { self.ended(job.id) }
    }

    fn start(
        &mut self,
        task: TaskId,
        actor: ActorId,
        cores: &NodeSet,
        now: Time,
    ) -> Result<Option<JobId>, Inconsistent> {
        let site = self.holds(task, actor, cores)?;
        let row = self.given(task, site)?;
        if row.start.is_some() {
            return Err(Inconsistent::Again(task, "started"));
        }
        (row.site, row.start, row.cores) = (Some(site), Some(now), cores.clone());
        self.totals.started += 1;
        self.totals.running += 1;
        Ok(None)
    }

    fn end(&mut self, task: TaskId, actor: ActorId, now: Time, killed: bool) -> Result<Option<JobId>, Inconsistent> {
        let site = self.site(actor)?;
        let row = self.given(task, site)?;
        match (row.start, row.end) {
            (_, Some(_)) => return Err(Inconsistent::Again(task, "finished")),
            (None, _) => return Err(Inconsistent::NeverStarted(task)),
            _ if row.on_cores_since().is_none() => return Err(Inconsistent::NotRunning(task)),
            _ => (row.end, row.killed) = (Some(now), killed),
        }
        self.totals.running -= 1;
        self.totals.end = self.totals.end.max(now);
        Ok(Some(task.job))
    }

    /// A task leaves its cores, to go on later.
    fn leave(&mut self, task: TaskId, actor: ActorId, now: Time) -> Result<Option<JobId>, Inconsistent> {
        let site = self.site(actor)?;
        let row = self.given(task, site)?;
        let since = row.on_cores_since().filter(|_| row.end.is_none()).ok_or(Inconsistent::NotRunning(task))?;
        let stints = row.stints.get_or_insert_default();
        stints.over.push((since, now, row.cores.clone()));
        stints.since = None;
        Ok(None)
    }

    /// A task goes on, on these cores.
    fn enter(
        &mut self,
        task: TaskId,
        actor: ActorId,
        cores: &NodeSet,
        now: Time,
    ) -> Result<Option<JobId>, Inconsistent> {
        let site = self.holds(task, actor, cores)?;
        let row = self.given(task, site)?;
        let suspended = row.stints.as_deref_mut().filter(|stints| stints.since.is_none());
        suspended.ok_or(Inconsistent::NotSuspended(task))?.since = Some(now);
        (row.site, row.cores) = (Some(site), cores.clone());
        Ok(None)
    }

    /// The site of an actor, if it has these cores.
    fn holds(&self, task: TaskId, actor: ActorId, cores: &NodeSet) -> Result<u32, Inconsistent> {
        let site = self.site(actor)?;
        let facts = &self.sites[site as usize];
        match cores.runs().last() {
            Some(&(_, last)) if last >= facts.cores => Err(Inconsistent::NoSuchCores(task, facts.name.clone())),
            _ => Ok(site),
        }
    }

    fn ended(&mut self, job: JobId) -> Result<Option<JobId>, Inconsistent> {
        self.totals.ended += 1;
        Ok(Some(job))
    }

    /// Whether a job has arrived, or been turned away.
    pub(super) fn knows(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job) || self.over.as_ref().is_some_and(|over| over.holds(job))
    }

    /// Puts a job aside if nothing more can happen to it.
    fn put_aside(&mut self, job: JobId) -> Result<(), Untaken> {
        let Some(over) = &mut self.over else { return Ok(()) };
        let btree_map::Entry::Occupied(row) = self.jobs.entry(job) else { return Ok(()) };
        if row.get().is_over() {
            over.put(row.remove())?;
            self.transfers.forget(job);
        }
        Ok(())
    }

    fn site(&self, actor: ActorId) -> Result<u32, Inconsistent> {
        self.site_of.get(&actor).copied().ok_or_else(|| Inconsistent::NotASite(self.names.of_actor(actor)))
    }

    fn task(&mut self, task: TaskId) -> Result<&mut TaskRow, Inconsistent> {
        let over = self.over.as_ref();
        let row = self.jobs.get_mut(&task.job).ok_or_else(|| unknown(over, task.job))?;
        row.tasks.get_mut(task.index as usize).ok_or(Inconsistent::UnknownTask(task))
    }

    /// A task of which this site may tell, for no other one was given it.
    fn given(&mut self, task: TaskId, site: u32) -> Result<&mut TaskRow, Inconsistent> {
        let Tally { jobs, over, sites, .. } = self;
        let row = jobs.get_mut(&task.job).ok_or_else(|| unknown(over.as_ref(), task.job))?;
        let row = row.tasks.get_mut(task.index as usize).ok_or(Inconsistent::UnknownTask(task))?;
        match row.site {
            Some(given) if given != site => Err(Inconsistent::Elsewhere(task, sites[site as usize].name.clone())),
            _ => Ok(row),
        }
    }

    fn open(&mut self, job: JobId) -> Result<&mut JobRow, Inconsistent> {
        let over = self.over.as_ref();
        let row = self.jobs.get_mut(&job).ok_or_else(|| unknown(over, job))?;
        if row.fate == Fate::Open { Ok(row) } else { Err(Inconsistent::Ended(job)) }
    }
}

fn unknown(over: Option<&Ledger>, job: JobId) -> Inconsistent {
    if over.is_some_and(|over| over.holds(job)) { Inconsistent::Ended(job) } else { Inconsistent::UnknownJob(job) }
}

/// Every job of a tally, by number.
pub(super) struct Rows<'a> {
    here: std::iter::Peekable<btree_map::Values<'a, JobId, JobRow>>,
    over: Option<Merged<'a>>,
}

impl Rows<'_> {
    pub fn next(&mut self) -> io::Result<Option<&JobRow>> {
        let here = self.here.peek().map(|row| row.job.id);
        let over = self.over.as_ref().and_then(Merged::peek);
        if over.is_none_or(|over| here.is_some_and(|here| here < over)) {
            return Ok(self.here.next());
        }
        self.over.as_mut().map_or(Ok(None), Merged::next)
    }
}

impl Reckoning {
    fn of(system: &dyn System) -> Reckoning {
        let row = system.row();
        let (tick, ccr_millionths) = (system.tick(), system.ccr_millionths());
        Reckoning { tick, ccr_millionths, is_rigid: row.is_rigid, gives: row.gives }
    }
}

impl TaskRow {
    /// From when to when it was on which cores, up to now where it still is.
    pub fn stints(&self, now: Time) -> impl Iterator<Item = (Time, Time, &NodeSet)> {
        let over = self.stints.iter().flat_map(|stints| &stints.over).map(|(from, to, cores)| (*from, *to, cores));
        let last = self.on_cores_since().map(|since| (since, self.end.unwrap_or(now), &self.cores));
        over.chain(last)
    }

    fn on_cores_since(&self) -> Option<Time> {
        self.stints.as_ref().map_or(self.start, |stints| stints.since)
    }
}

impl JobRow {
    /// Whether nothing more can happen to it: what was given to a site before the job was given up goes on to its end,
    /// but what was taken back in time never starts.
    fn is_over(&self) -> bool {
        let is_over = |task: &TaskRow| task.end.is_some() || (task.start.is_none() && task.assigned.is_none());
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

/// The longest way through a job, as the system that it was handed to reckons.
fn critical_path(job: &Job, system: &Reckoning) -> Span {
    let delay = |task: usize| output_delay(job.tasks[task].runtime, system.ccr_millionths, system.tick);
    let ranks = forced_ranks(job, &Graph::new(job.tasks.len(), &job.edges), delay);
    ranks.into_iter().max().unwrap_or(Span::ZERO)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grid::{Edge, Task};
    use crate::report::Status;
    use crate::report::tests::{BOB, ROUTER, YORK, names, story, table, topology};
    use crate::systems::Service;
    use crate::systems::market::{Figures, Market};
    use crate::time::Stamp;

    /// A job whose tasks follow each other; every other one has run.
    pub fn row(job: u32, tasks: u32) -> JobRow {
        let task = |index: u32| Task::new(Span::from_secs(u64::from(index + job % 5)), 1 + index, Kind(0));
        let ran = |index: u32| {
            let moment = |seconds: u32| Some(Time::ZERO + Span::from_secs(u64::from(seconds)));
            let cores = NodeSet::all(1 + index);
            TaskRow {
                site: Some(1),
                assigned: moment(index),
                start: moment(index),
                end: moment(index + 1),
                cores,
                killed: false,
                stints: index.is_multiple_of(4).then(|| {
                    let over = vec![(Time::ZERO, Time::from_micros(5), NodeSet::run(2, 2 + index))];
                    Box::new(Stints { over, since: moment(index) })
                }),
            }
        };
        let asked = Job {
            id: JobId(job),
            arrive: Time::from_micros(job.into()),
            first_task: 0,
            tasks: (0..tasks).map(task).collect(),
            edges: (1..tasks).map(|to| Edge::new(to - 1, to)).collect(),
            worth: None,
        };
        JobRow {
            job: Arc::new(asked),
            user: BOB,
            system: 0,
            fate: Fate::Removed { at: Time::from_micros(7) },
            critical_path: Span::from_secs(3),
            tasks: (0..tasks).map(|index| if index % 2 == 0 { ran(index) } else { TaskRow::default() }).collect(),
            answered: None,
            needs: None,
        }
    }

    fn told(tally: &Tally) -> (String, String) {
        (table(tally, "jobs.csv"), format!("{:?}", tally.summary(7, Status::Complete, String::new())))
    }

    proptest! {
        /// Wherever the log ends.
        #[test]
        fn a_tally_that_puts_aside_what_is_over_tells_the_same(until in 0usize..25) {
            let mut keeping = Tally::new(&topology(), &names());
            let mut putting_aside = Tally::putting_aside(&topology(), &names(), Box::new(Vec::new()));
            for entry in story().iter().take(until) {
                keeping.add(entry).unwrap();
                putting_aside.add(entry).unwrap();
            }
            prop_assert_eq!(told(&keeping), told(&putting_aside));
            prop_assert_eq!(keeping.jobs_ended(), putting_aside.jobs_ended());
        }
    }

    #[test]
    fn the_critical_path_is_the_one_that_the_market_reckons_with() {
        let (share, tick) = (900_000, Span::from_minutes(1));
        let market = Market { ccr_millionths: share, tick, ..Market::default() };
        let grid = Topology { systems: vec![Service::new(market.clone())], ..topology() };
        let task = |kind| Task::new(Span::from_secs(61), 1, Kind(kind));
        let job = Job { tasks: vec![task(0), task(1)], edges: vec![Edge::new(0, 1)], ..(*row(1, 2).job).clone() };
        let figures = Figures::of(&job, &Graph::new(2, &job.edges), &market, false).unwrap();
        let mut tally = Tally::new(&grid, &names());
        let record = Record::Arrived { job: Arc::new(job), user: BOB };
        tally.add(&Entry { stamp: Stamp::ZERO, actor: ROUTER, record }).unwrap();
        assert_eq!(tally.jobs[&JobId(1)].critical_path, figures.critical_path);
    }

    #[test]
    fn what_is_over_leaves_memory_and_is_still_known() {
        let mut tally = Tally::putting_aside(&topology(), &names(), Box::new(Vec::new()));
        story().iter().for_each(|entry| tally.add(entry).unwrap());
        // Of the job that was given up one task still runs, and the last one still waits.
        assert_eq!(tally.jobs.keys().map(|job| job.0).collect::<Vec<_>>(), [4, 5]);

        let mut told = |actor, record| {
            let entry = Entry { stamp: Stamp::at(tally.last), actor, record };
            tally.add(&entry).map_err(|error| error.to_string())
        };
        let task = |job, index| TaskId { job: JobId(job), index };
        assert_eq!(told(YORK, Record::Finished { task: task(0, 0) }), Err("job 0 has ended already".to_owned()));
        assert_eq!(told(ROUTER, Record::Removed { job: JobId(3) }), Err("job 3 has ended already".to_owned()));
        assert_eq!(told(ROUTER, Record::Removed { job: JobId(9) }), Err("job 9 has not arrived".to_owned()));
        let again = Record::Arrived { job: row(1, 1).job, user: BOB };
        assert_eq!(told(ROUTER, again), Err("job 1 arrives twice".to_owned()));
        assert_eq!(told(YORK, Record::Finished { task: task(4, 0) }), Ok(()));
        assert_eq!(tally.jobs.keys().map(|job| job.0).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn a_task_is_where_its_stints_were() {
        let at = |minute: u64, record| Entry {
            stamp: Stamp::at(Time::ZERO + Span::from_minutes(minute)),
            actor: YORK,
            record,
        };
        let (task, cores) = (TaskId { job: JobId(0), index: 0 }, |text| NodeSet::parse(text).unwrap());
        let told = |entries: &[Entry<Record>]| {
            let mut tally = Tally::new(&topology(), &names());
            story()[..3].iter().chain(entries).try_for_each(|entry| tally.add(entry)).map(|()| tally)
        };
        let tally = told(&[
            at(2, Record::Suspended { task }),
            at(5, Record::Resumed { task, cores: cores("1-2") }),
            at(6, Record::Shared { task, share: 0.5 }),
            at(7, Record::Moved { task, cores: cores("0 3") }),
            at(9, Record::Finished { task }),
        ])
        .unwrap();
        let now = Time::ZERO + Span::from_minutes(20);
        let stints = tally.jobs[&JobId(0)].tasks[0].stints(now);
        let stints: Vec<_> = stints.map(|(from, to, cores)| (from, to, cores.to_string())).collect();
        let minute = |minute| Time::ZERO + Span::from_minutes(minute);
        let there = |from, to, cores: &str| (minute(from), minute(to), cores.to_owned());
        assert_eq!(stints, [there(0, 2, "0-1"), there(5, 7, "1-2"), there(7, 9, "0 3")]);

        assert!(told(&[at(2, Record::Resumed { task, cores: cores("0") })]).is_err());
        assert!(told(&[at(2, Record::Suspended { task }), at(3, Record::Finished { task })]).is_err());
        assert!(told(&[at(2, Record::Shared { task, share: 1.5 })]).is_err());
        assert!(told(&[at(2, Record::Suspended { task }), at(3, Record::Moved { task, cores: cores("0") })]).is_err());
    }
}
