//! The paper's figures, by its numbers, and some of ours.

use super::{Load, Outcome, POLICIES};
use hansa_report::experiment::metrics::{self, Size};
use hansa_report::experiment::plot::{Figure, Panel, PlotAxis, PlotLine, draw_panels};
use hansa_sim::grid::Curve;

/// The value curve and what remains of it; value, starved jobs and SLR of each policy, by load and by size of job.
pub fn draw_figures(outcome: &Outcome) -> Vec<Figure> {
    let by_load =
        |metric: &'static str| plot_lines(outcome.extent.loads, |policy, load| outcome.mean(policy, load, metric));
    let below = format!("Mean over {} on 4 x 1000 cores", outcome.extent.size_words());
    let best = |load| POLICIES.iter().filter_map(|(policy, _)| outcome.mean(policy, load, "value")).fold(0.0, f64::max);
    let to_best =
        plot_lines(outcome.extent.loads, |policy, load| Some(outcome.mean(policy, load, "value")? / best(load)));
    let by_tenth = |metrics: [&'static str; 10]| {
        let line = |(style, (policy, label)): (usize, (&'static str, &'static str))| PlotLine {
            style,
            label,
            points: (1..=10)
                .zip(metrics)
                .filter_map(|(tenth, metric)| Some((f64::from(tenth), outcome.mean(policy, SLR_LOAD, metric)?)))
                .collect(),
            ..PlotLine::default()
        };
        POLICIES.into_iter().enumerate().map(line).collect::<Vec<_>>()
    };
    let slr = format!("{below}, load {:.1}", f64::from(SLR_LOAD) / 100.0);

    let load = PlotAxis::linear("Offered load (% of all cores)", 100.0);
    let share = |label| PlotAxis::linear(label, 100.0);
    let panel = |title, x, y, lines| Panel { title, x, y, lines, lowest: None };
    let figure = |file, title: &str, below: &str, panels: Vec<Panel>| Figure {
        file,
        title: title.to_owned(),
        svg: draw_panels(title, below, &panels),
    };
    let slr_by = |file, title, tenth, by| {
        let [finished, all, _] = metrics::tenths(by);
        let tenth = PlotAxis::linear(tenth, 1.0);
        let panel = |title, metrics| panel(title, tenth, PlotAxis::linear("Mean SLR", 1.0), by_tenth(metrics));
        let finished = panel("Jobs that finished", finished);
        let all = panel("All jobs; starved ones count with their final deadline", all);
        figure(file, title, &slr, vec![finished, all])
    };
    let value = share("Value obtained (% of all value)");
    let starved = share("Jobs that starved (%)");
    let detail = Panel { lowest: Some(0.9), ..panel("", load, value, cut_early(by_load("value"))) };
    let to_best_label = share("Value (% of the best policy's)");
    let starved_by_work = by_tenth(metrics::tenths(Size::Work)[2]);
    let by_work = PlotAxis::linear(TENTH_BY_WORK, 1.0);
    vec![
        draw_curve(),
        draw_remaining(),
        figure("3-value.svg", "Figure 3: value by load", &below, vec![panel("", load, value, by_load("value"))]),
        figure("4-value-detail.svg", "Figure 4: value by load, in detail up to load 1.1", &below, vec![detail]),
        figure(
            "5-starved.svg",
            "Figure 5: starvation by load",
            &below,
            vec![panel("", load, starved, by_load("starved"))],
        ),
        figure(
            "6-starved-detail.svg",
            "Figure 6: starvation by load, in detail up to 15 %",
            &below,
            vec![panel("", load, starved, few_starved(by_load("starved")))],
        ),
        slr_by(
            "7-slr-by-run-time.svg",
            "Figure 7: SLR by the run time of all tasks of a job",
            TENTH_BY_RUNTIME,
            Size::Runtime,
        ),
        slr_by("slr-by-work.svg", "SLR by the work of a job", TENTH_BY_WORK, Size::Work),
        slr_by("slr-by-critical-path.svg", "SLR by the critical path of a job", TENTH_BY_PATH, Size::CriticalPath),
        figure(
            "value-to-best.svg",
            "Value relative to that of the best policy at each load",
            &below,
            vec![Panel { lowest: Some(0.75), ..panel("", load, to_best_label, to_best) }],
        ),
        figure(
            "utilisation.svg",
            "Utilisation while jobs arrived, by load",
            &below,
            vec![panel("", load, share("Cores in use (%)"), by_load("utilisation"))],
        ),
        figure(
            "starved-by-work.svg",
            "Starvation by the work of a job",
            &slr,
            vec![panel("", by_work, starved, starved_by_work)],
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
    let points = slrs.map(|slr| (slr, curve.factor(slr))).collect();
    PlotLine { style: 1, label: "Value", points, ..PlotLine::default() }
}

const CURVE_SLR: PlotAxis = PlotAxis { label: "SLR of the job when it ends", scale: 1.0, is_log: false };
const CURVE_VALUE: PlotAxis = PlotAxis { label: "Value (% of the job's maximum)", scale: 100.0, is_log: false };

fn draw_curve() -> Figure {
    let deadlines = PlotLine {
        style: 3,
        label: "Deadlines",
        points: vec![(INITIAL, 1.0), (FINAL, 0.0)],
        is_scatter: true,
        ..PlotLine::default()
    };
    let lines = vec![curve_line(&example_curve()), deadlines];
    let below = format!(
        "An example: all of the value up to the initial deadline {INITIAL:.0}, none from the final deadline {FINAL:.0} on"
    );
    let title = "Figure 1: a value curve".to_owned();
    let panel = Panel { title: "", x: CURVE_SLR, y: CURVE_VALUE, lines, lowest: None };
    Figure { file: "1-value-curve.svg", svg: draw_panels(&title, &below, &[panel]), title }
}

/// The remaining value of a waiting task, as an area and as the bid that PVR makes of it.
fn draw_remaining() -> Figure {
    let curve = example_curve();
    let inner = POINTS.into_iter().filter(|(slr, _)| *slr > PROJECTED);
    let now = [(PROJECTED, 0.0), (PROJECTED, curve.factor(PROJECTED))];
    let outline = now.into_iter().chain(inner).chain([(FINAL, 0.0), (PROJECTED, 0.0)]);
    let area = PlotLine { style: 4, label: "Remaining value", points: outline.collect(), ..PlotLine::default() };
    let steps = (0..=90).map(|step| f64::from(step) / 10.0);
    let bids = PlotLine {
        style: 4,
        label: "Remaining value",
        points: steps.map(|slr| (slr, curve.remaining(slr))).collect(),
        ..PlotLine::default()
    };
    let panel = |title, y, lines| Panel { title, x: CURVE_SLR, y, lines, lowest: None };
    let projected = PlotAxis::linear("Projected SLR of the task now", 1.0);
    let bid = PlotAxis::linear("Remaining value (maximum x SLR)", 1.0);
    let panels = [
        panel("The area under the curve from the projected SLR on", CURVE_VALUE, vec![curve_line(&curve), area]),
        Panel { x: projected, ..panel("The bid of PVR: the smallest goes first", bid, vec![bids]) },
    ];
    let below = format!("At a projected SLR of {PROJECTED}, {:.2} remains", curve.remaining(PROJECTED));
    let title = "Figure 2: projected value remaining".to_owned();
    Figure { file: "2-value-remaining.svg", svg: draw_panels(&title, &below, &panels), title }
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
        PlotLine { style, label, points: points.collect(), ..PlotLine::default() }
    };
    POLICIES.into_iter().enumerate().map(line).collect()
}
