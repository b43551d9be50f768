//! Manager of a market's site that offers its idle cores to the auctioneer; another manager decides about starts.
//!
//! A site sends an offer at the beginning and after each instant in which tasks have left their cores. It sends none
//! because of starts, which the auctioneer knows as it has sent them: an offer says how many of them had arrived. It
//! sends none because of nodes that fail or come back either, since sites without tasks do not watch their nodes: such
//! news reaches services without messages, at the times of offers.

use crate::grid::Expected;
use crate::kernel::ActorId;
use crate::protocol::{Message, Record, Run, SiteOffer};
use crate::roles::site::{Manager, Running, SiteOrder, Tasks};
use crate::time::{Span, Time};

pub(super) struct Offering {
    manager: Box<dyn Manager>,
    auctioneer: ActorId,
    /// Period of offers: they are sent at whole multiples of it; at once, if it is zero.
    every: Span,
    /// Starts received so far.
    received: u64,
    /// Cores of received tasks that have no nodes yet.
    waiting: u32,
    /// True if there was no offer since tasks have left.
    has_news: bool,
    /// Time of the next offer, if it is later.
    next: Option<Time>,
}

impl Offering {
    pub fn new(manager: Box<dyn Manager>, auctioneer: ActorId, every: Span) -> Offering {
        Offering { manager, auctioneer, every, received: 0, waiting: 0, has_news: true, next: None }
    }

    /// Counts the starts among these orders as no longer waiting; returns the number of their cores.
    fn count_starts(&mut self, orders: &[SiteOrder]) -> u32 {
        let started =
            orders.iter().map(|order| if let SiteOrder::Start(start) = order { start.on.count() } else { 0 }).sum();
        self.waiting -= started;
        started
    }
}

impl Manager for Offering {
    fn make_way(&mut self, now: Time, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        self.manager.make_way(now, site, orders);
    }

    fn receive_message(
        &mut self,
        now: Time,
        from: ActorId,
        message: Message,
        site: &Tasks,
        orders: &mut Vec<SiteOrder>,
    ) {
        if let Message::Run(Run { cores, .. }) = message {
            self.received += 1;
            self.waiting += cores;
        }
        let before = orders.len();
        self.manager.receive_message(now, from, message, site, orders);
        self.count_starts(&orders[before..]);
    }

    fn task_ended(&mut self, now: Time, task: &Running) {
        self.has_news = true;
        self.manager.task_ended(now, task);
    }

    fn finish_tasks(&mut self, now: Time, orders: &mut Vec<SiteOrder>) {
        self.manager.finish_tasks(now, orders);
    }

    fn task_lost(&mut self, now: Time, task: &Running, saved: Span) {
        self.has_news = true;
        self.manager.task_lost(now, task, saved);
    }

    fn are_down(&mut self, now: Time, down: &[Expected]) {
        self.manager.are_down(now, down);
    }

    fn has_waiting(&self) -> bool {
        self.manager.has_waiting()
    }

    fn decide_orders(&mut self, now: Time, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        let before = orders.len();
        self.manager.decide_orders(now, site, orders);
        let started = self.count_starts(&orders[before..]);
        if !self.has_news {
            return;
        }
        let at = now.round_up(self.every);
        self.next = (at > now).then_some(at);
        if self.next.is_none() {
            self.has_news = false;
            let Offering { waiting, received, .. } = *self;
            let idle = site.free() - started;
            orders.push(SiteOrder::Log(Record::Offered { idle, waiting, received }));
            orders.push(SiteOrder::Send(self.auctioneer, Message::SiteOffer(SiteOffer { idle, waiting, received })));
        }
    }

    fn decides_from(&self) -> u32 {
        self.manager.decides_from()
    }

    fn next_wake(&self) -> Option<Time> {
        self.manager.next_wake().into_iter().chain(self.next).min()
    }

    fn has_more(&self, now: Time) -> bool {
        self.manager.has_more(now)
    }

    fn send_floor(&self, at: Time) -> Time {
        self.manager.send_floor(at).min(at.round_up(self.every))
    }
}
