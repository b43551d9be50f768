//! The encoding of a job in messages and records.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::{Edge, Job, JobId, SiteTimes, Task, Worth};
use crate::time::Time;

/// The fields of a job as they are encoded.
#[derive(Deserialize)]
#[serde(rename = "Job")]
pub struct EncodedJob {
    id: JobId,
    arrive: Time,
    first_task: u32,
    tasks: Vec<Task>,
    edges: Vec<Edge>,
    extras: Extras<Worth, SiteTimes>,
}

/// Optional parts of a job in one number. The first two variants are encoded like an `Option`.
#[derive(Serialize, Deserialize)]
enum Extras<W, S> {
    Nothing,
    Worth(W),
    Times(S),
    Both(W, S),
}

impl From<EncodedJob> for Job {
    fn from(encoded: EncodedJob) -> Job {
        let EncodedJob { id, arrive, first_task, tasks, edges, extras } = encoded;
        let (worth, times) = match extras {
            Extras::Nothing => (None, None),
            Extras::Worth(worth) => (Some(worth), None),
            Extras::Times(times) => (None, Some(times)),
            Extras::Both(worth, times) => (Some(worth), Some(times)),
        };
        Job { id, arrive, first_task, tasks, edges, worth, times }
    }
}

impl Serialize for Job {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Job { id, arrive, first_task, tasks, edges, worth, times } = self;
        let extras = match (worth, times) {
            (None, None) => Extras::Nothing,
            (Some(worth), None) => Extras::Worth(worth),
            (None, Some(times)) => Extras::Times(times),
            (Some(worth), Some(times)) => Extras::Both(worth, times),
        };
        let mut fields = serializer.serialize_struct("Job", 6)?;
        fields.serialize_field("id", id)?;
        fields.serialize_field("arrive", arrive)?;
        fields.serialize_field("first_task", first_task)?;
        fields.serialize_field("tasks", tasks)?;
        fields.serialize_field("edges", edges)?;
        fields.serialize_field("extras", &extras)?;
        fields.end()
    }
}
