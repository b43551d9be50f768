//! Queues of rigid jobs: logs of users, in every layout, and errors of logs.

use std::collections::BTreeSet;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::grid::{HANSA, Scratch, digest, hansa, hansa_ok, json, shipped, text};

const LOG: &str = "\
; Version: 2.2
; MaxProcs: 8
10 0 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1
11 10 -1 100 8 -1 -1 8 100 -1 1 2 2 -1 -1 -1 -1 -1
12 20 -1 500 2 -1 -1 2 60 -1 1 1 1 -1 -1 -1 -1 -1
13 30 -1 50 9 -1 -1 9 60 -1 1 1 1 -1 -1 -1 -1 -1
14 40 -1 50 1 -1 -1 1 60 -1 1 1 1 -1 -1 -1 10 30
15 20 -1 50 0 -1 -1 0 60 -1 0 1 1 -1 -1 -1 -1 -1
16 what is this
";

const TOPOLOGY: &str = "name = \"logged\"\n[batch]\n\
    [[site]]\nname = \"york\"\ncores = 8\nlatency = \"1 ms\"\nscheduler = \"easy\"\n\
    [[user]]\nname = \"one\"\n[[user]]\nname = \"two\"\nlatency = \"2 ms\"\n\
    [[workload]]\nsource = \"swf\"\nfile = \"log.swf\"\ndeal = \"group\"\n";

/// The router decides ahead where only users matter: it waits about once for 64 jobs, not for each.
#[test]
fn the_router_of_an_open_loop_seldom_waits() {
    let scratch = Scratch::new();
    let site = |name: &str, scheduler: &str| {
        format!(
            "[[site]]\nname = \"{name}\"\ncores = 64\nlatency = \"5 ms\"\nscheduler = \"{scheduler}\"\nmemory_gb = 8\n"
        )
    };
    let sites = [site("york", "conservative"), site("leeds", "GreedyPM */per/opt=min/minvt=600")].concat();
    let text = |dispatch: &str| {
        format!(
            "name = \"open\"\nseed = 1\n[batch]\ndispatch = \"{dispatch}\"\n{sites}[[user]]\nname = \"alice\"\n\
             [[workload]]\nsource = \"lublin\"\njobs = 2000\narrival_factor = 0.6\n"
        )
    };
    for (dispatch, most) in [("round-robin", 60), ("first", 60), ("least-work", u64::MAX)] {
        let topology = scratch.file("open.toml", &text(dispatch));
        for (out, flags) in [("inline", &["--inline"][..]), ("processes", &[])] {
            let out = scratch.path(out);
            let arguments = ["run", topology.to_str().unwrap(), "--out", out.to_str().unwrap()];
            hansa_ok(&[&arguments[..], flags].concat());
        }
        assert_eq!(digest(&scratch.path("inline")), digest(&scratch.path("processes")), "{dispatch}");
        let waits = json(&scratch.path("processes").join("summary.json"))["run"]["hub_waits"].as_u64().unwrap();
        assert!(waits <= most, "{dispatch}: {waits} waits");
    }
}

#[test]
fn a_log_runs_the_same_in_every_layout_and_its_totals_add_up() {
    let scratch = Scratch::new();
    scratch.file("log.swf", LOG);
    let topology = scratch.file("grid.toml", TOPOLOGY);
    let run = |out: &str, flags: &[&str]| {
        let topology = topology.to_str().unwrap();
        let out = scratch.path(out);
        let mut arguments = vec!["run", topology, "--out", out.to_str().unwrap()];
        arguments.extend(flags);
        text(&hansa_ok(&arguments).stdout)
    };
    let printed = run("inline", &["--inline"]);
    assert!(printed.contains("2 left out because they cannot be read or run"), "{printed}");
    assert!(printed.contains("line 9: "), "{printed}");
    run("processes", &[]);
    assert_eq!(digest(&scratch.path("inline")), digest(&scratch.path("processes")));

    let schedule = json(&scratch.path("processes").join("schedule.json"));
    let count = |key: &str| schedule[key].as_u64().unwrap();
    assert_eq!((count("nb_jobs"), count("nb_jobs_success"), count("nb_jobs_killed")), (5, 3, 1));
    assert_eq!((count("nb_jobs_rejected"), count("nb_jobs_unfinished")), (1, 0));

    let jobs = std::fs::read_to_string(scratch.path("inline").join("jobs.csv")).unwrap();
    let state = |job: &str| {
        let row = jobs.lines().find(|line| line.starts_with(&format!("{job},"))).unwrap().to_owned();
        row.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(state("12")[7], "COMPLETED_WALLTIME_REACHED");
    assert_eq!(state("13")[7], "REJECTED");
    assert_eq!((state("10")[7].as_str(), state("10")[14].as_str()), ("COMPLETED_SUCCESSFULLY", "0-3"));
    // Job 14 is submitted 30 s after the end of job 10, which is at 100 s plus the latency to the site, there and back.
    assert!(state("14")[3].starts_with("130.0"), "{:?}", state("14"));

    let log = std::fs::read_to_string(scratch.path("inline").join("result.swf")).unwrap();
    assert_eq!(log.lines().filter(|line| !line.starts_with(';')).count(), 5);

    let out = scratch.path("inline");
    hansa_ok(&["report", out.to_str().unwrap()]);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("Jobs in the queue, by site") && page.contains("line 9"));

    // Jobs have the names of their log, which is no longer needed.
    std::fs::remove_file(scratch.path("log.swf")).unwrap();
    hansa_ok(&["report", "--trace", out.to_str().unwrap()]);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    let trace = std::fs::read_to_string(out.join("trace.json")).unwrap();
    for job in ["10", "12", "14"] {
        assert!(page.contains(&format!("<title>job {job} of ")), "{job}");
        assert!(trace.contains(&format!(r#""name":"job {job}""#)), "{job}");
    }
    assert!(!page.contains("<title>job 0 of "));
}

#[test]
fn the_log_of_several_workloads_has_every_job_once_in_whole_seconds() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    hansa_ok(&["run", "topologies/batch-vo.toml", "--inline", "--out", out.to_str().unwrap()]);
    let log = std::fs::read_to_string(out.join("result.swf")).unwrap();
    let jobs: Vec<Vec<&str>> =
        log.lines().filter(|line| !line.starts_with(';')).map(|line| line.split(' ').collect()).collect();
    let numbers: BTreeSet<&str> = jobs.iter().map(|fields| fields[0]).collect();
    assert_eq!((jobs.len(), numbers.len()), (1803, 1803));
    assert!(jobs.iter().flatten().all(|field| field.parse::<i64>().is_ok()));
    // User and site of each job; a job that fits none of the three sites has no site.
    let values_of = |field: usize| jobs.iter().map(|fields| fields[field]).collect::<BTreeSet<_>>();
    assert_eq!((values_of(11).len(), values_of(15)), (3, BTreeSet::from(["-1", "1", "2", "3"])));
    assert!(log.contains("; Partition: 2 "), "{log}");
}

/// As in the README: the log lies beside the topology, and both are named relative to the current directory.
#[test]
fn a_packed_log_is_found_from_wherever_one_stands() {
    let scratch = Scratch::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(LOG.as_bytes()).unwrap();
    std::fs::create_dir(scratch.path("mine")).unwrap();
    std::fs::write(scratch.path("mine/log.swf.gz"), encoder.finish().unwrap()).unwrap();
    scratch.file("mine/grid.toml", &TOPOLOGY.replace("log.swf", "log.swf.gz"));
    let from = |folder: &str, arguments: &[&str]| {
        let output =
            std::process::Command::new(HANSA).args(arguments).current_dir(scratch.path(folder)).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let out = |name: &str| scratch.path(name).to_string_lossy().into_owned();
    from(".", &["run", "mine/grid.toml", "--inline", "--out", &out("inline")]);
    from(".", &["run", "mine/grid.toml", "--out", &out("processes")]);
    from("mine", &["run", "./grid.toml", "--out", &out("beside")]);
    let shown = from(".", &["show", "mine/grid.toml"]);
    scratch.file("shown.toml", &shown);
    from("mine", &["run", "../shown.toml", "--out", &out("shown")]);
    for other in ["processes", "beside", "shown"] {
        assert_eq!(digest(&scratch.path("inline")), digest(&scratch.path(other)), "{other}");
    }

    let experiment = "name = \"try\"\ntopology = \"mine/grid.toml\"\nmetrics = [\"bounded_slowdown\", \"killed\"]\n\
        [vary]\nsite.york.scheduler = [\"fcfs\", \"conservative\"]\n";
    scratch.file("try.toml", experiment);
    from(".", &["sweep", "try.toml", "--out", &out("swept")]);
    let rows = std::fs::read_to_string(scratch.path("swept").join("runs.csv")).unwrap();
    assert!(rows.lines().count() == 3 && rows.lines().skip(1).all(|row| row.contains(",0.2,")), "{rows}");
}

#[test]
fn faulty_logs_are_reported_and_strictly_refused() {
    let scratch = Scratch::new();
    scratch.file("log.swf", LOG);
    let topology = scratch.file("grid.toml", TOPOLOGY);
    let topology = topology.to_str().unwrap();
    let complaint = |arguments: &[&str]| {
        let output = hansa(arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let printed = complaint(&["run", topology, "--inline", "--strict"]);
    assert!(
        printed.contains("log.swf: 2 left out")
            && printed.contains("line 9: the submit time is what, which is not a number"),
        "{printed}"
    );
    let printed = complaint(&["validate", topology, "--set", "workload.0.strict=true"]);
    assert!(printed.contains("line 9: the submit time is what"), "{printed}");

    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(LOG.repeat(50).as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    std::fs::write(scratch.path("log.swf"), &packed[..packed.len() / 2]).unwrap();
    let printed = complaint(&["run", topology, "--inline"]);
    assert!(printed.contains("log.swf: the compressed file is truncated"), "{printed}");

    let endless = "7".repeat(1 << 20) + "\n" + LOG;
    std::fs::write(scratch.path("log.swf"), endless).unwrap();
    let printed = complaint(&["run", topology, "--inline", "--strict"]);
    assert!(printed.contains("line 1: longer than any line of a log"), "{printed}");
}

#[test]
fn logs_are_converted_and_generated() {
    let scratch = Scratch::new();
    let log = scratch.file("log.swf", LOG);
    let log = log.to_str().unwrap();
    let there = scratch.path("there.json");
    let back = scratch.path("back.swf");
    let output = hansa_ok(&["convert", log, "--out", there.to_str().unwrap()]);
    assert!(text(&output.stderr).contains("job 15: its number of processors is unknown"));
    let workload: Value = json(&there);
    assert_eq!((workload["nb_res"].as_u64(), workload["jobs"].as_array().unwrap().len()), (Some(8), 5));
    hansa_ok(&["convert", there.to_str().unwrap(), "--out", back.to_str().unwrap()]);
    let back = std::fs::read_to_string(back).unwrap();
    assert!(back.contains("\n12 20 -1 500 2 -1 -1 2 60 -1 1 1 1 "), "{back}");
    assert_eq!(hansa(&["convert", log, "--strict"]).status.code(), Some(2));

    let generate = |flags: &[&str]| {
        let mut arguments = vec!["generate", "lublin", "--jobs", "50", "--nodes", "64"];
        arguments.extend(flags);
        text(&hansa_ok(&arguments).stdout)
    };
    let lines = |text: &str| text.lines().filter(|line| !line.starts_with(';')).count();
    assert_eq!(lines(&generate(&[])), 50);
    assert_ne!(generate(&["--seed", "2"]), generate(&[]));
    let jobs: Value = serde_json::from_str(&generate(&["--to", "batsim", "--overestimate", "2"])).unwrap();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 50);

    scratch.file("asked.toml", &generate(&["--to", "requests", "--ahead", "2"]));
    let topology = "name = \"asked\"\n[reservation]\n[[site]]\nname = \"york\"\ncores = 64\n\
        [[user]]\nname = \"alice\"\n[[workload]]\ninclude = \"asked.toml\"\n";
    let topology = scratch.file("grid.toml", topology);
    let out = scratch.path("out");
    hansa_ok(&["run", topology.to_str().unwrap(), "--inline", "--out", out.to_str().unwrap()]);
    assert_eq!(json(&out.join("summary.json"))["results"]["reservations"]["submitted"], 50);
}

/// This many jobs at one instant, of one user and for one site that starts them all: no frame is too long for them.
#[test]
fn very_many_jobs_at_once_are_the_same_in_every_layout() {
    const JOBS: u32 = 60_000;
    let scratch = Scratch::new();
    // They start together and end one by one, the last one first.
    let line =
        |job: u32| format!("{job} 0 -1 {} 1 -1 -1 1 {} -1 1 1 1 -1 1 -1 -1 -1\n", 2 * JOBS - job, 2 * JOBS + job);
    scratch.file("log.swf", &(1..=JOBS).map(line).collect::<String>());
    let topology = format!(
        "name = \"crowd\"\n[batch]\n\
         [[site]]\nname = \"york\"\ncores = {JOBS}\nlatency = \"1 ms\"\nscheduler = \"fcfs-count\"\n\
         [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"swf\"\nfile = \"log.swf\"\n"
    );
    let topology = scratch.file("grid.toml", &topology);
    let run = |out: &str, flags: &[&str]| {
        let mut arguments = vec!["run".into(), topology.clone(), "--out".into(), scratch.path(out)];
        arguments.extend(flags.iter().map(std::path::PathBuf::from));
        hansa_ok(&arguments);
        digest(&scratch.path(out))
    };
    assert_eq!(run("processes", &[]), run("inline", &["--inline"]));
}

/// Sites that rank jobs by users and accounts get the jobs, also in processes of their own.
#[test]
fn priorities_are_the_same_in_every_layout() {
    let scratch = Scratch::new();
    let digest_of = |order: &str, flags: &[&str]| {
        let out = scratch.path("out");
        let mut arguments = vec!["run".to_owned(), shipped("priorities.toml").display().to_string()];
        arguments.extend(["--out".to_owned(), out.display().to_string(), "--set".to_owned()]);
        arguments.extend([
            "site.york.scheduler=easy".to_owned(),
            "--set".to_owned(),
            format!("site.york.order={order}"),
        ]);
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        hansa_ok(&arguments);
        digest(&out)
    };
    let inline = digest_of("multifactor", &["--inline"]);
    assert_eq!(digest_of("multifactor", &[]), inline);
    assert_ne!(digest_of("arrival", &["--inline"]), inline);
}
