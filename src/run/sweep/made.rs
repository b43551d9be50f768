//! `runs.jsonl`: the runs that were made in the folder of a sweep, for any version of its experiment.
//!
//! A run is known by a hash of what was run: its topology after all settings, with the seed and the content of input
//! files, its external programs, and the version of Hansa. An experiment that has grown finds the runs that it shares
//! with its earlier version by these hashes, although their numbers may differ.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::Failure;
use super::super::disk::operation_failure;
use super::super::input::read_plain;
use super::book::{RUNS, SweepState, SweepWork, changed_failure, read_rows};
use hansa_report::WorkDone;
use hansa_report::experiment::{DIGEST, Experiment, Run, RunRow};
use hansa_sim::settings::format_counted;

pub const MADE: &str = "runs.jsonl";

/// A line of the file: a run with all metrics, including those that its experiment does not record.
#[derive(Serialize, Deserialize)]
pub struct MadeRun {
    /// Hash of everything that determined the run.
    pub inputs: String,
    /// Values of the axes, for readers of the file.
    pub settings: BTreeMap<String, String>,
    pub metrics: BTreeMap<String, Option<f64>>,
    pub digest: String,
    /// Jobs by their ends. None if the run was made by an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkDone>,
    /// Wall time. None if the run was made elsewhere.
    pub seconds: Option<f64>,
}

impl MadeRun {
    /// A run of which only the row is known.
    pub fn from_row(experiment: &Experiment, row: &RunRow, inputs: &str) -> MadeRun {
        let names = experiment.metrics.iter().map(|metric| metric.name.to_owned());
        MadeRun {
            inputs: inputs.to_owned(),
            settings: experiment.settings(&row.values),
            metrics: names.zip(row.metrics.iter().copied()).collect(),
            digest: row.digest.clone(),
            work: None,
            seconds: None,
        }
    }

    /// The row of the run in this experiment. None if it lacks a metric.
    pub fn row(&self, experiment: &Experiment, run: &Run) -> Option<RunRow> {
        let metrics = experiment.metrics.iter().map(|metric| self.metrics.get(metric.name).copied());
        Some(RunRow {
            run: run.number,
            values: run.values.clone(),
            metrics: metrics.collect::<Option<_>>()?,
            digest: self.digest.clone(),
        })
    }

    /// Reads the runs of a folder, by the hash of what was run; lines that are none are left out.
    pub fn read_all(out: &Path) -> Result<BTreeMap<String, MadeRun>, Failure> {
        let path = out.join(MADE);
        let text = match read_plain(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|error| operation_failure("read", &path, &error))?,
        };
        let text = String::from_utf8_lossy(&text);
        let runs = text.lines().filter_map(|line| serde_json::from_str::<MadeRun>(line).ok());
        Ok(runs.map(|run| (run.inputs.clone(), run)).collect())
    }

    pub fn json_line(&self) -> String {
        format!("{}\n", serde_json::to_string(self).expect("maps have texts as keys"))
    }
}

/// The runs in the folder of a sweep, seen from its experiment as it is now.
#[derive(Default)]
pub struct MadeRuns {
    /// Rows of the runs that belong to the work, by number.
    pub rows: BTreeMap<usize, RunRow>,
    /// Wall times of runs in `rows`, if known, by number.
    pub seconds: BTreeMap<usize, f64>,
    /// Number of runs that do not belong to the experiment as it is now.
    pub others: usize,
    /// True if these runs were made for another version of the experiment.
    pub grown: bool,
    /// Length of the complete lines. None if there is no file.
    pub bytes: Option<u64>,
}

impl MadeRuns {
    /// Finds the runs in a folder with this state. An error if the folder belongs to another experiment or share, or if
    /// none of its runs belongs to the experiment as it is now.
    pub fn find(out: &Path, work: &SweepWork<'_>, state: &SweepState) -> Result<MadeRuns, Failure> {
        let ours = state.experiment == work.experiment.name && state.part == work.part.map(|part| part.to_string());
        let grown = state.fingerprint != work.fingerprint;
        let path = out.join(MADE);
        let text = match read_plain(&path).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other)) {
            _ if !ours => return Err(changed_failure(out, work, state)),
            Ok(text) => text,
            // An earlier version kept rows only.
            Err(error) if error.kind() == ErrorKind::NotFound && !grown => {
                return Ok(MadeRuns { rows: read_rows(out, work)?, ..MadeRuns::default() });
            }
            Err(error) if error.kind() == ErrorKind::NotFound && out.join(RUNS).exists() => {
                return Err(changed_failure(out, work, state));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(operation_failure("read", &path, &error)),
        };
        let (made, belonging) = MadeRuns::read_lines(&text, &path, work)?;
        match made.others > 0 && !belonging {
            true => Err(changed_failure(out, work, state)),
            false => Ok(MadeRuns { grown, ..made }),
        }
    }

    /// Reads the complete lines of a file; the flag is true if any of its runs belongs to the experiment.
    /// O(runs log runs).
    fn read_lines(text: &str, path: &Path, work: &SweepWork<'_>) -> Result<(MadeRuns, bool), Failure> {
        let all: BTreeSet<&str> = work.inputs.iter().map(String::as_str).collect();
        let mut wanted: BTreeMap<&str, Vec<Run>> = BTreeMap::new();
        for run in work.runs() {
            wanted.entry(work.inputs_of(&run)).or_default().push(run);
        }
        let mut made = MadeRuns::default();
        let mut others = BTreeSet::new();
        let mut belonging = false;
        let mut bytes = 0;
        for (place, line) in text.split_inclusive('\n').enumerate().filter(|(_, line)| line.ends_with('\n')) {
            bytes += line.len() as u64;
            let read: Option<MadeRun> = serde_json::from_str(line).ok();
            let Some(run) = read.filter(|run| run.digest.len() == DIGEST) else {
                let path = path.display();
                let line = place + 1;
                return Err(Failure::Input(format!(
                    "{path}:{line}: this is not a run with its inputs, metrics and digest; delete the line to have its \
                     run made again, or start over with --fresh"
                )));
            };
            belonging |= all.contains(run.inputs.as_str());
            for wanted in wanted.get(run.inputs.as_str()).into_iter().flatten() {
                if let Some(row) = run.row(work.experiment, wanted) {
                    made.rows.insert(wanted.number, row);
                    made.seconds.extend(run.seconds.map(|seconds| (wanted.number, seconds)));
                }
            }
            if !all.contains(run.inputs.as_str()) {
                others.insert(run.inputs);
            }
        }
        Ok((MadeRuns { others: others.len(), bytes: Some(bytes), ..made }, belonging))
    }

    /// The number of runs that a changed experiment leaves out, in words. Empty if there are none.
    pub fn left_out(&self) -> String {
        match self.others {
            0 => String::new(),
            others => format!(
                "{} no longer belong{} to the experiment: left out of rows and means, kept in {MADE}",
                format_counted(others as u64, "earlier run"),
                if others == 1 { "s" } else { "" }
            ),
        }
    }
}
