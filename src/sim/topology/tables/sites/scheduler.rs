//! Key `scheduler`: a policy of one of the systems that use a site.

use crate::grid::Named;
use crate::settings::{Field, Form, Shape, Word, any_of, quote_text};
use crate::systems::{self, SystemRow, managers};
use crate::topology::tables::table_names;

/// Schedulers for a site, the default first: those of the systems that run the site.
pub fn site_schedulers(ruling: &[&SystemRow]) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    for named in ruling.iter().flat_map(|row| (row.schedulers)()) {
        if !all.contains(&named) {
            all.push(named);
        }
    }
    all
}

pub fn takes_managers(rows: &[&SystemRow]) -> bool {
    rows.iter().any(|row| row.traits.takes_managers)
}

pub struct Scheduler<'r> {
    pub fitting: Vec<Named>,
    pub rows: &'r [&'static SystemRow],
    /// All systems of the topology.
    pub systems: &'r [&'static SystemRow],
    /// True if several systems use the site.
    pub is_shared: bool,
}

impl Scheduler<'_> {
    /// Reads a name that follows a grammar.
    fn read_manager(&self, field: &Field<'_>, name: Result<String, String>) -> Option<String> {
        match name {
            Err(wrong) => field.complain(wrong),
            Ok(name) if !takes_managers(self.rows) => {
                let tables = table_names(|row| row.traits.takes_managers);
                let why = match managers::shares_nodes(&name) {
                    true => "jobs share nodes at its sites only",
                    false => "only its sites can be managed by an external program",
                };
                field.complain(format!("{name} needs a {tables} table: {why}"));
            }
            Ok(name) if self.is_shared => field.complain(match managers::shares_nodes(&name) {
                true => format!("the scheduler {name} lets jobs share nodes, so no other system can use this site"),
                false => format!("the scheduler {name} is an external program, so no other system can use this site"),
            }),
            Ok(name) => return Some(name),
        }
        None
    }
}

impl Form<String> for Scheduler<'_> {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        let names = self.fitting.iter().map(|named| named.name);
        let text = field.text(any_of(names.clone()))?;
        if let Some(name) = managers::check_name(text) {
            return self.read_manager(field, name);
        }
        if !self.fitting.iter().any(|named| is_named(named, text))
            && let Some(row) =
                systems::ALL.iter().find(|row| (row.schedulers)().iter().any(|named| is_named(named, text)))
        {
            let here: Vec<String> = self.rows.iter().map(|row| format!("[{}]", row.key)).collect();
            let here = any_of(here.iter().map(String::as_str));
            let of = match systems::find_host(self.rows.iter().copied()).filter(|_| self.is_shared) {
                Some(host) => format!("[{}], which runs what {} share", host.key, here.replace(" or ", " and ")),
                None => format!("a site under {here}"),
            };
            let expected = match self.fitting.first() {
                Some(first) => format!("a scheduler of {of}, such as {}", first.name),
                None => format!("no scheduler: sites under {here} do not schedule"),
            };
            let why = match self.systems.iter().any(|its| its.key == row.key) {
                true => format!("{text} is for sites of [{}] alone", row.key),
                false => format!("{text} needs a [{}] table", row.key),
            };
            return field.report_wrong(format_args!("{expected} ({why})"));
        }
        // Grammars allow too many names: one name stands for all.
        let kinds = if takes_managers(self.rows) && !self.is_shared { managers::ALL } else { &[] };
        let managing: Vec<Named> =
            kinds.iter().flat_map(|kind| (kind.names)().into_iter().take(rows_shown(kind))).collect();
        field.name("a site scheduler", names.chain(managing.iter().map(|named| named.name))).map(str::to_owned)
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        (!self.fitting.is_empty()).then(|| quote_text(value))
    }

    fn value_remark(&self, value: &String) -> Option<String> {
        let named = self.fitting.iter().find(|named| named.name == value);
        named
            .map(|named| Word::new(named.name, named.about).about)
            .or_else(|| Some(managers::find_kind(value)?.about.to_owned()))
    }

    fn value_shape(&self) -> Shape {
        let kinds = if takes_managers(self.rows) { managers::ALL } else { &[] };
        let names = kinds.iter().flat_map(|kind| (kind.names)());
        Shape::Grammar {
            words: Word::from_named(&self.fitting.iter().copied().chain(names).collect::<Vec<_>>()),
            rest: kinds.iter().flat_map(|kind| kind.grammar).copied().collect(),
            patterns: kinds.iter().map(|kind| kind.pattern).collect(),
        }
    }
}

fn is_named(named: &Named, text: &str) -> bool {
    named.name == text
}

fn rows_shown(kind: &managers::ManagerRow) -> usize {
    if kind.grammar.is_empty() { usize::MAX } else { 1 }
}
