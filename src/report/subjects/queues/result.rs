//! `result.swf`: what became of the jobs in the Standard Workload Format, which knows whole seconds.

use std::collections::{BTreeMap, BTreeSet};

use super::Queues;
use super::fared::Fared;
use crate::grid::JobId;
use crate::report::Tally;
use crate::report::tally::{JobRow, Standing};
use crate::time::{Span, Time};
use crate::workload::{Rigid, swf};

/// What became of the jobs in the Standard Workload Format, which knows whole seconds.
pub fn swf(tally: &Tally, queues: &Queues, mut jobs: Vec<(JobId, Rigid)>, text: &mut Vec<u8>) {
    let sites = queues.sites(tally);
    let nodes: u64 = sites.iter().map(|site| u64::from(tally.sites[*site].cores)).sum();
    tell_apart(tally, &mut jobs);
    let mut jobs: Vec<Rigid> = jobs.into_iter().map(|(_, job)| job).collect();
    jobs.sort_by_key(|job| job.submit);
    let mut header = swf::header(&tally.topology, jobs.len(), u32::try_from(nodes).unwrap_or(u32::MAX));
    if tally.sites.len() > 1 {
        header.extend(sites.iter().map(|site| format!("Partition: {} {}", site + 1, tally.sites[*site].name)));
    }
    header.push("Note: moments are rounded to whole seconds".to_owned());
    let put = |piece: &[u8]| {
        text.extend_from_slice(piece);
        Ok::<_, std::convert::Infallible>(())
    };
    swf::write(&header, &jobs, put).expect("memory takes all that is written");
}

/// Several workloads may use the same numbers; then the run's own, counted from 1, take their place.
fn tell_apart(tally: &Tally, jobs: &mut [(JobId, Rigid)]) {
    let numbers: BTreeSet<u64> = jobs.iter().map(|(_, job)| job.number).collect();
    if numbers.len() == jobs.len() {
        return;
    }
    let workload = |id: JobId| tally.workload(id);
    let anew = |id: JobId| u64::from(id.0) + 1;
    let names: BTreeMap<_, u64> = jobs.iter().map(|(id, job)| ((workload(*id), job.number), anew(*id))).collect();
    for (id, job) in jobs {
        job.number = anew(*id);
        job.preceding = job.preceding.and_then(|before| names.get(&(workload(*id), before)).copied());
    }
}

/// As its log has it, with what became of it here.
pub fn of(tally: &Tally, queues: &Queues, row: &JobRow) -> Rigid {
    let logged = tally.own_numbers.rigid(row.job.id).cloned();
    let logged = logged.unwrap_or_else(|| Rigid { number: u64::from(row.job.id.0) + 1, ..Rigid::default() });
    let (task, fared) = (row.job.tasks[0], Fared::of(tally, row));
    let site = row.tasks[0].site.filter(|_| tally.sites.len() > 1).map(|site| site + 1);
    // Whose a job of a model is, the run alone knows. Users come after the sites and whoever is at the router.
    let is_logged = tally.own_numbers.is_logged(row.job.id);
    let user = row.user.0.checked_sub(tally.sites.len() as u32 + queues.services - 1).filter(|_| !is_logged);
    let submit = whole(row.job.arrive);
    let moments = fared.map(|fared| {
        let start = row.job.arrive + fared.wait;
        (whole(start), whole(row.job.arrive + fared.turnaround))
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
        partition: if tally.sites.len() > 1 { site } else { logged.partition },
        ..logged
    }
}

/// The nearest whole second.
fn whole(time: Time) -> Time {
    Time::from_micros((time.micros() + 500_000) / 1_000_000 * 1_000_000)
}
