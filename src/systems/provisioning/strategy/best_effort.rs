//! Best effort, just in time: a task is submitted to a queue once all before it have ended and its data is there.
//!
//! Of several sites the one with the fewest tasks that run or wait is taken, as they say when they are asked.

use std::collections::BTreeMap;

use super::{Entry, Strategy};
use crate::protocol::{Query, Reply};
use crate::systems::provisioning::deal::Deal;
use crate::systems::provisioning::run::Goes;

pub const ENTRY: Entry = Entry {
    name: "best-effort",
    about: "just in time: each task goes to the shortest queue once all its predecessors have ended",
    bargains: false,
    build: |_| Box::new(JustInTime::default()),
    ..super::BARGAINING
};

/// Also what others do when they have got nothing else.
#[derive(Default)]
pub struct JustInTime {
    /// Which task each question is for.
    asked: BTreeMap<u64, u32>,
    polls: BTreeMap<u32, Poll>,
}

/// The places that have been asked for a task.
struct Poll {
    silent: usize,
    /// The lightest load so far, and where.
    best: Option<(u32, usize)>,
}

impl Strategy for JustInTime {
    fn begin(&mut self, deal: &mut Deal<'_>) {
        for task in deal.ready() {
            self.ready(task, deal);
        }
    }

    fn ready(&mut self, task: u32, deal: &mut Deal<'_>) {
        let places = deal.fitting(task);
        if let [place] = places[..] {
            return deal.send(task, Goes { place, ..Goes::default() });
        }
        self.polls.insert(task, Poll { silent: places.len(), best: None });
        for place in places {
            let number = deal.ask(place, Query::Load);
            self.asked.insert(number, task);
        }
    }

    fn informed(&mut self, number: u64, place: usize, reply: Reply, deal: &mut Deal<'_>) {
        let (Some(task), Reply::Load(load)) = (self.asked.remove(&number), reply) else { return };
        let Some(poll) = self.polls.get_mut(&task) else { return };
        poll.silent -= 1;
        poll.best = Some(poll.best.map_or((load, place), |best| best.min((load, place))));
        if let (0, Some((_, place))) = (poll.silent, poll.best) {
            self.polls.remove(&task);
            deal.send(task, Goes { place, ..Goes::default() });
        }
    }
}
