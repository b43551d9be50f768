//! Frames on a stream: four bytes of length, little end first, and that many bytes.

use std::ops::Range;

use quinn::{RecvStream, SendStream};
use serde::Serialize;

use super::WireError;
use crate::protocol::codec::{self, CodecError, FRAME_MAX};

const HEADER: usize = 4;

/// What a receiver reads at a time, until a longer frame makes it grow.
const BUFFER: usize = 16 << 10;

/// Appends one frame that holds the encoding of `value`. Gather all frames for a peer, then write them at once.
pub fn encode<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    if let Err(error) = codec::encode(value, out) {
        out.truncate(start);
        return Err(error);
    }
    let length = (out.len() - start - HEADER) as u32;
    out[start..start + HEADER].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Appends one frame that holds these bytes.
pub fn append(contents: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
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
}

impl FrameSender {
    pub(super) fn new(stream: SendStream) -> FrameSender {
        FrameSender { stream }
    }

    /// Writes frames that [`encode`] or [`append`] made.
    ///
    /// Waits while the peer does not read and its window of two of the longest frames is full: whoever writes more than
    /// that in one turn must go on reading meanwhile, or two that write to each other wait for ever. A write that is dropped half-way leaves half a frame.
    pub async fn write(&mut self, frames: &[u8]) -> Result<(), WireError> {
        self.stream.write_all(frames).await.map_err(WireError::from)
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
    /// Bytes `start..end` are read and not yet handed out.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    frame_max: usize,
}

impl FrameReceiver {
    pub(super) fn new(stream: RecvStream, frame_max: usize) -> FrameReceiver {
        FrameReceiver { stream, buffer: vec![0; BUFFER.min(HEADER + frame_max)], start: 0, end: 0, frame_max }
    }

    /// The same stream with another limit, once the peer is trusted with more.
    pub(super) fn with_frame_max(self, frame_max: usize) -> FrameReceiver {
        FrameReceiver { frame_max, ..self }
    }

    /// The next frame, or nothing when the peer has ended the stream in good order. May be dropped while it waits
    /// without losing anything.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, WireError> {
        loop {
            if let Some(frame) = self.take()? {
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
    pub fn ready(&mut self) -> Result<Option<&[u8]>, WireError> {
        Ok(self.take()?.map(|frame| &self.buffer[frame]))
    }

    fn take(&mut self) -> Result<Option<Range<usize>>, WireError> {
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

    /// Makes room for more of a frame that is not whole yet. The buffer grows only when it is full of what has really
    /// arrived: a length that a peer merely claims costs nothing.
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
