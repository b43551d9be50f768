//! Slurm with one node, this machine: its daemons, with all files in a folder of the test.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::grid::{Scratch, text};

pub struct Slurm {
    scratch: Scratch,
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts it; an error tells why it cannot be started.
    pub fn start() -> Result<Slurm, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch", "srun"] {
            if find(program).is_none() {
                return Err(format!("there is no {program} here (Debian: slurmctld slurmd slurm-client munge)"));
            }
        }
        if !rustix::process::geteuid().is_root() {
            return Err("the daemons of Slurm are started by root".to_owned());
        }
        let mut slurm = Slurm { scratch: Scratch::new(), daemons: Vec::new() };
        slurm.begin().map(|()| slurm)
    }

    fn begin(&mut self) -> Result<(), String> {
        // Munge requires that only its owner may write to the folder of its socket, and that all users can reach it.
        let munge = self.scratch.path("munge");
        for folder in [self.scratch.path(""), munge.clone()] {
            std::fs::create_dir_all(&folder).unwrap();
            open_to_all(&folder);
        }
        for folder in ["state", "spool"] {
            std::fs::create_dir(self.scratch.path(folder)).unwrap();
        }
        let key = self.scratch.file("munge/key", &"a key that is long enough for a test ".repeat(8));
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();
        let at = |name: &str| munge.join(name).display().to_string();
        let files = [
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        ];
        let flags: Vec<String> = files.iter().map(|(flag, name)| format!("--{flag}={}", at(name))).collect();
        self.daemon("munged", &[&["--force".to_owned(), "--foreground".to_owned()], &flags[..]].concat());
        wait_for("munged", || Path::new(&at("socket")).exists())?;

        let host = text(&Command::new("hostname").output().unwrap().stdout).trim().to_owned();
        let one = free_port();
        let two = free_port();
        let here = self.scratch.path("");
        let configuration = self.scratch.file(
            "slurm.conf",
            &format!(
                "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
                 AuthInfo=socket={socket}\nSlurmctldPort={one}\nSlurmdPort={two}\nStateSaveLocation={here}/state\n\
                 SlurmdSpoolDir={here}/spool\nSlurmctldPidFile={here}/slurmctld.pid\nSlurmdPidFile={here}/slurmd.pid\n\
                 ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
                 SlurmdParameters=config_overrides\nReturnToService=2\nSelectType=select/cons_tres\n\
                 SelectTypeParameters=CR_CPU\nSchedulerParameters=sched_interval=1,bf_interval=1\n\
                 JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
                 NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN\n\
                 PartitionName=main Nodes=ALL Default=YES MaxTime=10 State=UP\n",
                socket = at("socket"),
                here = here.display().to_string().trim_end_matches('/'),
            ),
        );
        let configuration = configuration.display().to_string();
        self.daemon("slurmctld", &["-D".to_owned(), "-c".to_owned(), "-f".to_owned(), configuration.clone()]);
        self.daemon("slurmd", &["-D".to_owned(), "-f".to_owned(), configuration]);
        wait_for("its node", || text(&self.call("sinfo", &["-h", "-o", "%t"]).stdout).trim() == "idle").map_err(
            |error| {
                let logs =
                    ["slurmctld", "slurmd"].map(|name| std::fs::read_to_string(self.scratch.path(name)).unwrap());
                format!("{error}: {}", logs.join("\n"))
            },
        )
    }

    fn daemon(&mut self, name: &str, flags: &[String]) {
        let log = std::fs::File::create(self.scratch.path(name)).unwrap();
        let mut command = Command::new(find(name).unwrap());
        command.args(flags).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    /// Calls one of its commands, or a script that does.
    pub fn call(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("SLURM_CONF", self.scratch.path("slurm.conf"))
            .current_dir(self.scratch.path("state"));
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// Waits until it has no jobs.
    pub fn is_done(&self) -> Result<(), String> {
        wait_for("the end of all jobs", || {
            let queue = self.call("squeue", &["-h"]);
            queue.status.success() && queue.stdout.is_empty()
        })
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        self.call("scancel", &["--state=RUNNING"]);
        // In this order no daemon waits for one that has ended.
        for daemon in self.daemons.iter_mut().rev() {
            if let Some(id) = rustix::process::Pid::from_raw(daemon.id() as i32) {
                let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
            }
            let begun = Instant::now();
            while daemon.try_wait().is_ok_and(|end| end.is_none()) && begun.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !done() {
        if begun.elapsed() > Duration::from_secs(60) {
            return Err(format!("Slurm: waited a minute for {what}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn find(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn open_to_all(folder: &Path) {
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}
