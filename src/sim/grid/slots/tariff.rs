//! Prices of processors by time of day.

use serde::{Deserialize, Serialize};

use super::{Area, Part, Rate};
use crate::time::{Span, Time};

/// Duration of a day. The first begins with the run.
pub const DAY: Span = Span::from_secs(86_400);

/// The price of a processor at each time of the day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tariff {
    /// The price from each of these times of day on, ascending, until the next one. Before the first of a day, the
    /// price is the last one of the day before. There is at least one.
    steps: Vec<(Span, Rate)>,
}

impl Tariff {
    /// A tariff of one price.
    pub fn flat(rate: Rate) -> Tariff {
        Tariff { steps: vec![(Span::ZERO, rate)] }
    }

    /// The prices from these times of day on, ascending; there is at least one. Equal neighbours are one.
    pub fn by_day(mut steps: Vec<(Span, Rate)>) -> Tariff {
        steps.dedup_by_key(|(_, rate)| *rate);
        match steps[..] {
            [(_, rate)] => Tariff::flat(rate),
            // The last price of a day holds until the second one of the next day.
            [(_, first), .., (_, last)] if first == last => Tariff { steps: steps.split_off(1) },
            _ => Tariff { steps },
        }
    }

    /// True if the price is the same at all times.
    pub fn is_flat(&self) -> bool {
        self.steps.len() == 1
    }

    /// The price at a time.
    pub fn at(&self, time: Time) -> Rate {
        let of_day = of_day(time);
        let step = self.steps.iter().rev().find(|(from, _)| *from <= of_day);
        step.or(self.steps.last()).expect("a tariff has a price").1
    }

    /// The lowest price.
    pub fn least(&self) -> Rate {
        self.steps.iter().map(|(_, rate)| *rate).min().expect("a tariff has a price")
    }

    /// Cost of a part: of each piece of it at the price of its time, rounded down once.
    pub fn cost(&self, part: &Part) -> Area {
        Tariff::cost_of_weight(self.weight(part))
    }

    /// Cost of parts with this sum of weights.
    pub fn cost_of_weight(weight: u128) -> Area {
        Area::from_micros(u64::try_from(weight / 1_000).unwrap_or(u64::MAX))
    }

    /// Exact cost of a part, in thousandths of a processor-microsecond.
    pub fn weight(&self, part: &Part) -> u128 {
        let days = part.span.micros() / DAY.micros();
        let mut weight = match days {
            0 => 0,
            _ => {
                u128::from(days)
                    * self
                        .pieces(of_day(part.start), DAY)
                        .map(|(span, rate)| weigh_span(wide_micros(span), rate))
                        .sum::<u128>()
            }
        };
        let rest = Span::from_micros(part.span.micros() % DAY.micros());
        weight +=
            self.pieces(of_day(part.start), rest).map(|(span, rate)| weigh_span(wide_micros(span), rate)).sum::<u128>();
        weight * u128::from(part.procs)
    }

    /// The times at which the price changes, in the day after a time; none if it never does.
    pub fn changes(&self, after: Time) -> impl Iterator<Item = Time> {
        let of_day = of_day(after);
        let steps = if self.is_flat() { &[] } else { &self.steps[..] };
        steps.iter().map(move |(from, _)| {
            let ahead = if *from > of_day { *from } else { *from + DAY };
            after + Span::from_micros(ahead.micros() - of_day.micros())
        })
    }

    /// The times at which the price falls, in the day after a time.
    pub fn falls(&self, after: Time) -> impl Iterator<Item = Time> {
        self.changes(after).filter(move |time| self.at(*time) < self.at(moment_before(time)))
    }

    /// The pieces of a span of at most a day that begins at a time of day, each at one price.
    fn pieces(&self, from: Span, span: Span) -> impl Iterator<Item = (Span, Rate)> {
        let mut at = from;
        let mut left = span;
        std::iter::from_fn(move || {
            if left.is_zero() {
                return None;
            }
            let rate = self.at(Time::ZERO + at);
            let next = self.steps.iter().map(|(from, _)| *from).find(|next| *next > at).unwrap_or(DAY);
            let piece = Span::from_micros((next.micros() - at.micros()).min(left.micros()));
            left = Span::from_micros(left.micros() - piece.micros());
            at = if next == DAY { Span::ZERO } else { next };
            Some((piece, rate))
        })
    }
}

fn weigh_span(span: u128, rate: Rate) -> u128 {
    span * u128::from(rate.0)
}

fn wide_micros(span: Span) -> u128 {
    u128::from(span.micros())
}

fn moment_before(time: &Time) -> Time {
    Time::from_micros(time.micros() - 1)
}

fn of_day(time: Time) -> Span {
    Span::from_micros(time.micros() % DAY.micros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    const fn hours(hours: u64) -> Span {
        Span::from_secs(hours * 3_600)
    }

    fn part(procs: u32, start: u64, lasts: u64) -> Part {
        Part { procs, start: Time::ZERO + hours(start), span: hours(lasts) }
    }

    /// Twice as dear from 8 to 18 h.
    fn by_day() -> Tariff {
        Tariff::by_day(vec![(hours(8), Rate(2_000)), (hours(18), Rate(1_000))])
    }

    #[test]
    fn time_costs_what_it_costs_at_its_hour() {
        let hours_of = |procs, start, lasts| by_day().cost(&part(procs, start, lasts)).seconds() / 3_600.0;
        assert_eq!([0, 8, 17, 18, 31, 32].map(|at| by_day().at(part(1, at, 1).start).0 / 1_000), [1, 2, 2, 1, 1, 2]);
        assert_eq!(hours_of(3, 6, 4), 3.0 * (2.0 + 2.0 * 2.0));
        assert_eq!(hours_of(1, 16, 4), 2.0 * 2.0 + 2.0);
        // Over midnight: two hours of the evening, eight of the night, and one of the day.
        assert_eq!(hours_of(1, 22, 11), 2.0 + 8.0 + 2.0);
        // A day has ten dear hours and fourteen others.
        assert_eq!(hours_of(2, 22, 24 * 10), 2.0 * 10.0 * 34.0);
        assert_eq!(hours_of(2, 22, 24 * 10 + 11), 2.0 * (10.0 * 34.0 + 12.0));
    }

    #[test]
    fn changes_are_those_of_the_next_day() {
        let at = |times: Vec<Time>| times.into_iter().map(|time| time.micros() / 3_600_000_000).collect::<Vec<_>>();
        let from = |hour: u64| Time::ZERO + hours(hour);
        assert_eq!(at(by_day().changes(from(7)).collect()), [8, 18]);
        assert_eq!(at(by_day().changes(from(8)).collect()), [32, 18]);
        assert_eq!(at(by_day().falls(from(8)).collect()), [18]);
        assert_eq!(at(by_day().falls(from(18)).collect()), [42]);
        assert_eq!(Tariff::flat(Rate::ONE).changes(from(7)).count(), 0);
    }

    #[test]
    fn equal_neighbours_are_one_price() {
        let step = |hour, rate| (hours(hour), Rate(rate));
        assert_eq!(Tariff::by_day(vec![step(8, 5), step(18, 5)]), Tariff::flat(Rate(5)));
        assert_eq!(
            Tariff::by_day(vec![step(0, 1), step(8, 2), step(9, 2), step(18, 1)]),
            Tariff::by_day(vec![step(8, 2), step(18, 1)])
        );
    }

    /// Piece by piece, in any way to cut a part, and as a sum over minutes.
    #[test]
    fn the_cost_of_pieces_is_that_of_the_whole() {
        let mut random = SplitMix64::new(7);
        for _ in 0..200 {
            let mut starts: Vec<u64> = (0..random.int(1, 5)).map(|_| random.int(0, 1_439)).collect();
            starts.sort_unstable();
            starts.dedup();
            let steps: Vec<(Span, Rate)> =
                starts.iter().map(|at| (Span::from_minutes(*at), Rate(random.int(0, 3) as u32 * 700))).collect();
            let tariff = Tariff::by_day(steps.clone());
            let start = random.int(0, 4_000);
            let minutes = random.int(1, 4_000);
            let of = |start: u64, minutes: u64| {
                let start = Time::ZERO + Span::from_minutes(start);
                tariff.weight(&Part { procs: 3, start, span: Span::from_minutes(minutes) })
            };
            let cut = random.int(0, minutes);
            assert_eq!(of(start, minutes), of(start, cut) + of(start + cut, minutes - cut), "{steps:?}");
            let price = |minute: u64| {
                let of_day = Span::from_minutes(minute % 1_440);
                let step = steps.iter().rev().find(|(from, _)| *from <= of_day);
                u128::from(step.or(steps.last()).unwrap().1.0)
            };
            let sum: u128 = (start..start + minutes).map(price).sum();
            assert_eq!(of(start, minutes), sum * 60_000_000 * 3, "{steps:?}");
        }
    }
}
