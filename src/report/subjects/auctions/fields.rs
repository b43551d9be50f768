//! Fields of the records of auctions.
//!
//! An offer is a list `["york",12]`, a bid `["12.3",0.5,"won","york"]` or `["12.3",0.5,"behind"]`. An infinite bid is a
//! text, `"inf"` or `"-inf"`, since JSON has no number for it.

use crate::referee::events::{Cursor, EventReader, EventWriter, Field, Unreadable, put_key, put_list, put_name};
use hansa_sim::decimal::{put_float, put_number, put_number_and};
use hansa_sim::grid::{JobId, TaskId};
use hansa_sim::protocol::{BidOutcome, CoreOffer, LossReason, TaskBid};

impl Field for Vec<CoreOffer> {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_list(line, self, |line, offer| {
            line.push(b'[');
            put_name(line, &writer.actors, offer.site.0);
            line.push(b',');
            put_number(line, offer.cores.into());
            line.push(b']');
        });
    }

    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Vec<CoreOffer>, Unreadable> {
        at.key(key)?;
        at.read_list(|at| {
            at.expect("[")?;
            let site = reader.read_actor(at)?;
            at.expect(",")?;
            let cores = at.read_number()?;
            at.expect("]")?;
            Ok(CoreOffer { site, cores })
        })
    }
}

impl Field for Vec<TaskBid> {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_list(line, self, |line, TaskBid { task, bid, outcome }| {
            line.extend_from_slice(b"[\"");
            put_number_and(line, task.job.0.into(), b'.');
            put_number_and(line, task.index.into(), b'"');
            line.push(b',');
            put_bid(line, *bid);
            line.extend_from_slice(b",\"");
            line.extend_from_slice(outcome.word().as_bytes());
            line.push(b'"');
            if let BidOutcome::Won(site) = outcome {
                line.push(b',');
                put_name(line, &writer.actors, site.0);
            }
            line.push(b']');
        });
    }

    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Vec<TaskBid>, Unreadable> {
        at.key(key)?;
        at.read_list(|at| {
            at.expect("[")?;
            let task = at.parsed("a task as \"job.task\"", |text| {
                let (job, index) = text.split_once('.')?;
                Some(TaskId { job: JobId(job.parse().ok()?), index: index.parse().ok()? })
            })?;
            at.expect(",")?;
            let bid = read_bid(at)?;
            at.expect(",")?;
            let outcome = read_outcome(reader, at)?;
            at.expect("]")?;
            Ok(TaskBid { task, bid, outcome })
        })
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
