//! Bids independent of the last ones: all are drawn at every instant at which a task could start.
//!
//! A policy that only needs a task's number draws for a whole lane at once, without a look at a job. The best of each
//! block of bids is kept, so the next best after a start takes a look at one block and at the best of the others.

use super::{AuctionedJobs, BidRank, Bids, Lane, TaskHandle, better_first, set_mark};
use crate::systems::market::bid::Winner;

#[derive(Default)]
pub(super) struct Redrawn {
    fresh: Vec<TaskHandle>,
    /// The queued tasks. A task is marked with its position here.
    handles: Vec<TaskHandle>,
    numbers: Vec<u64>,
    /// The bids by position, the best smallest; empty while the lane is not open.
    draws: Vec<i64>,
    /// The best draw of each block.
    blocks: Vec<i64>,
    /// Buffer for the draws of a policy.
    drawn: Vec<f64>,
}

const BLOCK: usize = 128;
/// Mark of a task that has no position yet.
const NOWHERE: u64 = u64::MAX;

impl Redrawn {
    fn draw(&mut self, bids: &Bids<'_>) {
        let winner = bids.policy.winner_rule();
        self.drawn.clear();
        self.draws.clear();
        if bids.policy.draw_bids(&self.numbers, &bids.at, &mut self.drawn) {
            match winner {
                Winner::Smallest => self.draws.extend(self.drawn.iter().map(|&bid| better_first(bid, winner))),
                Winner::Largest => self.draws.extend(self.drawn.iter().map(|&bid| better_first(bid, Winner::Largest))),
            }
        } else {
            bids.announce_bidders(&self.handles);
            self.draws.extend(self.handles.iter().map(|&handle| bids.rank(handle).bid));
        }
        self.blocks.clear();
        self.blocks.extend(self.draws.chunks(BLOCK).map(best_of));
    }

    /// Updates the block around a position that has changed.
    fn look_again(&mut self, position: usize) {
        let block = position / BLOCK;
        match self.draws.chunks(BLOCK).nth(block) {
            Some(draws) => self.blocks[block] = best_of(draws),
            None => self.blocks.truncate(block),
        }
    }
}

fn best_of(draws: &[i64]) -> i64 {
    draws.iter().copied().min().unwrap_or(i64::MAX)
}

impl Lane for Redrawn {
    fn add_task(&mut self, handle: TaskHandle, jobs: &mut AuctionedJobs) {
        set_mark(jobs, handle, NOWHERE);
        self.fresh.push(handle);
    }

    fn remove_task(&mut self, handle: TaskHandle, jobs: &mut AuctionedJobs) {
        let live = jobs[handle.job as usize].as_ref().expect("a task that leaves the queue belongs to a live job");
        let mark = live.tasks[handle.task as usize].mark;
        if mark == NOWHERE {
            return self.fresh.retain(|&fresh| fresh != handle);
        }
        let position = mark as usize;
        self.handles.swap_remove(position);
        self.numbers.swap_remove(position);
        if let Some(&moved) = self.handles.get(position) {
            set_mark(jobs, moved, mark);
        }
        if !self.draws.is_empty() {
            self.draws.swap_remove(position);
            self.look_again(position);
            self.look_again(self.draws.len());
        }
    }

    fn open_auction(&mut self, bids: &mut Bids<'_>) {
        for handle in self.fresh.drain(..) {
            bids.set_mark(handle, self.handles.len() as u64);
            self.handles.push(handle);
            self.numbers.push(bids.number(handle));
        }
        self.draw(bids);
    }

    fn best_bidder(&mut self, bids: &mut Bids<'_>) -> Option<BidRank> {
        let best = *self.blocks.iter().min()?;
        let blocks = self.blocks.iter().enumerate().filter(|&(_, &block)| block == best);
        let positions = blocks.flat_map(|(block, _)| block * BLOCK..((block + 1) * BLOCK).min(self.draws.len()));
        positions
            .filter(|&position| self.draws[position] == best)
            .map(|position| bids.rank(self.handles[position]))
            .min()
    }

    fn close_auction(&mut self, _: &mut Bids<'_>) {
        self.draws.clear();
        self.blocks.clear();
    }
}
