//! Nouns that several papers share.

mod check;
mod curve;
mod graph;
mod job;
mod nodes;

pub use check::{JobError, LONGEST};
pub use curve::{Curve, CurveError, Place};
pub use graph::Graph;
pub use job::{Edge, Job, JobId, Kind, Task, TaskId, Worth};
pub use nodes::NodeSet;
