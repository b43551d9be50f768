//! The experiments of "An end-to-end framework for provisioning based resource and application management in grids" (G.
//! Singh): slots that two sites advertise, workflows planned over them and bought at prices, reservations among jobs of
//! a queue, and jobs that imitate reservations.
//!
//! A site is a desk with the jobs of a model or a log, without a grid: most experiments branch at many moments of one
//! history, and a desk can be copied. The thesis used the logs of both machines; without them (`--logs`) a model is
//! tuned to equal utilisations. Points that the thesis leaves open are choices ([`Settings`]), with their options and
//! reasons in `experiments/papers/provisioning.toml`.

pub mod calibration;
mod claims;
mod figures;
mod load;
mod plans;
mod predictor;
mod prices;
mod published;
mod requests;
mod settings;
mod slots;
#[cfg(test)]
mod tests;
mod virtuals;

use serde::{Deserialize, Serialize};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use self::claims::CLAIMS;
pub use self::load::{Estimates, Logs, Site, jobs_of};
use self::settings::UNSET;
pub use self::settings::{Settings, choices};
use hansa_report::experiment::claims::Findings;
use hansa_report::experiment::kept::{Name, kept};
use hansa_report::experiment::plot::Figure;
use hansa_report::experiment::reproduction::{Paper, Reproduction};
use hansa_report::experiment::{rows, statistics};
use hansa_sim::random::mix_bits;
use hansa_sim::roles::queue::Rigid;
use hansa_sim::systems::provisioning::desk::{Desk, DeskTerms, PlanningMode};
use hansa_sim::systems::provisioning::forecast::{Forecast, History};
use hansa_sim::systems::provisioning::planner;
use hansa_sim::systems::provisioning::trial::SiteTrial;
use hansa_sim::time::{Span, Time};

/// Size of the experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of moments for plans on one site, and on several.
    pub moments: u32,
    pub moments_of_several: u32,
    /// Days of reservations among jobs, and of trials of virtual ones.
    pub days: u64,
    pub virtual_days: u64,
    /// Histories of trials of virtual reservations.
    pub virtual_histories: u32,
    /// Histories of reservations among jobs, with other jobs each: a single one may not be representative.
    pub histories: u32,
}

/// At least the size of the thesis, which has 10 moments on several sites and one history.
pub const FULL: Extent =
    Extent { moments: 50, moments_of_several: 30, days: 30, virtual_days: 30, virtual_histories: 12, histories: 30 };
/// Size for a few minutes.
pub const SMALL: Extent =
    Extent { moments: 24, moments_of_several: 12, days: 30, virtual_days: 30, virtual_histories: 4, histories: 12 };

/// A number of a run: figure, line, and position on the axis in thousandths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigurePoint {
    #[serde(deserialize_with = "kept")]
    pub figure: Name,
    pub line: String,
    pub at: i64,
    pub value: f64,
}

/// A unit of work for one processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    Slots(Site),
    Plans(plans::Setting),
    /// Figure 54 at a moment.
    Widths {
        site: Site,
        moment: u32,
    },
    CyberShake {
        load: u32,
        moment: u32,
    },
    Several {
        moment: u32,
    },
    Prices(prices::Setting),
    Virtuals {
        history: u32,
    },
}

impl Piece {
    /// The settings that the result depends on, with fixed ones of all others, so that equal work of several variants
    /// is recognised.
    pub fn relevant(&self, settings: &Settings, logs: &Logs) -> Settings {
        let Settings { reserved, queue, predictor, .. } = *settings;
        let has_logs = logs.are_given();
        // Only a log has a part, and jobs to leave unmodified; its requests are its own.
        let slots = if has_logs { settings.slots } else { UNSET.slots };
        let loads = if has_logs && self.has_least_load() { settings.loads } else { UNSET.loads };
        let ratios = if has_logs { UNSET.ratios } else { settings.ratios };
        match *self {
            Piece::Slots(_) => Settings { slots, loads, ratios, ..UNSET },
            Piece::Plans(_) | Piece::CyberShake { .. } | Piece::Several { .. } => Settings { loads, ..UNSET },
            Piece::Widths { site: Site::Ctc, .. } => Settings { loads, ..UNSET },
            Piece::Widths { site: Site::Sdsc, .. } => Settings { loads, widths: settings.widths, ..UNSET },
            Piece::Prices(setting) => {
                let is_usual = setting.planner == prices::Planner::Usual;
                let backfilling = if is_usual { settings.backfilling } else { UNSET.backfilling };
                match setting.estimates {
                    Estimates::Exact => Settings { loads, backfilling, ..UNSET },
                    Estimates::Inexact => Settings { loads, ratios, reserved, backfilling, ..UNSET },
                }
            }
            Piece::Virtuals { .. } => Settings { ratios: settings.ratios, queue, predictor, ..UNSET },
        }
    }

    /// True if this piece of work is about the lowest load that its figure shows.
    fn has_least_load(&self) -> bool {
        match *self {
            Piece::Plans(setting) => setting.site.is_least(setting.load),
            Piece::CyberShake { load, .. } => Site::Ctc.is_least(load),
            Piece::Prices(setting) => setting.load == 0,
            _ => true,
        }
    }
}

/// All that the result of a piece depends on.
pub struct Context<'a> {
    pub extent: &'a Extent,
    pub settings: &'a Settings,
    pub logs: &'a Logs,
}

impl Context<'_> {
    /// Jobs of a site at a load in thousandths, for this many days.
    fn background(&self, site: (Site, u32), days: u64, estimates: Estimates, seed: u64) -> Arc<[Rigid]> {
        self.logs.background_jobs(self.settings, site, days, estimates, seed)
    }
}

/// Seed for all loads of a site: its histories at different loads have the same users.
const SEED: u64 = 20_080_515;
/// Days of history before the first moment.
const WARM: u64 = 4;

impl Extent {
    /// Units of work, the longest first, so that processors end together.
    pub fn pieces(&self) -> Vec<Piece> {
        let moments = 0..self.moments;
        let plans = Site::ALL.into_iter().flat_map(|site| site.plan_loads().iter().map(move |load| (site, *load)));
        let plans =
            plans.flat_map(|(site, load)| moments.clone().map(move |moment| plans::Setting { site, load, moment }));
        let widths =
            Site::ALL.into_iter().flat_map(|site| moments.clone().map(move |moment| Piece::Widths { site, moment }));
        let several = (0..self.moments_of_several).map(|moment| Piece::Several { moment });
        let cyber = Site::Ctc.plan_loads().iter();
        let cyber = cyber.flat_map(|load| moments.clone().map(|moment| Piece::CyberShake { load: *load, moment }));
        // With inexact estimates queues are long, and planning them takes longest.
        let (long, short): (Vec<_>, Vec<_>) =
            prices::price_settings().into_iter().partition(|setting| setting.estimates == Estimates::Inexact);
        long.into_iter()
            .map(Piece::Prices)
            .chain(cyber)
            .chain((0..self.virtual_histories).map(|history| Piece::Virtuals { history }))
            .chain(several)
            .chain(plans.map(Piece::Plans))
            .chain(widths)
            .chain(short.into_iter().map(Piece::Prices))
            .chain(Site::ALL.map(Piece::Slots))
            .collect()
    }

    pub fn run(&self, settings: &Settings, logs: &Logs, piece: Piece) -> Vec<FigurePoint> {
        let mut rows = Rows(Vec::new());
        let context = Context { extent: self, settings, logs };
        match piece {
            Piece::Slots(site) => slots::run_slots(&context, site, &mut rows),
            Piece::Plans(setting) => plans::run_plans(&context, setting, &mut rows),
            Piece::Widths { site, moment } => plans::run_widths(&context, site, moment, &mut rows),
            Piece::CyberShake { load, moment } => plans::run_cybershake(&context, load, moment, &mut rows),
            Piece::Several { moment } => plans::run_several(&context, moment, &mut rows),
            Piece::Prices(setting) => prices::run_histories(&context, setting, &mut rows),
            Piece::Virtuals { history } => virtuals::run_virtuals(&context, history, &mut rows),
        }
        rows.0
    }

    /// Usual CPU time of a piece in seconds. Queues of logs are longer than those of the model.
    pub fn seconds(&self, piece: Piece, logs: &Logs) -> f64 {
        let seconds_per_history = if logs.are_given() { 0.35 } else { 0.06 };
        match piece {
            Piece::Slots(_) => 0.1,
            Piece::Plans(_) => 0.35,
            Piece::Widths { .. } => 0.1,
            Piece::CyberShake { .. } => 0.3,
            Piece::Several { .. } => 0.7,
            Piece::Prices(_) => seconds_per_history * f64::from(self.histories),
            Piece::Virtuals { .. } => 0.02 * self.virtual_days as f64,
        }
    }

    /// Seed of a moment: jobs of the model have another history at each, so that moments are independent.
    fn moment_seed(moment: u32) -> u64 {
        SEED ^ mix_bits(u64::from(moment))
    }

    /// Time of a moment: moments are spread over the days, and over their hours.
    fn moment_time(&self, number: u32) -> Time {
        let hours = WARM * 24 + u64::from(number) * 29;
        Time::ZERO + Span::from_minutes(hours * 60)
    }

    /// Days of history for all moments, and for work that begins at the last of them.
    fn history_days(&self) -> u64 {
        WARM + u64::from(self.moments) * 29 / 24 + 14
    }

    pub fn size_words(&self) -> String {
        let Extent { moments, moments_of_several, days, virtual_days, virtual_histories, histories } = self;
        format!(
            "{moments} moments ({moments_of_several} on several sites), {histories} times {days} days of reservations, \
             {virtual_histories} times {virtual_days} of virtual ones"
        )
    }
}

/// Collects numbers.
struct Rows(Vec<FigurePoint>);

impl Rows {
    fn put_point(&mut self, figure: &'static str, line: impl Into<String>, at: f64, value: f64) {
        self.0.push(FigurePoint { figure, line: line.into(), at: (at * 1_000.0).round() as i64, value });
    }
}

fn build_desk(procs: u32, mode: PlanningMode, name: &str, history: Box<dyn Forecast>) -> Desk {
    let planner = planner::build_planner(name).expect("experiments name planners that there are");
    Desk::new(DeskTerms::new(procs, mode), planner, history)
}

fn build_trial(site: Site, mode: PlanningMode, name: &str, jobs: Arc<[Rigid]>) -> SiteTrial {
    SiteTrial::new(build_desk(site.procs(), mode, name, Box::new(History::new())), jobs)
}

/// All numbers, by figure, line and position on the axis.
pub struct Outcome {
    pub extent: Extent,
    pub settings: Settings,
    pub results: Results,
    rows: Vec<FigurePoint>,
}

#[derive(Clone, Debug, Default)]
pub struct Results {
    samples: BTreeMap<(&'static str, String, i64), Vec<f64>>,
    /// True if sites have the jobs of logs.
    pub has_logs: bool,
    settings: Settings,
}

/// Pairs of lines of a figure with paired samples; the first is shown relative to the second.
const PAIRS: [(&str, &str); 2] = [("provisioned", "best effort"), ("reserved", "queued")];

/// Name of a line of a pair.
fn one_of(line: &str, what: &str) -> String {
    if line.is_empty() { what.to_owned() } else { format!("{line} {what}") }
}

impl Results {
    fn samples(&self, figure: &'static str, line: &str, at: f64) -> &[f64] {
        let key = (figure, line.to_owned(), (at * 1_000.0).round() as i64);
        self.samples.get(&key).map_or(&[], Vec::as_slice)
    }

    /// All points of a line, along its axis.
    fn line_points(
        &self,
        figure: &'static str,
        line: &str,
    ) -> impl Iterator<Item = (&(&'static str, String, i64), &Vec<f64>)> {
        self.samples.iter().filter(move |((its, name, _), _)| (*its, name.as_str()) == (figure, line))
    }

    fn mean(&self, figure: &'static str, line: &str, at: f64) -> Option<f64> {
        mean_of(self.samples(figure, line, at))
    }

    /// Samples of a pair.
    fn pair_samples(&self, figure: &'static str, line: &str, at: f64) -> Option<[&[f64]; 2]> {
        PAIRS
            .into_iter()
            .map(|one| self.samples_of_both(one, at, figure, line))
            .find(|pair| pair.iter().all(|samples| !samples.is_empty()))
    }

    fn samples_of_both(&self, (one, other): (&str, &str), at: f64, figure: &'static str, line: &str) -> [&[f64]; 2] {
        [one, other].map(|what| self.samples(figure, &one_of(line, what), at))
    }

    /// Ratio of the means of a pair.
    fn pair_ratio(&self, figure: &'static str, line: &str, at: f64) -> Option<f64> {
        let [one, other] = self.pair_samples(figure, line, at)?;
        statistics::paired_ratio(one, other).map(|ratio| ratio.0)
    }
}

fn mean_of(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

fn standard_deviation(numbers: &[f64]) -> Option<f64> {
    let mean = mean_of(numbers).filter(|_| numbers.len() > 1)?;
    let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
    Some((squares / (numbers.len() - 1) as f64).sqrt())
}

fn sample_correlation(one: &[f64], other: &[f64]) -> f64 {
    let (Some(mean_one), Some(mean_other)) = (mean_of(one), mean_of(other)) else { return 0.0 };
    let together: f64 = one.iter().zip(other).map(|(a, b)| (a - mean_one) * (b - mean_other)).sum();
    let spreads = root_square_sum(one, mean_one) * root_square_sum(other, mean_other);
    if spreads > 0.0 { together / spreads } else { 0.0 }
}

fn root_square_sum(numbers: &[f64], mean: f64) -> f64 {
    numbers.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>().sqrt()
}

impl Outcome {
    /// Collects rows, which must be in the order of their units.
    pub fn of(extent: Extent, settings: Settings, has_logs: bool, rows: Vec<FigurePoint>) -> Outcome {
        let mut results = Results { has_logs, settings, ..Results::default() };
        for row in &rows {
            results.samples.entry((row.figure, row.line.clone(), row.at)).or_default().push(row.value);
        }
        Outcome { extent, settings, results, rows }
    }

    /// All numbers of all runs.
    fn runs_csv(&self) -> String {
        let mut text = "figure,line,at,value\n".to_owned();
        for FigurePoint { figure, line, at, value } in &self.rows {
            let numbers = [*at as f64 / 1_000.0, *value].map(|number| number.to_string());
            text.push_str(&rows::join_cells([*figure, line].into_iter().chain(numbers.iter().map(String::as_str))));
        }
        text
    }

    /// Means and deviations of all points of the figures.
    fn summary_csv(&self) -> String {
        let mut text = "figure,line,at,mean,deviation,samples\n".to_owned();
        for ((figure, line, at), samples) in &self.results.samples {
            let deviation = rows::csv_number(standard_deviation(samples));
            let mean = mean_of(samples).unwrap_or_default();
            let at = *at as f64 / 1_000.0;
            let cells = [at.to_string(), mean.to_string(), deviation, samples.len().to_string()];
            text.push_str(&rows::join_cells([*figure, line].into_iter().chain(cells.iter().map(String::as_str))));
        }
        text
    }

    fn size_words(&self) -> String {
        format!(
            "{}, {}",
            self.extent.size_words(),
            if self.results.has_logs { "jobs of logs" } else { "jobs of a model" }
        )
    }
}

impl Reproduction for Outcome {
    const PAPER: Paper = Paper {
        title: "An end-to-end framework for provisioning based resource and application management in grids",
        authors: "G. Singh (2008)",
        tables_file: "summary.txt",
        shows_tables: false,
        ours: OURS,
        full: "hansa reproduce provisioning --full --logs DIR",
        docs: "docs/provisioning.md",
    };

    fn findings(&self) -> Findings {
        Findings::judge_claims(CLAIMS, &self.results)
    }

    fn head(&self, counts: &str) -> String {
        format!(
            "Claims over {}: {counts}.\nA number is named by its figure, line and position on the axis; sd is a standard \
             deviation.\n",
            self.size_words()
        )
    }

    fn draw_figures(&self) -> Vec<Figure> {
        figures::draw_figures(self)
    }

    /// The thesis's numbers beside ours, then one table per figure, with a line each along its axis.
    fn tables_text(&self) -> String {
        let mut text = format!("Provisioning: {}\n\n", self.size_words());
        published::write_published(&self.results, &mut text);
        let lines: BTreeSet<(&'static str, &str)> =
            self.results.samples.keys().map(|(figure, line, _)| (*figure, line.as_str())).collect();
        for (figure, line) in lines {
            let means = self.results.line_points(figure, line).map(|((.., at), samples)| (*at, mean_of(samples)));
            write_line(&mut text, figure, line, means.collect());
            let Some(pair) = PAIRS.iter().find_map(|pair| Some(line.strip_suffix(pair.0)?.trim_end())) else {
                continue;
            };
            let ratios = self.results.line_points(figure, line).map(|((.., at), _)| *at);
            let ratios = ratios.map(|at| (at, self.results.pair_ratio(figure, pair, at as f64 / 1_000.0))).collect();
            write_line(&mut text, figure, &one_of(pair, "ratio of means"), ratios);
        }
        text.push('\n');
        text
    }

    fn csv_files(&self) -> Vec<(&'static str, String)> {
        vec![("runs.csv", self.runs_csv()), ("summary.csv", self.summary_csv())]
    }
}

/// Choices of the set-up that are not the thesis's, and known differences.
const OURS: &[&str] = &[
    "Points that the thesis leaves open are choices, with their options and reasons; the section on choices lists them.",
    "Without --logs the jobs of both sites are from the model of Lublin and Feitelson, tuned to the thesis's \
     utilisations. Its jobs grow with the machine, unlike those of CTC's log. With --logs the logs are rebuilt ones, \
     which differ a little from the thesis's.",
    "Distributions of the workflow: run times of 500 to 1,500 s, processors of 1 to twice the mean less one, two parents a \
     task. One application is submitted at all moments, as in the thesis.",
    "Classes of the predictor (nodes 1-4, 5-16, 17-64, more; requested times up to 1, 4 and 12 h, more).",
    "Figures 33 to 49: the thesis ran them against the queue of NCSA's TeraGrid cluster, of which no log is at hand. Here \
     they run against a queue of the model (128 processors, 70 %, long jobs of 1 h), the best of a search among 60 \
     queues: at single moments it has the chance of figure 35 (.380 for .38) and those of figure 36 (.751 and .751 for \
     .772 and .747), and jobs wait at 96 of 100 moments.",
    "Histories of 30 days with other jobs each, of reservations and of virtual ones, where the thesis has one; with logs, \
     those at the least load differ only in the jobs that reserve.",
    "With logs, figure 15 cannot be told on SDSC at weight 1: tasks of one processor take about as long over slots as by \
     best effort.",
];

/// Most points of a line in the text; longer lines are only in the table.
const SHOWN: usize = 40;

fn write_line(text: &mut String, figure: &str, line: &str, points: Vec<(i64, Option<f64>)>) {
    let _ = write!(text, "\n{figure:<12} {line:<34}");
    if points.len() > SHOWN {
        let _ = write!(text, "  {} points, see summary.csv", points.len());
        return;
    }
    for (at, value) in points {
        let value = value.map_or("-".to_owned(), format_short);
        let _ = write!(text, "  {}: {value}", at as f64 / 1_000.0);
    }
}

/// Rounds to about four significant digits.
fn format_short(number: f64) -> String {
    match number.abs() {
        large if large >= 1_000.0 => format!("{number:.0}"),
        middling if middling >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.3}"),
    }
}
