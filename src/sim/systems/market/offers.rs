//! Starts that a site had not received when it sent its last offer.
//!
//! A site receives starts in the order in which they are sent, so their number says which ones it has received. Cores
//! are reserved when a task wins; over links, its start is sent only after its inputs have arrived.

use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct UnreceivedStarts {
    /// Starts that the site had received.
    received: u64,
    /// Cores of the starts that have been sent since, in order.
    sent: VecDeque<u32>,
    /// Cores that are reserved for starts that it had not received, sent or not.
    cores: u32,
}

impl UnreceivedStarts {
    /// Reserves the cores of a winner.
    pub fn reserve(&mut self, cores: u32) {
        self.cores += cores;
    }

    /// Adds a start that is sent now, whose cores are reserved.
    pub fn send(&mut self, cores: u32) {
        self.sent.push_back(cores);
    }

    /// Drops the starts that the site has received: `received` in all. False, and no effect, if there never were as
    /// many, or if it had received more before. O(starts received since the last offer).
    pub fn take_receipt(&mut self, received: u64) -> bool {
        let Some(count) = received.checked_sub(self.received).filter(|count| *count <= self.sent.len() as u64) else {
            return false;
        };
        self.received = received;
        self.cores -= self.sent.drain(..count as usize).sum::<u32>();
        true
    }

    /// Cores of the starts that the site had not received.
    pub fn cores(&self) -> u32 {
        self.cores
    }
}
