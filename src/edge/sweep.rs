//! Runs the runs of an experiment, many at a time, and keeps a row of each.
//!
//! `runs.csv` grows by a row whenever a run ends, so that whatever ends the sweep costs no more than the runs that were
//! under way; the next call goes on with those that are missing. In the end, and after Ctrl-C, rows stand in the order
//! of their runs, which makes the file the same however many threads there were.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::scope;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::Failure;
use super::bidder::{self, Stop};
use super::inline::{self, watch_for_interrupts};
use super::input::{self, plainly};
use super::terminal::Count;
use crate::experiment::{self, Experiment, Row, Run, Table};
use crate::report::{Status, pretty};
use crate::topology::{self, Complaints};

pub const RUNS: &str = "runs.csv";
pub const STATE: &str = "sweep.json";

/// How a sweep is to be made.
pub struct Sweeping {
    /// Where rows go; `out/NAME` of the experiment if nobody says otherwise.
    pub out: Option<PathBuf>,
    /// How many runs at a time; as many as there are cores if nobody says otherwise.
    pub threads: Option<usize>,
    /// Whether to throw away what is there.
    pub fresh: bool,
}

/// A sweep that is complete.
pub struct Swept {
    pub out: PathBuf,
    pub table: Table,
    /// In order.
    pub rows: Vec<Row>,
}

/// `sweep.json`: what the rows beside it belong to.
#[derive(Serialize, Deserialize)]
struct State {
    experiment: String,
    /// Of everything that the rows depend on.
    fingerprint: String,
    runs: usize,
    done: usize,
    status: Status,
}

/// Runs the experiment in a file.
pub fn sweep(path: &str, sweeping: &Sweeping) -> Result<(), Failure> {
    let swept = run_experiment(path, &mut Files::default(), sweeping)?;
    super::print(&format!("{} runs in {}\n", swept.rows.len(), swept.out.join(RUNS).display()))
}

/// The files that an experiment needs, each read once: what changes on disk during a sweep does not change the sweep.
#[derive(Default)]
pub struct Files(BTreeMap<String, Result<Vec<u8>, String>>);

impl Files {
    /// A file that need not be on disk.
    pub fn put(&mut self, path: &str, text: &str) {
        self.0.insert(path.to_owned(), Ok(text.as_bytes().to_vec()));
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let read = || input::read(path).map_err(|error| plainly(&error));
        self.0.entry(path.to_owned()).or_insert_with(read).clone()
    }

    /// What has been read before.
    fn again(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).cloned().unwrap_or_else(|| Err("it was not read before".to_owned()))
    }
}

/// Runs the experiment at `path`, as far as its rows are not there yet.
pub fn run_experiment(path: &str, files: &mut Files, sweeping: &Sweeping) -> Result<Swept, Failure> {
    let experiment = experiment::read(path, &mut |path| files.read(path)).map_err(|complaints| {
        let is_topology = ["site", "user"].iter().any(|key| input::is_written(path, key));
        match is_topology && !input::is_written(path, "vary") {
            true => Failure::Input(format!("{path} is a topology: hansa run {path}")),
            false => Failure::Input(complaints.to_string()),
        }
    })?;
    let fingerprint = check_all(&experiment, files)?;
    let interrupted = watch_for_interrupts()?;

    let out = sweeping.out.clone().unwrap_or_else(|| PathBuf::from("out").join(&experiment.name));
    let mut book = Book::open(&out, &experiment, fingerprint, sweeping.fresh)?;
    let threads = sweeping.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let end = run_missing(&experiment, files, &mut book, threads, &interrupted);
    let rows = book.close(&end)?;
    end?;
    Ok(Swept { out, table: Table::of(&experiment), rows })
}

/// Reads the topology of every run, so that nothing begins which could not be finished; gives a fingerprint of all.
fn check_all(experiment: &Experiment, files: &mut Files) -> Result<String, Failure> {
    let mut all = format!("{}\n{}", env!("CARGO_PKG_VERSION"), Table::of(experiment).header());
    let mut wrong: Vec<String> = Vec::new();
    for run in experiment.runs() {
        match topology::load(&experiment.topology, &run.overrides, &mut |path| files.read(path)) {
            Ok(loaded) => {
                all.push_str(&format!("{} {}\n", run.values.join(","), loaded.topology.hash()));
                let programs = bidder::files(&loaded.topology, &experiment.topology);
                programs.iter().for_each(|file| all.push_str(&format!("{} {}\n", file.path, file.hash)));
            }
            Err(complaints) => {
                // Many runs share a fault: each is told once.
                for complaint in complaints.to_string().split("\n\n").map(|text| text.trim_end().to_owned()) {
                    if !wrong.contains(&complaint) {
                        wrong.push(complaint);
                    }
                }
                if wrong.len() >= COMPLAINTS_MAX {
                    break;
                }
            }
        }
    }
    if wrong.is_empty() {
        Ok(format!("{:032x}", xxh3_128(all.as_bytes())))
    } else {
        Err(Failure::Input(wrong.join("\n\n")))
    }
}

const COMPLAINTS_MAX: usize = 50;

fn input(complaints: Complaints) -> Failure {
    Failure::Input(complaints.to_string())
}

fn run_missing(
    experiment: &Experiment,
    files: &Files,
    book: &mut Book,
    threads: usize,
    stop: &Stop,
) -> Result<(), Failure> {
    let missing: Vec<Run> = experiment.runs().filter(|run| !book.rows.contains_key(&run.number)).collect();
    let next = AtomicUsize::new(0);
    let mut progress = Count::new("runs", experiment.count(), book.rows.len());
    let (sender, receiver) = channel();

    let mut end = Ok(());
    scope(|scope| {
        for _ in 0..threads.clamp(1, missing.len().max(1)) {
            let sender = sender.clone();
            let (missing, next) = (&missing, &next);
            scope.spawn(move || {
                while let Some(run) =
                    missing.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !stop.load(Ordering::Relaxed))
                {
                    // Nobody listens any more once the sweep has failed.
                    let _ = sender.send(row(experiment, run, files, stop).transpose());
                }
            });
        }
        drop(sender);
        loop {
            let failed = match receiver.recv_timeout(REDRAW) {
                Ok(Some(Ok(row))) => book.add(row),
                Ok(Some(Err(failure))) => Err(failure),
                Ok(None) | Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if failed.is_err() && end.is_ok() {
                stop.store(true, Ordering::Relaxed);
                end = failed;
            }
            progress.update(book.rows.len());
        }
    });
    progress.clear();

    let (done, count) = (book.rows.len(), experiment.count());
    if end.is_ok() && done < count {
        let out = book.out.display();
        end = Err(Failure::Interrupted(format!(
            "interrupted: {done} of {count} runs are in {out}; the same command goes on"
        )));
    }
    end
}

const REDRAW: Duration = Duration::from_millis(200);

/// Runs one run; `None` if it was stopped.
fn row(experiment: &Experiment, run: &Run, files: &Files, stop: &Stop) -> Result<Option<Row>, Failure> {
    let loaded = topology::load(&experiment.topology, &run.overrides, &mut |path| files.again(path)).map_err(input)?;
    let Some(summary) = inline::summary(&loaded.topology, &experiment.topology, stop)
        .map_err(|failure| in_run(run, experiment, failure))?
    else {
        return Ok(None);
    };
    Ok(Some(Row {
        run: run.number,
        values: run.values.clone(),
        metrics: experiment.metrics.iter().map(|metric| metric.of(&summary)).collect(),
        digest: summary.digest,
    }))
}

/// Says which run it was.
fn in_run(run: &Run, experiment: &Experiment, failure: Failure) -> Failure {
    let settings = experiment.axes.iter().zip(&run.values).map(|(axis, value)| format!("{}={value}", axis.key));
    let text = format!("run {} ({}): {failure}", run.number, settings.collect::<Vec<_>>().join(", "));
    match failure {
        Failure::Input(_) => Failure::Input(text),
        Failure::Breach(_) => Failure::Breach(text),
        Failure::Bidder(_) => Failure::Bidder(text),
        _ => Failure::Internal(text),
    }
}

/// The rows of a sweep, in memory and on disk.
struct Book {
    out: PathBuf,
    table: Table,
    state: State,
    rows: BTreeMap<usize, Row>,
    /// Rows are added to its end as they come.
    file: File,
    /// Held, so that nobody else sweeps into the same folder.
    _lock: File,
}

impl Book {
    fn open(out: &Path, experiment: &Experiment, fingerprint: String, fresh: bool) -> Result<Book, Failure> {
        fs::create_dir_all(out).map_err(|error| system("make", out, &error))?;
        let lock = File::open(out).map_err(|error| system("open", out, &error))?;
        if lock.try_lock().is_err() {
            return Err(Failure::System(format!("another sweep is writing to {}", out.display())));
        }

        let state_path = out.join(STATE);
        let before = match fs::read(&state_path) {
            Ok(bytes) => Some(serde_json::from_slice::<State>(&bytes).map_err(|error| {
                Failure::Input(format!("cannot read {}: {error}; --fresh begins anew", state_path.display()))
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(system("read", &state_path, &error)),
        };
        let rows = match before {
            None => {
                check_empty(out)?;
                BTreeMap::new()
            }
            Some(_) if fresh => BTreeMap::new(),
            Some(state) => {
                let state = state?;
                if state.fingerprint != fingerprint {
                    return Err(changed(out, experiment, &state));
                }
                read_rows(out, experiment)?
            }
        };

        let state = State {
            experiment: experiment.name.clone(),
            fingerprint,
            runs: experiment.count(),
            done: rows.len(),
            status: Status::Partial("not finished yet".to_owned()),
        };
        let table = Table::of(experiment);
        replace(&out.join(RUNS), text(&table, &rows))?;
        replace(&state_path, pretty(&state))?;
        let path = out.join(RUNS);
        let file = OpenOptions::new().append(true).open(&path).map_err(|error| system("open", &path, &error))?;
        Ok(Book { out: out.to_owned(), table, state, rows, file, _lock: lock })
    }

    /// Keeps a row, on disk too.
    fn add(&mut self, row: Row) -> Result<(), Failure> {
        let line = self.table.line(&row);
        self.rows.insert(row.run, row);
        self.file.write_all(line.as_bytes()).map_err(|error| system("write", &self.out.join(RUNS), &error))
    }

    /// Puts the rows in order and says how complete they are.
    fn close(mut self, end: &Result<(), Failure>) -> Result<Vec<Row>, Failure> {
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

fn check_empty(out: &Path) -> Result<(), Failure> {
    let mut entries = fs::read_dir(out).map_err(|error| system("read", out, &error))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => {
            let out = out.display();
            let text = format!("{out} is not empty and has no {STATE}; it was left as it is: choose another --out");
            Err(Failure::System(text))
        }
    }
}

fn changed(out: &Path, experiment: &Experiment, state: &State) -> Failure {
    let what = match state.experiment == experiment.name {
        true => "an earlier version of this experiment (or of its topology, or of hansa)".to_owned(),
        false => format!("the experiment {}", state.experiment),
    };
    Failure::Input(format!(
        "{} holds {} of {} runs of {what}; choose another --out, or throw them away with --fresh",
        out.display(),
        state.done,
        state.runs
    ))
}

/// The whole rows that are there; a last line that was cut short is as good as none.
fn read_rows(out: &Path, experiment: &Experiment) -> Result<BTreeMap<usize, Row>, Failure> {
    let path = out.join(RUNS);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(system("read", &path, &error)),
    };
    let table = Table::of(experiment);
    let runs: Vec<Run> = experiment.runs().collect();
    let mut rows = BTreeMap::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let row = table.parse(line).filter(|row| {
            row.run.checked_sub(1).and_then(|index| runs.get(index)).is_some_and(|run| run.values == row.values)
        });
        match row {
            Some(row) => drop(rows.insert(row.run, row)),
            None if number == 0 && line == table.header() => {}
            None if !line.ends_with('\n') => {}
            None => {
                let (path, line) = (path.display(), number + 1);
                return Err(Failure::Input(format!(
                    "{path}:{line}: this is no row of the experiment; mend it, or begin anew with --fresh"
                )));
            }
        }
    }
    Ok(rows)
}

fn text(table: &Table, rows: &BTreeMap<usize, Row>) -> String {
    [table.header()].into_iter().chain(rows.values().map(|row| table.line(row))).collect()
}

/// Writes a file so that there is always a whole one.
pub fn replace(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let partial = path.with_extension("partial");
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| {
        // What there is of it is of no use to anybody.
        let _ = fs::remove_file(&partial);
        system("write", path, &error)
    })
}

fn system(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::System(format!("cannot {verb} {}: {}", path.display(), plainly(error)))
}
