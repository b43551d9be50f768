//! The experiment of "Bidding policies for market-based HPC workflow scheduling" (A. Burkimsher, L. S. Indrusiak): ten
//! policies at eight loads, or at fifteen, and the paper's conclusions.
//!
//! It is an experiment as users write them, with claims (`experiments/papers/market.toml`); here are its sizes and
//! figures.
//!
//! The paper gives the workloads' distributions, not their seeds; those are ours.

mod figures;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;

use hansa_report::experiment::claims::{Findings, judge_experiment};
use hansa_report::experiment::figures::text_table;
use hansa_report::experiment::file::Experiment;
use hansa_report::experiment::plot::Figure;
use hansa_report::experiment::reproduction::{Paper, Reproduction};
use hansa_report::experiment::rows::{self, RunRow, Table};
use hansa_report::experiment::statistics::Estimate;

/// The ten policies: names in a topology and in the paper.
pub const POLICIES: [(&str, &str); 10] = [
    ("random", "Random"),
    ("fifo", "FIFO"),
    ("srtf", "SRTF"),
    ("lrtf", "LRTF"),
    ("edf", "EDF"),
    ("p-slr", "P-SLR"),
    ("pv", "PV"),
    ("pvd", "PVD"),
    ("pvdsq", "PVDSQ"),
    ("pvr", "PVR"),
];

/// Offered load in hundredths of the capacity of all cores; an integer, so that it can be a key.
pub type Load = u32;

/// Loads of the tables.
pub const LOADS: [Load; 8] = [70, 80, 90, 100, 110, 120, 130, 140];
/// Loads of the tables and those halfway between.
const FINE_LOADS: [Load; 15] = [70, 75, 80, 85, 90, 95, 100, 105, 110, 115, 120, 125, 130, 135, 140];

/// The experiment in its small form, with the claims.
const PAPER: &str = include_str!("market.toml");

/// Platform and workload.
pub const TOPOLOGY: &str = include_str!("market-paper.toml");

/// Size of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub workloads: u32,
    /// Jobs per workload.
    pub jobs: u32,
    pub loads: &'static [Load],
}

/// Size of the paper.
pub const FULL: Extent = Extent { workloads: 10, jobs: 10_000, loads: &FINE_LOADS };
/// Smallest size that the claims can be judged by.
pub const SMALL: Extent = Extent { workloads: 3, jobs: 10_000, loads: &LOADS };

const SEED: &str = "workload.0.seed";
const LOAD: &str = "workload.0.load";
const POLICY: &str = "market.policy";

impl Extent {
    /// The experiment as a file beside its topology.
    pub fn experiment_text(&self, topology: &str) -> String {
        let seeds = join_items(&mut self.seeds().map(|seed| seed.to_string()));
        let loads = join_items(&mut self.loads.iter().map(|load| format!("{}.{:02}", load / 100, load % 100)));
        let policies = join_items(&mut POLICIES.iter().map(|(name, _)| format!("{name:?}")));
        let (_, choices) = PAPER.split_once("[[choice]]").expect("the paper leaves something open");
        format!(
            "# The market paper's experiment, as `hansa reproduce market` runs it.\n\n\
             name = \"reproduce-market\"\ntopology = {topology:?}\n\n\
             [set]\nworkload.0.jobs = {}\n\n\
             [vary]\n{SEED} = [{seeds}]\n{LOAD} = [{loads}]\n{POLICY} = [{policies}]\n\n\
             [[choice]]{choices}",
            self.jobs
        )
    }

    fn seeds(&self) -> impl Iterator<Item = u64> {
        (1..=u64::from(self.workloads)).map(|k| k * 7919)
    }

    /// The workloads in a few words.
    pub fn size_words(&self) -> String {
        let workloads = if self.workloads == 1 { "workload" } else { "workloads" };
        format!("{} {workloads} of {} jobs", self.workloads, self.jobs)
    }
}

fn join_items(items: &mut dyn Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// Estimates over the workloads.
pub struct Outcome {
    pub extent: Extent,
    estimates: BTreeMap<(String, Load, &'static str), Estimate>,
    findings: Findings,
}

impl Outcome {
    /// Evaluates rows of one variant; None if they are not of this experiment.
    pub fn of(extent: Extent, experiment: &Experiment, rows: &[RunRow]) -> Option<Outcome> {
        let table = Table::of(experiment);
        let policy = table.axis(POLICY)?;
        let load = table.axis(LOAD)?;
        let mut samples: BTreeMap<(String, Load, &'static str), Vec<f64>> = BTreeMap::new();
        for row in rows {
            let load = (row.values[load].parse::<f64>().ok()? * 100.0).round() as Load;
            for (metric, number) in table.metrics.iter().zip(&row.metrics) {
                if let Some(number) = number {
                    samples.entry((row.values[policy].clone(), load, metric)).or_default().push(*number);
                }
            }
        }
        let estimates = samples.into_iter().filter_map(|(key, numbers)| Some((key, Estimate::of(&numbers)?)));
        Some(Outcome { extent, estimates: estimates.collect(), findings: judge_experiment(experiment, rows)? })
    }

    pub fn estimate(&self, policy: &str, load: Load, metric: &'static str) -> Option<Estimate> {
        self.estimates.get(&(policy.to_owned(), load, metric)).copied()
    }

    pub fn mean(&self, policy: &str, load: Load, metric: &'static str) -> Option<f64> {
        self.estimate(policy, load, metric).map(|estimate| estimate.mean)
    }

    fn share_text(&self, policy: &str, load: u32, metric: &'static str) -> String {
        self.estimate(policy, load, metric).map_or("-".to_owned(), format_percent)
    }

    /// `summary.csv`: all estimates, one per line.
    fn summary_csv(&self) -> String {
        let mut text = "policy,load,metric,mean,within_95,workloads\n".to_owned();
        for ((policy, load, metric), estimate) in &self.estimates {
            let load = (f64::from(*load) / 100.0).to_string();
            let within = rows::csv_number(estimate.within);
            let mean = estimate.mean.to_string();
            let count = estimate.count.to_string();
            text.push_str(&rows::join_cells([policy, load.as_str(), metric, &mean, &within, &count].into_iter()));
        }
        text
    }
}

impl Reproduction for Outcome {
    const PAPER: Paper = Paper {
        title: "Bidding policies for market-based HPC workflow scheduling",
        authors: "A. Burkimsher, L. S. Indrusiak",
        tables_file: "summary.txt",
        shows_tables: true,
        ours: OURS,
        full: "hansa reproduce market --full",
        docs: "docs/market.md",
    };

    fn findings(&self) -> Findings {
        self.findings.clone()
    }

    fn head(&self, counts: &str) -> String {
        let mut text = format!(
            "The paper's claims, judged by {}: {counts}.\n\
             Names of numbers: value is the value obtained as a share of all there was, starved the share of jobs that\n\
             starved, slr_censored_N the mean SLR of the N-th tenth of the jobs by work, where starved ones count with\n\
             their final deadline, and starved_N the share of them that starved; those of _by_runtime_N are of tenths by\n\
             the run time of all tasks of a job together.\n",
            self.extent.size_words(),
        );
        if self.extent.jobs < SMALL.jobs || self.extent.workloads < SMALL.workloads {
            text.push_str(
                "With fewer than 3 workloads of 10000 jobs the span is short compared to the deadlines, and random\n\
                 variation is large: treat these verdicts as a trial.\n",
            );
        }
        text
    }

    fn draw_figures(&self) -> Vec<Figure> {
        figures::draw_figures(self)
    }

    fn tables_text(&self) -> String {
        let mut text =
            format!("Means over {}, with 95 % confidence intervals; all in percent.\n", self.extent.size_words());
        for (metric, title) in [
            ("value", "Value obtained, as a share of all value"),
            ("starved", "Jobs that starved"),
            ("utilisation", "Cores in use while jobs arrived"),
            ("useful", "Work done for jobs that obtained value"),
        ] {
            let rows = POLICIES
                .map(|(policy, label)| (label, LOADS.map(|load| self.share_text(policy, load, metric)).to_vec()));
            let heads = LOADS.map(|load| format!("{:.1}", f64::from(load) / 100.0));
            let _ = write!(text, "\n{title}\n{}", text_table("load", &heads, &rows, 13));
        }
        text
    }

    fn csv_files(&self) -> Vec<(&'static str, String)> {
        vec![("summary.csv", self.summary_csv())]
    }
}

/// Choices of the set-up that are not the paper's, and known differences.
const OURS: &[&str] = &[
    "The ranges of run times (300 to 100,000 minutes for all tasks of a job together), of cores (1 to 55) and of node \
     degrees: the paper prints none. It says that execution times are log-uniform, \"measured in hours to days\", that \
     some jobs \"take months\", and that there are \"approximately 100,000 tasks\" (125,000 here). They decide which \
     policy leads, and who starves.",
    "The ranges of deadlines and points of value curves, the weekly profile of arrivals, and the seeds.",
    "EDF is not defined by the paper: the initial deadline is taken.",
    "PVDSQ as printed orders tasks like PVD: here resources are squared.",
    "A bidder that does not fit blocks its kind of cores only, not both kinds.",
    "Under PVR tasks of hopeless jobs bid 0 and run first.",
    "The execution time of a job, which figure 7 of the paper is over, is read as the run time of all its tasks \
     together; the figures by critical path and by work are ours.",
];

fn format_percent(estimate: Estimate) -> String {
    let within = estimate.within.map_or(String::new(), |within| format!(" ±{:.2}", within * 100.0));
    format!("{:.2}{within}", estimate.mean * 100.0)
}
