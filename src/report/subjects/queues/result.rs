//! `result.swf`: the results of jobs in the Standard Workload Format, which has whole seconds.

use std::collections::BTreeMap;

use super::Queues;
use super::fared::QueuedTimes;
use crate::Tally;
use crate::referee::tally::{JobRow, Standing};
use hansa_sim::grid::JobId;
use hansa_sim::time::{Span, Time};
use hansa_sim::workload::packed::Packed;
use hansa_sim::workload::{Rigid, swf};

/// `result.swf` in progress: its jobs in order of submission.
pub struct ResultLog {
    jobs: Packed,
    /// Indices of the jobs in order of submission; None if it is the order of their numbers.
    order: Option<Vec<u32>>,
    written: usize,
}

/// Number of lines that are made at once.
const LINES: usize = 1_000;

impl ResultLog {
    /// A log of these jobs, in order of their numbers. Writes the header.
    pub fn of(tally: &Tally, queues: &Queues, ids: &[JobId], jobs: Packed, text: &mut Vec<u8>) -> ResultLog {
        let sites = queues.sites(tally);
        let nodes: u64 = sites.iter().map(|site| u64::from(tally.sites[*site].cores)).sum();
        let mut header = swf::log_header(&tally.topology, jobs.len(), u32::try_from(nodes).unwrap_or(u32::MAX));
        if tally.sites.len() > 1 {
            header.extend(sites.iter().map(|site| format!("Partition: {} {}", site + 1, tally.sites[*site].name)));
        }
        header.push("Note: moments are rounded to whole seconds".to_owned());
        swf::write_header(&header, text);
        let jobs = if are_distinct(&jobs) { jobs } else { number_anew_all(tally, ids, &jobs) };
        ResultLog { order: in_order_of_submission(&jobs), jobs, written: 0 }
    }

    /// Writes the next lines; false if there were none.
    pub fn write_next(&mut self, text: &mut Vec<u8>) -> bool {
        let next = self.written..self.jobs.len().min(self.written + LINES);
        self.written = next.end;
        match &self.order {
            None => self.jobs.iter_from(next.start).take(next.len()).for_each(|job| swf::write_job(&job, text)),
            Some(order) => {
                let jobs = order[next.clone()].iter().filter_map(|place| self.jobs.get(*place as usize));
                jobs.for_each(|job| swf::write_job(&job, text));
            }
        }
        !next.is_empty()
    }
}

fn in_order_of_submission(jobs: &Packed) -> Option<Vec<u32>> {
    if jobs.heads().is_sorted_by_key(|job| job.submit) {
        return None;
    }
    let submits: Vec<Time> = jobs.heads().map(|job| job.submit).collect();
    let mut order: Vec<u32> = (0..submits.len() as u32).collect();
    order.sort_unstable_by_key(|place| (submits[*place as usize], *place));
    Some(order)
}

fn are_distinct(jobs: &Packed) -> bool {
    if jobs.heads().map(|job| job.number).is_sorted_by(|one, next| one < next) {
        return true;
    }
    let mut numbers: Vec<u64> = jobs.heads().map(|job| job.number).collect();
    numbers.sort_unstable();
    numbers.is_sorted_by(|one, next| one < next)
}

/// Several workloads may use the same numbers; then they are replaced by the run's own, from 1.
fn number_anew_all(tally: &Tally, ids: &[JobId], jobs: &Packed) -> Packed {
    let numbered = || ids.iter().copied().zip(jobs);
    let names =
        BTreeMap::from_iter(numbered().map(|(id, job)| ((workload_of(id, tally), job.number), number_anew(id))));
    numbered()
        .map(|(id, job)| {
            let preceding = job.preceding.and_then(|before| names.get(&(workload_of(id, tally), before)).copied());
            Rigid { number: number_anew(id), preceding, ..job }
        })
        .collect()
}

fn workload_of(id: JobId, tally: &Tally) -> Option<usize> {
    tally.workload(id)
}

fn number_anew(id: JobId) -> u64 {
    u64::from(id.0) + 1
}

/// The job as in its log, with its results in this run.
pub fn result_job(tally: &Tally, queues: &Queues, row: &JobRow) -> Rigid {
    let logged = tally.log_numbers.rigid_job(row.job.id);
    let logged = logged.unwrap_or_else(|| Rigid { number: u64::from(row.job.id.0) + 1, ..Rigid::default() });
    let task = row.job.tasks[0];
    let fared = QueuedTimes::of(tally, row);
    let site = row.tasks[0].site.filter(|_| tally.sites.len() > 1).map(|site| site + 1);
    // Only the run knows the user of a model's job. Users come after the sites and the actors at the router.
    let is_logged = tally.log_numbers.is_logged(row.job.id);
    let user = row.user.0.checked_sub(tally.sites.len() as u32 + queues.services - 1).filter(|_| !is_logged);
    let submit = nearest_second(row.job.arrive);
    let moments = fared.map(|fared| {
        let start = row.job.arrive + fared.wait;
        (nearest_second(start), nearest_second(row.job.arrive + fared.turnaround))
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
            Standing::Killed | Standing::Preempted => Some(0),
            Standing::Refused | Standing::Removed => Some(5),
            Standing::Unfinished => None,
        },
        user: logged.user.or(user),
        partition: if tally.sites.len() > 1 { site } else { logged.partition },
        ..logged
    }
}

/// The nearest whole second.
fn nearest_second(time: Time) -> Time {
    Time::from_micros((time.micros() + 500_000) / 1_000_000 * 1_000_000)
}
