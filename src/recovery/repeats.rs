//! A leaf that begins again says again what it has said: this holds the one against the other, whichever comes first,
//! and keeps what the other has not come to yet.

use std::collections::VecDeque;

/// What a leaf has said, and says again.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    /// What it had said and has yet to say again, or what it says that has not been looked up yet: never both.
    expected: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
    /// Frames that it has said again.
    repeated: u64,
}

/// A leaf sent a different message than before, though it has been told the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its frame {frame} had {had} bytes and has {has} now, and differs from byte {at} on")]
pub struct Divergence {
    /// Which frame of its own, from 1.
    pub frame: u64,
    /// The first byte that is not the same.
    pub at: usize,
    pub had: usize,
    pub has: usize,
}

impl Repeats {
    /// The next frame that it had said.
    pub fn push_expected(&mut self, frame: &[u8]) -> Result<(), Divergence> {
        match self.sent.pop_front() {
            Some(sent) => self.compare(frame, &sent),
            None => {
                self.expected.push_back(frame.to_vec());
                Ok(())
            }
        }
    }

    /// The next frame that it says.
    pub fn push_sent(&mut self, frame: &[u8]) -> Result<(), Divergence> {
        match self.expected.pop_front() {
            Some(had) => self.compare(&had, frame),
            None => {
                self.sent.push_back(frame.to_vec());
                Ok(())
            }
        }
    }

    /// Whether it has said again all that is known here.
    pub fn has_caught_up(&self) -> bool {
        self.expected.is_empty()
    }

    /// How many frames it has said again.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// What it says beyond all that it had said: this is new.
    pub fn into_new_frames(self) -> VecDeque<Vec<u8>> {
        self.sent
    }

    fn compare(&mut self, had: &[u8], sent: &[u8]) -> Result<(), Divergence> {
        self.repeated += 1;
        if had == sent {
            return Ok(());
        }
        let at = had.iter().zip(sent).take_while(|(had, sent)| had == sent).count();
        Err(Divergence { frame: self.repeated, at, had: had.len(), has: sent.len() })
    }
}
