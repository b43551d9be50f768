//! The account of the cost of failures.

use super::{FailingLink, FailingLinks, FailingSite, Failures};
use crate::referee::tally::{Fate, JobRow};
use crate::results::account::Account;
use crate::{Summary, Tally};
use hansa_sim::time::{Span, Time};

pub struct FailureAccount<'a> {
    tally: &'a Tally,
    all: Failures,
    /// Work in node microseconds.
    work: u128,
    lost: u128,
    checkpoints: u128,
    unfinished: u128,
    recovering: Span,
    /// Number of losses at each site.
    losses: Vec<u64>,
}

impl<'a> FailureAccount<'a> {
    pub fn new(tally: &'a Tally) -> FailureAccount<'a> {
        let losses = vec![0; tally.sites.len()];
        let all = Failures::default();
        FailureAccount { tally, all, work: 0, lost: 0, checkpoints: 0, unfinished: 0, recovering: Span::ZERO, losses }
    }

    /// The interval from the first submission to the end of all work.
    fn work_window(&self) -> (Time, Time) {
        match self.tally.totals.arrivals.zip(self.tally.end_of_work()) {
            Some(((first, _), end)) => (first, end.max(first)),
            None => (Time::ZERO, Time::ZERO),
        }
    }

    /// Effects of failed links; `None`, if none fails.
    fn failing_links(&self) -> Option<FailingLinks> {
        let tally = self.tally;
        let (from, to) = self.work_window();
        let lasts = u128::from(to.since(from).micros());
        let mut links = Vec::new();
        let mut all_down = 0;
        let mut link_failures = 0;
        for link in tally.failing.failing_links() {
            let mut down = 0;
            let mut failures = 0;
            tally.failing.each_of_link(link, to, |since, until| {
                if from < until {
                    failures += 1;
                    down += u128::from(until.since(since.max(from)).micros());
                }
            });
            (all_down, link_failures) = (all_down + down, link_failures + failures);
            let name = tally.names.of_link(link);
            let availability = share_of(lasts - down, lasts);
            links.push(FailingLink { name, failures, down: down as f64 / 1e6, availability });
        }
        let there = lasts * links.len() as u128;
        let held = tally.transfers.held_up();
        (!links.is_empty()).then(|| FailingLinks {
            link_failures,
            availability: share_of(there - all_down, there),
            flows_held_up: held.flows,
            times_held_up: held.times,
            held_up: held.micros as f64 / 1e6,
            reroutes: held.reroutes,
            bytes_again: held.bytes_again,
            links,
        })
    }

    /// Node microseconds for which nodes were up, and all of them, from the first submission to the end of all work.
    fn sites(&mut self) -> (u128, u128) {
        let tally = self.tally;
        let (from, to) = self.work_window();
        let lasts = u128::from(to.since(from).micros());
        let mut all = 0;
        let mut all_down = 0;
        for (number, site) in tally.sites.iter().enumerate() {
            let mut down = 0;
            let mut failures = 0;
            tally.failing.each_outage(number, to, |one| {
                if from < one.to {
                    failures += u64::from(one.nodes.len());
                    down += u128::from(one.nodes.len()) * u128::from(one.to.since(one.from.max(from)).micros());
                }
            });
            let there = lasts * u128::from(site.cores);
            (all, all_down) = (all + there, all_down + down);
            self.all.node_failures += failures;
            if tally.failing.can_fail(number) || self.losses[number] > 0 {
                self.all.sites.push(FailingSite {
                    name: site.name.clone(),
                    nodes: site.cores.into(),
                    node_failures: failures,
                    down: down as f64 / 1e6,
                    availability: share_of(there - down, there),
                    tasks_lost: self.losses[number],
                });
            }
        }
        (all - all_down, all)
    }
}

fn share_of(part: u128, all: u128) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

impl Account for FailureAccount<'_> {
    fn job(&mut self, row: &JobRow, _: &[Option<Time>]) {
        let mut has_lost = false;
        for (index, task) in row.tasks.iter().enumerate() {
            let worked = row.work_done(index, self.tally.last, &self.tally.sites);
            for stint in task.stints(self.tally.last) {
                if stint.is_lost()
                    && let Some(site) = stint.site.or(task.site)
                {
                    self.losses[site as usize] += 1;
                }
            }
            let setbacks = task.setbacks.as_deref().copied().unwrap_or_default();
            // Sites count progress in one piece, so their numbers may slightly exceed the sum of stints.
            let [spent, wasted] = [setbacks.spent, setbacks.wasted].map(|area| u128::from(area.micros()));
            let spent = spent.min(worked);
            let wasted = wasted.min(worked - spent);
            let kept = worked - spent - wasted;
            self.work += worked;
            self.checkpoints += spent;
            self.lost += wasted;
            match row.fate {
                // A killed task has no result.
                _ if task.killed || task.preempted => self.lost += kept,
                _ if task.end.is_some() => {}
                // Its saved work is useless.
                Fate::Removed { .. } if task.awaits_restart() => self.lost += kept,
                _ => self.unfinished += kept,
            }
            has_lost |= task.is_lost();
            self.all.tasks_lost += u64::from(setbacks.lost);
            self.all.restarts += u64::from(setbacks.again);
            self.all.checkpoints += setbacks.checkpoints;
            self.recovering = self.recovering + setbacks.recovering;
        }
        self.all.given_up += u64::from(has_lost && matches!(row.fate, Fate::Removed { .. }));
    }

    /// Failures cost all jobs, and none of these numbers is a mean of jobs.
    fn add_uncounted(&mut self, row: &JobRow, ready: &[Option<Time>]) {
        self.job(row, ready);
    }

    fn close(&mut self, summary: &mut Summary) {
        let (up, there) = self.sites();
        self.all.network = self.failing_links();
        let &mut FailureAccount { work, lost, checkpoints, unfinished, .. } = self;
        let useful = work - lost - checkpoints - unfinished;
        let all = &mut self.all;
        (all.work, all.work_useful) = (micros_as_seconds(work), micros_as_seconds(useful));
        (all.work_lost, all.work_checkpoints) = (micros_as_seconds(lost), micros_as_seconds(checkpoints));
        all.work_unfinished = micros_as_seconds(unfinished);
        all.availability = share_of(up, there);
        all.goodput = share_of(useful, up);
        all.efficiency = share_of(useful, work);
        all.mean_recovery = (all.restarts > 0).then(|| self.recovering.micros() as f64 / 1e6 / all.restarts as f64);
        summary.put_part(all);
    }
}

fn micros_as_seconds(micros: u128) -> f64 {
    micros as f64 / 1e6
}
