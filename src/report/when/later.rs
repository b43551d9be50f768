//! Jobs that arrive after a moment: days of the log's own past, in random order.

use std::ops::Range;

use hansa_sim::random::SplitMix64;
use hansa_sim::time::{Span, Time};

use super::SeenJob;

const DAY: Span = Span::from_minutes(24 * 60);
/// Largest number of past days from which arrivals are drawn.
const DAYS_MAX: u64 = 28;
/// Shortest past from which arrivals are drawn.
const PAST_LEAST: Span = Span::from_minutes(6 * 60);
/// Number of days to come in which jobs arrive.
const DAYS_TO_COME: u32 = 60;

/// Past days of a log, each up to the time of day of the moment; or its whole past, if that is shorter than a day. A
/// day is drawn as a whole, so jobs come in the same bursts, from the same users and at the same hours.
#[derive(Clone, Debug, Default)]
pub(super) struct PastDays {
    /// Start of each day, and its jobs.
    days: Vec<(Time, Range<usize>)>,
    length: Span,
    /// Number of submissions in them, without those that were cancelled before they started.
    submissions: u64,
}

impl PastDays {
    /// The past of a moment at which `jobs` are known.
    pub fn of(jobs: &[SeenJob], now: Time) -> PastDays {
        let past = jobs.first().map_or(Span::ZERO, |first| now.since(first.came));
        if past < PAST_LEAST {
            return PastDays::default();
        }
        let length = past.min(DAY);
        let count = (past.micros() / length.micros()).min(DAYS_MAX);
        let place = |time: Time| jobs.partition_point(|job| job.came < time);
        let day = |number: u64| {
            let from = Time::from_micros(now.micros() - number * length.micros());
            (from, place(from)..place(from + length))
        };
        let days: Vec<(Time, Range<usize>)> = (1..=count).map(day).collect();
        let arrived = days.iter().flat_map(|(_, places)| &jobs[places.clone()]);
        let submissions = arrived.filter(|job| !job.was_cancelled_by(now)).count() as u64;
        PastDays { days, length, submissions }
    }

    pub fn count(&self) -> u64 {
        self.days.len() as u64
    }

    /// Number of submissions.
    pub fn jobs(&self) -> u64 {
        self.submissions
    }

    /// Jobs that arrive after `now`, as indices into `jobs`, with their times of submission, in order. A job that was
    /// cancelled before it started is no arrival, as it would take cores that it never took.
    pub fn arrivals<'a>(
        &'a self,
        jobs: &'a [SeenJob],
        now: Time,
        mut stream: SplitMix64,
    ) -> impl Iterator<Item = (usize, Time)> + 'a {
        let days = if self.days.is_empty() { 0 } else { DAYS_TO_COME };
        let drawn = (0..days).map(move |number| {
            let begin = Time::from_micros(now.micros() + u64::from(number) * self.length.micros());
            (begin, &self.days[stream.int(0, self.days.len() as u64 - 1) as usize])
        });
        drawn.flat_map(move |(begin, (from, places))| {
            let soonest = now + Span::from_micros(1);
            let arrived = places.clone().filter(move |place| !jobs[*place].was_cancelled_by(now));
            arrived.map(move |place| (place, (begin + jobs[place].came.since(*from)).max(soonest)))
        })
    }
}
