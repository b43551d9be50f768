//! Dates of a log for the axis of time.

use hansa_sim::time::Time;

const MICROS_PER_DAY: u64 = 86_400_000_000;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Relates virtual time to the dates of a log, in the log's local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// Microseconds from 1970-01-01 to virtual time zero.
    pub start_micros: u64,
}

impl Calendar {
    /// Microseconds since 1970-01-01.
    pub fn local_micros(self, time: Time) -> u64 {
        self.start_micros.saturating_add(time.micros())
    }

    /// A date such as `24 Apr 1998`.
    pub fn date(self, time: Time) -> String {
        let (year, month, day) = date_of(self.local_micros(time) / MICROS_PER_DAY);
        format!("{day} {} {year}", MONTHS[month])
    }
}

/// The label of a tick at this local time: a time of day such as `06:00`, or at midnight a date such as `24 Apr`.
pub fn tick_label(local_micros: u64) -> String {
    let of_day = local_micros % MICROS_PER_DAY / 1_000_000;
    if of_day > 0 {
        let clock = format!("{:02}:{:02}", of_day / 3_600, of_day / 60 % 60);
        return if of_day.is_multiple_of(60) { clock } else { format!("{clock}:{:02}", of_day % 60) };
    }
    let (_, month, day) = date_of(local_micros / MICROS_PER_DAY);
    format!("{day} {}", MONTHS[month])
}

/// Year, month counted from 0, and day of the month of a day counted from 1970-01-01.
fn date_of(day: u64) -> (u64, usize, u64) {
    let mut rest = day;
    let mut year = 1970;
    // Whole cycles of the calendar first, as days may be far from 1970.
    year += rest / 146_097 * 400;
    rest %= 146_097;
    while rest >= days_in_year(year) {
        rest -= days_in_year(year);
        year += 1;
    }
    let lengths = [31, if is_leap_year(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while rest >= lengths[month] {
        rest -= lengths[month];
        month += 1;
    }
    (year, month, rest + 1)
}

fn is_leap_year(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_year(year: u64) -> u64 {
    if is_leap_year(year) { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let dates = [0, 59, 789, 10_340, 11_016, 20_786, 146_097].map(date_of);
        let expected =
            [(1970, 0, 1), (1970, 2, 1), (1972, 1, 29), (1998, 3, 24), (2000, 1, 29), (2026, 10, 29), (2370, 0, 1)];
        assert_eq!(dates, expected);
    }

    #[test]
    fn ticks_are_times_of_day_or_dates() {
        let midnight = 10_340 * MICROS_PER_DAY;
        let labels = [0, 21_600, 21_690, 21_691].map(|seconds| tick_label(midnight + seconds * 1_000_000));
        assert_eq!(labels, ["24 Apr", "06:00", "06:01:30", "06:01:31"]);
        let calendar = Calendar { start_micros: midnight };
        assert_eq!(calendar.date(Time::from_micros(MICROS_PER_DAY)), "25 Apr 1998");
    }
}
