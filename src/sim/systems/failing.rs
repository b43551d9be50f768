//! Failures of the sites and links of a grid. Each participant in a run computes them by itself, from topology and
//! seed.

use super::{ActorError, Built, Grid, Senders};
use crate::grid::{Failure, FailureTarget, News, Outages, Recovery, Site};
use crate::kernel::ActorId;
use crate::roles;
use crate::roles::scheduler::{self, InTurn};
use crate::roles::site::{Attempts, Manager};
use crate::time::Span;

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
        let failures = self
            .failures
            .iter()
            .filter(|failure| matches!(failure.what, FailureTarget::Nodes { site: at, .. } if at == site))
            .cloned()
            .collect();
        Some(Fails { outages, failures, recovery: self.recovery.clone() })
    }

    /// Outages of a link, by its number; `None` if it never fails.
    pub fn link(&self, link: usize) -> Option<Outages> {
        Outages::of_link(link, self.failures, self.seed)
    }
}

impl Grid<'_> {
    /// Failures of a site of the topology.
    pub fn site_failures(&self, site: ActorId) -> Option<Fails> {
        self.failing.site(self.site_ids.binary_search(&site).ok()?)
    }

    /// News for its service about the nodes of a site, if they fail.
    pub fn news(&self, id: ActorId, site: &Site) -> Option<News> {
        self.news_every(id, site, site.report_every)
    }

    /// Like [`Grid::news`], sent at whole multiples of a period.
    pub fn news_every(&self, id: ActorId, site: &Site, period: Span) -> Option<News> {
        self.site_failures(id).map(|fails| News::new(fails.outages, site.latency, period))
    }
}

impl Fails {
    /// The rules of a manager for lost tasks, at a site with this many nodes.
    pub fn attempts(&self, nodes: u32) -> Attempts {
        Attempts::new(self.recovery.clone(), self.failures.clone(), nodes)
    }
}

/// The site of a service that decides what runs there, and sends it single tasks.
pub(super) fn in_turn(site: &Site, senders: &Senders, fails: Option<Fails>) -> Built {
    in_turn_under(site, senders, fails, |manager| manager)
}

/// Like [`in_turn`], with a manager around the one that starts tasks.
pub(super) fn in_turn_under(
    site: &Site,
    senders: &Senders,
    fails: Option<Fails>,
    around: impl FnOnce(Box<dyn Manager>) -> Box<dyn Manager>,
) -> Built {
    let manager: Box<dyn Manager> = match &fails {
        Some(fails) => Box::new(InTurn::new(fails.attempts(site.cores))),
        None => match scheduler::find_scheduler(&site.scheduler) {
            Some(row) => (row.build)(),
            None => return Err(ActorError::unknown("site scheduler", &site.scheduler)),
        },
    };
    build_site_actor(site, around(manager), senders, fails)
}

/// The actor of a site with this manager.
pub(super) fn build_site_actor(
    site: &Site,
    manager: Box<dyn Manager>,
    senders: &Senders,
    fails: Option<Fails>,
) -> Built {
    let actor = roles::Site::new(site.cores, manager, senders.all()).with_report_period(site.report_every);
    Ok(Box::new(actor.with_outages(fails.map(|fails| fails.outages))))
}
