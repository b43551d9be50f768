//! What queues made of rigid jobs: `schedule.json` in the words of Batsim's summary, and the jobs as a log of their own.
//!
//! All times in seconds of virtual time. As there, the makespan is when the last job ended. A job's slowdown is its
//! turnaround time by its run time; the bounded one takes no run time for shorter than 10 s, and is never below 1.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Tally;
use super::tally::{Fate, JobRow, Standing};
use crate::grid::JobId;
use crate::systems::batch::Batch;
use crate::time::{Span, Time};
use crate::topology::Topology;
use crate::workload::rigids::{LogFile, Origin, Rigids};
use crate::workload::{Fault, Rigid, Source, swf};

/// `nb_jobs` is the sum of `nb_jobs_success`, `nb_jobs_killed`, `nb_jobs_rejected` and `nb_jobs_unfinished`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub nb_computing_machines: u64,
    pub nb_jobs: u64,
    /// Successful ones and those that were killed.
    pub nb_jobs_finished: u64,
    pub nb_jobs_success: u64,
    pub nb_jobs_killed: u64,
    pub nb_jobs_rejected: u64,
    pub nb_jobs_unfinished: u64,
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
    /// The share of node time from the first submission to the last end.
    pub utilisation: Option<f64>,
    /// What the nodes could have done more for jobs that were there, as a share of what they did.
    pub underutilisation: Option<f64>,
    /// Why jobs were rejected, and how many.
    pub rejected: BTreeMap<String, u64>,
    pub logs: Vec<LogFacts>,
}

/// What was read of a log, and what was not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogFacts {
    pub file: String,
    pub jobs: u64,
    /// Entries that cannot be read or run.
    pub left_out: u64,
    /// Entries that came later than their time.
    pub put_in_order: u64,
    /// Jobs without the one that they follow.
    pub released: u64,
    /// Jobs that the topology does not want.
    pub outside: u64,
    /// The first few things that are wrong.
    pub faults: Vec<Fault>,
    /// What is not wrong, but should be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a tally of queues knows beside its log.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    /// Workloads of rigid jobs, by their first job.
    numbered: Vec<(u32, Arc<Vec<Rigid>>)>,
    /// Which workloads are logs, that know their users.
    logged: Vec<bool>,
    /// The first job of each workload.
    first: Vec<u32>,
    logs: Vec<LogFacts>,
    /// By site.
    pub policies: Vec<String>,
}

impl Queues {
    pub fn of(topology: &Topology) -> Option<Queues> {
        topology.settings::<Batch>()?;
        let mut queues = Queues {
            policies: topology.sites.iter().map(|site| site.scheduler.clone()).collect(),
            ..Queues::default()
        };
        let mut next = 0;
        for workload in &topology.workloads {
            queues.first.push(next);
            queues.logged.push(matches!(
                &workload.source,
                Source::Rigid(Rigids { origin: Origin::Swf(_) | Origin::Batsim(_), .. })
            ));
            next += match &workload.source {
                Source::Table(table) => table.jobs.len() as u32,
                Source::Rigid(rigids) => {
                    queues.numbered.push((next, rigids.content.jobs.clone()));
                    if let Origin::Swf(LogFile { path, .. }) | Origin::Batsim(LogFile { path, .. }) = &rigids.origin {
                        let faults = &rigids.content.faults;
                        queues.logs.push(LogFacts {
                            file: path.clone(),
                            jobs: rigids.count.into(),
                            left_out: faults.left_out,
                            put_in_order: faults.disordered,
                            released: faults.released,
                            outside: rigids.content.outside,
                            faults: faults.first.clone(),
                            note: faults.note().map(str::to_owned),
                        });
                    }
                    rigids.count
                }
                _ => 0,
            };
        }
        Some(queues)
    }

    /// The job as its log has it.
    pub fn rigid(&self, job: JobId) -> Option<&Rigid> {
        let at = self.numbered.partition_point(|(first, _)| *first <= job.0).checked_sub(1)?;
        let (first, jobs) = &self.numbered[at];
        jobs.get((job.0 - first) as usize)
    }

    /// What its log, or else the run, numbers it.
    fn number(&self, job: JobId) -> u64 {
        self.rigid(job).map_or(job.0.into(), |rigid| rigid.number)
    }

    fn is_logged(&self, job: JobId) -> bool {
        self.logged.get(self.first.partition_point(|first| *first <= job.0) - 1).copied().unwrap_or(false)
    }

    /// Which workload it is from, where there are several.
    pub fn workload(&self, job: JobId) -> Option<usize> {
        (self.first.len() > 1).then(|| self.first.partition_point(|first| *first <= job.0))
    }
}

/// How a job fared that ran.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fared {
    pub wait: Span,
    pub turnaround: Span,
    pub runtime: Span,
}

const SHORT: Span = Span::from_secs(10);

impl Fared {
    pub fn of(row: &JobRow) -> Option<Fared> {
        let task = row.tasks.first()?;
        let (start, end) = task.start.zip(task.end)?;
        let arrive = row.job.arrive;
        Some(Fared { wait: start.since(arrive), turnaround: end.since(arrive), runtime: end.since(start) })
    }

    pub fn slowdown(&self) -> f64 {
        self.turnaround.micros() as f64 / self.runtime.micros().max(1) as f64
    }

    pub fn bounded_slowdown(&self) -> f64 {
        (self.turnaround.micros() as f64 / self.runtime.max(SHORT).micros() as f64).max(1.0)
    }
}

#[derive(Default)]
struct Mean {
    count: u64,
    sum: f64,
    max: f64,
}

impl Mean {
    fn add(&mut self, number: f64) {
        self.count += 1;
        self.sum += number;
        self.max = self.max.max(number);
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }
}

impl Tally {
    /// `None` if this run has no queues.
    pub fn schedule(&self) -> Option<Schedule> {
        let queues = self.queues.as_ref()?;
        let mut all = Schedule {
            nb_computing_machines: self.sites.iter().map(|site| u64::from(site.cores)).sum(),
            logs: queues.logs.clone(),
            ..Schedule::default()
        };
        let (mut waits, mut turnarounds) = (Mean::default(), Mean::default());
        let (mut slowdowns, mut bounded) = (Mean::default(), Mean::default());
        let (mut first, mut last, mut work) = (Time::NEVER, Time::ZERO, 0u128);
        for row in self.jobs.values() {
            all.nb_jobs += 1;
            first = first.min(row.job.arrive);
            *match row.standing() {
                Standing::Finished => &mut all.nb_jobs_success,
                Standing::Killed => &mut all.nb_jobs_killed,
                Standing::Refused | Standing::Removed => &mut all.nb_jobs_rejected,
                Standing::Unfinished => &mut all.nb_jobs_unfinished,
            } += 1;
            if let Fate::Rejected(why) = row.fate {
                *all.rejected.entry(why.to_string()).or_default() += 1;
            }
            let Some(fared) = Fared::of(row) else { continue };
            last = last.max(row.job.arrive + fared.turnaround);
            work += u128::from(fared.runtime.micros()) * u128::from(row.job.tasks[0].cores);
            waits.add(fared.wait.micros() as f64 / 1e6);
            turnarounds.add(fared.turnaround.micros() as f64 / 1e6);
            slowdowns.add(fared.slowdown());
            bounded.add(fared.bounded_slowdown());
        }
        all.nb_jobs_finished = all.nb_jobs_success + all.nb_jobs_killed;
        assert!(all.add_up(), "every job is counted once");
        all.success_rate = (all.nb_jobs > 0).then(|| all.nb_jobs_success as f64 / all.nb_jobs as f64);
        (all.mean_waiting_time, all.max_waiting_time) = (waits.mean(), waits.max());
        (all.mean_turnaround_time, all.max_turnaround_time) = (turnarounds.mean(), turnarounds.max());
        (all.mean_slowdown, all.max_slowdown) = (slowdowns.mean(), slowdowns.max());
        (all.mean_bounded_slowdown, all.max_bounded_slowdown) = (bounded.mean(), bounded.max());
        if work > 0 {
            all.makespan = Some(last.micros() as f64 / 1e6);
            let there = u128::from(last.since(first).micros()) * u128::from(all.nb_computing_machines);
            all.utilisation = (there > 0).then(|| work as f64 / there as f64);
            all.underutilisation = Some(self.demand() as f64 / work as f64 - 1.0);
        }
        Some(all)
    }

    /// Node microseconds that the sites could have worked: at each moment all nodes, or those that jobs asked for.
    fn demand(&self) -> u128 {
        let mut steps: Vec<(u32, Time, i64)> = Vec::with_capacity(2 * self.jobs.len());
        for row in self.jobs.values() {
            let task = &row.tasks[0];
            if let Some(site) = task.site {
                let (nodes, end) = (i64::from(row.job.tasks[0].cores), task.end.unwrap_or(self.last));
                steps.push((site, row.job.arrive, nodes));
                steps.push((site, end.max(row.job.arrive), -nodes));
            }
        }
        steps.sort_unstable();
        let (mut sum, mut level) = (0, 0i64);
        for (step, next) in steps.iter().zip(steps.iter().skip(1)) {
            level += step.2;
            if step.0 == next.0 {
                let wanted = level.clamp(0, self.sites[step.0 as usize].cores.into()) as u128;
                sum += wanted * u128::from(next.1.since(step.1).micros());
            } else {
                level = 0;
            }
        }
        sum
    }

    /// The number by which `jobs.csv` knows a job.
    pub(super) fn number(&self, job: JobId) -> u64 {
        self.queues.as_ref().map_or(job.0.into(), |queues| queues.number(job))
    }

    /// Of several workloads whose jobs have numbers of their own, the one that a job is from.
    pub(super) fn workload(&self, job: JobId) -> Option<usize> {
        self.queues.as_ref()?.workload(job)
    }

    /// Whether there is a schedule to write.
    pub fn is_queueing(&self) -> bool {
        self.queues.is_some()
    }

    /// Writes what became of the jobs in the Standard Workload Format, which knows whole seconds.
    pub fn result_swf<E>(&self, put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let nodes: u64 = self.sites.iter().map(|site| u64::from(site.cores)).sum();
        let mut jobs: Vec<(JobId, Rigid)> = self.jobs.values().map(|row| (row.job.id, self.result(row))).collect();
        self.tell_apart(&mut jobs);
        let mut jobs: Vec<Rigid> = jobs.into_iter().map(|(_, job)| job).collect();
        jobs.sort_by_key(|job| job.submit);
        let mut header = swf::header(&self.topology, jobs.len(), u32::try_from(nodes).unwrap_or(u32::MAX));
        if self.sites.len() > 1 {
            let sites = self.sites.iter().zip(1..);
            header.extend(sites.map(|(site, number)| format!("Partition: {number} {}", site.name)));
        }
        header.push("Note: moments are rounded to whole seconds".to_owned());
        swf::write(&header, &jobs, put)
    }

    /// Several workloads may use the same numbers; then the run's own, counted from 1, take their place.
    fn tell_apart(&self, jobs: &mut [(JobId, Rigid)]) {
        let numbers: BTreeSet<u64> = jobs.iter().map(|(_, job)| job.number).collect();
        if numbers.len() == jobs.len() {
            return;
        }
        let workload = |id: JobId| self.workload(id);
        let anew = |id: JobId| u64::from(id.0) + 1;
        let names: BTreeMap<_, u64> = jobs.iter().map(|(id, job)| ((workload(*id), job.number), anew(*id))).collect();
        for (id, job) in jobs {
            job.number = anew(*id);
            job.preceding = job.preceding.and_then(|before| names.get(&(workload(*id), before)).copied());
        }
    }

    fn result(&self, row: &JobRow) -> Rigid {
        let logged = self.queues.as_ref().and_then(|queues| queues.rigid(row.job.id)).cloned();
        let logged = logged.unwrap_or_else(|| Rigid { number: u64::from(row.job.id.0) + 1, ..Rigid::default() });
        let (task, fared) = (row.job.tasks[0], Fared::of(row));
        let site = row.tasks[0].site.filter(|_| self.sites.len() > 1).map(|site| site + 1);
        // Whose a job of a model is, the run alone knows. Users come after the sites and whoever is at the router.
        let is_logged = self.queues.as_ref().is_some_and(|queues| queues.is_logged(row.job.id));
        let user = row.user.0.checked_sub(self.sites.len() as u32).filter(|_| !is_logged);
        let submit = whole(row.job.arrive);
        let moments = fared.map(|fared| {
            let start = row.job.arrive + fared.wait;
            (whole(start), whole(start + fared.runtime))
        });
        Rigid {
            submit,
            wait: moments.map(|(start, _)| start.since(submit)),
            runtime: moments.map(|(start, end)| end.since(start)),
            allocated: fared.map(|_| task.cores),
            cpu_time: None,
            requested: Some(task.cores),
            requested_time: Some(Span::from_secs(task.walltime.micros().div_ceil(1_000_000))),
            status: match row.standing() {
                Standing::Finished => Some(1),
                Standing::Killed => Some(0),
                Standing::Refused | Standing::Removed => Some(5),
                Standing::Unfinished => None,
            },
            user: logged.user.or(user),
            partition: if self.sites.len() > 1 { site } else { logged.partition },
            ..logged
        }
    }
}

/// The nearest whole second.
fn whole(time: Time) -> Time {
    Time::from_micros((time.micros() + 500_000) / 1_000_000 * 1_000_000)
}

impl Schedule {
    pub fn add_up(&self) -> bool {
        let ends = self.nb_jobs_finished + self.nb_jobs_rejected + self.nb_jobs_unfinished;
        self.nb_jobs == ends && self.nb_jobs_finished == self.nb_jobs_success + self.nb_jobs_killed
    }
}
