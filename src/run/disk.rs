//! Files and folders of this machine: common ways of opening, writing, moving and describing them.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

use super::Failure;
use hansa_sim::near::nearest_name;

/// Default mode of a file, before the user's mask.
const ORDINARY: u32 = 0o666;

/// Largest number of links in a row that the kernel follows.
const LINKS_MAX: usize = 40;

/// Opens a regular file to read. Anything else is refused, above all a pipe: opening one waits for a writer, maybe for
/// ever, and signals are not handled meanwhile.
pub fn open_regular(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = (flags | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?.file_type();
    match (found.is_file(), found.is_dir()) {
        (true, _) => Ok(file),
        (_, true) => Err(io::Error::new(ErrorKind::IsADirectory, "this is a folder")),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "this is not a regular file")),
    }
}

/// Writes to a path named by the user: a link stays and its target is replaced; a device or a pipe takes the content as
/// it comes.
pub fn write_named(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    write_named_as(path, ORDINARY, content.as_ref()).map_err(|error| operation_failure("write", path, &error))
}

/// Like `write_named`, for the users allowed by this mode only.
pub fn write_named_as(path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return OpenOptions::new().write(true).open(path)?.write_all(content),
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&place) else { break };
        place = parent_folder(&place).join(target);
    }
    replace_as(&place, mode, |file| file.write_all(content))
}

/// Puts a file in this very place: complete, or as it was before.
pub fn replace_file(place: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    replace_by(place, |file| file.write_all(content.as_ref()))
}

/// Like `replace_file`, for content that is written piece by piece.
pub fn replace_by(place: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Failure> {
    replace_as(place, ORDINARY, write).map_err(|error| operation_failure("write", place, &error))
}

/// Like `replace_by`, for the users allowed by this mode only.
pub fn replace_as(place: &Path, mode: u32, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (beside, mut file) = create_beside(place, mode)?;
    let replaced = write(&mut file).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, place));
    if replaced.is_err() {
        // A partial file is useless.
        let _ = fs::remove_file(&beside);
    }
    replaced
}

/// Makes a file beside this place under an unused name.
fn create_beside(place: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    let mut name = OsString::from(".");
    name.push(place.file_name().ok_or(ErrorKind::IsADirectory)?);
    name.push(format!(".partial-{}", std::process::id()));
    let mut beside = place.with_file_name(&name);
    for attempt in 1.. {
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (beside, file)),
        }
        // Process ids are reused.
        let mut other = name.clone();
        other.push(format!("-{attempt}"));
        beside.set_file_name(other);
    }
    unreachable!("some number is free")
}

/// The folder that a path is in.
pub fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The changes on a disk when results are put in their place. There is one implementation beside those of tests, which
/// stop after any of these calls.
pub trait Disk: Send + Sync {
    /// Swaps two folders in one step.
    fn exchange_folders(&self, a: &Path, b: &Path) -> io::Result<()>;
    /// Moves a folder to a free place, or over an empty folder.
    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes a folder's entries survive a power cut.
    fn sync(&self, folder: &Path) -> io::Result<()>;
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
}

/// The disk of this machine.
pub struct RealDisk;

impl Disk for RealDisk {
    fn exchange_folders(&self, a: &Path, b: &Path) -> io::Result<()> {
        Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
    }

    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }
}

/// Removes a folder with all its contents; missing entries are no error.
pub fn remove_tree(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => remove_tree(disk, &entry.path())?,
            false => allow_gone(disk.remove_file(&entry.path()))?,
        }
    }
    allow_gone(disk.remove_dir(folder))
}

fn allow_gone(end: io::Result<()>) -> io::Result<()> {
    match end {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        end => end,
    }
}

/// The failure of an operation on a file, with the reason.
pub fn operation_failure(verb: &str, path: &Path, error: &io::Error) -> Failure {
    let folder = parent_folder(path);
    let why = match error.kind() {
        ErrorKind::NotFound if !folder.exists() => format!("there is no folder {}", folder.display()),
        _ => io_reason(error),
    };
    Failure::System(format!("cannot {verb} {}: {why}", path.display()))
}

/// The failure to read a file, which the user who named it has to correct.
pub fn unreadable_input(path: &Path, error: &io::Error) -> Failure {
    let near = near_file(path, error).map_or(String::new(), |near| format!("; did you mean {}?", near.display()));
    Failure::Input(format!("cannot read {}: {}{near}", path.display(), io_reason(error)))
}

/// The file beside a missing one that was probably meant. None if there is none, or if the file is not missing.
pub fn near_file(path: &Path, error: &io::Error) -> Option<PathBuf> {
    if error.kind() != ErrorKind::NotFound {
        return None;
    }
    let entries = fs::read_dir(parent_folder(path)).ok()?;
    let names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let name = nearest_name(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(name))
}

/// An error without its operating system number.
pub fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull => "the disk is full".to_owned(),
        ErrorKind::FileTooLarge => "the file size limit is exceeded (see ulimit -f)".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        ErrorKind::IsADirectory => "this is a folder".to_owned(),
        ErrorKind::NotADirectory => "a part of this path is a file and no folder".to_owned(),
        _ => match (error.to_string(), error.raw_os_error()) {
            (text, Some(number)) => text.trim_end_matches(&format!(" (os error {number})")).to_owned(),
            (text, None) => text,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{Mode, mkfifoat};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_beside_a_file_that_is_written_stays() {
        let scratch = tempfile::TempDir::new().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let taken = format!(".jobs.swf.partial-{}", std::process::id());
        for mine in ["jobs.partial", "jobs.swf.partial", taken.as_str()] {
            fs::write(at(mine), mine).unwrap();
        }
        for content in ["first", "second"] {
            write_named(&at("jobs.swf"), content).unwrap();
            assert_eq!(fs::read_to_string(at("jobs.swf")).unwrap(), content);
        }
        for mine in ["jobs.partial", "jobs.swf.partial", taken.as_str()] {
            assert_eq!(fs::read_to_string(at(mine)).unwrap(), mine);
        }
        assert!(replace_by(&at("jobs.swf"), |_| Err(ErrorKind::StorageFull.into())).is_err());
        assert_eq!(names(scratch.path()), [taken.as_str(), "jobs.partial", "jobs.swf", "jobs.swf.partial"]);
    }

    #[test]
    fn links_are_followed_where_somebody_has_named_them_only() {
        let scratch = tempfile::TempDir::new().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir(at("there")).unwrap();
        symlink("again", at("link")).unwrap();
        symlink(at("there/file"), at("again")).unwrap();
        // With a file already there, and without.
        for content in ["first", "second"] {
            write_named(&at("link"), content).unwrap();
            assert_eq!(fs::read_to_string(at("there/file")).unwrap(), content);
            assert!(at("link").is_symlink() && at("again").is_symlink());
        }
        replace_file(&at("link"), "third").unwrap();
        assert!(!at("link").is_symlink());
        assert_eq!(fs::read_to_string(at("there/file")).unwrap(), "second");

        symlink("round", at("round")).unwrap();
        assert!(write_named(&at("round"), "").is_err() && at("round").is_symlink());
    }

    #[test]
    fn what_is_no_file_is_written_into() {
        let scratch = tempfile::TempDir::new().unwrap();
        let pipe = scratch.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write_named(&pipe, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert_eq!(names(scratch.path()), ["pipe"]);
        let failure = write_named(scratch.path(), "").unwrap_err();
        assert!(failure.to_string().ends_with(": this is a folder"), "{failure}");
    }

    #[test]
    fn a_secret_is_never_open_to_others() {
        let scratch = tempfile::TempDir::new().unwrap();
        let path = scratch.path().join("secret");
        fs::write(&path, "open").unwrap();
        write_named_as(&path, 0o600, b"shut").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let failure = write_named(Path::new("/nothere/x.svg"), "").unwrap_err();
        assert_eq!(failure.to_string(), "cannot write /nothere/x.svg: there is no folder /nothere");
    }

    #[test]
    fn a_missing_file_is_reported_with_the_name_beside_it() {
        let scratch = tempfile::TempDir::new().unwrap();
        fs::write(scratch.path().join("jobs.swf"), "").unwrap();
        let report = |name: &str| {
            let path = scratch.path().join(name);
            unreadable_input(&path, &File::open(&path).unwrap_err()).to_string()
        };
        let near = format!("; did you mean {}?", scratch.path().join("jobs.swf").display());
        assert!(report("job.swf").ends_with(&near), "{}", report("job.swf"));
        assert!(report("mosaic.json").ends_with(": there is no such file or folder"), "{}", report("mosaic.json"));
    }

    #[test]
    fn errors_are_told_without_their_numbers() {
        assert_eq!(io_reason(&io::Error::from_raw_os_error(22)), "Invalid argument");
        assert_eq!(io_reason(&io::Error::from_raw_os_error(2)), "there is no such file or folder");
        assert_eq!(io_reason(&io::Error::from_raw_os_error(20)), "a part of this path is a file and no folder");
        assert_eq!(io_reason(&io::Error::other("it is too long")), "it is too long");
    }
}
