//! Effect of the period on the recommended algorithm: the paper's figures of periods.

use super::published;
use super::{BEST, Group, Metric, Outcome, PERIODS, with_period};
use crate::experiment::plot::{Axis, Figure, Panel, PlotLine, draw};

pub fn figures(outcome: &Outcome) -> Vec<Figure> {
    let below = format!("{BEST}: mean over {}", outcome.extent.words());
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

type FigureSpec = (&'static str, &'static str, &'static str, &'static [Metric], bool);

const FIGURES: [FigureSpec; 3] = [
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

/// A line for each set of traces, points for the paper's numbers, and a line for EASY, which does not depend on the
/// period.
fn lines(outcome: &Outcome, metrics: &[Metric], with_easy: bool) -> Vec<PlotLine> {
    let mean = |group, name: &str| -> Option<f64> {
        metrics.iter().map(|metric| Some(outcome.spread(group, name, *metric)?.mean)).sum()
    };
    let sets = [
        (Group::Weeks, "HPC2N", "paper, HPC2N", "EASY, HPC2N"),
        (Group::Unscaled, "unscaled", "paper, unscaled", "EASY, unscaled"),
        (Group::Scaled, "scaled", "paper, scaled", "EASY, scaled"),
    ];
    let mut lines = Vec::new();
    for (style, (group, label, paper, easy)) in sets.into_iter().enumerate() {
        let at = |period: u64, value: Option<f64>| Some((period as f64, value?));
        let ours: Vec<_> =
            PERIODS.iter().filter_map(|period| at(*period, mean(group, &with_period(*period)))).collect();
        if ours.is_empty() {
            continue;
        }
        lines.push(PlotLine { style, label, points: ours, ..PlotLine::default() });
        if let [metric] = metrics {
            let said = |period: &u64| at(*period, published::mean(group, &with_period(*period), *metric));
            let points = PERIODS.iter().filter_map(said).collect();
            lines.push(PlotLine {
                style: style + 2 * sets.len(),
                label: paper,
                points,
                is_scatter: true,
                ..PlotLine::default()
            });
        }
        if with_easy {
            let flat = PERIODS.iter().filter_map(|period| at(*period, mean(group, "EASY"))).collect();
            lines.push(PlotLine { style: style + sets.len(), label: easy, points: flat, ..PlotLine::default() });
        }
    }
    lines
}
