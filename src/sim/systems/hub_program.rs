//! External programs that decide at the hub: the policy that stands for them, and the keys of their tables.

use crate::grid::Program;
use crate::settings::{POSITIVE_SPAN, Walk, command_form, key};

/// The policy that represents an external program.
pub const EXTERNAL: &str = "external";

/// Walks the key `command`; `expected` has an example.
pub fn walk_command(program: &mut Program, about: &'static str, expected: &'static str, w: &mut dyn Walk) {
    w.set(key("command", about).need(expected), &mut program.command, command_form(expected));
}

/// Walks the key `timeout`.
pub fn walk_timeout(program: &mut Program, w: &mut dyn Walk) {
    let timeout = key("timeout", "the time that it has to answer, in real time");
    w.set(timeout, &mut program.timeout, POSITIVE_SPAN);
}

/// Drops the table of a program unless the policy stands for it, and reports one that is missing. A program may be
/// described beside any policy, as experiments have many; only one decides.
pub fn keep_if_external<T>(
    policy: &str,
    table: &mut Option<T>,
    name: &'static str,
    expected: &'static str,
    w: &mut dyn Walk,
) {
    let Some(fields) = w.written_fields() else { return };
    if policy != EXTERNAL {
        *table = None;
    } else if !fields.has(name) {
        fields.missing(name, expected);
    }
}
