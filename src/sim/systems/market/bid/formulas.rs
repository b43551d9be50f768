//! Policies whose bid is a formula of the task and the instant.

use super::super::rules::{EdfDeadline, Pvdsq, Pvr};
use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};
use crate::systems::market::figures::span_ticks;
use crate::time::Time;

/// FIFO: first in, first out.
pub const FIFO: BidPolicyRow = BidPolicyRow {
    name: "fifo",
    about: "the job that arrived first",
    unit: BidUnit::TimeMicros,
    build: |_, _| Formula::boxed(Winner::Smallest, Trend::Fixed, |bidder, _| bidder.job.arrive.micros() as f64),
};

/// SRTF: shortest remaining time first.
pub const SRTF: BidPolicyRow = BidPolicyRow {
    name: "srtf",
    about: "the shortest remaining path to the end of the job",
    unit: BidUnit::SpanMicros,
    build: |_, _| Formula::boxed(Winner::Smallest, Trend::Fixed, |bidder, _| bidder.rank.micros() as f64),
};

/// LRTF: longest remaining time first.
pub const LRTF: BidPolicyRow = BidPolicyRow {
    name: "lrtf",
    about: "the longest remaining path to the end of the job",
    unit: BidUnit::SpanMicros,
    build: |_, _| Formula::boxed(Winner::Largest, Trend::Fixed, |bidder, _| bidder.rank.micros() as f64),
};

/// EDF: earliest deadline first. The paper does not say which deadline; it is that of the value curve, and an option
/// selects its initial or final one.
pub const EDF: BidPolicyRow = BidPolicyRow {
    name: "edf",
    about: "the earliest deadline of the job",
    unit: BidUnit::Number,
    build: |market, _| {
        let deadline = market.edf;
        Formula::boxed(Winner::Smallest, Trend::Fixed, move |bidder, at| deadline_ticks(deadline, bidder, at))
    },
};

/// P-SLR: the largest projected SLR, with a bonus for tasks that have waited longer than the longest queued job would
/// run.
pub const P_SLR: BidPolicyRow = BidPolicyRow {
    name: "p-slr",
    about: "the largest projected SLR, with a quadratic term against starvation",
    unit: BidUnit::Number,
    build: |_, _| Formula::boxed(Winner::Largest, Trend::Rising, slr_with_bonus),
};

/// PV: the largest projected value.
pub const PV: BidPolicyRow = BidPolicyRow {
    name: "pv",
    about: "the largest projected value",
    unit: BidUnit::Number,
    build: |_, _| Formula::boxed(Winner::Largest, Trend::Falling, |bidder, at| bidder.projected_value(at)),
};

/// PVD: the largest projected value per remaining work.
pub const PVD: BidPolicyRow = BidPolicyRow {
    name: "pvd",
    about: "the largest projected value per remaining core-tick",
    unit: BidUnit::Number,
    build: |_, _| Formula::by_density(value_density),
};

/// PVDSQ: the squared density of projected value.
///
/// Taken literally this orders tasks as PVD does, as no density is negative, though the paper reports other results for
/// it. Squaring only the remaining work gives the behaviour that the paper describes, and is the default.
pub const PVDSQ: BidPolicyRow = BidPolicyRow {
    name: "pvdsq",
    about: "the largest projected value per remaining core-tick squared",
    unit: BidUnit::Number,
    build: |market, _| {
        let squared = market.pvdsq;
        Formula::by_density(move |bidder, at| match squared {
            Pvdsq::ResourceSquared => value_density(bidder, at) / bidder.successor_work,
            Pvdsq::Literal => value_density(bidder, at) * value_density(bidder, at),
        })
    },
};

/// PVR: the smallest projected remaining value, the area under the rest of the value curve. A task that can no longer
/// earn anything goes first; the removal of jobs limits the harm.
pub const PVR: BidPolicyRow = BidPolicyRow {
    name: "pvr",
    about: "the smallest projected remaining value",
    unit: BidUnit::Number,
    build: |market, _| {
        let units = market.pvr;
        Formula::boxed(Winner::Smallest, Trend::Falling, move |bidder, at| remaining_value(units, bidder, at))
    },
};

/// A policy that is its formula, which is inlined where a queue asks for bids.
struct Formula<F> {
    winner: Winner,
    trend: Trend,
    weighs_successors: bool,
    bid: F,
}

impl<F: Fn(&Bidder<'_>, &Instant) -> f64 + Send + 'static> Formula<F> {
    fn boxed(winner: Winner, trend: Trend, bid: F) -> Box<dyn BidPolicy> {
        Box::new(Formula { winner, trend, weighs_successors: false, bid })
    }

    /// The largest value in relation to the work that depends on a task.
    fn by_density(bid: F) -> Box<dyn BidPolicy> {
        Box::new(Formula { winner: Winner::Largest, trend: Trend::Falling, weighs_successors: true, bid })
    }
}

impl<F: Fn(&Bidder<'_>, &Instant) -> f64 + Send> BidPolicy for Formula<F> {
    fn compute_bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64 {
        (self.bid)(bidder, at)
    }

    fn winner_rule(&self) -> Winner {
        self.winner
    }

    fn bid_trend(&self) -> Trend {
        self.trend
    }

    fn weighs_successors(&self) -> bool {
        self.weighs_successors
    }
}

/// Deadline in ticks; infinite for a job without a value curve.
fn deadline_ticks(deadline: EdfDeadline, bidder: &Bidder<'_>, at: &Instant) -> f64 {
    let Some(worth) = &bidder.job.worth else { return f64::INFINITY };
    let slr = match deadline {
        EdfDeadline::Initial => worth.curve.initial(),
        EdfDeadline::Final => worth.curve.final_(),
    };
    span_ticks(bidder.job.arrive.since(Time::ZERO), at.tick) + slr * span_ticks(bidder.critical_path, at.tick)
}

/// One tick is added to the projected SLR, so that of two critical tasks that arrive together the smaller one goes
/// first.
fn slr_with_bonus(bidder: &Bidder<'_>, at: &Instant) -> f64 {
    let age = bidder.age(at);
    let slr = (bidder.rank + age + at.tick).micros() as f64 / bidder.critical_path.micros() as f64;
    let starved = (age.micros() / at.longest_path.micros()) as f64;
    slr + starved * starved
}

fn value_density(bidder: &Bidder<'_>, at: &Instant) -> f64 {
    bidder.projected_value(at) / bidder.successor_work
}

/// Remaining value; infinite for a job without a value curve, which can wait for ever.
fn remaining_value(units: Pvr, bidder: &Bidder<'_>, at: &Instant) -> f64 {
    let Some(worth) = &bidder.job.worth else { return f64::INFINITY };
    let remaining = worth.curve.remaining(bidder.projected_slr(at));
    match units {
        Pvr::Value => worth.max * remaining,
        Pvr::Factor => remaining,
    }
}
