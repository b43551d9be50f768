//! What jobs are called in the logs that they are from, where it is not what the run numbers them.

use std::sync::Arc;

use crate::grid::JobId;
use crate::topology::Topology;
use crate::workload::rigids::{Origin, Rigids};
use crate::workload::{Rigid, Source};

/// The jobs of all workloads, where some system's are one task each: only these have their own numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnNumbers {
    /// Workloads of rigid jobs, by their first job.
    numbered: Vec<Numbered>,
    /// Which workloads are logs, that know their users.
    logged: Vec<bool>,
    /// The first job of each workload.
    first: Vec<u32>,
}

/// The first job of a workload of rigid jobs, these, and the names of what they do.
type Numbered = (u32, Arc<Vec<Rigid>>, Arc<Vec<String>>);

impl OwnNumbers {
    pub fn of(topology: &Topology) -> OwnNumbers {
        let mut own = OwnNumbers::default();
        if !topology.systems.iter().any(|system| system.row().is_rigid) {
            return own;
        }
        let mut next = 0;
        for workload in &topology.workloads {
            own.first.push(next);
            own.logged.push(matches!(
                &workload.source,
                Source::Rigid(Rigids { origin: Origin::Swf(_) | Origin::Batsim(_), .. })
            ));
            if let Source::Rigid(rigids) = &workload.source {
                own.numbered.push((next, rigids.content.jobs.clone(), rigids.content.profiles.clone()));
            }
            next += workload.source.supply().jobs_in_all() as u32;
        }
        own
    }

    /// The job as its log has it.
    pub fn rigid(&self, job: JobId) -> Option<&Rigid> {
        self.log_of(job).map(|(rigid, _)| rigid)
    }

    /// The name of what it does, where its log has such.
    pub fn profile(&self, job: JobId) -> Option<&str> {
        let (rigid, profiles) = self.log_of(job)?;
        profiles.get(rigid.profile? as usize).map(String::as_str)
    }

    fn log_of(&self, job: JobId) -> Option<(&Rigid, &[String])> {
        let at = self.numbered.partition_point(|(first, ..)| *first <= job.0).checked_sub(1)?;
        let (first, jobs, profiles) = &self.numbered[at];
        Some((jobs.get((job.0 - first) as usize)?, profiles.as_slice()))
    }

    /// What its log, or else the run, numbers it.
    pub fn number(&self, job: JobId) -> u64 {
        self.rigid(job).map_or(job.0.into(), |rigid| rigid.number)
    }

    pub fn is_logged(&self, job: JobId) -> bool {
        let workload = self.first.partition_point(|first| *first <= job.0).checked_sub(1);
        workload.and_then(|workload| self.logged.get(workload)).copied().unwrap_or(false)
    }

    /// Which workload it is from, where there are several.
    pub fn workload(&self, job: JobId) -> Option<usize> {
        (self.first.len() > 1).then(|| self.first.partition_point(|first| *first <= job.0))
    }
}
