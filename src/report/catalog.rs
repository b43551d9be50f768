//! Keys and names that topologies and experiments may contain: every key, every name with a line about it, and a schema
//! for editors.
//!
//! All of it is computed from the descriptions of the settings themselves.

use serde_json::Value;

use crate::experiment;
use hansa_sim::settings::{Chapter, Listed, Shape, What, Word, file_schema, reference_page};
use hansa_sim::topology;

/// Choices for one key of a topology.
#[derive(Clone, Debug)]
pub struct Section {
    /// The key with its table, such as `market.policy`.
    pub key: String,
    pub about: String,
    pub entries: Vec<Word>,
    /// Further values that can be built from the entries, one line each.
    pub rest: Vec<&'static str>,
}

/// All sections, in the order in which a topology names them.
pub fn list_sections() -> Vec<Section> {
    let mut sections = Vec::new();
    // Keys common to all sites and users exist for each of them, too.
    let own = topology::topology_keys().into_iter().filter(|listed| listed.key.name != "defaults");
    gather_sections("", own, &mut sections);
    sections
}

fn gather_sections(above: &str, keys: impl IntoIterator<Item = Listed>, sections: &mut Vec<Section>) {
    for Listed { key, what, .. } in keys {
        let path = if above.is_empty() { key.name.to_owned() } else { format!("{above}.{}", key.name) };
        match what {
            // Several sources may have equal keys.
            What::Value(shape) if sections.iter().all(|section| section.key != path) => {
                let (entries, rest) = match shape {
                    Shape::Words(entries) => (entries, Vec::new()),
                    Shape::Grammar { words, rest, .. } => (words, rest),
                    _ => continue,
                };
                sections.push(Section { key: path, about: key.line().to_owned(), entries, rest });
            }
            What::Value(_) => {}
            What::Table(_, keys) => gather_sections(&path, keys, sections),
            What::Variant { keys, .. } => gather_sections(above, keys, sections),
        }
    }
}

/// The whole catalogue as text.
pub fn catalogue_text() -> String {
    let sections = list_sections();
    let widest = sections.iter().flat_map(|section| &section.entries).map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Section { key, about, entries, rest } in &sections {
        text.push_str(&format!("{key}: {about}\n"));
        for Word { name, about } in entries {
            text.push_str(&format!("    {name:widest$}  {about}\n"));
        }
        rest.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The reference of all keys, in Markdown.
pub fn keys_reference() -> String {
    let topology = "A topology is a TOML file. Keys without a default are marked as required; `hansa validate FILE` lists all errors in a file, and `hansa show FILE` prints the resolved topology, with every default filled in.";
    let windows = "`workload.N.repeat` under `[vary]` makes windows of a log repetitions: a table with these keys, or a \
                   list of tables with `from`, `to`, `warm_up` and `cool_down`.";
    let experiment = "An experiment, for `hansa sweep` and `hansa tournament`, names a topology and what varies in it.";
    let chapters = [
        Chapter { heading: "Topology".to_owned(), about: topology.to_owned(), keys: topology::topology_keys() },
        Chapter { heading: "Experiment".to_owned(), about: experiment.to_owned(), keys: experiment::experiment_keys() },
        Chapter { heading: "Windows of a log".to_owned(), about: windows.to_owned(), keys: experiment::window_keys() },
    ];
    format!("{KEYS}{}", reference_page(&chapters))
}

const KEYS: &str = "\
# Keys of topologies and experiments

This page is the output of `hansa show --keys`. A table in single brackets, such as `[market]`, occurs once; one in double brackets, such as
`[[site]]`, once per site. Times have a unit: us, ms, s, min, h or d. Shares and factors are exact to six decimals
where stated.
";

/// A JSON Schema of topologies.
pub fn topology_schema() -> Value {
    file_schema("A topology of Hansa", &topology::topology_keys())
}

/// A JSON Schema of experiments.
pub fn experiment_schema() -> Value {
    file_schema("An experiment of Hansa", &experiment::experiment_keys())
}
