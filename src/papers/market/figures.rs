//! The paper's figures, by its numbers, and some of ours.

use super::{Load, Outcome, POLICIES};
use hansa_report::experiment::metrics::{self, Size};
use hansa_report::experiment::plot::{Figure, Panel, PlotAxis, PlotLine};
use hansa_sim::grid::Curve;

/// All figures, drawn from one outcome.
struct MarketFigures<'a> {
    outcome: &'a Outcome,
    /// Text below figures of SLR.
    below_slr: String,
}

impl MarketFigures<'_> {
    fn lines_by_load(&self, metric: &'static str) -> Vec<PlotLine> {
        plot_lines(self.outcome.extent.loads, |policy, load| self.outcome.mean(policy, load, metric))
    }

    /// Value relative to the best policy at each load.
    fn lines_to_best(&self) -> Vec<PlotLine> {
        plot_lines(self.outcome.extent.loads, |policy, load| {
            Some(self.outcome.mean(policy, load, "value")? / self.best_value(load))
        })
    }

    fn best_value(&self, load: Load) -> f64 {
        POLICIES.iter().filter_map(|(policy, _)| self.outcome.mean(policy, load, "value")).fold(0.0, f64::max)
    }

    fn lines_by_tenth(&self, metrics: [&'static str; 10]) -> Vec<PlotLine> {
        let line = |(style, (policy, label))| {
            let points = (1..=10)
                .zip(metrics)
                .filter_map(|(tenth, metric)| Some((f64::from(tenth), self.outcome.mean(policy, SLR_LOAD, metric)?)));
            PlotLine::new(style, label, points)
        };
        (0..).zip(POLICIES).map(line).collect()
    }

    /// SLR by tenths of the jobs; `tenth` labels the axis.
    fn slr_figure(&self, file: &'static str, title: &str, tenth: &'static str, by: Size) -> Figure {
        let [finished, all, _] = metrics::tenths(by);
        let x = PlotAxis::linear(tenth, 1.0);
        let y = PlotAxis::linear("Mean SLR", 1.0);
        let finished = Panel::new("Jobs that finished", x, y, self.lines_by_tenth(finished));
        let title_of_all = "All jobs; starved ones count with their final deadline";
        let all = Panel::new(title_of_all, x, y, self.lines_by_tenth(all));
        Figure::of_panels(file, title, &self.below_slr, &[finished, all])
    }
}

fn percent_axis(label: &'static str) -> PlotAxis {
    PlotAxis::linear(label, 100.0)
}

/// The value curve and what remains of it; value, starved jobs and SLR of each policy, by load and by size of job.
pub fn draw_figures(outcome: &Outcome) -> Vec<Figure> {
    let below = format!("Mean over {} on 4 x 1000 cores", outcome.extent.size_words());
    let below_slr = format!("{below}, load {:.1}", f64::from(SLR_LOAD) / 100.0);
    let drawn = MarketFigures { outcome, below_slr };
    let load = PlotAxis::linear("Offered load (% of all cores)", 100.0);
    let value = percent_axis("Value obtained (% of all value)");
    let starved = percent_axis("Jobs that starved (%)");
    let early_value = Panel::new("", load, value, cut_early(drawn.lines_by_load("value")));
    let to_best = Panel::new("", load, percent_axis("Value (% of the best policy's)"), drawn.lines_to_best());
    let starved_by_work = drawn.lines_by_tenth(metrics::tenths(Size::Work)[2]);
    vec![
        draw_curve(),
        draw_remaining(),
        Figure::of_panels(
            "3-value.svg",
            "Figure 3: value by load",
            &below,
            &[Panel::new("", load, value, drawn.lines_by_load("value"))],
        ),
        Figure::of_panels(
            "4-value-detail.svg",
            "Figure 4: value by load, in detail up to load 1.1",
            &below,
            &[early_value.above(0.9)],
        ),
        Figure::of_panels(
            "5-starved.svg",
            "Figure 5: starvation by load",
            &below,
            &[Panel::new("", load, starved, drawn.lines_by_load("starved"))],
        ),
        Figure::of_panels(
            "6-starved-detail.svg",
            "Figure 6: starvation by load, in detail up to 15 %",
            &below,
            &[Panel::new("", load, starved, few_starved(drawn.lines_by_load("starved")))],
        ),
        drawn.slr_figure(
            "7-slr-by-run-time.svg",
            "Figure 7: SLR by the run time of all tasks of a job",
            TENTH_BY_RUNTIME,
            Size::Runtime,
        ),
        drawn.slr_figure("slr-by-work.svg", "SLR by the work of a job", TENTH_BY_WORK, Size::Work),
        drawn.slr_figure(
            "slr-by-critical-path.svg",
            "SLR by the critical path of a job",
            TENTH_BY_PATH,
            Size::CriticalPath,
        ),
        Figure::of_panels(
            "value-to-best.svg",
            "Value relative to that of the best policy at each load",
            &below,
            &[to_best.above(0.75)],
        ),
        Figure::of_panels(
            "utilisation.svg",
            "Utilisation while jobs arrived, by load",
            &below,
            &[Panel::new("", load, percent_axis("Cores in use (%)"), drawn.lines_by_load("utilisation"))],
        ),
        Figure::of_panels(
            "starved-by-work.svg",
            "Starvation by the work of a job",
            &drawn.below_slr,
            &[Panel::new("", PlotAxis::linear(TENTH_BY_WORK, 1.0), starved, starved_by_work)],
        ),
    ]
}

/// Deadlines and points of the value curve of figures 1 and 2, within the paper's ranges.
const INITIAL: f64 = 3.0;
const FINAL: f64 = 8.0;
const POINTS: [(f64, f64); 5] = [(3.6, 0.9), (4.4, 0.8), (5.2, 0.5), (6.0, 0.4), (7.2, 0.1)];
/// Projected SLR of the job of figure 2.
const PROJECTED: f64 = 4.8;

fn example_curve() -> Curve {
    Curve::new(INITIAL, FINAL, &POINTS).expect("the curve falls between its deadlines")
}

/// Value from the submission to beyond the final deadline.
fn curve_line(curve: &Curve) -> PlotLine {
    let vertices = [INITIAL].into_iter().chain(POINTS.map(|(slr, _)| slr)).chain([FINAL]);
    let slrs = [0.0].into_iter().chain(vertices).chain([FINAL + 1.0]);
    PlotLine::new(1, "Value", slrs.map(|slr| (slr, curve.factor(slr))))
}

const CURVE_SLR: PlotAxis = PlotAxis { label: "SLR of the job when it ends", scale: 1.0, is_log: false };
const CURVE_VALUE: PlotAxis = PlotAxis { label: "Value (% of the job's maximum)", scale: 100.0, is_log: false };

fn draw_curve() -> Figure {
    let deadlines = PlotLine::new(3, "Deadlines", [(INITIAL, 1.0), (FINAL, 0.0)]).as_scatter();
    let lines = vec![curve_line(&example_curve()), deadlines];
    let below = format!(
        "An example: all of the value up to the initial deadline {INITIAL:.0}, none from the final deadline {FINAL:.0} on"
    );
    let panel = Panel::new("", CURVE_SLR, CURVE_VALUE, lines);
    Figure::of_panels("1-value-curve.svg", "Figure 1: a value curve", &below, &[panel])
}

/// The remaining value of a waiting task, as an area and as the bid that PVR makes of it.
fn draw_remaining() -> Figure {
    let curve = example_curve();
    let inner = POINTS.into_iter().filter(|(slr, _)| *slr > PROJECTED);
    let now = [(PROJECTED, 0.0), (PROJECTED, curve.factor(PROJECTED))];
    let outline = now.into_iter().chain(inner).chain([(FINAL, 0.0), (PROJECTED, 0.0)]);
    let area = PlotLine::new(4, "Remaining value", outline);
    let steps = (0..=90).map(|step| f64::from(step) / 10.0);
    let bids = PlotLine::new(4, "Remaining value", steps.map(|slr| (slr, curve.remaining(slr))));
    let projected = PlotAxis::linear("Projected SLR of the task now", 1.0);
    let bid = PlotAxis::linear("Remaining value (maximum x SLR)", 1.0);
    let panels = [
        Panel::new(
            "The area under the curve from the projected SLR on",
            CURVE_SLR,
            CURVE_VALUE,
            vec![curve_line(&curve), area],
        ),
        Panel::new("The bid of PVR: the smallest goes first", projected, bid, vec![bids]),
    ];
    let below = format!("At a projected SLR of {PROJECTED}, {:.2} remains", curve.remaining(PROJECTED));
    Figure::of_panels("2-value-remaining.svg", "Figure 2: projected value remaining", &below, &panels)
}

const TENTH_BY_WORK: &str = "Tenth of the jobs by work (1 = least)";
const TENTH_BY_RUNTIME: &str = "Tenth of the jobs by run time of all tasks (1 = shortest)";
const TENTH_BY_PATH: &str = "Tenth of the jobs by critical path (1 = shortest)";

/// The part of lines up to load 1.1.
fn cut_early(lines: Vec<PlotLine>) -> Vec<PlotLine> {
    let up_to = |mut line: PlotLine| {
        line.points.retain(|point| point.0 < 1.1 + 1e-9);
        line
    };
    lines.into_iter().map(up_to).collect()
}

/// The first part of lines, up to 15 %.
fn few_starved(lines: Vec<PlotLine>) -> Vec<PlotLine> {
    let low = |mut line: PlotLine| {
        let end = line.points.iter().position(|point| point.1 > 0.15).unwrap_or(line.points.len());
        line.points.truncate(end);
        line
    };
    lines.into_iter().map(low).collect()
}

/// A load beyond saturation, where policies differ most in the jobs that they delay.
const SLR_LOAD: Load = 120;

fn plot_lines(loads: &[Load], number: impl Fn(&str, Load) -> Option<f64>) -> Vec<PlotLine> {
    let line = |(style, (policy, label)): (usize, (&'static str, &'static str))| {
        let points = loads.iter().filter_map(|load| Some((f64::from(*load) / 100.0, number(policy, *load)?)));
        PlotLine::new(style, label, points)
    };
    POLICIES.into_iter().enumerate().map(line).collect()
}
