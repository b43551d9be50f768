//! `[workflow]`: how workflows are planned.

use super::super::fields::Fields;
use super::super::{PlanPolicy, Planning, StopRule, UpdateRule};

const ITERATIONS_MAX: u32 = 10_000;

impl Planning {
    pub(super) fn check(fields: Fields<'_>) -> Planning {
        let usual = Planning::default();
        let planning = Planning {
            policy: fields.get("policy").and_then(|field| field.word(PlanPolicy::ALL)).unwrap_or(usual.policy),
            iterations: fields
                .get("iterations")
                .and_then(|field| field.whole(0..=ITERATIONS_MAX))
                .unwrap_or(usual.iterations),
            stop: fields.get("stop").and_then(|field| field.word(StopRule::ALL)).unwrap_or(usual.stop),
            update: fields.get("update").and_then(|field| field.word(UpdateRule::ALL)).unwrap_or(usual.update),
        };
        fields.finish();
        planning
    }
}
