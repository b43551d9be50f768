//! A user: hands in jobs when their time comes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::grid::{Job, JobId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Enqueue, Message, Over, Record, Submit};
use crate::time::{Span, Stamp, Time};

/// Jobs that are sent ahead together. Enough that the router seldom waits for the next ones, few enough that the
/// jobs of a long run are not all under way at once.
const CHUNK: usize = 64;

pub struct User {
    /// What to say when, and to whom; in order of time.
    says: VecDeque<(Time, ActorId, Message)>,
    /// What it hands in once a job is over, and how long after that.
    then: BTreeMap<JobId, Vec<(Span, ActorId, Enqueue)>>,
}

impl User {
    /// Submits each job when it arrives.
    pub fn new(jobs: Vec<Arc<Job>>, router: ActorId) -> User {
        User::saying(jobs.into_iter().map(|job| (job.arrive, router, Message::Submit(Submit { job }))).collect())
    }

    /// Says each thing at its time.
    pub fn saying(mut says: Vec<(Time, ActorId, Message)>) -> User {
        says.sort_by_key(|(time, ..)| *time);
        User { says: says.into(), then: BTreeMap::new() }
    }

    /// Hands in more jobs, each when another one is over and it has thought for a while.
    pub fn then(self, then: BTreeMap<JobId, Vec<(Span, ActorId, Enqueue)>>) -> User {
        User { then, ..self }
    }

    fn follow(&mut self, now: Time, over: Over, out: &mut Outbox<Message, Record>) {
        for (think, to, enqueue) in self.then.remove(&over.job).unwrap_or_default() {
            let arrive = now + think;
            let job = Arc::new(Job { arrive, ..(*enqueue.job).clone() });
            out.send_at(arrive, to, Message::Enqueue(Enqueue { job, ..enqueue }));
        }
    }

    /// Sends a chunk ahead, and comes back for the next one when half its time is over.
    fn send_ahead(&mut self, now: Time, out: &mut Outbox<Message, Record>) {
        let Some(first) = self.says.front().map(|(time, ..)| *time) else { return };
        let mut last = first;
        let mut sent = 0;
        // Jobs of one time stay together: the next chunk must come before its time, not within it.
        while let Some((time, to, message)) = self.says.pop_front_if(|(time, ..)| sent < CHUNK || *time == last) {
            last = time;
            sent += 1;
            out.send_at(time, to, message);
        }
        if !self.says.is_empty() {
            let half = Time::from_micros(first.micros().midpoint(last.micros()));
            out.wake_at(half.max(now), 0);
        }
    }
}

impl Actor<Message, Record> for User {
    /// What became of a job is for the log to tell; it changes nothing here, unless another one follows it.
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        let mut due = false;
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start | Cause::Timer(_) => due = true,
                Cause::Message(Message::Over(over)) => self.follow(now.time, over, out),
                Cause::Message(_) => {}
            }
        }
        if due {
            self.send_ahead(now.time, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{JobId, Kind, Task};
    use crate::kernel::judge;
    use crate::time::Span;

    /// Notes the jobs that it is handed, and refuses them all.
    struct Router;

    impl Actor<Message, Record> for Router {
        fn handle(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
            for event in batch.drain(..) {
                if let Cause::Message(Message::Submit(Submit { job })) = event.cause {
                    out.log(Record::Refused { job, user: event.from, task: 0 });
                }
            }
        }
    }

    #[test]
    fn every_job_comes_at_its_time_and_in_the_first_step_of_it() {
        let task = Task::new(Span::from_secs(1), 1, Kind(0));
        let arrivals = (0..100).map(|_| 0).chain((0..300).map(|number| number / 7)).chain([9, 9, 9, 1000]);
        let jobs: Vec<Arc<Job>> = arrivals
            .enumerate()
            .map(|(number, arrive)| {
                let (id, arrive) = (JobId(number as u32), Time::from_micros(arrive));
                Arc::new(Job { id, arrive, first_task: 0, tasks: vec![task], edges: Vec::new(), worth: None })
            })
            .collect();
        for latency in [Span::ZERO, Span::from_micros(3)] {
            let user = Box::new(User::new(jobs.clone(), ActorId(0)));
            let log = judge::run(vec![Box::new(Router), user], &[Span::ZERO, latency]);
            assert_eq!(log.len(), jobs.len());
            for entry in log {
                let Record::Refused { job, .. } = entry.record else { panic!("only jobs are noted") };
                assert_eq!(entry.stamp, Stamp::at(job.arrive).after(latency));
            }
        }
    }
}
