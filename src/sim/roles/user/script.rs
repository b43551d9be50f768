//! Planner of a user that submits jobs at their arrival times.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Followers, Out, Planner, StreamedJobs};
use crate::grid::{Job, JobId};
use crate::kernel::ActorId;
use crate::min_tree::MinTree;
use crate::protocol::{Enqueue, JobEnded, Message, Submit};
use crate::time::Time;

/// Jobs that are sent ahead together. Large enough that the router seldom waits for the next ones, small enough that
/// the jobs of a long run are not all under way at once.
const CHUNK: usize = 256;

pub struct Script {
    /// Messages with times and receivers, ascending.
    timed: VecDeque<(Time, ActorId, Message)>,
    /// Streams of messages that are created when due, and the next message of each, so that a message costs O(log
    /// streams).
    later: Vec<StreamedJobs>,
    coming: MinTree<(Time, JobId)>,
    /// Jobs that it submits after the ends of others.
    then: Vec<Followers>,
    /// Time of the next chunk; None if there is none.
    comes_back: Option<Time>,
}

impl Script {
    /// Creates a script that submits each job on arrival.
    pub fn from_jobs(jobs: Vec<Arc<Job>>, router: ActorId) -> Script {
        Script::from_messages(
            jobs.into_iter().map(|job| (job.arrive, router, Message::Submit(Submit { job }))).collect(),
        )
    }

    /// Creates a script that sends each message at its time.
    pub fn from_messages(mut timed: Vec<(Time, ActorId, Message)>) -> Script {
        timed.sort_by_key(|(time, ..)| *time);
        let coming = MinTree::new(0, SILENCE);
        Script { timed: timed.into(), later: Vec::new(), coming, then: Vec::new(), comes_back: None }
    }

    /// Adds streams of messages.
    pub fn with_streams(self, later: Vec<StreamedJobs>) -> Script {
        let mut coming = MinTree::new(later.len(), SILENCE);
        later.iter().enumerate().for_each(|(index, later)| coming.set(index, next_send(later)));
        Script { later, coming, ..self }
    }

    /// Adds jobs that follow others after a think time.
    pub fn with_followers(self, then: Vec<Followers>) -> Script {
        Script { then, ..self }
    }

    pub(in crate::roles) fn next_chunk_at(&self) -> Option<Time> {
        self.comes_back
    }

    /// Submits the followers of a job; calls `on_send` with the time, receiver and message of each.
    pub(super) fn follow(
        &mut self,
        now: Time,
        over: JobEnded,
        out: &mut Out,
        on_send: &mut dyn FnMut(Time, ActorId, &Message),
    ) {
        for (think, to, message) in self.then.iter_mut().flat_map(|then| then.take(over.job)) {
            // Only queues have followers.
            let Message::Enqueue(enqueue) = message else { continue };
            let arrive = now + think;
            let job = Arc::new(Job { arrive, ..(*enqueue.job).clone() });
            let message = Message::Enqueue(Enqueue { job, ..enqueue });
            on_send(arrive, to, &message);
            out.send_at(arrive, to, message);
        }
    }

    /// Time of the next message, and the index of its stream if it comes from one.
    fn next(&self) -> Option<(Time, Option<usize>)> {
        let on_send = self.timed.front().map(|(time, _, message)| (*time, message_job(message), None));
        let later = self.coming.place_of_min().map(|index| (self.coming.min().0, self.coming.min().1, Some(index)));
        // Messages of one time are ordered by job.
        on_send.into_iter().chain(later).min().map(|(time, _, index)| (time, index))
    }

    /// Sends a chunk ahead, and sets a timer for the next one at the middle of its time. Calls `on_send` with the time,
    /// receiver and message of each.
    pub(super) fn send_ahead(&mut self, now: Time, out: &mut Out, on_send: &mut dyn FnMut(Time, ActorId, &Message)) {
        let Some((first, _)) = self.next() else { return };
        let mut last = first;
        let mut sent = 0;
        // Jobs of one time stay together: the next chunk must come before its time, not within it.
        while let Some((time, index)) = self.next().filter(|(time, _)| sent < CHUNK || *time == last) {
            last = time;
            sent += 1;
            let next = match index {
                None => self.timed.pop_front(),
                Some(index) => {
                    let next = self.later[index].next();
                    self.coming.set(index, next_send(&self.later[index]));
                    next
                }
            };
            let (_, to, message) = next.expect("what comes next is there");
            on_send(time, to, &message);
            out.send_at(time, to, message);
        }
        self.comes_back = None;
        if self.next().is_some() {
            let half = Time::from_micros(first.micros().midpoint(last.micros())).max(now);
            out.wake_at(half, 0);
            self.comes_back = Some(half);
        }
    }
}

/// Placeholder without a message, which sorts after every message.
const SILENCE: (Time, JobId) = (Time::NEVER, JobId(u32::MAX));

fn next_send(later: &StreamedJobs) -> (Time, JobId) {
    later.peek().map_or(SILENCE, |(time, message)| (*time, message_job(message)))
}

/// The job of a message.
fn message_job(message: &Message) -> JobId {
    match message {
        Message::Submit(submit) => submit.job.id,
        Message::Enqueue(enqueue) => enqueue.job.id,
        Message::Reserve(reserve) => reserve.job.id,
        Message::Cancel(cancel) => cancel.job,
        _ => JobId(0),
    }
}

impl Planner for Script {
    fn handle_timer(&mut self, now: Time, out: &mut Out) {
        if self.comes_back.is_none_or(|next| next <= now) {
            self.send_ahead(now, out, &mut |_, _, _| {});
        }
    }

    /// Ends matter only to followers; the log reports them.
    fn receive_message(&mut self, now: Time, _: ActorId, message: Message, out: &mut Out) {
        if let Message::JobEnded(over) = message {
            self.follow(now, over, out, &mut |_, _, _| {});
        }
    }
}
