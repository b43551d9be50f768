//! A site: owns its nodes by identity, runs tasks on them as its manager decides, and reports their ends to the
//! senders.
//!
//! Decisions are the task of a manager (`Manager`). Carrying them out, checks, the clock, periodic reports, kills at
//! the walltime and the log are written here, once.
//!
//! A site reports as early as possible. The end of a task that nothing can change any more is sent at once, stamped
//! with its future time. For the rest it sets one timer at a time, for the next event here, with the promise of its
//! manager: many timers only update the state, and no other process has to wait for them.

mod attempts;
mod bookings;
mod failing;
mod manager;
mod nodes;
mod tasks;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub use self::attempts::{Attempts, left_of};
pub use self::bookings::{Booking, BookingStage, Bookings};
pub use self::manager::{Ending, Loss, Manager, On, SiteOrder, Start, task_rank};
pub use self::tasks::{Running, TaskState, Tasks};
use crate::grid::{Expected, Layers, Outages, TaskId};
use crate::kernel::{self, Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Message, Record};
use crate::time::{Span, Stamp, Time};

pub struct Site {
    /// Actors that may send work.
    senders: Vec<ActorId>,
    manager: Box<dyn Manager>,
    is_quiet: bool,
    tasks: Tasks,
    report_every: Span,
    /// Outages of its nodes; None if they do not fail.
    outages: Option<Outages>,
    /// Outages last reported to the manager; it is told again when the first expected return has passed.
    expected: Vec<Expected>,
    /// Starts and ends as currently scheduled; empty under a quiet manager, which has a timer for each.
    due: BinaryHeap<Reverse<Due>>,
    serial: u64,
    own_ends: OwnEnds,
    /// Timers that are set, by time, each with its promise: it causes no message before that.
    timers: Vec<(Time, Time)>,
    /// Next time at which something happens here without a message: an end, a start, a decision or an outage.
    /// `Time::NEVER` if nothing does. Timers before it are outdated.
    next_event: Time,
    orders: Vec<SiteOrder>,
}

/// Ends of tasks that no other actor knows, as they are reported when they come.
#[derive(Default)]
struct OwnEnds {
    /// Number of tasks whose ends depend on what becomes of them.
    timed: usize,
    /// End of each task that has a fixed one.
    fixed: Vec<(TaskId, Time)>,
}

impl OwnEnds {
    fn add(&mut self, start: &Start) {
        match start.ending {
            Ending::Timed => self.timed += 1,
            Ending::Fixed => self.fixed.push((start.task, start.at + start.runtime.min(start.walltime))),
            Ending::Settled | Ending::Ordered => {}
        }
    }

    fn remove(&mut self, task: TaskId, ending: Ending) {
        self.timed -= usize::from(ending == Ending::Timed);
        if ending == Ending::Fixed {
            self.fixed.retain(|(its, _)| *its != task);
        }
    }

    /// Time before which none of these tasks ends, if nothing happens here before `next`.
    fn floor(&self, next: Time) -> Time {
        let soonest = self.fixed.iter().map(|(_, end)| *end).min().unwrap_or(Time::NEVER);
        if self.timed > 0 { next } else { soonest.max(next) }
    }
}

/// Within an instant ends come first, then settled starts; by rank, then in the order in which they were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    starts: bool,
    rank: u64,
    serial: u64,
    slot: usize,
}

type Out = Outbox<Message, Record>;

impl Site {
    pub fn new(nodes: u32, manager: Box<dyn Manager>, senders: impl IntoIterator<Item = ActorId>) -> Site {
        Site {
            senders: senders.into_iter().collect(),
            is_quiet: manager.is_quiet(),
            manager,
            tasks: Tasks::new(nodes),
            report_every: Span::ZERO,
            outages: None,
            expected: Vec::new(),
            due: BinaryHeap::new(),
            serial: 0,
            own_ends: OwnEnds::default(),
            timers: Vec::new(),
            next_event: Time::ZERO,
            orders: Vec::new(),
        }
    }

    /// Sets the report period: ends are reported only at multiples of it, as by monitoring.
    pub fn with_report_period(self, report_every: Span) -> Site {
        Site { report_every, ..self }
    }

    /// Sets outages. The manager has to handle them, so it is not quiet.
    pub fn with_outages(self, outages: Option<Outages>) -> Site {
        let is_quiet = self.is_quiet && outages.is_none();
        Site { outages, is_quiet, ..self }
    }

    /// Applies the ends and starts that are due; nodes fail in between.
    fn advance_to(&mut self, now: Time, out: &mut Out) {
        let mut is_way_clear = false;
        let mut has_applied = self.outages.is_none();
        while let Some(&Reverse(due)) = self.due.peek()
            && due.at <= now
        {
            if self.is_void(&due) {
                self.due.pop();
            } else if !due.starts {
                self.due.pop();
                self.end(now, due.slot, out);
            } else if !has_applied {
                self.apply_outages(now, out);
                has_applied = true;
            } else if !is_way_clear {
                // All tasks that end now have ended.
                self.manager.make_way(now, &self.tasks, &mut self.orders);
                self.carry_out(now, out);
                is_way_clear = true;
            } else {
                self.due.pop();
                self.start(due.slot, out);
            }
        }
        if !has_applied {
            self.apply_outages(now, out);
        }
    }

    /// Like `advance_to`, if each timer stands for a start or an end; timers come in the order in which they were set.
    fn advance_quietly_to(&mut self, batch: &[Event<Message>], now: Time, out: &mut Out) {
        let mut starting = Vec::new();
        for event in batch {
            if let Cause::Timer(token) = event.cause {
                let slot = (token >> 32) as usize;
                match self.tasks.get(slot) {
                    Some(running) if token_of(slot, running.serial) != token => {}
                    Some(running) if running.nodes().is_some() => self.end(now, slot, out),
                    Some(_) => starting.push(slot),
                    None => {}
                }
            }
        }
        starting.into_iter().for_each(|slot| self.start(slot, out));
    }

    /// True if an expected event is void, as the task has been rescheduled since.
    fn is_void(&self, due: &Due) -> bool {
        self.tasks.get(due.slot).is_none_or(|running| running.serial != due.serial)
    }

    fn end(&mut self, now: Time, slot: usize, out: &mut Out) {
        let running = self.tasks.at(slot);
        let task = running.task;
        let end = if running.outlook().killed { Record::Killed { task } } else { Record::Finished { task } };
        let running = self.leave_for_good(now, slot, end, out);
        self.manager.task_ended(now, &running);
    }

    /// Frees the nodes of a task, logs this record of its end, and reports it to its sender.
    fn leave_for_good(&mut self, now: Time, slot: usize, end: Record, out: &mut Out) -> Running {
        self.log_checkpoints(now, slot, true, out);
        let running = self.tasks.finish(slot);
        let Running { task, sender, ending, .. } = running;
        out.log(end);
        self.own_ends.remove(task, ending);
        if ending != Ending::Settled {
            out.send_at(now.round_up(self.report_every), sender, running.end_message());
        }
        running
    }

    /// Ends a task that the manager accounts for.
    fn finish(&mut self, now: Time, task: TaskId, out: &mut Out) {
        let slot = self.slot_of(task);
        let running = self.tasks.at(slot);
        assert!(running.ending == Ending::Ordered, "its manager may not end task {task}");
        assert!(
            running.nodes().is_some() && running.is_done(now),
            "task {task} is ordered to end before its work is done"
        );
        self.leave_for_good(now, slot, Record::Finished { task }, out);
    }

    fn start(&mut self, slot: usize, out: &mut Out) {
        let running = self.tasks.start(slot);
        let TaskState::Running(nodes) = &running.state else { unreachable!("it has just started") };
        out.log(Record::Started { task: running.task, cores: nodes.nodes.clone() });
        log_stacks(running.task, nodes, out);
        if running.share < 1.0 {
            out.log(Record::Shared { task: running.task, share: running.share });
        }
        self.schedule(slot, out);
    }

    /// Schedules the end of a task, provided that nothing changes until then.
    fn schedule(&mut self, slot: usize, out: &mut Out) {
        let running = self.tasks.at(slot);
        let end = if running.ending == Ending::Ordered { Time::NEVER } else { running.outlook().end };
        self.expect(slot, end, false, out);
    }

    /// Sets the time at which a task starts or ends, in place of an earlier one.
    fn expect(&mut self, slot: usize, at: Time, starts: bool, out: &mut Out) {
        self.serial += 1;
        let serial = self.serial;
        let running = self.tasks.at(slot);
        running.serial = serial;
        if at == Time::NEVER {
            return;
        }
        if self.is_quiet {
            out.wake_quietly_at(at, token_of(slot, serial));
        } else {
            self.due.push(Reverse(Due { at, starts, rank: running.rank, serial, slot }));
        }
    }

    fn carry_out(&mut self, now: Time, out: &mut Out) {
        if self.orders.is_empty() {
            return;
        }
        let mut orders = std::mem::take(&mut self.orders);
        let mut moved = Vec::new();
        for order in orders.drain(..) {
            if !matches!(order, SiteOrder::Move { .. }) {
                self.place_moved(now, &mut moved, out);
            }
            match order {
                SiteOrder::Start(start) => self.accept_start(now, start, out),
                SiteOrder::Finish(task) => self.finish(now, task, out),
                SiteOrder::Send(to, message) => out.send(to, message),
                SiteOrder::SendAt(at, to, message) => out.send_at(at, to, message),
                SiteOrder::Log(record) => out.log(record),
                SiteOrder::Drop { task, sender } => self.drop_coming(task, sender),
                SiteOrder::Abandon(task) => self.abandon(task, out),
                SiteOrder::Lose(task) => self.take_off_nodes(now, task, Record::Lost { task, saved: Span::ZERO }, out),
                SiteOrder::Requeue(task) => self.take_off_nodes(now, task, Record::Requeued { task }, out),
                SiteOrder::Kill(task) => self.cut_short(now, task, Record::Killed { task }, out),
                SiteOrder::Preempt(task) => self.cut_short(now, task, Record::Preempted { task }, out),
                SiteOrder::Suspend(task) => self.suspend(now, task, out),
                SiteOrder::Resume { task, nodes, from } => self.resume(now, (task, nodes, from), out),
                SiteOrder::Move { task, nodes, from } => moved.push((self.lift_moving(now, task, from), nodes, from)),
                SiteOrder::Share { task, share } => self.share(now, task, share, out),
            }
        }
        self.place_moved(now, &mut moved, out);
        self.tasks.nodes.check();
        self.orders = orders;
    }

    fn drop_coming(&mut self, task: TaskId, sender: ActorId) {
        let Some(slot) = self.tasks.find(task) else { return };
        let is_coming = self
            .tasks
            .get(slot)
            .is_some_and(|running| running.sender == sender && matches!(running.state, TaskState::Coming(_)));
        if is_coming {
            let dropped = self.tasks.remove(slot);
            self.own_ends.remove(task, dropped.ending);
        }
    }

    fn abandon(&mut self, task: TaskId, out: &mut Out) {
        let slot = self.slot_of_its_own(task);
        let running = self.tasks.finish(slot);
        self.own_ends.remove(task, running.ending);
        out.log(Record::Dropped { task });
    }

    /// Takes a task off its nodes, and logs the reason. Its sender is not told.
    fn take_off_nodes(&mut self, now: Time, task: TaskId, why: Record, out: &mut Out) {
        let slot = self.slot_of_its_own(task);
        self.log_checkpoints(now, slot, false, out);
        let running = self.tasks.finish(slot);
        self.own_ends.remove(task, running.ending);
        out.log(why);
    }

    /// Ends a task before its work is done, and logs the reason.
    fn cut_short(&mut self, now: Time, task: TaskId, why: Record, out: &mut Out) {
        let slot = self.slot_of_its_own(task);
        self.leave_for_good(now, slot, why, out);
    }

    fn suspend(&mut self, now: Time, task: TaskId, out: &mut Out) {
        let slot = self.slot_of(task);
        self.lift(now, slot);
        self.tasks.at(slot).serial = 0;
        out.log(Record::Suspended { task });
    }

    fn resume(&mut self, now: Time, (task, nodes, from): (TaskId, Layers, Time), out: &mut Out) {
        let slot = self.slot_of(task);
        out.log(Record::Resumed { task, cores: nodes.nodes.clone() });
        log_stacks(task, &nodes, out);
        self.tasks.enter(now, slot, nodes, from);
        self.schedule(slot, out);
    }

    fn share(&mut self, now: Time, task: TaskId, share: f64, out: &mut Out) {
        let slot = self.slot_of(task);
        let is_announced = self.tasks.at(slot).ending == Ending::Settled;
        assert!(!is_announced, "the end of task {task} has been announced, so it cannot be slowed down");
        self.tasks.share(now, slot, share);
        out.log(Record::Shared { task, share });
        if self.tasks.at(slot).nodes().is_some() {
            self.schedule(slot, out);
        }
    }

    fn slot_of(&self, task: TaskId) -> usize {
        self.tasks.find(task).unwrap_or_else(|| panic!("task {task} is not here"))
    }

    /// Slot of a task whose end no other actor knows.
    fn slot_of_its_own(&self, task: TaskId) -> usize {
        let slot = self.slot_of(task);
        let ending = self.tasks.get(slot).map(|running| running.ending);
        let is_its_own = matches!(ending, Some(Ending::Timed | Ending::Fixed));
        assert!(is_its_own, "the site alone may not decide the end of task {task}");
        slot
    }

    /// Takes a task that moves off its nodes. If it makes no progress for a while, its end is delayed.
    fn lift_moving(&mut self, now: Time, task: TaskId, from: Time) -> usize {
        let slot = self.slot_of(task);
        if from > now {
            self.lift(now, slot);
        } else {
            self.tasks.leave(now, slot);
        }
        slot
    }

    /// Takes a task off its nodes, which delays its end.
    fn lift(&mut self, now: Time, slot: usize) {
        let running = self.tasks.at(slot);
        let is_announced = running.ending == Ending::Settled;
        assert!(!is_announced, "the end of task {} has been announced and cannot be delayed", running.task);
        self.tasks.leave(now, slot);
    }

    /// Puts moving tasks on their new nodes.
    fn place_moved(&mut self, now: Time, moved: &mut Vec<(usize, Layers, Time)>, out: &mut Out) {
        for (slot, nodes, from) in moved.drain(..) {
            let task = self.tasks.at(slot).task;
            out.log(Record::Moved { task, cores: nodes.nodes.clone() });
            log_stacks(task, &nodes, out);
            self.tasks.enter(now, slot, nodes, from);
            self.schedule(slot, out);
        }
    }

    fn accept_start(&mut self, now: Time, start: Start, out: &mut Out) {
        let settled = start.ending == Ending::Settled;
        assert!(settled || !self.is_quiet, "task {} is not settled by a manager that settles all tasks", start.task);
        assert!(start.share == 1.0 || !settled, "task {} shares its nodes, so its end is not settled", start.task);
        let at = start.at;
        let slot = self.tasks.add(&start);
        self.own_ends.add(&start);
        // With failures, the end of a task is known only once it has its nodes.
        let is_safe = self.outages.is_none();
        assert!(is_safe || !settled || at == now, "task {} is settled on nodes that may fail before", start.task);
        if settled && is_safe {
            self.report_end(slot, out);
        }
        if at == now {
            self.start(slot, out);
            if settled && !is_safe {
                self.report_fate(now, slot, out);
            }
        } else {
            self.expect(slot, at, true, out);
        }
    }

    /// Time before which nothing happens here that the manager has not ordered.
    fn undisturbed_until(&self, out: &Out) -> Time {
        let due = self.due.peek().map(|Reverse(due)| due.at);
        due.into_iter().chain(self.next_change()).fold(out.horizon(), Time::min)
    }

    /// Sets a timer for the next event or decision, which is in the next step if nothing was decided in this one.
    /// `earliest` is the promise of the causes of this batch; everything else has timers of its own.
    fn set_next_timer(&mut self, now: Time, earliest: Time, has_decided: bool, out: &mut Out) {
        while self.due.peek().is_some_and(|Reverse(due)| self.is_void(due)) {
            self.due.pop();
        }
        let due = self.due.peek().map(|Reverse(due)| due.at);
        let wake = self.manager.next_wake().filter(|wake| *wake > now);
        let wake = if !has_decided || self.manager.has_more(now) { Some(now) } else { wake };
        let change = self.next_change();
        let next = due.into_iter().chain(wake).chain(change).min();
        self.next_event = next.unwrap_or(Time::NEVER);
        let Some(next) = next else { return };
        // Ends that only this site knows are sent when they occur, which may be then.
        let floor = match self.own_ends.floor(next) {
            own if own == next => next,
            own => own.min(self.manager.send_floor(next)).min(self.failure_floor(next)),
        };
        let place = self.timers.partition_point(|timer| timer.0 > next);
        // A timer that no process waits for may as well come earlier: the site then sets the next one.
        let set = if floor == Time::NEVER { &self.timers[place..] } else { same_time(&self.timers[place..], next) };
        if set.iter().any(|timer| timer.1 <= floor) {
            return;
        }
        let floor = floor.max(earliest);
        self.timers.insert(place, (next, floor));
        out.wake_promising(next, floor, 0);
    }
}

/// Logs nodes with several tasks of a job that has come onto them.
fn log_stacks(task: TaskId, nodes: &Layers, out: &mut Out) {
    nodes.more.iter().for_each(|cores| out.log(Record::Stacked { task, cores: cores.clone() }));
}

/// Token of a timer: slot of the task, and serial number to detect outdated timers.
fn token_of(slot: usize, serial: u64) -> u64 {
    (slot as u64) << 32 | serial & u64::from(u32::MAX)
}

/// The timers with time `at`, out of timers sorted latest first.
fn same_time(timers: &[(Time, Time)], at: Time) -> &[(Time, Time)] {
    &timers[..timers.partition_point(|timer| timer.0 == at)]
}

impl Actor<Message, Record> for Site {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let mut earliest = Time::NEVER;
        // A timer that was set for a plan that has changed since. Its promise is about the jobs of that plan, so others
        // that have come since may not start because of it.
        let is_outdated =
            now.time < self.next_event && batch.iter().all(|event| matches!(event.cause, Cause::Timer(_)));
        if self.is_quiet {
            self.advance_quietly_to(batch, now.time, out);
        } else {
            self.advance_to(now.time, out);
        }
        for event in batch.drain(..) {
            match event.cause {
                // Other actors cannot send work to a site.
                Cause::Message(message) if self.senders.contains(&event.from) => {
                    earliest = earliest.min(kernel::Message::reaction(&message).earliest(now).time);
                    self.manager.receive_message(now.time, event.from, message, &self.tasks, &mut self.orders);
                    self.carry_out(now.time, out);
                }
                Cause::Start => earliest = now.time,
                _ => {}
            }
        }
        if self.is_quiet {
            return;
        }
        while let Some(&(time, floor)) = self.timers.last()
            && time <= now.time
        {
            self.timers.pop();
            earliest = earliest.min(floor);
        }
        if is_outdated {
            return self.set_next_timer(now.time, earliest, true, out);
        }
        let decides = now.step >= self.manager.decides_from() || !self.manager.has_waiting();
        if decides {
            self.manager.foresee(self.undisturbed_until(out));
            self.manager.decide_orders(now.time, &self.tasks, &mut self.orders);
            self.carry_out(now.time, out);
        }
        self.set_next_timer(now.time, earliest, decides, out);
    }
}
