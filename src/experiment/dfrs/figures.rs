//! What the period does to the recommended algorithm: the paper's figures of periods.

use super::{Group, Metric, Outcome, PERIODS, with_period};
use crate::experiment::plot::{Axis, Figure, Line, Panel, draw};

pub fn figures(outcome: &Outcome) -> Vec<Figure> {
    let below = format!("Mean over {}", outcome.extent.words());
    FIGURES
        .iter()
        .map(|&(file, title, label, metrics, with_easy)| {
            let y = Axis { label, scale: 1.0 };
            let lines = lines(outcome, metrics, with_easy);
            let panel = Panel { title: "", x: Axis { label: "Period (s)", scale: 1.0 }, y, lines, lowest: None };
            Figure { file, svg: draw(title, &below, &[panel]) }
        })
        .collect()
}

type Row = (&'static str, &'static str, &'static str, &'static [Metric], bool);

const FIGURES: [Row; 3] = [
    (
        "1-underutilisation-period.svg",
        "Underutilisation, by period",
        "Normalised underutilisation",
        &[Metric::Underutilisation],
        true,
    ),
    (
        "2-degradation-period.svg",
        "Degradation from bound, by period",
        "Mean degradation",
        &[Metric::Degradation],
        false,
    ),
    (
        "3-bandwidth-period.svg",
        "Bandwidth of pauses and moves, by period",
        "GB/s",
        &[Metric::PauseBandwidth, Metric::MoveBandwidth],
        false,
    ),
];

/// A line for each set of traces, and one for what EASY does, whatever the period.
fn lines(outcome: &Outcome, metrics: &[Metric], with_easy: bool) -> Vec<Line> {
    let mean = |group, name: &str| -> Option<f64> {
        metrics.iter().map(|metric| Some(outcome.spread(group, name, *metric)?.mean)).sum()
    };
    let sets = [
        (Group::Weeks, "HPC2N", "EASY, HPC2N"),
        (Group::Unscaled, "unscaled", "EASY, unscaled"),
        (Group::Scaled, "scaled", "EASY, scaled"),
    ];
    let mut lines = Vec::new();
    for (style, (group, label, easy)) in sets.into_iter().enumerate() {
        let at = |period: u64, value: Option<f64>| Some((period as f64, value?));
        let ours = PERIODS.iter().filter_map(|period| at(*period, mean(group, &with_period(*period)))).collect();
        lines.push(Line { style, label, points: ours, ..Line::default() });
        if with_easy {
            let flat = PERIODS.iter().filter_map(|period| at(*period, mean(group, "EASY"))).collect();
            lines.push(Line { style: style + sets.len(), label: easy, points: flat, ..Line::default() });
        }
    }
    lines.retain(|line| !line.points.is_empty());
    lines
}
