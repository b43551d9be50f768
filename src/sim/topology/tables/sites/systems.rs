//! Key `system`: the systems that use a site.

use crate::settings::{Field, Form, Shape, Walk, any_of, key, quote_text};
use crate::systems::{SystemRow, find_host};
use crate::topology::tables::table_names;

/// Walks the systems of a site, out of `all`; for `defaults`, those of every site.
pub fn walk_site_systems(systems: &mut Vec<usize>, all: &[&'static SystemRow], defaults: bool, w: &mut dyn Walk) {
    // The key may be left out if there is only one system.
    if w.writes() && all.len() == 1 {
        return;
    }
    let about = "the systems that use it, by the names of their tables: one, or a list";
    let system = key("system", "the systems that use it").means(about).usual("the only system of the topology");
    w.set(system, systems, Systems { keys: all.iter().map(|row| row.key).collect() });
    let Some(fields) = w.written_fields() else { return };
    let used = || systems.iter().map(|system| all[*system]);
    if systems.len() > 1 && find_host(used()).is_none() {
        let keys = any_of(used().map(|row| row.key)).replace(" or ", " and ");
        let hosts = table_names(|row| row.traits.shares_sites);
        let text = format!("{keys} cannot share a site: only a {hosts} shares its sites, so it has to be one of them");
        match fields.get("system") {
            Some(field) => field.complain(text),
            None => fields.complain(text),
        }
    }
    if systems.is_empty() && !defaults {
        if all.len() > 1 && !fields.has("system") {
            let keys = any_of(all.iter().map(|row| row.key));
            fields.missing("system", &format!("which system uses this site: {keys}"));
        }
        systems.push(0);
    }
}

/// Form of one system or a list of systems, by their keys.
struct Systems {
    keys: Vec<&'static str>,
}

impl Form<Vec<usize>> for Systems {
    fn read_value(&self, field: &Field<'_>) -> Option<Vec<usize>> {
        let keys = || self.keys.iter().copied();
        let find = |field: &Field<'_>| {
            field.choice("a system of this topology", keys(), |key| keys().position(|other| other == key))
        };
        let Some(list) = field.list_items() else { return find(field).map(|system| vec![system]) };
        let mut found: Vec<usize> = list.iter().filter_map(find).collect();
        let known = found.len();
        found.sort_unstable();
        found.dedup();
        // Unknown systems have already been reported.
        if found.len() < known || list.is_empty() {
            field.complain("expected at least one system, each only once");
        }
        Some(found).filter(|found| !found.is_empty())
    }

    fn toml_text(&self, value: &Vec<usize>) -> Option<String> {
        let keys: Vec<String> = value.iter().map(|system| quote_text(self.keys[*system])).collect();
        (!keys.is_empty()).then(|| format!("[{}]", keys.join(", ")))
    }

    fn value_shape(&self) -> Shape {
        Shape::Free {
            what: "the key of a system's table, or a list of such",
            example: "\"market\"",
            json: r#"{ "anyOf": [
                { "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }
            ] }"#,
        }
    }
}
