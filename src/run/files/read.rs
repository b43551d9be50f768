//! Existing results: reading one, and comparing two.

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Component, Path};

use rustix::fs::OFlags;
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use super::{EVENTS, MANIFEST, OF_AN_EXPERIMENT, STATE, SUMMARY, bring_back};
use crate::disk::{RealDisk, io_reason, open_regular, unreadable_input};
use crate::sanitize::{sanitize_line_up_to, sanitize_text};
use crate::{Failure, err, out};
use hansa_report::{Manifest, Output, Side, SummaryFile};

const BUFFER: usize = super::file::BUFFER;

/// Compares two result folders: the outcome on standard output if they are the same run, a failure if not.
pub fn verify_results(a: &Path, b: &Path, json: bool) -> Result<(), Failure> {
    let sides = (open_result(a)?, open_result(b)?);
    if let Some(live) = [&sides.0, &sides.1].into_iter().find(|side| side.summary.run.live.is_some()) {
        let message = format!("{} is a live run: it measures real time, and has no digest to compare", live.name);
        return Err(Failure::Input(message));
    }
    let mut damage = changed_files(a, &sides.0.manifest)?;
    damage.extend(changed_files(b, &sides.1.manifest)?);
    let comparison = hansa_report::compare_logs(sides.0, sides.1)
        .map_err(|error| Failure::System(format!("cannot read the events: {}", io_reason(&error))))?;
    let same = comparison.is_same_run() && damage.is_empty();
    if json {
        out::always(&format!("{:#}\n", comparison.json(&damage)))?;
        return if same { Ok(()) } else { Err(Failure::Exit(Failure::DIFFERENT)) };
    }
    if same {
        return out::unless_quiet(&comparison.to_string());
    }
    let mut text = comparison.to_string();
    for file in damage {
        text.push_str(&format!("{file} has been changed since it was written.\n"));
    }
    Err(Failure::Different(text.trim_end().to_owned()))
}

/// Warns of a result that another version of Hansa made: it may be read or computed differently by this one.
fn warn_of_version(name: &str, version: &str) {
    let this = env!("CARGO_PKG_VERSION");
    if version != this {
        let version = sanitize_line_up_to(version, VERSION_MAX);
        err::warning(&format!("{name} was made by Hansa {version}, and this is Hansa {this}"));
    }
}

/// Longest version in a message, in characters.
const VERSION_MAX: usize = 40;

/// Opens a result folder; fails with an explanation if it is none. Warns if another version made it.
pub fn open_result(folder: &Path) -> Result<Side<BufReader<File>>, Failure> {
    let name = name_of(folder);
    bring_back(&RealDisk, folder);
    if folder.is_file() {
        return Err(Failure::Input(format!("{name} is a file: expected the result folder in which it is")));
    }
    if !folder.is_dir() {
        return Err(Failure::Input(format!("there is no folder {name}")));
    }
    if fs::symlink_metadata(folder.join(MANIFEST)).is_err() {
        return Err(Failure::Input(match folder.join(STATE).exists() {
            true => format!("{name} {OF_AN_EXPERIMENT}"),
            false => format!("{name} is not a result folder: it has no {MANIFEST}"),
        }));
    }
    let file = open_part(folder, EVENTS)?;
    let manifest: Manifest = parse_file(folder, MANIFEST)?;
    warn_of_version(&name, &manifest.version);
    Ok(Side {
        manifest,
        summary: parse_file::<SummaryFile>(folder, SUMMARY)?,
        events: BufReader::with_capacity(BUFFER, file),
        name,
    })
}

/// The path of a folder, for messages and pages.
pub fn name_of(folder: &Path) -> String {
    let name = sanitize_text(&folder.display().to_string());
    if name.len() > 1 { name.trim_end_matches('/').to_owned() } else { name }
}

pub fn parse_file<T: serde::de::DeserializeOwned>(folder: &Path, name: &str) -> Result<T, Failure> {
    let path = folder.join(name);
    let mut bytes = Vec::new();
    open_part(folder, name)?.read_to_end(&mut bytes).map_err(|error| unreadable_input(&path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| Failure::Input(format!("{} is damaged: {error}", path.display())))
}

/// Opens a file of a result, which may come from anywhere: the name has to be that of a file in its folder, and the
/// file regular.
pub fn open_part(folder: &Path, name: &str) -> Result<File, Failure> {
    let path = folder.join(name);
    let mut parts = Path::new(name).components();
    if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) || name.ends_with('/') {
        let manifest = folder.join(MANIFEST);
        let text = format!("{} is damaged: {name:?} is not a file of this folder", manifest.display());
        return Err(Failure::Input(text));
    }
    match open_regular(&path, OFlags::NOFOLLOW) {
        Ok(file) => Ok(file),
        Err(error) if error.kind() == ErrorKind::InvalidInput => Err(cannot_read_part("not a regular file", &path)),
        Err(error) if error.kind() == ErrorKind::IsADirectory => Err(cannot_read_part("not a regular file", &path)),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            Err(cannot_read_part("a link, and a result has none", &path))
        }
        Err(error) => Err(unreadable_input(&path, &error)),
    }
}

fn cannot_read_part(what: &str, path: &Path) -> Failure {
    Failure::Input(format!("cannot read {}: it is {what}", path.display()))
}

/// The files of a result that do not have the size and hash they were written with. The events are not among them: the
/// comparison has more to say about them.
pub fn changed_files(folder: &Path, manifest: &Manifest) -> Result<Vec<String>, Failure> {
    let mut changed = Vec::new();
    for output in manifest.files.iter().filter(|output| output.name != EVENTS) {
        let path = folder.join(&output.name);
        match size_and_hash(open_part(folder, &output.name)?) {
            Ok((bytes, hash)) if (bytes, &hash) == (output.bytes, &output.hash) => {}
            Ok(_) => changed.push(path.display().to_string()),
            Err(error) => return Err(unreadable_input(&path, &error)),
        }
    }
    Ok(changed)
}

/// Names of the files of a result that are missing, cannot be read, or do not have the size and hash they were written
/// with; the events are not among them.
pub fn changed_names(folder: &Path, manifest: &Manifest) -> Vec<String> {
    let changed = manifest.files.iter().filter(|output| output.name != EVENTS && !is_as_written(output, folder));
    changed.map(|output| sanitize_text(&output.name)).collect()
}

fn is_as_written(output: &&Output, folder: &Path) -> bool {
    let found = open_part(folder, &output.name).ok().and_then(|file| size_and_hash(file).ok());
    found.is_some_and(|(bytes, hash)| bytes == output.bytes && hash == output.hash)
}

/// Size and hash of a file, as a manifest lists them.
fn size_and_hash(mut file: File) -> io::Result<(u64, String)> {
    struct Sponge(Xxh3);
    impl Write for Sponge {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut sponge = Sponge(Xxh3::new());
    let bytes = io::copy(&mut file, &mut sponge)?;
    Ok((bytes, format!("{:032x}", sponge.0.digest128())))
}
