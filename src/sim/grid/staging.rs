//! Data of a job of one task: its input and output.

use serde::{Deserialize, Serialize};

use super::DATA_MAX;

/// Data volumes of a job, and their home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging {
    pub volumes: Volumes,
    /// Site that stores its input and receives its output, as an index into the topology's.
    pub home: u32,
}

impl Staging {
    /// True if input has to be transferred to the job's site before it may start.
    pub fn has_input(&self) -> bool {
        self.volumes.input > 0
    }
}

/// Volumes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volumes {
    pub input: u64,
    pub output: u64,
}

impl Volumes {
    pub const NOTHING: Volumes = Volumes { input: 0, output: 0 };

    /// True if both are at most [`DATA_MAX`].
    pub fn are_valid(&self) -> bool {
        self.input <= DATA_MAX && self.output <= DATA_MAX
    }

    pub fn sum(&self) -> u128 {
        u128::from(self.input) + u128::from(self.output)
    }
}
