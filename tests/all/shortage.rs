//! Processes that run out of disk space or of open files: each failure is named as one of this machine, no honest
//! member is blamed for it, and a run that was under way can be resumed.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::grid::{HANSA, Machines, Process, ROUTER, SITE, Scratch, digest, hansa_ok, long_topology, shipped, text};
use crate::skip::skip;

const SOON: Duration = Duration::from_secs(60);

/// Runs a program under a limit of the shell, such as `-f 100`.
fn limited(limit: &str, program: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\""), program]);
    command
}

/// A run on a market whose journal is longer than its log.
fn run(command: &mut Command, out: &Path, flags: &[&str]) -> Output {
    command.arg("run").arg(shipped("market-paper.toml")).args(["--set", "workload.0.jobs=600", "--out"]).arg(out);
    command.args(flags).output().unwrap()
}

fn is_resumed_to_the_end(out: &Path, expected: &str) {
    hansa_ok(&["run".as_ref(), "--resume".as_ref(), out.as_os_str()]);
    assert_eq!(digest(out), expected);
}

#[test]
fn a_journal_that_cannot_be_written_is_no_fault_of_a_member() {
    let scratch = Scratch::new();
    let untouched = scratch.path("untouched");
    let out = scratch.path("out");
    assert!(run(&mut Command::new(HANSA), &untouched, &["--inline"]).status.success());
    let expected = digest(&untouched);
    // Blocks of 512 bytes.
    for limit in ["-f 200", "-f 400", "-f 600"] {
        let ended = run(&mut limited(limit, HANSA), &out, &[]);
        let printed = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(7), "{limit}: {printed}");
        let error = printed.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        assert!(
            error.contains("cannot write") && error.contains("the file size limit is exceeded"),
            "{limit}: {printed}"
        );
        assert!(printed.contains("resume with: hansa run --resume"), "{limit}: {printed}");
        is_resumed_to_the_end(&out, &expected);
    }
}

#[test]
fn a_full_disk_is_no_fault_of_a_member() {
    let scratch = Scratch::new();
    let untouched = scratch.path("untouched");
    let disk = scratch.path("disk");
    assert!(run(&mut Command::new(HANSA), &untouched, &["--inline"]).status.success());
    let expected = digest(&untouched);
    std::fs::create_dir(&disk).unwrap();
    let mount = |size: &str| {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", size, "tmpfs"]).arg(&disk).output();
        mounted.is_ok_and(|mounted| mounted.status.success())
    };
    for size in ["size=200k", "size=300k", "size=400k"] {
        if !mount(size) {
            return skip("a small file system cannot be mounted here");
        }
        let _unmounted = Mounted(&disk);
        let ended = run(&mut Command::new(HANSA), &disk.join("out"), &[]);
        let printed = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(7), "{size}: {printed}");
        assert!(
            printed.lines().any(|line| line.starts_with("error: cannot write") && line.ends_with(": the disk is full"))
        );
        assert!(printed.contains("resume with: hansa run --resume"), "{size}: {printed}");
        assert!(mount_larger(&disk), "{size}");
        is_resumed_to_the_end(&disk.join("out"), &expected);
    }
}

fn mount_larger(disk: &Path) -> bool {
    Command::new("mount").args(["-o", "remount,size=64m"]).arg(disk).status().unwrap().success()
}

/// A mounted file system, until it is dropped.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// A site that may have few open files fails by itself: the router waits for it, and blames no one.
#[test]
fn a_member_without_files_says_so() {
    let mut machines = Machines::router(&long_topology(), &["--join-within", "20"]);
    let identity = machines.scratch.path("identities").join("york.site");
    let mut codes = Vec::new();
    for files in 9..20 {
        let mut command = limited(&format!("-n {files}"), SITE);
        command.args(["--name", "york", "--router", &machines.address, "--join-within", "20"]);
        command.arg("--topology").arg(&machines.topology).arg("--identity").arg(&identity);
        let mut site = Process::start("york.site", &mut command);
        let begun = std::time::Instant::now();
        while site.child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(10));
        }
        if site.child.try_wait().unwrap().is_none() {
            // It has enough of them, and has joined.
            break;
        }
        let (code, printed) = site.end(SOON);
        // A topology that cannot be read is an input.
        assert!(
            matches!(code, Some(2 | 7)) && printed.to_lowercase().contains("too many open files"),
            "{files}: {code:?} {printed}"
        );
        codes.push(code);
    }
    assert!(codes.len() > 2 && !machines.router.has_printed("contradict"), "{codes:?}");
    machines.router.signal("INT");
    machines.router.end(SOON);
}

/// A router without files ends with its own failure.
#[test]
fn a_router_without_files_says_so() {
    let scratch = Scratch::new();
    let topology = scratch.file("topology.toml", &long_topology());
    let identities = scratch.path("identities");
    hansa_ok(&["certs".as_ref(), topology.as_os_str(), "--out".as_ref(), identities.as_os_str()]);
    for files in [9, 11, 13] {
        let mut command = limited(&format!("-n {files}"), ROUTER);
        command.arg("--topology").arg(&topology).arg("--identity").arg(identities.join("router"));
        command.args(["--bind", "127.0.0.1:0", "--join-within", "1", "--out"]).arg(scratch.path("out"));
        let ended = command.output().unwrap();
        let printed = text(&ended.stderr).to_lowercase();
        assert_eq!(ended.status.code(), Some(7), "{files}: {printed}");
        assert!(printed.contains("too many open files"), "{files}: {printed}");
    }
}

/// A member whose output cannot be written plays on.
#[test]
fn a_full_disk_under_the_output_of_a_member_costs_no_run() {
    let topology = long_topology().replace("jobs = 40000", "jobs = 40");
    let mut machines = Machines::router(&topology, &["--join-within", "60"]);
    let identities = machines.scratch.path("identities");
    machines.start(&["durham.site", "leeds.site", "alice.user", "bob.user"]);
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" > /dev/full", SITE, "--name", "york", "--router", &machines.address]);
    command.arg("--topology").arg(&machines.topology).arg("--identity").arg(identities.join("york.site"));
    let mut york = Process::start("york.site", &mut command);
    machines.router.end_with(0, SOON);
    york.end_with(0, SOON);
}
