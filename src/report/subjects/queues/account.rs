//! The account of queued jobs.

use super::fared::QueuedTimes;
use super::{Queues, Schedule, result};
use crate::manifest::pretty_json;
use crate::referee::tally::{Fate, JobRow, Standing};
use crate::results::account::Account;
use crate::results::core::Mean;
use crate::tables::columns::OpenTable;
use crate::{Summary, Tally};
use hansa_sim::grid::{JobId, Needs};
use hansa_sim::time::Time;
use hansa_sim::workload::packed::Packed;

pub struct Queueing<'a> {
    tally: &'a Tally,
    queues: &'a Queues,
    all: Schedule,
    waits: Mean,
    turnarounds: Mean,
    slowdowns: Mean,
    bounded: Mean,
    /// The first submission and the last end.
    first: Time,
    last: Time,
    /// Node microseconds for which jobs had their nodes, and for which they worked: a job may need only a part of a
    /// node that it has for itself.
    held: u128,
    worked: u128,
    /// Arrivals and ends of jobs at each site, with the nodes they could use.
    steps: Vec<Vec<(Time, i64)>>,
    /// The jobs' results, and the files made of them at the end.
    results: Option<QueueAccount>,
}

#[derive(Default)]
struct QueueAccount {
    /// The jobs in order of their numbers.
    ids: Vec<JobId>,
    jobs: Packed,
    /// The log, once all jobs are here.
    log: Option<result::ResultLog>,
    swf: Vec<u8>,
    schedule: Vec<u8>,
}

/// Weight of a node in counts, as jobs may need parts of one.
const NODE: u64 = 1_000_000;

/// Number of nodes that a job can use.
fn usable_nodes(row: &JobRow) -> u64 {
    let cores = f64::from(row.job.tasks[0].cores);
    (cores * row.needs.unwrap_or(Needs::NODE).cpu * NODE as f64).round() as u64
}

impl<'a> Queueing<'a> {
    pub fn new(tally: &'a Tally, queues: &'a Queues, tables: bool) -> Queueing<'a> {
        let all = Schedule {
            nb_computing_machines: queues.sites(tally).iter().map(|site| u64::from(tally.sites[*site].cores)).sum(),
            logs: queues.logs.clone(),
            nb_resubmissions: queues.systems.iter().map(|system| tally.times_withdrawn(*system)).sum(),
            ..Schedule::default()
        };
        Queueing {
            tally,
            queues,
            all,
            waits: Mean::default(),
            turnarounds: Mean::default(),
            slowdowns: Mean::default(),
            bounded: Mean::default(),
            first: Time::NEVER,
            last: Time::ZERO,
            held: 0,
            worked: 0,
            steps: vec![Vec::new(); tally.sites.len()],
            results: tables.then(QueueAccount::default),
        }
    }

    fn count(&mut self, row: &JobRow) {
        let all = &mut self.all;
        all.nb_jobs += 1;
        *match row.standing() {
            Standing::Finished => &mut all.nb_jobs_success,
            Standing::Killed => &mut all.nb_jobs_killed,
            Standing::Preempted => &mut all.nb_jobs_preempted,
            Standing::Refused | Standing::Removed => &mut all.nb_jobs_rejected,
            Standing::Unfinished => &mut all.nb_jobs_unfinished,
        } += 1;
        if let Fate::Rejected(why) = row.fate {
            *all.rejected.entry(why.to_string()).or_default() += 1;
        }
        all.nb_requeues += u64::from(row.requeues());
        match self.tally.is_backfilled(row) {
            Some(true) => all.nb_jobs_backfilled += 1,
            Some(false) => all.nb_jobs_in_turn += 1,
            None => {}
        }
        let Some(fared) = QueuedTimes::of(self.tally, row) else { return };
        self.waits.add(fared.wait.micros() as f64 / 1e6);
        self.turnarounds.add(fared.turnaround.micros() as f64 / 1e6);
        self.slowdowns.add(fared.slowdown());
        self.bounded.add(fared.bounded_slowdown());
    }

    /// Adds a job to the use of the nodes.
    fn add_use(&mut self, row: &JobRow) {
        self.first = self.first.min(row.job.arrive);
        self.step(row);
        if let Some(results) = &mut self.results {
            results.ids.push(row.job.id);
            results.jobs.push(&result::result_job(self.tally, self.queues, row));
        }
        let Some(fared) = QueuedTimes::of(self.tally, row) else { return };
        self.last = self.last.max(row.job.arrive + fared.turnaround);
        let runtime = u128::from(fared.runtime.micros());
        self.held += runtime * u128::from(self.nodes(row));
        self.worked += runtime * u128::from(usable_nodes(row));
    }

    /// Number of nodes that a job has while it runs: where nodes are shared, parts of one count.
    fn nodes(&self, row: &JobRow) -> u64 {
        match row.tasks[0].site.map(|site| self.tally.sites[site as usize].is_shared) {
            Some(true) => usable_nodes(row),
            Some(false) | None => u64::from(row.job.tasks[0].cores) * NODE,
        }
    }

    fn step(&mut self, row: &JobRow) {
        let task = &row.tasks[0];
        let Some(site) = task.site else { return };
        let nodes = usable_nodes(row) as i64;
        let end = task.end.or(row.given_up()).unwrap_or(self.tally.last);
        let steps = &mut self.steps[site as usize];
        steps.push((row.job.arrive, nodes));
        steps.push((end.max(row.job.arrive), -nodes));
    }

    /// Node microseconds that the sites could have worked: at each moment all nodes, or those that jobs could use.
    fn node_demand(&mut self) -> u128 {
        let mut sum = 0;
        for (steps, site) in self.steps.iter_mut().zip(&self.tally.sites) {
            steps.sort_unstable();
            let mut level = 0;
            for (step, next) in steps.iter().zip(steps.iter().skip(1)) {
                level += step.1;
                let wanted = level.clamp(0, i64::from(site.cores) * NODE as i64) as u128;
                sum += wanted * u128::from(next.0.since(step.0).micros());
            }
        }
        sum
    }
}

impl Account for Queueing<'_> {
    fn job(&mut self, row: &JobRow, _: &[Option<Time>]) {
        if self.queues.systems.contains(&row.system) {
            self.count(row);
            self.add_use(row);
        }
    }

    fn add_uncounted(&mut self, row: &JobRow, _: &[Option<Time>]) {
        if self.queues.systems.contains(&row.system) {
            self.all.nb_jobs_not_counted += 1;
            self.add_use(row);
        }
    }

    fn open_tables(&mut self) -> Vec<OpenTable<'_>> {
        let Some(QueueAccount { swf, schedule, .. }) = &mut self.results else { return Vec::new() };
        vec![("result.swf", swf), ("schedule.json", schedule)]
    }

    fn close(&mut self, summary: &mut Summary) {
        let demand = self.node_demand();
        let all = &mut self.all;
        all.nb_jobs_finished = all.nb_jobs_success + all.nb_jobs_killed + all.nb_jobs_preempted;
        assert!(all.add_up(), "every job is counted once");
        all.success_rate = (all.nb_jobs > 0).then(|| all.nb_jobs_success as f64 / all.nb_jobs as f64);
        (all.mean_waiting_time, all.max_waiting_time) = (self.waits.get(), self.waits.max());
        (all.mean_turnaround_time, all.max_turnaround_time) = (self.turnarounds.get(), self.turnarounds.max());
        (all.mean_slowdown, all.max_slowdown) = (self.slowdowns.get(), self.slowdowns.max());
        (all.mean_bounded_slowdown, all.max_bounded_slowdown) = (self.bounded.get(), self.bounded.max());
        if self.held > 0 {
            all.makespan = Some(self.last.micros() as f64 / 1e6);
            let there = u128::from(self.last.since(self.first).micros()) * u128::from(all.nb_computing_machines);
            let there = there * u128::from(NODE);
            all.utilisation = (there > 0).then(|| self.held as f64 / there as f64);
            all.underutilisation = Some(demand as f64 / self.worked as f64 - 1.0);
        }
        if let Some(results) = &mut self.results {
            results.schedule = pretty_json(all);
            let jobs = std::mem::take(&mut results.jobs);
            results.log = Some(result::ResultLog::of(self.tally, self.queues, &results.ids, jobs, &mut results.swf));
        }
        summary.put_part(all);
    }

    fn goes_on(&mut self) -> bool {
        self.results
            .as_mut()
            .is_some_and(|QueueAccount { log, swf, .. }| log.as_mut().is_some_and(|log| log.write_next(swf)))
    }
}
