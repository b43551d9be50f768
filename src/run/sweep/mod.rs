//! Runs the runs of an experiment, many at a time, and keeps a row of each.
//!
//! `runs.csv` grows by a row at the end of each run, so an early end of the sweep costs no more than the active runs;
//! the next call continues with the missing ones. An experiment that has changed takes the runs that still belong to it
//! (`made.rs`). At the end, and after Ctrl-C, rows are in the order of their runs, which makes the file the same for
//! any number of threads.
//!
//! Several machines may each run a share (`part.rs`), which is a sweep in a folder of its own. Their combination
//! (`gather.rs`) is, byte for byte, the result of one machine.

mod book;
mod dry_run;
mod gather;
mod job_store;
mod made;
mod part;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_128;

pub use self::book::{ANSWER, Label, RUNS, STANDINGS, STANDINGS_PAGE, SweepState, WHAT_IF_PAGE};
use self::book::{MEANS, MEANS_PAGE, SweepBook, SweepWork, VERDICTS, remove_file};
pub use self::dry_run::{announce_missing, dry_run, dry_run_checked, missing_runs};
pub use self::gather::await_shares;
use self::job_store::{JOBS_MAX, KeptJobs, read_kept_jobs};
use self::made::MadeRun;
pub use self::part::SweepPart;
use super::Failure;
use super::choosing::{ChoiceReport, Choosing, judge_variants};
use super::disk::{io_reason, replace_file};
use super::inline::{self, watch_for_interrupts};
use super::input;
use super::logs;
use super::outside::{self, Stop};
use super::pool::in_parallel;
use super::terminal::ItemCounter;
use hansa_report::experiment::answer::{Answers, ContestRun, NoAnswer, answer_panels, find_metric};
use hansa_report::experiment::means::{compute_means, means_csv, means_page};
use hansa_report::experiment::{self, Experiment, Findings, Run, RunRow, Table, judge_experiment};
use hansa_report::{RunOutcomes, Summary, WorkDone, pretty_json};
use hansa_sim::settings::format_counted;
use hansa_sim::topology::{self, InvalidInput, Loaded};
use hansa_sim::workload::rigids::ParsedLogs;

/// Options of a sweep.
pub struct Sweeping {
    /// Place of the rows; by default `out/NAME` of the experiment.
    pub out: Option<PathBuf>,
    /// Number of concurrent runs; by default the number of cores.
    pub threads: Option<usize>,
    /// True if existing rows are to be discarded.
    pub fresh: bool,
    pub share: SweepShare,
    /// Options of its choices.
    pub choosing: Choosing,
}

/// The part of a sweep that one call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepShare {
    Whole,
    /// Some of its runs, into a folder beside the place of the whole.
    Part(SweepPart),
    /// Only the combination of shares.
    Gather {
        /// Shares, or folders of these; by default those beside the place of the whole.
        from: Vec<PathBuf>,
        /// Time limit for the completion of shares.
        wait: Duration,
    },
}

/// Metrics, work and jobs of the runs in a folder, by the hash of what was run.
pub struct KeptRuns {
    made: BTreeMap<String, MadeRun>,
    jobs: KeptJobs,
}

/// A sweep that is complete.
pub struct Swept {
    pub out: PathBuf,
    pub experiment: Experiment,
    /// The rows in order.
    pub rows: Vec<RunRow>,
    /// The share, if it is not all.
    pub part: Option<SweepPart>,
    /// Hash of what is run, for each run of the experiment.
    inputs: Vec<String>,
}

impl Swept {
    /// The number of runs and their place, in words.
    pub fn describe_runs(&self) -> String {
        let runs = format_counted(self.rows.len() as u64, "run");
        let path = self.out.join(RUNS);
        match self.part {
            Some(part) => format!("share {part}: {runs} in {}\n", path.display()),
            None => format!("{runs} in {}\n", path.display()),
        }
    }

    /// Judges the claims of the file, and writes their verdicts. None if it has none.
    ///
    /// If all variants of its choices were run, the verdicts are those of the usual one, and their matrix is written,
    /// too.
    pub fn judge_claims(&self, path: &str) -> Result<Option<Findings>, Failure> {
        let file = self.out.join(VERDICTS);
        let judged = judge_variants(&self.experiment, &self.rows);
        let findings = match &judged {
            Some(judged) => {
                ChoiceReport::of_variants(&self.experiment.choices, judged).publish(&self.out)?;
                judged.first().map(|(_, findings)| findings.clone())
            }
            None => judge_experiment(&self.experiment, &self.rows),
        };
        match &findings {
            Some(findings) => {
                let runs = format_counted(self.rows.len() as u64, "run");
                let head = format!("The claims of {path}, judged by {runs}: {}.\n", findings.verdict_counts());
                replace_file(&file, head + &findings.text())?;
            }
            // Verdicts of an earlier version of the file would look like its own.
            None => remove_file(&file)?,
        }
        Ok(findings)
    }

    /// Reads what is kept of the runs in the folder.
    pub fn read_kept(&self) -> Result<KeptRuns, Failure> {
        Ok(KeptRuns { made: MadeRun::read_all(&self.out)?, jobs: read_kept_jobs(&self.out)? })
    }

    /// The run of a row, for a comparison. None if nothing is kept of it.
    pub fn contest_run<'k>(&self, row: &RunRow, kept: &'k KeptRuns) -> Option<ContestRun<'k>> {
        let inputs = self.inputs.get(row.run - 1)?;
        let run = kept.made.get(inputs)?;
        let metrics = experiment::metrics().map(|metric| run.metrics.get(metric.name).copied().flatten()).collect();
        Some(ContestRun { metrics, work: run.work.clone(), outcomes: kept.jobs.get(inputs) })
    }

    /// Answers the question of the sweep, and writes the answer for programs; `against` is the index of the reference
    /// among the entrants.
    pub fn answer_question(&self, against: usize, by: Option<&str>) -> Result<Option<Answers>, Failure> {
        let kept = self.read_kept()?;
        let find = |row: &RunRow| self.contest_run(row, &kept);
        match answer_panels(&self.experiment, &self.rows, against, by, &find) {
            Ok(answers) => {
                replace_file(&self.out.join(ANSWER), pretty_json(&answers.json()))?;
                Ok(Some(answers))
            }
            Err(NoAnswer::Nothing) => Ok(None),
            Err(error) => Err(Failure::Input(error.to_string())),
        }
    }

    /// Facts on a page: its origin, and the file with its numbers.
    pub fn page_facts(&self, path: &str, numbers: &str) -> [String; 2] {
        let runs = format_counted(self.rows.len() as u64, "run");
        let topology = &self.experiment.topology;
        let on = if path == topology { String::new() } else { format!(" on {topology}") };
        [
            format!("Of {path}{on}: {runs}."),
            format!("{RUNS} has one row per run, with its digest; {numbers} has all numbers of this page."),
        ]
    }
}

/// Verdicts for the terminal.
pub fn verdict_list(findings: Option<&Findings>) -> String {
    match findings {
        Some(findings) => format!("claims: {}\n{}", findings.verdict_counts(), findings.verdict_list()),
        None => String::new(),
    }
}

/// Refuses a metric that does not exist before anything runs.
pub fn check_metric(by: Option<&str>) -> Result<(), Failure> {
    by.map(find_metric).transpose().map(drop).map_err(|error| Failure::Input(error.to_string()))
}

/// Runs the experiment in a file; `by` is the metric of the question.
pub fn run_sweep(path: &str, by: Option<&str>, sweeping: &Sweeping) -> Result<(), Failure> {
    check_metric(by)?;
    let swept = run_experiment(path, &mut FileCache::default(), sweeping)?;
    if swept.part.is_some() {
        // Means need all rows.
        return super::out::unless_quiet(&swept.describe_runs());
    }
    let means = compute_means(&swept.experiment, &swept.rows);
    let findings = swept.judge_claims(path)?;
    replace_file(&swept.out.join(MEANS), means_csv(&means))?;
    let answers = swept.answer_question(0, by)?;
    let facts = swept.page_facts(path, MEANS);
    replace_file(&swept.out.join(MEANS_PAGE), means_page(&means, answers.as_ref(), findings.as_ref(), &facts))?;
    let note = means.repeats_note().map_or(String::new(), |note| format!("{note}\n"));
    super::out::unless_quiet(&format!(
        "{}{}{note}{}{}: the page of their means\n",
        answers.map_or(String::new(), |answers| answers.text()),
        swept.describe_runs(),
        verdict_list(findings.as_ref()),
        swept.out.join(MEANS_PAGE).display()
    ))
}

/// Reads an experiment and checks all its runs.
pub fn read_experiment(path: &str, files: &mut FileCache) -> Result<Experiment, Failure> {
    read_checked(path, files, &Choosing::default()).map(|(experiment, _)| experiment)
}

/// The files that an experiment needs, each read once: a change on disk during a sweep does not change the sweep.
#[derive(Default)]
pub struct FileCache {
    /// Files that need not be on disk, by paths without detours.
    given: BTreeMap<String, Vec<u8>>,
    found: BTreeMap<String, Result<Vec<u8>, String>>,
    /// True if there is no disk.
    sealed: bool,
    /// Keeps parsed logs for all runs.
    _parsed_logs: ParsedLogs,
}

impl FileCache {
    /// Files without a disk: only those that are put there.
    pub fn without_disk() -> FileCache {
        FileCache { sealed: true, ..FileCache::default() }
    }

    /// Adds a file that need not be on disk.
    pub fn add_file(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.given.insert(straighten_path(path), bytes.into());
    }

    pub fn read_file(&mut self, path: &str) -> Result<Vec<u8>, String> {
        if let Some(bytes) = self.given.get(&straighten_path(path)) {
            return Ok(bytes.clone());
        }
        if self.sealed {
            return Err("there is no such file".to_owned());
        }
        let read = || input::read_input(path).map_err(|error| io_reason(&error));
        self.found.entry(path.to_owned()).or_insert_with(read).clone()
    }

    /// A file that has been read before.
    fn reread_file(&self, path: &str) -> Result<Vec<u8>, String> {
        match self.given.get(&straighten_path(path)) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.found.get(path).cloned().unwrap_or_else(|| Err("it was not read before".to_owned())),
        }
    }

    /// The files found on disk.
    pub fn found_paths(&self) -> impl Iterator<Item = String> + '_ {
        self.found.iter().filter(|(_, found)| found.is_ok()).map(|(path, _)| path.clone())
    }
}

/// A path without `x/..`, where no folder is a link.
fn straighten_path(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "." => {}
            ".." if steps.last().is_some_and(|last| !matches!(*last, "" | "..")) => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    steps.join("/")
}

impl Sweeping {
    /// The folder of the whole, and that of the runs of this call, with its share.
    fn folder_places(&self, experiment: &Experiment) -> (PathBuf, PathBuf, Option<SweepPart>) {
        let whole = self.out.clone().unwrap_or_else(|| PathBuf::from("out").join(&experiment.name));
        match &self.share {
            SweepShare::Part(part) => (whole.clone(), part.rows_folder(&whole), Some(*part)),
            SweepShare::Whole | SweepShare::Gather { .. } => (whole.clone(), whole, None),
        }
    }

    fn thread_count(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }
}

/// Runs the experiment at `path`, except runs that exist already.
pub fn run_experiment(path: &str, files: &mut FileCache, sweeping: &Sweeping) -> Result<Swept, Failure> {
    let (experiment, checked) = read_checked(path, files, &sweeping.choosing)?;
    let interrupted = watch_for_interrupts()?;
    run_checked(experiment, checked, files, sweeping, &interrupted)
}

/// Runs an experiment that has been checked, except runs that exist already.
pub fn run_checked(
    experiment: Experiment,
    checked: CheckedExperiment,
    files: &FileCache,
    sweeping: &Sweeping,
    interrupted: &Stop,
) -> Result<Swept, Failure> {
    let CheckedExperiment { fingerprint, inputs, faults, jobs } = checked;
    faults.iter().for_each(|one| super::err::warning(one));
    let (whole, out, part) = sweeping.folder_places(&experiment);
    let keeps_jobs = jobs <= JOBS_MAX;
    let work = SweepWork { experiment: &experiment, fingerprint: &fingerprint, inputs: &inputs, part, keeps_jobs };
    let rows = match &sweeping.share {
        SweepShare::Gather { from, wait } => {
            let (rows, known) = gather::gather_shares(&work, &whole, from, *wait, interrupted)?;
            let mut book = SweepBook::open(&whole, &work, sweeping.fresh)?;
            book.adopt_rows(rows, &known)?;
            book.close(&Ok(()))?
        }
        SweepShare::Whole | SweepShare::Part(_) => {
            let mut book = SweepBook::open(&out, &work, sweeping.fresh)?;
            let end = run_missing(&work, files, &mut book, sweeping.thread_count(), interrupted);
            let rows = book.close(&end)?;
            end?;
            rows
        }
    };
    Ok(Swept { out, experiment, rows, part, inputs })
}

/// Facts about an experiment before it is run.
pub struct CheckedExperiment {
    /// Fingerprint of everything that its rows depend on.
    fingerprint: String,
    /// Hash of what is run, for each run.
    inputs: Vec<String>,
    /// Faults of its logs, each once.
    faults: Vec<String>,
    /// Number of jobs of all runs together.
    jobs: u64,
}

impl CheckedExperiment {
    /// True if the outcomes of all jobs can be kept.
    pub fn keeps_jobs(&self) -> bool {
        self.jobs <= JOBS_MAX
    }
}

fn read_checked(
    path: &str,
    files: &mut FileCache,
    choosing: &Choosing,
) -> Result<(Experiment, CheckedExperiment), Failure> {
    let experiment = experiment::read_experiment(path, &mut |path| files.read_file(path)).map_err(|diagnostics| {
        let is_topology = input::has_key(path, &["site", "user"]) && !input::has_key(path, &["vary"]);
        let is_program = input::has_key(path, &["program"]) && !input::has_key(path, &["topology"]);
        match (is_topology, is_program) {
            (true, _) => Failure::Input(format!("{path} is a topology: use hansa run {path}")),
            (_, true) => Failure::Input(format!("{path}: a program makes its runs: use hansa reproduce, see --help")),
            _ => Failure::Input(diagnostics.to_string()),
        }
    })?;
    let experiment = choosing.apply(experiment)?;
    let checked = check_all(&experiment, files)?;
    Ok((experiment, checked))
}

/// Reads the topology of every run, so that a sweep begins only if it can be finished.
pub fn check_all(experiment: &Experiment, files: &mut FileCache) -> Result<CheckedExperiment, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let mut all = format!("{version}\n{}", Table::of(experiment).header_line());
    let (mut wrong, mut inputs): (Vec<String>, Vec<String>) = Default::default();
    let mut faults = experiment.remarks.clone();
    let mut jobs = 0;
    for run in experiment.runs() {
        match topology::read_topology(&experiment.topology, &run.overrides, &mut |path| files.read_file(path)) {
            Ok(loaded) => {
                let programs = outside::program_files(&loaded.topology, &experiment.topology);
                let programs = programs.iter().map(|file| format!("{} {}\n", file.path, file.hash));
                let of_run = format!("{}\n{}", loaded.topology.hash(), programs.collect::<String>());
                inputs.push(hash(&format!("{version}\n{of_run}")));
                all.push_str(&format!("{} {of_run}", run.values.join(",")));
                jobs += loaded.topology.jobs();
                faults.extend(logs::log_faults(&loaded.topology));
                if experiment.has_windows() {
                    faults.extend(logs::window_notes(&loaded.topology));
                }
                faults.sort_unstable();
                faults.dedup();
            }
            Err(diagnostics) => {
                // Many runs share a fault: each is reported once.
                for diagnostic in diagnostics.to_string().split("\n\n").map(|text| text.trim_end().to_owned()) {
                    if !wrong.contains(&diagnostic) {
                        wrong.push(diagnostic);
                    }
                }
                if wrong.len() >= COMPLAINTS_MAX {
                    break;
                }
            }
        }
    }
    if wrong.is_empty() {
        Ok(CheckedExperiment { fingerprint: hash(&all), inputs, faults, jobs })
    } else {
        Err(Failure::Input(wrong.join("\n\n")))
    }
}

fn hash(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

const COMPLAINTS_MAX: usize = 50;

fn input_failure(diagnostics: InvalidInput) -> Failure {
    Failure::Input(diagnostics.to_string())
}

fn run_missing(
    work: &SweepWork<'_>,
    files: &FileCache,
    book: &mut SweepBook<'_>,
    threads: usize,
    stop: &Stop,
) -> Result<(), Failure> {
    let missing: Vec<Run> = work.runs().filter(|run| !book.rows.contains_key(&run.number)).collect();
    let mut progress = ItemCounter::new("runs", work.count(), book.rows.len());
    let mut end = Ok(());
    let stopped = || stop.load(Ordering::Relaxed);
    let one = |run: &Run| make_run(work, run, files, stop).map(|made| Some((run.clone(), made?)));
    in_parallel(&missing, threads, &stopped, &one, &mut |result| {
        let made = result.and_then(Result::transpose);
        let kept =
            made.map_or(Ok(()), |made| made.and_then(|(run, (made, jobs))| book.add(&run, &made, jobs.as_ref())));
        if kept.is_err() && end.is_ok() {
            stop.store(true, Ordering::Relaxed);
            end = kept;
        }
        progress.update(book.rows.len());
    });
    progress.clear();

    let done = book.rows.len();
    let count = work.count();
    if end.is_ok() && done < count {
        let out = book.out.display();
        end = Err(Failure::Interrupted(format!(
            "interrupted: {done} of {count} runs are in {out}; repeat the command to resume"
        )));
    }
    end
}

/// The topology of a run, from files that have been read with the experiment.
pub fn load_run(experiment: &Experiment, run: &Run, files: &FileCache) -> Result<Loaded, Failure> {
    topology::read_topology(&experiment.topology, &run.overrides, &mut |path| files.reread_file(path))
        .map_err(input_failure)
}

/// A run with the outcomes of its jobs, if these are kept.
type MadeWithJobs = (MadeRun, Option<RunOutcomes>);

/// Runs one run; `None` if it was stopped.
fn make_run(work: &SweepWork<'_>, run: &Run, files: &FileCache, stop: &Stop) -> Result<Option<MadeWithJobs>, Failure> {
    let experiment = work.experiment;
    let loaded = load_run(experiment, run, files)?;
    let began = Instant::now();
    let (summary, jobs) = match run_topology(work, &loaded, stop) {
        Ok(Some(made)) => made,
        // It may have been waiting for an external program.
        Ok(None) | Err(Failure::Interrupted(_)) => return Ok(None),
        Err(failure) => return Err(in_run(run, experiment, failure)),
    };
    let made = MadeRun {
        inputs: work.inputs_of(run).to_owned(),
        settings: experiment.settings(&run.values),
        metrics: experiment::metrics().map(|metric| (metric.name.to_owned(), metric.of(&summary))).collect(),
        work: Some(WorkDone::of(&summary)),
        digest: summary.digest,
        seconds: Some(began.elapsed().as_secs_f64()),
    };
    Ok(Some((made, jobs)))
}

fn run_topology(
    work: &SweepWork<'_>,
    loaded: &Loaded,
    stop: &Stop,
) -> Result<Option<(Summary, Option<RunOutcomes>)>, Failure> {
    let written_in = &work.experiment.topology;
    if work.keeps_jobs {
        let made = inline::summary_with_jobs(&loaded.topology, written_in, stop)?;
        return Ok(made.map(|(summary, jobs)| (summary, Some(jobs))));
    }
    Ok(inline::summarize_run(&loaded.topology, written_in, stop)?.map(|summary| (summary, None)))
}

/// Settings of a run in words.
fn settings_of(experiment: &Experiment, run: &Run) -> String {
    let settings = experiment.axes.iter().zip(&run.values).map(|(axis, value)| format!("{}={value}", axis.key));
    settings.collect::<Vec<_>>().join(", ")
}

/// Adds the run to a failure.
fn in_run(run: &Run, experiment: &Experiment, mut failure: Failure) -> Failure {
    let which = format!("run {} ({}): ", run.number, settings_of(experiment, run));
    if let Failure::Input(text)
    | Failure::Breach(text)
    | Failure::Program(text)
    | Failure::System(text)
    | Failure::Internal(text) = &mut failure
    {
        text.insert_str(0, &which);
    }
    failure
}
