//! Raises or lowers the load of a log: a fraction of its jobs is repeated a week later, or only a fraction is used.
//!
//! As in G. Singh's thesis on provisioning. Ours: the fraction is found by bisection, and a load below that of the log
//! leaves jobs out.

use crate::random::SplitMix64;
use crate::time::{Span, Time};

/// Properties of a job that the load depends on.
pub trait Bulk: Clone {
    fn submit_time(&self) -> Time;

    /// Processors times run time in microseconds.
    fn cpu_work(&self) -> u128;

    /// A copy that is submitted later.
    fn delayed_by(&self, by: Span) -> Self;
}

const WEEK: Span = Span::from_minutes(7 * 24 * 60);

/// Jobs before `end` at about this utilisation of `procs` processors, or as near as two copies of the log get.
pub fn raise_load<J: Bulk>(log: &[J], procs: u64, target: f64, end: Time, seed: u64) -> Vec<J> {
    // Fraction added, or left out if negative.
    let with = |more: f64| {
        let mut stream = SplitMix64::new(seed);
        let mut jobs = Vec::new();
        for job in log.iter().filter(|job| job.submit_time() < end) {
            let kept = stream.unit() < 1.0 + more;
            let copied = stream.unit() < more;
            jobs.extend(kept.then(|| job.clone()));
            jobs.extend(copied.then(|| job.delayed_by(WEEK)));
        }
        jobs.retain(|job| job.submit_time() < end);
        jobs.sort_by_key(Bulk::submit_time);
        jobs
    };
    let mut low = -1.0;
    let mut high = 1.0;
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        if log_utilisation(&with(middle), procs) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    // The thesis does not specify the end of the bracket. This one reaches the target, if two copies of the log can: at
    // its own load a log is unchanged.
    with(high)
}

/// Fraction of `procs` processors that jobs use while they arrive.
pub fn log_utilisation<J: Bulk>(jobs: &[J], procs: u64) -> f64 {
    let (Some(first), Some(last)) = (jobs.first(), jobs.last()) else { return 0.0 };
    let work: u128 = jobs.iter().map(Bulk::cpu_work).sum();
    work as f64 / (procs as f64 * (last.submit_time() - first.submit_time()).micros().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct One(Time);

    impl Bulk for One {
        fn submit_time(&self) -> Time {
            self.0
        }

        fn cpu_work(&self) -> u128 {
            3_600_000_000
        }

        fn delayed_by(&self, by: Span) -> One {
            One(self.0 + by)
        }
    }

    #[test]
    fn a_log_is_repeated_or_thinned() {
        // One-hour jobs every hour for 40 days: a tenth of ten processors.
        let hour = Span::from_minutes(60);
        let log: Vec<One> = (0..960).map(|at| One(Time::ZERO + Span::from_micros(hour.micros() * at))).collect();
        let end = log[959].0 + hour;
        let own = log_utilisation(&log, 10);
        assert!((own - 0.1).abs() < 0.001, "{own}");
        for target in [0.05, 0.1, 0.15] {
            let jobs = raise_load(&log, 10, target, end, 5);
            let used = log_utilisation(&jobs, 10);
            assert!((used - target).abs() < 0.002, "{used} {target}");
            assert!(used >= target, "the target is reached: {used} {target}");
            assert!(jobs.is_sorted_by_key(|job| job.0) && jobs.iter().all(|job| job.0 < end));
            assert_eq!(jobs, raise_load(&log, 10, target, end, 5));
        }
        // At its own load it is unchanged.
        assert_eq!(raise_load(&log, 10, own, end, 5), log);
        // A copy that begins a week later adds at most 33 of 40 days.
        let most = log_utilisation(&raise_load(&log, 10, 0.9, end, 5), 10);
        assert!((most - 0.1825).abs() < 0.002, "{most}");
    }
}
