//! Key `reserved`: nodes that jobs may not use for some time.

use crate::grid::{Calendar, NodeSet, Reserved};
use crate::settings::limits::CORES_MAX;
use crate::settings::{Field, Fields, Form, Moment, Shape, Walk, key};
use crate::time::Time;
use crate::topology::Site;

pub const EXPECTED: &str = "a list such as [{ from = \"1 h\", until = \"2 h\", nodes = \"0-3 7\" }]";

pub fn empty_reservation() -> Reserved {
    Reserved { from: Time::ZERO, until: Time::ZERO, nodes: NodeSet::default() }
}

pub fn walk_reservation(reserved: &mut Reserved, w: &mut dyn Walk) {
    let Reserved { from, until, nodes } = reserved;
    w.set(key("from", "").need("a time"), from, Moment);
    w.set(key("until", "").need("a time"), until, Moment);
    w.set(key("nodes", "").need("numbers of nodes, such as \"0-3 7\""), nodes, NodesForm);
    let Some(fields) = w.written_fields() else { return };
    if until <= from && fields.has("from") && fields.has("until") {
        fields.complain("expected an end after its start".to_owned());
    }
}

/// Checks that reserved nodes exist, and are reserved only once at a time.
pub fn check_reserved(fields: &Fields<'_>, site: &Site) {
    if site.reserved.is_empty() {
        return;
    }
    let Some(field) = fields.get("reserved") else { return };
    let Some(list) = field.list_items() else { return };
    let mut calendar = Calendar::new(CORES_MAX);
    for (reserved, field) in site.reserved.iter().zip(&list) {
        let Reserved { from, until, nodes } = reserved;
        if from < until && !nodes.is_empty() && calendar.insert(*from, *until, nodes).is_err() {
            field.complain("some of these nodes are already reserved during that time, or have too large a number");
        }
    }
}

/// Form of nodes: their numbers.
struct NodesForm;

impl Form<NodeSet> for NodesForm {
    fn read_value(&self, field: &Field<'_>) -> Option<NodeSet> {
        let text = field.text("numbers of nodes, such as \"0-3 7\"")?;
        let nodes = NodeSet::parse(text).filter(|nodes| !nodes.is_empty());
        nodes.or_else(|| field.report_wrong("numbers of nodes in order, neighbours as a range, such as \"0-3 7\""))
    }

    fn toml_text(&self, value: &NodeSet) -> Option<String> {
        Some(format!("\"{value}\""))
    }

    fn value_shape(&self) -> Shape {
        let what = "numbers of nodes in order";
        Shape::Text { what, pattern: Some("^[0-9]+(-[0-9]+)?( [0-9]+(-[0-9]+)?)*$"), example: "0-3 7" }
    }
}
