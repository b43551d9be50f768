//! Topology files, read from disk.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::OFlags;

use super::disk::{io_reason, near_file, open_regular, operation_failure, unreadable_input};
use super::gzip::{INFLATED_MAX, inflate_bytes, is_packed, read_lines, without_mark};
use super::{Failure, outside};
use hansa_sim::topology::{self, BYTES_MAX, Loaded, Override, Rendered, Topology};
use hansa_sim::workload::Source;
use hansa_sim::workload::rigids::Rigids;

/// Endings of files that workloads are read from, and the sources that read them.
const FILES_OF_WORKLOADS: [(&str, &str); 4] =
    [(".swf", "\"swf\""), (".dax", "\"workflow\""), (".dot", "\"workflow\""), (".json", "\"batsim\" or \"workflow\"")];

/// The sources that read a file of this name. None if there are none.
fn source_of(path: &str) -> Option<&'static str> {
    let name = path.strip_suffix(".gz").unwrap_or(path).to_ascii_lowercase();
    FILES_OF_WORKLOADS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, source)| *source)
}

/// Path of a topology that is kept in another file, such as a journal.
const WRITTEN_OUT: &str = "journal";

/// The path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Reads and checks a topology. Reports all of its faults at once.
pub fn load_topology(path: &str, overrides: &[Override]) -> Result<Loaded, Failure> {
    load_by(&topology::read_topology, path, overrides).map_err(|(failure, _)| failure)
}

/// Like `load_topology`, with the faults also as a list, for programs.
pub fn load_or_list(path: &str, overrides: &[Override]) -> Result<Loaded, (Failure, Vec<Rendered>)> {
    load_by(&topology::read_topology, path, overrides)
}

/// Reads a topology that a launcher has written, with the jobs that it has prepared in a folder, if there are any.
pub fn load_launched(path: &str, overrides: &[Override], jobs: Option<&Path>) -> Result<Loaded, Failure> {
    let Some(folder) = jobs else { return load_topology(path, overrides) };
    let mut prepared = Vec::new();
    for number in 0.. {
        let path = folder.join(number.to_string());
        match fs::read(&path) {
            Ok(jobs) => prepared.push(Some(jobs).filter(|jobs| !jobs.is_empty())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(unreadable_input(&path, &error)),
        }
    }
    let load: LoadTopology<'_> = &|path, _, read| topology::load_prepared(path, read, &prepared);
    load_by(load, path, overrides).map_err(|(failure, _)| failure)
}

/// Writes the jobs of a topology into a new folder, by workload: an empty file if they are not worth it.
pub fn write_prepared(topology: &Topology, folder: &Path) -> Result<(), Failure> {
    fs::create_dir(folder).map_err(|error| operation_failure("create", folder, &error))?;
    for (number, jobs) in topology.prepared_jobs().into_iter().enumerate() {
        let path = folder.join(number.to_string());
        fs::write(&path, jobs.unwrap_or_default()).map_err(|error| operation_failure("write", &path, &error))?;
    }
    Ok(())
}

/// Reads and checks a topology whose workloads are not used because the caller brings its own.
pub fn load_grid(path: &str, overrides: &[Override]) -> Result<Loaded, Failure> {
    load_by(&topology::load_idle, path, overrides).map_err(|(failure, _)| failure)
}

/// Reads a topology that [`written_out`] has written.
pub fn load_text(text: &str) -> Result<Topology, Failure> {
    let read = &mut |path: &str| match path {
        WRITTEN_OUT => Ok(text.as_bytes().to_vec()),
        path => read_input(path).map_err(|error| io_reason(&error)),
    };
    let loaded = topology::read_topology(WRITTEN_OUT, &[], read);
    loaded.map(|loaded| loaded.topology).map_err(|diagnostics| Failure::Input(diagnostics.to_string()))
}

type LoadTopology<'l> =
    &'l dyn Fn(&str, &[Override], &mut topology::Read<'_>) -> Result<Loaded, topology::InvalidInput>;

fn load_by(load: LoadTopology<'_>, path: &str, overrides: &[Override]) -> Result<Loaded, (Failure, Vec<Rendered>)> {
    let read = &mut |path: &str| read_typed(path).map_err(|error| unreadable_reason(path, &error));
    let mut loaded = load(path, overrides, read).map_err(|diagnostics| {
        match Some(path).filter(|path| *path != STANDARD_INPUT).and_then(mistaken_kind) {
            Some(text) => single_fault(Failure::Input(text)),
            None => (Failure::Input(diagnostics.to_string()), diagnostics.rendered()),
        }
    })?;
    loaded.inputs.extend(outside::program_files(&loaded.topology, path));
    Ok(loaded)
}

/// The reason why a file cannot be read, and a file beside it with a near name in a second line.
pub fn unreadable_reason(path: &str, error: &io::Error) -> String {
    let near = near_file(path.as_ref(), error).map(|near| format!("\ndid you mean `{}`?", near.display()));
    format!("{}{}", io_reason(error), near.unwrap_or_default())
}

/// A failure that is a single fault without a known place.
pub fn single_fault(failure: Failure) -> (Failure, Vec<Rendered>) {
    let diagnostic = Rendered { message: failure.to_string(), ..Rendered::default() };
    (failure, vec![diagnostic])
}

/// Names the kind of a file that was taken for a topology. None if it is not known.
fn mistaken_kind(path: &str) -> Option<String> {
    let bytes = read_input(path).ok()?;
    if has_any_key(&bytes, &["vary"]) {
        return Some(format!("{path} is an experiment: use hansa sweep {path}"));
    }
    let source = source_of(path).filter(|_| parse_table(&bytes).is_none())?;
    Some(format!("{path} is not a topology: a [[workload]] with source = {source} can name it as its file"))
}

/// True if a file is TOML with one of these keys at its top, and so may be of another kind than it was taken for.
pub fn has_key(path: &str, keys: &[&str]) -> bool {
    read_input(path).is_ok_and(|bytes| has_any_key(&bytes, keys))
}

fn has_any_key(bytes: &[u8], keys: &[&str]) -> bool {
    // Most files need not be parsed for this: parsing takes many times their size in memory.
    str::from_utf8(bytes).is_ok_and(|text| keys.iter().any(|key| text.contains(key)))
        && parse_table(bytes).is_some_and(|table| keys.iter().any(|key| table.contains_key(*key)))
}

fn parse_table(bytes: &[u8]) -> Option<toml::Table> {
    let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= BYTES_MAX)?;
    if topology::other_format(text).is_some() { None } else { text.parse().ok() }
}

/// Text of [`with_absolute_paths`].
pub fn written_out(topology: &Topology, written_in: &str) -> String {
    with_absolute_paths(topology, written_in).to_toml()
}

/// A topology with one meaning wherever its file is: paths of logs are absolute, and so are those of external programs
/// next to it.
pub fn with_absolute_paths(topology: &Topology, written_in: &str) -> Topology {
    let mut topology = topology.clone();
    outside::find_files(&mut topology, written_in);
    for workload in &mut topology.workloads {
        if let Source::Rigid(Rigids { origin, .. }) = &mut workload.source
            && let Some(log) = origin.log_mut()
            && let Ok(path) = std::path::absolute(&log.path)
        {
            log.path = path.to_string_lossy().into_owned();
        }
    }
    topology
}

/// Default folder of the results of a topology.
pub fn default_out(topology: &Topology) -> PathBuf {
    PathBuf::from("out").join(&topology.name)
}

/// Reads a path of the command line: a file, or standard input. Standard input can be read only once, so its content is
/// kept for later calls.
pub fn read_typed(path: &str) -> io::Result<Vec<u8>> {
    static STANDARD: Mutex<Option<Vec<u8>>> = Mutex::new(None);
    if path != STANDARD_INPUT {
        return read_input(path);
    }
    let mut kept = STANDARD.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if kept.is_none() {
        *kept = Some(read_unpacked(io::stdin().lock())?);
    }
    Ok(kept.clone().unwrap_or_default())
}

/// Reads a file, compressed or not, up to `READ_MAX` bytes; refuses files that are not regular.
pub fn read_input(path: &str) -> io::Result<Vec<u8>> {
    let bytes = read_lines(open_bounded(path.as_ref())?)?;
    check_packed(path, &bytes)?;
    Ok(without_mark(inflate_bytes(bytes, READ_MAX)?))
}

/// Fails if a file is named like a compressed one but is neither compressed nor any text that Hansa reads. Browsers
/// unpack what they load and leave its name as it is.
fn check_packed(path: &str, bytes: &[u8]) -> io::Result<()> {
    let is_named_so = Path::new(path).extension().is_some_and(|extension| extension == "gz");
    let first = bytes.trim_ascii_start().first();
    let begins_like_text = first.is_some_and(|byte| byte.is_ascii_digit() || b";-{[<#".contains(byte));
    if is_named_so && !is_packed(bytes) && !begins_like_text {
        return Err(io::Error::other("its name ends in .gz, but it is not compressed with gzip"));
    }
    Ok(())
}

/// Reads a file that Hansa has written, without decompressing it.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_bounded(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Decompresses input if it is compressed, and removes a byte order mark.
pub fn read_unpacked(input: impl Read) -> io::Result<Vec<u8>> {
    Ok(without_mark(inflate_bytes(read_lines(input)?, READ_MAX)?))
}

fn open_bounded(path: &Path) -> io::Result<impl Read> {
    let file = open_regular(path, OFlags::empty())?;
    if file.metadata()?.len() > READ_MAX {
        return Err(io::Error::other(format!("there is more than {} MiB in it", READ_MAX >> 20)));
    }
    Ok(file.take(READ_MAX))
}

/// Limit of a file, in bytes: more than any topology has, as their reader has a limit of its own, and more than any
/// log.
const READ_MAX: u64 = INFLATED_MAX;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("hansa-input-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_that_is_only_named_like_a_compressed_one_is_called_so() {
        let folder = folder("gz");
        let diagnostic = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, bytes).unwrap();
            read_input(path.to_str().unwrap()).map_err(|error| error.to_string())
        };
        let junk = "its name ends in .gz, but it is not compressed with gzip";
        assert_eq!(diagnostic("log.swf.gz", b"junk"), Err(junk.to_owned()));
        assert_eq!(diagnostic("log.swf.gz", &[0x80, 0xff, 0x00]), Err(junk.to_owned()));
        // Browsers unpack what they load, and keep the name.
        assert_eq!(diagnostic("log.swf.gz", b"; Version: 2\n"), Ok(b"; Version: 2\n".to_vec()));
        assert_eq!(diagnostic("log.swf", b"junk"), Ok(b"junk".to_vec()));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_path_with_a_typo_has_its_near_name() {
        let folder = folder("near");
        fs::write(folder.join("quickstart.toml"), "").unwrap();
        let diagnostic = |name: &str| {
            let path = folder.join(name).to_str().unwrap().to_owned();
            unreadable_reason(&path, &read_input(&path).unwrap_err())
        };
        let near = format!("did you mean `{}`?", folder.join("quickstart.toml").display());
        assert!(diagnostic("quikstart.toml").ends_with(&near), "{}", diagnostic("quikstart.toml"));
        assert!(!diagnostic("market-40.toml").contains("did you mean"));
        let failure = load_topology(folder.join("quickstart.tml").to_str().unwrap(), &[]).map(|_| ()).unwrap_err();
        assert!(failure.to_string().contains(&near), "{failure}");
        fs::remove_dir_all(folder).unwrap();
    }
}
