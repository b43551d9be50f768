//! Manager of a market's site whose nodes fail: tasks start in order of arrival as soon as enough nodes are up and
//! free.

use std::collections::{BTreeMap, VecDeque};

use crate::grid::{NodeSet, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Message, Run};
use crate::roles::site::{Attempts, Manager, On, Running, SiteOrder, Start, Tasks};
use crate::time::{Span, Time};

/// Senders learn late of outages, so some tasks wait. The sender of a lost task decides about it.
pub struct InTurn {
    waiting: VecDeque<UnstartedTask>,
    /// Multiset of the run times of waiting tasks.
    lengths: BTreeMap<Span, u32>,
    attempts: Attempts,
}

struct UnstartedTask {
    sender: ActorId,
    task: TaskId,
    cores: u32,
    runtime: Span,
    planned: NodeSet,
}

impl InTurn {
    pub fn new(attempts: Attempts) -> InTurn {
        InTurn { waiting: VecDeque::new(), lengths: BTreeMap::new(), attempts }
    }
}

impl Manager for InTurn {
    fn receive_message(&mut self, _: Time, sender: ActorId, message: Message, site: &Tasks, _: &mut Vec<SiteOrder>) {
        let Message::Run(Run { task, cores, runtime, planned, .. }) = message else { return };
        // No real task is empty, or larger than the site.
        if (1..=site.total()).contains(&cores) && !runtime.is_zero() {
            *self.lengths.entry(runtime).or_default() += 1;
            self.waiting.push_back(UnstartedTask { sender, task, cores, runtime, planned });
        }
    }

    fn task_lost(&mut self, _: Time, _: &Running, _: Span) {}

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn decide_orders(&mut self, now: Time, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        let mut free = site.free();
        while let Some(next) = self.waiting.pop_front_if(|next| next.cores <= free) {
            let UnstartedTask { sender, task, cores, runtime, planned } = next;
            free -= cores;
            let count = self.lengths.get_mut(&runtime).expect("a waiting task is counted");
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&runtime);
            }
            let loss = self.attempts.starts_for_giver(cores);
            let start =
                Start::on_whole_nodes(sender, task, now, On::from_plan(planned, cores), loss.with_checkpoints(runtime));
            orders.push(SiteOrder::Start(Start { loss, ..start }));
        }
    }

    fn send_floor(&self, at: Time) -> Time {
        self.lengths.first_key_value().map_or(Time::NEVER, |(shortest, _)| at + *shortest)
    }
}
