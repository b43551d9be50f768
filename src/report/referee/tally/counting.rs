//! The meaning of the records of every run, and the checks that subjects share with them.

use std::collections::btree_map;
use std::sync::Arc;

use super::book::{JobBook, critical_path};
use super::stints::{StintEnd, Stints};
use super::{Fate, Inconsistent, JobRow, TaskRow};
use crate::referee::ledger::Ledger;
use hansa_sim::grid::{Edge, EdgeId, Invalid, Job, JobId, Needs, NodeSet, TaskId};
use hansa_sim::kernel::ActorId;
use hansa_sim::time::{Span, Time};

/// The actor that reports, and the time.
#[derive(Clone, Copy)]
pub struct Reporter {
    pub actor: ActorId,
    pub now: Time,
}

/// The job that may be finished by it, if there is one.
pub type CountResult = Result<Option<JobId>, Inconsistent>;

impl JobBook {
    pub fn arrived(&mut self, by: Reporter, job: &Arc<Job>, user: &ActorId) -> CountResult {
        self.admit(job, *user, by.actor, Fate::Open)
    }

    pub fn refused(&mut self, by: Reporter, _task: &u32, job: &Arc<Job>, user: &ActorId) -> CountResult {
        self.admit(job, *user, by.actor, Fate::Refused)
    }

    pub fn not_admitted(&mut self, by: Reporter, job: &Arc<Job>, user: &ActorId) -> CountResult {
        self.admit(job, *user, by.actor, Fate::NotAdmitted)
    }

    pub fn rejected(&mut self, by: Reporter, why: &Invalid, job: &Arc<Job>, user: &ActorId) -> CountResult {
        self.admit(job, *user, by.actor, Fate::Rejected(*why))
    }

    pub fn assigned(&mut self, by: Reporter, task: &TaskId, site: &ActorId) -> CountResult {
        if self.reports_own_jobs(by.actor) {
            self.reported_job(by, task.job)?;
        }
        let site = self.site(*site)?;
        let by_user = self.reports_own_jobs(by.actor);
        let row = self.task(*task)?;
        if row.start.is_some() && !row.awaits_restart() {
            return Err(Inconsistent::Again(*task, "started"));
        }
        if let (Some(before), Some(stints)) = (row.site.filter(|before| *before != site), &mut row.stints) {
            stints.mark_emigrated(before);
        }
        // A user that takes a task back says so.
        if by_user && row.site.is_some() && !(row.awaits_restart() && row.assigned.is_none()) {
            return Err(Inconsistent::GivenTwice(*task));
        }
        (row.site, row.assigned, row.is_sent_again) = (Some(site), Some(by.now), row.awaits_restart());
        if by_user {
            self.dealt.entry((by.actor, site)).or_default().0 += 1;
        }
        Ok(None)
    }

    pub fn withdrawn(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        if self.reports_own_jobs(by.actor) {
            self.reported_job(by, task.job)?;
        }
        let row = self.task(*task)?;
        let has_run = row.awaits_restart();
        if row.site.is_none() || row.start.is_some() && !has_run {
            return Err(Inconsistent::Again(*task, "started"));
        }
        (row.assigned, row.entered, row.is_sent_again) = (None, false, false);
        // The place of its last run is known until it runs elsewhere; its saved work is left behind.
        if !has_run {
            row.site = None;
        }
        let JobBook { jobs, sites, withdrawn, .. } = self;
        if let Some(job) = jobs.get_mut(&task.job) {
            withdrawn[job.system as usize] += 1;
            if has_run {
                let worked = job.work_done(task.index as usize, by.now, sites);
                job.tasks[task.index as usize].setbacks_mut().start_over(worked);
            }
        }
        Ok(None)
    }

    pub fn started(&mut self, by: Reporter, task: &TaskId, cores: &NodeSet) -> CountResult {
        let site = self.holds(*task, by.actor, cores)?;
        let is_entered = self.jobs.get(&task.job).is_some_and(|row| self.users_report(row.system));
        let row = self.reportable_task(*task, site)?;
        if row.awaits_restart() {
            if row.is_lost() {
                row.setbacks_mut().record_restart(by.now);
            }
            row.stints.iter_mut().for_each(|stints| stints.begin(by.now));
            row.cores = cores.clone();
            self.totals.running += 1;
            return Ok(None);
        }
        if row.start.is_some() {
            return Err(Inconsistent::Again(*task, "started"));
        }
        if is_entered && !row.entered {
            return Err(Inconsistent::NotGiven(*task, self.names.of_actor(by.actor)));
        }
        (row.site, row.start, row.cores) = (Some(site), Some(by.now), cores.clone());
        self.totals.started += 1;
        self.totals.running += 1;
        Ok(None)
    }

    pub fn finished(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        self.end(*task, by)
    }

    pub fn killed(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        self.end_early(*task, by, |row| row.killed = true)
    }

    pub fn preempted(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        self.end_early(*task, by, |row| row.preempted = true)
    }

    /// A task has left its cores for another one, and starts again from the beginning.
    pub fn requeued(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        let site = self.site(by.actor)?;
        let worked = self.worked_since_start(*task, by.now);
        let cores = self.cores_of(*task);
        self.leave(by, task, StintEnd::Requeued)?;
        let row = self.reportable_task(*task, site)?;
        row.is_sent_again = false;
        row.record_assignment();
        row.setbacks_mut().record_requeue(worked, cores);
        self.totals.requeues += 1;
        self.totals.running -= 1;
        self.totals.end = self.totals.end.max(by.now);
        Ok(Some(task.job))
    }

    /// Backfilling has started a task in this instant. Of a job that starts several times, the first start counts.
    pub fn backfilled(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        let site = self.site(by.actor)?;
        let row = self.reportable_task(*task, site)?;
        if row.on_cores_since() != Some(by.now) || row.end.is_some() {
            return Err(Inconsistent::NotRunning(*task));
        }
        if row.start == Some(by.now) {
            self.backfilled.insert(task.job);
        }
        Ok(None)
    }

    /// True if backfilling gave a job its first start, false if the main scheduler did. None if the job has not
    /// started, or the scheduler of its site does not state it.
    pub fn is_backfilled(&self, row: &JobRow) -> Option<bool> {
        let task = row.tasks.first().filter(|task| task.start.is_some())?;
        let site = &self.sites[task.site? as usize];
        site.states_backfill.then(|| self.backfilled.contains(&row.job.id))
    }

    /// Work of each core of a task since its last start.
    pub(crate) fn worked_since_start(&self, task: TaskId, now: Time) -> Span {
        let needs = self.needs_of(task.job);
        let row = self.jobs.get(&task.job).and_then(|job| job.tasks.get(task.index as usize));
        let stints = row.into_iter().flat_map(|row| row.worked_stints(now, needs, &self.sites));
        stints.fold(Span::ZERO, |worked, (stint, more)| if stint.starts_over() { Span::ZERO } else { worked + more })
    }

    pub(crate) fn leave(&mut self, by: Reporter, task: &TaskId, left: StintEnd) -> CountResult {
        let site = self.site(by.actor)?;
        let row = self.reportable_task(*task, site)?;
        let since = row.on_cores_since().filter(|_| row.end.is_none()).ok_or(Inconsistent::NotRunning(*task))?;
        Stints::of(&mut row.stints, since).leave_nodes(by.now, &row.cores, left);
        Ok(None)
    }

    /// A task that has started leaves its cores as if it had never been there.
    pub fn drop_task(&mut self, by: Reporter, task: TaskId) -> CountResult {
        let site = self.site(by.actor)?;
        let row = self.reportable_task(task, site)?;
        if row.start.is_none() || row.end.is_some() {
            return Err(Inconsistent::NotRunning(task));
        }
        *row = TaskRow { site: row.site, assigned: row.assigned, ..TaskRow::default() };
        self.totals.started -= 1;
        self.totals.running -= 1;
        Ok(None)
    }

    pub fn completed(&mut self, by: Reporter, job: &JobId, value: &Option<f64>) -> CountResult {
        let row = self.reported_job(by, *job)?;
        if row.tasks.iter().any(|task| task.end.is_none()) {
            return Err(Inconsistent::Incomplete(*job));
        }
        row.fate = Fate::Completed { at: by.now, value: *value };
        self.ended(*job)
    }

    pub fn removed(&mut self, by: Reporter, job: &JobId) -> CountResult {
        let by_user = self.reports_own_jobs(by.actor);
        if self
            .reported_job(by, *job)?
            .tasks
            .iter()
            .any(|task| task.site.is_some() && task.end.is_none() && !task.awaits_restart())
            && by_user
        {
            return Err(Inconsistent::Busy(*job));
        }
        self.reported_job(by, *job)?.fate = Fate::Removed { at: by.now };
        self.ended(*job)
    }

    pub fn sent(
        &mut self,
        by: Reporter,
        edge: &EdgeId,
        from: &ActorId,
        to: &ActorId,
        bytes: &u64,
        active: &Time,
    ) -> CountResult {
        if !self.jobs.contains_key(&edge.job) {
            return Err(unknown_job(self.over.as_ref(), edge.job));
        }
        self.leaves(by, edge, from, to, bytes, active)
    }

    /// Users report their own transfers, which have to be those of edges of their own jobs. Only services move data
    /// from its home.
    #[allow(clippy::too_many_arguments, reason = "they are the fields of the record")]
    pub fn shipped(
        &mut self,
        by: Reporter,
        user: &ActorId,
        edge: &EdgeId,
        from: &ActorId,
        to: &ActorId,
        bytes: &u64,
        active: &Time,
    ) -> CountResult {
        let Some(row) = self.jobs.get(&edge.job) else {
            // The user gave the job up while its message was on the way. The job has been set aside.
            return match unknown_job(self.over.as_ref(), edge.job) {
                Inconsistent::Ended(_) => self.leaves(by, edge, from, to, bytes, active),
                unknown => Err(unknown),
            };
        };
        if row.user != *user || !self.users_report(row.system) {
            return Err(Inconsistent::NotItsJob(edge.job, self.names.of_actor(*user)));
        }
        if row.job.edges.binary_search(&Edge { from: edge.from, to: edge.to, data: *bytes }).is_err() {
            return Err(Inconsistent::NotItsData(*edge, *bytes));
        }
        self.leaves(by, edge, from, to, bytes, active)
    }

    fn leaves(
        &mut self,
        by: Reporter,
        edge: &EdgeId,
        from: &ActorId,
        to: &ActorId,
        bytes: &u64,
        active: &Time,
    ) -> CountResult {
        let ends = (self.site(*from)?, self.site(*to)?);
        self.transfers.record_sent(*edge, ends, *bytes, (by.now, *active))?;
        Ok(None)
    }

    pub fn delivered(&mut self, by: Reporter, edge: &EdgeId) -> CountResult {
        self.transfers.record_delivered(*edge, by.now, self.jobs.contains_key(&edge.job))?;
        self.transfers.drop_front(&self.sites);
        Ok(None)
    }

    fn admit(&mut self, job: &Arc<Job>, user: ActorId, service: ActorId, fate: Fate) -> CountResult {
        let tasks = job.tasks.len();
        if !job.edges.iter().all(|edge| edge.from < edge.to && (edge.to as usize) < tasks) || !job.edges.is_sorted() {
            return Err(Inconsistent::Edge(job.id));
        }
        if self.over.as_ref().is_some_and(|over| over.holds(job.id)) {
            return Err(Inconsistent::Twice(job.id));
        }
        let system = self.system_of(service);
        if self.reports_own_jobs(service) && user != service {
            return Err(Inconsistent::NotItsJob(job.id, self.names.of_actor(service)));
        }
        if self.has_queues(system) && tasks != 1 {
            return Err(Inconsistent::NotOneTask(job.id));
        }
        let critical_path = critical_path(job, &self.systems[system as usize]);
        let tasks = std::iter::repeat_with(TaskRow::default).take(tasks).collect();
        let row = JobRow {
            job: job.clone(),
            user,
            system,
            fate,
            critical_path,
            tasks,
            answered: None,
            shapes: None,
            needs: None,
            bargain: None,
        };
        let only_waits = self.only_waits(&row);
        match self.jobs.entry(job.id) {
            btree_map::Entry::Vacant(place) => place.insert(row),
            btree_map::Entry::Occupied(_) => return Err(Inconsistent::Twice(job.id)),
        };
        self.totals.jobs += 1;
        self.totals.only_waiting += u64::from(only_waits);
        let (first, last) = self.totals.arrivals.unwrap_or((job.arrive, job.arrive));
        self.totals.arrivals = Some((first.min(job.arrive), last.max(job.arrive)));
        if fate == Fate::Open { Ok(None) } else { self.ended(job.id) }
    }

    /// The system of a reporting actor: services come first; users report where there is no service.
    fn system_of(&self, reporter: ActorId) -> u32 {
        let at_hub = self.services.get(reporter.index()).copied();
        at_hub.or(self.reported_by_users).unwrap_or(self.systems.len() as u32 - 1)
    }

    /// True if the users of a system report their own jobs.
    pub(crate) fn users_report(&self, system: u32) -> bool {
        self.reported_by_users == Some(system)
    }

    /// True if a user reports its jobs because no service does.
    pub(crate) fn reports_own_jobs(&self, reporter: ActorId) -> bool {
        self.reported_by_users.is_some() && reporter >= self.first_user
    }

    /// An open job that an actor reports on: if the actor is a user, the job has to be its own.
    pub(crate) fn reported_job(&mut self, by: Reporter, job: JobId) -> Result<&mut JobRow, Inconsistent> {
        if self.reports_own_jobs(by.actor) && self.open(job)?.user != by.actor {
            return Err(Inconsistent::NotItsJob(job, self.names.of_actor(by.actor)));
        }
        self.open(job)
    }

    /// Records the end of a task whose work is not done; `mark` records the reason.
    fn end_early(&mut self, task: TaskId, by: Reporter, mark: fn(&mut TaskRow)) -> CountResult {
        let ended = self.end(task, by)?;
        if let Some(row) = self.jobs.get_mut(&task.job).and_then(|job| job.tasks.get_mut(task.index as usize)) {
            mark(row);
        }
        Ok(ended)
    }

    fn end(&mut self, task: TaskId, by: Reporter) -> CountResult {
        let site = self.site(by.actor)?;
        let row = self.reportable_task(task, site)?;
        match (row.start, row.end) {
            (_, Some(_)) => return Err(Inconsistent::Again(task, "finished")),
            (None, _) => return Err(Inconsistent::NeverStarted(task)),
            _ if row.on_cores_since().is_none() => return Err(Inconsistent::NotRunning(task)),
            _ => row.end = Some(by.now),
        }
        let sent = self.witness.as_ref().and_then(|witness| witness.end_sent(by.actor, task));
        let facts = &self.sites[site as usize];
        if sent.is_some_and(|sent| sent != by.now.round_up(facts.report_every)) {
            return Err(Inconsistent::OtherEnd(task, facts.name.clone()));
        }
        self.totals.running -= 1;
        self.totals.end = self.totals.end.max(by.now);
        match self.reported_by_users.and_then(|_| self.jobs.get(&task.job)).filter(|row| self.users_report(row.system))
        {
            Some(row) => self.dealt.entry((row.user, site)).or_default().1 += 1,
            None => self.ends[site as usize] += 1,
        }
        Ok(Some(task.job))
    }

    /// The site of an actor, if it has these cores.
    pub(crate) fn holds(&self, task: TaskId, actor: ActorId, cores: &NodeSet) -> Result<u32, Inconsistent> {
        let site = self.site(actor)?;
        let facts = &self.sites[site as usize];
        match cores.runs().last() {
            Some(&(_, last)) if last >= facts.cores => Err(Inconsistent::NoSuchCores(task, facts.name.clone())),
            _ if self.down[site as usize].meets(cores) => Err(Inconsistent::Down(task, facts.name.clone())),
            _ => Ok(site),
        }
    }

    pub(crate) fn ended(&mut self, job: JobId) -> CountResult {
        self.totals.ended += 1;
        Ok(Some(job))
    }

    pub(crate) fn site(&self, actor: ActorId) -> Result<u32, Inconsistent> {
        self.site_of.get(&actor).copied().ok_or_else(|| Inconsistent::NotASite(self.names.of_actor(actor)))
    }

    fn task(&mut self, task: TaskId) -> Result<&mut TaskRow, Inconsistent> {
        let over = self.over.as_ref();
        let row = self.jobs.get_mut(&task.job).ok_or_else(|| unknown_job(over, task.job))?;
        row.tasks.get_mut(task.index as usize).ok_or(Inconsistent::UnknownTask(task))
    }

    /// Number of cores that a task asks for; of several shapes, in the chosen one.
    pub(crate) fn cores_of(&self, task: TaskId) -> u32 {
        let tasks = self.jobs.get(&task.job).map_or(&[][..], |row| &row.job.tasks);
        tasks.get(task.index as usize).map_or(0, |needs| needs.cores)
    }

    /// Needs of a job's parallel tasks on their nodes, if they are recorded.
    pub(crate) fn needs_of(&self, job: JobId) -> Option<Needs> {
        self.jobs.get(&job)?.needs
    }

    /// A task on which this site may report, as no other has it.
    pub(crate) fn reportable_task(&mut self, task: TaskId, site: u32) -> Result<&mut TaskRow, Inconsistent> {
        let JobBook { jobs, over, sites, .. } = self;
        let row = jobs.get_mut(&task.job).ok_or_else(|| unknown_job(over.as_ref(), task.job))?;
        let row = row.tasks.get_mut(task.index as usize).ok_or(Inconsistent::UnknownTask(task))?;
        match row.site {
            Some(given) if given != site => Err(Inconsistent::Elsewhere(task, sites[site as usize].name.clone())),
            _ => Ok(row),
        }
    }

    pub(crate) fn open(&mut self, job: JobId) -> Result<&mut JobRow, Inconsistent> {
        let over = self.over.as_ref();
        let row = self.jobs.get_mut(&job).ok_or_else(|| unknown_job(over, job))?;
        if row.fate == Fate::Open { Ok(row) } else { Err(Inconsistent::Ended(job)) }
    }
}

fn unknown_job(over: Option<&Ledger>, job: JobId) -> Inconsistent {
    if over.is_some_and(|over| over.holds(job)) { Inconsistent::Ended(job) } else { Inconsistent::UnknownJob(job) }
}
