use super::series::{LEAST, QUANTILE, chance_of, rank_of};
use super::*;
use crate::random::SplitMix64;

fn seconds(seconds: u64) -> Span {
    Span::from_secs(seconds)
}

#[test]
fn bounds_and_chances_are_the_check_values() {
    let ranks = [(100, 99), (200, 196), (1000, 962)];
    for (all, rank) in ranks {
        assert_eq!(rank_of(all, QUANTILE), rank);
    }
    assert_eq!(rank_of(20, 0.5), 15);
    assert_eq!((rank_of(LEAST - 1, QUANTILE), rank_of(LEAST, QUANTILE)), (LEAST, LEAST));
    for (all, in_time, chance) in
        [(59, 59, 0.950492), (59, 58, 0.922102), (20, 15, 0.544418), (100, 50, 0.413622), (10, 10, 0.741134)]
    {
        assert!((chance_of(all, in_time) - chance).abs() < 1e-6, "{in_time} of {all}: {}", chance_of(all, in_time));
    }
    assert_eq!(chance_of(7, 0), 0.0);
}

#[test]
fn three_waits_beyond_the_bound_are_a_change() {
    let mut series = Series::new();
    for i in 0..100 {
        assert!(!series.add(seconds(60 + 37 * i % 100)));
    }
    assert_eq!(series.bound(), Some(seconds(158)));
    assert_eq!([1000, 1010, 1020].map(|wait| series.add(seconds(wait))), [false, false, true]);
    assert_eq!(series.len(), LEAST);
    // A wait within the bound ends the sequence.
    let mut series = Series::new();
    (0..100).for_each(|i| _ = series.add(seconds(60 + 37 * i % 100)));
    assert_eq!(
        [1000, 1010, 60, 1020, 1030, 1040].map(|wait| series.add(seconds(wait))),
        [false, false, false, false, false, true]
    );
}

/// The rule as published, with all derived values computed anew.
#[test]
fn a_series_is_the_plain_one() {
    let mut draw = SplitMix64::new(11);
    for _ in 0..if cfg!(unoptimised) { 2 } else { 6 } {
        let mut series = Series::new();
        let mut waits = Vec::<u64>::new();
        let mut run: Option<(u64, usize)> = None;
        let mut level = 100.0;
        for _ in 0..2_500 {
            if draw.int(0, 300) == 0 {
                level = draw.log_uniform(1.0, 10_000.0);
            }
            let wait = draw.exponential(level) as u64;
            let bound = run.map(|run| run.0).or_else(|| {
                let mut sorted = waits.clone();
                sorted.sort_unstable();
                sorted.get(rank_of(waits.len(), QUANTILE) - 1).copied()
            });
            waits.push(wait);
            if waits.len() > 2_000 {
                waits.remove(0);
            }
            run = bound.filter(|bound| wait > *bound).map(|bound| (bound, run.map_or(1, |run| run.1 + 1)));
            let changed = run.is_some_and(|(_, misses)| {
                let logs: Vec<f64> =
                    waits[..waits.len() - misses].iter().map(|wait| crate::math::ln(1.0 + *wait as f64)).collect();
                let mean = logs.iter().sum::<f64>() / logs.len() as f64;
                let spread: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
                let together: f64 = logs.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
                let likeness = if spread > 0.0 { (together / spread).clamp(0.0, 0.95) } else { 0.0 };
                let rows =
                    [(0.15, 3), (0.4, 4), (0.55, 5), (0.65, 6), (0.7, 7), (0.75, 8), (0.8, 9), (0.85, 12), (0.9, 15)];
                misses >= rows.iter().find(|row| likeness <= row.0).map_or(26, |row| row.1)
            });
            if changed {
                waits.drain(..waits.len().saturating_sub(LEAST));
                run = None;
            }
            assert_eq!(series.add(seconds(wait)), changed);
            assert_eq!(series.len(), waits.len());
            let within = waits.iter().filter(|wait| **wait <= 50).count();
            assert_eq!(series.chance(seconds(50)), chance_of(waits.len(), within));
        }
    }
}

#[test]
fn the_narrowest_class_that_is_known_counts() {
    let mut history = History::new();
    assert_eq!(history.start_chance(1, seconds(60), seconds(1_000_000)), 0.0);
    (0..19).for_each(|_| history.record_start(4, seconds(3_600), seconds(10)));
    assert_eq!(history.start_chance(4, seconds(3_600), seconds(10)), 0.0);
    history.record_start(1, seconds(3_601), seconds(1_000));
    // Enough jobs of that size are known, but not of that duration.
    assert_eq!(history.start_chance(4, seconds(3_600), seconds(10)), chance_of(20, 19));
    assert_eq!(history.start_chance(5, seconds(3_600), seconds(10)), chance_of(20, 19));
    history.record_start(4, seconds(1), seconds(10));
    assert_eq!(history.start_chance(4, seconds(3_600), seconds(10)), chance_of(20, 20));
}
