//! Free memory and load of each node.

use super::Need;
use crate::grid::NodeSet;
use crate::grid::sharing::need::TOLERANCE;

/// Number of a job's tasks on each of its nodes: `(node, tasks)`, ascending, none of them 0. Empty if the job is on no
/// node.
pub type TaskPlaces = Vec<(u32, u32)>;

/// Nodes of a cluster in the view of the greedy algorithms.
#[derive(Clone, Debug)]
pub(super) struct NodeLoads {
    /// Free memory of each node; of a node that is down, less than any task needs, however small.
    pub free: Vec<f64>,
    /// Sum of the processor needs of each node's tasks; may exceed 1.
    pub load: Vec<f64>,
}

impl NodeLoads {
    /// Room with these jobs on their nodes, and some nodes down. Sums are recomputed, in the given order, so that
    /// rounding errors do not accumulate.
    pub fn with_jobs<'a>(
        nodes: u32,
        down: &NodeSet,
        jobs: impl IntoIterator<Item = (&'a Need, &'a TaskPlaces)>,
    ) -> NodeLoads {
        let nodes = nodes as usize;
        let mut room = NodeLoads { free: vec![1.0; nodes], load: vec![0.0; nodes] };
        jobs.into_iter().for_each(|(need, places)| room.add(need, places));
        down.each().for_each(|node| room.free[node as usize] = f64::NEG_INFINITY);
        room
    }

    /// Test for jobs that may fit, now or with less room.
    pub fn fits(&self) -> Fits {
        let free = || self.free.iter().copied().filter(|free| *free > 0.0);
        let nodes = self.free.len() as u64;
        let total = free().sum::<f64>() + 2.0 * TOLERANCE * (nodes + 1) as f64;
        Fits { memory: free().fold(0.0, f64::max) + TOLERANCE, total, nodes }
    }

    fn add(&mut self, need: &Need, places: &TaskPlaces) {
        for &(node, tasks) in places {
            let tasks = f64::from(tasks);
            self.free[node as usize] -= tasks * need.memory;
            self.load[node as usize] += tasks * need.cpu;
        }
    }
}

/// A necessary condition on memory, from sums only: a job that is ruled out surely does not fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fits {
    /// Largest free memory of a node, as a bound on the memory of a task.
    pub memory: f64,
    /// Free memory of all nodes, as a bound on the memory of a job's tasks.
    total: f64,
    nodes: u64,
}

impl Fits {
    /// Bounds that rule out no job.
    pub const ALL: Fits = Fits { memory: f64::MAX, total: f64::INFINITY, nodes: u64::MAX };

    /// True if this many tasks of this memory may fit.
    pub fn may_fit(&self, memory: f64, tasks: u32) -> bool {
        let on_one_node = (self.memory / memory) as u64;
        f64::from(tasks) * memory <= self.total && on_one_node.saturating_mul(self.nodes) >= tasks.into()
    }
}

/// Nodes that are up, renumbered from 0: placement of all jobs works on these as if there were no others.
pub(super) struct UpNodes(Vec<u32>);

impl UpNodes {
    pub fn without_down(nodes: u32, down: &NodeSet) -> UpNodes {
        UpNodes(down.complement(nodes).each().collect())
    }

    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Placement in the new numbers.
    pub fn numbered(&self, places: &TaskPlaces) -> TaskPlaces {
        places.iter().map(|(node, tasks)| (self.number_of_node(node), *tasks)).collect()
    }

    fn number_of_node(&self, node: &u32) -> u32 {
        self.0.binary_search(node).expect("a job is on nodes that are up") as u32
    }

    /// Placement in the original numbers.
    pub fn original_places(&self, mut places: TaskPlaces) -> TaskPlaces {
        places.iter_mut().for_each(|(node, _)| *node = self.0[*node as usize]);
        places
    }
}
