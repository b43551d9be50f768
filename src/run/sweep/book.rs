//! The rows of a sweep, or of a share of one, in a folder.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::disk::{operation_failure, replace_file};
use super::super::files::{MANIFEST, STATE};
use super::super::input::read_plain;
use super::super::{Failure, err};
use super::CheckedExperiment;
use super::gather::GatheredRuns;
use super::job_store::{JobStore, KEPT_JOBS};
use super::made::{MADE, MadeRun, MadeRuns};
use super::part::SweepPart;
use hansa_report::experiment::{Experiment, Run, RunRow, Table};
use hansa_report::{RunOutcomes, Status, pretty_json};
use hansa_sim::settings::format_counted;

pub const RUNS: &str = "runs.csv";

/// Files that are computed from all rows.
pub const MEANS: &str = "means.csv";
pub const MEANS_PAGE: &str = "sweep.html";
pub const STANDINGS: &str = "standings.csv";
pub const STANDINGS_PAGE: &str = "tournament.html";
pub const WHAT_IF_PAGE: &str = "what-if.html";
/// The conclusions of a tournament or a comparison of changes as JSON; the page shows them as text and tables.
pub const ANSWER: &str = "answer.json";
/// Verdicts of the claims of an experiment.
pub const VERDICTS: &str = "verdicts.txt";

/// The runs to make: an experiment, or a share of it.
pub struct SweepWork<'a> {
    pub experiment: &'a Experiment,
    /// Hash of all that the rows depend on.
    pub fingerprint: &'a str,
    /// Hash of what is run, for each run of the experiment.
    pub inputs: &'a [String],
    pub part: Option<SweepPart>,
    /// True if the outcomes of jobs are kept.
    pub keeps_jobs: bool,
}

/// Identity of an experiment. Only shares with one label can be put together.
#[derive(Clone, Copy)]
pub struct Label<'a> {
    pub experiment: &'a str,
    pub fingerprint: &'a str,
}

impl<'a> SweepWork<'a> {
    /// All runs of an experiment that has been checked, or a share of them, to be counted and not made.
    pub fn of_checked(
        experiment: &'a Experiment,
        checked: &'a CheckedExperiment,
        part: Option<SweepPart>,
    ) -> SweepWork<'a> {
        let CheckedExperiment { fingerprint, inputs, .. } = checked;
        SweepWork { experiment, fingerprint, inputs, part, keeps_jobs: false }
    }

    pub fn label(&self) -> Label<'_> {
        Label { experiment: &self.experiment.name, fingerprint: self.fingerprint }
    }

    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.run_numbers().map(|number| self.experiment.run(number))
    }

    pub fn count(&self) -> usize {
        self.run_numbers().len()
    }

    pub fn inputs_of(&self, run: &Run) -> &str {
        &self.inputs[run.number - 1]
    }

    fn run_numbers(&self) -> impl ExactSizeIterator<Item = usize> {
        self.part.unwrap_or(SweepPart::WHOLE).run_numbers(self.experiment.count())
    }
}

/// `sweep.json`: the experiment that the rows in the folder belong to.
#[derive(Serialize, Deserialize)]
pub struct SweepState {
    pub experiment: String,
    pub fingerprint: String,
    /// The share of the experiment. None if the rows are those of all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    pub runs: usize,
    pub done: usize,
    pub status: Status,
    /// Keys whose values are repetitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<String>,
}

impl SweepState {
    /// Reads the state of a folder. None if it has no sweep.
    pub fn read_state(folder: &Path) -> Result<Option<SweepState>, Failure> {
        let path = folder.join(STATE);
        match read_plain(&path) {
            Ok(bytes) => serde_json::from_slice::<SweepState>(&bytes).map(Some).map_err(|error| {
                Failure::Input(format!("cannot read {}: {error}; use --fresh to start over", path.display()))
            }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(operation_failure("read", &path, &error)),
        }
    }

    /// The owner of the rows in words, for a message about another experiment.
    pub fn of_what(&self, label: Label<'_>) -> String {
        let of = match self.experiment == label.experiment {
            true if self.fingerprint == label.fingerprint => "this experiment".to_owned(),
            true => "an earlier version of this experiment (or of its topology, or of hansa)".to_owned(),
            false => format!("the experiment {}", self.experiment),
        };
        self.part.as_ref().map_or(of.clone(), |part| format!("share {part} of {of}"))
    }
}

/// The rows of a sweep, in memory and on disk.
pub struct SweepBook<'a> {
    pub out: PathBuf,
    work: &'a SweepWork<'a>,
    table: Table,
    state: SweepState,
    pub rows: BTreeMap<usize, RunRow>,
    /// `runs.csv`, to which rows are appended.
    file: File,
    /// `runs.jsonl`, to which runs are appended.
    made: File,
    /// `jobs.bin`, to which outcomes of jobs are appended.
    jobs: JobStore,
    /// Lock that keeps other processes from sweeping into this folder.
    _lock: File,
}

impl<'a> SweepBook<'a> {
    /// Opens a folder for this work, and takes the rows of its runs that are there.
    pub fn open(out: &Path, work: &'a SweepWork<'a>, fresh: bool) -> Result<SweepBook<'a>, Failure> {
        fs::create_dir_all(out).map_err(|error| operation_failure("make", out, &error))?;
        let lock = File::open(out).map_err(|error| operation_failure("open", out, &error))?;
        if lock.try_lock().is_err() {
            return Err(Failure::System(format!("another sweep is writing to {}", out.display())));
        }

        remove_half_written(out)?;
        let made = find_made(out, work, fresh)?;
        if made.is_none() {
            [RUNS, MADE, KEPT_JOBS].into_iter().try_for_each(|file| remove_file(&out.join(file)))?;
        }
        let made = made.unwrap_or_default();
        if made.grown {
            let there = made.rows.len();
            let left_out = made.left_out();
            let left_out = if left_out.is_empty() { left_out } else { format!("; {left_out}") };
            err::note(&format!(
                "note: the experiment has changed: {there} of {} are in {} already{left_out}",
                format_counted(work.count() as u64, "run"),
                out.display()
            ));
        }

        if made.rows.len() < work.count() || made.grown {
            remove_what_is_made_of_all(out)?;
        }
        let state = SweepState {
            experiment: work.experiment.name.clone(),
            fingerprint: work.fingerprint.to_owned(),
            part: work.part.map(|part| part.to_string()),
            runs: work.count(),
            done: made.rows.len(),
            status: Status::Partial("not finished yet".to_owned()),
            repeats: work.experiment.repeated_keys(),
        };
        replace_file(&out.join(STATE), pretty_json(&state))?;
        let table = Table::of(work.experiment);
        let append = |name: &str| {
            let path = out.join(name);
            let file = OpenOptions::new().append(true).create(true).open(&path);
            file.map_err(|error| operation_failure("open", &path, &error))
        };
        let file_of_made = append(MADE)?;
        // A line that was cut short is removed.
        let cut = file_of_made.set_len(made.bytes.unwrap_or(0));
        cut.map_err(|error| operation_failure("write", &out.join(MADE), &error))?;
        replace_file(&out.join(RUNS), rows_text(&table, &made.rows))?;
        let mut book = SweepBook {
            file: append(RUNS)?,
            out: out.to_owned(),
            work,
            table,
            state,
            rows: BTreeMap::new(),
            made: file_of_made,
            jobs: JobStore::open(out)?,
            _lock: lock,
        };
        match made.bytes {
            Some(_) => book.rows = made.rows,
            None => book.adopt_rows(made.rows, &GatheredRuns::default())?,
        }
        Ok(book)
    }

    /// Stores a run and its row, on disk, too.
    pub fn add(&mut self, run: &Run, made: &MadeRun, jobs: Option<&RunOutcomes>) -> Result<(), Failure> {
        jobs.map_or(Ok(()), |jobs| self.jobs.add(&made.inputs, jobs))?;
        let row = made.row(self.work.experiment, run).expect("a run has all metrics");
        let line = self.table.row_line(&row);
        self.rows.insert(row.run, row);
        self.write_made_run(made)?;
        self.file.write_all(line.as_bytes()).map_err(|error| operation_failure("write", &self.out.join(RUNS), &error))
    }

    /// Takes the rows of runs that were made elsewhere, in place of those here, with the facts beside them.
    pub fn adopt_rows(&mut self, rows: BTreeMap<usize, RunRow>, known: &GatheredRuns) -> Result<(), Failure> {
        for row in rows.values() {
            if self.rows.get(&row.run) != Some(row) {
                let inputs = &self.work.inputs[row.run - 1];
                // Jobs first, as in `add`: a row that is there says that its jobs are.
                if let Some(jobs) = known.jobs.get(inputs) {
                    self.jobs.add(inputs, jobs)?;
                }
                match known.made.get(inputs) {
                    Some(made) => self.write_made_run(made)?,
                    None => self.write_made_run(&MadeRun::from_row(self.work.experiment, row, inputs))?,
                }
            }
        }
        self.rows = rows;
        Ok(())
    }

    fn write_made_run(&mut self, made: &MadeRun) -> Result<(), Failure> {
        let written = self.made.write_all(made.json_line().as_bytes());
        written.map_err(|error| operation_failure("write", &self.out.join(MADE), &error))
    }

    /// Sorts the rows, and stores the status.
    pub fn close(mut self, end: &Result<(), Failure>) -> Result<Vec<RunRow>, Failure> {
        self.state.done = self.rows.len();
        self.state.status = match end {
            Ok(()) => Status::Complete,
            Err(failure) => Status::Partial(failure.to_string()),
        };
        replace_file(&self.out.join(RUNS), rows_text(&self.table, &self.rows))?;
        replace_file(&self.out.join(STATE), pretty_json(&self.state))?;
        Ok(self.rows.into_values().collect())
    }
}

/// The runs that are in a folder. None if it has none to keep.
pub fn find_made(out: &Path, work: &SweepWork<'_>, fresh: bool) -> Result<Option<MadeRuns>, Failure> {
    match SweepState::read_state(out) {
        Err(Failure::Input(_)) if fresh => Ok(None),
        Err(failure) => Err(failure),
        Ok(None) => check_empty(out).map(|()| None),
        Ok(Some(_)) if fresh => Ok(None),
        Ok(Some(state)) => MadeRuns::find(out, work, &state).map(Some),
    }
}

/// Removes files computed from all rows, which must not exist before all rows do.
fn remove_what_is_made_of_all(out: &Path) -> Result<(), Failure> {
    [MEANS, MEANS_PAGE, STANDINGS, STANDINGS_PAGE, WHAT_IF_PAGE, VERDICTS, ANSWER]
        .into_iter()
        .try_for_each(|file| remove_file(&out.join(file)))
}

/// Removes files that a killed sweep was writing. The folder is locked, so none is being written.
fn remove_half_written(out: &Path) -> Result<(), Failure> {
    let is_half = |name: &str| {
        let files = [RUNS, STATE, MEANS, MEANS_PAGE, STANDINGS, STANDINGS_PAGE, WHAT_IF_PAGE, VERDICTS, ANSWER];
        files.iter().any(|file| name.starts_with(&format!(".{file}.partial-")))
    };
    for entry in fs::read_dir(out).map_err(|error| operation_failure("read", out, &error))? {
        let entry = entry.map_err(|error| operation_failure("read", out, &error))?;
        if is_half(&entry.file_name().to_string_lossy()) {
            remove_file(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file, if there is one.
pub fn remove_file(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(operation_failure("remove", path, &error)),
        _ => Ok(()),
    }
}

fn check_empty(out: &Path) -> Result<(), Failure> {
    let mut entries = match fs::read_dir(out) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| operation_failure("read", out, &error))?,
    };
    match entries.next() {
        None => Ok(()),
        Some(_) => {
            let what = match out.join(MANIFEST).exists() {
                true => "holds the results of a run, not of an experiment".to_owned(),
                false => format!("is not empty and has no {STATE}"),
            };
            let out = out.display();
            Err(Failure::Input(format!("{out} {what}; it was not changed: choose another --out")))
        }
    }
}

/// Refusal of a folder whose runs are of something else.
pub fn changed_failure(out: &Path, work: &SweepWork<'_>, state: &SweepState) -> Failure {
    let of_ours = state.experiment == work.experiment.name && state.part == work.part.map(|part| part.to_string());
    let now = match of_ours && state.runs != work.count() {
        true => format!(", which now has {}", format_counted(work.count() as u64, "run")),
        false => String::new(),
    };
    Failure::Input(format!(
        "{} holds {} of {} runs of {}{now}; choose another --out, or discard them with --fresh",
        out.display(),
        state.done,
        state.runs,
        state.of_what(work.label())
    ))
}

/// The complete rows of a folder; an incomplete last line is ignored.
pub fn read_rows(out: &Path, work: &SweepWork<'_>) -> Result<BTreeMap<usize, RunRow>, Failure> {
    let path = out.join(RUNS);
    let text = match read_plain(&path).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(operation_failure("read", &path, &error)),
    };
    let table = Table::of(work.experiment);
    let runs: BTreeMap<usize, Run> = work.runs().map(|run| (run.number, run)).collect();
    let mut rows = BTreeMap::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let row = table.parse_row(line).filter(|row| runs.get(&row.run).is_some_and(|run| run.values == row.values));
        match row {
            Some(row) => drop(rows.insert(row.run, row)),
            None if number == 0 && line == table.header_line() => {}
            None if !line.ends_with('\n') => {}
            None => {
                let path = path.display();
                let line = number + 1;
                return Err(Failure::Input(format!(
                    "{path}:{line}: this is not a row of the experiment; fix it, or start over with --fresh"
                )));
            }
        }
    }
    Ok(rows)
}

fn rows_text(table: &Table, rows: &BTreeMap<usize, RunRow>) -> String {
    [table.header_line()].into_iter().chain(rows.values().map(|row| table.row_line(row))).collect()
}
