//! Needs of tasks that share nodes.

use serde::{Deserialize, Serialize};

/// Needs of each parallel task of a job, as fractions of its node: above 0, at most 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Needs {
    /// Processor share that it can use; with less it is slower.
    pub cpu: f64,
    /// Memory share that it fills; with less it cannot run.
    pub memory: f64,
}

impl Needs {
    /// A whole node.
    pub const NODE: Needs = Needs { cpu: 1.0, memory: 1.0 };

    /// Sums of rounded shares may exceed a whole by this much.
    pub const TOLERANCE: f64 = 1e-9;

    /// True if both are valid fractions; untrusted peers may send anything.
    pub fn are_valid(self) -> bool {
        is_share(self.cpu) && is_share(self.memory)
    }

    /// Fewest nodes with memory for `tasks` tasks, and processors for this fraction of their needs.
    pub fn nodes(self, tasks: u32, least_yield: f64) -> u32 {
        let a_node = (1.0 + Needs::TOLERANCE) / self.memory.max(least_yield * self.cpu);
        tasks.div_ceil(a_node.floor().clamp(1.0, u32::MAX.into()) as u32)
    }
}

fn is_share(share: f64) -> bool {
    share > 0.0 && share <= 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_limits_the_tasks_of_a_node() {
        let nodes = |memory, tasks| Needs { cpu: 1.0, memory }.nodes(tasks, 0.0);
        assert_eq!((nodes(1.0, 3), nodes(0.5, 3), nodes(0.51, 3)), (3, 2, 3));
        // Ten tenths are a whole despite rounding.
        assert_eq!((nodes(0.1, 10), nodes(0.1, 11), nodes(1.0 / 3.0, 3), nodes(1e-300, u32::MAX)), (1, 2, 1, 1));
    }

    #[test]
    fn the_least_yield_limits_the_tasks_of_a_node() {
        let nodes = |cpu, tasks| Needs { cpu, memory: 0.001 }.nodes(tasks, 0.01);
        assert_eq!((nodes(1.0, 100), nodes(1.0, 101), nodes(0.5, 200), nodes(0.5, 201)), (1, 2, 1, 2));
        assert_eq!((nodes(0.1, 1000), nodes(0.01, 1000)), (1, 1));
    }

    #[test]
    fn values_outside_of_0_to_1_are_invalid() {
        for wrong in [0.0, -0.1, 1.0 + 1e-12, f64::NAN, f64::INFINITY] {
            assert!(!Needs { cpu: wrong, memory: 0.5 }.are_valid(), "{wrong}");
            assert!(!Needs { cpu: 0.5, memory: wrong }.are_valid(), "{wrong}");
        }
        assert!(Needs::NODE.are_valid());
    }
}
