//! Planner of an impatient user: a job that has waited too long in a queue is recalled and submitted again, to go
//! elsewhere.
//!
//! The user does not know whether a job has started by then; it sends a recall, and the holder of the job answers if
//! that was in time. A recalled job is submitted again at once, up to `most` times.

use std::collections::BTreeMap;

use super::script::Script;
use super::{Out, Planner};
use crate::grid::{JobId, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Enqueue, Message, Recall, Recalled};
use crate::time::{Span, Time};

pub struct Resubmit {
    script: Script,
    patience: Span,
    /// Largest number of resubmissions of a job.
    most: u32,
    /// Jobs in queues, as far as the user knows.
    waiting: BTreeMap<JobId, QueuedJob>,
    /// Jobs by the time at which patience ends.
    due: BTreeMap<Time, Vec<JobId>>,
    /// Time at which the script acts next.
    next: Time,
}

struct QueuedJob {
    at: ActorId,
    enqueue: Enqueue,
    tries: u32,
}

/// Callback for each message: time, receiver and message.
type SendHook<'a> = dyn FnMut(Time, ActorId, &Message) + 'a;

impl Resubmit {
    pub fn new(script: Script, patience: Span, most: u32) -> Resubmit {
        Resubmit { script, patience, most, waiting: BTreeMap::new(), due: BTreeMap::new(), next: Time::ZERO }
    }

    /// Lets the script send messages, and starts the patience of those that go to queues.
    fn hand_in(&mut self, out: &mut Out, send: impl FnOnce(&mut Script, &mut Out, &mut SendHook<'_>)) {
        let mut sent = Vec::new();
        send(&mut self.script, out, &mut |time, to, message| {
            if let Message::Enqueue(enqueue) = message {
                sent.push((time, to, enqueue.clone()));
            }
        });
        for (time, to, enqueue) in sent {
            self.start_patience(time, to, &enqueue, 0, out);
        }
    }

    /// Starts the patience of a job.
    fn start_patience(&mut self, time: Time, at: ActorId, enqueue: &Enqueue, tries: u32, out: &mut Out) {
        // A job for a specific site does not go elsewhere.
        if tries >= self.most || enqueue.site.is_some() {
            return;
        }
        let job = enqueue.job.id;
        self.waiting.insert(job, QueuedJob { at, enqueue: enqueue.clone(), tries });
        let due = time + self.patience;
        let jobs = self.due.entry(due).or_default();
        if jobs.is_empty() {
            out.wake_at(due, 0);
        }
        jobs.push(job);
    }
}

impl Planner for Resubmit {
    fn handle_timer(&mut self, now: Time, out: &mut Out) {
        for job in self.due.remove(&now).unwrap_or_default() {
            if let Some(waiting) = self.waiting.get(&job) {
                out.send(waiting.at, Message::Recall(Recall { task: TaskId { job, index: 0 } }));
            }
        }
        if now < self.next {
            return;
        }
        self.hand_in(out, |script, out, sent| script.send_ahead(now, out, sent));
        self.next = self.script.next_chunk_at().unwrap_or(Time::NEVER);
    }

    fn receive_message(&mut self, now: Time, from: ActorId, message: Message, out: &mut Out) {
        let Recalled { task, in_time, .. } = match message {
            Message::Recalled(recalled) => recalled,
            // A follower may wait too long as well.
            Message::JobEnded(over) => {
                return self.hand_in(out, |script, out, sent| script.follow(now, over, out, sent));
            }
            _ => return,
        };
        // Only the holder of the job may answer.
        if self.waiting.get(&task.job).is_none_or(|waiting| waiting.at != from) {
            return;
        }
        let QueuedJob { at, enqueue, tries } = self.waiting.remove(&task.job).expect("it waits there");
        if in_time {
            out.send(at, Message::Enqueue(enqueue.clone()));
            self.start_patience(now, at, &enqueue, tries + 1, out);
        }
    }
}
