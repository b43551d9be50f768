mod batch;
mod cables;
mod complaints;
mod ends;
mod failing_together;
mod failures;
mod hostile;
mod instants;
mod meaning;
mod meeting;
mod misfits;
mod once;
mod planning;
mod promises;
mod provisioning;
mod round_trip;
mod sharing;
mod site_times;
mod staging;

use proptest::prelude::ProptestConfig;

use hansa_sim::topology::{InvalidInput, Loaded, Override, Rendered, Topology, load_prepared, read_topology};

/// A small and valid topology.
const FINE: &str = r#"name = "fine"
[[site]]
name = "york"
cores = 8
[[user]]
name = "alice"
[[workload]]
source = "market"
jobs = 3
cores_max = 8
"#;

/// Loads `files[0]`; the others can be included.
fn load_files(files: &[(&str, &[u8])], settings: &[&str]) -> Result<Loaded, InvalidInput> {
    let overrides: Vec<Override> = settings.iter().map(|text| Override::parse(text).unwrap()).collect();
    let mut read = |path: &str| match files.iter().find(|(name, _)| *name == path) {
        Some((_, bytes)) => Ok(bytes.to_vec()),
        None => Err("there is no such file".to_owned()),
    };
    read_topology(files[0].0, &overrides, &mut read)
}

fn load_text(text: &str, settings: &[&str]) -> Result<Topology, InvalidInput> {
    load_files(&[("grid.toml", text.as_bytes())], settings).map(|loaded| loaded.topology)
}

fn shipped() -> &'static [(&'static str, &'static str)] {
    &[
        ("quickstart", include_str!("../../../../topologies/quickstart.toml")),
        ("market-trace", include_str!("../../../../topologies/market-trace.toml")),
        ("market-40", include_str!("../../../../topologies/market-40.toml")),
        ("market-paper", include_str!("../../../../topologies/market-paper.toml")),
        ("live", include_str!("../../../../topologies/live.toml")),
        ("reservations", include_str!("../../../../topologies/reservations.toml")),
        ("batch", include_str!("../../../../topologies/batch.toml")),
        ("batch-vo", include_str!("../../../../topologies/batch-vo.toml")),
        ("three-sites", include_str!("../../../../topologies/three-sites.toml")),
        ("six-tasks", include_str!("../../../../topologies/six-tasks.toml")),
        ("one-grid", include_str!("../../../../topologies/one-grid.toml")),
        ("one-site", include_str!("../../../../topologies/one-site.toml")),
        ("impatient", include_str!("../../../../topologies/impatient.toml")),
        ("dfrs", include_str!("../../../../topologies/dfrs.toml")),
        ("provisioning", include_str!("../../../../topologies/provisioning.toml")),
        ("business-hours", include_str!("../../../../topologies/business-hours.toml")),
        ("stale-quotes", include_str!("../../../../topologies/stale-quotes.toml")),
        ("far-data", include_str!("../../../../topologies/far-data.toml")),
    ]
}

/// Number of stories of a random test: the usual one, or what `PROPTEST_CASES` says.
fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(wanted.unwrap_or(usual))
}

fn golden(name: &str, text: &str) {
    crate::tests::golden(&format!("topology/{name}"), text.as_bytes());
}
