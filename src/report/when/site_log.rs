//! Jobs of one site: those of a run, taken from its tally.

use hansa_sim::grid::NodeSet;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::Topology;

use crate::Tally;
use crate::referee::log_numbers::LogNumbers;

/// A job at a site, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenJob {
    /// An index into the users of the log.
    pub user: u32,
    pub cores: u32,
    /// Cores that it is or was on; empty if they are unknown.
    pub nodes: NodeSet,
    pub requested: Span,
    /// Time at which it joined the queue.
    pub came: Time,
    /// None if it has not started.
    pub start: Option<Time>,
    /// Time at which it left its cores, or the queue if it never started. None if it is still there.
    pub end: Option<Time>,
}

/// Jobs of one site in order of arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteLog {
    /// Size of the site; all jobs fit.
    pub cores: u32,
    pub jobs: Vec<SeenJob>,
    pub users: Vec<String>,
    /// Number of jobs that are left out because they are larger than the site.
    pub too_large: u64,
    /// True if jobs stay in the log after their end, so that it has all arrivals.
    pub has_past: bool,
}

impl SeenJob {
    /// Time on its cores. None if it has not ended, or never started.
    pub fn run_time(&self) -> Option<Span> {
        Some(self.end?.since(self.start?))
    }

    /// True if it is known at `now` that it left the queue without having started.
    pub fn was_cancelled_by(&self, now: Time) -> bool {
        self.start.is_none() && self.end.is_some_and(|end| end <= now)
    }
}

impl SiteLog {
    /// Sorts the jobs, and leaves out those that are larger than the site.
    pub fn new(cores: u32, mut jobs: Vec<SeenJob>, users: Vec<String>) -> SiteLog {
        let all = jobs.len();
        jobs.retain(|job| (1..=cores).contains(&job.cores));
        jobs.sort_by_key(|job| job.came);
        SiteLog { cores, too_large: (all - jobs.len()) as u64, jobs, users, has_past: true }
    }

    /// First and last time at which anything happened. None if there are no jobs.
    pub fn covered_time(&self) -> Option<(Time, Time)> {
        let times = |job: &SeenJob| [Some(job.came), job.start, job.end].into_iter().flatten();
        Some((self.jobs.first()?.came, self.jobs.iter().flat_map(times).max()?))
    }
}

impl Tally {
    /// The jobs of a site. Users are those of the logs, if `with_logs` is the topology with its logs read, and those of
    /// the run otherwise.
    pub fn site_log(&self, site: usize, with_logs: Option<&Topology>) -> SiteLog {
        let logs = with_logs.map(LogNumbers::of);
        let mut users = self.names.actors.clone();
        let first_of_log = users.len() as u32;
        let mut jobs = Vec::new();
        for stay in self.site_stays(site as u32) {
            let id = stay.row.job.id;
            let rigid =
                logs.as_ref().and_then(|logs| logs.rigid_job(id)).filter(|rigid| rigid.number == self.number(id));
            let of_log = rigid.and_then(|rigid| rigid.user).map(|user| first_of_log.saturating_add(user));
            let is_over = stay.row.tasks[stay.index].end.is_some() || stay.row.given_up().is_some();
            jobs.push(SeenJob {
                user: of_log.unwrap_or(stay.row.user.0),
                cores: stay.cores,
                nodes: stay.row.tasks[stay.index].cores.clone(),
                requested: stay.row.job.tasks[stay.index].walltime,
                came: stay.came,
                start: stay.start,
                end: is_over.then_some(stay.end),
            });
        }
        // Users of logs are numbers: they get consecutive ones, with a name each.
        let mut numbers: Vec<u32> = jobs.iter().map(|job| job.user).filter(|user| *user >= first_of_log).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for job in jobs.iter_mut().filter(|job| job.user >= first_of_log) {
            let place = numbers.binary_search(&job.user).expect("all are listed");
            job.user = first_of_log + place as u32;
        }
        users.extend(numbers.iter().map(|number| (number - first_of_log).to_string()));
        SiteLog::new(self.sites[site].cores, jobs, users)
    }
}
