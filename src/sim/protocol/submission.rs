//! User to router and back: submission and outcome of a job.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grid::{Job, JobId};

/// Submission of a job by a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submit {
    pub job: Arc<Job>,
}

/// Outcome of a job, sent by the router to its user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub job: JobId,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// All tasks have finished.
    Completed,
    /// Removed after its final deadline; it will never finish.
    Removed,
    /// The job was not accepted.
    Refused,
}
