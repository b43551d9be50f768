//! A queue in blocks, and these in groups, each with lower bounds of what its jobs request, so that a walk skips those
//! whose jobs are all too large or too long.
//!
//! A walk costs O(groups + blocks of the groups that it enters + jobs of the blocks that it enters); inserting and
//! removing a job O(groups + group + block). A group has up to 4096 jobs, so a million jobs wait in a few hundred. A
//! queue of fewer than [`BLOCK`] jobs is one block, and costs what a plain list does.

use std::collections::VecDeque;

use super::NodeRequest;
use super::order::Waiting;
use crate::grid::TaskId;
use crate::time::{Span, Time};

/// Most jobs of a block.
const BLOCK: usize = 64;

/// Most blocks of a group. Tests have small groups, so that queues of a few hundred jobs have several.
const GROUP: usize = if cfg!(test) { 4 } else { 64 };

/// Classes of widths in [`Bounds`].
const CLASSES: usize = 16;

/// Upper bounds of what a job may request to start behind the head of a queue. A job within them may still not start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Largest width of a job that ends before the head starts: the nodes that are free now.
    pub nodes: u32,
    /// Largest width of a job that runs beside the head: the nodes that the head leaves free; at most `nodes`.
    pub nodes_beside_head: u32,
    /// Longest walltime of a job that ends before the head starts: the time until that start.
    pub until_head: Span,
}

impl Limits {
    /// Limits that no job exceeds.
    pub const NONE: Limits = Limits { nodes: u32::MAX, nodes_beside_head: u32::MAX, until_head: Span::MAX };

    /// Longest walltime of a job that starts now and ends by `start`.
    pub fn span_until(now: Time, start: Time) -> Span {
        // The end of an endless job is not after this either.
        if start == Time::NEVER { Span::MAX } else { start.since(now) }
    }

    fn admit(&self, nodes: u32, walltime: Span) -> bool {
        nodes <= if walltime <= self.until_head { self.nodes } else { self.nodes_beside_head }
    }

    /// False if no job within these bounds can be within the limits.
    fn may_admit(&self, bounds: &Bounds) -> bool {
        bounds.fewest_nodes <= self.nodes_beside_head
            || bounds.fewest_nodes <= self.nodes && bounds.shortest[class_of(self.nodes)] <= self.until_head
    }
}

/// Lower bounds of what some jobs request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    fewest_nodes: u32,
    /// Lower bound of the walltimes of the jobs up to a class, by class, so it never increases. One bound for all jobs
    /// would hardly skip a block: most have a narrow job and a short one.
    shortest: [Span; CLASSES],
}

/// Class of a job with this many nodes: each has twice the width of the one before, the last all wider jobs.
fn class_of(nodes: u32) -> usize {
    (nodes.max(1).ilog2() as usize).min(CLASSES - 1)
}

impl Bounds {
    /// Bounds of no jobs.
    const EMPTY: Bounds = Bounds { fewest_nodes: u32::MAX, shortest: [Span::MAX; CLASSES] };

    fn of_jobs(jobs: &[Waiting]) -> Bounds {
        let mut bounds = Bounds::EMPTY;
        jobs.iter().for_each(|job| bounds.add(&job.request));
        bounds
    }

    fn add(&mut self, request: &NodeRequest) {
        self.fewest_nodes = self.fewest_nodes.min(request.nodes);
        for shortest in &mut self.shortest[class_of(request.nodes)..] {
            if *shortest <= request.walltime {
                break;
            }
            *shortest = request.walltime;
        }
    }

    fn unite(&mut self, other: &Bounds) {
        self.fewest_nodes = self.fewest_nodes.min(other.fewest_nodes);
        for (shortest, other) in self.shortest.iter_mut().zip(&other.shortest) {
            *shortest = (*shortest).min(*other);
        }
    }

    /// True if the bounds may be higher without this job, which is one of theirs.
    fn are_set_by(&self, request: &NodeRequest) -> bool {
        request.nodes == self.fewest_nodes || request.walltime == self.shortest[class_of(request.nodes)]
    }
}

/// Waiting jobs in order of rank.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockQueue {
    groups: VecDeque<Group>,
    len: usize,
}

/// Neighbouring blocks of a queue; at least one.
#[derive(Clone, Debug)]
struct Group {
    blocks: Vec<Block>,
    /// Number of jobs.
    len: usize,
    bounds: Bounds,
    /// True if the bounds may be lower than those of the blocks.
    is_loose: bool,
}

/// Neighbouring jobs of a queue; at least one.
#[derive(Clone, Debug)]
struct Block {
    jobs: Vec<Waiting>,
    bounds: Bounds,
    /// True if the bounds may be lower than those of the jobs.
    is_loose: bool,
}

/// Position of a job in a [`BlockQueue`]. A change at this position leaves it valid, one elsewhere does not.
#[derive(Debug)]
pub(super) struct Cursor {
    group: usize,
    /// Index within the group.
    block: usize,
    /// Index within the block.
    place: usize,
}

impl Cursor {
    const FIRST: Cursor = Cursor { group: 0, block: 0, place: 0 };

    /// Passes over the job at the cursor.
    pub fn pass(&mut self) {
        self.place += 1;
    }
}

impl BlockQueue {
    pub fn of(jobs: &[Waiting]) -> BlockQueue {
        let groups = jobs.chunks(GROUP * BLOCK).map(|jobs| {
            let blocks = jobs.chunks(BLOCK).map(|jobs| Block::of(jobs.to_vec()));
            Group::of(blocks.collect())
        });
        BlockQueue { groups: groups.collect(), len: jobs.len() }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn first(&self) -> Option<&Waiting> {
        Some(self.groups.front()?.first())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.groups.iter().flat_map(|group| &group.blocks).flat_map(|block| &block.jobs)
    }

    pub fn push_first(&mut self, job: Waiting) {
        self.insert_at(Cursor::FIRST, job);
    }

    pub fn pop_first(&mut self) -> Option<Waiting> {
        if self.is_empty() { None } else { Some(self.remove(&Cursor::FIRST)) }
    }

    /// Inserts a job behind all that precede it, as `precedes` says; true if it is the last now.
    pub fn insert(&mut self, job: Waiting, precedes: impl Fn(&Waiting) -> bool) -> bool {
        let Some(last) = self.groups.back() else {
            self.insert_at(Cursor::FIRST, job);
            return true;
        };
        let last_block = &last.blocks[last.blocks.len() - 1];
        if last_block.jobs.last().is_none_or(&precedes) {
            let end =
                Cursor { group: self.groups.len() - 1, block: last.blocks.len() - 1, place: last_block.jobs.len() };
            self.insert_at(end, job);
            return true;
        }
        let group = self.groups.partition_point(|group| precedes(group.first())).saturating_sub(1);
        let blocks = &self.groups[group].blocks;
        let block = blocks.partition_point(|block| precedes(&block.jobs[0])).saturating_sub(1);
        let place = blocks[block].jobs.partition_point(precedes);
        self.insert_at(Cursor { group, block, place }, job);
        false
    }

    fn insert_at(&mut self, at: Cursor, job: Waiting) {
        self.len += 1;
        let Some(group) = self.groups.get_mut(at.group) else {
            self.groups.push_back(Group::of(vec![Block::of(vec![job])]));
            return;
        };
        group.insert(at.block, at.place, job);
        if group.blocks.len() > GROUP {
            let rest = Group::of(group.blocks.split_off(GROUP / 2));
            *group = Group::of(std::mem::take(&mut group.blocks));
            self.groups.insert(at.group + 1, rest);
        }
    }

    /// Removes a job; true if it was there. O(jobs).
    pub fn remove_job(&mut self, job: TaskId) -> bool {
        for group in 0..self.groups.len() {
            for block in 0..self.groups[group].blocks.len() {
                let jobs = &self.groups[group].blocks[block].jobs;
                if let Some(place) = jobs.iter().position(|waiting| waiting.request.job == job) {
                    self.remove(&Cursor { group, block, place });
                    return true;
                }
            }
        }
        false
    }

    /// A cursor at the job of this index, which is usually near one of the ends. O(groups up to the nearer end + blocks
    /// of its group).
    pub fn cursor(&self, index: usize) -> Cursor {
        let mut group = 0;
        let mut first = 0;
        if index < self.len / 2 {
            while first + self.groups[group].len <= index {
                first += self.groups[group].len;
                group += 1;
            }
        } else {
            group = self.groups.len();
            first = self.len;
            while first > index {
                group -= 1;
                first -= self.groups[group].len;
            }
        }
        let blocks = self.groups.get(group).map_or(&[][..], |group| &group.blocks);
        let mut block = 0;
        while let Some(ahead) = blocks.get(block).filter(|ahead| first + ahead.jobs.len() <= index) {
            first += ahead.jobs.len();
            block += 1;
        }
        Cursor { group, block, place: index - first }
    }

    /// The next job within the limits, at the cursor or behind it. The cursor is then at this job. Bounds of groups and
    /// blocks without such a job become exact.
    pub fn next_within(&mut self, limits: Limits, cursor: &mut Cursor) -> Option<NodeRequest> {
        while let Some(group) = self.groups.get_mut(cursor.group) {
            if limits.may_admit(&group.bounds)
                && let Some(found) = group.next_within(limits, cursor)
            {
                return Some(found);
            }
            *cursor = Cursor { group: cursor.group + 1, ..Cursor::FIRST };
        }
        None
    }

    /// Removes the job at the cursor, which is then at the next one.
    pub fn remove(&mut self, cursor: &Cursor) -> Waiting {
        self.len -= 1;
        let group = &mut self.groups[cursor.group];
        let job = group.remove(cursor.block, cursor.place);
        if group.blocks.is_empty() {
            self.groups.remove(cursor.group);
            return job;
        }
        let len = group.blocks.len();
        if let Some(next) = self.groups.get_mut(cursor.group + 1).filter(|next| len + next.blocks.len() <= GROUP / 2) {
            let rest = std::mem::take(&mut next.blocks);
            self.groups.remove(cursor.group + 1);
            let mut blocks = std::mem::take(&mut self.groups[cursor.group].blocks);
            blocks.extend(rest);
            self.groups[cursor.group] = Group::of(blocks);
        }
        job
    }
}

impl Group {
    fn of(blocks: Vec<Block>) -> Group {
        let len = blocks.iter().map(|block| block.jobs.len()).sum();
        let mut group = Group { blocks, len, bounds: Bounds::EMPTY, is_loose: true };
        group.tighten();
        group
    }

    /// Makes the bounds those of the blocks.
    fn tighten(&mut self) {
        if std::mem::take(&mut self.is_loose) {
            self.bounds = Bounds::EMPTY;
            self.blocks.iter().for_each(|block| self.bounds.unite(&block.bounds));
        }
    }

    fn first(&self) -> &Waiting {
        &self.blocks[0].jobs[0]
    }

    fn insert(&mut self, block: usize, place: usize, job: Waiting) {
        self.len += 1;
        self.bounds.add(&job.request);
        let into = &mut self.blocks[block];
        if into.jobs.len() < BLOCK {
            into.insert(place, job);
        } else if place == BLOCK {
            self.blocks.insert(block + 1, Block::of(vec![job]));
        } else {
            let rest = Block::of(into.jobs.split_off(BLOCK / 2));
            *into = Block::of(std::mem::take(&mut into.jobs));
            self.blocks.insert(block + 1, rest);
            self.is_loose = true;
            let (block, place) = if place <= BLOCK / 2 { (block, place) } else { (block + 1, place - BLOCK / 2) };
            self.blocks[block].insert(place, job);
        }
    }

    fn next_within(&mut self, limits: Limits, cursor: &mut Cursor) -> Option<NodeRequest> {
        while let Some(block) = self.blocks.get_mut(cursor.block) {
            if limits.may_admit(&block.bounds) {
                let rest = &block.jobs[cursor.place..];
                if let Some(ahead) = rest.iter().position(|job| limits.admit(job.request.nodes, job.request.walltime)) {
                    cursor.place += ahead;
                    return Some(rest[ahead].request);
                }
                self.is_loose |= block.tighten();
            }
            cursor.block += 1;
            cursor.place = 0;
        }
        self.tighten();
        None
    }

    fn remove(&mut self, at: usize, place: usize) -> Waiting {
        self.len -= 1;
        let block = &mut self.blocks[at];
        let job = block.jobs.remove(place);
        block.is_loose |= block.bounds.are_set_by(&job.request);
        if block.jobs.is_empty() {
            self.blocks.remove(at);
            self.is_loose = true;
        } else if block.jobs.len() < BLOCK / 4
            && let Some(next) = self.blocks.get_mut(at + 1).filter(|next| next.jobs.len() <= BLOCK / 2)
        {
            let rest = std::mem::take(&mut next.jobs);
            self.blocks.remove(at + 1);
            let mut jobs = std::mem::take(&mut self.blocks[at].jobs);
            jobs.extend(rest);
            self.blocks[at] = Block::of(jobs);
            self.is_loose = true;
        }
        job
    }
}

impl Block {
    fn of(jobs: Vec<Waiting>) -> Block {
        Block { bounds: Bounds::of_jobs(&jobs), jobs, is_loose: false }
    }

    /// Makes the bounds exact; true if they were not.
    fn tighten(&mut self) -> bool {
        let is_loose = std::mem::take(&mut self.is_loose);
        if is_loose {
            self.bounds = Bounds::of_jobs(&self.jobs);
        }
        is_loose
    }

    fn insert(&mut self, place: usize, job: Waiting) {
        self.bounds.add(&job.request);
        self.jobs.insert(place, job);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grid::{JobId, QueueOrder};
    use crate::roles::queue::order::Ranking;

    #[derive(Clone, Debug)]
    enum Change {
        Insert {
            nodes: u32,
            walltime: u64,
        },
        PushFirst,
        PopFirst,
        /// Removes the jobs within the limits from this index on, but each third one.
        Walk {
            from: usize,
            limits: (u32, u32, u64),
        },
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let insert = (1..40u32, 1..40u64).prop_map(|(nodes, walltime)| Change::Insert { nodes, walltime });
        let limits =
            (0..40u32, 0..40u32, 0..40u64).prop_map(|(one, other, until)| (one.max(other), one.min(other), until));
        let walk = (0..400usize, limits).prop_map(|(from, limits)| Change::Walk { from, limits });
        let change = prop_oneof![20 => insert, 1 => Just(Change::PushFirst), 4 => Just(Change::PopFirst), 1 => walk];
        prop::collection::vec(change, 0..900)
    }

    /// Bounds that are exact unless they are loose, and then no higher.
    fn check(bounds: &Bounds, exact: &Bounds, is_loose: bool) {
        let mut lower = *exact;
        lower.unite(bounds);
        assert_eq!(*bounds, if is_loose { lower } else { *exact });
    }

    proptest! {
        #[test]
        fn a_queue_in_blocks_does_what_a_list_does(changes in changes(), by_size in any::<bool>()) {
            let mut ranking = Ranking::new(if by_size { QueueOrder::Largest } else { QueueOrder::Arrival });
            let mut queue = BlockQueue::default();
            let mut list: Vec<Waiting> = Vec::new();
            for (number, change) in changes.into_iter().enumerate() {
                let job = TaskId { job: JobId(number as u32), index: 0 };
                match change {
                    Change::Insert { nodes, walltime } => {
                        let request = NodeRequest { job, nodes, walltime: Span::from_secs(walltime) };
                        let new = ranking.arrival(Time::ZERO, request);
                        let place = list.partition_point(|other| ranking.compare(Time::ZERO, other, &new).is_le());
                        list.insert(place, new);
                        let is_last = queue.insert(new, |other| ranking.compare(Time::ZERO, other, &new).is_le());
                        prop_assert_eq!(is_last, place + 1 == list.len());
                    }
                    Change::PushFirst => {
                        let request = NodeRequest { job, nodes: 1, walltime: Span::from_secs(1) };
                        let first = ranking.first(Time::ZERO, request);
                        list.insert(0, first);
                        queue.push_first(first);
                    }
                    Change::PopFirst => {
                        let popped = queue.pop_first().map(|job| job.request);
                        prop_assert_eq!(popped, (!list.is_empty()).then(|| list.remove(0).request));
                    }
                    Change::Walk { from, limits: (nodes, nodes_beside_head, until_head) } => {
                        let until_head = Span::from_secs(until_head);
                        let limits = Limits { nodes, nodes_beside_head, until_head };
                        let from = from.min(list.len());
                        let mut index = from;
                        let mut cursor = queue.cursor(from);
                        let mut offered = 0;
                        while let Some(ahead) = list[index..].iter().position(|job| limits.admit(job.request.nodes, job.request.walltime)) {
                            index += ahead;
                            prop_assert_eq!(queue.next_within(limits, &mut cursor), Some(list[index].request));
                            offered += 1;
                            if offered % 3 == 0 {
                                index += 1;
                                cursor.pass();
                            } else {
                                prop_assert_eq!(queue.remove(&cursor).request, list.remove(index).request);
                            }
                        }
                        prop_assert_eq!(queue.next_within(limits, &mut cursor), None);
                    }
                }
                prop_assert_eq!(queue.len(), list.len());
                prop_assert!(queue.iter().map(|job| job.request).eq(list.iter().map(|job| job.request)));
                let mut blocks = 0;
                for group in &queue.groups {
                    prop_assert!((1..=GROUP).contains(&group.blocks.len()));
                    prop_assert_eq!(group.len, group.blocks.iter().map(|block| block.jobs.len()).sum::<usize>());
                    for block in &group.blocks {
                        prop_assert!((1..=BLOCK).contains(&block.jobs.len()));
                        check(&block.bounds, &Bounds::of_jobs(&block.jobs), block.is_loose);
                    }
                    check(&group.bounds, &Group::of(group.blocks.clone()).bounds, group.is_loose);
                    blocks += group.blocks.len();
                }
                prop_assert!(blocks <= 2 + queue.groups.len() + list.len() / (BLOCK / 8));
            }
        }
    }
}
