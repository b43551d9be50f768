//! The results of a run: log, tables, summary and manifest, in one folder that is complete or marked as partial.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::background::Background;
use super::drive_hub::{LeafFacts, RunOutcome};
use super::files::{EVENTS, Earlier, Placed, ResultFolder, SUMMARY, TRACE};
use super::freight::Moved;
use super::host::{describe_host, utc_now};
use super::input::{default_out, written_out};
use super::journal::JOURNAL;
use super::partial_dir::PartialDir;
use super::recording::{Recording, TRANSFERS};
use super::resume::status_of;
use super::terminal::ProgressLine;
use super::{Failure, err, out, outside, parquet, pin, typed_words};
use hansa_report::{
    self, Counts, EntryError, LiveFacts, LiveFlows, Manifest, MovedFacts, Names, RecordError, Recorder, RunFacts,
    Status, Summary, SummaryFile, Tally, Witness, summary_table,
};
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::{Record, ReserveAnswer};
use hansa_sim::settings::{format_count, format_counted};
use hansa_sim::time::Time;
use hansa_sim::topology::{self, Loaded, Topology};

/// Figure of measured times beside those of the model.
pub const LIVE_PLOT: &str = "live.svg";

/// Flush thresholds of the log: this many entries or this long.
const ENTRIES: usize = 1 << 11;
const KEPT_FOR: Duration = Duration::from_millis(200);

/// Format of a run's summary on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryFormat {
    #[default]
    Table,
    Json,
}

impl SummaryFormat {
    /// Prints the summary of the results in this folder.
    pub fn print(self, summary: &SummaryFile, out: &Path) -> Result<(), Failure> {
        match self {
            SummaryFormat::Json => {
                let SummaryFile { results, run } = summary;
                super::out::always(&format!("{:#}\n", json!({ "out": out, "results": results, "run": run })))
            }
            SummaryFormat::Table => {
                let table = summary_table(&summary.results, Some(&summary.run));
                out::unless_quiet(&format!("{table}results in {}\n", out.display()))
            }
        }
    }
}

/// The results of one run while it goes on.
pub struct Results<'a> {
    loaded: &'a Loaded,
    names: Names,
    /// Declared before the folder, so it is dropped first: the folder must not be removed while files in it are still
    /// written.
    recording: Background<Recording, Entry<Record>>,
    folder: ResultFolder,
    /// Set when a record contradicts earlier ones.
    alarm: Arc<AtomicBool>,
    /// Time of the last flush that was due.
    handed: Instant,
    /// Time for which recording and writing have blocked the run so far.
    written_for: Duration,
    started: String,
    command: Vec<String>,
    inputs: Vec<hansa_report::Input>,
    format: SummaryFormat,
    /// The path of the results in the printed summary. None if it is the one that this process uses.
    shown_out: Option<PathBuf>,
    parquet: bool,
    /// The command to resume the run if it ends early. None if it cannot be resumed.
    resume: Option<String>,
}

/// Circumstances of a run.
pub struct RunSetting {
    pub layout: String,
    /// Start of the process.
    pub began: Instant,
    /// Time from the start until all members had joined.
    pub joined: Duration,
    /// Transfers of real bytes between sites.
    pub moved: Option<Moved>,
    /// The speed of a live run.
    pub live: Option<f64>,
}

impl Results<'_> {
    /// Creates the folder, so that no run starts whose results cannot be written.
    ///
    /// Finished jobs are set aside in a file there; a live run keeps all flows, to compare them with measurements.
    pub fn create<'a>(out: Option<&Path>, loaded: &'a Loaded, keep: bool, live: bool) -> Result<Results<'a>, Failure> {
        let out = out.map_or_else(|| default_out(&loaded.topology), Path::to_owned);
        let mut folder = ResultFolder::create(&out)?;
        if keep {
            folder.keep_earlier();
        }
        let names = Names::of(&loaded.topology);
        let tally = match live {
            true => Tally::new(&loaded.topology, &names),
            false => Tally::putting_aside(&loaded.topology, &names, Box::new(folder.scratch_file()?)),
        }
        .with_tables(&loaded.topology);
        let alarm = Arc::<AtomicBool>::default();
        let moves_data = loaded.topology.cables.is_some();
        let recorder = Recorder::new(tally).with_event_lines(&names);
        let recording = Recording::new(recorder, folder.open_shelf(), moves_data, alarm.clone());
        Ok(Results {
            loaded,
            names,
            folder,
            recording: Background::new("recorder", ENTRIES, Box::new(recording)),
            alarm,
            handed: Instant::now(),
            written_for: Duration::ZERO,
            started: utc_now(),
            command: typed_words().collect(),
            inputs: input_files(loaded),
            format: SummaryFormat::default(),
            shown_out: None,
            parquet: false,
            resume: None,
        })
    }

    /// Takes the next entries of the run's log. They are processed on another thread, so an error in them may be
    /// reported later.
    pub fn record(&mut self, log: Vec<Entry<Record>>) -> Result<(), Failure> {
        let begun = Instant::now();
        let taken = self.recording.give_items(log).and_then(|()| match begun.duration_since(self.handed) > KEPT_FOR {
            true => {
                self.handed = begun;
                self.recording.send_buffer()
            }
            false => Ok(()),
        });
        self.written_for += begun.elapsed();
        taken
    }

    pub fn set_format(&mut self, format: SummaryFormat) {
        self.format = format;
    }

    /// Sets the path of the results in the printed summary: in a container they have another one than on the host.
    pub fn shown_at(&mut self, path: Option<PathBuf>) {
        self.shown_out = path;
    }

    /// Sets the witness of the run's messages that is consulted before a member is blamed.
    pub fn witnessed_by(&mut self, witness: Witness) -> Result<(), Failure> {
        self.recording.finish_pending().map(|recording| recording.recorder.tally.witnessed_by(witness))
    }

    /// Turns Parquet files of the log and the tables on or off.
    pub fn with_parquet(&mut self, parquet: bool) {
        self.parquet = parquet;
    }

    /// Sets the command and the input files of the user, if a launcher has started this process.
    pub fn set_command(&mut self, command: Vec<String>, inputs: Vec<hansa_report::Input>) {
        self.command = command;
        self.inputs = inputs;
    }

    /// Sets the command by which the run is resumed if it ends early. None makes it impossible and removes the journal.
    pub fn resumable_by(&mut self, how: Option<String>) {
        match &how {
            Some(_) => self.partial_dir().resumable_by(how.clone()),
            None => put_away_journal(self.partial_dir()),
        }
        self.resume = how;
    }

    /// The error of a log that contradicts itself, if that is known already: the rest of the run would not be recorded.
    pub fn check_contradiction(&mut self) -> Result<(), Failure> {
        if self.alarm.load(Ordering::Relaxed) { self.caught_up() } else { Ok(()) }
    }

    /// Waits until all of the log so far has been processed. Returns an error if it contradicts itself.
    pub fn caught_up(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        let contradiction =
            self.recording.finish_pending().map(|recording| recording.first_contradiction(&self.loaded.topology));
        self.written_for += begun.elapsed();
        contradiction?.map_or(Ok(()), |(_, text)| Err(Failure::Breach(text)))
    }

    /// The verdict on a run whose actors have nothing left to do: waits until all of the log has been processed. An
    /// error if the log contradicts itself, or if a job has not ended.
    pub fn final_verdict(&mut self, reached: Time) -> Result<(), Failure> {
        self.caught_up()?;
        let topology = &self.loaded.topology;
        let unfinished =
            self.recording.finish_pending().map(|recording| unfinished_failure(recording, reached, topology))?;
        unfinished.map_or(Ok(()), Err)
    }

    /// Time that recording and writing have taken so far.
    pub fn written_for(&self) -> Duration {
        self.written_for
    }

    /// Gives the results to the owner of `path`, if that is another user.
    pub fn give_to_owner_of(&mut self, path: &Path) -> Result<(), Failure> {
        Ok(self.folder.give_to_owner_of(path)?)
    }

    /// Path of the results, as typed.
    pub fn out_path(&self) -> &Path {
        self.folder.typed_path()
    }

    /// The folder of the results until they are complete.
    pub fn partial_dir(&self) -> &PartialDir {
        self.folder.partial_dir()
    }

    /// A progress line for the run.
    pub fn progress_line(&self) -> RunProgress {
        RunProgress { line: ProgressLine::new(Some(self.loaded.topology.jobs())), ended: 0 }
    }

    /// Writes all files, prints the summary, and returns the end of the run; if it can be resumed, the error names the
    /// command.
    pub fn write_outcome(mut self, outcome: RunOutcome, setting: RunSetting) -> Result<(), Failure> {
        let recorded = self.caught_up();
        if [&outcome.end, &recorded].into_iter().any(|end| end.as_ref().is_err_and(|end| !may_be_resumed(end))) {
            self.resumable_by(None);
        }
        let resume = self.resume.take();
        self.write_all(outcome, setting).map_err(|failure| match resume {
            Some(how) if may_be_resumed(&failure) => failure.with_line(&format!("resume with: {how}")),
            _ => failure,
        })
    }

    fn write_all(mut self, outcome: RunOutcome, setting: RunSetting) -> Result<(), Failure> {
        let host = describe_host();
        // No more turns are taken, so this thread may use all cores.
        pin::to_any_core();
        let mut facts = run_facts(&outcome, &setting);
        let writing = Instant::now();
        let topology = &self.loaded.topology;
        let mut recording = self.recording.end().join()?;
        let (end, reached) = judge_end(outcome.end, outcome.reached, &recording, topology);
        if matches!(end, Err(Failure::Breach(_))) {
            put_away_journal(self.folder.partial_dir());
        }
        let status = match &end {
            Ok(()) => Status::Complete,
            Err(failure) => Status::Partial(partial_message(failure, reached)),
        };
        let results = write_tables(&mut self.folder, &mut recording, topology, status.clone(), setting.live.is_some())?;
        let out = self.folder.typed_path();
        if results.jobs.submitted == 0
            && !self.folder.keeps_earlier()
            && status_of(out) == Some(Status::Complete)
            && let Err(failure) = end
        {
            let out = out.display();
            return Err(failure
                .with_line(&format!("no job had been submitted: the complete result in {out} is left as it was")));
        }
        facts.moved = setting.moved.as_ref().map(|moved| MovedFacts { flows: moved.flows, bytes: moved.bytes });
        if let Some(speed) = setting.live {
            let measured = setting.moved.as_ref();
            facts.live = Some(write_measured(&mut self.folder, &recording.recorder.tally, speed, measured)?);
        }
        if self.parquet {
            parquet::add_tables(&mut self.folder)?;
        }

        let before = self.written_for;
        let set_times = |facts: &mut RunFacts| {
            facts.write_seconds = (before + writing.elapsed()).as_secs_f64();
            facts.wall_seconds = setting.began.elapsed().as_secs_f64();
        };
        set_times(&mut facts);
        let mut summary = SummaryFile { results, run: facts };
        self.folder.write(SUMMARY, &hansa_report::pretty_json(&summary))?;
        let manifest = Manifest {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            status,
            command: self.command,
            layout: setting.layout,
            seed: topology.seed,
            topology_hash: topology.hash().to_string(),
            topology: written_out(topology, self.loaded.path()),
            inputs: self.inputs,
            names: self.names,
            started: self.started,
            wall_seconds: summary.run.wall_seconds,
            host,
            files: Vec::new(),
        };
        let digest = summary.results.digest.clone();
        let Placed { out, earlier } = self.folder.finish(manifest)?;
        if end.is_ok() {
            // Only after the result is in its place.
            let _ = std::fs::remove_file(out.join(JOURNAL));
        }
        // The file itself cannot contain the time that it takes to put it in its place.
        set_times(&mut summary.run);
        let printed = self.format.print(&summary, self.shown_out.as_deref().unwrap_or(&out));
        if end.is_ok()
            && let Some(text) = many_refused(&summary.results.jobs)
        {
            err::warning(&text);
        }
        if let Some(earlier) = earlier {
            let is_equal = end.is_ok() && earlier.kept.is_none() && !digest.is_empty() && earlier.digest == digest;
            let remade = (is_equal && !earlier.made_from_it.is_empty()).then(|| {
                let trace = earlier.made_from_it.contains(&TRACE);
                super::report::make_report(&out, trace)
            });
            let text = of_earlier(&earlier, &digest, remade);
            match end {
                Ok(()) => err::note(&format!("note: {text}")),
                // A partial result has replaced a complete one.
                Err(_) => err::warning(&text),
            }
        }
        // The failure of the run is more important than a failure to print.
        end.and(printed)
    }
}

/// A warning about a run that refused at least half of its jobs, or refused some and finished none.
fn many_refused(jobs: &Counts) -> Option<String> {
    let &Counts { submitted, finished, refused, .. } = jobs;
    let run = if finished == 0 { "; no job has finished" } else { "" };
    let are_many = refused > 0 && (finished == 0 || refused >= submitted.div_ceil(2));
    are_many.then(|| {
        let was = if refused == 1 { "was" } else { "were" };
        let all = format_counted(submitted, "job");
        let refused = format_count(refused);
        format!("of {all}, {refused} {was} refused{run}; `hansa validate` lists the jobs that can run at no site")
    })
}

/// End of a run and its time, after all of the log has been processed.
fn judge_end(
    mut end: Result<(), Failure>,
    mut reached: Time,
    recording: &Recording,
    topology: &Topology,
) -> (Result<(), Failure>, Time) {
    if let Some((at, contradiction)) = recording.first_contradiction(topology) {
        // Entries before the contradiction are valid, and any other failure came later.
        reached = at;
        end = Err(Failure::Breach(contradiction));
    }
    end = end.and_then(|()| unfinished_failure(recording, reached, topology).map_or(Ok(()), Err));
    // Adds the time to the message about a broken rule.
    if let Err(Failure::Breach(text)) = &mut end {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let first = in_time(first, reached);
        *text = if rest.is_empty() { first } else { format!("{first}\n{rest}") };
    }
    (end, reached)
}

/// The failure of a run that has nothing left to do before all jobs have ended; None if they have.
fn unfinished_failure(recording: &Recording, reached: Time, topology: &Topology) -> Option<Failure> {
    let tally = &recording.recorder.tally;
    let ended = tally.jobs_ended();
    let jobs = topology.jobs();
    if ended >= jobs {
        return None;
    }
    let programs = outside::describe_programs(topology);
    let owners = topology::job_owners(topology).map(|owners| tally.kept_back(&owners, &programs));
    let owners = owners
        .ok()
        .filter(|owners| !owners.is_empty())
        .unwrap_or_else(|| "the culprit cannot be determined".to_owned());
    Some(Failure::Breach(format!(
        "nothing is left to do at virtual time {reached}, but only {ended} of {jobs} jobs have ended: {owners}"
    )))
}

/// Writes all that is made of the log, and returns its summary.
fn write_tables(
    folder: &mut ResultFolder,
    Recording { recorder, shelf, .. }: &mut Recording,
    topology: &Topology,
    status: Status,
    live: bool,
) -> Result<Summary, Failure> {
    let mut ended: BTreeMap<_, _> = shelf.end(EVENTS).map(|file| (EVENTS, file)).into_iter().collect();
    // A live run has no digest, as its repetition would measure other times.
    let digest = if live { String::new() } else { recorder.digest() };
    let tally = &recorder.tally;
    let summary =
        tally.close(topology.seed, status, digest, |name, rows| shelf.append_to(name, rows).map_err(Failure::from))?;
    if topology.cables.is_some() {
        tally.transfers_csv(|rows| shelf.append_to(TRANSFERS, rows))?;
    }
    ended.extend(shelf.end_all());
    for file in ended.into_values() {
        folder.take_ended(file)?;
    }
    Ok(summary)
}

/// Writes the measurements of a live run beside the times of its model.
fn write_measured(
    folder: &mut ResultFolder,
    tally: &Tally,
    speed: f64,
    moved: Option<&Moved>,
) -> Result<LiveFacts, Failure> {
    let times = moved.into_iter().flat_map(|moved| &moved.times);
    let times: Vec<_> = times.map(|(edge, time)| (*edge, time.as_secs_f64())).collect();
    let live = LiveFlows::of(tally, speed, &times);
    folder.write("live.csv", live.csv().as_bytes())?;
    folder.write(LIVE_PLOT, live.to_svg().as_ref())?;
    Ok(live.summary_facts())
}

/// True if a run with this failure may succeed when it is resumed.
fn may_be_resumed(failure: &Failure) -> bool {
    !matches!(failure, Failure::Breach(_) | Failure::Internal(_) | Failure::Input(_))
}

/// Makes a run impossible to resume, and removes its journal.
fn put_away_journal(partial: &PartialDir) {
    partial.resumable_by(None);
    let _ = std::fs::remove_file(partial.path().join(JOURNAL));
}

impl From<EntryError> for Failure {
    fn from(error: EntryError) -> Failure {
        match error {
            EntryError::RecordError(untaken) => untaken.into(),
            EntryError::Codec(error) => Failure::Internal(format!("a record cannot be encoded: {error}")),
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Failure {
        match error {
            // Our own actors write no such log, so a peer has invented something.
            RecordError::Inconsistent(wrong) => {
                Failure::Breach(format!("the records of the run contradict each other: {wrong}"))
            }
            RecordError::Io(_) => Failure::System(error.to_string()),
        }
    }
}

/// Counts ended jobs for the progress line.
pub struct RunProgress {
    line: ProgressLine,
    ended: u64,
}

impl RunProgress {
    pub fn update(&mut self, now: Time, events: u64, records: &[Entry<Record>]) {
        self.ended += records
            .iter()
            .filter(|entry| {
                matches!(
                    entry.record,
                    Record::Completed { .. }
                        | Record::Removed { .. }
                        | Record::Refused { .. }
                        | Record::NotAdmitted { .. }
                        | Record::Cancelled { .. }
                        | Record::Rejected { .. }
                        | Record::Answered { answer: ReserveAnswer::Declined | ReserveAnswer::Invalid(_), .. }
                )
            })
            .count() as u64;
        self.line.update(now, self.ended, events);
    }

    pub fn clear(&mut self) {
        self.line.clear();
    }
}

/// A sentence on the earlier result in this place; `remade` if its page and trace have been made again.
fn of_earlier(earlier: &Earlier, digest: &str, remade: Option<Result<(), Failure>>) -> String {
    let Earlier { started, digest: before, made_from_it, kept } = earlier;
    let which = if before.is_empty() || digest.is_empty() {
        format!("a result of {started}")
    } else if before == digest {
        format!("the result of {started}, which had the same digest")
    } else {
        format!("another result, of {started} with digest {before}")
    };
    let along =
        if made_from_it.is_empty() { String::new() } else { format!(" with its {}", made_from_it.join(" and ")) };
    match (kept, remade) {
        (_, Some(Ok(()))) => {
            format!("this replaced {which} (use --keep to keep it), and made its {} again", made_from_it.join(" and "))
        }
        (_, Some(Err(failure))) => {
            format!("this replaced {which}{along} (use --keep to keep it), which cannot be made again: {failure}")
        }
        (Some(kept), None) => format!("{which}{along} was there before; it has been moved to {}", kept.display()),
        (None, None) => format!("this replaced {which}{along} (use --keep to keep it)"),
    }
}

fn partial_message(failure: &Failure, reached: Time) -> String {
    let text = failure.to_string();
    in_time(text.lines().next().unwrap_or_default(), reached)
}

fn in_time(line: &str, reached: Time) -> String {
    if line.contains("virtual time") { line.to_owned() } else { format!("{line} at virtual time {reached}") }
}

fn run_facts(outcome: &RunOutcome, setting: &RunSetting) -> RunFacts {
    let leaves = &outcome.leaves;
    let messages = sum_of_leaves(|leaf| leaf.messages_down + leaf.messages_up, leaves);
    let packets = sum_of_leaves(|leaf| leaf.packets_down + leaf.packets_up, leaves);
    let distributed = !leaves.is_empty();
    let run_seconds = outcome.wall.as_secs_f64();
    RunFacts {
        layout: setting.layout.clone(),
        wall_seconds: setting.began.elapsed().as_secs_f64(),
        run_seconds,
        write_seconds: 0.0,
        join_seconds: setting.joined.as_secs_f64(),
        events: outcome.events,
        events_per_second: (run_seconds > 0.0).then(|| outcome.events as f64 / run_seconds),
        hub_waits: distributed.then_some(outcome.waits),
        messages: distributed.then_some(messages),
        messages_per_packet: (packets > 0).then(|| messages as f64 / packets as f64),
        frames: distributed.then(|| sum_of_leaves(|leaf| leaf.frames_down + leaf.frames_up, leaves)),
        waits: by_leaf(leaves, |leaf| leaf.waits),
        blocked_seconds: by_leaf(leaves, |leaf| leaf.blocked.as_secs_f64()),
        moved: None,
        live: None,
    }
}

fn sum_of_leaves(what: fn(&LeafFacts) -> u64, leaves: &[LeafFacts]) -> u64 {
    leaves.iter().map(what).sum::<u64>()
}

/// The files that a topology was read from.
pub fn input_files(loaded: &Loaded) -> Vec<hansa_report::Input> {
    loaded
        .inputs
        .iter()
        .map(|input| hansa_report::Input { path: input.path.clone(), hash: input.hash.clone() })
        .collect()
}

fn by_leaf<T>(leaves: &[LeafFacts], what: impl Fn(&LeafFacts) -> T) -> BTreeMap<String, T> {
    BTreeMap::from_iter(leaves.iter().map(|leaf| (leaf.label.clone(), what(leaf))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that refuses all or most of its jobs warns, although it ends without an error.
    #[test]
    fn a_run_that_refuses_half_of_its_jobs_warns() {
        let text =
            |submitted, finished, refused| many_refused(&Counts { submitted, finished, refused, ..Counts::default() });
        let hint = "`hansa validate` lists the jobs that can run at no site";
        assert_eq!(text(1, 0, 1), Some(format!("of 1 job, 1 was refused; no job has finished; {hint}")));
        assert_eq!(text(4_606, 921, 3_685), Some(format!("of 4,606 jobs, 3,685 were refused; {hint}")));
        assert!(text(10, 0, 1).is_some() && text(9, 4, 5).is_some() && text(10, 5, 5).is_some());
        assert_eq!([text(10, 6, 4), text(10, 0, 0), text(0, 0, 0)], [None, None, None]);
    }
}
