//! Facts about jobs that decide about their rank: user, account, quality of service, partition.
//!
//! They come from the options of `sbatch` of a job, or else from the fields of its log. A run does not send them: a
//! site that ranks its jobs by them, and reports about groups of jobs, look them up by the number of the job.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::packed::Packed;
use super::rigid::LogNames;
use super::sbatch::{RequestList, SbatchOptions};
use super::{Source, Workload};
use crate::grid::JobId;

/// Facts about a job. Those of logs without names are numbers as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobFacts {
    pub user: Option<String>,
    pub account: Option<String>,
    pub qos: Option<String>,
    pub partition: Option<String>,
    /// Amount by which the user lowers the priority.
    pub nice: i64,
    /// Least number of nodes, if the job states one.
    pub nodes: Option<u32>,
}

/// Facts about the jobs of a run, by number.
#[derive(Clone, Debug, Default)]
pub struct JobFactsIndex {
    /// Number of the first job of each workload.
    lists: Vec<(u32, FactList)>,
}

#[derive(Clone, Debug)]
enum FactList {
    Log { jobs: Arc<Packed>, requests: Arc<Vec<String>>, names: Arc<LogNames> },
    Listed(Arc<BTreeMap<u32, String>>),
    None,
}

/// Value of `--nice` without a number.
const USUAL_NICE: i64 = 100;

impl JobFacts {
    /// Facts that options of `sbatch` state.
    pub fn of_options(options: &SbatchOptions) -> JobFacts {
        let [user, account, qos, partition] =
            ["--uid", "--account", "--qos", "--partition"].map(|name| options.get(name).map(str::to_owned));
        let has_nice = options.iter().any(|option| option.long_name() == "--nice");
        let nice = options.get("--nice").and_then(|nice| nice.parse().ok());
        JobFacts {
            user,
            account,
            qos,
            partition: partition.and_then(|all| all.split(',').next().map(str::to_owned)),
            nice: nice.unwrap_or(if has_nice { USUAL_NICE } else { 0 }),
            nodes: options.count("--nodes").ok().flatten(),
        }
    }

    /// Like these facts, with those of `others` where nothing is known.
    fn or(self, others: JobFacts) -> JobFacts {
        JobFacts {
            user: self.user.or(others.user),
            account: self.account.or(others.account),
            qos: self.qos.or(others.qos),
            partition: self.partition.or(others.partition),
            ..self
        }
    }
}

impl JobFactsIndex {
    pub fn of_workloads(workloads: &[Workload]) -> JobFactsIndex {
        let mut next = 0;
        let mut lists = Vec::new();
        for workload in workloads {
            lists.push((next, FactList::of_source(&workload.source)));
            next += workload.source.job_source().jobs_in_all() as u32;
        }
        JobFactsIndex { lists }
    }

    /// Facts about the jobs of one workload, numbered from 0.
    pub fn of_source(source: &Source) -> JobFactsIndex {
        JobFactsIndex { lists: vec![(0, FactList::of_source(source))] }
    }

    /// Costs O(log workloads), and reading the options of the job.
    pub fn get(&self, job: JobId) -> JobFacts {
        let at = self.lists.partition_point(|(first, _)| *first <= job.0).checked_sub(1);
        at.map(|at| &self.lists[at]).map_or(JobFacts::default(), |(first, list)| list.get(job.0 - first))
    }

    /// The different pairs of user and account of all jobs. O(jobs log jobs), with one reading of each text of options.
    pub fn owners(&self) -> BTreeSet<(Option<String>, Option<String>)> {
        let mut owners = BTreeSet::new();
        for (_, list) in &self.lists {
            match list {
                FactList::None => {}
                FactList::Listed(options) => {
                    let facts = options.keys().map(|place| list.get(*place));
                    owners.extend(facts.map(|facts| (facts.user, facts.account)));
                }
                FactList::Log { jobs, .. } => {
                    let mut seen = BTreeSet::new();
                    for (job, place) in jobs.iter().zip(0..) {
                        if seen.insert((job.user, job.group, job.request)) {
                            let facts = list.get(place);
                            owners.insert((facts.user, facts.account));
                        }
                    }
                }
            }
        }
        owners
    }
}

impl FactList {
    fn of_source(source: &Source) -> FactList {
        if let Source::Rigid(rigids) = source {
            let content = &rigids.content;
            return FactList::Log {
                jobs: content.jobs.clone(),
                requests: content.requests.clone(),
                names: content.names.clone(),
            };
        }
        match source.job_source().request_list() {
            RequestList::Listed(options) => FactList::Listed(options),
            RequestList::None | RequestList::Log { .. } => FactList::None,
        }
    }

    fn get(&self, place: u32) -> JobFacts {
        match self {
            FactList::None => JobFacts::default(),
            FactList::Listed(options) => options.get(&place).map(|text| read_options(text)).unwrap_or_default(),
            FactList::Log { jobs, requests, names } => {
                let Some(job) = jobs.get(place as usize) else { return JobFacts::default() };
                let text = job.request.and_then(|number| requests.get(number as usize));
                let stated = text.map(|text| read_options(text)).unwrap_or_default();
                let logged = JobFacts {
                    user: job.user.map(|number| name_of(number, &names.users)),
                    account: job.group.map(|number| name_of(number, &names.groups)),
                    qos: job.queue.map(|number| name_of(number, &names.queues)),
                    partition: job.partition.map(|number| name_of(number, &names.partitions)),
                    ..JobFacts::default()
                };
                stated.or(logged)
            }
        }
    }
}

fn read_options(text: &str) -> JobFacts {
    JobFacts::of_options(&SbatchOptions::parse(text).unwrap_or_default())
}

fn name_of(number: u32, names: &BTreeMap<u32, String>) -> String {
    names.get(&number).cloned().unwrap_or_else(|| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Kind, Task};
    use crate::time::{Span, Time};
    use crate::workload::rigid::Rigid;
    use crate::workload::rigids::{Rigids, Window};
    use crate::workload::table::{ListedJob, Table};
    use crate::workload::{Trace, needs};

    fn table(options: &[&str]) -> Source {
        let task = Task::new(Span::from_secs(1), 1, Kind(0));
        let job = |options: &&str| {
            let sbatch = (*options).to_owned();
            ListedJob { sbatch, ..ListedJob::with_tasks(Time::ZERO, vec![task], Vec::new()) }
        };
        Source::Table(Table::of_jobs(options.iter().map(job).collect()))
    }

    fn log() -> Source {
        let job = |user: u32, group: u32, request: Option<u32>| Rigid {
            user: Some(user),
            group: Some(group),
            request,
            queue: Some(1),
            runtime: Some(Span::from_secs(1)),
            requested: Some(1),
            ..Rigid::default()
        };
        let mut names = LogNames::default();
        names.users.insert(1, "ann".to_owned());
        names.queues.insert(1, "high".to_owned());
        let requests = vec!["-A lab -N 2".to_owned()];
        let jobs = [job(1, 7, None), job(2, 7, Some(0)), job(1, 7, None)].into_iter().zip(1..);
        let jobs = jobs.map(|(job, number)| Rigid { number, ..job }).collect();
        let trace = Trace { jobs, requests, names, ..Trace::default() };
        Source::Rigid(Rigids::of_log(trace, Window::default(), needs::Rule::default(), Rigids::NODE_KILOBYTES))
    }

    #[test]
    fn facts_are_those_of_options_or_else_of_the_log() {
        let workload = |source| Workload { users: vec![0], shares: Vec::new(), system: 0, source };
        let written = table(&["--uid=bob -A chem -q low -p main,debug --nice", "", "--nice=-7 -N 2-4"]);
        let index = JobFactsIndex::of_workloads(&[workload(written), workload(log())]);
        let shown = |job: u32| {
            let JobFacts { user, account, qos, partition, nice, nodes } = index.get(JobId(job));
            let texts = [user, account, qos, partition].map(Option::unwrap_or_default);
            format!("{} {nice} {nodes:?}", texts.join("/"))
        };
        assert_eq!(shown(0), "bob/chem/low/main 100 None");
        assert_eq!(shown(1), "/// 0 None");
        assert_eq!(shown(2), "/// -7 Some(2)");
        assert_eq!(shown(3), "ann/7/high/ 0 None");
        assert_eq!(shown(4), "2/lab/high/ 0 Some(2)");
        assert_eq!(shown(6), "/// 0 None");
        let owners: Vec<String> = index
            .owners()
            .into_iter()
            .map(|(user, account)| format!("{}/{}", user.unwrap_or_default(), account.unwrap_or_default()))
            .collect();
        assert_eq!(owners, ["/", "2/lab", "ann/7", "bob/chem"]);
    }
}
