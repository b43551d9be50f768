//! `jobs.bin`: the outcomes of the jobs of each run in the folder of a sweep, for comparisons job by job.
//!
//! A frame per run: the hash of what was run, the length of the rest in eight bytes, and the outcomes, packed and
//! compressed. A frame that was cut short ends the file, and is overwritten.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::super::Failure;
use super::super::disk::operation_failure;
use super::super::input::read_plain;
use hansa_report::RunOutcomes;
use hansa_report::experiment::DIGEST;
use hansa_sim::protocol::codec;

pub const KEPT_JOBS: &str = "jobs.bin";

/// Most jobs of all runs together that are kept: about 300 MB in memory, 30 MB on disk.
pub const JOBS_MAX: u64 = 3_000_000;

/// Bytes of a frame before its content, and most bytes of its content, also unpacked.
const HEAD: usize = DIGEST + 8;
const CONTENT_MAX: u64 = 1 << 30;

/// Outcomes by the hash of what was run.
pub type KeptJobs = BTreeMap<String, RunOutcomes>;

/// The file, open for more runs.
pub struct JobStore {
    path: PathBuf,
    file: File,
}

impl JobStore {
    /// Opens the file behind its last complete frame.
    pub fn open(out: &Path) -> Result<JobStore, Failure> {
        let path = out.join(KEPT_JOBS);
        let complete = complete_frames(&read_file(&path)?).map(|frame| HEAD + frame.1.len()).sum::<usize>();
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let file = file.map_err(|error| operation_failure("open", &path, &error))?;
        file.set_len(complete as u64).map_err(|error| operation_failure("write", &path, &error))?;
        Ok(JobStore { path, file })
    }

    pub fn add(&mut self, inputs: &str, outcomes: &RunOutcomes) -> Result<(), Failure> {
        let frame = frame_of(inputs, outcomes);
        let written = frame.and_then(|frame| self.file.write_all(&frame));
        written.map_err(|error| operation_failure("write", &self.path, &error))
    }
}

fn frame_of(inputs: &str, outcomes: &RunOutcomes) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    codec::pack_value(outcomes, &mut packed).map_err(io::Error::other)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&packed)?;
    let content = encoder.finish()?;
    Ok([inputs.as_bytes(), &(content.len() as u64).to_le_bytes(), &content].concat())
}

fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    match read_plain(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| operation_failure("read", path, &error)),
    }
}

/// The complete frames: hash and content.
fn complete_frames(bytes: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (head, after) = rest.split_at_checked(HEAD)?;
        let (inputs, length) = head.split_at(DIGEST);
        let length = u64::from_le_bytes(length.try_into().ok()?);
        let (content, more) = after.split_at_checked(usize::try_from(length).ok()?)?;
        rest = more;
        Some((std::str::from_utf8(inputs).ok()?, content))
    })
}

/// The outcomes in a folder; frames that are damaged are left out, as if the runs were of an earlier version.
pub fn read_kept_jobs(out: &Path) -> Result<KeptJobs, Failure> {
    let bytes = read_file(&out.join(KEPT_JOBS))?;
    let unpacked = |content: &[u8]| {
        let mut packed = Vec::new();
        GzDecoder::new(content).take(CONTENT_MAX).read_to_end(&mut packed).ok()?;
        codec::unpack_value::<RunOutcomes>(&packed).ok()
    };
    Ok(complete_frames(&bytes).filter_map(|(inputs, content)| Some((inputs.to_owned(), unpacked(content)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_report::{JobEnd, JobOutcome};

    fn outcomes(jobs: u64) -> RunOutcomes {
        let outcome = |run| JobOutcome {
            log: (1, run),
            run,
            user: 0,
            logged: (Some(3), None),
            cores: Some(4),
            submitted: 1_000_000 * run,
            started: Some(1_000_000 * run + 5),
            ended: None,
            end: JobEnd::Unfinished,
            counts: run % 2 == 0,
            backfilled: (run % 3 > 0).then_some(run % 3 == 1),
        };
        RunOutcomes { users: vec!["ada".to_owned()], time_of_day: Some(7), jobs: (0..jobs).map(outcome).collect() }
    }

    #[test]
    fn a_frame_that_was_cut_short_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c"].map(|letter| letter.repeat(DIGEST));
        let mut store = JobStore::open(folder.path()).unwrap();
        store.add(&names[0], &outcomes(20)).unwrap();
        store.add(&names[1], &outcomes(30)).unwrap();
        let path = folder.path().join(KEPT_JOBS);
        let length = std::fs::metadata(&path).unwrap().len();
        File::options().write(true).open(&path).unwrap().set_len(length - 1).unwrap();
        assert_eq!(read_kept_jobs(folder.path()).unwrap().into_keys().collect::<Vec<_>>(), [names[0].clone()]);
        JobStore::open(folder.path()).unwrap().add(&names[2], &outcomes(5)).unwrap();
        let kept = read_kept_jobs(folder.path()).unwrap();
        assert_eq!(kept.keys().collect::<Vec<_>>(), [&names[0], &names[2]]);
        assert_eq!((&kept[&names[0]], &kept[&names[2]]), (&outcomes(20), &outcomes(5)));
    }
}
