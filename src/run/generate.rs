//! Random workloads as files.

use std::path::{Path, PathBuf};

use clap::Args;

use super::disk::write_named;
use super::flag_values::parse_count;
use super::sanitize::sanitize_text;
use super::terminal::Activity;
use super::{Failure, out};
use hansa_sim::grid::Kind;
use hansa_sim::settings::{format_counted, units};
use hansa_sim::time::Span;
use hansa_sim::workload::Train;
use hansa_sim::workload::layered::{Costs, Generator, Shape};
use hansa_sim::workload::workflow::write;

/// A layered graph, as the command line describes it.
#[derive(Args)]
pub struct DagArgs {
    /// The number of tasks
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100, value_parser = parse_count::<u32>(1..=100_000))]
    tasks: u32,
    /// A level has about N to the power of this tasks: near 0 the graph is a chain, at 1 it has hardly any levels
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = above_zero)]
    fat: f64,
    /// The share of the tasks of the level before that a task depends on
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = parse_share)]
    density: f64,
    /// Equality of the levels in size; 1: all have the same size
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = parse_share)]
    regularity: f64,
    /// The largest number of levels that an edge may span
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count::<u32>(1..=100_000))]
    jump: u32,
    /// Communication to computation ratio: an edge carries what --bandwidth moves in this share of a time drawn like
    /// run times
    #[arg(long, value_name = "RATIO", default_value = "1", value_parser = parse_ratio)]
    ccr: u64,
    /// The transfer speed for which --ccr holds
    #[arg(long, value_name = "CAPACITY", default_value = "1 Gbps", value_parser = parse_capacity)]
    bandwidth: u64,
    /// The shortest run time of a task
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = parse_positive_time)]
    runtime_min: Span,
    /// The longest run time of a task
    #[arg(long, value_name = "TIME", default_value = "40 s", value_parser = parse_positive_time)]
    runtime_max: Span,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count::<u64>(0..=u64::MAX))]
    seed: u64,
}

/// Draws a workflow and writes it.
pub fn generate_dag(dag: &DagArgs, out: Option<&Path>) -> Result<(), Failure> {
    if dag.runtime_min > dag.runtime_max {
        let message = format!("--runtime-min {} is above --runtime-max {}", dag.runtime_min, dag.runtime_max);
        return Err(Failure::Input(message));
    }
    let &DagArgs { tasks, fat, density, regularity, jump, .. } = dag;
    let shape = Shape { tasks, fat, density, regularity, jump };
    if shape.edges_max() > EDGES_MAX {
        let most = shape.edges_max();
        let message =
            format!("this may have {most:.0} edges, more than {EDGES_MAX:.0}: choose fewer tasks, or a smaller --fat");
        return Err(Failure::Input(message));
    }
    let generator = Generator {
        seed: dag.seed,
        train: Train::ONE,
        shape,
        costs: Costs { runtime: (dag.runtime_min, dag.runtime_max), ccr_millionths: dag.ccr, bandwidth: dag.bandwidth },
        kind: Kind(0),
    };
    let activity = Activity::new(format!("drawing {}", format_counted(dag.tasks.into(), "task")));
    let workflow = generator.workflow(0).map_err(|error| Failure::Input(error.to_string()))?;
    drop(activity);
    match out {
        Some(out) => {
            let text = if is_json(out) { write::write_wfformat(&workflow) } else { write::write_dot(&workflow) };
            write_named(out, text)?;
            let [tasks, edges] = [(workflow.tasks.len(), "task"), (workflow.edges.len(), "edge")];
            let [tasks, edges] = [tasks, edges].map(|(number, what)| format_counted(number as u64, what));
            out::unless_quiet(&format!("{}: {tasks}, {edges}\n", sanitize_text(&out.display().to_string())))
        }
        None => out::always(&write::write_dot(&workflow)),
    }
}

/// Limit of the number of edges: larger files could not be read again.
const EDGES_MAX: f64 = 1e6;

/// Checks that a path has the extension of a workflow file.
pub fn workflow_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if is_json(&path) || path.extension().is_some_and(|extension| extension == "dot") {
        Ok(path)
    } else {
        Err("expected a file that ends in .dot or .json".to_owned())
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

fn above_zero(text: &str) -> Result<f64, String> {
    parse_share(text).ok().filter(|share| *share > 0.0).ok_or_else(|| "expected a number above 0, up to 1".to_owned())
}

fn parse_ratio(text: &str) -> Result<u64, String> {
    let ratio = units::parse_exact(text, units::MILLION).ok().filter(|ratio| *ratio <= 1_000 * units::MILLION);
    ratio.ok_or_else(|| "expected a number from 0 to 1000, of at most six decimals".to_owned())
}

fn parse_positive_time(text: &str) -> Result<Span, String> {
    let span = units::parse_span(text).map_err(|error| format!("expected {error}"))?;
    if span.is_zero() { Err("expected a time above zero".to_owned()) } else { Ok(span) }
}

fn parse_capacity(text: &str) -> Result<u64, String> {
    units::parse_capacity(text).map_err(|error| format!("expected {error}"))
}
