//! The files that an experiment or a topology is read from, to be taken into a cluster with their folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::Failure;
use super::super::disk::unreadable_input;
use super::super::input;
use super::super::sweep::{FileCache, read_experiment};
use hansa_sim::topology::{self, Override, Topology};

/// Their folder there.
pub const FOLDER: &str = "/files";

/// Capacity of one ConfigMap, including names.
const BYTES_MAX: usize = 1_000_000;

/// Files by their path below a common folder.
#[derive(Default)]
pub struct FileBundle {
    pub files: BTreeMap<String, Vec<u8>>,
    above: PathBuf,
}

impl FileBundle {
    /// Reads these files, among them `main`.
    pub fn read_files(main: &str, paths: impl Iterator<Item = String>) -> Result<FileBundle, Failure> {
        let mut whole: Vec<PathBuf> = Vec::new();
        for path in paths.chain([main.to_owned()]) {
            whole.push(absolute_path(&path)?);
        }
        let mut above = whole[0].parent().unwrap_or(Path::new("/")).to_owned();
        while !whole.iter().all(|path| path.starts_with(&above)) {
            above.pop();
        }
        let mut files = BTreeMap::new();
        for path in whole {
            let bytes = input::read_plain(&path).map_err(|error| unreadable_input(&path, &error))?;
            let below = path.strip_prefix(&above).unwrap_or(&path).to_str().map(str::to_owned);
            let below =
                below.ok_or_else(|| Failure::Input(format!("{} cannot be written into an object", path.display())))?;
            files.insert(below, bytes);
        }
        let bytes: usize = files.values().map(Vec::len).sum();
        if bytes > BYTES_MAX {
            let mut largest: Vec<(&String, usize)> = files.iter().map(|(name, bytes)| (name, bytes.len())).collect();
            largest.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
            return Err(Failure::Input(format!(
                "the files of {main} have {:.1} MB, {} of them in {}; a ConfigMap holds 1 MB: expected smaller ones, or gzipped logs",
                bytes as f64 / 1e6,
                format_args!("{:.1} MB", largest[0].1 as f64 / 1e6),
                above.join(largest[0].0).display(),
            )));
        }
        Ok(FileBundle { files, above })
    }

    /// Path of one of these files in the cluster.
    pub fn path_inside(&self, path: &str) -> Result<String, Failure> {
        let below = absolute_path(path)?;
        let below = below.strip_prefix(&self.above).unwrap_or(&below);
        Ok(format!("{FOLDER}/{}", below.display()))
    }

    /// Compares the topology there with the one here: files with absolute paths would not be found.
    pub fn holds_topology(&self, path: &str, overrides: &[Override], here: &Topology) -> Result<(), Failure> {
        let mut files = self.as_read()?;
        let there = topology::read_topology(&self.path_inside(path)?, overrides, &mut |path| files.read_file(path));
        match there.is_ok_and(|there| there.topology.hash() == here.hash()) {
            true => Ok(()),
            false => Err(stray_failure(path)),
        }
    }

    /// Like `holds_topology`, for an experiment.
    pub fn holds_experiment(&self, path: &str) -> Result<(), Failure> {
        let there = read_experiment(&self.path_inside(path)?, &mut self.as_read()?);
        there.map(drop).map_err(|_| stray_failure(path))
    }

    /// The files as a process there will read them.
    fn as_read(&self) -> Result<FileCache, Failure> {
        let mut files = FileCache::without_disk();
        for (name, bytes) in &self.files {
            let read = input::read_unpacked(bytes.as_slice());
            let read = read.map_err(|error| unreadable_input(&self.above.join(name), &error))?;
            files.add_file(&format!("{FOLDER}/{name}"), read);
        }
        Ok(files)
    }
}

fn stray_failure(path: &str) -> Failure {
    Failure::Input(format!(
        "{path} names files by absolute paths, which do not exist in a pod: expected relative paths"
    ))
}

/// A path without links and dots, so that its neighbours there are its neighbours here.
fn absolute_path(path: &str) -> Result<PathBuf, Failure> {
    std::fs::canonicalize(path).map_err(|error| unreadable_input(path.as_ref(), &error))
}

#[cfg(test)]
mod tests {
    use super::super::super::input::load_topology;
    use super::*;

    #[test]
    fn what_is_checked_is_what_is_shipped() {
        let scratch = tempfile::TempDir::new().unwrap();
        let file = scratch.path().join("small.toml");
        let small = "name = \"small\"\nseed = 1\n[market]\npolicy = \"fifo\"\n[[site]]\nname = \"york\"\ncores = 8\n\
                     [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\n[[workload.job]]\n\
                     tasks = [{ runtime = \"1 min\", cores = 1 }]\n";
        std::fs::write(&file, small).unwrap();
        let path = file.to_str().unwrap();
        let loaded = load_topology(path, &[]).unwrap();
        let bundle = FileBundle::read_files(path, std::iter::empty()).unwrap();
        // The file changes after the bundle was made.
        std::fs::write(&file, "name = ").unwrap();
        bundle.holds_topology(path, &[], &loaded.topology).unwrap();
    }
}
