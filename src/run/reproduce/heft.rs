//! The HEFT paper: its runs are plans, not grids.

use super::super::Failure;
use super::super::choosing::Choosing;
use super::{Making, PaperProgram};
use hansa_papers::heft::{Extent, Graph, Outcome, read_choices};

/// Usual CPU time of a draw of costs under both laws.
const SECONDS_PER_DRAW: f64 = 0.000_7;

/// Runs the HEFT paper's experiment.
pub fn reproduce_heft(extent: Extent, choosing: &Choosing, making: &Making) -> Result<(), Failure> {
    let program = PaperProgram {
        paper: "heft",
        what: "graphs",
        file: &read_choices(),
        pieces: extent.graphs(),
        seconds: &|_: &Graph| SECONDS_PER_DRAW * f64::from(extent.draws),
        key: format!("{extent:?}"),
    };
    program.reproduce(
        choosing,
        making,
        |settings, _| *settings,
        |settings, graph| extent.run_graph(*settings, graph),
        |settings, runs| Outcome::of(extent, settings, runs),
    )
}
