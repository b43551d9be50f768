//! One file of a result: written from its beginning to its end, with its hash.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::FileError;
use super::error::io_error;
use crate::edge::stand_in::parent;
use crate::report::{Output, Store};

pub(super) const BUFFER: usize = 1 << 18;

/// A file of a result folder in the making.
pub struct ResultFile {
    name: String,
    pub(super) path: PathBuf,
    file: BufWriter<File>,
    hasher: Xxh3,
    bytes: u64,
}

impl ResultFile {
    pub(super) fn create(name: &str, path: PathBuf) -> Result<ResultFile, FileError> {
        let file = File::create(&path).map_err(|error| io_error("create", &path, error))?;
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(ResultFile { name: name.to_owned(), path, file, hasher: Xxh3::new(), bytes: 0 })
    }

    pub fn put(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| io_error("write", &self.path, error))
    }

    pub(super) fn finish(mut self) -> Result<Output, FileError> {
        let flushed = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        flushed.map_err(|error| io_error("write", &self.path, error))?;
        Ok(Output { name: self.name, bytes: self.bytes, hash: format!("{:032x}", self.hasher.digest128()) })
    }
}

/// What is over during a run, until its tables are made.
pub struct Scratch(File);

impl Scratch {
    pub(super) fn new(file: File) -> Scratch {
        Scratch(file)
    }
}

impl Store for Scratch {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, place)
    }
}

/// Puts a file into a folder that is there already: whole, or as it was before.
pub fn replace(path: &Path, fill: impl FnOnce(&mut ResultFile) -> Result<(), FileError>) -> Result<(), FileError> {
    let name = path.file_name().ok_or_else(|| FileError::NoName(path.to_owned()))?.to_string_lossy().into_owned();
    let stand_in = path.with_file_name(format!(".{name}.partial-{}", std::process::id()));
    let filled = ResultFile::create(&name, stand_in.clone()).and_then(|mut file| {
        fill(&mut file)?;
        file.finish()?;
        fs::rename(&stand_in, path).map_err(|error| io_error("write", path, error))?;
        sync(parent(path))
    });
    if filled.is_err() {
        let _ = fs::remove_file(&stand_in);
    }
    filled
}

fn sync(folder: &Path) -> Result<(), FileError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| io_error("write", folder, error))
}
