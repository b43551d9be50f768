//! Waiting jobs with their places, in chunks that each know their earliest start.
//!
//! Starting the due jobs costs O(chunks + jobs of their chunks), inserting one O(chunks + chunk), withdrawing one
//! O(jobs).

use std::cmp::Ordering;

use super::order::Waiting;
use super::plan::PlannedJob;
use crate::grid::TaskId;
use crate::time::Time;

/// Most jobs of a chunk. Tests have small chunks, so that short queues have several.
const CHUNK: usize = if cfg!(test) { 4 } else { 512 };

/// Waiting jobs in order of rank, with their places.
#[derive(Clone)]
pub(super) struct PlannedQueue<R> {
    chunks: Vec<Chunk<R>>,
    len: usize,
}

/// Neighbouring jobs of a queue; at least one.
#[derive(Clone)]
struct Chunk<R> {
    jobs: Vec<PlannedJob<R>>,
    earliest_start: Time,
}

impl<R: Clone> PlannedQueue<R> {
    pub fn new() -> PlannedQueue<R> {
        PlannedQueue { chunks: Vec::new(), len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &PlannedJob<R>> {
        self.iter_from(0)
    }

    /// The jobs from this index on.
    pub fn iter_from(&self, first: usize) -> impl Iterator<Item = &PlannedJob<R>> {
        let (chunk, place) = self.locate(first);
        self.chunks[chunk..].iter().flat_map(|chunk| &chunk.jobs).skip(place)
    }

    /// Job of an index. O(chunks).
    pub fn get(&self, index: usize) -> &PlannedJob<R> {
        let (chunk, place) = self.locate(index);
        &self.chunks[chunk].jobs[place]
    }

    /// Earliest start of all jobs; `NEVER` if there are none. O(chunks).
    pub fn earliest_start(&self) -> Time {
        self.chunks.iter().map(|chunk| chunk.earliest_start).min().unwrap_or(Time::NEVER)
    }

    /// Changes the jobs from this index on, in order. Their ranks stay.
    pub fn change_from(&mut self, first: usize, mut change: impl FnMut(&mut PlannedJob<R>)) {
        let (first, mut place) = self.locate(first);
        for chunk in &mut self.chunks[first..] {
            chunk.jobs[place..].iter_mut().for_each(&mut change);
            chunk.refresh();
            place = 0;
        }
    }

    /// Changes the job of an index. Its rank stays.
    pub fn change(&mut self, index: usize, change: impl FnOnce(&mut PlannedJob<R>)) {
        let (chunk, place) = self.locate(index);
        let chunk = &mut self.chunks[chunk];
        change(&mut chunk.jobs[place]);
        chunk.refresh();
    }

    pub fn insert(&mut self, index: usize, planned: PlannedJob<R>) {
        if self.chunks.is_empty() {
            self.len = 1;
            self.chunks.push(Chunk::of(vec![planned]));
            return;
        }
        // The end of a chunk comes before the beginning of the next, and the last chunk has no next.
        let (at, place) = match self.locate(index) {
            (0, place) => (0, place),
            (next, 0) => (next - 1, self.chunks[next - 1].jobs.len()),
            inside => inside,
        };
        self.len += 1;
        let chunk = &mut self.chunks[at];
        if place == CHUNK {
            self.chunks.insert(at + 1, Chunk::of(vec![planned]));
            return;
        }
        chunk.earliest_start = chunk.earliest_start.min(planned.start);
        chunk.jobs.insert(place, planned);
        if chunk.jobs.len() > CHUNK {
            let rest = Chunk::of(chunk.jobs.split_off(CHUNK / 2));
            chunk.refresh();
            self.chunks.insert(at + 1, rest);
        }
    }

    /// Removes a job; None if it is not there. O(jobs).
    pub fn remove_job(&mut self, job: TaskId) -> Option<PlannedJob<R>> {
        let is_it = |planned: &PlannedJob<R>| planned.request().job == job;
        let mut chunks = self.chunks.iter().enumerate();
        let (at, place) = chunks.find_map(|(at, chunk)| Some((at, chunk.jobs.iter().position(is_it)?)))?;
        let planned = self.chunks[at].jobs.remove(place);
        self.len -= 1;
        self.tidy(at);
        Some(planned)
    }

    /// Removes the jobs that start by `now`, and passes them to `start` in order of rank.
    pub fn take_due(&mut self, now: Time, mut start: impl FnMut(PlannedJob<R>)) {
        let mut at = 0;
        while let Some(chunk) = self.chunks.get_mut(at) {
            if chunk.earliest_start <= now {
                let before = chunk.jobs.len();
                chunk.jobs.extract_if(.., |planned| planned.start <= now).for_each(&mut start);
                self.len -= before - chunk.jobs.len();
                if self.tidy(at) {
                    continue;
                }
            }
            at += 1;
        }
    }

    pub fn sort_by(&mut self, mut compare: impl FnMut(&Waiting, &Waiting) -> Ordering) {
        let mut jobs: Vec<PlannedJob<R>> = self.chunks.drain(..).flat_map(|chunk| chunk.jobs).collect();
        jobs.sort_unstable_by(|a, b| compare(&a.waiting, &b.waiting));
        let mut jobs = jobs.into_iter().peekable();
        while jobs.peek().is_some() {
            self.chunks.push(Chunk::of(jobs.by_ref().take(CHUNK).collect()));
        }
    }

    /// Updates a chunk that jobs have left: it goes if it is empty, and takes the next one in if both are small. True
    /// if a chunk is gone.
    fn tidy(&mut self, at: usize) -> bool {
        let len = self.chunks[at].jobs.len();
        if len == 0 {
            self.chunks.remove(at);
            return true;
        }
        let is_next_small = self.chunks.get(at + 1).is_some_and(|next| len + next.jobs.len() <= CHUNK / 2);
        if is_next_small {
            let next = self.chunks.remove(at + 1);
            self.chunks[at].jobs.extend(next.jobs);
        }
        self.chunks[at].refresh();
        is_next_small
    }

    /// Chunk of an index, and its place there; the end of the chunks for the end of the queue. O(chunks).
    fn locate(&self, index: usize) -> (usize, usize) {
        if index >= self.len {
            return (self.chunks.len(), 0);
        }
        let mut first = 0;
        let mut at = 0;
        while first + self.chunks[at].jobs.len() <= index {
            first += self.chunks[at].jobs.len();
            at += 1;
        }
        (at, index - first)
    }
}

impl<R> Chunk<R> {
    fn of(jobs: Vec<PlannedJob<R>>) -> Chunk<R> {
        let mut chunk = Chunk { jobs, earliest_start: Time::NEVER };
        chunk.refresh();
        chunk
    }

    fn refresh(&mut self) {
        self.earliest_start = self.jobs.iter().map(|planned| planned.start).min().unwrap_or(Time::NEVER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{JobId, QueueOrder};
    use crate::play::second;
    use crate::random::SplitMix64;
    use crate::roles::queue::NodeRequest;
    use crate::roles::queue::order::Ranking;
    use crate::time::Span;

    fn job_ids<'a>(jobs: impl Iterator<Item = &'a PlannedJob<u32>>) -> Vec<TaskId> {
        jobs.map(|planned| planned.request().job).collect()
    }

    #[test]
    fn a_queue_in_chunks_does_what_a_list_does() {
        let mut random = SplitMix64::new(1);
        let mut ranking = Ranking::new(QueueOrder::Arrival);
        let mut new = |number: u32, start: u64| {
            let job = TaskId { job: JobId(number), index: 0 };
            let request = NodeRequest { job, nodes: 1, walltime: Span::from_secs(1) };
            let waiting = ranking.arrival(Time::ZERO, request);
            PlannedJob { waiting, start: second(start), room: 1u32 }
        };
        let mut most_chunks = 0;
        for round in 0..50 {
            let mut queue = PlannedQueue::new();
            let mut list: Vec<PlannedJob<u32>> = Vec::new();
            for number in 0..300 {
                let index = random.int(0, list.len() as u64) as usize;
                let start = random.int(0, 1000);
                match random.int(0, 12) {
                    0 if !list.is_empty() => {
                        let job = list[index.min(list.len() - 1)].request().job;
                        list.retain(|planned| planned.request().job != job);
                        assert_eq!(queue.remove_job(job).map(|planned| planned.request().job), Some(job));
                        assert!(queue.remove_job(job).is_none());
                    }
                    1 if !list.is_empty() => {
                        let index = index.min(list.len() - 1);
                        list[index].start = second(start);
                        queue.change(index, |planned| planned.start = second(start));
                        assert_eq!(queue.get(index).request().job, list[index].request().job);
                    }
                    2 => {
                        let later = |planned: &mut PlannedJob<u32>| planned.start = planned.start + Span::from_secs(9);
                        list[index..].iter_mut().for_each(later);
                        queue.change_from(index, later);
                        assert_eq!(job_ids(queue.iter_from(index)), job_ids(list[index..].iter()));
                    }
                    3 => {
                        let now = second(start / 4);
                        let due: Vec<PlannedJob<u32>> = list.extract_if(.., |planned| planned.start <= now).collect();
                        let mut taken = Vec::new();
                        queue.take_due(now, |planned| taken.push(planned));
                        assert_eq!(job_ids(taken.iter()), job_ids(due.iter()));
                    }
                    4 if round % 2 == 0 => {
                        list.sort_by_key(|planned| planned.request().job);
                        queue.sort_by(|a, b| a.request.job.cmp(&b.request.job));
                    }
                    _ => {
                        list.insert(index, new(number, start));
                        queue.insert(index, list[index].clone());
                    }
                }
                assert_eq!(job_ids(queue.iter()), job_ids(list.iter()));
                assert_eq!((queue.len(), queue.is_empty()), (list.len(), list.is_empty()));
                let earliest = list.iter().map(|planned| planned.start).min();
                assert_eq!(queue.earliest_start(), earliest.unwrap_or(Time::NEVER));
                assert!(queue.chunks.iter().all(|chunk| (1..=CHUNK).contains(&chunk.jobs.len())));
                most_chunks = most_chunks.max(queue.chunks.len());
            }
        }
        assert!(most_chunks > 10, "{most_chunks}");
    }
}
