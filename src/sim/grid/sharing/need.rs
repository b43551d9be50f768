//! Needs of a job on a cluster.

/// Tolerance of comparisons of sums with 1, and of loads with each other.
pub(crate) const TOLERANCE: f64 = 1e-9;

/// Number of tasks of a job, and the needs of each on its node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    pub tasks: u32,
    /// Fraction of the node's processors, if it does not share them.
    pub cpu: f64,
    /// Fraction of the node's memory, always.
    pub memory: f64,
}

/// Invalid needs.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadNeed {
    #[error("a job has at least one task")]
    NoTask,
    #[error("a task needs more than 0 and at most 1 of a node's processors, not {0}")]
    Cpu(f64),
    #[error("a task needs more than 0 and at most 1 of a node's memory, not {0}")]
    Memory(f64),
}

/// Reason why a job can never be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{tasks} tasks need the memory of {needed} nodes, but there are {nodes}")]
pub struct MappingRefusal {
    pub tasks: u32,
    pub needed: u64,
    pub nodes: u32,
}

impl Need {
    pub fn new(tasks: u32, cpu: f64, memory: f64) -> Result<Need, BadNeed> {
        match (tasks, is_part(cpu), is_part(memory)) {
            (0, _, _) => Err(BadNeed::NoTask),
            (_, false, _) => Err(BadNeed::Cpu(cpu)),
            (_, _, false) => Err(BadNeed::Memory(memory)),
            _ => Ok(Need { tasks, cpu, memory }),
        }
    }

    /// Processors of all its tasks, in nodes.
    pub fn total_cpu(&self) -> f64 {
        f64::from(self.tasks) * self.cpu
    }

    /// Memory of all its tasks, in nodes.
    pub fn total_memory(&self) -> f64 {
        f64::from(self.tasks) * self.memory
    }

    /// Checks that an empty cluster of this many nodes could hold it.
    pub fn check(&self, nodes: u32) -> Result<(), MappingRefusal> {
        let needed = u64::from(self.tasks).div_ceil(count_slots(1.0, self.memory));
        if needed <= nodes.into() { Ok(()) } else { Err(MappingRefusal { tasks: self.tasks, needed, nodes }) }
    }
}

fn is_part(need: f64) -> bool {
    0.0 < need && need <= 1.0
}

/// True if a task with this memory fits into the free part of a node.
pub(crate) fn fits_memory(free: f64, memory: f64) -> bool {
    memory <= free + TOLERANCE
}

/// Number of tasks with this memory that fit into the free part of a node.
pub(crate) fn count_slots(free: f64, memory: f64) -> u64 {
    ((free + TOLERANCE) / memory).max(0.0) as u64
}
