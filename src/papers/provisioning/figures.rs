//! The thesis's figures, by number; those that belong together are one.

use super::{Outcome, PAIRS, Results, Site, one_of, virtuals};
use hansa_report::experiment::plot::{Figure, Panel, PlotAxis, PlotLine};
use hansa_report::experiment::statistics::{self, Estimate};

/// Label of a line, and its name in the results, which follows the name of the site in panels of sites.
type Named = (&'static str, &'static str);

const EACH_SITE: &[Named] = &[("CTC", "CTC"), ("SDSC", "SDSC")];
const BOTH_WAYS: &[Named] = &[("provisioned", "provisioned"), ("best effort", "best effort")];
const PROVISIONED: &[Named] = &[("provisioned", "")];
/// Figures of single observations, whose points are not joined.
const SCATTERED: [&str; 3] = ["5", "6", "8"];
/// Figures without bars: fees have long tails, so that a deviation is larger than its mean.
const WITHOUT_BARS: [&str; 6] = ["38", "39", "40", "41", "46", "48"];
/// Figures that count observations.
const COUNTED: [&str; 2] = ["4", "7"];
const EXTREMES: &[Named] = &[("alpha 0", "alpha 0"), ("alpha 1", "alpha 1")];
const ALPHAS: &[Named] = &[
    ("alpha 0", "alpha 0"),
    ("alpha 0.25", "alpha 0.25"),
    ("alpha 0.5", "alpha 0.5"),
    ("alpha 0.75", "alpha 0.75"),
    ("alpha 1", "alpha 1"),
];
const WIDTHS: [&[Named]; 2] = [
    &[("narrowest", "3 procs"), ("narrow", "10 procs"), ("wide", "20 procs"), ("widest", "30 procs")],
    &[("narrowest", "1 procs"), ("narrow", "3 procs"), ("wide", "6 procs"), ("widest", "9 procs")],
];
const TRIALS: &[Named] = &[
    ("AR 32x1h", "AR 32x1h"),
    ("AR 32x4h", "AR 32x4h"),
    ("AR 64x1h", "AR 64x1h"),
    ("AR 64x4h", "AR 64x4h"),
    ("VAR 32x1h", "VAR 32x1h"),
    ("VAR 32x4h", "VAR 32x4h"),
    ("VAR 64x1h", "VAR 64x1h"),
    ("VAR 64x4h", "VAR 64x4h"),
];
const REAL: &[Named] = TRIALS.split_at(4).0;
const CHEAPER: &[Named] = &[
    ("32 x 1 h", "VAR cheaper 32x1h"),
    ("32 x 4 h", "VAR cheaper 32x4h"),
    ("64 x 1 h", "VAR cheaper 64x1h"),
    ("64 x 4 h", "VAR cheaper 64x4h"),
];
const ALL_WAYS: &[Named] = &[
    ("AR 32x1h", "AR 32x1h"),
    ("VAR 32x1h", "VAR 32x1h"),
    ("both 32x1h", "combined 32x1h"),
    ("AR 64x4h", "AR 64x4h"),
    ("VAR 64x4h", "VAR 64x4h"),
    ("both 64x4h", "combined 64x4h"),
];

const ALPHA: &str = "What cost weighs (alpha)";
const LOAD: &str = "Utilisation (%)";
const TASKS: &str = "Tasks of the workflow";
const AHEAD: &str = "Wanted in (hours)";
const MAKESPAN: &str = "Makespan (h)";
const COST: &str = "Cost (processor-hours)";
const TIME_RATIO: &str = "Makespan (% of best effort's)";
const COST_RATIO: &str = "Cost (% of best effort's)";
const FEE: &str = "Mean fee (processor-hours)";
const RELATIVE: &str = "Cost relative to nodes x duration";
const WAIT: &str = "Mean wait (h)";

/// Source of a figure's panels.
struct Drawn<'a> {
    results: &'a Results,
    x: &'static str,
}

impl Drawn<'_> {
    fn panel(&self, title: &'static str, y: &'static str, lines: Vec<PlotLine>) -> Panel {
        Panel::new(title, plot_axis(self.x), plot_axis(y), lines)
    }

    /// One panel for all sites.
    fn shared_panel(&self, title: &'static str, figure: &'static str, y: &'static str, lines: &[Named]) -> Panel {
        let lines = lines.iter().enumerate().map(|(style, named)| self.plot_line(figure, style, named.0, named.1));
        self.panel(title, y, lines.collect())
    }

    /// One panel per site.
    fn sites(&self, figure: &'static str, y: &'static str, lines: [&[Named]; 2]) -> Vec<Panel> {
        Site::ALL.into_iter().zip(lines).flat_map(|(site, lines)| self.site(site.name(), figure, y, lines)).collect()
    }

    /// The panel of a site.
    fn site(&self, site: &'static str, figure: &'static str, y: &'static str, lines: &[Named]) -> Vec<Panel> {
        let lines = lines
            .iter()
            .enumerate()
            .map(|(style, named)| self.plot_line(figure, style, named.0, &format!("{site} {}", named.1)));
        vec![self.panel(site, y, lines.collect())]
    }

    fn plot_line(&self, figure: &'static str, style: usize, label: &'static str, key: &str) -> PlotLine {
        let mut line = PlotLine { is_scatter: SCATTERED.contains(&figure), ..PlotLine::new(style + 1, label, []) };
        for ((_, _, at), samples) in self.results.line_points(figure, key) {
            // Samples of a count are ones.
            let estimate = Estimate::of(samples);
            if SCATTERED.contains(&figure) {
                line.points.extend(samples.iter().map(|sample| (*at as f64 / 1_000.0, *sample)));
                continue;
            }
            let is_count = COUNTED.contains(&figure);
            let value = if is_count { samples.len() as f64 } else { estimate.map_or(0.0, |estimate| estimate.mean) };
            line.points.push((*at as f64 / 1_000.0, value));
            line.within.push(super::standard_deviation(samples).unwrap_or(0.0));
        }
        // A line without numbers is the ratio of a pair.
        if line.points.is_empty() {
            let ats = PAIRS.iter().flat_map(|pair| {
                self.results.line_points(figure, &one_of(key, pair.0)).map(|((.., at), _)| *at).collect::<Vec<_>>()
            });
            for at in ats {
                let at = at as f64 / 1_000.0;
                let Some([one, other]) = self.results.pair_samples(figure, key, at) else { continue };
                let Some((ratio, _)) = statistics::paired_ratio(one, other) else { continue };
                line.points.push((at, ratio));
            }
        }
        // Bars on dozens of points would hide them.
        let is_bare = COUNTED.contains(&figure) || WITHOUT_BARS.contains(&figure);
        if is_bare || line.points.len() > 12 {
            line.within.clear();
        }
        line
    }
}

fn plot_axis(label: &'static str) -> PlotAxis {
    PlotAxis::linear(label, if label.contains('%') && label != LOAD { 100.0 } else { 1.0 })
}

/// All figures of the thesis, drawn from one outcome.
struct ThesisFigures<'a> {
    results: &'a Results,
    /// Text below each figure.
    below: String,
}

impl ThesisFigures<'_> {
    /// Panels along this axis.
    fn panels_along(&self, x: &'static str) -> Drawn<'_> {
        Drawn { results: self.results, x }
    }

    /// The figure of a file; its number is at the start of the file's name.
    fn figure(&self, (file, title, panels): (&'static str, &str, Vec<Panel>)) -> Figure {
        let number = file.split('-').next().unwrap_or_default().trim_start_matches('0');
        let title = format!("Figure {number}: {}{}", title[..1].to_lowercase(), &title[1..]);
        Figure::of_panels(file, &title, &self.below, &panels)
    }

    /// Panels of the two sites, with equal lines.
    fn both_sites(&self, figure: &'static str, x: &'static str, y: &'static str, lines: &[Named]) -> Vec<Panel> {
        self.panels_along(x).sites(figure, y, [lines, lines])
    }

    /// The panel of the site of imitated reservations.
    fn virtuals(&self, figure: &'static str, y: &'static str, lines: &[Named]) -> Vec<Panel> {
        self.panels_along(AHEAD).site(virtuals::SITE, figure, y, lines)
    }

    /// Two panels along one axis, each with a figure's number, its vertical axis and its lines.
    fn pair(&self, x: &'static str, one: Named, other: Named, lines: [&[Named]; 2]) -> Vec<Panel> {
        let drawn = self.panels_along(x);
        vec![drawn.shared_panel("", one.0, one.1, lines[0]), drawn.shared_panel("", other.0, other.1, lines[1])]
    }
}

pub fn draw_figures(outcome: &Outcome) -> Vec<Figure> {
    let below = format!("{}; bars are one standard deviation", outcome.extent.size_words());
    let drawn = ThesisFigures { results: &outcome.results, below };
    let figures = [
        (
            "04-slots.svg",
            "How many slots an advertisement has",
            vec![drawn.panels_along("Slots in an advertisement").shared_panel("", "4", "Advertisements", EACH_SITE)],
        ),
        (
            "05-slots-and-jobs.svg",
            "Slots in an advertisement, by the load of the site",
            vec![drawn.panels_along("Jobs that run or wait").shared_panel("", "5", "Slots", EACH_SITE)],
        ),
        (
            "06-starts.svg",
            "When slots begin, and how long they last",
            vec![drawn.panels_along("Start (h from now); one slot in seven").shared_panel(
                "",
                "6",
                "Duration (h)",
                EACH_SITE,
            )],
        ),
        (
            "07-sizes.svg",
            "How many slots have how many processors",
            vec![drawn.panels_along("Processors").shared_panel("", "7", "Slots seen", EACH_SITE)],
        ),
        (
            "08-estimates.svg",
            "The same slots with inexact estimates",
            vec![drawn.panels_along("Start (h from now); one slot in seven").shared_panel(
                "",
                "8",
                "Duration (h)",
                EACH_SITE,
            )],
        ),
        (
            "13-makespan.svg",
            "How long workflows take over slots",
            drawn.both_sites("13 makespan", ALPHA, MAKESPAN, BOTH_WAYS),
        ),
        ("13-cost.svg", "What workflows cost over slots", drawn.both_sites("13 cost", ALPHA, COST, BOTH_WAYS)),
        (
            "14-makespan.svg",
            "Time of workflows over slots, by how many tasks they have",
            drawn.both_sites("14 makespan", TASKS, TIME_RATIO, EXTREMES),
        ),
        ("14-cost.svg", "What they cost, by how many tasks", drawn.both_sites("14 cost", TASKS, COST_RATIO, EXTREMES)),
        (
            "15-makespan.svg",
            "Workflows over slots, by how wide their tasks are",
            drawn.both_sites("15 makespan", "Processors of a task", TIME_RATIO, EXTREMES),
        ),
        (
            "15-cost.svg",
            "What they cost, by how wide their tasks are",
            drawn.both_sites("15 cost", "Processors of a task", COST_RATIO, EXTREMES),
        ),
        (
            "16-makespan.svg",
            "Workflows over slots, by load (3 to 30 processors a task on CTC, 1 to 9 on SDSC)",
            drawn.panels_along(LOAD).sites("16 makespan", TIME_RATIO, WIDTHS),
        ),
        ("16-cost.svg", "What they cost, by load", drawn.panels_along(LOAD).sites("16 cost", COST_RATIO, WIDTHS)),
        (
            "18-cybershake.svg",
            "Time and cost of CyberShake on CTC, by load",
            drawn.pair(LOAD, ("18 makespan", MAKESPAN), ("18 cost", COST), [BOTH_WAYS, BOTH_WAYS]),
        ),
        (
            "19-sites.svg",
            "Workflows over slots of several sites",
            drawn.pair("Sites", ("19 cost", COST_RATIO), ("19 makespan", MAKESPAN), [PROVISIONED, BOTH_WAYS]),
        ),
        (
            "23-fees.svg",
            "What reservations cost, by what cost weighs for them",
            vec![drawn.panels_along(ALPHA).shared_panel("", "23", FEE, &[("CTC", "CTC fee"), ("SDSC", "SDSC fee")])],
        ),
        (
            "24-waits.svg",
            "How long reservations and the queue wait",
            drawn.both_sites("24", ALPHA, WAIT, &[("reserved", "reserved"), ("queued", "queued")]),
        ),
        ("25-fees-load.svg", "What reservations cost, by load", drawn.both_sites("25", LOAD, FEE, ALPHAS)),
        (
            "26-waits-load.svg",
            "Waits of reservations relative to those of the queue, by load",
            drawn.both_sites("26", LOAD, "Wait (% of the queue's)", ALPHAS),
        ),
        (
            "27-share.svg",
            "Reservations at any cost, by how many of all jobs reserve",
            drawn.pair("Jobs that reserve (of 100)", ("27 fee", FEE), ("27 wait", WAIT), [EACH_SITE, EACH_SITE]),
        ),
        (
            "28-half.svg",
            "How long reservations and the queue wait if half of all jobs reserve",
            drawn.both_sites("28", ALPHA, WAIT, &[("reserved", "reserved"), ("queued", "queued")]),
        ),
        (
            "29-planners.svg",
            "What reservations cost under two planners",
            drawn.both_sites("29", LOAD, FEE, &[("EASY", "easy-count"), ("conservative", "conservative-count")]),
        ),
        (
            "30-fees-estimates.svg",
            "What reservations cost, with known and with unknown run times",
            drawn.both_sites("30", ALPHA, FEE, &[("exact", "fee"), ("inexact", "fee, inexact")]),
        ),
        (
            "31-waits-estimates.svg",
            "Waits, with known and with unknown (inexact) run times",
            drawn.both_sites(
                "31",
                ALPHA,
                WAIT,
                &[
                    ("reserved", "reserved"),
                    ("queued", "queued"),
                    ("res. inexact", "reserved, inexact"),
                    ("qu. inexact", "queued, inexact"),
                ],
            ),
        ),
        ("38-costs.svg", "What real (AR) and imitated (VAR) reservations cost", drawn.virtuals("38", RELATIVE, TRIALS)),
        ("39-success.svg", "How often they succeed", drawn.virtuals("39", "Had (%)", TRIALS)),
        (
            "40-cheaper.svg",
            "How often the imitated one is the cheaper of both",
            drawn.virtuals("40", "Cheaper (%)", CHEAPER),
        ),
        (
            "41-real.svg",
            "What real reservations cost, by how many nodes they have",
            drawn.virtuals("41", RELATIVE, REAL),
        ),
        ("46-combined.svg", "What both together cost", drawn.virtuals("46", RELATIVE, ALL_WAYS)),
        ("48-combined-success.svg", "How often both together succeed", drawn.virtuals("48", "Had (%)", ALL_WAYS)),
        (
            "52-makespan.svg",
            "How long workflows take at prices",
            drawn.both_sites("52 makespan", ALPHA, MAKESPAN, BOTH_WAYS),
        ),
        ("52-cost.svg", "What workflows cost at prices", drawn.both_sites("52 cost", ALPHA, COST, BOTH_WAYS)),
        (
            "53-makespan.svg",
            "Workflows at prices, by how many tasks they have",
            drawn.both_sites("53 makespan", TASKS, TIME_RATIO, EXTREMES),
        ),
        ("53-cost.svg", "What they cost, by how many tasks", drawn.both_sites("53 cost", TASKS, COST_RATIO, EXTREMES)),
        (
            "54-makespan.svg",
            "Workflows at prices, by how wide their tasks are",
            drawn.both_sites("54 makespan", "Processors of a task", TIME_RATIO, EXTREMES),
        ),
        (
            "54-cost.svg",
            "What they cost at prices, by how wide their tasks are",
            drawn.both_sites("54 cost", "Processors of a task", COST_RATIO, EXTREMES),
        ),
        (
            "55-makespan.svg",
            "Workflows at prices, by load",
            drawn.panels_along(LOAD).sites("55 makespan", TIME_RATIO, WIDTHS),
        ),
        (
            "55-cost.svg",
            "What they cost at prices, by load",
            drawn.panels_along(LOAD).sites("55 cost", COST_RATIO, WIDTHS),
        ),
        (
            "56-sites.svg",
            "Workflows at prices on several sites",
            drawn.pair("Sites", ("56 cost", COST_RATIO), ("56 makespan", MAKESPAN), [PROVISIONED, BOTH_WAYS]),
        ),
    ];
    figures.map(|figure| drawn.figure(figure)).into()
}
