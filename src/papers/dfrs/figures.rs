//! The paper's figures: degradation by load, and the effect of the period on the recommended algorithm.

use super::published;
use super::{BEST, Group, Metric, Outcome, PERIODS, all_periods, with_period};
use hansa_report::experiment::plot::{Figure, Panel, PlotAxis, PlotLine, draw};

pub fn figures(outcome: &Outcome) -> Vec<Figure> {
    let mut figures = vec![by_load(outcome)];
    let below = format!("{BEST}: mean over {}", outcome.extent.words());
    for &(file, title, label, metrics, is_long) in FIGURES {
        let lines = lines(outcome, metrics, is_long);
        let x = PlotAxis::linear("Period (s)", 1.0);
        let panel = Panel { title: "", x, y: PlotAxis::linear(label, 1.0), lines, lowest: None };
        figures.push(Figure { file, title: title.to_owned(), svg: draw(title, &below, &[panel]) });
    }
    figures
}

/// Figure 1. Each line is a kind of algorithm of table 2.
fn by_load(outcome: &Outcome) -> Figure {
    const LINES: [(&str, &str); 10] = [
        ("FCFS", "FCFS"),
        ("EASY", "EASY"),
        ("Greedy *", "Greedy */opt=min"),
        ("GreedyP *", "GreedyP */opt=min"),
        ("GreedyPM *", "GreedyPM */opt=min"),
        ("/per", "/per/opt=min/minvt=600"),
        ("Greedy/per", "Greedy/per/opt=min"),
        ("GreedyPM */per", "GreedyPM */per/opt=min"),
        ("GreedyPM */per/minvt=600", BEST),
        ("MCB8 */minvt=600", "MCB8 */opt=min/minvt=600"),
    ];
    let line = |(style, (label, name)): (usize, (&'static str, &str))| {
        let point = |tenths: u32| {
            let mean = outcome.spread(Group::Load(tenths), name, Metric::Degradation)?.mean;
            Some((f64::from(tenths) / 10.0, mean))
        };
        PlotLine { style, label, points: (1..=9).filter_map(point).collect(), ..PlotLine::default() }
    };
    let lines = LINES.into_iter().enumerate().map(line).collect();
    let x = PlotAxis::linear("Offered load", 1.0);
    let y = PlotAxis::log("Mean degradation");
    let title = "Figure 1: degradation from bound, by load";
    let below = format!("Scaled traces: {}", outcome.extent.words());
    let panel = Panel { title: "", x, y, lines, lowest: None };
    Figure { file: "1-degradation-load.svg", title: title.to_owned(), svg: draw(title, &below, &[panel]) }
}

type FigureSpec = (&'static str, &'static str, &'static str, &'static [Metric], bool);

/// File, title, axis, metrics that are summed, and true if it has long periods, too.
const FIGURES: &[FigureSpec] = &[
    (
        "2-underutilisation-period.svg",
        "Figure 2: underutilisation, by period",
        "Normalised underutilisation",
        &[Metric::Underutilisation],
        false,
    ),
    (
        "3-degradation-period.svg",
        "Figure 3: degradation from bound, by period",
        "Mean degradation",
        &[Metric::Degradation],
        false,
    ),
    (
        "4-bandwidth-period.svg",
        "Figure 4: bandwidth of preemptions and migrations, by period",
        "GB/s",
        &[Metric::PauseBandwidth, Metric::MoveBandwidth],
        false,
    ),
    (
        "B-underutilisation-period.svg",
        "Appendix B: underutilisation with longer periods",
        "Normalised underutilisation",
        &[Metric::Underutilisation],
        true,
    ),
];

/// A line for each set of traces, points for the paper's numbers, and a line for EASY if a single metric has one: EASY
/// does not depend on the period.
fn lines(outcome: &Outcome, metrics: &[Metric], is_long: bool) -> Vec<PlotLine> {
    let mean = |group, name: &str| -> Option<f64> {
        metrics.iter().map(|metric| Some(outcome.spread(group, name, *metric)?.mean)).sum()
    };
    let sets = [
        (Group::Weeks, "HPC2N", "paper, HPC2N", "EASY, HPC2N"),
        (Group::Unscaled, "unscaled", "paper, unscaled", "EASY, unscaled"),
        (Group::Scaled, "scaled", "paper, scaled", "EASY, scaled"),
    ];
    let periods: Vec<u64> = if is_long { all_periods().collect() } else { PERIODS.to_vec() };
    let mut lines = Vec::new();
    for (style, (group, label, paper, easy)) in sets.into_iter().enumerate() {
        let at = |period: u64, value: Option<f64>| Some((period as f64, value?));
        let ours: Vec<_> =
            periods.iter().filter_map(|period| at(*period, mean(group, &with_period(*period)))).collect();
        if ours.is_empty() {
            continue;
        }
        lines.push(PlotLine { style, label, points: ours, ..PlotLine::default() });
        if let [metric] = metrics {
            let said = |period: &u64| at(*period, published::mean(group, &with_period(*period), *metric));
            let points = periods.iter().filter_map(said).collect();
            lines.push(PlotLine {
                style: style + 2 * sets.len(),
                label: paper,
                points,
                is_scatter: true,
                ..PlotLine::default()
            });
        }
        if metrics == [Metric::Underutilisation] {
            let flat = periods.iter().filter_map(|period| at(*period, mean(group, "EASY"))).collect();
            lines.push(PlotLine { style: style + sets.len(), label: easy, points: flat, ..PlotLine::default() });
        }
    }
    lines
}
