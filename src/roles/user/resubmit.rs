//! The planner of a user who loses patience: a job that has waited too long in one queue is taken back and handed in
//! again, to go elsewhere.
//!
//! The user does not know whether a job has started by then; it asks for the job back, and whoever has it says whether
//! that was in time. A job that comes back is handed in again at once, as often as the user cares to.

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
    /// How often a job is handed in again.
    most: u32,
    /// What is in some queue, as far as the user knows.
    waiting: BTreeMap<JobId, Waiting>,
    /// When patience ends, and with which job.
    due: BTreeMap<Time, Vec<JobId>>,
    /// When the calendar goes on.
    next: Time,
}

struct Waiting {
    at: ActorId,
    enqueue: Enqueue,
    tries: u32,
}

/// Is shown what goes when, and to whom.
type Said<'a> = dyn FnMut(Time, ActorId, &Message) + 'a;

impl Resubmit {
    pub fn new(script: Script, patience: Span, most: u32) -> Resubmit {
        Resubmit { script, patience, most, waiting: BTreeMap::new(), due: BTreeMap::new(), next: Time::ZERO }
    }

    /// Lets the script say something, and notes what of it goes into a queue.
    fn hand_in(&mut self, out: &mut Out, say: impl FnOnce(&mut Script, &mut Out, &mut Said<'_>)) {
        let mut said = Vec::new();
        say(&mut self.script, out, &mut |time, to, message| {
            if let Message::Enqueue(enqueue) = message {
                said.push((time, to, enqueue.clone()));
            }
        });
        for (time, to, enqueue) in said {
            self.note(time, to, &enqueue, 0, out);
        }
    }

    /// From then on patience runs.
    fn note(&mut self, time: Time, at: ActorId, enqueue: &Enqueue, tries: u32, out: &mut Out) {
        // Who has chosen a site does not go elsewhere.
        if tries >= self.most || enqueue.site.is_some() {
            return;
        }
        let job = enqueue.job.id;
        self.waiting.insert(job, Waiting { at, enqueue: enqueue.clone(), tries });
        let due = time + self.patience;
        let jobs = self.due.entry(due).or_default();
        if jobs.is_empty() {
            out.wake_at(due, 0);
        }
        jobs.push(job);
    }
}

impl Planner for Resubmit {
    fn wake(&mut self, now: Time, out: &mut Out) {
        for job in self.due.remove(&now).unwrap_or_default() {
            if let Some(waiting) = self.waiting.get(&job) {
                out.send(waiting.at, Message::Recall(Recall { task: TaskId { job, index: 0 } }));
            }
        }
        if now < self.next {
            return;
        }
        self.hand_in(out, |script, out, said| script.send_ahead(now, out, said));
        self.next = self.script.comes_back().unwrap_or(Time::NEVER);
    }

    fn hear(&mut self, now: Time, from: ActorId, message: Message, out: &mut Out) {
        let Recalled { task, in_time, .. } = match message {
            Message::Recalled(recalled) => recalled,
            // What follows a job may wait too long as well.
            Message::JobEnded(over) => {
                return self.hand_in(out, |script, out, said| script.follow(now, over, out, said));
            }
            _ => return,
        };
        // Nobody else answers for whom the job is with.
        if self.waiting.get(&task.job).is_none_or(|waiting| waiting.at != from) {
            return;
        }
        let Waiting { at, enqueue, tries } = self.waiting.remove(&task.job).expect("it waits there");
        if in_time {
            out.send(at, Message::Enqueue(enqueue.clone()));
            self.note(now, at, &enqueue, tries + 1, out);
        }
    }
}
