//! The manager of a site that holds nodes for reservations, where nodes fail: a task starts on exactly its nodes, at
//! its time or as soon after it as all of them are up, and has what is left of its time.
//!
//! What is to become of a task that is lost, or of a booking that its nodes keep waiting, is for the meta-scheduler to
//! say, who hears of it late. So it asks for a task back, and hears whether it has started meanwhile.

use crate::grid::{Expected, NodeSet, Reserved};
use crate::kernel::ActorId;
use crate::protocol::{Hold, Message, Recall, Recalled};
use crate::roles::site::{Attempts, Bookings, Manager, Order, Running, Stage, Start, Tasks};
use crate::time::{Span, Time};

pub struct Warden {
    /// What has not started.
    held: Bookings,
    down: NodeSet,
    attempts: Attempts,
}

impl Warden {
    pub fn new(attempts: Attempts) -> Warden {
        Warden { held: Bookings::default(), down: NodeSet::default(), attempts }
    }
}

impl Manager for Warden {
    fn hear(&mut self, now: Time, giver: ActorId, message: Message, _: &Tasks, orders: &mut Vec<Order>) {
        match message {
            // Nodes are booked in time.
            Message::Hold(Hold { task, start, nodes, runtime, walltime, .. }) if start >= now => {
                self.held.remove(task);
                let held = Reserved { from: start, until: start + walltime, nodes };
                self.held.add(task, giver, held, Stage::Ready(runtime));
            }
            Message::Recall(Recall { task }) => {
                let in_time = self.held.of(giver, task).is_some();
                if in_time {
                    self.held.remove(task);
                }
                orders.push(Order::Say(giver, Message::Recalled(Recalled { task, in_time, losses: 0 })));
            }
            _ => {}
        }
    }

    fn lost(&mut self, _: Time, _: &Running, _: Span) {}

    fn are_down(&mut self, _: Time, down: &[Expected]) {
        self.down = NodeSet::default();
        down.iter().for_each(|one| self.down.unite(&one.nodes));
    }

    fn has_waiting(&self) -> bool {
        self.held.is_anybody_late()
    }

    /// Of one instant in the order of their numbers, and in the order in which they have started they end.
    fn decide(&mut self, now: Time, _: &Tasks, orders: &mut Vec<Order>) {
        let mut starting = self.held.can_start(now, |_, held| !held.nodes.meets(&self.down));
        starting.sort_unstable();
        for task in starting {
            let start = self.held.start(now, task, |nodes| self.attempts.starts_for_giver(nodes));
            self.held.remove(task);
            orders.push(Order::Start(Start { rank: 0, ..start }));
        }
        // Nodes that are down are told of when they are back.
        self.held.look_ahead(now, |_| Time::NEVER);
    }

    fn wake(&self) -> Option<Time> {
        self.held.next()
    }

    /// Whoever waits ends after his run time, or is killed when his time is over.
    fn floor(&self, at: Time) -> Time {
        self.held.soonest_end(at)
    }
}
