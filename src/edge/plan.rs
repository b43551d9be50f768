//! Plans a workflow on the grid of a topology, without running anything.

use std::path::{Path, PathBuf};

use super::input::{load_grid, plainly, read};
use super::sweep::replace;
use super::{Failure, print};
use crate::grid::{Kind, Workflow};
use crate::report::plan::{Known, PlanReport, gantt};
use crate::systems::heft::{
    Awareness, Clock, Improved, Paths, Planning, Policy, Problem, ProblemError, Replaying, Resource, improve,
};
use crate::topology::{self, Override, Topology};
use crate::workload::workflow::{self, CostTable, Written};

/// What to plan, and how to tell it.
pub struct Wish {
    pub topology: String,
    pub overrides: Vec<Override>,
    pub workflow: String,
    /// That of the topology if nobody says otherwise.
    pub policy: Option<Policy>,
    pub json: bool,
    pub svg: Option<PathBuf>,
}

pub fn plan(wish: &Wish) -> Result<(), Failure> {
    let loaded = load_grid(&wish.topology, &wish.overrides)?;
    let mut rules: Planning = loaded.topology.settings().cloned().unwrap_or_default();
    rules.policy = wish.policy.unwrap_or(rules.policy);
    if rules.policy == Policy::BestEffort {
        return Err(Failure::Input("best-effort makes no plans: choose --policy heft or network-heft".to_owned()));
    }

    let bytes = read(&wish.workflow)
        .map_err(|error| Failure::Input(format!("cannot read {}: {}", wish.workflow, plainly(&error))))?;
    let written = workflow::read(&wish.workflow, &bytes).map_err(|error| Failure::Input(error.of(&wish.workflow)))?;
    let report = match &written {
        Written::Workflow(workflow) => of_workflow(workflow, &loaded.topology, &rules, &wish.workflow)?,
        Written::Table(table) => of_table(table, &loaded.topology, &rules, &wish.workflow)?,
    };
    if let Some(path) = &wish.svg {
        replace(path, gantt(&report))?;
    }
    print(&if wish.json { report.json() } else { report.table() })
}

fn of_workflow(workflow: &Workflow, topology: &Topology, rules: &Planning, path: &str) -> Result<PlanReport, Failure> {
    let limit = topology::data_limit(topology).take(&workflow.edges);
    limit.map_err(|error| Failure::Input(format!("{path}: {error}")))?;
    // A plan asks for so many cores of any kind.
    let kind = Kind(0);
    let resources: Vec<Resource> = topology.sites.iter().map(|site| Resource { kind, ..Resource::of(site) }).collect();
    let awareness = if rules.policy == Policy::Heft { Awareness::Capacity } else { Awareness::Network };
    let tasks = workflow.job_tasks(kind);
    let problem = Problem::of(&tasks, &workflow.edges, &resources, topology::paths(topology), awareness);
    let problem = problem.map_err(|error| wrong(&error, workflow.tasks.iter().map(|task| task.name.as_str())))?;
    let replaying = Replaying { clock: Clock::Micros, ..Replaying::default() };
    let improved = improve(&problem, rules.improvement(replaying));
    let tasks = workflow.tasks.iter().map(|task| task.name.as_str()).collect();
    Ok(report(&problem, &improved, topology, rules, &workflow.name, tasks, (1e6, "bytes")))
}

/// Costs are times at the mean capacity between two sites, which becomes the unit of data.
fn of_table(table: &CostTable, topology: &Topology, rules: &Planning, path: &str) -> Result<PlanReport, Failure> {
    let processors = table.run.first().map_or(0, Vec::len);
    if processors != topology.sites.len() {
        return Err(Failure::Input(format!(
            "{path} has times for {processors} processors, and {} has {} sites",
            topology.name,
            topology.sites.len()
        )));
    }
    let problem = Problem::table(table, per_second(topology::paths(topology)));
    let problem = problem.map_err(|error| wrong(&error, table.names.iter().map(String::as_str)))?;
    let improved = improve(&problem, rules.improvement(Replaying::default()));
    let tasks = table.names.iter().map(String::as_str).collect();
    Ok(report(&problem, &improved, topology, rules, path, tasks, (1.0, "s at the mean capacity")))
}

/// The same network in seconds, and in what crosses it in one of them.
fn per_second(mut paths: Paths) -> Paths {
    let sites = paths.sites();
    let pairs = (0..sites * sites).map(|pair| (pair / sites, pair % sites)).filter(|(from, to)| from != to);
    let capacities = pairs.map(|(from, to)| paths.bandwidth(from, to, |link| link.capacity));
    let capacities: Vec<f64> = capacities.filter(|capacity| capacity.is_finite()).collect();
    let mean = capacities.iter().sum::<f64>() / capacities.len().max(1) as f64;
    for link in &mut paths.links {
        link.capacity = if link.capacity.is_finite() { link.capacity / mean } else { link.capacity };
        link.latency /= 1e6;
    }
    paths
}

fn report(
    problem: &Problem,
    improved: &Improved,
    topology: &Topology,
    rules: &Planning,
    workflow: &str,
    tasks: Vec<&str>,
    (unit, data): (f64, &'static str),
) -> PlanReport {
    let known = Known {
        workflow,
        policy: rules.name(),
        tasks,
        sites: topology.sites.iter().map(|site| site.name.as_str()).collect(),
        links: topology::link_names(topology),
        unit,
        data,
    };
    PlanReport::new(problem, improved, known)
}

/// Says which task it is, where it is one.
fn wrong<'n>(error: &ProblemError, mut names: impl Iterator<Item = &'n str>) -> Failure {
    let name = match error {
        ProblemError::TooWide { task, .. } | ProblemError::BadRuntime { task, .. } => names.nth(*task),
        _ => None,
    };
    let name = name.map_or(String::new(), |name| format!(" (`{name}`)"));
    Failure::Input(format!("this cannot be planned: {error}{name}"))
}

/// For the command line.
pub fn policy(text: &str) -> Result<Policy, String> {
    let found = Policy::ALL.iter().find(|(name, ..)| *name == text && *name != "best-effort");
    found.map(|(_, policy, _)| *policy).ok_or_else(|| "expected heft or network-heft".to_owned())
}

/// Whether a path can hold a picture.
pub fn picture(text: &str) -> Result<PathBuf, String> {
    match Path::new(text).extension() {
        Some(extension) if extension == "svg" => Ok(text.into()),
        _ => Err("expected a file that ends in .svg".to_owned()),
    }
}
