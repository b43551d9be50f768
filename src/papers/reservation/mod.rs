//! The experiment of "Resource availability-aware advance reservation for parallel jobs with deadlines" (B. Li, Y. Pei,
//! B. Shen, H. Wu, M. He, J. Yang): seven fit policies on one cluster, with varying sizes, arrivals and flexibility.
//!
//! The paper drew arrivals and run times with constants that no public copy contains; the usual ones here are those of
//! the generic model. Points that it leaves open are choices ([`Settings`]), with their options and reasons in
//! `experiments/papers/reservation.toml`.

mod claims;
mod figures;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;
use std::fmt::Write;

use hansa_report::experiment::claims::Findings;
use hansa_report::experiment::figures::text_table;
use hansa_report::experiment::kept::{Name, kept};
use hansa_report::experiment::plot::Figure;
use hansa_report::experiment::program::ProgramFile;
use hansa_report::experiment::reproduction::{Paper, Reproduction};
use hansa_report::experiment::rows;
use hansa_report::experiment::statistics::Estimate;
use hansa_sim::grid::Request;
use hansa_sim::settings::{Walk, key};
use hansa_sim::systems::reservation::fit;
use hansa_sim::systems::reservation::{RectEnd, Trial};
use hansa_sim::words::words;
use hansa_sim::workload::lublin::Times;
use hansa_sim::workload::reservations::RequestGenerator;

pub const NODES: u32 = 1024;
const SIZE_MAX: f64 = 10.0;

/// Path of the file with the choices, and its text.
const FILE: (&str, &str) = ("experiments/papers/reservation.toml", include_str!("reservation.toml"));

words! {
    /// Constants of run times.
    RunTimes {
        /// Constants of the general model.
        General = "general",
        /// Narrower long ones with more arrivals, which use all classes of durations.
        Spread = "spread",
    }
}

impl RunTimes {
    fn times(self) -> Times {
        match self {
            RunTimes::General => Times::default(),
            RunTimes::Spread => Times { long: Some((312.0, 0.025)), ..Times::default() },
        }
    }

    /// Factor of the arrival rate, in hundredths, that keeps the load comparable.
    fn arrival_factor(self) -> u64 {
        match self {
            RunTimes::General => 100,
            RunTimes::Spread => 150,
        }
    }
}

/// Settings that the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub rect_end: RectEnd,
    pub run_times: RunTimes,
}

impl Default for Settings {
    /// The usual option of each choice.
    fn default() -> Settings {
        let file = read_choices();
        file.settings(&file.choices.usual_selection())
    }
}

impl Settings {
    fn walk(&mut self, w: &mut dyn Walk) {
        w.set(key("rect_end", "the end of a rectangle that has none"), &mut self.rect_end, RectEnd::ALL);
        w.set(key("run_times", "the constants of run times"), &mut self.run_times, RunTimes::ALL);
    }
}

/// The choices of the experiment.
pub fn read_choices() -> ProgramFile<Settings> {
    let unset = Settings { rect_end: RectEnd::Inf2tdl, run_times: RunTimes::General };
    let (path, text) = FILE;
    ProgramFile::read_text(path, text, unset, Settings::walk).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Size of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub workloads: u32,
    /// Requests per workload.
    pub requests: u32,
}

/// Size of the paper; its number of runs is not known.
pub const FULL: Extent = Extent { workloads: 5, requests: 10_000 };

/// One point of the experiment's axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// Middle size, as a power of two: the paper's UMed.
    pub umed: u32,
    /// Arrival rate relative to the usual one, in hundredths.
    pub arrival: u32,
    /// Largest ready time and largest slack of the deadline, in durations of the request.
    pub flexibility: u32,
}

/// The setting around which one axis varies.
pub const USUAL: Setting = Setting { umed: 7, arrival: 100, flexibility: 3 };

/// The axes of the experiment: parameters of a workload that vary one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Umed,
    Arrival,
    Flexibility,
}

impl Axis {
    pub const ALL: [Axis; 3] = [Axis::Umed, Axis::Arrival, Axis::Flexibility];

    pub fn settings(self) -> [Setting; 5] {
        match self {
            Axis::Umed => [5, 6, 7, 8, 9].map(|umed| Setting { umed, ..USUAL }),
            Axis::Arrival => [50, 75, 100, 125, 150].map(|arrival| Setting { arrival, ..USUAL }),
            Axis::Flexibility => [1, 2, 3, 4, 5].map(|flexibility| Setting { flexibility, ..USUAL }),
        }
    }

    /// Position of a setting on the axis, in the paper's units.
    pub fn value(self, setting: Setting) -> f64 {
        match self {
            Axis::Umed => f64::from(setting.umed),
            Axis::Arrival => f64::from(setting.arrival) / 100.0,
            Axis::Flexibility => f64::from(setting.flexibility),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Axis::Umed => "UMed",
            Axis::Arrival => "arrival factor",
            Axis::Flexibility => "flexibility",
        }
    }
}

/// All settings, each once.
pub fn all_settings() -> Vec<Setting> {
    let mut settings: Vec<Setting> = Axis::ALL.into_iter().flat_map(Axis::settings).collect();
    settings.sort_unstable();
    settings.dedup();
    settings
}

impl Setting {
    fn generate_requests(self, run_times: RunTimes, seed: u64, requests: u32) -> Vec<Request> {
        let demand = RequestGenerator {
            seed,
            requests,
            nodes: NODES,
            size: f64::from(self.umed),
            size_max: SIZE_MAX,
            rate_millionths: u64::from(self.arrival) * run_times.arrival_factor() * 100,
            ahead_millionths: u64::from(self.flexibility) * 1_000_000,
            slack_millionths: u64::from(self.flexibility) * 1_000_000,
            times: run_times.times(),
            ..RequestGenerator::default()
        };
        demand.requests()
    }
}

/// A unit of work for one processor: one workload under one setting, to be run under all policies.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub seed: u64,
    pub setting: Setting,
}

/// Mean size of a workload's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub nodes: f64,
    pub seconds: f64,
}

impl Asked {
    fn mean_request(requests: &[Request]) -> Asked {
        Asked {
            nodes: mean_of_requests(|request| f64::from(request.nodes), requests),
            seconds: mean_of_requests(|request| request.duration.micros() as f64 / 1e6, requests),
        }
    }
}

fn mean_of_requests(of: fn(&Request) -> f64, requests: &[Request]) -> f64 {
    requests.iter().map(of).sum::<f64>() / requests.len().max(1) as f64
}

/// A run of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyRun {
    #[serde(deserialize_with = "kept")]
    pub policy: Name,
    pub setting: Setting,
    pub seed: u64,
    pub asked: Asked,
    pub trial: Trial,
}

impl Extent {
    pub fn pieces(&self) -> Vec<Piece> {
        let seeds = (1..=u64::from(self.workloads)).map(|k| k * 7919);
        let settings = all_settings();
        seeds.flat_map(|seed| settings.iter().map(move |&setting| Piece { seed, setting })).collect()
    }

    pub fn run(&self, settings: Settings, piece: Piece) -> Vec<PolicyRun> {
        let Piece { seed, setting } = piece;
        let requests = setting.generate_requests(settings.run_times, seed, self.requests);
        let asked = Asked::mean_request(&requests);
        fit::ALL
            .iter()
            .map(|fit| PolicyRun {
                policy: fit.label,
                setting,
                seed,
                asked,
                trial: Trial::run_requests(&requests, NODES, fit, settings.rect_end),
            })
            .collect()
    }

    /// The workloads in a few words.
    pub fn size_words(&self) -> String {
        let workloads = if self.workloads == 1 { "workload" } else { "workloads" };
        format!("{} {workloads} of {} requests", self.workloads, self.requests)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    Acceptance,
    Slowdown,
}

impl Metric {
    /// Letter of the axis in comparisons.
    fn letter(self) -> &'static str {
        match self {
            Metric::Acceptance => "a",
            Metric::Slowdown => "s",
        }
    }

    fn of(self, trial: &Trial) -> Option<f64> {
        match self {
            Metric::Acceptance => trial.acceptance(),
            Metric::Slowdown => trial.slowdown,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Metric::Acceptance => "acceptance",
            Metric::Slowdown => "slowdown",
        }
    }
}

/// Numbers of all runs, by policy and setting, in order of their seeds.
pub struct Outcome {
    pub extent: Extent,
    pub settings: Settings,
    samples: BTreeMap<(&'static str, Setting, Metric), Vec<f64>>,
    /// Mean requests of each setting and workload.
    asked: BTreeMap<(Setting, u64), Asked>,
    rows: Vec<PolicyRun>,
}

impl Outcome {
    /// Collects rows of these settings, which must be in order of their seeds.
    pub fn of(extent: Extent, settings: Settings, rows: Vec<PolicyRun>) -> Outcome {
        let mut samples: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for row in &rows {
            for metric in [Metric::Acceptance, Metric::Slowdown] {
                if let Some(number) = metric.of(&row.trial) {
                    samples.entry((row.policy, row.setting, metric)).or_default().push(number);
                }
            }
        }
        let asked = rows.iter().map(|row| ((row.setting, row.seed), row.asked)).collect();
        Outcome { extent, settings, samples, asked, rows }
    }

    pub fn estimate(&self, policy: &'static str, setting: Setting, metric: Metric) -> Option<Estimate> {
        Estimate::of(self.samples.get(&(policy, setting, metric))?)
    }

    /// Mean request of a setting, which does not depend on the policy.
    pub fn mean_requested(&self, setting: Setting, of: fn(&Asked) -> f64) -> Option<Estimate> {
        Estimate::of(&self.asked_samples(setting, of))
    }

    fn asked_samples(&self, setting: Setting, of: fn(&Asked) -> f64) -> Vec<f64> {
        self.asked.iter().filter(|((at, _), _)| *at == setting).map(|(_, asked)| of(asked)).collect()
    }

    /// Difference of two policies, workload by workload.
    pub fn paired_difference(
        &self,
        a: &'static str,
        b: &'static str,
        setting: Setting,
        metric: Metric,
    ) -> Option<Estimate> {
        let a = self.samples.get(&(a, setting, metric))?;
        let b = self.samples.get(&(b, setting, metric))?;
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        Estimate::of(&differences)
    }

    fn estimate_text(&self, label: &'static str, setting: Setting, metric: Metric) -> String {
        self.estimate(label, setting, metric).map_or("-".to_owned(), format_estimate)
    }

    fn write_asked(&self, text: &mut String, name: &str, of: fn(&Asked) -> f64) {
        let _ = write!(text, "{name:<7}");
        for setting in Axis::Umed.settings() {
            let cell = self.mean_requested(setting, of).map_or("-".to_owned(), |asked| format!("{:.1}", asked.mean));
            let _ = write!(text, "{cell:>14}");
        }
        text.push('\n');
    }

    /// Distance of the results from those of another program.
    fn against_reference(&self) -> String {
        let mut farthest: Option<(f64, String)> = None;
        let mut compare = |policy: &'static str, setting: Setting, metric: Metric, known: f64| {
            let Some(estimate) = self.estimate(policy, setting, metric) else { return };
            let apart = (estimate.mean - known).abs();
            if farthest.as_ref().is_none_or(|(most, _)| apart > *most) {
                let name = metric.name();
                let umed = setting.umed;
                let text = format!("{name} of {policy} at UMed {umed} is {:.3}, there {known:.3}", estimate.mean);
                farthest = Some((apart, text));
            }
        };
        for (policy, acceptance, slowdown) in REFERENCE {
            for (setting, known) in Axis::Umed.settings().into_iter().zip(acceptance) {
                compare(policy, setting, Metric::Acceptance, known);
            }
            compare(policy, USUAL, Metric::Slowdown, slowdown);
        }
        farthest.map_or(String::new(), |(apart, text)| {
            format!("Farthest from the reference table of another program (0.05 is expected): {apart:.3}\n  {text}\n")
        })
    }

    /// `runs.csv`: all runs.
    fn runs_csv(&self) -> String {
        let mut text = "policy,umed,arrival_factor,flexibility,seed,valid,accepted,acceptance,slowdown\n".to_owned();
        for PolicyRun { policy, setting, seed, trial, .. } in &self.rows {
            let [umed, arrival, flexibility] = setting_columns(*setting);
            let counts = [seed.to_string(), trial.valid.to_string(), trial.accepted.to_string()];
            let [seed, valid, accepted] = &counts;
            let acceptance = rows::csv_number(trial.acceptance());
            let slowdown = rows::csv_number(trial.slowdown);
            let cells = [*policy, &umed, &arrival, &flexibility, seed, valid, accepted, &acceptance, &slowdown];
            text.push_str(&rows::join_cells(cells.into_iter()));
        }
        text
    }

    /// `summary.csv`: all estimates, one per line.
    fn summary_csv(&self) -> String {
        let mut text = "policy,umed,arrival_factor,flexibility,metric,mean,within_95,workloads\n".to_owned();
        for &(policy, setting, metric) in self.samples.keys() {
            let Some(estimate) = self.estimate(policy, setting, metric) else { continue };
            let within = rows::csv_number(estimate.within);
            let [umed, arrival, flexibility] = setting_columns(setting);
            let mean = estimate.mean.to_string();
            let count = estimate.count.to_string();
            let cells = [policy, &umed, &arrival, &flexibility, metric.name(), &mean, &within, &count];
            text.push_str(&rows::join_cells(cells.into_iter()));
        }
        text
    }
}

impl Reproduction for Outcome {
    const PAPER: Paper = Paper {
        title: "Resource availability-aware advance reservation for parallel jobs with deadlines",
        authors: "B. Li, Y. Pei, B. Shen, H. Wu, M. He, J. Yang",
        tables_file: "summary.txt",
        shows_tables: true,
        ours: OURS,
        full: "hansa reproduce reservation",
        docs: "docs/queues.md",
    };

    fn findings(&self) -> Findings {
        Findings::judge_claims(claims::CLAIMS, self)
    }

    fn head(&self, counts: &str) -> String {
        let mut text = format!(
            "The paper's claims, judged by {}: {counts}.\n\
             Names of numbers: a is the acceptance rate, s the mean slowdown of accepted jobs, U5 to U9 UMed, A0.5 to A1.5
\
             the arrival factor, F1 to F5 flexibility. Rectangles end as under `{}`, and run times are `{}`: the paper
\
             leaves both open.
",
            self.extent.size_words(),
            self.settings.rect_end.word(),
            self.settings.run_times.word(),
        );
        if self.extent.workloads < FULL.workloads || self.extent.requests < FULL.requests {
            text.push_str(
                "With fewer than 5 workloads of 10000 requests, random variation is large: treat this as a trial.\n",
            );
        }
        text
    }

    fn draw_figures(&self) -> Vec<Figure> {
        figures::draw_figures(self)
    }

    fn tables_text(&self) -> String {
        let mut text =
            format!("Means over {} on {NODES} nodes, with 95 % confidence intervals.\n", self.extent.size_words());
        for axis in Axis::ALL {
            for metric in [Metric::Acceptance, Metric::Slowdown] {
                let heads: Vec<String> =
                    axis.settings().into_iter().map(|setting| axis.value(setting).to_string()).collect();
                let row = |label| {
                    axis.settings().into_iter().map(|setting| self.estimate_text(label, setting, metric)).collect()
                };
                let rows: Vec<(&str, Vec<String>)> = fit::ALL.iter().map(|fit| (fit.label, row(fit.label))).collect();
                let _ = write!(text, "\n{} by {}\n{}", metric.name(), axis.name(), text_table("", &heads, &rows, 14));
            }
        }
        let _ = writeln!(text, "\nrequests by UMed");
        self.write_asked(&mut text, "nodes", |asked| asked.nodes);
        self.write_asked(&mut text, "seconds", |asked| asked.seconds);
        let _ = write!(text, "\n{}", self.against_reference());
        let best = "PE_W against Du_B, the next best, on the same workloads: acceptance higher by\n";
        let _ = write!(text, "\n{best}");
        for setting in all_settings() {
            if let Some(more) = self.paired_difference("PE_W", "Du_B", setting, Metric::Acceptance) {
                let Setting { umed, arrival, flexibility } = setting;
                let arrival = f64::from(arrival) / 100.0;
                let _ = writeln!(
                    text,
                    "  UMed {umed}, arrival factor {arrival}, flexibility {flexibility}: {}",
                    format_estimate(more)
                );
            }
        }
        text
    }

    fn csv_files(&self) -> Vec<(&'static str, String)> {
        vec![("runs.csv", self.runs_csv()), ("summary.csv", self.summary_csv())]
    }
}

/// Choices of the set-up that are not the paper's, and known differences.
const OURS: &[&str] = &[
    "Constants of arrivals and run times: the paper took those of the CM-5 from an article that we have not got. Run \
     times of large requests follow a machine of 128 nodes, so an eighth of the size counts.",
    "Run times are rounded up to the next of the paper's six classes.",
    "A rectangle without an end ends at the deadline of the request (inf2tdl); the paper does not say how such durations \
     are compared. With rectangles that are all cut at the deadline (clip), the same groups of policies appear, within \
     0.003. With infinite ones (open) Du_B falls to the level of FF.",
    "Nodes of a reservation: the lowest numbers of the free ones.",
    "The number of workloads (5) and their seeds.",
];

fn setting_columns(setting: Setting) -> [String; 3] {
    let arrival = f64::from(setting.arrival) / 100.0;
    [setting.umed.to_string(), arrival.to_string(), setting.flexibility.to_string()]
}

fn format_estimate(estimate: Estimate) -> String {
    let within = estimate.within.map_or(String::new(), |within| format!(" ±{within:.3}"));
    format!("{:.3}{within}", estimate.mean)
}

/// Acceptance by UMed 5 to 9, and slowdown at 7, of another program with the same model and other draws.
const REFERENCE: [(&str, [f64; 5], f64); 7] = [
    ("FF", [0.888, 0.842, 0.765, 0.641, 0.455], 1.128),
    ("PE_B", [0.884, 0.836, 0.759, 0.633, 0.453], 1.268),
    ("Du_W", [0.885, 0.837, 0.759, 0.634, 0.459], 1.270),
    ("PEDu_B", [0.914, 0.875, 0.786, 0.667, 0.476], 1.384),
    ("PEDu_W", [0.898, 0.862, 0.797, 0.682, 0.493], 1.289),
    ("Du_B", [0.927, 0.897, 0.829, 0.709, 0.517], 1.402),
    ("PE_W", [0.929, 0.899, 0.832, 0.713, 0.522], 1.402),
];
