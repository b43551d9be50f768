//! Combines the shares of a sweep: all of one experiment, each once, none missing and all complete.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::super::Failure;
use super::super::disk::operation_failure;
use super::super::outside::Stop;
use super::book::{Label, SweepState, SweepWork, read_rows};
use super::job_store::{KeptJobs, read_kept_jobs};
use super::made::MadeRun;
use super::part::{SweepPart, folder_of_parts};
use hansa_report::Status;
use hansa_report::experiment::RunRow;

const LOOK: Duration = Duration::from_millis(200);

/// Facts about the runs of shares beside their rows, by the hash of what was run.
#[derive(Default)]
pub struct GatheredRuns {
    pub made: BTreeMap<String, MadeRun>,
    pub jobs: KeptJobs,
}

/// The rows of all shares of this work, which would be in `whole`, and what is known beside them.
pub fn gather_shares(
    work: &SweepWork<'_>,
    whole: &Path,
    from: &[PathBuf],
    wait: Duration,
    stop: &Stop,
) -> Result<(BTreeMap<usize, RunRow>, GatheredRuns), Failure> {
    let mut rows = BTreeMap::new();
    let mut known = GatheredRuns::default();
    for (part, folder) in await_shares(work.label(), whole, from, wait, stop)? {
        let share = SweepWork { part: Some(part), ..*work };
        let read = read_rows(&folder, &share)?;
        if read.len() < share.count() {
            let read = read.len();
            let count = share.count();
            let folder = folder.display();
            return Err(Failure::Input(format!("{folder} claims to be complete, but has only {read} of {count} runs")));
        }
        rows.extend(read);
        known.made.extend(MadeRun::read_all(&folder)?);
        known.jobs.extend(read_kept_jobs(&folder)?);
    }
    Ok((rows, known))
}

/// The folders of all shares of a whole, once they are complete.
pub fn await_shares(
    label: Label<'_>,
    whole: &Path,
    from: &[PathBuf],
    wait: Duration,
    stop: &Stop,
) -> Result<BTreeMap<SweepPart, PathBuf>, Failure> {
    let usual = [folder_of_parts(whole)];
    let from = if from.is_empty() { &usual } else { from };
    let began = Instant::now();
    loop {
        let lacking = match find_shares(label, from)? {
            FoundShare::All(shares) => return Ok(shares),
            FoundShare::Lacking(lacking) => lacking,
        };
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted(format!("interrupted while {lacking}")));
        }
        if began.elapsed() >= wait {
            return Err(Failure::Input(lacking));
        }
        std::thread::sleep(LOOK);
    }
}

enum FoundShare {
    All(BTreeMap<SweepPart, PathBuf>),
    /// Description of the part that is missing.
    Lacking(String),
}

/// Finds the shares. Shares that can never be combined are an error.
fn find_shares(label: Label<'_>, from: &[PathBuf]) -> Result<FoundShare, Failure> {
    let mut found: BTreeMap<SweepPart, (PathBuf, SweepState)> = BTreeMap::new();
    for folder in from {
        for (folder, state) in shares_in(folder)? {
            let part = share_of(label, &folder, &state)?;
            if let Some((other, _)) = found.get(&part).filter(|(other, _)| *other != folder) {
                let folder = folder.display();
                let other = other.display();
                return Err(Failure::Input(format!(
                    "share {part} is in both {other} and {folder}: leave one of them out"
                )));
            }
            found.insert(part, (folder, state));
        }
    }
    let Some((first, (folder, _))) = found.iter().next() else {
        let folders: Vec<String> = from.iter().map(|folder| folder.display().to_string()).collect();
        return Ok(FoundShare::Lacking(format!(
            "there is no share of a sweep in {}: expected folders made by hansa sweep --part",
            folders.join(" or ")
        )));
    };
    let of = first.of;
    if let Some((other, (other_folder, _))) = found.iter().find(|(part, _)| part.of != of) {
        return Err(Failure::Input(format!(
            "{} holds share {first}, but {} holds share {other}: expected shares with the same N; name the folders to \
             put together",
            folder.display(),
            other_folder.display()
        )));
    }
    let missing: Vec<String> =
        SweepPart::all_parts(of).filter(|part| !found.contains_key(part)).map(|part| part.to_string()).collect();
    if !missing.is_empty() {
        return Ok(FoundShare::Lacking(format!(
            "{} of {of} shares are missing: {}",
            missing.len(),
            missing.join(", ")
        )));
    }
    let half = found.iter().find(|(_, (_, state))| state.status != Status::Complete);
    if let Some((part, (folder, SweepState { done, runs, .. }))) = half {
        let folder = folder.display();
        return Ok(FoundShare::Lacking(format!(
            "share {part} in {folder} is incomplete: it has {done} of {runs} runs; resume it with --part {part}"
        )));
    }
    Ok(FoundShare::All(found.into_iter().map(|(part, (folder, _))| (part, folder)).collect()))
}

/// The shares in a folder, or the folder itself if it is one.
fn shares_in(folder: &Path) -> Result<Vec<(PathBuf, SweepState)>, Failure> {
    if let Some(state) = SweepState::read_state(folder)? {
        return Ok(vec![(folder.to_owned(), state)]);
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(operation_failure("read", folder, &error)),
    };
    let mut shares = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| operation_failure("read", folder, &error))?.path();
        if let Some(state) = SweepState::read_state(&path)? {
            shares.push((path, state));
        }
    }
    shares.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(shares)
}

fn share_of(label: Label<'_>, folder: &Path, state: &SweepState) -> Result<SweepPart, Failure> {
    let foreign = || {
        let folder = folder.display();
        let what = state.of_what(label);
        let name = label.experiment;
        Failure::Input(format!(
            "{folder} holds {what}: expected a share of the current version of the experiment {name}"
        ))
    };
    let part = state.part.as_ref().and_then(|part| SweepPart::parse(part).ok());
    part.filter(|_| state.fingerprint == label.fingerprint).ok_or_else(foreign)
}
