//! The paper's figures 2 to 7.

use super::{Axis, Metric, NODES, Outcome};
use hansa_report::experiment::plot::{Figure, Panel, PlotAxis, PlotLine};
use hansa_sim::systems::reservation::fit;

/// Acceptance and slowdown along each axis.
pub fn draw_figures(outcome: &Outcome) -> Vec<Figure> {
    let below =
        format!("Mean over {} on {NODES} nodes; bars are 95 % confidence intervals", outcome.extent.size_words());
    FIGURES
        .iter()
        .map(|&(file, title, axis, metric)| {
            let panel = Panel::new("", x_axis(axis), y_axis(metric), plot_lines(outcome, axis, metric));
            Figure::of_panels(file, title, &below, &[panel])
        })
        .collect()
}

const FIGURES: [(&str, &str, Axis, Metric); 6] = [
    ("2-acceptance-size.svg", "Figure 2: accepted requests, by their size", Axis::Umed, Metric::Acceptance),
    ("3-slowdown-size.svg", "Figure 3: slowdown of accepted requests, by their size", Axis::Umed, Metric::Slowdown),
    (
        "4-acceptance-arrivals.svg",
        "Figure 4: accepted requests, by how fast they arrive",
        Axis::Arrival,
        Metric::Acceptance,
    ),
    (
        "5-slowdown-arrivals.svg",
        "Figure 5: slowdown of accepted requests, by how fast they arrive",
        Axis::Arrival,
        Metric::Slowdown,
    ),
    (
        "6-acceptance-flexibility.svg",
        "Figure 6: accepted requests, by their flexibility",
        Axis::Flexibility,
        Metric::Acceptance,
    ),
    (
        "7-slowdown-flexibility.svg",
        "Figure 7: slowdown of accepted requests, by their flexibility",
        Axis::Flexibility,
        Metric::Slowdown,
    ),
];

fn x_axis(axis: Axis) -> PlotAxis {
    let label = match axis {
        Axis::Umed => "Middle size as a power of two (UMed)",
        Axis::Arrival => "Arrival factor",
        Axis::Flexibility => "Ready and deadline factor",
    };
    PlotAxis::linear(label, 1.0)
}

fn y_axis(metric: Metric) -> PlotAxis {
    match metric {
        Metric::Acceptance => PlotAxis::linear("Accepted (% of valid requests)", 100.0),
        Metric::Slowdown => PlotAxis::linear("Mean slowdown", 1.0),
    }
}

fn plot_lines(outcome: &Outcome, axis: Axis, metric: Metric) -> Vec<PlotLine> {
    fit::ALL
        .iter()
        .enumerate()
        .map(|(style, fit)| {
            let mut line = PlotLine::new(style, fit.label, []);
            for setting in axis.settings() {
                if let Some(estimate) = outcome.estimate(fit.label, setting, metric) {
                    line.points.push((axis.value(setting), estimate.mean));
                    line.within.push(estimate.within.unwrap_or(0.0));
                }
            }
            line
        })
        .collect()
}
