//! EASY as in simulators that only count nodes.

use super::{Row, by_count};

pub const ROW: Row = Row {
    name: "easy-count",
    about: "like easy, but only counts nodes, as most simulators do",
    build: |nodes, reserved, order| by_count::build(nodes, reserved, order, true),
};
