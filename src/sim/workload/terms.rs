//! Values and deadlines for the jobs of a log or a model. Logs contain neither, so they are added by a random rule. The
//! jobs can then go to any system, and every report covers values and deadlines.
//!
//! The rule uses the requested time of a job, as that is all that its user states: the result of a job that requests
//! `w` (or `at_least`, if that is more) is due `f * w` after its arrival, where `f` is uniform in `deadline`. It has
//! its full value up to the fraction `full` of that time, and then falls linearly to zero at the deadline. The full
//! value is the requested number of core hours, each at a price that is log-uniform in `value`.

use serde::Serialize;

use crate::grid::{Curve, Task, Worth};
use crate::random::{SplitMix64, mix_bits};
use crate::settings::{Context, FormExt, Number, POSITIVE_SPAN, Pair, Walk, key};
use crate::time::Span;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobTerms {
    pub seed: u64,
    /// Smallest and largest multiple of the walltime.
    pub deadline: (f64, f64),
    pub full: f64,
    /// Smallest and largest value of a core hour.
    pub value: (f64, f64),
    pub at_least: Span,
}

/// Random terms of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnTerms {
    pub worth: Worth,
    /// Time from arrival to deadline.
    pub within: Span,
}

const FACTORS: &str = "the least and the most, such as [2.0, 6.0]";

impl JobTerms {
    pub fn with_defaults(context: &Context<'_>) -> JobTerms {
        JobTerms {
            seed: context.seed,
            deadline: (2.0, 8.0),
            full: 0.5,
            value: (1.0, 10.0),
            at_least: Span::from_minutes(10),
        }
    }

    pub fn walk(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        context.walk_seed(&mut self.seed, w);
        let factors = Pair(Number::from(1.0, 1e6, "a number of at least 1"), FACTORS);
        let deadline = key("deadline", "so many times what it asks for may pass from its arrival").means(
            "the deadline of a job after its arrival, as a multiple of the time it requests: the smallest and \
             the largest",
        );
        w.set(deadline, &mut self.deadline, factors.with_condition("the smaller number first", is_rising));
        let full =
            Number::above(0.0, 1.0, "a number between 0 and 1").with_condition("a number below 1", |full| *full < 1.0);
        w.set(key("full", "the share of that time for which it has its full value"), &mut self.full, full);
        let prices = Pair(Number::above(0.0, 1e9, "a number above 0"), FACTORS);
        let value = key("value", "of a core hour that it asks for")
            .means("the value of a requested core hour: the smallest and the largest");
        w.set(value, &mut self.value, prices.with_condition("the smaller number first", is_rising));
        let at_least =
            key("at_least", "a job that requests less than this gets the deadline of one that requests this");
        w.set(at_least, &mut self.at_least, POSITIVE_SPAN);
    }

    /// Terms of the job at this index of its workload, independent of the other jobs.
    pub fn of(&self, place: usize, task: &Task) -> DrawnTerms {
        let mut stream =
            SplitMix64::new(mix_bits(self.seed ^ u64::from_be_bytes(*b"in terms"))).after(2 * place as u64);
        let (least, most) = self.deadline;
        let factor = least + stream.unit() * (most - least);
        let (cheapest, dearest) = self.value;
        let price = stream.log_uniform(cheapest, dearest);
        let asked = task.walltime.max(self.at_least);
        let within = Span::from_micros((asked.micros() as f64 * factor) as u64).max(asked);
        // Curves are in units of the run time.
        let last = within.micros() as f64 / task.runtime.micros().max(1) as f64;
        let curve =
            Curve::new(last * self.full, last, &[]).expect("a deadline is ahead, and full value ends before it");
        let hours = task.walltime.micros() as f64 / 3.6e9;
        DrawnTerms { worth: Worth { max: price * hours * f64::from(task.cores), curve }, within }
    }
}

fn is_rising((least, most): &(f64, f64)) -> bool {
    least <= most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Kind;
    use crate::math;

    const HOUR: Span = Span::from_minutes(60);

    fn terms() -> JobTerms {
        JobTerms { seed: 1, deadline: (2.0, 6.0), full: 0.5, value: (1.0, 10.0), at_least: Span::from_minutes(10) }
    }

    fn task(runtime: Span, walltime: Span) -> Task {
        Task { runtime, cores: 4, kind: Kind(0), walltime }
    }

    #[test]
    fn draws_are_within_the_bounds_of_the_rule() {
        let drawn: Vec<DrawnTerms> = (0..10_000).map(|place| terms().of(place, &task(HOUR, HOUR + HOUR))).collect();
        let factors: Vec<f64> = drawn.iter().map(|drawn| drawn.within.micros() as f64 / 7.2e9).collect();
        let prices: Vec<f64> = drawn.iter().map(|drawn| drawn.worth.max / 8.0).collect();
        assert!(factors.iter().all(|factor| (2.0..=6.0).contains(factor)));
        assert!(prices.iter().all(|price| (1.0..=10.0).contains(price)));
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
        assert!((mean(&factors) - 4.0).abs() < 0.05, "{}", mean(&factors));
        // Mean of a log-uniform distribution: (10 - 1) / ln 10.
        assert!((mean(&prices) - 9.0 / math::ln(10.0)).abs() < 0.1, "{}", mean(&prices));
        // The two draws are independent.
        let together: Vec<f64> = factors.iter().zip(&prices).map(|(factor, price)| factor * math::ln(*price)).collect();
        let apart = mean(&factors) * mean(&prices.iter().map(|price| math::ln(*price)).collect::<Vec<_>>());
        assert!((mean(&together) - apart).abs() < 0.05);
    }

    #[test]
    fn the_curve_ends_at_the_deadline() {
        let fixed = JobTerms { deadline: (3.0, 3.0), value: (2.0, 2.0), ..terms() };
        let DrawnTerms { worth, within } = fixed.of(7, &task(HOUR, HOUR + HOUR));
        assert_eq!(within, Span::from_minutes(360));
        // Six hours are six run times, and full value ends after three.
        assert_eq!((worth.curve.initial(), worth.curve.final_()), (3.0, 6.0));
        assert!((worth.max - 16.0).abs() < 1e-9, "{}", worth.max);
        assert_eq!(worth.curve.factor(4.5), 0.5);
    }

    #[test]
    fn short_jobs_have_a_minimum_of_time() {
        let fixed = JobTerms { deadline: (1.0, 1.0), ..terms() };
        let DrawnTerms { within, .. } = fixed.of(0, &task(Span::from_secs(1), Span::from_secs(2)));
        assert_eq!(within, Span::from_minutes(10));
    }

    #[test]
    fn draws_do_not_depend_on_other_jobs() {
        let long = task(HOUR, HOUR);
        assert_ne!(terms().of(0, &long), terms().of(1, &long));
        assert_eq!(terms().of(1, &long), terms().of(1, &long));
        assert_ne!(terms().of(1, &long), JobTerms { seed: 2, ..terms() }.of(1, &long));
    }
}
