//! Ends of runs and commands by any cause: kills at any moment, signals, closed pipes and full disks. An earlier good
//! result stays complete, nothing is left behind, and the exit code tells the cause.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::faults::children;
use crate::grid::{HANSA, Machines, Process, Scratch, hansa, hansa_ok, json, long_topology, shipped, text};
use crate::skip::skip;

const BEGUN: &str = "the run begins";
const SOON: Duration = Duration::from_secs(30);

const SMALL: &str = "name = \"small\"\nseed = 1\n[market]\npolicy = \"fifo\"\n[[site]]\nname = \"york\"\ncores = 1000\n\
                     kind = \"Kind1\"\n[[user]]\nname = \"alice\"\n[[workload]]\nsource = \"market\"\njobs = 40\nload = 0.7\n";

fn run(topology: &Path, out: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(HANSA);
    command.arg("run").arg(topology).arg("--out").arg(out).args(flags).stdin(Stdio::null());
    command
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

/// Processes whose command lines name this file.
fn processes_with(path: &str) -> Vec<u32> {
    let named = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(path)
    };
    let ids = fs::read_dir("/proc").unwrap().flatten();
    ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(named).collect()
}

fn kill(id: u32) {
    let _ = Command::new("kill").args(["-KILL", &id.to_string()]).stderr(Stdio::null()).status();
}

fn assert_all_ended(path: &str) {
    let deadline = Instant::now() + SOON;
    while !processes_with(path).is_empty() {
        assert!(Instant::now() < deadline, "orphans: {:?}", processes_with(path));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Numbers from 0 to 1 that are spread evenly for any count.
fn spread(count: usize) -> impl Iterator<Item = f64> {
    (1..=count).map(|number| (number as f64 * 0.618_033_988_75).fract())
}

fn keys_in(folder: &Path) -> usize {
    let holds_key = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains("PRIVATE KEY"));
    let mut found = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        found += if entry.path().is_dir() { keys_in(&entry.path()) } else { usize::from(holds_key(&entry.path())) };
    }
    found
}

/// Kills launchers and routers at moments that are spread over the run, most of them while results are put in place.
#[test]
fn an_earlier_result_stays_complete_after_a_kill_at_any_moment() {
    let scratch = Scratch::new();
    let topology = scratch.file("small.toml", SMALL);
    let home = scratch.path("home");
    let temporary = scratch.path("temporary");
    [&home, &temporary].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let good = scratch.path("good");
    let out = home.join("out");
    assert!(run(&topology, &good, &["--inline"]).output().unwrap().status.success());
    let begun = Instant::now();
    assert!(run(&topology, &out, &[]).env("TMPDIR", &temporary).output().unwrap().status.success());
    // What a run takes changes with all else that the machine does, so each run corrects it for the next ones.
    let mut whole_run = begun.elapsed();

    let mut killed = 0;
    let nest = temporary.display().to_string();
    for (number, part) in spread(96).enumerate() {
        if number >= 24 && killed >= 8 {
            break;
        }
        // Two in three in the last part of the run.
        let part = if number % 3 == 0 { part * 1.1 } else { 0.6 + part * 0.5 };
        let mut launcher = run(&topology, &out, &["--restarts", "0"]);
        launcher.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null());
        let mut launcher = launcher.spawn().unwrap();
        std::thread::sleep(whole_run.mul_f64(part));
        let router = || processes_with(&nest).into_iter().find(|id| is_router(*id));
        match (number % 2, router()) {
            (1, Some(router)) => kill(router),
            _ => kill(launcher.id()),
        }
        let complete = launcher.wait().unwrap().code() == Some(0);
        killed += usize::from(!complete);
        whole_run = match complete {
            true => whole_run.mul_f64(part.clamp(0.8, 1.0)),
            false => whole_run.mul_f64(part.clamp(1.0, 1.1)),
        };
        assert_all_ended(&nest);
        let verified = hansa(&[Path::new("verify"), &good, &out]);
        assert!(verified.status.success(), "kill {number}: {}{}", text(&verified.stdout), text(&verified.stderr));
        assert_eq!(keys_in(&temporary), 0, "kill {number}");
    }
    assert!(killed >= 8, "only {killed} of 96 runs were killed");
    let next = run(&topology, &out, &[]).env("TMPDIR", &temporary).output().unwrap();
    assert!(next.status.success(), "{}", text(&next.stderr));
    assert_eq!((names(&home), names(&temporary)), (vec!["out".to_owned()], Vec::new()), "{}", text(&next.stderr));
}

fn is_router(id: u32) -> bool {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("\0router\0")
}

/// Each system call that changes files, and those between them, is once the last one of the process.
#[test]
fn an_earlier_result_stays_complete_after_any_last_system_call() {
    if !Command::new("strace").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return skip("strace is not here to kill a process at a system call");
    }
    let scratch = Scratch::new();
    let topology = scratch.file("small.toml", SMALL);
    let home = scratch.path("home");
    fs::create_dir(&home).unwrap();
    let good = scratch.path("good");
    let out = home.join("out");
    for out in [&good, &out] {
        assert!(run(&topology, out, &["--inline"]).output().unwrap().status.success());
    }

    let mut killed = 0;
    for call in ["renameat2", "rename", "fsync", "unlink", "unlinkat", "rmdir", "mkdir", "flock", "getdents64"] {
        for number in 1..40 {
            let mut strace = Command::new("strace");
            strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
            strace.args(["-e", &format!("inject={call}:signal=SIGKILL:when={number}"), HANSA, "run"]);
            strace.arg(&topology).arg("--out").arg(&out).arg("--inline");
            let output = strace.output().unwrap();
            let ended = output.status;
            let verified = hansa(&[Path::new("verify"), &good, &out]);
            assert!(verified.status.success(), "{call} {number}: {}", text(&verified.stderr));
            if ended.success() {
                break;
            }
            assert!(
                ended.signal() == Some(9) || ended.code() == Some(137),
                "{call} {number}: {ended} {}",
                text(&output.stderr)
            );
            killed += 1;
        }
    }
    assert!(killed >= 15, "only {killed} kills");
    assert!(run(&topology, &out, &["--inline"]).output().unwrap().status.success());
    assert_eq!(names(&home), ["out"]);
}

fn freight_for_minutes(scratch: &Scratch) -> PathBuf {
    let live = fs::read_to_string(shipped("live.toml")).unwrap();
    let live =
        live.replace("payload = \"1 kB per MB\"", "payload = \"1 GB per GB\"").replace("10_000_000", "2_000_000_000");
    scratch.file("freight.toml", &live)
}

#[test]
fn an_interrupt_is_handled_while_loads_are_under_way() {
    let scratch = Scratch::new();
    let topology = freight_for_minutes(&scratch);
    let out = scratch.path("out");
    let mut launcher = Process::start("the launcher", &mut run(&topology, &out, &[]));
    launcher.await_text(BEGUN);
    std::thread::sleep(Duration::from_secs(2));
    let asked = Instant::now();
    launcher.signal("INT");
    launcher.end_with(130, SOON);
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    let manifest = json(&out.join("manifest.json"));
    assert!(manifest["status"].as_str().unwrap().starts_with("partial: interrupted"), "{manifest}");
}

#[test]
fn a_second_interrupt_leaves_at_once_and_no_results_behind() {
    for signal in ["INT", "HUP"].into_iter().filter(|signal| *signal != "HUP" || hangups_arrive()) {
        // The partial results may be there before the second one arrives; the later the first, the longer they take.
        let waits = [2, 3, 4, 5, 6, 7, 8].map(Duration::from_secs);
        let interrupted = waits.into_iter().find_map(|wait| interrupted_twice(signal, wait));
        let scratch = interrupted.expect("one of these was interrupted twice");
        let home = scratch.path("home");
        nothing_but_a_journal(&home);
        // The message is true.
        hansa_ok(&[Path::new("run"), "--resume".as_ref(), &home.join("out")]);
        assert_eq!(json(&home.join("out").join("manifest.json"))["status"], "complete");
    }
}

/// A run that was interrupted after this time, and ended at once when it was interrupted again. None if it had ended
/// before.
fn interrupted_twice(signal: &str, wait: Duration) -> Option<Scratch> {
    let scratch = Scratch::new();
    let topology = scratch.file("long.toml", &long_topology());
    let mut launcher = Process::start("the launcher", &mut run(&topology, &scratch.path("home").join("out"), &[]));
    launcher.await_text(BEGUN);
    std::thread::sleep(wait);
    let asked = Instant::now();
    launcher.signal(signal);
    // A second signal within a moment, as by `timeout`, does not count as a second request.
    launcher.signal(signal);
    std::thread::sleep(Duration::from_millis(110));
    launcher.signal(signal);
    let printed = launcher.end_with(130, SOON);
    assert!(asked.elapsed() < Duration::from_secs(6), "{:?}", asked.elapsed());
    if scratch.path("home").join("out").exists() {
        return None;
    }
    assert!(printed.contains("interrupted twice: ended at once; resume with: hansa run --resume "), "{printed}");
    Some(scratch)
}

/// As by a service manager that stops all processes of a group.
#[test]
fn a_signal_to_all_processes_of_a_run_is_one_interrupt() {
    let scratch = Scratch::new();
    let topology = scratch.file("long.toml", &long_topology());
    let out = scratch.path("out");
    let mut launcher = Process::start("the launcher", &mut run(&topology, &out, &[]));
    launcher.await_text(BEGUN);
    std::thread::sleep(Duration::from_millis(500));
    let children: Vec<String> = children(launcher.child.id()).iter().map(u32::to_string).collect();
    assert!(children.len() > 2, "{children:?}");
    assert!(
        Command::new("kill")
            .args(["-TERM", &launcher.child.id().to_string()])
            .args(&children)
            .status()
            .unwrap()
            .success()
    );
    launcher.end_with(130, SOON);
    let manifest = json(&out.join("manifest.json"));
    assert!(manifest["status"].as_str().unwrap().starts_with("partial"), "{manifest}");
}

/// A workflow whose planning takes minutes: 6,000 tasks in 100 layers, planned ten thousand times.
fn planning_for_minutes(scratch: &Scratch) -> PathBuf {
    let mut graph = "digraph layers {\n".to_owned();
    for task in 0..6000u64 {
        graph += &format!("  {task} [size=\"{}\"]\n", 1_000_000 + task * 7_919 % 99_000_000);
    }
    for task in 60..6000u64 {
        for input in 0..6 {
            let from = (task / 60 - 1) * 60 + (task * 7 + input * 5) % 60;
            graph +=
                &format!("  {from} -> {task} [size=\"{}\"]\n", 10_000_000 + (task * 6 + input) * 104_729 % 990_000_000);
        }
    }
    scratch.file("layers.dot", &(graph + "}\n"));
    let topology = fs::read_to_string(shipped("workflow.toml")).unwrap();
    let (before, _) = topology.split_once("[[workload]]").unwrap();
    let planning = before.replace("[workflow]\n", "[workflow]\niterations = 10_000\nupdate = \"keep\"\n");
    let workload = "[[workload]]\nsource = \"workflow\"\nfile = \"layers.dot\"\nusers = [\"alice\"]\n";
    scratch.file("layers.toml", &(planning + workload))
}

/// Nothing stops an actor but the end of its process, so the first signal ends it.
#[test]
fn an_actor_that_computes_for_long_is_named_and_does_not_outlive_a_signal() {
    for (flags, signal) in [(&["--inline"][..], "TERM"), (&[], "TERM"), (&[], "INT")] {
        let scratch = Scratch::new();
        let topology = planning_for_minutes(&scratch);
        let flags = [flags, &["--stall-after", "1s"]].concat();
        let mut launched = Process::start("the run", &mut run(&topology, &scratch.path("home").join("out"), &flags));
        launched.await_text("note: `planner` computes at virtual time 00:00:00, for ");
        let asked = Instant::now();
        launched.signal(signal);
        let (code, printed) = launched.end(SOON);
        assert!(asked.elapsed() < Duration::from_secs(5), "{flags:?}: {:?}", asked.elapsed());
        assert_eq!(code, Some(130), "{flags:?}: {printed}");
        let expected = "error: interrupted while `planner` computes at virtual time 00:00:00: ended at once";
        assert!(printed.contains(expected), "{flags:?}: {printed}");
        assert_all_ended(topology.to_str().unwrap());
        let home = scratch.path("home");
        if flags.contains(&"--inline") {
            assert_eq!(names(&home), [""; 0], "{printed}");
        } else {
            assert!(printed.contains("; resume with: hansa run --resume "), "{printed}");
            nothing_but_a_journal(&home);
        }
    }
}

#[test]
fn an_interrupt_that_comes_twice_at_once_is_one() {
    winds_up(|launched| {
        launched.signal("INT");
        std::thread::sleep(Duration::from_millis(5));
        launched.signal("INT");
    });
}

#[test]
fn a_terminal_that_closes_winds_a_run_up() {
    if !hangups_arrive() {
        return skip("nohup lets everybody ignore that a terminal closes");
    }
    winds_up(|launched| launched.signal("HUP"));
}

/// Checks that runs, inline and as processes, leave partial results after this interrupt.
fn winds_up(interrupt: impl Fn(&Process)) {
    for flags in [&["--inline"][..], &[]] {
        let scratch = Scratch::new();
        let topology = scratch.file("long.toml", &long_topology());
        let out = scratch.path("out");
        let mut launched = Process::start("the run", &mut run(&topology, &out, flags));
        if flags.is_empty() {
            launched.await_text(BEGUN);
        }
        std::thread::sleep(Duration::from_millis(500));
        interrupt(&launched);
        launched.end_with(130, SOON);
        let manifest = json(&out.join("manifest.json"));
        assert!(manifest["status"].as_str().unwrap().starts_with("partial: interrupted"), "{manifest}");
    }
}

/// True unless SIGHUP is ignored: `nohup`, under which these tests may run, makes all children ignore it.
fn hangups_arrive() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 0
}

#[test]
fn a_killed_router_leaves_no_half_result_to_its_launcher() {
    let scratch = Scratch::new();
    let topology = scratch.file("long.toml", &long_topology());
    let out = scratch.path("home").join("out");
    let mut launcher = Process::start("the launcher", &mut run(&topology, &out, &["--restarts", "0"]));
    launcher.await_text(BEGUN);
    let nest = format!("hansa-{}-", launcher.child.id());
    kill(processes_with(&nest).into_iter().find(|id| is_router(*id)).unwrap());
    let printed = launcher.end_with(3, SOON);
    assert!(printed.contains("resume with: hansa run --resume"), "{printed}");
    nothing_but_a_journal(&scratch.path("home"));
}

/// Checks that nothing is left but the journal, which is needed to resume.
fn nothing_but_a_journal(home: &Path) {
    let left: Vec<String> = names(home).into_iter().filter(|name| name != "out").collect();
    assert!(left.len() == 1 && left[0].starts_with("out.partial-"), "{left:?}");
    assert_eq!(names(&home.join(&left[0])), ["journal"]);
}

#[test]
fn members_are_told_why_the_router_gives_up() {
    let mut machines = Machines::router(&long_topology(), &[]);
    machines.start(&["york.site", "alice.user"]);
    machines.members.iter().for_each(|member| member.await_text(" joined"));
    machines.router.signal("INT");
    assert_eq!(machines.router.end(SOON).0, Some(130));
    for member in &mut machines.members {
        let (_, printed) = member.end(SOON);
        assert!(printed.contains("the other side closed the connection: interrupted"), "{printed}");
    }
}

#[test]
fn a_replaced_result_is_reported_and_can_be_kept() {
    let scratch = Scratch::new();
    let topology = scratch.file("small.toml", SMALL);
    let out = scratch.path("out");
    let printed = |flags: &[&str]| {
        let output = run(&topology, &out, flags).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert_eq!(printed(&["--inline"]), "");
    hansa_ok(&[Path::new("report"), &out]);
    let again = printed(&["--inline"]);
    assert!(again.contains("and made its report.html again") && !out.join("trace.json").exists(), "{again}");
    hansa_ok(&[Path::new("report"), Path::new("--trace"), &out]);
    let again = printed(&["--inline"]);
    assert!(again.contains("note: this replaced the result of 20"), "{again}");
    assert!(again.contains("which had the same digest (use --keep to keep it)"), "{again}");
    assert!(again.contains("and made its report.html and trace.json again"), "{again}");
    // The page is of the new run: as that of a folder that never had one.
    let made = [std::fs::read(out.join("report.html")).unwrap(), std::fs::read(out.join("trace.json")).unwrap()];
    hansa_ok(&[Path::new("report"), Path::new("--trace"), &out]);
    let anew = [std::fs::read(out.join("report.html")).unwrap(), std::fs::read(out.join("trace.json")).unwrap()];
    assert!(made == anew, "the page was made from another result");
    let other = printed(&["--inline", "--seed", "2"]);
    assert!(other.contains("note: this replaced another result, of 20") && other.contains("with digest "), "{other}");
    assert!(other.contains("with its report.html and trace.json") && !out.join("report.html").exists(), "{other}");
    let kept = printed(&["--keep"]);
    assert!(kept.contains("was there before; it has been moved to ") && kept.contains("out.1"), "{kept}");
    assert_eq!(json(&scratch.path("out.1").join("manifest.json"))["seed"], 2);
    assert_eq!(json(&out.join("manifest.json"))["seed"], 1);
}

#[test]
fn a_run_in_which_nothing_has_happened_replaces_no_complete_result() {
    // A fast machine may end the run before the member is missed, or get beyond the first job; then it is tried again.
    let stalled = |out: &Path, flag: &str| {
        let topology = out.with_file_name("small.toml");
        for _ in 0..200 {
            let output = run(&topology, out, &["--stall-after", "1us", flag]).output().unwrap();
            match output.status.code() {
                Some(4) => return text(&output.stderr),
                code => assert_eq!(code, Some(0), "{}", text(&output.stderr)),
            }
        }
        panic!("no run has stalled")
    };
    let before_any_job = || {
        let scratch = Scratch::new();
        let topology = scratch.file("small.toml", SMALL);
        let good = scratch.path("good");
        let out = scratch.path("out");
        for complete in [&good, &out] {
            assert!(run(&topology, complete, &["--inline"]).output().unwrap().status.success());
        }
        let printed = stalled(&out, "--quiet");
        let is_early = printed.contains("no job had been submitted: the complete result in ");
        is_early.then_some((scratch, good, out, printed))
    };
    let (scratch, good, out, printed) =
        (0..50).find_map(|_| before_any_job()).expect("some run stalls before its first job");
    assert!(printed.contains("resume with: hansa run --resume"), "{printed}");
    hansa_ok(&[Path::new("verify"), &good, &out]);

    hansa_ok(&[Path::new("run"), Path::new("--resume"), &out]);
    hansa_ok(&[Path::new("verify"), &good, &out]);
    let left: Vec<_> = names(scratch.path(".").as_path()).into_iter().filter(|name| name.contains("partial")).collect();
    assert!(left.is_empty(), "{left:?}");

    // With `--keep` nothing is lost: this result is written beside the earlier one.
    stalled(&out, "--keep");
    assert_ne!(json(&out.join("manifest.json"))["status"], "complete");
    hansa_ok(&[Path::new("verify"), &good, &scratch.path("out.1")]);
}

/// Runs a command to its end with this standard output and standard error.
fn into(command: &mut Command, stdout: Stdio, stderr: Stdio) -> (Option<i32>, String) {
    let mut process = command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn().unwrap();
    let deadline = Instant::now() + SOON;
    while process.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it has not ended: {:?}", process.kill());
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = process.wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}

fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_pipe_without_a_reader_is_no_panic() {
    let scratch = Scratch::new();
    let topology = scratch.file("small.toml", "name = 1");
    let mut validate = Command::new(HANSA);
    validate.arg("validate").arg(&topology);
    assert_eq!(into(&mut validate, closed_pipe(), closed_pipe()).0, Some(2));
    let begun = Instant::now();
    assert_eq!(into(Command::new(HANSA).arg("bench"), closed_pipe(), Stdio::piped()), (Some(0), String::new()));
    assert!(begun.elapsed() < Duration::from_secs(20), "it went on for {:?}", begun.elapsed());
}

#[test]
fn an_output_that_accepts_nothing_is_reported() {
    let scratch = Scratch::new();
    let topology = scratch.file("small.toml", SMALL);
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    for flags in [&["--inline"][..], &[]] {
        let (code, printed) = into(&mut run(&topology, &scratch.path("out"), flags), full(), Stdio::piped());
        assert_eq!(code, Some(7), "{printed}");
        assert!(printed.contains("cannot write to standard output: the disk is full"), "{printed}");
    }
    let out = scratch.path("out");
    let (code, printed) = into(Command::new(HANSA).arg("verify").arg(&out).arg(&out), full(), Stdio::piped());
    assert_eq!(code, Some(7), "{printed}");
}

#[test]
fn a_limit_on_file_size_is_reported_like_a_full_disk() {
    let scratch = Scratch::new();
    let topology = scratch.file("small.toml", &SMALL.replace("jobs = 40", "jobs = 400"));
    for flags in ["--inline", "--per-process=1"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -f 16 && exec \"$0\" run \"$1\" --out \"$2\" \"$3\"", HANSA]);
        shell.arg(&topology).arg(scratch.path("home").join("out")).arg(flags);
        let (code, printed) = into(&mut shell, Stdio::null(), Stdio::piped());
        assert_eq!(code, Some(7), "{printed}");
        assert!(printed.contains(": the file size limit is exceeded"), "{printed}");
        match flags {
            "--inline" => assert_eq!(names(&scratch.path("home")), [""; 0]),
            // Any file may exceed the limit first; the results that could be written may exist.
            _ if scratch.path("home").join("out").exists() => {
                assert!(scratch.path("home").join("out/journal").exists())
            }
            _ if printed.contains("resume with: ") => nothing_but_a_journal(&scratch.path("home")),
            // The journal exceeds the limit, too.
            _ => assert_eq!(names(&scratch.path("home")), [""; 0]),
        }
    }
}

#[test]
fn endless_files_and_files_for_other_commands_are_reported() {
    let scratch = Scratch::new();
    let fifo = scratch.path("fifo.toml");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let message = |command: &str, file: &Path| {
        let mut hansa = Command::new(HANSA);
        hansa.arg(command).arg(file).process_group(0);
        let (code, printed) = into(&mut hansa, Stdio::null(), Stdio::piped());
        assert_eq!(code, Some(2), "{printed}");
        printed
    };
    assert!(message("validate", &fifo).contains("this is not a regular file"));
    let small = scratch.file("small.toml", SMALL);
    let experiment = scratch.file("seeds.toml", "name = \"seeds\"\ntopology = \"small.toml\"\n[vary]\nseed = [1, 2]\n");
    assert!(
        message("run", &experiment).contains("is an experiment: use hansa sweep "),
        "{}",
        message("run", &experiment)
    );
    assert!(message("sweep", &small).contains("is a topology: use hansa run "), "{}", message("sweep", &small));
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_log() {
    let scratch = Scratch::new();
    let line = "1 0 -1 60 1 -1 -1 1 3660 -1 1 1 1 -1 1 -1 -1 -1\n";
    let log = scratch.file("marked.swf", &format!("\u{feff}{line}"));
    let plain = scratch.file("plain.swf", line);
    let converted = |log: &Path| text(&hansa_ok(&[Path::new("convert"), log]).stdout);
    assert_eq!(converted(&log), converted(&plain));
    let grid = |log: &str| {
        let topology = format!(
            "name = \"log\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 8\nscheduler = \"fcfs\"\n[[user]]\nname = \"alice\"\n\
             [[workload]]\nsource = \"swf\"\nfile = \"{log}\"\n"
        );
        text(
            &hansa_ok(&[Path::new("validate"), &scratch.file("log.toml", &topology), Path::new("--set=name=x")]).stdout,
        )
    };
    assert_eq!(grid("marked.swf"), grid("plain.swf"));
}

#[test]
fn results_that_differ_are_an_answer_and_no_error() {
    let scratch = Scratch::new();
    let topology = scratch.file("small.toml", SMALL);
    let a = scratch.path("a");
    let b = scratch.path("b");
    assert!(run(&topology, &a, &["--inline"]).output().unwrap().status.success());
    assert!(run(&topology, &b, &["--inline", "--seed", "2"]).output().unwrap().status.success());
    let verified = hansa(&[Path::new("verify"), &a, &b]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(!text(&verified.stderr).contains("error"), "{}", text(&verified.stderr));
}

/// All processes are alive, so there is nothing to resume.
#[test]
fn a_run_that_reaches_the_end_of_time_reports_it_in_every_layout() {
    let scratch = Scratch::new();
    let jobs = "[[workload.job]]\ntasks = [{ cores = 1, runtime = \"100000 d\" }]\n".repeat(2_200);
    let grid = "name = \"end\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 1\nscheduler = \"easy\"\n[[user]]\nname = \"alice\"\n";
    let topology = scratch.path("end.toml");
    fs::write(&topology, format!("{grid}[[workload]]\nsource = \"table\"\n{jobs}")).unwrap();
    for flags in [&["--inline"][..], &[]] {
        let out = scratch.path("out");
        let end = run(&topology, &out, flags).output().unwrap();
        let message = String::from_utf8(end.stderr).unwrap();
        assert_eq!(end.status.code(), Some(5), "{message}");
        assert!(message.contains("virtual time ends before") && message.contains("york"), "{message}");
        assert!(!message.contains("lost site") && !message.contains("resume"), "{message}");
        assert!(names(&out).iter().all(|name| name != "journal"), "{:?}", names(&out));
    }
}
