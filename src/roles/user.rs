//! A user: hands in jobs when their time comes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::grid::{Job, JobId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Enqueue, Message, Over, Record, Submit};
use crate::time::{Span, Stamp, Time};
use crate::workload::market::Rest;

/// Jobs that are sent ahead together. Enough that the router seldom waits for the next ones, few enough that the
/// jobs of a long run are not all under way at once.
const CHUNK: usize = 64;

/// Jobs to submit, each made when its time comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Later {
    pub to: ActorId,
    pub jobs: Arc<Rest>,
    /// The place of the next one in its workload.
    pub place: usize,
    /// How far it is from one of this user's jobs to the next.
    pub step: usize,
}

impl Later {
    /// The numbers of all that are left.
    pub fn numbers(&self) -> impl Iterator<Item = JobId> {
        (self.place..self.jobs.places().end).step_by(self.step).map(|place| self.jobs.arrival(place).1)
    }

    fn next(&self) -> Option<(Time, JobId)> {
        self.jobs.places().contains(&self.place).then(|| self.jobs.arrival(self.place))
    }

    fn say(&mut self) -> (ActorId, Message) {
        let job = Arc::new(self.jobs.job(self.place));
        self.place += self.step;
        (self.to, Message::Submit(Submit { job }))
    }
}

pub struct User {
    /// What to say when, and to whom; in order of time.
    says: VecDeque<(Time, ActorId, Message)>,
    /// The same, not yet made.
    later: Vec<Later>,
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
        User { says: says.into(), later: Vec::new(), then: BTreeMap::new() }
    }

    /// Says more, which is not made before.
    pub fn later(self, later: Vec<Later>) -> User {
        User { later, ..self }
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

    /// When it says something next, and which of `later` that is in.
    fn next(&self) -> Option<(Time, Option<usize>)> {
        let said = self.says.front().map(|(time, _, message)| (*time, about(message), None));
        let later = self.later.iter().enumerate();
        let later = later.filter_map(|(index, later)| later.next().map(|(time, job)| (time, job, Some(index))));
        // What comes at one time is said in the order of jobs.
        said.into_iter().chain(later).min().map(|(time, _, index)| (time, index))
    }

    /// Sends a chunk ahead, and comes back for the next one when half its time is over.
    fn send_ahead(&mut self, now: Time, out: &mut Outbox<Message, Record>) {
        let Some((first, _)) = self.next() else { return };
        let mut last = first;
        let mut sent = 0;
        // Jobs of one time stay together: the next chunk must come before its time, not within it.
        while let Some((time, index)) = self.next().filter(|(time, _)| sent < CHUNK || *time == last) {
            last = time;
            sent += 1;
            let said = match index {
                None => self.says.pop_front().map(|(_, to, message)| (to, message)),
                Some(index) => self.later.get_mut(index).map(Later::say),
            };
            let (to, message) = said.expect("what comes next is there");
            out.send_at(time, to, message);
        }
        if self.next().is_some() {
            let half = Time::from_micros(first.micros().midpoint(last.micros()));
            out.wake_at(half.max(now), 0);
        }
    }
}

/// The job that users talk of.
fn about(message: &Message) -> JobId {
    match message {
        Message::Submit(submit) => submit.job.id,
        Message::Enqueue(enqueue) => enqueue.job.id,
        Message::Reserve(reserve) => reserve.job.id,
        Message::Cancel(cancel) => cancel.job,
        _ => JobId(0),
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
    fn what_is_made_later_is_said_as_if_it_had_been_there() {
        let generator = crate::workload::market::Generator {
            seed: 3,
            jobs: 300,
            load: 40.0,
            load_basis: crate::workload::market::LoadBasis::Total,
            tasks: (1, 3),
            total_runtime: (1, 40),
            cores_max: 2,
            kinds: [Kind(0), Kind(0)],
            kind_share: 1.0,
            degree: 1.0,
            output: 0,
        };
        let platform = crate::workload::Platform { cores: vec![8] };
        let workload = |most: usize, base: u32| {
            let mut next = base..;
            let mut number = |job: &mut Job| {
                job.id = JobId(next.next().unwrap());
                Ok::<_, crate::workload::WorkloadError>(())
            };
            generator.draw_ahead(most, &platform, Span::from_secs(1), &mut number).unwrap()
        };
        // Two workloads that come at the same times, dealt out to three users: the first one is this one's.
        let says = |most: usize| {
            let parts = [workload(most, 0), workload(most, 1000)];
            let mine = |job: &Job| job.id.0 % 1000 % 3 == 1;
            let jobs = parts.iter().flat_map(|(jobs, _)| jobs).filter(|job| mine(job));
            let user = User::new(jobs.map(|job| Arc::new(job.clone())).collect(), ActorId(0));
            let later = parts.iter().filter_map(|(_, rest)| rest.clone()).filter_map(|rest| {
                let place = rest.places().find(|place| place % 3 == 1)?;
                Some(Later { to: ActorId(0), jobs: Arc::new(rest), place, step: 3 })
            });
            let user = user.later(later.collect());
            judge::run(vec![Box::new(Router), Box::new(user)], &[Span::ZERO, Span::ZERO])
        };
        let all = says(usize::MAX);
        assert_eq!(all.len(), 200);
        for most in [0, 50, 299] {
            assert_eq!(says(most), all, "{most} made ahead");
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
