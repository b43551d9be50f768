//! Requested times of a workflow's tasks that are longer than their run times.

use serde::Serialize;

use crate::grid::{LONGEST, Task};
use crate::random::{SplitMix64, mix_bits};
use crate::settings::limits::TOO_LONG_A_JOB;
use crate::settings::units::MILLION;
use crate::settings::{Context, Fields, FormExt, Maybe, Millionths, Pair, Walk, key};
use crate::time::Span;

/// Ratio of requested times to run times, drawn uniformly for each task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Overestimate {
    pub seed: u64,
    /// Least and largest ratio in millionths, at least 1.
    pub least_millionths: u64,
    pub most_millionths: u64,
}

impl Overestimate {
    /// Walks the setting; None if tasks request their run times.
    pub(super) fn walk_optional(its: &mut Option<Overestimate>, seed: u64, w: &mut dyn Walk, context: &Context<'_>) {
        let factor =
            Millionths::from(1.0, 1_000).with_condition("a factor of at least 1", |factor: &u64| *factor >= MILLION);
        let form = Pair(factor, "the least and the largest ratio, such as [1.0, 5.0]")
            .with_condition("the smaller factor first", |(least, most): &(u64, u64)| least <= most)
            .map_values(
                move |(least_millionths, most_millionths)| Overestimate { seed, least_millionths, most_millionths },
                |its: &Overestimate| (its.least_millionths, its.most_millionths),
            );
        let about = "the least and the largest ratio of the time that a task requests to its run time; it is drawn \
                     uniformly for each task";
        let why = "leave overestimate out: only jobs of a [batch] or [provisioning] table request a time";
        let key = key("overestimate", about).usual("none: tasks request their run times");
        w.set(key.only_if(context.walltimes, why), its, Maybe(form));
    }

    /// Reports an error if tasks that run for `work` together might request too much.
    pub(super) fn check(&self, work: u128, fields: &Fields<'_>) {
        if work * u128::from(self.most_millionths) / u128::from(MILLION) > u128::from(LONGEST.micros())
            && let Some(field) = fields.get("overestimate")
        {
            field.report_wrong::<()>(TOO_LONG_A_JOB);
        }
    }

    /// Draws the requested times of the tasks of a workflow. They depend on its number and the seed only.
    pub(super) fn apply(&self, workflow: u32, tasks: &mut [Task]) {
        let mut stream = SplitMix64::new(mix_bits(mix_bits(self.seed ^ STREAM).wrapping_add(u64::from(workflow))));
        for task in tasks {
            let factor = u128::from(stream.int(self.least_millionths, self.most_millionths));
            let micros = (u128::from(task.runtime.micros()) * factor).div_ceil(u128::from(MILLION));
            task.walltime = Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
        }
    }
}

/// Separates this stream from that of the workflows.
const STREAM: u64 = 0x6f76_6572_6573_7469;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grid::Kind;

    fn requested(overestimate: Overestimate, workflow: u32, runtimes: &[u64]) -> Vec<u64> {
        let task = |micros: &u64| Task::new(Span::from_micros(*micros), 1, Kind(0));
        let mut tasks: Vec<Task> = runtimes.iter().map(task).collect();
        overestimate.apply(workflow, &mut tasks);
        tasks.iter().map(|task| task.walltime.micros()).collect()
    }

    #[test]
    fn a_fixed_ratio_is_applied_exactly_and_rounded_up() {
        let fixed = Overestimate { seed: 1, least_millionths: 1_500_000, most_millionths: 1_500_000 };
        assert_eq!(requested(fixed, 0, &[10, 3, 1]), [15, 5, 2]);
    }

    #[test]
    fn ratios_are_spread_over_their_range() {
        let spread = Overestimate { seed: 1, least_millionths: 1_000_000, most_millionths: 5_000_000 };
        let all = requested(spread, 0, &[1_000_000; 10_000]);
        let mean = all.iter().sum::<u64>() as f64 / 1e10;
        assert!((mean - 3.0).abs() < 0.05, "{mean}");
        let below_two = all.iter().filter(|micros| **micros < 2_000_000).count();
        assert!((2_300..2_700).contains(&below_two), "{below_two}");
    }

    proptest! {
        #[test]
        fn requested_times_depend_on_seed_and_number_only_and_stay_in_their_range(
            seed: u64, workflow in 0..9u32, runtimes in prop::collection::vec(1..1_000_000_000u64, 1..9),
            least in 1_000_000..3_000_000u64, more in 0..3_000_000u64,
        ) {
            let range = Overestimate { seed, least_millionths: least, most_millionths: least + more };
            let all = requested(range, workflow, &runtimes);
            prop_assert_eq!(&all, &requested(range, workflow, &runtimes));
            for (runtime, walltime) in runtimes.iter().zip(&all) {
                let ratio = |micros: u64| u128::from(micros) * 1_000_000;
                let times = |factor: u64| u128::from(*runtime) * u128::from(factor);
                prop_assert!(ratio(*walltime) >= times(least));
                prop_assert!(ratio(*walltime) < times(least + more) + 1_000_000);
            }
            // A shorter list draws the same ratios.
            prop_assert_eq!(&requested(range, workflow, &runtimes[..1]), &all[..1]);
        }
    }
}
