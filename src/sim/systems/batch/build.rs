//! The row of batch queues in the table of systems, and the actors of their grid.

use std::sync::Arc;

use super::dispatcher::check_task;
use super::known_site::Allowed;
use super::stock::Queued;
use super::{Batch, Dispatch, Dispatcher, KnownSite, QueueManager, Takes};
use crate::grid::{Named, Needs, Staging};
use crate::protocol::{Enqueue, Message};
use crate::roles::{Follower, Followers, StreamedJobs, queue};
use crate::systems::DataLimit;
use crate::systems::managers::{self, Execution};
use crate::systems::prelude::*;
use crate::workload::JobSource;
use crate::workload::rigids::{Handed, Rigids};

pub const ROW: SystemRow = SystemRow {
    key: "batch",
    about: "rigid jobs in a queue at each site, assigned by a dispatcher",
    service: Some("dispatcher"),
    sources: &["swf", "batsim", "sacct", "slurm-events", "lublin", "table"],
    also: &[],
    schedulers: policy_names,
    own: Own::NOTHING,
    traits: Traits {
        shares_sites: true,
        takes_managers: true,
        has_planners: true,
        has_reserved: true,
        orders_queue: true,
        is_rigid: true,
        has_walltimes: true,
        has_followers: true,
        stages_data: true,
        ..Traits::NONE
    },
    cores_max: u64::MAX,
    gives: Gives { moment: "dispatcher", task: "submitted to a queue", category: "dispatch" },
    plans: &[],
    usual: || Service::new(Batch::default()),
};

impl System for Batch {
    fn system_row(&self) -> &'static SystemRow {
        &ROW
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, _: bool) {
        self.settings(w);
    }

    fn main_policy(&self) -> Policy<'_> {
        let about =
            Dispatch::ALL.iter().find(|(_, dispatch, _)| *dispatch == self.dispatch).map_or("", |found| found.2);
        Policy { what: "Dispatch policy", name: self.dispatch.word(), about }
    }

    fn build_hub(&self, grid: &Grid<'_>, _: Option<ExternalDecider>) -> Built {
        let news = grid.sites.iter().map(|(id, site)| grid.news(*id, site));
        let prompt = grid.prompt_sites();
        let known = known_sites(grid).zip(&grid.sites).zip(news).map(|((known, (id, site)), news)| {
            let has_others = site.systems.len() > 1 || news.is_some();
            let known = if prompt.contains(id) { known.starting_older(has_others) } else { known };
            known.with_outages(news)
        });
        let dispatcher = Dispatcher::new(known.collect(), self.dispatch, grid.stager());
        Ok(Box::new(dispatcher.recovering(grid.failing.recovery.clone())))
    }

    /// Ends and refusals only lead to records of the dispatcher, unless a policy counts the work of a site, a lost or
    /// staged job has to be placed again or brought back, or a user waits for the end.
    fn decides_by_users(&self, grid: &Grid<'_>, workloads: &[Workload]) -> bool {
        let counts_work = match self.dispatch {
            Dispatch::First | Dispatch::RoundRobin => false,
            Dispatch::LeastWork => {
                grid.sites.len() > 1
                    && !workloads.iter().all(|workload| match &workload.source {
                        Source::Rigid(rigids) => rigids.site.is_some(),
                        _ => false,
                    })
            }
        };
        let may_fail = grid.sites.iter().any(|(id, _)| grid.site_failures(*id).is_some());
        !counts_work
            && !may_fail
            && !grid.is_linked
            && !workloads.iter().any(|workload| match &workload.source {
                Source::Rigid(rigids) => rigids.has_followers(),
                _ => false,
            })
    }

    fn build_site(
        &self,
        site: &Site,
        senders: &Senders,
        fails: Option<Fails>,
        ranking: Ranking,
        decider: Option<ExternalDecider>,
    ) -> Built {
        let desk = || {
            let policy = queue::find_policy(&site.scheduler)?;
            let desk = QueueManager::new((policy.build)(site.cores, &site.reserved, ranking));
            let awaits = site.latency.is_zero() && policy.ranks_new_ahead(site.order);
            let desk = if awaits { desk.awaiting_new_jobs() } else { desk };
            Some(Box::new(match &fails {
                Some(fails) => desk.with_outages(fails, site.cores, &site.reserved),
                None => desk,
            }) as Box<dyn Manager>)
        };
        let manager = match desk() {
            Some(desk) => desk,
            None => (managers::find_kind(&site.scheduler)
                .ok_or_else(|| ActorError::unknown("policy for a queue", &site.scheduler))?
                .build)(site, fails.as_ref(), decider)?,
        };
        build_site_actor(site, manager, senders, fails)
    }

    fn distribute_workload(
        &self,
        workload: &Workload,
        grid: &Grid<'_>,
        distribution: &mut Distribution,
    ) -> Result<(), DistributeError> {
        let turns = workload.turns();
        if let Source::Rigid(rigids) = &workload.source {
            return distribute_rigid(rigids, &turns, grid, distribution);
        }
        let jobs = workload.source.jobs(&grid.platform(), self.time_unit(), &mut distribution.next)?;
        let source = workload.source.job_source();
        let known = known_sites(grid).collect::<Vec<KnownSite>>();
        for ((place, job), &user) in jobs.into_iter().enumerate().zip(turns.iter().cycle()) {
            let needs = source.job_needs(place);
            let staging = source.job_staging(place);
            check_submission(&job, &staging, grid, &mut distribution.data)?;
            let kind = job.tasks.first().map(|task| task.kind);
            if !fits_somewhere(&job, needs, Allowed { site: None, kind }, &known) {
                distribution.misfits.add(job.id);
            }
            let arrive = job.arrive;
            let enqueue = Enqueue { job: Arc::new(job), site: None, kind, think: None, needs, staging };
            distribution.submissions[user].timed.push((arrive, grid.hub(), Message::Enqueue(enqueue)));
        }
        Ok(())
    }
}

/// Distributes jobs that are created at their submission times: checks all of them, keeps none.
fn distribute_rigid(
    rigids: &Rigids,
    turns: &[usize],
    grid: &Grid<'_>,
    distribution: &mut Distribution,
) -> Result<(), DistributeError> {
    let Distribution { next, data, submissions, misfits } = distribution;
    let first = *next;
    let staging = rigids.job_staging(0);
    let site = rigids.site.map(|site| grid.site_ids[site]);
    let known: Vec<KnownSite> = known_sites(grid).collect();
    let mut places: Vec<Vec<u32>> = vec![Vec::new(); turns.len()];
    let mut followers: Vec<Vec<Follower>> = vec![Vec::new(); turns.len()];
    rigids.hand_out(next, turns.len(), |Handed { place, job, user, after }| {
        check_submission(&job, &staging, grid, data)?;
        // Logs and models have no kinds of cores.
        if !fits_somewhere(&job, rigids.job_needs(place as usize), Allowed { site, kind: None }, &known) {
            misfits.add(job.id);
        }
        match after {
            None => places[user].push(place),
            Some((before, think)) => followers[user].push(Follower { before, place, think }),
        }
        Ok::<_, DistributeError>(())
    })?;
    let stock = Arc::new(Queued::new(rigids, first, site, followers.iter().flatten()));
    for ((places, followers), &user) in places.into_iter().zip(followers).zip(turns) {
        submissions[user].streamed.push(StreamedJobs::new(grid.hub(), stock.clone(), places));
        submissions[user].followers.push(Followers::new(grid.hub(), stock.clone(), followers));
    }
    Ok(())
}

/// The sites as the dispatcher knows them at the start of a run.
fn known_sites(grid: &Grid<'_>) -> impl Iterator<Item = KnownSite> {
    grid.sites.iter().map(move |(id, site)| KnownSite::new(*id, site.cores, kind_of_jobs(site)).of_kind(site.kind))
}

fn kind_of_jobs(site: &Site) -> Takes {
    match managers::find_kind(&site.scheduler).map(|kind| kind.runs) {
        None => Takes::Queued,
        Some(Execution::Sharing) => Takes::Shared { least_yield: managers::least_yield(&site.scheduler) },
        Some(Execution::Outside(_)) => Takes::Entrusted,
    }
}

/// True if the dispatcher finds a place for the job, at the site that `allowed` names, if it names one.
fn fits_somewhere(job: &Job, needs: Option<Needs>, allowed: Allowed, known: &[KnownSite]) -> bool {
    let [task] = job.tasks.as_slice() else { return false };
    check_task(task, needs).is_ok()
        && known.iter().any(|place| allowed.at(place) && place.could_take(task.cores, needs))
}

fn check_submission(
    job: &Job,
    staging: &Option<Staging>,
    grid: &Grid<'_>,
    data: &mut DataLimit,
) -> Result<(), DistributeError> {
    grid.check_tellable(job)?;
    data.take_staged(staging).map_err(|error| DistributeError::Job { job: job.id, error })
}

/// The queue policies that a site may name; the default is first.
pub fn policy_names() -> Vec<Named> {
    let mut all: Vec<Named> = queue::ALL.iter().map(|entry| Named { name: entry.name, about: entry.about }).collect();
    all.sort_by_key(|named| named.name != queue::USUAL);
    all
}
