//! Virtual time: whole microseconds since the start of a run, and the stamps that order all events.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A length of virtual time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span(u64);

/// A point of virtual time: microseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(u64);

/// A time, and a step within it, so that cause is strictly before effect even over a link without latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    pub time: Time,
    pub step: u32,
}

impl Span {
    pub const ZERO: Span = Span(0);
    pub const MAX: Span = Span(u64::MAX);
    /// Units of time in microseconds, the longest first.
    pub const UNITS: [(&str, u64); 6] =
        [("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];

    pub const fn from_micros(micros: u64) -> Span {
        Span(micros)
    }

    pub const fn from_millis(millis: u64) -> Span {
        Span(millis * 1_000)
    }

    pub const fn from_secs(secs: u64) -> Span {
        Span(secs * 1_000_000)
    }

    pub const fn from_minutes(minutes: u64) -> Span {
        Span(minutes * 60_000_000)
    }

    pub const fn micros(self) -> u64 {
        self.0
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub const fn saturating_add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }

    /// Seconds for data files: exact, with as few decimals as needed.
    pub fn seconds(self) -> Seconds {
        Seconds(self.0)
    }
}

impl Time {
    pub const ZERO: Time = Time(0);
    /// A time after all events.
    pub const NEVER: Time = Time(u64::MAX);
    /// The last time of events, about two thousand years before [`Time::NEVER`], so that everything planned or
    /// requested by then still has an end that can be represented.
    pub const LATEST: Time = Time(u64::MAX - (1 << 56));

    pub const fn from_micros(micros: u64) -> Time {
        Time(micros)
    }

    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Time since `earlier`; zero if that is in the future.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// First multiple of `period` not before this; this time itself if the period is zero.
    pub fn round_up(self, period: Span) -> Time {
        match period.0 {
            0 => self,
            period => Time(self.0.checked_next_multiple_of(period).unwrap_or(u64::MAX)),
        }
    }

    /// Seconds since the start for data files: exact, with as few decimals as needed.
    pub fn seconds(self) -> Seconds {
        Seconds(self.0)
    }
}

impl Add<Span> for Time {
    type Output = Time;

    /// Saturates at [`Time::NEVER`]: a hostile peer's span must not wrap round to the past.
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Add for Span {
    type Output = Span;

    fn add(self, other: Span) -> Span {
        self.saturating_add(other)
    }
}

impl Sub for Time {
    type Output = Span;

    fn sub(self, earlier: Time) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("a span runs from the earlier to the later time"))
    }
}

impl Stamp {
    pub const ZERO: Stamp = Stamp { time: Time::ZERO, step: 0 };
    /// A stamp after all events.
    pub const NEVER: Stamp = Stamp { time: Time::NEVER, step: u32::MAX };

    /// First stamp of a time.
    pub const fn at(time: Time) -> Stamp {
        Stamp { time, step: 0 }
    }

    /// Arrival over a link of this latency: after it, or in the next step if it is zero.
    pub const fn after(self, latency: Span) -> Stamp {
        if latency.is_zero() {
            // Only a run that never ends approaches the last step; saturating keeps NEVER after itself.
            return Stamp { time: self.time, step: self.step.saturating_add(1) };
        }
        let time = Time(self.time.0.saturating_add(latency.0));
        if time.0 == u64::MAX { Stamp::NEVER } else { Stamp { time, step: 0 } }
    }

    pub const fn is_never(self) -> bool {
        self.time.0 == u64::MAX
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() {
            return f.write_str("never");
        }
        write!(f, "{}", self.time)?;
        if self.step > 0 { write!(f, " step {}", self.step) } else { Ok(()) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER {
            return f.write_str("never");
        }
        let secs = self.0 / 1_000_000;
        let days = secs / 86_400;
        let hours = secs / 3_600 % 24;
        let minutes = secs / 60 % 60;
        if days > 0 {
            write!(f, "{days}d ")?;
        }
        write!(f, "{hours:02}:{minutes:02}:{:02}", secs % 60)?;
        write_fraction(f, self.0 % 1_000_000)
    }
}

/// Readable form: `5 ms`, `90 s`, `2 h`; always exact, and parsable in a topology file.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0 s");
        }
        let (unit, size) =
            Span::UNITS.iter().find(|(_, size)| self.0.is_multiple_of(*size)).expect("the last unit divides all");
        write!(f, "{} {unit}", self.0 / size)
    }
}

/// Displays microseconds as decimal seconds.
#[derive(Clone, Copy, Debug)]
pub struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 / 1_000_000)?;
        write_fraction(f, self.0 % 1_000_000)
    }
}

fn write_fraction(f: &mut fmt::Formatter<'_>, micros: u64) -> fmt::Result {
    if micros == 0 {
        return Ok(());
    }
    let mut digits = micros;
    let mut width = 6;
    while digits.is_multiple_of(10) {
        (digits, width) = (digits / 10, width - 1);
    }
    write!(f, ".{digits:0width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_decides_between_the_next_step_and_a_later_time() {
        let now = Stamp { time: Time::from_micros(7), step: 3 };
        assert_eq!(now.after(Span::ZERO), Stamp { time: Time::from_micros(7), step: 4 });
        assert_eq!(now.after(Span::from_micros(2)), Stamp::at(Time::from_micros(9)));
        assert_eq!(Stamp::NEVER.after(Span::ZERO), Stamp::NEVER);
        assert_eq!(now.after(Span::MAX), Stamp::NEVER);
    }

    #[test]
    fn times_and_spans_are_readable() {
        assert_eq!(Span::from_millis(5).to_string(), "5 ms");
        assert_eq!(Span::from_minutes(120).to_string(), "2 h");
        assert_eq!(Time::from_micros(90_061_500_000).to_string(), "1d 01:01:01.5");
        assert_eq!(Time::from_micros(1_250_000).seconds().to_string(), "1.25");
        assert_eq!(Span::from_secs(90).to_string(), "90 s");
        assert_eq!(Time::from_micros(86_339_000_000).to_string(), "23:58:59");
        assert_eq!(Stamp::NEVER.to_string(), "never");
        let second = Stamp::at(Time::from_micros(1_000_000));
        assert_eq!([second, second.after(Span::ZERO)].map(|stamp| stamp.to_string()), ["00:00:01", "00:00:01 step 1"]);
    }

    #[test]
    fn times_are_as_far_apart_as_the_spans_between_them() {
        let [time, later] = [10, 13].map(Time::from_micros);
        assert_eq!((later - time, later.since(time), time.since(later)), (Span(3), Span(3), Span::ZERO));
        assert_eq!((time + Span(3), Time::NEVER + Span(3), (later - time).micros()), (later, Time::NEVER, 3));
        let rounded = [0, 4, 5, 11].map(|period| time.round_up(Span(period)).micros());
        assert_eq!(rounded, [10, 12, 10, 11]);
        assert_eq!(Time(u64::MAX - 1).round_up(Span(4)), Time::NEVER);
    }
}
