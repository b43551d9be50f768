//! A slot: processors that a site offers for some time at a price, and the parts of it that may be taken.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Area, Rate};
use crate::time::{Span, Time};

/// Processors on offer from a start, for a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    pub start: Time,
    pub procs: u32,
    pub span: Span,
    /// The price at its start.
    pub rate: Rate,
    /// Fee that is paid once, for any part of the slot.
    pub fee: Area,
    /// True if fewer processors may be taken, or from a later start.
    pub divisible: bool,
    /// True if a longer time may be taken.
    pub extensible: bool,
}

/// A part of a slot or of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Part {
    pub procs: u32,
    pub start: Time,
    pub span: Span,
}

/// Reason why a part of a slot may not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum BadPart {
    #[error("a part has at least one processor")]
    NoProcessors,
    #[error("a part has a duration above zero")]
    NoTime,
    #[error("the slot has only {0} processors")]
    TooManyProcessors(u32),
    #[error("all {0} processors of the slot have to be taken: it is not divisible")]
    NotAllProcessors(u32),
    #[error("it begins before the slot does, at {0}")]
    TooEarly(Time),
    #[error("it does not begin with the slot, at {0}, which is not divisible")]
    NotAtStart(Time),
    #[error("it does not take the whole {0} of the slot, which is not divisible")]
    NotWhole(Span),
    #[error("it ends after the slot does, at {0}, which is not extensible")]
    TooLong(Time),
    #[error("its end is too late for a run")]
    TooLate,
}

impl Slot {
    /// End of the slot, if it is not extended.
    pub fn end(&self) -> Time {
        self.start + self.span
    }

    pub fn whole(&self) -> Part {
        Part { procs: self.procs, start: self.start, span: self.span }
    }

    /// Cost of the whole slot.
    pub fn cost(&self) -> Area {
        self.whole().area().cost_at(self.rate) + self.fee
    }

    /// Cost of a part, if it may be taken.
    pub fn cost_of(&self, part: &Part) -> Result<Area, BadPart> {
        self.check(part)?;
        Ok(part.area().cost_at(self.rate) + self.fee)
    }

    /// Divisible slots are cut in processors and in time, extensible ones last for as long as requested.
    pub fn check(&self, part: &Part) -> Result<(), BadPart> {
        part.check()?;
        if part.procs > self.procs {
            return Err(BadPart::TooManyProcessors(self.procs));
        }
        if part.start < self.start {
            return Err(BadPart::TooEarly(self.start));
        }
        if !self.divisible {
            if part.procs < self.procs {
                return Err(BadPart::NotAllProcessors(self.procs));
            }
            if part.start > self.start {
                return Err(BadPart::NotAtStart(self.start));
            }
            if part.span < self.span {
                return Err(BadPart::NotWhole(self.span));
            }
        }
        if !self.extensible && part.end() > self.end() {
            return Err(BadPart::TooLong(self.end()));
        }
        Ok(())
    }
}

/// Fee of each part that is taken out of slots at once: the fee of a slot is paid once, with the first of its parts.
pub fn fees_of(parts: &[(u32, Part)], fee: Area) -> Vec<Area> {
    let mut paid = BTreeSet::new();
    parts.iter().map(|(slot, _)| if paid.insert(*slot) { fee } else { Area::ZERO }).collect()
}

impl Part {
    pub fn end(&self) -> Time {
        self.start + self.span
    }

    pub fn area(&self) -> Area {
        Area::of(self.procs, self.span)
    }

    /// Checks that the part is not empty and ends.
    pub fn check(&self) -> Result<(), BadPart> {
        match self {
            Part { procs: 0, .. } => Err(BadPart::NoProcessors),
            Part { span, .. } if span.is_zero() => Err(BadPart::NoTime),
            _ if self.end() == Time::NEVER => Err(BadPart::TooLate),
            _ => Ok(()),
        }
    }
}
