//! Jobs that ended in the same way in all runs of a repetition, and means over them.
//!
//! Jobs of one run depend on each other, so an interval never comes from single jobs: jobs are put together in
//! clusters, which are the repetitions or, of a single one, its parts in order of submission (batch means). A mean is
//! the sum over all jobs divided by their number; its interval comes from the contribution of each cluster (ratio
//! estimator).

use std::collections::BTreeMap;

use super::shown::ROUNDING;
use crate::experiment::statistics::{Estimate, half_interval};
use crate::{JobOutcome, RunOutcomes};

/// Number of parts of a single repetition, and the least number of jobs of a part.
const PARTS: usize = 20;
const PART_JOBS_MIN: usize = 10;

/// Seconds that a run time counts as at least in a slowdown.
const SHORT: f64 = 10.0;

/// A quantity of a job in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobQuantity {
    Turnaround,
    Wait,
    /// Turnaround in run times, which count as at least 10 s; never below 1.
    Slowdown,
}

/// A job in all runs of a repetition.
pub(super) struct CommonJob<'a> {
    /// The job in the run of each contender.
    pub outcomes: Vec<&'a JobOutcome>,
    /// Names of users, and time of day at the start, of its repetition.
    pub run: &'a RunOutcomes,
    /// Shortest execution in seconds: the run time, if some run gave it whole nodes without a break.
    pub run_time: f64,
}

/// Common jobs of all repetitions, in clusters.
pub(super) struct CommonJobs<'a> {
    pub clusters: Vec<Vec<CommonJob<'a>>>,
    /// Jobs that count and ended in some run of a repetition, but not in the same way in all.
    pub others: u64,
    /// Jobs that count and ended in no run of a repetition.
    pub never_ended: u64,
    /// True if the clusters are parts of a single repetition.
    pub are_parts: bool,
}

impl JobQuantity {
    /// The quantity that a metric of runs is a mean of; None if it is none of jobs.
    pub fn of_metric(name: &str) -> Option<JobQuantity> {
        match name {
            "turnaround" => Some(JobQuantity::Turnaround),
            "job_wait" | "task_wait" => Some(JobQuantity::Wait),
            "bounded_slowdown" | "stretch_mean" | "stretch" | "slowdown" => Some(JobQuantity::Slowdown),
            _ => None,
        }
    }

    /// Name with its unit.
    pub fn label(self) -> &'static str {
        match self {
            JobQuantity::Turnaround => "turnaround, s",
            JobQuantity::Wait => "wait, s",
            JobQuantity::Slowdown => "bounded slowdown",
        }
    }
}

impl CommonJob<'_> {
    pub fn quantity_of(&self, quantity: JobQuantity, contender: usize) -> Option<f64> {
        let outcome = self.outcomes[contender];
        match quantity {
            JobQuantity::Turnaround => outcome.turnaround_seconds(),
            JobQuantity::Wait => outcome.wait(),
            JobQuantity::Slowdown => Some((outcome.turnaround_seconds()? / self.run_time.max(SHORT)).max(1.0)),
        }
    }
}

/// Number that identifies a job in the runs of a repetition.
type JobKey = (u32, u64);

impl<'a> CommonJobs<'a> {
    /// Matches the jobs of each repetition. None if a run has no outcomes, or two runs do not have the same jobs.
    /// O(jobs log jobs).
    pub fn of(repetitions: &[Vec<&'a RunOutcomes>]) -> Option<CommonJobs<'a>> {
        let mut clusters = Vec::new();
        let mut others = 0;
        let mut never_ended = 0;
        for runs in repetitions {
            let matched = match_jobs(runs)?;
            others += matched.others;
            never_ended += matched.never_ended;
            clusters.push(matched.common);
        }
        let are_parts = clusters.len() == 1;
        if are_parts {
            clusters = in_parts(clusters.remove(0));
        }
        let has_jobs = clusters.iter().any(|jobs| !jobs.is_empty());
        has_jobs.then_some(CommonJobs { clusters, others, never_ended, are_parts })
    }

    /// All jobs in one cluster, if they are parts of a single repetition: means without intervals.
    pub fn without_parts(mut self) -> CommonJobs<'a> {
        if self.are_parts {
            self.clusters = vec![self.clusters.into_iter().flatten().collect()];
        }
        self
    }

    pub fn count(&self) -> u64 {
        self.clusters.iter().map(Vec::len).sum::<usize>() as u64
    }

    /// Each job with the index of its cluster.
    pub fn in_clusters(&self) -> impl Iterator<Item = (usize, &CommonJob<'a>)> {
        self.clusters.iter().enumerate().flat_map(|(cluster, jobs)| jobs.iter().map(move |job| (cluster, job)))
    }

    /// Sums of a quantity by contender and cluster, over the jobs that have it in all runs. O(jobs * contenders).
    pub fn quantity_sums(&self, quantity: JobQuantity, contenders: usize) -> Vec<Vec<ClusterSum>> {
        let mut sums = vec![vec![(0.0, 0.0); self.clusters.len()]; contenders];
        for (cluster, job) in self.in_clusters() {
            let numbers = (0..contenders).map(|contender| job.quantity_of(quantity, contender));
            let Some(numbers) = numbers.collect::<Option<Vec<f64>>>() else { continue };
            for (own, number) in sums.iter_mut().zip(numbers) {
                own[cluster] = (own[cluster].0 + number, own[cluster].1 + 1.0);
            }
        }
        sums
    }
}

/// Sum over jobs of a cluster, and their number.
pub(super) type ClusterSum = (f64, f64);

/// Mean over clusters, each with its sum and count; clusters without any count for nothing. It has no interval if there
/// are only two and both have the same mean.
pub(super) fn mean_of_clusters(sums: &[ClusterSum]) -> Option<Estimate> {
    let filled: Vec<ClusterSum> = sums.iter().copied().filter(|(_, count)| *count > 0.0).collect();
    let (sum, count) = filled.iter().fold((0.0, 0.0), |(sum, count), one| (sum + one.0, count + one.1));
    if count == 0.0 {
        return None;
    }
    let mean = sum / count;
    let size = count / filled.len() as f64;
    let pulls: Vec<f64> = filled.iter().map(|(sum, count)| (sum - mean * count) / size).collect();
    // That two clusters agree may be chance.
    let has_spread = |within: &f64| filled.len() > 2 || *within > ROUNDING * mean.abs();
    Some(Estimate { mean, within: half_interval(&pulls).filter(has_spread), count: count as usize })
}

/// Mean difference of two sums over the same jobs, paired by cluster.
pub(super) fn mean_difference(own: &[ClusterSum], base: &[ClusterSum]) -> Option<Estimate> {
    let pairs = own.iter().zip(base);
    mean_of_clusters(&pairs.map(|(own, base)| (own.0 - base.0, own.1)).collect::<Vec<ClusterSum>>())
}

/// The jobs of one repetition that count.
struct MatchedJobs<'a> {
    /// Jobs that ended in the same way in all runs, in order of submission in the first run.
    common: Vec<CommonJob<'a>>,
    /// Number of others that ended in some run.
    others: u64,
    never_ended: u64,
}

/// Matches the jobs of one repetition. None if the runs do not have the same jobs.
fn match_jobs<'a>(runs: &[&'a RunOutcomes]) -> Option<MatchedJobs<'a>> {
    let (&first, rest) = runs.split_first()?;
    let by_log = runs.iter().all(|run| has_unique_numbers(run));
    let tables: Vec<BTreeMap<JobKey, &JobOutcome>> =
        rest.iter().map(|run| run.jobs.iter().map(|job| (match_key(job, by_log), job)).collect()).collect();
    let mut common = Vec::new();
    let mut matched = 0u64;
    let mut unlike = 0u64;
    let mut others = 0u64;
    let mut never_ended = 0u64;
    for job in &first.jobs {
        let found: Vec<&JobOutcome> =
            tables.iter().filter_map(|table| table.get(&match_key(job, by_log)).copied()).collect();
        let is_everywhere = found.len() == rest.len();
        matched += u64::from(is_everywhere);
        unlike += u64::from(is_everywhere && found.iter().any(|other| !is_like(job, other)));
        if !job.counts {
            continue;
        }
        if is_everywhere && job.ended.is_some() && found.iter().all(|other| job.ended_like(other)) {
            let outcomes: Vec<&JobOutcome> = std::iter::once(job).chain(found).collect();
            let run_time = outcomes.iter().filter_map(|job| job.execution_seconds()).fold(f64::INFINITY, f64::min);
            common.push(CommonJob { outcomes, run: first, run_time });
        } else if job.ended.is_some() || found.iter().any(|other| other.ended.is_some()) {
            others += 1;
        } else {
            never_ended += 1;
        }
    }
    common.sort_by_key(|job| (job.outcomes[0].submitted, job.outcomes[0].run));
    let same_jobs = matched > 0 && unlike * 2 <= matched;
    same_jobs.then_some(MatchedJobs { common, others, never_ended })
}

fn match_key(job: &JobOutcome, by_log: bool) -> (u32, u64) {
    if by_log { job.log } else { (0, job.run) }
}

/// False if it is certainly another job.
fn is_like(job: &JobOutcome, other: &JobOutcome) -> bool {
    job.cores.is_none() || other.cores.is_none() || job.cores == other.cores
}

fn has_unique_numbers(run: &RunOutcomes) -> bool {
    let mut numbers: Vec<JobKey> = run.jobs.iter().map(|job| job.log).collect();
    numbers.sort_unstable();
    numbers.windows(2).all(|pair| pair[0] != pair[1])
}

/// Consecutive parts of about equal size.
fn in_parts(mut jobs: Vec<CommonJob<'_>>) -> Vec<Vec<CommonJob<'_>>> {
    let parts = (jobs.len() / PART_JOBS_MIN).clamp(1, PARTS);
    let mut clusters = Vec::new();
    for left in (1..=parts).rev() {
        let rest = jobs.split_off(jobs.len().div_ceil(left));
        clusters.push(std::mem::replace(&mut jobs, rest));
    }
    clusters
}
