//! Requested times of the model's jobs, which are longer than their run times.

use super::settings::Ratios;
use hansa_sim::random::SplitMix64;
use hansa_sim::time::Span;

/// Longest request of the queues of both machines, which nearly all of their jobs keep.
const LONGEST: Span = Span::from_minutes(18 * 60);
/// Longest request without a limit of a queue.
const WEEK: Span = Span::from_minutes(7 * 24 * 60);

/// Deciles of the used part of requests, of jobs that run up to this many minutes, in the logs of CTC and SDSC
/// together.
const DECILES: [(u64, [f64; 11]); 6] = [
    (1, [0.0005, 0.001, 0.003, 0.010, 0.028, 0.047, 0.062, 0.088, 0.117, 0.167, 1.0]),
    (10, [0.001, 0.006, 0.016, 0.042, 0.074, 0.110, 0.160, 0.231, 0.315, 0.530, 1.0]),
    (60, [0.009, 0.042, 0.096, 0.134, 0.192, 0.248, 0.380, 0.536, 0.765, 1.0, 1.0]),
    (240, [0.056, 0.120, 0.189, 0.281, 0.373, 0.483, 0.559, 0.660, 0.789, 0.976, 1.0]),
    (720, [0.222, 0.324, 0.417, 0.494, 0.548, 0.607, 0.667, 0.787, 0.885, 1.0, 1.0]),
    (u64::MAX / 60_000_000, [0.667, 0.733, 0.787, 0.837, 0.883, 0.910, 0.940, 0.982, 1.0, 1.0, 1.0]),
];

impl Ratios {
    /// A request of a job with this run time, which is at least as long.
    pub(super) fn request(self, runtime: Span, stream: &mut SplitMix64) -> Span {
        let used = match self {
            Ratios::Logs => used_in_logs(runtime, stream.unit()),
            Ratios::Bounded => half_below_a_fifth(0.05, stream),
            Ratios::Uniform => half_below_a_fifth(0.0, stream),
        };
        let longest = if self == Ratios::Uniform { WEEK } else { LONGEST };
        Span::from_micros((runtime.micros() as f64 / used) as u64).min(longest).max(runtime)
    }
}

/// The used part of a request at this quantile, interpolated between deciles.
fn used_in_logs(runtime: Span, quantile: f64) -> f64 {
    let (_, deciles) =
        DECILES.iter().find(|class| runtime <= Span::from_minutes(class.0)).unwrap_or(&DECILES[DECILES.len() - 1]);
    let tenths = quantile * 10.0;
    let below = (tenths as usize).min(9);
    deciles[below] + (deciles[below + 1] - deciles[below]) * (tenths - below as f64)
}

/// A used part that is below a fifth for half of all jobs, and uniform below it, from `least` on, and above.
fn half_below_a_fifth(least: f64, stream: &mut SplitMix64) -> f64 {
    if stream.unit() < 0.5 { 0.2 - (0.2 - least) * stream.unit() } else { 1.0 - 0.8 * stream.unit() }
}
