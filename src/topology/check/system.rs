//! Which systems run: the tables that a topology has say so.

use super::super::fields::Fields;
use super::super::{Batch, Market, Planning, Reservation};
use crate::systems::{self, Service};

/// What the table of each system means.
fn check_table(key: &str, fields: Fields<'_>) -> Service {
    match key {
        "market" => Service::new(Market::check(fields)),
        "reservation" => Service::new(Reservation::check(fields)),
        "workflow" => Service::new(Planning::check(fields)),
        "batch" => Service::new(Batch::check(fields)),
        other => unreachable!("there is a system {other} that topologies cannot describe"),
    }
}

/// The first system of all, if nothing is said.
pub(super) fn check(fields: &Fields<'_>) -> Vec<Service> {
    let mut chosen = Vec::new();
    for row in systems::ALL {
        let key = row.key;
        let Some(field) = fields.get(key) else { continue };
        let Some(table) = field.table(format_args!("a [{key}] table")) else { continue };
        chosen.push(check_table(key, table));
    }
    if chosen.is_empty() {
        chosen.push((systems::ALL[0].usual)());
    }
    chosen
}
