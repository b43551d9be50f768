//! Means by groups of jobs: quality of service, partition, account, user, size, run time and hour of day.

use std::collections::BTreeMap;

use super::common::{ClusterSum, CommonJob, CommonJobs, JobQuantity, mean_of_clusters};
use super::log_facts::LogFacts;
use super::shown::show_estimate;
use super::table::{Mark, NamedTable, TableCell, TableHead};
use crate::experiment::job_classes::{cores_class, run_time_class};
use crate::experiment::statistics::Estimate;
use hansa_sim::numerals::{format_count, format_counted};

/// Least number of jobs of a group, unless the table is complete.
const JOBS_MIN: usize = 10;

/// Most users, and most accounts: those with most jobs. The rest is one group of a complete table.
const NAMES_MAX: usize = 8;

/// Microseconds of a day and of a group of hours.
const MICROS_PER_DAY: u64 = 86_400_000_000;
const MICROS_PER_QUARTER: u64 = MICROS_PER_DAY / 4;
const HOUR_LABELS: [&str; 4] = ["0 h to 6 h", "6 h to 12 h", "12 h to 18 h", "18 h to 24 h"];

/// A property that divides the jobs.
struct Dimension {
    name: &'static str,
    /// True if its groups have no order of their own, so that those with most jobs are shown.
    by_size: bool,
    /// Rank and label of a job's group.
    group: fn(&CommonJob<'_>, &LogFacts) -> Option<(u64, String)>,
}

const DIMENSIONS: [Dimension; 7] = [
    Dimension { name: "QOS", by_size: true, group: |job, facts| facts.quality_of(job) },
    Dimension { name: "partition", by_size: true, group: |job, facts| facts.partition_of(job) },
    Dimension { name: "cores", by_size: false, group: |job, _| Some(cores_class(job.outcomes[0].cores?.into())) },
    Dimension {
        name: "run time",
        by_size: false,
        group: |job, _| job.run_time.is_finite().then(|| run_time_class(job.run_time)),
    },
    Dimension { name: "user", by_size: true, group: user_of },
    Dimension { name: "account", by_size: true, group: account_of },
    Dimension { name: "hour of day", by_size: false, group: |job, _| hours_of(job) },
];

/// User of the log, or else of the run.
fn user_of(job: &CommonJob<'_>, facts: &LogFacts) -> Option<(u64, String)> {
    let outcome = job.outcomes[0];
    let of_run = || match outcome.logged.0 {
        Some(user) => Some((user.into(), user.to_string())),
        None => job.run.users.get(outcome.user as usize).map(|name| (outcome.user.into(), name.clone())),
    };
    facts.user_of(job).or_else(of_run)
}

fn account_of(job: &CommonJob<'_>, facts: &LogFacts) -> Option<(u64, String)> {
    let of_run = || job.outcomes[0].logged.1.map(|group| (group.into(), group.to_string()));
    facts.account_of(job).or_else(of_run)
}

fn hours_of(job: &CommonJob<'_>) -> Option<(u64, String)> {
    let at = (job.run.time_of_day? + job.outcomes[0].submitted) % MICROS_PER_DAY / MICROS_PER_QUARTER;
    Some((at, HOUR_LABELS[at as usize].to_owned()))
}

/// Sums of a quantity over the jobs of a group, by cluster.
#[derive(Clone)]
pub(super) struct GroupSums {
    pub label: String,
    pub jobs: usize,
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

    /// All of these groups as one. None if there are none.
    fn merge(groups: &[GroupSums]) -> Option<GroupSums> {
        let (first, rest) = groups.split_first()?;
        let mut merged = first.clone();
        for group in rest {
            merged.jobs += group.jobs;
            let pairs = merged.own.iter_mut().zip(&group.own).chain(merged.apart.iter_mut().zip(&group.apart));
            for (sum, other) in pairs.flat_map(|(sums, others)| sums.iter_mut().zip(others)) {
                *sum = (sum.0 + other.0, sum.1 + other.1);
            }
        }
        if !rest.is_empty() {
            merged.label = format!("{} others", groups.len());
        }
        Some(merged)
    }

    /// Mean of a contender.
    pub fn own_mean(&self, contender: usize) -> Option<Estimate> {
        mean_of_clusters(&self.own[contender])
    }

    /// Mean of the paired differences of a contender from the reference.
    pub fn difference(&self, contender: usize) -> Option<Estimate> {
        mean_of_clusters(&self.apart[contender])
    }

    /// Cell of a contender; true if it was compared with the reference.
    fn contender_cell(&self, contender: usize, reference: usize) -> (TableCell, bool) {
        let Some(own) = self.own_mean(contender) else { return (TableCell::none(), false) };
        let apart = self.difference(contender).filter(|_| contender != reference);
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
            let Some((rank, label)) = (self.group)(job, table.facts) else { continue };
            let numbers = (table.numbers)(job);
            if numbers.iter().all(Option::is_none) {
                continue;
            }
            let group = groups.entry(rank).or_insert_with(|| GroupSums::new(label, contenders, clusters));
            group.add(cluster, &numbers, table.reference);
        }
        let all = groups.len();
        let mut groups: Vec<GroupSums> = groups.into_values().collect();
        groups.iter_mut().for_each(|group| group.jobs /= table.repeats);
        let least = if table.is_complete { 0 } else { JOBS_MIN };
        groups.retain(|group| group.jobs >= least);
        let mut merged = 0;
        if self.by_size {
            groups.sort_by_key(|group| std::cmp::Reverse(group.jobs));
            let others = groups.split_off(groups.len().min(NAMES_MAX));
            if table.is_complete
                && let Some(rest) = GroupSums::merge(&others)
            {
                merged = others.len() - 1;
                groups.push(rest);
            }
        }
        let left_out = all - groups.len() - merged;
        (all > 1 && !groups.is_empty()).then_some((groups, left_out))
    }
}

/// The parts of a table by groups.
pub(super) struct GroupTable<'a> {
    pub names: &'a [String],
    /// Index of the contender that the others are compared with.
    pub reference: usize,
    pub jobs: &'a CommonJobs<'a>,
    pub facts: &'a LogFacts,
    /// Number of a job for each contender.
    pub numbers: &'a JobNumbers<'a>,
    /// Number of clusters that have the same jobs, which count once; 1 if each cluster has jobs of its own.
    pub repeats: usize,
    /// True if no group is left out, however few jobs it has.
    pub is_complete: bool,
}

/// Number of a job for each contender; None where it has none.
pub(super) type JobNumbers<'a> = dyn Fn(&CommonJob<'_>) -> Vec<Option<f64>> + 'a;

/// A quantity of a job in the runs of this many contenders.
pub(super) fn quantity_numbers(
    quantity: JobQuantity,
    contenders: usize,
) -> impl Fn(&CommonJob<'_>) -> Vec<Option<f64>> {
    move |job| (0..contenders).map(|contender| job.quantity_of(quantity, contender)).collect()
}

/// Groups with a property in common.
pub(super) struct SortedGroups {
    /// The property: `cores`.
    pub name: &'static str,
    pub groups: Vec<GroupSums>,
    /// Number of groups that are not shown.
    left_out: usize,
}

impl GroupTable<'_> {
    /// Groups by each property that divides the jobs.
    pub fn sort_all(&self) -> Vec<SortedGroups> {
        let sort = |dimension: &Dimension| {
            let (groups, left_out) = dimension.sort_groups(self)?;
            Some(SortedGroups { name: dimension.name, groups, left_out })
        };
        DIMENSIONS.iter().filter_map(sort).collect()
    }

    /// Means of a quantity of groups: a row per group, a column per contender. None without groups.
    pub fn table(&self, quantity: JobQuantity) -> Option<NamedTable> {
        let mut tests = 0;
        let all = self.sort_all();
        let rows = list_groups(&all, |group| {
            let cells = (0..self.names.len()).map(|contender| group.contender_cell(contender, self.reference));
            let (cells, tested): (Vec<TableCell>, Vec<bool>) = cells.unzip();
            tests += tested.into_iter().filter(|is_tested| *is_tested).count() as u64;
            Some(cells)
        });
        let label = quantity.label().replace(", ", " in ");
        // Means of runs are means over repetitions, of any size.
        let weights = if self.jobs.are_parts { "" } else { " Each job counts the same here, each repetition above." };
        let jobs = format_count(self.jobs.count());
        let mut notes = vec![format!("Mean {label}, over the {jobs} common jobs.{weights}")];
        notes.extend(self.basis_note(tests));
        notes.extend(left_out_note(&all));
        let heads = group_heads(self.names.iter().map(String::as_str));
        (!rows.is_empty()).then_some(NamedTable { name: "for_whom", title: "For whom", heads, rows, notes })
    }

    /// Basis of significance, and the number of comparisons. None without any.
    pub fn basis_note(&self, tests: u64) -> Option<String> {
        let clusters = if self.jobs.are_parts { "parts of the run" } else { "repetitions" };
        (tests > 0).then(|| {
            format!(
                "Significance is against {}, at 95 % (Student's t over {clusters}); of {}, about {} would be significant \
                 by chance.",
                self.names[self.reference],
                format_counted(tests, "comparison"),
                (tests as f64 * 0.05).round()
            )
        })
    }
}

/// Heads of a table with a row per group: its property, its name, the number of its jobs, and further columns.
pub(super) fn group_heads<'h>(columns: impl IntoIterator<Item = &'h str>) -> Vec<TableHead> {
    let labels = ["By", "Group"].map(TableHead::label);
    labels.into_iter().chain(["jobs"].into_iter().chain(columns).map(TableHead::number)).collect()
}

/// Rows of such a table; a group without further cells has none.
pub(super) fn list_groups(
    all: &[SortedGroups],
    mut cells: impl FnMut(&GroupSums) -> Option<Vec<TableCell>>,
) -> Vec<Vec<TableCell>> {
    let mut rows = Vec::new();
    for (sorted, group) in all.iter().flat_map(|sorted| sorted.groups.iter().map(move |group| (sorted, group))) {
        let Some(cells) = cells(group) else { continue };
        let labels = [TableCell::text(sorted.name), TableCell::text(group.label.as_str())];
        rows.push(labels.into_iter().chain([TableCell::count(group.jobs as u64)]).chain(cells).collect());
    }
    rows
}

/// The number of groups that are not shown. None if all are.
pub(super) fn left_out_note(all: &[SortedGroups]) -> Option<String> {
    let left_out = all.iter().filter(|sorted| sorted.left_out > 0);
    let left_out =
        left_out.map(|sorted| format!("{} by {}", format_counted(sorted.left_out as u64, "group"), sorted.name));
    let left_out: Vec<String> = left_out.collect();
    (!left_out.is_empty()).then(|| {
        format!("Not shown: {} (less than {JOBS_MIN} jobs, or beyond the {NAMES_MAX} with most).", left_out.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_are_merged_have_the_sums_of_all() {
        let group = |waits: [f64; 2]| {
            let mut group = GroupSums::new("ada".to_owned(), 2, 2);
            group.add(0, &waits.map(Some), 0);
            group.add(1, &[Some(waits[0]), None], 0);
            group
        };
        let merged = GroupSums::merge(&[group([1.0, 4.0]), group([3.0, 8.0])]).unwrap();
        assert_eq!((merged.label.as_str(), merged.jobs), ("2 others", 4));
        assert_eq!(merged.own, [[(4.0, 2.0), (4.0, 2.0)], [(12.0, 2.0), (0.0, 0.0)]]);
        assert_eq!(merged.apart[1], [(8.0, 2.0), (0.0, 0.0)]);
        assert!(GroupSums::merge(&[]).is_none());
        assert_eq!(GroupSums::merge(&[group([1.0, 4.0])]).unwrap().label, "ada");
    }
}
