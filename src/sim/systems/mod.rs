//! The systems of the papers: one folder per paper, and one row in [`ALL`] per system.
//!
//! Topologies and the catalogue iterate over the rows and name none. So do reports, whose own rows
//! (`report/subjects/`) refer to systems by their keys. Commands about one system (`bench`, external policies) name
//! theirs, which `tests/tidy.rs` lists. A system's folder holds its settings, its rules and its actors; its
//! `build.rs` builds the actors of a grid, with the names of `prelude.rs`.

pub mod batch;
pub mod dfrs;
mod distribute;
mod failing;
pub mod heft;
mod hub_program;
pub mod managers;
pub mod market;
mod outside;
pub mod plans;
mod prelude;
pub mod provisioning;
pub mod reservation;
pub mod starts;

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::Deref;

use crate::grid::{Named, Program, Site, User};
use crate::kernel::{ActorId, BoxedActor};
use crate::network::{Network, Stager};
use crate::protocol::{Message, Record};
use crate::roles::queue::Ranking;
use crate::roles::{Planner, queue};
use crate::settings::{NameIndex, Walk};
use crate::time::Span;
use crate::workload::Workload;

pub use distribute::{DataLimit, DistributeError, Distribution, Misfits, NegotiatedJob, PlacementError, Submissions};
pub use failing::{Failing, Fails};
pub use hub_program::EXTERNAL;

/// Every system that a topology may use.
pub const ALL: &[SystemRow] = &[market::ROW, reservation::ROW, heft::ROW, batch::ROW, provisioning::ROW];

/// The interface of a system to the rest of the program.
pub struct SystemRow {
    /// The table of the system in a topology.
    pub key: &'static str,
    pub about: &'static str,
    /// Name of its actor at the hub; none, if no decision is made there and users talk to sites.
    pub service: Option<&'static str>,
    /// The sources whose jobs it accepts, by name.
    pub sources: &'static [&'static str],
    /// Other sources that it accepts, if a workload names this system or no other could take it.
    pub also: &'static [&'static str],
    /// Names for `site.scheduler`, the default first. Empty, if sites follow orders only.
    pub schedulers: fn() -> Vec<Named>,
    /// Further keys of sites and users for this system.
    pub own: Own,
    pub traits: Traits,
    /// Largest number of cores of a grid.
    pub cores_max: u64,
    /// Labels in traces for the moments at which it gives tasks to sites.
    pub gives: Gives,
    /// Its policies that can plan a workflow without a run, the default first.
    pub plans: &'static [plans::Maker],
    /// Its default settings.
    pub usual: fn() -> Service,
}

impl SystemRow {
    /// All sources that it accepts.
    pub fn all_sources(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.sources.iter().chain(self.also).copied()
    }
}

/// Properties of a system, each true or false.
pub struct Traits {
    /// True if sites differ in speed.
    pub has_speeds: bool,
    /// True if other systems can use its sites too; this system then runs their jobs there.
    pub shares_sites: bool,
    /// True if no other system can run its sites: it runs them even where others share them.
    pub runs_its_sites: bool,
    /// True if its sites may have managers independent of a system.
    pub takes_managers: bool,
    /// True if an external program may plan for its users, which submit jobs for queues.
    pub has_planners: bool,
    /// True if its sites have terms on which they let their processors.
    pub has_terms: bool,
    /// True if sites may reserve nodes for other purposes, by the key `reserved`.
    pub has_reserved: bool,
    /// True if the queues of its sites can be in another order than that of arrival.
    pub orders_queue: bool,
    /// True if its jobs have one task each, which requests a walltime.
    pub is_rigid: bool,
    /// True if tasks may have a run time per site.
    pub has_site_times: bool,
    /// True if tasks may request another time than they take: a walltime.
    pub has_walltimes: bool,
    /// True if jobs of logs and models must have a deadline.
    pub wants_deadlines: bool,
    /// True if a job may wait for the end of another one.
    pub has_followers: bool,
    /// True if it moves the data of whole jobs to their sites and back. The others move data between tasks.
    pub stages_data: bool,
    /// True if it books nodes for a later time, so that their failure breaks a promise.
    pub books_nodes: bool,
}

impl Traits {
    pub const NONE: Traits = Traits {
        has_speeds: false,
        shares_sites: false,
        runs_its_sites: false,
        takes_managers: false,
        has_planners: false,
        has_terms: false,
        has_reserved: false,
        orders_queue: false,
        is_rigid: false,
        has_site_times: false,
        has_walltimes: false,
        wants_deadlines: false,
        has_followers: false,
        stages_data: false,
        books_nodes: false,
    };
}

/// Keys of sites and users that belong to one system; `fits` is true if the site or user is part of it.
#[derive(Clone, Copy)]
pub struct Own {
    pub site: fn(site: &mut Site, fits: bool, w: &mut dyn Walk),
    pub user: fn(user: &mut User, fits: bool, sites: &NameIndex<'_>, w: &mut dyn Walk),
}

impl Own {
    pub const NOTHING: Own = Own { site: |_, _, _| {}, user: |_, _, _, _| {} };
}

/// Labels in a trace for the moments at which a service gives tasks to sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gives {
    /// Label of such a moment.
    pub moment: &'static str,
    /// Label of a task that has been given to a site.
    pub task: &'static str,
    pub category: &'static str,
}

/// The system that runs a site for all systems that use it, if any does.
pub fn find_host<'r>(mut rows: impl Iterator<Item = &'r SystemRow> + Clone) -> Option<&'r SystemRow> {
    let runs_its_own = rows.clone().find(|row| row.traits.runs_its_sites);
    runs_its_own.or_else(|| rows.find(|row| row.traits.shares_sites))
}

pub fn find_system(key: &str) -> Option<&'static SystemRow> {
    ALL.iter().find(|row| row.key == key)
}

/// An actor that can be sent to another thread.
pub type Built = Result<BoxedActor<Message, Record>, ActorError>;

/// A system with the settings of a topology.
pub trait System: DynEq {
    fn system_row(&self) -> &'static SystemRow;

    /// Walks all its settings; `linked` is true if the topology has links.
    fn walk_settings(&mut self, w: &mut dyn Walk, linked: bool);

    /// Its main rule, by its name in topologies.
    fn main_policy(&self) -> Policy<'_>;

    /// Name of the default policy for a plan without a run.
    fn default_planner(&self) -> &str {
        self.main_policy().name
    }

    /// The unit of run times and ages.
    fn time_unit(&self) -> Span {
        Span::from_secs(1)
    }

    /// Transfer time of a task's output as a share of its run time, where no links determine it; in millionths.
    fn ccr_millionths(&self) -> u64 {
        0
    }

    /// True if critical paths of its jobs include the transfers over links that no placement avoids.
    fn counts_transfers(&self) -> bool {
        false
    }

    /// True if a job that fits no site is an error before the run; otherwise it is rejected during the run.
    fn refuses_misfits(&self) -> bool {
        false
    }

    /// Setting under which jobs that fit no site are rejected instead; None if there is no such setting.
    fn misfit_setting(&self) -> Option<&'static str> {
        None
    }

    /// The external program that takes part in decisions at the hub.
    fn program_mut(&mut self) -> Option<&mut Program> {
        None
    }

    /// The external program that takes part in decisions at the hub, and its conversation.
    fn hub_program(&self) -> Option<(HubProgram, &Program)> {
        None
    }

    /// The rule by which it chooses among the possible starts of a request; None if there is no such rule.
    fn start_rule(&self) -> Option<Box<dyn starts::StartRule>> {
        None
    }

    /// The actor at the hub, if there is one; `decider` connects the external program.
    fn build_hub(&self, _: &Grid<'_>, _: Option<ExternalDecider>) -> Built {
        Err(ActorError::NoService(self.system_row().key))
    }

    /// True if its service decides by the messages of users alone: nothing that sites send makes it send anything, or
    /// changes what it sends. Asked only where users hand in their jobs by the calendar and it is alone at the hub.
    fn decides_by_users(&self, _grid: &Grid<'_>, _workloads: &[Workload]) -> bool {
        false
    }

    /// True if a site of its own does nothing about messages of its service but to answer each as it foretells, unless
    /// nodes fail.
    fn has_settled_answers(&self, _site: &Site) -> bool {
        false
    }

    /// Period of the messages by which its sites offer their cores, at whole multiples of it; zero if they offer at
    /// once. None if they send no offers, so that the service learns of free cores by the ends of tasks. Sites that
    /// offer their cores have no other system.
    fn offers_every(&self) -> Option<Span> {
        None
    }

    /// Meaning of the bids that its log has a record of. None if it records none.
    fn recorded_bids(&self) -> Option<BidUnit> {
        None
    }

    /// Properties of the strategy by which a user negotiates. None if its users have none.
    fn strategy_of(&self, _user: &User) -> Option<StrategyTraits> {
        None
    }

    /// Has sites offer their cores at once, if they do so by messages.
    fn offer_at_once(&mut self) {}

    /// The actor of a site of the grid, to which all of `senders` may send work, with the failures of its nodes.
    /// `ranking` is the order of its queue, if it has one. `decider` connects the external program that decides there,
    /// if one does.
    fn build_site(
        &self,
        site: &Site,
        senders: &Senders,
        fails: Option<Fails>,
        ranking: Ranking,
        decider: Option<ExternalDecider>,
    ) -> Built;

    /// The planner of a user, if it does more than send the messages dealt to it.
    fn build_user(&self, _user: &User, _grid: &Grid<'_>, _submissions: &mut Submissions) -> Option<Box<dyn Planner>> {
        None
    }

    /// Distributes the jobs of a workload to its users.
    fn distribute_workload(
        &self,
        workload: &Workload,
        grid: &Grid<'_>,
        distribution: &mut Distribution,
    ) -> Result<(), DistributeError>;
}

/// A rule of a system, as reports show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy<'a> {
    /// The kind of rule.
    pub what: &'static str,
    pub name: &'a str,
    pub about: &'static str,
}

/// Meaning of a bid's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BidUnit {
    /// A time of the run, in microseconds from its start.
    TimeMicros,
    /// A duration in microseconds.
    SpanMicros,
    /// Ticks, value, or a number without a unit.
    Number,
}

/// Conversation of a service at the hub with its external program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubProgram {
    /// A program that bids for waiting tasks: `protocol/outside/bidder.rs`.
    Bidder,
    /// A program that chooses among candidates for a request: `protocol/outside/allocator.rs`.
    Allocator,
}

/// Properties of a strategy by which users negotiate with sites, each true or false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrategyTraits {
    /// True if jobs are negotiated, instead of being sent to a queue.
    pub bargains: bool,
    /// True if jobs idle until a wanted start if they start earlier.
    pub pads: bool,
    /// True if the tasks of a job run at several sites at once.
    pub has_legs: bool,
}

/// The connection of an external program; the system that uses it knows its type.
pub type ExternalDecider = Box<dyn Any + Send>;

/// The part of a grid that a system uses.
pub struct Grid<'a> {
    /// The seed of the run.
    pub seed: u64,
    /// The actor of the system, if it has one at the hub.
    pub service: Option<ActorId>,
    /// The sites that the system uses, in the topology's order, with their actors.
    pub sites: Vec<(ActorId, &'a Site)>,
    pub kinds: &'a [String],
    /// Number of cores of the largest site of each kind.
    pub largest: Vec<u32>,
    /// The network between the sites of the system.
    pub network: Box<dyn Fn() -> Network + 'a>,
    /// The network between all sites of the topology, by their numbers.
    pub whole_network: Box<dyn Fn() -> Network + 'a>,
    /// True if the topology has links.
    pub is_linked: bool,
    /// The actors of all sites of the topology, by their numbers.
    pub site_ids: &'a [ActorId],
    /// The failures of the topology.
    pub failing: Failing<'a>,
    /// All users of the topology, with their actors.
    pub users: Vec<(ActorId, &'a User)>,
}

impl Grid<'_> {
    /// The actor of a system that has one at the hub.
    pub fn hub(&self) -> ActorId {
        self.service.expect("a system with a service has its actor")
    }

    /// Sites that may react to any message at once, as their queues may then start older jobs, which may be short.
    pub fn prompt_sites(&self) -> BTreeSet<ActorId> {
        self.sites.iter().filter(|(_, site)| starts_older_jobs(site)).map(|(id, _)| *id).collect()
    }

    /// The stager for the data of its jobs, where there are links.
    pub fn stager(&self) -> Option<Stager> {
        self.is_linked.then(|| Stager::new((self.whole_network)(), self.site_ids.to_vec()))
    }
}

fn starts_older_jobs(site: &Site) -> bool {
    queue::find_policy(&site.scheduler).is_some_and(|row| row.starts_older(site.order))
}

/// The actors that may give work to a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Senders {
    /// Services at the hub.
    pub services: Vec<ActorId>,
    /// Users, if one of the systems has no service.
    pub users: Vec<ActorId>,
}

impl Senders {
    /// The senders of some systems' grids.
    pub fn from_grids<'a>(grids: impl Iterator<Item = &'a Grid<'a>>) -> Senders {
        let mut senders = Senders::default();
        for grid in grids {
            match grid.service {
                Some(service) => senders.services.push(service),
                None => senders.users.extend(grid.users.iter().map(|(user, _)| *user)),
            }
        }
        senders
    }

    pub fn all(&self) -> impl Iterator<Item = ActorId> {
        self.services.iter().chain(&self.users).copied()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActorError {
    #[error("a [{0}] has no service at the hub")]
    NoService(&'static str),
    #[error("external programs take part in runs only")]
    NoDecider,
    #[error("there is no {what} called {name}")]
    Unknown { what: &'static str, name: String },
}

impl ActorError {
    pub fn unknown(what: &'static str, name: &str) -> ActorError {
        ActorError::Unknown { what, name: name.to_owned() }
    }
}

/// A system of a topology, independent of its type.
#[derive(Debug)]
pub struct Service(Box<dyn System>);

impl Service {
    pub fn new(system: impl System) -> Service {
        Service(Box::new(system))
    }

    /// Its settings, if it is that system.
    pub fn settings<S: System>(&self) -> Option<&S> {
        (self.0.as_ref() as &dyn Any).downcast_ref()
    }

    pub fn settings_mut<S: System>(&mut self) -> Option<&mut S> {
        (self.0.as_mut() as &mut dyn Any).downcast_mut()
    }

    pub fn walk(&mut self, w: &mut dyn Walk, linked: bool) {
        self.0.walk_settings(w, linked);
    }

    pub fn offer_at_once(&mut self) {
        self.0.offer_at_once();
    }

    pub fn program_mut(&mut self) -> Option<&mut Program> {
        self.0.program_mut()
    }
}

impl Deref for Service {
    type Target = dyn System;

    fn deref(&self) -> &dyn System {
        self.0.as_ref()
    }
}

impl Clone for Service {
    fn clone(&self) -> Service {
        Service(self.0.boxed_copy())
    }
}

impl PartialEq for Service {
    fn eq(&self, other: &Service) -> bool {
        self.0.is_like(other.0.as_ref())
    }
}

/// Copies and comparisons, which every system supports because its settings do.
pub trait DynEq: Any + Debug + Send + Sync {
    fn boxed_copy(&self) -> Box<dyn System>;
    fn is_like(&self, other: &dyn System) -> bool;
}

impl<S: System + Clone + PartialEq> DynEq for S {
    fn boxed_copy(&self) -> Box<dyn System> {
        Box::new(self.clone())
    }

    fn is_like(&self, other: &dyn System) -> bool {
        (other as &dyn Any).downcast_ref::<S>() == Some(self)
    }
}
