//! The book of jobs: the state of every job, task and site.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::io;

use super::failing::OutagesByPlace;
use super::inconsistent::RecordError;
use super::row::{Fate, JobRow, Standing, TaskRow};
use super::site::SiteFacts;
use crate::Names;
use crate::referee::counted::CountedJobs;
use crate::referee::job_names::JobNames;
use crate::referee::ledger::{Ledger, Merged, Store};
use crate::referee::log_numbers::LogNumbers;
use crate::referee::transfers::RunFlows;
use crate::referee::witness::Witness;
use hansa_sim::grid::{Graph, Job, JobId, Kind, NodeSet, TaskId, forced_ranks, output_delay};
use hansa_sim::kernel::ActorId;
use hansa_sim::network::LoneTimes;
use hansa_sim::systems::Gives;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{Role, Roster, Topology, network_paths};

/// The state of every job and task of a run, and of its sites and links, as its log has it so far.
///
/// A tally holds one, beside the states of the subjects. These change it when they take their records, through methods
/// that check the record against what is in the book. Accounts and pages read it at the end.
#[derive(Debug)]
pub struct JobBook {
    pub(crate) topology: String,
    pub(crate) names: Names,
    pub(crate) sites: Vec<SiteFacts>,
    pub(crate) site_of: BTreeMap<ActorId, u32>,
    pub(super) systems: Vec<Reckoning>,
    /// Systems of the services at the hub, by the numbers of their actors.
    pub(super) services: Vec<u32>,
    /// The system whose users report their own jobs.
    pub(super) reported_by_users: Option<u32>,
    pub(super) first_user: ActorId,
    /// Systems whose jobs only wait for nodes.
    waiting_systems: Vec<u32>,
    pub(crate) log_numbers: LogNumbers,
    pub(crate) job_names: JobNames,
    pub(crate) counted: CountedJobs,
    /// All jobs, or those that are not finished.
    pub(crate) jobs: BTreeMap<JobId, JobRow>,
    /// The finished jobs, if they are set aside.
    pub(super) over: Option<Ledger>,
    pub(crate) transfers: RunFlows,
    /// Cores reported down, by site.
    pub(crate) down: Vec<NodeSet>,
    pub(crate) failing: OutagesByPlace,
    pub(crate) totals: Totals,
    /// Jobs whose first start was by backfilling, where the scheduler of the site states it.
    pub(super) backfilled: BTreeSet<JobId>,
    /// Number of tasks taken back to be submitted elsewhere, by system.
    pub(super) withdrawn: Vec<u64>,
    /// Ended tasks of jobs that a service decides for, by site.
    pub(super) ends: Vec<u64>,
    /// Tasks that users negotiate for, by user and site: those given to the site, and those ended there.
    pub(super) dealt: BTreeMap<(ActorId, u32), (u64, u64)>,
    /// The messages behind the log, where they pass a router.
    pub(crate) witness: Option<Witness>,
    /// The time of the last entry.
    pub(crate) last: Time,
}

/// The accounting rules of a system.
#[derive(Clone, Debug)]
pub(super) struct Reckoning {
    key: &'static str,
    tick: Span,
    ccr_millionths: u64,
    /// Transfer times over links, if its critical paths include them.
    lone: Option<LoneTimes>,
    /// True if its jobs have one task each, which waits in a queue.
    has_queues: bool,
    /// True if it decides at the hub.
    is_central: bool,
    gives: Gives,
}

/// Counts over all jobs, available without another pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub jobs: u64,
    /// Number of jobs that only wait for nodes.
    pub(crate) only_waiting: u64,
    pub(crate) ended: u64,
    /// The first and the last submission.
    pub arrivals: Option<(Time, Time)>,
    /// Tasks that have started.
    pub started: u64,
    pub(crate) running: u64,
    /// Number of times that sites requeued a task.
    pub(crate) requeues: u64,
    /// End of the last ended task.
    pub(crate) end: Time,
}

impl JobBook {
    pub fn new(topology: &Topology, names: &Names, waiting_systems: Vec<u32>) -> JobBook {
        let mut sites = Vec::new();
        let mut first_core = 0;
        let mut first_user = ActorId(u32::MAX);
        for (actor, role) in (0..).map(ActorId).zip(Roster::of_topology(topology).roles) {
            match role {
                Role::Site(site) => {
                    let site = &topology.sites[site];
                    sites.push(SiteFacts::of(topology, site, actor, first_core));
                    first_core += u64::from(site.cores);
                }
                Role::User(0) => first_user = actor,
                Role::Hub(_) | Role::User(_) | Role::Exchange => {}
            }
        }
        JobBook {
            topology: topology.name.clone(),
            names: names.clone(),
            site_of: sites.iter().zip(0..).map(|(site, index)| (site.actor, index)).collect(),
            sites,
            systems: (0..topology.systems.len()).map(|system| Reckoning::of(topology, system)).collect(),
            services: with_service(topology, true).collect(),
            reported_by_users: with_service(topology, false).next(),
            first_user,
            waiting_systems,
            log_numbers: LogNumbers::of(topology),
            job_names: JobNames::of(topology),
            counted: CountedJobs::of(topology),
            jobs: BTreeMap::new(),
            over: None,
            transfers: RunFlows::of(topology),
            down: vec![NodeSet::default(); topology.sites.len()],
            failing: OutagesByPlace::of(topology),
            totals: Totals::default(),
            backfilled: BTreeSet::new(),
            withdrawn: vec![0; topology.systems.len()],
            ends: vec![0; topology.sites.len()],
            dealt: BTreeMap::new(),
            witness: None,
            last: Time::ZERO,
        }
    }

    /// True if a site has recorded more ends of a service's tasks than the service has received.
    pub(crate) fn withholds_ends(&self, site: u32) -> bool {
        let received = self.witness.as_ref().and_then(|witness| witness.ends_received(self.sites[site as usize].actor));
        received.is_some_and(|received| received < self.ends[site as usize])
    }

    /// True if a site has recorded more ends of a user's tasks than it has sent to the user; None if that is not known.
    pub(crate) fn withholds_ends_of(&self, user: ActorId, site: u32) -> Option<bool> {
        let ended = self.dealt.get(&(user, site)).map_or(0, |(_, ended)| *ended);
        Some(self.witness.as_ref()?.relayed_count(self.sites[site as usize].actor, user)? < ended)
    }

    /// True if a user has recorded that it gave more tasks to a site than it has sent there.
    pub(crate) fn withholds_tasks(&self, user: ActorId, site: u32) -> bool {
        let given = self.dealt.get(&(user, site)).map_or(0, |(given, _)| *given);
        let sent =
            self.witness.as_ref().and_then(|witness| witness.relayed_count(user, self.sites[site as usize].actor));
        sent.is_some_and(|sent| sent < given)
    }

    /// Time from submission to end of a job that ended at its site, as `jobs.csv` has it.
    pub(crate) fn turnaround(&self, row: &JobRow) -> Option<Span> {
        let end = match row.fate {
            _ if row.standing() != Standing::Finished && !row.standing().has_no_result() => None,
            _ if self.is_one_task(row) => row.tasks[0].end,
            Fate::Completed { at, .. } => Some(at),
            _ => None,
        };
        Some(end?.since(row.job.arrive))
    }

    /// Names of users without a job, if a log is divided by its groups or users; `busy` is by actor.
    pub(crate) fn idle_users(&self, busy: &[bool]) -> Vec<String> {
        if !self.log_numbers.are_divided() {
            return Vec::new();
        }
        let users = self.names.actors.iter().zip(busy).skip(self.first_user.index());
        users.filter(|(_, busy)| !**busy).map(|(name, _)| name.clone()).collect()
    }

    /// True if the SLR of a job counts. For a job that only waits for nodes it is a mere slowdown, of which there are
    /// better ones, unless there are no other jobs.
    pub(crate) fn slr_counts(&self, row: &JobRow) -> bool {
        self.totals.only_waiting == self.totals.jobs || !self.only_waits(row)
    }

    /// Tasks of the critical path of a job, ascending; among equal ones, the path of the first tasks.
    pub(crate) fn critical_tasks(&self, row: &JobRow) -> Vec<usize> {
        let (job, system) = (&row.job, &self.systems[row.system as usize]);
        let graph = Graph::new(job.tasks.len(), &job.edges);
        let ranks = ranks(job, &graph, system);
        let first = (0..ranks.len()).max_by_key(|task| (ranks[*task], Reverse(*task)));
        std::iter::successors(first, |task| {
            let successors = graph.successors(*task).iter().map(|next| *next as usize);
            successors.max_by_key(|next| (ranks[*next] + delay_between(*next, job, system, task), Reverse(*next)))
        })
        .collect()
    }

    /// True if it only waits for nodes, as do all jobs of some subjects, and those of users that negotiate, unless they
    /// are workflows.
    pub(super) fn only_waits(&self, row: &JobRow) -> bool {
        self.is_of_waiting(row) || (self.users_report(row.system) && row.job.edges.is_empty())
    }

    /// True if it is a job of a subject whose jobs only wait for nodes.
    fn is_of_waiting(&self, row: &JobRow) -> bool {
        self.waiting_systems.contains(&row.system)
    }

    /// True if a service at the hub decides about its jobs, from the knowledge there.
    pub(crate) fn is_central(&self, system: u32) -> bool {
        self.systems[system as usize].is_central
    }

    /// True if its jobs have one task each, which their users may take back while it waits.
    pub(crate) fn has_queues(&self, system: u32) -> bool {
        self.systems[system as usize].has_queues
    }

    /// Number of a job in `jobs.csv`.
    pub(crate) fn number(&self, job: JobId) -> u64 {
        self.log_numbers.log_number(job)
    }

    /// True if jobs are from logs that have not been read, so that their numbers there are unknown.
    pub fn lacks_logs(&self) -> bool {
        self.log_numbers.are_missing()
    }

    /// Name of a job on pages: its number in `jobs.csv`, with the workload if there are several.
    pub(crate) fn label(&self, job: JobId) -> String {
        let number = self.number(job);
        self.workload(job).map_or(number.to_string(), |workload| format!("{number} of workload {workload}"))
    }

    /// Name of a job, if it has one besides its number.
    pub(crate) fn job_name(&self, job: JobId) -> Option<&str> {
        self.job_names.job(job).or_else(|| self.log_numbers.id(job))
    }

    /// The workload of a job, if there are several with numbers of their own.
    pub(crate) fn workload(&self, job: JobId) -> Option<usize> {
        self.log_numbers.workload_number(job)
    }

    /// Number of tasks of a system that were taken back.
    pub(crate) fn times_withdrawn(&self, system: u32) -> u64 {
        self.withdrawn[system as usize]
    }

    /// True if it is a single task that keeps its nodes, as jobs of its system should be.
    pub(crate) fn is_one_task(&self, row: &JobRow) -> bool {
        self.is_of_waiting(row) && row.tasks.len() == 1
    }

    /// The keys of the systems, by their numbers.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.systems.iter().map(|system| system.key)
    }

    /// The numbers of the sites that any of these systems uses.
    pub(crate) fn sites_of(&self, systems: &[u32]) -> Vec<usize> {
        (0..self.sites.len()).filter(|site| uses_any(&self.sites[*site], systems)).collect()
    }

    /// Share of its nodes' processors that a job can use: less than all where others may use the rest.
    pub(crate) fn part_of_nodes(&self, row: &JobRow) -> f64 {
        let Some(needs) = row.needs else { return 1.0 };
        let is_shared = match row.tasks.iter().find_map(|task| task.site) {
            Some(site) => self.shares_nodes(site as usize),
            None => self.sites_of(&[row.system]).into_iter().all(|site| self.shares_nodes(site)),
        };
        if is_shared { needs.cpu } else { 1.0 }
    }

    fn shares_nodes(&self, site: usize) -> bool {
        self.sites[site].is_shared
    }

    /// True if there are systems besides those whose jobs only wait for nodes.
    pub(crate) fn is_mixed(&self) -> bool {
        !self.waiting_systems.is_empty() && !self.has_only_single_tasks()
    }

    /// True if each job is a single task that keeps its nodes, whose numbers matter.
    pub(crate) fn has_only_single_tasks(&self) -> bool {
        self.waiting_systems.len() == self.systems.len()
    }

    pub(crate) fn site_index(&self, actor: ActorId) -> Option<usize> {
        self.site_of.get(&actor).map(|site| *site as usize)
    }

    /// Index of a user among those of the topology.
    pub(crate) fn user_index(&self, actor: ActorId) -> Option<usize> {
        actor.index().checked_sub(self.first_user.index())
    }

    /// The user with this index.
    pub(crate) fn user_at(&self, index: usize) -> ActorId {
        ActorId(self.first_user.0 + index as u32)
    }

    /// Number of jobs that have ended in any way.
    pub fn jobs_ended(&self) -> u64 {
        self.totals.ended
    }

    /// Every job, by number.
    pub(crate) fn rows(&self) -> io::Result<Rows<'_>> {
        let over = self.over.as_ref().map(Ledger::read_rows).transpose()?;
        Ok(Rows { here: self.jobs.values().peekable(), over })
    }

    /// End of the last task, or of the log if a task was running then.
    pub(crate) fn end_of_work(&self) -> Option<Time> {
        let Totals { started, running, end, .. } = self.totals;
        if running > 0 { Some(self.last) } else { (started > 0).then_some(end) }
    }

    /// Names of the moments at which each system assigns tasks.
    pub(crate) fn gives(&self) -> impl Iterator<Item = Gives> {
        self.systems.iter().map(|system| system.gives)
    }

    pub(crate) fn gives_of(&self, row: &JobRow) -> Gives {
        self.systems[row.system as usize].gives
    }

    /// Every interval in which a task was ready (job submitted, predecessors finished) and had not started, with its
    /// kind. It ends at the latest when the job was given up or the log ends.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Kind, Time, Time)> {
        self.waiting_of(|_| true)
    }

    /// Like `waiting`, for some of the jobs.
    pub(crate) fn waiting_of(&self, which: impl Fn(&JobRow) -> bool) -> impl Iterator<Item = (Kind, Time, Time)> {
        let rows = self.jobs.values().filter(move |row| row.standing() != Standing::Refused && which(row));
        rows.flat_map(move |row| {
            let given_up = row.given_up().unwrap_or(self.last);
            let tasks = row.ready_times().into_iter().zip(&row.tasks).zip(&row.job.tasks);
            let stretches =
                tasks.filter_map(move |((from, held), task)| Some((task.kind, from?, waits_until(held, given_up))));
            stretches.filter(|(_, from, to)| from < to)
        })
    }

    /// Calls `each` with every use of cores: the index of the site, start, end, and the number of cores.
    pub(crate) fn each_use(&self, mut each: impl FnMut(usize, Time, Time, f64)) {
        for row in self.jobs.values() {
            for (task, held) in row.job.tasks.iter().zip(&row.tasks) {
                let Some(site) = held.site else { continue };
                for stint in held.stints(self.last) {
                    let site = stint.site.unwrap_or(site) as usize;
                    each(site, stint.from, stint.to, self.sites[site].used_cores(row, task.cores, &stint).cores());
                }
            }
        }
    }

    /// True if a job has arrived or been rejected.
    pub(crate) fn knows(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job) || self.over.as_ref().is_some_and(|over| over.holds(job))
    }

    /// The user that submitted a job. Reads all jobs set aside, so it is only for errors.
    pub(crate) fn user_of(&self, job: JobId) -> Option<ActorId> {
        let here = self.jobs.get(&job).map(|row| row.user);
        here.or_else(|| self.over.as_ref()?.find(job).ok()?.map(|row| row.user))
    }

    /// Keeps finished jobs in this store from now on, and drops what only pages need.
    pub(super) fn put_aside_into(&mut self, store: Box<dyn Store>) {
        self.over = Some(Ledger::new(store));
        self.transfers.drop_ended();
    }

    /// Removes a job if finished jobs are set aside and nothing more can happen to it.
    pub(super) fn remove_finished(&mut self, job: JobId) -> Option<JobRow> {
        self.over.as_ref()?;
        let btree_map::Entry::Occupied(row) = self.jobs.entry(job) else { return None };
        row.get().is_over().then(|| row.remove())
    }

    /// Sets a removed job aside.
    pub(super) fn put_aside(&mut self, row: JobRow) -> Result<(), RecordError> {
        let Some(over) = &mut self.over else { return Ok(()) };
        let job = row.job.id;
        over.put_row(row)?;
        self.transfers.forget_job(job);
        Ok(())
    }

    /// The row of a task; None if its job is unknown, or set aside.
    pub fn task_row(&self, task: TaskId) -> Option<&TaskRow> {
        self.jobs.get(&task.job)?.tasks.get(task.index as usize)
    }
}

fn delay_between(next: usize, job: &Job, system: &Reckoning, task: &usize) -> Span {
    match job.tasks[next].kind == job.tasks[*task].kind {
        true => Span::ZERO,
        false => system.delay(job, *task, next),
    }
}

fn uses_any(site: &SiteFacts, systems: &[u32]) -> bool {
    site.systems.iter().any(|system| systems.contains(&(*system as u32)))
}

fn waits_until(task: &TaskRow, given_up: Time) -> Time {
    task.start.unwrap_or(given_up)
}

/// Every job of a tally, by number.
pub(crate) struct Rows<'a> {
    here: std::iter::Peekable<btree_map::Values<'a, JobId, JobRow>>,
    over: Option<Merged<'a>>,
}

impl<'a> Rows<'a> {
    pub fn next(&mut self) -> io::Result<Option<Cow<'a, JobRow>>> {
        let here = self.here.peek().map(|row| row.job.id);
        let over = self.over.as_ref().and_then(Merged::peek);
        if over.is_none_or(|over| here.is_some_and(|here| here < over)) {
            return Ok(self.here.next().map(Cow::Borrowed));
        }
        self.over.as_mut().map_or(Ok(None), Merged::next)
    }

    /// The next jobs, at most `count`; none at the end.
    pub fn next_batch(&mut self, count: usize) -> io::Result<Vec<Cow<'a, JobRow>>> {
        let mut batch = Vec::with_capacity(count);
        while batch.len() < count
            && let Some(row) = self.next()?
        {
            batch.push(row);
        }
        Ok(batch)
    }
}

impl Reckoning {
    fn of(topology: &Topology, number: usize) -> Reckoning {
        let system = &topology.systems[number];
        let row = system.system_row();
        let is_linked = topology.cables.is_some() && system.counts_transfers();
        let lone = is_linked.then(|| lone_times(topology, number));
        let (tick, ccr_millionths) = (system.time_unit(), system.ccr_millionths());
        let has_queues = row.traits.is_rigid;
        let is_central = row.service.is_some();
        Reckoning { key: row.key, tick, ccr_millionths, lone, has_queues, is_central, gives: row.gives }
    }

    /// Delay of data between two tasks of a job that need different kinds of cores.
    fn delay(&self, job: &Job, from: usize, to: usize) -> Span {
        match &self.lone {
            Some(lone) => lone.of_edge(job, from, to),
            None => output_delay(job.tasks[from].runtime, self.ccr_millionths, self.tick),
        }
    }
}

/// The numbers of the systems that have a service at the hub, or of those that have none.
fn with_service(topology: &Topology, has_one: bool) -> impl Iterator<Item = u32> {
    let systems = topology.systems.iter().zip(0u32..);
    systems.filter(move |(system, _)| system.system_row().service.is_some() == has_one).map(|(_, number)| number)
}

/// The longest path through a job, by the rules of the system it was submitted to.
pub(super) fn critical_path(job: &Job, system: &Reckoning) -> Span {
    match job.edges.is_empty() {
        true => job.tasks.iter().map(|task| task.runtime).max().unwrap_or(Span::ZERO),
        false => ranks(job, &Graph::new(job.tasks.len(), &job.edges), system).into_iter().max().unwrap_or(Span::ZERO),
    }
}

/// Longest path from the start of each task to the end of its job.
fn ranks(job: &Job, graph: &Graph, system: &Reckoning) -> Vec<Span> {
    forced_ranks(job, graph, |from, to| system.delay(job, from, to))
}

/// Transfer times between the sites of a system.
fn lone_times(topology: &Topology, system: usize) -> LoneTimes {
    let sites: Vec<usize> =
        (0..topology.sites.len()).filter(|site| topology.sites[*site].systems.contains(&system)).collect();
    let kinds: Vec<Kind> = sites.iter().map(|site| topology.sites[*site].kind).collect();
    LoneTimes::new(&network_paths(topology).restricted_to(&sites), &kinds)
}
