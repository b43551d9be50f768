//! Fields of the records of negotiations.
//!
//! A slot is a list `[start, lasts, procs, rate, fee, divisible, extensible]`, an offer is `[start, fee]`. Fees and
//! rents are processor-seconds, rates thousandths of the price of best effort.

use crate::referee::events::{Cursor, EventReader, EventWriter, Field, Unreadable, put_key, put_list};
use hansa_sim::decimal::{put_number, put_seconds};
use hansa_sim::grid::{Area, BookingId, HoldId, Offer, Part, Rate, Receipt, Slot};
use hansa_sim::protocol::{Bargain, Fault, HoldFate, Reason, Refusal};
use hansa_sim::time::{Span, Time};

/// Fields that are left out where there is nothing.
macro_rules! optional {
    ($($kind:ident)*) => {$(
        impl Field for Option<$kind> {
            fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
                if let Some(field) = self {
                    field.put_field(key, writer, line);
                }
            }

            fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Option<$kind>, Unreadable> {
                if at.is_at_key(key) { $kind::read_field(key, reader, at).map(Some) } else { Ok(None) }
            }
        }
    )*};
}

optional! { Area Reason }

impl Field for BookingId {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        self.0.put_field(key, writer, line);
    }

    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<BookingId, Unreadable> {
        u64::read_field(key, reader, at).map(BookingId)
    }
}

/// As `"12.1.0"`: request, attempt, leg.
impl Field for HoldId {
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        line.extend_from_slice(format!("\"{self}\"").as_bytes());
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<HoldId, Unreadable> {
        at.key(key)?;
        at.parsed("a hold as \"request.attempt.leg\"", |text| {
            let (request, rest) = text.split_once('.')?;
            let (attempt, leg) = rest.split_once('.')?;
            Some(HoldId { request: request.parse().ok()?, attempt: attempt.parse().ok()?, leg: leg.parse().ok()? })
        })
    }
}

/// Under keys of its own.
impl Field for Part {
    fn put_field(&self, _: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        self.procs.put_field("procs", writer, line);
        self.start.put_field("start", writer, line);
        self.span.put_field("lasts", writer, line);
    }

    fn read_field(_: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Part, Unreadable> {
        let procs = Field::read_field("procs", reader, at)?;
        let start = Field::read_field("start", reader, at)?;
        Ok(Part { procs, start, span: Field::read_field("lasts", reader, at)? })
    }
}

/// Under keys of its own.
impl Field for Receipt {
    fn put_field(&self, _: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        self.booking.put_field("booking", writer, line);
        self.part.put_field("part", writer, line);
        self.rent.put_field("rent", writer, line);
        self.fee.put_field("fee", writer, line);
    }

    fn read_field(_: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Receipt, Unreadable> {
        let booking = Field::read_field("booking", reader, at)?;
        let part = Field::read_field("part", reader, at)?;
        let rent = Field::read_field("rent", reader, at)?;
        Ok(Receipt { booking, part, rent, fee: Field::read_field("fee", reader, at)? })
    }
}

impl Field for Vec<Offer> {
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_list(line, self, |line, offer| {
            line.push(b'[');
            put_seconds(line, offer.start.micros());
            line.push(b',');
            put_seconds(line, offer.fee.micros());
            line.push(b']');
        });
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<Vec<Offer>, Unreadable> {
        at.key(key)?;
        at.read_list(|at| {
            at.expect("[")?;
            let start = Time::from_micros(at.read_seconds()?);
            at.expect(",")?;
            let fee = Area::from_micros(at.read_seconds()?);
            at.expect("]")?;
            Ok(Offer { start, fee })
        })
    }
}

impl Field for Vec<Slot> {
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_list(line, self, |line, slot| {
            line.push(b'[');
            put_seconds(line, slot.start.micros());
            line.push(b',');
            put_seconds(line, slot.span.micros());
            line.push(b',');
            put_number(line, slot.procs.into());
            line.push(b',');
            put_number(line, slot.rate.0.into());
            line.push(b',');
            put_seconds(line, slot.fee.micros());
            line.extend_from_slice(if slot.divisible { b",true" } else { b",false" });
            line.extend_from_slice(if slot.extensible { b",true]" } else { b",false]" });
        });
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<Vec<Slot>, Unreadable> {
        at.key(key)?;
        at.read_list(|at| {
            at.expect("[")?;
            let start = Time::from_micros(at.read_seconds()?);
            at.expect(",")?;
            let span = Span::from_micros(at.read_seconds()?);
            at.expect(",")?;
            let procs = at.read_number()?;
            at.expect(",")?;
            let rate = Rate(at.read_number()?);
            at.expect(",")?;
            let fee = Area::from_micros(at.read_seconds()?);
            at.expect(",")?;
            let divisible = at.read_number()?;
            at.expect(",")?;
            let extensible = at.read_number()?;
            at.expect("]")?;
            Ok(Slot { start, procs, span, rate, fee, divisible, extensible })
        })
    }
}

/// Words of a table, each for a variant.
macro_rules! fields {
    ($($kind:ident, $what:literal;)*) => {$(
        impl Field for $kind {
            fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
                put_key(line, key);
                line.push(b'"');
                line.extend_from_slice(self.word().as_bytes());
                line.push(b'"');
            }

            fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<$kind, Unreadable> {
                at.key(key)?;
                at.parsed($what, |text| $kind::ALL.iter().find(|(word, ..)| *word == text).map(|(_, kind, _)| *kind))
            }
        }
    )*};
}

fields! {
    Refusal, "why something was denied";
    HoldFate, "what became of a hold";
    Bargain, "what came of bargaining";
    Reason, "why bargaining came to nothing";
    Fault, "what a site has done";
}
