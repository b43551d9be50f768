//! Layered workflows of parallel tasks, as drawn in G. Singh's thesis on provisioning.
//!
//! Layers have about equal sizes, and each task of a later one waits for two of the previous layer. Run times and
//! processors are ours: the thesis gives their means.

use serde::Serialize;

use super::workflow::parallel::Parallel;
use super::{JobSource, Platform, Source, SourceRow, Train, WorkloadError};
use crate::grid::{DATA_MAX, Job, JobId, Kind, Workflow};
use crate::math;
use crate::random::{SplitMix64, mix_bits};
use crate::settings::limits::{CORES_MAX, TASKS_MAX};
use crate::settings::{Context, Fields, Fit, Maybe, Volume, Walk, format_counted, key};
use crate::time::Span;

/// A series of workflows of one shape, each with its own graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Generator {
    pub seed: u64,
    pub train: Train,
    pub tasks: u32,
    /// Number of layers; the square root of the number of tasks by default.
    pub depth: Option<u32>,
    /// Mean number of processors of a task.
    pub cores: u32,
    /// Bytes on each edge.
    pub data: u64,
    pub kind: Kind,
}

pub const ROW: SourceRow = SourceRow {
    name: "parallel",
    about: "random layered workflows of parallel tasks, each of which depends on two of the layer before",
    read: |w, context| {
        let mut generator = Generator::with_defaults(context);
        generator.walk_settings(w, context);
        Source::Parallel(generator)
    },
};

const WORKFLOWS_MAX: u32 = 100_000;
/// Twice the mean must be a valid number of cores.
const MEAN_MAX: u32 = CORES_MAX / 2;

impl Generator {
    fn with_defaults(context: &Context<'_>) -> Generator {
        Generator { seed: context.seed, train: Train::ONE, tasks: 100, depth: None, cores: 6, data: 0, kind: Kind(0) }
    }

    fn shape(&self) -> Parallel {
        let root = math::ln(f64::from(self.tasks)) / 2.0;
        let root = (math::exp(root) + 0.5).floor() as u32;
        Parallel { tasks: self.tasks, depth: self.depth.unwrap_or(root).max(1), procs: self.cores, bytes: self.data }
    }

    /// The workflow of this number; its random stream depends only on the number and the seed.
    pub fn workflow(&self, number: u32) -> Workflow {
        let mut stream = SplitMix64::new(mix_bits(mix_bits(self.seed).wrapping_add(u64::from(number))));
        let mut workflow = self.shape().draw(&mut stream);
        workflow.name = format!("parallel-{}-{number}", self.seed);
        workflow
    }

    fn check(&self, fields: &Fields<'_>, context: &Context<'_>) {
        self.train.check(u128::from(self.tasks) * u128::from(Parallel::LONGEST.micros()), fields);
        if self.shape().depth > self.tasks {
            let depth = self.shape().depth;
            let tasks = self.tasks;
            fields.complain(format!(
                "expected at most as many layers as tasks, found a depth of {depth} for {tasks} tasks"
            ));
        }
        if u128::from(self.data) * 2 * u128::from(self.tasks) > u128::from(DATA_MAX) {
            fields.complain(format!("expected edges that together carry at most {DATA_MAX} bytes"));
        }
        let most = 2 * self.cores - 1;
        if let (Fit::Must(hint), Some((name, largest))) = (context.fit, context.largest(self.kind))
            && most > largest
            && let Some(field) = fields.get("cores")
        {
            let message = format!("tasks need up to {most} cores, but the largest site of kind {name} has {largest}");
            let mean = format!("`cores = {}` is the most that fits", largest.div_ceil(2));
            fields.diagnostics().add(field.diagnostic(message).hint(mean).hints(hint));
        }
    }
}

impl JobSource for Generator {
    fn source_name(&self) -> &'static str {
        ROW.name
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        context.walk_seed(&mut self.seed, w);
        self.train.walk(WORKFLOWS_MAX, self.seed, w, context);
        w.set(key("tasks", "of a workflow").means("the number of tasks of a workflow"), &mut self.tasks, 1..=TASKS_MAX);
        let depth = key("depth", "the number of its layers").usual("the square root of the number of tasks");
        w.set(depth, &mut self.depth, Maybe(1..=TASKS_MAX));
        let cores = key("cores", "cores of a task on average; they vary from 1 to nearly twice as many");
        w.set(cores, &mut self.cores, 1..=MEAN_MAX);
        w.set(key("data", "the volume that each edge carries"), &mut self.data, Volume { most: DATA_MAX });
        context.walk_kind(&mut self.kind, "the kind of core that the tasks need", w);
        if let Some(fields) = w.written_fields() {
            self.check(fields, context);
        }
    }

    fn jobs_in_all(&self) -> u64 {
        self.train.workflows.into()
    }

    fn tasks_in_all(&self) -> u64 {
        u64::from(self.train.workflows) * u64::from(self.tasks)
    }

    fn create_jobs(&self, _: &Platform, _: Span) -> Result<Vec<Job>, WorkloadError> {
        Ok(self
            .train
            .arrivals()
            .map(|(number, arrive)| {
                let workflow = self.workflow(number);
                let tasks = self.train.tasks(number, &workflow, self.kind);
                let edges = workflow.edges;
                Job { id: JobId(0), arrive, first_task: 0, tasks, edges, worth: None, times: None }
            })
            .collect())
    }

    fn describe_jobs(&self) -> (&'static str, String) {
        ("workflow", format!("generated, of {}", format_counted(self.tasks.into(), "parallel task")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflows_are_evenly_spaced_and_depend_on_their_number_only() {
        let usual = Generator::with_defaults(&Context::without_grid());
        let three = Generator {
            train: Train { workflows: 3, every: Span::from_secs(60), ..Train::ONE },
            tasks: 50,
            data: 9,
            ..usual
        };
        let jobs = three.create_jobs(&Platform::default(), Span::ZERO).unwrap();
        assert_eq!(jobs.iter().map(|job| job.arrive.micros()).collect::<Vec<_>>(), [0, 60_000_000, 120_000_000]);
        assert_ne!(jobs[0].tasks, jobs[1].tasks);
        let one = Generator { train: Train::ONE, ..three.clone() }.create_jobs(&Platform::default(), Span::ZERO);
        assert_eq!(one.unwrap()[..], jobs[..1]);
        // Seven layers, the square root of fifty.
        let workflow = three.workflow(2);
        assert_eq!((workflow.depth(), workflow.tasks.len()), (7, 50));
        assert!(workflow.edges.iter().all(|edge| edge.data == 9));
        assert!(workflow.tasks.iter().all(|task| (1..=11).contains(&task.cores)));
        assert_eq!(Generator { depth: Some(3), ..three }.workflow(0).depth(), 3);
    }
}
