//! A series of waits of which only the order counts: bounds and probabilities with confidence, and the change point
//! before which the past is void.

use std::collections::VecDeque;

use crate::math;
use crate::time::Span;

#[derive(Clone, Debug)]
pub struct Series {
    /// The waits, the newest last, each with its logarithm.
    waits: VecDeque<(Span, f64)>,
    /// The waits, ascending.
    sorted: Vec<Span>,
    /// Number of waits, and the rank of the bound among them, from 1.
    rank: (usize, usize),
    run: Option<LongWaits>,
}

/// Consecutive waits beyond the bound.
#[derive(Clone, Copy, Debug)]
struct LongWaits {
    bound: Span,
    misses: usize,
}

pub const CONFIDENCE: f64 = 0.95;
pub const QUANTILE: f64 = 0.95;
/// Least number of waits that bound the quantile with that confidence.
pub const LEAST: usize = 59;
const KEPT: usize = 2_000;

/// Number of consecutive misses that are as rare as one in a hundred, by the upper limit of the autocorrelation.
const MISSES: [(f64, usize); 9] =
    [(0.15, 3), (0.40, 4), (0.55, 5), (0.65, 6), (0.70, 7), (0.75, 8), (0.80, 9), (0.85, 12), (0.90, 15)];
const MISSES_MOST: usize = 26;

impl Series {
    pub fn new() -> Series {
        Series { waits: VecDeque::new(), sorted: Vec::new(), rank: (0, 1), run: None }
    }

    pub fn len(&self) -> usize {
        self.waits.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Adds a wait, and returns true if it proves a change. Then only the newest waits are kept.
    pub fn add(&mut self, wait: Span) -> bool {
        let bound = self.run.map(|run| run.bound).or_else(|| self.bound());
        let misses = self.run.map_or(0, |run| run.misses);
        self.push(wait);
        let missed = bound.filter(|bound| wait > *bound);
        self.run = missed.map(|bound| LongWaits { bound, misses: misses + 1 });
        let has_changed =
            self.run.is_some_and(|run| run.misses >= MISSES[0].1 && run.misses >= self.too_many(run.misses));
        if has_changed {
            while self.len() > LEAST {
                self.drop_oldest();
            }
            self.run = None;
        }
        has_changed
    }

    /// Upper bound of the wait in 95 of 100 cases, with confidence; `None` if too few waits are known.
    pub fn bound(&mut self) -> Option<Span> {
        self.rank = next_rank(self.rank, self.len());
        self.sorted.get(self.rank.1 - 1).copied()
    }

    /// Probability of a wait of at most `within`; the true one is higher with confidence.
    pub fn chance(&self, within: Span) -> f64 {
        let in_time = self.sorted.partition_point(|wait| *wait <= within);
        chance_of(self.len(), in_time)
    }

    fn push(&mut self, wait: Span) {
        let place = self.sorted.partition_point(|other| *other < wait);
        self.sorted.insert(place, wait);
        self.waits.push_back((wait, math::ln(1.0 + wait.micros() as f64 / 1e6)));
        if self.len() > KEPT {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let (wait, _) = self.waits.pop_front().expect("a series that is too long has an oldest wait");
        let place = self.sorted.partition_point(|other| *other < wait);
        self.sorted.remove(place);
    }

    /// Number of consecutive misses that are no accident, given the autocorrelation of the waits before.
    fn too_many(&self, misses: usize) -> usize {
        let before = self.waits.len() - misses.min(self.waits.len());
        let likeness = autocorrelation(self.waits.iter().take(before).map(|(_, log)| *log));
        MISSES.iter().find(|(most, _)| likeness <= *most).map_or(MISSES_MOST, |(_, misses)| *misses)
    }
}

impl Default for Series {
    fn default() -> Self {
        Series::new()
    }
}

/// Lower bound, with confidence, of the probability to be in time, if `in_time` of `all` waits were.
pub fn chance_of(all: usize, in_time: usize) -> f64 {
    match in_time {
        0 => 0.0,
        _ => math::beta_quantile(in_time as f64, (all - in_time) as f64 + 1.0, 1.0 - CONFIDENCE),
    }
}

/// Rank of the first of `all` waits that is no less than the quantile with confidence; beyond the last if none is.
pub fn rank_of(all: usize, quantile: f64) -> usize {
    let mut low = 1;
    let mut high = all + 1;
    while low < high {
        let middle = low.midpoint(high);
        if is_enough(all, quantile, middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// With one more wait the rank is the same or the next.
fn next_rank((known, rank): (usize, usize), all: usize) -> (usize, usize) {
    let rank = match all {
        _ if known == all => rank,
        _ if known + 1 == all && known > LEAST => rank + usize::from(!is_enough(all, QUANTILE, rank)),
        _ => rank_of(all, QUANTILE),
    };
    (all, rank)
}

fn is_enough(all: usize, quantile: f64, rank: usize) -> bool {
    rank <= all && math::binomial_cdf(all as u32, quantile, rank as u32 - 1) >= CONFIDENCE
}

/// Autocorrelation of the values, limited to the range from 0 to 0.95.
fn autocorrelation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let apart = |value: f64| value - mean;
    let together: f64 = values.clone().zip(values.clone().skip(1)).map(|(one, next)| apart(one) * apart(next)).sum();
    let spread: f64 = values.map(|value| apart(value) * apart(value)).sum();
    if spread > 0.0 { (together / spread).clamp(0.0, 0.95) } else { 0.0 }
}
