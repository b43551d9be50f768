//! Number of busy nodes over time.
//!
//! A list of steps, in blocks. A block knows its minimum and maximum of busy nodes, so that most blocks are passed as a
//! whole, and it stores what applies to all its steps once. A change that spans n steps costs O(n / 64 + 64). So does a
//! query, which also passes the steps of the blocks that have enough room at some times and not at others.

use std::ops::{ControlFlow, Range};

use crate::time::{Span, Time};

/// Most steps of a block. Few in tests, so that they have many blocks.
const FULL: usize = if cfg!(test) { 8 } else { 64 };
/// Blocks of fewer steps are merged with a neighbour, if both fit well into one.
const SPARSE: usize = FULL / 4;

/// Steps `(from, busy)`, ascending; nothing is busy before the first one or from the last one on.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    blocks: Vec<Block>,
}

/// Adjacent steps, at least one.
#[derive(Clone, Debug)]
struct Block {
    start: Time,
    least: u32,
    most: u32,
    /// Busy nodes in addition to those of each step. A change of the whole block may be undone step by step, so both
    /// values wrap around.
    more: u32,
    steps: Vec<(Time, u32)>,
}

/// Index of a step and its block.
#[derive(Clone, Copy)]
struct StepIndex {
    block: usize,
    step: usize,
}

impl Counts {
    /// Builds from `(start, end, count)` in any order, in O(n log n).
    pub fn from_bookings(busy: impl IntoIterator<Item = (Time, Time, u32)>) -> Counts {
        let mut changes: Vec<(Time, i64)> = Vec::new();
        for (start, end, count) in busy {
            changes.extend([(start, i64::from(count)), (end, -i64::from(count))]);
        }
        changes.sort_unstable();
        let mut steps: Vec<(Time, u32)> = Vec::new();
        let mut level = 0;
        for together in changes.chunk_by(|one, other| one.0 == other.0) {
            let before = level;
            level += together.iter().map(|change| change.1).sum::<i64>();
            if level != before {
                steps.push((together[0].0, u32::try_from(level).expect("no more ends than began")));
            }
        }
        // Leaves some room in each block.
        Counts { blocks: steps.chunks(FULL / 4 * 3).map(|steps| Block::new(steps.to_vec(), 0)).collect() }
    }

    pub fn insert(&mut self, start: Time, end: Time, count: u32) {
        self.change(start, end, |busy| busy + count, |busy| busy.wrapping_add(count));
    }

    pub fn remove(&mut self, start: Time, end: Time, count: u32) {
        self.change(
            start,
            end,
            |busy| busy.checked_sub(count).expect("what is removed has been counted"),
            |busy| busy.wrapping_sub(count),
        );
    }

    /// Drops everything before a time.
    pub fn advance(&mut self, now: Time) {
        let past = self.holding(now);
        self.blocks.drain(..past);
        if let Some(first) = self.blocks.first_mut() {
            let past = first.holding(now);
            if past > 0 {
                first.steps.drain(..past);
                first.refresh();
            }
        }
    }

    /// The first change after a time.
    pub fn next_change(&self, after: Time) -> Option<Time> {
        let next = self.blocks.partition_point(|block| block.start <= after);
        let within = next.checked_sub(1).and_then(|place| {
            let steps = &self.blocks[place].steps;
            steps.get(steps.partition_point(|step| step.0 <= after))
        });
        within.map(|step| step.0).or_else(|| self.blocks.get(next).map(|block| block.start))
    }

    /// Maximum of busy nodes in the span.
    pub fn most(&self, start: Time, end: Time) -> u32 {
        let within = self.touched(start, end);
        within.clone().fold(0, |most, place| {
            let block = &self.blocks[place];
            if block.most <= most {
                return most;
            }
            let whole = within.start < place && place + 1 < within.end;
            if whole { block.most } else { block.between(start, end).fold(most, u32::max) }
        })
    }

    /// Minimum of busy nodes in the span, which is not empty.
    pub fn fewest(&self, start: Time, end: Time) -> u32 {
        let within = self.touched(start, end);
        let begun = self.blocks.first().is_some_and(|first| first.start <= start);
        within.clone().fold(if begun { u32::MAX } else { 0 }, |fewest, place| {
            let block = &self.blocks[place];
            if block.least >= fewest {
                return fewest;
            }
            let whole = within.start < place && place + 1 < within.end;
            if whole { block.least } else { block.between(start, end).fold(fewest, u32::min) }
        })
    }

    /// End of the last step that overlaps the span and has more than `limit` busy nodes.
    pub fn last_crowd(&self, start: Time, end: Time, limit: u32) -> Option<Time> {
        self.touched(start, end).rev().find_map(|place| {
            let block = &self.blocks[place];
            if block.most <= limit {
                return None;
            }
            let crowd = block.touched(start, end).rev().find(|step| block.busy(*step) > limit)?;
            let next = block.steps.get(crowd + 1).map(|step| step.0);
            Some(next.or_else(|| self.blocks.get(place + 1).map(|block| block.start)).unwrap_or(Time::NEVER))
        })
    }

    /// Earliest start from `from` on with at most `limit` busy nodes in the whole span.
    pub fn earliest(&self, from: Time, span: Span, limit: u32) -> Time {
        self.earliest_ahead(from..Time::NEVER, span, limit, Time::NEVER).unwrap_or(Time::NEVER)
    }

    /// Earliest of `starts`, before `ahead`, with at most `limit` busy nodes in the whole span, or up to `ahead` if
    /// that is sooner.
    pub fn earliest_ahead(&self, starts: Range<Time>, span: Span, limit: u32, ahead: Time) -> Option<Time> {
        let from = starts.start;
        let mut search = SpanSearch { start: from, is_crowded: false, span, past: starts.end.min(ahead), ahead };
        if from >= search.past {
            return None;
        }
        let blocks = &self.blocks[self.holding(from)..];
        let mut first = blocks.first().map_or(0, |block| block.holding(from));
        for block in blocks {
            let answer = if block.most <= limit {
                search.pass(block.start, false)
            } else if block.least > limit {
                search.pass(block.start, true)
            } else {
                let steps = &block.steps[first..];
                steps.iter().try_for_each(|step| search.pass(step.0, block.more.wrapping_add(step.1) > limit))
            };
            if let ControlFlow::Break(found) = answer {
                return found;
            }
            first = 0;
        }
        Some(search.start)
    }

    fn change(&mut self, start: Time, end: Time, change: impl Fn(u32) -> u32, note: impl Fn(u32) -> u32) {
        if start >= end {
            return;
        }
        self.cut(end);
        let first = self.cut(start);
        let mut at = first;
        while self.blocks[at.block].steps.last().is_some_and(|last| last.0 < end) {
            let block = &mut self.blocks[at.block];
            if at.step == 0 {
                (block.least, block.most) = (change(block.least), change(block.most));
                block.more = note(block.more);
            } else {
                block.change_from(at.step, end, &change);
            }
            at = StepIndex { block: at.block + 1, step: 0 };
        }
        at.step = self.blocks[at.block].change_from(at.step, end, &change);
        self.join(at);
        if self.join(first) {
            at.block = at.block.saturating_sub(1);
        }
        self.merge_sparse(at.block);
        self.merge_sparse(first.block);
    }

    /// Splits the step at a time, so that a step starts there.
    fn cut(&mut self, at: Time) -> StepIndex {
        if self.blocks.is_empty() {
            self.blocks.push(Block::new(vec![(at, 0)], 0));
            return StepIndex { block: 0, step: 0 };
        }
        let place = self.holding(at);
        let block = &mut self.blocks[place];
        let step = block.steps.partition_point(|step| step.0 < at);
        if block.steps.get(step).is_none_or(|step| step.0 > at) {
            match step.checked_sub(1) {
                Some(before) => block.steps.insert(step, (at, block.steps[before].1)),
                None => {
                    block.steps.insert(0, (at, 0u32.wrapping_sub(block.more)));
                    block.refresh();
                }
            }
            if block.steps.len() > FULL {
                let steps = block.steps.split_off(FULL / 2);
                block.refresh();
                let right = Block::new(steps, block.more);
                self.blocks.insert(place + 1, right);
                if step >= FULL / 2 {
                    return StepIndex { block: place + 1, step: step - FULL / 2 };
                }
            }
        }
        StepIndex { block: place, step }
    }

    /// Drops a step that changes nothing, and its block if that is empty now. True if the block is gone.
    fn join(&mut self, at: StepIndex) -> bool {
        let before = match (at.step.checked_sub(1), at.block.checked_sub(1)) {
            (Some(step), _) => self.blocks[at.block].busy(step),
            (None, Some(block)) => self.blocks[block].last_busy(),
            (None, None) => 0,
        };
        let block = &mut self.blocks[at.block];
        if block.busy(at.step) != before {
            return false;
        }
        block.steps.remove(at.step);
        let is_gone = block.steps.is_empty();
        if is_gone {
            self.blocks.remove(at.block);
        } else if at.step == 0 {
            block.refresh();
        }
        is_gone
    }

    /// Merges a block that has become sparse with a neighbour.
    fn merge_sparse(&mut self, block: usize) {
        if self.block_size(block) >= SPARSE {
            return;
        }
        let left =
            if block > 0 && self.block_size(block - 1) <= self.block_size(block + 1) { block - 1 } else { block };
        // A full block would be split by the next step.
        if self.block_size(left) + self.block_size(left + 1) > FULL / 2 {
            return;
        }
        let right = self.blocks.remove(left + 1);
        let block = &mut self.blocks[left];
        let apart = right.more.wrapping_sub(block.more);
        block.steps.extend(right.steps.iter().map(|step| (step.0, step.1.wrapping_add(apart))));
        block.refresh();
    }

    fn block_size(&self, block: usize) -> usize {
        self.blocks.get(block).map_or(FULL, |block| block.steps.len())
    }

    /// Index of the block that contains a time; the first one for earlier times.
    fn holding(&self, at: Time) -> usize {
        self.blocks.partition_point(|block| block.start <= at).saturating_sub(1)
    }

    /// The blocks that a span overlaps.
    fn touched(&self, start: Time, end: Time) -> Range<usize> {
        let first = self.holding(start);
        first..first + self.blocks[first..].partition_point(|block| block.start < end)
    }
}

impl Block {
    fn new(steps: Vec<(Time, u32)>, more: u32) -> Block {
        let mut block = Block { start: Time::ZERO, least: 0, most: 0, more, steps };
        block.refresh();
        block
    }

    /// Recomputes the block's summary of its steps.
    fn refresh(&mut self) {
        self.start = self.steps[0].0;
        (self.least, self.most) = (u32::MAX, 0);
        for step in &self.steps {
            let busy = self.more.wrapping_add(step.1);
            (self.least, self.most) = (self.least.min(busy), self.most.max(busy));
        }
    }

    /// Changes the steps from `first` up to a time, and returns the index of the step that begins there.
    fn change_from(&mut self, first: usize, end: Time, change: impl Fn(u32) -> u32) -> usize {
        let mut step = first;
        while self.steps.get(step).is_some_and(|step| step.0 < end) {
            self.steps[step].1 = change(self.busy(step)).wrapping_sub(self.more);
            step += 1;
        }
        if step > first {
            self.refresh();
        }
        step
    }

    fn busy(&self, step: usize) -> u32 {
        self.more.wrapping_add(self.steps[step].1)
    }

    fn last_busy(&self) -> u32 {
        self.busy(self.steps.len() - 1)
    }

    fn between(&self, start: Time, end: Time) -> impl Iterator<Item = u32> {
        self.touched(start, end).map(|step| self.busy(step))
    }

    /// Index of the step that contains a time; the first one for earlier times.
    fn holding(&self, at: Time) -> usize {
        self.steps.partition_point(|step| step.0 <= at).saturating_sub(1)
    }

    /// The steps that a span overlaps.
    fn touched(&self, start: Time, end: Time) -> Range<usize> {
        let first = self.holding(start);
        first..first + self.steps[first..].partition_point(|step| step.0 < end)
    }
}

/// Search for a long enough span with few enough busy nodes, in order of time.
struct SpanSearch {
    start: Time,
    /// True while too many are busy; no start is possible before this ends.
    is_crowded: bool,
    span: Span,
    /// Exclusive upper bound of the start.
    past: Time,
    /// Time from which on busy nodes do not matter.
    ahead: Time,
}

impl SpanSearch {
    fn pass(&mut self, begin: Time, is_crowded: bool) -> ControlFlow<Option<Time>> {
        if !self.is_crowded && begin >= (self.start + self.span).min(self.ahead) {
            return ControlFlow::Break(Some(self.start));
        }
        if self.is_crowded && !is_crowded {
            self.start = begin;
        }
        self.is_crowded = is_crowded;
        let is_late = if is_crowded { begin >= self.past } else { self.start >= self.past };
        if is_late { ControlFlow::Break(None) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::second;
    use crate::random::SplitMix64;

    const SECONDS: u64 = 120;

    /// Busy nodes in each second.
    struct Table(Vec<u32>);

    impl Table {
        fn change(&mut self, from: u64, until: u64, change: impl Fn(&mut u32)) {
            self.0[from as usize..until as usize].iter_mut().for_each(change);
        }

        fn over(&self, from: u64, until: u64) -> &[u32] {
            &self.0[from.min(until) as usize..until as usize]
        }

        fn most(&self, from: u64, until: u64) -> u32 {
            self.over(from, until).iter().copied().max().unwrap_or(0)
        }

        fn changes(&self, at: u64) -> bool {
            self.0[at as usize] != self.0[at as usize - 1]
        }
    }

    impl Counts {
        /// Checks that the summaries are exact and that adjacent steps differ. Returns the number of steps.
        fn check(&self, now: Time) -> usize {
            let mut before = 0;
            let mut steps = 0;
            for (place, block) in self.blocks.iter().enumerate() {
                let busy: Vec<u32> = (0..block.steps.len()).map(|step| block.busy(step)).collect();
                assert!((1..=FULL).contains(&busy.len()));
                assert_eq!((block.start, block.least), (block.steps[0].0, *busy.iter().min().unwrap()));
                assert_eq!(block.most, *busy.iter().max().unwrap());
                for (step, busy) in block.steps.iter().zip(busy) {
                    let is_first_of_all = place == 0 && step.0 <= now;
                    assert!(busy != before || is_first_of_all, "a step that changes nothing");
                    before = busy;
                }
                steps += block.steps.len();
            }
            assert_eq!(before, 0, "all that begins ends");
            assert!(self.blocks.is_sorted_by(|one, next| one.steps.last().unwrap().0 < next.start));
            steps
        }
    }

    #[test]
    fn sparse_blocks_are_merged() {
        let mut stream = SplitMix64::new(5);
        let mut counts = Counts::default();
        let mut placed: Vec<(Time, Time)> = Vec::new();
        for _ in 0..1500 {
            let from = stream.int(0, 70_000);
            placed.push((second(from), second(from + stream.int(1, 30_000))));
        }
        // Some are built at once as a list, which then changes.
        let (listed, rest) = placed.split_at(500);
        counts.insert(second(1), second(2), 1);
        counts.remove(second(1), second(2), 1);
        assert!(counts.blocks.is_empty());
        counts = Counts::from_bookings(listed.iter().map(|(from, until)| (*from, *until, 1)));
        rest.iter().for_each(|(from, until)| counts.insert(*from, *until, 1));
        while !placed.is_empty() {
            let (from, until) = placed.swap_remove(stream.int(0, placed.len() as u64 - 1) as usize);
            counts.remove(from, until, 1);
            let steps = counts.check(Time::ZERO);
            assert!(counts.blocks.len() <= steps / 2 + 1, "{} blocks for {steps} steps", counts.blocks.len());
        }
        assert!(counts.blocks.is_empty());
    }

    #[test]
    fn counts_equal_those_of_a_table() {
        let mut stream = SplitMix64::new(3);
        let mut blocks = 0;
        for _ in 0..200 {
            let mut counts = Counts::default();
            let mut table = Table(vec![0; SECONDS as usize]);
            let mut placed = Vec::new();
            let mut now = 0;
            let longest = stream.int(2, 50);
            for _ in 0..80 {
                let from = now + stream.int(0, 60 - now.min(60));
                let count = stream.int(1, 4) as u32;
                let until = (from + stream.int(1, longest)).min(SECONDS - 1);
                match stream.int(0, 6) {
                    0 | 1 if placed.len() > 3 => {
                        let (from, until, count): (u64, u64, u32) =
                            placed.swap_remove(stream.int(0, placed.len() as u64 - 1) as usize);
                        counts.remove(second(from), second(until), count);
                        table.change(from, until, |busy| *busy -= count);
                    }
                    2 if now < 50 => {
                        now += stream.int(0, 2);
                        counts.advance(second(now));
                        placed.retain_mut(|(from, until, _)| {
                            *from = now.max(*from);
                            *from < *until
                        });
                        table.change(0, now, |busy| *busy = 0);
                    }
                    _ => {
                        counts.insert(second(from), second(until), count);
                        table.change(from, until, |busy| *busy += count);
                        placed.push((from, until, count));
                    }
                }
                counts.check(second(now));
                blocks = blocks.max(counts.blocks.len());
                agrees(&counts, &table, now, &mut stream);
            }
            let again = Counts::from_bookings(
                placed.iter().map(|(from, until, count)| (second(*from), second(*until), *count)),
            );
            again.check(second(0));
            agrees(&again, &table, now, &mut stream);
        }
        assert!(blocks >= 8, "{blocks}");
    }

    fn agrees(counts: &Counts, table: &Table, now: u64, stream: &mut SplitMix64) {
        let from = stream.int(now, SECONDS - 2);
        let until = stream.int(from + 1, SECONDS - 1);
        assert_eq!(counts.most(second(from), second(until)), table.most(from, until));
        assert_eq!(counts.fewest(second(from), second(until)), *table.over(from, until).iter().min().unwrap());
        let next = (from + 1..SECONDS).find(|at| table.changes(*at)).map(second);
        assert_eq!(counts.next_change(second(from)), next);

        let limit = stream.int(0, 8) as u32;
        let crowd = (from..until).rev().find(|at| table.0[*at as usize] > limit);
        let crowd_end = crowd.map(|crowd| (crowd + 1..).find(|at| table.changes(*at)).map(second).unwrap());
        assert_eq!(counts.last_crowd(second(from), second(until), limit), crowd_end);

        // Nothing is busy any more from some time on.
        let span = stream.int(1, 30);
        let is_calm = |at: u64, end: u64| table.most(at, end.min(SECONDS)) <= limit;
        let earliest = (from..).find(|at| *at >= SECONDS || is_calm(*at, at + span)).unwrap();
        assert_eq!(counts.earliest(second(from), Span::from_secs(span), limit), second(earliest));
        let ahead = stream.int(from, SECONDS);
        let expected = (from..until.min(ahead)).find(|at| is_calm(*at, ahead.min(at + span)));
        let found = counts.earliest_ahead(second(from)..second(until), Span::from_secs(span), limit, second(ahead));
        assert_eq!(found, expected.map(second));
    }
}
