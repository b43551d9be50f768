//! `hansa whatif`: answers, phases, growth, and changes that are none.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::grid::{Scratch, expect_error, hansa, json, shipped, text};

fn what_if(topology: &Path, changes: &[&Path], out: &Path, flags: &[&str]) -> Output {
    let mut words = vec!["whatif".to_owned(), topology.to_string_lossy().into_owned()];
    for change in changes {
        words.extend(["--change".to_owned(), change.to_string_lossy().into_owned()]);
    }
    words.extend(["--out".to_owned(), out.to_string_lossy().into_owned()]);
    words.extend(flags.iter().map(|flag| (*flag).to_owned()));
    hansa(&words)
}

fn answered(topology: &Path, changes: &[&Path], out: &Path, flags: &[&str]) -> String {
    let output = what_if(topology, changes, out, flags);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Rows of the runs: entrant, phase, and digest.
fn rows(out: &Path) -> Vec<(String, String, String)> {
    let table = std::fs::read_to_string(out.join("runs.csv")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[1].to_owned(), cells[2].to_owned(), (*cells.last().unwrap()).to_owned())
    };
    table.lines().skip(1).map(row).collect()
}

/// The table of this name in an answer.
fn table<'a>(answer: &'a Value, name: &str) -> &'a Vec<Value> {
    let tables = answer["tables"].as_array().unwrap();
    tables.iter().find(|table| table["name"] == name).unwrap()["rows"].as_array().unwrap()
}

#[test]
fn a_change_of_a_native_policy_is_answered() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let change = shipped("changes/shortest.toml");
    let topology = shipped("textbook.toml");
    let dry = answered(&topology, &[&change], &out, &["--phases", "3", "--dry-run"]);
    assert!(dry.starts_with("6 runs (2 of entrant, 3 of phase) in ") && dry.contains("about "), "{dry}");
    assert!(!out.exists());

    let printed = answered(&topology, &[&change], &out, &["--phases", "3"]);
    assert!(
        printed.starts_with("Under shortest, the mean wait ") && printed.contains("what-if.html: the page"),
        "{printed}"
    );
    assert!(
        printed.contains("all 3 phases have the same waits") && printed.contains("Whose waits change\n"),
        "{printed}"
    );
    assert!(!printed.contains("The log records waits"), "{printed}");
    let answer = json(&out.join("answer.json"));
    let waits = table(&answer, "waits");
    let mean = |row: usize| waits[row][1]["number"].as_f64().unwrap();
    assert!((waits[1][2]["number"].as_f64().unwrap() - (mean(1) - mean(0))).abs() < 1e-6, "{waits:?}");
    assert_eq!(answer["changes"][0]["lines"][0], "site.york.order = \"shortest\"");
    // The wait of a run is that of its summary.
    let run = scratch.path("run");
    let run_words = ["run", topology.to_str().unwrap(), "--inline", "--out", run.to_str().unwrap()];
    assert!(hansa(&[&run_words[..], &["--set", "site.york.order=shortest"]].concat()).status.success());
    let summary = json(&run.join("summary.json"));
    let digest = summary["results"]["digest"].as_str().unwrap();
    assert_eq!(rows(&out)[3], ("shortest".to_owned(), "0 s".to_owned(), digest.to_owned()));
    let page = std::fs::read_to_string(out.join("what-if.html")).unwrap();
    assert!(page.contains("Under shortest, the mean wait") && page.contains("<svg"), "no answer or picture");

    // Nothing is made twice, another change makes only its own runs, and JSON is that of the file.
    let second = scratch.file("exact.toml", "[set]\nworkload.0.overestimate = 1.0\n");
    let dry = answered(&topology, &[&second, &change], &out, &["--phases", "3", "--dry-run"]);
    assert!(dry.contains(": 6 there already, 3 to make\n"), "{dry}");
    let printed = answered(&topology, &[&second, &change], &out, &["--phases", "3", "--json"]);
    let grown: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(grown, json(&out.join("answer.json")));
    assert!(grown["verdicts"].as_array().unwrap().len() == 2 && rows(&out).len() == 9);
}

/// A grid whose dispatcher gets reports of ended jobs every ten minutes.
fn periodic(scratch: &Scratch) -> PathBuf {
    let site = |name: &str| format!("[[site]]\nname = \"{name}\"\ncores = 16\nreport_every = \"10 min\"\n");
    let text = format!(
        "name = \"periodic\"\nseed = 1\n[batch]\ndispatch = \"least-work\"\n{}{}[[user]]\nname = \"alice\"\n\
         [[workload]]\nsource = \"lublin\"\njobs = 200\nnodes = 16\nutilisation = 0.9\n",
        site("york"),
        site("durham")
    );
    scratch.file("periodic.toml", &text)
}

#[test]
fn intervals_are_over_phases_where_these_differ() {
    let scratch = Scratch::new();
    let topology = periodic(&scratch);
    let change =
        scratch.file("sooner.toml", "[set]\nsite.york.order = \"shortest\"\nsite.durham.order = \"shortest\"\n");
    let out = scratch.path("out");
    let flags = ["--phases", "4", "--cycle", "10min"];
    let printed = answered(&topology, &[&change], &out, &flags);
    assert!(printed.contains("over 4 phases") && printed.contains(" ± "), "{printed}");
    let phases: Vec<String> = rows(&out)[..4].iter().map(|row| row.1.clone()).collect();
    assert_eq!(phases, ["0 s", "370800 ms", "141600 ms", "512400 ms"]);
    // One phase has no interval.
    let printed = answered(&topology, &[&change], &scratch.path("one"), &["--phases", "1"]);
    assert!(printed.contains("There is one phase, so there are no intervals") && !printed.contains('±'), "{printed}");
    // Phases do not depend on the number of threads.
    let one = scratch.path("thread");
    answered(&topology, &[&change], &one, &[&flags[..], &["--threads", "1"]].concat());
    assert_eq!(rows(&one), rows(&out));
}

/// A dump of 120 jobs of two QOS and two partitions, with waits.
fn dump() -> String {
    let mut text =
        "JobID|Submit|Eligible|Start|End|Elapsed|State|NCPUS|Timelimit|User|Account|QOS|Partition\n".to_owned();
    for job in 0..120u32 {
        let clock =
            |seconds: u32| format!("2024-03-01T{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let submit = 60 * job;
        let runs = 300 + 97 * (job % 7);
        let start = submit + 30 * (job % 5);
        let quality = if job % 3 == 0 { "high" } else { "normal" };
        let partition = if job % 2 == 0 { "long" } else { "short" };
        text.push_str(&format!(
            "{}|{}|{}|{}|{}|00:{:02}:{:02}|COMPLETED|{}|00:30:00|u{}|a{}|{quality}|{partition}\n",
            job + 1,
            clock(submit),
            clock(submit),
            clock(start),
            clock(start + runs),
            runs / 60,
            runs % 60,
            1 + job % 4,
            job % 3,
            job % 2,
        ));
    }
    text
}

#[test]
fn a_log_is_compared_by_its_groups_and_with_its_own_waits() {
    let scratch = Scratch::new();
    scratch.file("jobs.txt", &dump());
    let topology = scratch.file(
        "logged.toml",
        "name = \"logged\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 16\nscheduler = \"easy\"\n[[user]]\nname = \"all\"\n\
         [[workload]]\nsource = \"sacct\"\nfile = \"jobs.txt\"\n",
    );
    let change = scratch.file("wider.toml", "about = \"twice the cores\"\n[set]\nsite.york.cores = 32\n");
    let out = scratch.path("out");
    let printed = answered(&topology, &[&change], &out, &["--phases", "2"]);
    assert!(
        printed.contains("Under wider, the mean wait falls from ") && printed.contains("By QOS, jobs wait:"),
        "{printed}"
    );
    for words in ["QOS         normal", "partition   short", "user        u1", "account     a0"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    assert!(
        printed.contains("The log records waits of 120 jobs, on average 60 s.") && printed.contains("eligible"),
        "{printed}"
    );
    let answer = json(&out.join("answer.json"));
    let recorded = answer["recorded"]["table"]["rows"].as_array().unwrap();
    let high = recorded.iter().find(|row| row[1]["text"] == "high").unwrap();
    assert_eq!((&high[2]["number"], high[3]["text"].as_str()), (&40.0.into(), Some("60")));
    let page = std::fs::read_to_string(out.join("what-if.html")).unwrap();
    assert!(page.contains("How far to believe it") && page.contains("twice the cores"), "the page lacks a part");
}

#[test]
fn what_changes_nothing_and_what_is_no_change_are_refused() {
    let scratch = Scratch::new();
    let topology = shipped("textbook.toml");
    let out = scratch.path("out");
    let refused = |changes: &[&Path], flags: &[&str], words: &[&str]| {
        let output = what_if(&topology, changes, &out, flags);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        words.iter().for_each(|words| assert!(printed.contains(words), "{words}: {printed}"));
        assert!(!out.exists());
    };
    let shortest = shipped("changes/shortest.toml");
    refused(&[], &[], &["--change <FILE>"]);
    refused(&[&shortest, &shortest], &[], &["this change is given twice"]);
    let copy = scratch.file("copy.toml", &std::fs::read_to_string(&shortest).unwrap());
    refused(&[&shortest, &copy], &[], &["they have the same content"]);
    let idle = scratch.file("idle.toml", "[set]\nsite.york.order = \"arrival\"\n");
    refused(&[&idle], &[], &["idle.toml: it changes nothing"]);
    let absent = scratch.file("absent.toml", "[set]\nsite.yrok.order = \"shortest\"\n");
    refused(&[&absent], &[], &["absent.toml:2:", "york"]);
    let bad = scratch.file("bad.toml", "[set]\nsite.york.order = \"shrotest\"\n");
    refused(&[&bad], &[], &["bad.toml:2:", "shortest"]);
    refused(&[&scratch.file("none.toml", "about = \"none\"\n")], &[], &["none.toml", "expected a [set] table"]);
    refused(&[&scratch.file("words", "hello world\n")], &[], &["words: line 1: expected lines for slurm.conf"]);
    refused(&[&scratch.file("empty.conf", "# nothing\n\n")], &[], &["it has no line that could change anything"]);
    refused(
        &[&scratch.file("qos.script", "modify qos set priority=5\n")],
        &[],
        &["it has accounts of sacctmgr, but no Slurm manages"],
    );
    refused(&[&scratch.path("gone.conf")], &[], &["cannot read "]);
    let lines = scratch.file("few.conf", "SchedulerParameters=bf_max_job_test=3\n");
    refused(&[&lines], &[], &["no Slurm manages a site of "]);
    let york = PathBuf::from(format!("york={}", lines.display()));
    refused(&[&york], &[], &["no Slurm manages york"]);
    let durham = PathBuf::from(format!("yrok={}", lines.display()));
    refused(&[&durham], &[], &["has no site yrok; did you mean york?"]);

    // The folder of something else, and jobs that cannot be submitted later.
    let other = scratch.path("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("notes.txt"), "mine").unwrap();
    let output = what_if(&topology, &[&shortest], &other, &["--phases", "2"]);
    assert!(
        output.status.code() == Some(2) && text(&output.stderr).contains("is not empty"),
        "{}",
        text(&output.stderr)
    );
    let market = shipped("market-40.toml");
    let policy = scratch.file("pvr.toml", "[set]\nmarket.policy = \"pvr\"\n");
    let output = what_if(&market, &[&policy], &out, &[]);
    expect_error(&output, 2, "cannot be submitted later");
    assert!(answered(&market, &[&policy], &out, &["--phases", "1"]).starts_with("Under pvr, the mean wait is "));
}

#[test]
fn a_change_without_effect_is_said_to_change_nothing() {
    let scratch = Scratch::new();
    let topology = shipped("textbook.toml");
    // Slurm does not manage the site, so its number of nodes has no effect.
    let change = scratch.file("mail.toml", "[set]\nuser.alice.latency = \"0 ms\"\nsite.york.kind = \"Kind2\"\n");
    let output = what_if(&topology, &[&change], &scratch.path("out"), &["--phases", "2"]);
    let printed = text(&output.stdout);
    assert!(
        printed.contains("mail changes nothing: in each phase, its run has the digest of the baseline's."),
        "{printed}"
    );
}

/// Forty jobs of a table on eight cores, with users, accounts and QOS in their options of `sbatch`.
fn with_options(scratch: &Scratch) -> PathBuf {
    let job = |number: u32| {
        let user = ["ann", "bob"][number as usize % 2];
        let (qos, account) = if number % 4 == 1 { ("high", "lab") } else { ("low", "chem") };
        let partition = if number.is_multiple_of(3) { "debug" } else { "main" };
        let cores = 1 + number * 5 % 8;
        format!(
            "{{ arrive = \"{} s\", tasks = [{{ cores = {cores}, runtime = \"{} s\" }}], \
             sbatch = \"--uid={user} -A {account} -q {qos} -p {partition}\" }}",
            number * 30,
            100 + number * 37 % 400
        )
    };
    let jobs: Vec<String> = (0..40).map(job).collect();
    let ranked = "[site.multifactor]\nqos = 1000\nqos_levels = [{ name = \"low\", priority = 0 }, \
                  { name = \"high\", priority = 1 }]\n";
    let text = format!(
        "name = \"options\"\nseed = 1\n[batch]\n[[site]]\nname = \"york\"\ncores = 8\n{ranked}[[user]]\nname = \"all\"\n\
         [[workload]]\nsource = \"table\"\njob = [{}]\n",
        jobs.join(", ")
    );
    scratch.file("options.toml", &text)
}

#[test]
fn jobs_of_a_table_are_grouped_by_their_options() {
    let scratch = Scratch::new();
    let topology = with_options(&scratch);
    let change = scratch.file("ranked.toml", "[set]\nsite.york.order = \"multifactor\"\n");
    let out = scratch.path("out");
    answered(&topology, &[&change], &out, &["--phases", "2"]);
    let answer = json(&out.join("answer.json"));
    let groups = answer["tables"].as_array().unwrap().iter();
    let rows: Vec<&Value> = groups.flat_map(|table| table["rows"].as_array().unwrap()).collect();
    let row = |by: &str, group: &str| {
        let found = rows.iter().find(|row| row[0]["text"] == by && row[1]["text"] == group);
        *found.unwrap_or_else(|| panic!("no {by} {group}: {rows:?}"))
    };
    for (by, group, jobs) in [
        ("QOS", "high", 10),
        ("QOS", "low", 30),
        ("user", "ann", 20),
        ("account", "lab", 10),
        ("partition", "main", 26),
    ] {
        assert_eq!(row(by, group)[2]["number"], f64::from(jobs), "{by} {group}");
    }
    // Jobs of the better QOS go first, and all others wait for them.
    assert!(row("QOS", "high")[4]["number"].as_f64().unwrap() < -60.0, "{}", row("QOS", "high"));
    assert!(row("QOS", "low")[4]["number"].as_f64().unwrap() > 0.0, "{}", row("QOS", "low"));
}
