//! EASY, or aggressive backfilling: whoever does not delay the first in the queue may go before it.
//!
//! D. Lifka, "The ANL/IBM SP scheduling system", 1995.
//!
//! Nothing is planned but the reservation of the head, so a pass needs what is free, what runs by its ends, and one
//! walk over the queue. While nothing becomes free, the reservation stands, and whoever could not start cannot start
//! later: a pass then looks at newcomers alone. FCFS is the same without the walk.

use std::collections::VecDeque;

use super::order::{Ranking, Waiting};
use super::{Ask, Policy, Reserved, Row, Step, by_node};
use crate::grid::{NodeSet, QueueOrder, TaskId};
use crate::time::Time;

pub const ROW: Row = Row {
    name: "easy",
    about: "EASY backfilling: jobs may overtake if they do not delay the first waiting job",
    build: |nodes, reserved, order| by_node::build(nodes, reserved, order, true),
};

/// A site's nodes as EASY looks at them: by identity, or by count.
pub(super) trait Supply: Clone + Send + 'static {
    /// What a job may have.
    type Room;
    /// The reservation of the head.
    type Shadow: Clone + Send;
    /// Whether jobs may be moved while they run.
    const MOVES: bool;

    fn is_used_up(&self) -> bool;
    /// For a job that starts now and has nobody ahead of it.
    fn for_head(&self, now: Time, ask: &Ask) -> Option<Self::Room>;
    /// For a job that starts now and leaves the head its own.
    fn for_follower(&self, now: Time, ask: &Ask, shadow: &Self::Shadow) -> Option<Self::Room>;
    /// The earliest time at which the head fits for its whole walltime, and its place then.
    fn reserve(&self, now: Time, head: &Ask) -> Self::Shadow;
    /// A follower has started; what is left beside the head's reservation is less.
    fn shrink(&self, now: Time, ask: &Ask, room: &Self::Room, shadow: &mut Self::Shadow);
    fn start(&mut self, now: Time, ask: &Ask, room: Self::Room) -> NodeSet;
    fn end(&mut self, now: Time, job: TaskId, until: Time);
    fn has_room(&self, now: Time, booking: &Reserved) -> bool;
    fn taken(&self, from: Time, until: Time) -> NodeSet;
    fn book(&mut self, now: Time, booking: &Reserved);
    fn release(&mut self, now: Time, booking: &Reserved);
    /// Bookings begin and end; says whether anything may have become free.
    fn keep_up(&mut self, now: Time, steps: &mut Vec<Step>) -> bool;
    fn wake(&self, is_anybody_waiting: bool) -> Option<Time>;
    /// When each running job has to end, the earliest first.
    fn ends(&self) -> &[(Time, TaskId, u32)];
}

#[derive(Clone)]
pub(super) struct Easy<S: Supply> {
    supply: S,
    backfill: bool,
    ranking: Ranking,
    /// In order of rank.
    queue: VecDeque<Waiting>,
    /// How many of the queue have been tried in vain since something became free.
    tried: usize,
    shadow: Option<S::Shadow>,
}

impl<S: Supply> Easy<S> {
    pub fn new(supply: S, order: QueueOrder, backfill: bool) -> Easy<S> {
        let ranking = Ranking::new(order);
        Easy { supply, backfill, ranking, queue: VecDeque::new(), tried: 0, shadow: None }
    }

    fn start(&mut self, now: Time, ask: &Ask, room: S::Room, steps: &mut Vec<Step>) {
        let nodes = self.supply.start(now, ask, room);
        steps.push(Step::Start { job: ask.job, nodes });
    }

    fn start_heads(&mut self, now: Time, steps: &mut Vec<Step>) {
        // As long as nothing becomes free, a head that has been tried stays where it is.
        while self.tried == 0
            && let Some(head) = self.queue.front().map(|head| head.ask)
            && let Some(room) = self.supply.for_head(now, &head)
        {
            self.queue.pop_front();
            self.start(now, &head, room, steps);
        }
    }

    fn start_followers(&mut self, now: Time, steps: &mut Vec<Step>) {
        let Some(head) = self.queue.front().map(|head| head.ask) else { return };
        let first = self.tried.max(1);
        if first >= self.queue.len() || self.supply.is_used_up() {
            return;
        }
        let mut shadow = self.shadow.take().unwrap_or_else(|| self.supply.reserve(now, &head));
        let mut kept = first;
        for place in first..self.queue.len() {
            let ask = self.queue[place].ask;
            if let Some(room) = self.supply.for_follower(now, &ask, &shadow) {
                self.supply.shrink(now, &ask, &room, &mut shadow);
                self.start(now, &ask, room, steps);
                continue;
            }
            // Those who stay close ranks as the walk goes on.
            if kept < place {
                self.queue[kept] = self.queue[place];
            }
            kept += 1;
        }
        self.queue.truncate(kept);
        self.shadow = Some(shadow);
    }

    /// Sorts the queue, if ranks have changed while jobs waited. O(queue) if they have not.
    fn sort(&mut self, now: Time) {
        let compare = |a: &Waiting, b: &Waiting| self.ranking.compare(now, a, b);
        if self.ranking.drifts() && !self.queue.make_contiguous().is_sorted_by(|a, b| compare(a, b).is_le()) {
            self.queue.make_contiguous().sort_unstable_by(compare);
            self.look_anew();
        }
    }

    /// Forgets what was tried: something is free that was not, or taken that was free.
    fn look_anew(&mut self) {
        (self.tried, self.shadow) = (0, None);
    }
}

impl<S: Supply> Policy for Easy<S> {
    fn end(&mut self, now: Time, job: TaskId, until: Time) {
        self.supply.end(now, job, until);
        self.look_anew();
    }

    fn submit(&mut self, now: Time, ask: Ask) {
        let new = self.ranking.arrival(now, ask);
        let place = self.ranking.place(now, &new, self.queue.len(), |index| &self.queue[index]);
        if place < self.queue.len() {
            self.look_anew();
        }
        self.queue.insert(place, new);
    }

    fn submit_first(&mut self, now: Time, ask: Ask) {
        let first = self.ranking.first(now, ask);
        self.queue.push_front(first);
        self.look_anew();
    }

    fn withdraw(&mut self, _: Time, job: TaskId) {
        self.queue.retain(|waiting| waiting.ask.job != job);
        self.look_anew();
    }

    fn has_room(&self, now: Time, booking: &Reserved) -> bool {
        self.supply.has_room(now, booking)
    }

    fn taken(&self, from: Time, until: Time) -> NodeSet {
        self.supply.taken(from, until)
    }

    fn book(&mut self, now: Time, booking: &Reserved) {
        self.supply.book(now, booking);
        self.look_anew();
    }

    fn release(&mut self, now: Time, booking: &Reserved) {
        self.supply.release(now, booking);
        self.look_anew();
    }

    fn make_way(&mut self, now: Time, steps: &mut Vec<Step>) {
        if self.supply.keep_up(now, steps) {
            self.look_anew();
        }
    }

    fn pass(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.make_way(now, steps);
        self.sort(now);
        self.start_heads(now, steps);
        if self.backfill {
            self.start_followers(now, steps);
        }
        self.tried = self.queue.len();
    }

    fn wake(&self) -> Option<Time> {
        self.supply.wake(!self.queue.is_empty())
    }

    fn moves(&self) -> bool {
        S::MOVES
    }

    /// Lets the future come, in which all that runs takes as long as it may.
    fn plan(&self, now: Time, extra: Option<&Reserved>) -> Vec<(TaskId, Time)> {
        let mut future = self.clone();
        if let Some(extra) = extra {
            future.book(now, extra);
        }
        let mut plan: Vec<(TaskId, Time)> = self.queue.iter().map(|waiting| (waiting.ask.job, Time::NEVER)).collect();
        let mut places: Vec<usize> = (0..plan.len()).collect();
        places.sort_unstable_by_key(|place| plan[*place].0);
        let (mut now, mut steps) = (now, Vec::new());
        loop {
            future.pass(now, &mut steps);
            for step in steps.drain(..) {
                if let Step::Start { job, .. } = step {
                    let place = places.binary_search_by_key(&job, |place| plan[*place].0);
                    let place = places[place.expect("who starts was in the queue")];
                    plan[place].1 = self.queue[place].ask.in_time(now);
                }
            }
            if future.queue.is_empty() {
                return plan;
            }
            let end = future.supply.ends().first().map(|end| end.0);
            let wake = future.wake().filter(|wake| *wake > now);
            now = end.into_iter().chain(wake).min().expect("who waits, waits for something");
            if now == Time::NEVER {
                return plan;
            }
            while let Some(&(until, job, _)) = future.supply.ends().first().filter(|end| end.0 <= now) {
                future.end(now, job, until);
            }
        }
    }
}
