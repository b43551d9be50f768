//! Names of jobs and tasks, from a topology or a workflow's file.

use std::collections::BTreeMap;

use hansa_sim::grid::JobId;
use hansa_sim::topology::Topology;
use hansa_sim::workload::Source;

/// The names; only jobs that have some take memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobNames(BTreeMap<JobId, (Option<String>, Vec<String>)>);

impl JobNames {
    pub fn of(topology: &Topology) -> JobNames {
        let mut names = BTreeMap::new();
        let mut next = 0;
        for workload in &topology.workloads {
            if let Source::Table(table) = &workload.source {
                let named =
                    (next..).zip(&table.jobs).filter(|(_, job)| job.name.is_some() || !job.task_names.is_empty());
                names.extend(named.map(|(id, job)| (JobId(id), (job.name.clone(), job.task_names.clone()))));
            }
            next += workload.source.job_source().jobs_in_all() as u32;
        }
        JobNames(names)
    }

    pub fn job(&self, job: JobId) -> Option<&str> {
        self.0.get(&job)?.0.as_deref()
    }

    pub fn task(&self, job: JobId, index: usize) -> Option<&str> {
        self.0.get(&job)?.1.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }
}
