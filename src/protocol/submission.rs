//! User to router and back: here is a job; this became of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grid::{Job, JobId};

/// A user hands in a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submit {
    pub job: Arc<Job>,
}

/// The router tells a user how a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub job: JobId,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Every task has run to its end.
    Completed,
    /// Given up after its final deadline; it will never finish.
    Removed,
    /// Not taken in at all.
    Refused,
}
