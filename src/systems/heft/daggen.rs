//! Random layered graphs with the parameters of DAGGEN (F. Suter, S. Hunold), from its public description.

use crate::math;
use crate::random::SplitMix64;
use crate::workload::workflow::CostTable;

/// The shape of a graph, roughly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    pub tasks: u32,
    /// From a chain (near 0) to tasks that hardly wait for each other (1).
    pub fat: f64,
    /// How many of the tasks of the level before a task waits for.
    pub density: f64,
    /// 1: all levels have the same size.
    pub regularity: f64,
    /// How many levels an edge may go back.
    pub jump: u32,
}

/// A graph whose edges lead from lower to higher tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layered {
    /// The first task of each level, and the number of all.
    pub levels: Vec<u32>,
    /// Ascending by (from, to).
    pub edges: Vec<(u32, u32)>,
}

impl Shape {
    /// Draws a graph from a stream.
    pub fn draw(&self, stream: &mut SplitMix64) -> Layered {
        let levels = self.levels(stream);
        let mut edges = Vec::new();
        for level in 1..levels.len() - 1 {
            let before = f64::from(levels[level] - levels[level - 1]);
            for task in levels[level]..levels[level + 1] {
                let wanted = 1.0 + (stream.unit() * self.density * before).floor();
                let mut parents: Vec<u32> = Vec::new();
                for _ in 0..wanted.min(before) as u32 {
                    let back = (1.0 + stream.unit() * f64::from(self.jump)).floor() as usize;
                    let from = level.saturating_sub(back);
                    let (first, size) = (levels[from], levels[from + 1] - levels[from]);
                    let drawn = (stream.unit() * f64::from(size)) as u32;
                    let parent = (0..size).map(|next| first + (drawn + next) % size).find(|p| !parents.contains(p));
                    parents.extend(parent);
                }
                edges.extend(parents.into_iter().map(|parent| (parent, task)));
            }
        }
        edges.sort_unstable();
        Layered { levels, edges }
    }

    fn levels(&self, stream: &mut SplitMix64) -> Vec<u32> {
        let width = math::exp(self.fat * math::ln(f64::from(self.tasks)));
        let perfect = (width + 1e-9).floor().max(1.0);
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

    /// Draws all costs, whole numbers from `least` to `most`: first the run times, task by task, then the edges.
    pub fn costs(&self, processors: usize, least: u64, most: u64, stream: &mut SplitMix64) -> CostTable {
        let mut cost = || stream.int(least, most) as f64;
        let run = (0..self.tasks()).map(|_| (0..processors).map(|_| cost()).collect()).collect();
        let edges = self.edges.iter().map(|&(from, to)| (from, to, cost())).collect();
        CostTable { names: (1..=self.tasks()).map(|task| task.to_string()).collect(), run, edges }
    }
}
