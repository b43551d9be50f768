//! Messages of sites about slots: advertisements, quotes and refusals.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Area, BadPart, Part, Slot, Tariff};
use crate::time::{Span, Time};

/// All free slots of a site, at a version of its list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advert {
    pub version: u64,
    pub tariff: Tariff,
    pub slots: Vec<Slot>,
}

/// A start offered by a site, at a fee in addition to the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub start: Time,
    pub fee: Area,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QuoteId(pub u64);

/// Prices of a site for a number of processors and a span, by start. Valid for a while, as long as the processors are
/// free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    pub id: QuoteId,
    /// End of validity.
    pub expiry: Time,
    pub procs: u32,
    pub span: Span,
    pub tariff: Tariff,
    /// Ascending by start; empty if no start is admissible.
    pub offers: Vec<Offer>,
}

/// Number of a booking, assigned by its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BookingId(pub u64);

/// A booking and its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub booking: BookingId,
    pub part: Part,
    /// Price of the processors for the booked time, at the prices of these times of day.
    pub rent: Area,
    pub fee: Area,
}

/// One leg of one attempt to get a common start at several sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HoldId {
    pub request: u64,
    pub attempt: u32,
    pub leg: u32,
}

/// Answer to a hold: the site holds the processors until `expiry`, and would charge this fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub hold: HoldId,
    pub expiry: Time,
    pub fee: Area,
}

/// Reason of a site's refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Denial {
    #[error("not a part of the slot that may be taken: {0}")]
    BadPart(BadPart),
    #[error("stale: the slot no longer exists")]
    SlotGone,
    #[error("stale: the quote has expired, or there never was one")]
    QuoteGone,
    #[error("stale: what was quoted has been booked by another user")]
    QuoteOvertaken,
    #[error("the quote does not offer this start")]
    NotOffered,
    #[error("there is no such slot in what was advertised")]
    NoSuchSlot,
    #[error("the site has only {0} processors")]
    TooLarge(u32),
    #[error("running jobs and reservations leave too few processors at some time of it")]
    NoRoom,
    #[error("it would start in the past")]
    InPast,
    #[error("the hold has ended: it was released, or its lease was over")]
    HoldOver,
    #[error("nothing is booked under this number")]
    NotBooked,
    #[error("a job with this number exists already")]
    Duplicate,
    #[error("the site runs nothing for longer than {0}")]
    TooLong(Span),
    #[error("a task runs in it")]
    InUse,
    #[error("nodes of the site fail, but the submission excludes that")]
    NotSafe,
}

impl fmt::Display for BookingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `12.1.0`: request, attempt, leg.
impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.request, self.attempt, self.leg)
    }
}

impl Denial {
    /// True if it was valid a little earlier.
    pub fn is_stale(&self) -> bool {
        matches!(self, Denial::SlotGone | Denial::QuoteGone | Denial::QuoteOvertaken)
    }
}

impl From<BadPart> for Denial {
    fn from(bad: BadPart) -> Denial {
        Denial::BadPart(bad)
    }
}

impl Receipt {
    pub fn total(&self) -> Area {
        self.rent + self.fee
    }
}

impl Quote {
    /// Cost of an offered start.
    pub fn cost(&self, offer: &Offer) -> Area {
        self.tariff.cost(&Part { procs: self.procs, start: offer.start, span: self.span }) + offer.fee
    }
}
