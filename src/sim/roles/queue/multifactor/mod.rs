//! Priorities of waiting jobs as Slurm's plug-in `priority/multifactor` computes them (22.05).
//!
//! A priority is the sum of weighted factors: age, fair share, size, partition and quality of service, less the nice
//! value. As in Slurm, ages and usage are those of the last multiple of a period (`calc_period`); a job that joined the
//! queue since then has age 0. A job that ends is charged at once, which counts at the next multiple.
//!
//! The state is brought to a time when the site does something ([`Priorities::advance`]). Periods between two events
//! are passed at once, as a geometric series, which differs from Slurm's sum over periods by rounding only. This costs
//! O(running jobs + users log users) if a period has passed in which jobs ran, and O(1) otherwise. Sorting a queue then
//! costs O(queue log queue), once a period.

mod fair_share;
#[cfg(test)]
pub(super) mod judge;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use self::fair_share::{FairShare, ShareTree};
use super::NodeRequest;
use crate::grid::{Multifactor, TaskId};
use crate::math::{exp, exp_m1, ln_1p};
use crate::settings::units::MILLION;
use crate::time::{Span, Time};
use crate::workload::facts::{JobFacts, JobFactsIndex};

/// Settings of a site, with the facts about its jobs: everything that does not change during a run.
#[derive(Debug)]
pub struct MultifactorRules {
    settings: Multifactor,
    facts: JobFactsIndex,
    /// Nodes of the queue: cores of the site.
    cores: u32,
    tree: Arc<ShareTree>,
    /// Factor and tier by the name of the partition; jobs that name none have those of the first.
    partitions: BTreeMap<String, (f64, u32)>,
    /// Factors of the priority and of the usage, by the name of the quality of service.
    qos_levels: BTreeMap<String, (f64, f64)>,
    /// Quality of service of jobs that name none, by user.
    usual_qos: BTreeMap<String, String>,
}

/// Part of a job's rank that stays while it waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    tier: u32,
    /// Sum of the weighted factors of size, partition and quality of service, less the nice value.
    fixed: f64,
    association: usize,
    usage_factor: f64,
}

/// Priorities of the jobs of a queue, and the usage that they depend on.
///
/// A [`Ranking`](super::Ranking) holds one for its queue. Its state changes with starts and ends of jobs, and when a
/// period is over; jobs that wait are no part of it.
#[derive(Clone, Debug)]
pub struct Priorities {
    rules: Arc<MultifactorRules>,
    fair_share: FairShare,
    /// Number of periods that have passed: ranks are those of the end of the last one.
    periods: u64,
    /// Periods at the end of which usage has not been decayed yet, as nothing was charged since.
    undecayed: u64,
    /// True if anything was charged since the factors were computed.
    is_charged: bool,
    running: BTreeMap<TaskId, RunningCharge>,
    /// True if ranks may have changed since the last call of [`Priorities::take_drift`].
    has_drifted: bool,
}

#[derive(Clone, Copy, Debug)]
struct RunningCharge {
    from: Time,
    cores: u32,
    standing: Standing,
}

impl MultifactorRules {
    /// Rules for a site with this many cores.
    pub fn new(settings: Multifactor, cores: u32, facts: JobFactsIndex) -> MultifactorRules {
        let owners: Vec<(Option<String>, Option<String>)> = facts.owners().into_iter().collect();
        let tree = Arc::new(ShareTree::new(&settings, &owners));
        let most = settings.partitions.iter().map(|partition| partition.factor).max().unwrap_or(0).max(1);
        let partitions = settings
            .partitions
            .iter()
            .map(|partition| (partition.name.clone(), (f64::from(partition.factor) / f64::from(most), partition.tier)))
            .collect();
        let most = settings.qos_levels.iter().map(|level| level.priority).max().unwrap_or(0).max(1);
        let qos_levels = settings.qos_levels.iter().map(|level| {
            let usage_factor = level.usage_factor_millionths as f64 / MILLION as f64;
            (level.name.clone(), (f64::from(level.priority) / f64::from(most), usage_factor))
        });
        let qos_levels = qos_levels.collect();
        let with_qos = settings.users.iter().filter(|user| !user.qos.is_empty());
        let usual_qos = with_qos.map(|user| (user.name.clone(), user.qos.clone())).collect();
        MultifactorRules { tree, facts, cores, partitions, qos_levels, usual_qos, settings }
    }

    fn standing(&self, request: &NodeRequest) -> Standing {
        let facts = self.facts.get(request.job.job);
        let settings = &self.settings;
        let usual_partition = settings.partitions.first().map(|partition| partition.name.as_str());
        let partition = facts.partition.as_deref().or(usual_partition);
        let (part_factor, tier) = partition.and_then(|name| self.partitions.get(name)).copied().unwrap_or((0.0, 0));
        let usual_qos = facts.user.as_ref().and_then(|user| self.usual_qos.get(user));
        let qos = facts.qos.as_ref().or(usual_qos);
        let (qos_factor, usage_factor) = qos.and_then(|name| self.qos_levels.get(name)).copied().unwrap_or((0.0, 1.0));
        let fixed = self.size_factor(request, &facts) * settings.job_size as f64
            + part_factor * settings.partition as f64
            + qos_factor * settings.qos as f64
            - facts.nice as f64;
        let association = self.tree.find(facts.user.as_deref(), facts.account.as_deref());
        Standing { tier, fixed, association, usage_factor }
    }

    /// Size factor, from 0 to 1: the mean of the job's parts of the nodes and of the cores; with `relative_to_time`,
    /// the larger part, by minutes of the walltime.
    fn size_factor(&self, request: &NodeRequest, facts: &JobFacts) -> f64 {
        let Multifactor { favor_small, relative_to_time, nodes, .. } = self.settings;
        let cores = f64::from(self.cores);
        let own_cores = f64::from(request.nodes);
        let (nodes, own_nodes) = match nodes {
            0 => (cores, own_cores),
            nodes => (f64::from(nodes), f64::from(facts.nodes.unwrap_or(1))),
        };
        let factor = if relative_to_time {
            let minutes = whole_minutes(request.walltime);
            let large = (own_nodes * cores / nodes).max(own_cores) / minutes / cores;
            if favor_small { 1.0 - large } else { large }
        } else if favor_small {
            ((nodes - own_nodes) / nodes + (cores - own_cores) / cores) / 2.0
        } else {
            (own_nodes / nodes + own_cores / cores) / 2.0
        };
        factor.clamp(0.0, 1.0)
    }
}

/// A walltime in minutes, as Slurm counts it: rounded up, and at least one.
fn whole_minutes(walltime: Span) -> f64 {
    walltime.micros().div_ceil(MICROS_PER_MINUTE).max(1) as f64
}

const MICROS_PER_MINUTE: u64 = 60_000_000;

impl Priorities {
    pub fn new(rules: Arc<MultifactorRules>) -> Priorities {
        Priorities {
            fair_share: FairShare::new(rules.tree.clone()),
            rules,
            periods: 0,
            undecayed: 0,
            is_charged: false,
            running: BTreeMap::new(),
            has_drifted: false,
        }
    }

    /// The part of a job's rank that stays while it waits.
    pub fn standing(&self, request: &NodeRequest) -> Standing {
        self.rules.standing(request)
    }

    /// Brings usage and factors to the last end of a period up to `now`.
    pub fn advance(&mut self, now: Time) {
        let passed = now.micros() / self.period_micros();
        if passed <= self.periods {
            return;
        }
        self.has_drifted = true;
        // A job that has started within a period is charged for a part of it.
        let begin = self.ranked_at();
        if self.running.values().any(|charge| charge.from > begin) {
            self.charge_periods(1);
        }
        if self.running.is_empty() {
            self.undecayed += passed - self.periods;
            self.periods = passed;
        } else if self.periods < passed {
            self.charge_periods(passed - self.periods);
        }
        if std::mem::take(&mut self.is_charged) {
            self.fair_share.refresh();
        }
    }

    /// Passes some periods, which all running jobs use alike, or one. What is charged at the end of a period decays in
    /// those after it.
    fn charge_periods(&mut self, count: u64) {
        let begin = self.ranked_at();
        let end = Time::from_micros((self.periods + 1) * self.period_micros());
        self.periods += count;
        self.undecayed += count;
        self.catch_up_decay();
        let times = self.rules.sum_of_decays(count);
        for charge in self.running.values() {
            let core_seconds = self.rules.core_seconds(charge, begin, end) * times;
            self.fair_share.charge(charge.standing.association, core_seconds);
        }
        self.is_charged = true;
    }

    /// End of the last period that has passed, as of which jobs are ranked.
    fn ranked_at(&self) -> Time {
        Time::from_micros(self.periods * self.period_micros())
    }

    fn period_micros(&self) -> u64 {
        self.rules.settings.calc_period.micros()
    }

    /// Decays usage for the periods in which nothing was charged.
    fn catch_up_decay(&mut self) {
        let periods = std::mem::take(&mut self.undecayed);
        let factor = self.rules.decay_over(self.rules.period_seconds() * periods as f64);
        if factor < 1.0 {
            self.fair_share.decay(factor);
        }
    }

    /// Records a start.
    pub fn start_job(&mut self, now: Time, request: &NodeRequest, standing: Standing) {
        self.advance(now);
        self.running.insert(request.job, RunningCharge { from: now, cores: request.nodes, standing });
    }

    /// Charges a job that ends.
    pub fn end_job(&mut self, now: Time, job: TaskId) {
        self.advance(now);
        let Some(charge) = self.running.remove(&job) else { return };
        self.catch_up_decay();
        let core_seconds = self.rules.core_seconds(&charge, self.ranked_at(), now);
        self.fair_share.charge(charge.standing.association, core_seconds);
        self.is_charged = true;
    }

    /// True if ranks may have changed since the last call, as far as the state was advanced.
    pub(super) fn take_drift(&mut self) -> bool {
        std::mem::take(&mut self.has_drifted)
    }

    pub(super) fn has_drifted(&self) -> bool {
        self.has_drifted
    }

    /// Rank of a job that waits since then; the least is first.
    pub(super) fn rank(&self, since: Time, standing: &Standing) -> (Reverse<u32>, Reverse<u32>) {
        (Reverse(standing.tier), Reverse(self.priority(since, standing)))
    }

    /// Priority of a job that waits since then, as of the end of the last period.
    pub fn priority(&self, since: Time, standing: &Standing) -> u32 {
        let settings = &self.rules.settings;
        let ranked_at = self.ranked_at();
        let waited = if ranked_at > since { (ranked_at - since).micros() } else { 0 };
        let age = (waited as f64 / settings.max_age.micros() as f64).min(1.0);
        let share = self.fair_share.factor(standing.association);
        let sum = age * settings.age as f64 + share * settings.fair_share as f64 + standing.fixed;
        // A conversion to an integer takes the floor, and stays in its range. Slurm has no priority 0 of a waiting job.
        sum.max(1.0) as u32
    }
}

impl MultifactorRules {
    /// Core seconds of a job between two times, at most a period apart. Slurm decays all of them as those at the begin.
    fn core_seconds(&self, charge: &RunningCharge, begin: Time, end: Time) -> f64 {
        let begin = begin.max(charge.from);
        if end <= begin {
            return 0.0;
        }
        let seconds = (end - begin).micros() as f64 / MICROS_PER_SECOND;
        seconds * self.decay_over(seconds) * f64::from(charge.cores) * charge.standing.usage_factor
    }

    /// Factor of usage after some seconds. Slurm approximates 2^(-1 s / half-life) as 1 - 0.693 s / half-life.
    fn decay_over(&self, seconds: f64) -> f64 {
        exp(self.decay_rate() * seconds)
    }

    /// Sum of the factors of usage after 0, 1, ..., `periods` - 1 periods.
    fn sum_of_decays(&self, periods: u64) -> f64 {
        let rate = self.decay_rate() * self.period_seconds();
        let periods = periods as f64;
        if rate == 0.0 { periods } else { exp_m1(rate * periods) / exp_m1(rate) }
    }

    /// Logarithm of the factor of usage after a second; 0 if usage does not decay.
    fn decay_rate(&self) -> f64 {
        let half_life = self.settings.half_life.micros() as f64 / MICROS_PER_SECOND;
        if half_life == 0.0 { 0.0 } else { ln_1p(-0.693 / half_life) }
    }

    fn period_seconds(&self) -> f64 {
        self.settings.calc_period.micros() as f64 / MICROS_PER_SECOND
    }
}

const MICROS_PER_SECOND: f64 = 1e6;
