//! How the sites and links of a grid fail, for whoever takes part in a run: everybody works it out alone, from topology and seed.

use super::{Cast, CastError, Grid};
use crate::grid::{Failure, Fragile, Killed, News, Outages, Recovery, Saves, Site};
use crate::kernel::ActorId;
use crate::roles;
use crate::roles::scheduler::InTurn;
use crate::roles::site::Loss;
use crate::time::Span;

/// All failures of a grid, and what is done about them.
#[derive(Clone, Copy)]
pub struct Failing<'a> {
    pub failures: &'a [Failure],
    pub recovery: &'a Recovery,
    pub seed: u64,
}

/// How one site fails.
#[derive(Clone, Debug)]
pub struct Fails {
    pub outages: Outages,
    pub failures: Vec<Failure>,
    pub recovery: Recovery,
}

/// What a site that fails does about its tasks, by how often each has been lost.
pub struct Attempts {
    recovery: Recovery,
    /// How the site fails.
    failures: Vec<Failure>,
    nodes: u32,
}

impl Failing<'_> {
    /// How a site fails, by its number; `None` if it never does.
    pub fn site(&self, site: usize) -> Option<Fails> {
        let outages = Outages::of_site(site, self.failures, self.seed)?;
        let its = |failure: &&Failure| matches!(failure.what, Fragile::Nodes { site: at, .. } if at == site);
        let failures = self.failures.iter().filter(its).cloned().collect();
        Some(Fails { outages, failures, recovery: self.recovery.clone() })
    }

    /// When a link is down, by its number; `None` if it never is.
    pub fn link(&self, link: usize) -> Option<Outages> {
        Outages::of_link(link, self.failures, self.seed)
    }
}

impl Grid<'_> {
    /// How a site of the topology fails.
    pub fn fails(&self, site: ActorId) -> Option<Fails> {
        self.failing.site(self.site_ids.iter().position(|id| *id == site)?)
    }

    /// What its service hears of the nodes of a site, if they fail.
    pub fn news(&self, id: ActorId, site: &Site) -> Option<News> {
        self.fails(id).map(|fails| News::new(fails.outages, site.latency, site.report_every))
    }
}

impl Attempts {
    /// At a site of so many nodes.
    pub fn new(fails: &Fails, nodes: u32) -> Attempts {
        let Fails { recovery, failures, .. } = fails.clone();
        Attempts { recovery, failures, nodes }
    }

    /// Whether who is lost comes before all who wait.
    pub fn are_first(&self) -> bool {
        self.recovery.killed == Killed::Head
    }

    /// How a task on so many nodes saves its work.
    fn saves(&self, nodes: u32) -> Option<Saves> {
        self.recovery.saves(&self.failures, self.nodes, nodes)
    }

    /// How long a span of work takes on so many nodes, with its checkpoints.
    pub fn stretched(&self, work: Span, nodes: u32) -> Span {
        self.saves(nodes).map_or(work, |saves| saves.stretched(work))
    }

    /// A task starts on so many nodes that has been lost so often; says what is done if it is lost again. If that is to be told, it does
    /// not come again here.
    pub fn starts(&self, losses: u32, nodes: u32) -> Loss {
        let is_last = losses.saturating_add(1) >= self.recovery.attempts;
        let is_told = is_last || matches!(self.recovery.killed, Killed::Back | Killed::Lost);
        Loss { saves: self.saves(nodes), is_told }
    }
}

/// What is left of some work, of which so much is saved: not nothing, for there is something to be done yet.
pub fn left_of(work: Span, saved: Span) -> Span {
    Span::from_micros(work.micros().saturating_sub(saved.micros()).max(1))
}

/// The site of a service that decides what runs there, and gives it task by task.
pub(super) fn in_turn(site: &Site, givers: &[ActorId], fails: Option<Fails>) -> Cast {
    if let Some(Fails { outages, failures, recovery }) = fails {
        let manager = Box::new(InTurn::new(recovery, failures));
        let actor = roles::Site::new(site.cores, manager, givers.iter().copied());
        return Ok(Box::new(actor.telling_every(site.report_every).failing(Some(outages))));
    }
    roles::Site::of(site, givers)
        .map(|actor| Box::new(actor) as _)
        .ok_or_else(|| CastError::unknown("site scheduler", &site.scheduler))
}
