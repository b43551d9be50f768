//! The reservation paper.

use super::super::Failure;
use super::super::choosing::Choosing;
use super::{Making, PaperProgram};
use hansa_papers::reservation::{Extent, Outcome, Piece, read_choices};

/// Usual CPU time of a request under all policies.
const SECONDS_PER_REQUEST: f64 = 0.000_012;

/// Runs the reservation paper's experiment.
pub fn reproduce_reservation(extent: Extent, choosing: &Choosing, making: &Making) -> Result<(), Failure> {
    let program = PaperProgram {
        paper: "reservation",
        what: "runs",
        file: &read_choices(),
        pieces: extent.pieces(),
        seconds: &|_: &Piece| SECONDS_PER_REQUEST * f64::from(extent.requests),
        key: format!("{extent:?}"),
    };
    program.reproduce(
        choosing,
        making,
        |settings, _| *settings,
        |settings, piece| extent.run(*settings, *piece),
        |settings, rows| Outcome::of(extent, settings, rows),
    )
}
