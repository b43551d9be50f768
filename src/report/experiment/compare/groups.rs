//! Changes of turnaround by user, size, run time and end of the jobs.

use std::collections::BTreeMap;

use super::jobs::{JobLine, MICROS_PER_SECOND};
use super::run_letter;
use crate::experiment::job_classes::{cores_class, run_time_class};

/// A group of jobs that ended in both results. Means are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub label: String,
    pub jobs: u64,
    /// Number of jobs that took less time than in the first result, and more.
    pub better: u64,
    pub worse: u64,
    /// Mean turnaround in the first result, and in the other.
    pub first: f64,
    pub here: f64,
}

/// Jobs divided by one property. A job that was killed in either result is only in the division by end.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    pub name: &'static str,
    /// At least two groups; users in order of their jobs, most first, all others in the order of the property.
    pub groups: Vec<Group>,
}

/// Turnaround of a job in both results, in microseconds.
struct Turnarounds {
    first: i64,
    here: i64,
}

/// Divides the jobs that ended in the first result and in `run`; a division of a single group is left out. O(jobs log
/// jobs).
pub(super) fn divide_jobs(pairs: &[(&JobLine, &JobLine)], run: usize) -> Vec<Division> {
    let pairs: Vec<(&JobLine, &JobLine)> =
        pairs.iter().copied().filter(|(first, here)| first.counts && here.counts).collect();
    let whole: Vec<_> = pairs.iter().copied().filter(|(first, here)| !first.was_killed && !here.was_killed).collect();
    let mut users = Division::group_jobs("user", &whole, |first, _| Some((0, first.user.clone())));
    users.groups.sort_by_key(|group| std::cmp::Reverse(group.jobs));
    let divisions = [
        users,
        Division::group_jobs("cores", &whole, |first, _| first.cores.map(cores_class)),
        Division::group_jobs("run time in A", &whole, |first, _| {
            Some(run_time_class((first.ended? - first.started?) as f64 / MICROS_PER_SECOND))
        }),
        Division::group_jobs("end", &pairs, |first, here| {
            let label = match (first.was_killed, here.was_killed) {
                (false, false) => "finished in both".to_owned(),
                (true, false) => format!("killed in {} only", run_letter(0)),
                (false, true) => format!("killed in {} only", run_letter(run)),
                (true, true) => "killed in both".to_owned(),
            };
            Some((u64::from(first.was_killed) + 2 * u64::from(here.was_killed), label))
        }),
    ];
    divisions.into_iter().filter(|division| division.groups.len() > 1).collect()
}

impl Division {
    /// Groups by the rank and label of a job; jobs without one are left out.
    fn group_jobs(
        name: &'static str,
        pairs: &[(&JobLine, &JobLine)],
        class: impl Fn(&JobLine, &JobLine) -> Option<(u64, String)>,
    ) -> Division {
        let mut groups: BTreeMap<(u64, String), Vec<Turnarounds>> = BTreeMap::new();
        for (first, here) in pairs {
            if let (Some(class), Some(one), Some(other)) =
                (class(first, here), first.turnaround_micros(), here.turnaround_micros())
            {
                groups.entry(class).or_default().push(Turnarounds { first: one, here: other });
            }
        }
        Division { name, groups: groups.into_iter().map(|((_, label), all)| Group::of(label, &all)).collect() }
    }
}

impl Group {
    fn of(label: String, all: &[Turnarounds]) -> Group {
        Group {
            label,
            jobs: all.len() as u64,
            better: count_matching(|one| one.here < one.first, all),
            worse: count_matching(|one| one.here > one.first, all),
            first: mean_seconds(|one| one.first, all),
            here: mean_seconds(|one| one.here, all),
        }
    }
}

fn count_matching(is: fn(&Turnarounds) -> bool, all: &[Turnarounds]) -> u64 {
    all.iter().filter(|one| is(one)).count() as u64
}

fn mean_seconds(of: fn(&Turnarounds) -> i64, all: &[Turnarounds]) -> f64 {
    all.iter().map(|one| of(one) as f64 / MICROS_PER_SECOND).sum::<f64>() / all.len() as f64
}
