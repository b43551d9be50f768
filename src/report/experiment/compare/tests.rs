//! Comparisons of results made by hand.

use serde_json::{Value, json};

use super::{Comparison, JobReader, LogComparison, Side, Sweep, compare_sweeps, make_comparison};
use crate::experiment::metrics;
use crate::{Course, Difference, Host, Input, Manifest, Names, SizeGroup, Status, SummaryFile, Window};
use hansa_sim::time::Time;

const HEADING: &str = "job_id,workload_name,submission_time,requested_number_of_resources,requested_time,\
                       final_state,starting_time,finish_time,job,user,name,value,value_max";

/// A summary with these counts of jobs and this mean wait.
fn summary(jobs: u64, wait: Option<f64>, value: Option<f64>) -> SummaryFile {
    let counts = json!({ "submitted": jobs, "finished": jobs, "removed": 0, "refused": 0, "unfinished": 0 });
    let none = json!({ "name": "all", "cores": 4, "tasks": 0, "busy": 0.0, "arrivals": null, "makespan": null });
    let spread = |mean: f64| json!({ "mean": mean, "median": mean, "p95": mean });
    let worth = |share: f64| json!({ "obtained": share * 10.0, "max": 10.0, "proportion": share });
    let results = json!({
        "topology": "grid", "seed": 1, "status": "complete", "digest": "d".repeat(32), "entries": 3,
        "jobs": counts, "tasks": counts, "starved": null, "value": value.map(worth),
        "job_wait": wait.map(spread), "task_wait": null, "slr": null, "slr_by_size": [],
        "first_arrival": 0.0, "last_arrival": 5.0, "end": 20.0, "makespan": 20.0,
        "utilisation": { "all": none, "kinds": [], "sites": [] }, "useful": null, "view": null,
    });
    let run = json!({
        "layout": "inline", "wall_seconds": 0.1, "join_seconds": 0.0, "run_seconds": 0.1, "events": 3,
        "events_per_second": null, "hub_waits": null, "messages": null, "messages_per_packet": null, "frames": null,
        "waits": {}, "blocked_seconds": {},
    });
    serde_json::from_value(json!({ "results": results, "run": run })).unwrap()
}

fn side(name: &str, topology: &str, rows: &[&str], summary: SummaryFile) -> Side {
    let cells = |row: &str| row.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut reader = JobReader::new(&cells(HEADING)).unwrap();
    rows.iter().for_each(|row| reader.take_row(&cells(row), "grid").unwrap());
    let manifest = Manifest {
        version: "0.1.0".to_owned(),
        status: Status::Complete,
        command: Vec::new(),
        layout: "inline".to_owned(),
        seed: 1,
        topology_hash: topology.len().to_string(),
        topology: topology.to_owned(),
        inputs: Vec::new(),
        names: Names { actors: Vec::new(), kinds: Vec::new(), links: Vec::new() },
        started: String::new(),
        wall_seconds: 0.0,
        host: Host::default(),
        files: Vec::new(),
    };
    Side {
        name: name.to_owned(),
        manifest,
        jobs: reader.finish(summary.results.jobs.submitted).unwrap(),
        summary,
        course: Some(Course { busy: vec![0.5, 1.0], waiting: vec![0.0, 2.0] }),
        log: LogComparison::Reference,
        changed: Vec::new(),
    }
}

const DONE: &str = "COMPLETED_SUCCESSFULLY";

/// Four jobs: the waits are 0, 2, 4 and 0 seconds, and all run for 10 s.
fn first() -> Side {
    let rows = [
        format!("1,grid,0,2,,{DONE},0,10,0,ann,,,"),
        format!("2,grid,1,2,,{DONE},3,13,1,ann,,,"),
        format!("3,grid,2,1,,{DONE},6,16,2,bob,three,,"),
        format!("4,grid,5,1,,{DONE},5,15,3,bob,,,"),
    ];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let topology =
        "seed = 1\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\nscheduler = \"easy\"\n[[site]]\nname = \"hull\"\n";
    side("out/a", topology, &rows, summary(4, Some(1.5), None))
}

/// Job 2 starts at once, job 3 a second later than in the first, job 4 is lacking, job 5 is new.
fn second() -> Side {
    let rows = [
        format!("1,grid,0,2,,{DONE},0,10,0,ann,,,"),
        format!("2,grid,1,2,,{DONE},1,11,1,ann,,,"),
        format!("3,grid,2,1,,{DONE},7,17,2,bob,three,,"),
        "5,grid,5,1,,RUNNING,5,,3,bob,,,".to_owned(),
    ];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let topology = "seed = 1\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\nscheduler = \"fcfs\"\n";
    let mut second = side("out/b", topology, &rows, summary(4, Some(1.2), Some(0.75)));
    let a = Some("one".to_owned());
    let b = Some("other".to_owned());
    second.log = LogComparison::Differs(Difference { line: 2, a, b, what: "its time".to_owned() });
    second
}

fn comparison(sides: Vec<Side>) -> Result<Comparison, String> {
    make_comparison(sides, Window::new(Time::ZERO, Time::from_micros(20_000_000)), None)
}

fn metric(json: &Value, name: &str) -> Value {
    json["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == name).unwrap().clone()
}

#[test]
fn metrics_have_differences_and_ratios_where_both_runs_have_them() {
    let json = comparison(vec![first(), second()]).unwrap().json();
    let wait = metric(&json, "job_wait");
    assert_eq!(wait["values"], json!([1.5, 1.2]));
    assert!((wait["differences"][0].as_f64().unwrap() + 0.3).abs() < 1e-12);
    assert!((wait["ratios"][0].as_f64().unwrap() - 0.8).abs() < 1e-12);
    assert_eq!(wait["text"], json!({ "values": ["1.5", "1.2"], "differences": ["-0.3"], "ratios": ["0.8"] }));
    let value = metric(&json, "value");
    assert_eq!((&value["values"], &value["differences"]), (&json!([null, 0.75]), &json!([null])));
    assert!(json["absent"].as_array().unwrap().contains(&json!("acceptance")));
}

#[test]
fn jobs_are_matched_by_number() {
    let json = comparison(vec![first(), second()]).unwrap().json();
    let jobs = &json["jobs"][0];
    let counts = ["matched", "only_in_first", "only_in_other", "unlike"].map(|key| jobs[key].as_u64().unwrap());
    assert_eq!(counts, [3, 1, 1, 0]);
    let turnaround = &jobs["quantities"][0];
    let counts = ["better", "worse", "same"].map(|key| turnaround[key].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 1]);
    let quantiles = json!({ "0": -2.0, "5": -2.0, "25": -2.0, "50": 0.0, "75": 1.0, "95": 1.0, "100": 1.0 });
    assert_eq!(turnaround["quantiles"], quantiles);
    let largest: Vec<_> =
        jobs["largest"].as_array().unwrap().iter().map(|job| (&job["job"], &job["difference"])).collect();
    assert_eq!(largest, [(&json!("2"), &json!(-2.0)), (&json!("3 (three)"), &json!(1.0))]);
    let notes = json["notes"].as_array().unwrap();
    assert_eq!(notes, &[json!("1 job of A is not in B"), json!("1 job of B is not in A")]);
}

#[test]
fn inputs_and_versions_that_differ_name_their_runs() {
    let with = |hash: &str, version: &str| {
        let mut side = first();
        side.manifest.inputs = vec![Input { path: "log.swf".to_owned(), hash: hash.to_owned() }];
        side.manifest.version = version.to_owned();
        side
    };
    let sides =
        vec![with("1", "0.1.0"), with("2", "0.1.0"), with("1", "0.1.0"), with("2", "0.1.0"), with("3", "0.2.0")];
    let json = comparison(sides).unwrap().json();
    let notes = [
        "E (out/a) was made by Hansa 0.2.0, A by Hansa 0.1.0",
        "the input log.swf of B, D and E differs from that of A",
    ];
    assert_eq!(json["notes"], json!(notes));
}

#[test]
fn results_that_were_changed_are_not_the_same_run() {
    let verdict = |changed: [&[&str]; 2]| {
        let mut sides = vec![first(), first()];
        for (side, changed) in sides.iter_mut().zip(changed) {
            side.changed = changed.iter().map(|name| (*name).to_owned()).collect();
        }
        sides[1].log = LogComparison::Same;
        let json = comparison(sides).unwrap().json();
        (json["verdicts"][0].as_str().unwrap().to_owned(), json["notes"].clone())
    };
    assert_eq!(verdict([&[], &[]]), ("B is the same run as A: no event differs.".to_owned(), json!([])));
    let (text, notes) = verdict([&["jobs.csv"], &[]]);
    assert_eq!(text, "No event of B differs from A, but files of A have been changed since.");
    let note = "jobs.csv of A (out/a) has been changed since the run, so its numbers may not be those of the run";
    assert_eq!(notes, json!([note]));
    let (text, notes) = verdict([&[], &["jobs.csv", "summary.json"]]);
    assert_eq!(text, "No event of B differs from A, but files of B have been changed since.");
    assert!(notes[0].as_str().unwrap().starts_with("jobs.csv and summary.json of B (out/a) have been"), "{notes}");
}

#[test]
fn settings_that_differ_have_the_paths_of_set() {
    let json = comparison(vec![first(), second()]).unwrap().json();
    let expected = json!([
        { "key": "site.hull", "values": ["(1 key)", null] },
        { "key": "site.york.scheduler", "values": ["easy", "fcfs"] },
    ]);
    assert_eq!(json["settings"], expected);
}

#[test]
fn jobs_without_a_common_number_are_refused() {
    let strange = side("out/c", "", &[&format!("77,grid,0,2,,{DONE},0,10,0,ann,,,")], summary(1, None, None));
    let error = comparison(vec![first(), strange]).map(|_| ()).unwrap_err();
    assert_eq!(
        error,
        "out/a and out/c have no job in common: expected results of the same jobs, but the first has jobs 1 to 4, the \
         other 77"
    );
    // A run without jobs can be compared.
    assert!(comparison(vec![first(), side("out/d", "", &[], summary(0, None, None))]).is_ok());
}

#[test]
fn numbers_that_occur_twice_in_a_log_are_replaced_by_those_of_the_run() {
    let rows = [format!("1,grid,0,2,,{DONE},0,10,0,ann,,,"), format!("1,grid,1,2,,{DONE},3,13,1,ann,,,")];
    let twice = || side("out/t", "", &rows.each_ref().map(String::as_str), summary(2, None, None));
    let json = comparison(vec![twice(), twice()]).unwrap().json();
    assert_eq!(json["jobs"][0]["matched"], 2);
    assert!(json["notes"].to_string().contains("matched by their numbers in the run"), "{}", json["notes"]);
}

#[test]
fn other_jobs_under_the_same_numbers_are_counted() {
    let rows = [format!("1,grid,3,2,,{DONE},3,10,0,ann,,,"), format!("2,grid,1,2,,{DONE},3,13,1,ann,,,")];
    let other = side("out/o", "", &rows.each_ref().map(String::as_str), summary(2, None, None));
    let json = comparison(vec![first(), other]).unwrap().json();
    assert_eq!(json["jobs"][0]["unlike"], 1);
    assert!(json["notes"].to_string().contains("1 differ in user, size, worth or times"), "{}", json["notes"]);
}

#[test]
fn runs_of_other_jobs_have_no_best() {
    let of_same = comparison(vec![first(), second()]).unwrap();
    assert!(of_same.json()["answer"]["verdict"].is_string());
    let rows = [format!("1,grid,3,7,,{DONE},3,10,0,ann,,,"), format!("2,grid,1,7,,{DONE},3,13,1,ann,,,")];
    let other = side("out/o", "", &rows.each_ref().map(String::as_str), summary(2, None, None));
    let of_others = comparison(vec![first(), other]).unwrap();
    assert!(of_others.json()["answer"].is_null());
    let text = of_others.to_string().replace('\n', " ");
    assert!(
        text.contains("no verdict, as these are not runs of the same jobs") && !text.contains("best mean"),
        "{text}"
    );
    assert!(!of_others.page().contains("best mean"));
}

#[test]
fn three_results_are_in_one_table_and_one_picture() {
    let comparison = comparison(vec![first(), second(), first()]).unwrap();
    let text = comparison.to_string();
    let row = text.lines().find(|line| line.starts_with("job_wait, s")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["job_wait,", "s", "1.5", "1.2*", "-0.3", "0.8", "1.5", "0.0", "1.0"]);
    assert!(text.contains("First event of B that differs from A: line 2 of events.jsonl (its time)"), "{text}");
    let verdict = "B against A: of 3 jobs that ended in both, 1 took less time, 1 took more, -0.33 s in the mean; better \
                   in waits.";
    assert!(text.replace('\n', " ").contains(verdict), "{text}");
    let page = comparison.page();
    assert_eq!(page.matches("class=\"line l2\"").count(), 3, "busy cores, waiting tasks, changes");
    assert!(page.contains("<td class=\"n\"><strong>1.2\u{a0}s</strong></td>"), "{page}");
}

/// A sweep of two policies and three seeds; `waits` are by policy, then by seed.
fn sweep(name: &str, seeds: &[u32], waits: [&[&str]; 2]) -> Sweep {
    let cells = |row: &str| row.split(',').map(str::to_owned).collect::<Vec<_>>();
    let runs = ["easy", "fcfs"].into_iter().zip(waits).flat_map(|(policy, waits)| {
        let of_seeds = seeds.iter().zip(waits);
        of_seeds.map(move |(seed, wait)| format!("1,{seed},{policy},{wait},{name}-{policy}-{wait}"))
    });
    Sweep {
        name: name.to_owned(),
        experiment: "try".to_owned(),
        status: Status::Complete,
        repeats: Vec::new(),
        heading: cells("run,seed,site.york.scheduler,job_wait,digest"),
        rows: runs.map(|row| cells(&row)).collect(),
    }
}

#[test]
fn sweeps_are_compared_seed_by_seed() {
    let first = sweep("a", &[1, 2, 3], [&["10", "20", "30"], &["40", "50", "60"]]);
    let second = sweep("b", &[1, 2, 3], [&["8", "18.5", "27.5"], &["30", "70", "50"]]);
    let compared = compare_sweeps(&[first, second]).unwrap_or_else(|error| panic!("{error}"));
    let json = compared.json();
    assert_eq!((&json["keys"], json["metrics"].as_array().unwrap().len()), (&json!(["site.york.scheduler"]), 1));
    let easy = &json["metrics"][0]["settings"][0]["differences"][0];
    assert_eq!((&easy["first"], &easy["other"], &easy["difference"]), (&json!(20.0), &json!(18.0), &json!(-2.0)));
    // Differences are -2, -1.5 and -2.5: their deviation is 0.5, and Student's factor 4.302652...
    assert!((easy["within"].as_f64().unwrap() - 4.302_652_729_749_464 * 0.5 / 3f64.sqrt()).abs() < 1e-9);
    let text = compared.to_string();
    let row = |policy: &str| {
        text.lines().find(|line| line.starts_with(policy)).unwrap().split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(row("easy"), ["easy", "20", "18", "-2", "±1", "0.9", "better"]);
    assert_eq!(row("fcfs")[..4], ["fcfs", "50", "50", "0"]);
    assert!(compared.page().contains("<h2 id=\"job_wait\">job_wait, s</h2>"));
}

#[test]
fn seeds_that_change_nothing_count_once_in_comparisons_of_sweeps() {
    let first = sweep("a", &[1, 2], [&["10", "10"], &["40", "50"]]);
    let second = sweep("b", &[1, 2], [&["8", "8"], &["30", "70"]]);
    let json = compare_sweeps(&[first, second]).unwrap_or_else(|error| panic!("{error}")).json();
    let cell = |place: usize| &json["metrics"][0]["settings"][place]["differences"][0];
    assert_eq!((&cell(0)["runs"], &cell(0)["within"]), (&json!(1), &json!(null)));
    assert_eq!(cell(1)["runs"], 2);
}

#[test]
fn sweeps_that_have_nothing_in_common_are_refused() {
    let refused = |other: Sweep| {
        let first = sweep("a", &[1, 2], [&["10", "20"], &["40", "50"]]);
        compare_sweeps(&[first, other]).map(|_| ()).unwrap_err()
    };
    let other = sweep("b", &[3, 4], [&["10", "20"], &["40", "50"]]);
    assert_eq!(refused(other), "a and b have no run in common: expected equal values of what varies");
    let mut other = sweep("b", &[1, 2], [&["10", "20"], &["40", "50"]]);
    other.heading[2] = "market.policy".to_owned();
    assert_eq!(
        refused(other),
        "a varies seed, site.york.scheduler, but b varies market.policy, seed: expected sweeps over the same keys"
    );
    let mut other = sweep("b", &[1, 2], [&["10", "x"], &["40", "50"]]);
    assert_eq!(refused(other), "b/runs.csv is damaged: row 3, column `job_wait`: expected a number, found `x`");
    other = sweep("b", &[1, 5], [&["10", "20"], &["40", "50"]]);
    let first = sweep("a", &[1, 2], [&["10", "20"], &["40", "50"]]);
    let note = "2 runs of 4 in A and 4 in B are in both; only these are compared";
    let json = compare_sweeps(&[first, other]).unwrap_or_else(|error| panic!("{error}")).json();
    assert_eq!(json["notes"], json!([note]));
}

#[test]
fn metrics_of_tenths_are_those_of_their_sizes() {
    let groups = |first: u32| {
        let group = |tenth: u32| SizeGroup {
            jobs: 1,
            slr: Some(f64::from(first + tenth)),
            slr_censored: Some(f64::from(first + 100 + tenth)),
            starved: Some(f64::from(first + 200 + tenth)),
        };
        (1..=10).map(group).collect::<Vec<_>>()
    };
    let mut summary = summary(1, None, None).results;
    summary.slr_by_size = groups(1_000);
    summary.slr_by_runtime = groups(2_000);
    summary.slr_by_critical_path = groups(3_000);
    let of = |name: &str| metrics::find_metric(name).and_then(|metric| metric.of(&summary));
    for (by, first) in [("", 1_000.0), ("_by_runtime", 2_000.0), ("_by_critical_path", 3_000.0)] {
        for (name, plus) in [("slr", 0.0), ("slr_censored", 100.0), ("starved", 200.0)] {
            assert_eq!(of(&format!("{name}{by}_1")), Some(first + plus + 1.0));
            assert_eq!(of(&format!("{name}{by}_10")), Some(first + plus + 10.0));
        }
    }
    assert_eq!(metrics::tenths(metrics::Size::CriticalPath)[2][9], "starved_by_critical_path_10");
}

/// Jobs of two users and several sizes, of which one is killed in the second result only.
#[test]
fn turnarounds_are_divided_by_user_size_run_time_and_end() {
    const KILLED: &str = "COMPLETED_WALLTIME_REACHED";
    let side = |ends: [(&str, u32, u32); 4]| {
        let job = |(number, (state, started, ended)): (usize, &(&str, u32, u32))| {
            let (cores, user) = [(1, "ann"), (2, "ann"), (4, "bob"), (300, "bob")][number];
            format!("{number},grid,0,{cores},,{state},{started},{ended},{number},{user},,,")
        };
        let rows: Vec<String> = ends.iter().enumerate().map(job).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        side("out/x", "seed = 1\n", &rows, summary(4, Some(1.5), None))
    };
    let first = side([(DONE, 0, 59), (DONE, 10, 70), (DONE, 20, 100), (DONE, 0, 90_000)]);
    let second = side([(DONE, 1, 60), (DONE, 0, 60), (DONE, 20, 100), (KILLED, 0, 50_000)]);
    let comparison = make_comparison(vec![first, second], Window::new(Time::ZERO, Time::from_micros(1)), None).unwrap();
    let json = comparison.json();
    let divisions = json["jobs"][0]["divisions"].as_array().unwrap();
    let found: Vec<(&str, Vec<Value>)> = divisions
        .iter()
        .map(|division| {
            let group = |group: &Value| {
                let number = |key: &str| group[key].clone();
                json!([
                    group["name"],
                    number("jobs"),
                    number("better"),
                    number("worse"),
                    number("first"),
                    number("other")
                ])
            };
            (division["by"].as_str().unwrap(), division["groups"].as_array().unwrap().iter().map(group).collect())
        })
        .collect();
    // Job 3 was killed in B, so it counts by its end only.
    assert_eq!(
        found,
        [
            ("user", vec![json!(["ann", 2, 1, 1, 64.5, 60.0]), json!(["bob", 1, 0, 0, 100.0, 100.0])]),
            ("cores", vec![json!(["1", 1, 0, 1, 59.0, 60.0]), json!(["2 to 4", 2, 1, 0, 85.0, 80.0])]),
            (
                "run time in A",
                vec![json!(["under 1 min", 1, 0, 1, 59.0, 60.0]), json!(["1 to 10 min", 2, 1, 0, 85.0, 80.0])]
            ),
            (
                "end",
                vec![
                    json!(["finished in both", 3, 1, 1, 76.33333333333333, 73.33333333333333]),
                    json!(["killed in B only", 1, 1, 0, 90_000.0, 50_000.0])
                ]
            ),
        ]
    );
    let text = comparison.to_string();
    for line in ["Turnaround by user", "Turnaround by run time in A  jobs", "killed in B only", "2 to 4"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}
