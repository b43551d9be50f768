//! The paper's figures, by its numbers: degradation by load, the effect of the period on the recommended algorithm, and
//! the jobs that calls of MCB8 place. Its figure 2 is a drawing.

use super::published;
use super::{BEST, EAGER, FEW, Group, Metric, Outcome, PERIODS, all_periods, with_period};
use hansa_report::experiment::plot::{Figure, Panel, PlotAxis, PlotLine};

pub fn draw_figures(outcome: &Outcome) -> Vec<Figure> {
    let mut figures = vec![by_load(outcome)];
    for spec in PERIOD_FIGURES {
        figures.push(spec.draw(outcome));
    }
    figures.push(jobs_per_call(outcome));
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
    let lines = (0..).zip(LINES).map(|(style, (label, name))| {
        let points = (1..=9).filter_map(|tenths| {
            let mean = outcome.spread(Group::Load(tenths), name, Metric::Degradation)?.mean;
            Some((f64::from(tenths) / 10.0, mean))
        });
        PlotLine::new(style, label, points)
    });
    let x = PlotAxis::linear("Offered load", 1.0);
    let y = PlotAxis::log("Mean degradation");
    let title = "Figure 1: degradation from bound, by load";
    let below = format!("Scaled traces: {}", outcome.extent.size_words());
    Figure::of_panels("1-degradation-load.svg", title, &below, &[Panel::new("", x, y, lines.collect())])
}

/// A figure of numbers by period, with a panel of the recommended algorithm and one with the queues, too.
struct PeriodFigure {
    file: &'static str,
    title: &'static str,
    /// Label of the y axis.
    label: &'static str,
    /// Metrics that are summed.
    metrics: &'static [Metric],
    /// True if it has the periods of appendix B, too.
    is_long: bool,
    /// Queues that are drawn beside the algorithm: none, in its panel, or in a second, logarithmic one.
    queues: QueueLines,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QueueLines {
    None,
    Beside,
    Apart,
}

const PERIOD_FIGURES: &[PeriodFigure] = &[
    PeriodFigure {
        file: "3-underutilisation-period.svg",
        title: "Figure 3: underutilisation, by period",
        label: "Normalised underutilisation",
        metrics: &[Metric::Underutilisation],
        is_long: false,
        queues: QueueLines::Beside,
    },
    PeriodFigure {
        file: "4-degradation-period.svg",
        title: "Figure 4: degradation from bound, by period",
        label: "Mean degradation",
        metrics: &[Metric::Degradation],
        is_long: false,
        queues: QueueLines::Apart,
    },
    PeriodFigure {
        file: "B-underutilisation-period.svg",
        title: "Appendix B: underutilisation with longer periods",
        label: "Normalised underutilisation",
        metrics: &[Metric::Underutilisation],
        is_long: true,
        queues: QueueLines::Beside,
    },
    PeriodFigure {
        file: "B-bandwidth-period.svg",
        title: "Appendix B: bandwidth of preemptions and migrations, by period",
        label: "GB/s",
        metrics: &[Metric::PauseBandwidth, Metric::MoveBandwidth],
        is_long: false,
        queues: QueueLines::None,
    },
];

/// A set of traces, with the labels of its lines: ours, the paper's, EASY's, FCFS's.
const SETS: [(Group, [&str; 4]); 3] = [
    (Group::Weeks, ["HPC2N", "paper, HPC2N", "EASY, HPC2N", "FCFS, HPC2N"]),
    (Group::Unscaled, ["unscaled", "paper, unscaled", "EASY, unscaled", "FCFS, unscaled"]),
    (Group::Scaled, ["scaled", "paper, scaled", "EASY, scaled", "FCFS, scaled"]),
];

impl PeriodFigure {
    fn draw(&self, outcome: &Outcome) -> Figure {
        let below = format!("{BEST}: mean over {}", outcome.extent.size_words());
        let x = PlotAxis::linear("Period (s)", 1.0);
        let y = PlotAxis::linear(self.label, 1.0);
        let mut lines = self.own_lines(outcome);
        if self.queues == QueueLines::Beside {
            lines.extend(self.queue_lines(outcome));
        }
        let mut panels = vec![Panel::new("", x, y, lines)];
        if self.queues == QueueLines::Apart {
            let lines = self.own_lines(outcome).into_iter().chain(self.queue_lines(outcome)).collect();
            panels.push(Panel::new("With queues", x, PlotAxis::log(self.label), lines));
        }
        Figure::of_panels(self.file, self.title, &below, &panels)
    }

    fn periods(&self) -> Vec<u64> {
        if self.is_long { all_periods().collect() } else { PERIODS.to_vec() }
    }

    /// Mean over a set of traces. None if an algorithm was not run on it.
    fn mean(&self, outcome: &Outcome, group: Group, name: &str) -> Option<f64> {
        self.metrics.iter().map(|metric| Some(outcome.spread(group, name, *metric)?.mean)).sum()
    }

    /// A line for each set of traces, and points of the same colour for the paper's numbers.
    fn own_lines(&self, outcome: &Outcome) -> Vec<PlotLine> {
        let mut lines = Vec::new();
        for (style, (group, [label, paper, ..])) in SETS.into_iter().enumerate() {
            let points: Vec<_> = self
                .periods()
                .into_iter()
                .filter_map(|period| Some((period as f64, self.mean(outcome, group, &with_period(period))?)))
                .collect();
            if points.is_empty() {
                continue;
            }
            lines.push(PlotLine::new(style, label, points));
            if let [metric] = self.metrics {
                let points = self.periods().into_iter().filter_map(|period| {
                    Some((period as f64, published::published_mean(group, &with_period(period), *metric)?))
                });
                lines.push(PlotLine::new(style, paper, points).as_scatter());
            }
        }
        lines
    }

    /// Lines of EASY and FCFS for each set of traces, which do not depend on the period.
    fn queue_lines(&self, outcome: &Outcome) -> Vec<PlotLine> {
        let mut lines = Vec::new();
        for (style, (group, [_, _, easy, fcfs])) in SETS.into_iter().enumerate() {
            for (row, (name, label)) in [("EASY", easy), ("FCFS", fcfs)].into_iter().enumerate() {
                let Some(mean) = self.mean(outcome, group, name) else { continue };
                let points = self.periods().into_iter().map(|period| (period as f64, mean));
                lines.push(PlotLine::new(style + (1 + row) * SETS.len(), label, points));
            }
        }
        lines
    }
}

/// Section 6.2 in numbers: share of the calls of MCB8 that place a number of jobs, and at most that number.
fn jobs_per_call(outcome: &Outcome) -> Figure {
    let mut sums: Vec<u64> = Vec::new();
    for calls in outcome.calls() {
        sums.resize(sums.len().max(calls.len()), 0);
        sums.iter_mut().zip(calls).for_each(|(sum, count)| *sum += u64::from(*count));
    }
    let all: u64 = sums.iter().sum();
    let each = (0..).zip(&sums).map(|(jobs, count)| (f64::from(jobs), share_of_calls(*count, all)));
    let up_to = |jobs: usize| (jobs as f64, share_of_calls(sums[..=jobs].iter().sum(), all));
    let up_to = PlotLine::new(0, "ours", (0..sums.len()).map(up_to));
    let printed = PlotLine::new(1, "paper", [(FEW as f64, published::SMALL_CALLS)]).as_scatter();
    let x = PlotAxis::linear("Jobs", 1.0);
    let y = PlotAxis::linear("Share of calls (%)", 100.0);
    let panels = [
        Panel::new("That many jobs", x, y, vec![PlotLine::new(0, "ours", each)]),
        Panel::new("At most that many jobs", x, y, vec![up_to, printed]),
    ];
    let title = "Section 6.2: jobs that a call of MCB8 places";
    let below = format!("{EAGER} on unscaled traces: {all} calls (paper: 197,808)");
    Figure::of_panels("6.2-jobs-per-call.svg", title, &below, &panels)
}

fn share_of_calls(count: u64, all: u64) -> f64 {
    count as f64 / all as f64
}
