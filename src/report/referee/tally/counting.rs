//! The meaning of each record: the tally's methods that the table of records names.

use std::collections::btree_map;
use std::sync::Arc;

use super::stints::{Stint, StintEnd, Stints};
use super::{AnsweredRow, Fate, Inconsistent, JobRow, Ledger, Tally, TaskRow, critical_path};
use hansa_sim::grid::{Area, CableId, Edge, EdgeId, Invalid, Job, JobId, JobShape, Needs, NodeSet, TaskId};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::time::{Span, Time};

/// The actor that reports, and the time.
#[derive(Clone, Copy)]
pub struct Reporter {
    pub actor: ActorId,
    pub now: Time,
}

/// The job that may be finished by it, if there is one.
pub type CountResult = Result<Option<JobId>, Inconsistent>;

impl Tally {
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
        if self.tells_of_own_jobs(by.actor) {
            self.told_of(by, task.job)?;
        }
        let site = self.site(*site)?;
        let by_user = self.tells_of_own_jobs(by.actor);
        let row = self.task(*task)?;
        if row.start.is_some() && !row.is_lost() {
            return Err(Inconsistent::Again(*task, "started"));
        }
        if let (Some(before), Some(stints)) = (row.site.filter(|before| *before != site), &mut row.stints) {
            stints.emigrate(before);
        }
        // A user that takes a task back says so.
        if by_user && row.site.is_some() && !(row.is_lost() && row.assigned.is_none()) {
            return Err(Inconsistent::GivenTwice(*task));
        }
        (row.site, row.assigned, row.is_sent_again) = (Some(site), Some(by.now), row.is_lost());
        if by_user {
            self.dealt.entry((by.actor, site)).or_default().0 += 1;
        }
        self.offers.assigned(site, by.now);
        Ok(None)
    }

    pub fn withdrawn(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        if self.tells_of_own_jobs(by.actor) {
            self.told_of(by, task.job)?;
        }
        let row = self.task(*task)?;
        let is_lost = row.is_lost();
        if row.site.is_none() || row.start.is_some() && !is_lost {
            return Err(Inconsistent::Again(*task, "started"));
        }
        (row.assigned, row.entered, row.is_sent_again) = (None, false, false);
        // The place of its last run is known until it runs elsewhere; its saved work is left behind.
        if !is_lost {
            row.site = None;
        }
        let Tally { jobs, sites, withdrawn, .. } = self;
        if let Some(job) = jobs.get_mut(&task.job) {
            withdrawn[job.system as usize] += 1;
            if is_lost {
                let worked = job.work(task.index as usize, by.now, sites);
                job.tasks[task.index as usize].setbacks().start_over(worked);
            }
        }
        Ok(None)
    }

    pub fn started(&mut self, by: Reporter, task: &TaskId, cores: &NodeSet) -> CountResult {
        let site = self.holds(*task, by.actor, cores)?;
        let is_entered = self.jobs.get(&task.job).is_some_and(|row| self.users_tell_of(row.system));
        let row = self.given(*task, site)?;
        if row.is_lost() {
            row.setbacks().go_on(by.now);
            row.stints.iter_mut().for_each(|stints| stints.begin(by.now));
            row.cores = cores.clone();
            self.totals.running += 1;
            self.offers.started(site, cores);
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
        self.offers.started(site, cores);
        Ok(None)
    }

    pub fn finished(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        self.end(*task, by, false)
    }

    pub fn killed(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        self.end(*task, by, true)
    }

    /// A task leaves its cores, to continue later.
    pub fn suspended(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        self.leave(by, task, StintEnd::Suspended)
    }

    /// A node of a task has failed.
    pub fn lost(&mut self, by: Reporter, task: &TaskId, saved: &Span) -> CountResult {
        let site = self.site(by.actor)?;
        if *saved > self.given(*task, site)?.ran_by(by.now) {
            return Err(Inconsistent::Unearned(*task));
        }
        let needs = self.needs_of(task.job);
        let sites = &self.sites;
        let row = self.jobs.get(&task.job).map(|job| &job.tasks[task.index as usize]);
        let since_loss = |worked, (stint, more): (Stint<'_>, Span)| match stint.is_lost() {
            true => Span::ZERO,
            false => worked + more,
        };
        let worked = row.map_or(Span::ZERO, |row| row.worked(by.now, needs, sites).fold(Span::ZERO, since_loss));
        let saved = sites[site as usize].work(needs, *saved, 1.0);
        let cores = self.cores_of(*task);
        self.leave(by, task, StintEnd::Lost)?;
        self.frees_cores(*task, site);
        let row = self.given(*task, site)?;
        row.is_sent_again = false;
        row.keep_sending();
        row.setbacks().lose(by.now, worked, saved, cores);
        self.totals.running -= 1;
        self.totals.end = self.totals.end.max(by.now);
        Ok(Some(task.job))
    }

    pub fn checkpointed(&mut self, by: Reporter, task: &TaskId, times: &u64, spent: &Span) -> CountResult {
        let site = self.site(by.actor)?;
        let row = self.given(*task, site)?;
        if row.on_cores_since().filter(|_| row.end.is_none()).is_none() {
            return Err(Inconsistent::NotRunning(*task));
        }
        let ran = row.ran_by(by.now);
        if *spent > ran || *times > ran.micros() {
            return Err(Inconsistent::Unearned(*task));
        }
        let spent = self.sites[site as usize].work(self.needs_of(task.job), *spent, 1.0);
        let cores = self.cores_of(*task);
        self.given(*task, site)?.setbacks().checkpoint(*times, spent, cores);
        Ok(None)
    }

    pub fn are_down(&mut self, by: Reporter, cores: &NodeSet, _since: &Time) -> CountResult {
        let site = self.site(by.actor)? as usize;
        self.is_outage(site, cores, false)?;
        self.down[site].unite(cores);
        Ok(None)
    }

    pub fn are_up(&mut self, by: Reporter, cores: &NodeSet, _since: &Time) -> CountResult {
        let site = self.site(by.actor)? as usize;
        self.is_outage(site, cores, true)?;
        self.down[site].subtract(cores);
        Ok(None)
    }

    /// Checks a site's report that these cores fail, or are back: it has them, and they were up, or down.
    fn is_outage(&self, site: usize, cores: &NodeSet, is_up: bool) -> Result<(), Inconsistent> {
        let facts = &self.sites[site];
        let down = &self.down[site];
        let is_there = cores.runs().last().is_some_and(|run| run.1 < facts.cores);
        let fits = if is_up { down.contains(cores) } else { !down.meets(cores) };
        if is_there && fits { Ok(()) } else { Err(Inconsistent::NoOutage(facts.name.clone())) }
    }

    fn leave(&mut self, by: Reporter, task: &TaskId, left: StintEnd) -> CountResult {
        let site = self.site(by.actor)?;
        let row = self.given(*task, site)?;
        let since = row.on_cores_since().filter(|_| row.end.is_none()).ok_or(Inconsistent::NotRunning(*task))?;
        Stints::of(&mut row.stints, since).leave(by.now, &row.cores, left);
        Ok(None)
    }

    /// A task continues on these cores.
    pub fn resumed(&mut self, by: Reporter, task: &TaskId, cores: &NodeSet) -> CountResult {
        let site = self.holds(*task, by.actor, cores)?;
        let row = self.given(*task, site)?;
        let suspended = row.stints.as_deref_mut().filter(|stints| stints.since().is_none());
        suspended.ok_or(Inconsistent::NotSuspended(*task))?.enter(by.now);
        (row.site, row.cores) = (Some(site), cores.clone());
        Ok(None)
    }

    pub fn moved(&mut self, by: Reporter, task: &TaskId, cores: &NodeSet) -> CountResult {
        let site = self.holds(*task, by.actor, cores)?;
        self.given(*task, site)?;
        self.leave(by, task, StintEnd::Moved)?;
        self.resumed(by, task, cores)
    }

    /// A task that has started leaves its cores as if it had never been there.
    pub fn dropped(&mut self, by: Reporter, task: &TaskId) -> CountResult {
        let site = self.site(by.actor)?;
        let row = self.given(*task, site)?;
        if row.start.is_none() || row.end.is_some() {
            return Err(Inconsistent::NotRunning(*task));
        }
        self.see_idled(by, *task);
        let row = self.given(*task, site)?;
        *row = TaskRow { site: row.site, assigned: row.assigned, ..TaskRow::default() };
        self.totals.started -= 1;
        self.totals.running -= 1;
        Ok(None)
    }

    pub fn shared(&mut self, by: Reporter, task: &TaskId, share: &f64) -> CountResult {
        let site = self.site(by.actor)?;
        let row = self.given(*task, site)?;
        match row.start.filter(|_| row.end.is_none()) {
            _ if !(0.0..=1.0).contains(share) => return Err(Inconsistent::NoShare(*task)),
            None => return Err(Inconsistent::NotRunning(*task)),
            Some(start) => Stints::of(&mut row.stints, start).share(by.now, &row.cores, *share),
        }
        Ok(None)
    }

    pub fn stacked(&mut self, by: Reporter, task: &TaskId, cores: &NodeSet) -> CountResult {
        let site = self.holds(*task, by.actor, cores)?;
        let row = self.given(*task, site)?;
        let since = row.on_cores_since().filter(|_| row.end.is_none()).ok_or(Inconsistent::NotRunning(*task))?;
        Stints::of(&mut row.stints, since).stack(cores);
        Ok(None)
    }

    pub fn needs(&mut self, _: Reporter, job: &JobId, needs: &Needs) -> CountResult {
        let row = self.open(*job)?;
        match row.needs {
            _ if !needs.make_sense() => Err(Inconsistent::NoShare(TaskId { job: *job, index: 0 })),
            Some(_) => Err(Inconsistent::NeedsAgain(*job)),
            None => {
                row.needs = Some(*needs);
                Ok(None)
            }
        }
    }

    pub fn completed(&mut self, by: Reporter, job: &JobId, value: &Option<f64>) -> CountResult {
        let row = self.told_of(by, *job)?;
        if row.tasks.iter().any(|task| task.end.is_none()) {
            return Err(Inconsistent::Incomplete(*job));
        }
        row.fate = Fate::Completed { at: by.now, value: *value };
        self.ended(*job)
    }

    pub fn removed(&mut self, by: Reporter, job: &JobId) -> CountResult {
        let is_at_site = |task: &TaskRow| task.site.is_some() && task.end.is_none() && !task.is_lost();
        let by_user = self.tells_of_own_jobs(by.actor);
        if self.told_of(by, *job)?.tasks.iter().any(is_at_site) && by_user {
            return Err(Inconsistent::Busy(*job));
        }
        self.told_of(by, *job)?.fate = Fate::Removed { at: by.now };
        self.ended(*job)
    }

    pub fn answered(
        &mut self,
        _: Reporter,
        job: &JobId,
        ready: &Time,
        deadline: &Time,
        answer: &ReserveAnswer,
    ) -> CountResult {
        let row = self.open(*job)?;
        if row.answered.is_some() {
            return Err(Inconsistent::Answered(*job));
        }
        let ready = *ready;
        let deadline = *deadline;
        let answer = answer.clone();
        let is_accepted = matches!(answer, ReserveAnswer::Accepted { .. });
        row.answered = Some(AnsweredRow { ready, deadline, answer, moved: 0, until: None, broken: None });
        if is_accepted {
            return Ok(None);
        }
        // Sites have refused the shapes that were tried.
        row.take_shape(0);
        row.fate = Fate::TurnedAway;
        self.ended(*job)
    }

    pub fn malleable(&mut self, _: Reporter, job: &JobId, shapes: &[JobShape]) -> CountResult {
        if self.open(*job)?.set_shapes(shapes) { Ok(None) } else { Err(Inconsistent::NoShape(*job)) }
    }

    /// A request is booked in this shape, if the site agrees.
    pub fn shaped(&mut self, _: Reporter, job: &JobId, shape: &u32) -> CountResult {
        if self.open(*job)?.take_shape(*shape) { Ok(None) } else { Err(Inconsistent::NoShape(*job)) }
    }

    /// Other nodes are booked for a request, as some have failed.
    pub fn rebooked(
        &mut self,
        _: Reporter,
        job: &JobId,
        site: &ActorId,
        start: &Time,
        until: &Time,
        nodes: &NodeSet,
    ) -> CountResult {
        let row = self.promised(*job)?;
        row.answer = ReserveAnswer::Accepted { site: *site, start: *start, nodes: nodes.clone() };
        row.moved += 1;
        row.until = Some(*until);
        Ok(None)
    }

    /// The promise of a request is broken. The end of its job is reported next.
    pub fn broken(&mut self, _: Reporter, job: &JobId, compensation: &Area) -> CountResult {
        self.promised(*job)?.broken = Some(*compensation);
        Ok(None)
    }

    /// The promise to an open job.
    fn promised(&mut self, job: JobId) -> Result<&mut AnsweredRow, Inconsistent> {
        let promise = self.open(job)?.answered.as_mut();
        promise.filter(|answered| answered.broken.is_none()).ok_or(Inconsistent::NotPromised(job))
    }

    pub fn cancelled(&mut self, by: Reporter, job: &JobId) -> CountResult {
        self.open(*job)?.fate = Fate::Cancelled { at: by.now };
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
            return Err(unknown(self.over.as_ref(), edge.job));
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
            return match unknown(self.over.as_ref(), edge.job) {
                Inconsistent::Ended(_) => self.leaves(by, edge, from, to, bytes, active),
                unknown => Err(unknown),
            };
        };
        if row.user != *user || !self.users_tell_of(row.system) {
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
        self.transfers.sent(*edge, ends, *bytes, (by.now, *active))?;
        Ok(None)
    }

    pub fn delivered(&mut self, by: Reporter, edge: &EdgeId) -> CountResult {
        self.transfers.delivered(*edge, by.now, self.jobs.contains_key(&edge.job))?;
        self.transfers.settle(&self.sites);
        Ok(None)
    }

    pub fn link_is_down(&mut self, _: Reporter, link: &CableId, _since: &Time) -> CountResult {
        self.link_turns(*link, true)
    }

    pub fn link_is_up(&mut self, _: Reporter, link: &CableId, _since: &Time) -> CountResult {
        self.link_turns(*link, false)
    }

    fn link_turns(&mut self, link: CableId, is_down: bool) -> CountResult {
        let known = self.links_down.get_mut(link.0 as usize).filter(|known| **known != is_down);
        match known.filter(|_| self.failing.does_link(link)) {
            Some(known) => *known = is_down,
            None => return Err(Inconsistent::NoCut(self.names.of_link(link))),
        }
        Ok(None)
    }

    pub fn stalled(&mut self, by: Reporter, edge: &EdgeId, left: &u64) -> CountResult {
        self.transfers.stalled(*edge, *left, by.now)?;
        Ok(None)
    }

    pub fn continued(&mut self, _: Reporter, edge: &EdgeId, left: &u64, via: &[CableId], active: &Time) -> CountResult {
        self.transfers.continued(*edge, *left, via, *active)?;
        Ok(None)
    }

    fn admit(&mut self, job: &Arc<Job>, user: ActorId, service: ActorId, fate: Fate) -> CountResult {
        let tasks = job.tasks.len();
        let leads_on = |edge: &Edge| edge.from < edge.to && (edge.to as usize) < tasks;
        if !job.edges.iter().all(leads_on) || !job.edges.is_sorted() {
            return Err(Inconsistent::Edge(job.id));
        }
        if self.over.as_ref().is_some_and(|over| over.holds(job.id)) {
            return Err(Inconsistent::Twice(job.id));
        }
        let system = self.system_of(service);
        if self.tells_of_own_jobs(service) && user != service {
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
    fn system_of(&self, teller: ActorId) -> u32 {
        let at_hub = self.services.get(teller.index()).copied();
        at_hub.or(self.told_by_users).unwrap_or(self.systems.len() as u32 - 1)
    }

    /// True if the users of a system report their own jobs.
    pub(crate) fn users_tell_of(&self, system: u32) -> bool {
        self.told_by_users == Some(system)
    }

    /// True if a user reports its jobs because no service does.
    pub(crate) fn tells_of_own_jobs(&self, teller: ActorId) -> bool {
        self.told_by_users.is_some() && teller >= self.first_user
    }

    /// An open job that an actor reports on: if the actor is a user, the job has to be its own.
    pub(super) fn told_of(&mut self, by: Reporter, job: JobId) -> Result<&mut JobRow, Inconsistent> {
        if self.tells_of_own_jobs(by.actor) && self.open(job)?.user != by.actor {
            return Err(Inconsistent::NotItsJob(job, self.names.of_actor(by.actor)));
        }
        self.open(job)
    }

    fn end(&mut self, task: TaskId, by: Reporter, killed: bool) -> CountResult {
        let site = self.site(by.actor)?;
        let row = self.given(task, site)?;
        match (row.start, row.end) {
            (_, Some(_)) => return Err(Inconsistent::Again(task, "finished")),
            (None, _) => return Err(Inconsistent::NeverStarted(task)),
            _ if row.on_cores_since().is_none() => return Err(Inconsistent::NotRunning(task)),
            _ => (row.end, row.killed) = (Some(by.now), killed),
        }
        let sent = self.witness.as_ref().and_then(|witness| witness.end_sent(by.actor, task));
        let facts = &self.sites[site as usize];
        if sent.is_some_and(|sent| sent != by.now.round_up(facts.report_every)) {
            return Err(Inconsistent::OtherEnd(task, facts.name.clone()));
        }
        self.frees_cores(task, site);
        self.totals.running -= 1;
        self.totals.end = self.totals.end.max(by.now);
        let of_user = |row: &&JobRow| self.users_tell_of(row.system);
        match self.told_by_users.and_then(|_| self.jobs.get(&task.job)).filter(of_user) {
            Some(row) => self.dealt.entry((row.user, site)).or_default().1 += 1,
            None => self.ends[site as usize] += 1,
        }
        Ok(Some(task.job))
    }

    /// The cores of a task that has left its site are idle.
    fn frees_cores(&mut self, task: TaskId, site: u32) {
        if let Some(row) = self.jobs.get(&task.job) {
            self.offers.left(site, &row.tasks[task.index as usize].cores);
        }
    }

    /// The site of an actor, if it has these cores.
    fn holds(&self, task: TaskId, actor: ActorId, cores: &NodeSet) -> Result<u32, Inconsistent> {
        let site = self.site(actor)?;
        let facts = &self.sites[site as usize];
        match cores.runs().last() {
            Some(&(_, last)) if last >= facts.cores => Err(Inconsistent::NoSuchCores(task, facts.name.clone())),
            _ if self.down[site as usize].meets(cores) => Err(Inconsistent::Down(task, facts.name.clone())),
            _ => Ok(site),
        }
    }

    fn ended(&mut self, job: JobId) -> CountResult {
        self.totals.ended += 1;
        Ok(Some(job))
    }

    pub(super) fn site(&self, actor: ActorId) -> Result<u32, Inconsistent> {
        self.site_of.get(&actor).copied().ok_or_else(|| Inconsistent::NotASite(self.names.of_actor(actor)))
    }

    fn task(&mut self, task: TaskId) -> Result<&mut TaskRow, Inconsistent> {
        let over = self.over.as_ref();
        let row = self.jobs.get_mut(&task.job).ok_or_else(|| unknown(over, task.job))?;
        row.tasks.get_mut(task.index as usize).ok_or(Inconsistent::UnknownTask(task))
    }

    /// Number of cores that a task asks for; of several shapes, in the chosen one.
    fn cores_of(&self, task: TaskId) -> u32 {
        let tasks = self.jobs.get(&task.job).map_or(&[][..], |row| &row.job.tasks);
        tasks.get(task.index as usize).map_or(0, |wish| wish.cores)
    }

    /// Needs of a job's parallel tasks on their nodes, if they are recorded.
    fn needs_of(&self, job: JobId) -> Option<Needs> {
        self.jobs.get(&job)?.needs
    }

    /// A task on which this site may report, as no other has it.
    pub(super) fn given(&mut self, task: TaskId, site: u32) -> Result<&mut TaskRow, Inconsistent> {
        let Tally { jobs, over, sites, .. } = self;
        let row = jobs.get_mut(&task.job).ok_or_else(|| unknown(over.as_ref(), task.job))?;
        let row = row.tasks.get_mut(task.index as usize).ok_or(Inconsistent::UnknownTask(task))?;
        match row.site {
            Some(given) if given != site => Err(Inconsistent::Elsewhere(task, sites[site as usize].name.clone())),
            _ => Ok(row),
        }
    }

    pub(super) fn open(&mut self, job: JobId) -> Result<&mut JobRow, Inconsistent> {
        let over = self.over.as_ref();
        let row = self.jobs.get_mut(&job).ok_or_else(|| unknown(over, job))?;
        if row.fate == Fate::Open { Ok(row) } else { Err(Inconsistent::Ended(job)) }
    }
}

fn unknown(over: Option<&Ledger>, job: JobId) -> Inconsistent {
    if over.is_some_and(|over| over.holds(job)) { Inconsistent::Ended(job) } else { Inconsistent::UnknownJob(job) }
}
