//! Registry entry of reservations, and the actors of their grid.

use std::sync::Arc;

use super::comparing::FitRule;
use super::{
    Allocates, Cluster, ClusterBook, FailingHoldManager, HoldManager, MetaScheduler, OutageView, RectEnd, Reservation,
    fit,
};
use crate::grid::{Program, Request, Reserved, Speed};
use crate::protocol::{Cancel, Message, Reserve};
use crate::systems::prelude::*;
use crate::systems::starts::StartRule;

pub const ROW: SystemRow = SystemRow {
    key: "reservation",
    about: "requests for nodes between a ready time and a deadline, answered by a meta-scheduler",
    service: Some("meta-scheduler"),
    sources: &["reservations", "requests"],
    also: &["swf", "batsim", "sacct", "slurm-events", "lublin"],
    schedulers: Vec::new,
    own: Own::NOTHING,
    traits: Traits {
        has_speeds: true,
        has_reserved: true,
        wants_deadlines: true,
        stages_data: true,
        books_nodes: true,
        ..Traits::NONE
    },
    cores_max: u64::MAX,
    gives: Gives { moment: "answers", task: "booked", category: "booking" },
    plans: &[],
    usual: || Service::new(Reservation::default()),
};

impl System for Reservation {
    fn system_row(&self) -> &'static SystemRow {
        &ROW
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, _: bool) {
        self.settings(w);
    }

    fn main_policy(&self) -> Policy<'_> {
        let about = fit::find_fit(&self.policy).map_or(fit::OUTSIDE.about, |fit| fit.about);
        Policy { what: "Fit policy", name: &self.policy, about }
    }

    fn start_rule(&self) -> Option<Box<dyn StartRule>> {
        Some(Box::new(FitRule { fit: fit::find_fit(&self.policy)?, rect_end: self.rect_end }))
    }

    fn program_mut(&mut self) -> Option<&mut Program> {
        self.allocator.as_mut()
    }

    fn hub_program(&self) -> Option<(HubProgram, &Program)> {
        Some((HubProgram::Allocator, self.allocator.as_ref()?))
    }

    fn build_hub(&self, grid: &Grid<'_>, decider: Option<ExternalDecider>) -> Built {
        let (fit, allocator) = match self.policy.as_str() {
            EXTERNAL => {
                let allocator = decider.and_then(|decider| decider.downcast::<Box<dyn Allocates>>().ok());
                // The books rank nothing.
                (&fit::ALL[0], Some(*allocator.ok_or(ActorError::NoDecider)?))
            }
            name => (fit::find_fit(name).ok_or_else(|| ActorError::unknown("fit policy", name))?, None),
        };
        let clusters = grid
            .sites
            .iter()
            .map(|(id, site)| Cluster {
                site: *id,
                latency: site.latency,
                speed: Speed(site.speed_millionths),
                is_shared: site.systems.len() > 1,
                book: open_book(site, fit, self.rect_end),
                outages: grid
                    .site_failures(*id)
                    .map(|fails| OutageView::new(fails, site.cores, site.latency, site.report_every)),
            })
            .collect();
        let meta = MetaScheduler::new(clusters, self.choose, grid.stager());
        let meta = meta.with_shape_rule(self.shape).with_prompt_sites(grid.prompt_sites());
        Ok(Box::new(meta.with_allocator(allocator)))
    }

    fn build_site(
        &self,
        site: &Site,
        senders: &Senders,
        fails: Option<Fails>,
        _: Ranking,
        _: Option<ExternalDecider>,
    ) -> Built {
        let manager: Box<dyn Manager> = match &fails {
            Some(fails) => Box::new(FailingHoldManager::new(fails.attempts(site.cores))),
            None => Box::new(HoldManager),
        };
        build_site_actor(site, manager, senders, fails)
    }

    fn distribute_workload(
        &self,
        workload: &Workload,
        grid: &Grid<'_>,
        distribution: &mut Distribution,
    ) -> Result<(), DistributeError> {
        let asks = workload.source.requests(&mut distribution.next)?;
        let sites = grid.sites.iter().map(|(_, site)| (site.cores, Speed(site.speed_millionths)));
        let turns = workload.turns();
        for (place, ((job, ask), &user)) in asks.into_iter().zip(turns.iter().cycle()).enumerate() {
            let id = job.id;
            let Request { ready, deadline, .. } = ask.request;
            grid.check_tellable(&job)?;
            let staging = workload.source.job_source().job_staging(place);
            let checked = distribution.data.take_staged(&staging);
            checked.map_err(|error| DistributeError::Job { job: id, error })?;
            if ask.request.check_shapes(&ask.shapes, sites.clone()).is_err() {
                distribution.misfits.add(id);
            }
            let reserve = Reserve { job: Arc::new(job), ready, deadline, shapes: ask.shapes, staging };
            let timed = &mut distribution.submissions[user].timed;
            timed.push((ask.request.arrive, grid.hub(), Message::Reserve(reserve)));
            if let Some(cancel) = ask.cancel {
                timed.push((cancel, grid.hub(), Message::Cancel(Cancel { job: id })));
            }
        }
        Ok(())
    }
}

/// The empty book of a cluster, with what is reserved there for other uses.
fn open_book(site: &Site, fit: &'static fit::Fit, rect_end: RectEnd) -> ClusterBook {
    let mut book = ClusterBook::new(site.cores, fit, rect_end);
    for Reserved { from, until, nodes } in &site.reserved {
        book.add(*from, *until, nodes).expect("no two of these have a node at the same time");
    }
    book
}
