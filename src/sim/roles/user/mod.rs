//! A user: an actor with a planner, which decides about the user's jobs.

mod resubmit;
mod script;
mod split_planner;
mod streamed;
#[cfg(test)]
mod tests;

pub use resubmit::Resubmit;
pub use script::Script;
pub use split_planner::SplitPlanner;
pub use streamed::{Follower, Followers, JobStore, StreamedJobs};

use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Message, Record};
use crate::time::{Stamp, Time};

/// Decides about the jobs of a user. It acts only by messages.
pub trait Planner: Send {
    /// The run begins, or a timer is due: its own, or one of the user's other planner.
    fn handle_timer(&mut self, now: Time, out: &mut Out);

    /// Receives a message.
    fn receive_message(&mut self, now: Time, from: ActorId, message: Message, out: &mut Out);

    /// Decides after all events of an instant.
    fn decide_submissions(&mut self, _now: Time, _out: &mut Out) {}
}

pub type Out = Outbox<Message, Record>;

pub struct User {
    planner: Box<dyn Planner>,
}

impl User {
    pub fn new(planner: impl Planner + 'static) -> User {
        User::with_planner(Box::new(planner))
    }

    pub fn with_planner(planner: Box<dyn Planner>) -> User {
        User { planner }
    }
}

impl Actor<Message, Record> for User {
    /// Messages are handled before timers.
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let mut due = false;
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start | Cause::Timer(_) => due = true,
                Cause::Message(message) => self.planner.receive_message(now.time, event.from, message, out),
            }
        }
        if due {
            self.planner.handle_timer(now.time, out);
        }
        self.planner.decide_submissions(now.time, out);
    }
}
