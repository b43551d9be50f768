//! One digest: a topology and a seed give one result in every distribution of the run over processes.

use std::path::Path;
use std::time::Duration;

use crate::grid::{Machines, Scratch, digest, hansa, hansa_ok, json, shipped, text};

fn run(topology: &Path, out: &Path, flags: &[&str]) {
    let mut arguments = vec!["run".as_ref(), topology.as_os_str(), "--out".as_ref(), out.as_os_str()];
    arguments.extend(flags.iter().map(std::ffi::OsStr::new));
    hansa_ok(&arguments);
}

#[test]
fn inline_and_processes_agree_on_every_shipped_topology() {
    for name in [
        "quickstart.toml",
        "market-trace.toml",
        "market-40.toml",
        "old-news.toml",
        "reservations.toml",
        "batch.toml",
        "batch-vo.toml",
        "live.toml",
        "workflow.toml",
        "three-sites.toml",
        "six-tasks.toml",
        "ten-tasks.toml",
        "one-grid.toml",
        "one-site.toml",
        "impatient.toml",
        "dfrs.toml",
        "stale-quotes.toml",
        "business-hours.toml",
        "far-data.toml",
        "failures.toml",
        "broken-promises.toml",
        "malleable.toml",
        "rectangles.toml",
        "broken-bargains.toml",
        "broken-calendar.toml",
        "cut-cable.toml",
    ] {
        let scratch = Scratch::new();
        run(&shipped(name), &scratch.path("inline"), &["--inline"]);
        run(&shipped(name), &scratch.path("processes"), &[]);
        run(&shipped(name), &scratch.path("together"), &["--per-process", "3"]);
        let inline = digest(&scratch.path("inline"));
        assert_eq!(digest(&scratch.path("processes")), inline, "{name}");
        assert_eq!(digest(&scratch.path("together")), inline, "{name}");

        let verify = |a: &str, b: &str| hansa(&["verify".into(), scratch.path(a), scratch.path(b)]);
        let same = verify("inline", "processes");
        assert!(same.status.success(), "{}", text(&same.stderr));
    }
}

#[test]
fn data_of_queued_and_reserved_jobs_takes_equal_paths_in_every_layout() {
    let scratch = Scratch::new();
    let topology = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/digests/staged.toml");
    run(&topology, &scratch.path("inline"), &["--inline"]);
    run(&topology, &scratch.path("processes"), &[]);
    run(&topology, &scratch.path("together"), &["--per-process", "4"]);
    let inline = digest(&scratch.path("inline"));
    assert_eq!(digest(&scratch.path("processes")), inline);
    assert_eq!(digest(&scratch.path("together")), inline);
    let facts = json(&scratch.path("processes").join("summary.json"));
    let flows = facts["results"]["transfers"]["flows"].as_u64().unwrap();
    assert!(flows > 300, "{facts}");
    // Processes have really sent the data.
    assert_eq!(facts["run"]["moved"]["flows"].as_u64(), Some(flows), "{facts}");
    assert!(facts["results"]["reservations"]["given_up"].as_u64() > Some(0), "{facts}");
}

#[test]
fn promises_that_failures_change_are_equal_in_every_layout() {
    let topology = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/digests/failing-reservations.toml");
    for bookings in ["move", "shorten", "break"] {
        let scratch = Scratch::new();
        let set = format!("recovery.bookings={bookings}");
        run(&topology, &scratch.path("inline"), &["--inline", "--set", &set]);
        run(&topology, &scratch.path("processes"), &["--set", &set]);
        assert_eq!(digest(&scratch.path("processes")), digest(&scratch.path("inline")), "{bookings}");
        let facts = json(&scratch.path("processes").join("summary.json"));
        let reservations = &facts["results"]["reservations"];
        assert!(reservations["broken"].as_u64() > Some(0), "{bookings}: {reservations}");
        assert_eq!(reservations["moved"].as_u64() > Some(0), bookings == "move", "{bookings}: {reservations}");
    }
}

#[test]
fn nodes_fail_alike_in_every_layout() {
    for name in ["failing-market", "failing-workflow", "failing-dfrs"] {
        let scratch = Scratch::new();
        let topology = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/all/digests/{name}.toml"));
        run(&topology, &scratch.path("inline"), &["--inline"]);
        run(&topology, &scratch.path("processes"), &[]);
        run(&topology, &scratch.path("together"), &["--per-process", "2"]);
        let inline = digest(&scratch.path("inline"));
        assert_eq!(digest(&scratch.path("processes")), inline, "{name}");
        assert_eq!(digest(&scratch.path("together")), inline, "{name}");
        let facts = json(&scratch.path("inline").join("summary.json"));
        let failures = &facts["results"]["failures"];
        assert!(failures["tasks_lost"].as_u64() > Some(0), "{name}: {failures}");
    }
}

/// The router waits for offers: none of them follows from a start.
#[test]
fn sites_offer_alike_in_every_layout() {
    for (name, every) in
        [("failing-market", "0 s"), ("failing-market", "10 min"), ("market-40", "0 s"), ("market-40", "7 min")]
    {
        let scratch = Scratch::new();
        let topology = match name {
            "market-40" => shipped("market-40.toml"),
            _ => Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/all/digests/{name}.toml")),
        };
        let every = format!("market.offers_every={every}");
        let flags = ["--set", "market.clearing=messages", "--set", &every];
        run(&topology, &scratch.path("inline"), &[&flags[..], &["--inline"]].concat());
        run(&topology, &scratch.path("processes"), &flags);
        run(&topology, &scratch.path("together"), &[&flags[..], &["--per-process", "2"]].concat());
        let inline = digest(&scratch.path("inline"));
        assert_eq!(digest(&scratch.path("processes")), inline, "{name}, {every}");
        assert_eq!(digest(&scratch.path("together")), inline, "{name}, {every}");
        let facts = json(&scratch.path("inline").join("summary.json"));
        assert!(facts["results"]["offers"]["offers"].as_u64() > Some(10), "{name}, {every}: {facts}");
    }
}

/// Also at twice the time up to which floating-point numbers can represent every microsecond.
#[test]
fn data_sets_out_in_any_year_in_every_layout() {
    let topology = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/digests/late-market.toml");
    let durations = |arrive: &str| {
        let scratch = Scratch::new();
        let set = format!("workload.0.job.0.arrive={arrive}");
        run(&topology, &scratch.path("inline"), &["--inline", "--set", &set]);
        run(&topology, &scratch.path("processes"), &["--set", &set]);
        assert_eq!(digest(&scratch.path("processes")), digest(&scratch.path("inline")), "{arrive}");
        let tasks = std::fs::read_to_string(scratch.path("inline").join("tasks.csv")).unwrap();
        let rows: Vec<Vec<&str>> = tasks.lines().map(|line| line.split(',').collect()).collect();
        let column = |name: &str| {
            let place = rows[0].iter().position(|column| *column == name).unwrap();
            rows[1..].iter().map(|row| row[place].to_owned()).collect::<Vec<_>>()
        };
        ["waiting_time", "execution_time", "turnaround_time"].map(column)
    };
    let early = durations("1 d");
    // The last task waits for a second of work and 80 ms of transfer.
    assert_eq!(early[0], ["0", "1", "1.08"]);
    for late in ["11000 d", "12000 d", "104250 d", "208500 d", "365000 d"] {
        assert_eq!(durations(late), early, "{late}");
    }
}

#[test]
fn data_on_links_that_fail_takes_equal_paths_in_every_layout() {
    for name in ["cut-market", "cut-staged", "cut-users"] {
        let scratch = Scratch::new();
        let topology = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/all/digests/{name}.toml"));
        run(&topology, &scratch.path("inline"), &["--inline"]);
        run(&topology, &scratch.path("processes"), &[]);
        let inline = digest(&scratch.path("inline"));
        assert_eq!(digest(&scratch.path("processes")), inline, "{name}");
        let facts = json(&scratch.path("processes").join("summary.json"));
        let network = &facts["results"]["failures"]["network"];
        assert!(network["times_held_up"].as_u64() > Some(0), "{network}");
        // Each of the three has a rule of its own.
        assert_eq!(network["bytes_again"].as_u64() > Some(0), name == "cut-market", "{network}");
        assert_eq!(network["reroutes"].as_u64() > Some(0), name == "cut-staged", "{network}");
        // The bytes sent equal the model's, regardless of failures on the way.
        let moved = facts["run"]["moved"]["flows"].as_u64();
        assert_eq!(moved, facts["results"]["transfers"]["flows"].as_u64().filter(|_| name == "cut-staged"), "{facts}");
    }
}

#[test]
fn another_seed_is_another_run_and_verify_names_where_they_part() {
    let scratch = Scratch::new();
    run(&shipped("quickstart.toml"), &scratch.path("one"), &["--inline"]);
    run(&shipped("quickstart.toml"), &scratch.path("two"), &["--inline", "--seed", "99"]);
    assert_ne!(digest(&scratch.path("one")), digest(&scratch.path("two")));
    let verify = hansa(&["verify".into(), scratch.path("one"), scratch.path("two")]);
    assert_eq!(verify.status.code(), Some(1));
    let printed = text(&verify.stdout) + &text(&verify.stderr);
    assert!(printed.contains("seed") && printed.contains("event"), "{printed}");
}

#[test]
fn one_binary_a_machine_agrees_with_inline_in_any_order_of_arrival() {
    let topology = std::fs::read_to_string(shipped("quickstart.toml")).unwrap();
    let mut machines = Machines::router(&topology, &[]);
    machines.start(&["bob.user", "leeds.site", "alice.user", "york.site", "durham.site"]);
    machines.router.end_with(0, Duration::from_secs(60));
    for member in &mut machines.members {
        member.end_with(0, Duration::from_secs(10));
    }

    let inline = machines.scratch.path("inline");
    run(&machines.topology, &inline, &["--inline"]);
    assert_eq!(digest(&machines.out()), digest(&inline));
}

#[test]
fn a_member_that_is_killed_before_the_run_begins_is_replaced_by_its_successor() {
    let topology = std::fs::read_to_string(shipped("quickstart.toml")).unwrap();
    let mut machines = Machines::router(&topology, &[]);
    machines.start(&["york.site"]);
    machines.members[0].await_text("site york joined");
    machines.members[0].child.kill().unwrap();
    // The dead process does not count as present, regardless of the order in which its successor and the others
    // connect.
    machines.start(&["durham.site", "york.site", "leeds.site", "alice.user", "bob.user"]);
    machines.router.end_with(0, Duration::from_secs(60));
    for member in &mut machines.members[1..] {
        member.end_with(0, Duration::from_secs(10));
    }

    let inline = machines.scratch.path("inline");
    run(&machines.topology, &inline, &["--inline"]);
    assert_eq!(digest(&machines.out()), digest(&inline));
}

#[test]
fn sixty_four_sites_agree() {
    let scratch = Scratch::new();
    let topology = scratch.file(
        "many.toml",
        "name = \"many\"\nseed = 3\n[market]\npolicy = \"fifo\"\n\
         [[site]]\nname = \"site-{}\"\ncount = 64\ncores = 8\nkind = \"Kind1\"\nlatency = \"3 ms\"\n\
         [[site]]\nname = \"other\"\ncores = 64\nkind = \"Kind2\"\n\
         [[user]]\nname = \"alice\"\nlatency = \"1 ms\"\n\
         [[workload]]\nsource = \"market\"\njobs = 100\ncores_max = 8\ntotal_runtime = [\"10 min\", \"2000 min\"]\n",
    );
    run(&topology, &scratch.path("inline"), &["--inline"]);
    run(&topology, &scratch.path("processes"), &[]);
    assert_eq!(digest(&scratch.path("inline")), digest(&scratch.path("processes")));
    let facts = json(&scratch.path("processes").join("summary.json"));
    assert!(facts["run"]["hub_waits"].as_u64().unwrap() > 0, "{facts}");
}
