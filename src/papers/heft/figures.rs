//! The paper's tables as pictures.

use super::published::{PUBLISHED, Published};
use super::{Means, Outcome, Over};
use hansa_report::experiment::plot::{Figure, Panel, PlotAxis, PlotLine};

/// Figures of the cases that network-aware planning makes worse or better, and of makespans, by group of graphs, with
/// the published numbers.
pub fn draw_figures(outcome: &Outcome) -> Vec<Figure> {
    const GROUPS: [(&str, &str); 5] =
        [("n", "Tasks"), ("fat", "Fat"), ("regularity", "Regularity"), ("density", "Density"), ("jump", "Jump")];
    const LAWS: [&str; 2] = ["ideal", "tcp"];
    let below = format!("Mean over {}", outcome.extent.size_words());
    let shares = |label: &'static str, of: fn(&Means) -> f64, paper: fn(&Published) -> &'static [f64]| {
        GROUPS.map(|(name, words)| {
            let printed = published_lines(name)
                .filter_map(|line| Some((published_parameter(line)?, mean_of(paper(line)) / 100.0)));
            let mut lines = vec![PlotLine::new(0, "paper", printed)];
            let laws = LAWS.into_iter().zip(1..);
            lines.extend(laws.map(|(law, style)| PlotLine::new(style, law, computed_points(outcome, name, law, of))));
            plain_panel(words, label, 100.0, lines)
        })
    };
    // The paper prints its makespans over all runs only.
    let makespans = GROUPS.map(|(name, words)| {
        type Makespan = (&'static str, &'static str, fn(&Means) -> f64);
        let all: [Makespan; 5] = [
            ("planned", LAWS[0], |means| means.original),
            ("ideal", LAWS[0], |means| means.stretched),
            ("ideal, best", LAWS[0], |means| means.best),
            ("tcp", LAWS[1], |means| means.stretched),
            ("tcp, best", LAWS[1], |means| means.best),
        ];
        let lines = (0..)
            .zip(all)
            .map(|(style, (label, law, of))| PlotLine::new(style, label, computed_points(outcome, name, law, of)));
        plain_panel(words, "Mean makespan", 1.0, lines.collect())
    });
    let rounds = (1..).zip(LAWS).map(|(style, law)| {
        let rounds = outcome.results.example.get(law).map_or(&[][..], |example| &example.rounds);
        PlotLine::new(style, law, rounds.iter().enumerate().map(|(round, makespan)| (round as f64, *makespan)))
    });
    let rounds = rounds.collect();
    let rounds = plain_panel("Round", "Makespan of the ten tasks", 1.0, rounds);
    let figure = |file, title: &str, panels: &[Panel]| Figure::of_panels(file, title, &below, panels);
    vec![
        figure(
            "1-increase.svg",
            "How much longer plans take than planned",
            shares("Increase (%)", Means::increase, |line| line.increase).as_slice(),
        ),
        figure(
            "2-decrease.svg",
            "How much time the best of 50 rounds saves",
            shares("Decrease (%)", Means::decrease, |line| line.decrease).as_slice(),
        ),
        figure("3-makespans.svg", "Makespans as planned, as simulated, and of the best of 50 rounds", &makespans),
        Figure::of_panels(
            "11-rounds.svg",
            "Figure 11: realised makespan of the ten tasks, round by round",
            "The second example, under both laws of sharing; round 0 is the plan of HEFT",
            &[rounds],
        ),
    ]
}

/// The lines of the paper about a group.
fn published_lines(name: &'static str) -> impl Iterator<Item = &'static Published> {
    PUBLISHED.iter().filter(move |line| line.group.0 == name)
}

/// Our numbers at the parameters for which the paper has some.
fn computed_points(outcome: &Outcome, name: &'static str, law: &'static str, of: fn(&Means) -> f64) -> Vec<(f64, f64)> {
    published_lines(name)
        .filter_map(|line| Some((published_parameter(line)?, of(&outcome.means(law, line.group, Over::All)?))))
        .collect()
}

fn published_parameter(line: &Published) -> Option<f64> {
    line.group.1.parse::<f64>().ok()
}

fn plain_panel(words: &'static str, label: &'static str, scale: f64, lines: Vec<PlotLine>) -> Panel {
    Panel::new("", PlotAxis::linear(words, 1.0), PlotAxis::linear(label, scale), lines)
}

fn mean_of(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}
