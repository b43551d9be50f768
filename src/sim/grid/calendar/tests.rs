//! Compares the calendar with a table of nodes and seconds.

use super::*;
use crate::random::SplitMix64;

const SECONDS: u64 = 240;

/// Busy nodes in each second, as bits.
struct Judge {
    nodes: u32,
    busy: Vec<Vec<u64>>,
    now: u64,
}

impl Judge {
    fn new(nodes: u32) -> Judge {
        Judge { nodes, busy: vec![vec![0; nodes.div_ceil(64) as usize]; SECONDS as usize * 2], now: 0 }
    }

    fn over(&self, start: u64, end: u64) -> Vec<u64> {
        let mut busy = vec![0; self.nodes.div_ceil(64) as usize];
        for second in start..end.min(self.busy.len() as u64) {
            busy.iter_mut().zip(&self.busy[second as usize]).for_each(|(all, word)| *all |= word);
        }
        busy
    }

    fn set(&self, words: &[u64]) -> NodeSet {
        let mut set = NodeSet::default();
        (0..self.nodes).filter(|node| bit(words, *node)).for_each(|node| set.push(node, node));
        set
    }

    fn earliest(&self, from: u64, span: u64, width: u32, latest: u64) -> Option<(u64, NodeSet)> {
        (from..=latest).find_map(|start| {
            let free = self.set(&self.over(start, start + span)).complement(self.nodes);
            free.lowest(width).map(|set| (start, set))
        })
    }

    /// Checks that the earliest start and all relevant ones are among those of the rectangles, and that each rectangle
    /// is as wide and long as in the table.
    fn sees_rectangles(
        &self,
        calendar: &Calendar,
        (from, latest): (u64, u64),
        (span, width): (u64, u32),
        ceiling: u64,
    ) {
        let query = RectangleQuery { from: at(from), latest: at(latest), span: Span::from_micros(span), width };
        let bounds = Bounds { floor: at(self.now), ceiling: at(ceiling) };
        let mut short = Vec::new();
        let mut long = Vec::new();
        calendar.rectangles(&query, None, &mut |found| short.push(found));
        calendar.rectangles(&query, Some(bounds), &mut |found| long.push(found));
        let earliest = self.earliest(from, span, width, latest).map(|(start, _)| at(start));
        assert_eq!(short.first().map(|found| found.start), earliest);
        assert_eq!(short.len(), long.len());
        assert!(short.is_sorted_by(|one, next| one.start < next.start));
        let changes = |second: u64| second > 0 && self.busy[second as usize] != self.busy[second as usize - 1];
        for start in (from..=latest).filter(|&at| at == from || at == latest || changes(at) || changes(at + span)) {
            let free = self.set(&self.over(start, start + span)).complement(self.nodes);
            let is_found = short.iter().any(|found| found.start == at(start));
            assert_eq!(is_found, free.len() >= width, "{start}");
        }
        for (short, long) in short.into_iter().zip(long) {
            let start = short.start;
            let begin = start.micros();
            let end = start.micros() + span;
            let free = self.set(&self.over(begin, end)).complement(self.nodes);
            assert!(free.len() >= width && start <= at(latest));
            assert_eq!(short, Rectangle { start, width: free.len(), begin: start, end: at(end) });
            let (begin, until) = self.stretch(begin, end, &free, self.now);
            let end = until.map_or(at(ceiling), |until| at(until.min(ceiling)));
            assert_eq!(long, Rectangle { start, width: free.len(), begin: at(begin), end });
        }
    }

    fn improved(&mut self, starts: Range<u64>, (start, end): (u64, u64), set: &NodeSet) -> Option<(u64, NodeSet)> {
        assert!(self.mark(start, end, set, false));
        let latest = starts.end.checked_sub(1)?.min(start);
        let found = self.earliest(starts.start, end - start, set.len(), latest);
        assert!(self.mark(start, end, set, true));
        found.filter(|found| *found != (start, set.clone()))
    }

    fn mark(&mut self, start: u64, end: u64, set: &NodeSet, busy: bool) -> bool {
        let fits = (start..end).all(|second| set.each().all(|node| bit(&self.busy[second as usize], node) != busy));
        if fits {
            for second in start..end {
                set.each().for_each(|node| self.busy[second as usize][node as usize / 64] ^= 1 << (node % 64));
            }
        }
        fits
    }

    fn records(&self) -> Vec<(Time, NodeSet)> {
        let mut records = Vec::new();
        let mut before = vec![0; self.nodes.div_ceil(64) as usize];
        for second in self.now..self.busy.len() as u64 {
            let busy = &self.busy[second as usize];
            if *busy != before {
                records.push((at(second), self.set(busy)));
            }
            before.clone_from(busy);
        }
        records
    }

    fn stretch(&self, start: u64, end: u64, set: &NodeSet, floor: u64) -> (u64, Option<u64>) {
        let free = |second: u64| !self.set(&self.busy[second as usize]).meets(set);
        let mut begin = start;
        while begin > floor && free(begin - 1) {
            begin -= 1;
        }
        (begin, (end..self.busy.len() as u64).find(|&second| !free(second)))
    }
}

fn bit(words: &[u64], node: u32) -> bool {
    words[node as usize / 64] >> (node % 64) & 1 == 1
}

fn at(second: u64) -> Time {
    Time::from_micros(second)
}

/// Runs random bookings, releases and queries, and compares every answer and state.
fn check(nodes: u32, steps: u32, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut calendar = Calendar::new(nodes);
    assert_eq!(calendar.nodes(), nodes);
    let mut judge = Judge::new(nodes);
    let mut booked: Vec<(u64, u64, NodeSet)> = Vec::new();
    for step in 0..if cfg!(unoptimised) { steps / 4 } else { steps } {
        let from = judge.now + random.int(0, SECONDS - judge.now - 1);
        // Some are longer than everything below a high branch.
        let longest = if random.int(0, 7) == 0 { 150 } else { random.int(1, 41) };
        let widest = random.int(1, u64::from(nodes));
        let span = random.int(1, longest);
        let width = random.int(1, widest) as u32;
        match random.int(0, 10) {
            0..5 => {
                let latest = from + random.int(0, SECONDS - from - 1);
                let found = calendar.earliest(at(from), Span::from_micros(span), width, at(latest));
                let expected = judge.earliest(from, span, width, latest);
                assert_eq!(found, expected.clone().map(|(start, set)| (at(start), set)), "step {step}");
                let free =
                    |second| nodes - judge.over(second, second + 1).iter().map(|word| word.count_ones()).sum::<u32>();
                let room = (from..).find(|&second| second >= judge.busy.len() as u64 || free(second) >= width);
                assert_eq!(calendar.next_room(at(from), width), room.map(at), "step {step}");
                let most = (from..from + span).map(free).max();
                assert_eq!(Some(calendar.most_free(at(from), at(from + span))), most, "step {step}");
                let ceiling = latest + span + random.int(0, 20);
                judge.sees_rectangles(&calendar, (from, latest), (span, width), ceiling);
                if let Some((start, set)) = expected {
                    assert_eq!(calendar.insert(at(start), at(start + span), &set), Ok(()));
                    assert!(judge.mark(start, start + span, &set, true));
                    booked.push((start, start + span, set));
                }
            }
            5..7 if !booked.is_empty() => {
                // A whole booking, the rest of one, or a corner.
                let (start, end, set) = booked.swap_remove(random.int(0, booked.len() as u64 - 1) as usize);
                let cut = if random.int(0, 1) == 0 { start } else { random.int(start, end - 1) };
                let part = if random.int(0, 2) == 0 { set.lowest(set.len().div_ceil(2)).unwrap() } else { set };
                let expected = judge.mark(cut, end, &part, false);
                let removed = calendar.remove(at(cut), at(end), &part);
                assert_eq!(removed.is_ok(), expected || end <= judge.now, "step {step}: {removed:?}");
            }
            7 => {
                let set = NodeSet::from_run(nodes - width, nodes - 1);
                let end = from + span;
                let outcome = match random.int(0, 1) {
                    0 => (calendar.insert(at(from), at(end), &set), judge.mark(from, end, &set, true)),
                    _ => (calendar.remove(at(from), at(end), &set), judge.mark(from, end, &set, false)),
                };
                assert_eq!(outcome.0.is_ok(), outcome.1, "step {step}");
                if outcome.1 {
                    booked.push((from, end, set));
                }
            }
            8 if !booked.is_empty() => {
                // A partly released booking is no booking any more.
                let (start, end, set) = &booked[random.int(0, booked.len() as u64 - 1) as usize];
                if judge.mark(*start, *end, set, false) {
                    assert!(judge.mark(*start, *end, set, true));
                    let starts = from.min(*start)..from + span;
                    let expected = judge.improved(starts.clone(), (*start, *end), set);
                    let span = Span::from_micros(end - start);
                    let found = calendar.improved(at(starts.start)..at(starts.end), at(*start), span, set);
                    assert_eq!(found, expected.map(|(start, set)| (at(start), set)), "step {step}");
                }
            }
            9 => {
                let free = calendar.free_over(at(from), at(from + span));
                assert_eq!(free, judge.set(&judge.over(from, from + span)).complement(nodes));
                assert!(calendar.busy_over(at(from), at(from)).is_empty());
                if !free.is_empty() {
                    let (begin, end) = calendar.stretch(at(from), at(from + span), &free, at(judge.now));
                    let expected = judge.stretch(from, from + span, &free, judge.now);
                    assert_eq!((begin, end), (at(expected.0), expected.1.map_or(Time::NEVER, at)), "step {step}");
                }
            }
            _ if judge.now + 20 < SECONDS && step % 50 == 0 => {
                judge.now += random.int(0, 3);
                let now = judge.now;
                judge.busy[..now as usize].iter_mut().for_each(|busy| busy.fill(0));
                calendar.advance(at(now));
                booked.retain_mut(|(start, end, _)| {
                    *start = now.max(*start);
                    *start < *end
                });
            }
            _ => {
                let times: Vec<Time> = judge.records().iter().map(|record| record.0).collect();
                let within = times.iter().copied().filter(|time| (at(from)..=at(from + span)).contains(time));
                assert_eq!(calendar.changes(at(from), at(from + span)), within.collect::<Vec<_>>());
                let next = times.iter().copied().find(|&time| time > at(from));
                assert_eq!(calendar.next_change(at(from)), next);
            }
        }
        if step % 7 == 0 {
            assert_eq!(calendar.records(), judge.records(), "step {step}");
            calendar.check_tree();
        }
    }
}

#[test]
fn a_few_nodes_agree_with_the_table() {
    check(10, 10_000, 1);
    check(3, 2_000, 2);
    check(200, 1_000, 3);
}

#[test]
fn some_nodes_agree_with_the_table() {
    check(300, 700, 4);
}

#[test]
fn many_nodes_agree_with_the_table() {
    check(1100, 500, 5);
}

#[test]
fn a_clash_changes_nothing() {
    let mut calendar = Calendar::new(10);
    let low = NodeSet::from_run(0, 3);
    calendar.insert(at(5), at(9), &low).unwrap();
    let before = calendar.records();
    assert_eq!(calendar.insert(at(8), at(12), &NodeSet::from_run(3, 4)), Err(Clash::DoubleBooking));
    assert_eq!(calendar.remove(at(5), at(10), &low), Err(Clash::NotBooked));
    assert_eq!(calendar.insert(at(7), at(7), &low), Err(Clash::Empty));
    assert_eq!(calendar.insert(at(7), at(8), &NodeSet::from_run(9, 10)), Err(Clash::Empty));
    assert_eq!(calendar.insert(at(7), Time::NEVER, &low), Err(Clash::Empty));
    assert_eq!(calendar.insert(at(7), at(8), &NodeSet::default()), Err(Clash::Empty));
    assert_eq!(calendar.records(), before);
}

#[test]
fn a_tree_shrinks_when_records_are_released() {
    let node = NodeSet::from_run(0, 0);
    for (each, backwards) in [(2_000, false), (1_000, false), (285, false), (285, true), (50, true)] {
        let mut calendar = Calendar::new(1);
        let spans: Vec<_> = (0..2_000).map(|number| (at(10 * number), at(10 * number + 5))).collect();
        spans.iter().for_each(|(start, end)| calendar.insert(*start, *end, &node).unwrap());
        assert!(calendar.check_tree() <= 4_000_usize.ilog(3), "nodes that are split have room on both sides");
        let mut gone: Vec<_> = (0..2_000).filter(|number| number % each != 0).collect();
        if backwards {
            gone.reverse();
        }
        gone.into_iter().for_each(|number| calendar.remove(spans[number].0, spans[number].1, &node).unwrap());
        let records = calendar.records().len();
        let depth = calendar.check_tree();
        assert!(depth <= records.ilog2(), "{records} records are {depth} deep");
    }
}
