//! Conservative backfilling: everybody in the queue holds a place in the plan, and nobody's is ever moved back.
//!
//! A. Mu'alem, D. Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM
//! SP2 with backfilling", 2001, with the plan compressed where a job ends early.

use super::{Entry, planner};

pub const ENTRY: Entry = Entry {
    name: "conservative",
    about: "backfilling in a plan that holds a place for everybody; places only ever move ahead",
    build: |nodes, reserved| planner::by_node(nodes, reserved, planner::Replan::OneByOne),
};
