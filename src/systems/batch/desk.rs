//! The manager of a site with a queue, that others may book nodes of too, on one calendar.
//!
//! The queue's policy says who starts, and at the end of its walltime a job is killed. Bookings are made where neither running jobs
//! nor other bookings are in the way, and the queue plans around them. Tasks that somebody wants to have run at once
//! join the queue like all others: he cannot know what else there is.
//!
//! Once a job has started its end is known, so it is told at once; so is that of a booked one. What holds the rest of the
//! run up is what may start at the next instant, and even that can be told of no sooner than the shortest job of the queue
//! lasts.

use std::collections::{BTreeMap, BTreeSet};

use super::policy::{Ask, Policy, Reserved, Step};
use super::remedy::{Remedy, Work};
use crate::grid::{Demand, Expected, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Book, Booked, Message, Provided, Queue, Recall, Recalled, Run};
use crate::roles::site::{Ending, Loss, Manager, On, Order, Running, Start, Tasks};
use crate::time::{Span, Time};

pub struct Desk {
    policy: Box<dyn Policy>,
    waiting: BTreeMap<TaskId, Work>,
    /// How long those in the queue last, each with how many do.
    lengths: BTreeMap<Span, u32>,
    /// Those of the queue that have started.
    running: BTreeSet<TaskId>,
    /// What is booked for tasks that have not ended.
    booked: BTreeMap<TaskId, Booking>,
    steps: Vec<Step>,
    /// What is done where nodes fail.
    remedy: Option<Remedy>,
}

struct Booking {
    giver: ActorId,
    held: Reserved,
    /// How long it runs, if its input is not there yet: then nothing runs on its nodes meanwhile.
    awaiting: Option<Span>,
}

impl Desk {
    pub fn new(policy: Box<dyn Policy>) -> Desk {
        Desk {
            policy,
            waiting: BTreeMap::new(),
            lengths: BTreeMap::new(),
            running: BTreeSet::new(),
            booked: BTreeMap::new(),
            steps: Vec::new(),
            remedy: None,
        }
    }

    /// The desk of a site whose nodes fail. It is given nothing to book.
    pub fn with_remedy(self, remedy: Remedy) -> Desk {
        Desk { remedy: Some(remedy), ..self }
    }

    /// They know how large a site is; what fits nowhere, and what is no task at all, is nothing to answer to.
    fn queue(&mut self, now: Time, site: &Tasks, task: TaskId, work: Work) {
        let known = self.waiting.contains_key(&task) || self.running.contains(&task) || self.booked.contains_key(&task);
        if (1..=site.total()).contains(&work.nodes) && !work.lasts().is_zero() && !known {
            let ask = self.join_queue(task, work);
            self.policy.submit(now, ask);
        }
    }

    fn join_queue(&mut self, job: TaskId, work: Work) -> Ask {
        self.waiting.insert(job, work);
        *self.lengths.entry(work.lasts()).or_default() += 1;
        Ask { job, nodes: work.nodes, walltime: self.stretched(work.walltime, work.nodes) }
    }

    /// How long a span of work takes with its checkpoints, if it makes any.
    fn stretched(&self, work: Span, nodes: u32) -> Span {
        self.remedy.as_ref().map_or(work, |remedy| remedy.stretched(work, nodes))
    }

    fn leave_queue(&mut self, job: TaskId) -> Work {
        let waiting = self.waiting.remove(&job).expect("who leaves the queue has waited");
        let length = self.lengths.get_mut(&waiting.lasts()).expect("who waits is counted");
        *length -= 1;
        if *length == 0 {
            self.lengths.remove(&waiting.lasts());
        }
        waiting
    }

    /// Starts the task then, if nobody is in the way, and its input is there.
    fn book(&mut self, now: Time, giver: ActorId, book: Book, site: &Tasks, orders: &mut Vec<Order>) {
        let Book { task, start, nodes, walltime, runtime, awaits_input } = book;
        let held = Reserved { from: start, until: start + walltime, nodes };
        let makes_sense = start >= now && !runtime.is_zero() && self.can_be(task, &held, site);
        let granted = makes_sense && self.policy.has_room(now, &held);
        orders.push(Order::Say(giver, Message::Booked(Booked { task, granted })));
        if !granted {
            return;
        }
        self.policy.book(now, &held);
        if start == now {
            self.clear_way(now, orders);
        }
        let booking = Booking { giver, held, awaiting: awaits_input.then_some(runtime) };
        if !awaits_input {
            orders.push(booking.begin(task, start, runtime));
        }
        self.booked.insert(task, booking);
    }

    /// The input of a booked task is there. If its time has begun, it has what is left of it.
    fn provided(&mut self, now: Time, giver: ActorId, task: TaskId, orders: &mut Vec<Order>) {
        let Some(booking) = self.booked.get_mut(&task).filter(|booking| booking.giver == giver) else { return };
        let at = booking.held.from.max(now);
        if at < booking.held.until
            && let Some(runtime) = booking.awaiting.take()
        {
            orders.push(booking.begin(task, at, runtime));
        }
    }

    fn can_be(&self, task: TaskId, wanted: &Reserved, site: &Tasks) -> bool {
        let known = self.waiting.contains_key(&task) || self.booked.contains_key(&task);
        let known = known || site.all().any(|other| other.task == task);
        let last = wanted.nodes.runs().last().map(|run| run.1);
        let is_here = last.is_some_and(|last| last < site.total());
        !known && is_here && wanted.from < wanted.until && wanted.until < Time::NEVER
    }

    fn recall(&mut self, now: Time, giver: ActorId, task: TaskId, site: &Tasks, orders: &mut Vec<Order>) {
        let mut losses = 0;
        let in_time = if self.waiting.get(&task).is_some_and(|waiting| waiting.giver == giver) {
            losses = self.leave_queue(task).losses;
            self.policy.withdraw(now, task);
            true
        } else if self.booked.get(&task).is_some_and(|booking| booking.giver == giver)
            && !site.all().any(|other| other.task == task && other.nodes().is_some())
        {
            let booking = self.booked.remove(&task).expect("it has been found");
            if now < booking.held.until {
                self.policy.release(now, &booking.held);
            }
            orders.push(Order::Drop { task, giver });
            true
        } else {
            false
        };
        orders.push(Order::Say(giver, Message::Recalled(Recalled { task, in_time, losses })));
    }

    fn clear_way(&mut self, now: Time, orders: &mut Vec<Order>) {
        let mut steps = std::mem::take(&mut self.steps);
        self.policy.make_way(now, &mut steps);
        self.carry_out(now, &mut steps, orders);
        self.steps = steps;
    }

    fn carry_out(&mut self, now: Time, steps: &mut Vec<Step>, orders: &mut Vec<Order>) {
        for step in steps.drain(..) {
            orders.push(match step {
                Step::Move { job, nodes } => Order::Move { task: job, nodes: nodes.into(), from: now },
                Step::Start { job, nodes } => {
                    let work = self.leave_queue(job);
                    let loss = self.remedy.as_mut().map_or(Loss::default(), |remedy| remedy.starts(job, work));
                    // Whoever may be moved may get away from a node that fails.
                    let moves = self.remedy.is_some() && self.policy.moves();
                    self.running.insert(job);
                    Order::Start(Start {
                        task: job,
                        giver: work.giver,
                        at: now,
                        on: On::These(nodes.into()),
                        demand: Demand::NODE,
                        share: 1.0,
                        runtime: self.stretched(work.runtime, work.nodes),
                        walltime: self.stretched(work.walltime, work.nodes),
                        ending: if moves { Ending::Reckoned } else { Ending::Settled },
                        loss,
                        rank: rank(job),
                    })
                }
            });
        }
    }
}

impl Manager for Desk {
    fn make_way(&mut self, now: Time, _: &Tasks, orders: &mut Vec<Order>) {
        self.clear_way(now, orders);
    }

    fn hear(&mut self, now: Time, giver: ActorId, message: Message, site: &Tasks, orders: &mut Vec<Order>) {
        match message {
            Message::Queue(queue) => {
                let Queue { job, nodes, walltime, runtime, losses, .. } = queue;
                self.queue(now, site, TaskId { job, index: 0 }, Work { giver, nodes, walltime, runtime, losses });
            }
            // Whoever gives it knows exactly how long it takes.
            Message::Run(Run { task, cores, runtime, .. }) => {
                self.queue(now, site, task, Work { giver, nodes: cores, walltime: runtime, runtime, losses: 0 });
            }
            Message::Book(book) => self.book(now, giver, book, site, orders),
            Message::Provided(Provided { task }) => self.provided(now, giver, task, orders),
            Message::Recall(Recall { task }) => self.recall(now, giver, task, site, orders),
            _ => {}
        }
    }

    fn ended(&mut self, now: Time, ended: &Running) {
        match self.booked.remove(&ended.task) {
            None => {
                self.running.remove(&ended.task);
                self.policy.end(now, ended.task, ended.until());
                self.remedy.iter_mut().for_each(|remedy| remedy.ends(ended.task));
            }
            Some(Booking { held, .. }) if now < held.until => self.policy.release(now, &held),
            Some(_) => {}
        }
    }

    fn lost(&mut self, now: Time, task: &Running, saved: Span) {
        self.running.remove(&task.task);
        self.policy.end(now, task.task, task.until());
        self.remedy.as_mut().expect(REMEDY).lost(task.task, task.loss, saved);
    }

    fn are_down(&mut self, now: Time, down: &[Expected]) {
        let remedy = self.remedy.as_mut().expect(REMEDY);
        remedy.book(now, down, &mut *self.policy);
        let (returning, is_first) = remedy.returning();
        for (task, work) in returning {
            let ask = self.join_queue(task, work);
            match is_first {
                true => self.policy.submit_first(now, ask),
                false => self.policy.submit(now, ask),
            }
        }
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn decide(&mut self, now: Time, _: &Tasks, orders: &mut Vec<Order>) {
        let mut steps = std::mem::take(&mut self.steps);
        self.policy.pass(now, &mut steps);
        self.carry_out(now, &mut steps, orders);
        self.steps = steps;
    }

    fn wake(&self) -> Option<Time> {
        self.policy.wake()
    }

    fn floor(&self, at: Time) -> Time {
        self.lengths.first_key_value().map_or(Time::NEVER, |(shortest, _)| at + *shortest)
    }
}

impl Booking {
    /// Only its giver can take the task back, so its end is told at once.
    fn begin(&self, task: TaskId, at: Time, runtime: Span) -> Order {
        Order::Start(Start {
            task,
            giver: self.giver,
            at,
            on: On::These(self.held.nodes.clone().into()),
            demand: Demand::NODE,
            share: 1.0,
            runtime,
            walltime: self.held.until.since(at),
            ending: Ending::Settled,
            loss: Loss::default(),
            rank: rank(task),
        })
    }
}

const REMEDY: &str = "where nodes fail there is a remedy";

impl Work {
    /// How long the job holds its nodes at least: at its walltime it is killed.
    fn lasts(&self) -> Span {
        self.runtime.min(self.walltime)
    }
}

/// Jobs that end at one instant do so in the order of their numbers.
fn rank(task: TaskId) -> u64 {
    u64::from(task.job.0) << 32 | u64::from(task.index)
}
