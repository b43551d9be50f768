//! The manager of a site with a queue, whose nodes others may book too, on one calendar.
//!
//! The queue's policy decides which jobs start, and at the end of its walltime a job is killed. Bookings are made where
//! neither running jobs nor other bookings are in the way, and the queue plans around them. A task that another system
//! wants to run at once joins the queue like all others, as its sender does not know the rest of the queue.
//!
//! Once a job has started its end is known, so it is announced at once, as is that of a booked one. The rest of the run
//! waits for the jobs that may start at the next instant, and even their ends come no sooner than the shortest job of
//! the queue lasts.
//!
//! If nodes fail, a lost job returns to the queue, as the topology says. The other senders handle their own losses:
//! the sender of a task that was to run at once, or was booked, is told, and decides what follows.

use std::collections::{BTreeMap, BTreeSet};

use super::remedy::{QueueFailureHandling, Work};
use crate::grid::{Expected, NodeSet, Reserved, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Book, Booked, Message, Provided, Queue, Recall, Recalled, Release, Run};
use crate::roles::queue::{NodeRequest, Policy, Step};
use crate::roles::site::{
    BookingStage, Bookings, Ending, Loss, Manager, On, Running, SiteOrder, Start, Tasks, task_rank,
};
use crate::systems::Fails;
use crate::time::{Span, Time};

pub struct QueueManager {
    policy: Box<dyn Policy>,
    waiting: BTreeMap<TaskId, Work>,
    /// Durations of the queued jobs, with the number of jobs of each.
    lengths: BTreeMap<Span, u32>,
    /// Running jobs of the queue.
    running: BTreeSet<TaskId>,
    booked: Bookings,
    steps: Vec<Step>,
    /// First step of an instant in which jobs may start.
    starts_from: u32,
    /// The handling of failures, where nodes fail.
    remedy: Option<QueueFailureHandling>,
}

impl QueueManager {
    pub fn new(policy: Box<dyn Policy>) -> QueueManager {
        QueueManager {
            policy,
            waiting: BTreeMap::new(),
            lengths: BTreeMap::new(),
            running: BTreeSet::new(),
            booked: Bookings::default(),
            steps: Vec::new(),
            starts_from: 0,
            remedy: None,
        }
    }

    /// Like this desk, at a site with this many nodes, which fail, some of which are reserved, as its policy knows.
    pub fn with_outages(self, fails: &Fails, nodes: u32, reserved: &[Reserved]) -> QueueManager {
        let remedy = QueueFailureHandling::new(fails, nodes, &*self.policy, reserved);
        QueueManager { remedy: Some(remedy), ..self }
    }

    /// Like this manager, at a site without latency, where a new job may precede older ones: it starts none before the
    /// new jobs of the instant are there.
    pub fn awaiting_new_jobs(self) -> QueueManager {
        QueueManager { starts_from: STEPS_OF_SUBMISSION, ..self }
    }

    /// Queues a task. Senders know the size of the site, so a task that fits nowhere, or is no valid task, gets no
    /// answer.
    fn queue(&mut self, now: Time, site: &Tasks, task: TaskId, work: Work) {
        let known = self.waiting.contains_key(&task) || self.running.contains(&task) || self.booked.has(task);
        if (1..=site.total()).contains(&work.nodes) && !work.held_time().is_zero() && !known {
            let request = self.join_queue(task, work);
            self.policy.submit_job(now, request);
        }
    }

    fn join_queue(&mut self, job: TaskId, work: Work) -> NodeRequest {
        self.waiting.insert(job, work);
        *self.lengths.entry(work.held_time()).or_default() += 1;
        NodeRequest { job, nodes: work.nodes, walltime: self.with_checkpoints(work.walltime, work.nodes) }
    }

    /// Duration of a span of work with its checkpoints, if it makes any.
    fn with_checkpoints(&self, work: Span, nodes: u32) -> Span {
        self.remedy.as_ref().map_or(work, |remedy| remedy.with_checkpoints(work, nodes))
    }

    fn leave_queue(&mut self, job: TaskId) -> Work {
        let waiting = self.waiting.remove(&job).expect("a job that leaves the queue has waited");
        let length = self.lengths.get_mut(&waiting.held_time()).expect("a waiting job is counted");
        *length -= 1;
        if *length == 0 {
            self.lengths.remove(&waiting.held_time());
        }
        waiting
    }

    /// Books a task at its time, if no other is in the way, and starts it if its input is there.
    fn book(&mut self, now: Time, sender: ActorId, book: Book, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        let Book { task, start, runtime, awaits_input, .. } = book;
        let wanted = self.booked.wanted_reservation(now, &book, site).filter(|_| !self.waiting.contains_key(&task));
        let held = match wanted {
            Some(held) if self.has_room(now, &held) => held,
            refused => {
                let free = refused.map_or_else(NodeSet::default, |held| self.choosable_nodes(now, &held, site));
                return orders.push(SiteOrder::Send(sender, Message::Booked(Booked::refused(task, &free))));
            }
        };
        orders.push(SiteOrder::Send(sender, Message::Booked(Booked::granted(task))));
        match &mut self.remedy {
            Some(remedy) => remedy.book(now, task, &held, &mut *self.policy),
            None => self.policy.add_booking(now, &held),
        }
        if start == now {
            self.clear_way(now, orders);
        }
        let fails = self.remedy.is_some();
        let stage =
            if awaits_input { BookingStage::AwaitsInput(runtime) } else { BookingStage::once_ready(runtime, fails) };
        let booking = self.booked.add(task, sender, held, stage);
        if stage == BookingStage::Begun {
            orders.push(SiteOrder::Start(booking.begin(task, start, runtime, Loss::default())));
        }
    }

    /// The nodes from which a task that cannot have its own could choose others for the same time; empty, if there are
    /// too few.
    fn choosable_nodes(&self, now: Time, held: &Reserved, site: &Tasks) -> NodeSet {
        let mut free = NodeSet::all(site.total());
        free.subtract(&self.policy.taken_nodes(held.from, held.until));
        self.remedy.iter().for_each(|remedy| free.subtract(&remedy.claims().nodes_claimed(held.from, held.until)));
        let others = free.lowest(held.nodes.len()).map(|nodes| Reserved { nodes, ..held.clone() });
        if others.is_some_and(|others| self.has_room(now, &others)) { free } else { NodeSet::default() }
    }

    fn has_room(&self, now: Time, wanted: &Reserved) -> bool {
        self.policy.has_room(now, wanted)
            && self.remedy.as_ref().is_none_or(|remedy| remedy.claims().no_claim_meets(wanted))
    }

    /// The input of a booked task has arrived. If its time has begun, it has the rest of it.
    fn handle_provided(&mut self, now: Time, sender: ActorId, task: TaskId, orders: &mut Vec<SiteOrder>) {
        let Some(booking) = self.booked.of(sender, task).filter(|booking| now < booking.held.until) else { return };
        let fails = self.remedy.is_some();
        let begins = booking.held.from <= now;
        // Where nodes are only counted, others may be on its own until it begins.
        if begins && !fails {
            self.clear_way(now, orders);
        }
        let provided = self.booked.provide(sender, task, fails);
        if let Some((booking, runtime)) = provided.filter(|_| !fails) {
            orders.push(SiteOrder::Start(booking.begin(task, booking.held.from.max(now), runtime, Loss::default())));
        }
    }

    fn recall(&mut self, now: Time, sender: ActorId, task: TaskId, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        let mut losses = 0;
        let in_time = if self.waiting.get(&task).is_some_and(|waiting| waiting.sender == sender) {
            losses = self.leave_queue(task).losses;
            self.policy.withdraw_job(now, task);
            true
        } else if self.booked.of(sender, task).is_some_and(|booking| !booking.is_lost())
            && site.of(task).is_none_or(|task| task.nodes().is_none())
        {
            self.give_up_booking(now, task);
            orders.push(SiteOrder::Drop { task, sender });
            true
        } else {
            false
        };
        orders.push(SiteOrder::Send(sender, Message::Recalled(Recalled { task, in_time, losses })));
    }

    /// A booked task was lost, and its sender does not want the rest of its time.
    fn release(&mut self, now: Time, sender: ActorId, task: TaskId) {
        if self.booked.of(sender, task).is_some_and(|booking| booking.is_lost()) {
            self.give_up_booking(now, task);
        }
    }

    /// Removes the rest of a task's booking; true if there was one.
    fn give_up_booking(&mut self, now: Time, task: TaskId) -> bool {
        let Some(booking) = self.booked.remove(task) else { return false };
        match &mut self.remedy {
            Some(remedy) => remedy.release(now, task, &mut *self.policy),
            None if now < booking.held.until => self.policy.release_booking(now, &booking.held),
            None => {}
        }
        true
    }

    /// Starts the booked tasks whose start is now, or was before and was impossible.
    fn start_booked(&mut self, now: Time, orders: &mut Vec<SiteOrder>) {
        let Some(remedy) = &self.remedy else { return };
        let claims = remedy.claims();
        let starting =
            self.booked.can_start(now, |task, held| claims.has_room_from(task) <= now && claims.are_up(&held.nodes));
        if !starting.is_empty() {
            self.clear_way(now, orders);
        }
        let remedy = self.remedy.as_ref().expect(REMEDY);
        for task in starting {
            orders.push(SiteOrder::Start(self.booked.start(now, task, |nodes| remedy.starts_booked(nodes))));
        }
        self.booked.look_ahead(now, |task| remedy.claims().has_room_from(task));
    }

    fn clear_way(&mut self, now: Time, orders: &mut Vec<SiteOrder>) {
        let mut steps = std::mem::take(&mut self.steps);
        self.policy.make_way(now, &mut steps);
        self.carry_out(now, &mut steps, orders);
        self.steps = steps;
    }

    fn carry_out(&mut self, now: Time, steps: &mut Vec<Step>, orders: &mut Vec<SiteOrder>) {
        for step in steps.drain(..) {
            orders.push(match step {
                Step::Move { job, nodes } => SiteOrder::Move { task: job, nodes: nodes.into(), from: now },
                Step::Start { job, nodes } => {
                    let work = self.leave_queue(job);
                    let walltime = self.with_checkpoints(work.walltime, work.nodes);
                    let until = now + walltime;
                    let loss = self.remedy.as_mut().map_or(Loss::default(), |remedy| remedy.starts(job, work, until));
                    // A job that may be moved may escape from a node that fails.
                    let moves = self.remedy.is_some() && self.policy.moves_jobs();
                    self.running.insert(job);
                    let runtime = self.with_checkpoints(work.runtime, work.nodes);
                    let start = Start::on_whole_nodes(work.sender, job, now, On::These(nodes.into()), runtime);
                    let ending = if moves { Ending::Timed } else { Ending::Settled };
                    SiteOrder::Start(Start { walltime, ending, loss, rank: task_rank(job), ..start })
                }
            });
        }
    }
}

impl Manager for QueueManager {
    fn make_way(&mut self, now: Time, _: &Tasks, orders: &mut Vec<SiteOrder>) {
        self.clear_way(now, orders);
    }

    fn receive_message(
        &mut self,
        now: Time,
        sender: ActorId,
        message: Message,
        site: &Tasks,
        orders: &mut Vec<SiteOrder>,
    ) {
        match message {
            Message::Queue(queue) => {
                let Queue { job, nodes, walltime, runtime, losses, .. } = queue;
                let work = Work { sender, nodes, walltime, runtime, losses, goes_back: false };
                self.queue(now, site, TaskId { job, index: 0 }, work);
            }
            // The sender knows the exact run time.
            Message::Run(Run { task, cores, runtime, .. }) => {
                let work = Work { sender, nodes: cores, walltime: runtime, runtime, losses: 0, goes_back: true };
                self.queue(now, site, task, work);
            }
            Message::Book(book) => self.book(now, sender, book, site, orders),
            Message::Provided(Provided { task }) => self.handle_provided(now, sender, task, orders),
            Message::Recall(Recall { task }) => self.recall(now, sender, task, site, orders),
            Message::Hold(hold) => self.booked.hold(now, sender, &hold),
            Message::Release(Release { task }) => self.release(now, sender, task),
            _ => {}
        }
    }

    fn task_ended(&mut self, now: Time, ended: &Running) {
        if !self.give_up_booking(now, ended.task) {
            self.running.remove(&ended.task);
            self.policy.end_job(now, ended.task, ended.until());
            self.remedy.iter_mut().for_each(|remedy| remedy.ends(now, ended.task, &mut *self.policy));
        }
    }

    fn task_lost(&mut self, now: Time, task: &Running, saved: Span) {
        if self.booked.mark_lost(task.task) {
            return;
        }
        self.running.remove(&task.task);
        self.policy.end_job(now, task.task, task.until());
        self.remedy.as_mut().expect(REMEDY).record_loss(task.task, task.loss, saved);
    }

    fn are_down(&mut self, now: Time, down: &[Expected]) {
        let remedy = self.remedy.as_mut().expect(REMEDY);
        remedy.set_down_nodes(now, down, &mut *self.policy);
        let (returning, is_first) = remedy.returning();
        for (task, work) in returning {
            let request = self.join_queue(task, work);
            match is_first {
                true => self.policy.submit_first(now, request),
                false => self.policy.submit_job(now, request),
            }
        }
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || self.booked.is_anybody_late()
    }

    fn decide_orders(&mut self, now: Time, _: &Tasks, orders: &mut Vec<SiteOrder>) {
        self.start_booked(now, orders);
        let mut steps = std::mem::take(&mut self.steps);
        self.policy.run_pass(now, &mut steps);
        self.carry_out(now, &mut steps, orders);
        self.steps = steps;
    }

    fn decides_from(&self) -> u32 {
        self.starts_from
    }

    fn next_wake(&self) -> Option<Time> {
        self.policy.next_wake().into_iter().chain(self.booked.next()).min()
    }

    fn send_floor(&self, at: Time) -> Time {
        let queued = self.lengths.first_key_value().map_or(Time::NEVER, |(shortest, _)| at + *shortest);
        queued.min(self.booked.soonest_end(at))
    }
}

/// Steps that a job takes from its user to its site on links without latency: to the dispatcher, and from there.
const STEPS_OF_SUBMISSION: u32 = 2;

const REMEDY: &str = "where nodes fail there is a remedy";

impl Work {
    /// Least duration for which the job holds its nodes: at its walltime it is killed.
    fn held_time(&self) -> Span {
        self.runtime.min(self.walltime)
    }
}
