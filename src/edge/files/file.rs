//! One file of a result: written from its beginning to its end, with its hash.
//!
//! What is longer than a buffer has a thread of its own, if there may be one, which hashes it, writes it and waits for the disk,
//! while others make what comes next.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use xxhash_rust::xxh3::Xxh3;

use super::FileError;
use super::error::io_error;
use crate::edge::stand_in::parent;
use crate::report::{Output, Store};

pub(super) const BUFFER: usize = 1 << 18;

/// Buffers that may wait for the disk: whoever fills them faster than it takes them waits, too.
const WAITING: usize = 4;

/// A file of a result folder in the making.
pub struct ResultFile {
    name: String,
    pub(super) path: PathBuf,
    buffer: Vec<u8>,
    tail: Tail,
}

/// Who takes full buffers.
enum Tail {
    Here(Box<Body>),
    Thread(Helper),
    /// Nobody any more, as this has gone wrong; whoever asks again is told again.
    Broken(io::Error),
}

/// What has left the buffers.
struct Body {
    file: File,
    hasher: Xxh3,
    bytes: u64,
}

struct Helper {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<Box<Body>>>,
}

/// A file that nothing is added to any more, and that may be on its way to the disk.
pub struct Ended {
    name: String,
    pub(super) path: PathBuf,
    body: Ending,
}

enum Ending {
    Done(io::Result<Box<Body>>),
    Thread(JoinHandle<io::Result<Box<Body>>>),
}

impl Body {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// The same without a thread.
    fn write(mut self: Box<Self>, mut full: Vec<u8>) -> io::Result<(Tail, Vec<u8>)> {
        self.put(&full)?;
        full.clear();
        Ok((Tail::Here(self), full))
    }

    fn finish(mut self: Box<Self>, last: &[u8]) -> io::Result<Box<Body>> {
        self.put(last)?;
        self.file.sync_all()?;
        Ok(self)
    }
}

impl Helper {
    /// Gives it back if there may be no more threads.
    fn new(body: Box<Body>) -> Result<Helper, Box<Body>> {
        let (full, filled) = sync_channel::<Vec<u8>>(WAITING);
        let (emptied, empty) = sync_channel(WAITING);
        let (give, given) = sync_channel::<Box<Body>>(1);
        let spawned = thread::Builder::new().name("file".to_owned()).spawn(move || {
            let mut body = given.recv().expect("whoever starts this gives it a file");
            for mut buffer in filled {
                body.put(&buffer)?;
                buffer.clear();
                // There may be enough of them already, or nobody may want one any more.
                let _ = emptied.try_send(buffer);
            }
            body.finish(&[])
        });
        let Ok(thread) = spawned else { return Err(body) };
        give.send(body).expect("there is room for one");
        Ok(Helper { full, empty, thread })
    }

    /// Takes a full buffer for an empty one, or says why it cannot.
    fn exchange(self, full: Vec<u8>) -> io::Result<(Tail, Vec<u8>)> {
        match self.full.send(full) {
            Ok(()) => {
                let empty = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BUFFER));
                Ok((Tail::Thread(self), empty))
            }
            Err(_) => Err(joined(self.thread).err().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl ResultFile {
    pub(super) fn create(name: &str, path: PathBuf) -> Result<ResultFile, FileError> {
        let file = File::create(&path).map_err(|error| io_error("create", &path, error))?;
        let tail = Tail::Here(Box::new(Body { file, hasher: Xxh3::new(), bytes: 0 }));
        Ok(ResultFile { name: name.to_owned(), path, buffer: Vec::new(), tail })
    }

    /// Appends these bytes. That they cannot be written may be told later.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let mut rest = bytes;
        while self.buffer.len() + rest.len() >= BUFFER {
            let (fits, more) = rest.split_at(BUFFER - self.buffer.len());
            self.buffer.extend_from_slice(fits);
            rest = more;
            self.pass_on().map_err(|error| io_error("write", &self.path, error))?;
        }
        self.buffer.extend_from_slice(rest);
        Ok(())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let full = std::mem::take(&mut self.buffer);
        let passed = match std::mem::replace(&mut self.tail, Tail::Broken(io::ErrorKind::BrokenPipe.into())) {
            Tail::Here(body) => match Helper::new(body) {
                Ok(helper) => helper.exchange(full),
                Err(body) => body.write(full),
            },
            Tail::Thread(helper) => helper.exchange(full),
            Tail::Broken(error) => Err(error),
        };
        match passed {
            Ok((tail, empty)) => {
                (self.tail, self.buffer) = (tail, empty);
                Ok(())
            }
            Err(error) => {
                self.tail = Tail::Broken(same(&error));
                Err(error)
            }
        }
    }

    /// Says that nothing follows: what has a thread goes to the disk while something else is done.
    pub fn end(self) -> Ended {
        let ResultFile { name, path, buffer, tail } = self;
        let body = match tail {
            Tail::Here(body) => Ending::Done(body.finish(&buffer)),
            Tail::Thread(Helper { full, thread, .. }) => {
                // A thread that takes nothing any more tells why when it is joined.
                let _ = full.send(buffer);
                Ending::Thread(thread)
            }
            Tail::Broken(error) => Ending::Done(Err(error)),
        };
        Ended { name, path, body }
    }

    pub(super) fn finish(self) -> Result<Output, FileError> {
        self.end().finish()
    }
}

impl Ended {
    /// Waits until the disk has all of it.
    pub(super) fn finish(self) -> Result<Output, FileError> {
        let body = match self.body {
            Ending::Done(body) => body,
            Ending::Thread(thread) => joined(thread),
        };
        let body = body.map_err(|error| io_error("write", &self.path, error))?;
        Ok(Output { name: self.name, bytes: body.bytes, hash: format!("{:032x}", body.hasher.digest128()) })
    }
}

fn joined(thread: JoinHandle<io::Result<Box<Body>>>) -> io::Result<Box<Body>> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn same(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
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
