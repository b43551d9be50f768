//! The experiment of "Network-Aware HEFT Scheduling for Grid" (M. M. Yousaf, M. Welzl): random layered graphs over a
//! grid of shapes, each with several draws of costs, planned, stretched and improved in 50 rounds.
//!
//! The paper prints neither the ranges of its costs nor its seeds. Its groups of sizes and widths are of unequal size,
//! as its own group means show, so no full grid can match all of its tables at once. Points that it leaves open are
//! choices ([`Settings`]), with their options and reasons in `experiments/papers/heft.toml`.

mod claims;
mod figures;
mod published;
#[cfg(test)]
mod tests;
mod text;

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;
use std::ops::Range;

use hansa_report::experiment::program::ProgramFile;
use hansa_sim::random::{SplitMix64, mix_bits};
use hansa_sim::settings::{Walk, key};
use hansa_sim::systems::heft::paper::{Law, Wiring, paper_paths, ten_tasks};
use hansa_sim::systems::heft::{Cycle, Improvement, Problem, Update, improve_plan};
use hansa_sim::words::words;
use hansa_sim::workload::layered::Shape;

use claims::CLAIMS;

/// Path of the file with the choices, and its text.
const FILE: (&str, &str) = ("experiments/papers/heft.toml", include_str!("heft.toml"));

words! {
    /// Range of run times and of edges; whole numbers.
    Costs {
        /// Ten to forty.
        TenToForty = "10-to-40",
        /// One to fifty.
        OneToFifty = "1-to-50",
    }
    /// Weight of graphs of 10, 20 and 50 tasks in means.
    Sizes {
        /// A third each.
        Equal = "equal",
        /// Weights with which the groups of the paper's table 4 have the means of its table 3.
        AsTables = "as-tables",
    }
}

impl Costs {
    fn cost_range(self) -> (u64, u64) {
        match self {
            Costs::TenToForty => (10, 40),
            Costs::OneToFifty => (1, 50),
        }
    }
}

impl Sizes {
    /// Weight of a run of a graph with this many tasks, relative to the mean weight.
    fn weight(self, tasks: u32) -> f64 {
        match (self, tasks) {
            (Sizes::Equal, _) => 1.0,
            (Sizes::AsTables, 10) => 1.50,
            (Sizes::AsTables, 20) => 1.05,
            (Sizes::AsTables, _) => 0.45,
        }
    }
}

/// Settings that the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub wiring: Wiring,
    pub update: Update,
    pub costs: Costs,
    pub sizes: Sizes,
}

impl Default for Settings {
    /// The usual option of each choice.
    fn default() -> Settings {
        let file = read_choices();
        file.settings(&file.choices.usual_selection())
    }
}

impl Settings {
    fn walk(&mut self, w: &mut dyn Walk) {
        w.set(key("wiring", "the cables that transfers share"), &mut self.wiring, Wiring::ALL);
        w.set(key("update", "the cost of an edge without a transfer"), &mut self.update, Update::ALL);
        w.set(key("costs", "the range of run times and of edges"), &mut self.costs, Costs::ALL);
        w.set(key("sizes", "the weight of graphs by their size"), &mut self.sizes, Sizes::ALL);
    }

    fn improvement(self) -> Improvement {
        Improvement { update: self.update, ..Improvement::default() }
    }
}

/// The choices of the experiment.
pub fn read_choices() -> ProgramFile<Settings> {
    let unset =
        Settings { wiring: Wiring::IntoP2, update: Update::Reset, costs: Costs::TenToForty, sizes: Sizes::Equal };
    let (path, text) = FILE;
    ProgramFile::read_text(path, text, unset, Settings::walk).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Size of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Graphs per shape.
    pub graphs: u32,
    /// Draws of costs per graph.
    pub draws: u32,
}

/// Size of the paper: 1,296 graphs with 20 draws each.
pub const FULL: Extent = Extent { graphs: 12, draws: 20 };
/// Smallest size that the claims can be judged by: every graph once.
pub const SMALL: Extent = Extent { graphs: 12, draws: 1 };

const TASKS: [u32; 3] = [10, 20, 50];
const FAT: [f64; 3] = [0.1, 0.2, 0.8];
const DENSITY: [f64; 2] = [0.2, 0.8];
const REGULARITY: [f64; 2] = [0.2, 0.8];
const JUMP: [u32; 3] = [1, 2, 4];

const PROCESSORS: usize = 3;

/// A graph of the experiment: its shape, and the seed of the stream for it and its costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    pub number: u32,
    pub seed: u64,
    pub shape: Shape,
}

/// One draw of costs under one law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub graph: Graph,
    pub draw: u32,
    pub law: Law,
    /// Makespan of HEFT's plan.
    pub original: f64,
    /// Realised makespan of that plan.
    pub stretched: f64,
    /// Best realised makespan of any plan.
    pub best: f64,
    /// Number of the best plan.
    pub iteration: u32,
    pub cycle: Option<Cycle>,
}

impl Extent {
    /// All graphs in order.
    pub fn graphs(&self) -> Vec<Graph> {
        let mut graphs = Vec::new();
        for (tasks, fat) in TASKS.into_iter().flat_map(|tasks| FAT.map(|fat| (tasks, fat))) {
            for (density, regularity) in DENSITY.into_iter().flat_map(|density| REGULARITY.map(|r| (density, r))) {
                for (jump, _) in JUMP.into_iter().flat_map(|jump| (0..self.graphs).map(move |graph| (jump, graph))) {
                    let number = graphs.len() as u32;
                    let shape = Shape { tasks, fat, density, regularity, jump };
                    graphs.push(Graph { number, seed: mix_bits(u64::from(number)), shape });
                }
            }
        }
        graphs
    }

    /// Number of draws of costs.
    pub fn count(&self) -> usize {
        let shapes = TASKS.len() * FAT.len() * DENSITY.len() * REGULARITY.len() * JUMP.len();
        shapes * self.graphs as usize * self.draws as usize
    }

    /// All runs of one graph: every draw under both laws.
    pub fn run_graph(&self, settings: Settings, graph: &Graph) -> Vec<Run> {
        let (least, most) = settings.costs.cost_range();
        let mut stream = SplitMix64::new(graph.seed);
        let layered = graph.shape.draw(&mut stream);
        let mut runs = Vec::new();
        for draw in 0..self.draws {
            let table = layered.costs(PROCESSORS, least, most, &mut stream);
            for (_, law) in Law::ALL {
                let problem = Problem::from_table(&table, paper_paths(law, settings.wiring))
                    .expect("what is drawn here is sound");
                let improved = improve_plan(&problem, settings.improvement());
                runs.push(Run {
                    graph: *graph,
                    draw,
                    law,
                    original: improved.rounds[0].planned,
                    stretched: improved.rounds[0].realistic,
                    best: improved.replay.makespan,
                    iteration: improved.best as u32,
                    cycle: improved.cycle,
                });
            }
        }
        runs
    }

    /// The size in a few words.
    pub fn size_words(&self) -> String {
        let draws = if self.draws == 1 { "draw" } else { "draws" };
        format!("{} runs per law ({} graphs per shape, {} {draws} of costs)", self.count(), self.graphs, self.draws)
    }
}

/// Runs with a common property: `("fat", "0.8")`, or `("all", "")`.
pub type Group = (&'static str, &'static str);

/// Means over a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    pub original: f64,
    pub stretched: f64,
    pub best: f64,
    pub iteration: f64,
    /// Fraction of runs whose plans repeat in a cycle.
    pub cycles: f64,
    pub runs: usize,
}

/// The runs that means are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Over {
    All,
    /// Runs whose first plan takes longer than planned. The paper's means of all runs (7.099679 rounds, 349.191711) are
    /// no multiples of 1/25,920, so it did not average over all of them with equal weight.
    Stretched,
}

impl Over {
    pub const ALL: [Over; 2] = [Over::All, Over::Stretched];
}

impl Means {
    /// Fraction of the excess over the planned time that the improvement takes back.
    pub fn recovered(&self) -> f64 {
        (self.stretched - self.best) / (self.stretched - self.original)
    }

    /// Relative excess of the realised time over the planned time.
    pub fn increase(&self) -> f64 {
        self.stretched / self.original - 1.0
    }

    /// Fraction of the first plan's time that the improvement saves.
    pub fn decrease(&self) -> f64 {
        1.0 - self.best / self.stretched
    }
}

/// Result of the paper's second example, the ten tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    pub stretched: f64,
    /// Number of the best round.
    pub best: usize,
    /// Cycle of the plans, if they repeat.
    pub cycle: Option<Cycle>,
    /// Realised makespan of each of the first 51 plans.
    pub rounds: Vec<f64>,
}

impl Example {
    fn run_example(law: Law, settings: Settings) -> Example {
        let problem =
            Problem::from_table(&ten_tasks(), paper_paths(law, settings.wiring)).expect("the example is sound");
        let improved = improve_plan(&problem, settings.improvement());
        let rounds = (0..=ROUNDS).map_while(|round| {
            // Plans of a cycle are made once.
            let at = match improved.cycle {
                Some(Cycle { first, period }) if round >= first => first + (round - first) % period,
                _ => round,
            };
            Some(improved.rounds.get(at)?.realistic)
        });
        let rounds = rounds.collect();
        Example { stretched: improved.rounds[0].realistic, best: improved.best, cycle: improved.cycle, rounds }
    }
}

/// Rounds of improvement after the first plan.
const ROUNDS: usize = 50;

/// Means by law and group, and the example by law.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    pub means: BTreeMap<(&'static str, Group, Over), Means>,
    pub example: BTreeMap<&'static str, Example>,
}

/// All runs, in order, and their results.
pub struct Outcome {
    pub extent: Extent,
    pub settings: Settings,
    pub runs: Vec<Run>,
    pub results: Results,
}

impl Outcome {
    /// Collects runs of these settings, in any order.
    pub fn of(extent: Extent, settings: Settings, mut runs: Vec<Run>) -> Outcome {
        runs.sort_by_key(|run| (run.graph.number, run.draw, run.law as u8));
        let example = Law::ALL.into_iter().map(|(name, law)| (name, Example::run_example(law, settings))).collect();
        let mut results = Results { example, ..Results::default() };
        // Sum of the weights of each group.
        let mut weights: BTreeMap<(&'static str, Group, Over), f64> = BTreeMap::new();
        for run in &runs {
            let weight = settings.sizes.weight(run.graph.shape.tasks);
            let is_stretched = run.stretched > run.original * (1.0 + 1e-9);
            let over = Over::ALL.into_iter().filter(|over| *over == Over::All || is_stretched);
            for (group, over) in
                shape_groups(&run.graph.shape).into_iter().flat_map(|group| over.clone().map(move |over| (group, over)))
            {
                let key = (law_name(run.law), group, over);
                let means = results.means.entry(key).or_default();
                means.original += weight * run.original;
                means.stretched += weight * run.stretched;
                means.best += weight * run.best;
                means.iteration += weight * f64::from(run.iteration);
                means.cycles += weight * f64::from(u8::from(run.cycle.is_some()));
                means.runs += 1;
                *weights.entry(key).or_default() += weight;
            }
        }
        for (key, means) in &mut results.means {
            let count = weights[key];
            let Means { original, stretched, best, iteration, cycles, .. } = means;
            for sum in [original, stretched, best, iteration, cycles] {
                *sum /= count;
            }
        }
        Outcome { extent, settings, runs, results }
    }

    pub fn means(&self, law: &'static str, group: Group, over: Over) -> Option<Means> {
        self.results.means.get(&(law, group, over)).copied()
    }
}

fn law_name(law: Law) -> &'static str {
    Law::ALL[law as usize].0
}

/// Groups of a shape.
fn shape_groups(shape: &Shape) -> Vec<Group> {
    vec![
        ("all", ""),
        pick_shape("n", 0..3, &|at| TASKS[at] == shape.tasks, &["10", "20", "50"]),
        pick_shape("fat", 0..3, &|at| FAT[at] == shape.fat, &["0.1", "0.2", "0.8"]),
        pick_shape("regularity", 0..2, &|at| REGULARITY[at] == shape.regularity, &["0.2", "0.8"]),
        pick_shape("density", 0..2, &|at| DENSITY[at] == shape.density, &["0.2", "0.8"]),
        pick_shape("jump", 0..3, &|at| JUMP[at] == shape.jump, &["1", "2", "4"]),
    ]
}

fn pick_shape(
    name: &'static str,
    range: Range<usize>,
    fits: &dyn Fn(usize) -> bool,
    words: &[&'static str],
) -> (&'static str, &'static str) {
    let at = range.clone().find(|at| fits(*at)).expect("the shape is one of the grid");
    (name, words[at])
}
