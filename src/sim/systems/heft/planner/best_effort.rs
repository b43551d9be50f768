//! Execution without plans: a task that can run goes to the site where it would end first.

use std::collections::btree_map::Entry;

use super::super::workflows::WorkflowPhase;
use super::super::{Resource, Work};
use super::{Out, Planner};
use crate::grid::{Job, Kind, Task};
use crate::kernel::ActorId;
use crate::time::Time;

/// The time at which a task became ready, its workflow, and its index.
pub(super) type ReadyTask = (Time, u32, u32);

/// The cores that a task needs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReadyNeed {
    kind: Kind,
    cores: u32,
    /// The sites for which it has a run time, ascending; None if it may run at all sites.
    sites: Option<Vec<ActorId>>,
}

impl ReadyNeed {
    fn of_task(job: &Job, task: u32) -> ReadyNeed {
        let Task { kind, cores, .. } = job.tasks[task as usize];
        let sites = job.times_of(task as usize).map(|row| row.iter().map(|time| time.site).collect());
        ReadyNeed { kind, cores, sites }
    }

    fn fits(&self, (id, site): &(ActorId, Resource), free: u32) -> bool {
        site.kind == self.kind
            && free >= self.cores
            && self.sites.as_ref().is_none_or(|sites| sites.binary_search(id).is_ok())
    }
}

impl Planner {
    /// Releases the successors of a task that have no other open predecessor.
    pub(super) fn release_successors(&mut self, number: u32, task: u32, now: Time) {
        for edge in self.jobs[number].edges_out_of(task) {
            let live = &mut self.jobs[number];
            let to = live.job.edges[edge].to;
            let next = &mut live.tasks[to as usize];
            next.missing -= 1;
            if next.missing == 0 {
                self.queue_up(number, to, now);
            }
        }
    }

    /// Queues a task that has all of its inputs and waits for cores.
    pub(super) fn queue_up(&mut self, job: u32, task: u32, now: Time) {
        let need = ReadyNeed::of_task(&self.jobs[job].job, task);
        self.ready.entry(need).or_default().insert((now, job, task));
    }

    /// Assigns tasks to sites with free cores, the longest ready first; a task without room lets others go ahead. O(N
    /// S log S) for each start, and once more, with `N` different needs of ready tasks and `S` sites.
    pub(super) fn dispatch(&mut self, now: Time, out: &mut Out) {
        while let Some((since, job, task)) = self.next_ready() {
            let need = ReadyNeed::of_task(&self.jobs[job].job, task);
            let Entry::Occupied(mut alike) = self.ready.entry(need) else { unreachable!("it is ready") };
            alike.get_mut().remove(&(since, job, task));
            if alike.get().is_empty() {
                alike.remove();
            }
            let site = self.choose(job, task).expect("there is room for it");
            self.fetch(job, task, site as u32, now, out);
        }
    }

    /// The first task that has room.
    fn next_ready(&self) -> Option<ReadyTask> {
        let able = self.ready.iter().filter(|(need, _)| self.has_room_for(need));
        able.filter_map(|(_, ready)| ready.first().copied()).min()
    }

    fn has_room_for(&self, need: &ReadyNeed) -> bool {
        self.sites.iter().zip(&self.free).any(|(site, free)| need.fits(site, *free))
    }

    /// The site where a task would end first if its data came alone; of equal ones the first.
    fn choose(&self, job: u32, task: u32) -> Option<usize> {
        let live = &self.jobs[job];
        let work = Work::of_job(&live.job);
        let needs = &live.job.tasks[task as usize];
        let mut best: Option<(f64, usize)> = None;
        for (site, resource) in self.sites.iter().enumerate() {
            let Some(time) = work.time(task as usize, resource).filter(|_| self.free[site] >= needs.cores) else {
                continue;
            };
            let fetched = live.inputs(task).map(|(_, from, data)| match from as usize == site {
                true => 0.0,
                false => {
                    let from = from as usize;
                    let paths = self.carrier.paths();
                    paths.latency(from, site) + data as f64 / paths.bandwidth(from, site, |link| link.effective(1))
                }
            });
            let end = fetched.fold(0.0, f64::max) + time.micros() as f64;
            if best.is_none_or(|(least, _)| end < least) {
                best = Some((end, site));
            }
        }
        best.map(|(_, site)| site)
    }

    fn fetch(&mut self, job: u32, task: u32, site: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[job];
        self.free[site as usize] -= live.job.tasks[task as usize].cores;
        let remote: Vec<(u32, u32)> =
            live.inputs(task).filter(|input| input.1 != site).map(|(edge, from, _)| (edge, from)).collect();
        let state = &mut live.tasks[task as usize];
        (state.phase, state.placed.site, state.missing) = (WorkflowPhase::Fetching, site, remote.len() as u32);
        if remote.is_empty() {
            return self.run(job, task, now, out);
        }
        for (edge, from) in remote {
            self.send(job, edge, from, site, now, out);
        }
    }
}
