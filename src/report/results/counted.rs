//! Ends of the jobs that count in means, and numbers of the others.

use serde::{Deserialize, Serialize};

use crate::referee::counted::JobPart;
use crate::referee::tally::Standing;
use crate::results::summary::Counts;

/// The jobs of a run that count in means, by their ends, and the numbers of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedSummary {
    pub jobs: Counts,
    /// Jobs in the warm-up and in the cool-down, which count in no mean.
    pub warm_up: u64,
    pub cool_down: u64,
}

impl CountedSummary {
    pub(crate) fn add(&mut self, part: JobPart, standing: Standing) {
        match part {
            JobPart::WarmUp => self.warm_up += 1,
            JobPart::CoolDown => self.cool_down += 1,
            JobPart::Counted => self.jobs.add(standing),
        }
    }

    /// Sentence about the jobs that count in no mean; None if there are none.
    pub fn left_out_note(&self) -> Option<String> {
        let left_out = self.warm_up + self.cool_down;
        let numbers = [self.jobs.submitted, self.jobs.submitted + left_out, self.warm_up, self.cool_down];
        let [counted, all, warm_up, cool_down] = numbers.map(hansa_sim::numerals::format_count);
        let parts = match (self.warm_up, self.cool_down) {
            (0, 0) => return None,
            (_, 0) => format!("{warm_up} in the warm-up do not"),
            (0, _) => format!("{cool_down} in the cool-down do not"),
            (_, _) => format!("{warm_up} in the warm-up and {cool_down} in the cool-down do not"),
        };
        Some(format!("{counted} of {all} jobs count in means; {parts}"))
    }
}
