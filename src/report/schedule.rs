//! What queues made of rigid jobs: `schedule.json` in the words of Batsim's summary, and the jobs as a log of their own.
//!
//! All times in seconds of virtual time. As there, the makespan is when the last job ended. A job's slowdown is its
//! turnaround time by its run time; the bounded one takes no run time for shorter than 10 s, and is never below 1.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::account::{Account, Table};
use super::tally::{Fate, JobRow, SiteFacts, Standing};
use super::{Summary, Tally};
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
    /// How often a job was taken back from a queue and handed in elsewhere.
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
    /// The share of node time from the first submission to the last end.
    pub utilisation: Option<f64>,
    /// What the nodes could have done more for jobs that were there, as a share of what they did.
    pub underutilisation: Option<f64>,
    /// Why jobs were rejected, and how many.
    pub rejected: BTreeMap<String, u64>,
    pub logs: Vec<LogFacts>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
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

impl LogFacts {
    /// `None` for jobs that are of no log.
    fn of(rigids: &Rigids) -> Option<LogFacts> {
        let (Origin::Swf(LogFile { path, .. }) | Origin::Batsim(LogFile { path, .. })) = &rigids.origin else {
            return None;
        };
        let faults = &rigids.content.faults;
        Some(LogFacts {
            file: path.clone(),
            jobs: rigids.count.into(),
            left_out: faults.left_out,
            put_in_order: faults.disordered,
            released: faults.released,
            outside: rigids.content.outside,
            faults: faults.first.clone(),
            note: rigids.content.note(),
        })
    }
}

/// What a tally of queues knows beside its log.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    /// Which of the topology's systems has them.
    pub system: u32,
    /// Workloads of rigid jobs, by their first job.
    numbered: Vec<(u32, Arc<Vec<Rigid>>)>,
    /// Which workloads are logs, that know their users.
    logged: Vec<bool>,
    /// The first job of each workload.
    first: Vec<u32>,
    logs: Vec<LogFacts>,
    /// By site.
    pub policies: Vec<String>,
    /// How many actors there are at the router before the sites.
    services: u32,
}

impl Queues {
    pub fn of(topology: &Topology) -> Option<Queues> {
        let system = topology.systems.iter().position(|system| system.settings::<Batch>().is_some())?;
        let mut queues = Queues {
            system: system as u32,
            policies: topology.sites.iter().map(|site| site.scheduler.clone()).collect(),
            services: topology.systems.len() as u32,
            ..Queues::default()
        };
        let mut next = 0;
        for workload in &topology.workloads {
            queues.first.push(next);
            queues.logged.push(matches!(
                &workload.source,
                Source::Rigid(Rigids { origin: Origin::Swf(_) | Origin::Batsim(_), .. })
            ));
            if let Source::Rigid(rigids) = &workload.source {
                queues.numbered.push((next, rigids.content.jobs.clone()));
                queues.logs.extend(LogFacts::of(rigids));
            }
            next += workload.source.supply().jobs_in_all() as u32;
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
    pub fn number(&self, job: JobId) -> u64 {
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

/// What became of jobs, in order of their numbers, and the text that is made of it at the end.
type Results = (Vec<(JobId, Rigid)>, Vec<u8>);

/// The account of jobs that queue.
pub(super) struct Queueing<'a> {
    tally: &'a Tally,
    queues: &'a Queues,
    all: Schedule,
    waits: Mean,
    turnarounds: Mean,
    slowdowns: Mean,
    bounded: Mean,
    /// The first submission, the last end, and node microseconds of work.
    first: Time,
    last: Time,
    work: u128,
    /// Of each site: when jobs came and went, and how many nodes they asked for.
    steps: Vec<Vec<(Time, i64)>>,
    /// What became of the jobs, and the text that is made of it at the end.
    results: Option<Results>,
}

impl<'a> Queueing<'a> {
    /// `None` if this run has no queues.
    pub fn of(tally: &'a Tally, tables: bool) -> Option<Queueing<'a>> {
        let queues = tally.queues.as_ref()?;
        let all = Schedule {
            nb_computing_machines: tally.queue_sites().map(|(_, site)| u64::from(site.cores)).sum(),
            logs: queues.logs.clone(),
            nb_resubmissions: tally.resubmissions,
            ..Schedule::default()
        };
        Some(Queueing {
            tally,
            queues,
            all,
            waits: Mean::default(),
            turnarounds: Mean::default(),
            slowdowns: Mean::default(),
            bounded: Mean::default(),
            first: Time::NEVER,
            last: Time::ZERO,
            work: 0,
            steps: vec![Vec::new(); tally.sites.len()],
            results: tables.then(Default::default),
        })
    }

    fn count(&mut self, row: &JobRow) {
        let all = &mut self.all;
        all.nb_jobs += 1;
        *match row.standing() {
            Standing::Finished => &mut all.nb_jobs_success,
            Standing::Killed => &mut all.nb_jobs_killed,
            Standing::Refused | Standing::Removed => &mut all.nb_jobs_rejected,
            Standing::Unfinished => &mut all.nb_jobs_unfinished,
        } += 1;
        if let Fate::Rejected(why) = row.fate {
            *all.rejected.entry(why.to_string()).or_default() += 1;
        }
        self.first = self.first.min(row.job.arrive);
        let Some(fared) = Fared::of(row) else { return };
        self.last = self.last.max(row.job.arrive + fared.turnaround);
        self.work += u128::from(fared.runtime.micros()) * u128::from(row.job.tasks[0].cores);
        self.waits.add(fared.wait.micros() as f64 / 1e6);
        self.turnarounds.add(fared.turnaround.micros() as f64 / 1e6);
        self.slowdowns.add(fared.slowdown());
        self.bounded.add(fared.bounded_slowdown());
    }

    fn step(&mut self, row: &JobRow) {
        let task = &row.tasks[0];
        let Some(site) = task.site else { return };
        let (nodes, end) = (i64::from(row.job.tasks[0].cores), task.end.unwrap_or(self.tally.last));
        let steps = &mut self.steps[site as usize];
        steps.push((row.job.arrive, nodes));
        steps.push((end.max(row.job.arrive), -nodes));
    }

    /// Node microseconds that the sites could have worked: at each moment all nodes, or those that jobs asked for.
    fn demand(&mut self) -> u128 {
        let mut sum = 0;
        for (steps, site) in self.steps.iter_mut().zip(&self.tally.sites) {
            steps.sort_unstable();
            let mut level = 0;
            for (step, next) in steps.iter().zip(steps.iter().skip(1)) {
                level += step.1;
                let wanted = level.clamp(0, site.cores.into()) as u128;
                sum += wanted * u128::from(next.0.since(step.0).micros());
            }
        }
        sum
    }
}

impl Account for Queueing<'_> {
    fn job(&mut self, row: &JobRow, _: &[Option<Time>]) {
        if row.system != self.queues.system {
            return;
        }
        self.count(row);
        self.step(row);
        if let Some((results, _)) = &mut self.results {
            results.push((row.job.id, self.tally.result(self.queues, row)));
        }
    }

    fn tables(&mut self) -> Vec<Table<'_>> {
        self.results.as_mut().map(|(_, text)| ("result.swf", text)).into_iter().collect()
    }

    fn close(&mut self, summary: &mut Summary) {
        let demand = self.demand();
        if let Some((results, text)) = &mut self.results {
            self.tally.result_swf(std::mem::take(results), text);
        }
        let all = &mut self.all;
        all.nb_jobs_finished = all.nb_jobs_success + all.nb_jobs_killed;
        assert!(all.add_up(), "every job is counted once");
        all.success_rate = (all.nb_jobs > 0).then(|| all.nb_jobs_success as f64 / all.nb_jobs as f64);
        (all.mean_waiting_time, all.max_waiting_time) = (self.waits.mean(), self.waits.max());
        (all.mean_turnaround_time, all.max_turnaround_time) = (self.turnarounds.mean(), self.turnarounds.max());
        (all.mean_slowdown, all.max_slowdown) = (self.slowdowns.mean(), self.slowdowns.max());
        (all.mean_bounded_slowdown, all.max_bounded_slowdown) = (self.bounded.mean(), self.bounded.max());
        if self.work > 0 {
            all.makespan = Some(self.last.micros() as f64 / 1e6);
            let there = u128::from(self.last.since(self.first).micros()) * u128::from(all.nb_computing_machines);
            all.utilisation = (there > 0).then(|| self.work as f64 / there as f64);
            all.underutilisation = Some(demand as f64 / self.work as f64 - 1.0);
        }
        summary.schedule = Some(std::mem::take(all));
    }
}

impl Tally {
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

    /// The sites that have queues, with their numbers.
    fn queue_sites(&self) -> impl Iterator<Item = (usize, &SiteFacts)> {
        let all = self.queues.as_ref().map(|queues| self.sites_of(queues.system)).unwrap_or_default();
        all.into_iter().map(|at| (at, &self.sites[at]))
    }

    /// What became of the jobs in the Standard Workload Format, which knows whole seconds.
    fn result_swf(&self, mut jobs: Vec<(JobId, Rigid)>, text: &mut Vec<u8>) {
        let nodes: u64 = self.queue_sites().map(|(_, site)| u64::from(site.cores)).sum();
        self.tell_apart(&mut jobs);
        let mut jobs: Vec<Rigid> = jobs.into_iter().map(|(_, job)| job).collect();
        jobs.sort_by_key(|job| job.submit);
        let mut header = swf::header(&self.topology, jobs.len(), u32::try_from(nodes).unwrap_or(u32::MAX));
        if self.sites.len() > 1 {
            let sites = self.queue_sites();
            header.extend(sites.map(|(number, site)| format!("Partition: {} {}", number + 1, site.name)));
        }
        header.push("Note: moments are rounded to whole seconds".to_owned());
        let put = |piece: &[u8]| {
            text.extend_from_slice(piece);
            Ok::<_, std::convert::Infallible>(())
        };
        swf::write(&header, &jobs, put).expect("memory takes all that is written");
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

    fn result(&self, queues: &Queues, row: &JobRow) -> Rigid {
        let logged = queues.rigid(row.job.id).cloned();
        let logged = logged.unwrap_or_else(|| Rigid { number: u64::from(row.job.id.0) + 1, ..Rigid::default() });
        let (task, fared) = (row.job.tasks[0], Fared::of(row));
        let site = row.tasks[0].site.filter(|_| self.sites.len() > 1).map(|site| site + 1);
        // Whose a job of a model is, the run alone knows. Users come after the sites and whoever is at the router.
        let is_logged = queues.is_logged(row.job.id);
        let user = row.user.0.checked_sub(self.sites.len() as u32 + queues.services - 1).filter(|_| !is_logged);
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
