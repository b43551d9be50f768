//! Ranges of the generator that the paper does not print, or prints as constants: spreads of tasks, and value curves.

use serde::Serialize;
use smallvec::SmallVec;

use crate::grid::Curve;
use crate::random::SplitMix64;
use crate::settings::limits::CORES_MAX;
use crate::settings::{Fields, FormExt, Number, Pair, Unless, Walk, key};

/// Ranges of cores, run times and value curves; the defaults of curves are the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ranges {
    /// Smallest number of cores of a task.
    pub cores_min: u32,
    /// Longest run time of a task as a multiple of the shortest one of its job, before both are rounded.
    pub runtime_spread: f64,
    /// Earliest and latest initial deadline, and final deadline, as SLRs.
    pub initial: (f64, f64),
    pub final_: (f64, f64),
    /// Smallest and largest number of points between the deadlines.
    pub points: (u32, u32),
}

impl Default for Ranges {
    fn default() -> Ranges {
        Ranges { cores_min: 1, runtime_spread: 10.0, initial: (2.0, 4.0), final_: (6.0, 10.0), points: (5, 10) }
    }
}

const POINTS_MAX: u32 = 1_000;
const INITIAL: &str = "the earliest and the latest initial deadline, as SLRs, such as [2.0, 4.0]";
const FINAL: &str = "the earliest and the latest final deadline, as SLRs, such as [6.0, 10.0]";
const POINTS: &str = "the fewest and the most points of a value curve, such as [5, 10]";

impl Ranges {
    /// Keys of tasks, which follow `cores_max`.
    pub(super) fn walk_tasks(&mut self, cores_max: u32, w: &mut dyn Walk) {
        let usual = Ranges::default();
        let cores = key("cores_min", "the fewest cores of a task").usual("`1`");
        let form = (1..=CORES_MAX)
            .with_condition("a whole number from 1 to `cores_max`", move |cores: &u32| *cores <= cores_max);
        w.set(cores, &mut self.cores_min, Unless(form, usual.cores_min));
        let spread = "the longest run time of a task as a multiple of the shortest one of its job";
        let spread = key("runtime_spread", spread).usual("`10.0`");
        let form = Number::from(1.0, 1e6, "a number from 1 to 1000000");
        w.set(spread, &mut self.runtime_spread, Unless(form, usual.runtime_spread));
    }

    /// Keys of value curves.
    pub(super) fn walk_curves(&mut self, w: &mut dyn Walk) {
        let usual = Ranges::default();
        let slrs = |expected| {
            let slr = Number::above(0.0, 1e6, "a number above 0, up to 1000000");
            Pair(slr, expected).with_condition("the smaller number first", |(least, most): &(f64, f64)| least <= most)
        };
        let initial = key("initial", "the earliest and the latest initial deadline of a job, as SLRs");
        w.set(initial.usual("`[2.0, 4.0]`"), &mut self.initial, Unless(slrs(INITIAL), usual.initial));
        let last = key("final", "the earliest and the latest final deadline of a job, as SLRs");
        w.set(last.usual("`[6.0, 10.0]`"), &mut self.final_, Unless(slrs(FINAL), usual.final_));
        let points = Pair(0..=POINTS_MAX, POINTS)
            .with_condition("the smaller number first", |(fewest, most): &(u32, u32)| fewest <= most);
        let about = "the fewest and the most points of a value curve between its deadlines";
        w.set(key("points", about).usual("`[5, 10]`"), &mut self.points, Unless(points, usual.points));
        if let Some(fields) = w.written_fields() {
            self.check(fields);
        }
    }

    /// Every initial deadline has to be before every final one.
    fn check(&self, fields: &Fields<'_>) {
        let latest = self.initial.1;
        let earliest = self.final_.0;
        if latest < earliest {
            return;
        }
        let message = format!("an initial deadline may be as late as {latest}, but a final one as early as {earliest}");
        let field = fields.get("final").or_else(|| fields.get("initial"));
        let diagnostic = match field {
            Some(field) => field.diagnostic(message),
            None => fields.diagnostic("final", message),
        };
        fields.diagnostics().add(diagnostic);
    }

    /// Draws a value curve.
    pub(super) fn draw_curve(&self, stream: &mut SplitMix64) -> Curve {
        let initial = interpolate_range(self.initial, stream.unit());
        let final_ = interpolate_range(self.final_, stream.unit());
        let count = stream.int(self.points.0.into(), self.points.1.into());
        let mut times: SmallVec<[f64; 10]> = (0..count).map(|_| initial + (final_ - initial) * stream.unit()).collect();
        let mut values: SmallVec<[f64; 10]> = (0..count).map(|_| stream.unit()).collect();
        times.sort_by(f64::total_cmp);
        values.sort_by(f64::total_cmp);
        values.reverse();
        let points: SmallVec<[(f64, f64); 10]> = times.into_iter().zip(values).collect();
        Curve::new(initial, final_, &points).expect("sorted draws between the deadlines make a curve")
    }
}

fn interpolate_range((least, most): (f64, f64), part: f64) -> f64 {
    least + (most - least) * part
}
