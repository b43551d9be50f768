//! Conservative backfilling that rebuilds its plan in order of the queue whenever a job ends early, so a place may move
//! back.

#[cfg(test)]
use super::judge::{Rule, judge_story};
use super::{QueuePolicyRow, RankedPart, planner};

pub const ROW: QueuePolicyRow = QueuePolicyRow {
    name: "conservative-rebuild",
    about: "like conservative, but rebuilds the whole plan when a job ends early",
    build: |nodes, reserved, ranking| planner::by_node(nodes, reserved, ranking, planner::Replan::FromScratch),
    ranks: RankedPart::Plan,
    #[cfg(test)]
    judge: |story| judge_story(Rule::Rebuild, false, story),
};
