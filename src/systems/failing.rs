//! Failures of the sites and links of a grid. Each participant in a run computes them by itself, from topology and
//! seed.

use super::{ActorError, Built, Grid, Senders};
use crate::grid::{Failure, FailureTarget, News, Outages, Recovery, Site};
use crate::kernel::ActorId;
use crate::roles;
use crate::roles::scheduler::InTurn;
use crate::roles::site::Attempts;

/// All failures of a grid, and the recovery from them.
#[derive(Clone, Copy)]
pub struct Failing<'a> {
    pub failures: &'a [Failure],
    pub recovery: &'a Recovery,
    pub seed: u64,
}

/// Failures of one site.
#[derive(Clone, Debug)]
pub struct Fails {
    pub outages: Outages,
    pub failures: Vec<Failure>,
    pub recovery: Recovery,
}

impl Failing<'_> {
    /// Failures of a site, by its number; `None` if it never fails.
    pub fn site(&self, site: usize) -> Option<Fails> {
        let outages = Outages::of_site(site, self.failures, self.seed)?;
        let its = |failure: &&Failure| matches!(failure.what, FailureTarget::Nodes { site: at, .. } if at == site);
        let failures = self.failures.iter().filter(its).cloned().collect();
        Some(Fails { outages, failures, recovery: self.recovery.clone() })
    }

    /// Outages of a link, by its number; `None` if it never fails.
    pub fn link(&self, link: usize) -> Option<Outages> {
        Outages::of_link(link, self.failures, self.seed)
    }
}

impl Grid<'_> {
    /// Failures of a site of the topology.
    pub fn fails(&self, site: ActorId) -> Option<Fails> {
        self.failing.site(self.site_ids.binary_search(&site).ok()?)
    }

    /// News for its service about the nodes of a site, if they fail.
    pub fn news(&self, id: ActorId, site: &Site) -> Option<News> {
        self.fails(id).map(|fails| News::new(fails.outages, site.latency, site.report_every))
    }
}

impl Fails {
    /// The rules of a manager for lost tasks, at a site with so many nodes.
    pub fn attempts(&self, nodes: u32) -> Attempts {
        Attempts::new(self.recovery.clone(), self.failures.clone(), nodes)
    }
}

/// The site of a service that decides what runs there, and sends it single tasks.
pub(super) fn in_turn(site: &Site, senders: &Senders, fails: Option<Fails>) -> Built {
    if let Some(fails) = fails {
        let manager = Box::new(InTurn::new(fails.attempts(site.cores)));
        let actor = roles::Site::new(site.cores, manager, senders.all());
        return Ok(Box::new(actor.with_report_period(site.report_every).with_outages(Some(fails.outages))));
    }
    roles::Site::of(site, &senders.all().collect::<Vec<_>>())
        .map(|actor| Box::new(actor) as _)
        .ok_or_else(|| ActorError::unknown("site scheduler", &site.scheduler))
}
