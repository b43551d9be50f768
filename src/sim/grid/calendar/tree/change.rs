//! Changes of the tree: records are split, marked, merged and dropped, and nodes are kept between sparse and full.

use super::super::set::Set;
use super::{Branch, FULL, SPARSE, TreeNode, TreeRecord, child_index, end_of, touched_children};
use crate::time::Time;

impl<S: Set> TreeNode<S> {
    /// Returns the right half, if the node was full.
    pub(super) fn split_at(&mut self, at: Time) -> Option<TreeNode<S>> {
        match self {
            TreeNode::Leaf(records) => {
                let place = child_index(records, at);
                let record = &records[place];
                if record.start < at {
                    let next = TreeRecord { start: at, busy: record.busy.clone() };
                    records.insert(place + 1, next);
                }
            }
            TreeNode::Inner(branches) => {
                let place = child_index(branches, at);
                if let Some(right) = branches[place].below.split_at(at) {
                    // A note for the whole span applies to both halves.
                    let own = branches[place].own.clone();
                    branches[place].refresh();
                    branches.insert(place + 1, Branch::from_node(right, own));
                }
            }
        }
        match self {
            TreeNode::Leaf(records) if records.len() > FULL => Some(TreeNode::Leaf(split_off_half(records))),
            TreeNode::Inner(branches) if branches.len() > FULL => Some(TreeNode::Inner(split_off_half(branches))),
            _ => None,
        }
    }

    pub(super) fn add(&mut self, from: Time, to: Time, end: Time, set: &S) {
        match self {
            TreeNode::Leaf(records) => {
                let span = touched_children(records, from, to);
                records[span].iter_mut().for_each(|record| record.busy.add_all(set));
            }
            TreeNode::Inner(branches) => {
                for place in touched_children(branches, from, to) {
                    let until = end_of(branches, place, end);
                    let branch = &mut branches[place];
                    // Branches within the span are not entered: this makes a long booking cheap.
                    if from <= branch.start && until <= to {
                        branch.add_whole(set);
                    } else {
                        branch.below.add(from, to, until, set);
                        branch.any.add_all(set);
                    }
                }
            }
        }
    }

    pub(super) fn take(&mut self, from: Time, to: Time, end: Time, set: &S) {
        match self {
            TreeNode::Leaf(records) => {
                let span = touched_children(records, from, to);
                records[span].iter_mut().for_each(|record| record.busy.remove_all(set));
            }
            TreeNode::Inner(branches) => {
                for place in touched_children(branches, from, to) {
                    let until = end_of(branches, place, end);
                    let branch = &mut branches[place];
                    // Part of the set may be noted here, by bookings that spanned all of the branch, and the rest
                    // further down.
                    let here = branch.own.common_nodes(set);
                    branch.own.remove_all(&here);
                    if from <= branch.start && until <= to {
                        let mut rest = set.clone();
                        rest.remove_all(&here);
                        if !rest.is_empty() {
                            branch.below.take(from, to, until, &rest);
                        }
                    } else {
                        // Only part of the span is released: the note for all of it is pushed down to the children,
                        // which then drop their part.
                        if !here.is_empty() {
                            branch.below.add_whole(&here);
                        }
                        branch.below.take(from, to, until, set);
                    }
                    // Others may use these nodes at other times of the branch.
                    branch.any.remove_all(set);
                    branch.below.gather_common(set, &mut branch.any);
                }
            }
        }
    }

    /// Drops the record that starts at a time, which must exist; the previous one takes over its span.
    pub(super) fn drop_record(&mut self, at: Time) {
        match self {
            TreeNode::Leaf(records) => {
                records.remove(child_index(records, at));
            }
            TreeNode::Inner(branches) => {
                let place = child_index(branches, at);
                let first = branches[place].start == at;
                branches[place].below.drop_record(at);
                if branches[place].below.len() == 0 {
                    branches.remove(place);
                } else {
                    if first {
                        // The nodes busy at its start may be busy nowhere else in the branch. Otherwise an equal record
                        // remains.
                        branches[place].refresh();
                    }
                    merge_sparse_child(branches, place);
                }
            }
        }
    }

    /// Drops all records that start before a time, at which a record starts or after which none does.
    pub(super) fn forget(&mut self, before: Time, end: Time) {
        match self {
            TreeNode::Leaf(records) => {
                records.drain(..child_index(records, before));
            }
            TreeNode::Inner(branches) => {
                branches.drain(..child_index(branches, before));
                let until = end_of(branches, 0, end);
                if branches[0].start < before {
                    branches[0].below.forget(before, until);
                    branches[0].refresh();
                }
            }
        }
    }
}

/// Merges a child that has become sparse with a neighbour.
fn merge_sparse_child<S: Set>(branches: &mut Vec<Branch<S>>, place: usize) {
    if branch_size(place, branches) >= SPARSE {
        return;
    }
    let left = match place {
        0 => 0,
        _ if branch_size(place - 1, branches) <= branch_size(place + 1, branches) => place - 1,
        _ => place,
    };
    // A full node would be split by the next record.
    if left + 1 >= branches.len() || branch_size(left, branches) + branch_size(left + 1, branches) > FULL / 2 {
        return;
    }
    let right = branches.remove(left + 1).pushed_down();
    let branch = &mut branches[left];
    let own = std::mem::take(&mut branch.own);
    branch.below.add_whole(&own);
    match (&mut branch.below, right) {
        (TreeNode::Leaf(records), TreeNode::Leaf(more)) => records.extend(more),
        (TreeNode::Inner(branches), TreeNode::Inner(more)) => branches.extend(more),
        _ => unreachable!("all leaves are at one depth"),
    }
    branch.refresh();
}

fn branch_size<S: Set>(place: usize, branches: &[Branch<S>]) -> usize {
    branches.get(place).map_or(FULL, |branch| branch.below.len())
}

fn split_off_half<T>(children: &mut Vec<T>) -> Vec<T> {
    let mut right = Vec::with_capacity(FULL + 1);
    right.extend(children.drain(children.len() / 2..));
    right
}
