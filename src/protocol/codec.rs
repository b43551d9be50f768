//! How messages become bytes: the one module that knows the encoding.
//!
//! Decoding is bounded: nothing longer than [`FRAME_MAX`] is read, a hostile length never allocates more than
//! that, trailing bytes are an error, and no input makes it panic.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest frame in bytes that may be written or read.
pub const FRAME_MAX: usize = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    #[error("cannot encode: {0}")]
    Encode(#[from] bincode::error::EncodeError),
    #[error("cannot decode: {0}")]
    Decode(#[from] bincode::error::DecodeError),
    #[error("{0} bytes left over after the message")]
    Trailing(usize),
    #[error("a frame of {0} bytes is longer than the {FRAME_MAX} that are allowed")]
    TooLong(usize),
}

/// Appends the encoding of `value` to `bytes`.
pub fn encode<T: Serialize>(value: &T, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
    let before = bytes.len();
    bincode::serde::encode_into_std_write(value, bytes, config())?;
    match bytes.len() - before {
        length if length > FRAME_MAX => {
            bytes.truncate(before);
            Err(CodecError::TooLong(length))
        }
        _ => Ok(()),
    }
}

/// Reads one value that takes up all of `bytes`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    if bytes.len() > FRAME_MAX {
        return Err(CodecError::TooLong(bytes.len()));
    }
    let (value, used) = bincode::serde::decode_from_slice(bytes, config())?;
    match bytes.len() - used {
        0 => Ok(value),
        left => Err(CodecError::Trailing(left)),
    }
}

/// Appends what this program will read again itself, however long it is.
pub fn pack<T: Serialize>(value: &T, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
    bincode::serde::encode_into_std_write(value, bytes, bincode::config::standard())?;
    Ok(())
}

/// Reads what [`pack`] has written.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let (value, _) = bincode::serde::decode_from_slice(bytes, bincode::config::standard())?;
    Ok(value)
}

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<FRAME_MAX>()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::grid::{Curve, Edge, Invalid, Job, JobId, Kind, NodeSet, Task, TaskId, Worth};
    use crate::kernel::{ActorId, Down, Up};
    use crate::protocol::{Answer, Answered, Cancel, Ended, Enqueue, Hold, Message, Outcome, Over, Queue};
    use crate::protocol::{Record, Reserve, Run, Submit, Verdict, Withdraw};
    use crate::time::{Span, Time};

    /// What the fuzzers have found, each once a crash; now an error.
    #[test]
    fn hostile_lengths_are_refused_and_not_allocated() {
        // A frame of records, one of which claims a set of cores of some 2^58 runs.
        let cores: &[u8] = &[
            0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x03, 0x03, 0x03, 0x03, 0x03, 0x77, 0x03,
            0x03, 0x03, 0x09, 0x00, 0xf8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x03, 0x03, 0x03,
            0x03, 0x03, 0xfd, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfd, 0x03, 0x03, 0x03, 0x9f, 0x00, 0xf7, 0x00, 0x85,
        ];
        for end in 0..=cores.len() {
            assert!(decode::<Up<Message, Record>>(&cores[..end]).is_err());
        }
        // A frame of mail that claims 2^64 - 1 messages.
        let mut mail = vec![0, 0, 0, 0xfd];
        mail.extend([0xff; 8]);
        assert!(decode::<Down<Message>>(&mail).is_err());
    }

    /// Another encoding reads the same values: no message leans on this one's peculiarities.
    #[test]
    fn every_message_and_record_survives_two_encodings() {
        let worth = Worth { max: 130.0, curve: Curve::new(2.0, 6.0, &[(3.0, 0.8), (5.0, 0.4)]).unwrap() };
        let task = Task::new(Span::from_minutes(6), 3, Kind(1));
        let edges = vec![Edge::new(0, 1)];
        let (id, arrive) = (JobId(7), Time::from_micros(u64::MAX / 3));
        let job = Arc::new(Job { id, arrive, first_task: 9, tasks: vec![task; 2], edges, worth: Some(worth) });
        let (user, site, task) = (ActorId(4), ActorId(1), TaskId { job: id, index: 1 });
        let cores = NodeSet::try_from(vec![(0, 3), (7, 7), (9, u32::MAX)]).unwrap();
        let accepted = Answer::Accepted { site, start: arrive, nodes: cores.clone() };
        let messages = [
            Message::Submit(Submit { job: job.clone() }),
            Message::Outcome(Outcome { job: id, verdict: Verdict::Removed }),
            Message::Run(Run { task, cores: 3, runtime: Span::MAX }),
            Message::Ended(Ended { task, started: Time::ZERO }),
            Message::Reserve(Reserve { job: job.clone(), ready: arrive, deadline: Time::NEVER }),
            Message::Cancel(Cancel { job: id }),
            Message::Answered(Answered { job: id, answer: Answer::Invalid(Invalid::Duplicate) }),
            Message::Hold(Hold { task, start: arrive, nodes: cores.clone(), runtime: Span::MAX }),
            Message::Withdraw(Withdraw { task }),
            Message::Enqueue(Enqueue { job: job.clone(), site: Some(site), think: Some(Span::MAX) }),
            Message::Queue(Queue { job: id, nodes: 3, walltime: Span::MAX, runtime: Span::from_minutes(6) }),
            Message::Over(Over { job: id, think: Span::ZERO }),
        ];
        let records = [
            Record::Arrived { job: job.clone(), user },
            Record::Refused { job: job.clone(), user, task: 1 },
            Record::NotAdmitted { job: job.clone(), user },
            Record::Rejected { job, user, why: Invalid::TooManyNodes },
            Record::Killed { task },
            Record::Assigned { task, site },
            Record::Started { task, cores },
            Record::Finished { task },
            Record::Completed { job: id, value: Some(0.1 + 0.2) },
            Record::Removed { job: id },
            Record::Answered { job: id, ready: arrive, deadline: Time::NEVER, answer: accepted },
            Record::Answered { job: id, ready: arrive, deadline: arrive, answer: Answer::Declined },
            Record::Cancelled { job: id },
        ];
        messages.iter().for_each(twice);
        records.iter().for_each(twice);
    }

    fn twice<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
        let mut bytes = Vec::new();
        encode(value, &mut bytes).unwrap();
        assert_eq!(&decode::<T>(&bytes).unwrap(), value);
        assert_eq!(&postcard::from_bytes::<T>(&postcard::to_stdvec(value).unwrap()).unwrap(), value);
    }

    #[test]
    fn what_is_too_long_is_refused_on_both_sides() {
        let long = vec![0u8; FRAME_MAX + 1];
        assert!(matches!(encode(&long, &mut Vec::new()), Err(CodecError::TooLong(_))));
        assert!(matches!(decode::<Vec<u8>>(&long), Err(CodecError::TooLong(_))));
        assert!(matches!(decode::<u8>(&[1, 2]), Err(CodecError::Trailing(1))));
    }
}
