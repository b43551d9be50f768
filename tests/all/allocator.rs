//! An external fit policy: its effect on a run and a sweep, and the end of a run whose program fails.

use std::path::{Path, PathBuf};

use crate::grid::{Scratch, digest, expect_error, hansa, hansa_ok, shipped, text};
use crate::skip::has_python;

const LAYOUTS: [&[&str]; 2] = [&["--inline"], &[]];

/// Digest of a shipped topology with these settings.
fn digest_of(topology: &str, out: &Path, flags: &[&str], settings: &[&str]) -> String {
    let mut arguments: Vec<PathBuf> = vec!["run".into(), shipped(topology), "--out".into(), out.to_owned()];
    arguments.extend(flags.iter().chain(settings.iter().flat_map(|set| [&"--set", set])).map(PathBuf::from));
    hansa_ok(&arguments);
    digest(out)
}

/// Also under the rules that compare several sites, and where nodes fail and sites are shared.
#[test]
fn a_program_that_chooses_like_a_policy_gives_its_digest_in_every_layout() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::new();
    let command = format!("reservation.allocator.command=[\"python3\", {:?}]", shipped("allocator.py"));
    let cases = [
        ("foreign-allocator.toml", "reservation.choose=first"),
        ("foreign-allocator.toml", "reservation.choose=global"),
        ("broken-calendar.toml", "reservation.choose=first"),
    ];
    for (number, (topology, rule)) in cases.into_iter().enumerate() {
        let path = |what: &str| scratch.path(&format!("{what}-{number}"));
        let ours = digest_of(topology, &path("ours"), &["--inline"], &["reservation.policy=pe_w", rule]);
        for (layout, flags) in LAYOUTS.into_iter().enumerate() {
            let settings = ["reservation.policy=external", &command, rule];
            let theirs = digest_of(topology, &path(&format!("theirs-{layout}")), flags, &settings);
            assert_eq!(theirs, ours, "{topology} {rule} {flags:?}");
        }
    }
}

#[test]
fn a_sweep_compares_a_program_with_policies() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::new();
    let topology = shipped("foreign-allocator.toml");
    let experiment = format!(
        "name = \"compared\"\ntopology = {topology:?}\nmetrics = [\"acceptance\"]\nset = {{ workload.0.requests = 60 }}\n\
         [vary]\nreservation.policy = [\"ff\", \"pe_w\", \"external\"]\nseed = [1, 2]\n"
    );
    let experiment = scratch.file("compared.toml", &experiment);
    let out = scratch.path("swept");
    hansa_ok(&["sweep".as_ref(), experiment.as_os_str(), "--out".as_ref(), out.as_os_str()]);
    let rows = std::fs::read_to_string(out.join("runs.csv")).unwrap();
    let mut rows = rows.lines().map(|row| row.split(',').map(str::to_owned).collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let column = |name: &str| head.iter().position(|head| head == name).unwrap();
    let policy = column("reservation.policy");
    let digest = column("digest");
    let rows: Vec<Vec<String>> = rows.collect();
    let of =
        |name: &str| rows.iter().filter(|row| row[policy] == name).map(|row| row[digest].clone()).collect::<Vec<_>>();
    assert_eq!((of("external").len(), of("external")), (2, of("pe_w")));
    assert_ne!(of("ff"), of("pe_w"));
}

/// One request, whose places a shell chooses with this script.
fn chosen(scratch: &Scratch, allocator: &str) -> PathBuf {
    scratch.file(
        "chosen.toml",
        &format!(
            "name = \"chosen\"\nseed = 1\n[reservation]\npolicy = \"external\"\n{allocator}[[site]]\nname = \"york\"\ncores = 4\n\
             [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"requests\"\n[[workload.request]]\narrive = \"1 min\"\n\
             duration = \"10 min\"\nnodes = 2\n"
        ),
    )
}

fn scripted(scratch: &Scratch, script: &str) -> PathBuf {
    let settings = format!("[reservation.allocator]\ncommand = [\"sh\", \"-c\", {script:?}]\ntimeout = \"400 ms\"\n");
    chosen(scratch, &settings)
}

#[test]
fn a_program_that_fails_ends_the_run_and_is_named() {
    const HELLO: &str = "read q; echo '{\"type\":\"hello\",\"version\":1}'; read q;";
    let allocate = |rest: &str| format!("{HELLO} echo '{{\"type\":\"allocate\",\"ask\":1{rest}}}'; cat");
    let at = ", at virtual time 00:01:00";
    let cases = [
        ("exit 3".to_owned(), "has ended before the run was over (exit status: 3)".to_owned()),
        ("read q; echo '{\"type\":\"hello\",\"version\":9}'; cat".to_owned(), "speaks version 9".to_owned()),
        (format!("{HELLO} exit 0"), format!("has ended before the run was over (exit status: 0){at}")),
        (format!("{HELLO} exec sleep 60"), format!("has not answered within 0.4 s{at}")),
        (
            allocate(""),
            "is not a valid answer (expected one like {\"type\":\"allocate\",\"ask\":1,\"candidate\":0}): missing field \
             `candidate`"
                .to_owned(),
        ),
        (
            allocate(",\"candidate\":1"),
            format!("chooses candidate 1 for job 0, which has 1 candidate (expected 0 to 0 or null){at}"),
        ),
        (
            allocate(",\"candidate\":0,\"nodes\":\"3-4\""),
            format!(
                "gives job 0 the nodes 3-4 at candidate 0, where 4 are not free (expected 2 nodes of 0-3){at}"
            ),
        ),
        (
            format!("{HELLO} echo '{{\"type\":\"allocate\",\"ask\":7,\"candidate\":0}}'; cat"),
            format!("answers question 7 when asked question 1{at}"),
        ),
    ];
    for (script, expected) in cases {
        for flags in LAYOUTS {
            let scratch = Scratch::new();
            let topology = scripted(&scratch, &script);
            let out = scratch.path("out");
            let mut arguments: Vec<PathBuf> = vec!["run".into(), topology, "--out".into(), out.clone()];
            arguments.extend(flags.iter().map(PathBuf::from));
            let ran = hansa(&arguments);
            let printed = text(&ran.stderr);
            assert_eq!(ran.status.code(), Some(8), "{script} {flags:?}: {printed}");
            assert!(
                printed.contains("the allocator `sh -c ") && printed.contains(&expected),
                "{script} {flags:?}: {printed}"
            );
            let events = std::fs::read_to_string(out.join("events.jsonl")).unwrap_or_default();
            assert!(!events.contains("\"answered\""), "nothing is decided: {events}");
        }
    }
}

/// An allocator may name nodes, and may decline.
#[test]
fn an_allocator_names_nodes_or_declines() {
    for (rest, expected) in [(",\"candidate\":0,\"nodes\":\"1 3\"", "\"1 3\""), (",\"candidate\":null", "declined")] {
        let answer = format!("{{\"type\":\"allocate\",\"ask\":1{rest}}}");
        let script = format!("read q; echo '{{\"type\":\"hello\",\"version\":1}}'; read q; echo '{answer}'; cat");
        let scratch = Scratch::new();
        let topology = scripted(&scratch, &script);
        let out = scratch.path("out");
        hansa_ok(&["run".as_ref(), topology.as_os_str(), "--inline".as_ref(), "--out".as_ref(), out.as_os_str()]);
        let events = std::fs::read_to_string(out.join("events.jsonl")).unwrap();
        assert!(events.contains(expected), "{events}");
    }
}

#[test]
fn faults_of_the_table_are_found_before_the_run() {
    let scratch = Scratch::new();
    let topology = chosen(&scratch, "");
    let printed = hansa(&["validate".as_ref(), topology.as_os_str()]);
    expect_error(&printed, 2, "reservation.allocator: missing");
    let topology = chosen(&scratch, "[reservation.allocator]\ntimeout = \"1 s\"\n");
    let printed = hansa(&["validate".as_ref(), topology.as_os_str()]);
    assert!(text(&printed.stderr).contains("reservation.allocator.command: missing"), "{}", text(&printed.stderr));
    let topology = chosen(&scratch, "[reservation.allocator]\ncommand = [\"no-such-program\"]\n");
    let message = "reservation.allocator.command: cannot start the allocator `no-such-program`";
    let printed = hansa(&["validate".as_ref(), topology.as_os_str()]);
    assert!(printed.status.success() && text(&printed.stderr).contains(message), "{}", text(&printed.stderr));
    let printed = hansa(&["validate".as_ref(), "--strict".as_ref(), topology.as_os_str()]);
    assert!(!printed.status.success(), "{}", text(&printed.stderr));
    let out = scratch.path("out");
    let printed = hansa(&["run".as_ref(), topology.as_os_str(), "--out".as_ref(), out.as_os_str()]);
    expect_error(&printed, 8, message);
}
