//! Jobs written out one by one in a topology file.

use serde::Serialize;

use crate::grid::{Edge, Job, JobId, Task, Worth};
use crate::time::Time;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// In order of submission.
    pub jobs: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    pub arrive: Time,
    pub tasks: Vec<Task>,
    pub edges: Vec<Edge>,
    pub worth: Option<Worth>,
}

impl Table {
    /// The jobs as they stand, not numbered yet.
    pub(super) fn jobs(&self) -> Vec<Job> {
        self.jobs.iter().map(Entry::job).collect()
    }
}

impl Entry {
    fn job(&self) -> Job {
        let Entry { arrive, tasks, edges, worth } = self.clone();
        Job { id: JobId(0), arrive, first_task: 0, tasks, edges, worth }
    }
}
