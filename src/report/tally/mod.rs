//! Keeps what the tables need while a log goes by.

mod bargains;
mod counting;
mod failing;
mod inconsistent;
mod row;
mod stints;
#[cfg(test)]
pub(super) mod tests;

use std::collections::{BTreeMap, btree_map};
use std::io;

use self::bargains::Bargains;
pub(super) use self::bargains::{Booking, Hold, Idled, Seen, Takings, Verdicts};
pub(super) use self::counting::By;
pub(super) use self::failing::Failing;
pub use self::inconsistent::{Inconsistent, Untaken};
pub(super) use self::row::{AnsweredRow, Fate, JobRow, Standing, TaskRow, less};
pub(super) use self::stints::{Left, Stint};
use super::Names;
use super::called::Called;
use super::ledger::{Ledger, Merged, Store};
use super::own_numbers::OwnNumbers;
use super::subjects::{self, Present, USUAL, Words};
use super::transfers::Transfers;
use super::witness::Witness;
use crate::few;
use crate::grid::{Graph, Job, JobId, Kind, MoveCost, Needs, NodeSet, forced_ranks, output_delay};
use crate::kernel::{ActorId, Entry};
use crate::protocol::Record;
use crate::systems::{Gives, System, managers};
use crate::time::{Span, Time};
use crate::topology::{Plan, Role, Site, Topology};

/// Takes a run's log, entry by entry, and remembers what became of every job and task.
///
/// One that keeps all, as pages want it, shares the jobs with whoever made them and adds some 90 bytes a task and 120 a
/// job. One that puts aside what is over keeps in memory what is not, and a bit a job.
#[derive(Debug)]
pub struct Tally {
    pub(super) topology: String,
    pub(super) names: Names,
    pub(super) sites: Vec<SiteFacts>,
    pub(super) site_of: few::Map<ActorId, u32>,
    systems: Vec<Reckoning>,
    /// The systems of the services at the hub, by the numbers of their actors.
    services: Vec<u32>,
    /// The system whose users tell of their jobs themselves.
    told_by_users: Option<u32>,
    first_user: ActorId,
    pub(super) subjects: Vec<Present>,
    pub(super) own_numbers: OwnNumbers,
    pub(super) called: Called,
    /// All jobs, or those that are not over.
    pub(super) jobs: BTreeMap<JobId, JobRow>,
    /// Those that are, where they are put aside.
    over: Option<Ledger>,
    pub(super) transfers: Transfers,
    pub(super) bargains: Bargains,
    /// By site: which cores are said to be down.
    down: Vec<NodeSet>,
    /// By link of the topology, likewise.
    links_down: Vec<bool>,
    pub(super) failing: Failing,
    pub(super) totals: Totals,
    /// By system: how often a task was taken back to be handed in elsewhere.
    withdrawn: Vec<u64>,
    /// Ended tasks of jobs that a service decides for, by site.
    ends: Vec<u64>,
    /// Tasks that users negotiate for, by user and site: those given to the site, and those ended there.
    dealt: BTreeMap<(ActorId, u32), (u64, u64)>,
    /// The messages behind the log, where they pass a router.
    pub(super) witness: Option<Witness>,
    pub(super) entries: u64,
    /// The time of the last entry.
    pub(super) last: Time,
}

/// How a system reckons.
#[derive(Clone, Copy, Debug)]
struct Reckoning {
    key: &'static str,
    tick: Span,
    ccr_millionths: u64,
    /// Whether its jobs are one task each, which waits in a queue.
    has_queues: bool,
    /// Whether it decides at the hub.
    is_central: bool,
    gives: Gives,
}

/// What is known of all jobs without looking at them again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub jobs: u64,
    /// Those that only wait for nodes.
    only_waiting: u64,
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
    pub actor: ActorId,
    pub cores: u32,
    pub kind: Kind,
    /// The number of its core 0 when the cores of all sites are numbered through.
    pub first_core: u64,
    pub latency: Span,
    pub report_every: Span,
    /// Which of the topology's systems use it.
    pub systems: Vec<usize>,
    /// Whether jobs share its nodes.
    pub is_shared: bool,
    /// What it costs a job to be resumed or moved there.
    pub move_cost: MoveCost,
}

/// How many of a site's cores a task uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Used {
    Whole(u32),
    /// As its share of theirs adds up to.
    Shared(f64),
}

impl SiteFacts {
    fn of(site: &Site, actor: ActorId, first_core: u64) -> SiteFacts {
        SiteFacts {
            name: site.name.clone(),
            actor,
            cores: site.cores,
            kind: site.kind,
            first_core,
            latency: site.latency,
            report_every: site.report_every,
            systems: site.systems.clone(),
            is_shared: managers::shares_nodes(&site.scheduler),
            move_cost: managers::move_cost(site),
        }
    }

    /// How long a core of it takes for what one of a job's does here in a time, at such a share: who shares its nodes
    /// has no more of them than it needs.
    pub fn work(&self, needs: Option<Needs>, time: Span, share: f64) -> Span {
        if !self.is_shared {
            return time;
        }
        Span::from_micros((time.micros() as f64 * needs.unwrap_or(Needs::NODE).cpu * share) as u64)
    }

    pub fn used(&self, row: &JobRow, cores: u32, stint: &Stint<'_>) -> Used {
        if !self.is_shared {
            return Used::Whole(cores);
        }
        Used::Shared(f64::from(cores) * row.needs.unwrap_or(Needs::NODE).cpu * stint.share)
    }
}

impl Used {
    pub fn cores(self) -> f64 {
        match self {
            Used::Whole(cores) => cores.into(),
            Used::Shared(cores) => cores,
        }
    }

    /// Core microseconds in so many microseconds.
    pub fn over(self, micros: u128) -> u128 {
        match self {
            Used::Whole(cores) => u128::from(cores) * micros,
            Used::Shared(cores) => (cores * micros as f64).round() as u128,
        }
    }
}

impl Tally {
    /// A tally that puts aside what is over: into the store, where there is much of it.
    pub fn putting_aside(topology: &Topology, names: &Names, store: Box<dyn Store>) -> Tally {
        let mut tally = Tally::new(topology, names);
        tally.over = Some(Ledger::new(store));
        tally.transfers.let_go();
        tally.bargains.keeps = false;
        tally
    }

    /// A tally that keeps all.
    pub fn new(topology: &Topology, names: &Names) -> Tally {
        let (mut sites, mut first_core, mut first_user) = (Vec::new(), 0, ActorId(u32::MAX));
        for (actor, role) in (0..).map(ActorId).zip(Plan::of(topology).roles) {
            match role {
                Role::Site(site) => {
                    let site = &topology.sites[site];
                    sites.push(SiteFacts::of(site, actor, first_core));
                    first_core += u64::from(site.cores);
                }
                Role::User(0) => first_user = actor,
                Role::Hub(_) | Role::User(_) | Role::Exchange => {}
            }
        }
        Tally {
            topology: topology.name.clone(),
            names: names.clone(),
            site_of: sites.iter().zip(0..).map(|(site, index)| (site.actor, index)).collect(),
            sites,
            systems: topology.systems.iter().map(|system| Reckoning::of(&**system)).collect(),
            services: with_service(topology, true).collect(),
            told_by_users: with_service(topology, false).next(),
            first_user,
            subjects: subjects::of(topology),
            own_numbers: OwnNumbers::of(topology),
            called: Called::of(topology),
            jobs: BTreeMap::new(),
            over: None,
            transfers: Transfers::of(topology),
            bargains: Bargains::keeping(),
            down: vec![NodeSet::default(); topology.sites.len()],
            links_down: vec![false; topology.cables.as_ref().map_or(0, |cables| cables.links.len())],
            failing: Failing::of(topology),
            totals: Totals::default(),
            withdrawn: vec![0; topology.systems.len()],
            ends: vec![0; topology.sites.len()],
            dealt: BTreeMap::new(),
            witness: None,
            entries: 0,
            last: Time::ZERO,
        }
    }

    /// Consults this witness before members are blamed.
    pub fn witnessed_by(&mut self, witness: Witness) {
        self.witness = Some(witness);
    }

    /// Tasks of a service's jobs whose ends a site has recorded, though the service has not received as many.
    pub(super) fn withholds_ends(&self, site: u32) -> bool {
        let received = self.witness.as_ref().and_then(|witness| witness.ends_received(self.sites[site as usize].actor));
        received.is_some_and(|received| received < self.ends[site as usize])
    }

    /// True if a site has recorded more ends of a user's tasks than it has sent to the user; None if that is not known.
    pub(super) fn withholds_ends_of(&self, user: ActorId, site: u32) -> Option<bool> {
        let ended = self.dealt.get(&(user, site)).map_or(0, |(_, ended)| *ended);
        Some(self.witness.as_ref()?.relayed(self.sites[site as usize].actor, user)? < ended)
    }

    /// True if a user has recorded that it gave more tasks to a site than it has sent there.
    pub(super) fn withholds_tasks(&self, user: ActorId, site: u32) -> bool {
        let given = self.dealt.get(&(user, site)).map_or(0, |(given, _)| *given);
        let sent = self.witness.as_ref().and_then(|witness| witness.relayed(user, self.sites[site as usize].actor));
        sent.is_some_and(|sent| sent < given)
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

    /// Whether the SLR of a job counts: of one that only waits for nodes it is no more than a slowdown, of which there
    /// are better ones, unless there are no other jobs.
    pub(super) fn slr_counts(&self, row: &JobRow) -> bool {
        self.totals.only_waiting == self.totals.jobs || !self.only_waits(row)
    }

    /// Whether it only waits for nodes, as all jobs of some subjects do, and those of users who negotiate, unless they
    /// are workflows.
    fn only_waits(&self, row: &JobRow) -> bool {
        self.is_of_waiting(row) || (self.users_tell_of(row.system) && row.job.edges.is_empty())
    }

    /// Whether it is a job of a subject whose jobs only wait for nodes.
    fn is_of_waiting(&self, row: &JobRow) -> bool {
        self.waiting_only().any(|present| present.systems.contains(&row.system))
    }

    fn waiting_only(&self) -> impl Iterator<Item = &Present> {
        self.subjects.iter().filter(|present| present.subject.one_task)
    }

    /// Whether somebody at the hub decides about its jobs, by what is known there.
    pub(super) fn is_central(&self, system: u32) -> bool {
        self.systems[system as usize].is_central
    }

    /// Whether its jobs are one task each, which their users may take back from where they wait.
    pub(super) fn has_queues(&self, system: u32) -> bool {
        self.systems[system as usize].has_queues
    }

    /// How reports speak of its jobs.
    pub(super) fn words(&self) -> Words {
        self.subjects.iter().find_map(|present| present.subject.words).unwrap_or(USUAL)
    }

    /// The number by which `jobs.csv` knows a job.
    pub(super) fn number(&self, job: JobId) -> u64 {
        self.own_numbers.number(job)
    }

    /// Whether jobs are from logs that have not been read, so that their numbers there are not known.
    pub fn lacks_logs(&self) -> bool {
        self.own_numbers.are_missing()
    }

    /// What jobs are called in their logs.
    pub fn tell_numbers(&mut self, jobs: Vec<(JobId, u64, Option<String>)>) {
        self.own_numbers.tell(jobs.into_iter());
    }

    /// How pages call a job: as `jobs.csv` has it, and, if there are several workloads, with that.
    pub(super) fn label(&self, job: JobId) -> String {
        let number = self.number(job);
        self.workload(job).map_or(number.to_string(), |workload| format!("{number} of workload {workload}"))
    }

    /// What people call a job, where that is not its number.
    pub(super) fn job_name(&self, job: JobId) -> Option<&str> {
        self.called.job(job).or_else(|| self.own_numbers.id(job))
    }

    /// Of several workloads whose jobs have numbers of their own, the one that a job is from.
    pub(super) fn workload(&self, job: JobId) -> Option<usize> {
        self.own_numbers.workload(job)
    }

    /// How often a task of a system was taken back.
    pub(super) fn times_withdrawn(&self, system: u32) -> u64 {
        self.withdrawn[system as usize]
    }

    /// Whether it is a single task that keeps its nodes, as its system's jobs should be.
    pub(super) fn is_one_task(&self, row: &JobRow) -> bool {
        self.is_of_waiting(row) && row.tasks.len() == 1
    }

    /// The keys of the systems, by their numbers.
    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.systems.iter().map(|system| system.key)
    }

    /// The numbers of the sites that any of these systems uses.
    pub(super) fn sites_of(&self, systems: &[u32]) -> Vec<usize> {
        let uses = |site: &SiteFacts| site.systems.iter().any(|system| systems.contains(&(*system as u32)));
        (0..self.sites.len()).filter(|site| uses(&self.sites[*site])).collect()
    }

    /// The part of its nodes' processors that a job can make use of: less than all where others may use the rest.
    pub(super) fn part_of_nodes(&self, row: &JobRow) -> f64 {
        let Some(needs) = row.needs else { return 1.0 };
        let shares = |site: usize| self.sites[site].is_shared;
        let is_shared = match row.tasks.iter().find_map(|task| task.site) {
            Some(site) => shares(site as usize),
            None => self.sites_of(&[row.system]).into_iter().all(shares),
        };
        if is_shared { needs.cpu } else { 1.0 }
    }

    /// Whether there are other systems beside those whose jobs only wait for nodes.
    pub(super) fn is_mixed(&self) -> bool {
        let waiting: usize = self.waiting_only().map(|present| present.systems.len()).sum();
        waiting > 0 && self.systems.len() > waiting
    }

    /// Whether each job is a single task that keeps its nodes, whose numbers matter.
    pub(super) fn has_only_single_tasks(&self) -> bool {
        self.waiting_only().map(|present| present.systems.len()).sum::<usize>() == self.systems.len()
    }

    pub(super) fn site_index(&self, actor: ActorId) -> Option<usize> {
        self.site_of.get(&actor).map(|site| *site as usize)
    }

    /// The place of a user among those of the topology.
    pub(super) fn user_index(&self, actor: ActorId) -> Option<usize> {
        actor.index().checked_sub(self.first_user.index())
    }

    /// The user in such a place.
    pub(super) fn user_at(&self, index: usize) -> ActorId {
        ActorId(self.first_user.0 + index as u32)
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

    /// Whether a job has arrived, or been turned away.
    pub(super) fn knows(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job) || self.over.as_ref().is_some_and(|over| over.holds(job))
    }

    /// Of how many jobs it knows more than that they were, and what came of all.
    #[cfg(test)]
    pub fn remembers(&self) -> usize {
        self.jobs.len() + self.bargains.remembers()
    }

    /// Who has handed a job in. Reads all that is put aside, so this is for when something has gone wrong.
    pub(super) fn user_of(&self, job: JobId) -> Option<ActorId> {
        let here = self.jobs.get(&job).map(|row| row.user);
        here.or_else(|| self.over.as_ref()?.find(job).ok()?.map(|row| row.user))
    }

    /// Puts a job aside if nothing more can happen to it.
    fn put_aside(&mut self, job: JobId) -> Result<(), Untaken> {
        let Some(over) = &mut self.over else { return Ok(()) };
        let btree_map::Entry::Occupied(row) = self.jobs.entry(job) else { return Ok(()) };
        if row.get().is_over() {
            let row = row.remove();
            self.bargains.put_aside(job, row.tasks.len(), row.bargain.is_some());
            over.put(row)?;
            self.transfers.forget(job);
        }
        Ok(())
    }
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
        let (has_queues, is_central) = (row.traits.is_rigid, row.service.is_some());
        Reckoning { key: row.key, tick, ccr_millionths, has_queues, is_central, gives: row.gives }
    }
}

/// The numbers of the systems that have a service at the hub, or of those that have none.
fn with_service(topology: &Topology, has_one: bool) -> impl Iterator<Item = u32> {
    let systems = topology.systems.iter().zip(0u32..);
    systems.filter(move |(system, _)| system.row().service.is_some() == has_one).map(|(_, number)| number)
}

/// The longest way through a job, as the system that it was handed to reckons.
fn critical_path(job: &Job, system: &Reckoning) -> Span {
    if job.edges.is_empty() {
        return job.tasks.iter().map(|task| task.runtime).max().unwrap_or(Span::ZERO);
    }
    let delay = |task: usize| output_delay(job.tasks[task].runtime, system.ccr_millionths, system.tick);
    let ranks = forced_ranks(job, &Graph::new(job.tasks.len(), &job.edges), delay);
    ranks.into_iter().max().unwrap_or(Span::ZERO)
}
