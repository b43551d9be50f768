//! Planner of a user with two planners: one negotiates with sites, the other submits jobs to services.

use super::{Out, Planner};
use crate::kernel::ActorId;
use crate::protocol::Message;
use crate::time::Time;

pub struct SplitPlanner {
    negotiator: Box<dyn Planner>,
    rest: Box<dyn Planner>,
    /// Senders whose messages go to `rest`.
    services: Vec<ActorId>,
}

impl SplitPlanner {
    pub fn new(negotiator: Box<dyn Planner>, rest: Box<dyn Planner>, services: Vec<ActorId>) -> SplitPlanner {
        SplitPlanner { negotiator, rest, services }
    }
}

impl Planner for SplitPlanner {
    fn handle_timer(&mut self, now: Time, out: &mut Out) {
        self.negotiator.handle_timer(now, out);
        self.rest.handle_timer(now, out);
    }

    fn receive_message(&mut self, now: Time, from: ActorId, message: Message, out: &mut Out) {
        let side = if self.services.contains(&from) { &mut self.rest } else { &mut self.negotiator };
        side.receive_message(now, from, message, out);
    }

    fn decide_submissions(&mut self, now: Time, out: &mut Out) {
        self.negotiator.decide_submissions(now, out);
        self.rest.decide_submissions(now, out);
    }
}
