//! The reference: asks all tasks at every instant and sorts them.

use super::{Bids, Jobs, Lane, Rank, TaskHandle};

#[derive(Default)]
pub(in crate::systems::market) struct Plain {
    members: Vec<TaskHandle>,
    /// The ranks, the best last.
    order: Vec<Rank>,
}

impl Lane for Plain {
    fn add(&mut self, handle: TaskHandle, _: &mut Jobs) {
        self.members.push(handle);
    }

    fn remove(&mut self, handle: TaskHandle, _: &mut Jobs) {
        self.members.retain(|&member| member != handle);
    }

    fn open(&mut self, bids: &mut Bids<'_>) {
        self.order = self.members.iter().map(|&handle| bids.rank(handle)).collect();
        self.order.sort_unstable_by(|a, b| b.cmp(a));
    }

    fn best(&mut self, bids: &mut Bids<'_>) -> Option<Rank> {
        while self.order.pop_if(|rank| !bids.is_queued(rank.handle())).is_some() {}
        self.order.last().copied()
    }
}
