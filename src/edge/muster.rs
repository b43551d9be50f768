//! Who plays with whom in one process, and whether this machine can hold so many processes.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Failure;
use super::identity::one_certificate_holds;
use crate::protocol::handshake::Party;
use crate::topology::{Plan, Topology};

/// How sites and users are spread over processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// So many sites, or users, in each.
    Each(usize),
    /// So many processes for all of them: whoever asks for that many wants them.
    Processes(usize),
    /// As they were before.
    As(Vec<Vec<Party>>),
}

/// What this machine has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub cores: usize,
    /// Bytes that are free; nothing where the system does not tell.
    pub memory: Option<u64>,
    /// Processes and threads that may still be started, where that is limited.
    pub threads: Option<u64>,
    /// Files that one process may have open, once it has asked for as many as it may have.
    pub files: u64,
}

/// More than that start so slowly that the first have given up before the last have come.
const PROCESSES_PER_CORE: u64 = 512;
/// Measured: 5 MB of its own a site's process has, and its connection costs the router less than 1 MB.
const BYTES_PER_PROCESS: u64 = 8 << 20;
/// What every process knows of every site and user. Measured: 0.7 kB.
const BYTES_PER_PARTY: u64 = 1 << 10;
const THREADS_PER_PROCESS: u64 = 6;
/// For the launcher: the pipe to a process, and what tells of its end.
const FILES_PER_PROCESS: u64 = 2;
/// What the launcher has open besides.
const FILES_BESIDES: u64 = 64;
/// What is advised to those who have asked for too many.
const ADVISED_PER_CORE: usize = 8;

/// Who plays together, sites with sites and users with users, if this machine can hold so many processes.
pub fn muster(topology: &Topology, sharing: Sharing, machine: &Machine) -> Result<Vec<Vec<Party>>, Failure> {
    let (sites, users) = sites_and_users(topology);
    let groups = groups(&sites, &users, &sharing).and_then(|groups| {
        machine.check(groups.len(), sites.len() + users.len(), &sharing)?;
        Ok(groups)
    });
    groups.map_err(Failure::Input)
}

pub fn sites_and_users(topology: &Topology) -> (Vec<Party>, Vec<Party>) {
    Plan::of(topology).parties().into_iter().partition(|party| matches!(party, Party::Site(_)))
}

fn groups(sites: &[Party], users: &[Party], sharing: &Sharing) -> Result<Vec<Vec<Party>>, String> {
    let groups: Vec<Vec<Party>> = match *sharing {
        Sharing::As(ref groups) => groups.clone(),
        Sharing::Each(size) => {
            let size = size.max(1);
            sites.chunks(size).chain(users.chunks(size)).map(<[Party]>::to_vec).collect()
        }
        Sharing::Processes(processes) => {
            let kinds = [sites, users].iter().filter(|kind| !kind.is_empty()).count();
            if processes < kinds {
                return Err("sites and users never share a process: expected --processes 2 or more".to_owned());
            }
            // To each kind its part, to the nearest process, but one at least.
            let all = (sites.len() + users.len()).max(1);
            let share = (processes * sites.len() + all / 2) / all;
            let most = if users.is_empty() { processes } else { processes - 1 };
            let for_sites = share.clamp(usize::from(!sites.is_empty()), most);
            [evenly(sites, for_sites), evenly(users, processes - for_sites)].concat()
        }
    };
    match groups.iter().find(|group| !one_certificate_holds(group)) {
        None => Ok(groups),
        Some(group) => Err(format!(
            "one process cannot play {} sites or users, because one certificate cannot hold all their names: \
             expected more processes, with --processes or --per-process",
            group.len()
        )),
    }
}

/// Cuts into so many pieces, or as many as there are, whose lengths differ by no more than one.
pub fn evenly(parties: &[Party], pieces: usize) -> Vec<Vec<Party>> {
    let pieces = pieces.min(parties.len());
    let edge = |piece: usize| piece * parties.len() / pieces;
    (0..pieces).map(|piece| parties[edge(piece)..edge(piece + 1)].to_vec()).collect()
}

impl Machine {
    /// This one, as far as it can be found out. Asks for all the open files that it may have.
    pub fn here() -> Machine {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let files = match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
            Ok(()) => maximum,
            Err(_) => current,
        };
        let free = [free_memory(), left_in_groups("memory.max", "memory.current")].into_iter().flatten().min();
        Machine {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: free,
            threads: left_in_groups("pids.max", "pids.current"),
            files: files.unwrap_or(u64::MAX),
        }
    }

    /// How many processes of a grid of so many sites and users there can be.
    fn holds(&self, parties: usize) -> u64 {
        let each = BYTES_PER_PROCESS + BYTES_PER_PARTY * parties as u64;
        let by_cores = self.cores as u64 * PROCESSES_PER_CORE;
        [by_cores, self.files_hold()]
            .into_iter()
            .chain(self.memory.map(|free| free / each))
            .chain(self.threads.map(|left| left / THREADS_PER_PROCESS))
            .min()
            .unwrap_or(by_cores)
    }

    fn files_hold(&self) -> u64 {
        self.files.saturating_sub(FILES_BESIDES) / FILES_PER_PROCESS
    }

    fn check(&self, members: usize, parties: usize, sharing: &Sharing) -> Result<(), String> {
        let processes = members as u64 + 1;
        // Whoever has said how many takes the risk, but not that of a launcher that cannot hold their pipes.
        let told = !matches!(sharing, Sharing::Each(_));
        let holds = if told { self.files_hold() } else { self.holds(parties) };
        if processes <= holds {
            return Ok(());
        }
        let free = self.memory.map_or(String::new(), |free| format!(", {:.1} GB of free memory", free as f64 / 1e9));
        let has = format!("{} cores{free}, {} open files", self.cores, self.files);
        let advised = (self.cores * ADVISED_PER_CORE).min(holds.saturating_sub(1) as usize).max(2);
        let insist = if told { String::new() } else { format!(", or force it with --processes {members}") };
        Err(format!(
            "this run needs {processes} processes, but this machine can hold only {holds} of them ({has}): let sites and users share processes with --processes {advised}, run everything in one process with --inline{insist}"
        ))
    }
}

fn free_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// What our control group and those above it leave of something: the least of them.
fn left_in_groups(limit: &str, used: &str) -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let ours = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let folder: PathBuf = root.join(ours);
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left = |folder: &Path| Some(number(folder.join(limit))?.saturating_sub(number(folder.join(used))?));
    folder.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Machine = Machine { cores: 2, memory: Some(16 << 30), threads: None, files: 1 << 20 };

    fn sites(count: usize) -> Vec<Party> {
        (0..count).map(|at| Party::Site(format!("s-{at}"))).collect()
    }

    fn users(count: usize) -> Vec<Party> {
        (0..count).map(|at| Party::User(format!("u-{at}"))).collect()
    }

    fn sizes(sites_count: usize, users_count: usize, sharing: Sharing) -> Vec<usize> {
        let (sites, users) = (sites(sites_count), users(users_count));
        let groups = groups(&sites, &users, &sharing).unwrap();
        assert_eq!(groups.concat(), [sites, users].concat());
        groups.iter().map(Vec::len).collect()
    }

    #[test]
    fn processes_share_out_who_there_is() {
        assert_eq!(sizes(4, 3, Sharing::Each(1)), [1; 7]);
        assert_eq!(sizes(4, 3, Sharing::Each(3)), [3, 1, 3]);
        assert_eq!(sizes(4, 3, Sharing::Processes(2)), [4, 3]);
        assert_eq!(sizes(4, 1000, Sharing::Processes(4)), [4, 333, 333, 334]);
        assert_eq!(sizes(1000, 4, Sharing::Processes(4)), [333, 333, 334, 4]);
        assert_eq!(sizes(5, 0, Sharing::Processes(2)), [2, 3]);
        // No process is left without anybody.
        assert_eq!(sizes(2, 1, Sharing::Processes(50)), [1; 3]);
    }

    #[test]
    fn one_process_cannot_play_everything() {
        let told = groups(&sites(1), &users(1), &Sharing::Processes(1)).unwrap_err();
        assert!(told.contains("--processes 2"), "{told}");
        let told = groups(&sites(1), &users(100_000), &Sharing::Processes(8)).unwrap_err();
        assert!(told.contains("one process cannot play") && told.contains("--processes"), "{told}");
        assert_eq!(sizes(1, 100_000, Sharing::Processes(101)).len(), 101);
    }

    #[test]
    fn a_machine_holds_what_its_memory_cores_and_files_allow() {
        assert_eq!(HERE.holds(100), 1024);
        assert_eq!(Machine { memory: Some(1 << 30), ..HERE }.holds(0), 128);
        // All know of all.
        assert_eq!(Machine { memory: Some(1 << 30), ..HERE }.holds(8 << 10), 64);
        assert_eq!(Machine { threads: Some(600), ..HERE }.holds(0), 100);
        assert_eq!(Machine { files: 264, ..HERE }.holds(0), 100);
        assert_eq!(Machine { memory: None, ..HERE }.holds(1 << 20), 1024);
    }

    #[test]
    fn too_many_processes_are_an_error_unless_told_otherwise() {
        assert_eq!(HERE.check(1023, 1023, &Sharing::Each(1)), Ok(()));
        let told = HERE.check(100_001, 100_001, &Sharing::Each(1)).unwrap_err();
        for word in ["100002 processes", "--processes 16", "--inline", "force it with --processes 100001"] {
            assert!(told.contains(word), "{told}");
        }
        assert_eq!(HERE.check(100_001, 100_001, &Sharing::Processes(100_001)), Ok(()));
        let few_files = Machine { files: 1024, ..HERE };
        let told = few_files.check(2000, 2000, &Sharing::Processes(2000)).unwrap_err();
        assert!(told.contains("1024 open files") && !told.contains("insist"), "{told}");
    }

    #[test]
    fn this_machine_has_something() {
        let here = Machine::here();
        assert!(here.cores >= 1 && here.files >= 64, "{here:?}");
    }
}
