//! Work that the runs did: whether their numbers can be compared at all.

use super::common::{CommonJobs, JobQuantity, mean_of_clusters};
use super::shown::show_estimate;
use super::table::{NamedTable, TableCell, TableHead};
use super::{Contest, list_names};
use crate::Counts;
use crate::experiment::statistics::Estimate;
use hansa_sim::numerals::{format_count, format_percent};

/// Difference of the shares of jobs that finished from which runs did not do the same work.
const DIFFERENT: f64 = 0.01;

/// Name of a kind of end, and its number.
type WorkColumn = (&'static str, fn(&WorkSums) -> u64);

/// Jobs of a contender over all repetitions.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkSums {
    pub jobs: Counts,
    /// Jobs that others submitted in the same repetition, and this one did not.
    pub not_submitted: u64,
    warm_up: u64,
    cool_down: u64,
    pub idle_users: Vec<String>,
    runs: usize,
}

impl WorkSums {
    fn all_jobs(&self) -> u64 {
        self.jobs.submitted + self.not_submitted
    }

    fn share_of_all(&self, number: u64) -> f64 {
        number as f64 / self.all_jobs().max(1) as f64
    }

    fn finished_share(&self) -> f64 {
        self.share_of_all(self.jobs.finished)
    }
}

/// Sums of all contenders; None if some run does not know its work. O(repetitions * contenders).
pub(super) fn work_of(contest: &Contest<'_>) -> Option<Vec<WorkSums>> {
    let mut sums = vec![WorkSums::default(); contest.names.len()];
    for runs in &contest.repetitions {
        let submitted = runs.iter().flatten().filter_map(|run| run.work.as_ref()).map(|work| work.jobs().submitted);
        let most = submitted.max().unwrap_or(0);
        for (sum, run) in sums.iter_mut().zip(runs) {
            let Some(run) = run else { continue };
            let work = run.work.as_ref()?;
            sum.runs += 1;
            add_counts(&mut sum.jobs, work.jobs());
            sum.not_submitted += most - work.jobs().submitted;
            sum.warm_up += work.counted.warm_up;
            sum.cool_down += work.counted.cool_down;
            for user in &work.idle_users {
                if !sum.idle_users.contains(user) {
                    sum.idle_users.push(user.clone());
                }
            }
        }
    }
    sums.iter().all(|sum| sum.runs > 0).then_some(sums)
}

fn add_counts(sum: &mut Counts, more: Counts) {
    sum.submitted += more.submitted;
    sum.finished += more.finished;
    sum.killed += more.killed;
    sum.preempted += more.preempted;
    sum.removed += more.removed;
    sum.refused += more.refused;
    sum.unfinished += more.unfinished;
}

/// True if the runs did not do the same work.
pub(super) fn work_differs(sums: &[WorkSums]) -> bool {
    let shares = || sums.iter().map(WorkSums::finished_share);
    shares().fold(0.0, f64::max) - shares().fold(1.0, f64::min) > DIFFERENT
}

/// Warning in words if the runs did not do the same work, and the users without a job.
pub(super) fn work_warnings(contest: &Contest<'_>, sums: &[WorkSums], common: Option<&CommonJobs<'_>>) -> Vec<String> {
    let mut warnings = Vec::new();
    if work_differs(sums) {
        warnings.push(difference_in_words(contest, sums, common));
    }
    let mut idle: Vec<(&Vec<String>, Vec<&str>)> = Vec::new();
    for (name, sum) in contest.names.iter().zip(sums).filter(|(_, sum)| !sum.idle_users.is_empty()) {
        match idle.iter_mut().find(|(users, _)| **users == sum.idle_users) {
            Some((_, names)) => names.push(name),
            None => idle.push((&sum.idle_users, vec![name])),
        }
    }
    for (users, names) in idle {
        let one = if users.len() == 1 { "User" } else { "Users" };
        let under = match names.len() == contest.names.len() {
            true => String::new(),
            false => format!(" under {}", list_names(&names)),
        };
        let users: Vec<&str> = users.iter().map(String::as_str).collect();
        let whole = if contest.repetitions.len() > 1 { " in some repetition" } else { "" };
        warnings.push(format!("{one} {} got no job of the log{under}{whole}.", list_names(&users)));
    }
    warnings
}

fn difference_in_words(contest: &Contest<'_>, sums: &[WorkSums], common: Option<&CommonJobs<'_>>) -> String {
    let causes: [WorkColumn; 6] = [
        ("killed at their walltime", |sum| sum.jobs.killed),
        ("preempted", |sum| sum.jobs.preempted),
        ("rejected by their sites, given up or taken back", |sum| sum.jobs.removed),
        ("refused", |sum| sum.jobs.refused),
        ("unfinished", |sum| sum.jobs.unfinished),
        ("not submitted", |sum| sum.not_submitted),
    ];
    let all: Vec<String> = contest
        .names
        .iter()
        .zip(sums)
        .map(|(name, sum)| {
            let others =
                causes.iter().map(|(words, of)| (words, sum.share_of_all(of(sum)))).filter(|(_, share)| *share > 0.0);
            let others: Vec<String> =
                others.map(|(words, share)| format!("{} {words}", format_percent(share))).collect();
            let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
            format!("{} of the jobs finished under {name}{others}", format_percent(sum.finished_share()))
        })
        .collect();
    let advice = match common {
        Some(common) => format!(
            "Means over each run's own jobs are therefore means over different jobs; those over the {} jobs that ended in \
             the same way in all runs are beside them, and decide here.",
            format_count(common.count())
        ),
        None => "Means over each run's own jobs are therefore means over different jobs.".to_owned(),
    };
    format!("The runs did not do the same work: {}. {advice}", all.join("; "))
}

/// Jobs by their ends, and means over each run's own jobs beside those over the common ones. Columns of zeros are left
/// out.
pub(super) fn work_table(contest: &Contest<'_>, sums: &[WorkSums], common: Option<&CommonJobs<'_>>) -> NamedTable {
    let columns: [WorkColumn; 10] = [
        ("submitted", |sum| sum.jobs.submitted),
        ("finished", |sum| sum.jobs.finished),
        ("killed", |sum| sum.jobs.killed),
        ("preempted", |sum| sum.jobs.preempted),
        ("rejected or given up", |sum| sum.jobs.removed),
        ("refused", |sum| sum.jobs.refused),
        ("unfinished", |sum| sum.jobs.unfinished),
        ("not submitted", |sum| sum.not_submitted),
        ("in warm-up", |sum| sum.warm_up),
        ("in cool-down", |sum| sum.cool_down),
    ];
    let shown: Vec<_> = columns
        .iter()
        .filter(|(name, of)| {
            matches!(*name, "submitted" | "finished" | "killed" | "refused" | "unfinished")
                || sums.iter().any(|sum| of(sum) > 0)
        })
        .collect();
    let mut heads = vec![TableHead::label(contest.one)];
    heads.extend(shown.iter().map(|(name, _)| TableHead::number(*name)));
    let mut rows: Vec<Vec<TableCell>> = Vec::new();
    for (name, sum) in contest.names.iter().zip(sums) {
        let cells = shown.iter().map(|(_, of)| TableCell::count(of(sum)));
        rows.push(std::iter::once(TableCell::text(name.as_str())).chain(cells).collect());
    }
    let mut notes = Vec::new();
    if sums.iter().any(|sum| sum.warm_up + sum.cool_down > 0) {
        notes.push(
            "Jobs in the warm-up and in the cool-down run, but count in no mean and in no other column.".to_owned(),
        );
    }
    if contest.repetitions.len() > 1 {
        notes.push(format!("Sums over {}.", contest.repeated_words()));
    }
    if let Some(common) = common.filter(|common| common.others > 0) {
        add_common(contest, common, &mut heads, &mut rows);
        notes.push(format!(
            "Own: of the jobs that ended in this run. Common: of the {} that ended in the same way in all runs; {} ended \
             in some runs only, or were killed in some only.",
            format_count(common.count()),
            format_count(common.others)
        ));
    }
    NamedTable { name: "work", title: "Work done", heads, rows, notes }
}

/// Adds columns of means over own and over common jobs.
fn add_common(contest: &Contest<'_>, common: &CommonJobs<'_>, heads: &mut Vec<TableHead>, rows: &mut [Vec<TableCell>]) {
    for (quantity, metric) in [(JobQuantity::Turnaround, "turnaround"), (JobQuantity::Wait, "job_wait")] {
        heads.push(TableHead::number(format!("{}, own", quantity.label())));
        heads.push(TableHead::number("common"));
        let sums = common.quantity_sums(quantity, contest.names.len());
        for (contender, row) in rows.iter_mut().enumerate() {
            let own =
                Estimate::of(&contest.metric_numbers(contender, metric).into_iter().flatten().collect::<Vec<_>>());
            let of_common = mean_of_clusters(&sums[contender]);
            row.push(own.map_or_else(TableCell::none, |own| show_estimate(&own, false)));
            row.push(of_common.map_or_else(TableCell::none, |mean| show_estimate(&mean, false)));
        }
    }
}
