//! The row of batch queues, and who is who on their grid.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Batch, Desk, Dispatch, Dispatcher, Place, Takes, policy};
use crate::grid::{JobId, Named, Site};
use crate::kernel::ActorId;
use crate::protocol::{Enqueue, Message};
use crate::roles;
use crate::roles::site::Manager;
use crate::settings::Walk;
use crate::systems::managers::{self, Runs};
use crate::systems::{
    Cast, CastError, DealError, Dealing, Fails, Gives, Grid, Outsider, Own, Policy, Row, Service, System,
};
use crate::time::Span;
use crate::workload::rigids::Handed;
use crate::workload::{Source, Workload};

pub const ROW: Row = Row {
    key: "batch",
    about: "rigid jobs in a queue at each site, assigned by a dispatcher",
    service: Some("dispatcher"),
    sources: &["swf", "batsim", "lublin", "table"],
    also: &[],
    schedulers: policies,
    own: Own::NOTHING,
    has_speeds: false,
    shares_sites: true,
    takes_managers: true,
    has_planners: true,
    has_terms: false,
    has_reserved: true,
    is_rigid: true,
    wants_deadlines: false,
    has_followers: true,
    stages_data: true,
    books_nodes: false,
    cores_max: u64::MAX,
    gives: Gives { moment: "dispatcher", task: "submitted to a queue", category: "dispatch" },
    plans: &[],
    usual: || Service::new(Batch::default()),
};

impl System for Batch {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn walk(&mut self, w: &mut dyn Walk, _: bool) {
        self.settings(w);
    }

    fn policy(&self) -> Policy<'_> {
        let about =
            Dispatch::ALL.iter().find(|(_, dispatch, _)| *dispatch == self.dispatch).map_or("", |found| found.2);
        Policy { what: "Dispatch policy", name: self.dispatch.word(), about }
    }

    fn hub(&self, grid: &Grid<'_>, _: Option<Outsider>) -> Cast {
        let takes = |site: &Site| match managers::find(&site.scheduler).map(|kind| kind.runs) {
            None => Takes::Queued,
            Some(Runs::Sharing) => Takes::Shared,
            Some(Runs::Outside(_)) => Takes::Entrusted,
        };
        let place = |(id, site): &(ActorId, &Site)| {
            let place = Place::new(*id, site.cores, takes(site));
            place.failing(grid.news(*id, site))
        };
        let places = grid.sites.iter().map(place);
        let dispatcher = Dispatcher::new(places.collect(), self.dispatch, grid.stager());
        Ok(Box::new(dispatcher.recovering(grid.failing.recovery.clone())))
    }

    fn site(&self, site: &Site, givers: &[ActorId], fails: Option<Fails>, outsider: Option<Outsider>) -> Cast {
        let queue = || policy::find(&site.scheduler).map(|policy| (policy.build)(site.cores, &site.reserved));
        let desk = || {
            let desk = Desk::new(queue()?);
            Some(Box::new(match &fails {
                Some(fails) => desk.failing(fails, site.cores, &site.reserved),
                None => desk,
            }) as Box<dyn Manager>)
        };
        let unknown = || CastError::unknown("policy for a queue", &site.scheduler);
        let manager = match desk() {
            Some(desk) => desk,
            None => (managers::find(&site.scheduler).ok_or_else(unknown)?.build)(site, fails.as_ref(), outsider)?,
        };
        let actor = roles::Site::new(site.cores, manager, givers.iter().copied()).telling_every(site.report_every);
        Ok(Box::new(actor.failing(fails.map(|fails| fails.outages))))
    }

    fn deal(&self, workload: &Workload, grid: &Grid<'_>, dealing: &mut Dealing) -> Result<(), DealError> {
        let users = &workload.users;
        let (handed, site) = match &workload.source {
            Source::Rigid(rigids) => (rigids.hand_out(&mut dealing.next, users.len())?, rigids.site),
            source => {
                let jobs = source.jobs(&grid.platform(), self.tick(), &mut dealing.next)?;
                let hand = |(place, job)| Handed { job, user: place % users.len(), after: None };
                (jobs.into_iter().enumerate().map(hand).collect(), None)
            }
        };
        let site = site.map(|site| grid.site_ids[site]);
        // How soon after a job another one may follow it.
        let mut thinks: BTreeMap<JobId, Span> = BTreeMap::new();
        for (before, think) in handed.iter().filter_map(|one| one.after) {
            let soonest = thinks.entry(before).or_insert(think);
            *soonest = think.min(*soonest);
        }
        for (place, Handed { job, user, after }) in handed.into_iter().enumerate() {
            grid.check_tellable(&job)?;
            let (id, arrive) = (job.id, job.arrive);
            let think = if thinks.is_empty() { None } else { thinks.get(&id).copied() };
            let needs = workload.source.needs(place);
            let staging = workload.source.staging(place);
            let checked = dealing.data.take_staged(&staging);
            checked.map_err(|error| DealError::Job { job: id, error })?;
            let enqueue = Enqueue { job: Arc::new(job), site, think, needs, staging };
            let script = &mut dealing.lines[users[user]];
            match after {
                None => script.says.push((arrive, grid.hub(), Message::Enqueue(enqueue))),
                Some((before, think)) => {
                    script.then.entry(before).or_default().push((think, grid.hub(), enqueue));
                }
            }
        }
        Ok(())
    }
}

/// The policies for queues that a site may name, the usual one first.
pub fn policies() -> Vec<Named> {
    let mut all: Vec<Named> = policy::ALL.iter().map(|entry| Named { name: entry.name, about: entry.about }).collect();
    all.sort_by_key(|named| named.name != policy::USUAL);
    all
}
