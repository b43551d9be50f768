//! EASY with a scan of the queue that ends at the first job that cannot start.

use super::easy::Backfill;
#[cfg(test)]
use super::judge::{Rule, judge_story};
use super::{QueuePolicyRow, RankedPart, by_count};

pub const ROW: QueuePolicyRow = QueuePolicyRow {
    name: "easy-first-misfit",
    about: "like easy-count, but no job behind the first follower that does not fit may overtake",
    build: |nodes, reserved, ranking| by_count::build_policy(nodes, reserved, ranking, Backfill::UntilMisfit),
    ranks: RankedPart::Followers,
    #[cfg(test)]
    judge: |story| judge_story(Rule::EasyUntilMisfit, true, story),
};
