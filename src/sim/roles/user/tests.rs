//! Users whose jobs a router logs.

use std::sync::Arc;

use super::*;
use crate::grid::{Job, JobId, Kind, Task, TaskId};
use crate::kernel::judge;
use crate::protocol::{Enqueue, Recall, Recalled, Submit};
use crate::time::Span;

/// Logs and refuses all jobs; gives up the jobs that are recalled.
struct Router;

impl Actor<Message, Record> for Router {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Submit(Submit { job })) => {
                    out.log(Record::Refused { job, user: event.from, task: 0 });
                }
                Cause::Message(Message::Recall(Recall { task })) => out.log(Record::Removed { job: task.job }),
                _ => {}
            }
        }
    }
}

#[test]
fn streamed_messages_equal_those_made_in_advance() {
    let generator = crate::workload::market::Generator {
        seed: 3,
        jobs: 300,
        load: 40.0,
        tasks: (1, 3),
        total_runtime: (1, 40),
        cores_max: 2,
        kinds: [Kind(0), Kind(0)],
        kind_share: 1.0,
        ..crate::workload::market::Generator::default()
    };
    let platform = crate::workload::Platform { cores: vec![8], ..Default::default() };
    let workload = |most: usize, base: u32| {
        let mut next = base..;
        let mut number = |job: &mut Job| {
            job.id = JobId(next.next().unwrap());
            Ok::<_, crate::workload::WorkloadError>(())
        };
        generator.draw_ahead(most, &platform, Span::from_secs(1), &mut number).unwrap()
    };
    // Two workloads with equal arrival times, distributed to three users, of which this is the first.
    let messages = |most: usize| {
        let parts = [workload(most, 0), workload(most, 1000)];
        let mine = |job: &Job| job.id.0 % 1000 % 3 == 1;
        let jobs = parts.iter().flat_map(|(jobs, _)| jobs).filter(|job| mine(job));
        let user = Script::from_jobs(jobs.map(|job| Arc::new(job.clone())).collect(), ActorId(0));
        let later = parts.iter().filter_map(|(_, rest)| rest.clone()).map(|rest| {
            let places = rest.places().filter(|place| place % 3 == 1).collect();
            StreamedJobs::new(ActorId(0), Arc::new(rest), places)
        });
        let user = user.with_streams(later.collect());
        judge::run_actors(vec![Box::new(Router), Box::new(User::new(user))], &[Span::ZERO, Span::ZERO])
    };
    let all = messages(usize::MAX);
    assert_eq!(all.len(), 200);
    for most in [0, 50, 299] {
        assert_eq!(messages(most), all, "{most} made ahead");
    }
}

#[test]
fn every_job_arrives_in_the_first_step_of_its_time() {
    let task = Task::new(Span::from_secs(1), 1, Kind(0));
    let arrivals = (0..100).map(|_| 0).chain((0..300).map(|number| number / 7)).chain([9, 9, 9, 1000]);
    let jobs: Vec<Arc<Job>> = arrivals
        .enumerate()
        .map(|(number, arrive)| {
            let id = JobId(number as u32);
            let arrive = Time::from_micros(arrive);
            Arc::new(Job { id, arrive, first_task: 0, tasks: vec![task], edges: Vec::new(), worth: None, times: None })
        })
        .collect();
    for latency in [Span::ZERO, Span::from_micros(3)] {
        let user = Box::new(User::new(Script::from_jobs(jobs.clone(), ActorId(0))));
        let log = judge::run_actors(vec![Box::new(Router), user], &[Span::ZERO, latency]);
        assert_eq!(log.len(), jobs.len());
        for entry in log {
            let Record::Refused { job, .. } = entry.record else { panic!("only jobs are noted") };
            assert_eq!(entry.stamp, Stamp::at(job.arrive).after(latency));
        }
    }
}

/// Claims to have started a job that it never had.
struct Stranger;

impl Actor<Message, Record> for Stranger {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        if batch.iter().any(|event| event.cause == Cause::Start) {
            let task = TaskId { job: JobId(0), index: 0 };
            let recalled = Message::Recalled(Recalled { task, in_time: false, losses: 0 });
            out.send_at(Time::from_micros(5), ActorId(2), recalled);
        }
    }
}

#[test]
fn a_stranger_does_not_end_the_patience_of_a_user() {
    let tasks = vec![Task::new(Span::from_secs(1), 1, Kind(0))];
    let job = Arc::new(Job { tasks, ..Job::default() });
    let enqueue = Enqueue { job, site: None, kind: None, think: None, needs: None, staging: None };
    let script = Script::from_messages(vec![(Time::ZERO, ActorId(0), Message::Enqueue(enqueue))]);
    let user = User::new(Resubmit::new(script, Span::from_micros(9), 1));
    let log = judge::run_actors(vec![Box::new(Router), Box::new(Stranger), Box::new(user)], &[Span::ZERO; 3]);
    let asked: Vec<u64> = log.iter().map(|entry| entry.stamp.time.micros()).collect();
    assert_eq!(asked, [9]);
}
