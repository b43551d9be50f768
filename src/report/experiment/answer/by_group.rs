//! Means by groups of jobs: size, run time, user, account and hour of day.

use std::collections::BTreeMap;

use super::common::{ClusterSum, CommonJob, CommonJobs, JobQuantity, mean_of_clusters};
use super::shown::show_estimate;
use super::table::{Mark, NamedTable, TableCell, TableHead};
use crate::experiment::job_classes::{cores_class, run_time_class};
use crate::experiment::statistics::Estimate;
use hansa_sim::numerals::{format_count, format_counted};

/// Least number of jobs of a group.
const JOBS_MIN: usize = 10;

/// Most users, and most accounts: those with most jobs.
const NAMES_MAX: usize = 8;

/// Microseconds of a day and of a group of hours.
const DAY: u64 = 86_400_000_000;
const HOURS: u64 = DAY / 4;
const HOUR_LABELS: [&str; 4] = ["0 h to 6 h", "6 h to 12 h", "12 h to 18 h", "18 h to 24 h"];

/// A property that divides the jobs.
struct Dimension {
    name: &'static str,
    /// True if its groups have no order of their own, so that those with most jobs are shown.
    by_size: bool,
    /// Rank and label of a job's group.
    group: fn(&CommonJob<'_>) -> Option<(u64, String)>,
}

const DIMENSIONS: [Dimension; 5] = [
    Dimension { name: "cores", by_size: false, group: |job| Some(cores_class(job.outcomes[0].cores?.into())) },
    Dimension {
        name: "run time",
        by_size: false,
        group: |job| job.run_time.is_finite().then(|| run_time_class(job.run_time)),
    },
    Dimension { name: "user", by_size: true, group: user_of },
    Dimension { name: "account", by_size: true, group: account_of },
    Dimension { name: "hour of day", by_size: false, group: hours_of },
];

/// User of the log, or else of the run.
fn user_of(job: &CommonJob<'_>) -> Option<(u64, String)> {
    let outcome = job.outcomes[0];
    match outcome.logged.0 {
        Some(user) => Some((user.into(), user.to_string())),
        None => job.run.users.get(outcome.user as usize).map(|name| (outcome.user.into(), name.clone())),
    }
}

fn account_of(job: &CommonJob<'_>) -> Option<(u64, String)> {
    job.outcomes[0].logged.1.map(|group| (group.into(), group.to_string()))
}

fn hours_of(job: &CommonJob<'_>) -> Option<(u64, String)> {
    let at = (job.run.time_of_day? + job.outcomes[0].submitted) % DAY / HOURS;
    Some((at, HOUR_LABELS[at as usize].to_owned()))
}

/// Sums of a quantity over the jobs of a group, by cluster.
#[derive(Clone)]
struct GroupSums {
    label: String,
    jobs: usize,
    /// Sum and count of each cluster, by contender; and those of the differences from the reference.
    own: Vec<Vec<ClusterSum>>,
    apart: Vec<Vec<ClusterSum>>,
}

impl GroupSums {
    fn new(label: String, contenders: usize, clusters: usize) -> GroupSums {
        let none = vec![vec![(0.0, 0.0); clusters]; contenders];
        GroupSums { label, jobs: 0, own: none.clone(), apart: none }
    }

    fn add(&mut self, cluster: usize, numbers: &[Option<f64>], reference: usize) {
        self.jobs += 1;
        for (contender, number) in numbers.iter().enumerate() {
            let Some(number) = number else { continue };
            add_to(&mut self.own[contender][cluster], *number);
            if let Some(other) = numbers[reference] {
                add_to(&mut self.apart[contender][cluster], number - other);
            }
        }
    }

    /// Cell of a contender; true if it was compared with the reference.
    fn contender_cell(&self, contender: usize, reference: usize) -> (TableCell, bool) {
        let Some(own) = mean_of_clusters(&self.own[contender]) else { return (TableCell::none(), false) };
        let apart = mean_of_clusters(&self.apart[contender]).filter(|_| contender != reference);
        let is_tested = apart.is_some_and(|apart| apart.within.is_some());
        let mark = match apart.filter(Estimate::is_significant) {
            Some(apart) if apart.mean < 0.0 => Mark::Better,
            Some(_) => Mark::Worse,
            None => Mark::Plain,
        };
        (show_estimate(&own, false).with_mark(mark), is_tested)
    }
}

fn add_to(sum: &mut ClusterSum, number: f64) {
    *sum = (sum.0 + number, sum.1 + 1.0);
}

impl Dimension {
    /// Groups with enough jobs, in order, and how many are left out. None if all jobs are in one group.
    /// O(jobs * contenders).
    fn sort_groups(&self, table: &GroupTable<'_>) -> Option<(Vec<GroupSums>, usize)> {
        let contenders = table.names.len();
        let clusters = table.jobs.clusters.len();
        let mut groups: BTreeMap<u64, GroupSums> = BTreeMap::new();
        for (cluster, job) in table.jobs.in_clusters() {
            let Some((rank, label)) = (self.group)(job) else { continue };
            let numbers: Vec<Option<f64>> =
                (0..contenders).map(|contender| job.quantity_of(table.quantity, contender)).collect();
            let group = groups.entry(rank).or_insert_with(|| GroupSums::new(label, contenders, clusters));
            group.add(cluster, &numbers, table.reference);
        }
        let all = groups.len();
        let mut groups: Vec<GroupSums> = groups.into_values().filter(|group| group.jobs >= JOBS_MIN).collect();
        if self.by_size {
            groups.sort_by_key(|group| std::cmp::Reverse(group.jobs));
            groups.truncate(NAMES_MAX);
        }
        let left_out = all - groups.len();
        (all > 1 && !groups.is_empty()).then_some((groups, left_out))
    }
}

/// The parts of a table by groups.
pub(super) struct GroupTable<'a> {
    pub names: &'a [String],
    /// Index of the contender that the others are compared with.
    pub reference: usize,
    pub jobs: &'a CommonJobs<'a>,
    pub quantity: JobQuantity,
}

impl GroupTable<'_> {
    /// Means of groups: a row per group, a column per contender. None without groups.
    pub fn table(&self) -> Option<NamedTable> {
        let mut rows = Vec::new();
        let mut tests = 0;
        let mut left_out = Vec::new();
        for dimension in &DIMENSIONS {
            let Some((groups, more)) = dimension.sort_groups(self) else { continue };
            for group in groups {
                let mut row = vec![TableCell::text(dimension.name), TableCell::text(group.label.as_str())];
                row.push(TableCell::count(group.jobs as u64));
                for contender in 0..self.names.len() {
                    let (cell, is_tested) = group.contender_cell(contender, self.reference);
                    tests += u64::from(is_tested);
                    row.push(cell);
                }
                rows.push(row);
            }
            if more > 0 {
                left_out.push(format!("{} by {}", format_counted(more as u64, "group"), dimension.name));
            }
        }
        let labels = ["By", "Group"].map(TableHead::label);
        let columns = self.names.iter().map(|name| TableHead::number(name.as_str()));
        let heads = labels.into_iter().chain([TableHead::number("jobs")]).chain(columns).collect();
        let notes = self.table_notes(tests, &left_out);
        (!rows.is_empty()).then_some(NamedTable { name: "for_whom", title: "For whom", heads, rows, notes })
    }

    fn table_notes(&self, tests: u64, left_out: &[String]) -> Vec<String> {
        let quantity = self.quantity.label().replace(", ", " in ");
        let mut notes = vec![format!("Mean {quantity}, over the {} common jobs.", format_count(self.jobs.count()))];
        if tests > 0 {
            let clusters = if self.jobs.are_parts { "parts of the run" } else { "repetitions" };
            notes.push(format!(
                "Significance is against {}, at 95 % (Student's t over {clusters}); of {}, about {} would be significant \
                 by chance.",
                self.names[self.reference],
                format_counted(tests, "comparison"),
                (tests as f64 * 0.05).round()
            ));
        }
        if !left_out.is_empty() {
            let left_out = left_out.join(", ");
            notes.push(format!(
                "Not shown: {left_out} (less than {JOBS_MIN} jobs, or beyond the {NAMES_MAX} with most)."
            ));
        }
        notes
    }
}
