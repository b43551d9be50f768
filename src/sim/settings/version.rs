//! Version of Hansa that a file is written for.

use super::forms::Shape;
use super::walk::{Walk, key};
use super::written::{Table, Value};
use super::{Diagnostic, Diagnostics};

/// Version of the meaning of files: the first two numbers of the program's version.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
const KEY: &str = "hansa";

/// Walks the key `hansa`, which is checked before all others.
pub fn walk_version(w: &mut dyn Walk) {
    let about = "the version of Hansa that the file is written for; another one refuses it with one message";
    w.key_read_elsewhere(
        &key(KEY, "").means(about).usual("any"),
        Shape::Free { what: "the first two numbers of a version", example: EXAMPLE, json: JSON },
    );
}

const EXAMPLE: &str = concat!("\"", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), "\"");
const JSON: &str =
    concat!("{ \"const\": \"", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), "\" }");

/// True if a file is for this version. Other errors of a file for another version are not reported.
pub fn check_version(root: &Table, diagnostics: &Diagnostics) -> bool {
    let Some(node) = root.get(KEY) else { return true };
    if matches!(&node.value, Value::Text(version) if version == VERSION) {
        return true;
    }
    let found = diagnostics.text_at(node.location);
    let message = match &node.value {
        Value::Text(_) => {
            format!("this file is written for another version of Hansa: expected \"{VERSION}\", found {found}")
        }
        _ => format!("expected a text: the version of Hansa that the file is written for, such as \"{VERSION}\""),
    };
    diagnostics.add(Diagnostic::new(node.location, KEY, message));
    false
}
