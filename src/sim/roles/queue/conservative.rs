//! Conservative backfilling: every job in the queue holds a place in the plan, and no place is ever moved back.
//!
//! A. Mu'alem, D. Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM
//! SP2 with backfilling", 2001. The plan is compressed when a job ends early.

#[cfg(test)]
use super::judge::{Rule, judge_story};
use super::{QueuePolicyRow, RankedPart, planner};

pub const ROW: QueuePolicyRow = QueuePolicyRow {
    name: "conservative",
    about: "conservative backfilling: every job has a place in a plan, and places only move to earlier times",
    build: |nodes, reserved, ranking| planner::by_node(nodes, reserved, ranking, planner::Replan::OneByOne),
    ranks: RankedPart::Places,
    #[cfg(test)]
    judge: |story| judge_story(Rule::Conservative, false, story),
};
