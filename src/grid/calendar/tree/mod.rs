//! The tree behind the calendar: records in time order, grouped so that long spans are handled as a whole.
//!
//! A record lasts from its start to that of the next one. A branch stands for all records below it. It keeps as `own`
//! what is busy during its whole span and noted here alone, and as `any` what is busy at some time in its span.
//! Bookings that overlap in time share no node, so `own` and what is noted below never overlap, and a booking can be
//! subtracted again exactly.
//!
//! A booking touches whole branches where it can and splits at most two a level. A question about a span reads `any` of
//! whole branches. Both take O(log records) steps, each as long as a set has runs (or words).

mod ask;
mod change;

use super::set::Set;
use crate::time::Time;

/// Children of a node at most. Wide nodes suit the processor's caches; a booking rewrites up to two of them a level.
/// Tests make do with narrow ones, to have deep trees.
const FULL: usize = if cfg!(test) { 8 } else { 16 };
/// Nodes of fewer children are merged with a neighbour, if both fit well into one.
const SPARSE: usize = FULL / 4;

#[derive(Clone)]
pub(super) struct Tree<S> {
    root: Node<S>,
}

#[derive(Clone)]
enum Node<S> {
    Leaf(Vec<Record<S>>),
    Inner(Vec<Branch<S>>),
}

#[derive(Clone)]
struct Record<S> {
    start: Time,
    /// Without what the branches above note.
    busy: S,
}

#[derive(Clone)]
struct Branch<S> {
    start: Time,
    own: S,
    any: S,
    below: Node<S>,
}

impl<S: Set> Tree<S> {
    pub fn new() -> Tree<S> {
        Tree { root: Node::Leaf(vec![Record { start: Time::ZERO, busy: S::default() }]) }
    }

    /// Whether any of the nodes is busy at some time of the span.
    pub fn meets(&self, from: Time, to: Time, set: &S) -> bool {
        self.root.meets(from, to, Time::NEVER, set)
    }

    /// Whether all of the nodes are busy throughout the span.
    pub fn covers(&self, from: Time, to: Time, set: &S) -> bool {
        self.root.covers(from, to, Time::NEVER, set)
    }

    /// Adds to `busy` what is busy at some time of the span.
    pub fn gather(&self, from: Time, to: Time, busy: &mut S) {
        self.root.gather(from, to, Time::NEVER, busy);
    }

    /// Marks nodes busy that are free throughout the span.
    pub fn add(&mut self, from: Time, to: Time, set: &S) {
        self.cut(from);
        self.cut(to);
        self.root.add(from, to, Time::NEVER, set);
        // Beside another booking of the same nodes nothing changes at the seam any more.
        self.clean(to);
        self.clean(from);
    }

    /// Marks nodes free that are busy throughout the span.
    pub fn take(&mut self, from: Time, to: Time, set: &S) {
        self.cut(from);
        self.cut(to);
        self.root.take(from, to, Time::NEVER, set);
        self.clean(to);
        self.clean(from);
    }

    /// Forgets what was before a time.
    pub fn forget(&mut self, before: Time) {
        if self.root.start() < before {
            self.cut(before);
            self.root.forget(before, Time::NEVER);
            self.lower();
        }
    }

    /// The end of the last record in the span from which on, to the end of the span, more than `limit` nodes are busy
    /// at some time; if there is none, `busy` holds all that are.
    pub fn last_shortage(&self, from: Time, to: Time, limit: u32, busy: &mut S) -> Option<Time> {
        self.root.last_shortage(from, to, Time::NEVER, limit, busy)
    }

    /// The first time of the span at which any of the nodes is busy.
    pub fn first_meeting(&self, from: Time, to: Time, set: &S) -> Option<Time> {
        self.root.first_meeting(from, to, set).map(|start| start.max(from))
    }

    /// The end of the last record in the span during which any of the nodes is busy.
    pub fn last_meeting(&self, from: Time, to: Time, set: &S) -> Option<Time> {
        self.root.last_meeting(from, to, Time::NEVER, set)
    }

    /// Calls with the start of each record from `from` up to and with `to`; the first record of all is one too.
    pub fn starts(&self, from: Time, to: Time, each: &mut impl FnMut(Time)) {
        self.root.starts(from, to, Time::NEVER, each);
    }

    pub fn next_start(&self, after: Time) -> Option<Time> {
        self.root.next_start(after)
    }

    /// Calls with the start and the busy nodes of each record.
    pub fn records(&self, each: &mut impl FnMut(Time, &S)) {
        self.root.records(&S::default(), each);
    }

    pub fn first_start(&self) -> Time {
        self.root.start()
    }

    /// Makes a time the start of a record.
    fn cut(&mut self, at: Time) {
        if at == Time::NEVER {
            return;
        }
        if let Some(right) = self.root.cut(at) {
            let left = std::mem::replace(&mut self.root, Node::Inner(Vec::with_capacity(FULL + 1)));
            if let Node::Inner(branches) = &mut self.root {
                branches.extend([Branch::over(left, S::default()), Branch::over(right, S::default())]);
            }
        }
    }

    /// Drops the record that starts at a time, if nothing changes there. The first record of all stays.
    fn clean(&mut self, at: Time) {
        if at > self.root.start() && self.root.continues(at) {
            self.root.drop_record(at);
            self.lower();
        }
    }

    /// A root with one branch gives way to what is below.
    fn lower(&mut self) {
        while let Node::Inner(branches) = &mut self.root {
            if branches.len() > 1 {
                return;
            }
            let branch = branches.pop().expect("a tree is never empty");
            self.root = branch.pushed_down();
        }
    }
}

impl<S: Set> Branch<S> {
    fn over(below: Node<S>, own: S) -> Branch<S> {
        let mut branch = Branch { start: below.start(), own, any: S::default(), below };
        branch.refresh();
        branch
    }

    /// Computes anew what is derived from below.
    fn refresh(&mut self) {
        self.start = self.below.start();
        self.any = self.own.clone();
        match &self.below {
            Node::Leaf(records) => records.iter().for_each(|record| self.any.add(&record.busy)),
            Node::Inner(branches) => branches.iter().for_each(|branch| self.any.add(&branch.any)),
        }
    }

    fn add_whole(&mut self, set: &S) {
        self.own.add(set);
        self.any.add(set);
    }

    /// What is below, told what was noted here.
    fn pushed_down(mut self) -> Node<S> {
        if !self.own.is_empty() {
            self.below.add_whole(&self.own);
        }
        self.below
    }
}

impl<S: Set> Node<S> {
    fn start(&self) -> Time {
        match self {
            Node::Leaf(records) => records[0].start,
            Node::Inner(branches) => branches[0].start,
        }
    }

    fn len(&self) -> usize {
        match self {
            Node::Leaf(records) => records.len(),
            Node::Inner(branches) => branches.len(),
        }
    }

    fn add_whole(&mut self, set: &S) {
        match self {
            Node::Leaf(records) => records.iter_mut().for_each(|record| record.busy.add(set)),
            Node::Inner(branches) => branches.iter_mut().for_each(|branch| branch.add_whole(set)),
        }
    }

    /// Adds to `busy` those of some nodes that are busy at some time.
    fn gather_common(&self, set: &S, busy: &mut S) {
        let mut add = |any: &S| {
            if any.meets(set) {
                busy.add(&any.common(set));
            }
        };
        match self {
            Node::Leaf(records) => records.iter().for_each(|record| add(&record.busy)),
            Node::Inner(branches) => branches.iter().for_each(|branch| add(&branch.any)),
        }
    }

    /// Whether the record that starts at a time, not the first of this node, has the same busy nodes as the one before.
    fn continues(&self, at: Time) -> bool {
        match self {
            Node::Leaf(records) => {
                let place = holding(records, at);
                let (before, record) = (&records[place - 1], &records[place]);
                record.start == at && before.busy == record.busy
            }
            Node::Inner(branches) => {
                let place = holding(branches, at);
                let branch = &branches[place];
                if branch.start < at {
                    return branch.below.continues(at);
                }
                // The two records are in different branches: what is busy is noted on the ways down to them.
                let (mut before, mut after) = (branches[place - 1].own.clone(), branch.own.clone());
                branches[place - 1].below.gather_edge(true, &mut before);
                branch.below.gather_edge(false, &mut after);
                before == after
            }
        }
    }

    /// Adds what is busy during the last (or the first) record.
    fn gather_edge(&self, last: bool, busy: &mut S) {
        match self {
            Node::Leaf(records) => {
                let record = if last { records.last() } else { records.first() };
                busy.add(&record.expect("no node is empty").busy);
            }
            Node::Inner(branches) => {
                let branch = if last { branches.last() } else { branches.first() };
                let branch = branch.expect("no node is empty");
                busy.add(&branch.own);
                branch.below.gather_edge(last, busy);
            }
        }
    }
}

#[cfg(test)]
impl<S: Set> Tree<S> {
    /// What is kept of all that is below a branch is exact, and no node has too many below it. Says how deep the tree
    /// is.
    pub fn check(&self) -> u32 {
        assert!(!matches!(&self.root, Node::Inner(branches) if branches.len() == 1), "a root with one branch is none");
        self.root.check().0
    }
}

#[cfg(test)]
impl<S: Set> Node<S> {
    /// How deep it is, and all that is ever busy.
    fn check(&self) -> (u32, S) {
        let mut all = S::default();
        match self {
            Node::Leaf(records) => {
                assert!((1..=FULL).contains(&records.len()));
                assert!(records.is_sorted_by(|one, next| one.start < next.start));
                records.iter().for_each(|record| all.add(&record.busy));
                (0, all)
            }
            Node::Inner(branches) => {
                assert!((1..=FULL).contains(&branches.len()));
                assert!(branches.is_sorted_by(|one, next| one.start < next.start));
                let mut depths = Vec::new();
                for branch in branches {
                    let (depth, mut any) = branch.below.check();
                    depths.push(depth);
                    assert!(!any.meets(&branch.own), "what is noted here is not noted below");
                    any.add(&branch.own);
                    assert!(any == branch.any);
                    assert_eq!(branch.start, branch.below.start());
                    all.add(&any);
                }
                assert!(depths.iter().all(|depth| *depth == depths[0]), "all leaves are at one depth");
                (depths[0] + 1, all)
            }
        }
    }
}

trait Starts {
    fn start(&self) -> Time;
}

impl<S> Starts for Record<S> {
    fn start(&self) -> Time {
        self.start
    }
}

impl<S> Starts for Branch<S> {
    fn start(&self) -> Time {
        self.start
    }
}

/// The child whose span holds a time; the first one for times before all.
fn holding(children: &[impl Starts], at: Time) -> usize {
    children.partition_point(|child| child.start() <= at).saturating_sub(1)
}

/// The children that a span, which is not empty, overlaps.
fn touched(children: &[impl Starts], from: Time, to: Time) -> std::ops::Range<usize> {
    let first = holding(children, from);
    first..first + children[first..].partition_point(|child| child.start() < to)
}

/// When a child's span ends, in a node that ends at `end`.
fn end_of(children: &[impl Starts], place: usize, end: Time) -> Time {
    children.get(place + 1).map_or(end, Starts::start)
}
