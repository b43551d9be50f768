//! A cluster without a grid, from the first submission to the last end: for comparisons of algorithms.

use super::{Changes, Cluster, Events, Fractional};
use crate::grid::sharing::{Moves, Timed};
use crate::grid::{JobId, TaskId};
use crate::time::Time;

/// Results of a run of one cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterRun {
    /// End of each job; None for jobs that can never be mapped.
    pub ends: Vec<Option<Time>>,
    pub refused: usize,
    pub moves: Moves,
}

/// Runs jobs, which must be in order of submission; `watch` sees the changes of each instant.
///
/// Costs: those of [`Cluster::advance`] per instant, and O(running jobs) to find the next instant.
pub fn run_alone(
    rules: Fractional,
    nodes: u32,
    jobs: &[Timed],
    watch: impl FnMut(Time, &Cluster, &Changes),
) -> ClusterRun {
    run_on(Cluster::new(rules, nodes), jobs, watch)
}

/// Like [`run_alone`], on a new cluster.
pub fn run_on(mut cluster: Cluster, jobs: &[Timed], mut watch: impl FnMut(Time, &Cluster, &Changes)) -> ClusterRun {
    let mut outcome = ClusterRun { ends: vec![None; jobs.len()], refused: 0, moves: Moves::default() };
    let mut next = 0;
    let mut now = Time::ZERO;
    let mut events = Events::default();
    loop {
        let ends = cluster.running().map(|live| live.end(jobs[live.job.job.0 as usize].runtime));
        let end = ends.min().unwrap_or(Time::NEVER);
        let submit = jobs.get(next).map_or(Time::NEVER, |job| job.submit);
        let tick = cluster.next_tick(now).unwrap_or(Time::NEVER);
        now = end.min(submit).min(tick);
        if now == Time::NEVER {
            return outcome;
        }

        events.gone.clear();
        events.come.clear();
        for live in cluster.running() {
            let job = live.job.job.0 as usize;
            if live.end(jobs[job].runtime) == now {
                outcome.ends[job] = Some(now);
                events.gone.push(live.job);
            }
        }
        while let Some(job) = jobs.get(next).filter(|job| job.submit == now) {
            match cluster.check(&job.need) {
                Ok(()) => events.come.push((TaskId { job: JobId(next as u32), index: 0 }, job.need)),
                Err(_) => outcome.refused += 1,
            }
            next += 1;
        }
        if events == Events::default() && now != tick {
            continue;
        }
        let changes = cluster.advance(now, &events);
        outcome.moves.count(&changes, |task| jobs[task.job.0 as usize].need);
        watch(now, &cluster, &changes);
    }
}
