//! The market paper's workload generator.

use serde::Serialize;

use crate::grid::Kind;

/// Parameters of the generator, all as in the specification's section on workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Generator {
    pub seed: u64,
    pub jobs: u32,
    pub load: f64,
    pub load_basis: LoadBasis,
    /// Fewest and most tasks of a job.
    pub tasks: (u32, u32),
    /// Smallest and largest total run time of a job, in ticks.
    pub total_runtime: (u64, u64),
    /// Most cores of a task.
    pub cores_max: u32,
    /// The usual kind and the other one.
    pub kinds: [Kind; 2],
    /// The usual kind's share of the tasks.
    pub kind_share: f64,
    /// Mean of the exponential that, floored and plus one, is the number of parents.
    pub degree: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadBasis {
    Total,
    Bottleneck,
}
