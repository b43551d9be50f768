//! Workflows of parallel tasks as drawn in the thesis on provisioning, and its example from practice.

use crate::grid::{Edge, Step, Workflow};
use crate::random::SplitMix64;
use crate::time::Span;

/// Layers of about equal sizes, in which each task waits for two of the previous layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    pub tasks: u32,
    pub depth: u32,
    /// Mean number of processors of a task; uniform up to nearly twice as many.
    pub procs: u32,
    /// Bytes on each edge.
    pub bytes: u64,
}

/// Seconds, uniform.
const RUNTIME: (u64, u64) = (500, 1_500);
const PARENTS: u64 = 2;

impl Parallel {
    /// Longest run time of a task.
    pub const LONGEST: Span = Span::from_secs(RUNTIME.1);

    pub fn draw(&self, stream: &mut SplitMix64) -> Workflow {
        let mut tasks = Vec::new();
        let mut edges = Vec::new();
        let mut above = 0..0u32;
        for level in 0..self.depth.min(self.tasks) {
            let first = tasks.len() as u32;
            // The remainder makes the first layers longer.
            let width = self.tasks / self.depth + u32::from(level < self.tasks % self.depth);
            for task in first..first + width {
                let work = Span::from_secs(stream.int(RUNTIME.0, RUNTIME.1));
                let cores = stream.int(1, u64::from(2 * self.procs - 1)) as u32;
                tasks.push(Step { name: format!("task-{task}"), work, cores });
                let parents = draw_parents(above.clone(), stream);
                edges.extend(parents.into_iter().map(|from| Edge { from, to: task, data: self.bytes }));
            }
            above = first..first + width;
        }
        Workflow::new("parallel".to_owned(), tasks, edges)
            .expect("layers are in order, and nothing in them is too large")
    }
}

/// Different tasks of the layer above, as far as there are enough.
fn draw_parents(above: std::ops::Range<u32>, stream: &mut SplitMix64) -> Vec<u32> {
    let mut left: Vec<u32> = above.collect();
    let count = PARENTS.min(left.len() as u64);
    (0..count).map(|_| left.swap_remove(stream.int(0, left.len() as u64 - 1) as usize)).collect()
}

/// Tasks of CyberShake, and processors of its largest ones.
pub const CYBERSHAKE_TASKS: u32 = 8_039;
pub const CYBERSHAKE_CORES: u32 = 288;

/// CyberShake for one site: 8,039 tasks, most of them short and on one processor, after two that take a day on 288.
pub fn cybershake_workflow() -> Workflow {
    const SYNTHESES: u32 = 4_017;
    let mut tasks = vec![
        cybershake_step("fd_grid_xyz".to_owned(), 1, 1),
        cybershake_step("preSGT".to_owned(), 300, 1),
        cybershake_step("fd_grid_cvm".to_owned(), 2_100, CYBERSHAKE_CORES),
        cybershake_step("pmvl_chk1".to_owned(), 86_400, CYBERSHAKE_CORES),
        cybershake_step("pmvl_chk2".to_owned(), 86_400, CYBERSHAKE_CORES),
    ];
    let mut pairs = vec![(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (2, 4)];
    let first = tasks.len() as u32;
    tasks.extend((0..SYNTHESES).map(|number| cybershake_step(format!("synthSGT-{number}"), 519, 1)));
    tasks.extend((0..SYNTHESES).map(|number| cybershake_step(format!("peakValCal-{number}"), 1, 1)));
    for number in first..first + SYNTHESES {
        pairs.extend([(3, number), (4, number), (number, number + SYNTHESES)]);
    }
    let edges = pairs.into_iter().map(|(from, to)| Edge { from, to, data: 0 }).collect();
    Workflow::new("cybershake".to_owned(), tasks, edges).expect("it is a workflow")
}

fn cybershake_step(name: String, seconds: u64, cores: u32) -> Step {
    Step { name, work: Span::from_secs(seconds), cores }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Area;

    #[test]
    fn layers_and_tasks_have_the_requested_sizes() {
        let mut stream = SplitMix64::new(4);
        let shape = Parallel { tasks: 103, depth: 10, procs: 22, bytes: 7 };
        let flow = shape.draw(&mut stream);
        assert_eq!((flow.tasks.len(), flow.depth(), flow.edges.len()), (103, 10, 2 * (103 - 11)));
        assert!(flow.tasks.iter().all(|task| (1..=43).contains(&task.cores)));
        assert!(flow.tasks.iter().all(|task| (500..=1_500).contains(&(task.work.micros() / 1_000_000))));
        let mean = flow.tasks.iter().map(|task| task.cores).sum::<u32>() / 103;
        assert!((18..=26).contains(&mean), "{mean}");
        // In a chain, tasks have one parent each.
        let chain = Parallel { tasks: 5, depth: 5, procs: 1, bytes: 0 }.draw(&mut stream);
        assert_eq!((chain.depth(), chain.edges.len()), (5, 4));
    }

    #[test]
    fn cybershake_is_as_published() {
        let flow = cybershake_workflow();
        assert_eq!((flow.tasks.len(), flow.depth()), (CYBERSHAKE_TASKS as usize, 5));
        assert_eq!(flow.tasks.iter().map(|task| task.cores).max(), Some(CYBERSHAKE_CORES));
        let work: Area = flow.tasks.iter().map(|task| Area::of(task.cores, task.work)).sum();
        assert!((work.seconds() / 3_600.0 - 14_572.3).abs() < 0.1, "{}", work.seconds() / 3_600.0);
    }
}
