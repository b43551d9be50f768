//! Conservative backfilling as in simulators that only count nodes.

use super::{Row, planner};

pub const ROW: Row = Row {
    name: "conservative-count",
    about: "like conservative, but only counts nodes",
    build: |nodes, reserved, order| planner::by_count(nodes, reserved, order),
};
