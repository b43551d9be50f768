//! Plans a workflow on the grid of a topology, without running anything.

use std::path::{Path, PathBuf};

use super::disk::{unreadable_input, write_named};
use super::input::{load_grid, read_typed};
use super::{Failure, out};
use hansa_report::plan::{plan_json, plan_picture as drawn, plan_table};
use hansa_sim::grid::Area;
use hansa_sim::near::nearest_name;
use hansa_sim::settings::units;
use hansa_sim::systems::plans::{Maker, PlanRequest};
use hansa_sim::systems::{self, SystemRow};
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{self, Override, PlanningContext, Topology};
use hansa_sim::workload::workflow::{self, WorkflowFile};

/// Settings of a plan, and its output.
pub struct PlanOptions {
    pub topology: String,
    pub overrides: Vec<Override>,
    pub workflow: String,
    /// None selects the policy of the topology.
    pub policy: Option<PlanningPolicy>,
    pub alpha: Option<f64>,
    pub budget: Option<Area>,
    pub deadline: Option<Span>,
    pub at: Option<Span>,
    pub json: bool,
    pub svg: Option<PathBuf>,
}

/// A policy that plans, and its system.
#[derive(Clone, Copy)]
pub struct PlanningPolicy {
    row: &'static SystemRow,
    maker: &'static Maker,
}

/// Default weight of cost: as much as that of time.
const ALPHA: f64 = 0.5;

pub fn make_plan(options: &PlanOptions) -> Result<(), Failure> {
    let loaded = load_grid(&options.topology, &options.overrides)?;
    let topology = &loaded.topology;
    let PlanningPolicy { row, maker } = options.policy.map_or_else(|| default_policy(topology), Ok)?;
    for (flag, is_there) in [
        ("--alpha", options.alpha.is_some()),
        ("--budget", options.budget.is_some()),
        ("--deadline", options.deadline.is_some()),
        ("--at", options.at.is_some()),
    ] {
        if is_there && !maker.bargains {
            let names = policy_names(|maker| maker.bargains);
            return Err(Failure::Input(format!(
                "{} makes a single plan for an empty grid: {flag} is for {names}",
                maker.name
            )));
        }
    }

    let path = &options.workflow;
    let bytes = read_typed(path).map_err(|error| unreadable_input(path.as_ref(), &error))?;
    let work = workflow::read_workflow(path, &bytes).map_err(|error| Failure::Input(error.of(path)))?;
    if let WorkflowFile::Workflow(workflow) = &work {
        let limit = topology::data_limit(topology).take(&workflow.edges);
        limit.map_err(|error| Failure::Input(format!("{path}: {error}")))?;
    }
    let at = Time::ZERO + options.at.unwrap_or_default();
    let look = |context: &PlanningContext<'_>| {
        (maker.make)(&PlanRequest {
            policy: maker.name,
            service: &context.service,
            grid: &context.grid,
            links: context.links.clone(),
            work: &work,
            name: path,
            alpha: options.alpha.unwrap_or(ALPHA),
            budget: options.budget,
            deadline: options.deadline,
            at,
            load: &context.load,
        })
    };
    let with_load = maker.bargains && at > Time::ZERO;
    let made = topology::with_planning_context(topology, row, with_load, look)
        .map_err(|error| Failure::Input(loaded.error_text(&error)))?;
    let made = made.map_err(|error| {
        Failure::Input(format!("{path} cannot be planned by {} on {}: {error}", maker.name, topology.name))
    })?;
    if let Some(path) = &options.svg {
        write_named(path, drawn(&made))?;
    }
    out::always(&if options.json { plan_json(&made) } else { plan_table(&made) })
}

/// The policy of the first system that plans; without one the first policy of all.
fn default_policy(topology: &Topology) -> Result<PlanningPolicy, Failure> {
    let Some(system) = topology.systems.iter().find(|system| !system.system_row().plans.is_empty()) else {
        return Ok(all_policies().next().expect("some policy plans"));
    };
    let row = system.system_row();
    let name = system.default_planner();
    let found = row.plans.iter().find(|maker| maker.name == name).map(|maker| PlanningPolicy { row, maker });
    found.ok_or_else(|| {
        let names: Vec<&str> = row.plans.iter().map(|maker| maker.name).collect();
        Failure::Input(format!("{name} makes no plan: choose --policy {}", names.join(" or ")))
    })
}

fn all_policies() -> impl Iterator<Item = PlanningPolicy> + Clone {
    systems::ALL.iter().flat_map(|row| row.plans.iter().map(move |maker| PlanningPolicy { row, maker }))
}

/// Names of policies, for messages.
fn policy_names(are: fn(&Maker) -> bool) -> String {
    let names: Vec<&str> =
        all_policies().map(|policy| policy.maker).filter(|maker| are(maker)).map(|maker| maker.name).collect();
    names.join(" or ")
}

/// Parses the name of a policy.
pub fn parse_policy(text: &str) -> Result<PlanningPolicy, String> {
    all_policies().find(|policy| policy.maker.name == text).ok_or_else(|| {
        let near = nearest_name(text, all_policies().map(|policy| policy.maker.name));
        let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        format!("expected {}{near}", policy_names(|_| true))
    })
}

/// Policies for the help text, each with a line about it.
pub fn policy_help() -> String {
    let rows = all_policies().map(|PlanningPolicy { maker, .. }| format!("  {:<14}{}", maker.name, maker.about.trim()));
    format!("Policies:\n{}", rows.collect::<Vec<_>>().join("\n"))
}

/// Parses the weight of cost against time.
pub fn parse_alpha(text: &str) -> Result<f64, String> {
    let alpha = text.parse().ok().filter(|alpha| (0.0..=1.0).contains(alpha));
    alpha.ok_or_else(|| "expected a number from 0 (an early end) to 1 (a low cost)".to_owned())
}

/// Parses the most that a plan may cost.
pub fn parse_budget(text: &str) -> Result<Area, String> {
    units::core_time(text).map(Area::from_micros).map_err(|error| format!("expected {error}"))
}

/// Parses the longest time that a plan may take.
pub fn parse_deadline(text: &str) -> Result<Span, String> {
    match parse_moment(text)? {
        Span::ZERO => Err("expected a time above zero".to_owned()),
        span => Ok(span),
    }
}

/// Parses a time, counted from the start.
pub fn parse_moment(text: &str) -> Result<Span, String> {
    units::parse_span(text).map_err(|error| format!("expected {error}"))
}

/// Checks that a path has the extension of a picture.
pub fn parse_picture_path(text: &str) -> Result<PathBuf, String> {
    match Path::new(text).extension() {
        Some(extension) if extension == "svg" => Ok(text.into()),
        _ => Err("expected a file that ends in .svg".to_owned()),
    }
}
