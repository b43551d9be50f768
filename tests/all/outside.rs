//! External managers of sites and planners of users: lines over standard input and output. Tests that also apply to
//! bidders are in `bidder.rs`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::grid::{HANSA, Machines, Process, ROUTER, SITE, Scratch, USER, digest, hansa, hansa_ok, shipped, text};
use crate::skip::{has_python, skip};

const LAYOUTS: [&[&str]; 2] = [&["--inline"], &[]];

fn run(topology: &Path, out: &Path, flags: &[&str]) -> std::process::Output {
    let mut arguments: Vec<PathBuf> = vec!["run".into(), topology.to_owned(), "--out".into(), out.to_owned()];
    arguments.extend(flags.iter().map(PathBuf::from));
    hansa(&arguments)
}

fn digest_of(topology: &Path, out: &Path, flags: &[&str]) -> String {
    let ran = run(topology, out, flags);
    assert!(ran.status.success(), "{flags:?}: {}", text(&ran.stderr));
    digest(out)
}

#[test]
fn programs_that_decide_like_ours_give_their_digest_in_every_layout() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::new();
    let foreign = shipped("foreign-site.toml");
    // The topology with our own queue at every site, and jobs distributed by the dispatcher.
    let ours = std::fs::read_to_string(&foreign).unwrap();
    let ours: String = ours
        .lines()
        .filter(|line| !["command =", "timeout =", "planner ="].iter().any(|key| line.starts_with(key)))
        .map(|line| {
            line.replace("\"external\"", "\"fcfs\"").replace("[batch]", "[batch]\ndispatch = \"least-work\"") + "\n"
        })
        .collect();
    let ours = digest_of(&scratch.file("ours.toml", &ours), &scratch.path("ours"), &["--inline"]);
    for (number, flags) in LAYOUTS.into_iter().enumerate() {
        assert_eq!(digest_of(&foreign, &scratch.path(&format!("foreign-{number}")), flags), ours, "{flags:?}");
    }
    // The keys of programs may stay in the file while others decide.
    let others = ["site.york.scheduler=fcfs", "user.alice.planner=script", "batch.dispatch=least-work"];
    let flags: Vec<&str> = ["--inline"].into_iter().chain(others.iter().flat_map(|set| ["--set", set])).collect();
    assert_eq!(digest_of(&foreign, &scratch.path("set"), &flags), ours);
}

/// Like the test above, with processes that are started one by one: each starts its own program, and a file beside the
/// topology is found.
#[test]
fn processes_that_are_started_by_hand_start_their_programs() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::new();
    let topology = shipped("foreign-site.toml");
    hansa_ok(&["certs".as_ref(), topology.as_os_str(), "--out".as_ref(), scratch.path("identities").as_os_str()]);
    let inline = digest_of(&topology, &scratch.path("inline"), &["--inline"]);
    let start = |program: &str, identity: &str, rest: &[&str]| {
        let mut command = Command::new(program);
        command.arg("--topology").arg(&topology).arg("--identity").arg(scratch.path("identities").join(identity));
        Process::start(identity, command.args(rest).current_dir(scratch.path("")))
    };
    let port = {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.local_addr().unwrap().port()
    };
    let address = format!("127.0.0.1:{port}");
    let out = scratch.path("by-hand");
    let mut router = start(ROUTER, "router", &["--bind", &address, "--out", out.to_str().unwrap()]);
    let mut members: Vec<Process> = ["york", "durham"]
        .iter()
        .map(|name| start(SITE, &format!("{name}.site"), &["--name", name, "--router", &address]))
        .collect();
    members.push(start(USER, "alice.user", &["--name", "alice", "--router", &address]));
    for process in std::iter::once(&mut router).chain(&mut members) {
        process.end_with(0, Duration::from_secs(60));
    }
    assert_eq!(digest(&out), inline);
}

/// A site or a user for which a shell decides with this script.
fn decided(scratch: &Scratch, is_site: bool, script: &str) -> PathBuf {
    let program = format!("command = [\"sh\", \"-c\", {script:?}]\ntimeout = \"400 ms\"\n");
    let (site, user) = match is_site {
        true => (format!("scheduler = \"external\"\n{program}"), String::new()),
        false => (String::new(), format!("planner = \"external\"\n{program}")),
    };
    scratch.file(
        "decided.toml",
        &format!(
            "name = \"decided\"\nseed = 1\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\n{site}[[user]]\nname = \"alice\"\n{user}\
             [[workload]]\nsource = \"table\"\njob = [{{ arrive = \"1 min\", tasks = [{{ runtime = \"10 min\", cores = 2 }}] }}]\n"
        ),
    )
}

#[test]
fn a_program_that_fails_ends_the_run_and_is_named_with_whom_it_decides_for() {
    const HELLO: &str = "read q; echo '{\"type\":\"hello\",\"version\":1}'; read q;";
    let manage = |orders: &str| format!("{HELLO} echo '{{\"type\":\"manage\",\"ask\":1,\"orders\":[{orders}]}}'; cat");
    let plan = |orders: &str| format!("{HELLO} echo '{{\"type\":\"plan\",\"ask\":1,\"orders\":[{orders}]}}'; cat");
    let site = "site york's manager `sh -c ";
    let user = "user alice's planner `sh -c ";
    let at = ", at virtual time 00:01:00";
    let cases = [
        (true, "exit 3".to_owned(), "has ended before the run was over (exit status: 3)".to_owned()),
        (false, "exit 3".to_owned(), "has ended before the run was over (exit status: 3)".to_owned()),
        (
            true,
            "read q; echo hello".to_owned(),
            "answers `hello`, which is not a valid answer (expected one like {\"type\":\"hello\",\"version\":1})"
                .to_owned(),
        ),
        (
            true,
            "read q; echo '{\"type\":\"hello\",\"version\":9}'; cat".to_owned(),
            "speaks version 9 of the protocol, but this version of Hansa speaks version 1".to_owned(),
        ),
        (true, format!("{HELLO} exit 0"), format!("has ended before the run was over (exit status: 0){at}")),
        (false, format!("{HELLO} exec sleep 60"), format!("has not answered within 0.4 s{at}")),
        (
            true,
            manage("{\"order\":\"start\",\"job\":0,\"nodes\":\"3-4\"}"),
            format!("starts job 0 on node 4 of a site that has 4{at}"),
        ),
        (
            true,
            manage("{\"order\":\"start\",\"job\":0,\"nodes\":\"3,4\"}"),
            "names the nodes \"3,4\", where numbers in order such as".to_owned(),
        ),
        (
            true,
            manage("{\"order\":\"halt\",\"job\":0}"),
            "unknown variant `halt`, expected one of `start`, `reject`, `kill`, `call`".to_owned(),
        ),
        (
            true,
            manage("{\"order\":\"call\",\"t\":60}"),
            format!("asks to be called at 60 s, which is not later than 60 s{at}"),
        ),
        (
            true,
            manage("{\"order\":\"call\",\"t\":-1}"),
            format!("asks to be called at -1 s, which is not a time of the run{at}"),
        ),
        (
            false,
            plan("{\"order\":\"submit\",\"job\":0,\"site\":\"yrok\"}"),
            format!("submits job 0 to the site \"yrok\", which is not one of the sites{at}"),
        ),
        (false, plan("{\"order\":\"recall\",\"job\":0}"), format!("recalls job 0, which has not been submitted{at}")),
        (false, plan("{\"order\":\"submit\",\"job\":9}"), format!("submits job 9, which is not its own{at}")),
        (false, manage(""), "unknown variant `manage`, expected `plan`".to_owned()),
        (
            true,
            format!("{HELLO} echo '{{\"type\":\"manage\",\"ask\":7,\"orders\":[]}}'; cat"),
            format!("answers question 7 when asked question 1{at}"),
        ),
    ];
    for (number, (is_site, script, expected)) in cases.into_iter().enumerate() {
        let layouts = if number < 7 { &LAYOUTS[..] } else { &LAYOUTS[..1] };
        for flags in layouts {
            let scratch = Scratch::new();
            let ran = run(&decided(&scratch, is_site, &script), &scratch.path("out"), flags);
            let printed = text(&ran.stderr);
            assert_eq!(ran.status.code(), Some(8), "{script}, {flags:?}: {printed}");
            let name = if is_site { site } else { user };
            assert!(
                printed.contains(name) && printed.contains(&expected),
                "{script}, {flags:?}, expected {expected}: {printed}"
            );
            let summary = std::fs::read_to_string(scratch.path("out").join("summary.json"));
            assert!(summary.is_err() || summary.is_ok_and(|text| text.contains("partial")), "{script}");
        }
    }
}

/// A program that breaks no rule and yet does nothing: the error names it, and the job that waits for it.
#[test]
fn a_program_that_gives_no_orders_is_named_with_its_job() {
    for (is_site, kind, name) in [(true, "manage", "site york's manager"), (false, "plan", "user alice's planner")] {
        let script = format!(
            "read q; echo '{{\"type\":\"hello\",\"version\":1}}'; n=0; while read q; do n=$((n+1)); \
             echo \"{{\\\"type\\\":\\\"{kind}\\\",\\\"ask\\\":$n,\\\"orders\\\":[]}}\"; done"
        );
        for flags in LAYOUTS {
            let scratch = Scratch::new();
            let ran = run(&decided(&scratch, is_site, &script), &scratch.path("out"), flags);
            let printed = text(&ran.stderr);
            assert_eq!(ran.status.code(), Some(5), "{flags:?}: {printed}");
            let named = format!("only 0 of 1 jobs have ended: {name} `sh -c ");
            assert!(
                printed.contains(&named) && printed.contains("` has given no orders for job 0"),
                "{flags:?}: {printed}"
            );
        }
    }
}

/// A site whose manager is started by this command.
fn started(scratch: &Scratch, command: &str) -> PathBuf {
    let decided = std::fs::read_to_string(decided(scratch, true, "")).unwrap();
    scratch.file("started.toml", &decided.replace("[\"sh\", \"-c\", \"\"]", command))
}

#[test]
fn a_missing_program_is_reported_before_anything_starts() {
    use std::os::unix::fs::PermissionsExt;

    let scratch = Scratch::new();
    let plain = scratch.file("plain.py", "");
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    let cases = [
        ("[\"no-such-program\"]", "there is no program no-such-program, neither beside the topology nor in $PATH"),
        ("[\"./tools/none\"]", "there is no file ./tools/none"),
        ("[\"pybatsim\", \"easyBackfill\"]", "pip install --no-deps pybatsim"),
        ("[\"plain.py\"]", "plain.py is not executable"),
    ];
    for (command, why) in cases {
        let topology = started(&scratch, command);
        let place = format!(" --> {}:8:11", topology.display());
        if command.contains("pybatsim") && run(&topology, &scratch.path("out"), LAYOUTS[0]).status.code() != Some(8) {
            skip("pybatsim is installed here");
            continue;
        }
        for flags in LAYOUTS {
            let ran = run(&topology, &scratch.path("out"), flags);
            let printed = text(&ran.stderr);
            assert_eq!(ran.status.code(), Some(8), "{printed}");
            assert!(printed.contains("error: site.york.command: cannot start site york's manager `"), "{printed}");
            assert!(printed.contains(why) && printed.contains(&place), "{printed}");
            assert!(!scratch.path("out").exists(), "{printed}");
        }
        let validate = |flags: &[&str]| {
            let arguments = ["validate"].iter().chain(flags).map(PathBuf::from).chain([topology.clone()]);
            hansa(&arguments.collect::<Vec<_>>())
        };
        // It may exist on the machine of the site.
        let checked = validate(&[]);
        let printed = text(&checked.stderr);
        assert!(checked.status.success() && printed.contains("warning: site.york.command: cannot start"), "{printed}");
        assert!(printed.contains(why) && printed.contains(&place), "{printed}");
        assert_eq!(validate(&["--strict"]).status.code(), Some(8));
    }
    let checked = hansa(&["validate".as_ref(), started(&scratch, "[\"sh\", \"manger.py\"]").as_os_str()]);
    let printed = text(&checked.stderr);
    assert!(printed.contains("warning: site.york.command: there is no file manger.py, neither beside"), "{printed}");
}

/// Members that have not joined yet are not waited for.
#[test]
fn a_program_that_cannot_be_started_where_its_site_is_played_ends_the_run_at_once() {
    let topology = std::fs::read_to_string(started(&Scratch::new(), "[\"no-such-program\"]")).unwrap();
    let mut machines = Machines::router(&topology, &[]);
    machines.start(&["york.site"]);
    for process in [&mut machines.members[0], &mut machines.router] {
        let printed = process.end_with(8, Duration::from_secs(20));
        assert!(
            printed.contains("cannot start site york's manager `no-such-program`: "),
            "{}: {printed}",
            process.label
        );
    }
}

#[test]
fn standard_error_of_a_failing_program_is_shown_in_every_layout() {
    const SCRIPT: &str = "echo 'where it stood' >&2; echo 'what went wrong' >&2; exit 3";
    for is_site in [true, false] {
        for flags in LAYOUTS {
            let scratch = Scratch::new();
            let ran = run(&decided(&scratch, is_site, SCRIPT), &scratch.path("out"), flags);
            let printed = text(&ran.stderr);
            assert_eq!(ran.status.code(), Some(8), "{flags:?}: {printed}");
            let last =
                "has ended before the run was over (exit status: 3); the last line that it printed: `what went wrong`";
            assert!(printed.contains(last), "{flags:?}: {printed}");
            assert!(printed.lines().any(|line| line.trim() == "where it stood"), "{flags:?}: {printed}");
            assert_eq!(printed.matches("error: ").count(), 1, "{flags:?}: {printed}");
        }
    }
}

/// A program that ignores the end of its input, and would run forever: it ends with the process of its site.
#[test]
fn no_manager_outlives_a_run_that_is_killed() {
    for flags in LAYOUTS {
        let scratch = Scratch::new();
        let mark = format!("manager-{}-{}", std::process::id(), flags.len());
        let unread = format!(
            ": {mark}; read q; echo '{{\"type\":\"hello\",\"version\":1}}'; trap '' PIPE; while :; do sleep 0.1; done"
        );
        let topology = decided(&scratch, true, &unread);
        let topology = std::fs::read_to_string(topology).unwrap().replace("400 ms", "60 s");
        let topology = scratch.file("deaf.toml", &topology);
        let mut run = Command::new(HANSA)
            .args(["run".as_ref(), topology.as_os_str(), "--out".as_ref(), scratch.path("out").as_os_str()])
            .args(flags)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lives = || {
            let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
            processes.any(|entry| {
                let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&command).contains(&mark)
            })
        };
        let within = |seconds: u64, is_met: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(seconds) && !is_met() {
                std::thread::sleep(Duration::from_millis(20));
            }
            is_met()
        };
        assert!(within(30, &lives), "the manager starts");
        run.kill().unwrap();
        run.wait().unwrap();
        assert!(within(30, &|| !lives()), "the manager ends, {flags:?}");
    }
}

#[test]
fn nonsense_about_a_program_is_reported_with_the_expectation() {
    let scratch = Scratch::new();
    let with = |site: &str, user: &str| {
        let text = format!(
            "name = \"x\"\nseed = 1\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\n{site}\n[[user]]\nname = \"alice\"\n{user}\n\
             [[workload]]\nsource = \"lublin\"\njobs = 2\ntypes = \"one\"\n"
        );
        let ran = hansa(&["validate".as_ref(), scratch.file("x.toml", &text).as_os_str()]);
        assert_eq!(ran.status.code(), Some(2), "{site} {user}");
        text_of(&ran)
    };
    let cases = [
        ("scheduler = \"external\"", "", "site.york.command: missing: expected a program and its arguments"),
        ("scheduler = \"batsim\"", "", "\"{socket}\"], or a `socket`"),
        ("scheduler = \"batsim\"\ncommand = [\"pybatsim\"]", "", "expected {socket} in one of its arguments"),
        (
            "scheduler = \"batsim\"\nsocket = \"28000\"",
            "",
            "expected where a scheduler listens, such as \"tcp://127.0.0.1:28000\"",
        ),
        ("scheduler = \"batsim\"\nsocket = \"tcp://*:28000\"", "", "expected where a scheduler listens"),
        (
            "scheduler = \"batsim\"\nsocket = \"tcp://a:1\"\ncommand = [\"x\", \"{socket}\"]",
            "",
            "expected either a `socket`, or {socket} in the command",
        ),
        ("scheduler = \"easy\"\ncommand = []", "", "site.york.command: expected a program and its arguments"),
        (
            "scheduler = \"external\"\ncommand = [\"x\"]\nsocket = \"tcp://a:1\"",
            "",
            "expected a scheduler = \"batsim\" beside it",
        ),
        ("scheduler = \"externl\"", "", "did you mean `external`?"),
        (
            "scheduler = \"external\"\ncommand = [\"x\"]\nreserved = [{ from = \"1 s\", until = \"2 s\", nodes = \"0\" }]",
            "",
            "an external program does not know of it",
        ),
        ("", "planner = \"external\"", "user.alice.command: missing"),
        ("", "command = \"x\"", "user.alice.command: expected"),
    ];
    for (site, user, expected) in cases {
        let printed = with(site, user);
        assert!(printed.contains(expected), "{site} {user}, expected {expected}: {printed}");
    }
    let market = "name = \"x\"\n[market]\n[[site]]\nname = \"york\"\ncores = 4\nscheduler = \"external\"\n[[user]]\nname = \"alice\"\n\
                  planner = \"external\"\ncommand = [\"x\"]\n[[workload]]\nsource = \"market\"\njobs = 2\ncores_max = 2\n";
    let ran = hansa(&["validate".as_ref(), scratch.file("market.toml", market).as_os_str()]);
    let printed = text_of(&ran);
    assert!(
        printed.contains("external needs a [batch] table: only its sites can be managed by an external program"),
        "{printed}"
    );
    assert!(printed.contains("external needs a [batch] table: only its users can plan like that"), "{printed}");
}

fn text_of(output: &std::process::Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}
