use super::*;
use crate::experiment::{self, Experiment};

const FILE: &str = r#"
name = "cup"
topology = "grid.toml"
metrics = ["value", "job_wait", "tasks", "underutilisation"]

[[entrant]]
name = "slow"

[[entrant]]
name = "quick"
about = "a <quick> one"
set = { market.policy = "srtf" }

[vary]
workload.0.load = [0.5, 1.0]
seed = [1, 2, 3]
"#;

fn experiment(text: &str) -> Experiment {
    experiment::read_experiment("cup.toml", &mut |_| Ok(text.into())).unwrap()
}

/// Values and waits by entrant, load and seed; only the second entrant has an underutilisation.
fn rows(experiment: &Experiment, numbers: impl Fn(&str, &str, f64) -> (f64, f64)) -> Vec<RunRow> {
    let row = |run: experiment::Run| {
        let [entrant, load, seed] = &run.values[..] else { panic!("three axes") };
        let (value, wait) = numbers(entrant, load, seed.parse().unwrap());
        let under = (entrant == "quick").then_some(0.25);
        let metrics = vec![Some(value), Some(wait), Some(100.0), under];
        RunRow { run: run.number, values: run.values.clone(), metrics, digest: format!("{:032}", run.number) }
    };
    experiment.runs().map(row).collect()
}

/// Seeds differ more from each other than entrants do; the difference of the entrants is equal for each seed.
fn made_metrics(entrant: &str, _: &str, seed: f64) -> (f64, f64) {
    let better = if entrant == "quick" { 1.0 } else { 0.0 };
    (0.3 * seed + 0.05 * better, 100.0 * seed - 10.0 * better - 0.1 * better * seed)
}

#[test]
fn differences_are_of_the_same_seed() {
    let experiment = experiment(FILE);
    let standings = make_standings(&experiment, &rows(&experiment, made_metrics), None).unwrap();
    assert_eq!((standings.repetitions, standings.panels.len(), standings.against), (3, 2, 0));
    assert_eq!(standings.panels[1].settings, [("workload.0.load".to_owned(), "1.0".to_owned())]);
    let [slow, quick] = &standings.panels[0].rows[..] else { panic!("two entrants") };
    let value = quick[0].estimate.unwrap();
    assert!((value.mean - 0.65).abs() < 1e-12 && value.within.unwrap() > 0.7, "{value:?}");
    // The means do not differ significantly, but the paired differences do.
    let apart = quick[0].difference.unwrap();
    assert!((apart.mean - 0.05).abs() < 1e-12 && apart.is_significant(), "{apart:?}");
    let waits = quick[1].difference.unwrap();
    assert!((waits.mean + 10.2).abs() < 1e-9 && waits.is_significant(), "{waits:?}");
    assert_eq!((slow[0].difference, slow[1].difference), (None, None));
    assert_eq!([&slow[0], &quick[0], &slow[1], &quick[1]].map(|cell| cell.is_best), [false, true, false, true]);
    // More tasks are not better, and an entrant without the number is not compared.
    assert_eq!([&slow[2], &quick[2]].map(|cell| cell.is_best), [false, false]);
    assert_eq!((slow[3].estimate, quick[3].difference), (None, None));
}

#[test]
fn entrants_not_different_from_the_best_are_best_too() {
    let experiment = experiment(FILE);
    let swinging = |entrant: &str, load: &str, seed: f64| {
        let swing = if entrant == "quick" { [0.3, -0.2, 0.1][seed as usize - 1] } else { 0.0 };
        (made_metrics("slow", load, seed).0 + swing, 1.0)
    };
    let standings = make_standings(&experiment, &rows(&experiment, swinging), Some("quick")).unwrap();
    let [slow, quick] = &standings.panels[0].rows[..] else { panic!("two entrants") };
    assert!(slow[0].is_best && quick[0].is_best);
    assert!(!slow[0].difference.unwrap().is_significant());
    assert_eq!(quick[0].difference, None);
    // Equal numbers are equally good.
    assert!(slow[1].is_best && quick[1].is_best);
}

#[test]
fn one_run_shows_no_difference() {
    let experiment = experiment(&FILE.replace("seed = [1, 2, 3]", "seed = [1]"));
    let standings = make_standings(&experiment, &rows(&experiment, made_metrics), None).unwrap();
    let quick = &standings.panels[0].rows[1];
    assert_eq!(quick[0].estimate.unwrap().within, None);
    assert!(!quick[0].difference.unwrap().is_significant());
    assert!(standings.panels[0].rows.iter().flatten().all(|cell| !cell.is_best));
}

#[test]
fn files_that_are_no_tournament_are_reported() {
    let none = experiment(
        &FILE.split("[[entrant]]").next().unwrap().replace("grid.toml\"", "grid.toml\"\nvary = { seed = [1] }"),
    );
    assert_eq!(make_standings(&none, &[], None), Err(NoStandings::NoEntrants));
    let experiment = experiment(FILE);
    let message = make_standings(&experiment, &[], Some("quik")).unwrap_err().to_string();
    assert_eq!(message, "there is no entrant quik: expected one of slow, quick; did you mean quick?");
}

#[test]
fn tables_show_means_and_stars() {
    let experiment = experiment(FILE);
    let standings = make_standings(&experiment, &rows(&experiment, made_metrics), None).unwrap();
    let first = entrants_table(&standings).split("\n\n").take(2).collect::<Vec<_>>().join("\n\n");
    let expected = "\
workload.0.load = 0.5

       value   job_wait   tasks   underutilisation
slow    0.60      200.0     100                  –
quick   0.65*     189.8*    100               0.25*";
    assert_eq!(first, expected);
    // A metric that no run has is only named.
    let mut absent = standings.clone();
    absent.panels.iter_mut().flat_map(|panel| &mut panel.rows).for_each(|row| row[3] = Cell::default());
    let text = entrants_table(&absent);
    assert_eq!(text.matches("No run has a number for underutilisation.").count(), 2);
    assert_eq!(text.matches("underutilisation").count(), 2);
    // Terminal output is at most 100 columns wide.
    let mut wide = standings.clone();
    wide.metrics = standings.metrics.iter().cycle().take(40).cloned().collect();
    for panel in &mut wide.panels {
        panel.rows = panel.rows.iter().map(|row| row.iter().cycle().take(40).cloned().collect()).collect();
    }
    let text = entrants_table(&wide);
    assert!(text.lines().all(|line| line.chars().count() <= 100));
    assert_eq!(text.matches("0.65*").count(), 20);
}

#[test]
fn pictures_of_a_metric_are_scaled_alike_and_show_small_differences() {
    const LOGARITHMIC: &str = "On a logarithmic scale.";
    let experiment = experiment(FILE);
    let drawn = |numbers: [f64; 4]| {
        let [slow, quick, slow_later, quick_later] = numbers;
        let wait = |entrant: &str, load: &str| match (entrant, load) {
            ("slow", "0.5") => slow,
            ("slow", _) => slow_later,
            (_, "0.5") => quick,
            _ => quick_later,
        };
        let metrics = |entrant: &str, load: &str, _: f64| (0.5, wait(entrant, load));
        standings_page(&make_standings(&experiment, &rows(&experiment, metrics), None).unwrap(), None, None, &[])
    };
    assert_eq!(drawn([1.0, 100.0, 5.0, 6.0]).matches(LOGARITHMIC).count(), 2);
    // There is no zero on a logarithmic scale.
    assert_eq!(drawn([1.0, 100.0, 0.0, 6.0]).matches(LOGARITHMIC).count(), 0);
    assert_eq!(drawn([5.0, 6.0, 99.0, 100.0]).matches("The axis does not start at 0.").count(), 2);
    assert_eq!(drawn([1.0, 6.0, 2.0, 4.0]).matches("The axis does not start at 0.").count(), 0);
}

#[test]
fn files_have_exact_numbers_and_pages_are_escaped() {
    let experiment = experiment(FILE);
    let standings = make_standings(&experiment, &rows(&experiment, made_metrics), None).unwrap();
    let csv = standings_csv(&standings);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "workload.0.load,entrant,metric,runs,mean,within,difference,difference_within,best");
    assert_eq!(lines.len(), 1 + 2 * 2 * 4);
    assert!(lines[1].starts_with("0.5,slow,value,3,"), "{}", lines[1]);
    assert_eq!(lines[4], "0.5,slow,underutilisation,0,,,,,0");
    let page = standings_page(&standings, None, None, &["Of a file.".to_owned()]);
    assert!(page.contains("a &lt;quick&gt; one") && !page.contains("<quick>"));
    // A picture for each number that two have, in each panel.
    assert_eq!(page.matches("<svg").count(), 2 * 3);
}

#[test]
fn a_repeated_run_counts_once_and_wins_nothing() {
    let experiment = experiment(FILE);
    let mut rows = rows(&experiment, made_metrics);
    assert_eq!(make_standings(&experiment, &rows, None).unwrap().note, None);
    for row in &mut rows {
        row.digest = format!("{} {}", row.values[0], row.values[1]);
    }
    let standings = make_standings(&experiment, &rows, None).unwrap();
    assert_eq!(standings.repetitions, 1);
    let cells = || standings.panels.iter().flat_map(|panel| &panel.rows).map(|row| &row[0]);
    assert!(cells().all(|cell| !cell.is_best && cell.estimate.is_some_and(|one| one.within.is_none())));
    let note = standings.note.clone().unwrap();
    assert!(note.starts_with("8 of 12 runs only repeat"), "{note}");
    assert!(standings_page(&standings, None, None, &[]).contains(&note));
}
