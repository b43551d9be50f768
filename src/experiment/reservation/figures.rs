//! The paper's six figures.

use super::{Axis, Metric, NODES, Outcome};
use crate::experiment::plot::{Axis as Scale, Figure, Panel, PlotLine, draw};
use crate::systems::reservation::fit;

/// Acceptance and slowdown along each axis.
pub fn figures(outcome: &Outcome) -> Vec<Figure> {
    let below = format!("Mean over {} on {NODES} nodes; bars are 95 % confidence intervals", outcome.extent.words());
    FIGURES
        .iter()
        .map(|&(file, title, axis, metric)| {
            let panel =
                Panel { title: "", x: along(axis), y: up(metric), lines: lines(outcome, axis, metric), lowest: None };
            Figure { file, svg: draw(title, &below, &[panel]) }
        })
        .collect()
}

const FIGURES: [(&str, &str, Axis, Metric); 6] = [
    ("1-acceptance-size.svg", "Accepted requests, by their size", Axis::Umed, Metric::Acceptance),
    ("2-slowdown-size.svg", "Slowdown of accepted requests, by their size", Axis::Umed, Metric::Slowdown),
    ("3-acceptance-arrivals.svg", "Accepted requests, by how fast they arrive", Axis::Arrival, Metric::Acceptance),
    (
        "4-slowdown-arrivals.svg",
        "Slowdown of accepted requests, by how fast they arrive",
        Axis::Arrival,
        Metric::Slowdown,
    ),
    ("5-acceptance-flexibility.svg", "Accepted requests, by their flexibility", Axis::Flexibility, Metric::Acceptance),
    (
        "6-slowdown-flexibility.svg",
        "Slowdown of accepted requests, by their flexibility",
        Axis::Flexibility,
        Metric::Slowdown,
    ),
];

fn along(axis: Axis) -> Scale {
    let label = match axis {
        Axis::Umed => "Middle size as a power of two (UMed)",
        Axis::Arrival => "Arrival factor",
        Axis::Flexibility => "Ready and deadline factor",
    };
    Scale { label, scale: 1.0 }
}

fn up(metric: Metric) -> Scale {
    match metric {
        Metric::Acceptance => Scale { label: "Accepted (% of valid requests)", scale: 100.0 },
        Metric::Slowdown => Scale { label: "Mean slowdown", scale: 1.0 },
    }
}

fn lines(outcome: &Outcome, axis: Axis, metric: Metric) -> Vec<PlotLine> {
    let line = |(style, fit): (usize, &'static fit::Fit)| {
        let mut line = PlotLine { style, label: fit.label, ..PlotLine::default() };
        for setting in axis.settings() {
            if let Some(estimate) = outcome.estimate(fit.label, setting, metric) {
                line.points.push((axis.value(setting), estimate.mean));
                line.within.push(estimate.within.unwrap_or(0.0));
            }
        }
        line
    };
    fit::ALL.iter().enumerate().map(line).collect()
}
