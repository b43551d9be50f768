//! The manager of a site that holds nodes for reservations, where nodes fail: a task starts on exactly its nodes, at its time or
//! as soon after it as all of them are up, and has what is left of its time.
//!
//! What is to become of a task that is lost, or of a booking that its nodes keep waiting, is for the meta-scheduler to say, who
//! hears of it late. So it asks for a task back, and hears whether it has started meanwhile.

use std::collections::BTreeMap;

use crate::grid::{Demand, Expected, NodeSet, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Hold, Message, Recall, Recalled};
use crate::roles::site::{Ending, Loss, Manager, On, Order, Running, Start, Tasks};
use crate::systems::Fails;
use crate::time::{Span, Time};

pub struct Warden {
    /// What has not started.
    held: BTreeMap<TaskId, Held>,
    down: NodeSet,
    /// Whether somebody's time has come, but not all of his nodes are up.
    is_late: bool,
    /// When the next one's time comes.
    next: Option<Time>,
    fails: Fails,
}

struct Held {
    giver: ActorId,
    start: Time,
    end: Time,
    nodes: NodeSet,
    runtime: Span,
}

impl Warden {
    /// At a site that fails in these ways.
    pub fn new(fails: Fails) -> Warden {
        Warden { held: BTreeMap::new(), down: NodeSet::default(), is_late: false, next: None, fails }
    }

    fn start(&self, now: Time, task: TaskId, held: Held, site: &Tasks) -> Order {
        let Held { giver, end, nodes, runtime, .. } = held;
        let saves = self.fails.recovery.saves(&self.fails.failures, site.total(), nodes.len());
        Order::Start(Start {
            task,
            giver,
            at: now,
            on: On::These(nodes.into()),
            demand: Demand::NODE,
            share: 1.0,
            runtime: saves.map_or(runtime, |saves| saves.stretched(runtime)),
            walltime: end.since(now),
            ending: Ending::Settled,
            loss: Loss { saves, is_told: true },
            rank: 0,
        })
    }
}

impl Manager for Warden {
    fn hear(&mut self, now: Time, giver: ActorId, message: Message, _: &Tasks, orders: &mut Vec<Order>) {
        match message {
            // Nodes are booked in time.
            Message::Hold(Hold { task, start, nodes, runtime, walltime, .. }) if start >= now => {
                self.held.insert(task, Held { giver, start, end: start + walltime, nodes, runtime });
            }
            Message::Recall(Recall { task }) => {
                let in_time = self.held.get(&task).is_some_and(|held| held.giver == giver);
                if in_time {
                    self.held.remove(&task);
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
        self.is_late
    }

    fn decide(&mut self, now: Time, site: &Tasks, orders: &mut Vec<Order>) {
        let is_due = |held: &Held| held.start <= now && now < held.end;
        let can_start = |held: &Held| is_due(held) && !held.nodes.meets(&self.down);
        let starting: Vec<TaskId> =
            self.held.iter().filter(|(_, held)| can_start(held)).map(|(task, _)| *task).collect();
        for task in starting {
            let held = self.held.remove(&task).expect("it is held");
            orders.push(self.start(now, task, held, site));
        }
        self.is_late = self.held.values().any(is_due);
        self.next = self.held.values().map(|held| held.start).filter(|start| *start > now).min();
    }

    fn wake(&self) -> Option<Time> {
        self.next
    }

    /// Whoever waits ends after his run time, or is killed when his time is over.
    fn floor(&self, at: Time) -> Time {
        let waiting = self.held.values().filter(|held| held.end > at);
        let ends = waiting.map(|held| (held.start.max(at) + held.runtime).min(held.end));
        ends.min().unwrap_or(Time::NEVER)
    }
}
