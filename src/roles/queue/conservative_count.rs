//! Conservative backfilling, as simulators have it that know no node by its number.

use super::{Entry, planner};

pub const ENTRY: Entry = Entry {
    name: "conservative-count",
    about: "like conservative, but only counts nodes",
    build: |nodes, reserved| planner::by_count(nodes, reserved),
};
