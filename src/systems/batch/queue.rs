//! The manager of a site with a queue: its policy says who starts, and at the end of its walltime a job is killed.
//!
//! Once a job has started its end is known, so it is told at once. What holds the rest of the run up is what may start at
//! the next instant, and even that can be told of no sooner than the shortest job of the queue lasts.

use std::collections::BTreeMap;

use super::policy::{Ask, Policy, Step};
use crate::grid::{Demand, JobId, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{self, Message};
use crate::roles::site::{Manager, On, Order, Running, Start, Tasks};
use crate::time::{Span, Time};

pub struct Queue {
    policy: Box<dyn Policy>,
    waiting: BTreeMap<JobId, (ActorId, protocol::Queue)>,
    /// How long those in the queue last, each with how many do.
    lengths: BTreeMap<Span, u32>,
    steps: Vec<Step>,
}

impl Queue {
    pub fn new(policy: Box<dyn Policy>) -> Queue {
        Queue { policy, waiting: BTreeMap::new(), lengths: BTreeMap::new(), steps: Vec::new() }
    }
}

impl Queue {
    fn order(&mut self, now: Time, step: Step) -> Order {
        let (job, nodes) = match step {
            Step::Move { job, nodes } => {
                return Order::Move { task: TaskId { job, index: 0 }, nodes, from: now };
            }
            Step::Start { job, nodes } => (job, nodes),
        };
        let (giver, queue) = self.waiting.remove(&job).expect("who starts has waited");
        let length = self.lengths.get_mut(&queue.lasts()).expect("who waits is counted");
        *length -= 1;
        if *length == 0 {
            self.lengths.remove(&queue.lasts());
        }
        Order::Start(Start {
            task: TaskId { job, index: 0 },
            giver,
            at: now,
            on: On::These(nodes),
            demand: Demand::NODE,
            runtime: queue.runtime,
            walltime: queue.walltime,
            settled: true,
            rank: job.0.into(),
        })
    }
}

impl Manager for Queue {
    fn hear(&mut self, now: Time, giver: ActorId, message: Message, site: &Tasks, _: &mut Vec<Order>) {
        let Message::Queue(queue) = message else { return };
        let protocol::Queue { job, nodes, walltime, .. } = queue;
        // They know how large a site is; what fits nowhere is nothing to answer to.
        if (1..=site.total()).contains(&nodes) && !queue.lasts().is_zero() && !self.waiting.contains_key(&job) {
            self.waiting.insert(job, (giver, queue));
            *self.lengths.entry(queue.lasts()).or_default() += 1;
            self.policy.submit(now, Ask { job, nodes, walltime });
        }
    }

    fn ended(&mut self, now: Time, task: &Running) {
        self.policy.end(now, task.task.job, task.until());
    }

    fn decide(&mut self, now: Time, _: &Tasks, orders: &mut Vec<Order>) {
        let mut steps = std::mem::take(&mut self.steps);
        self.policy.pass(now, &mut steps);
        orders.extend(steps.drain(..).map(|step| self.order(now, step)));
        self.steps = steps;
    }

    fn wake(&self) -> Option<Time> {
        self.policy.wake()
    }

    fn floor(&self, at: Time) -> Time {
        self.lengths.first_key_value().map_or(Time::NEVER, |(shortest, _)| at + *shortest)
    }
}
