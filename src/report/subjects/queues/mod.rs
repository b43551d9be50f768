//! Results of queued rigid jobs: `schedule.json` in the terms of Batsim's summary, and the jobs as a log.
//!
//! All times in seconds of virtual time. As in Batsim, the makespan is the end of the last job. A job's slowdown is its
//! turnaround time divided by its run time; the bounded one counts a run time as at least 10 s, and is never below 1.

mod account;
mod fared;
mod figures;
mod log;
mod result;
mod section;

use self::account::Queueing;
pub use self::figures::Schedule;
use self::figures::{METRICS, cards, lines};
use self::log::LogFacts;
use super::{PLAIN, Subject, SubjectReport};
use crate::markup::Html;
use crate::present::page::Page;
use crate::results::account::Account;
use crate::{SummaryPart, Tally};
use hansa_sim::topology::Topology;
use hansa_sim::workload::Source;

pub const SUBJECT: Subject = Subject {
    systems: &["batch"],
    part: Schedule::NAME,
    one_task: true,
    shows_waiting: true,
    section: ("queues", "Queues"),
    open: Queues::of,
    cards,
    lines,
    metrics: METRICS,
    ..PLAIN
};

/// Facts from the topology.
#[derive(Debug)]
struct Queues {
    /// The systems with queues.
    systems: Vec<u32>,
    logs: Vec<LogFacts>,
    /// Policy of each site.
    policies: Vec<String>,
    /// Number of actors at the router before the sites.
    services: u32,
}

impl Queues {
    fn of(topology: &Topology, systems: Vec<u32>) -> Option<Box<dyn SubjectReport>> {
        let rigid = topology.workloads.iter().filter_map(|workload| match &workload.source {
            Source::Rigid(rigids) => LogFacts::of(rigids),
            _ => None,
        });
        Some(Box::new(Queues {
            systems,
            logs: rigid.collect(),
            policies: topology.sites.iter().map(|site| site.scheduler.clone()).collect(),
            services: topology.systems.iter().filter(|system| system.system_row().service.is_some()).count() as u32,
        }))
    }

    /// The numbers of the sites with queues.
    fn sites(&self, tally: &Tally) -> Vec<usize> {
        tally.sites_of(&self.systems)
    }
}

impl SubjectReport for Queues {
    fn open_account<'a>(&'a self, tally: &'a Tally, tables: bool) -> Box<dyn Account + 'a> {
        Box::new(Queueing::new(tally, self, tables))
    }

    fn page_section(&self, page: &Page<'_>) -> Html {
        section::queues_section(self, page)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tests::topology;
    use crate::{Names, Status};
    use hansa_sim::grid::{Job, JobId, Kind, NodeSet, Task, TaskId};
    use hansa_sim::kernel::{ActorId, Entry};
    use hansa_sim::protocol::Record;
    use hansa_sim::systems::Service;
    use hansa_sim::systems::batch::Batch;
    use hansa_sim::systems::heft::Planning;
    use hansa_sim::time::{Span, Stamp, Time};

    #[test]
    fn jobs_that_do_not_queue_are_none_of_which_a_share_was_killed() {
        let systems = vec![Service::new(Batch::default()), Service::new(Planning::default())];
        let topology = Topology { systems, ..topology() };
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        let [york, ann] = ["york", "ann"].map(|name| tally.names.find_actor(name).unwrap());
        let batch = ActorId(0);
        let task = TaskId { job: JobId(0), index: 0 };
        let arrived = |id| {
            let tasks = vec![Task::new(Span::from_secs(9), 1, Kind(0))];
            let job = Job { id: JobId(id), first_task: id, tasks, ..Job::default() };
            Record::Arrived { job: Arc::new(job), user: ann }
        };
        let happened = [
            (batch, arrived(0)),
            (ActorId(1), arrived(1)),
            (york, Record::Started { task, cores: NodeSet::parse("0").unwrap() }),
            (york, Record::Killed { task }),
            (batch, Record::Completed { job: task.job, value: None }),
        ];
        for (actor, record) in happened {
            tally.add(&Entry { stamp: Stamp::at(Time::ZERO), actor, record }).unwrap();
        }
        let summary = tally.summary(1, Status::Complete, String::new());
        let killed = SUBJECT.metrics.iter().find(|metric| metric.name == "killed").unwrap();
        assert_eq!(killed.of(&summary), Some(1.0));
    }

    #[test]
    fn jobs_that_are_preempted_are_not_killed_and_run_again_if_they_are_requeued() {
        let topology = Topology { systems: vec![Service::new(Batch::default())], ..topology() };
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        let [york, ann] = ["york", "ann"].map(|name| tally.names.find_actor(name).unwrap());
        let batch = ActorId(0);
        let cores = NodeSet::parse("0").unwrap();
        let mut add = |at: u64, actor, record| {
            tally.add(&Entry { stamp: Stamp::at(Time::ZERO + Span::from_secs(at)), actor, record }).map(drop)
        };
        for id in [0, 1] {
            let tasks = vec![Task::new(Span::from_secs(90), 1, Kind(0))];
            let job = Job {
                id: JobId(id),
                arrive: Time::ZERO,
                first_task: id,
                tasks,
                edges: Vec::new(),
                worth: None,
                times: None,
            };
            add(0, batch, Record::Arrived { job: Arc::new(job), user: ann }).unwrap();
        }
        let [again, over] = [0, 1].map(|job| TaskId { job: JobId(job), index: 0 });
        assert!(add(1, york, Record::Requeued { task: again }).is_err(), "it has not run");
        add(10, york, Record::Started { task: again, cores: cores.clone() }).unwrap();
        add(40, york, Record::Requeued { task: again }).unwrap();
        assert!(add(40, york, Record::Finished { task: again }).is_err(), "it is off its cores");
        add(50, york, Record::Started { task: over, cores: cores.clone() }).unwrap();
        add(60, york, Record::Preempted { task: over }).unwrap();
        add(60, batch, Record::Completed { job: over.job, value: None }).unwrap();
        add(70, york, Record::Started { task: again, cores }).unwrap();
        add(160, york, Record::Finished { task: again }).unwrap();
        add(160, batch, Record::Completed { job: again.job, value: None }).unwrap();

        let summary = tally.summary(1, Status::Complete, String::new());
        let counts = summary.jobs;
        assert_eq!((counts.finished, counts.killed, counts.preempted), (1, 0, 1));
        let schedule = summary.read_part::<Schedule>().unwrap();
        assert_eq!((schedule.nb_jobs_killed, schedule.nb_jobs_preempted, schedule.nb_requeues), (0, 1, 1));
        // Waits until the first starts, and a run time without the work that was done twice.
        assert_eq!(schedule.mean_waiting_time, Some(30.0));
        assert_eq!(schedule.mean_slowdown, Some((160.0 / 90.0 + 60.0 / 10.0) / 2.0));
        assert!(lines(&summary).contains(&("preempted", "1 job ended for others; jobs requeued 1 time".to_owned())));
    }
}
