//! First come, first served: the head of the queue starts once it fits, and no job overtakes it.

use super::easy::Backfill;
#[cfg(test)]
use super::judge::{Rule, judge_story};
use super::{QueuePolicyRow, RankedPart, by_node};

pub const ROW: QueuePolicyRow = QueuePolicyRow {
    name: "fcfs",
    about: "first come, first served: no job starts before the one ahead of it",
    build: |nodes, reserved, ranking| by_node::build_policy(nodes, reserved, ranking, Backfill::None),
    ranks: RankedPart::Head,
    #[cfg(test)]
    judge: |story| judge_story(Rule::Fcfs, false, story),
};
