//! The rows of a sweep, or of a share of one, in a folder.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::Failure;
use super::super::disk::{cannot, replace};
use super::super::files::{MANIFEST, STATE};
use super::super::input::read_plain;
use super::part::SweepPart;
use crate::experiment::{Experiment, Run, RunRow, Table};
use crate::few;
use crate::report::{Status, pretty};
use crate::settings::counted;

pub const RUNS: &str = "runs.csv";

/// Files that are computed from all rows.
pub const MEANS: &str = "means.csv";
pub const MEANS_PAGE: &str = "sweep.html";
pub const STANDINGS: &str = "standings.csv";
pub const STANDINGS_PAGE: &str = "tournament.html";

/// The runs to make: an experiment, or a share of it.
pub struct SweepWork<'a> {
    pub experiment: &'a Experiment,
    /// Hash of all that the rows depend on.
    pub fingerprint: &'a str,
    pub part: Option<SweepPart>,
}

/// Identity of an experiment. Only shares with one label can be put together.
#[derive(Clone, Copy)]
pub struct Label<'a> {
    pub experiment: &'a str,
    pub fingerprint: &'a str,
}

impl SweepWork<'_> {
    pub fn label(&self) -> Label<'_> {
        Label { experiment: &self.experiment.name, fingerprint: self.fingerprint }
    }

    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.numbers().map(|number| self.experiment.run(number))
    }

    pub fn count(&self) -> usize {
        self.numbers().len()
    }

    fn numbers(&self) -> impl ExactSizeIterator<Item = usize> {
        self.part.unwrap_or(SweepPart::WHOLE).runs(self.experiment.count())
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
}

impl SweepState {
    /// Reads the state of a folder. None if it has no sweep.
    pub fn read(folder: &Path) -> Result<Option<SweepState>, Failure> {
        let path = folder.join(STATE);
        match read_plain(&path) {
            Ok(bytes) => serde_json::from_slice::<SweepState>(&bytes).map(Some).map_err(|error| {
                Failure::Input(format!("cannot read {}: {error}; use --fresh to start over", path.display()))
            }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(cannot("read", &path, &error)),
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
pub struct SweepBook {
    pub out: PathBuf,
    table: Table,
    state: SweepState,
    pub rows: BTreeMap<usize, RunRow>,
    /// File to which rows are appended.
    file: File,
    /// Lock that keeps other processes from sweeping into this folder.
    _lock: File,
}

impl SweepBook {
    pub fn open(out: &Path, work: &SweepWork<'_>, fresh: bool) -> Result<SweepBook, Failure> {
        fs::create_dir_all(out).map_err(|error| cannot("make", out, &error))?;
        let lock = File::open(out).map_err(|error| cannot("open", out, &error))?;
        if lock.try_lock().is_err() {
            return Err(Failure::System(format!("another sweep is writing to {}", out.display())));
        }

        remove_half_written(out)?;
        let part = work.part.map(|part| part.to_string());
        let rows = match SweepState::read(out) {
            Err(Failure::Input(_)) if fresh => None,
            Err(failure) => return Err(failure),
            Ok(None) => {
                check_empty(out)?;
                None
            }
            Ok(Some(_)) if fresh => None,
            Ok(Some(state)) => {
                if state.fingerprint != work.fingerprint || state.part != part {
                    return Err(changed(out, work, &state));
                }
                Some(read_rows(out, work)?)
            }
        };
        if rows.is_none() {
            // Old rows are removed before the new state is written, so that a process killed in between leaves no rows
            // of another state.
            remove(&out.join(RUNS))?;
        }
        let rows = rows.unwrap_or_default();

        if rows.len() < work.count() {
            remove_what_is_made_of_all(out)?;
        }
        let state = SweepState {
            experiment: work.experiment.name.clone(),
            fingerprint: work.fingerprint.to_owned(),
            part,
            runs: work.count(),
            done: rows.len(),
            status: Status::Partial("not finished yet".to_owned()),
        };
        let table = Table::of(work.experiment);
        replace(&out.join(STATE), pretty(&state))?;
        replace(&out.join(RUNS), text(&table, &rows))?;
        let path = out.join(RUNS);
        let file = OpenOptions::new().append(true).open(&path).map_err(|error| cannot("open", &path, &error))?;
        Ok(SweepBook { out: out.to_owned(), table, state, rows, file, _lock: lock })
    }

    /// Stores a row, on disk, too.
    pub fn add(&mut self, row: RunRow) -> Result<(), Failure> {
        let line = self.table.line(&row);
        self.rows.insert(row.run, row);
        self.file.write_all(line.as_bytes()).map_err(|error| cannot("write", &self.out.join(RUNS), &error))
    }

    /// Sorts the rows, and stores the status.
    pub fn close(mut self, end: &Result<(), Failure>) -> Result<Vec<RunRow>, Failure> {
        self.state.done = self.rows.len();
        self.state.status = match end {
            Ok(()) => Status::Complete,
            Err(failure) => Status::Partial(failure.to_string()),
        };
        replace(&self.out.join(RUNS), text(&self.table, &self.rows))?;
        replace(&self.out.join(STATE), pretty(&self.state))?;
        Ok(self.rows.into_values().collect())
    }
}

/// Removes files computed from all rows, which must not exist before all rows do.
fn remove_what_is_made_of_all(out: &Path) -> Result<(), Failure> {
    [MEANS, MEANS_PAGE, STANDINGS, STANDINGS_PAGE].into_iter().try_for_each(|file| remove(&out.join(file)))
}

/// Removes files that a killed sweep was writing. The folder is locked, so none is being written.
fn remove_half_written(out: &Path) -> Result<(), Failure> {
    let is_half = |name: &str| {
        let files = [RUNS, STATE, MEANS, MEANS_PAGE, STANDINGS, STANDINGS_PAGE];
        files.iter().any(|file| name.starts_with(&format!(".{file}.partial-")))
    };
    for entry in fs::read_dir(out).map_err(|error| cannot("read", out, &error))? {
        let entry = entry.map_err(|error| cannot("read", out, &error))?;
        if is_half(&entry.file_name().to_string_lossy()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file, if there is one.
fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(cannot("remove", path, &error)),
        _ => Ok(()),
    }
}

fn check_empty(out: &Path) -> Result<(), Failure> {
    let mut entries = fs::read_dir(out).map_err(|error| cannot("read", out, &error))?;
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

fn changed(out: &Path, work: &SweepWork<'_>, state: &SweepState) -> Failure {
    let of_ours = state.experiment == work.experiment.name && state.part == work.part.map(|part| part.to_string());
    let now = match of_ours && state.runs != work.count() {
        true => format!(", which now has {}", counted(work.count() as u64, "run")),
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
        Err(error) => return Err(cannot("read", &path, &error)),
    };
    let table = Table::of(work.experiment);
    let runs: few::Map<usize, Run> = work.runs().map(|run| (run.number, run)).collect();
    let mut rows = BTreeMap::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let row = table.parse(line).filter(|row| runs.get(&row.run).is_some_and(|run| run.values == row.values));
        match row {
            Some(row) => drop(rows.insert(row.run, row)),
            None if number == 0 && line == table.header() => {}
            None if !line.ends_with('\n') => {}
            None => {
                let (path, line) = (path.display(), number + 1);
                return Err(Failure::Input(format!(
                    "{path}:{line}: this is not a row of the experiment; fix it, or start over with --fresh"
                )));
            }
        }
    }
    Ok(rows)
}

fn text(table: &Table, rows: &BTreeMap<usize, RunRow>) -> String {
    [table.header()].into_iter().chain(rows.values().map(|row| table.line(row))).collect()
}
