//! Series of a generator's workflows.

use serde::Serialize;

use crate::grid::LONGEST;
use crate::settings::{Fields, Moment, SPAN, Walk, key};
use crate::time::{Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Train {
    pub workflows: u32,
    /// Arrival of the first one, and the interval to the next.
    pub arrive: Time,
    pub every: Span,
}

impl Train {
    pub const ONE: Train = Train { workflows: 1, arrive: Time::ZERO, every: Span::ZERO };

    /// Walks the settings; there are at most `most` workflows.
    pub(super) fn walk(&mut self, most: u32, w: &mut dyn Walk) {
        w.set(key("workflows", "").means("the number of them"), &mut self.workflows, 1..=most);
        w.set(key("arrive", "the first").means("the arrival of the first one"), &mut self.arrive, Moment);
        w.set(key("every", "from one to the next").means("the time from one to the next"), &mut self.every, SPAN);
    }

    pub(super) fn check(&self, fields: &Fields<'_>) {
        if u128::from(self.every.micros()) * u128::from(self.workflows) > u128::from(LONGEST.micros()) {
            fields.complain("expected the last workflow to arrive within 285 years".to_owned());
        }
    }

    /// Arrivals, with the numbers of workflows.
    pub(super) fn arrivals(self) -> impl Iterator<Item = (u32, Time)> {
        (0..self.workflows)
            .map(move |number| (number, self.arrive + Span::from_micros(self.every.micros() * u64::from(number))))
    }
}
