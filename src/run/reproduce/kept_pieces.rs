//! Results of pieces that are made already, in the folder of a reproduction.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::Failure;
use super::super::disk::operation_failure;
use super::super::files::STATE;
use super::super::input::read_plain;
use super::super::sweep::SweepState;

/// Name of the file: the fingerprint of the experiment, then a line with number and result of each piece.
const PIECES: &str = "pieces.jsonl";

/// The file, to which results are appended as they are made.
pub(super) struct KeptPieces {
    path: PathBuf,
    file: File,
    /// Lock that keeps other processes from writing to this folder.
    _lock: File,
}

impl KeptPieces {
    /// Opens the file of a folder, with the results that are there, by number. Those of another experiment are
    /// discarded, and all if `fresh`.
    pub(super) fn open<R: DeserializeOwned>(
        folder: &Path,
        fingerprint: &str,
        fresh: bool,
    ) -> Result<(KeptPieces, BTreeMap<usize, R>), Failure> {
        let lock = File::open(folder).map_err(|error| operation_failure("open", folder, &error))?;
        if lock.try_lock().is_err() {
            return Err(Failure::System(format!("another reproduction is writing to {}", folder.display())));
        }

        // A share is complete again once all of its pieces are there. The state of a sweep in this folder stays.
        let state = folder.join(STATE);
        let is_ours = read_plain(&state).is_ok_and(|bytes| {
            serde_json::from_slice::<SweepState>(&bytes).is_ok_and(|state| state.fingerprint == fingerprint)
        });
        if is_ours {
            std::fs::remove_file(&state).map_err(|error| operation_failure("remove", &state, &error))?;
        }
        let path = folder.join(PIECES);
        let made = if fresh { MadePieces::default() } else { MadePieces::read_folder(folder, fingerprint)? };
        let wrong = |error: std::io::Error| operation_failure("write", &path, &error);
        let mut file = OpenOptions::new().append(true).create(true).open(&path).map_err(wrong)?;
        file.set_len(made.bytes as u64).map_err(wrong)?;
        if made.bytes == 0 {
            file.write_all(head_line(fingerprint).as_bytes()).map_err(wrong)?;
        }
        Ok((KeptPieces { path, file, _lock: lock }, made.results))
    }

    pub(super) fn add<R: Serialize>(&mut self, number: usize, result: &R) -> Result<(), Failure> {
        let line = serde_json::to_string(&(number, result));
        let line = line.map_err(|error| Failure::Internal(format!("a piece has no text: {error}")))? + "\n";
        self.file.write_all(line.as_bytes()).map_err(|error| operation_failure("write", &self.path, &error))
    }
}

/// The undamaged part of a file.
pub(super) struct MadePieces<R> {
    /// Results, by number of the piece.
    pub results: BTreeMap<usize, R>,
    /// Length of this part.
    bytes: usize,
}

impl<R> Default for MadePieces<R> {
    fn default() -> MadePieces<R> {
        MadePieces { results: BTreeMap::new(), bytes: 0 }
    }
}

impl<R: DeserializeOwned> MadePieces<R> {
    /// Reads the results of an experiment up to the first damaged line: a kill may cut a line short.
    pub(super) fn read_folder(folder: &Path, fingerprint: &str) -> Result<MadePieces<R>, Failure> {
        let path = folder.join(PIECES);
        let bytes = match read_plain(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(operation_failure("read", &path, &error)),
        };
        let mut made = MadePieces::default();
        let Some(lines) = bytes.strip_prefix(head_line(fingerprint).as_bytes()) else { return Ok(made) };
        made.bytes = bytes.len() - lines.len();
        for line in lines.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            let Ok((number, result)) = serde_json::from_slice(line) else { break };
            made.results.insert(number, result);
            made.bytes += line.len();
        }
        Ok(made)
    }
}

/// First line of the file.
fn head_line(fingerprint: &str) -> String {
    format!("\"{fingerprint}\"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_report::{Status, pretty_json};

    /// Numbers that are kept for an experiment.
    fn kept(folder: &Path, fingerprint: &str, fresh: bool) -> BTreeMap<usize, f64> {
        KeptPieces::open(folder, fingerprint, fresh).unwrap().1
    }

    #[test]
    fn results_are_kept_until_the_experiment_changes_or_a_line_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (mut pieces, none) = KeptPieces::open::<f64>(folder, "one", false).unwrap();
        assert!(none.is_empty());
        [(3, 0.1), (0, 1e-300)].iter().for_each(|(number, result)| pieces.add(*number, result).unwrap());
        assert!(KeptPieces::open::<f64>(folder, "one", false).is_err(), "it is in use");
        drop(pieces);
        let state = |fingerprint: &str| {
            let state = SweepState {
                experiment: String::new(),
                fingerprint: fingerprint.to_owned(),
                part: None,
                runs: 2,
                done: 2,
                status: Status::Complete,
                repeats: Vec::new(),
            };
            std::fs::write(folder.join(STATE), pretty_json(&state)).unwrap();
        };
        state("two");
        kept(folder, "one", false);
        assert!(folder.join(STATE).exists(), "it is not that of this experiment");
        state("one");
        let both = BTreeMap::from([(0, 1e-300), (3, 0.1)]);
        assert_eq!(kept(folder, "one", false), both);
        assert!(!folder.join(STATE).exists());

        // A line that was cut short is overwritten by the next.
        let path = folder.join(PIECES);
        let whole = std::fs::read(&path).unwrap();
        for cut in 1.."[0,1e-300]\n".len() {
            std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            let (mut pieces, one) = KeptPieces::open::<f64>(folder, "one", false).unwrap();
            assert_eq!(one, BTreeMap::from([(3, 0.1)]));
            pieces.add(0, &1e-300).unwrap();
            drop(pieces);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }

        assert!(kept(folder, "two", false).is_empty());
        assert!(kept(folder, "one", false).is_empty(), "those of the first experiment are gone");
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(kept(folder, "one", false), both);
        assert!(kept(folder, "one", true).is_empty());
    }
}
