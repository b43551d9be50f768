//! Processes that are killed at the edges of a run: before it begins, while its journal begins, when all others have
//! left, and when the results are in place.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::faults::{children, no_children_left, process_of};
use crate::grid::{HANSA, Machines, Process, digest, long_topology};
use crate::recovery::{BEGUN, SOON, World, has_a_journal, holds_no_journal, kill, router_of};

/// Numbers of jobs whose results take some tenths of a second to write; the larger ones are for fast machines.
const MANY: [&str; 3] = ["workload.0.jobs=2500", "workload.0.jobs=10000", "workload.0.jobs=40000"];
const TOO_QUICK: &str = "results are always there before their router can be killed";

/// Polls until there is an answer.
fn poll<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < SOON, "it never comes to that");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn signal(id: u32, signal: &str) {
    let _ = Command::new("kill").args([&format!("-{signal}"), &id.to_string()]).status();
}

fn untouched(world: &World, setting: &str) -> String {
    let out = world.scratch.path("untouched");
    let topology = world.scratch.path("grid.toml");
    let inline = ["--inline", "--set", setting, "--out"];
    let ran = Command::new(HANSA).arg("run").arg(topology).args(inline).arg(&out).output().unwrap();
    assert!(ran.status.success());
    digest(&out)
}

/// All members have sent their last frames and cannot be asked again. A router that has written everything before it is
/// killed is too fast: the test repeats with more to write.
#[test]
fn a_router_that_is_killed_when_all_others_have_left_needs_no_member() {
    let world = World::new(23);
    for many in MANY {
        let mut launcher = world.launch("out", &["--set", many]);
        launcher.await_text(BEGUN);
        let id = launcher.child.id();
        let router = router_of(&launcher).unwrap();
        poll(|| matches!(children(id)[..], [] | [_]).then_some(()));
        kill(router);
        let printed = launcher.end_with(0, SOON);
        let out = world.scratch.path("out");
        assert_eq!(digest(&out), untouched(&world, many), "{printed}");
        holds_no_journal(&out);
        no_children_left(id);
        if printed.contains("the router was killed by signal 9: it is started again from its journal") {
            assert!(printed.contains("the run was over at virtual time"), "{printed}");
            return;
        }
    }
    panic!("{TOO_QUICK}");
}

/// Like the test above, without a launcher.
#[test]
fn a_router_on_a_machine_of_its_own_writes_the_results_when_all_others_have_left() {
    let world = World::new(29);
    for many in MANY {
        let jobs = many.replace("workload.0.jobs=", "jobs = ");
        let topology = long_topology().replace("jobs = 40000", &jobs);
        let mut machines = Machines::router(&topology, &[]);
        machines.start(&["york.site", "durham.site", "leeds.site", "alice.user", "bob.user"]);
        machines.router.await_text(BEGUN);
        let members = &mut machines.members;
        poll(|| members.iter_mut().all(|member| member.child.try_wait().unwrap().is_some()).then_some(()));
        // Not by a program, which would take a while to start.
        machines.router.child.kill().unwrap();
        for member in &mut machines.members {
            assert_eq!(member.end(SOON).0, Some(0));
        }
        if machines.router.end(SOON).0 == Some(0) {
            continue;
        }
        machines.router = machines.go_on();
        let printed = machines.router.end_with(0, SOON);
        assert_eq!(digest(&machines.out()), untouched(&world, many), "{printed}");
        return;
    }
    panic!("{TOO_QUICK}");
}

/// Stops a member before it joins, so that nothing begins until it continues; also returns the folder of its results.
/// On a busy machine it may have joined before it is stopped: then it is tried again.
fn before_it_begins(world: &World) -> (Process, u32, PathBuf) {
    for attempt in 0..20 {
        let name = format!("out-{attempt}");
        let mut launcher = world.launch(&name, &[]);
        let id = launcher.child.id();
        let bob = poll(|| process_of(id, "bob"));
        signal(bob, "STOP");
        std::thread::sleep(Duration::from_secs(1));
        if !launcher.has_printed(BEGUN) {
            return (launcher, bob, world.scratch.path(&name));
        }
        signal(bob, "CONT");
        launcher.end(SOON);
    }
    panic!("bob always joins before he can be stopped");
}

#[test]
fn a_router_that_is_killed_before_the_run_begins_is_started_again() {
    let world = World::new(31);
    let (mut launcher, bob, out) = before_it_begins(&world);
    kill(router_of(&launcher).unwrap());
    launcher.await_text("the router was killed by signal 9: it is started again from the beginning");
    signal(bob, "CONT");
    let printed = launcher.end_with(0, SOON);
    assert_eq!(digest(&out), world.untouched(), "{printed}");
    holds_no_journal(&out);
}

/// The place of the results has an earlier journal, which belongs to another run.
#[test]
fn a_journal_whose_beginning_is_half_written_is_begun_anew() {
    let world = World::new(37);
    let out = world.scratch.path("out");
    let mut first = world.launch("out", &["--set", "workload.0.jobs=40000"]);
    first.await_text(BEGUN);
    std::thread::sleep(Duration::from_millis(300));
    first.signal("INT");
    assert_eq!(first.end(SOON).0, Some(130));
    assert!(out.join("journal").is_file());

    let mut launcher = world.launch("out", &[]);
    launcher.await_text(BEGUN);
    let router = router_of(&launcher).unwrap();
    let journal = has_a_journal(&out).join("journal");
    signal(router, "STOP");
    fs::File::options().write(true).open(&journal).unwrap().set_len(100).unwrap();
    kill(router);
    let printed = launcher.end_with(0, SOON);
    assert!(printed.contains("it is started again from the beginning"), "{printed}");
    assert_eq!(digest(&out), world.untouched(), "{printed}");
    holds_no_journal(&out);
}

#[test]
fn a_router_that_is_killed_again_before_it_listens_is_started_once_more() {
    let world = World::new(41);
    let mut launcher = world.launch("out", &["--set", "workload.0.jobs=3000", "--restarts", "5"]);
    launcher.await_text(BEGUN);
    has_a_journal(&world.scratch.path("out"));
    let mut router = router_of(&launcher).unwrap();
    kill(router);
    for _ in 0..4 {
        router = poll(|| router_of(&launcher).filter(|next| *next != router));
        kill(router);
    }
    let printed = launcher.end_with(0, SOON);
    assert_eq!(printed.matches("the router was killed by signal 9: it is started again").count(), 5, "{printed}");
    assert_eq!(digest(&world.scratch.path("out")), untouched(&world, "workload.0.jobs=3000"), "{printed}");

    // Restarts are limited, and the remains are usable.
    let mut launcher = world.launch("out", &["--set", "workload.0.jobs=40000", "--restarts", "1"]);
    launcher.await_text(BEGUN);
    has_a_journal(&world.scratch.path("out"));
    let router = router_of(&launcher).unwrap();
    kill(router);
    kill(poll(|| router_of(&launcher).filter(|next| *next != router)));
    let printed = launcher.end_with(3, SOON);
    assert!(printed.contains("resume with: hansa run --resume"), "{printed}");
}

#[test]
fn a_router_that_is_killed_when_the_results_are_in_their_place_has_done_its_work() {
    let world = World::new(43);
    let out = world.scratch.path("out");
    let expected = world.untouched();
    let folder = || fs::metadata(&out).map(|found| found.ino()).ok();
    let mut hit = 0;
    for _ in 0..8 {
        let before = folder();
        let mut launcher = world.launch("out", &[]);
        launcher.await_text(BEGUN);
        let router = rustix::process::Pid::from_raw(router_of(&launcher).unwrap() as i32).unwrap();
        let begun = Instant::now();
        while folder() == before || folder().is_none() {
            assert!(begun.elapsed() < SOON);
        }
        let _ = rustix::process::kill_process(router, rustix::process::Signal::KILL);
        let printed = launcher.end_with(0, SOON);
        assert_eq!(digest(&out), expected, "{printed}");
        holds_no_journal(&out);
        hit += u32::from(printed.contains("the router was killed by signal 9 after it had written the results"));
    }
    assert!(hit > 0, "no router was killed in time");
}

#[test]
fn a_router_that_is_stopped_before_it_listens_is_named() {
    let world = World::new(47);
    let mut launcher = world.launch("out", &[]);
    let router = poll(|| router_of(&launcher));
    signal(router, "STOP");
    let stopped = Instant::now();
    launcher.await_text(&format!("the router (process {router}) is stopped, as by SIGSTOP"));
    assert!(stopped.elapsed() < Duration::from_secs(8), "{:?}", stopped.elapsed());
    signal(router, "CONT");
    launcher.end_with(0, SOON);
}

/// The scheduler cannot be told to begin anew.
#[test]
fn a_site_whose_scheduler_was_running_before_is_not_waited_for() {
    let world = World::new(53);
    // Accepts connections and never answers.
    let scheduler = TcpListener::bind("127.0.0.1:0").unwrap();
    let topology = format!(
        "name = \"called\"\nseed = 1\n[batch]\n[[site]]\nname = \"york\"\ncores = 64\nscheduler = \"batsim\"\n\
         socket = \"tcp://{}\"\ntimeout = \"60 s\"\n[[user]]\nname = \"alice\"\n[[workload]]\nsource = \"lublin\"\njobs = 30\n\
         types = \"one\"\nnodes = 64\noverestimate = 2.0\n",
        scheduler.local_addr().unwrap()
    );
    world.scratch.file("grid.toml", &topology);
    let mut launcher = world.launch("out", &[]);
    launcher.await_text(BEGUN);
    kill(process_of(launcher.child.id(), "york").unwrap());
    let killed = Instant::now();
    let (code, printed) = launcher.end(SOON);
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?}: {printed}", killed.elapsed());
    assert_eq!(code, Some(3), "{printed}");
    assert!(printed.contains("lost site york at virtual time") && printed.contains("cannot begin anew"), "{printed}");
}

#[test]
fn a_router_that_is_stopped_for_ever_before_it_listens_is_given_up() {
    let world = World::new(59);
    let flags = ["--stall-after", "2s", "--patience", "2s"];
    let mut launcher = world.launch("out", &flags);
    signal(poll(|| router_of(&launcher)), "STOP");
    let stopped = Instant::now();
    let (code, printed) = launcher.end(SOON);
    assert!(stopped.elapsed() < Duration::from_secs(30), "{:?}", stopped.elapsed());
    assert_eq!(code, Some(4), "{printed}");
    assert!(printed.contains("does not listen yet: it was terminated"), "{printed}");
    no_children_left(launcher.child.id());

    // One signal is enough.
    let mut launcher = world.launch("out", &flags);
    signal(poll(|| router_of(&launcher)), "STOP");
    launcher.signal("TERM");
    launcher.end_with(130, Duration::from_secs(8));
    no_children_left(launcher.child.id());
}
