//! Jobs in ten groups by work, and the results of each group.
//!
//! It holds all jobs of a run at once, so it stores columns, and omits those without information: 24 bytes per job
//! where jobs have no deadlines.

use super::core::Mean;
use super::summary::SizeGroup;

const GROUPS: usize = 10;

#[derive(Default)]
pub(super) struct SizeColumns {
    /// Core microseconds.
    work: Vec<u128>,
    /// SLR of each job; NaN if it has none.
    slr: Vec<f64>,
    /// Deadlines from some job on; none before has one.
    deadlines: Option<Deadlines>,
}

struct Deadlines {
    first: usize,
    each: Vec<Deadline>,
}

/// Deadline result of a job, if it has one: true if it starved, and its SLR, or its final deadline if it starved.
type Deadline = Option<(bool, Option<f64>)>;

impl SizeColumns {
    /// Columns for so many jobs.
    pub fn of(jobs: usize) -> SizeColumns {
        SizeColumns { work: Vec::with_capacity(jobs), slr: Vec::with_capacity(jobs), deadlines: None }
    }

    pub fn add(&mut self, work: u128, slr: Option<f64>, deadline: Deadline) {
        let first = self.work.len();
        if deadline.is_some() && self.deadlines.is_none() {
            self.deadlines = Some(Deadlines { first, each: Vec::with_capacity(self.work.capacity() - first) });
        }
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.each.push(deadline);
        }
        self.work.push(work);
        self.slr.push(slr.unwrap_or(f64::NAN));
    }

    /// The groups, from the smallest jobs to the largest.
    pub fn groups(self) -> Vec<SizeGroup> {
        let count = self.work.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        // Equal work is left in the order of numbers.
        order.sort_unstable_by_key(|job| (self.work[*job as usize], *job));
        let groups = (0..GROUPS).map(|group| &order[group * count / GROUPS..(group + 1) * count / GROUPS]);
        groups.filter(|group| !group.is_empty()).map(|group| self.group(group)).collect()
    }

    fn group(&self, jobs: &[u32]) -> SizeGroup {
        let mean = |what: &dyn Fn(usize) -> Option<f64>| {
            let mut mean = Mean::default();
            jobs.iter().filter_map(|job| what(*job as usize)).for_each(|number| mean.add(number));
            mean.get()
        };
        let slr = |job: usize| Some(self.slr[job]).filter(|slr| !slr.is_nan());
        let starved = |job: usize| self.deadline(job).map(|(starved, _)| f64::from(u8::from(starved)));
        SizeGroup {
            jobs: jobs.len() as u64,
            slr: mean(&slr),
            slr_censored: mean(&|job| self.deadline(job)?.1),
            starved: mean(&starved),
        }
    }

    fn deadline(&self, job: usize) -> Deadline {
        let deadlines = self.deadlines.as_ref()?;
        *deadlines.each.get(job.checked_sub(deadlines.first)?)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    type Job = (u128, Option<f64>, Deadline);

    /// Whole jobs, sorted: the plain way.
    fn plainly(mut jobs: Vec<Job>) -> Vec<SizeGroup> {
        jobs.sort_by_key(|job| job.0);
        let count = jobs.len();
        let group = |jobs: &[Job]| {
            let mean = |what: &dyn Fn(&Job) -> Option<f64>| {
                let numbers: Vec<f64> = jobs.iter().filter_map(what).collect();
                (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
            };
            SizeGroup {
                jobs: jobs.len() as u64,
                slr: mean(&|job| job.1),
                slr_censored: mean(&|job| job.2?.1),
                starved: mean(&|job| job.2.map(|(starved, _)| f64::from(u8::from(starved)))),
            }
        };
        let groups = (0..GROUPS).map(|number| &jobs[number * count / GROUPS..(number + 1) * count / GROUPS]);
        groups.filter(|jobs| !jobs.is_empty()).map(group).collect()
    }

    #[test]
    fn columns_make_the_same_groups_as_whole_jobs() {
        let mut stream = SplitMix64::new(7);
        for count in [0, 1, 9, 10, 64, 333] {
            // Deadlines from the start, from some job on, or for none.
            for first in [0, count / 2, count] {
                let mut sizes = SizeColumns::of(count);
                let mut jobs = Vec::new();
                for number in 0..count {
                    let slr = (stream.unit() < 0.8).then(|| 1.0 + stream.unit());
                    let starved = stream.unit() < 0.3;
                    let censored = if starved { Some(9.0) } else { slr };
                    let deadline = (number >= first && stream.unit() < 0.7).then_some((starved, censored));
                    let work = u128::from(stream.int(1, 20)) << 60;
                    sizes.add(work, slr, deadline);
                    jobs.push((work, slr, deadline));
                }
                assert_eq!(sizes.groups(), plainly(jobs), "{count} jobs, deadlines from {first}");
            }
        }
    }
}
