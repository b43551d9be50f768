//! Requests for nodes, and their validity.

use serde::{Deserialize, Serialize};

use super::{Area, Job, LONGEST, Speed, Task};
use crate::time::{Span, Time};

/// A rigid job that is to run once, uninterrupted, between its ready time and its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    pub arrive: Time,
    /// Earliest start.
    pub ready: Time,
    pub duration: Span,
    /// Latest end.
    pub deadline: Time,
    pub nodes: u32,
}

/// One of the shapes of a malleable job, which it keeps while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobShape {
    pub nodes: u32,
    /// Requested time at speed 1.
    pub duration: Span,
    /// Actual run time at speed 1.
    pub runtime: Span,
}

/// Largest number of shapes of a request.
pub const SHAPES_MAX: usize = 16;

impl JobShape {
    /// True if these can be the shapes of a malleable job, of which its task has the first.
    pub fn are_of(shapes: &[JobShape], job: &Job) -> bool {
        let [Task { runtime, cores: nodes, walltime: duration, .. }] = job.tasks[..] else { return false };
        shapes.first() == Some(&JobShape { nodes, duration, runtime }) && (2..=SHAPES_MAX).contains(&shapes.len())
    }
}

/// Reason why a request is invalid. Such requests change nothing and count in no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Invalid {
    #[error("it is not one task")]
    NotOneTask,
    #[error("it requests no node")]
    NoNodes,
    #[error("it requests more nodes than there are at any site to which it may go")]
    TooManyNodes,
    #[error("it has no duration")]
    NoDuration,
    #[error("it is ready before it arrives")]
    ReadyBeforeArrival,
    #[error("its deadline is before its earliest end")]
    DeadlineTooEarly,
    #[error("its times are too large for a run")]
    TooLate,
    #[error("it has already been requested")]
    Duplicate,
    #[error("what it needs of a node is not a share of a node")]
    NoShare,
    #[error("its tasks need more memory in all than the nodes of any site have that it may go to")]
    TooMuchMemory,
    #[error("it requests more time than any site allows that is large enough")]
    TooLong,
    #[error("its tasks need more processor, at the lowest yield, than the nodes of any site have that it may go to")]
    TooMuchCpu,
}

impl Invalid {
    pub const ALL: [Invalid; 12] = [
        Invalid::NotOneTask,
        Invalid::NoNodes,
        Invalid::TooManyNodes,
        Invalid::NoDuration,
        Invalid::ReadyBeforeArrival,
        Invalid::DeadlineTooEarly,
        Invalid::TooLate,
        Invalid::Duplicate,
        Invalid::NoShare,
        Invalid::TooMuchMemory,
        Invalid::TooLong,
        Invalid::TooMuchCpu,
    ];

    /// A short name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Invalid::NotOneTask => "not_one_task",
            Invalid::NoNodes => "no_nodes",
            Invalid::TooManyNodes => "too_many_nodes",
            Invalid::NoDuration => "no_duration",
            Invalid::ReadyBeforeArrival => "ready_before_arrival",
            Invalid::DeadlineTooEarly => "deadline_too_early",
            Invalid::TooLate => "too_late",
            Invalid::Duplicate => "duplicate",
            Invalid::NoShare => "no_share",
            Invalid::TooMuchMemory => "too_much_memory",
            Invalid::TooLong => "too_long",
            Invalid::TooMuchCpu => "too_much_cpu",
        }
    }
}

impl Request {
    /// Request for a job of one task: nodes for its walltime.
    pub fn from_job(job: &Job, ready: Time, deadline: Time) -> Result<Request, Invalid> {
        let [task] = job.tasks.as_slice() else { return Err(Invalid::NotOneTask) };
        Ok(Request { arrive: job.arrive, ready, duration: task.walltime, deadline, nodes: task.cores })
    }

    /// The request in another shape.
    pub fn shaped(&self, shape: &JobShape) -> Request {
        Request { nodes: shape.nodes, duration: shape.duration, ..*self }
    }

    /// Checks a request with several shapes: each must have nodes and a duration, and the sites must be able to serve
    /// one of them. Without shapes, this is [`Request::check_at`].
    pub fn check_shapes(
        &self,
        shapes: &[JobShape],
        sites: impl Iterator<Item = (u32, Speed)> + Clone,
    ) -> Result<(), Invalid> {
        let own = self.check_at(sites.clone());
        match shapes.iter().find(|shape| shape.nodes == 0 || shape.duration.is_zero()) {
            Some(JobShape { nodes: 0, .. }) => Err(Invalid::NoNodes),
            Some(_) => Err(Invalid::NoDuration),
            None if shapes.iter().any(|shape| self.shaped(shape).check_at(sites.clone()).is_ok()) => Ok(()),
            None => own,
        }
    }

    /// Checks against sites with these numbers of nodes and speeds: one of them must have enough nodes, and the fastest
    /// of those must be able to end in time.
    pub fn check_at(&self, sites: impl Iterator<Item = (u32, Speed)> + Clone) -> Result<(), Invalid> {
        let largest = sites.clone().map(|(nodes, _)| nodes).max().unwrap_or_default();
        let fastest = sites.filter(|(nodes, _)| *nodes >= self.nodes).map(|(_, speed)| speed.0).max();
        let duration = match fastest {
            Some(speed) if !self.duration.is_zero() => Speed(speed).time(self.duration),
            _ => self.duration,
        };
        Request { duration, ..*self }.check(largest)
    }

    /// Checks against a site with this many nodes, before any look into its calendar.
    pub fn check(&self, nodes: u32) -> Result<(), Invalid> {
        let over = self.ready.micros().checked_add(self.duration.micros());
        match over {
            _ if self.nodes == 0 => Err(Invalid::NoNodes),
            _ if self.nodes > nodes => Err(Invalid::TooManyNodes),
            _ if self.duration.is_zero() => Err(Invalid::NoDuration),
            _ if self.ready < self.arrive => Err(Invalid::ReadyBeforeArrival),
            None => Err(Invalid::TooLate),
            Some(over) if self.deadline.micros() < over => Err(Invalid::DeadlineTooEarly),
            _ if self.deadline.since(Time::ZERO) > LONGEST => Err(Invalid::TooLate),
            _ => Ok(()),
        }
    }

    /// Latest start; `None` if no start from `now` on can end in time.
    pub fn latest_start(&self, now: Time) -> Option<Time> {
        let latest = Time::from_micros(self.deadline.micros().checked_sub(self.duration.micros())?);
        (self.ready.max(now) <= latest).then_some(latest)
    }

    /// Requested area in node time.
    pub fn area(&self) -> Area {
        Area::of(self.nodes, self.duration)
    }

    /// Time from ready until `end`, divided by the duration.
    pub fn slowdown(&self, end: Time) -> f64 {
        end.since(self.ready).micros() as f64 / self.duration.micros() as f64
    }
}
