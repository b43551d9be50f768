//! Replays a journal on a new hub, up to the state of the hub that wrote it.

use std::collections::VecDeque;

use super::journal::{Item, Turn};
use crate::kernel::{Breach, Down, Hub};
use crate::protocol::codec::{self, CodecError};
use crate::protocol::{Message, Record};

/// A hub that repeats the actions of a lost one.
#[derive(Debug, Default)]
pub struct Rehearsal {
    /// Frames sent that the journal has not confirmed yet.
    sent: VecDeque<(usize, Vec<u8>)>,
    /// Items replayed.
    items: u64,
}

/// Error of a replay.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    #[error("item {item} of the journal: the router {what}")]
    Other { item: u64, what: &'static str },
    #[error("item {item} of the journal holds a frame that cannot be read: {error}")]
    Unreadable { item: u64, error: CodecError },
    #[error("a frame cannot be written: {0}")]
    Unwritable(CodecError),
    #[error("item {item} of the journal breaks a rule: {breach:?}")]
    Breach { item: u64, breach: Breach },
}

impl Rehearsal {
    /// Replays the next item. Take the hub's records from it now and then.
    pub fn play(&mut self, hub: &mut Hub<Message, Record>, item: Item<'_>) -> Result<(), RehearsalError> {
        self.items += 1;
        let number = self.items;
        match item {
            Item::Head(_) => Err(other_course("found a second header in the journal", number)),
            Item::Down { leaf, frame } => match self.sent.pop_front() {
                Some((to, sent)) if to == leaf && sent == frame => Ok(()),
                Some(_) => Err(other_course("sent a different message than before", number)),
                None => Err(other_course("did not send a message that it sent before", number)),
            },
            Item::Turn { after, turn } => {
                self.run(hub, after)?;
                let mut sent = std::mem::take(&mut self.sent);
                let mut problem = None;
                let mut send = |leaf, down| match in_pieces(down, leaf, &mut sent) {
                    Ok(()) => {}
                    Err(error) => problem = Some(error),
                };
                match turn {
                    Turn::Flush(contact) => hub.flush(contact, &mut send),
                    Turn::Ask => hub.request_progress(&mut send),
                }
                self.sent = sent;
                problem.map_or(Ok(()), |error| Err(RehearsalError::Unwritable(error)))
            }
            Item::Up { after, leaf, frame } => {
                self.run(hub, after)?;
                let up =
                    codec::decode_frame(frame).map_err(|error| RehearsalError::Unreadable { item: number, error })?;
                if leaf >= hub.leaves() {
                    return Err(other_course("has fewer processes than before", number));
                }
                hub.receive(leaf, up).map_err(|breach| RehearsalError::Breach { item: number, breach })
            }
        }
    }

    /// Frames sent last that the journal does not contain, as its writer was stopped just then.
    pub fn unwritten(self) -> VecDeque<(usize, Vec<u8>)> {
        self.sent
    }

    fn run(&mut self, hub: &mut Hub<Message, Record>, batches: u64) -> Result<(), RehearsalError> {
        let item = self.items;
        if !self.sent.is_empty() {
            return Err(RehearsalError::Other { item, what: "sent messages that it did not send before" });
        }
        let until = hub.batches() + batches;
        // A hub that pauses runs fewer batches at once.
        while hub.batches() < until {
            let count = usize::try_from(until - hub.batches()).unwrap_or(usize::MAX);
            match hub.advance(count) {
                Ok(true) => {}
                Ok(false) => return Err(RehearsalError::Other { item, what: "stopped earlier than before" }),
                Err(breach) => return Err(RehearsalError::Breach { item, breach }),
            }
        }
        Ok(())
    }
}

fn other_course(what: &'static str, number: u64) -> RehearsalError {
    RehearsalError::Other { item: number, what }
}

/// Appends the frames of a message to a leaf, which is split if it is too long.
fn in_pieces(down: Down<Message>, leaf: usize, sent: &mut VecDeque<(usize, Vec<u8>)>) -> Result<(), CodecError> {
    let mut pieces = vec![down];
    while let Some(piece) = pieces.pop() {
        let mut frame = Vec::new();
        match codec::encode_frame(&piece, &mut frame) {
            Ok(()) => sent.push_back((leaf, frame)),
            Err(CodecError::TooLong(length)) => {
                let (first, rest) = piece.cut().ok_or(CodecError::TooLong(length))?;
                pieces.extend([rest, first]);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
