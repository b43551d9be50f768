//! The market's row, and the actors of its grid.

use super::bid::{self, BidPolicy, BidUnit};
use super::offering::Offering;
use super::{Auctioneer, Cluster, Figures, Market, Unplaceable};
use crate::grid::{Graph, Program};
use crate::kernel::ActorId;
use crate::systems::distribute::distribute_submissions;
use crate::systems::failing::{in_turn, in_turn_under};
use crate::systems::prelude::*;

pub const ROW: SystemRow = SystemRow {
    key: "market",
    about: "jobs of dependent tasks whose worth decays with time, scheduled by an auctioneer",
    service: Some("auctioneer"),
    sources: &["market", "table", "workflow", "layered"],
    also: &["swf", "batsim", "sacct", "slurm-events", "lublin"],
    schedulers: roles::scheduler_names,
    own: Own::NOTHING,
    traits: Traits::NONE,
    cores_max: u64::MAX,
    gives: Gives { moment: "auction", task: "bid won", category: "bid" },
    plans: &[],
    usual: || Service::new(Market::default()),
};

impl System for Market {
    fn system_row(&self) -> &'static SystemRow {
        &ROW
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, linked: bool) {
        self.settings(w, linked);
    }

    fn main_policy(&self) -> Policy<'_> {
        let about = match bid::find_bid_policy(&self.policy) {
            Some(row) => row.about,
            None => "the bids of an external program, which [market.bidder] describes",
        };
        Policy { what: "Bid policy", name: &self.policy, about }
    }

    fn time_unit(&self) -> Span {
        self.tick
    }

    fn ccr_millionths(&self) -> u64 {
        self.ccr_millionths
    }

    fn counts_transfers(&self) -> bool {
        true
    }

    fn refuses_misfits(&self) -> bool {
        self.unplaceable == Unplaceable::Error
    }

    fn misfit_setting(&self) -> Option<&'static str> {
        Some("with `market.unplaceable = \"refuse\"`, jobs that fit nowhere are refused and the run goes on")
    }

    fn program_mut(&mut self) -> Option<&mut Program> {
        self.bidder.as_mut().map(|bidder| &mut bidder.program)
    }

    fn hub_program(&self) -> Option<(HubProgram, &Program)> {
        Some((HubProgram::Bidder, &self.bidder.as_ref()?.program))
    }

    fn build_hub(&self, grid: &Grid<'_>, decider: Option<ExternalDecider>) -> Built {
        let policy = match self.policy.as_str() {
            EXTERNAL => *decider.and_then(|decider| decider.downcast().ok()).ok_or(ActorError::NoDecider)?,
            _ => self.bids(grid.seed)?,
        };
        let auctioneer = Auctioneer::new(self.clone(), policy, grid.sites.iter().map(cluster_of_site).collect());
        let news = grid.sites.iter().enumerate();
        let news = news.filter_map(|(cluster, (id, site))| {
            // Offers count nodes that are up, so both have the same age.
            let period = if self.clears_by_messages() { self.offers_every } else { site.report_every };
            Some((cluster, grid.news_every(*id, site, period)?))
        });
        let auctioneer = auctioneer.with_outages(news.collect(), grid.failing.recovery.clone());
        let auctioneer = auctioneer.with_prompt_sites(grid.prompt_sites());
        Ok(Box::new(if grid.is_linked { auctioneer.with_network((grid.network)()) } else { auctioneer }))
    }

    /// Every manager that `scheduler` may name starts a task as it arrives, since the auctioneer sends no more than
    /// fits. A site whose ends are reported later, as by monitoring, answers later, and offers are no answers.
    fn has_settled_answers(&self, site: &Site) -> bool {
        site.report_every.is_zero() && !self.clears_by_messages()
    }

    fn offers_every(&self) -> Option<Span> {
        self.clears_by_messages().then_some(self.offers_every)
    }

    fn recorded_bids(&self) -> Option<BidUnit> {
        self.records_bids()
            .then(|| bid::find_bid_policy(self.main_policy().name).map_or(BidUnit::Number, |row| row.unit))
    }

    fn offer_at_once(&mut self) {
        self.offers_every = Span::ZERO;
    }

    fn build_site(
        &self,
        site: &Site,
        senders: &Senders,
        fails: Option<Fails>,
        _: Ranking,
        _: Option<ExternalDecider>,
    ) -> Built {
        let Some(every) = self.offers_every() else { return in_turn(site, senders, fails) };
        let [auctioneer] = senders.services[..] else { return Err(ActorError::NoService(ROW.key)) };
        in_turn_under(site, senders, fails, |manager| Box::new(Offering::new(manager, auctioneer, every)))
    }

    fn distribute_workload(
        &self,
        workload: &Workload,
        grid: &Grid<'_>,
        distribution: &mut Distribution,
    ) -> Result<(), DistributeError> {
        let weighing = self.bids(grid.seed).is_ok_and(|policy| policy.weighs_successors());
        distribute_submissions(workload, grid, self.tick, distribution, |job| {
            if self.refuses_misfits() {
                grid.check_placeable(job)?;
            }
            if weighing { self.check_measurable(job) } else { Ok(()) }
        })
    }
}

fn cluster_of_site((site, known): &(ActorId, &Site)) -> Cluster {
    Cluster { site: *site, kind: known.kind, cores: known.cores }
}

impl Market {
    fn bids(&self, seed: u64) -> Result<Box<dyn BidPolicy>, ActorError> {
        let row = bid::find_bid_policy(&self.policy).ok_or_else(|| ActorError::unknown("bid policy", &self.policy))?;
        Ok((row.build)(self, seed))
    }

    /// Checks that the work behind each task is a finite sum.
    fn check_measurable(&self, job: &Job) -> Result<(), PlacementError> {
        let figures = Figures::of_job(job, &Graph::new(job.tasks.len(), &job.edges), self, None, true);
        figures.map(drop).map_err(|error| PlacementError::Immeasurable(error.to_string()))
    }
}
