//! `hansa report`: a result folder as a page to read, and on request as a trace to look through.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use super::csv::CsvReader;
use super::disk::{operation_failure, replace_by, replace_file, unreadable_input};
use super::files::{self, EVENTS, JOBS, MANIFEST, PAGE, TRACE};
use super::inline::{self, watch_for_interrupts};
use super::input::load_text;
use super::results::LIVE_PLOT;
use super::{Failure, err, out, outside};
use hansa_report::markup::Html;
use hansa_report::{Manifest, Names, Status, Summary, SummaryFile, Tally, Unreplayable, replay_log, run_page};
use hansa_sim::grid::JobId;
use hansa_sim::topology::{self, Topology};

/// Adds the page to a result folder, and the trace if it is wanted, or replaces an existing one; prints their paths.
pub fn write_report(folder: &Path, trace: bool) -> Result<(), Failure> {
    let trace = trace.then(|| format!("trace {} (for ui.perfetto.dev)\n", path_text(folder, TRACE)));
    make_report(folder, trace.is_some())?;
    out::unless_quiet(&format!("page  {}\n{}", path_text(folder, PAGE), trace.unwrap_or_default()))
}

/// Adds the page to a result folder, and the trace if it is wanted, or replaces existing ones; the rest is left as it
/// is. A trace that is not wanted is kept, as it belongs to the same events.
pub fn make_report(folder: &Path, trace: bool) -> Result<(), Failure> {
    let OpenedResult { manifest, summary, topology, tally } = OpenedResult::of(folder)?;
    let live = summary.run.live.is_some();
    let fresh = fresh_view(&summary.results, &manifest.topology, &topology)?;
    let path = folder.join(LIVE_PLOT);
    let plot =
        live.then(|| std::fs::read_to_string(&path)).transpose().map_err(|error| unreadable_input(&path, &error))?;
    let plot = plot
        .map(|text| {
            Html::from_picture(&text)
                .ok_or_else(|| Failure::Input(format!("{} is damaged: it is not a picture of Hansa", path.display())))
        })
        .transpose()?;
    let bytes = run_page(&manifest, &summary, &topology, &tally, fresh.as_ref(), plot.as_ref());
    replace_file(&folder.join(PAGE), &bytes)?;
    if trace {
        replace_by(&folder.join(TRACE), |file| {
            let mut file = BufWriter::new(file);
            tally.trace(|event| file.write_all(event))?;
            file.flush()
        })?;
    }
    // This is the last step of a command, and freeing each job takes a twentieth of its time.
    std::mem::forget(tally);
    Ok(())
}

/// A result folder with its log replayed.
pub struct OpenedResult {
    pub manifest: Manifest,
    pub summary: SummaryFile,
    pub topology: Topology,
    pub tally: Tally,
}

impl OpenedResult {
    pub fn of(folder: &Path) -> Result<OpenedResult, Failure> {
        let side = files::open_result(folder)?;
        let topology = read_manifest_topology(folder, &side.manifest.topology, &side.manifest.names)?;
        let mut tally = replay_result(folder, &topology, &side.manifest.names, &side.summary, side.events)?;
        if tally.lacks_logs() {
            match read_job_numbers(folder) {
                Ok(numbers) => tally.set_numbers(numbers),
                Err(why) => err::warning(&format!("jobs have the numbers of the run, not those of their log: {why}")),
            }
        }
        Ok(OpenedResult { manifest: side.manifest, summary: side.summary, topology, tally })
    }
}

/// Replays the log of a result, and checks its digest against the summary, unless the run was live.
pub fn replay_result(
    folder: &Path,
    topology: &Topology,
    names: &Names,
    summary: &SummaryFile,
    events: BufReader<File>,
) -> Result<Tally, Failure> {
    let path = folder.join(EVENTS);
    let (tally, digest) = replay_log(topology, names, events).map_err(|error| match error {
        Unreplayable::Io(error) => operation_failure("read", &path, &error),
        wrong => damaged_result(wrong.to_string(), &path),
    })?;
    let claimed = &summary.results.digest;
    if digest != *claimed && summary.run.live.is_none() {
        return Err(damaged_result(
            format!("its events have digest {digest}, but the summary claims {claimed}"),
            &path,
        ));
    }
    Ok(tally)
}

fn damaged_result(what: String, path: &Path) -> Failure {
    Failure::Input(format!("{} is damaged: {what}", path.display()))
}

/// Numbers and names of jobs in their logs, from `jobs.csv`: a result is read without the logs.
fn read_job_numbers(folder: &Path) -> Result<Vec<(JobId, u64, Option<String>)>, Failure> {
    let path = folder.join(JOBS);
    let mut table = CsvReader::new(BufReader::new(files::open_part(folder, JOBS)?));
    let mut next =
        |row: &mut Vec<String>| table.read_row(row).map_err(|error| operation_failure("read", &path, &error));
    let mut heading = Vec::new();
    next(&mut heading)?;
    let column = |name: &str| heading.iter().position(|column| column == name).ok_or_else(|| numbers_damaged(&path));
    let job = column("job")?;
    let number = column("job_id")?;
    let name = column("name")?;
    let mut numbers = Vec::new();
    let mut row = Vec::new();
    while next(&mut row)? {
        let job: Option<u32> = row.get(job).and_then(|cell| cell.parse().ok());
        let number: Option<u64> = row.get(number).and_then(|cell| cell.parse().ok());
        let (job, number) = job.zip(number).ok_or_else(|| numbers_damaged(&path))?;
        numbers.push((JobId(job), number, row.get(name).filter(|name| !name.is_empty()).cloned()));
    }
    Ok(numbers)
}

fn numbers_damaged(path: &Path) -> Failure {
    Failure::Input(format!("{} is damaged: it has no numbers of jobs", path.display()))
}

/// Summary of the run under up-to-date information. None if the router had that, or if it cannot be computed.
fn fresh_view(results: &Summary, text: &str, topology: &Topology) -> Result<Option<Summary>, Failure> {
    let complete = results.status == Status::Complete;
    // An external program may have changed since the run, and is not started for a report.
    if outside::is_wanted(topology) || !complete || !results.view.is_some_and(|view| view.is_noticeable()) {
        return Ok(None);
    }
    // Logs are read again; they may have changed since.
    let stop = watch_for_interrupts()?;
    let played =
        load_text(text).and_then(|topology| inline::summarize_run(&topology.with_a_fresh_view(), MANIFEST, &stop));
    match played {
        Ok(Some(fresh)) => Ok(Some(fresh)),
        Ok(None) => Err(Failure::Interrupted("interrupted: an existing report was not changed".to_owned())),
        Err(failure @ Failure::Interrupted(_)) => Err(failure),
        // The run itself is complete, so it has a report without the comparison.
        Err(why) => {
            err::warning(&format!("no comparison with an up-to-date view: {why}"));
            Ok(None)
        }
    }
}

/// The topology from the manifest: resolved, so no other file is read.
pub(super) fn read_manifest_topology(folder: &Path, text: &str, names: &Names) -> Result<Topology, Failure> {
    let read = &mut |path: &str| match path {
        MANIFEST => Ok(text.as_bytes().to_vec()),
        _ => Err("only the manifest is read".to_owned()),
    };
    let topology = topology::read_topology(MANIFEST, &[], read)
        .map_err(|diagnostics| {
            damaged_manifest(&format!("its topology is not valid for this version of Hansa:\n{diagnostics}"), folder)
        })?
        .topology;
    match Names::of(&topology) == *names {
        true => Ok(topology),
        false => Err(damaged_manifest("the sites or users in its results are not those of its topology", folder)),
    }
}

fn damaged_manifest(what: &str, folder: &Path) -> Failure {
    Failure::Input(format!("{} is damaged: {what}", folder.join(MANIFEST).display()))
}

fn path_text(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}
