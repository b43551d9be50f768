//! Which system runs: the table that a topology has says so.

use super::super::fields::Fields;
use super::super::{Batch, Market, Planning, Reservation, System};

/// A table that chooses a system, and what it means.
type Table = (&'static str, fn(Fields<'_>) -> System);

const TABLES: &[Table] = &[
    ("market", |fields| System::Market(Market::check(fields))),
    ("reservation", |fields| System::Reservation(Reservation::check(fields))),
    ("workflow", |fields| System::Workflow(Planning::check(fields))),
    ("batch", |fields| System::Batch(Batch::check(fields))),
];

/// The market, if nothing is said.
pub(super) fn check(fields: &Fields<'_>) -> System {
    let mut chosen = None;
    for (key, check) in TABLES {
        let Some(field) = fields.get(key) else { continue };
        let Some(table) = field.table(format_args!("a [{key}] table")) else { continue };
        match chosen {
            None => chosen = Some((*key, check(table))),
            Some((other, _)) => field.complain(format!("a topology runs one system, and there is a [{other}] already")),
        }
    }
    chosen.map_or_else(|| System::Market(Market::default()), |(_, system)| system)
}
