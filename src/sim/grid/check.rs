//! Validity of jobs, which come from files and untrusted peers.

use super::site_times::BadRow;
use super::{Job, SITE_TIMES_MAX, Task};
use crate::time::Span;

/// Longest total run time of a job's tasks, about 285 years: up to here microseconds are exact as floating point
/// numbers, and sums of a few of them do not overflow.
pub const LONGEST: Span = Span::from_micros(1 << 53);

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobError {
    #[error("the job has no tasks")]
    Empty,
    #[error("task {task} takes no time")]
    NoRuntime { task: usize },
    #[error("task {task} uses no cores")]
    NoCores { task: usize },
    #[error("the tasks together take longer than {LONGEST}")]
    TooLong,
    #[error("edge {from}-{to} names a task that the job of {tasks} tasks does not have")]
    Dangling { from: u32, to: u32, tasks: usize },
    #[error("edge {from}-{to} does not lead to a later task, so the tasks might wait for each other forever")]
    Cyclic { from: u32, to: u32 },
    #[error("edge {from}-{to} is written twice or out of order")]
    Unsorted { from: u32, to: u32 },
    #[error("a job cannot be worth {0}")]
    BadWorth(f64),
    #[error("there are run times by site for {found} tasks, but the job has {tasks}")]
    TimesCount { found: usize, tasks: usize },
    #[error("there are no run times by site, though the job says that there are")]
    NoTimes,
    #[error("there are {0} run times by site, and a job has at most {SITE_TIMES_MAX}")]
    TooManyTimes(usize),
    #[error("the run times of task {task} by site name a site twice or are out of order")]
    TimesUnsorted { task: usize },
    #[error("the least run time of task {task} by site is not {runtime}, or it takes no time")]
    BadTimes { task: usize, runtime: Span },
}

impl Job {
    /// Checks that the job can be scheduled in principle, not that it fits any site.
    pub fn check(&self) -> Result<(), JobError> {
        self.check_tasks()?;
        self.check_times()?;
        self.check_edges()?;
        match &self.worth {
            Some(worth) if !(worth.max.is_finite() && worth.max >= 0.0) => Err(JobError::BadWorth(worth.max)),
            _ => Ok(()),
        }
    }

    fn check_tasks(&self) -> Result<(), JobError> {
        if self.tasks.is_empty() {
            return Err(JobError::Empty);
        }
        let mut total = Span::ZERO;
        for (number, task) in self.tasks.iter().enumerate() {
            if task.runtime.is_zero() {
                return Err(JobError::NoRuntime { task: number });
            }
            if task.cores == 0 {
                return Err(JobError::NoCores { task: number });
            }
            let longest = self.times_of(number).and_then(|row| row.iter().map(|time| time.runtime).max());
            total = total.saturating_add(longest.unwrap_or(task.runtime));
        }
        if total > LONGEST { Err(JobError::TooLong) } else { Ok(()) }
    }

    fn check_times(&self) -> Result<(), JobError> {
        let Some(times) = &self.times else { return Ok(()) };
        let tasks = self.tasks.len();
        if times.tasks() != tasks {
            return Err(JobError::TimesCount { found: times.tasks(), tasks });
        }
        // Its other encoding, without any times, is the only one.
        if times.count() == 0 {
            return Err(JobError::NoTimes);
        }
        if times.count() > SITE_TIMES_MAX {
            return Err(JobError::TooManyTimes(times.count()));
        }
        for (task, Task { runtime, .. }) in self.tasks.iter().enumerate() {
            times.check(task, *runtime).map_err(|bad| match bad {
                BadRow::Unsorted => JobError::TimesUnsorted { task },
                BadRow::Runtime => JobError::BadTimes { task, runtime: *runtime },
            })?;
        }
        Ok(())
    }

    fn check_edges(&self) -> Result<(), JobError> {
        let mut before = None;
        for edge in &self.edges {
            let from = edge.from;
            let to = edge.to;
            let tasks = self.tasks.len();
            if from.max(to) as usize >= tasks {
                return Err(JobError::Dangling { from, to, tasks });
            }
            if from >= to {
                return Err(JobError::Cyclic { from, to });
            }
            if before >= Some((from, to)) {
                return Err(JobError::Unsorted { from, to });
            }
            before = Some((from, to));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Curve, Edge, JobId, Kind, SiteTime, SiteTimes, Speed, Worth};
    use crate::kernel::ActorId;
    use crate::time::Time;

    fn job(edges: &[(u32, u32)]) -> Job {
        let task = Task::new(Span::from_secs(1), 1, Kind(0));
        let edges = edges.iter().map(|&(from, to)| Edge::new(from, to)).collect();
        Job { id: JobId(0), arrive: Time::ZERO, first_task: 0, tasks: vec![task; 3], edges, worth: None, times: None }
    }

    fn complaint(change: impl FnOnce(&mut Job)) -> String {
        let mut job = job(&[(0, 1), (1, 2)]);
        change(&mut job);
        job.check().unwrap_err().to_string()
    }

    #[test]
    fn a_valid_job_passes() {
        assert_eq!(job(&[(0, 1), (0, 2), (1, 2)]).check(), Ok(()));
    }

    #[test]
    fn every_fault_is_reported() {
        let worth = |max| Some(Worth { max, curve: Curve::new(1.0, 2.0, &[]).unwrap() });
        let edges = |edges: &[(u32, u32)]| job(edges).check().unwrap_err().to_string();
        assert_eq!(complaint(|job| job.tasks.clear()), "the job has no tasks");
        assert_eq!(complaint(|job| job.tasks[1].runtime = Span::ZERO), "task 1 takes no time");
        assert_eq!(complaint(|job| job.tasks[2].cores = 0), "task 2 uses no cores");
        assert_eq!(complaint(|job| job.tasks[2].runtime = Span::MAX), JobError::TooLong.to_string());
        assert_eq!(edges(&[(0, 3)]), "edge 0-3 names a task that the job of 3 tasks does not have");
        assert!(edges(&[(1, 1)]).starts_with("edge 1-1 does not lead to a later task"));
        assert!(edges(&[(2, 0)]).starts_with("edge 2-0 does not lead to a later task"));
        assert_eq!(edges(&[(0, 1), (0, 1)]), "edge 0-1 is written twice or out of order");
        assert_eq!(edges(&[(0, 2), (0, 1)]), "edge 0-1 is written twice or out of order");
        assert_eq!(complaint(|job| job.worth = worth(-1.0)), "a job cannot be worth -1");
        assert_eq!(complaint(|job| job.worth = worth(f64::NAN)), "a job cannot be worth NaN");
    }

    #[test]
    fn run_times_by_site_are_checked() {
        let time = |site, secs| SiteTime { site: ActorId(site), runtime: Span::from_secs(secs) };
        let with = |rows: Vec<Vec<SiteTime>>| complaint(|job| job.times = SiteTimes::new(rows));
        let least = job(&[]).tasks[0].runtime.micros() / 1_000_000;
        let mut fine = job(&[]);
        fine.times = SiteTimes::new(vec![vec![time(3, least), time(1, least + 1)], vec![], vec![]]);
        assert_eq!(fine.check(), Ok(()));
        let at = |site| fine.runtime_at(0, ActorId(site), Speed(2_000_000));
        assert_eq!((at(1), at(2), at(3)), (Some(Span::from_secs(least + 1)), None, Some(Span::from_secs(least))));
        assert_eq!(fine.runtime_at(1, ActorId(2), Speed(2_000_000)), Some(Span::from_micros(least * 500_000)));
        let empty: SiteTimes = serde_json::from_str(r#"{ "rows": [[], [], []] }"#).unwrap();
        assert_eq!(complaint(|job| job.times = Some(empty)), JobError::NoTimes.to_string());
        let message = with(vec![vec![time(1, least)]]);
        assert_eq!(message, "there are run times by site for 1 tasks, but the job has 3");
        let twice = with(vec![vec![], vec![time(1, least), time(1, least)], vec![]]);
        assert_eq!(twice, "the run times of task 1 by site name a site twice or are out of order");
        let other = with(vec![vec![], vec![], vec![time(1, least + 1)]]);
        assert!(other.starts_with("the least run time of task 2 by site is not "), "{other}");
        let mut long = vec![vec![time(1, least), SiteTime { site: ActorId(2), runtime: LONGEST }], vec![], vec![]];
        assert_eq!(with(long.clone()), JobError::TooLong.to_string());
        long[0] = vec![time(0, least); SITE_TIMES_MAX + 1];
        assert_eq!(with(long), JobError::TooManyTimes(SITE_TIMES_MAX + 1).to_string());
    }
}
