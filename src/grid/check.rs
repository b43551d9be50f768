//! Validity of jobs, which come from files and untrusted peers.

use super::Job;
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
}

impl Job {
    /// Checks that the job can be scheduled in principle, not that it fits any site.
    pub fn check(&self) -> Result<(), JobError> {
        self.check_tasks()?;
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
            total = total + task.runtime;
        }
        if total > LONGEST { Err(JobError::TooLong) } else { Ok(()) }
    }

    fn check_edges(&self) -> Result<(), JobError> {
        let mut before = None;
        for edge in &self.edges {
            let (from, to, tasks) = (edge.from, edge.to, self.tasks.len());
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
    use crate::grid::{Curve, Edge, JobId, Kind, Task, Worth};
    use crate::time::Time;

    fn job(edges: &[(u32, u32)]) -> Job {
        let task = Task::new(Span::from_secs(1), 1, Kind(0));
        let edges = edges.iter().map(|&(from, to)| Edge::new(from, to)).collect();
        Job { id: JobId(0), arrive: Time::ZERO, first_task: 0, tasks: vec![task; 3], edges, worth: None }
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
}
