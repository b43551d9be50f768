//! The row of provisioning and the actors of its grid. The system has no actor at the hub.

use std::sync::Arc;

use super::customer::Customer;
use super::desk::{Desk, DeskTerms, PlanningMode, longest_walltime};
use super::forecast::History;
use super::manager::NegotiatingManager;
use super::rules::{Provisioning, walk_site};
use super::strategy::StrategyRow;
use super::user_keys::walk_user;
use super::world::{Provider, World};
use super::{planner, plans, strategy};
use crate::grid::{Kind, PlanMode, User};
use crate::roles::Planner;
use crate::settings::format_counted;
use crate::systems::prelude::*;
use crate::systems::{NegotiatedJob, StrategyTraits, Submissions};
use crate::workload::rigids::Handed;

pub const ROW: SystemRow = SystemRow {
    key: "provisioning",
    about: "users negotiate with sites for slots, prices and reservations, without a central decision",
    service: None,
    sources: &[
        "swf",
        "batsim",
        "sacct",
        "slurm-events",
        "lublin",
        "table",
        "layered",
        "parallel",
        "cybershake",
        "workflow",
    ],
    also: &[],
    schedulers: planner::planner_names,
    own: Own { site: walk_site, user: walk_user },
    traits: Traits {
        has_speeds: true,
        shares_sites: true,
        runs_its_sites: true,
        has_terms: true,
        has_walltimes: true,
        has_followers: true,
        books_nodes: true,
        ..Traits::NONE
    },
    cores_max: u64::MAX,
    gives: Gives { moment: "users", task: "entered at a site", category: "entry" },
    plans: plans::ALL,
    usual: || Service::new(Provisioning::default()),
};

impl System for Provisioning {
    fn system_row(&self) -> &'static SystemRow {
        &ROW
    }

    fn strategy_of(&self, user: &User) -> Option<StrategyTraits> {
        let StrategyRow { bargains, pads, has_legs, .. } = *strategy::find_strategy(&user.approach.strategy)?;
        Some(StrategyTraits { bargains, pads, has_legs })
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, linked: bool) {
        self.settings(w, linked);
    }

    fn main_policy(&self) -> Policy<'_> {
        Policy {
            what: "Decided by",
            name: "users",
            about: "each user negotiates with the sites by a strategy of its own",
        }
    }

    /// The grid has no policy of its own. Most strategies plan by this one.
    fn default_planner(&self) -> &str {
        plans::ALL[0].name
    }

    fn build_site(
        &self,
        site: &Site,
        senders: &Senders,
        fails: Option<Fails>,
        _: Ranking,
        _: Option<ExternalDecider>,
    ) -> Built {
        let planner =
            planner::build_planner(&site.scheduler).ok_or_else(|| ActorError::unknown("planner", &site.scheduler))?;
        let desk = Desk::new(self.terms(site), planner, Box::new(History::new()));
        let front = NegotiatingManager::new(desk).serving(&senders.services);
        let front = match &fails {
            Some(fails) => front.with_outages(fails.clone()),
            None => front,
        };
        build_site_actor(site, Box::new(front), senders, fails)
    }

    fn build_user(&self, user: &User, grid: &Grid<'_>, submissions: &mut Submissions) -> Option<Box<dyn Planner>> {
        if submissions.negotiated.is_empty() {
            return None;
        }
        let (id, _) = *grid.users.iter().find(|(_, other)| other.name == user.name)?;
        let approach = user.approach.clone();
        let entry = strategy::find_strategy(&approach.strategy)?;
        let negotiated = std::mem::take(&mut submissions.negotiated);
        let customer = Customer::new(
            (id, grid.seed),
            World::from_grid(grid, self).seen_by(user),
            self.clone(),
            approach,
            entry,
            negotiated,
        );
        Some(Box::new(customer))
    }

    fn distribute_workload(
        &self,
        workload: &Workload,
        grid: &Grid<'_>,
        distribution: &mut Distribution,
    ) -> Result<(), DistributeError> {
        let turns = workload.turns();
        let Distribution { next, data, submissions, misfits } = distribution;
        let site = if let Source::Rigid(rigids) = &workload.source { rigids.site } else { None };
        let site = site.map(|site| grid.site_ids[site]);
        let providers: Vec<Provider> =
            grid.sites.iter().map(|(id, site)| Provider::from_site(*id, site, grid)).collect();
        let mut give = |Handed { job, user, after, .. }: Handed| {
            let (_, owner) = grid.users[turns[user]];
            grid.check_tellable(&job)?;
            let checked = check_job(&job, owner, self, grid).and_then(|()| data.take(&job.edges));
            checked.map_err(|error| DistributeError::Job { job: job.id, error })?;
            let all_fit = job.tasks.iter().all(|task| {
                providers
                    .iter()
                    .filter(|provider| site.is_none_or(|site| site == provider.site))
                    .any(|provider| provider.fits(task))
            });
            if !all_fit {
                misfits.add(job.id);
            }
            submissions[turns[user]].negotiated.push(NegotiatedJob { job: Arc::new(job), site, after });
            Ok(())
        };
        if let Source::Rigid(rigids) = &workload.source {
            return rigids.hand_out(next, turns.len(), give);
        }
        let jobs = workload.source.jobs(&grid.platform(), self.time_unit(), next)?;
        let mut jobs = jobs.into_iter().zip(0u32..);
        jobs.try_for_each(|(job, place)| give(Handed { place, job, user: place as usize % turns.len(), after: None }))
    }
}

impl Provisioning {
    pub(super) fn terms(&self, site: &Site) -> DeskTerms {
        let mode = match site.terms.mode {
            PlanMode::Exact => PlanningMode::Exact,
            PlanMode::Rebuild => PlanningMode::Rebuild,
        };
        DeskTerms {
            tariff: site.terms.tariff(),
            charge: site.terms.charge,
            cancelling: (site.terms.cancelled_millionths / 1_000) as u32,
            handing_back: site.terms.handing_back_millionths.map(|millionths| (millionths / 1_000) as u32),
            inner_slots: site.terms.inner_slots,
            edge_slots: site.terms.edge_slots,
            quotes_last: self.quotes_last,
            lease: self.lease,
            grace: self.grace,
            longest: site.terms.longest,
            ..DeskTerms::new(site.cores, mode)
        }
    }
}

/// Checks that a strategy can serve a job.
fn check_job(job: &Job, user: &User, rules: &Provisioning, grid: &Grid<'_>) -> Result<(), PlacementError> {
    let tasks = job.tasks.len();
    match user.approach.row() {
        Some(entry) if entry.has_legs => check_legs(job, user, rules, grid),
        Some(entry) if entry.is_rigid && tasks != 1 => {
            let text = format!("strategy {} is for jobs of one task, but this one has {tasks}", entry.name);
            Err(PlacementError::Immeasurable(text))
        }
        _ => Ok(()),
    }
}

/// Checks that each task of a job fits the site of its leg, and that holds can last until all of them are committed.
fn check_legs(job: &Job, user: &User, rules: &Provisioning, grid: &Grid<'_>) -> Result<(), PlacementError> {
    let Provisioning { delta, lease, .. } = *rules;
    // After the first hold, one site after the other is asked and answers, and then the commits are sent.
    let mut first = Span::ZERO;
    let mut held = Span::ZERO;
    let legs = &user.approach.legs;
    let tasks = job.tasks.len();
    let count = legs.len();
    if tasks != count {
        let tasks = format_counted(tasks as u64, "task");
        let legs = format_counted(count as u64, "leg");
        return refuse_immeasurable(format!("it has {tasks}, but its user has {legs}: expected one leg per task"));
    }
    if !job.edges.is_empty() {
        return refuse_immeasurable("its tasks wait for each other, so they cannot run at the same time".to_owned());
    }
    for (number, (task, leg)) in job.tasks.iter().zip(legs).enumerate() {
        let id = grid.site_ids[*leg];
        let Some((_, site)) = grid.sites.iter().find(|(site, _)| *site == id) else {
            return refuse_immeasurable(format!("leg {number} is at a site that no [provisioning] uses"));
        };
        if task.kind != site.kind {
            let needs = kind_name(task.kind, grid);
            let has = kind_name(site.kind, grid);
            let name = &site.name;
            return refuse_immeasurable(format!(
                "task {number} needs cores of kind {needs}, but its leg is at {name}, which has {has}"
            ));
        }
        if task.cores > site.cores {
            let cores = task.cores;
            let has = site.cores;
            let name = &site.name;
            return refuse_immeasurable(format!(
                "task {number} needs {cores} cores, but its leg is at {name}, which has {has}"
            ));
        }
        let provider = Provider::from_site(id, site, grid);
        if !provider.fits(task) {
            let asks = provider.time(task.walltime);
            let name = &site.name;
            let most = longest_walltime(site.terms.longest);
            return refuse_immeasurable(format!(
                "task {number} asks for {asks}, but its leg is at {name}, which accepts up to {most}"
            ));
        }
        let latency = site.latency + user.latency;
        if latency >= delta {
            let user = &user.name;
            let name = &site.name;
            return refuse_immeasurable(format!(
                "a message between {user} and {name} takes {latency}: expected a larger delta, found {delta}"
            ));
        }
        held = held + latency + latency;
        if number == 0 {
            first = latency;
        }
    }
    let least = Span::from_micros((held + delta + delta).micros() - first.micros());
    if lease < least {
        return refuse_immeasurable(format!(
            "its sites hold for {}, one after the other, and wait for a commit for up to twice delta: expected a lease of at least {least}, \
             found {lease}",
            user.name
        ));
    }
    Ok(())
}

fn refuse_immeasurable(text: String) -> Result<(), PlacementError> {
    Err(PlacementError::Immeasurable(text))
}

fn kind_name<'g>(kind: Kind, grid: &'g Grid<'_>) -> &'g str {
    grid.kinds.get(usize::from(kind.0)).map_or("", String::as_str)
}
