//! EASY, as simulators have it that know no node by its number.

use super::{Row, by_count};

pub const ROW: Row = Row {
    name: "easy-count",
    about: "like easy, but only counts nodes, as most simulators do",
    build: |nodes, reserved, order| by_count::build(nodes, reserved, order, true),
};
