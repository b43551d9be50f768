//! Submission of rigid jobs: users, times and requests.

use super::{Deal, Rigids};
use crate::grid::{Job, JobId, Kind, Task};
use crate::time::Span;
use crate::workload::packed::Packed;
use crate::workload::rigid::Rigid;
use crate::workload::{Numbering, WorkloadError};

/// A numbered job with its user and submission.
#[derive(Clone, Debug, PartialEq)]
pub struct Handed {
    /// Index of the job in the workload.
    pub place: u32,
    pub job: Job,
    /// Index of its user's turn in a round of the workload.
    pub user: usize,
    /// Predecessor, and the delay after its end; `None` for a fixed time.
    pub after: Option<(JobId, Span)>,
}

/// Predecessor of each job, by index; always an earlier job.
pub(super) struct Ahead {
    /// Predecessor of each job; empty if no job has one.
    places: Vec<Option<u32>>,
}

impl Ahead {
    const NO_JOB: Ahead = Ahead { places: Vec::new() };

    pub fn of_jobs(jobs: &Packed) -> Ahead {
        if !jobs.heads().any(|job| job.follows) {
            return Ahead::NO_JOB;
        }
        let mut by_number: Vec<(u64, u32)> = jobs.heads().map(|job| job.number).zip(0..).collect();
        by_number.sort_unstable();
        Ahead {
            places: jobs
                .iter()
                .zip(0..)
                .map(|(job, place)| place_of_job(job.preceding?, &by_number).filter(|before| *before < place))
                .collect(),
        }
    }

    pub fn of_job(&self, place: usize) -> Option<usize> {
        self.places.get(place).copied().flatten().map(|before| before as usize)
    }
}

fn place_of_job(number: u64, by_number: &[(u64, u32)]) -> Option<u32> {
    let at = by_number.binary_search_by_key(&number, |one| one.0).ok()?;
    Some(by_number[at].1)
}

pub(super) fn requested_span(job: &Rigid, overestimate_millionths: u64) -> Span {
    job.walltime().unwrap_or_else(|| {
        let runtime = job.runs_for().map_or(0, Span::micros);
        let micros = (u128::from(runtime) * u128::from(overestimate_millionths)).div_ceil(1_000_000);
        Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX).max(1))
    })
}

impl Rigids {
    /// Assigns all jobs in order of submission to the turns of users, numbered from `next` on.
    pub fn hand_out<E: From<WorkloadError>>(
        &self,
        next: &mut Numbering,
        turns: usize,
        mut take: impl FnMut(Handed) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(why) = &self.content.missing {
            return Err(WorkloadError::Missing(why.clone()).into());
        }
        let first = *next;
        let jobs = &self.content.jobs;
        let ahead = if self.follow { Ahead::of_jobs(jobs) } else { Ahead::NO_JOB };
        // The user of a job must be informed of its predecessor's end.
        let mut user_of = vec![0u32; ahead.places.len()];
        for (rigid, place) in jobs.iter().zip(0u32..) {
            next.take_numbers(1).ok_or(WorkloadError::TooMany)?;
            let job = self.job(&rigid, place, first);
            let key = match self.deal {
                Deal::Group => rigid.group.unwrap_or(0),
                Deal::User => rigid.user.unwrap_or(0),
                Deal::RoundRobin => place,
            };
            let before = ahead.of_job(place as usize);
            let user = before.map_or(key as usize % turns.max(1), |before| user_of[before] as usize);
            if let Some(mine) = user_of.get_mut(place as usize) {
                *mine = user as u32;
            }
            let after = before.map(|before| (first.after(before as u32).0, rigid.think.unwrap_or_default()));
            take(Handed { place, job, user, after })?;
        }
        Ok(())
    }

    /// The job at an index, if `first` are the numbers of the first job.
    pub fn job(&self, rigid: &Rigid, place: u32, first: Numbering) -> Job {
        let (Ok(nodes), Ok(runtime)) = (rigid.nodes(), rigid.runs_for()) else { unreachable!("they were checked") };
        let nodes = self.content.shapes.get(place as usize).map_or(nodes, |shape| shape.tasks);
        let walltime = requested_span(rigid, self.overestimate_millionths);
        let task = Task { runtime, cores: nodes, kind: Kind(0), walltime };
        let worth = self.terms.as_ref().map(|terms| terms.of(place as usize, &task).worth);
        let (id, first_task) = first.after(place);
        Job { id, arrive: rigid.submit, first_task, tasks: vec![task], edges: Vec::new(), worth, times: None }
    }
}
