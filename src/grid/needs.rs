//! What tasks need of nodes that they share.

use serde::{Deserialize, Serialize};

/// What each of a job's parallel tasks needs of the node that it is on, as shares of what a node has: above 0, at most
/// 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Needs {
    /// What it can use of the processors; with less it is slower.
    pub cpu: f64,
    /// What it fills of the memory; with less it does not run at all.
    pub memory: f64,
}

impl Needs {
    /// A node to itself.
    pub const NODE: Needs = Needs { cpu: 1.0, memory: 1.0 };

    /// Sums of shares may exceed a whole by so much: they come rounded.
    pub const TOLERANCE: f64 = 1e-9;

    /// Whether both are shares at all; strangers may send anything.
    pub fn make_sense(self) -> bool {
        let is_share = |share: f64| share > 0.0 && share <= 1.0;
        is_share(self.cpu) && is_share(self.memory)
    }

    /// The fewest nodes that have memory for so many tasks, and processors for this part of what they can use of them.
    pub fn nodes(self, tasks: u32, least_yield: f64) -> u32 {
        let a_node = (1.0 + Needs::TOLERANCE) / self.memory.max(least_yield * self.cpu);
        tasks.div_ceil(a_node.floor().clamp(1.0, u32::MAX.into()) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_go_on_as_few_nodes_as_their_memory_lets_them() {
        let nodes = |memory, tasks| Needs { cpu: 1.0, memory }.nodes(tasks, 0.0);
        assert_eq!((nodes(1.0, 3), nodes(0.5, 3), nodes(0.51, 3)), (3, 2, 3));
        // Ten tenths are a whole, however they are rounded.
        assert_eq!((nodes(0.1, 10), nodes(0.1, 11), nodes(1.0 / 3.0, 3), nodes(1e-300, u32::MAX)), (1, 2, 1, 1));
    }

    #[test]
    fn each_task_may_have_to_get_a_part_of_what_it_can_use() {
        let nodes = |cpu, tasks| Needs { cpu, memory: 0.001 }.nodes(tasks, 0.01);
        assert_eq!((nodes(1.0, 100), nodes(1.0, 101), nodes(0.5, 200), nodes(0.5, 201)), (1, 2, 1, 2));
        assert_eq!((nodes(0.1, 1000), nodes(0.01, 1000)), (1, 1));
    }

    #[test]
    fn what_is_no_share_makes_no_sense() {
        for wrong in [0.0, -0.1, 1.0 + 1e-12, f64::NAN, f64::INFINITY] {
            assert!(!Needs { cpu: wrong, memory: 0.5 }.make_sense(), "{wrong}");
            assert!(!Needs { cpu: 0.5, memory: wrong }.make_sense(), "{wrong}");
        }
        assert!(Needs::NODE.make_sense());
    }
}
