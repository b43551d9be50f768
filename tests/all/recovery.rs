//! Processes that are killed and restarted: for any process and any moment, the run continues and ends with the digest
//! of an undisturbed run.
//!
//! `HANSA_KILLS=200 cargo test --test all recovery` kills for longer than CI does.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::faults::{children, no_children_left, process_of};
use crate::grid::{HANSA, Machines, Process, Scratch, digest, hansa, hansa_ok, json, long_topology, shipped, text};
use crate::skip::skip;

pub const SOON: Duration = Duration::from_secs(120);
pub const BEGUN: &str = "the run begins";
const EVERYBODY: [&str; 5] = ["york", "durham", "leeds", "alice", "bob"];

/// Upper bound of the size of the head of these journals, in bytes.
const HEAD_MAX: u64 = 4000;

/// A run of a few seconds, with a source of random moments.
pub struct World {
    pub scratch: Scratch,
    chance: u64,
}

impl World {
    pub fn new(chance: u64) -> World {
        let scratch = Scratch::new();
        scratch.file("grid.toml", &long_topology().replace("jobs = 40000", "jobs = 700"));
        World { scratch, chance }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % below
    }

    /// The digest that all of them must have.
    pub fn untouched(&self) -> String {
        let topology = self.scratch.path("grid.toml");
        let out = self.scratch.path("untouched");
        hansa_ok(&["run".as_ref(), topology.as_os_str(), "--inline".as_ref(), "--out".as_ref(), out.as_os_str()]);
        digest(&out)
    }

    /// Resumes the run with results in this folder.
    fn resume(&self, name: &str) -> Process {
        self.resume_with(name, &[])
    }

    fn resume_with(&self, name: &str, flags: &[&str]) -> Process {
        let mut command = Command::new(HANSA);
        command.arg("run").arg("--resume").arg(self.scratch.path(name)).args(flags);
        Process::start("the launcher", &mut command)
    }

    /// Lets the run go on until a random moment or its end.
    fn some_time(&mut self, run: &Process, most: u64) {
        run.await_one_of(&[BEGUN, "the run goes on"]);
        std::thread::sleep(Duration::from_millis(self.draw(most)));
    }

    pub fn launch(&self, name: &str, flags: &[&str]) -> Process {
        let mut command = Command::new(HANSA);
        command.arg("run").arg(self.scratch.path("grid.toml")).arg("--out").arg(self.scratch.path(name)).args(flags);
        Process::start("the launcher", &mut command)
    }
}

pub fn kill(id: u32) {
    // It may have ended by itself.
    let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
}

pub fn holds_no_journal(out: &Path) {
    assert!(!out.join("journal").exists());
    let beside = std::fs::read_dir(out.parent().unwrap()).unwrap().flatten();
    let left: Vec<_> =
        beside.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("partial")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Number of runs with kills.
fn rounds(usual: u64) -> u64 {
    std::env::var("HANSA_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(usual)
}

#[test]
fn sites_and_users_that_are_killed_again_and_again_change_nothing() {
    let mut world = World::new(7);
    let untouched = world.untouched();
    for round in 0..rounds(2) {
        // Also several members in one process.
        let shared: &[&str] =
            if round % 2 == 1 { &["--processes", "3", "--restarts", "9"] } else { &["--restarts", "9"] };
        let mut launcher = world.launch("out", shared);
        launcher.await_text(BEGUN);
        let id = launcher.child.id();
        let mut killed = Vec::new();
        for _ in 0..2 + world.draw(3) {
            std::thread::sleep(Duration::from_millis(world.draw(700)));
            let name = EVERYBODY[world.draw(5) as usize];
            if let Some(victim) = process_of(id, name) {
                kill(victim);
                killed.push(name);
            }
        }
        let (code, printed) = launcher.end(SOON);
        assert_eq!(code, Some(0), "round {round}, killed {killed:?}: {printed}");
        assert_eq!(digest(&world.scratch.path("out")), untouched, "round {round}, killed {killed:?}: {printed}");
        no_children_left(id);
        holds_no_journal(&world.scratch.path("out"));
    }
}

#[test]
fn a_site_that_is_killed_is_named_and_is_back() {
    let world = World::new(1);
    let mut launcher = world.launch("out", &["--set", "workload.0.jobs=6000"]);
    launcher.await_text(BEGUN);
    std::thread::sleep(Duration::from_millis(500));
    kill(process_of(launcher.child.id(), "york").unwrap());
    launcher.await_text("lost site york at virtual time");
    launcher.await_text(": its process was killed by signal 9; waiting up to 60 s for it to come back");
    launcher.await_text("site york is back after");
    launcher.signal("INT");
    assert_eq!(launcher.end(SOON).0, Some(130));
}

/// An external program is restarted with its process, and is asked the same questions again. A program that then
/// answers differently is detected.
#[test]
fn external_programs_return_with_their_processes() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("there is no python3 here");
    }
    let mut world = World::new(5);
    for name in ["foreign-site.toml", "manager.py", "planner.py"] {
        world.scratch.file(name, &std::fs::read_to_string(shipped(name)).unwrap());
    }
    let topology = world.scratch.path("foreign-site.toml");
    let jobs = "workload.0.jobs=3000";
    let flags = ["--set", jobs, "--inline", "--out"];
    hansa_ok(
        &[&["run", topology.to_str().unwrap()], &flags[..], &[world.scratch.path("untouched").to_str().unwrap()]]
            .concat(),
    );
    let untouched = digest(&world.scratch.path("untouched"));
    let start = |world: &World| {
        let mut command = Command::new(HANSA);
        command.arg("run").arg(&topology).args(["--set", jobs, "--out"]).arg(world.scratch.path("out"));
        let launcher = Process::start("the launcher", &mut command);
        launcher.await_text(BEGUN);
        launcher
    };
    let mut launcher = start(&world);
    for name in ["york", "alice"] {
        gets_on(&world);
        std::thread::sleep(Duration::from_millis(world.draw(100)));
        kill(process_of(launcher.child.id(), name).unwrap());
        launcher.await_text(" is back after");
    }
    launcher.end_with(0, SOON);
    assert_eq!(digest(&world.scratch.path("out")), untouched);

    let manager = std::fs::read_to_string(shipped("manager.py")).unwrap();
    let moody = manager.replace("import sys\n", "import sys\nimport random\n");
    let rejects = "    orders = []\n    if queue and random.random() < 0.5:\n        orders.append({'order': 'reject', 'job': queue.pop(0)})\n";
    let moody = moody.replace("    orders = []\n", rejects);
    assert!(moody.contains("reject', ") && moody.contains("import random"));
    world.scratch.file("manager.py", &moody);
    let mut launcher = start(&world);
    gets_on(&world);
    kill(process_of(launcher.child.id(), "york").unwrap());
    let printed = launcher.end_with(5, SOON);
    assert!(printed.contains("site york is not deterministic"), "{printed}");
}

/// A process that fails at every start does not hold the others up forever.
#[test]
fn restarts_of_a_process_are_limited() {
    let world = World::new(2);
    let mut launcher = world.launch("out", &["--set", "workload.0.jobs=40000", "--restarts", "1"]);
    launcher.await_text(BEGUN);
    std::thread::sleep(Duration::from_millis(300));
    let id = launcher.child.id();
    kill(process_of(id, "durham").unwrap());
    launcher.await_text("site durham is back after");
    kill(process_of(id, "durham").unwrap());
    let printed = launcher.end_with(3, SOON);
    assert!(printed.contains("signal 9"), "{printed}");
    no_children_left(id);
}

/// Waits until the journal of the run has grown a little.
fn gets_on(world: &World) {
    let length = || {
        let journal = left(&world.scratch.path("out")).map(|folder| folder.join("journal"));
        journal.and_then(|journal| std::fs::metadata(journal).ok()).map_or(0, |file| file.len())
    };
    let begun = Instant::now();
    let goal = length() + 20_000;
    while length() < goal {
        assert!(begun.elapsed() < SOON, "the run does not get on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Partial results of a run.
fn left(out: &Path) -> Option<std::path::PathBuf> {
    let beside = std::fs::read_dir(out.parent().unwrap()).unwrap().flatten().map(|entry| entry.path());
    let stand_ins = format!("{}.partial-", out.file_name().unwrap().to_string_lossy());
    beside.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with(&stand_ins))
}

/// Waits until the journal of the run has its beginning; returns its folder.
pub fn has_a_journal(out: &Path) -> std::path::PathBuf {
    let begun = Instant::now();
    loop {
        if let Some(folder) = left(out)
            && std::fs::metadata(folder.join("journal")).is_ok_and(|file| file.len() > HEAD_MAX)
        {
            return folder;
        }
        assert!(begun.elapsed() < SOON, "there is no journal");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// As in a power failure: kills the launcher and all its processes at once.
fn kill_all(mut launcher: Process) {
    let id = launcher.child.id();
    let all = children(id);
    launcher.child.kill().unwrap();
    all.into_iter().for_each(kill);
    launcher.child.wait().unwrap();
    no_children_left(id);
}

#[test]
fn a_run_goes_on_after_everything_was_killed_twice() {
    let mut world = World::new(11);
    let untouched = world.untouched();
    let out = world.scratch.path("out");
    for round in 0..rounds(2) {
        let first = world.launch("out", if round % 2 == 1 { &["--processes", "2"] } else { &[] });
        world.some_time(&first, 900);
        kill_all(first);
        // A run on a fast machine is over.
        if let Some(left) = left(&out) {
            let journal = left.join("journal");
            let length = std::fs::metadata(&journal).unwrap().len();
            // The disk has not written all of it, or has corrupted it.
            let file = std::fs::File::options().write(true).open(&journal).unwrap();
            // The head of the journal is needed.
            let cut = length - world.draw(length.saturating_sub(HEAD_MAX) / 4 + 1);
            file.set_len(cut).unwrap();
            file.set_len(cut + world.draw(3) * 1000).unwrap();
            let second = world.resume("out");
            world.some_time(&second, 500);
            kill_all(second);
        }
        if left(&out).is_some() {
            let (code, printed) = world.resume("out").end(SOON);
            assert_eq!(code, Some(0), "round {round}: {printed}");
        }
        assert_eq!(digest(&out), untouched, "round {round}");
        holds_no_journal(&out);
    }
}

pub fn router_of(launcher: &Process) -> Option<u32> {
    children(launcher.child.id()).into_iter().find(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"router")
    })
}

#[test]
fn a_router_that_is_killed_is_started_again_by_its_launcher() {
    let world = World::new(13);
    let untouched = world.untouched();
    let out = world.scratch.path("out");
    let mut launcher = world.launch("out", &["--restarts", "2"]);
    launcher.await_text(BEGUN);
    has_a_journal(&out);
    let killed = Instant::now();
    kill(router_of(&launcher).unwrap());
    launcher.await_text("the router was killed by signal 9: it is started again from its journal");
    launcher.await_text("the run goes on");
    // It tells its members that it does not know them, instead of being silent until they give up.
    let silence = hansa_run::quic::QuicOptions::default().idle_timeout;
    assert!(killed.elapsed() < silence, "{:?}", killed.elapsed());
    let printed = launcher.end_with(0, SOON);
    assert_eq!(digest(&out), untouched, "{printed}");
    holds_no_journal(&out);

    // Restarts are limited.
    let mut launcher = world.launch("again", &["--set", "workload.0.jobs=40000", "--restarts", "1"]);
    launcher.await_text(BEGUN);
    has_a_journal(&world.scratch.path("again"));
    let id = launcher.child.id();
    kill(router_of(&launcher).unwrap());
    launcher.await_text("the run goes on");
    kill(router_of(&launcher).unwrap());
    let printed = launcher.end_with(3, SOON);
    assert!(printed.contains("resume with: hansa run --resume"), "{printed}");
    no_children_left(id);
}

#[test]
fn a_member_that_is_killed_while_others_join_is_named_and_returns() {
    let world = World::new(17);
    let mut launcher = world.launch("out", &[]);
    let id = launcher.child.id();
    let wait_for = |name: &str| loop {
        if let Some(found) = process_of(id, name) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    // Nothing begins until bob continues, so york has joined before.
    let bob = wait_for("bob");
    let signal = |signal: &str| _ = Command::new("kill").args([signal, &bob.to_string()]).status();
    signal("-STOP");
    std::thread::sleep(Duration::from_secs(1));
    kill(wait_for("york"));
    launcher.await_text(
        "lost site york before the run began: its process was killed by signal 9; waiting for it to come back",
    );
    std::thread::sleep(Duration::from_millis(500));
    signal("-CONT");
    let printed = launcher.end_with(0, SOON);
    assert_eq!(digest(&world.scratch.path("out")), world.untouched(), "{printed}");
}

#[test]
fn flags_about_lost_processes_are_refused_where_none_can_come_back() {
    let world = World::new(19);
    let topology = world.scratch.path("grid.toml");
    for (flags, named) in [
        (["--inline", "--patience", "5s"], "'--patience <TIME>'"),
        (["--live=1", "--restarts", "2"], "'--restarts <N>'"),
        (["--live=1", "--patience", "5s"], "'--patience <TIME>'"),
    ] {
        let refused = hansa(&["run", topology.to_str().unwrap(), flags[0], flags[1], flags[2]]);
        let printed = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{printed}");
        assert!(printed.contains("cannot be used with") && printed.contains(named), "{printed}");
    }
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let mut world = World::new(5);
    let untouched = world.untouched();
    let out = world.scratch.path("out");
    let mut first = world.launch("out", &[]);
    world.some_time(&first, 40);
    first.signal("INT");
    let printed = first.end_with(130, SOON);
    assert!(printed.contains(&format!("resume with: hansa run --resume {}", out.display())), "{printed}");
    assert!(json(&out.join("manifest.json"))["status"].as_str().unwrap().starts_with("partial"));

    // Its router dies, which is reported, and the run is left as it is.
    let mut second = world.resume_with("out", &["--restarts", "0"]);
    second.await_text("the run goes on");
    kill(router_of(&second).unwrap());
    let printed = second.end_with(3, SOON);
    assert!(printed.contains("resume with: hansa run --resume"), "{printed}");
    let (code, printed) = world.resume("out").end(SOON);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(digest(&out), untouched);
    holds_no_journal(&out);

    let again = hansa(&["run".as_ref(), "--resume".as_ref(), out.as_os_str()]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text(&again.stderr).contains("there is nothing to resume: the run in it is complete"),
        "{}",
        text(&again.stderr)
    );
}

#[test]
fn a_router_that_is_killed_goes_on_while_the_others_wait() {
    let mut world = World::new(3);
    let untouched = world.untouched();
    let topology = long_topology().replace("jobs = 40000", "jobs = 700");
    let mut machines = Machines::router(&topology, &[]);
    machines.start(&["york.site", "durham.site", "leeds.site", "alice.user", "bob.user"]);
    for round in 0..2 {
        machines.router.await_one_of(&[BEGUN, "the run goes on"]);
        // When there is a journal, and before the run can be over.
        std::thread::sleep(Duration::from_millis(20 + world.draw(100)));
        kill(machines.router.child.id());
        if round == 1 {
            // A machine is lost too, with everything except topology and identity.
            machines.members[2].child.kill().unwrap();
            machines.start(&["leeds.site"]);
        }
        machines.router = machines.go_on();
    }
    let printed = machines.router.end_with(0, SOON);
    assert_eq!(digest(&machines.out()), untouched, "{printed}");
    for member in [0, 1, 3, 4, 5] {
        let (code, printed) = machines.members[member].end(SOON);
        assert_eq!(code, Some(0), "{}: {printed}", machines.members[member].label);
    }
}

/// A bidder or an allocator is killed, or the run is interrupted, at random moments: nothing that the router does
/// without an answer may get into its journal, or a resumed run, which asks the same questions again, contradicts it.
#[test]
fn a_router_whose_program_was_lost_goes_on_where_it_was() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("there is no python3 here");
    }
    let mut world = World::new(23);
    for (topology, program, size) in [
        ("foreign-allocator.toml", "allocator.py", "workload.0.requests=3000"),
        ("foreign-bidder.toml", "bidder.py", "workload.0.jobs=1000"),
    ] {
        for name in [topology, program] {
            world.scratch.file(name, &std::fs::read_to_string(shipped(name)).unwrap());
        }
        let command = |out: &Path, flags: &[&str]| {
            let mut command = Command::new(HANSA);
            command.arg("run").arg(world.scratch.path(topology)).args(["--set", size, "--out"]).arg(out).args(flags);
            command
        };
        let untouched = world.scratch.path("untouched");
        let out = world.scratch.path("out");
        assert!(command(&untouched, &["--inline"]).output().unwrap().status.success());
        let expected = digest(&untouched);
        let starts: Vec<Command> = (0..rounds(3)).map(|_| command(&out, &[])).collect();
        let mut resumed = 0;
        for (round, mut start) in starts.into_iter().enumerate() {
            let mut launcher = Process::start("the launcher", &mut start);
            launcher.await_text(BEGUN);
            has_a_journal(&out);
            std::thread::sleep(Duration::from_millis(world.draw(150)));
            let dies = round % 2 == 0;
            if !dies {
                launcher.signal("INT");
            } else if let Some(victim) = router_of(&launcher).and_then(|router| child_with(router, program)) {
                kill(victim);
            }
            let (code, printed) = launcher.end(SOON);
            // A fast run may be over by then.
            if code != Some(0) {
                assert_eq!(code, Some(if dies { 8 } else { 130 }), "{topology}, round {round}: {printed}");
                assert!(printed.contains("resume with: hansa run --resume"), "{topology}, round {round}: {printed}");
                let (code, printed) = world.resume("out").end(SOON);
                assert_eq!(code, Some(0), "{topology}, round {round}: {printed}");
                resumed += 1;
            }
            assert_eq!(digest(&out), expected, "{topology}, round {round}");
            holds_no_journal(&out);
        }
        assert!(resumed > 0, "all runs of {topology} were over too soon");
    }
}

/// The child process with this word in its command line.
fn child_with(parent: u32, word: &str) -> Option<u32> {
    let ids = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    let has_word = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        text(&line).contains(word)
    };
    ids.split_whitespace().filter_map(|id| id.parse().ok()).find(has_word)
}
