//! Manager of a site with failing nodes that holds nodes for reservations: a task starts on exactly its nodes, at its
//! time or as soon after it as all of them are up, within the rest of its time.
//!
//! The meta-scheduler, which learns of outages late, decides about lost tasks and about bookings that their nodes keep
//! waiting. So it recalls a task, and learns from the answer if the task has started meanwhile.

use crate::grid::{Expected, NodeSet, Reserved};
use crate::kernel::ActorId;
use crate::protocol::{Hold, Message, Recall, Recalled};
use crate::roles::site::{Attempts, BookingStage, Bookings, Manager, Running, SiteOrder, Start, Tasks};
use crate::time::{Span, Time};

pub struct FailingHoldManager {
    /// Tasks that have not started.
    held: Bookings,
    down: NodeSet,
    attempts: Attempts,
}

impl FailingHoldManager {
    pub fn new(attempts: Attempts) -> FailingHoldManager {
        FailingHoldManager { held: Bookings::default(), down: NodeSet::default(), attempts }
    }
}

impl Manager for FailingHoldManager {
    fn receive_message(
        &mut self,
        now: Time,
        sender: ActorId,
        message: Message,
        _: &Tasks,
        orders: &mut Vec<SiteOrder>,
    ) {
        match message {
            // Nodes are booked in time.
            Message::Hold(Hold { task, start, nodes, runtime, walltime, .. }) if start >= now => {
                self.held.remove(task);
                let held = Reserved { from: start, until: start + walltime, nodes };
                self.held.add(task, sender, held, BookingStage::Ready(runtime));
            }
            Message::Recall(Recall { task }) => {
                let in_time = self.held.of(sender, task).is_some();
                if in_time {
                    self.held.remove(task);
                }
                orders.push(SiteOrder::Send(sender, Message::Recalled(Recalled { task, in_time, losses: 0 })));
            }
            _ => {}
        }
    }

    fn task_lost(&mut self, _: Time, _: &Running, _: Span) {}

    fn are_down(&mut self, _: Time, down: &[Expected]) {
        self.down = NodeSet::default();
        down.iter().for_each(|one| self.down.unite(&one.nodes));
    }

    fn has_waiting(&self) -> bool {
        self.held.is_anybody_late()
    }

    /// Tasks of one instant start in order of their numbers, and end in the order of their starts.
    fn decide_orders(&mut self, now: Time, _: &Tasks, orders: &mut Vec<SiteOrder>) {
        let mut starting = self.held.can_start(now, |_, held| !held.nodes.meets(&self.down));
        starting.sort_unstable();
        for task in starting {
            let start = self.held.start(now, task, |nodes| self.attempts.starts_for_giver(nodes));
            self.held.remove(task);
            orders.push(SiteOrder::Start(Start { rank: 0, ..start }));
        }
        // `are_down` reports the return of nodes.
        self.held.look_ahead(now, |_| Time::NEVER);
    }

    fn next_wake(&self) -> Option<Time> {
        self.held.next()
    }

    /// A waiting task ends after its run time, or is killed when its time is over.
    fn send_floor(&self, at: Time) -> Time {
        self.held.soonest_end(at)
    }
}
