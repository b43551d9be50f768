mod golden;
mod planner;
mod properties;

use super::paper::{Law, Wiring, paper_paths, six_tasks, ten_tasks};
use super::*;
use crate::kernel::ActorId;
use crate::network::{Efficiency, Link, LinkId, Mode};
use crate::workload::workflow::CostTable;

/// A link of its own for every pair of sites, which its flows do not compete for.
fn apart(sites: usize, link: Link) -> Paths {
    let id = |from: usize, to: usize| LinkId((from * sites + to) as u32);
    let route = |from, to| if from == to { Vec::new() } else { vec![id(from, to)] };
    let routes = (0..sites).map(|from| (0..sites).map(|to| route(from, to)).collect()).collect();
    Paths::new(vec![link; sites * sites], routes)
}

fn problem(table: &CostTable, law: Law, wiring: Wiring) -> Problem {
    Problem::from_table(table, paper_paths(law, wiring)).unwrap()
}

/// Sites with the actors 1, 2, ...
fn numbered(sites: &[Resource]) -> Vec<(ActorId, Resource)> {
    (1..).map(ActorId).zip(sites.iter().copied()).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6
}
