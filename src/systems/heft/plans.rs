//! Plans made without a run.

use super::{
    Awareness, Clock, Improved, Paths, Planning, Policy, Problem, ProblemError, Replaying, Resource, Round, improve,
};
use crate::grid::{Kind, Workflow};
use crate::settings::counted;
use crate::systems::plans::{self, Maker, Order, Planned, SiteRow, TaskRow, TransferRow, Unplannable};
use crate::workload::workflow::{CostTable, WorkflowFile};

pub(super) const ALL: &[Maker] = &[maker(Policy::NetworkHeft), maker(Policy::Heft)];

const fn maker(policy: Policy) -> Maker {
    let (mut at, all) = (0, Policy::ALL);
    while all[at].1 as u8 != policy as u8 {
        at += 1;
    }
    Maker { name: all[at].0, about: all[at].2, bargains: false, make }
}

fn make(order: &Order<'_>) -> Result<Planned, Unplannable> {
    let mut rules = order.service.settings::<Planning>().cloned().unwrap_or_default();
    let found = Policy::ALL.iter().find(|(name, ..)| *name == order.policy);
    rules.policy = found.map(|(_, policy, _)| *policy).expect("its row has its name");
    match order.work {
        WorkflowFile::Workflow(workflow) => of_workflow(workflow, &rules, order),
        WorkflowFile::Table(table) => of_table(table, &rules, order),
    }
}

fn of_workflow(workflow: &Workflow, rules: &Planning, order: &Order<'_>) -> Result<Planned, Unplannable> {
    // A plan asks for cores of any kind.
    let kind = Kind(0);
    let sites = order.grid.sites.iter();
    let resources: Vec<Resource> = sites.map(|(_, site)| Resource { kind, ..Resource::of(site) }).collect();
    let awareness = if rules.policy == Policy::Heft { Awareness::Capacity } else { Awareness::Network };
    let tasks = workflow.job_tasks(kind);
    let problem = Problem::of(&tasks, &workflow.edges, &resources, (order.grid.network)().paths, awareness);
    let problem = problem.map_err(|error| wrong(&error, workflow.tasks.iter().map(|task| task.name.as_str())))?;
    let replaying = Replaying { clock: Clock::Micros, ..Replaying::default() };
    let improved = improve(&problem, rules.improvement(replaying));
    let tasks = workflow.tasks.iter().map(|task| task.name.as_str()).collect();
    let known = ProblemNames { workflow: &workflow.name, tasks, unit: 1e6, data: "bytes", ..known(rules, order) };
    Ok(Planned::Schedule(schedule(&problem, &improved, known)))
}

/// Costs are times at the mean capacity between two sites, which becomes the unit of data.
fn of_table(table: &CostTable, rules: &Planning, order: &Order<'_>) -> Result<Planned, Unplannable> {
    let (processors, sites) = (table.run.first().map_or(0, Vec::len), order.grid.sites.len());
    if processors != sites {
        let there = counted(sites as u64, "site");
        return Err(Unplannable(format!("it has times for {processors} processors, but the topology has {there}")));
    }
    let problem = Problem::table(table, per_second((order.grid.network)().paths));
    let problem = problem.map_err(|error| wrong(&error, table.names.iter().map(String::as_str)))?;
    let improved = improve(&problem, rules.improvement(Replaying::default()));
    let known = ProblemNames { tasks: table.names.iter().map(String::as_str).collect(), ..known(rules, order) };
    Ok(Planned::Schedule(schedule(&problem, &improved, known)))
}

/// Like this network, with times in seconds, and volumes as multiples of a second at the mean capacity.
fn per_second(mut paths: Paths) -> Paths {
    let sites = paths.sites();
    let pairs = (0..sites * sites).map(|pair| (pair / sites, pair % sites)).filter(|(from, to)| from != to);
    let capacities = pairs.map(|(from, to)| paths.bandwidth(from, to, |link| link.capacity));
    let capacities: Vec<f64> = capacities.filter(|capacity| capacity.is_finite()).collect();
    // The mean is over the pairs of sites; where there is only one site, nothing is sent.
    let mean = match capacities.len() {
        0 => 1.0,
        pairs => capacities.iter().sum::<f64>() / pairs as f64,
    };
    for link in &mut paths.links {
        link.capacity = if link.capacity.is_finite() { link.capacity / mean } else { link.capacity };
        link.latency /= 1e6;
    }
    paths
}

fn known<'n>(rules: &Planning, order: &'n Order<'_>) -> ProblemNames<'n> {
    ProblemNames {
        workflow: order.name,
        policy: rules.name(),
        tasks: Vec::new(),
        sites: order.grid.sites.iter().map(|(_, site)| site.name.as_str()).collect(),
        links: order.links.clone(),
        unit: 1.0,
        data: "s at the mean capacity",
    }
}

/// Adds the name of the task to an error, if it is about one.
fn wrong<'n>(error: &ProblemError, mut names: impl Iterator<Item = &'n str>) -> Unplannable {
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
pub fn schedule(problem: &Problem, improved: &Improved, known: ProblemNames<'_>) -> plans::Schedule {
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
    let site = |task: u32| improved.schedule.placed[task as usize].site as usize;
    let transfers = problem.edges().zip(&improved.replay.moved).filter_map(|((from, to, volume), moved)| {
        let moved = (*moved)?;
        Some(TransferRow {
            from: from as usize,
            to: to as usize,
            volume,
            links: problem.paths().route(site(from), site(to)).iter().map(|link| link.0).collect(),
            release: seconds(moved.release),
            end: seconds(moved.end),
        })
    });
    let round = |round: &Round| Round { planned: seconds(round.planned), realistic: seconds(round.realistic) };
    let sites = known.sites.iter().zip(problem.cores());
    plans::Schedule {
        workflow: known.workflow.to_owned(),
        policy: known.policy,
        planned: seconds(improved.schedule.makespan),
        realistic: seconds(improved.replay.makespan),
        rounds: improved.rounds.iter().map(round).collect(),
        best: improved.best,
        cycle: improved.cycle,
        sites: sites.map(|(name, &cores)| SiteRow { name: (*name).to_owned(), cores }).collect(),
        tasks: tasks.collect(),
        transfers: transfers.collect(),
        links: known.links,
        data: known.data,
    }
}
