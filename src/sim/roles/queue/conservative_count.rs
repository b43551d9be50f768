//! Conservative backfilling as in simulators that only count nodes.

#[cfg(test)]
use super::judge::{Rule, judge_story};
use super::{QueuePolicyRow, RankedPart, planner};

pub const ROW: QueuePolicyRow = QueuePolicyRow {
    name: "conservative-count",
    about: "like conservative, but only counts nodes",
    build: |nodes, reserved, ranking| planner::by_count(nodes, reserved, ranking),
    ranks: RankedPart::Places,
    #[cfg(test)]
    judge: |story| judge_story(Rule::Conservative, true, story),
};
