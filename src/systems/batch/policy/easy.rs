//! EASY, or aggressive backfilling: whoever does not delay the first in the queue may go before it.
//!
//! D. Lifka, "The ANL/IBM SP scheduling system", 1995.

use super::{Entry, by_node};

pub const ENTRY: Entry = Entry {
    name: "easy",
    about: "backfilling behind one reservation, that of the first who has to wait",
    build: |nodes, reserved| by_node::build(nodes, reserved, true),
};
