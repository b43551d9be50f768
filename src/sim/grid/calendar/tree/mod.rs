//! The tree behind the calendar: records in time order, grouped so that long spans are handled as a whole.
//!
//! A record lasts from its start to that of the next one. A branch summarises all records below it: `own` holds nodes
//! that are busy during its whole span and noted here alone, `any` the nodes that are busy at any time of its span.
//! Bookings that overlap in time share no node, so `own` and the notes below never overlap, and a booking can be
//! subtracted again exactly.
//!
//! A booking marks whole branches where possible and splits at most two per level. A query of a span reads `any` of
//! whole branches. Both take O(log records) steps, each as long as a set has runs (or words).

mod ask;
mod change;

use super::set::Set;
use crate::time::Time;

/// Most children of a node. Wide nodes suit the processor's caches; a booking rewrites up to two of them per level.
/// Narrow in tests, so that trees are deep.
const FULL: usize = if cfg!(test) { 8 } else { 16 };
/// Nodes of fewer children are merged with a neighbour, if both fit well into one.
const SPARSE: usize = FULL / 4;

#[derive(Clone)]
pub(super) struct Tree<S> {
    root: TreeNode<S>,
}

#[derive(Clone)]
enum TreeNode<S> {
    Leaf(Vec<TreeRecord<S>>),
    Inner(Vec<Branch<S>>),
}

#[derive(Clone)]
struct TreeRecord<S> {
    start: Time,
    /// Busy nodes, without those noted by the branches above.
    busy: S,
}

#[derive(Clone)]
struct Branch<S> {
    start: Time,
    own: S,
    any: S,
    below: TreeNode<S>,
}

impl<S: Set> Tree<S> {
    pub fn new() -> Tree<S> {
        Tree { root: TreeNode::Leaf(vec![TreeRecord { start: Time::ZERO, busy: S::default() }]) }
    }

    /// True if any of the nodes is busy at any time of the span.
    pub fn meets(&self, from: Time, to: Time, set: &S) -> bool {
        self.root.meets(from, to, Time::NEVER, set)
    }

    /// True if all of the nodes are busy throughout the span.
    pub fn covers(&self, from: Time, to: Time, set: &S) -> bool {
        self.root.covers(from, to, Time::NEVER, set)
    }

    /// Adds to `busy` the nodes that are busy at any time of the span.
    pub fn gather(&self, from: Time, to: Time, busy: &mut S) {
        self.root.gather(from, to, Time::NEVER, busy);
    }

    /// Marks nodes busy that are free throughout the span.
    pub fn add(&mut self, from: Time, to: Time, set: &S) {
        self.cut(from);
        self.cut(to);
        self.root.add(from, to, Time::NEVER, set);
        // Next to another booking of equal nodes nothing changes at the seam any more.
        self.drop_if_redundant(to);
        self.drop_if_redundant(from);
    }

    /// Marks nodes free that are busy throughout the span.
    pub fn take(&mut self, from: Time, to: Time, set: &S) {
        self.cut(from);
        self.cut(to);
        self.root.take(from, to, Time::NEVER, set);
        self.drop_if_redundant(to);
        self.drop_if_redundant(from);
    }

    /// Drops everything before a time.
    pub fn forget(&mut self, before: Time) {
        if self.root.start() < before {
            self.cut(before);
            self.root.forget(before, Time::NEVER);
            self.shrink_root();
        }
    }

    /// End of the last record of the span from which on, to the end of the span, more than `limit` nodes are busy in
    /// total; if there is none, `busy` holds all busy nodes.
    pub fn last_shortage(&self, from: Time, to: Time, limit: u32, busy: &mut S) -> Option<Time> {
        self.root.last_shortage(from, to, Time::NEVER, limit, busy)
    }

    /// First time of the span at which any of the nodes is busy.
    pub fn first_meeting(&self, from: Time, to: Time, set: &S) -> Option<Time> {
        self.root.first_meeting(from, to, set).map(|start| start.max(from))
    }

    /// End of the last record of the span during which any of the nodes is busy.
    pub fn last_meeting(&self, from: Time, to: Time, set: &S) -> Option<Time> {
        self.root.last_meeting(from, to, Time::NEVER, set)
    }

    /// Calls `each` with the start of each record from `from` to `to` inclusive, including the very first record.
    pub fn starts(&self, from: Time, to: Time, each: &mut impl FnMut(Time)) {
        self.root.starts(from, to, Time::NEVER, each);
    }

    pub fn next_start(&self, after: Time) -> Option<Time> {
        self.root.next_start(after)
    }

    /// Calls `each` with the start and the busy nodes of each record.
    pub fn records(&self, each: &mut impl FnMut(Time, &S)) {
        self.root.records(&S::default(), each);
    }

    pub fn first_start(&self) -> Time {
        self.root.start()
    }

    /// Splits the record at a time, so that a record starts there.
    fn cut(&mut self, at: Time) {
        if at == Time::NEVER {
            return;
        }
        if let Some(right) = self.root.split_at(at) {
            let left = std::mem::replace(&mut self.root, TreeNode::Inner(Vec::with_capacity(FULL + 1)));
            if let TreeNode::Inner(branches) = &mut self.root {
                branches.extend([Branch::from_node(left, S::default()), Branch::from_node(right, S::default())]);
            }
        }
    }

    /// Drops the record that starts at a time, if nothing changes there. The very first record stays.
    fn drop_if_redundant(&mut self, at: Time) {
        if at > self.root.start() && self.root.repeats_previous(at) {
            self.root.drop_record(at);
            self.shrink_root();
        }
    }

    /// Replaces a root with one branch by its child.
    fn shrink_root(&mut self) {
        while let TreeNode::Inner(branches) = &mut self.root {
            if branches.len() > 1 {
                return;
            }
            let branch = branches.pop().expect("a tree is never empty");
            self.root = branch.pushed_down();
        }
    }
}

impl<S: Set> Branch<S> {
    fn from_node(below: TreeNode<S>, own: S) -> Branch<S> {
        let mut branch = Branch { start: below.start(), own, any: S::default(), below };
        branch.refresh();
        branch
    }

    /// Recomputes the summary of a branch from its children.
    fn refresh(&mut self) {
        self.start = self.below.start();
        self.any = self.own.clone();
        match &self.below {
            TreeNode::Leaf(records) => records.iter().for_each(|record| self.any.add_all(&record.busy)),
            TreeNode::Inner(branches) => branches.iter().for_each(|branch| self.any.add_all(&branch.any)),
        }
    }

    fn add_whole(&mut self, set: &S) {
        self.own.add_all(set);
        self.any.add_all(set);
    }

    /// The child, after the branch's note is pushed down to it.
    fn pushed_down(mut self) -> TreeNode<S> {
        if !self.own.is_empty() {
            self.below.add_whole(&self.own);
        }
        self.below
    }
}

impl<S: Set> TreeNode<S> {
    fn start(&self) -> Time {
        match self {
            TreeNode::Leaf(records) => records[0].start,
            TreeNode::Inner(branches) => branches[0].start,
        }
    }

    fn len(&self) -> usize {
        match self {
            TreeNode::Leaf(records) => records.len(),
            TreeNode::Inner(branches) => branches.len(),
        }
    }

    fn add_whole(&mut self, set: &S) {
        match self {
            TreeNode::Leaf(records) => records.iter_mut().for_each(|record| record.busy.add_all(set)),
            TreeNode::Inner(branches) => branches.iter_mut().for_each(|branch| branch.add_whole(set)),
        }
    }

    /// Adds to `busy` the nodes of `set` that are busy at any time.
    fn gather_common(&self, set: &S, busy: &mut S) {
        let mut add = |any: &S| {
            if any.shares_nodes(set) {
                busy.add_all(&any.common_nodes(set));
            }
        };
        match self {
            TreeNode::Leaf(records) => records.iter().for_each(|record| add(&record.busy)),
            TreeNode::Inner(branches) => branches.iter().for_each(|branch| add(&branch.any)),
        }
    }

    /// True if the record that starts at a time, not the first of this node, has busy nodes equal to those of the
    /// previous one.
    fn repeats_previous(&self, at: Time) -> bool {
        match self {
            TreeNode::Leaf(records) => {
                let place = child_index(records, at);
                let before = &records[place - 1];
                let record = &records[place];
                record.start == at && before.busy == record.busy
            }
            TreeNode::Inner(branches) => {
                let place = child_index(branches, at);
                let branch = &branches[place];
                if branch.start < at {
                    return branch.below.repeats_previous(at);
                }
                // The two records are in different branches: collect the notes on the paths down to them.
                let mut before = branches[place - 1].own.clone();
                let mut after = branch.own.clone();
                branches[place - 1].below.gather_edge(true, &mut before);
                branch.below.gather_edge(false, &mut after);
                before == after
            }
        }
    }

    /// Adds the busy nodes of the last (or the first) record.
    fn gather_edge(&self, last: bool, busy: &mut S) {
        match self {
            TreeNode::Leaf(records) => {
                let record = if last { records.last() } else { records.first() };
                busy.add_all(&record.expect("no node is empty").busy);
            }
            TreeNode::Inner(branches) => {
                let branch = if last { branches.last() } else { branches.first() };
                let branch = branch.expect("no node is empty");
                busy.add_all(&branch.own);
                branch.below.gather_edge(last, busy);
            }
        }
    }
}

#[cfg(test)]
impl<S: Set> Tree<S> {
    /// Checks that all summaries are exact and no node is too large. Returns the depth of the tree.
    pub fn check(&self) -> u32 {
        assert!(
            !matches!(&self.root, TreeNode::Inner(branches) if branches.len() == 1),
            "a root with one branch is none"
        );
        self.root.check().0
    }
}

#[cfg(test)]
impl<S: Set> TreeNode<S> {
    /// Depth, and all nodes that are ever busy.
    fn check(&self) -> (u32, S) {
        let mut all = S::default();
        match self {
            TreeNode::Leaf(records) => {
                assert!((1..=FULL).contains(&records.len()));
                assert!(records.is_sorted_by(|one, next| one.start < next.start));
                records.iter().for_each(|record| all.add_all(&record.busy));
                (0, all)
            }
            TreeNode::Inner(branches) => {
                assert!((1..=FULL).contains(&branches.len()));
                assert!(branches.is_sorted_by(|one, next| one.start < next.start));
                let mut depths = Vec::new();
                for branch in branches {
                    let (depth, mut any) = branch.below.check();
                    depths.push(depth);
                    assert!(!any.shares_nodes(&branch.own), "what is noted here is not noted below");
                    any.add_all(&branch.own);
                    assert!(any == branch.any);
                    assert_eq!(branch.start, branch.below.start());
                    all.add_all(&any);
                }
                assert!(depths.iter().all(|depth| *depth == depths[0]), "all leaves are at one depth");
                (depths[0] + 1, all)
            }
        }
    }
}

trait Starts {
    fn start_time(&self) -> Time;
}

impl<S> Starts for TreeRecord<S> {
    fn start_time(&self) -> Time {
        self.start
    }
}

impl<S> Starts for Branch<S> {
    fn start_time(&self) -> Time {
        self.start
    }
}

/// Index of the child whose span contains a time; the first one for earlier times.
fn child_index(children: &[impl Starts], at: Time) -> usize {
    children.partition_point(|child| child.start_time() <= at).saturating_sub(1)
}

/// The children that a span, which is not empty, overlaps.
fn touched_children(children: &[impl Starts], from: Time, to: Time) -> std::ops::Range<usize> {
    let first = child_index(children, from);
    first..first + children[first..].partition_point(|child| child.start_time() < to)
}

/// End of a child's span, in a node that ends at `end`.
fn end_of(children: &[impl Starts], place: usize, end: Time) -> Time {
    children.get(place + 1).map_or(end, Starts::start_time)
}
