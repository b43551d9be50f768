//! Fields of the records of auctions.
//!
//! An offer is a list `["york",12]`, a bid `["12.3",0.5,"won","york"]` or `["12.3",0.5,"behind"]`. An infinite bid is a
//! text, `"inf"` or `"-inf"`, since JSON has no number for it.

use crate::referee::events::{Cursor, EventReader, EventWriter, LineValue, ListItem, Unreadable, put_word, rows};
use hansa_sim::decimal::put_float;
use hansa_sim::grid::TaskId;
use hansa_sim::protocol::{BidOutcome, CoreOffer, LossReason, TaskBid};

rows! { CoreOffer { site, cores } }

impl ListItem for TaskBid {}

impl LineValue for TaskBid {
    fn put_value(&self, writer: &EventWriter, line: &mut Vec<u8>) {
        let TaskBid { task, bid, outcome } = self;
        line.push(b'[');
        task.put_value(writer, line);
        line.push(b',');
        put_bid(line, *bid);
        line.push(b',');
        put_word(line, outcome.word());
        if let BidOutcome::Won(site) = outcome {
            line.push(b',');
            site.put_value(writer, line);
        }
        line.push(b']');
    }

    fn read_value(reader: &EventReader, at: &mut Cursor<'_>) -> Result<TaskBid, Unreadable> {
        at.expect("[")?;
        let task = TaskId::read_value(reader, at)?;
        at.expect(",")?;
        let bid = read_bid(at)?;
        at.expect(",")?;
        let outcome = read_outcome(reader, at)?;
        at.expect("]")?;
        Ok(TaskBid { task, bid, outcome })
    }
}

fn put_bid(line: &mut Vec<u8>, bid: f64) {
    match bid.is_finite() {
        true => put_float(line, bid),
        false => line.extend_from_slice(if bid > 0.0 { b"\"inf\"" } else { b"\"-inf\"" }),
    }
}

fn read_bid(at: &mut Cursor<'_>) -> Result<f64, Unreadable> {
    if !at.rest().starts_with('"') {
        return at.read_number();
    }
    at.parsed("a bid", |text| match text {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    })
}

fn read_outcome(reader: &EventReader, at: &mut Cursor<'_>) -> Result<BidOutcome, Unreadable> {
    let lost = at.parsed("the outcome of a bid", |text| match text {
        BidOutcome::WON => Some(None),
        word => LossReason::ALL.iter().find(|(name, ..)| *name == word).map(|(_, reason, _)| Some(*reason)),
    })?;
    match lost {
        Some(reason) => Ok(BidOutcome::Lost(reason)),
        None => {
            at.expect(",")?;
            reader.read_actor(at).map(BidOutcome::Won)
        }
    }
}
