//! The reservation paper.

use super::super::Failure;
use super::super::choosing::{ChoiceReport, Choosing};
use super::{Making, PAGE, PaperProgram, publish_files};
use hansa_papers::reservation::{Extent, Outcome, Piece, figures, read_choices, runs_csv};

/// Usual CPU time of a request under all policies.
const SECONDS_PER_REQUEST: f64 = 0.000_012;

/// Runs the reservation paper's experiment.
pub fn reproduce_reservation(extent: Extent, choosing: &Choosing, making: &Making) -> Result<(), Failure> {
    let file = read_choices();
    let key = format!("{extent:?}");
    let program = PaperProgram {
        paper: "reservation",
        what: "runs",
        file: &file,
        pieces: extent.pieces(),
        seconds: &|_: &Piece| SECONDS_PER_REQUEST * f64::from(extent.requests),
        key,
    };
    let Some(variants) =
        program.run(choosing, making, |settings, _| *settings, |settings, piece| extent.run(*settings, *piece))?
    else {
        return Ok(());
    };
    let mut judged = Vec::new();
    let mut outcomes = Vec::new();
    for one in variants {
        let rows: Vec<_> = one.results.into_iter().flatten().collect();
        let outcome = Outcome::of(extent, one.settings, &rows);
        judged.push((one.variant, outcome.judge_claims()));
        outcomes.push((outcome, rows));
    }
    let report = ChoiceReport::of_variants(&file.choices, &judged);
    let (outcome, rows) = &outcomes[0];
    let summary = outcome.summary_text();
    let verdicts = outcome.verdicts_text();
    let shown = format!("{summary}\n{}", report.for_terminal(&verdicts));
    let files = [
        ("runs.csv", runs_csv(rows)),
        ("summary.csv", outcome.summary_csv()),
        ("summary.txt", summary),
        ("verdicts.txt", verdicts),
        (PAGE, outcome.page(&report.html)),
    ];
    report.publish(&making.out)?;
    publish_files(&making.out, &files, &figures::draw_figures(outcome), &shown)
}
