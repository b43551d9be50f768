//! Makes the actors that a topology describes, all of them or some.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::units::SPAN_MAX;
use super::{Batch, Market, Reservation, System, Topology, Unplaceable, paths, resources};
use crate::grid::{Edge, Graph, Job, JobId, Request};
use crate::kernel::{ActorId, BoxedActor, Latencies};
use crate::near::nearest;
use crate::protocol::codec::MESSAGE_MAX;
use crate::protocol::handshake::Party;
use crate::protocol::{Cancel, Enqueue, Message, Record, Reserve};
use crate::roles::{self, scheduler};
use crate::systems::batch::{self, Batcher, Dispatcher, policy};
use crate::systems::heft::Planner;
use crate::systems::market::bid::BidPolicy;
use crate::systems::market::{Auctioneer, Cluster, Figures, Immeasurable, bid};
use crate::systems::reservation::{self, Book, Holder, MetaScheduler, fit};
use crate::time::{Span, Time};
use crate::workload::rigids::Handed;
use crate::workload::{Numbering, Platform, Source, WorkloadError};

/// Everybody who takes part in a run, by [`ActorId`]: the auctioneer, the sites, the users.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub names: Vec<String>,
    pub roles: Vec<Role>,
    /// To the hub, one way.
    pub latencies: Latencies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The system's own actor, which lives at the hub.
    Hub,
    /// An index into the topology's sites.
    Site(usize),
    /// An index into the topology's users.
    User(usize),
}

/// Actors and who they are.
pub type Cast = Vec<(ActorId, BoxedActor<Message, Record>)>;

/// A topology that is in order, but whose jobs are not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    #[error("workload.{workload}: {error}")]
    Workload { workload: usize, error: WorkloadError },
    #[error("workload.{workload}: job {job}: {error}")]
    Job { workload: usize, job: JobId, error: JobError },
    #[error("a bidder from outside takes part in runs only")]
    NoBidder,
    #[error("there is no {what} called {name}")]
    Unknown { what: &'static str, name: String },
}

/// What keeps a job from running on this grid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobError {
    #[error(
        "task {task} needs {cores} cores of kind {kind} at one site, and no site has as many; \
         unplaceable = \"refuse\" turns such jobs away instead"
    )]
    Unplaceable { task: usize, cores: u32, kind: String },
    #[error(transparent)]
    Immeasurable(Immeasurable),
    #[error(
        "task {task} takes {cores} cores of {site}, and so many, scattered over the site, may be too many to name in one \
         message: it takes at most {CORES_SCATTERED}, or all but that many"
    )]
    TooScattered { task: usize, cores: u32, site: String },
    #[error("all data up to here needs more than a thousand years over the slowest link")]
    Endless,
}

impl BuildError {
    /// Which workload is at fault, counted from 0, if one is.
    pub fn workload(&self) -> Option<usize> {
        match self {
            BuildError::Workload { workload, .. } | BuildError::Job { workload, .. } => Some(*workload),
            BuildError::NoBidder | BuildError::Unknown { .. } => None,
        }
    }
}

/// Cores whose numbers fit into one message however they lie: a run of neighbours takes at most ten bytes.
const CORES_SCATTERED: u32 = (MESSAGE_MAX as u32 - 256) / 10;

/// Whoever runs the system.
pub const HUB: ActorId = ActorId(0);

impl Plan {
    pub fn of(topology: &Topology) -> Plan {
        let mut plan = Plan { names: Vec::new(), roles: Vec::new(), latencies: Latencies::from([]) };
        let mut latencies = Vec::new();
        let mut add = |name: &str, role, latency| {
            plan.names.push(name.to_owned());
            plan.roles.push(role);
            latencies.push(latency);
        };
        add(topology.system.hub_name(), Role::Hub, Span::ZERO);
        for (index, site) in topology.sites.iter().enumerate() {
            add(&site.name, Role::Site(index), site.latency);
        }
        for (index, user) in topology.users.iter().enumerate() {
            add(&user.name, Role::User(index), user.latency);
        }
        plan.latencies = latencies.into();
        plan
    }

    pub fn all(&self) -> Vec<ActorId> {
        (0..self.roles.len() as u32).map(ActorId).collect()
    }

    /// The actors that live with the router.
    pub fn at_hub(&self) -> Vec<ActorId> {
        let ids = self.all().into_iter();
        ids.filter(|id| self.roles[id.index()] == Role::Hub).collect()
    }

    /// Everybody who joins the router, in order.
    pub fn parties(&self) -> Vec<Party> {
        self.all().into_iter().filter_map(|id| self.party(id)).collect()
    }

    pub fn find(&self, party: &Party) -> Option<ActorId> {
        self.all().into_iter().find(|&id| self.party(id).as_ref() == Some(party))
    }

    /// A hint to append to a complaint about a name that is nobody's.
    pub fn near_name(&self, party: &Party) -> String {
        let (Party::Site(typed) | Party::User(typed)) = party else { return String::new() };
        let role = |other: &Party| std::mem::discriminant(other) == std::mem::discriminant(party);
        let alike = self.all().into_iter().filter(|&id| self.party(id).as_ref().is_some_and(role));
        let names = alike.map(|id| self.names[id.index()].as_str());
        nearest(typed, names).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
    }

    fn party(&self, id: ActorId) -> Option<Party> {
        let name = self.names[id.index()].clone();
        match self.roles[id.index()] {
            Role::Hub => None,
            Role::Site(_) => Some(Party::Site(name)),
            Role::User(_) => Some(Party::User(name)),
        }
    }
}

/// The actors of these numbers, in that order. Workloads are generated only where somebody needs them.
pub fn build(topology: &Topology, ids: &[ActorId]) -> Result<Cast, BuildError> {
    build_with(topology, ids, None)
}

/// Whether the jobs of all users can run, without making anybody else.
pub fn check_jobs(topology: &Topology) -> Result<(), BuildError> {
    let plan = Plan::of(topology);
    let mut users = plan.all();
    users.retain(|id| matches!(plan.roles[id.index()], Role::User(_)));
    build(topology, &users).map(drop)
}

/// As [`build`], with the bidder from outside that the topology asks for.
pub fn build_with(
    topology: &Topology,
    ids: &[ActorId],
    mut bidder: Option<Box<dyn BidPolicy>>,
) -> Result<Cast, BuildError> {
    let plan = Plan::of(topology);
    let role = |id: &ActorId| plan.roles[id.index()];
    let needs_jobs = |id: &ActorId| match role(id) {
        Role::Hub => topology.system.unplaceable() == Unplaceable::Error,
        Role::Site(_) => false,
        Role::User(_) => true,
    };
    let needed = ids.iter().any(needs_jobs);
    let (mut jobs, mut asks, mut queued) = (Vec::new(), Vec::new(), Vec::new());
    match topology.system {
        _ if !needed => {}
        System::Market(_) | System::Workflow(_) => jobs = deal(topology)?,
        System::Reservation(_) => asks = deal_asks(topology)?,
        System::Batch(_) => queued = deal_queued(topology)?,
    }

    let actor = |id: &ActorId| {
        let actor: BoxedActor<Message, Record> = match role(id) {
            Role::Hub => match &topology.system {
                System::Market(market) => Box::new(auctioneer(market, topology, bidder.take())?),
                System::Reservation(reservation) => Box::new(meta_scheduler(reservation, topology)?),
                System::Workflow(planning) => {
                    let sites = resources(topology).into_iter().zip(1..).map(|(site, id)| (ActorId(id), site));
                    Box::new(Planner::new(planning.clone(), sites.collect(), paths(topology)))
                }
                System::Batch(batch) => Box::new(dispatcher(batch, topology)),
            },
            Role::Site(index) => match &topology.system {
                System::Market(_) | System::Workflow(_) => Box::new(site(topology, index)?),
                System::Reservation(_) => {
                    let site = &topology.sites[index];
                    Box::new(Holder::new(site.cores, HUB).telling_every(site.report_every))
                }
                System::Batch(_) => Box::new(batcher(topology, index)?),
            },
            Role::User(index) => match &topology.system {
                System::Market(_) | System::Workflow(_) => {
                    Box::new(roles::User::new(std::mem::take(&mut jobs[index]), HUB))
                }
                System::Reservation(_) => Box::new(roles::User::saying(std::mem::take(&mut asks[index]), HUB)),
                System::Batch(_) => {
                    let Queued { says, then } = std::mem::take(&mut queued[index]);
                    Box::new(roles::User::saying(says, HUB).then(then))
                }
            },
        };
        Ok((*id, actor))
    };
    ids.iter().map(actor).collect()
}

fn auctioneer(
    market: &Market,
    topology: &Topology,
    bidder: Option<Box<dyn BidPolicy>>,
) -> Result<Auctioneer, BuildError> {
    let name = &market.policy;
    let unknown = || BuildError::Unknown { what: "bid policy", name: name.clone() };
    let policy = match &market.bidder {
        Some(_) => bidder.ok_or(BuildError::NoBidder)?,
        None => (bid::find(name).ok_or_else(unknown)?.build)(market, topology.seed),
    };
    let clusters = topology.sites.iter().zip(1..);
    let clusters = clusters.map(|(site, id)| Cluster { site: ActorId(id), kind: site.kind, cores: site.cores });
    let auctioneer = Auctioneer::new(market.clone(), policy, clusters.collect());
    Ok(if topology.cables.is_some() { auctioneer.over(paths(topology)) } else { auctioneer })
}

fn meta_scheduler(reservation: &Reservation, topology: &Topology) -> Result<MetaScheduler, BuildError> {
    let name = &reservation.policy;
    let unknown = || BuildError::Unknown { what: "fit policy", name: name.clone() };
    let fit = fit::find(name).ok_or_else(unknown)?;
    let clusters = topology.sites.iter().zip(1..).map(|(site, id)| reservation::Cluster {
        site: ActorId(id),
        latency: site.latency,
        book: Book::new(site.cores, fit, reservation.rect_end),
    });
    Ok(MetaScheduler::new(clusters.collect(), reservation.choose))
}

fn dispatcher(rules: &Batch, topology: &Topology) -> Dispatcher {
    let places = topology.sites.iter().zip(1..).map(|(site, id)| batch::Place::new(ActorId(id), site.cores));
    Dispatcher::new(places.collect(), rules.dispatch)
}

fn batcher(topology: &Topology, index: usize) -> Result<Batcher, BuildError> {
    let site = &topology.sites[index];
    let unknown = || BuildError::Unknown { what: "policy for a queue", name: site.scheduler.clone() };
    let policy = (policy::find(&site.scheduler).ok_or_else(unknown)?.build)(site.cores, &site.reserved);
    Ok(Batcher::new(site.cores, policy, HUB).telling_every(site.report_every))
}

/// What a user hands in, at its time or after another job.
#[derive(Default)]
struct Queued {
    says: Vec<(Time, Message)>,
    then: BTreeMap<JobId, Vec<(Span, Enqueue)>>,
}

fn deal_queued(topology: &Topology) -> Result<Vec<Queued>, BuildError> {
    let platform = platform(topology);
    let mut hands: Vec<Queued> = topology.users.iter().map(|_| Queued::default()).collect();
    let mut next = Numbering::default();
    for (index, workload) in topology.workloads.iter().enumerate() {
        let failed = |error| BuildError::Workload { workload: index, error };
        let users = &workload.users;
        let (handed, site) = match &workload.source {
            Source::Rigid(rigids) => (rigids.hand_out(&mut next, users.len()).map_err(failed)?, rigids.site),
            source => {
                let jobs = source.jobs(&platform, topology.system.tick(), &mut next).map_err(failed)?;
                let hand = |(place, job)| Handed { job, user: place % users.len(), after: None };
                (jobs.into_iter().enumerate().map(hand).collect(), None)
            }
        };
        let site = site.map(|site| ActorId(site as u32 + 1));
        // How soon after a job another one may follow it.
        let mut thinks: BTreeMap<JobId, Span> = BTreeMap::new();
        for (before, think) in handed.iter().filter_map(|one| one.after) {
            let soonest = thinks.entry(before).or_insert(think);
            *soonest = think.min(*soonest);
        }
        for Handed { job, user, after } in handed {
            check_scatter(&job, topology).map_err(|error| BuildError::Job { workload: index, job: job.id, error })?;
            let (id, arrive) = (job.id, job.arrive);
            let think = if thinks.is_empty() { None } else { thinks.get(&id).copied() };
            let enqueue = Enqueue { job: Arc::new(job), site, think };
            let hand = &mut hands[users[user]];
            match after {
                None => hand.says.push((arrive, Message::Enqueue(enqueue))),
                Some((before, think)) => hand.then.entry(before).or_default().push((think, enqueue)),
            }
        }
    }
    Ok(hands)
}

/// What each user says: requests, and what is taken back.
fn deal_asks(topology: &Topology) -> Result<Vec<Vec<(Time, Message)>>, BuildError> {
    let mut hands = vec![Vec::new(); topology.users.len()];
    let mut next = Numbering::default();
    for (index, workload) in topology.workloads.iter().enumerate() {
        let failed = |error| BuildError::Workload { workload: index, error };
        let asks = workload.source.asks(&mut next).map_err(failed)?;
        for ((job, ask), &user) in asks.into_iter().zip(workload.users.iter().cycle()) {
            let (id, Request { ready, deadline, .. }) = (job.id, ask.request);
            check_scatter(&job, topology).map_err(|error| BuildError::Job { workload: index, job: id, error })?;
            let reserve = Reserve { job: Arc::new(job), ready, deadline };
            hands[user].push((ask.request.arrive, Message::Reserve(reserve)));
            if let Some(cancel) = ask.cancel {
                hands[user].push((cancel, Message::Cancel(Cancel { job: id })));
            }
        }
    }
    Ok(hands)
}

fn site(topology: &Topology, index: usize) -> Result<roles::Site, BuildError> {
    let site = &topology.sites[index];
    let unknown = || BuildError::Unknown { what: "site scheduler", name: site.scheduler.clone() };
    let scheduler = (scheduler::find(&site.scheduler).ok_or_else(unknown)?.build)();
    Ok(roles::Site::new(site.cores, scheduler, HUB).telling_every(site.report_every))
}

/// The jobs of each user.
fn deal(topology: &Topology) -> Result<Vec<Vec<Arc<Job>>>, BuildError> {
    let platform = platform(topology);
    let weighing = topology.system.market().filter(|market| {
        bid::find(&market.policy).is_some_and(|entry| (entry.build)(market, topology.seed).weighs_successors())
    });
    let mut hands = vec![Vec::new(); topology.users.len()];
    let mut next = Numbering::default();
    let mut data = DataLimit::of(topology);
    for (index, workload) in topology.workloads.iter().enumerate() {
        let jobs = workload
            .source
            .jobs(&platform, topology.system.tick(), &mut next)
            .map_err(|error| BuildError::Workload { workload: index, error })?;
        for (job, &user) in jobs.into_iter().zip(workload.users.iter().cycle()) {
            let id = job.id;
            let checked = check(&job, topology, weighing).and_then(|()| data.take(&job.edges));
            checked.map_err(|error| BuildError::Job { workload: index, job: id, error })?;
            hands[user].push(Arc::new(job));
        }
    }
    Ok(hands)
}

/// Times that transfers end at stay far below what a clock can show.
pub struct DataLimit {
    bytes_left: u128,
}

impl DataLimit {
    pub fn of(topology: &Topology) -> DataLimit {
        let links = topology.cables.iter().flat_map(|cables| &cables.links);
        let bytes = |bits: u64| u128::from(bits) * u128::from(SPAN_MAX.micros()) / 8_000_000;
        DataLimit { bytes_left: links.map(|link| bytes(link.capacity)).min().unwrap_or(u128::MAX) }
    }

    pub fn take(&mut self, edges: &[Edge]) -> Result<(), JobError> {
        let bytes: u128 = edges.iter().map(|edge| u128::from(edge.data)).sum();
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(JobError::Endless)?;
        Ok(())
    }
}

fn platform(topology: &Topology) -> Platform {
    let mut cores = vec![0; topology.kinds.len()];
    for site in &topology.sites {
        cores[usize::from(site.kind.0)] += u64::from(site.cores);
    }
    Platform { cores }
}

fn check(job: &Job, topology: &Topology, weighing: Option<&Market>) -> Result<(), JobError> {
    check_scatter(job, topology)?;
    if topology.system.unplaceable() == Unplaceable::Error {
        for (task, wish) in job.tasks.iter().enumerate() {
            if !topology.sites.iter().any(|site| site.kind == wish.kind && site.cores >= wish.cores) {
                let kind = topology.kinds.get(usize::from(wish.kind.0)).cloned().unwrap_or_default();
                return Err(JobError::Unplaceable { task, cores: wish.cores, kind });
            }
        }
    }
    if let Some(market) = weighing {
        Figures::of(job, &Graph::new(job.tasks.len(), &job.edges), market, true).map_err(JobError::Immeasurable)?;
    }
    Ok(())
}

/// Whether the cores that a task gets can be told in one message, however they lie: jobs themselves are never too long.
fn check_scatter(job: &Job, topology: &Topology) -> Result<(), JobError> {
    for (task, wish) in job.tasks.iter().enumerate().filter(|(_, wish)| wish.cores > CORES_SCATTERED) {
        // There are no more runs of neighbours than gaps between them.
        let scattered = |cores: u32| cores >= wish.cores && cores - wish.cores > CORES_SCATTERED;
        if let Some(site) = topology.sites.iter().find(|site| scattered(site.cores)) {
            return Err(JobError::TooScattered { task, cores: wish.cores, site: site.name.clone() });
        }
    }
    Ok(())
}
