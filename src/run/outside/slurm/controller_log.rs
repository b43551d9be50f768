//! The log of slurmctld, read while it grows: it alone says why a job has left its nodes, and which of its schedulers
//! started a job.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

/// Reader of the lines that slurmctld has written since the last call.
pub struct ControllerLog {
    path: PathBuf,
    /// None until slurmctld has made the file.
    file: Option<File>,
    /// A line of which the end has not been read.
    unread: Vec<u8>,
}

/// Event in the log that concerns the account of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedEvent {
    Preempted(Preemption),
    /// Backfilling starts the job of this number in Slurm.
    Backfilled(u32),
}

/// Fate of a job that another one preempts, by its number in Slurm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// The job waits again, to start from the beginning.
    Requeued(u32),
    /// The job is over.
    Ended(u32),
}

impl ControllerLog {
    pub fn new(path: PathBuf) -> ControllerLog {
        ControllerLog { path, file: None, unread: Vec::new() }
    }

    /// Events that have been logged since the last call, in their order.
    pub fn read_events(&mut self) -> io::Result<Vec<LoggedEvent>> {
        if self.file.is_none() {
            self.file = Some(File::open(&self.path)?);
        }
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut self.unread)?;
        }
        let whole = self.unread.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.unread.drain(..whole).collect();
        Ok(String::from_utf8_lossy(&lines).lines().filter_map(parse_event).collect())
    }
}

fn parse_event(line: &str) -> Option<LoggedEvent> {
    parse_preemption(line).map(LoggedEvent::Preempted).or_else(|| parse_backfill(line).map(LoggedEvent::Backfilled))
}

/// Number of the job in a line such as `[...] sched/backfill: _start_job: Started JobId=7 in main on n[0-1]`.
fn parse_backfill(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("backfill: ")?;
    let (_, job) = rest.split_once("Started JobId=")?;
    job.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Preemption in a line such as `[2026-01-01T00:08:21.000] preempted JobId=6 has been requeued`. Newer releases name
/// the other job behind that.
fn parse_preemption(line: &str) -> Option<Preemption> {
    let (_, rest) = line.split_once("preempted JobId=")?;
    let (job, fate) = rest.split_once(' ')?;
    let job = job.parse().ok()?;
    if fate.starts_with("has been requeued") {
        return Some(Preemption::Requeued(job));
    }
    let is_over = ["has been killed", "had to be killed"].iter().any(|words| fate.starts_with(words));
    is_over.then_some(Preemption::Ended(job))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_are_read_once_and_when_they_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slurmctld.log");
        let mut log = ControllerLog::new(path.clone());
        assert!(log.read_events().is_err());
        let mut file = File::create(&path).unwrap();
        file.write_all(b"[x] sched: Allocate JobId=7 NodeList=n1\n[x] preempted JobId=6 has been req").unwrap();
        assert_eq!(log.read_events().unwrap(), []);
        file.write_all(b"ueued\n[x] preempted JobId=8 has been killed to reclaim resources for JobId=9\n").unwrap();
        file.write_all(b"[x] slurm_job_preempt: preempted JobId=5 had to be killed\n").unwrap();
        file.write_all(b"[x] preempted JobId=4 could not be requeued: no\n").unwrap();
        file.write_all(b"[x] sched/backfill: _start_job: Started JobId=12 in main on n[0-1]\n").unwrap();
        let events = [
            LoggedEvent::Preempted(Preemption::Requeued(6)),
            LoggedEvent::Preempted(Preemption::Ended(8)),
            LoggedEvent::Preempted(Preemption::Ended(5)),
            LoggedEvent::Backfilled(12),
        ];
        assert_eq!(log.read_events().unwrap(), events);
        assert_eq!(log.read_events().unwrap(), []);
    }
}
