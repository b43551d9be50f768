//! Tournaments: one set of jobs under several systems, complete and in shares.

use std::path::Path;

use crate::grid::{Scratch, hansa, hansa_ok, shipped, text};

/// Four entrants of the shipped tournament, a fifth of its jobs, and three seeds.
fn small(scratch: &Scratch) -> String {
    let shipped_file = std::fs::read_to_string(shipped("../experiments/tournament.toml")).unwrap();
    let topology = shipped("tournament.toml");
    let wanted = ["name = \"easy\"", "name = \"dfrs\"", "name = \"market-pvr\"", "name = \"reserve-ff\""];
    let (head, entrants) = shipped_file.split_once("[[entrant]]").unwrap();
    let head = head
        .replace("\"../topologies/tournament.toml\"", &format!("{topology:?}"))
        .replace("workload.0.jobs = 2000", "workload.0.jobs = 400")
        .replace("seed = [1, 2, 3, 4, 5, 6, 7, 8]", "seed = [1, 2, 3]");
    let entrants = entrants.split("[[entrant]]").filter(|entrant| wanted.iter().any(|name| entrant.contains(name)));
    let text = entrants.fold(head, |text, entrant| text + "[[entrant]]" + entrant);
    scratch.file("small.toml", &text).to_string_lossy().into_owned()
}

/// Standard output of a command.
fn stdout_of(arguments: &[&str]) -> String {
    text(&hansa_ok(arguments).stdout)
}

fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn all_systems_get_equal_jobs() {
    let scratch = Scratch::new();
    let file = small(&scratch);
    let whole = scratch.path("whole");
    let shares = scratch.path("shares");
    let [whole_dir, shares_dir] = [&whole, &shares].map(|folder| folder.to_string_lossy().into_owned());
    let printed = stdout_of(&["tournament", &file, "--out", &whole_dir]);
    assert!(
        printed.contains("dfrs") && printed.contains("stretch_mean") && printed.contains("(3 runs each)"),
        "{printed}"
    );

    // Another comparison runs nothing again, and all entrants get the same jobs.
    let before = read(&whole, "runs.csv");
    let again = stdout_of(&["tournament", &file, "--out", &whole_dir, "--against", "dfrs"]);
    assert!(again.contains("differences from dfrs"), "{again}");
    assert_eq!(read(&whole, "runs.csv"), before);
    assert_eq!(before.lines().count(), 1 + 4 * 3);

    // Moves are not measured for a queue, nor interference for a market; value and time are measured for both.
    let standings = read(&whole, "standings.csv");
    let cell = |entrant: &str, metric: &str| {
        let row = standings.lines().find(|line| line.starts_with(&format!("{entrant},{metric},"))).unwrap();
        row.split(',').nth(3).unwrap().to_owned()
    };
    assert_eq!((cell("easy", "moved_gb"), cell("market-pvr", "underutilisation")), (String::new(), String::new()));
    for entrant in ["easy", "dfrs", "market-pvr", "reserve-ff"] {
        for metric in ["finished", "value", "in_time", "utilisation"] {
            let share: f64 = cell(entrant, metric).parse().unwrap();
            assert!((0.0..=1.0).contains(&share), "{entrant} {metric} {share}");
        }
    }
    assert!(cell("dfrs", "preemptions").parse::<f64>().unwrap() > 0.0);

    // Combined shares are the whole.
    for part in ["1/2", "2/2"] {
        let printed = stdout_of(&["tournament", &file, "--out", &shares_dir, "--part", part]);
        assert!(printed.starts_with(&format!("share {part}")), "{printed}");
    }
    stdout_of(&["tournament", &file, "--out", &shares_dir, "--against", "dfrs", "--gather"]);
    for name in ["runs.csv", "standings.csv", "tournament.html"] {
        assert_eq!(read(&shares, name), read(&whole, name), "{name}");
    }
}

#[test]
fn errors_of_tournaments_are_reported() {
    let scratch = Scratch::new();
    let file = small(&scratch);
    let out = scratch.path("out").to_string_lossy().into_owned();
    let complaint = |arguments: &[&str]| {
        let output = hansa(&[arguments, &["--out", &out]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(!Path::new(&out).exists(), "nothing is written");
        text(&output.stderr)
    };
    let policies = shipped("../experiments/policies-40.toml").to_string_lossy().into_owned();
    assert!(complaint(&["tournament", &policies]).contains("has no [[entrant]]"));
    let wrong = std::fs::read_to_string(&file).unwrap().replace("scheduler = \"easy\"", "scheduler = \"eazy\"");
    let wrong = scratch.file("wrong.toml", &wrong).to_string_lossy().into_owned();
    let printed = complaint(&["tournament", &wrong]);
    assert!(printed.contains("wrong.toml:") && printed.contains("did you mean"), "{printed}");
    let printed = complaint(&["tournament", &file, "--against", "eazy"]);
    assert!(printed.contains("no entrant eazy") && printed.contains("market-pvr"), "{printed}");
    let printed = complaint(&["tournament", &shipped("market-40.toml").to_string_lossy()]);
    assert!(printed.contains("is a topology"), "{printed}");
}

/// A log of 60 days with a job every two hours or so; every 9th job runs longer than it asked for.
fn write_log(scratch: &Scratch) -> String {
    let mut log = String::from("; MaxProcs: 32\n; StartTime: Fri Apr 24 18:11:04 PDT 1998\n");
    let mut state = 12_345u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut submit = 0;
    for number in 1..=700u64 {
        submit += next(14_400);
        let cores = 1 + next(32);
        let runtime = 60 + next(14_000);
        let asked = if number % 9 == 0 { runtime / 2 } else { runtime * 2 };
        let user = next(4);
        let group = next(2);
        log.push_str(&format!(
            "{number} {submit} -1 {runtime} {cores} -1 -1 {cores} {asked} -1 1 {user} {group} -1 -1 -1 -1 -1\n"
        ));
    }
    scratch.file("small.swf", &log);
    let topology = "name = \"small\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 32\n[[user]]\nname = \"all\"\n\
                    [[workload]]\nsource = \"swf\"\nfile = \"small.swf\"\n";
    scratch.file("grid.toml", topology).to_string_lossy().into_owned()
}

/// Jobs of a table that count: number, end and turnaround.
fn counted_jobs(folder: &Path) -> Vec<(String, String, f64)> {
    let table = read(folder, "jobs.csv");
    let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heading = rows.next().unwrap();
    let column = |name: &str| heading.iter().position(|column| *column == name).unwrap();
    let number = column("job_id");
    let state = column("final_state");
    let turnaround = column("turnaround_time");
    let counted = heading.iter().position(|column| *column == "counted");
    let counts = |row: &Vec<&str>| counted.is_none_or(|column| row[column] == "1");
    rows.filter(counts)
        .map(|row| (row[number].to_owned(), row[state].to_owned(), row[turnaround].parse().unwrap_or(f64::NAN)))
        .collect()
}

#[test]
fn windows_of_a_log_are_repetitions_and_the_answer_is_that_of_the_jobs() {
    let scratch = Scratch::new();
    let grid = write_log(&scratch);
    let file = scratch.file(
        "which.toml",
        "name = \"which\"\ntopology = \"grid.toml\"\n[vary]\n\
         workload.0.repeat = { windows = 3, of = \"12 d\", every = \"14 d\", warm_up = \"2 d\", cool_down = \"1 d\" }\n\
         [[entrant]]\nname = \"easy\"\nset = { site.york.scheduler = \"easy-count\" }\n\
         [[entrant]]\nname = \"fcfs\"\nset = { site.york.scheduler = \"fcfs-count\" }\n\
         [[entrant]]\nname = \"dfrs\"\nset = { site.york.scheduler = \"Greedy */opt=min\" }\n",
    );
    let file = file.to_string_lossy().into_owned();
    let out = scratch.path("which");
    let output = hansa_ok(&["tournament", &file, "--out", &out.to_string_lossy()]);
    let printed = text(&output.stdout);
    assert!(printed.contains("Warning: The runs did not do the same work"), "{printed}");
    assert!(
        printed.contains("For whom") && printed.contains("hour of day") && printed.contains("account"),
        "{printed}"
    );
    assert!(printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
    assert!(printed.find("has the best mean turnaround").unwrap() < printed.find("job_wait").unwrap(), "{printed}");

    // The same windows, one run at a time, and means by hand.
    let policies = [("easy", "easy-count"), ("fcfs", "fcfs-count"), ("dfrs", "Greedy */opt=min")];
    let mut own = vec![Vec::new(); policies.len()];
    let mut common = vec![Vec::new(); policies.len()];
    for from in [0, 14, 28] {
        let tables: Vec<_> = policies
            .iter()
            .map(|(name, policy)| {
                let folder = scratch.path(&format!("{name}-{from}"));
                let mut arguments = vec!["run".to_owned(), grid.clone(), "--inline".to_owned(), "--quiet".to_owned()];
                let to = from + 12;
                for setting in [
                    format!("site.york.scheduler={policy}"),
                    format!("workload.0.from={from} d"),
                    format!("workload.0.to={to} d"),
                    "workload.0.warm_up=2 d".to_owned(),
                    "workload.0.cool_down=1 d".to_owned(),
                ] {
                    arguments.extend(["--set".to_owned(), setting]);
                }
                arguments.extend(["--out".to_owned(), folder.to_string_lossy().into_owned()]);
                hansa_ok(&arguments);
                counted_jobs(&folder)
            })
            .collect();
        for (policy, jobs) in tables.iter().enumerate() {
            let ended: Vec<f64> = jobs.iter().filter(|job| job.1.starts_with("COMPLETED")).map(|job| job.2).collect();
            own[policy].push(ended.iter().sum::<f64>() / ended.len() as f64);
            let is_common = |number: &String| {
                let ends = tables.iter().map(|jobs| jobs.iter().find(|job| job.0 == *number).map(|job| &job.1));
                let ends: Vec<Option<&String>> = ends.collect();
                ends.iter().all(|end| *end == ends[0] && end.is_some_and(|end| end.starts_with("COMPLETED")))
            };
            common[policy].extend(jobs.iter().filter(|job| is_common(&job.0)).map(|job| job.2));
        }
    }
    let answer: serde_json::Value = serde_json::from_str(&read(&out, "answer.json")).unwrap();
    let table = &answer["panels"][0]["answer"]["tables"][0];
    assert_eq!(table["columns"][2], "common jobs", "{table}");
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    for (policy, row) in table["rows"].as_array().unwrap().iter().enumerate() {
        let number = |column: usize| row[column]["number"].as_f64().unwrap();
        assert!((number(1) - mean(&own[policy])).abs() < 1e-3, "{row} {}", mean(&own[policy]));
        assert!((number(2) - mean(&common[policy])).abs() < 1e-3, "{row} {}", mean(&common[policy]));
    }

    // Another question runs nothing again; one that has no answer says what there is.
    let before = read(&out, "runs.csv");
    let other = stdout_of(&["tournament", &file, "--out", &out.to_string_lossy(), "--by", "bounded_slowdown"]);
    assert!(other.contains("best mean bounded slowdown"), "{other}");
    assert_eq!(read(&out, "runs.csv"), before);
    let output = hansa(&["tournament", &file, "--out", &out.to_string_lossy(), "--by", "slowdwn"]);
    assert!(text(&output.stderr).contains("did you mean slowdown (family slowdowns)?"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn windows_that_hold_nothing_are_refused_and_doubtful_ones_reported() {
    let scratch = Scratch::new();
    write_log(&scratch);
    let printed = |windows: &str, code: i32| {
        let experiment = format!(
            "name = \"w\"\ntopology = \"grid.toml\"\n[vary]\nworkload.0.repeat = {windows}\nsite.york.scheduler = [\"easy\"]\n"
        );
        let file = scratch.file("windows.toml", &experiment).to_string_lossy().into_owned();
        let output = hansa(&["sweep", &file, "--fresh", "--out", &scratch.path("w").to_string_lossy()]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let beyond = printed("[{ from = \"400 d\", to = \"410 d\" }]", 2);
    assert!(
        beyond.contains("has no job to run") && beyond.contains("outside of the selected part, 400 d to 410 d"),
        "{beyond}"
    );
    let long = printed("[{ from = \"0 d\", to = \"400 d\" }]", 0);
    assert!(long.contains("reaches beyond the log"), "{long}");
    let few = printed("{ windows = 1, of = \"3 d\" }", 0);
    assert!(few.contains("has only") && few.contains("jobs that count"), "{few}");
    let overlapping = printed("{ windows = 2, of = \"10 d\", every = \"5 d\" }", 0);
    assert!(overlapping.contains("1 pair of windows overlap"), "{overlapping}");
    let idle = printed("{ windows = 2, of = \"10 d\", warm_up = \"10 d\" }", 2);
    assert!(idle.contains("no job would count"), "{idle}");
    assert!(printed("{ windows = 2 }", 2).contains("the length of a window"));
    assert!(printed("12", 2).contains("windows = 12"));
}
