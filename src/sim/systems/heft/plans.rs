//! Plans made without a run.

use super::{Clock, Improved, Planning, Policy, Problem, ProblemError, Replaying, Resource, Round, Work, improve_plan};
use crate::grid::{Kind, SiteTime, SiteTimes, Workflow};
use crate::kernel::ActorId;
use crate::systems::plans::{self, Maker, PlanRequest, Planned, SiteRow, TaskRow, TransferRow, Unplannable};
use crate::workload::workflow::{CostTable, WorkflowFile};

/// Kind of all cores: a plan asks for cores of any kind.
const KIND: Kind = Kind(0);

pub(super) const ALL: &[Maker] = &[policy_maker(Policy::NetworkHeft), policy_maker(Policy::Heft)];

const fn policy_maker(policy: Policy) -> Maker {
    let mut at = 0;
    let all = Policy::ALL;
    while all[at].1 as u8 != policy as u8 {
        at += 1;
    }
    Maker { name: all[at].0, about: all[at].2, bargains: false, make }
}

fn make(request: &PlanRequest<'_>) -> Result<Planned, Unplannable> {
    let mut rules = request.service.settings::<Planning>().cloned().unwrap_or_default();
    let found = Policy::ALL.iter().find(|(name, ..)| *name == request.policy);
    rules.policy = found.map(|(_, policy, _)| *policy).expect("its row has its name");
    match request.work {
        WorkflowFile::Workflow(workflow) => of_workflow(workflow, &rules, request),
        WorkflowFile::Table(table) => of_table(table, &rules, request),
    }
}

fn of_workflow(workflow: &Workflow, rules: &Planning, request: &PlanRequest<'_>) -> Result<Planned, Unplannable> {
    let tasks = workflow.job_tasks(KIND);
    let work = Work { tasks: &tasks, edges: &workflow.edges, times: None };
    let names = workflow.tasks.iter().map(|task| task.name.as_str()).collect();
    of_work(work, &workflow.name, names, rules, request)
}

/// A workflow as a run would have it: costs of edges are times at the mean capacity between two sites.
fn of_table(table: &CostTable, rules: &Planning, request: &PlanRequest<'_>) -> Result<Planned, Unplannable> {
    let grid = request.grid;
    let names: Vec<&str> = grid.sites.iter().map(|(_, site)| site.name.as_str()).collect();
    let sites = table.sites(&names).map_err(Unplannable)?;
    let (tasks, rows) = table.tasks(&sites, KIND).map_err(Unplannable)?;
    let edges = table
        .transfers(grid.is_linked.then(|| 1e6 * (grid.network)().paths.mean_capacity().unwrap_or(f64::INFINITY)))
        .map_err(Unplannable)?;
    let times = SiteTimes::new(
        rows.into_iter()
            .map(|row| row.into_iter().map(|(site, runtime)| SiteTime { site: grid.sites[site].0, runtime }).collect())
            .collect(),
    );
    let work = Work { tasks: &tasks, edges: &edges, times: times.as_ref() };
    of_work(work, request.name, table.names.iter().map(String::as_str).collect(), rules, request)
}

fn of_work(
    work: Work<'_>,
    name: &str,
    tasks: Vec<&str>,
    rules: &Planning,
    request: &PlanRequest<'_>,
) -> Result<Planned, Unplannable> {
    let sites = request.grid.sites.iter().map(|(id, site)| (*id, Resource { kind: KIND, ..Resource::from_site(site) }));
    let sites: Vec<(ActorId, Resource)> = sites.collect();
    let problem = Problem::from_work(work, &sites, (request.grid.network)().paths, rules.awareness());
    let problem = problem.map_err(|error| task_error(&error, tasks.iter().copied()))?;
    let replaying = Replaying { clock: Clock::Micros, ..Replaying::default() };
    let improved = improve_plan(&problem, rules.improvement(replaying));
    let known = ProblemNames {
        workflow: name,
        policy: rules.name(),
        tasks,
        sites: request.grid.sites.iter().map(|(_, site)| site.name.as_str()).collect(),
        links: request.links.clone(),
        unit: 1e6,
        data: "bytes",
    };
    Ok(Planned::Schedule(named_schedule(&problem, &improved, known)))
}

/// Adds the name of the task to an error, if it is about one.
fn task_error<'n>(error: &ProblemError, mut names: impl Iterator<Item = &'n str>) -> Unplannable {
    let name = match error {
        ProblemError::TooWide { task, .. } | ProblemError::BadRuntime { task, .. } => names.nth(*task),
        _ => None,
    };
    let name = name.map_or(String::new(), |name| format!(" (`{name}`)"));
    Unplannable(format!("{error}{name}"))
}

/// The names and units of a problem.
pub struct ProblemNames<'n> {
    pub workflow: &'n str,
    pub policy: &'static str,
    pub tasks: Vec<&'n str>,
    pub sites: Vec<&'n str>,
    /// Names of the problem's links, by their numbers.
    pub links: Vec<String>,
    /// Number of the problem's units of time in a second, so that the nearest number to a whole microsecond is printed
    /// as one.
    pub unit: f64,
    /// Unit of the problem's data.
    pub data: &'static str,
}

/// A plan with the names that people know.
pub fn named_schedule(problem: &Problem, improved: &Improved, known: ProblemNames<'_>) -> plans::Schedule {
    let seconds = |time: f64| time / known.unit;
    let mut first = vec![0u32];
    for cores in problem.cores() {
        first.push(first[first.len() - 1] + cores);
    }
    let tasks = improved.schedule.placed.iter().zip(&improved.replay.tasks).zip(&known.tasks);
    let tasks = tasks.map(|((placed, &(start, end)), name)| TaskRow {
        name: (*name).to_owned(),
        site: placed.site as usize,
        cores: placed.cores.iter().map(|core| core - first[placed.site as usize]).collect(),
        planned_start: seconds(placed.start),
        planned_end: seconds(placed.end),
        start: seconds(start),
        end: seconds(end),
    });
    let transfers = problem.edges().zip(&improved.replay.moved).filter_map(|((from, to, volume), moved)| {
        let moved = (*moved)?;
        Some(TransferRow {
            from: from as usize,
            to: to as usize,
            volume,
            links: problem
                .paths()
                .route(placed_site(from, improved), placed_site(to, improved))
                .iter()
                .map(|link| link.0)
                .collect(),
            release: seconds(moved.release),
            end: seconds(moved.end),
        })
    });
    let sites = known.sites.iter().zip(problem.cores());
    plans::Schedule {
        workflow: known.workflow.to_owned(),
        policy: known.policy,
        planned: seconds(improved.schedule.makespan),
        realistic: seconds(improved.replay.makespan),
        rounds: improved
            .rounds
            .iter()
            .map(|round| Round { planned: seconds(round.planned), realistic: seconds(round.realistic) })
            .collect(),
        best: improved.best,
        cycle: improved.cycle,
        sites: sites.map(|(name, &cores)| SiteRow { name: (*name).to_owned(), cores }).collect(),
        tasks: tasks.collect(),
        transfers: transfers.collect(),
        links: known.links,
        data: known.data,
    }
}

fn placed_site(task: u32, improved: &Improved) -> usize {
    improved.schedule.placed[task as usize].site as usize
}
