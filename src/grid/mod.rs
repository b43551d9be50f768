//! Nouns that several papers share.

mod curve;
mod job;
mod nodes;

pub use curve::{Curve, CurveError};
pub use job::{Edge, Job, JobId, Kind, Task, TaskId, Worth};
pub use nodes::NodeSet;
