//! What is free and what is asked for on each node.

use super::Need;
use super::need::TOLERANCE;
use crate::grid::NodeSet;

/// How many tasks of a job are on which nodes: `(node, tasks)`, ascending, none of them 0. Empty for who is on none.
pub type Places = Vec<(u32, u32)>;

/// The nodes of a cluster as the greedy algorithms see them.
#[derive(Clone, Debug)]
pub(super) struct Room {
    /// Free memory of each node; of one that is down less than any task needs, however little that is.
    pub free: Vec<f64>,
    /// Sum of the needs for processors of each node's tasks; may be above 1.
    pub load: Vec<f64>,
}

impl Room {
    /// With these jobs on their nodes, and some nodes down. Sums are made afresh, in the order given, so that nothing
    /// drifts.
    pub fn with<'a>(nodes: u32, down: &NodeSet, jobs: impl IntoIterator<Item = (&'a Need, &'a Places)>) -> Room {
        let nodes = nodes as usize;
        let mut room = Room { free: vec![1.0; nodes], load: vec![0.0; nodes] };
        jobs.into_iter().for_each(|(need, places)| room.add(need, places));
        down.each().for_each(|node| room.free[node as usize] = f64::NEG_INFINITY);
        room
    }

    /// Who may fit, now or once there is less.
    pub fn fits(&self) -> Fits {
        let free = || self.free.iter().copied().filter(|free| *free > 0.0);
        let nodes = self.free.len() as u64;
        let total = free().sum::<f64>() + 2.0 * TOLERANCE * (nodes + 1) as f64;
        Fits { memory: free().fold(0.0, f64::max) + TOLERANCE, total, nodes }
    }

    fn add(&mut self, need: &Need, places: &Places) {
        for &(node, tasks) in places {
            let tasks = f64::from(tasks);
            self.free[node as usize] -= tasks * need.memory;
            self.load[node as usize] += tasks * need.cpu;
        }
    }
}

/// Whose memory could be there, told from sums only: who is ruled out surely does not fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fits {
    /// What no task may exceed.
    pub memory: f64,
    /// What all tasks of a job may not exceed.
    total: f64,
    nodes: u64,
}

impl Fits {
    /// Rules nobody out.
    pub const ALL: Fits = Fits { memory: f64::MAX, total: f64::INFINITY, nodes: u64::MAX };

    /// Whether so many tasks of this memory may.
    pub fn may(&self, memory: f64, tasks: u32) -> bool {
        let on_one_node = (self.memory / memory) as u64;
        f64::from(tasks) * memory <= self.total && on_one_node.saturating_mul(self.nodes) >= tasks.into()
    }
}

/// The nodes that are up, numbered from 0: who places all jobs anew does so on these as if there were no others.
pub(super) struct Up(Vec<u32>);

impl Up {
    pub fn of(nodes: u32, down: &NodeSet) -> Up {
        Up(down.complement(nodes).each().collect())
    }

    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Where a job is, as these are numbered.
    pub fn numbered(&self, places: &Places) -> Places {
        let number = |node| self.0.binary_search(node).expect("a job is on nodes that are up") as u32;
        places.iter().map(|(node, tasks)| (number(node), *tasks)).collect()
    }

    /// And back.
    pub fn named(&self, mut places: Places) -> Places {
        places.iter_mut().for_each(|(node, _)| *node = self.0[*node as usize]);
        places
    }
}
