//! Builds the actors of a topology, all of them or some.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Topology, link_faults, link_names, network_paths};
use crate::grid::{self, Behaviour, Job, JobId, QueueOrder, Site};
use crate::kernel::{ActorId, BoxedActor, Contract, Latencies};
use crate::near::nearest_name;
use crate::network::{Exchange, Network};
use crate::protocol::handshake::Party;
use crate::protocol::{Author, Enqueue, Message, Record, Reserve, Submit};
use crate::roles::outside::{PlannedUser, Plans};
use crate::roles::queue::{MultifactorRules, Ranking};
use crate::roles::{self, Followers, Planner, Resubmit, Script, SplitPlanner, StreamedJobs, User};
use crate::settings::format_counted;
use crate::settings::units::SPAN_MAX;
use crate::systems::{
    self, ActorError, DataLimit, DistributeError, Distribution, ExternalDecider, Grid, Misfits, NegotiatedJob, Senders,
    Service, Submissions, SystemRow,
};
use crate::time::{Span, Time};
use crate::workload::facts::JobFactsIndex;

/// All actors of a run, by [`ActorId`]: services at the hub, sites, users.
#[derive(Clone, Debug, PartialEq)]
pub struct Roster {
    pub names: Vec<String>,
    pub roles: Vec<Role>,
    /// One-way latency of each actor to the hub.
    pub latencies: Latencies,
    /// True if users report the ends of their jobs, because no service knows them.
    pub users_report: bool,
    /// All actors, sorted by name; names are unique.
    by_name: Vec<ActorId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Actor of a system at the hub: an index into the topology's systems.
    Hub(usize),
    /// A site, as an index into the topology's sites.
    Site(usize),
    /// A user, as an index into the topology's users.
    User(usize),
    /// Holder of the flows at the hub, if several services share the links.
    Exchange,
}

/// Name of the actor that holds the flows of all services.
pub const EXCHANGE: &str = "network";

/// Connections to external programs, by the actor that each program decides for.
pub type ExternalDeciders = BTreeMap<ActorId, ExternalDecider>;

/// Actors with their ids.
pub type Actors = Vec<(ActorId, BoxedActor<Message, Record>)>;

/// A valid topology with invalid jobs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    #[error("workload.{workload}: {error}")]
    Workload { workload: usize, error: DistributeError },
    #[error(transparent)]
    Built(#[from] ActorError),
}

impl BuildError {
    /// Index of the workload at fault; None if the error is not in a workload.
    pub fn workload(&self) -> Option<usize> {
        match self {
            BuildError::Workload { workload, .. } => Some(*workload),
            BuildError::Built(_) => None,
        }
    }
}

impl Roster {
    pub fn of_topology(topology: &Topology) -> Roster {
        let mut names = Vec::new();
        let mut roles = Vec::new();
        let mut latencies = Vec::new();
        let mut add = |name: &str, role, latency| {
            names.push(name.to_owned());
            roles.push(role);
            latencies.push(latency);
        };
        let mut services = 0;
        for (index, system) in topology.systems.iter().enumerate() {
            if let Some(service) = system.system_row().service {
                add(service, Role::Hub(index), Span::ZERO);
                services += 1;
            }
        }
        for (index, site) in topology.sites.iter().enumerate() {
            add(&site.name, Role::Site(index), site.latency);
        }
        for (index, user) in topology.users.iter().enumerate() {
            add(&user.name, Role::User(index), user.latency);
        }
        // The exchange comes last, so that it does not shift the ids of other actors.
        if topology.cables.is_some() && (topology.systems.len() > 1 || services == 0) {
            add(EXCHANGE, Role::Exchange, Span::ZERO);
        }
        let mut by_name: Vec<ActorId> = (0..names.len() as u32).map(ActorId).collect();
        by_name.sort_by_key(|id| &names[id.index()]);
        Roster { names, roles, latencies: latencies.into(), users_report: services < topology.systems.len(), by_name }
    }

    pub fn all(&self) -> Vec<ActorId> {
        (0..self.roles.len() as u32).map(ActorId).collect()
    }

    /// Actors in the process of the router.
    pub fn at_hub(&self) -> Vec<ActorId> {
        let ids = self.all().into_iter();
        ids.filter(|id| matches!(self.roles[id.index()], Role::Hub(_) | Role::Exchange)).collect()
    }

    /// All parties that join the router, in order.
    pub fn parties(&self) -> Vec<Party> {
        self.all().into_iter().filter_map(|id| self.party(id)).collect()
    }

    fn find_role(&self, role: Role) -> Option<ActorId> {
        self.all().into_iter().find(|id| self.roles[id.index()] == role)
    }

    pub fn find(&self, party: &Party) -> Option<ActorId> {
        let (Party::Site(name) | Party::User(name)) = party else { return None };
        let place = self.by_name.binary_search_by_key(&name, |id| &self.names[id.index()]).ok()?;
        Some(self.by_name[place]).filter(|id| self.party(*id).as_ref() == Some(party))
    }

    /// A hint for an error about an unknown name: a similar one, or the empty text.
    pub fn near_name(&self, party: &Party) -> String {
        let parties = self.parties();
        let alike = parties.iter().filter(|other| other.role() == party.role()).map(Party::name);
        nearest_name(party.name(), alike).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
    }

    /// Checks that the role of an actor may write a record.
    pub fn may_write(&self, id: ActorId, record: &Record) -> Result<(), &'static str> {
        record.written_by(match self.roles[id.index()] {
            Role::Hub(_) | Role::Exchange => Author::Router,
            Role::Site(_) => Author::Site,
            Role::User(_) if self.users_report => Author::User,
            Role::User(_) => Author::Mute,
        })
    }

    fn party(&self, id: ActorId) -> Option<Party> {
        let name = self.names[id.index()].clone();
        match self.roles[id.index()] {
            Role::Hub(_) | Role::Exchange => None,
            Role::Site(_) => Some(Party::Site(name)),
            Role::User(_) => Some(Party::User(name)),
        }
    }
}

/// The contract of a run, for its hub.
pub fn run_contract(topology: &Topology, roster: &Roster) -> Contract {
    let assembly = Assembly::of_topology(topology, roster);
    Contract { sources: contract_sources(&assembly, roster), settled: settled_services(&assembly, roster) }
}

/// The part of the contract that concerns leaves; needs no workload.
pub fn contract_of_leaves(topology: &Topology, roster: &Roster) -> Contract {
    Contract { sources: Vec::new(), settled: settled_services(&Assembly::of_topology(topology, roster), roster) }
}

/// The users, if all that is decided at the hub depends on them alone.
fn contract_sources(assembly: &Assembly<'_>, roster: &Roster) -> Vec<bool> {
    let topology = assembly.topology;
    let [system] = topology.systems.as_slice() else { return Vec::new() };
    let decides_alone =
        roster.at_hub().len() == 1 && topology.users.iter().all(|user| user.behaviour == Behaviour::Script);
    if !decides_alone || !system.decides_by_users(&assembly.grid(0), &topology.workloads) {
        return Vec::new();
    }
    roster.roles.iter().map(|role| matches!(role, Role::User(_))).collect()
}

/// The service whose messages a site answers as these foretell, by actor.
fn settled_services(assembly: &Assembly<'_>, roster: &Roster) -> Vec<Option<ActorId>> {
    let topology = assembly.topology;
    roster
        .roles
        .iter()
        .map(|role| {
            let Role::Site(index) = *role else { return None };
            let site = &topology.sites[index];
            let [system] = site.systems.as_slice() else { return None };
            let is_settled =
                topology.systems[*system].has_settled_answers(site) && topology.failing().site(index).is_none();
            assembly.services[*system].filter(|_| is_settled)
        })
        .collect()
}

/// Builds the actors with these ids, in that order. Workloads are generated only if one of the actors needs them.
pub fn build_actors(topology: &Topology, ids: &[ActorId]) -> Result<Actors, BuildError> {
    build_with(topology, ids, ExternalDeciders::new())
}

/// Checks that the jobs of all users can be submitted, without building actors. Returns notes on the jobs that will be
/// refused.
pub fn check_jobs(topology: &Topology) -> Result<Vec<String>, BuildError> {
    let roster = Roster::of_topology(topology);
    let assembly = Assembly::of_topology(topology, &roster);
    let grids: Vec<Grid<'_>> = (0..topology.systems.len()).map(|system| assembly.grid(system)).collect();
    Ok(assembly
        .distribute(&grids)?
        .1
        .iter()
        .enumerate()
        .filter_map(|(workload, distributed)| {
            let Distributed { jobs, misfits: Misfits { jobs: misfits, first } } = distributed;
            let jobs = format_counted((*jobs).into(), "job");
            let will = if *misfits == 1 { "it is" } else { "they are" };
            first.map(|first| {
            format!(
                "workload.{workload}: of {jobs}, {misfits} can run at no site, from job {first} on; {will} turned away"
            )
        })
        })
        .collect())
}

/// Owner of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    pub user: ActorId,
    /// The job whose end this one waits for.
    pub after: Option<JobId>,
}

/// Owners of all jobs. Generates all workloads, so it is meant for error reports.
pub fn job_owners(topology: &Topology) -> Result<BTreeMap<JobId, Owned>, BuildError> {
    let roster = Roster::of_topology(topology);
    let assembly = Assembly::of_topology(topology, &roster);
    let grids: Vec<Grid<'_>> = (0..topology.systems.len()).map(|system| assembly.grid(system)).collect();
    let users = roster.all().into_iter().filter(|id| matches!(roster.roles[id.index()], Role::User(_)));
    let mut owners = BTreeMap::new();
    for (user, Submissions { timed, streamed, followers, negotiated }) in users.zip(assembly.distribute(&grids)?.0) {
        owners.extend(negotiated.iter().map(|job| (job.job.id, own_job(job, user))));
        for (_, _, message) in timed.into_iter().chain(streamed.into_iter().flatten()) {
            let job = handed_in(&message);
            owners.extend(job.map(|job| (job.id, Owned { user, after: None })));
        }
        for (before, message) in followers.iter().flat_map(Followers::remaining) {
            let job = handed_in(&message);
            owners.extend(job.map(|job| (job.id, Owned { user, after: Some(before) })));
        }
    }
    Ok(owners)
}

fn own_job(job: &NegotiatedJob, user: ActorId) -> Owned {
    Owned { user, after: job.after.map(|(before, _)| before) }
}

fn handed_in(message: &Message) -> Option<&Job> {
    match message {
        Message::Submit(Submit { job })
        | Message::Reserve(Reserve { job, .. })
        | Message::Enqueue(Enqueue { job, .. }) => Some(job),
        _ => None,
    }
}

/// Like [`build_actors`], with connections to the external programs of the topology.
pub fn build_with(topology: &Topology, ids: &[ActorId], mut deciders: ExternalDeciders) -> Result<Actors, BuildError> {
    let roster = Roster::of_topology(topology);
    let assembly = Assembly::of_topology(topology, &roster);
    // Building a grid is O(sites), so each is built once.
    let grids: Vec<Grid<'_>> = (0..topology.systems.len()).map(|system| assembly.grid(system)).collect();
    let mut submissions = if ids.iter().any(|id| match role_of(id, &roster) {
        // Jobs that fit no site are refused before the run.
        Role::Hub(system) => topology.systems[system].refuses_misfits(),
        Role::Site(_) | Role::Exchange => false,
        Role::User(_) => true,
    }) {
        assembly.distribute(&grids)?.0
    } else {
        Vec::new()
    };

    let mut actor = |id: &ActorId| {
        let decider = deciders.remove(id);
        let actor: BoxedActor<Message, Record> = match role_of(id, &roster) {
            Role::Hub(index) => {
                let system = &topology.systems[index];
                system.build_hub(&grids[index], decider)?
            }
            Role::Site(index) => {
                let site = &topology.sites[index];
                let senders = Senders::from_grids(site.systems.iter().map(|system| &grids[*system]));
                let fails = topology.failing().site(index);
                host_of(topology, site).build_site(site, &senders, fails, queue_ranking(topology, site), decider)?
            }
            Role::User(index) => {
                let mut submissions = std::mem::take(&mut submissions[index]);
                let user = &topology.users[index];
                let mut playing = topology.systems.iter().zip(&grids);
                let negotiator = playing.find_map(|(system, grid)| system.build_user(user, grid, &mut submissions));
                Box::new(user_of(&assembly, user, negotiator, submissions, decider)?)
            }
            Role::Exchange => {
                let faults = link_faults(topology, (0..topology.sites.len()).collect());
                Box::new(Exchange::new(network_paths(topology), faults, assembly.shippers(), assembly.sites.clone()))
            }
        };
        Ok((*id, actor))
    };
    ids.iter().map(&mut actor).collect()
}

/// Order of the queue of a site.
fn queue_ranking(topology: &Topology, site: &Site) -> Ranking {
    match &site.multifactor {
        Some(settings) if site.order == QueueOrder::Multifactor => {
            let facts = JobFactsIndex::of_workloads(&topology.workloads);
            Ranking::multifactor(Arc::new(MultifactorRules::new((**settings).clone(), site.cores, facts)))
        }
        _ => Ranking::new(site.order),
    }
}

fn role_of(id: &ActorId, roster: &Roster) -> Role {
    roster.roles[id.index()]
}

/// Builds a user. If the user negotiates for some jobs, one side does so and the other submits the rest.
fn user_of(
    assembly: &Assembly<'_>,
    user: &grid::User,
    negotiator: Option<Box<dyn Planner>>,
    submissions: Submissions,
    decider: Option<ExternalDecider>,
) -> Result<User, ActorError> {
    let Submissions { timed, streamed, followers, .. } = submissions;
    let has_rest = !(timed.is_empty() && streamed.is_empty() && followers.is_empty());
    let rest = || -> Result<Box<dyn Planner>, ActorError> {
        Ok(match user.behaviour {
            Behaviour::Script => Box::new(build_script(timed, streamed, followers)),
            Behaviour::Resubmit { patience, most } => {
                Box::new(Resubmit::new(build_script(timed, streamed, followers), patience, most))
            }
            Behaviour::External => {
                Box::new(build_planned_user(assembly.topology, decider, timed, streamed, followers, &assembly.sites)?)
            }
        })
    };
    Ok(match negotiator {
        None => User::with_planner(rest()?),
        Some(negotiator) if !has_rest => User::with_planner(negotiator),
        Some(negotiator) => {
            let services = assembly.services.iter().flatten().copied().collect();
            User::new(SplitPlanner::new(negotiator, rest()?, services))
        }
    })
}

fn build_script(
    timed: Vec<(Time, ActorId, Message)>,
    streamed: Vec<StreamedJobs>,
    followers: Vec<Followers>,
) -> Script {
    roles::Script::from_messages(timed).with_streams(streamed).with_followers(followers)
}

/// A user whose queued jobs an external program plans.
fn build_planned_user(
    topology: &Topology,
    decider: Option<ExternalDecider>,
    timed: Vec<(Time, ActorId, Message)>,
    streamed: Vec<StreamedJobs>,
    followers: Vec<Followers>,
    site_ids: &[ActorId],
) -> Result<PlannedUser, ActorError> {
    let decider = decider.and_then(|decider| decider.downcast::<Box<dyn Plans>>().ok());
    let decider = *decider.ok_or(ActorError::NoDecider)?;
    let mut jobs = Vec::new();
    let mut rest = Vec::new();
    let (queued, streamed): (Vec<StreamedJobs>, Vec<StreamedJobs>) =
        streamed.into_iter().partition(|jobs| matches!(jobs.peek(), Some((_, Message::Enqueue(_)))));
    for (time, to, message) in timed.into_iter().chain(queued.into_iter().flatten()) {
        match message {
            Message::Enqueue(enqueue) => jobs.push((time, to, enqueue)),
            message => rest.push((time, to, message)),
        }
    }
    // Jobs that arrive at one time are ordered by number, regardless of their source.
    jobs.sort_by_key(|(time, _, enqueue)| (*time, enqueue.job.id));
    let sites = for_planners(topology).map(|site| (topology.sites[site].name.clone(), site_ids[site]));
    Ok(PlannedUser::new(
        decider,
        roles::Script::from_messages(rest).with_streams(streamed),
        jobs,
        followers,
        BTreeMap::from_iter(sites),
    ))
}

/// Sites from which a user's external planner may choose: those of systems that have such planners.
pub fn for_planners(topology: &Topology) -> impl Iterator<Item = usize> {
    (0..topology.sites.len()).filter(move |site| {
        topology.sites[*site].systems.iter().any(|system| topology.systems[*system].system_row().traits.has_planners)
    })
}

/// The system that runs a site: of several that use the site, the one that shares it.
fn host_of<'a>(topology: &'a Topology, site: &Site) -> &'a Service {
    let used = || site.systems.iter().map(|system| &topology.systems[*system]);
    let host = systems::find_host(used().map(|system| system.system_row()));
    used()
        .find(|system| host.is_none_or(|host| host.key == system.system_row().key))
        .expect("every site is used by some system")
}

/// Input of a system for plans without a run.
pub struct PlanningContext<'a> {
    /// Settings of the topology, or the defaults.
    pub service: Service,
    /// Sites of the system, or all sites if the topology does not use the system.
    pub grid: Grid<'a>,
    /// Names of the links of the grid's network.
    pub links: Vec<String>,
    /// Submissions of each user; empty unless requested.
    pub load: Vec<Submissions>,
}

/// Calls `look` with the part of a topology on which a system plans.
pub fn with_planning_context<T>(
    topology: &Topology,
    row: &'static SystemRow,
    with_load: bool,
    look: impl FnOnce(&PlanningContext<'_>) -> T,
) -> Result<T, BuildError> {
    let roster = Roster::of_topology(topology);
    let assembly = Assembly::of_topology(topology, &roster);
    let own = topology.systems.iter().position(|system| system.system_row().key == row.key);
    let its: Vec<usize> = (0..topology.sites.len()).filter(|site| uses_system(&topology.sites[*site], own)).collect();
    let load = match own {
        Some(_) if with_load => {
            let grids: Vec<Grid<'_>> = (0..topology.systems.len()).map(|system| assembly.grid(system)).collect();
            assembly.distribute(&grids)?.0
        }
        _ => Vec::new(),
    };
    let mut links = link_names(topology);
    if topology.cables.is_none() {
        // Lines of sites of other systems are not in its paths.
        links = its.iter().map(|site| std::mem::take(&mut links[*site])).collect();
    }
    let service = own.map_or_else(row.usual, |own| topology.systems[own].clone());
    let grid = assembly.grid_of(
        None,
        |site| uses_system(site, own),
        Box::new(|| {
            // No messages are sent, so the id of the exchange does not matter.
            let shared =
                topology.cables.is_some().then(|| (ActorId(u32::MAX), its.iter().map(|site| *site as u32).collect()));
            Network { paths: network_paths(topology).restricted_to(&its), faults: None, shared }
        }),
    );
    Ok(look(&PlanningContext { service, grid, links, load }))
}

fn uses_system(site: &Site, own: Option<usize>) -> bool {
    own.is_none_or(|own| site.systems.contains(&own))
}

/// Size of a distributed workload.
struct Distributed {
    jobs: u32,
    misfits: Misfits,
}

/// A topology with its actors, from which the grid of each system is built.
struct Assembly<'a> {
    topology: &'a Topology,
    /// Service of each system; None if the system has no actor at the hub.
    services: Vec<Option<ActorId>>,
    sites: Vec<ActorId>,
    users: Vec<ActorId>,
    /// Holder of the flows of all services; None unless the links are shared.
    exchange: Option<ActorId>,
}

impl<'a> Assembly<'a> {
    fn of_topology(topology: &'a Topology, roster: &Roster) -> Assembly<'a> {
        let with_role =
            |is: fn(&Role) -> bool| roster.all().into_iter().filter(|id| is(&roster.roles[id.index()])).collect();
        Assembly {
            topology,
            services: (0..topology.systems.len()).map(|system| roster.find_role(Role::Hub(system))).collect(),
            users: with_role(|role| matches!(role, Role::User(_))),
            sites: with_role(|role| matches!(role, Role::Site(_))),
            exchange: roster.find_role(Role::Exchange),
        }
    }

    /// Actors that send data over the links: services, and users without a service that does it for them.
    fn shippers(&self) -> Vec<ActorId> {
        let services = self.services.iter().flatten().copied();
        let users = if self.services.contains(&None) { &self.users[..] } else { &[] };
        services.chain(users.iter().copied()).collect()
    }

    fn grid(&self, system: usize) -> Grid<'_> {
        let sites = &self.topology.sites;
        let network = Box::new(move || {
            self.network((0..sites.len()).filter(move |site| sites[*site].systems.contains(&system)).collect())
        });
        self.grid_of(self.services[system], |site| site.systems.contains(&system), network)
    }

    fn grid_of<'s>(
        &'s self,
        service: Option<ActorId>,
        uses: impl Fn(&Site) -> bool,
        network: Box<dyn Fn() -> Network + 's>,
    ) -> Grid<'s> {
        let all = self.sites.iter().copied().zip(&self.topology.sites);
        let sites: Vec<_> = all.filter(|(_, site): &(ActorId, &Site)| uses(site)).collect();
        let mut largest = vec![0; self.topology.kinds.len()];
        for (_, site) in &sites {
            let largest = &mut largest[usize::from(site.kind.0)];
            *largest = site.cores.max(*largest);
        }
        Grid {
            largest,
            seed: self.topology.seed,
            service,
            users: self.users.iter().copied().zip(&self.topology.users).collect(),
            sites,
            kinds: &self.topology.kinds,
            network,
            whole_network: Box::new(|| self.network((0..self.sites.len()).collect())),
            is_linked: self.topology.cables.is_some(),
            site_ids: &self.sites,
            failing: self.topology.failing(),
        }
    }

    /// Network between some sites.
    fn network(&self, its: Vec<usize>) -> Network {
        let shared = self.exchange.map(|exchange| (exchange, its.iter().map(|site| *site as u32).collect()));
        let paths = network_paths(self.topology).restricted_to(&its);
        let faults = if shared.is_none() { link_faults(self.topology, its) } else { None };
        Network { paths, faults, shared }
    }

    /// Submissions of each user, and size of each workload.
    fn distribute(&self, grids: &[Grid<'_>]) -> Result<(Vec<Submissions>, Vec<Distributed>), BuildError> {
        let Topology { workloads, users, systems, .. } = self.topology;
        let mut distribution = Distribution::to_users(users.len(), data_limit(self.topology));
        let mut all = Vec::new();
        for (index, workload) in workloads.iter().enumerate() {
            let before = distribution.next.job;
            let distributed =
                systems[workload.system].distribute_workload(workload, &grids[workload.system], &mut distribution);
            distributed.map_err(|error| BuildError::Workload { workload: index, error })?;
            all.push(Distributed {
                jobs: distribution.next.job - before,
                misfits: std::mem::take(&mut distribution.misfits),
            });
        }
        Ok((distribution.submissions, all))
    }
}

/// Volume that the slowest link carries within the longest span.
pub fn data_limit(topology: &Topology) -> DataLimit {
    let links = topology.cables.iter().flat_map(|cables| &cables.links);
    DataLimit::new(links.map(|link| bytes_of_capacity(link.capacity)).min().unwrap_or(u128::MAX))
}

fn bytes_of_capacity(bits: u64) -> u128 {
    u128::from(bits) * u128::from(SPAN_MAX.micros()) / 8_000_000
}
