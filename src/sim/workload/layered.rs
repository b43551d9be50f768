//! Random layered graphs with the parameters of DAGGEN (F. Suter, S. Hunold), from its public description.
//!
//! Level by level: about `tasks ^ fat` tasks each, plus or minus `1 - regularity` of that. A task of a later level
//! waits for one to `density` times the size of the previous level, each up to `jump` levels back. Costs are ours:
//! DAGGEN counts operations of matrix codes, here times are uniform between two bounds, and `ccr` weighs data against
//! them.

use serde::{Deserialize, Serialize};

use super::workflow::CostTable;
use super::{JobSource, Platform, Source, SourceRow, Train, WorkloadError};
use crate::grid::{DATA_MAX, Edge, Job, JobId, Kind, LONGEST, Step, Workflow, WorkflowError};
use crate::math;
use crate::random::{SplitMix64, mix_bits};
use crate::settings::limits::{EDGES_MAX, TASKS_MAX, TOO_LONG_A_JOB};
use crate::settings::{
    self, Context, Field, Fields, Form, Millionths, Number, POSITIVE_SPAN, Pair, Rate, Walk, format_counted, key,
};
use crate::time::Span;

/// A series of workflows of one shape, each with its own graph and costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Generator {
    pub seed: u64,
    pub train: Train,
    pub shape: Shape,
    pub costs: Costs,
    pub kind: Kind,
}

/// Distributions of the costs of tasks and edges.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// Shortest and longest run time of a task at speed 1, uniformly distributed.
    pub runtime: (Span, Span),
    /// Ratio of communication to computation, in millionths: an edge carries what `bandwidth` transfers in this
    /// fraction of a random run time.
    pub ccr_millionths: u64,
    /// Transfer speed in bits per second, to which `ccr_millionths` refers.
    pub bandwidth: u64,
}

/// Parameters of a graph's shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    pub tasks: u32,
    /// Parallelism: a chain (near 0) up to mostly independent tasks (1).
    pub fat: f64,
    /// Fraction of the previous level's tasks that a task depends on.
    pub density: f64,
    /// Evenness of the sizes of levels, from 0 to 1: if it is 1, all levels have equal size.
    pub regularity: f64,
    /// Largest number of levels that an edge may span.
    pub jump: u32,
}

/// A graph whose edges lead from lower to higher tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layered {
    /// First task of each level, and the total number.
    pub levels: Vec<u32>,
    /// Edges, ascending by (from, to).
    pub edges: Vec<(u32, u32)>,
}

pub const ROW: SourceRow = SourceRow {
    name: "layered",
    about: "random layered workflows with the parameters of daggen",
    read: |w, context| {
        let mut generator = Generator::with_defaults(context);
        generator.walk_settings(w, context);
        Source::Layered(generator)
    },
};

const WORKFLOWS_MAX: u32 = 100_000;
const JUMP_MAX: u32 = 10_000;
const RUNTIME: &str = "the shortest and the longest run time of a task, such as [\"10 s\", \"40 s\"]";

impl Generator {
    fn with_defaults(context: &Context<'_>) -> Generator {
        Generator {
            seed: context.seed,
            train: Train::ONE,
            shape: Shape { tasks: 1, fat: 0.5, density: 0.5, regularity: 0.5, jump: 1 },
            costs: Costs {
                // Equal to the paper's, if one of its units is a second.
                runtime: (Span::from_secs(10), Span::from_secs(40)),
                ccr_millionths: 1_000_000,
                bandwidth: 1_000_000_000,
            },
            kind: Kind(0),
        }
    }
}

impl JobSource for Generator {
    fn source_name(&self) -> &'static str {
        ROW.name
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let Generator { seed, train, shape, costs, kind } = self;
        let share = Number::from(0.0, 1.0, "a number from 0 to 1");
        context.walk_seed(seed, w);
        train.walk(WORKFLOWS_MAX, *seed, w, context);
        w.set(
            key("tasks", "of a workflow")
                .means("the number of tasks of a workflow")
                .need("the number of tasks of a workflow"),
            &mut shape.tasks,
            1..=TASKS_MAX,
        );
        let fat = Number::above(0.0, 1.0, "a number above 0, up to 1");
        w.set(key("fat", "a level has about `tasks` to the power of this"), &mut shape.fat, fat);
        w.set(key("density", "the share of the level before that a task depends on"), &mut shape.density, share);
        w.set(key("regularity", "1: all levels have the same size"), &mut shape.regularity, share);
        w.set(key("jump", "the largest number of levels that an edge spans"), &mut shape.jump, 1..=JUMP_MAX);
        w.set(
            key("runtime", "of a task at speed 1").means("the shortest and the longest run time of a task at speed 1"),
            &mut costs.runtime,
            RunTimes { tasks: shape.tasks },
        );
        w.set(
            key("ccr", "communication to computation ratio: how long data takes to transfer, relative to run times"),
            &mut costs.ccr_millionths,
            Millionths::to(1_000),
        );
        w.set(
            key("bandwidth", "at which it does").means("the transfer speed for which `ccr` holds"),
            &mut costs.bandwidth,
            Rate,
        );
        context.walk_kind(kind, "the kind of core that the tasks need", w);
        if let Some(fields) = w.written_fields() {
            self.check(fields);
        }
    }

    fn jobs_in_all(&self) -> u64 {
        self.train.workflows.into()
    }

    fn tasks_in_all(&self) -> u64 {
        u64::from(self.train.workflows) * u64::from(self.shape.tasks)
    }

    fn create_jobs(&self, _: &Platform, _: Span) -> Result<Vec<Job>, WorkloadError> {
        self.train
            .arrivals()
            .map(|(number, arrive)| {
                let workflow = self.workflow(number)?;
                let tasks = self.train.tasks(number, &workflow, self.kind);
                let edges = workflow.edges;
                Ok(Job { id: JobId(0), arrive, first_task: 0, tasks, edges, worth: None, times: None })
            })
            .collect()
    }

    fn describe_jobs(&self) -> (&'static str, String) {
        ("workflow", format!("generated, layered, of {}", format_counted(self.shape.tasks.into(), "task")))
    }
}

impl Generator {
    fn check(&self, fields: &Fields<'_>) {
        let longest = self.costs.runtime.1.micros();
        self.train.check(u128::from(longest) * u128::from(self.shape.tasks), fields);
        let edges = self.shape.edges_max();
        let data = self.costs.data(longest);
        let heaviest = data.map_or(f64::INFINITY, |data| data as f64 * edges);
        if edges <= EDGES_MAX as f64 && heaviest <= DATA_MAX as f64 {
            return;
        }

        // Draws the workflows if they might be too large for a job.
        for number in 0..self.train.workflows {
            match self.workflow(number) {
                Ok(workflow) if workflow.edges.len() <= EDGES_MAX => {}
                Ok(workflow) => {
                    let found = workflow.edges.len();
                    let message = format!("expected at most {EDGES_MAX} edges, found {found} in workflow {number}");
                    return fields.complain(message);
                }
                Err(error) => return fields.complain(format!("workflow {number}: {error}")),
            }
        }
    }
}

/// Shortest and longest run time of a task.
struct RunTimes {
    tasks: u32,
}

impl Form<(Span, Span)> for RunTimes {
    fn read_value(&self, field: &Field<'_>) -> Option<(Span, Span)> {
        let pair = field.pair(RUNTIME)?;
        let [Some(shortest), Some(longest)] = pair.each_ref().map(|field| field.positive_span()) else { return None };
        if shortest > longest {
            return field.report_wrong("the shorter time first");
        }
        let all = u128::from(longest.micros()) * u128::from(self.tasks);
        if all > u128::from(LONGEST.micros()) {
            pair[1].report_wrong(TOO_LONG_A_JOB)
        } else {
            Some((shortest, longest))
        }
    }

    fn toml_text(&self, value: &(Span, Span)) -> Option<String> {
        Pair(POSITIVE_SPAN, RUNTIME).toml_text(value)
    }

    fn value_shape(&self) -> settings::Shape {
        Form::<(Span, Span)>::value_shape(&Pair(POSITIVE_SPAN, RUNTIME))
    }
}

impl Generator {
    /// The workflow of this number; its random stream depends only on the number and the seed.
    pub fn workflow(&self, number: u32) -> Result<Workflow, WorkflowError> {
        let mut stream = SplitMix64::new(mix_bits(mix_bits(self.seed).wrapping_add(u64::from(number))));
        let layered = self.shape.draw(&mut stream);
        let (shortest, longest) = self.costs.runtime;
        let mut time = || stream.int(shortest.micros(), longest.micros());
        let steps = (1..=layered.tasks()).map(|task| layered_step(task, time())).collect();
        let mut edges = Vec::with_capacity(layered.edges.len());
        for &(from, to) in &layered.edges {
            let data = self.costs.data(time()).ok_or(WorkflowError::TooMuchData)?;
            edges.push(Edge { from, to, data });
        }
        Workflow::new(format!("layered-{}-{}", self.seed, number), steps, edges)
    }
}

fn layered_step(task: u32, work: u64) -> Step {
    Step { name: task.to_string(), work: Span::from_micros(work), cores: 1 }
}

impl Costs {
    /// Bytes of an edge for a drawn time in microseconds; `None` on overflow.
    pub fn data(&self, micros: u64) -> Option<u64> {
        let bits = u128::from(self.bandwidth) * u128::from(micros);
        // A byte is 8 bits, and both microseconds and the ratio are millionths.
        let bytes = bits.checked_mul(u128::from(self.ccr_millionths))? / 8_000_000_000_000;
        u64::try_from(bytes).ok()
    }
}

impl Shape {
    /// Upper bound of the number of edges.
    pub fn edges_max(&self) -> f64 {
        let widest = (self.perfect() * (2.0 - self.regularity)).max(1.0).min(f64::from(self.tasks));
        f64::from(self.tasks) * (1.0 + self.density * widest).min(widest)
    }

    /// Draws a graph from a stream.
    pub fn draw(&self, stream: &mut SplitMix64) -> Layered {
        let levels = self.levels(stream);
        let mut edges = Vec::new();
        let mut taken = vec![false; self.tasks as usize];
        for level in 1..levels.len() - 1 {
            let before = f64::from(levels[level] - levels[level - 1]);
            for task in levels[level]..levels[level + 1] {
                let wanted = 1.0 + (stream.unit() * self.density * before).floor();
                let mut parents: Vec<u32> = Vec::new();
                for _ in 0..wanted.min(before) as u32 {
                    let back = (1.0 + stream.unit() * f64::from(self.jump)).floor() as usize;
                    let from = level.saturating_sub(back);
                    let first = levels[from];
                    let size = levels[from + 1] - levels[from];
                    let drawn = (stream.unit() * f64::from(size)) as u32;
                    let parent = (0..size).map(|next| first + (drawn + next) % size).find(|p| !taken[*p as usize]);
                    if let Some(parent) = parent {
                        taken[parent as usize] = true;
                        parents.push(parent);
                    }
                }
                parents.iter().for_each(|parent| taken[*parent as usize] = false);
                edges.extend(parents.into_iter().map(|parent| (parent, task)));
            }
        }
        edges.sort_unstable();
        Layered { levels, edges }
    }

    /// Average number of tasks of a level.
    fn perfect(&self) -> f64 {
        let width = math::exp(self.fat * math::ln(f64::from(self.tasks)));
        (width + 1e-9).floor().max(1.0)
    }

    fn levels(&self, stream: &mut SplitMix64) -> Vec<u32> {
        let perfect = self.perfect();
        let latitude = 1.0 - self.regularity;
        let mut levels = vec![0];
        let mut placed = 0;
        while placed < self.tasks {
            let factor = 1.0 + (2.0 * stream.unit() - 1.0) * latitude;
            let size = (perfect * factor).floor().max(1.0) as u32;
            placed += size.min(self.tasks - placed);
            levels.push(placed);
        }
        levels
    }
}

impl Layered {
    pub fn tasks(&self) -> u32 {
        *self.levels.last().expect("there is an end")
    }

    /// Draws all costs, integers from `least` to `most`: first the run times, task by task, then the edges.
    pub fn costs(&self, processors: usize, least: u64, most: u64, stream: &mut SplitMix64) -> CostTable {
        let mut cost = || stream.int(least, most) as f64;
        let run = (0..self.tasks()).map(|_| (0..processors).map(|_| cost()).collect()).collect();
        let edges = self.edges.iter().map(|&(from, to)| (from, to, cost())).collect();
        CostTable {
            names: (1..=self.tasks()).map(|task| task.to_string()).collect(),
            processors: Vec::new(),
            run,
            edges,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::Time;

    fn generator(seed: u64, shape: Shape) -> Generator {
        let costs = Costs {
            runtime: (Span::from_secs(10), Span::from_secs(40)),
            ccr_millionths: 500_000,
            bandwidth: 1_000_000_000,
        };
        let train = Train { workflows: 3, arrive: Time::from_micros(7), every: Span::from_secs(60), ..Train::ONE };
        Generator { seed, train, shape, costs, kind: Kind(0) }
    }

    const SHAPE: Shape = Shape { tasks: 200, fat: 0.6, density: 0.4, regularity: 0.7, jump: 2 };

    #[test]
    fn costs_are_within_their_bounds() {
        let generator = generator(3, SHAPE);
        let workflow = generator.workflow(0).unwrap();
        assert_eq!(workflow.tasks.len(), 200);
        let within = |work: Span| (Span::from_secs(10)..=Span::from_secs(40)).contains(&work);
        assert!(workflow.tasks.iter().all(|task| within(task.work) && task.cores == 1));
        // Half of what a gigabit link transfers in 10 to 40 seconds.
        assert!(workflow.edges.iter().all(|edge| (625_000_000..=2_500_000_000).contains(&edge.data)));
        let mean = workflow.data() / workflow.edges.len() as u64;
        assert!((1_450_000_000..1_680_000_000).contains(&mean), "{mean}");
        assert_eq!(Costs { ccr_millionths: u64::MAX, bandwidth: u64::MAX, ..generator.costs }.data(u64::MAX), None);
    }

    #[test]
    fn workflows_are_evenly_spaced_and_depend_on_their_number_only() {
        let three = generator(3, SHAPE);
        let jobs = three.create_jobs(&Platform::default(), Span::ZERO).unwrap();
        let arrivals: Vec<u64> = jobs.iter().map(|job| job.arrive.micros()).collect();
        assert_eq!(arrivals, [7, 60_000_007, 120_000_007]);
        assert_ne!(jobs[0].edges, jobs[1].edges);
        assert_eq!(
            Generator { train: Train { workflows: 1, ..three.train }, ..three.clone() }
                .create_jobs(&Platform::default(), Span::ZERO)
                .unwrap()[..],
            jobs[..1]
        );
        assert_ne!(generator(4, SHAPE).workflow(0), three.workflow(1));
    }

    proptest! {
        /// Levels, parents and jumps follow the parameters.
        #[test]
        fn graphs_have_their_shape(
            tasks in 1u32..120,
            (fat, density, regularity) in (0.01..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64),
            jump in 1u32..5,
            seed in any::<u64>(),
        ) {
            let shape = Shape { tasks, fat, density, regularity, jump };
            let layered = shape.draw(&mut SplitMix64::new(seed));
            prop_assert_eq!(layered.tasks(), tasks);
            prop_assert!(layered.levels.is_sorted_by(|a, b| a < b));
            let level = |task: u32| layered.levels.partition_point(|first| *first <= task) - 1;
            let mut parents = vec![0u32; tasks as usize];
            for &(from, to) in &layered.edges {
                prop_assert!(level(from) < level(to) && level(to) - level(from) <= jump as usize);
                parents[to as usize] += 1;
            }
            prop_assert!(layered.edges.len() as f64 <= shape.edges_max());
            prop_assert!(layered.edges.is_sorted_by(|a, b| a < b), "no edge is there twice");
            for task in layered.levels.get(1).copied().unwrap_or(tasks)..tasks {
                let before = layered.levels[level(task)] - layered.levels[level(task) - 1];
                let most = 1.0 + (density * f64::from(before)).floor();
                prop_assert!((1..=before.min(most as u32)).contains(&parents[task as usize]));
            }
        }
    }
}
