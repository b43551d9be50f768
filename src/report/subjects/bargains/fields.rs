//! Fields of the records of negotiations.
//!
//! A slot is a list `[start, lasts, procs, rate, fee, divisible, extensible]`, an offer is `[start, fee]`. Fees and
//! rents are processor-seconds, rates thousandths of the price of best effort.

use crate::referee::events::{Cursor, EventReader, EventWriter, LineValue, Unreadable, groups, put_word, rows};
use hansa_sim::grid::{HoldId, Offer, Part, Receipt, Slot};
use hansa_sim::protocol::{Bargain, Fault, HoldFate, Reason, Refusal};

/// Written as `"12.1.0"`: request, attempt, leg.
impl LineValue for HoldId {
    fn put_value(&self, _: &EventWriter, line: &mut Vec<u8>) {
        line.extend_from_slice(format!("\"{self}\"").as_bytes());
    }

    fn read_value(_: &EventReader, at: &mut Cursor<'_>) -> Result<HoldId, Unreadable> {
        at.parsed("a hold as \"request.attempt.leg\"", |text| {
            let (request, rest) = text.split_once('.')?;
            let (attempt, leg) = rest.split_once('.')?;
            Some(HoldId { request: request.parse().ok()?, attempt: attempt.parse().ok()?, leg: leg.parse().ok()? })
        })
    }
}

groups! {
    Part { procs: "procs", start: "start", span: "lasts" }
    Receipt { booking: "booking", part: "part", rent: "rent", fee: "fee" }
}

rows! {
    Offer { start, fee }
    Slot { start, span, procs, rate, fee, divisible, extensible }
}

/// Words of a table, each for a variant.
macro_rules! words {
    ($($kind:ident, $what:literal;)*) => {$(
        impl LineValue for $kind {
            fn put_value(&self, _: &EventWriter, line: &mut Vec<u8>) {
                put_word(line, self.word());
            }

            fn read_value(_: &EventReader, at: &mut Cursor<'_>) -> Result<$kind, Unreadable> {
                at.parsed($what, |text| $kind::ALL.iter().find(|(word, ..)| *word == text).map(|(_, kind, _)| *kind))
            }
        }
    )*};
}

words! {
    Refusal, "why something was denied";
    HoldFate, "what became of a hold";
    Bargain, "what came of bargaining";
    Reason, "why bargaining came to nothing";
    Fault, "what a site has done";
}
