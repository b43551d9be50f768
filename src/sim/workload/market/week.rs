//! The week of arrivals: busy hours, other hours of weekdays, and weekends. Time 0 is a Monday at midnight.

use serde::Serialize;

use crate::settings::{FormExt, Number, Pair, Unless, Walk, key};

/// Rates of arrival, relative to an hour of a weekday that is not busy. The paper has daily and weekly cycles without
/// numbers; these are ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Week {
    /// Rate in a busy hour, and in an hour of a weekend.
    pub busy: f64,
    pub weekend: f64,
    /// Busy hours of weekdays: from the first, up to the second.
    pub busy_hours: (u32, u32),
}

impl Default for Week {
    fn default() -> Week {
        Week { busy: 3.0, weekend: 0.5, busy_hours: (8, 18) }
    }
}

/// A week in minutes, which is also the number of ticks of the mean week.
const WEEK: f64 = 10_080.0;
const HOURS: &str = "the hours from which and up to which weekdays are busy, such as [8, 18]";

impl Week {
    pub(super) fn walk(&mut self, w: &mut dyn Walk) {
        let usual = Week::default();
        let busy = "the arrivals in a busy hour, as a multiple of those in another hour of a weekday";
        w.set(key("busy", busy).usual("`3.0`"), &mut self.busy, Unless(rate_form(), usual.busy));
        let hours = Pair(0..=24, HOURS).with_condition("the earlier hour first", |(from, to): &(u32, u32)| from <= to);
        let about = "the hours from which and up to which weekdays are busy";
        w.set(key("busy_hours", about).usual("`[8, 18]`"), &mut self.busy_hours, Unless(hours, usual.busy_hours));
        let weekend = "the arrivals in an hour of a weekend, as a multiple of those in an hour of a weekday that is not busy; \
                       with 1 for both, jobs arrive at a constant rate";
        w.set(key("weekend", weekend).usual("`0.5`"), &mut self.weekend, Unless(rate_form(), usual.weekend));
    }

    /// Tick of a week from Monday on at which as many jobs have arrived as at `mean` with uniform hours.
    pub(super) fn calendar(&self, mean: f64) -> f64 {
        let weeks = (mean / WEEK).floor();
        let mut left = (mean - weeks * WEEK) * (self.weight_of_week() / WEEK);
        for hour in 0..7 * 24 {
            let weight = self.weight(hour);
            if left < 60.0 * weight {
                return (weeks * WEEK + f64::from(hour) * 60.0 + left / weight).floor();
            }
            left -= 60.0 * weight;
        }
        (weeks + 1.0) * WEEK
    }

    /// Sum of the weights of a week's minutes.
    fn weight_of_week(&self) -> f64 {
        let busy = f64::from(self.busy_hours.1 - self.busy_hours.0);
        60.0 * (5.0 * (busy * 2.0 * self.busy + (24.0 - busy) * 2.0) + 2.0 * 24.0 * 2.0 * self.weekend)
    }

    /// Weight of an hour of the week, in halves of an hour of a weekday that is not busy.
    fn weight(&self, hour: u32) -> f64 {
        let is_busy = (self.busy_hours.0..self.busy_hours.1).contains(&(hour % 24));
        match hour / 24 {
            0..5 if is_busy => 2.0 * self.busy,
            0..5 => 2.0,
            _ => 2.0 * self.weekend,
        }
    }
}

fn rate_form() -> Number {
    Number::from(0.01, 1_000.0, "a number from 0.01 to 1000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_follows_the_week() {
        let pairs = [(0.0, 0.0), (100.0, 145.0), (1000.0, 804.0), (5000.0, 3860.0), (9000.0, 7071.0)];
        for (mean, tick) in pairs.into_iter().chain([(10_080.0, 10_080.0), (12_345.5, 12_056.0)]) {
            assert_eq!(Week::default().calendar(mean), tick, "at {mean}");
        }
    }

    #[test]
    fn equal_rates_are_no_cycle() {
        let constant = Week { busy: 1.0, weekend: 1.0, ..Week::default() };
        for mean in [0.0, 59.5, 100.0, 1_000.25, 10_079.9, 10_080.0, 12_345.5, 1e6 + 0.5] {
            assert_eq!(constant.calendar(mean), mean.floor());
        }
    }

    /// Two busy hours of four times the rate, and empty weekends as far as a rate can be small: a weekday has 22 + 8 =
    /// 30 parts, of which 10 + 2 * 4 are over at noon.
    #[test]
    fn a_profile_of_ones_own_is_followed() {
        let week = Week { busy: 4.0, weekend: 0.01, busy_hours: (10, 12) };
        let parts = 5.0 * 30.0 + 48.0 * 0.01;
        assert_eq!(week.calendar(10_080.0 * (18.0 + 1e-9) / parts), 12.0 * 60.0);
        assert_eq!(week.calendar(10_080.0 * (10.0 + 4.0 + 1e-9) / parts), 11.0 * 60.0);
        assert_eq!(week.calendar(10_080.0 * (60.0 + 1e-9) / parts), 48.0 * 60.0);
    }
}
