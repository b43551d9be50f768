mod claims;

use super::*;
use hansa_report::experiment;
use hansa_sim::topology;

fn read(path: &str, extent: Extent) -> Result<Vec<u8>, String> {
    match path {
        "experiment.toml" => Ok(extent.experiment_text("topology.toml").into()),
        "topology.toml" => Ok(TOPOLOGY.into()),
        _ => Err("there is no such file".to_owned()),
    }
}

#[test]
fn the_experiment_is_the_papers() {
    for (extent, runs) in [(FULL, 1500), (SMALL, 240)] {
        let read = &mut |path: &str| read(path, extent);
        let experiment = experiment::read_experiment("experiment.toml", read).unwrap();
        assert_eq!(experiment.count(), runs);
        let first = experiment.runs().next().unwrap();
        assert_eq!(first.values, ["7919", "0.70", "random"]);
        let last = experiment.runs().last().unwrap();
        let loaded = topology::read_topology(&experiment.topology, &last.overrides, read).unwrap().topology;
        assert_eq!(
            (loaded.settings::<hansa_sim::systems::market::Market>().unwrap().policy.as_str(), loaded.jobs()),
            ("pvr", 10_000)
        );
    }
}

/// The command runs the shipped file in its small form.
#[test]
fn the_small_form_is_the_shipped_file() {
    let experiments = [
        experiment_of(SMALL),
        experiment::read_experiment("experiments/papers/market.toml", &mut |path| match path {
            "experiments/papers/market.toml" => Ok(PAPER.into()),
            "topologies/market-paper.toml" => Ok(TOPOLOGY.into()),
            _ => Err(format!("there is no {path}")),
        })
        .unwrap(),
    ];
    let [command, file] = experiments.map(|experiment| {
        let topology = |run: experiment::Run| {
            let read = &mut |_: &str| Ok(TOPOLOGY.into());
            (run.values, topology::read_topology(&experiment.topology, &run.overrides, read).unwrap().topology.hash())
        };
        let runs: Vec<_> = experiment.runs().step_by(37).map(topology).collect();
        (experiment.name.clone(), runs, experiment.claims.len())
    });
    assert_eq!(command, file);
    assert_eq!(file.2, 24);
}

/// Every variant of the choices is another workload or another policy.
#[test]
fn variants_are_an_axis_of_their_own() {
    let experiment = experiment_of(SMALL).with_variants().unwrap();
    let variants = experiment.axes[0].values.clone();
    assert_eq!(variants, ["usual", "ranges=minutes-to-months", "edf=final"]);
    assert_eq!(experiment.count(), 3 * 240);
    let hash = |run: experiment::Run| {
        let read = &mut |_: &str| Ok(TOPOLOGY.into());
        topology::read_topology(&experiment.topology, &run.overrides, read).unwrap().topology.hash()
    };
    let hashes: Vec<_> = [0, 240, 480].into_iter().map(|at| hash(experiment.runs().nth(at).unwrap())).collect();
    assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2] && hashes[1] != hashes[2], "{hashes:?}");
    let one = experiment.without_variants().unwrap();
    assert_eq!((one.count(), one.axes.len()), (240, 3));
}

#[test]
fn every_policy_of_the_paper_is_in_the_catalogue() {
    let known = hansa_sim::systems::market::bid::policy_names();
    assert!(POLICIES.iter().all(|(name, _)| known.iter().any(|row| row.name == *name)));
}

/// The experiment in this size.
fn experiment_of(extent: Extent) -> Experiment {
    experiment::read_experiment("experiment.toml", &mut |path| read(path, extent)).unwrap()
}

const TWO: Extent = Extent { workloads: 2, jobs: 10, ..SMALL };

/// Two workloads in which every number is a simple function of policy and load.
fn rows() -> Vec<RunRow> {
    let experiment = experiment_of(TWO);
    let row = |run: experiment::Run| {
        let [seed, load, policy] = &run.values[..] else { unreachable!("there are three axes") };
        let index = POLICIES.iter().position(|(name, _)| name == policy).unwrap();
        let number = 1.0 - load.parse::<f64>().unwrap() * 0.1 * (index + 1) as f64 + f64::from(run.number > 80) * 0.01;
        RunRow {
            run: run.number,
            metrics: vec![Some(number + 0.01); experiment.metrics.len()],
            digest: format!("{seed:0>32}"),
            values: run.values,
        }
    };
    experiment.runs().map(row).collect()
}

#[test]
fn means_are_over_workloads() {
    let outcome = Outcome::of(TWO, &experiment_of(TWO), &rows()).unwrap();
    let estimate = outcome.estimate("fifo", 100, "value").unwrap();
    assert!((estimate.mean - 0.815).abs() < 1e-9 && estimate.count == 2);
    assert!(outcome.tables_text().contains("Means over 2 workloads of 10 jobs"));
    assert!(outcome.summary_csv().contains("\nfifo,1,value,0.81"), "{}", outcome.summary_csv());
    assert!(outcome.verdicts_text().contains("22. "));
}

#[test]
fn columns_of_the_summary_stay_apart() {
    let mut rows = rows();
    for row in &mut rows {
        let is_first = row.values[0] == "7919";
        row.metrics.iter_mut().for_each(|number| *number = Some(if is_first { 0.0 } else { 2.0 }));
    }
    let text = Outcome::of(TWO, &experiment_of(TWO), &rows).unwrap().tables_text();
    let wide: Vec<&str> = text.lines().filter(|line| line.contains('±')).collect();
    assert!(!wide.is_empty());
    for line in wide {
        assert_eq!(line.matches(" 100.00 ±1270.62").count(), LOADS.len(), "{line}");
    }
}

#[test]
fn figures_have_a_line_for_each_policy() {
    let outcome = Outcome::of(TWO, &experiment_of(TWO), &rows()).unwrap();
    let drawn = outcome.draw_figures();
    assert_eq!(drawn.len(), 12);
    // The first two are of a value curve.
    assert!(drawn[1].svg.as_str().contains("At a projected SLR of 4.8, 0.93 remains"));
    for figure in &drawn[2..] {
        // Policies that starve more jobs at any load are not in the detail.
        let is_cut = figure.file == "6-starved-detail.svg";
        for (_, label) in POLICIES {
            let has_line = figure.svg.as_str().contains(&format!(">{label}</text>"));
            assert!(has_line || is_cut, "{label} is not in {}", figure.file);
        }
        assert!(!figure.svg.as_str().contains("NaN"));
    }
    let nothing = Outcome::of(TWO, &experiment_of(TWO), &[]).unwrap().draw_figures();
    assert!(nothing[2].svg.as_str().contains("There is no data to show."));
}
