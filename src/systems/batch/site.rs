//! A site with a queue: its policy says who starts, and at the end of its walltime a job is killed.
//!
//! Once a job has started its end is known, so it is told at once, stamped in the future. What holds the rest of the
//! run up is what may start at the next instant, and even that can be told of no sooner than the shortest job of the
//! queue lasts: this is the floor that each timer carries.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::policy::{Ask, Policy, Start};
use crate::grid::{JobId, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Ended, Message, Queue, Record};
use crate::time::{Span, Stamp, Time};

pub struct Batcher {
    router: ActorId,
    nodes: u32,
    policy: Box<dyn Policy>,
    report_every: Span,
    waiting: BTreeMap<JobId, Queue>,
    /// How long those in the queue last, each with how many do.
    lengths: BTreeMap<Span, u32>,
    /// By (end, job): what runs.
    running: BinaryHeap<Reverse<(Time, JobId, Limit)>>,
    /// Timers that have been set, and what each promises: nothing leaves because of it before that.
    timers: Vec<(Time, Time)>,
    starts: Vec<Start>,
}

/// When a job has to end, and whether it does not sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Limit {
    until: Time,
    killed: bool,
}

type Out = Outbox<Message, Record>;

impl Batcher {
    pub fn new(nodes: u32, policy: Box<dyn Policy>, router: ActorId) -> Batcher {
        Batcher {
            router,
            nodes,
            policy,
            report_every: Span::ZERO,
            waiting: BTreeMap::new(),
            lengths: BTreeMap::new(),
            running: BinaryHeap::new(),
            timers: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Tells what has ended only at whole multiples of a time.
    pub fn telling_every(self, report_every: Span) -> Batcher {
        Batcher { report_every, ..self }
    }

    fn end(&mut self, now: Time, out: &mut Out) {
        while let Some(&Reverse((end, job, Limit { until, killed }))) = self.running.peek()
            && end <= now
        {
            self.running.pop();
            let task = TaskId { job, index: 0 };
            out.log(if killed { Record::Killed { task } } else { Record::Finished { task } });
            self.policy.end(now, job, until);
        }
    }

    /// The router knows how large a site is; what fits nowhere is nothing to answer to.
    fn queue(&mut self, now: Time, queue: Queue) {
        let Queue { job, nodes, walltime, .. } = queue;
        if (1..=self.nodes).contains(&nodes) && !queue.lasts().is_zero() && !self.waiting.contains_key(&job) {
            self.waiting.insert(job, queue);
            *self.lengths.entry(queue.lasts()).or_default() += 1;
            self.policy.submit(now, Ask { job, nodes, walltime });
        }
    }

    fn pass(&mut self, now: Time, out: &mut Out) {
        let mut starts = std::mem::take(&mut self.starts);
        self.policy.pass(now, &mut starts);
        for Start { job, nodes } in starts.drain(..) {
            let queue = self.waiting.remove(&job).expect("who starts has waited");
            let length = self.lengths.get_mut(&queue.lasts()).expect("who waits is counted");
            *length -= 1;
            if *length == 0 {
                self.lengths.remove(&queue.lasts());
            }
            let task = TaskId { job, index: 0 };
            let end = now + queue.lasts();
            let limit = Limit { until: now + queue.walltime, killed: queue.runtime > queue.walltime };
            out.log(Record::Started { task, cores: nodes });
            let ended = Ended { task, started: now };
            out.send_at(end.round_up(self.report_every), self.router, Message::Ended(ended));
            self.running.push(Reverse((end, job, limit)));
        }
        self.starts = starts;
    }

    /// Comes back at the next instant at which something ends or may start. `earliest` is what the causes of this batch
    /// have promised; whatever else is on its way has timers of its own.
    fn come_back(&mut self, now: Time, earliest: Time, out: &mut Out) {
        let end = self.running.peek().map(|Reverse((end, ..))| *end);
        let Some(next) = end.into_iter().chain(self.policy.wake()).filter(|next| *next > now).min() else { return };
        let floor = self.lengths.first_key_value().map_or(Time::NEVER, |(shortest, _)| next + *shortest);
        if self.timers.iter().any(|timer| timer.0 == next && timer.1 <= floor) {
            return;
        }
        let floor = floor.max(earliest);
        self.timers.push((next, floor));
        out.wake_promising(next, floor, 0);
    }
}

impl Actor<Message, Record> for Batcher {
    /// Ends, then what has come, then one pass.
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let now = now.time;
        let mut earliest = Time::NEVER;
        self.end(now, out);
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Queue(queue)) if event.from == self.router => {
                    earliest = earliest.min(now + queue.lasts());
                    self.queue(now, queue);
                }
                Cause::Start => earliest = now,
                _ => {}
            }
        }
        self.timers.retain(|(time, floor)| {
            if *time == now {
                earliest = earliest.min(*floor);
            }
            *time > now
        });
        self.pass(now, out);
        self.come_back(now, earliest, out);
    }
}
