//! Queries of the tree. Each descends only where the summary of a branch does not decide it.

use super::super::set::Set;
use super::{TreeNode, end_of, touched_children};
use crate::time::Time;

impl<S: Set> TreeNode<S> {
    pub(super) fn meets(&self, from: Time, to: Time, end: Time, set: &S) -> bool {
        match self {
            TreeNode::Leaf(records) => {
                records[touched_children(records, from, to)].iter().any(|record| record.busy.shares_nodes(set))
            }
            TreeNode::Inner(branches) => touched_children(branches, from, to).any(|place| {
                let branch = &branches[place];
                let until = end_of(branches, place, end);
                let whole = from <= branch.start && until <= to;
                branch.any.shares_nodes(set)
                    && (whole || branch.own.shares_nodes(set) || branch.below.meets(from, to, until, set))
            }),
        }
    }

    pub(super) fn covers(&self, from: Time, to: Time, end: Time, set: &S) -> bool {
        match self {
            TreeNode::Leaf(records) => {
                records[touched_children(records, from, to)].iter().all(|record| record.busy.contains(set))
            }
            TreeNode::Inner(branches) => touched_children(branches, from, to).all(|place| {
                let branch = &branches[place];
                if branch.own.contains(set) {
                    return true;
                }
                let mut rest = set.clone();
                rest.remove_all(&branch.own);
                branch.any.contains(set) && branch.below.covers(from, to, end_of(branches, place, end), &rest)
            }),
        }
    }

    pub(super) fn gather(&self, from: Time, to: Time, end: Time, busy: &mut S) {
        match self {
            TreeNode::Leaf(records) => {
                records[touched_children(records, from, to)].iter().for_each(|record| busy.add_all(&record.busy));
            }
            TreeNode::Inner(branches) => {
                for place in touched_children(branches, from, to) {
                    let branch = &branches[place];
                    let until = end_of(branches, place, end);
                    if from <= branch.start && until <= to {
                        busy.add_all(&branch.any);
                    } else {
                        busy.add_all(&branch.own);
                        branch.below.gather(from, to, until, busy);
                    }
                }
            }
        }
    }

    /// End of the last record that starts before a time.
    pub(super) fn last_end(&self, before: Time, end: Time) -> Option<Time> {
        match self {
            TreeNode::Leaf(records) => {
                let place = records.partition_point(|record| record.start < before).checked_sub(1)?;
                Some(end_of(records, place, end))
            }
            TreeNode::Inner(branches) => {
                let place = branches.partition_point(|branch| branch.start < before).checked_sub(1)?;
                branches[place].below.last_end(before, end_of(branches, place, end))
            }
        }
    }

    pub(super) fn last_shortage(&self, from: Time, to: Time, end: Time, limit: u32, busy: &mut S) -> Option<Time> {
        match self {
            TreeNode::Leaf(records) => touched_children(records, from, to).rev().find_map(|place| {
                busy.add_all(&records[place].busy);
                (busy.len() > limit).then(|| end_of(records, place, end))
            }),
            TreeNode::Inner(branches) => touched_children(branches, from, to).rev().find_map(|place| {
                let branch = &branches[place];
                let until = end_of(branches, place, end);
                if from <= branch.start && until <= to {
                    // Scans backwards from the end: while the union of busy nodes is small enough, their times do not
                    // matter.
                    let mut all = busy.clone();
                    all.add_all(&branch.any);
                    if all.len() <= limit {
                        *busy = all;
                        return None;
                    }
                }
                busy.add_all(&branch.own);
                if busy.len() > limit {
                    return branch.below.last_end(to, until);
                }
                branch.below.last_shortage(from, to, until, limit, busy)
            }),
        }
    }

    pub(super) fn first_meeting(&self, from: Time, to: Time, set: &S) -> Option<Time> {
        match self {
            TreeNode::Leaf(records) => touched_children(records, from, to)
                .find(|&place| records[place].busy.shares_nodes(set))
                .map(|place| records[place].start),
            TreeNode::Inner(branches) => touched_children(branches, from, to).find_map(|place| {
                let branch = &branches[place];
                if !branch.any.shares_nodes(set) {
                    None
                } else if branch.own.shares_nodes(set) {
                    Some(branch.start)
                } else {
                    branch.below.first_meeting(from, to, set)
                }
            }),
        }
    }

    pub(super) fn last_meeting(&self, from: Time, to: Time, end: Time, set: &S) -> Option<Time> {
        match self {
            TreeNode::Leaf(records) => touched_children(records, from, to)
                .rev()
                .find(|&place| records[place].busy.shares_nodes(set))
                .map(|place| end_of(records, place, end)),
            TreeNode::Inner(branches) => touched_children(branches, from, to).rev().find_map(|place| {
                let branch = &branches[place];
                let until = end_of(branches, place, end);
                if !branch.any.shares_nodes(set) {
                    None
                } else if branch.own.shares_nodes(set) {
                    branch.below.last_end(to, until)
                } else {
                    branch.below.last_meeting(from, to, until, set)
                }
            }),
        }
    }

    pub(super) fn starts(&self, from: Time, to: Time, end: Time, each: &mut impl FnMut(Time)) {
        match self {
            TreeNode::Leaf(records) => {
                let first = records.partition_point(|record| record.start < from);
                records[first..].iter().map(|record| record.start).take_while(|&start| start <= to).for_each(each);
            }
            TreeNode::Inner(branches) => {
                for (place, branch) in branches.iter().enumerate() {
                    if branch.start <= to && from < end_of(branches, place, end) {
                        branch.below.starts(from, to, end_of(branches, place, end), each);
                    }
                }
            }
        }
    }

    pub(super) fn next_start(&self, after: Time) -> Option<Time> {
        match self {
            TreeNode::Leaf(records) => {
                records.get(records.partition_point(|record| record.start <= after)).map(|record| record.start)
            }
            TreeNode::Inner(branches) => {
                let next = branches.partition_point(|branch| branch.start <= after);
                let within = next.checked_sub(1).and_then(|place| branches[place].below.next_start(after));
                within.or_else(|| branches.get(next).map(|branch| branch.start))
            }
        }
    }

    pub(super) fn records(&self, above: &S, each: &mut impl FnMut(Time, &S)) {
        match self {
            TreeNode::Leaf(records) => {
                records.iter().for_each(|record| each(record.start, &with_above(&record.busy, above)))
            }
            TreeNode::Inner(branches) => {
                branches.iter().for_each(|branch| branch.below.records(&with_above(&branch.own, above), each));
            }
        }
    }
}

fn with_above<S: Set>(own: &S, above: &S) -> S {
    let mut all = above.clone();
    all.add_all(own);
    all
}
