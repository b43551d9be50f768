//! Runs that fail: processes are really killed, stopped and interrupted. Each run ends with its exit code, names the
//! cause, and leaves neither orphans nor results that look complete.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::grid::{HANSA, Machines, Process, ROUTER, SITE, Scratch, json, long_topology};

const BEGUN: &str = "the run begins";
/// Long enough for the run to begin, short enough for it not to end.
const UNDER_WAY: Duration = Duration::from_millis(500);
const SOON: Duration = Duration::from_secs(30);
const EVERYBODY: [&str; 5] = ["york.site", "durham.site", "leeds.site", "alice.user", "bob.user"];

/// Processes of this launcher, identified by their command lines.
pub fn children(of: u32) -> Vec<u32> {
    let nest = format!("hansa-{of}-");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(&nest) {
            found.push(id);
        }
    }
    found
}

fn child_called(of: u32, name: &str) -> u32 {
    process_of(of, name).unwrap_or_else(|| panic!("no process plays {name}"))
}

/// Process of this launcher that plays this site or user, if there is one.
pub fn process_of(of: u32, name: &str) -> Option<u32> {
    let called = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&format!("--name\0{name}\0"))
    };
    children(of).into_iter().find(called)
}

fn launch(scratch: &Scratch, flags: &[&str]) -> (Process, PathBuf) {
    let topology = scratch.file("long.toml", &long_topology());
    let out = scratch.path("out");
    let mut command = Command::new(HANSA);
    command.arg("run").arg(&topology).arg("--out").arg(&out).args(flags);
    (Process::start("the launcher", &mut command), out)
}

pub fn no_children_left(of: u32) {
    let deadline = Instant::now() + SOON;
    while !children(of).is_empty() {
        assert!(Instant::now() < deadline, "orphans: {:?}", children(of));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn nothing_looks_complete(out: &Path) {
    let Ok(manifest) = std::fs::read(out.join("manifest.json")) else { return };
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert!(manifest["status"].as_str().unwrap().starts_with("partial"), "{manifest}");
}

#[test]
fn a_killed_site_is_named_and_ends_the_run() {
    let scratch = Scratch::new();
    let (mut launcher, out) = launch(&scratch, &["--restarts", "0"]);
    launcher.await_text(BEGUN);
    std::thread::sleep(UNDER_WAY);
    let id = launcher.child.id();
    let york = child_called(id, "york").to_string();
    assert!(Command::new("kill").args(["-KILL", &york]).status().unwrap().success());
    let killed = Instant::now();
    let (code, printed) = launcher.end(SOON);
    assert!(killed.elapsed() < Duration::from_secs(4), "it took {:?}: {printed}", killed.elapsed());
    assert_eq!(code, Some(3), "{printed}");
    assert!(printed.contains("lost site york at virtual time"), "{printed}");
    assert!(printed.contains("signal 9"), "{printed}");
    no_children_left(id);
    nothing_looks_complete(&out);
}

#[test]
fn a_killed_launcher_leaves_no_orphans() {
    let scratch = Scratch::new();
    let (mut launcher, out) = launch(&scratch, &[]);
    launcher.await_text(BEGUN);
    std::thread::sleep(UNDER_WAY);
    let id = launcher.child.id();
    assert!(children(id).len() >= 6, "router, sites and users run: {:?}", children(id));
    launcher.child.kill().unwrap();
    launcher.child.wait().unwrap();
    no_children_left(id);
    nothing_looks_complete(&out);
    let left = |folder: &Path, start: &str| {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(start)).count()
    };
    let parent = out.parent().unwrap();
    let stand_in = std::fs::read_dir(parent).unwrap().flatten().find(|entry| entry.file_name() != "long.toml").unwrap();
    let kept: Vec<_> = std::fs::read_dir(stand_in.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!((left(parent, "out"), kept), (1, vec!["journal".into()]), "no more than it takes to go on");
    assert_eq!(left(&std::env::temp_dir(), &format!("hansa-{id}-")), 0, "no keys");
}

#[test]
fn an_interrupted_run_keeps_partial_results_and_says_so() {
    let scratch = Scratch::new();
    let (mut launcher, out) = launch(&scratch, &[]);
    launcher.await_text(BEGUN);
    std::thread::sleep(UNDER_WAY);
    let id = launcher.child.id();
    launcher.signal("INT");
    let printed = launcher.end_with(130, SOON);
    no_children_left(id);
    assert!(printed.contains("interrupted"), "{printed}");
    let manifest = json(&out.join("manifest.json"));
    assert!(manifest["status"].as_str().unwrap().starts_with("partial: interrupted at virtual time"), "{manifest}");
    let summary = json(&out.join("summary.json"));
    assert!(summary["results"]["jobs"]["unfinished"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn an_interrupted_inline_run_keeps_partial_results_and_says_so() {
    let scratch = Scratch::new();
    let topology = scratch.file("long.toml", &long_topology().replace("40000", "150000"));
    let out = scratch.path("out");
    let mut command = Command::new(HANSA);
    command.arg("run").arg(&topology).arg("--inline").arg("--out").arg(&out);
    let mut run = Process::start("the run", &mut command);
    std::thread::sleep(UNDER_WAY);
    run.signal("INT");
    run.end_with(130, SOON);
    nothing_looks_complete(&out);
}

#[test]
fn a_silent_site_is_explained_as_a_stall() {
    let mut machines = Machines::router(&long_topology(), &["--stall-after", "2"]);
    machines.start(&EVERYBODY);
    machines.router.await_text(BEGUN);
    std::thread::sleep(UNDER_WAY);
    machines.members[1].signal("STOP");
    let (code, printed) = machines.router.end(SOON);
    machines.members[1].signal("CONT");
    assert_eq!(code, Some(4), "{printed}");
    assert!(printed.contains("no frame has moved for 2 s"), "{printed}");
    // On a slow machine the log has waited for it too, and it has been asked.
    let why = ["which has promised nothing from [", "which has sent its records before ["];
    assert!(why.iter().any(|why| printed.contains(&format!("it is waiting for site durham, {why}"))), "{printed}");
    assert!(printed.contains("last message to it: Run, due there at ["), "{printed}");
    assert!(printed.contains("last message from it: Ended"), "{printed}");
}

#[test]
fn a_router_that_is_stopped_for_ever_is_told_and_ended() {
    let scratch = Scratch::new();
    let topology = scratch.file("long.toml", &long_topology());
    let mut command = Command::new(HANSA);
    command
        .arg("run")
        .arg(&topology)
        .args(["--stall-after", "2", "--patience", "3s", "--out"])
        .arg(scratch.path("out"))
        // A slim image may lack the programs for it.
        .env("PATH", "/nowhere");
    let mut launcher = Process::start("the launcher", &mut command);
    launcher.await_text(BEGUN);
    let id = launcher.child.id();
    let plays_router = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"router")
    };
    let router = children(id).into_iter().find(plays_router).unwrap().to_string();
    assert!(Command::new("kill").args(["-STOP", &router]).status().unwrap().success());
    let begun = Instant::now();
    launcher.await_text("is stopped, as by SIGSTOP");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let printed = launcher.end_with(3, 2 * SOON);
    assert!(printed.contains("has done nothing for 10 s and is terminated"), "{printed}");
    no_children_left(id);
}

#[test]
fn a_process_that_cannot_be_started_is_reported_once() {
    let scratch = Scratch::new();
    let topology = scratch.file("long.toml", &long_topology());
    let program = scratch.path("hansa");
    let out = scratch.path("out");
    std::fs::copy(HANSA, &program).unwrap();
    let mut launcher =
        Process::start("the launcher", Command::new(&program).arg("run").arg(&topology).arg("--out").arg(&out));
    launcher.await_text(BEGUN);
    std::fs::remove_file(&program).unwrap();
    let id = launcher.child.id();
    let york = child_called(launcher.child.id(), "york");
    assert!(Command::new("kill").args(["-KILL", &york.to_string()]).status().unwrap().success());
    let printed = launcher.end_with(7, SOON);
    let errors: Vec<&str> = printed.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains("cannot start a process of the grid"), "{printed}");
    nothing_looks_complete(&out);
    no_children_left(id);
}

#[test]
fn a_killed_router_ends_all_members() {
    let mut machines = Machines::router(&long_topology(), &[]);
    machines.start_with(&EVERYBODY, &["--patience", "0"]);
    machines.router.await_text(BEGUN);
    std::thread::sleep(UNDER_WAY);
    machines.router.signal("KILL");
    machines.router.end(SOON);
    for member in &mut machines.members {
        let printed = member.end_with(3, SOON);
        assert!(printed.contains("lost the router at virtual time"), "{printed}");
    }
    nothing_looks_complete(&machines.out());
}

#[test]
fn a_grid_that_never_assembles_reports_the_missing_members() {
    let mut machines = Machines::router(&long_topology(), &["--join-within", "2"]);
    machines.start(&["york.site", "alice.user", "bob.user", "leeds.site"]);
    let printed = machines.router.end_with(6, SOON);
    assert!(printed.contains("after 2 s the router is still waiting for site durham"), "{printed}");
}

#[test]
fn an_interrupted_site_is_named_at_once_and_everybody_leaves() {
    let mut machines = Machines::router(&long_topology(), &[]);
    machines.start(&EVERYBODY);
    machines.router.await_text(BEGUN);
    std::thread::sleep(UNDER_WAY);
    machines.members[0].signal("INT");
    let (code, printed) = machines.router.end(Duration::from_secs(8));
    assert_eq!(code, Some(3), "{printed}");
    assert!(
        printed.contains("lost site york at virtual time") && printed.contains("york was interrupted"),
        "{printed}"
    );
    let codes: Vec<_> = machines.members.iter_mut().map(|member| member.end(SOON)).collect();
    assert_eq!(codes[0].0, Some(130), "{}", codes[0].1);
    for (code, printed) in &codes[1..] {
        assert_eq!(*code, Some(3), "{printed}");
        assert!(printed.contains("the router stopped the run: lost site york"), "{printed}");
    }
    let manifest = json(&machines.out().join("manifest.json"));
    assert!(manifest["status"].as_str().unwrap().starts_with("partial"), "{manifest}");
    let summary = json(&machines.out().join("summary.json"));
    assert!(summary["results"]["jobs"]["finished"].as_u64().unwrap() > 0, "what was whole is kept: {summary}");
}

/// With one binary per machine, both sides name the members that are awaited.
#[test]
fn a_router_alone_names_those_who_have_joined_and_those_who_are_missing() {
    let mut machines = Machines::router(&long_topology(), &["--join-within", "30"]);
    machines.router.await_text("waiting for site york, site durham, site leeds, user alice, user bob");
    machines.start(&["durham.site"]);
    machines.router.await_text("site durham joined; waiting for site york, site leeds, user alice, user bob");
    machines.start(&["york.site", "leeds.site", "alice.user"]);
    machines.router.await_text("; waiting for user bob");
    machines.start(&["bob.user"]);
    machines.router.await_text("user bob joined; all members are here");
    machines.router.signal("INT");
    assert_eq!(machines.router.end(SOON).0, Some(130));
    let mut printed = String::new();
    let durham = machines.members[0].child.stdout.take().unwrap();
    std::io::Read::read_to_string(&mut std::io::BufReader::new(durham), &mut printed).unwrap();
    assert!(printed.contains("; 4 still to join: site leeds, site york, user alice, user bob\n"), "{printed}");
}

#[test]
fn an_address_in_use_an_unknown_host_and_identities_that_exist_are_explained() {
    let machines = Machines::router(&long_topology(), &["--join-within", "60"]);
    let identities = machines.scratch.path("identities");
    let mut command = Command::new(ROUTER);
    command.arg("--topology").arg(&machines.topology).arg("--identity").arg(identities.join("router"));
    command.args(["--bind", &machines.address]).arg("--out").arg(machines.scratch.path("other"));
    let (code, printed) = Process::start("another router", &mut command).end(SOON);
    assert_eq!(code, Some(7), "{printed}");
    assert!(
        printed.contains("the address is in use, maybe by another router") && printed.contains("--bind"),
        "{printed}"
    );
    assert!(!printed.contains("os error"), "{printed}");

    let mut command = Command::new(SITE);
    command.args(["--name", "york", "--router", "nowhere.invalid:7411"]).arg("--topology").arg(&machines.topology);
    command.arg("--identity").arg(identities.join("york.site"));
    let begun = Instant::now();
    let (code, printed) = Process::start("york", &mut command).end(SOON);
    assert_eq!(code, Some(6), "{printed}");
    assert!(printed.contains("no host has the name in \"nowhere.invalid:7411\""), "{printed}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(!printed.contains("WARN"), "{printed}");

    let again = Command::new(HANSA).arg("certs").arg(&machines.topology).arg("--out").arg(&identities).output();
    let again = again.unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--renew"));
}
