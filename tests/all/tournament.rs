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
fn told(arguments: &[&str]) -> String {
    text(&hansa_ok(arguments).stdout)
}

fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn all_systems_get_equal_jobs() {
    let scratch = Scratch::new();
    let file = small(&scratch);
    let (whole, shares) = (scratch.path("whole"), scratch.path("shares"));
    let [whole_dir, shares_dir] = [&whole, &shares].map(|folder| folder.to_string_lossy().into_owned());
    let said = told(&["tournament", &file, "--out", &whole_dir]);
    assert!(said.contains("dfrs") && said.contains("stretch_mean") && said.contains("(3 runs each)"), "{said}");

    // Another comparison runs nothing again, and all entrants get the same jobs.
    let before = read(&whole, "runs.csv");
    let again = told(&["tournament", &file, "--out", &whole_dir, "--against", "dfrs"]);
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
        let said = told(&["tournament", &file, "--out", &shares_dir, "--part", part]);
        assert!(said.starts_with(&format!("share {part}")), "{said}");
    }
    told(&["tournament", &file, "--out", &shares_dir, "--against", "dfrs", "--gather"]);
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
    let said = complaint(&["tournament", &wrong]);
    assert!(said.contains("wrong.toml:") && said.contains("did you mean"), "{said}");
    let said = complaint(&["tournament", &file, "--against", "eazy"]);
    assert!(said.contains("no entrant eazy") && said.contains("market-pvr"), "{said}");
    let said = complaint(&["tournament", &shipped("market-40.toml").to_string_lossy()]);
    assert!(said.contains("is a topology"), "{said}");
}
