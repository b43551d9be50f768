//! Needs of rigid jobs that share nodes, for logs and models that do not state them.
//!
//! The rules are those of the experiments in H. Casanova, M. Stillwell, F. Vivien, "Dynamic fractional resource
//! scheduling vs. batch scheduling" (INRIA RR-7659).

use serde::{Deserialize, Serialize};

use super::rigid::{Kilobytes, Rigid, Unrunnable};
use crate::grid::Needs;
use crate::random::{SplitMix64, mix_bits};
use crate::words::words;

words! {
    /// Derivation of a job's needs.
    #[derive(Default)]
    Rule {
        /// Each task has a node to itself.
        #[default]
        Whole = "whole",
        /// Tasks of one or two processors, with the memory that the log records.
        DualCore = "dual-core",
        /// A task on one processor needs a quarter of a node's; memory is drawn, mostly a tenth; for jobs of a model.
        QuadCore = "quad-core",
    }
}

/// A job as tasks that share nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NeedsShape {
    pub tasks: u32,
    pub needs: Needs,
}

/// Lower bound of a task's memory share.
pub const MEMORY_MIN: f64 = 0.10;

/// Memory of a job per processor in kB, if its log states it.
pub fn job_memory(job: &Rigid) -> Option<u64> {
    job.memory_used.max(job.memory_requested).map(Kilobytes::whole_kilobytes)
}

/// Shape of a job from a log of nodes with two processors and `node_kilobytes` of memory each.
///
/// An even number of processors gives tasks of two that fill a node's processors, if the memory of both fits in a node
/// with room to spare; otherwise tasks of one that need half of them. Without memory in the log, it is the minimum.
pub fn dual_core(job: &Rigid, node_kilobytes: u64) -> Result<NeedsShape, Unrunnable> {
    let processors = job.nodes()?;
    let kilobytes = job_memory(job).unwrap_or(0);
    let memory = (kilobytes as f64 / node_kilobytes as f64).clamp(MEMORY_MIN, 1.0);
    Ok(if processors.is_multiple_of(2) && memory < 0.5 {
        NeedsShape { tasks: processors / 2, needs: Needs { cpu: 1.0, memory: 2.0 * memory } }
    } else {
        NeedsShape { tasks: processors, needs: Needs { cpu: 0.5, memory } }
    })
}

/// Probability that a task of a model fills a tenth of a node's memory; otherwise it fills any larger number of tenths.
const TENTH: f64 = 0.55;

/// Needs of jobs with these numbers of tasks, in order: the memory is drawn from a separate stream.
pub fn quad_core(seed: u64, tasks: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Needs> {
    let mut stream = SplitMix64::new(mix_bits(seed ^ u64::from_be_bytes(*b"a memory")));
    tasks.into_iter().map(move |tasks| {
        let tenths = if stream.unit() < TENTH { 1 } else { stream.int(2, 10) };
        let cpu = if tasks == 1 { 0.25 } else { 1.0 };
        Needs { cpu, memory: tenths as f64 / 10.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_dual_core_nodes_makes_tasks() {
        let whole = |kilobytes: u64| Kilobytes::from_millionths(kilobytes * 1_000_000);
        let shape = |processors, kilobytes: Option<u64>| {
            let job = Rigid { requested: Some(processors), memory_requested: kilobytes.map(whole), ..Rigid::default() };
            let NeedsShape { tasks, needs } = dual_core(&job, 2_097_152).unwrap();
            (tasks, needs.cpu, needs.memory)
        };
        assert_eq!(shape(32, None), (16, 1.0, 0.2));
        assert_eq!(shape(1, Some(409_600)), (1, 0.5, 0.1953125));
        assert_eq!(shape(4, Some(1_048_576)), (4, 0.5, 0.5));
        assert_eq!(shape(6, Some(409_600)), (3, 1.0, 0.390625));
        assert_eq!(shape(2, Some(3_000_000)), (2, 0.5, 1.0));

        // The allocation counts if nothing was requested, and the larger of two amounts of memory.
        let job = Rigid {
            allocated: Some(3),
            memory_used: Some(whole(1 << 20)),
            memory_requested: Some(whole(9)),
            ..Rigid::default()
        };
        assert_eq!(dual_core(&job, 1 << 21), Ok(NeedsShape { tasks: 3, needs: Needs { cpu: 0.5, memory: 0.5 } }));
        assert_eq!(dual_core(&Rigid::default(), 1 << 21), Err(Unrunnable::NoProcessors));
    }

    #[test]
    fn memory_is_drawn_with_its_probabilities() {
        let drawn: Vec<Needs> = quad_core(7, (0..20_000).map(|job| 1 + job % 2)).collect();
        assert!(drawn.iter().all(|needs| needs.are_valid()));
        assert_eq!((drawn[0].cpu, drawn[1].cpu), (0.25, 1.0));
        let share = |tenths: u32| {
            let these = drawn.iter().filter(|needs| needs.memory == f64::from(tenths) / 10.0);
            these.count() as f64 / drawn.len() as f64
        };
        assert!((share(1) - 0.55).abs() < 0.015, "{}", share(1));
        for tenths in 2..=10 {
            assert!((share(tenths) - 0.05).abs() < 0.006, "{tenths}: {}", share(tenths));
        }
        // Another seed gives other draws.
        assert_ne!(drawn, quad_core(8, (0..20_000).map(|job| 1 + job % 2)).collect::<Vec<_>>());
    }
}
