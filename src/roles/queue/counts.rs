//! How many nodes are busy when: a calendar for whoever only counts.

use super::Reserved;
use crate::time::{Span, Time};

/// Steps `(from, busy)`, ascending; before the first one nothing is busy.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    steps: Vec<(Time, u32)>,
}

impl Counts {
    /// From `(start, end, count)` in any order, in O(n log n).
    pub fn of(busy: impl IntoIterator<Item = (Time, Time, u32)>) -> Counts {
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
        Counts { steps }
    }

    /// When what is busy changes, after a time.
    pub fn next_change(&self, after: Time) -> Option<Time> {
        self.steps.get(self.steps.partition_point(|step| step.0 <= after)).map(|step| step.0)
    }

    pub fn insert(&mut self, start: Time, end: Time, count: u32) {
        self.change(start, end, |busy| busy + count);
    }

    pub fn remove(&mut self, start: Time, end: Time, count: u32) {
        self.change(start, end, |busy| busy.checked_sub(count).expect("what is removed has been counted"));
    }

    /// Forgets everything before a time.
    pub fn advance(&mut self, now: Time) {
        let past = self.steps.partition_point(|step| step.0 <= now);
        self.steps.drain(..past.saturating_sub(1));
    }

    /// The most that are busy at once in the span.
    pub fn most(&self, start: Time, end: Time) -> u32 {
        let first = self.steps.partition_point(|step| step.0 <= start).saturating_sub(1);
        let within = self.steps[first..].iter().take_while(|step| step.0 < end);
        within.map(|step| step.1).max().unwrap_or(0)
    }

    /// The earliest start from `from` on at which at most `limit` are busy for the whole span.
    pub fn earliest(&self, from: Time, span: Span, limit: u32) -> Time {
        let mut start = from;
        let mut place = self.steps.partition_point(|step| step.0 <= from).saturating_sub(1);
        while let Some(&(begin, busy)) = self.steps.get(place) {
            if begin >= start + span {
                break;
            }
            place += 1;
            if busy > limit {
                start = self.steps.get(place).map_or(Time::NEVER, |next| next.0);
            }
        }
        start
    }

    fn change(&mut self, start: Time, end: Time, change: impl Fn(u32) -> u32) {
        let from = self.cut(start);
        let to = self.cut(end);
        self.steps[from..to].iter_mut().for_each(|step| step.1 = change(step.1));
        self.join(to);
        self.join(from);
    }

    /// The place of the step that begins at a time.
    fn cut(&mut self, at: Time) -> usize {
        let place = self.steps.partition_point(|step| step.0 < at);
        if self.steps.get(place).is_none_or(|step| step.0 > at) {
            let busy = place.checked_sub(1).map_or(0, |before| self.steps[before].1);
            self.steps.insert(place, (at, busy));
        }
        place
    }

    /// Drops a step that changes nothing.
    fn join(&mut self, place: usize) {
        let before = place.checked_sub(1).map_or(0, |before| self.steps[before].1);
        if self.steps.get(place).is_some_and(|step| step.1 == before) {
            self.steps.remove(place);
        }
    }
}

/// Whether those who run, each up to a time on so many nodes, and what is booked leave room for a booking of so many
/// nodes in all.
pub(super) fn leave_room(
    running: impl Iterator<Item = (Time, u32)>,
    booked: &[Reserved],
    wanted: &Reserved,
    nodes: u32,
) -> bool {
    let running = running.filter(|(until, _)| *until > wanted.from).map(|(until, count)| (wanted.from, until, count));
    let set_aside = booked.iter().map(|booking| (booking.from, booking.until, booking.nodes.len()));
    let most = Counts::of(running.chain(set_aside)).most(wanted.from, wanted.until);
    most + wanted.nodes.len() <= nodes && !booked.iter().any(|other| other.meets(wanted))
}
