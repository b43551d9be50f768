//! What is free and what is asked for on each node.

use super::Need;
use super::need::slots;

/// How many tasks of a job are on which nodes: `(node, tasks)`, ascending, none of them 0. Empty for who is on none.
pub type Places = Vec<(u32, u32)>;

/// The nodes of a cluster as the greedy algorithms see them.
#[derive(Clone, Debug)]
pub(super) struct Room {
    /// Free memory of each node.
    pub free: Vec<f64>,
    /// Sum of the needs for processors of each node's tasks; may be above 1.
    pub load: Vec<f64>,
}

impl Room {
    /// With these jobs on their nodes. Sums are made afresh, in the order given, so that nothing drifts.
    pub fn with<'a>(nodes: u32, jobs: impl IntoIterator<Item = (&'a Need, &'a Places)>) -> Room {
        let nodes = nodes as usize;
        let mut room = Room { free: vec![1.0; nodes], load: vec![0.0; nodes] };
        jobs.into_iter().for_each(|(need, places)| room.add(need, places));
        room
    }

    /// Whether a job's memory could be there, told from sums only: false where it surely is not, now or once there is less.
    pub fn may_fit(&self) -> impl Fn(&Need) -> bool + use<> {
        let widest = self.free.iter().copied().fold(0.0, f64::max);
        let nodes = self.free.len() as u64;
        move |need| slots(widest, need.memory).saturating_mul(nodes) >= need.tasks.into()
    }

    fn add(&mut self, need: &Need, places: &Places) {
        for &(node, tasks) in places {
            let tasks = f64::from(tasks);
            self.free[node as usize] -= tasks * need.memory;
            self.load[node as usize] += tasks * need.cpu;
        }
    }
}
