//! What a site says about its slots: what it advertises, what it quotes, and why it refuses.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Area, BadPart, Part, Rate, Slot};
use crate::time::{Span, Time};

/// All free slots of a site, at a version of its list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advert {
    pub version: u64,
    pub slots: Vec<Slot>,
}

/// A start that a site offers, at a fee beside the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub start: Time,
    pub fee: Area,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QuoteId(pub u64);

/// What a site asks for so many processors for so long, start by start. It holds to it for a while, as long as the
/// processors are there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    pub id: QuoteId,
    /// From then on it is worth nothing.
    pub expiry: Time,
    pub procs: u32,
    pub span: Span,
    pub rate: Rate,
    /// Ascending by start; none where nothing is admissible.
    pub offers: Vec<Offer>,
}

/// What is booked at a site, by the site's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BookingId(pub u64);

/// What has been booked, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub booking: BookingId,
    pub part: Part,
    /// The rate times the area.
    pub rent: Area,
    pub fee: Area,
}

/// One leg of one attempt to get a start at several sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HoldId {
    pub request: u64,
    pub attempt: u32,
    pub leg: u32,
}

/// A site holds what it was asked to until then, and would charge this fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub hold: HoldId,
    pub expiry: Time,
    pub fee: Area,
}

/// Why a site does not do what it is asked to.
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
    /// Whether it would have been right a little earlier.
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
    /// What it costs to begin at an offered start.
    pub fn cost(&self, offer: &Offer) -> Area {
        Area::of(self.procs, self.span).at(self.rate) + offer.fee
    }
}
