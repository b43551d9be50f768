//! Makes the actors that a topology describes, all of them or some.

use std::sync::Arc;

use super::{Topology, Unplaceable};
use crate::grid::{Graph, Job, JobId};
use crate::kernel::{ActorId, BoxedActor, Latencies};
use crate::protocol::handshake::Party;
use crate::protocol::{Message, Record};
use crate::roles::{self, scheduler};
use crate::systems::market::{Auctioneer, Cluster, Figures, Immeasurable, bid};
use crate::time::Span;
use crate::workload::{Numbering, Platform, WorkloadError};

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
    /// Lives at the hub.
    Auctioneer,
    /// An index into the topology's sites.
    Site(usize),
    /// An index into the topology's users.
    User(usize),
}

/// A topology that is in order, but whose jobs are not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// Workloads count from 1.
    #[error("workload {workload}: {error}")]
    Workload { workload: usize, error: WorkloadError },
    #[error(
        "job {job}: task {task} needs {cores} cores of kind {kind} at one site, and no site has as many; \
         unplaceable = \"refuse\" turns such jobs away instead"
    )]
    Unplaceable { job: JobId, task: usize, cores: u32, kind: String },
    #[error("job {job}: {error}")]
    Immeasurable { job: JobId, error: Immeasurable },
    #[error("there is no {what} called {name}")]
    Unknown { what: &'static str, name: String },
}

pub const AUCTIONEER: ActorId = ActorId(0);

impl Plan {
    pub fn of(topology: &Topology) -> Plan {
        let mut plan = Plan { names: Vec::new(), roles: Vec::new(), latencies: Latencies::from([]) };
        let mut latencies = Vec::new();
        let mut add = |name: &str, role, latency| {
            plan.names.push(name.to_owned());
            plan.roles.push(role);
            latencies.push(latency);
        };
        add("auctioneer", Role::Auctioneer, Span::ZERO);
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
        ids.filter(|id| self.roles[id.index()] == Role::Auctioneer).collect()
    }

    /// Everybody who joins the router, in order.
    pub fn parties(&self) -> Vec<Party> {
        self.all().into_iter().filter_map(|id| self.party(id)).collect()
    }

    pub fn find(&self, party: &Party) -> Option<ActorId> {
        self.all().into_iter().find(|&id| self.party(id).as_ref() == Some(party))
    }

    fn party(&self, id: ActorId) -> Option<Party> {
        let name = self.names[id.index()].clone();
        match self.roles[id.index()] {
            Role::Auctioneer => None,
            Role::Site(_) => Some(Party::Site(name)),
            Role::User(_) => Some(Party::User(name)),
        }
    }
}

/// The actors of these numbers, in that order. Workloads are generated only where somebody needs them.
pub fn build(topology: &Topology, ids: &[ActorId]) -> Result<Vec<(ActorId, BoxedActor<Message, Record>)>, BuildError> {
    let plan = Plan::of(topology);
    let role = |id: &ActorId| plan.roles[id.index()];
    let needs_jobs = |id: &ActorId| match role(id) {
        Role::Auctioneer => topology.market.unplaceable == Unplaceable::Error,
        Role::Site(_) => false,
        Role::User(_) => true,
    };
    let mut jobs = if ids.iter().any(needs_jobs) { deal(topology)? } else { Vec::new() };

    let actor = |id: &ActorId| {
        let actor: BoxedActor<Message, Record> = match role(id) {
            Role::Auctioneer => Box::new(auctioneer(topology)?),
            Role::Site(index) => Box::new(site(topology, index)?),
            Role::User(index) => Box::new(roles::User::new(std::mem::take(&mut jobs[index]), AUCTIONEER)),
        };
        Ok((*id, actor))
    };
    ids.iter().map(actor).collect()
}

fn auctioneer(topology: &Topology) -> Result<Auctioneer, BuildError> {
    let name = &topology.market.policy;
    let unknown = || BuildError::Unknown { what: "bid policy", name: name.clone() };
    let policy = (bid::find(name).ok_or_else(unknown)?.build)(&topology.market, topology.seed);
    let clusters = topology.sites.iter().zip(1..);
    let clusters = clusters.map(|(site, id)| Cluster { site: ActorId(id), kind: site.kind, cores: site.cores });
    Ok(Auctioneer::new(topology.market.clone(), policy, clusters.collect()))
}

fn site(topology: &Topology, index: usize) -> Result<roles::Site, BuildError> {
    let site = &topology.sites[index];
    let unknown = || BuildError::Unknown { what: "site scheduler", name: site.scheduler.clone() };
    let scheduler = (scheduler::find(&site.scheduler).ok_or_else(unknown)?.build)();
    Ok(roles::Site::new(site.cores, scheduler, AUCTIONEER))
}

/// The jobs of each user.
fn deal(topology: &Topology) -> Result<Vec<Vec<Arc<Job>>>, BuildError> {
    let platform = platform(topology);
    let weigh = bid::find(&topology.market.policy)
        .is_some_and(|entry| (entry.build)(&topology.market, topology.seed).weighs_successors());
    let mut hands = vec![Vec::new(); topology.users.len()];
    let mut next = Numbering::default();
    for (index, workload) in topology.workloads.iter().enumerate() {
        let jobs = workload
            .source
            .jobs(&platform, topology.market.tick, &mut next)
            .map_err(|error| BuildError::Workload { workload: index + 1, error })?;
        for (job, &user) in jobs.into_iter().zip(workload.users.iter().cycle()) {
            check(&job, topology, weigh)?;
            hands[user].push(Arc::new(job));
        }
    }
    Ok(hands)
}

fn platform(topology: &Topology) -> Platform {
    let mut cores = vec![0; topology.kinds.len()];
    for site in &topology.sites {
        cores[usize::from(site.kind.0)] += u64::from(site.cores);
    }
    Platform { cores }
}

fn check(job: &Job, topology: &Topology, weigh: bool) -> Result<(), BuildError> {
    if topology.market.unplaceable == Unplaceable::Error {
        for (task, wish) in job.tasks.iter().enumerate() {
            if !topology.sites.iter().any(|site| site.kind == wish.kind && site.cores >= wish.cores) {
                let kind = topology.kinds.get(usize::from(wish.kind.0)).cloned().unwrap_or_default();
                return Err(BuildError::Unplaceable { job: job.id, task, cores: wish.cores, kind });
            }
        }
    }
    if weigh {
        Figures::of(job, &Graph::new(job.tasks.len(), &job.edges), &topology.market, true)
            .map_err(|error| BuildError::Immeasurable { job: job.id, error })?;
    }
    Ok(())
}
