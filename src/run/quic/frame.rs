//! Frames on a stream: four bytes of length, little end first, and that many bytes.

use std::ops::Range;
use std::sync::Arc;

use quinn::{RecvStream, SendStream};
use serde::Serialize;

use super::gate::{FRAMES_FIRST, Gate};
use super::{Connection, WireError};
use hansa_sim::protocol::codec::{self, CodecError, FRAME_MAX};

const HEADER: usize = 4;

/// Size of a receiver's buffer, until a longer frame makes it grow.
const BUFFER: usize = 16 << 10;

/// Appends one frame that holds the encoding of `value`. Gather all frames for a peer, then write them at once.
pub fn encode_frame<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    if let Err(error) = codec::encode_frame(value, out) {
        out.truncate(start);
        return Err(error);
    }
    let length = (out.len() - start - HEADER) as u32;
    out[start..start + HEADER].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Like [`encode_frame`], with several frames for a value that is too long for one: `cut` divides a value in two, if it
/// can be divided. Returns the number of frames.
pub fn encode_in_pieces<T: Serialize>(
    value: T,
    cut: impl Fn(T) -> Option<(T, T)>,
    out: &mut Vec<u8>,
) -> Result<u64, CodecError> {
    let mut frames = 0;
    let mut pieces = vec![value];
    while let Some(piece) = pieces.pop() {
        match encode_frame(&piece, out) {
            Ok(()) => frames += 1,
            Err(CodecError::TooLong(length)) => {
                let (first, rest) = cut(piece).ok_or(CodecError::TooLong(length))?;
                pieces.extend([rest, first]);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(frames)
}

/// Contents of the frames made by [`encode_frame`] or [`append_frame`].
pub fn frame_contents(mut frames: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (header, rest) = frames.split_first_chunk::<HEADER>()?;
        let (frame, rest) = rest.split_at(u32::from_le_bytes(*header) as usize);
        frames = rest;
        Some(frame)
    })
}

/// Appends one frame that holds these bytes.
pub fn append_frame(contents: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
    if contents.len() > FRAME_MAX {
        return Err(CodecError::TooLong(contents.len()));
    }
    out.extend_from_slice(&(contents.len() as u32).to_le_bytes());
    out.extend_from_slice(contents);
    Ok(())
}

/// The sending half of a peer's stream.
#[derive(Debug)]
pub struct FrameSender {
    stream: SendStream,
    gate: Arc<Gate>,
}

impl FrameSender {
    pub(super) fn new(stream: SendStream, connection: &Connection) -> FrameSender {
        // Fails only for a closed stream, which its first write reports too.
        let _ = stream.set_priority(FRAMES_FIRST);
        FrameSender { stream, gate: connection.gate.clone() }
    }

    /// Writes frames made by [`encode_frame`] or [`append_frame`].
    ///
    /// Waits while the peer does not read and its window of two of the longest frames is full. A caller that writes
    /// more than that in one turn must go on reading meanwhile, or two that write to each other wait for ever. A write
    /// that is dropped half-way leaves half a frame.
    pub async fn write(&mut self, frames: &[u8]) -> Result<(), WireError> {
        self.write_rest(frames, &mut 0).await
    }

    /// Like `write`, from offset `written` on, which it advances: a write that is dropped half-way can be continued.
    pub async fn write_rest(&mut self, frames: &[u8], written: &mut usize) -> Result<(), WireError> {
        let writing = async {
            while *written < frames.len() {
                *written += self.stream.write(&frames[*written..]).await?;
            }
            Ok(())
        };
        self.gate.go_first(writing).await
    }

    /// Ends the stream and waits until the peer has everything.
    pub async fn finish(&mut self) -> Result<(), WireError> {
        // A stream that is already closed has nothing left to finish.
        let _ = self.stream.finish();
        self.stream.stopped().await.map(drop).map_err(WireError::from)
    }
}

/// The receiving half of a peer's stream.
#[derive(Debug)]
pub struct FrameReceiver {
    stream: RecvStream,
    /// Bytes `start..end` are read and not yet returned.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    frame_max: usize,
}

impl FrameReceiver {
    pub(super) fn new(stream: RecvStream, frame_max: usize) -> FrameReceiver {
        FrameReceiver { stream, buffer: vec![0; BUFFER.min(HEADER + frame_max)], start: 0, end: 0, frame_max }
    }

    /// Like this receiver, with another limit, once the peer is trusted with more.
    pub(super) fn with_frame_max(self, frame_max: usize) -> FrameReceiver {
        FrameReceiver { frame_max, ..self }
    }

    /// The next frame, or `None` when the peer has ended the stream in good order. May be dropped while it waits
    /// without losing anything.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, WireError> {
        loop {
            if let Some(frame) = self.take_frame()? {
                return Ok(Some(&self.buffer[frame]));
            }
            self.make_room();
            match self.stream.read(&mut self.buffer[self.end..]).await? {
                Some(count) => self.end += count,
                None if self.start == self.end => return Ok(None),
                None => return Err(WireError::Truncated),
            }
        }
    }

    /// The next frame, if it has been read already together with an earlier one.
    pub fn ready_frame(&mut self) -> Result<Option<&[u8]>, WireError> {
        Ok(self.take_frame()?.map(|frame| &self.buffer[frame]))
    }

    /// Received length of an incomplete frame, and its announced length.
    pub fn partial_frame(&self) -> Option<(usize, usize)> {
        let (header, contents) = self.buffer[self.start..self.end].split_first_chunk::<HEADER>()?;
        Some((contents.len(), u32::from_le_bytes(*header) as usize))
    }

    fn take_frame(&mut self) -> Result<Option<Range<usize>>, WireError> {
        let Some((header, contents)) = self.buffer[self.start..self.end].split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*header) as usize;
        if length > self.frame_max {
            return Err(WireError::TooLong { length, max: self.frame_max });
        }
        if contents.len() < length {
            return Ok(None);
        }
        let begin = self.start + HEADER;
        self.start = begin + length;
        Ok(Some(begin..self.start))
    }

    /// Makes room for more of an incomplete frame. The buffer grows only when it is full of received data: a length
    /// that a peer merely claims costs nothing.
    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            let grown = (2 * self.end).min(HEADER + self.frame_max);
            self.buffer.resize(grown, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use hansa_sim::grid::{Job, JobId, Kind, NodeSet, Task, TaskId};
    use hansa_sim::kernel::{ActorId, Down, Entry, Envelope, Instruction, Promise, Up};
    use hansa_sim::protocol::{Enqueue, Message, Record, Run};
    use hansa_sim::time::{Span, Stamp, Time};

    /// A message with few bytes in many words, or the reverse.
    fn message(small: bool, number: u32) -> Message {
        let task = TaskId { job: JobId(number), index: 0 };
        if small {
            return Message::Run(Run {
                task,
                cores: 1,
                runtime: Span::from_micros(1),
                safe: None,
                planned: NodeSet::default(),
            });
        }
        let task = Task::new(Span::from_secs(u64::from(number) << 20), u32::MAX - number, Kind(u16::MAX));
        let job = Job {
            id: JobId(u32::MAX - number),
            arrive: Time::from_micros(u64::MAX / 7),
            first_task: u32::MAX,
            tasks: vec![task; 1 + number as usize % 3],
            ..Job::default()
        };
        Message::Enqueue(Enqueue {
            job: Arc::new(job),
            site: Some(ActorId(1)),
            kind: None,
            think: None,
            needs: None,
            staging: None,
        })
    }

    fn record(runs: u32) -> Entry<Record> {
        let mut cores = NodeSet::default();
        (0..runs).for_each(|run| cores.push(2 * run, 2 * run));
        let task = TaskId { job: JobId(runs), index: 0 };
        Entry { stamp: Stamp::ZERO, actor: ActorId(1), record: Record::Started { task, cores } }
    }

    fn mail(small: bool, count: u32) -> Vec<Envelope<Message>> {
        let from = ActorId(1);
        let to = ActorId(0);
        let letter = |number| Envelope {
            arrival: Stamp::ZERO,
            from,
            to,
            number: u64::from(number),
            message: message(small, number),
        };
        (0..count).map(letter).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 1 } else { 6 }))]

        /// Around the longest frame, to the byte, and far beyond it: the other side reads the written value.
        #[test]
        fn every_written_value_can_be_read(
            small: bool,
            by_log: bool,
            factor in prop_oneof![3 => Just(1usize), 1 => 2usize..4],
            beyond in -40isize..40,
        ) {
            let room = (factor * FRAME_MAX).checked_add_signed(beyond).unwrap();
            let up = |mail, log| Up { acked: 9, floor: Stamp::NEVER, done: Stamp::ZERO, finished: true, mail, log };
            let probe = mail(small, 2_000);
            let each = codec::encoded_length(&probe).unwrap().div_ceil(2_000) + 1;
            let letters = if by_log { 10 } else { room / each };
            let mail = mail(small, letters as u32);
            // Records that fill the rest as well as they can.
            let mut left = room.saturating_sub(codec::encoded_length(&up(mail.clone(), Vec::new())).unwrap());
            let mut log = Vec::new();
            while left >= 20 {
                let record = record((left / 11).clamp(1, 100_000) as u32);
                left = left.saturating_sub(codec::encoded_length(&record).unwrap());
                log.push(record);
            }
            let whole = up(mail, log);
            let before = Promise::default();
            let mut out = Vec::new();
            let frames = encode_in_pieces(whole.clone(), |up| up.cut(before), &mut out).unwrap();
            let pieces: Vec<Up<Message, Record>> = frame_contents(&out).map(|f| codec::decode_frame(f).unwrap()).collect();
            prop_assert_eq!(pieces.len() as u64, frames);
            prop_assert_eq!(frames > 1, codec::encoded_length(&whole).unwrap() > FRAME_MAX);
            prop_assert!(pieces.iter().rev().skip(1).all(|piece| !piece.finished && piece.floor == before.floor));
            prop_assert!(pieces.iter().flat_map(|piece| &piece.mail).eq(&whole.mail));
            prop_assert!(pieces.iter().flat_map(|piece| &piece.log).eq(&whole.log));

            let whole = Down { grant: Stamp::NEVER, then: Instruction::Finish, mail: whole.mail };
            out.clear();
            let frames = encode_in_pieces(whole.clone(), Down::cut, &mut out).unwrap();
            let pieces: Vec<Down<Message>> = frame_contents(&out).map(|f| codec::decode_frame(f).unwrap()).collect();
            prop_assert_eq!(pieces.len() as u64, frames);
            prop_assert!(pieces.iter().rev().skip(1).all(|piece| piece.then == Instruction::Wait));
            prop_assert_eq!(pieces.last().unwrap().then, Instruction::Finish);
            prop_assert!(pieces.iter().flat_map(|piece| &piece.mail).eq(&whole.mail));
        }
    }

    #[test]
    fn what_cannot_be_cut_is_an_error_and_leaves_nothing_behind() {
        let mut out = vec![7];
        let error = encode_in_pieces(vec![1u8; FRAME_MAX], |_| None, &mut out).unwrap_err();
        assert!(matches!(error, CodecError::TooLong(length) if length == FRAME_MAX + 5));
        assert_eq!(out, [7]);
    }
}
