//! First come, first served as in simulators that only count nodes.

use super::easy::Backfill;
#[cfg(test)]
use super::judge::{Rule, judge_story};
use super::{QueuePolicyRow, RankedPart, by_count};

pub const ROW: QueuePolicyRow = QueuePolicyRow {
    name: "fcfs-count",
    about: "like fcfs, but only counts nodes",
    build: |nodes, reserved, ranking| by_count::build_policy(nodes, reserved, ranking, Backfill::None),
    ranks: RankedPart::Head,
    #[cfg(test)]
    judge: |story| judge_story(Rule::Fcfs, true, story),
};
