//! Names of sites and users. They share one name space, as both have certificates and containers of that name.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::settings::{Field, Form, Location, NAME, Shape, is_name, quote_text};
use crate::systems;
use crate::topology::build::EXCHANGE;

/// Names in use.
#[derive(Default)]
pub struct TakenNames {
    taken: RefCell<BTreeMap<String, (Location, &'static str)>>,
}

/// Form of an unused name.
pub struct FreshName<'n> {
    pub names: &'n TakenNames,
    pub what: &'static str,
}

impl Form<String> for FreshName<'_> {
    /// Returns a name for every text, even after an error.
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        let text = field.text(NAME)?;
        let mut taken = self.names.taken.borrow_mut();
        if text.contains("{}") {
            let diagnostic = field.diagnostic(format!("expected {NAME}, found {text:?}"));
            field.diagnostics().add(diagnostic.hint("for several of them, give a `count` and a name with {}"));
        } else if !is_name(text) {
            field.report_wrong::<()>(NAME);
        } else if is_taken_at_hub(text) {
            field.complain(format!("the {text} of the run has this name: choose another one"));
        } else if let Some((location, other)) = taken.get(text) {
            let diagnostic = field.diagnostic(format!("the name {text:?} is already taken by a {other}"));
            field.diagnostics().add(diagnostic.with_related("the other one is", *location));
        } else {
            taken.insert(text.to_owned(), (field.location(), self.what));
        }
        Some(text.to_owned())
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Some(quote_text(value))
    }

    fn value_shape(&self) -> Shape {
        let what = "a name: small letters, digits and hyphens, and `{}` for the number where there is a `count`";
        Shape::Text { what, pattern: Some(r"^([a-z0-9]|\{\})([-a-z0-9]|\{\}){0,62}$"), example: "york-2" }
    }
}

/// True if an actor at the hub of some run has this name.
pub fn is_taken_at_hub(name: &str) -> bool {
    [ROUTER, EXCHANGE].contains(&name) || systems::ALL.iter().any(|row| row.service == Some(name))
}

const ROUTER: &str = "router";
