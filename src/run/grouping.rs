//! Assignment of sites and users to processes, and the number of processes that this machine can hold.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Failure;
use super::identity::one_certificate_holds;
use hansa_sim::protocol::handshake::Party;
use hansa_sim::settings::format_counted;
use hansa_sim::topology::{Roster, Topology};

/// Number of sites and users per process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// This many sites, or users, in each process.
    Each(usize),
    /// This many processes in total, an explicit choice of the user.
    Processes(usize),
    /// The assignment that an earlier run had.
    As(Vec<Vec<Party>>),
}

/// Resources of this machine that limit the number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub cores: usize,
    /// Free bytes. None if the system does not tell.
    pub memory: Option<u64>,
    /// Processes and threads that may still be started. None if there is no limit.
    pub threads: Option<u64>,
    /// Files that one process may have open, after raising its limit as far as possible.
    pub files: u64,
}

/// With more, processes start so slowly that the first give up before the last have joined.
const PROCESSES_PER_CORE: u64 = 512;
/// Memory of a process, in bytes. Measured: 5 MB in a site's process, and less than 1 MB in the router for its
/// connection.
const BYTES_PER_PROCESS: u64 = 8 << 20;
/// Memory in every process for each site and user of the grid, in bytes. Measured: 0.7 kB.
const BYTES_PER_PARTY: u64 = 1 << 10;
const THREADS_PER_PROCESS: u64 = 6;
/// Files of the launcher per process: the pipe to it, and a handle that signals its end.
const FILES_PER_PROCESS: u64 = 2;
/// Other open files of the launcher. Measured: 13, and a few more while it starts a process.
const FILES_BESIDES: u64 = 32;
/// Processes per core that a message advises if more than possible were requested.
const ADVISED_PER_CORE: usize = 8;

/// Assigns sites and users to processes, sites with sites and users with users. Fails if this machine cannot hold that
/// many.
pub fn assign_processes(
    topology: &Topology,
    grouping: Grouping,
    machine: &Machine,
) -> Result<Vec<Vec<Party>>, Failure> {
    let (sites, users) = sites_and_users(topology);
    let groups = form_groups(&sites, &users, &grouping).and_then(|groups| {
        machine.check(groups.len(), &sites, &users, &grouping)?;
        Ok(groups)
    });
    groups.map_err(Failure::Input)
}

/// Default limit of the number of processes: with more, starting and connecting them costs more than it gains on one
/// machine.
pub const USUAL_PROCESSES: usize = 16;

/// Largest number of sites and users that share processes by default. More take so long to join that the user has to
/// choose.
const USUAL_MEMBERS: usize = 1_024;

/// The default: a process for each site and user of a small or a very large grid, [`USUAL_PROCESSES`] for one between.
pub fn usual_grouping(topology: &Topology) -> Grouping {
    let (sites, users) = sites_and_users(topology);
    let members = sites.len() + users.len();
    let few = Grouping::Processes(USUAL_PROCESSES);
    let may_share = (USUAL_PROCESSES + 1..=USUAL_MEMBERS).contains(&members);
    if may_share && form_groups(&sites, &users, &few).is_ok() { few } else { Grouping::Each(1) }
}

pub fn sites_and_users(topology: &Topology) -> (Vec<Party>, Vec<Party>) {
    Roster::of_topology(topology).parties().into_iter().partition(|party| matches!(party, Party::Site(_)))
}

fn form_groups(sites: &[Party], users: &[Party], grouping: &Grouping) -> Result<Vec<Vec<Party>>, String> {
    let groups: Vec<Vec<Party>> = match *grouping {
        Grouping::As(ref groups) => groups.clone(),
        Grouping::Each(size) => {
            let size = size.max(1);
            sites.chunks(size).chain(users.chunks(size)).map(<[Party]>::to_vec).collect()
        }
        Grouping::Processes(processes) => {
            let kinds = [sites, users].iter().filter(|kind| !kind.is_empty()).count();
            if processes < kinds {
                return Err("sites and users never share a process: expected --processes 2 or more".to_owned());
            }
            // Each kind gets its share of the processes, rounded, but at least one.
            let all = (sites.len() + users.len()).max(1);
            let share = (processes * sites.len() + all / 2) / all;
            let most = if users.is_empty() { processes } else { processes - 1 };
            let for_sites = share.clamp(usize::from(!sites.is_empty()), most);
            [cut_evenly(sites, for_sites), cut_evenly(users, processes - for_sites)].concat()
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

/// Cuts into this many pieces, or one per member if there are fewer, whose lengths differ by one at most.
pub fn cut_evenly(parties: &[Party], pieces: usize) -> Vec<Vec<Party>> {
    let pieces = pieces.min(parties.len());
    let edge = |piece: usize| piece * parties.len() / pieces;
    (0..pieces).map(|piece| parties[edge(piece)..edge(piece + 1)].to_vec()).collect()
}

impl Machine {
    /// Limits of this machine, as far as they can be found out. Raises the limit of open files.
    pub fn this_machine() -> Machine {
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

    /// The resource that allows the fewest processes, for a grid of this many sites and users.
    fn tightest_limit(&self, parties: usize) -> MachineLimit {
        let each = BYTES_PER_PROCESS + BYTES_PER_PARTY * parties as u64;
        let cores = self.cores as u64;
        let by_cores = MachineLimit {
            processes: cores * PROCESSES_PER_CORE,
            why: format!("with {} it would start {PROCESSES_PER_CORE} per core at most", format_counted(cores, "core")),
            remedy: None,
        };
        let by_memory = self.memory.map(|free| MachineLimit {
            processes: free / each,
            why: format!("{:.1} GB of memory is free", free as f64 / 1e9),
            remedy: None,
        });
        let by_threads = self.threads.map(|left| MachineLimit {
            processes: left / THREADS_PER_PROCESS,
            why: format!("its control group may start {} more (pids.max)", format_counted(left, "thread")),
            remedy: Some("raise pids.max"),
        });
        let limits = [Some(self.by_files()), by_threads, by_memory].into_iter().flatten();
        limits.fold(by_cores, |tightest, limit| if limit.processes < tightest.processes { limit } else { tightest })
    }

    fn by_files(&self) -> MachineLimit {
        MachineLimit {
            processes: self.files.saturating_sub(FILES_BESIDES) / FILES_PER_PROCESS,
            why: format!("a process may have only {} (ulimit -Hn)", format_counted(self.files, "open file")),
            remedy: Some(
                "raise the hard limit (as root: ulimit -n 4096; for good: nofile in /etc/security/limits.conf, or \
                 LimitNOFILE= of a service)",
            ),
        }
    }

    fn check(&self, members: usize, sites: &[Party], users: &[Party], grouping: &Grouping) -> Result<(), String> {
        let processes = members as u64 + 1;
        // An explicit number of processes is taken at the user's risk, unless the launcher cannot hold their pipes.
        let is_explicit = !matches!(grouping, Grouping::Each(_));
        let limit = if is_explicit { self.by_files() } else { self.tightest_limit(sites.len() + users.len()) };
        if processes <= limit.processes {
            return Ok(());
        }
        let mut ways: Vec<String> = limit.remedy.iter().map(|remedy| (*remedy).to_owned()).collect();
        // A run that is resumed keeps its processes.
        if !matches!(grouping, Grouping::As(_)) {
            let room = usize::try_from(limit.processes.saturating_sub(1)).unwrap_or(usize::MAX);
            // Few processes are best, but a certificate may not hold the names that each of them would have.
            let few = std::iter::successors(Some(self.cores * ADVISED_PER_CORE), |few| few.checked_mul(2));
            let mut few = few.take_while(|few| *few < room).chain([room]);
            if let Some(advised) = few.find(|few| form_groups(sites, users, &Grouping::Processes(*few)).is_ok()) {
                ways.push(format!("let sites and users share processes with --processes {advised}"));
            }
            ways.push("run everything in one process with --inline".to_owned());
            if !is_explicit && processes <= self.by_files().processes {
                ways.push(format!("force it with --processes {members}"));
            }
        }
        let ways = ways.join(", or ");
        let holds = match limit.processes {
            0 => "none".to_owned(),
            holds => format!("only {holds}"),
        };
        Err(format!(
            "this run needs {processes} processes, but this machine can hold {holds} of them, because {}: {ways}",
            limit.why
        ))
    }
}

/// A resource of the machine that limits the number of processes.
struct MachineLimit {
    /// Processes that fit, with the router.
    processes: u64,
    why: String,
    /// The way to raise the limit, if there is one.
    remedy: Option<&'static str>,
}

fn free_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// The least that our control group and those above it leave of a resource.
fn left_in_groups(limit: &str, used: &str) -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let ours = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let folder: PathBuf = root.join(ours);
    folder
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .filter_map(|folder| Some(read_limit(folder.join(limit))?.saturating_sub(read_limit(folder.join(used))?)))
        .min()
}

fn read_limit(path: PathBuf) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
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

    fn sizes(sites_count: usize, users_count: usize, grouping: Grouping) -> Vec<usize> {
        let sites = sites(sites_count);
        let users = users(users_count);
        let groups = form_groups(&sites, &users, &grouping).unwrap();
        assert_eq!(groups.concat(), [sites, users].concat());
        groups.iter().map(Vec::len).collect()
    }

    #[test]
    fn processes_share_out_who_there_is() {
        assert_eq!(sizes(4, 3, Grouping::Each(1)), [1; 7]);
        let usual = |sites: u32, users: u32| {
            let text = format!(
                "name = \"usual\"\n[batch]\n[[site]]\nname = \"s-{{}}\"\ncount = {sites}\ncores = 1\n\
                 [[user]]\nname = \"u-{{}}\"\ncount = {users}\n[[workload]]\nsource = \"lublin\"\njobs = 1\n"
            );
            usual_grouping(
                &hansa_sim::topology::read_topology("usual.toml", &[], &mut |_| Ok(text.clone().into_bytes()))
                    .unwrap()
                    .topology,
            )
        };
        assert_eq!(usual(10, 6), Grouping::Each(1));
        assert_eq!(usual(10, 7), Grouping::Processes(USUAL_PROCESSES));
        assert_eq!(usual(1, 1_023), Grouping::Processes(USUAL_PROCESSES));
        assert_eq!(usual(1, 1_024), Grouping::Each(1));
        assert_eq!(sizes(4, 3, Grouping::Each(3)), [3, 1, 3]);
        assert_eq!(sizes(4, 3, Grouping::Processes(2)), [4, 3]);
        assert_eq!(sizes(4, 1000, Grouping::Processes(4)), [4, 333, 333, 334]);
        assert_eq!(sizes(1000, 4, Grouping::Processes(4)), [333, 333, 334, 4]);
        assert_eq!(sizes(5, 0, Grouping::Processes(2)), [2, 3]);
        // No process is left without members.
        assert_eq!(sizes(2, 1, Grouping::Processes(50)), [1; 3]);
    }

    #[test]
    fn one_process_cannot_play_everything() {
        let message = form_groups(&sites(1), &users(1), &Grouping::Processes(1)).unwrap_err();
        assert!(message.contains("--processes 2"), "{message}");
        let message = form_groups(&sites(1), &users(100_000), &Grouping::Processes(8)).unwrap_err();
        assert!(message.contains("one process cannot play") && message.contains("--processes"), "{message}");
        assert_eq!(sizes(1, 100_000, Grouping::Processes(101)).len(), 101);
    }

    #[test]
    fn a_machine_holds_what_its_memory_cores_and_files_allow() {
        let holds = |machine: Machine, parties| machine.tightest_limit(parties).processes;
        assert_eq!(holds(HERE, 100), 1024);
        assert_eq!(holds(Machine { memory: Some(1 << 30), ..HERE }, 0), 128);
        // Every process knows all sites and users.
        assert_eq!(holds(Machine { memory: Some(1 << 30), ..HERE }, 8 << 10), 64);
        assert_eq!(holds(Machine { threads: Some(600), ..HERE }, 0), 100);
        assert_eq!(holds(Machine { files: 232, ..HERE }, 0), 100);
        assert_eq!(holds(Machine { memory: None, ..HERE }, 1 << 20), 1024);
    }

    #[test]
    fn too_many_processes_are_an_error_unless_told_otherwise() {
        let none = users(0);
        let many = sites(100_001);
        assert_eq!(HERE.check(1023, &many[..1023], &none, &Grouping::Each(1)), Ok(()));
        let message = HERE.check(100_001, &many, &none, &Grouping::Each(1)).unwrap_err();
        for word in ["100002 processes", "17.2 GB of memory", "--inline", "force it with --processes 100001"] {
            assert!(message.contains(word), "{message}");
        }
        assert_eq!(HERE.check(100_001, &many, &none, &Grouping::Processes(100_001)), Ok(()));
        let few_files = Machine { files: 1024, ..HERE };
        let message = few_files.check(2000, &many[..2000], &none, &Grouping::Processes(2000)).unwrap_err();
        assert!(message.contains("1,024 open files (ulimit -Hn)") && !message.contains("force"), "{message}");
    }

    #[test]
    fn what_is_advised_is_then_accepted() {
        let sites = sites(40);
        let users = users(3);
        for files in 0..120 {
            let machine = Machine { files, ..HERE };
            let Err(message) = machine.check(43, &sites, &users, &Grouping::Each(1)) else {
                assert!(files >= 120, "{files} files are too few");
                continue;
            };
            assert!(message.contains("ulimit -n 4096") && message.contains("--inline"), "{message}");
            assert!(!message.contains("force"), "a launcher cannot hold so many pipes: {message}");
            let advised = message.split_once("--processes ").map(|(_, rest)| rest.split_once(',').unwrap().0);
            // The router, a process for sites and one for users need 38 files.
            assert_eq!(advised.is_some(), files >= 38, "{message}");
            if let Some(advised) = advised {
                let grouping = Grouping::Processes(advised.parse().unwrap());
                let members = form_groups(&sites, &users, &grouping).unwrap().len();
                assert_eq!(machine.check(members, &sites, &users, &grouping), Ok(()), "{message}");
            }
        }
        let resumed = Machine { files: 64, ..HERE }.check(43, &sites, &users, &Grouping::As(Vec::new())).unwrap_err();
        assert!(resumed.contains("ulimit -n 4096") && !resumed.contains("--processes"), "{resumed}");
    }

    #[test]
    fn this_machine_has_something() {
        let here = Machine::this_machine();
        assert!(here.cores >= 1 && here.files >= 64, "{here:?}");
    }
}
