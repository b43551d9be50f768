use proptest::prelude::*;

use super::*;
use crate::random::SplitMix64;
use crate::time::{Span, Time};

const HOUR: u64 = 3_600;

fn hours(hours: u64) -> Time {
    Time::ZERO + Span::from_secs(hours * HOUR)
}

fn span(hours: u64) -> Span {
    Span::from_secs(hours * HOUR)
}

/// `(start, processors, end)` in hours; 0 is no end.
type Shown = (u64, u32, u64);

fn shown(list: &FreeList) -> Vec<Shown> {
    let hours = |time: Time| time.micros() / (HOUR * 1_000_000);
    let end = |end: Time| if end == Time::NEVER { 0 } else { hours(end) };
    list.all().iter().map(|free| (hours(free.start), free.procs, end(free.end))).collect()
}

/// The thesis's Figure 1.
#[test]
fn work_is_placed_as_in_the_first_figure() {
    let mut list = FreeList::empty_site(Time::ZERO, 5);
    let steps: [(u32, u64, u64, &[Shown]); 5] = [
        (2, 3, 0, &[(0, 3, 0), (3, 2, 0)]),
        (4, 1, 3, &[(0, 2, 3), (0, 1, 0), (4, 4, 0)]),
        (1, 2, 0, &[(0, 1, 3), (0, 1, 0), (2, 1, 3), (4, 4, 0)]),
        (3, 2, 4, &[(0, 1, 3), (0, 1, 0), (2, 1, 3), (4, 1, 0), (6, 3, 0)]),
        (2, 2, 0, &[(2, 2, 3), (2, 1, 0), (4, 1, 0), (6, 3, 0)]),
    ];
    for (procs, length, start, after) in steps {
        assert_eq!(list.place(procs, span(length), Time::ZERO), Some(hours(start)));
        assert_eq!(shown(&list), after);
    }
}

/// Placed work is not moved, so a start may be later than counts allow.
#[test]
fn a_list_of_slots_is_not_a_count() {
    let mut list = FreeList::empty_site(Time::ZERO, 4);
    let mut start = |procs, length| list.place(procs, span(length), Time::ZERO).unwrap();
    let starts = [start(1, 1), start(2, 2), start(3, 1), start(1, 2), start(1, 2)];
    assert_eq!(starts[4], hours(2));
}

#[test]
fn only_some_parts_of_a_slot_may_be_taken() {
    let slot = |divisible, extensible| Slot {
        start: hours(2),
        procs: 4,
        span: span(3),
        rate: Rate(1_500),
        fee: Area::of(1, span(1)),
        divisible,
        extensible,
    };
    let part = |procs, start, length| Part { procs, start: hours(start), span: span(length) };
    let rows = [
        (part(4, 2, 3), [Ok(()); 4]),
        (part(4, 2, 5), [Err(BadPart::TooLong(hours(5))), Ok(()), Err(BadPart::TooLong(hours(5))), Ok(())]),
        (part(3, 2, 3), [Err(BadPart::NotAllProcessors(4)), Err(BadPart::NotAllProcessors(4)), Ok(()), Ok(())]),
        (part(4, 3, 2), [Err(BadPart::NotAtStart(hours(2))), Err(BadPart::NotAtStart(hours(2))), Ok(()), Ok(())]),
        (part(4, 2, 2), [Err(BadPart::NotWhole(span(3))), Err(BadPart::NotWhole(span(3))), Ok(()), Ok(())]),
        (
            part(1, 9, 9),
            [
                Err(BadPart::NotAllProcessors(4)),
                Err(BadPart::NotAllProcessors(4)),
                Err(BadPart::TooLong(hours(5))),
                Ok(()),
            ],
        ),
        (part(5, 2, 3), [Err(BadPart::TooManyProcessors(4)); 4]),
        (part(4, 1, 3), [Err(BadPart::TooEarly(hours(2))); 4]),
        (part(0, 2, 3), [Err(BadPart::NoProcessors); 4]),
        (part(4, 2, 0), [Err(BadPart::NoTime); 4]),
    ];
    for (part, expected) in rows {
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        for ((divisible, extensible), expected) in kinds.into_iter().zip(expected) {
            let slot = slot(divisible, extensible);
            assert_eq!(slot.check(&part), expected, "{part:?} of {divisible} {extensible}");
            let cost = expected.map(|()| Area::from_micros(part.area().micros() / 2 * 3) + slot.fee);
            assert_eq!(slot.cost_of(&part), cost);
        }
    }
}

/// Free processors in each hour.
struct Table {
    procs: u32,
    busy: Vec<u32>,
}

impl Table {
    fn fits(&self, procs: u32, start: u64, length: u64) -> bool {
        (start..start + length).all(|at| self.busy[at as usize] + procs <= self.procs)
    }

    fn book(&mut self, procs: u32, start: u64, length: u64) {
        (start..start + length).for_each(|at| self.busy[at as usize] += procs);
    }
}

proptest! {
    #[test]
    fn a_list_keeps_what_it_promises(work in prop::collection::vec((1u32..=6, 1u64..9, 0u64..12), 1..40)) {
        let procs = 6;
        let mut list = FreeList::empty_site(Time::ZERO, procs);
        let mut table = Table { procs, busy: vec![0; 500] };
        let mut starts = Vec::new();
        let mut last = 0;
        for (width, length, earliest) in work {
            let mut taken = Vec::new();
            let start = list.find(width, span(length), hours(earliest), Time::NEVER).unwrap();
            list.allocate_found(start, start + span(length), |part: Allocation| taken.push(part));
            let start = start.micros() / (HOUR * 1_000_000);
            prop_assert_eq!(taken.iter().map(|taken| taken.procs).sum::<u32>(), width);
            prop_assert!(start >= earliest && table.fits(width, start, length));
            table.book(width, start, length);
            last = last.max(start + length);
            starts.push(hours(start));

            // Free and busy processors add up at all times, to the end of all work and beyond.
            for at in 0..=last {
                let free = list.all().iter().filter(|free| free.start <= hours(at) && hours(at) < free.end);
                prop_assert_eq!(free.map(|free| free.procs).sum::<u32>() + table.busy[at as usize], procs);
            }
            let edges = list.all().iter().filter(|free| free.end == Time::NEVER && free.start <= hours(last));
            prop_assert_eq!(edges.map(|free| free.procs).sum::<u32>(), procs);
            for (place, free) in list.all().iter().enumerate() {
                // Each slot's end is a start of work, and all slots differ.
                prop_assert!(free.end == Time::NEVER || starts.contains(&free.end));
                let like = |other: &FreeSlot| (other.start, other.end) == (free.start, free.end);
                prop_assert_eq!(list.all().iter().position(like), Some(place));
                prop_assert!(free.procs > 0 && free.start < free.end);
            }
        }
    }

    /// The published rule, implemented literally: examine everything, and sort again.
    #[test]
    fn a_list_follows_the_published_rule(seed: u64) {
        let mut draw = SplitMix64::new(seed);
        let mut list = FreeList::default();
        let mut judge: Vec<FreeSlot> = Vec::new();
        for root in 0..draw.int(1, 4) as u32 {
            let start = hours(draw.int(0, 4));
            let end = if draw.int(0, 1) == 0 { Time::NEVER } else { start + span(draw.int(1, 9)) };
            let free = FreeSlot { start, end, procs: draw.int(1, 4) as u32, root: root % 3 };
            list.add(free);
            judge.push(free);
        }
        judge_normalise(&mut judge);
        for _ in 0..30 {
            if draw.int(0, 5) == 0 {
                let now = hours(draw.int(0, 12));
                let mut alike = list.all().to_vec();
                alike.iter_mut().for_each(|free| free.start = free.start.max(now));
                let changes = list.trim(now);
                prop_assert_eq!(changes, list.all() != alike);
                judge.retain(|free| free.end > now);
                judge.iter_mut().for_each(|free| free.start = free.start.max(now));
                judge_normalise(&mut judge);
            }
            let procs = draw.int(1, 5) as u32;
            let length = span(draw.int(0, 7));
            let earliest = hours(draw.int(0, 20));
            let start = list.place(procs, length, earliest);
            prop_assert_eq!(start, judge_place(&mut judge, procs, length, earliest));
            prop_assert_eq!(list.all(), &judge);
        }
    }
}

fn judge_normalise(list: &mut Vec<FreeSlot>) {
    let mut merged: Vec<FreeSlot> = Vec::new();
    for free in list.drain(..) {
        let like = |other: &&mut FreeSlot| (other.start, other.end, other.root) == (free.start, free.end, free.root);
        match merged.iter_mut().find(like) {
            Some(other) => other.procs += free.procs,
            None => merged.push(free),
        }
    }
    merged.sort_by_key(|free| (free.start, free.end, free.procs, free.root));
    *list = merged;
}

fn judge_place(list: &mut Vec<FreeSlot>, procs: u32, length: Span, earliest: Time) -> Option<Time> {
    for i in 0..list.len() {
        let start = list[i].start.max(earliest);
        if list[i].end < start + length {
            continue;
        }
        let mut need = procs;
        let mut takes = vec![0; list.len()];
        for j in (0..=i).rev() {
            if list[j].end >= start + length {
                takes[j] = need.min(list[j].procs);
                need -= takes[j];
            }
        }
        if need > 0 {
            continue;
        }
        let mut left = Vec::new();
        for (free, take) in list.drain(..).zip(takes) {
            left.push(FreeSlot { procs: free.procs - take, ..free });
            left.push(FreeSlot { end: start, procs: if free.start < start { take } else { 0 }, ..free });
            left.push(FreeSlot {
                start: start + length,
                procs: if free.end > start + length { take } else { 0 },
                ..free
            });
        }
        left.retain(|free| free.procs > 0);
        *list = left;
        judge_normalise(list);
        return Some(start);
    }
    None
}
