//! Jobs written out one by one in a topology file.

use serde::Serialize;

use crate::grid::{Edge, Task, Worth};
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
