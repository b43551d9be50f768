//! A site that holds nodes for reservations: starts each task at its time on exactly its nodes, and says when it ends.

use std::collections::BTreeMap;

use crate::grid::{NodeSet, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Ended, Hold, Message, Record};
use crate::time::{Span, Stamp, Time};

pub struct Holder {
    router: ActorId,
    free: NodeSet,
    /// By the number that its timers carry.
    held: BTreeMap<u64, Held>,
    numbers: BTreeMap<TaskId, u64>,
    next: u64,
    report_every: Span,
}

struct Held {
    hold: Hold,
    running: bool,
}

type Out = Outbox<Message, Record>;

impl Holder {
    pub fn new(nodes: u32, router: ActorId) -> Holder {
        let free = NodeSet::all(nodes);
        let report_every = Span::ZERO;
        Holder { router, free, held: BTreeMap::new(), numbers: BTreeMap::new(), next: 0, report_every }
    }

    /// Tells what has ended only at whole multiples of a time.
    pub fn telling_every(self, report_every: Span) -> Holder {
        Holder { report_every, ..self }
    }

    /// Tells the end at once: only the router can change it, and it knows what it does.
    fn take_on(&mut self, now: Time, hold: Hold, out: &mut Out) {
        let (task, start) = (hold.task, hold.start);
        let end = (start + hold.runtime).round_up(self.report_every);
        out.send_at(end, self.router, Message::Ended(Ended { task, started: start }));
        let number = self.next;
        self.next += 1;
        self.held.insert(number, Held { hold, running: false });
        self.numbers.insert(task, number);
        if start == now { self.start(number, out) } else { out.wake_quietly_at(start, number) }
    }

    fn start(&mut self, number: u64, out: &mut Out) {
        let Some(Held { hold, running }) = self.held.get_mut(&number) else { return };
        let Hold { task, start, nodes, runtime } = hold;
        assert!(self.free.contains(nodes), "task {task} starts on nodes that are busy");
        self.free.subtract(nodes);
        *running = true;
        out.log(Record::Started { task: *task, cores: nodes.clone() });
        out.wake_quietly_at(*start + *runtime, number);
    }

    fn end(&mut self, number: u64, out: &mut Out) {
        let Held { hold, .. } = self.held.remove(&number).expect("what ends has run");
        self.numbers.remove(&hold.task);
        self.free.insert(&hold.nodes);
        out.log(Record::Finished { task: hold.task });
    }

    /// The timer of its start then finds nothing.
    fn withdraw(&mut self, task: TaskId) {
        let waits = |number: &u64| self.held.get(number).is_some_and(|held| !held.running);
        if let Some(number) = self.numbers.get(&task).copied().filter(waits) {
            self.held.remove(&number);
            self.numbers.remove(&task);
        }
    }
}

impl Actor<Message, Record> for Holder {
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        // What ends makes room for what starts.
        let mut starting = Vec::new();
        for event in batch.iter() {
            if let Cause::Timer(number) = event.cause {
                if self.held.get(&number).is_some_and(|held| held.running) {
                    self.end(number, out);
                } else {
                    starting.push(number);
                }
            }
        }
        for number in starting {
            self.start(number, out);
        }
        for event in batch.drain(..) {
            if event.from != self.router {
                continue;
            }
            match event.cause {
                // Nobody but the router books nodes here, and it does so in time.
                Cause::Message(Message::Hold(hold)) if hold.start >= now.time => self.take_on(now.time, hold, out),
                Cause::Message(Message::Withdraw(withdraw)) => self.withdraw(withdraw.task),
                _ => {}
            }
        }
    }
}
