//! Terms of sites and approaches of users in the negotiation for time.

use serde::Serialize;

use super::{Area, Rate, Tariff};
use crate::time::Span;
use crate::words::words;

/// Conditions on which a site sells its processors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Terms {
    pub mode: PlanMode,
    /// Price of a processor-second, in millionths.
    pub price_millionths: u64,
    /// Prices by time of day, which replace that one; empty if there are none.
    pub prices: Vec<PriceStep>,
    /// Fixed part of the fee of each booking.
    pub charge: Area,
    /// Fraction of the surcharge that is lost when a booking is cancelled, in millionths.
    pub cancelled_millionths: u64,
    /// Fraction of its rent that the rest of a booking costs when it is handed back, in millionths; None if the site
    /// does not take it back.
    pub handing_back_millionths: Option<u64>,
    /// Type of the slots that end where something planned or booked begins.
    pub inner_slots: InnerSlots,
    /// Type of the slots after which nothing is planned or booked.
    pub edge_slots: EdgeSlots,
    /// Longest accepted run.
    pub longest: Option<Span>,
}

words! {
    /// Maintenance of a site's plan.
    #[derive(Default)]
    PlanMode {
        /// Planned starts stay: for jobs that run exactly as long as they request.
        Exact = "exact",
        /// The plan is rebuilt at every arrival, end, booking and cancellation.
        #[default]
        Rebuild = "rebuild",
    }
    /// Parts of an inner slot that may be taken; such a slot ends where something planned or booked begins.
    #[derive(Default)]
    InnerSlots {
        /// All processors for the whole time.
        #[default]
        Whole = "whole",
        /// Fewer processors, a later start or an earlier end.
        Divisible = "divisible",
    }
    /// Parts of an edge slot that may be taken; nothing comes after such a slot, and it is advertised up to a horizon.
    #[derive(Default)]
    EdgeSlots {
        /// Fewer processors, a later start, and any end.
        #[default]
        Open = "open",
        /// Fewer processors, a later start or an earlier end.
        Divisible = "divisible",
        /// All processors from the start on, until the end or longer.
        Extensible = "extensible",
        /// All processors for the whole time.
        Whole = "whole",
    }
}

/// A price from a time of day on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PriceStep {
    pub from: Span,
    pub price_millionths: u64,
}

/// The price of best effort.
const PRICE: u64 = 1_000_000;

impl Terms {
    /// Prices by time of day, in thousandths of that of best effort.
    pub fn tariff(&self) -> Tariff {
        match &self.prices[..] {
            [] => Tariff::flat(rate_in_thousandths(self.price_millionths)),
            steps => Tariff::by_day(
                steps.iter().map(|step| (step.from, rate_in_thousandths(step.price_millionths))).collect(),
            ),
        }
    }
}

fn rate_in_thousandths(millionths: u64) -> Rate {
    Rate(u32::try_from(millionths / 1_000).unwrap_or(u32::MAX))
}

impl Default for PriceStep {
    fn default() -> PriceStep {
        PriceStep { from: Span::ZERO, price_millionths: PRICE }
    }
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            mode: PlanMode::default(),
            price_millionths: PRICE,
            prices: Vec::new(),
            charge: Area::ZERO,
            cancelled_millionths: 100_000,
            handing_back_millionths: None,
            inner_slots: InnerSlots::default(),
            edge_slots: EdgeSlots::default(),
            longest: None,
        }
    }
}

/// Approach of a user to getting time from sites.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Approach {
    /// Name of the strategy; empty where there is no negotiation.
    pub strategy: String,
    /// Weight of the cost in the user's objective; the end of the job has the rest. From 0 to 1.
    pub alpha: f64,
    /// Lead time between the arrival of a job and its wanted start; None if it has none.
    pub ahead: Option<Span>,
    /// Time from the arrival of a job by which it must have ended; None if it may end at any time.
    pub deadline: Option<Span>,
    /// The most that the bookings of a job may cost; None if there is no limit.
    pub budget: Option<Area>,
    /// Sites where the parts of a job run at the same time, as indices into the topology's.
    pub legs: Vec<usize>,
    pub crash: Option<Crash>,
}

/// Crash of a user's process, which restarts with only its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Crash {
    pub at: Span,
    pub lasts: Span,
}

impl Default for Approach {
    fn default() -> Approach {
        Approach {
            strategy: String::new(),
            alpha: 0.5,
            ahead: None,
            deadline: None,
            budget: None,
            legs: Vec::new(),
            crash: None,
        }
    }
}
