//! The data of a job that is handed in as one task: what it needs where it runs, and what it leaves there.

use serde::{Deserialize, Serialize};

use super::DATA_MAX;

/// What crosses the network for a job, and where its data is at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging {
    pub volumes: Volumes,
    /// The site where its input lies and to which its output goes back: an index into the topology's.
    pub home: u32,
}

impl Staging {
    /// Whether there is data that has to be where the job runs before it may start.
    pub fn has_input(&self) -> bool {
        self.volumes.input > 0
    }
}

/// In bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volumes {
    pub input: u64,
    pub output: u64,
}

impl Volumes {
    pub const NOTHING: Volumes = Volumes { input: 0, output: 0 };

    /// Whether they are no larger than any data may be.
    pub fn make_sense(&self) -> bool {
        self.input <= DATA_MAX && self.output <= DATA_MAX
    }

    pub fn sum(&self) -> u128 {
        u128::from(self.input) + u128::from(self.output)
    }
}
