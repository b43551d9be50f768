//! Runs that repeat another run because their seed changes nothing.

use std::collections::BTreeMap;

use super::file::{ENTRANT, Experiment};
use super::rows::RunRow;
use hansa_sim::settings::format_counted;

/// The distinct runs of an experiment.
pub(super) struct Distinct<'r> {
    pub rows: Vec<&'r RunRow>,
    /// Number of rows that were dropped as repetitions.
    pub repeated: usize,
}

/// Drops the rows that repeat another row. A seed axis is idle in a setting if no run of it gets another digest when
/// that seed alone changes; of an idle axis only the first value is kept. Seeds that agree by chance are kept: dropping
/// them would bias the mean.
///
/// Entrants share a setting, as they are compared seed by seed: an axis has to be idle for all of them.
///
/// Cost: O(rows * seed axes * log rows).
pub(super) fn distinct_rows<'r>(experiment: &Experiment, rows: &'r [RunRow]) -> Distinct<'r> {
    let axes = || experiment.axes.iter().enumerate();
    let fixed: Vec<usize> =
        axes().filter(|(_, axis)| !axis.is_repetition() && axis.key != ENTRANT).map(|(column, _)| column).collect();
    let mut kept: Vec<&RunRow> = rows.iter().collect();
    for (column, _) in axes().filter(|(_, axis)| axis.is_repetition()) {
        kept.sort_by(|one, other| (fixed_values(one, &fixed), one.run).cmp(&(fixed_values(other, &fixed), other.run)));
        kept = kept
            .chunk_by(|one, other| fixed_values(one, &fixed) == fixed_values(other, &fixed))
            .flat_map(|runs| if is_idle(runs, column) { first_value(runs, column) } else { runs.to_vec() })
            .collect();
    }
    kept.sort_by_key(|one| one.run);
    Distinct { repeated: rows.len() - kept.len(), rows: kept }
}

fn fixed_values<'r>(row: &'r RunRow, fixed: &[usize]) -> Vec<&'r str> {
    fixed.iter().map(|column| row.values[*column].as_str()).collect()
}

/// Keys of the seeds that change nothing in these runs, some of which differ in that seed alone.
pub fn idle_seeds<'e>(experiment: &'e Experiment, rows: &[RunRow]) -> Vec<&'e str> {
    let rows: Vec<&RunRow> = rows.iter().collect();
    let axes = experiment.axes.iter().enumerate().filter(|(_, axis)| axis.is_repetition());
    let idle =
        axes.filter(|(column, _)| digests_without(&rows, *column).is_some_and(|digests| digests.len() < rows.len()));
    idle.map(|(_, axis)| axis.key.as_str()).collect()
}

/// True if runs that differ only in this column have equal digests.
fn is_idle(runs: &[&RunRow], column: usize) -> bool {
    digests_without(runs, column).is_some()
}

/// The digest for each combination of values in other columns. None if a digest depends on this column.
fn digests_without<'r>(runs: &[&'r RunRow], column: usize) -> Option<BTreeMap<Vec<&'r str>, &'r str>> {
    let mut digests: BTreeMap<Vec<&str>, &str> = BTreeMap::new();
    for run in runs {
        let others = run.values.iter().enumerate().filter(|(place, _)| *place != column);
        let others: Vec<&str> = others.map(|(_, value)| value.as_str()).collect();
        if *digests.entry(others).or_insert(&run.digest) != run.digest {
            return None;
        }
    }
    Some(digests)
}

fn first_value<'r>(runs: &[&'r RunRow], column: usize) -> Vec<&'r RunRow> {
    runs.iter().copied().filter(|run| run.values[column] == runs[0].values[column]).collect()
}

/// Sentence about repeated runs; None if all runs are distinct.
pub(super) fn repeats_note(repeated: usize, all: usize) -> Option<String> {
    (repeated > 0).then(|| {
        format!(
            "{repeated} of {} only repeat another run: a seed or another repetition that varies changes nothing there (equal digests). Runs \
             that are the same count once, and a single run has no interval.",
            format_counted(all as u64, "run")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{self, Run};

    const FILE: &str = r#"
name = "try"
topology = "grid.toml"
metrics = ["jobs"]

[vary]
market.policy = ["fifo", "srtf"]
seed = [1, 2]
workload.0.seed = [7, 8, 9]
"#;

    #[test]
    fn idle_seeds_are_named() {
        let experiment = experiment::read_experiment("try.toml", &mut |_| Ok(FILE.into())).unwrap();
        let row =
            |run: Run| RunRow { run: run.number, digest: run.values[2].clone(), values: run.values, metrics: vec![] };
        let rows: Vec<RunRow> = experiment.runs().map(row).collect();
        assert_eq!(idle_seeds(&experiment, &rows), ["seed"]);
        // Nothing is known of a seed with one value.
        assert!(idle_seeds(&experiment, &rows[..3]).is_empty());
    }

    /// Numbers of the runs that count if a digest depends on these values alone.
    fn kept(digest: impl Fn(&[String]) -> String) -> (Vec<usize>, usize) {
        let experiment = experiment::read_experiment("try.toml", &mut |_| Ok(FILE.into())).unwrap();
        let row =
            |run: Run| RunRow { run: run.number, digest: digest(&run.values), values: run.values, metrics: vec![] };
        let rows: Vec<RunRow> = experiment.runs().map(row).collect();
        let Distinct { rows, repeated } = distinct_rows(&experiment, &rows);
        (rows.iter().map(|row| row.run).collect(), repeated)
    }

    #[test]
    fn seeds_that_change_nothing_count_once() {
        assert_eq!(kept(|values| values[0].clone()), (vec![1, 7], 10));
        assert_eq!(kept(|values| format!("{} {}", values[0], values[2])), (vec![1, 2, 3, 7, 8, 9], 6));
        assert_eq!(kept(|values| format!("{} {}", values[0], values[1])), (vec![1, 4, 7, 10], 8));
    }

    #[test]
    fn seeds_that_agree_by_chance_are_kept() {
        assert_eq!(kept(|values| values.join(" ")).1, 0);
        // Seeds 7 and 8 agree, 9 does not.
        assert_eq!(kept(|values| format!("{} {} {}", values[0], values[1], values[2] == "9")).1, 0);
        // One policy draws from no seed: only its runs are repetitions.
        let of_fifo = |values: &[String]| if values[0] == "fifo" { "fifo".to_owned() } else { values.join(" ") };
        assert_eq!(kept(of_fifo), (vec![1, 7, 8, 9, 10, 11, 12], 5));
    }
}
