use crate::experiment::{self, Experiment};
use hansa_sim::topology;

const TOPOLOGY: &str = include_str!("../../../../topologies/market-40.toml");

fn read_file(path: &str, experiment: &str) -> Result<Vec<u8>, String> {
    match path {
        "lab/try.toml" => Ok(experiment.into()),
        "grids/small.toml" => Ok(TOPOLOGY.into()),
        _ => Err("there is no such file".to_owned()),
    }
}

fn read(text: &str) -> Result<Experiment, String> {
    experiment::read_experiment("lab/try.toml", &mut |path| read_file(path, text))
        .map_err(|diagnostics| diagnostics.to_string())
}

const TWO_AXES: &str = r#"
name = "try"
topology = "../grids/small.toml"
metrics = ["starved", "value"]

[set]
workload.0.jobs = 5

[vary]
workload.0.load = [0.7, 1.40]
market.policy = ["srtf", "fifo", "edf"]
seed = [3]
"#;

#[test]
fn the_first_axis_changes_slowest() {
    let experiment = read(TWO_AXES).unwrap();
    let runs: Vec<String> = experiment.runs().map(|run| format!("{} {}", run.number, run.values.join(" "))).collect();
    assert_eq!(runs, ["1 0.7 srtf 3", "2 0.7 fifo 3", "3 0.7 edf 3", "4 1.40 srtf 3", "5 1.40 fifo 3", "6 1.40 edf 3"]);
    let metrics: Vec<&str> = experiment.metrics.iter().map(|metric| metric.name).collect();
    assert_eq!(metrics, ["starved", "value"]);
}

#[test]
fn runs_are_topologies_with_these_settings() {
    let experiment = read(TWO_AXES).unwrap();
    let run = experiment.runs().nth(5).unwrap();
    let loaded = topology::read_topology(&experiment.topology, &run.overrides, &mut |path| read_file(path, TWO_AXES))
        .unwrap()
        .topology;
    assert_eq!(
        (loaded.settings::<hansa_sim::systems::market::Market>().unwrap().policy.as_str(), loaded.seed, loaded.jobs()),
        ("edf", 3, 5)
    );
    assert!(loaded.to_toml().contains("load = 1.4"), "{}", loaded.to_toml());
}

#[test]
fn a_wrong_value_is_shown_where_it_stands() {
    let text = TWO_AXES.replace("\"fifo\"", "\"fifi\"").replace("0.7", "-1");
    let experiment = read(&text).unwrap();
    let run = experiment.runs().nth(1).unwrap();
    let diagnostics = topology::read_topology(&experiment.topology, &run.overrides, &mut |path| read_file(path, &text));
    let diagnostics = diagnostics.unwrap_err().to_string();
    for expected in ["lab/try.toml:11:26", "market.policy", "did you mean `fifo`", "lab/try.toml:10:20", "found -1"] {
        assert!(diagnostics.contains(expected), "{expected} is not in\n{diagnostics}");
    }
}

#[test]
fn a_key_that_leads_nowhere_is_shown_where_it_stands() {
    let text = TWO_AXES.replace("workload.0.load", "workload.5.load");
    let experiment = read(&text).unwrap();
    let run = experiment.runs().next().unwrap();
    let diagnostics = topology::read_topology(&experiment.topology, &run.overrides, &mut |path| read_file(path, &text));
    let diagnostics = diagnostics.unwrap_err().to_string();
    assert!(
        diagnostics.contains("lab/try.toml:10:10\n") && diagnostics.contains("expected an index below 1"),
        "{diagnostics}"
    );
}

#[test]
fn a_topology_that_is_not_there_is_shown_where_it_is_named() {
    let diagnostics = read(&TWO_AXES.replace("small.toml", "none.toml")).unwrap_err();
    assert!(diagnostics.contains("topology: cannot read grids/none.toml: there is no such file"), "{diagnostics}");
    assert!(diagnostics.contains("lab/try.toml:3:12"), "{diagnostics}");
}

#[test]
fn errors_of_an_experiment_are_reported_at_once() {
    let diagnostics = read(
        r#"
name = "Try"
metrics = ["valu", "slr", "slr"]
axis = 3

[set]
seed = 4

[vary]
seed = [1, 1]
market.policy = "fifo"
workload.0.load = []
"#,
    )
    .unwrap_err();
    for expected in [
        "found \"Try\"",
        "topology: missing: expected the path of a topology file",
        "did you mean `value`?",
        "this metric is in the list twice",
        "axis: no such key",
        "this key varies, so it cannot also be set",
        "this value is in the list twice",
        "a single value for all runs goes under [set]",
        "workload.0.load: expected at least one value, found none",
    ] {
        assert!(diagnostics.contains(expected), "{expected} is not in\n{diagnostics}");
    }
}

#[test]
fn an_experiment_varies_something_within_bounds() {
    let nothing = read("name = \"try\"\ntopology = \"x\"\n[vary]\n").unwrap_err();
    assert!(nothing.contains("expected at least one key with a list of values"), "{nothing}");
    let list = (0..400).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
    let text = format!("name = \"try\"\ntopology = \"x\"\n[vary]\nseed = [{list}]\nworkload.0.jobs = [{list}]\n");
    let many = read(&text).unwrap_err();
    assert!(many.contains("expected at most 100000 runs in all, found 160000"), "{many}");
    assert!(read("name = \"try\"\ntopology = \"x\"\n").unwrap_err().contains("vary: missing"));
}

const ENTRANTS: &str = r#"
name = "try"
topology = "../grids/small.toml"
metrics = ["value"]

[set]
workload.0.jobs = 5

[[entrant]]
name = "short"
set = { market.policy = "srtf", workload.0.load = 0.7 }

[[entrant]]
name = "plain"

[vary]
seed = [3, 4]
"#;

#[test]
fn entrants_change_slowest_and_set_several_keys() {
    let experiment = read(ENTRANTS).unwrap();
    let runs: Vec<String> = experiment.runs().map(|run| run.values.join(" ")).collect();
    assert_eq!(runs, ["short 3", "short 4", "plain 3", "plain 4"]);
    let policy_and_load = |run: usize| {
        let run = experiment.runs().nth(run).unwrap();
        let read = &mut |path: &str| read_file(path, ENTRANTS);
        let topology = topology::read_topology(&experiment.topology, &run.overrides, read).unwrap().topology;
        let policy = topology.settings::<hansa_sim::systems::market::Market>().unwrap().policy.clone();
        (policy, topology.to_toml().contains("load = 0.7"), topology.seed)
    };
    assert_eq!(policy_and_load(1), ("srtf".to_owned(), true, 4));
    assert_ne!(policy_and_load(2).0, "srtf");
}

#[test]
fn errors_of_entrants_are_reported() {
    let diagnostic = |text: &str| read(text).unwrap_err();
    let twice = diagnostic(&ENTRANTS.replace("\"plain\"", "\"short\""));
    assert!(twice.contains("two entrants are called short"), "{twice}");
    let nameless = diagnostic(&ENTRANTS.replace("name = \"plain\"", "nam = \"plain\""));
    assert!(nameless.contains("name"), "{nameless}");
    let varies = diagnostic(&ENTRANTS.replace("[vary]", "[vary]\nentrant = [1]"));
    assert!(varies.contains("written as [[entrant]]"), "{varies}");
    let both = diagnostic(&ENTRANTS.replace("seed = [3, 4]", "market.policy = [\"edf\"]"));
    assert!(both.contains("this key varies"), "{both}");
    // Without entrants, something has to vary.
    assert!(diagnostic("name = \"try\"\ntopology = \"../grids/small.toml\"").contains("[vary]"));
    // With entrants nothing else has to vary.
    assert_eq!(read(ENTRANTS.split("[vary]").next().unwrap()).unwrap().count(), 2);
}
