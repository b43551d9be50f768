//! Critical paths of a job, shared by scheduling and reports.

use super::{Graph, Job};
use crate::time::Span;

/// Transfer time of a task's output to another cluster, without links: a fraction of its run time, rounded up once to
/// whole ticks.
pub fn output_delay(runtime: Span, share_millionths: u64, tick: Span) -> Span {
    let tick = tick.micros().max(1);
    if let (Some(share), Some(unit)) = (runtime.micros().checked_mul(share_millionths), tick.checked_mul(1_000_000)) {
        // As below in 64 bits; most tasks are short enough for this.
        return Span::from_micros(share.div_ceil(unit).saturating_mul(tick));
    }
    let tick = u128::from(tick);
    let share = u128::from(runtime.micros()) * u128::from(share_millionths);
    let micros = share.div_ceil(1_000_000 * tick).saturating_mul(tick);
    Span::from_micros(micros.try_into().unwrap_or(u64::MAX))
}

/// Longest path from the start of each task to the end of the job, counting only unavoidable delays: those between
/// tasks that need different kinds of cores, given the sending and the receiving task. The longest of all is the
/// critical path.
pub fn forced_ranks(job: &Job, graph: &Graph, delay: impl Fn(usize, usize) -> Span) -> Vec<Span> {
    graph.upward_ranks(
        |task| job.tasks[task].runtime,
        |from, to| match job.tasks[from].kind == job.tasks[to].kind {
            true => Span::ZERO,
            false => delay(from, to),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_up_once() {
        let delay =
            |runtime, share| output_delay(Span::from_secs(runtime), share, Span::from_minutes(1)).micros() / 60_000_000;
        assert_eq!((delay(60, 0), delay(60, 1), delay(60, 1_000_000), delay(61, 1_000_000)), (0, 1, 1, 2));
        // Nine tenths of 61 s are less than a minute.
        assert_eq!(delay(61, 900_000), 1);
        assert_eq!(delay(1 << 40, 1 << 20), (1 << 60) / 60_000_000 + 1);
    }
}
