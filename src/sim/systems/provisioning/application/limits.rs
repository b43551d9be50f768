//! Limits of plans: a budget and a deadline (the thesis's constraints on cost and makespan).

use super::Cost;
use crate::grid::{Area, Quote};
use crate::time::{Span, Time};

/// The most that a plan may cost, and the time by which it must have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub budget: Area,
    pub deadline: Time,
}

/// The limit that leaves nothing to choose from. If each leaves something, but not both together, it is both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    Deadline,
    Budget,
    Both,
}

impl Limits {
    pub const NONE: Limits = Limits { budget: Area::MAX, deadline: Time::NEVER };

    /// True if a plan that is made now keeps the limits.
    pub fn allow(&self, now: Time, plan: &Cost) -> bool {
        self.keep_all(plan.allocation, now + plan.makespan)
    }

    fn keep_all(&self, cost: Area, end: Time) -> bool {
        cost <= self.budget && end <= self.deadline
    }

    /// These limits for a part of a plan, without what the rest costs, and the time that follows that part.
    pub fn less(&self, cost: Area, time: Span) -> Limits {
        let deadline = match self.deadline {
            Time::NEVER => Time::NEVER,
            deadline => Time::from_micros(deadline.micros().saturating_sub(time.micros())),
        };
        let budget = if self.budget == Area::MAX { Area::MAX } else { self.budget.saturating_sub(cost) };
        Limits { budget, deadline }
    }

    /// The limit that none of these plans keep, if there are some, and none keeps both limits.
    pub fn broken_by<'p>(&self, now: Time, plans: impl Iterator<Item = &'p Cost>) -> Option<Broken> {
        let mut kept = Kept::default();
        plans.for_each(|plan| _ = kept.count(self, plan.allocation, now + plan.makespan));
        kept.broken()
    }

    /// Drops the starts that break these limits. If there are some, and none is left, returns the limit that left none.
    pub fn retain_starts(&self, quotes: &mut [(usize, Quote)]) -> Option<Broken> {
        let mut kept = Kept::default();
        for (_, quote) in quotes {
            let mut offers = std::mem::take(&mut quote.offers);
            offers.retain(|offer| kept.count(self, quote.cost(offer), offer.start + quote.span));
            quote.offers = offers;
        }
        kept.broken()
    }

    /// Drops items whose cost and end break these limits. If there are some, and none is left, returns the limit that
    /// left none.
    pub fn retain_within<T>(&self, all: &mut Vec<T>, aims: impl Fn(&T) -> (Area, Time)) -> Option<Broken> {
        let mut kept = Kept::default();
        all.retain(|one| {
            let (cost, end) = aims(one);
            kept.count(self, cost, end)
        });
        kept.broken()
    }
}

/// Numbers of plans or starts: all, and those that keep a limit.
#[derive(Default)]
struct Kept {
    all: usize,
    in_time: usize,
    affordable: usize,
    both: usize,
}

impl Kept {
    fn count(&mut self, limits: &Limits, cost: Area, end: Time) -> bool {
        let keeps = limits.keep_all(cost, end);
        self.all += 1;
        self.in_time += usize::from(end <= limits.deadline);
        self.affordable += usize::from(cost <= limits.budget);
        self.both += usize::from(keeps);
        keeps
    }

    fn broken(&self) -> Option<Broken> {
        match self {
            Kept { all: 0, .. } | Kept { both: 1.., .. } => None,
            Kept { in_time: 0, .. } => Some(Broken::Deadline),
            Kept { affordable: 0, .. } => Some(Broken::Budget),
            _ => Some(Broken::Both),
        }
    }
}
