mod grid;

use std::collections::BTreeMap;

use super::*;
use hansa_report::experiment::claims::Verdict;
use hansa_report::experiment::reproduction::Reproduction;

/// Options under which the ten tasks were worked by hand.
const BOTH_WAYS: Settings =
    Settings { wiring: Wiring::FullDuplex, update: Update::Reset, costs: Costs::TenToForty, sizes: Sizes::Equal };

/// The options of the file, each with settings of its own, and its first options.
#[test]
fn every_option_changes_a_setting() {
    let file = read_choices();
    let usual = file.settings(&file.choices.usual_selection());
    let expected =
        Settings { wiring: Wiring::IntoP2, update: Update::Keep, costs: Costs::TenToForty, sizes: Sizes::Equal };
    assert_eq!(usual, expected);
    for variant in file.choices.variants().iter().skip(1) {
        assert_ne!(file.settings(&variant.selection), usual, "{}", variant.name);
    }
}

/// Weights of sizes change means of all runs, and not those of one size.
#[test]
fn sizes_are_weighted_as_the_tables_imply() {
    let graphs = FULL.graphs();
    let run = |tasks: u32, stretched: f64| Run {
        graph: *graphs.iter().find(|graph| graph.shape.tasks == tasks).unwrap(),
        draw: 0,
        law: Law::Ideal,
        original: 100.0,
        stretched,
        best: 100.0,
        iteration: 1,
        cycle: None,
    };
    let runs = vec![run(10, 110.0), run(20, 120.0), run(50, 150.0)];
    let increase = |sizes, group| {
        let outcome = Outcome::of(FULL, Settings { sizes, ..BOTH_WAYS }, runs.clone());
        outcome.means("ideal", group, Over::All).unwrap().increase()
    };
    assert!((increase(Sizes::Equal, ("all", "")) - 0.8 / 3.0).abs() < 1e-12);
    let weighted = 0.50 * 0.10 + 0.35 * 0.20 + 0.15 * 0.50;
    assert!((increase(Sizes::AsTables, ("all", "")) - weighted).abs() < 1e-12);
    assert!((increase(Sizes::AsTables, ("n", "50")) - 0.5).abs() < 1e-12);
}

#[test]
fn the_grid_is_the_papers() {
    let graphs = FULL.graphs();
    assert_eq!((graphs.len(), FULL.count(), SMALL.count()), (1296, 25_920, 1_296));
    let mut seeds: Vec<u64> = graphs.iter().map(|graph| graph.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 1296);
    for (name, count) in [("n", 3), ("fat", 3), ("regularity", 2), ("density", 2), ("jump", 3)] {
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for graph in &graphs {
            let (_, which) = shape_groups(&graph.shape).into_iter().find(|group| group.0 == name).unwrap();
            *sizes.entry(which).or_default() += 1;
        }
        assert!(sizes.len() == count && sizes.values().all(|size| *size == 1296 / count), "{name}: {sizes:?}");
    }
}

/// More draws only add runs: existing ones do not change.
#[test]
fn runs_do_not_depend_on_each_other() {
    let extent = Extent { graphs: 1, draws: 2 };
    let graphs = extent.graphs();
    let graph = &graphs[70];
    let two = extent.run_graph(BOTH_WAYS, graph);
    assert_eq!(two.len(), 4);
    assert_eq!(two[..2], Extent { draws: 1, ..extent }.run_graph(BOTH_WAYS, graph)[..]);
    for run in &two {
        assert!(run.original <= run.stretched + 1e-6 && run.best <= run.stretched + 1e-6, "{run:?}");
    }
}

#[test]
fn means_and_verdicts_follow_from_the_runs() {
    let graph = FULL.graphs()[0];
    let run = |law, original, stretched, best, iteration| Run {
        graph,
        draw: 0,
        law,
        original,
        stretched,
        best,
        iteration,
        cycle: Some(Cycle { first: 0, period: 3 }),
    };
    let runs = vec![
        run(Law::Ideal, 100.0, 130.0, 117.0, 4),
        run(Law::Ideal, 300.0, 390.0, 351.0, 6),
        run(Law::Tcp, 100.0, 110.0, 110.0, 0),
    ];
    let outcome = Outcome::of(Extent { graphs: 1, draws: 1 }, BOTH_WAYS, runs);
    let means = outcome.means("ideal", ("fat", "0.1"), Over::All).unwrap();
    assert_eq!((means.original, means.stretched, means.iteration, means.runs), (200.0, 260.0, 5.0, 2));
    assert!((means.increase() - 0.3).abs() < 1e-12 && (means.decrease() - 0.1).abs() < 1e-12);
    assert_eq!(outcome.means("ideal", ("fat", "0.8"), Over::All), None);

    let verdicts: Vec<Verdict> = CLAIMS.iter().map(|claim| claim.judge(&outcome.results).verdict).collect();
    assert_eq!(verdicts[0], Verdict::DoesNotHold, "tcp is stretched by a tenth only");
    assert_eq!(verdicts[2], Verdict::Undecided, "there is one jump only");
    assert_eq!(verdicts[8], Verdict::DoesNotHold);
    let text = outcome.tables_text();
    let words: Vec<&str> =
        text.lines().find(|line| line.starts_with("increase %")).unwrap().split_whitespace().collect();
    assert_eq!(words, ["increase", "%", "29.65", "30.00", "30.00", "10.00", "10.00"]);
    assert!(outcome.tables_csv().contains("\n5,fat 0.1: decrease %,ideal,all,"), "{}", outcome.tables_csv());
    assert!(
        outcome.runs_csv().lines().nth(1).unwrap().ends_with(",0,ideal,100,130,117,4,0,3"),
        "{}",
        outcome.runs_csv()
    );
    assert!(outcome.verdicts_text().contains("treat these verdicts as a trial"));
}

/// A run whose plan is not stretched counts among all, and not among the stretched.
#[test]
fn means_of_stretched_runs_leave_others_out() {
    let graph = FULL.graphs()[0];
    let run = |draw, stretched, best| Run {
        graph,
        draw,
        law: Law::Ideal,
        original: 100.0,
        stretched,
        best,
        iteration: 1,
        cycle: None,
    };
    let outcome =
        Outcome::of(Extent { graphs: 1, draws: 2 }, BOTH_WAYS, vec![run(0, 100.0, 100.0), run(1, 140.0, 110.0)]);
    let of = |over| outcome.means("ideal", ("all", ""), over).unwrap();
    assert_eq!((of(Over::All).runs, of(Over::Stretched).runs), (2, 1));
    assert!((of(Over::All).increase() - 0.2).abs() < 1e-12 && (of(Over::Stretched).increase() - 0.4).abs() < 1e-12);
    assert!((of(Over::Stretched).recovered() - 0.75).abs() < 1e-12);
}

/// Worked by hand for the ten tasks: 102, 111, 91, 104, and repetition under equal sharing.
#[test]
fn the_ten_tasks_are_judged_by_the_papers_numbers() {
    let outcome = Outcome::of(Extent { graphs: 0, draws: 0 }, BOTH_WAYS, Vec::new());
    let ideal = &outcome.results.example["ideal"];
    assert_eq!((ideal.stretched.round(), ideal.best), (102.0, 2));
    assert_eq!(ideal.cycle, Some(Cycle { first: 0, period: 4 }));
    assert_eq!(ideal.rounds.len(), 51);
    assert_eq!(
        [0, 1, 2, 3, 4, 6, 50].map(|round| ideal.rounds[round].round()),
        [102.0, 111.0, 91.0, 104.0, 102.0, 91.0, 91.0]
    );
    let claim = &CLAIMS[12];
    assert_eq!(claim.judge(&outcome.results).verdict, Verdict::DoesNotHold);

    let papers = Example { stretched: 104.0, best: 5, cycle: Some(Cycle { first: 16, period: 8 }), rounds: vec![91.0] };
    let example = BTreeMap::from_iter([("ideal", papers.clone()), ("tcp", papers.clone())]);
    let mut results = Results { example, ..Results::default() };
    assert_eq!(claim.judge(&results).verdict, Verdict::Holds);
    results.example.insert("tcp", Example { cycle: None, ..papers });
    assert_eq!(claim.judge(&results).verdict, Verdict::DoesNotHold);
}
