//! The distribution of workloads: jobs become the messages of users.

use std::sync::Arc;

use super::Grid;
use crate::grid::{Edge, Job, JobId, Staging, Task};
use crate::kernel::ActorId;
use crate::protocol::codec::MESSAGE_MAX;
use crate::protocol::{Message, Submit};
use crate::roles::{Followers, JobStore, StreamedJobs};
use crate::time::{Span, Time};
use crate::workload::market::Rest;
use crate::workload::{Numbering, Platform, Workload, WorkloadError};

/// The timed messages of one user, and the jobs it submits after others.
#[derive(Clone, Debug, Default)]
pub struct Submissions {
    pub timed: Vec<(Time, ActorId, Message)>,
    pub streamed: Vec<StreamedJobs>,
    pub followers: Vec<Followers>,
    /// Jobs for which the user negotiates itself.
    pub negotiated: Vec<NegotiatedJob>,
}

/// A job that its user manages itself, by negotiation with sites.
#[derive(Clone, Debug, PartialEq)]
pub struct NegotiatedJob {
    pub job: Arc<Job>,
    /// The only site that it may go to, if its workload names one.
    pub site: Option<ActorId>,
    /// The job before it, and the delay after that job is over.
    pub after: Option<(JobId, Span)>,
}

/// The messages of all users, while workloads are distributed.
pub struct Distribution {
    /// Numbering of jobs across all workloads of a run.
    pub next: Numbering,
    pub data: DataLimit,
    pub submissions: Vec<Submissions>,
    /// The misfits of the workload that is being distributed.
    pub misfits: Misfits,
}

/// Jobs that no site can ever run: they are refused when they are submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Misfits {
    pub jobs: u64,
    pub first: Option<JobId>,
}

impl Misfits {
    pub fn add(&mut self, job: JobId) {
        self.jobs += 1;
        self.first.get_or_insert(job);
    }
}

impl Distribution {
    pub fn to_users(users: usize, data: DataLimit) -> Distribution {
        Distribution {
            next: Numbering::default(),
            data,
            submissions: vec![Submissions::default(); users],
            misfits: Misfits::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DistributeError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error("job {job}: {error}")]
    Job { job: JobId, error: PlacementError },
}

/// Reasons why a job cannot run on this grid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlacementError {
    #[error(
        "task {task} needs {cores} cores of kind {kind} at one site, but the largest such site has {largest}; unplaceable = \"refuse\" refuses such jobs instead"
    )]
    Unplaceable { task: usize, cores: u32, kind: String, largest: u32 },
    #[error("task {task} needs {cores} cores, but no site where it has a run time has that many")]
    UnplaceableByTimes { task: usize, cores: u32 },
    /// The system cannot compute figures for the job, as they are too large.
    #[error("{0}")]
    Immeasurable(String),
    #[error(
        "task {task} takes {cores} cores of {site}, which may be too many to list in one message if they are scattered over the site: expected at most {CORES_SCATTERED}, or all but that many"
    )]
    TooScattered { task: usize, cores: u32, site: String },
    #[error("all data up to here would take more than a thousand years over the slowest link")]
    Endless,
}

/// Largest number of cores whose numbers fit into one message in any layout: a run of neighbours takes at most ten
/// bytes.
const CORES_SCATTERED: u32 = (MESSAGE_MAX as u32 - 256) / 10;

/// Limit on data that keeps the ends of transfers far below the end of time.
#[derive(Clone, Copy, Debug)]
pub struct DataLimit {
    bytes_left: u128,
}

impl DataLimit {
    /// A limit on the sum of all bytes.
    pub fn new(bytes: u128) -> DataLimit {
        DataLimit { bytes_left: bytes }
    }

    pub fn take(&mut self, edges: &[Edge]) -> Result<(), PlacementError> {
        self.take_bytes(edges.iter().map(|edge| u128::from(edge.data)).sum())
    }

    /// Takes the data of a whole job, to its site and back.
    pub fn take_staged(&mut self, staging: &Option<Staging>) -> Result<(), PlacementError> {
        self.take_bytes(staging.map_or(0, |staging| staging.volumes.sum()))
    }

    fn take_bytes(&mut self, bytes: u128) -> Result<(), PlacementError> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(PlacementError::Endless)?;
        Ok(())
    }
}

impl Grid<'_> {
    /// The part of the grid that generators need.
    pub fn platform(&self) -> Platform {
        let mut cores = vec![0; self.kinds.len()];
        for (_, site) in &self.sites {
            cores[usize::from(site.kind.0)] += u64::from(site.cores);
        }
        Platform { cores, sites: self.site_ids.to_vec() }
    }

    /// Checks that the cores of a task fit into one message in any layout; jobs themselves are never too long.
    pub fn check_tellable(&self, job: &Job) -> Result<(), DistributeError> {
        for (task, needs) in job.tasks.iter().enumerate().filter(|(_, needs)| needs.cores > CORES_SCATTERED) {
            // There are no more runs of neighbours than gaps between them.
            if let Some((_, site)) = self.sites.iter().find(|(_, site)| is_scattered(site.cores, needs)) {
                let error = PlacementError::TooScattered { task, cores: needs.cores, site: site.name.clone() };
                return Err(DistributeError::Job { job: job.id, error });
            }
        }
        Ok(())
    }

    /// Checks that each task of a job fits some site.
    pub fn check_placeable(&self, job: &Job) -> Result<(), PlacementError> {
        for (task, needs) in job.tasks.iter().enumerate() {
            let kind = usize::from(needs.kind.0);
            let largest = self.largest.get(kind).copied().unwrap_or_default();
            if needs.cores > largest {
                let kind = self.kinds.get(kind).cloned().unwrap_or_default();
                return Err(PlacementError::Unplaceable { task, cores: needs.cores, kind, largest });
            }
        }
        Ok(())
    }
}

fn is_scattered(cores: u32, needs: &Task) -> bool {
    cores >= needs.cores && cores - needs.cores > CORES_SCATTERED
}

impl Grid<'_> {
    /// Checks that each task with run times by site fits one of these.
    pub fn check_placeable_by_times(&self, job: &Job) -> Result<(), PlacementError> {
        for (task, needs) in job.tasks.iter().enumerate() {
            let Some(row) = job.times_of(task) else { continue };
            let fits_somewhere = self.sites.iter().any(|(id, site)| {
                let may_run = row.iter().any(|time| time.site == *id);
                may_run && site.kind == needs.kind && site.cores >= needs.cores
            });
            if !fits_somewhere {
                return Err(PlacementError::UnplaceableByTimes { task, cores: needs.cores });
            }
        }
        Ok(())
    }
}

impl JobStore for Rest {
    fn job_message(&self, place: u32) -> (Time, Message) {
        let job = Arc::new(self.job(place));
        (job.arrive, Message::Submit(Submit { job }))
    }
}

/// Distributes jobs that are submitted to a system's service, each checked.
pub(super) fn distribute_submissions(
    workload: &Workload,
    grid: &Grid<'_>,
    tick: Span,
    distribution: &mut Distribution,
    check: impl Fn(&Job) -> Result<(), PlacementError>,
) -> Result<(), DistributeError> {
    let Distribution { next, data, submissions, misfits } = distribution;
    let (jobs, rest) = workload.source.ahead(&grid.platform(), tick, next, |job| {
        grid.check_tellable(job)?;
        let checked = check(job).and_then(|()| data.take(&job.edges));
        checked.map_err(|error| DistributeError::Job { job: job.id, error })?;
        if grid.check_placeable(job).is_err() {
            misfits.add(job.id);
        }
        Ok::<_, DistributeError>(())
    })?;
    let turns = workload.turns();
    let users = turns.len();
    if let Some(rest) = rest.map(Arc::new) {
        for (&user, first) in turns.iter().cycle().skip(jobs.len() % users).take(users).zip(rest.places()) {
            let places = (first..rest.places().end).step_by(users).collect();
            submissions[user].streamed.push(StreamedJobs::new(grid.hub(), rest.clone(), places));
        }
    }
    for (job, &user) in jobs.into_iter().zip(turns.iter().cycle()) {
        let arrive = job.arrive;
        let submit = Message::Submit(Submit { job: Arc::new(job) });
        submissions[user].timed.push((arrive, grid.hub(), submit));
    }
    Ok(())
}
