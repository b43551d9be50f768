//! The planner's row, and the actors of its grid.

use super::{CORES_MAX, Planner, Planning, Resource, plans};
use crate::systems::distribute::distribute_submissions;
use crate::systems::failing::in_turn;
use crate::systems::prelude::*;

pub const ROW: SystemRow = SystemRow {
    key: "workflow",
    about: "workflows that are planned as a whole over sites and links",
    service: Some("planner"),
    sources: &["workflow", "layered", "parallel", "cybershake", "table", "market"],
    also: &[],
    schedulers: roles::scheduler_names,
    own: Own::NOTHING,
    traits: Traits { has_speeds: true, has_site_times: true, ..Traits::NONE },
    cores_max: CORES_MAX,
    gives: Gives { moment: "planner", task: "sent to its site", category: "plan" },
    plans: plans::ALL,
    usual: || Service::new(Planning::default()),
};

impl System for Planning {
    fn system_row(&self) -> &'static SystemRow {
        &ROW
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, _: bool) {
        self.settings(w);
    }

    fn main_policy(&self) -> Policy<'_> {
        let about = super::Policy::ALL.iter().find(|(_, policy, _)| *policy == self.policy).map_or("", |found| found.2);
        Policy { what: "Planner", name: self.name(), about }
    }

    fn time_unit(&self) -> Span {
        Span::from_minutes(1)
    }

    fn refuses_misfits(&self) -> bool {
        true
    }

    /// A site starts a task as it arrives, since the planner sends a task to cores only after it has learned of the end
    /// of the one before it there.
    fn has_settled_answers(&self, site: &Site) -> bool {
        site.report_every.is_zero()
    }

    fn build_hub(&self, grid: &Grid<'_>, _: Option<ExternalDecider>) -> Built {
        let sites = grid.sites.iter().map(|(id, site)| (*id, Resource::from_site(site)));
        let news = (0..).zip(&grid.sites).filter_map(|(site, (id, known))| Some((site, grid.news(*id, known)?)));
        let planner = Planner::new(self.clone(), sites.collect(), (grid.network)());
        let planner = planner.with_outages(news.collect(), grid.failing.recovery.clone());
        Ok(Box::new(planner.with_prompt_sites(grid.prompt_sites())))
    }

    fn build_site(
        &self,
        site: &Site,
        senders: &Senders,
        fails: Option<Fails>,
        _: Ranking,
        _: Option<ExternalDecider>,
    ) -> Built {
        in_turn(site, senders, fails)
    }

    fn distribute_workload(
        &self,
        workload: &Workload,
        grid: &Grid<'_>,
        distribution: &mut Distribution,
    ) -> Result<(), DistributeError> {
        distribute_submissions(workload, grid, self.time_unit(), distribution, |job| {
            grid.check_placeable(job)?;
            grid.check_placeable_by_times(job)
        })
    }
}

impl Resource {
    /// A site as planning sees it.
    pub fn from_site(site: &Site) -> Resource {
        Resource { cores: site.cores, kind: site.kind, speed_millionths: site.speed_millionths, latency: site.latency }
    }
}
