//! Jobs in ten groups by work, by run time, and by critical path, and the results of each group.
//!
//! It holds all jobs of a run at once, so it stores columns, and omits those without information: 24 bytes per job
//! where jobs are single tasks without deadlines.

use crate::results::core::Mean;
use crate::results::summary::SizeGroup;
use hansa_sim::time::Span;

const GROUPS: usize = 10;

/// Size of a job, by each meaning.
#[derive(Clone, Copy)]
pub(crate) struct JobSize {
    /// Work in core microseconds.
    pub work: u128,
    /// Run time, summed over the tasks.
    pub runtime: Span,
    pub critical_path: Span,
}

#[derive(Default)]
pub(crate) struct SizeColumns {
    /// Work of each job, in core microseconds.
    work: Vec<u128>,
    /// None where each job is a single task.
    lengths: Option<Lengths>,
    /// SLR of each job; NaN if it has none.
    slr: Vec<f64>,
    /// Deadlines, from the first job with a deadline on.
    deadlines: Option<Deadlines>,
}

struct Lengths {
    /// Run time of each job, summed over its tasks.
    runtime: Vec<Span>,
    critical_path: Vec<Span>,
}

/// Ten groups for each meaning of size, from the smallest jobs to the largest.
pub(crate) struct SizeGroups {
    pub by_work: Vec<SizeGroup>,
    /// Groups by run time; empty if each job is a single task.
    pub by_runtime: Vec<SizeGroup>,
    /// Groups by critical path; empty if each job is a single task.
    pub by_critical_path: Vec<SizeGroup>,
}

struct Deadlines {
    first: usize,
    each: Vec<Deadline>,
}

/// Deadline result of a job, if it has one: true if it starved, and its SLR, or its final deadline if it starved.
type Deadline = Option<(bool, Option<f64>)>;

impl SizeColumns {
    /// Empty columns with room for this many jobs.
    pub fn of(jobs: usize, has_workflows: bool) -> SizeColumns {
        SizeColumns {
            work: Vec::with_capacity(jobs),
            lengths: has_workflows
                .then(|| Lengths { runtime: Vec::with_capacity(jobs), critical_path: Vec::with_capacity(jobs) }),
            slr: Vec::with_capacity(jobs),
            deadlines: None,
        }
    }

    pub fn add(&mut self, size: JobSize, slr: Option<f64>, deadline: Deadline) {
        let first = self.work.len();
        if deadline.is_some() && self.deadlines.is_none() {
            self.deadlines = Some(Deadlines { first, each: Vec::with_capacity(self.work.capacity() - first) });
        }
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.each.push(deadline);
        }
        self.work.push(size.work);
        if let Some(lengths) = &mut self.lengths {
            lengths.runtime.push(size.runtime);
            lengths.critical_path.push(size.critical_path);
        }
        self.slr.push(slr.unwrap_or(f64::NAN));
    }

    pub fn into_groups(self) -> SizeGroups {
        let by_length = |length: fn(&Lengths) -> &[Span]| match &self.lengths {
            Some(lengths) => self.groups_by(length(lengths)),
            None => Vec::new(),
        };
        SizeGroups {
            by_work: self.groups_by(&self.work),
            by_runtime: by_length(|lengths| &lengths.runtime),
            by_critical_path: by_length(|lengths| &lengths.critical_path),
        }
    }

    fn groups_by<S: Ord + Copy>(&self, sizes: &[S]) -> Vec<SizeGroup> {
        let count = sizes.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        // Equal jobs are left in the order of numbers.
        order.sort_unstable_by_key(|job| (sizes[*job as usize], *job));
        let groups = (0..GROUPS).map(|group| &order[group * count / GROUPS..(group + 1) * count / GROUPS]);
        groups.filter(|group| !group.is_empty()).map(|group| self.group_means(group)).collect()
    }

    fn group_means(&self, jobs: &[u32]) -> SizeGroup {
        SizeGroup {
            jobs: jobs.len() as u64,
            slr: mean_over(&|job: usize| Some(self.slr[job]).filter(|slr| !slr.is_nan()), jobs),
            slr_censored: mean_over(&|job| self.deadline_of(job)?.1, jobs),
            starved: mean_over(
                &|job: usize| self.deadline_of(job).map(|(starved, _)| f64::from(u8::from(starved))),
                jobs,
            ),
        }
    }

    fn deadline_of(&self, job: usize) -> Deadline {
        let deadlines = self.deadlines.as_ref()?;
        *deadlines.each.get(job.checked_sub(deadlines.first)?)?
    }
}

fn mean_over(what: &dyn Fn(usize) -> Option<f64>, jobs: &[u32]) -> Option<f64> {
    let mut mean = Mean::default();
    jobs.iter().filter_map(|job| what(*job as usize)).for_each(|number| mean.add(number));
    mean.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_sim::random::SplitMix64;

    type Job = (JobSize, Option<f64>, Deadline);

    /// Whole jobs, sorted: the plain way.
    fn plainly<S: Ord>(jobs: &[Job], size: impl Fn(&JobSize) -> S) -> Vec<SizeGroup> {
        let mut jobs = jobs.to_vec();
        jobs.sort_by_key(|job| size(&job.0));
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
        for (count, has_workflows) in
            [(0, true), (1, true), (9, false), (10, true), (64, true), (333, true), (64, false)]
        {
            // Deadlines from the start, from some job on, or for none.
            for first in [0, count / 2, count] {
                let mut sizes = SizeColumns::of(count, has_workflows);
                let mut jobs = Vec::new();
                for number in 0..count {
                    let slr = (stream.unit() < 0.8).then(|| 1.0 + stream.unit());
                    let starved = stream.unit() < 0.3;
                    let censored = if starved { Some(9.0) } else { slr };
                    let deadline = (number >= first && stream.unit() < 0.7).then_some((starved, censored));
                    let size = JobSize {
                        work: u128::from(stream.int(1, 20)) << 60,
                        runtime: Span::from_micros(stream.int(1, 20)),
                        critical_path: Span::from_micros(stream.int(1, 20)),
                    };
                    sizes.add(size, slr, deadline);
                    jobs.push((size, slr, deadline));
                }
                let groups = sizes.into_groups();
                let by_length = |length: fn(&JobSize) -> Span| match has_workflows {
                    true => plainly(&jobs, length),
                    false => Vec::new(),
                };
                let case = format!("{count} jobs, deadlines from {first}");
                assert_eq!(groups.by_work, plainly(&jobs, |size| size.work), "{case}");
                assert_eq!(groups.by_runtime, by_length(|size| size.runtime), "{case}");
                assert_eq!(groups.by_critical_path, by_length(|size| size.critical_path), "{case}");
            }
        }
    }
}
