//! Numbers of the thesis, beside ours.

use std::fmt::Write;

use super::calibration::{FIGURE, PRINTED};
use super::{Results, format_short};

/// Derivation of a number from the results.
#[derive(Clone, Copy)]
enum Is {
    Mean,
    /// Ratio of the means with provisioning and by best effort.
    Ratio,
    /// Fraction by which the first is below the second.
    Saving,
}

type Number = (&'static str, Is, &'static str, &'static str, f64, f64);

/// Subject, derivation, figure, line, position on the axis, and the thesis's number.
const PUBLISHED: [Number; 24] = [
    ("slots CTC advertises", Is::Mean, "4 mean", "CTC", 0.0, 27.0),
    ("slots SDSC advertises", Is::Mean, "4 mean", "SDSC", 0.0, 14.0),
    ("makespan ratio, CTC, 3 processors, alpha 0", Is::Ratio, "15 makespan", "CTC alpha 0", 3.0, 0.87),
    ("makespan ratio, CTC, 3 processors, alpha 1", Is::Ratio, "15 makespan", "CTC alpha 1", 3.0, 0.92),
    ("makespan ratio, CTC, 30 processors, alpha 0", Is::Ratio, "15 makespan", "CTC alpha 0", 30.0, 0.577),
    ("makespan ratio, CTC, 30 processors, alpha 1", Is::Ratio, "15 makespan", "CTC alpha 1", 30.0, 0.585),
    ("cost ratio, CTC, 3 processors, alpha 0", Is::Ratio, "15 cost", "CTC alpha 0", 3.0, 1.5),
    ("cost ratio, CTC, 3 processors, alpha 1", Is::Ratio, "15 cost", "CTC alpha 1", 3.0, 1.0),
    ("cost ratio, CTC, 30 processors, alpha 0", Is::Ratio, "15 cost", "CTC alpha 0", 30.0, 1.003),
    ("cost ratio, CTC, 30 processors, alpha 1", Is::Ratio, "15 cost", "CTC alpha 1", 30.0, 1.0),
    ("CyberShake by best effort at 63 %, hours", Is::Mean, "18 makespan", "best effort", 63.0, 476_811.0 / 3_600.0),
    ("time saved for CyberShake at 63 %", Is::Saving, "18 makespan", "", 63.0, 0.23),
    ("time saved for CyberShake at 88 %", Is::Saving, "18 makespan", "", 88.0, 0.5),
    ("makespan ratio on 2 sites", Is::Ratio, "19 makespan", "", 2.0, 0.30),
    ("makespan ratio on 6 sites", Is::Ratio, "19 makespan", "", 6.0, 0.45),
    (PRINTED[0].what, Is::Mean, FIGURE, "NCSA 32x4h within 4 h", 0.0, PRINTED[0].value),
    (PRINTED[1].what, Is::Mean, FIGURE, "NCSA best 32x1h", 0.0, PRINTED[1].value),
    (PRINTED[2].what, Is::Mean, FIGURE, "NCSA best 32x4h", 0.0, PRINTED[2].value),
    ("at prices: makespan ratio, CTC, 3 processors, alpha 0", Is::Ratio, "54 makespan", "CTC alpha 0", 3.0, 0.85),
    ("at prices: makespan ratio, CTC, 3 processors, alpha 1", Is::Ratio, "54 makespan", "CTC alpha 1", 3.0, 0.89),
    ("at prices: cost ratio, CTC, 3 processors, alpha 0", Is::Ratio, "54 cost", "CTC alpha 0", 3.0, 2.2),
    ("at prices: cost ratio, CTC, 3 processors, alpha 1", Is::Ratio, "54 cost", "CTC alpha 1", 3.0, 1.0),
    ("at prices: cost ratio on 2 sites", Is::Ratio, "56 cost", "", 2.0, 1.43),
    ("cost of CyberShake by best effort, processor-hours", Is::Mean, "18 cost", "best effort", 63.0, 14_572.3),
];

pub(super) fn write_published(results: &Results, text: &mut String) {
    let _ = writeln!(text, "{:<12} {:<56}{:>10}{:>10}", "figure", "", "thesis", "ours");
    for (what, is, figure, line, at, paper) in PUBLISHED {
        let ours = match is {
            Is::Mean => results.mean(figure, line, at),
            Is::Ratio => results.pair_ratio(figure, line, at),
            Is::Saving => results.pair_ratio(figure, line, at).map(|ratio| 1.0 - ratio),
        };
        let ours = ours.map_or("-".to_owned(), format_short);
        let _ = writeln!(text, "{figure:<12} {what:<56}{:>10}{ours:>10}", format_short(paper));
    }
}
