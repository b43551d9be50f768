mod failing;
mod golden;
mod planner;
mod properties;

use super::paper::{Law, Wiring, paths, six, ten};
use super::*;
use crate::workload::workflow::CostTable;

fn problem(table: &CostTable, law: Law, wiring: Wiring) -> Problem {
    Problem::table(table, paths(law, wiring)).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6
}
