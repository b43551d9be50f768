//! A queue in blocks, each with lower bounds of what its jobs request, so that a walk skips blocks of jobs that are all
//! too large or too long.
//!
//! A walk costs O(blocks + jobs of the blocks that it enters); inserting and removing a job O(blocks + block). A queue
//! of fewer than [`BLOCK`] jobs is one block, and costs what a plain list does.

use std::collections::VecDeque;

use super::NodeRequest;
use super::order::Waiting;
use crate::grid::TaskId;
use crate::time::{Span, Time};

/// Most jobs of a block.
const BLOCK: usize = 64;

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
}

/// Waiting jobs in order of rank.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockQueue {
    blocks: VecDeque<Block>,
    len: usize,
}

/// Neighbouring jobs of a queue; at least one.
#[derive(Clone, Debug)]
struct Block {
    jobs: Vec<Waiting>,
    /// Lower bound of the nodes that a job requests.
    fewest_nodes: u32,
    /// Lower bound of the time that a job requests.
    shortest: Span,
}

impl Block {
    fn of(jobs: Vec<Waiting>) -> Block {
        let mut block = Block { jobs, fewest_nodes: 0, shortest: Span::ZERO };
        block.tighten();
        block
    }

    /// Makes the bounds exact.
    fn tighten(&mut self) {
        self.fewest_nodes = self.jobs.iter().map(|job| job.request.nodes).min().unwrap_or(u32::MAX);
        self.shortest = self.jobs.iter().map(|job| job.request.walltime).min().unwrap_or(Span::MAX);
    }

    fn insert(&mut self, place: usize, job: Waiting) {
        self.fewest_nodes = self.fewest_nodes.min(job.request.nodes);
        self.shortest = self.shortest.min(job.request.walltime);
        self.jobs.insert(place, job);
    }
}

/// Position of a job in a [`BlockQueue`]. A change at this position leaves it valid, one elsewhere does not.
#[derive(Debug)]
pub(super) struct Cursor {
    block: usize,
    /// Index within the block.
    place: usize,
}

impl Cursor {
    /// Passes over the job at the cursor.
    pub fn pass(&mut self) {
        self.place += 1;
    }
}

impl BlockQueue {
    pub fn of(jobs: &[Waiting]) -> BlockQueue {
        let blocks = jobs.chunks(BLOCK).map(|jobs| Block::of(jobs.to_vec())).collect();
        BlockQueue { blocks, len: jobs.len() }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn first(&self) -> Option<&Waiting> {
        self.blocks.front()?.jobs.first()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.blocks.iter().flat_map(|block| &block.jobs)
    }

    pub fn push_first(&mut self, job: Waiting) {
        self.insert_at(0, 0, job);
    }

    pub fn pop_first(&mut self) -> Option<Waiting> {
        if self.is_empty() { None } else { Some(self.remove(&Cursor { block: 0, place: 0 })) }
    }

    /// Inserts a job behind all that precede it, as `precedes` says; true if it is the last now.
    pub fn insert(&mut self, job: Waiting, precedes: impl Fn(&Waiting) -> bool) -> bool {
        let last = self.blocks.back().and_then(|block| block.jobs.last());
        if last.is_none_or(&precedes) {
            let block = self.blocks.len().saturating_sub(1);
            let place = self.blocks.back().map_or(0, |block| block.jobs.len());
            self.insert_at(block, place, job);
            return true;
        }
        let block = self.blocks.partition_point(|block| precedes(&block.jobs[0])).saturating_sub(1);
        let place = self.blocks[block].jobs.partition_point(|other| precedes(other));
        self.insert_at(block, place, job);
        false
    }

    fn insert_at(&mut self, block: usize, place: usize, job: Waiting) {
        self.len += 1;
        let Some(into) = self.blocks.get_mut(block) else {
            self.blocks.push_back(Block::of(vec![job]));
            return;
        };
        if into.jobs.len() < BLOCK {
            into.insert(place, job);
        } else if place == BLOCK {
            self.blocks.insert(block + 1, Block::of(vec![job]));
        } else {
            let rest = Block::of(into.jobs.split_off(BLOCK / 2));
            into.tighten();
            self.blocks.insert(block + 1, rest);
            let (block, place) = if place <= BLOCK / 2 { (block, place) } else { (block + 1, place - BLOCK / 2) };
            self.blocks[block].insert(place, job);
        }
    }

    /// Removes a job; true if it was there.
    pub fn remove_job(&mut self, job: TaskId) -> bool {
        for block in 0..self.blocks.len() {
            if let Some(place) = self.blocks[block].jobs.iter().position(|waiting| waiting.request.job == job) {
                self.remove(&Cursor { block, place });
                return true;
            }
        }
        false
    }

    /// A cursor at the job of this index, which is usually near one of the ends. O(blocks up to the nearer end).
    pub fn cursor(&self, index: usize) -> Cursor {
        let mut block = 0;
        let mut first = 0;
        if index < self.len / 2 {
            while first + self.blocks[block].jobs.len() <= index {
                first += self.blocks[block].jobs.len();
                block += 1;
            }
        } else {
            block = self.blocks.len();
            first = self.len;
            while first > index {
                block -= 1;
                first -= self.blocks[block].jobs.len();
            }
        }
        Cursor { block, place: index - first }
    }

    /// The next job within the limits, at the cursor or behind it. The cursor is then at this job.
    pub fn next_within(&self, limits: Limits, cursor: &mut Cursor) -> Option<NodeRequest> {
        while let Some(block) = self.blocks.get(cursor.block) {
            if limits.admit(block.fewest_nodes, block.shortest) {
                let rest = &block.jobs[cursor.place..];
                if let Some(ahead) = rest.iter().position(|job| limits.admit(job.request.nodes, job.request.walltime)) {
                    cursor.place += ahead;
                    return Some(rest[ahead].request);
                }
            }
            *cursor = Cursor { block: cursor.block + 1, place: 0 };
        }
        None
    }

    /// Removes the job at the cursor, which is then at the next one.
    pub fn remove(&mut self, cursor: &Cursor) -> Waiting {
        let block = &mut self.blocks[cursor.block];
        let job = block.jobs.remove(cursor.place);
        self.len -= 1;
        if block.jobs.is_empty() {
            self.blocks.remove(cursor.block);
            return job;
        }
        if job.request.nodes == block.fewest_nodes || job.request.walltime == block.shortest {
            block.tighten();
        }
        if block.jobs.len() < BLOCK / 4
            && let Some(next) = self.blocks.get(cursor.block + 1).filter(|next| next.jobs.len() <= BLOCK / 2)
        {
            let mut jobs = self.blocks[cursor.block].jobs.clone();
            jobs.extend_from_slice(&next.jobs);
            self.blocks[cursor.block] = Block::of(jobs);
            self.blocks.remove(cursor.block + 1);
        }
        job
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
                for block in &queue.blocks {
                    let exact = Block::of(block.jobs.clone());
                    prop_assert!((1..=BLOCK).contains(&block.jobs.len()));
                    prop_assert_eq!((block.fewest_nodes, block.shortest), (exact.fewest_nodes, exact.shortest));
                }
                prop_assert!(queue.blocks.len() <= 2 + list.len() / (BLOCK / 8));
            }
        }
    }
}
