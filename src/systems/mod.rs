//! What the papers describe: one folder a paper, one row in [`ALL`] a system.
//!
//! Topologies and the catalogue walk the rows and name none; so do reports, whose own rows (`report/subjects/`) go with
//! systems by their keys. Commands that are about one system (`bench`, the bidder from outside) name theirs. A system's
//! folder holds its settings, its rules and its actors, and says in its `cast.rs` who is who on a grid.

pub mod batch;
mod deal;
pub mod dfrs;
mod failing;
pub mod heft;
pub mod managers;
pub mod market;
mod outside;
pub mod plans;
pub mod provisioning;
pub mod reservation;

use std::any::Any;
use std::fmt::Debug;
use std::ops::Deref;

use crate::grid::{Named, Site, User};
use crate::kernel::{ActorId, BoxedActor};
use crate::network::{Network, Stager};
use crate::protocol::{Message, Record};
use crate::roles::Planner;
use crate::settings::{NameIndex, Walk};
use crate::time::Span;
use crate::workload::Workload;

pub use deal::{DataLimit, DealError, Dealing, Errand, JobError, Lines, Misfits};
pub use failing::{Failing, Fails};

/// Every system that a topology may ask for.
pub const ALL: &[Row] = &[market::ROW, reservation::ROW, heft::ROW, batch::ROW, provisioning::ROW];

/// What the rest of the house has to know of a system.
pub struct Row {
    /// The table in which a topology asks for it.
    pub key: &'static str,
    pub about: &'static str,
    /// What its actor at the hub is called; none, where nothing is decided there and users talk to sites.
    pub service: Option<&'static str>,
    /// The sources whose jobs it takes, by name.
    pub sources: &'static [&'static str],
    /// Others that it takes, where a workload says that it goes there or nobody else could take it.
    pub also: &'static [&'static str],
    /// How a site may run what it is given: names for `site.scheduler`, the usual one first. None, where sites do as
    /// they are told.
    pub schedulers: fn() -> Vec<Named>,
    /// What its sites and users may be told beside that.
    pub own: Own,
    pub traits: Traits,
    /// Most cores of a grid.
    pub cores_max: u64,
    /// What it calls the moments at which it gives tasks to sites.
    pub gives: Gives,
    /// Its policies that can plan a workflow without a run, the usual one first.
    pub plans: &'static [plans::Maker],
    /// As it is where nothing is said.
    pub usual: fn() -> Service,
}

impl Row {
    /// All sources that it takes.
    pub fn takes(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.sources.iter().chain(self.also).copied()
    }
}

/// What sets a system apart; a row says what is true of it.
pub struct Traits {
    /// Whether sites differ in speed.
    pub has_speeds: bool,
    /// Whether its sites can be used by other systems too: then what they run is this system's.
    pub shares_sites: bool,
    /// Whether nobody else can run its sites: where others share them too, they are run by it.
    pub runs_its_sites: bool,
    /// Whether its sites may have managers that are no system's own.
    pub takes_managers: bool,
    /// Whether a program outside may plan for its users, who hand jobs in for queues.
    pub has_planners: bool,
    /// Whether its sites have terms on which they let their processors.
    pub has_terms: bool,
    /// Whether sites may keep nodes from jobs for some time.
    pub has_reserved: bool,
    /// True if the queues of its sites can be in another order than that of arrival.
    pub orders_queue: bool,
    /// Whether its jobs are one task each, which asks for a walltime.
    pub is_rigid: bool,
    /// Whether tasks may ask for another time than they take: for a walltime.
    pub has_walltimes: bool,
    /// Whether jobs of logs and models must say when they are wanted at the latest.
    pub wants_deadlines: bool,
    /// Whether a job may wait for the end of another one.
    pub has_followers: bool,
    /// Whether it brings the data of whole jobs to their sites and back; the others move what tasks make for each
    /// other.
    pub stages_data: bool,
    /// Whether it books nodes for a later time, so that their failure breaks a promise.
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
        has_walltimes: false,
        wants_deadlines: false,
        has_followers: false,
        stages_data: false,
        books_nodes: false,
    };
}

/// Keys of sites and users that are about one system; `fits` is whether this one has to do with it.
#[derive(Clone, Copy)]
pub struct Own {
    pub site: fn(site: &mut Site, fits: bool, w: &mut dyn Walk),
    pub user: fn(user: &mut User, fits: bool, sites: &NameIndex<'_>, w: &mut dyn Walk),
}

impl Own {
    pub const NOTHING: Own = Own { site: |_, _, _| {}, user: |_, _, _, _| {} };
}

/// Words for traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gives {
    /// A moment at which tasks are given to sites.
    pub moment: &'static str,
    /// What has become of each of them then.
    pub task: &'static str,
    pub category: &'static str,
}

/// Of several systems that use a site the one that runs it for all of them, if any does.
pub fn host<'r>(mut rows: impl Iterator<Item = &'r Row> + Clone) -> Option<&'r Row> {
    let runs_its_own = rows.clone().find(|row| row.traits.runs_its_sites);
    runs_its_own.or_else(|| rows.find(|row| row.traits.shares_sites))
}

pub fn find(key: &str) -> Option<&'static Row> {
    ALL.iter().find(|row| row.key == key)
}

/// An actor that can be sent elsewhere.
pub type Cast = Result<BoxedActor<Message, Record>, CastError>;

/// A system as a topology has set it up.
pub trait System: Alike {
    fn row(&self) -> &'static Row;

    /// Its settings, all of them; `linked` is whether the topology has links.
    fn walk(&mut self, w: &mut dyn Walk, linked: bool);

    /// The rule that matters most, by the name that a topology gives it.
    fn policy(&self) -> Policy<'_>;

    /// The policy that plans a workflow without a run, where nobody says which.
    fn plans_by(&self) -> &str {
        self.policy().name
    }

    /// The unit of run times and ages.
    fn tick(&self) -> Span {
        Span::from_secs(1)
    }

    /// The share of a task's run time that moving its output takes, where no links say so; in millionths.
    fn ccr_millionths(&self) -> u64 {
        0
    }

    /// Whether a job that fits no site is an error before the run, and not an answer during it.
    fn must_place(&self) -> bool {
        false
    }

    /// What a topology could say so that it is none.
    fn instead_of_placing(&self) -> Option<&'static str> {
        None
    }

    /// Whether a program outside takes part in decisions at the hub.
    fn asks_outside(&self) -> bool {
        false
    }

    /// The actor at the hub, if there is one; `outsider` speaks for the program outside.
    fn hub(&self, _: &Grid<'_>, _: Option<Outsider>) -> Cast {
        Err(CastError::NoService(self.row().key))
    }

    /// What runs at a site of the grid, to which each of these may give work, and whose nodes may fail in such a way;
    /// `outsider` speaks for the program outside that decides there, if one does.
    fn site(&self, site: &Site, givers: &Givers, fails: Option<Fails>, outsider: Option<Outsider>) -> Cast;

    /// Who sees to the jobs of a user, if he does more about them than to say what has been dealt to him.
    fn user(&self, _user: &User, _grid: &Grid<'_>, _lines: &mut Lines) -> Option<Box<dyn Planner>> {
        None
    }

    /// Deals a workload out to its users.
    fn deal(&self, workload: &Workload, grid: &Grid<'_>, dealing: &mut Dealing) -> Result<(), DealError>;
}

/// A rule of a system, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy<'a> {
    /// What kind of rule it is.
    pub what: &'static str,
    pub name: &'a str,
    pub about: &'static str,
}

/// Somebody who takes decisions outside of the run: what he is, the system knows that asks for him.
pub type Outsider = Box<dyn Any + Send>;

/// The part of a grid that a system has to do with.
pub struct Grid<'a> {
    /// The seed of the run.
    pub seed: u64,
    /// Its own actor, if it has one at the hub.
    pub service: Option<ActorId>,
    /// The sites that it uses, in the topology's order, and who they are.
    pub sites: Vec<(ActorId, &'a Site)>,
    pub kinds: &'a [String],
    /// The cores of its largest site of each kind.
    pub largest: Vec<u32>,
    /// The network between its sites.
    pub network: Box<dyn Fn() -> Network + 'a>,
    /// The same between all sites of the topology, by their numbers.
    pub whole_network: Box<dyn Fn() -> Network + 'a>,
    /// Whether the topology has links.
    pub is_linked: bool,
    /// The actors of all sites of the topology, by their numbers.
    pub site_ids: &'a [ActorId],
    /// What of the topology fails.
    pub failing: Failing<'a>,
    /// All users of the topology, and who they are.
    pub users: Vec<(ActorId, &'a User)>,
}

impl Grid<'_> {
    /// Its own actor, for a system that has one at the hub.
    pub fn hub(&self) -> ActorId {
        self.service.expect("a system with a service has its actor")
    }

    /// Who brings the data of its jobs, where there are links to bring it over.
    pub fn stager(&self) -> Option<Stager> {
        self.is_linked.then(|| Stager::new((self.whole_network)(), self.site_ids.to_vec()))
    }
}

/// Who may give work to a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Givers {
    /// Services at the hub.
    pub services: Vec<ActorId>,
    /// Users, where one of its systems has no service.
    pub users: Vec<ActorId>,
}

impl Givers {
    /// Those of some systems' grids.
    pub fn of<'a>(grids: impl Iterator<Item = &'a Grid<'a>>) -> Givers {
        let mut givers = Givers::default();
        for grid in grids {
            match grid.service {
                Some(service) => givers.services.push(service),
                None => givers.users.extend(grid.users.iter().map(|(user, _)| *user)),
            }
        }
        givers
    }

    pub fn all(&self) -> impl Iterator<Item = ActorId> {
        self.services.iter().chain(&self.users).copied()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CastError {
    #[error("a [{0}] has no service at the hub")]
    NoService(&'static str),
    #[error("external programs take part in runs only")]
    NoOutsider,
    #[error("there is no {what} called {name}")]
    Unknown { what: &'static str, name: String },
}

impl CastError {
    pub fn unknown(what: &'static str, name: &str) -> CastError {
        CastError::Unknown { what, name: name.to_owned() }
    }
}

/// A system of a topology, whichever it is.
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
        self.0.walk(w, linked);
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
        Service(self.0.copy())
    }
}

impl PartialEq for Service {
    fn eq(&self, other: &Service) -> bool {
        self.0.is_like(other.0.as_ref())
    }
}

/// What every system can do because its settings can be copied and compared.
pub trait Alike: Any + Debug + Send + Sync {
    fn copy(&self) -> Box<dyn System>;
    fn is_like(&self, other: &dyn System) -> bool;
}

impl<S: System + Clone + PartialEq> Alike for S {
    fn copy(&self) -> Box<dyn System> {
        Box::new(self.clone())
    }

    fn is_like(&self, other: &dyn System) -> bool {
        (other as &dyn Any).downcast_ref::<S>() == Some(self)
    }
}
