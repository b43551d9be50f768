//! Encoding of messages: the one module that knows the encoding, which is bincode's.
//!
//! Every encoded message can be decoded: there is one limit, [`FRAME_MAX`], and it counts bytes. Types that no
//! message has, such as negative numbers, can be encoded, but are refused when they are decoded. Decoding is bounded
//! by the bytes that have arrived: a list that claims more elements than bytes are left is rejected before any
//! allocation for it, so a value takes up at most a few hundred times its bytes. Trailing bytes are an error, and no
//! input causes a panic.

mod reader;

use serde::Serialize;
use serde::de::DeserializeOwned;

use reader::Reader;

pub use reader::DecodeError;

/// Longest frame in bytes that may be written or read.
pub const FRAME_MAX: usize = 32 << 20;

/// Longest message or record in bytes. A frame with nothing else has room for it; longer frames can be split.
pub const MESSAGE_MAX: usize = FRAME_MAX - 256;

#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    #[error("cannot encode: {0}")]
    Encode(#[from] bincode::error::EncodeError),
    #[error("cannot decode: {0}")]
    Decode(#[from] DecodeError),
    #[error("{0} bytes left over after the message")]
    Trailing(usize),
    #[error("a frame of {0} bytes is longer than the {FRAME_MAX} that are allowed")]
    TooLong(usize),
}

/// Appends the encoding of `value` for another process to `bytes`.
pub fn encode_frame<T: Serialize>(value: &T, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
    let before = bytes.len();
    pack_value(value, bytes)?;
    match bytes.len() - before {
        length if length > FRAME_MAX => {
            bytes.truncate(before);
            Err(CodecError::TooLong(length))
        }
        _ => Ok(()),
    }
}

/// Length of the encoding of `value` in bytes, even if longer than a frame.
pub fn encoded_length<T: Serialize>(value: &T) -> Result<usize, CodecError> {
    let mut size = bincode::enc::write::SizeWriter::default();
    bincode::serde::encode_into_writer(value, &mut size, bincode::config::standard())?;
    Ok(size.bytes_written)
}

/// Decodes one value that takes up all of `bytes`.
pub fn decode_frame<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    if bytes.len() > FRAME_MAX {
        return Err(CodecError::TooLong(bytes.len()));
    }
    let mut reader = Reader { rest: bytes };
    let value = T::deserialize(&mut reader)?;
    match reader.rest.len() {
        0 => Ok(value),
        left => Err(CodecError::Trailing(left)),
    }
}

/// Appends the encoding of `value` for this process to `bytes`; no limit of length.
pub fn pack_value<T: Serialize>(value: &T, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
    bincode::serde::encode_into_std_write(value, bytes, bincode::config::standard())?;
    Ok(())
}

/// Decodes the output of [`pack_value`].
pub fn unpack_value<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    Ok(T::deserialize(&mut Reader { rest: bytes })?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::grid::{
        Advert, Area, BadPart, BookingId, Curve, Denial, Edge, EdgeId, HoldId, Invalid, Job, JobId, JobShape, Kind,
        Needs, NodeSet, Offer, Part, QuoteId, Rate, Receipt, SiteTime, SiteTimes, Slot, Staging, Tariff, Task, TaskId,
        Volumes, Worth,
    };
    use crate::kernel::{ActorId, Down, Up};
    use crate::protocol::any_entry::any_entry;
    use crate::protocol::handshake::Hello;
    use crate::protocol::{
        Answered, BidOutcome, Book, Booked, Cancel, CoreOffer, Ended, Enqueue, Hold, JobEnded, Lost, Message, Outcome,
        Provided, Queue, ReserveAnswer, SiteOffer,
    };
    use crate::protocol::{
        Bargain, Barred, Begun, Claim, Claimed, Concluded, Coordinate, Coordinated, Enter, Fault, HoldFate, Informed,
        Inquire, LossReason, Lot, Pledge, PledgeAnswer, Query, Reason, Refusal, Reply, Return, Returned,
    };
    use crate::protocol::{
        Landed, Postponed, Recall, Recalled, Record, Release, Reserve, Revoked, Run, Ship, Submit, TaskBid, Verdict,
        Withdraw,
    };
    use crate::time::{Span, Time};

    /// Crashes found by the fuzzers, which are errors now.
    #[test]
    fn hostile_lengths_are_refused_and_not_allocated() {
        // A frame of records, one of which claims a set of cores of about 2^58 runs.
        let cores: &[u8] = &[
            0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x03, 0x03, 0x03, 0x03, 0x03, 0x77, 0x03,
            0x03, 0x03, 0x09, 0x00, 0xf8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x03, 0x03, 0x03,
            0x03, 0x03, 0xfd, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfd, 0x03, 0x03, 0x03, 0x9f, 0x00, 0xf7, 0x00, 0x85,
        ];
        for end in 0..=cores.len() {
            assert!(decode_frame::<Up<Message, Record>>(&cores[..end]).is_err());
        }
        // A frame of mail that claims 2^64 - 1 messages.
        let mut mail = vec![0, 0, 0, 0xfd];
        mail.extend([0xff; 8]);
        assert!(decode_frame::<Down<Message>>(&mail).is_err());
    }

    /// A job without run times by site has the encoding that it had before there were any.
    #[test]
    fn a_job_ends_with_its_value_or_its_times() {
        let task = Task::new(Span::from_secs(1), 1, Kind(0));
        let id = JobId(7);
        let arrive = Time::from_micros(300);
        let edges = vec![Edge::new(0, 1)];
        let plain = Job { id, arrive, first_task: 9, tasks: vec![task; 2], edges, worth: None, times: None };
        let worth = Worth { max: 130.0, curve: Curve::new(2.0, 6.0, &[(3.0, 0.8)]).unwrap() };
        let time = |site, secs| SiteTime { site: ActorId(site), runtime: Span::from_secs(secs) };
        let times = SiteTimes::new(vec![vec![time(2, 4), time(1, 1)], Vec::new()]);
        assert_eq!(plain.check(), Ok(()));
        for worth in [None, Some(worth)] {
            for times in [None, times.clone()] {
                let job = Job { worth: worth.clone(), times: times.clone(), ..plain.clone() };
                let mut bytes = Vec::new();
                let mut packed = Vec::new();
                let mut before = Vec::new();
                encode_frame(&job, &mut bytes).unwrap();
                pack_value(&job, &mut packed).unwrap();
                assert_eq!(bytes, packed);
                assert_eq!(
                    (decode_frame(&bytes).ok(), unpack_value(&bytes).ok()),
                    (Some(job.clone()), Some(job.clone()))
                );
                let Job { id, arrive, first_task, tasks, edges, .. } = &job;
                pack_value(&(id, arrive, first_task, tasks, edges, &worth), &mut before).unwrap();
                assert_eq!(bytes == before, times.is_none(), "{job:?}");
            }
        }
    }

    /// A second encoding reads equal values: no message depends on this one's peculiarities.
    #[test]
    fn every_message_and_record_survives_two_encodings() {
        let worth = Worth { max: 130.0, curve: Curve::new(2.0, 6.0, &[(3.0, 0.8), (5.0, 0.4)]).unwrap() };
        let task = Task::new(Span::from_minutes(6), 3, Kind(1));
        let edges = vec![Edge::new(0, 1)];
        let id = JobId(7);
        let arrive = Time::from_micros(u64::MAX / 3);
        let job =
            Arc::new(Job { id, arrive, first_task: 9, tasks: vec![task; 2], edges, worth: Some(worth), times: None });
        let user = ActorId(4);
        let site = ActorId(1);
        let task = TaskId { job: id, index: 1 };
        let cores = NodeSet::try_from(vec![(0, 3), (7, 7), (9, u32::MAX)]).unwrap();
        let accepted = ReserveAnswer::Accepted { site, start: arrive, nodes: cores.clone() };
        let part = Part { procs: 3, start: arrive, span: Span::MAX };
        let rate = Rate(1_500);
        let fee = Area::from_micros(9);
        let slot = Slot { start: arrive, procs: 3, span: Span::MAX, rate, fee, divisible: true, extensible: false };
        let receipt = Receipt { booking: BookingId(9), part, rent: fee, fee };
        let hold = HoldId { request: 7, attempt: 1, leg: 2 };
        let shape = JobShape { nodes: u32::MAX, duration: Span::MAX, runtime: Span::ZERO };
        let messages = [
            Message::Submit(Submit { job: job.clone() }),
            Message::Outcome(Outcome { job: id, verdict: Verdict::Removed }),
            Message::Run(Run { task, cores: 3, runtime: Span::MAX, safe: Some(Span::ZERO), planned: cores.clone() }),
            Message::Ended(Ended { task, started: Time::ZERO }),
            Message::Reserve(Reserve {
                job: job.clone(),
                ready: arrive,
                deadline: Time::NEVER,
                shapes: vec![shape; 2],
                staging: None,
            }),
            Message::Cancel(Cancel { job: id }),
            Message::Answered(Answered { job: id, answer: ReserveAnswer::Invalid(Invalid::Duplicate) }),
            Message::Hold(Hold {
                task,
                start: arrive,
                nodes: cores.clone(),
                runtime: Span::MAX,
                walltime: Span::MAX,
                safe: Some(Span::ZERO),
            }),
            Message::Withdraw(Withdraw { task }),
            Message::Enqueue(Enqueue {
                job: job.clone(),
                site: Some(site),
                kind: Some(Kind(u16::MAX)),
                think: Some(Span::MAX),
                needs: Some(Needs { cpu: 0.1, memory: 1e-9 }),
                staging: Some(Staging { volumes: Volumes { input: u64::MAX, output: 0 }, home: 3 }),
            }),
            Message::Queue(Queue {
                job: id,
                nodes: 3,
                walltime: Span::MAX,
                runtime: Span::from_minutes(6),
                losses: 2,
                safe: Some(Span::ZERO),
            }),
            Message::Lost(Lost { task, started: Time::ZERO, saved: Span::MAX }),
            Message::SiteOffer(SiteOffer { idle: 1, waiting: u32::MAX, received: u64::MAX }),
            Message::JobEnded(JobEnded { job: id, think: Span::ZERO }),
            Message::Ship(Ship {
                load: 7,
                from: 1,
                to: 0,
                bytes: u64::MAX,
                edge: EdgeId { job: id, from: 0, to: 1 },
                on_behalf: true,
            }),
            Message::Landed(Landed { load: 7 }),
            Message::Book(Book {
                task,
                start: arrive,
                nodes: cores.clone(),
                walltime: Span::MAX,
                runtime: Span::from_minutes(6),
                awaits_input: true,
            }),
            Message::Provided(Provided { task }),
            Message::Booked(Booked { task, granted: false, free: cores.clone() }),
            Message::Recall(Recall { task }),
            Message::Recalled(Recalled { task, in_time: false, losses: 3 }),
            Message::Release(Release { task }),
            Message::Inquire(Inquire {
                number: 3,
                query: Query::Chances { work: part, step: Span::MAX },
                quiet_for: Span::from_minutes(6),
            }),
            Message::Informed(Informed {
                number: 3,
                reply: Reply::Slots(Advert { version: 7, tariff: Tariff::flat(Rate(7)), slots: vec![slot] }),
                quiet_for: Span::ZERO,
            }),
            Message::Informed(Informed {
                number: 3,
                reply: Reply::Chances(vec![0.25, 1.0 / 3.0]),
                quiet_for: Span::MAX,
            }),
            Message::Claim(Claim { number: 4, job: id, lot: Lot::Slots { version: 7, parts: vec![(2, part)] } }),
            Message::Claimed(Claimed { number: 4, result: Ok(vec![receipt]) }),
            Message::Claimed(Claimed { number: 4, result: Err(Denial::BadPart(BadPart::TooEarly(arrive))) }),
            Message::Return(Return { booking: BookingId(9) }),
            Message::Returned(Returned { booking: BookingId(9), result: Ok(Area::from_micros(5)) }),
            Message::Enter(Enter {
                task,
                procs: 3,
                walltime: Span::MAX,
                runtime: Span::ZERO,
                not_before: arrive,
                within: vec![(BookingId(9), 3)],
                reports_start: true,
                losses: 2,
                may_be_lost: true,
                ends_quietly: false,
            }),
            Message::Concluded(Concluded { task }),
            Message::Barred(Barred { task, why: Denial::Duplicate }),
            Message::Begun(Begun { task }),
            Message::Revoked(Revoked { job: id, booking: BookingId(9) }),
            Message::Postponed(Postponed { job: id, receipt }),
            Message::Coordinate(Coordinate { hold, pledge: Pledge::Hold { part, quote: Some(QuoteId(5)) } }),
            Message::Coordinated(Coordinated { hold, answer: PledgeAnswer::Granted { expiry: arrive, fee } }),
        ];
        let records = [
            Record::Arrived { job: job.clone(), user },
            Record::Refused { job: job.clone(), user, task: 1 },
            Record::NotAdmitted { job: job.clone(), user },
            Record::Rejected { job, user, why: Invalid::TooManyNodes },
            Record::Killed { task },
            Record::Assigned { task, site },
            Record::Started { task, cores: cores.clone() },
            Record::Suspended { task },
            Record::Resumed { task, cores: cores.clone() },
            Record::Moved { task, cores: cores.clone() },
            Record::Shared { task, share: 2.0 / 3.0 },
            Record::Finished { task },
            Record::Completed { job: id, value: Some(0.1 + 0.2) },
            Record::Removed { job: id },
            Record::Answered { job: id, ready: arrive, deadline: Time::NEVER, answer: accepted },
            Record::Answered { job: id, ready: arrive, deadline: arrive, answer: ReserveAnswer::Declined },
            Record::Cancelled { job: id },
            Record::Advertised { user, version: 7, slots: vec![slot; 2] },
            Record::Quoted { user, procs: 3, span: Span::MAX, offers: vec![Offer { start: arrive, fee }] },
            Record::Booked { user, job: id, receipt },
            Record::Held { user, hold, part, fee, expiry: arrive },
            Record::Denied { user, job: id, why: Refusal::Stale },
            Record::Returned { booking: BookingId(9), used: fee, penalty: Some(fee) },
            Record::Elapsed { booking: BookingId(9), used: fee },
            Record::Revoked { booking: BookingId(9), used: fee, paid: fee, compensation: fee },
            Record::Postponed { receipt },
            Record::HandedBack { booking: BookingId(9), used: fee, refund: fee, penalty: fee },
            Record::Dropped { task },
            Record::Settled { hold, fate: HoldFate::Expired },
            Record::Bargained { job: id, end: Bargain::GivenUp, why: Some(Reason::NoChance) },
            Record::Bargained { job: id, end: Bargain::Booked, why: None },
            Record::Entered { user, task },
            Record::Accused { site, fault: Fault::Senseless },
            Record::Down { cores: cores.clone(), since: arrive },
            Record::Up { cores: cores.clone(), since: arrive },
            Record::Lost { task, saved: Span::MAX },
            Record::Checkpointed { task, times: u64::MAX, spent: Span::ZERO },
            Record::Rebooked { job: id, site, start: arrive, until: Time::NEVER, nodes: cores.clone() },
            Record::Malleable { job: id, shapes: vec![shape; 2] },
            Record::Shaped { job: id, shape: 1 },
            Record::Broken { job: id, compensation: fee },
            Record::Shipped {
                user,
                edge: EdgeId { job: id, from: 0, to: 1 },
                from: site,
                to: site,
                bytes: u64::MAX,
                active: arrive,
            },
            Record::Needs { job: id, needs: Needs { cpu: 0.1 + 0.2, memory: 1.0 } },
            Record::Auctioned {
                offers: vec![CoreOffer { site, cores: u32::MAX }],
                bids: vec![
                    TaskBid { task, bid: f64::INFINITY, outcome: BidOutcome::Won(site) },
                    TaskBid { task, bid: 0.1 + 0.2, outcome: BidOutcome::Lost(LossReason::Behind) },
                ],
            },
            Record::Offered { idle: u32::MAX, waiting: 1, received: u64::MAX },
        ];
        messages.iter().for_each(twice);
        records.iter().for_each(twice);
    }

    fn twice<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
        let mut bytes = Vec::new();
        encode_frame(value, &mut bytes).unwrap();
        assert_eq!(&decode_frame::<T>(&bytes).unwrap(), value);
        assert_eq!(&postcard::from_bytes::<T>(&postcard::to_stdvec(value).unwrap()).unwrap(), value);
    }

    #[test]
    fn what_is_too_long_is_refused_on_both_sides() {
        let long = vec![0u8; FRAME_MAX + 1];
        assert!(matches!(encode_frame(&long, &mut Vec::new()), Err(CodecError::TooLong(_))));
        assert!(matches!(decode_frame::<Vec<u8>>(&long), Err(CodecError::TooLong(_))));
        assert!(matches!(decode_frame::<u8>(&[1, 2]), Err(CodecError::Trailing(1))));
    }

    /// The one reason for a reader of our own: what may be written may be read, though each byte may become a word.
    #[test]
    fn what_is_within_the_limit_on_one_side_is_so_on_the_other() {
        for length in [FRAME_MAX / 8 - 5, FRAME_MAX / 8 + 1, FRAME_MAX - 5] {
            let mut bytes = Vec::new();
            encode_frame(&vec![7u64; length], &mut bytes).unwrap();
            assert_eq!(bytes.len(), length + 5);
            assert_eq!(decode_frame::<Vec<u64>>(&bytes).unwrap(), vec![7u64; length]);
        }
        assert!(matches!(encode_frame(&vec![7u64; FRAME_MAX - 4], &mut Vec::new()), Err(CodecError::TooLong(_))));
    }

    /// The error is that of the list, before its first element is read, let alone allocated.
    #[test]
    fn a_list_is_held_against_the_bytes_that_are_left() {
        let refused = |bytes: &[u8], claimed, left| {
            let expected = DecodeError::Length { claimed, left };
            assert!(matches!(decode_frame::<Vec<u64>>(bytes), Err(CodecError::Decode(error)) if error == expected));
            assert!(matches!(decode_frame::<String>(bytes), Err(CodecError::Decode(error)) if error == expected));
        };
        refused(&[3, 1, 1], 3, 2);
        refused(&[251, 0, 1, 9], 256, 1);
        refused(&[253, 255, 255, 255, 255, 255, 255, 255, 255], u64::MAX, 0);
        // A hello that claims a name of 2^40 bytes.
        let name = [1, 1, 253, 0, 0, 0, 0, 0, 1, 0, 0, b'y'];
        let error = decode_frame::<Hello>(&name).unwrap_err();
        assert!(matches!(error, CodecError::Decode(DecodeError::Length { claimed: 0x100_0000_0000, left: 1 })));
    }

    #[test]
    fn what_no_message_has_cannot_be_unpacked() {
        fn refused<T: Serialize + DeserializeOwned>(value: &T) -> bool {
            let mut bytes = Vec::new();
            pack_value(value, &mut bytes).unwrap();
            matches!(unpack_value::<T>(&bytes), Err(CodecError::Decode(DecodeError::Foreign | DecodeError::Value(_))))
        }
        assert!(refused(&'y') && refused(&-1) && refused(&std::collections::BTreeMap::from([(1, 2)])));
        assert!(refused(&1_u128));
    }

    /// Compares with bincode's own reader, where neither limit applies.
    fn agree<T: DeserializeOwned + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
        let judge = bincode::serde::decode_from_slice::<T, _>(bytes, bincode::config::standard());
        let judge = judge.ok().filter(|(_, used)| *used == bytes.len()).map(|(value, _)| value);
        assert_eq!(decode_frame::<T>(bytes).ok(), judge, "{bytes:?}");
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(entry in any_entry()) {
            let mut bytes = Vec::new();
            pack_value(&entry, &mut bytes).unwrap();
            prop_assert_eq!(encoded_length(&entry).unwrap(), bytes.len());
            // Numbers that are none are unequal to themselves.
            prop_assert_eq!(format!("{:?}", unpack_value::<crate::kernel::Entry<Record>>(&bytes).unwrap()), format!("{entry:?}"));
        }

        #[test]
        fn both_readers_read_the_same(bytes in prop::collection::vec(prop_oneof![0u8..5, 248u8..=255, any::<u8>()], 0..60)) {
            agree::<Up<Message, Record>>(&bytes);
            agree::<Down<Message>>(&bytes);
            agree::<(bool, u8, u16, u32, u64, Option<u64>, [u8; 2])>(&bytes);
            agree::<Vec<Option<Record>>>(&bytes);
        }
    }
}
