//! One file of a result: written from its beginning to its end, with its hash.
//!
//! Data beyond one buffer is hashed and written on a second thread.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use xxhash_rust::xxh3::Xxh3;

use super::FileError;
use super::error::io_error;
use crate::background::{Background, ClosedQueue, Consumer};
use crate::partial_dir::PartialDir;
use hansa_report::{Output, Store};

pub(super) const BUFFER: usize = 1 << 18;

/// Number of bytes after which the file is synced while more is made: otherwise the end would have to wait for all of
/// it.
const SYNCED: u64 = 16 << 20;

/// A file of a result folder in progress.
pub struct ResultFile {
    name: String,
    pub(super) path: PathBuf,
    body: Background<Body, u8>,
}

/// A file that is complete, and may be on its way to the disk.
pub struct EndedFile {
    name: String,
    pub(super) path: PathBuf,
    body: ClosedQueue<Body, u8>,
}

/// The file on disk, with the contents that have left the buffers.
struct Body {
    file: File,
    hasher: Xxh3,
    bytes: u64,
}

impl Consumer<u8> for Body {
    type Error = io::Error;

    fn take_items(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes)?;
        let before = self.bytes;
        self.bytes += bytes.len() as u64;
        if before / SYNCED < self.bytes / SYNCED { self.file.sync_data() } else { Ok(()) }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn copy_error(error: &io::Error) -> io::Error {
        error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
    }
}

impl ResultFile {
    /// Makes a file of a result, unless that was given up.
    pub(super) fn create_in(folder: &PartialDir, name: &str) -> Result<ResultFile, FileError> {
        let made = folder.while_making(|| ResultFile::create(name, folder.path().join(name)));
        made.unwrap_or_else(|| Err(FileError::GivenUp(folder.path().to_owned())))
    }

    pub(super) fn create(name: &str, path: PathBuf) -> Result<ResultFile, FileError> {
        let file = File::create(&path).map_err(|error| io_error("create", &path, error))?;
        let body = Background::new("file", BUFFER, Box::new(Body { file, hasher: Xxh3::new(), bytes: 0 }));
        Ok(ResultFile { name: name.to_owned(), path, body })
    }

    /// Appends these bytes. A failure to write them may be reported later.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.body.put_items(bytes).map_err(|error| io_error("write", &self.path, error))
    }

    /// Ends the file: a long one goes to the disk while its owner does something else.
    pub fn end(self) -> EndedFile {
        let ResultFile { name, path, body } = self;
        EndedFile { name, path, body: body.end() }
    }
}

impl EndedFile {
    /// Waits until the disk has all of it.
    pub(super) fn finish(self) -> Result<Output, FileError> {
        let body = self.body.join().map_err(|error| io_error("write", &self.path, error))?;
        Ok(Output { name: self.name, bytes: body.bytes, hash: format!("{:032x}", body.hasher.digest128()) })
    }
}

/// Finished jobs during a run, until its tables are made.
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
