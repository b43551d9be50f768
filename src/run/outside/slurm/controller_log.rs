//! The log of slurmctld, read while it grows: it alone says why a job has left its nodes.

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

    /// Preemptions that have been logged since the last call, in their order.
    pub fn read_preemptions(&mut self) -> io::Result<Vec<Preemption>> {
        if self.file.is_none() {
            self.file = Some(File::open(&self.path)?);
        }
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut self.unread)?;
        }
        let whole = self.unread.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.unread.drain(..whole).collect();
        Ok(String::from_utf8_lossy(&lines).lines().filter_map(parse_preemption).collect())
    }
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
        assert!(log.read_preemptions().is_err());
        let mut file = File::create(&path).unwrap();
        file.write_all(b"[x] sched: Allocate JobId=7 NodeList=n1\n[x] preempted JobId=6 has been req").unwrap();
        assert_eq!(log.read_preemptions().unwrap(), []);
        file.write_all(b"ueued\n[x] preempted JobId=8 has been killed to reclaim resources for JobId=9\n").unwrap();
        file.write_all(b"[x] slurm_job_preempt: preempted JobId=5 had to be killed\n").unwrap();
        file.write_all(b"[x] preempted JobId=4 could not be requeued: no\n").unwrap();
        let fates = [Preemption::Requeued(6), Preemption::Ended(8), Preemption::Ended(5)];
        assert_eq!(log.read_preemptions().unwrap(), fates);
        assert_eq!(log.read_preemptions().unwrap(), []);
    }
}
