//! The paper's figures, and some of ours.

use super::{Load, Outcome, POLICIES};
use hansa_report::experiment::metrics::{self, Size};
use hansa_report::experiment::plot::{Figure, Panel, PlotAxis, PlotLine, draw_panels};

/// Value, starved jobs and SLR of each policy, by load and by size of job.
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
    let slr_by = |file, their_size: &str, tenth, by| {
        let [finished, all, _] = metrics::tenths(by);
        let tenth = PlotAxis::linear(tenth, 1.0);
        let panel = |title, metrics| panel(title, tenth, PlotAxis::linear("Mean SLR", 1.0), by_tenth(metrics));
        let finished = panel("Jobs that finished", finished);
        let all = panel("All jobs; starved ones count with their final deadline", all);
        let title = format!("How long jobs take relative to their critical path, by {their_size}");
        figure(file, &title, &slr, vec![finished, all])
    };
    vec![
        figure(
            "1-value.svg",
            "Value obtained, by load and bid policy",
            &below,
            vec![
                panel("", load, share("Value obtained (% of all value)"), by_load("value")),
                Panel {
                    lowest: Some(0.9),
                    ..panel(
                        "Detail up to load 1.1",
                        load,
                        share("Value obtained (% of all value)"),
                        cut_early(by_load("value")),
                    )
                },
            ],
        ),
        figure(
            "2-starved.svg",
            "Jobs that starved, by load and bid policy",
            &below,
            vec![
                panel("", load, share("Jobs that starved (%)"), by_load("starved")),
                panel("Detail up to 15 %", load, share("Jobs that starved (%)"), few_starved(by_load("starved"))),
            ],
        ),
        slr_by("3-slr-by-work.svg", "their work", TENTH_BY_WORK, Size::Work),
        figure(
            "4-value-to-best.svg",
            "Value obtained, relative to the best policy at each load",
            &below,
            vec![Panel { lowest: Some(0.75), ..panel("", load, share("Value (% of the best policy's)"), to_best) }],
        ),
        figure(
            "5-utilisation.svg",
            "Utilisation while jobs arrived, by load and bid policy",
            &below,
            vec![panel("", load, share("Cores in use (%)"), by_load("utilisation"))],
        ),
        figure(
            "6-starved-by-work.svg",
            "Jobs that starved, by their work",
            &slr,
            vec![panel(
                "",
                PlotAxis::linear(TENTH_BY_WORK, 1.0),
                share("Jobs that starved (%)"),
                by_tenth(metrics::tenths(Size::Work)[2]),
            )],
        ),
        slr_by("7-slr-by-run-time.svg", "the run time of all their tasks", TENTH_BY_RUNTIME, Size::Runtime),
        slr_by("8-slr-by-critical-path.svg", "its length", TENTH_BY_PATH, Size::CriticalPath),
    ]
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
