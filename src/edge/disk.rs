//! Files and folders of this machine: opened, written, moved and told of in one way.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Failure;
use super::stand_in::parent;

/// What a file may be used for if its maker says nothing else, less what the user's mask forbids.
const ORDINARY: u32 = 0o666;

/// So many links in a row the kernel follows.
const LINKS_MAX: usize = 40;

/// Writes what somebody wants to have under this name: a link stays and what it points at is replaced; a device or a pipe
/// takes the content as it comes.
pub fn write_named(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    write_named_as(path, ORDINARY, content.as_ref()).map_err(|error| cannot("write", path, &error))
}

/// The same, for those only who may use it in this mode.
pub fn write_named_as(path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return OpenOptions::new().write(true).open(path)?.write_all(content),
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&place) else { break };
        place = parent(&place).join(target);
    }
    replace_by(&place, mode, |file| file.write_all(content))
}

/// Puts a file in this very place: whole, or as it was before.
pub fn replace(place: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let replaced = replace_by(place, ORDINARY, |file| file.write_all(content.as_ref()));
    replaced.map_err(|error| cannot("write", place, &error))
}

/// The same for whoever writes it piece by piece, and for those only who may use it in this mode.
pub fn replace_by(place: &Path, mode: u32, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (beside, mut file) = create_beside(place, mode)?;
    let replaced = write(&mut file).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, place));
    if replaced.is_err() {
        // What there is of it is of no use to anybody.
        let _ = fs::remove_file(&beside);
    }
    replaced
}

/// Makes a file beside this place under a name that nothing has.
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
        // Process ids come round again.
        let mut other = name.clone();
        other.push(format!("-{attempt}"));
        beside.set_file_name(other);
    }
    unreachable!("some number is free")
}

/// Says what cannot be done with a file, and why.
pub fn cannot(verb: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::System(format!("cannot {verb} {}: {}", path.display(), plainly(error)))
}

/// What went wrong, without the number that the operating system gives it.
pub fn plainly(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull => "the disk is full".to_owned(),
        ErrorKind::FileTooLarge => "the file size limit is exceeded (see ulimit -f)".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        ErrorKind::IsADirectory => "this is a folder".to_owned(),
        _ => match (error.to_string(), error.raw_os_error()) {
            (text, Some(number)) => text.trim_end_matches(&format!(" (os error {number})")).to_owned(),
            (text, None) => text,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, Mode, mkfifoat};

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
        assert!(replace_by(&at("jobs.swf"), ORDINARY, |_| Err(ErrorKind::StorageFull.into())).is_err());
        assert_eq!(names(scratch.path()), [taken.as_str(), "jobs.partial", "jobs.swf", "jobs.swf.partial"]);
    }

    #[test]
    fn links_are_followed_where_somebody_has_named_them_only() {
        let scratch = tempfile::TempDir::new().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir(at("there")).unwrap();
        symlink("again", at("link")).unwrap();
        symlink(at("there/file"), at("again")).unwrap();
        // Whether there is a file already or not.
        for content in ["first", "second"] {
            write_named(&at("link"), content).unwrap();
            assert_eq!(fs::read_to_string(at("there/file")).unwrap(), content);
            assert!(at("link").is_symlink() && at("again").is_symlink());
        }
        replace(&at("link"), "third").unwrap();
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
    fn errors_are_told_without_their_numbers() {
        assert_eq!(plainly(&io::Error::from_raw_os_error(22)), "Invalid argument");
        assert_eq!(plainly(&io::Error::from_raw_os_error(2)), "there is no such file or folder");
        assert_eq!(plainly(&io::Error::other("it is too long")), "it is too long");
    }
}
