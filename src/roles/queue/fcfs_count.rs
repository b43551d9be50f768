//! First come, first served as in simulators that only count nodes.

use super::{QueuePolicyRow, by_count};

pub const ROW: QueuePolicyRow = QueuePolicyRow {
    name: "fcfs-count",
    about: "like fcfs, but only counts nodes",
    build: |nodes, reserved, order| by_count::build(nodes, reserved, order, false),
};
