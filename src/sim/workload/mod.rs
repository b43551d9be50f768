//! Sources of jobs, one reader or generator per file.

pub mod batsim;
pub mod cybershake;
pub mod facts;
pub mod layered;
pub(crate) mod lines;
pub mod lublin;
pub mod malleable;
pub mod market;
mod name_numbers;
pub mod needs;
mod overestimate;
pub mod packed;
pub mod parallel;
pub mod raise;
pub mod reservations;
pub mod rigid;
pub mod rigids;
pub mod sacct;
pub mod sbatch;
pub mod slurm_events;
pub mod staging;
pub mod swf;
pub mod table;
pub mod terms;
mod train;
pub mod workflow;

use serde::Serialize;

use self::sbatch::RequestList;
use crate::grid::{DATA_MAX, Job, JobError, JobId, Kind, Needs, Staging, WorkflowError};
use crate::kernel::ActorId;
use crate::settings::{Context, FormExt, SPAN, Unless, Walk, key};
use crate::time::Span;

pub use reservations::ListedRequest;
pub use rigid::{FAULTS_FEW, Fault, Faults, LeftOut, LogNames, Rigid, Trace, Unrunnable, faults_by_kind};
pub use train::Train;

/// Jobs and their users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Workload {
    /// Indices into the topology's users, who submit the jobs in turns.
    pub users: Vec<usize>,
    /// Number of turns of each user in a round; empty if each has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<u32>,
    /// Receiver of the jobs, as an index into the topology's systems.
    pub system: usize,
    pub source: Source,
}

impl Workload {
    /// The users in the order of their turns: the `k mod n`-th of them submits job `k`. The turns of each user are
    /// spread evenly over the round.
    pub fn turns(&self) -> Vec<usize> {
        if self.shares.is_empty() {
            return self.users.clone();
        }
        // The middle of each turn as a fraction of the round, in halves of a share.
        let users = self.users.iter().zip(self.shares.iter().map(|share| u64::from(*share)));
        let turns = users.flat_map(|(user, share)| (0..share).map(move |turn| (2 * turn + 1, share, *user)));
        let mut turns: Vec<(u64, u64, usize)> = turns.collect();
        // A stable sort: of turns with the same middle, that of the user named first comes first.
        turns.sort_by(|one, other| (one.0 * other.1).cmp(&(other.0 * one.1)));
        turns.into_iter().map(|turn| turn.2).collect()
    }
}

/// A source that a topology may name.
pub struct SourceRow {
    pub name: &'static str,
    pub about: &'static str,
    /// Walks a default one, and returns the result.
    pub read: fn(&mut dyn Walk, &Context<'_>) -> Source,
}

/// Declares the sources, each with the rows that read it: its names in topologies.
macro_rules! sources {
    ($($variant:ident($job_source:ty): $($row:path),+;)+) => {
        pub const ALL: &[SourceRow] = &[$($($row),+),+];

        /// Source of a workload's jobs, as a topology describes it.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "source", rename_all = "snake_case")]
        pub enum Source { $($variant($job_source)),+ }

        impl Source {
            pub fn job_source(&self) -> &dyn JobSource {
                match self { $(Source::$variant(job_source) => job_source),+ }
            }

            pub fn job_source_mut(&mut self) -> &mut dyn JobSource {
                match self { $(Source::$variant(job_source) => job_source),+ }
            }
        }
    };
}

sources! {
    Market(market::Generator): market::ROW;
    Table(table::Table): table::ROW, workflow::ROW;
    Reservations(reservations::RequestGenerator): reservations::GENERATED;
    Requests(reservations::RequestList): reservations::WRITTEN;
    Rigid(rigids::Rigids): rigids::SWF, rigids::BATSIM, rigids::SACCT, rigids::SLURM_EVENTS, rigids::LUBLIN;
    Layered(layered::Generator): layered::ROW;
    Parallel(parallel::Generator): parallel::ROW;
    Cybershake(cybershake::Cybershake): cybershake::ROW;
}

/// Longest time by which jobs may be submitted later.
const DELAY_MAX: Span = Span::from_secs(86_400);

/// Walks the time by which all jobs of a workload are submitted later.
fn walk_delay(delay: &mut Span, w: &mut dyn Walk) {
    let about = "a time by which all jobs are submitted later: another moment for schedulers that work in cycles";
    let up_to_a_day = SPAN.with_condition("a time up to 1 d", |delay: &Span| *delay <= DELAY_MAX);
    w.set(key("delay", about).usual("none"), delay, Unless(up_to_a_day, Span::ZERO));
}

/// A source of jobs, as a topology sees it.
pub trait JobSource {
    /// Name in a topology.
    fn source_name(&self) -> &'static str;

    /// Walks all of its settings.
    fn walk_settings(&mut self, w: &mut dyn Walk, context: &Context<'_>);

    /// Number of jobs.
    fn jobs_in_all(&self) -> u64;

    /// Upper bound of the total number of tasks.
    fn tasks_in_all(&self) -> u64;

    /// Its jobs in order of submission, not numbered yet.
    fn create_jobs(&self, platform: &Platform, tick: Span) -> Result<Vec<Job>, WorkloadError>;

    /// Its requests for reservations in order of arrival, each with its job of one task, not numbered yet. The
    /// scheduler decides if they are valid.
    fn create_requests(&self) -> Result<Vec<(Job, ListedRequest)>, WorkloadError> {
        Ok(Vec::new())
    }

    /// Needs per node of each task of the job at this index; `None` for whole nodes.
    fn job_needs(&self, _place: usize) -> Option<Needs> {
        None
    }

    /// Data of the job at this index; `None` if it has none.
    fn job_staging(&self, _place: usize) -> Option<Staging> {
        None
    }

    /// Options of `sbatch` of its jobs, for sites that a real Slurm manages.
    fn request_list(&self) -> RequestList {
        RequestList::None
    }

    /// The jobs in encoded form, for another process that then need not read or draw them again. None if that is not
    /// worth it.
    fn prepared_jobs(&self) -> Option<Vec<u8>> {
        None
    }

    /// Noun for one job, and a phrase about their origin that follows the number of jobs.
    fn describe_jobs(&self) -> (&'static str, String);
}

/// Cores of the grid by kind, for generators that aim at a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Platform {
    /// Number of cores of each kind, indexed by [`Kind`].
    pub cores: Vec<u64>,
    /// The actors of all sites of the topology, by their numbers.
    pub sites: Vec<ActorId>,
}

/// Numbers of the next job and its first task; they are consecutive over all workloads of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbering {
    pub job: u32,
    pub task: u32,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    #[error("job {job}: {error}")]
    Job { job: JobId, error: JobError },
    #[error("no site has cores of kind {}, which the generator's tasks need", .0.0)]
    NoCores(Kind),
    #[error("the load is so low that the jobs would arrive later than time can be counted")]
    TooSparse,
    #[error("the edges of a job together carry more than {DATA_MAX} bytes")]
    TooMuchData,
    #[error("{0}")]
    Workflow(#[from] WorkflowError),
    #[error("there are more tasks than 32 bits can number")]
    TooMany,
    #[error("its jobs are not available: {0}")]
    Missing(String),
}

impl Source {
    /// All jobs of this workload in order of submission, numbered from `next` on and checked.
    pub fn jobs(&self, platform: &Platform, tick: Span, next: &mut Numbering) -> Result<Vec<Job>, WorkloadError> {
        let mut jobs = self.job_source().create_jobs(platform, tick)?;
        for job in &mut jobs {
            (job.id, job.first_task) = next.take_numbers(job.tasks.len()).ok_or(WorkloadError::TooMany)?;
            job.check().map_err(|error| WorkloadError::Job { job: job.id, error })?;
        }
        Ok(jobs)
    }
}

/// Jobs created in advance; workloads that can create jobs on demand leave the others for later.
const AHEAD: usize = 16_384;

impl Source {
    /// The first jobs of this workload in order of submission, numbered from `next` on and each passed to `take`, and
    /// the jobs left for later.
    pub fn ahead<E: From<WorkloadError>>(
        &self,
        platform: &Platform,
        tick: Span,
        next: &mut Numbering,
        mut look: impl FnMut(&Job) -> Result<(), E>,
    ) -> Result<(Vec<Job>, Option<market::Rest>), E> {
        if let Source::Market(generator) = self {
            return generator.draw_ahead(AHEAD, platform, tick, &mut |job| {
                (job.id, job.first_task) = next.take_numbers(job.tasks.len()).ok_or(WorkloadError::TooMany)?;
                job.check().map_err(|error| WorkloadError::Job { job: job.id, error })?;
                look(job)
            });
        }
        let jobs = self.jobs(platform, tick, next)?;
        jobs.iter().try_for_each(look)?;
        Ok((jobs, None))
    }

    /// All reservation requests of this workload in order of arrival, each with its job, numbered from `next` on.
    pub fn requests(&self, next: &mut Numbering) -> Result<Vec<(Job, ListedRequest)>, WorkloadError> {
        let mut requests = self.job_source().create_requests()?;
        for (job, _) in &mut requests {
            (job.id, job.first_task) = next.take_numbers(1).ok_or(WorkloadError::TooMany)?;
        }
        Ok(requests)
    }
}

impl Platform {
    pub fn cores(&self, kind: Kind) -> u64 {
        self.cores.get(usize::from(kind.0)).copied().unwrap_or(0)
    }

    pub fn total(&self) -> u64 {
        self.cores.iter().sum()
    }
}

impl Numbering {
    fn take_numbers(&mut self, tasks: usize) -> Option<(JobId, u32)> {
        let given = (JobId(self.job), self.task);
        self.job = self.job.checked_add(1)?;
        self.task = self.task.checked_add(u32::try_from(tasks).ok()?)?;
        Some(given)
    }

    /// Numbers of the one-task job that is `jobs` one-task jobs later.
    pub fn after(self, jobs: u32) -> (JobId, u32) {
        (JobId(self.job + jobs), self.task + jobs)
    }
}
