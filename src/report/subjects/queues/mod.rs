//! Results of queued rigid jobs: `schedule.json` in the terms of Batsim's summary, and the jobs as a log.
//!
//! All times in seconds of virtual time. As in Batsim, the makespan is the end of the last job. A job's slowdown is its
//! turnaround time divided by its run time; the bounded one counts a run time as at least 10 s, and is never below 1.

mod account;
mod fared;
mod log;
mod result;
mod section;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::account::Queueing;
use self::log::LogFacts;
use super::{PLAIN, Subject, SubjectReport, is_zero};
use crate::SummaryPart;
use crate::markup::Html;
use crate::present::page::Page;
use crate::present::page::html::number;
use crate::results::account::Account;
use crate::results::metric::{Better, Family, Metric, Unit};
use crate::{Summary, Tally};
use hansa_sim::numerals::{Digits, count, counted};
use hansa_sim::topology::Topology;
use hansa_sim::workload::{FAULTS_FEW, Source, faults_by_kind};

pub const SUBJECT: Subject = Subject {
    systems: &["batch"],
    part: Schedule::NAME,
    one_task: true,
    shows_waiting: true,
    section: ("queues", "Queues"),
    open: Queues::of,
    cards,
    lines,
    metrics: &[
        Metric::new(
            "turnaround",
            "mean time from submission to end of jobs that ended; where jobs queue, of those in queues",
            Family::Turnaround,
            Unit::Seconds,
            Better::Less,
            |summary| match summary.part::<Schedule>() {
                Some(schedule) => schedule.mean_turnaround_time,
                None => summary.turnaround,
            },
        ),
        Metric::new(
            "bounded_slowdown",
            "mean bounded slowdown of jobs in queues, with a threshold of 10 s",
            Family::Slowdowns,
            Unit::Ratio,
            Better::Less,
            |summary| summary.part::<Schedule>()?.mean_bounded_slowdown,
        ),
        Metric::new(
            "stretch",
            "mean turnaround time of jobs in queues, by their run time",
            Family::Slowdowns,
            Unit::Ratio,
            Better::Less,
            |summary| summary.part::<Schedule>()?.mean_slowdown,
        ),
        Metric::new(
            "killed",
            "share of the jobs in queues that were killed at their walltime",
            Family::Work,
            Unit::Share,
            Better::Less,
            |summary| {
                let Schedule { nb_jobs, nb_jobs_killed, .. } = summary.part()?;
                (nb_jobs > 0).then(|| nb_jobs_killed as f64 / nb_jobs as f64)
            },
        ),
        Metric::new(
            "underutilisation",
            "additional work that nodes could have done for jobs in queues, as a share of what they did",
            Family::Use,
            Unit::Ratio,
            Better::Less,
            |summary| summary.part::<Schedule>()?.underutilisation,
        ),
    ],
    ..PLAIN
};

/// `nb_jobs` is the sum of `nb_jobs_success`, `nb_jobs_killed`, `nb_jobs_rejected` and `nb_jobs_unfinished`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub nb_computing_machines: u64,
    pub nb_jobs: u64,
    /// Jobs in a warm-up or a cool-down, which are in no other number or mean of jobs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nb_jobs_not_counted: u64,
    /// Successful jobs and killed ones.
    pub nb_jobs_finished: u64,
    pub nb_jobs_success: u64,
    pub nb_jobs_killed: u64,
    pub nb_jobs_rejected: u64,
    pub nb_jobs_unfinished: u64,
    /// Number of jobs taken back from a queue and submitted elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nb_resubmissions: u64,
    pub success_rate: Option<f64>,
    pub makespan: Option<f64>,
    pub mean_waiting_time: Option<f64>,
    pub max_waiting_time: Option<f64>,
    pub mean_turnaround_time: Option<f64>,
    pub max_turnaround_time: Option<f64>,
    pub mean_slowdown: Option<f64>,
    pub max_slowdown: Option<f64>,
    pub mean_bounded_slowdown: Option<f64>,
    pub max_bounded_slowdown: Option<f64>,
    /// Share of node time from the first submission to the last end.
    pub utilisation: Option<f64>,
    /// Additional work that nodes could have done for present jobs, as a share of their work.
    pub underutilisation: Option<f64>,
    /// Number of rejected jobs, by reason.
    pub rejected: BTreeMap<String, u64>,
    pub logs: Vec<LogFacts>,
}

impl SummaryPart for Schedule {
    const NAME: &'static str = "schedule";
}

impl Schedule {
    pub fn add_up(&self) -> bool {
        let ends = self.nb_jobs_finished + self.nb_jobs_rejected + self.nb_jobs_unfinished;
        self.nb_jobs == ends && self.nb_jobs_finished == self.nb_jobs_success + self.nb_jobs_killed
    }
}

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
            services: topology.systems.iter().filter(|system| system.row().service.is_some()).count() as u32,
        }))
    }

    /// The numbers of the sites with queues.
    fn sites(&self, tally: &Tally) -> Vec<usize> {
        tally.sites_of(&self.systems)
    }
}

impl SubjectReport for Queues {
    fn account<'a>(&'a self, tally: &'a Tally, tables: bool) -> Box<dyn Account + 'a> {
        Box::new(Queueing::new(tally, self, tables))
    }

    fn section(&self, page: &Page<'_>) -> Html {
        section::queues(self, page)
    }
}

fn cards(summary: &Summary) -> Vec<(&'static str, String, String)> {
    let Some(schedule) = summary.part::<Schedule>() else { return Vec::new() };
    let mean = schedule.mean_bounded_slowdown.map_or("–".to_owned(), |mean| format!("{mean:.2}"));
    let most = schedule.max_bounded_slowdown.map_or(String::new(), |most| format!(", at most {}", number(most)));
    vec![("Bounded slowdown", mean, format!("mean of jobs that ran{most}"))]
}

fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(schedule) = summary.part::<Schedule>() else { return Vec::new() };
    let mut lines = Vec::new();
    let under = schedule.underutilisation.map_or(String::new(), |share| format!("; underutilisation {share:.3}"));
    if let Some((mean, max)) = schedule.mean_bounded_slowdown.zip(schedule.max_bounded_slowdown) {
        let [mean, max] = [mean, max].map(|slowdown| Digits::of([mean, max]).show(slowdown));
        lines.push(("slowdown", format!("of queued jobs, bounded: mean {mean}, at most {max}{under}")));
    }
    lines.extend(schedule.rejected.iter().map(|(why, jobs)| ("refused", format!("{}: {why}", count(*jobs)))));
    if !schedule.rejected.is_empty() {
        lines.push(("", "  jobs.csv lists these as REJECTED".to_owned()));
    }
    for log in &schedule.logs {
        let LogFacts { file, jobs, faults, .. } = log;
        lines.push(("log", format!("{} of {file}", counted(*jobs, "job"))));
        let counts = log.counts("without the job that they follow");
        lines.extend(counts.map(|(many, what)| ("", format!("{} {what}", count(many)))));
        lines.extend(log.by_reason.iter().map(|left_out| ("", format!("  {left_out}"))));
        let (few, listed) = faults_by_kind(faults, FAULTS_FEW);
        lines.extend(few.into_iter().map(|line| ("", format!("  {line}"))));
        let by_reason: u64 = log.by_reason.iter().map(|left_out| left_out.count).sum();
        let all = log.left_out + log.put_in_order + log.released - by_reason;
        if !faults.is_empty() && all > listed {
            lines.push(("", format!("  and {} more", count(all - listed))));
        }
        lines.extend(log.note.iter().map(|note| ("", note.clone())));
    }
    lines
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
        let [york, ann] = ["york", "ann"].map(|name| tally.names.actor(name).unwrap());
        let batch = ActorId(0);
        let task = TaskId { job: JobId(0), index: 0 };
        let arrived = |id| {
            let tasks = vec![Task::new(Span::from_secs(9), 1, Kind(0))];
            let job = Job {
                id: JobId(id),
                arrive: Time::ZERO,
                first_task: id,
                tasks,
                edges: Vec::new(),
                worth: None,
                times: None,
            };
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
}
