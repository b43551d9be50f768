//! A desk and the jobs of its site without an environment, for experiments and speed figures.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use super::application::{Application, BestEffort, least_loaded};
use super::desk::{Desk, DeskAction};
use crate::grid::{Denial, JobId, TaskId};
use crate::roles::queue::{NodeRequest, Rigid};
use crate::time::{Span, Time};

/// A site in progress. It can be copied at any moment, to see how it would continue.
#[derive(Clone)]
pub struct SiteTrial {
    pub desk: Desk,
    /// Jobs of its own users, in order of submission; those that do not fit are left out.
    background: Arc<[Rigid]>,
    next: usize,
    now: Time,
    ends: BinaryHeap<Reverse<(Time, TaskId)>>,
    /// Run times of queued jobs, which the desk does not know.
    runtimes: BTreeMap<TaskId, Span>,
    guests: u32,
    /// Events of guests since they were last read.
    pub news: Vec<TrialEvent>,
    /// Starts of background jobs so far.
    pub starts: Vec<(u32, Time)>,
    actions: Vec<DeskAction>,
}

/// An event of a guest, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialEvent {
    Started(u32, Time),
    Ended(u32, Time),
}

/// First job number of guests.
const GUESTS: u32 = 1 << 31;

impl SiteTrial {
    pub fn new(desk: Desk, background: Arc<[Rigid]>) -> SiteTrial {
        SiteTrial {
            desk,
            background,
            next: 0,
            now: Time::ZERO,
            ends: BinaryHeap::new(),
            runtimes: BTreeMap::new(),
            guests: 0,
            news: Vec::new(),
            starts: Vec::new(),
            actions: Vec::new(),
        }
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// Time of the next event of the site.
    pub fn due(&self) -> Option<Time> {
        let submit = self.background.get(self.next).map(|job| job.submit);
        let end = self.ends.peek().map(|Reverse((end, _))| *end);
        submit.into_iter().chain(end).chain(self.desk.wake()).min()
    }

    /// Runs the site up to a time.
    pub fn advance(&mut self, to: Time) {
        while let Some(due) = self.due().filter(|due| *due <= to) {
            self.step(due);
        }
        self.now = to;
    }

    /// Submits a job of a guest now; [`Self::end_instant`] lets it start.
    pub fn submit(&mut self, procs: u32, walltime: Span, runtime: Span) -> Result<u32, Denial> {
        let guest = self.guests;
        let job = guest_task(guest);
        self.desk.submit(self.now, NodeRequest { job, nodes: procs, walltime })?;
        self.guests += 1;
        self.runtimes.insert(job, runtime.min(walltime));
        Ok(guest)
    }

    /// Withdraws a waiting job of a guest; true if it waited.
    pub fn withdraw(&mut self, guest: u32) -> bool {
        let waited = self.desk.withdraw(self.now, guest_task(guest));
        if waited {
            self.runtimes.remove(&guest_task(guest));
        }
        waited
    }

    /// Lets the site react to the guests' actions of this instant.
    pub fn end_instant(&mut self) {
        self.run_desk();
    }

    fn step(&mut self, now: Time) {
        self.now = now;
        while let Some(Reverse((_, job))) = self.ends.peek().filter(|Reverse((end, _))| *end <= now).copied() {
            self.ends.pop();
            self.desk.end_job(now, job);
            if let Some(guest) = guest_of(job) {
                self.news.push(TrialEvent::Ended(guest, now));
            }
        }
        while let Some(rigid) = self.background.get(self.next).filter(|rigid| rigid.submit <= now) {
            let job = TaskId { job: JobId(self.next as u32), index: 0 };
            self.next += 1;
            if self.desk.submit(now, NodeRequest { job, nodes: rigid.nodes, walltime: rigid.walltime }).is_ok() {
                self.runtimes.insert(job, rigid.runtime.min(rigid.walltime));
            }
        }
        self.run_desk();
    }

    fn run_desk(&mut self) {
        let mut actions = std::mem::take(&mut self.actions);
        self.desk.run_pass(self.now, &mut actions);
        for action in actions.drain(..) {
            let DeskAction::Start(job) = action else { continue };
            let runtime = self.runtimes.remove(&job).expect("a job that starts has been submitted");
            self.ends.push(Reverse((self.now + runtime, job)));
            match guest_of(job) {
                Some(guest) => self.news.push(TrialEvent::Started(guest, self.now)),
                None => self.starts.push((job.job.0, self.now)),
            }
        }
        self.actions = actions;
    }
}

fn guest_task(guest: u32) -> TaskId {
    TaskId { job: JobId(GUESTS + guest), index: 0 }
}

fn guest_of(job: TaskId) -> Option<u32> {
    job.job.0.checked_sub(GUESTS)
}

/// Runs a workflow just in time through the queues of some sites, from now on, and returns its duration; `None`, if
/// some task fits none of them. The sites are at the same instant.
pub fn best_effort(sites: &mut [SiteTrial], application: &Application) -> Option<Span> {
    let began = sites[0].now();
    let mut now = began;
    let mut way = BestEffort::new(application);
    let mut guests: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    // Tasks whose data is under way.
    let mut moving: BTreeMap<(Time, u32), (usize, usize)> = BTreeMap::new();
    let mut ready = way.first();
    loop {
        for task in ready.drain(..) {
            let procs = application.procs(task);
            let load = sites.iter().map(|site| {
                let (waiting, running) = site.desk.jobs();
                (site.desk.terms().procs, waiting + running)
            });
            let site = least_loaded(procs, load)?;
            let submission = way.send(now, task, site);
            if submission.at <= now {
                submit_task(&mut sites[site], site, task, application, &mut guests);
            } else {
                moving.insert((submission.at, application.place(task)), (task, site));
            }
        }
        while let Some((_, (task, site))) =
            moving.first_key_value().map(|(key, to)| (*key, *to)).filter(|(key, _)| key.0 <= now)
        {
            moving.pop_first();
            submit_task(&mut sites[site], site, task, application, &mut guests);
        }
        sites.iter_mut().for_each(SiteTrial::end_instant);

        let arrival = moving.keys().next().map(|(at, _)| *at);
        now = sites.iter().filter_map(SiteTrial::due).chain(arrival).min().expect("a workflow under way goes on");
        let mut ended = Vec::new();
        for (place, site) in sites.iter_mut().enumerate() {
            site.advance(now);
            for news in site.news.drain(..) {
                if let TrialEvent::Ended(guest, _) = news {
                    ended.extend(guests.remove(&(place, guest)));
                }
            }
        }
        ready = way.record_ends(now, &ended);
        if way.is_over() {
            return Some(now - began);
        }
    }
}

fn submit_task(
    trial: &mut SiteTrial,
    site: usize,
    task: usize,
    application: &Application,
    guests: &mut BTreeMap<(usize, u32), usize>,
) {
    let runtime = application.runtime(task, site);
    let guest = trial.submit(application.procs(task), runtime, runtime).expect("the site is large enough");
    guests.insert((site, guest), task);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::second;
    use crate::systems::provisioning::desk::{DeskTerms, PlanningMode};
    use crate::systems::provisioning::{forecast::History, planner};

    fn rigid(submit: u64, nodes: u32, walltime: u64, runtime: u64) -> Rigid {
        Rigid { submit: second(submit), nodes, walltime: Span::from_secs(walltime), runtime: Span::from_secs(runtime) }
    }

    #[test]
    fn a_site_runs_its_jobs_and_those_of_guests() {
        let terms = DeskTerms::new(4, PlanningMode::Rebuild);
        let desk = Desk::new(terms, planner::build_planner("conservative-count").unwrap(), Box::new(History::new()));
        let background = [rigid(0, 3, 20, 10), rigid(1, 2, 5, 5), rigid(2, 9, 5, 5), rigid(3, 4, 5, 9)];
        let mut trial = SiteTrial::new(desk, Arc::new(background));
        trial.advance(second(2));
        let guest = trial.submit(1, Span::from_secs(30), Span::from_secs(4)).unwrap();
        trial.end_instant();
        let mut other = trial.clone();
        trial.advance(second(100));
        assert_eq!(trial.news, [TrialEvent::Started(guest, second(2)), TrialEvent::Ended(guest, second(6))]);
        // The first ends early, and the last is killed.
        assert_eq!(trial.starts, [(0, second(0)), (1, second(10)), (3, second(15))]);
        assert_eq!((trial.due(), trial.desk.jobs()), (None, (0, 0)));

        assert!(!other.withdraw(guest), "it runs");
        let late = other.submit(4, Span::from_secs(5), Span::from_secs(5)).unwrap();
        assert!(other.withdraw(late));
        other.advance(second(100));
        assert_eq!(other.starts, trial.starts);
    }
}
