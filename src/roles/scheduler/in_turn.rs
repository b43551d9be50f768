//! The site of a market whose nodes fail: tasks start in order of arrival as soon as enough nodes are up and free.

use std::collections::{BTreeMap, VecDeque};

use crate::grid::{Demand, Failure, Recovery, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Message, Run};
use crate::roles::site::{Ending, Loss, Manager, On, Order, Running, Start, Tasks};
use crate::time::{Span, Time};

/// Whoever gives it tasks learns late what is down, so some of them wait. What is lost is for him to see to.
pub struct InTurn {
    waiting: VecDeque<Waiting>,
    /// How long those that wait take at least, each with how many do.
    lengths: BTreeMap<Span, u32>,
    recovery: Recovery,
    failures: Vec<Failure>,
}

struct Waiting {
    giver: ActorId,
    task: TaskId,
    cores: u32,
    runtime: Span,
}

impl InTurn {
    /// At a site that fails in these ways.
    pub fn new(recovery: Recovery, failures: Vec<Failure>) -> InTurn {
        InTurn { waiting: VecDeque::new(), lengths: BTreeMap::new(), recovery, failures }
    }
}

impl Manager for InTurn {
    fn hear(&mut self, _: Time, giver: ActorId, message: Message, site: &Tasks, _: &mut Vec<Order>) {
        let Message::Run(Run { task, cores, runtime, .. }) = message else { return };
        // No real task is empty, or larger than the site.
        if (1..=site.total()).contains(&cores) && !runtime.is_zero() {
            *self.lengths.entry(runtime).or_default() += 1;
            self.waiting.push_back(Waiting { giver, task, cores, runtime });
        }
    }

    fn lost(&mut self, _: Time, _: &Running, _: Span) {}

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn decide(&mut self, now: Time, site: &Tasks, orders: &mut Vec<Order>) {
        let mut free = site.free();
        while let Some(Waiting { giver, task, cores, runtime }) = self.waiting.pop_front_if(|next| next.cores <= free) {
            free -= cores;
            let count = self.lengths.get_mut(&runtime).expect("who waits is counted");
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&runtime);
            }
            let saves = self.recovery.saves(&self.failures, site.total(), cores);
            orders.push(Order::Start(Start {
                task,
                giver,
                at: now,
                on: On::Lowest(cores),
                demand: Demand::NODE,
                share: 1.0,
                runtime: saves.map_or(runtime, |saves| saves.stretched(runtime)),
                walltime: Span::MAX,
                ending: Ending::Settled,
                loss: Loss { saves, is_told: true },
                rank: 0,
            }));
        }
    }

    fn floor(&self, at: Time) -> Time {
        self.lengths.first_key_value().map_or(Time::NEVER, |(shortest, _)| at + *shortest)
    }
}
