//! The judge: asks everybody at every instant and sorts them.

use super::{Bids, Jobs, Lane, Place, Rank};

#[derive(Default)]
pub(in crate::systems::market) struct Plain {
    members: Vec<Place>,
    /// Best last.
    order: Vec<Rank>,
}

impl Lane for Plain {
    fn add(&mut self, place: Place, _: &mut Jobs) {
        self.members.push(place);
    }

    fn remove(&mut self, place: Place, _: &mut Jobs) {
        self.members.retain(|&member| member != place);
    }

    fn open(&mut self, bids: &mut Bids<'_>) {
        self.order = self.members.iter().map(|&place| bids.rank(place)).collect();
        self.order.sort_unstable_by(|a, b| b.cmp(a));
    }

    fn best(&mut self, bids: &mut Bids<'_>) -> Option<Rank> {
        while self.order.pop_if(|rank| !bids.is_queued(rank.place())).is_some() {}
        self.order.last().copied()
    }
}
