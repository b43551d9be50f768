//! Compares the repeated frames of a restarted leaf with its earlier ones, in any interleaving, and keeps those without
//! a counterpart.

use std::collections::VecDeque;

/// Earlier and repeated frames of a restarted leaf.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    /// Frames without a counterpart: earlier ones not repeated yet, or new ones not compared yet. One of the two is
    /// empty.
    expected: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
    /// Frames repeated.
    repeated: u64,
}

/// A restarted leaf sent a different frame than before, though its input was identical.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its frame {frame} had {had} bytes and has {has} now, and differs from byte {at} on")]
pub struct Divergence {
    /// Number of the frame among the leaf's own, from 1.
    pub frame: u64,
    /// Offset of the first byte that differs.
    pub at: usize,
    pub had: usize,
    pub has: usize,
}

impl Repeats {
    /// Adds the next earlier frame.
    pub fn push_expected(&mut self, frame: &[u8]) -> Result<(), Divergence> {
        match self.sent.pop_front() {
            Some(sent) => self.compare(frame, &sent),
            None => {
                self.expected.push_back(frame.to_vec());
                Ok(())
            }
        }
    }

    /// Adds the next frame of the restarted leaf.
    pub fn push_sent(&mut self, frame: &[u8]) -> Result<(), Divergence> {
        match self.expected.pop_front() {
            Some(had) => self.compare(&had, frame),
            None => {
                self.sent.push_back(frame.to_vec());
                Ok(())
            }
        }
    }

    /// True if it has repeated all frames known here.
    pub fn has_caught_up(&self) -> bool {
        self.expected.is_empty()
    }

    /// Frames repeated.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Frames beyond all earlier ones, which are new.
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
