//! First come, first served: the head of the queue starts once it fits, and nobody goes before it.

use super::{Entry, by_node};

pub const ENTRY: Entry = Entry {
    name: "fcfs",
    about: "strictly in order: nobody starts before the one ahead",
    build: |nodes, reserved| by_node::build(nodes, reserved, false),
};
