//! EASY as in simulators that only count nodes.

use super::easy::Backfill;
#[cfg(test)]
use super::judge::{Rule, judge_story};
use super::{QueuePolicyRow, RankedPart, by_count};

pub const ROW: QueuePolicyRow = QueuePolicyRow {
    name: "easy-count",
    about: "like easy, but only counts nodes, as most simulators do",
    build: |nodes, reserved, ranking| by_count::build_policy(nodes, reserved, ranking, Backfill::All),
    ranks: RankedPart::Reservation,
    #[cfg(test)]
    judge: |story| judge_story(Rule::Easy, true, story),
};
