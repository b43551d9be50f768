//! Graphs of tables 3 to 8 in a grid of a user, a planner and the paper's three sites, over its links.
//!
//! The grid gets the paper's matrix of costs, and no plan: its planner plans, stretches and improves, and its sites and
//! links take the times that the experiment computes without them.

use std::fmt::Write;

use super::super::*;
use crate::grid::run;
use hansa_sim::protocol::Record;
use hansa_sim::workload::workflow::CostTable;

/// The paper's sites and links: a unit of cost is a megabyte and a second.
fn sites(law: Law, policy: &str) -> String {
    let efficiency = match law {
        Law::Ideal => "none",
        Law::Tcp => "tcp",
    };
    let rules = format!("policy = \"{policy}\"\nestimate = \"capacity\"\nupdate = \"keep\"");
    let mut text = format!("name = \"table-3\"\n[workflow]\n{rules}\n[network]\n");
    for site in 1..=PROCESSORS {
        write!(text, "[[site]]\nname = \"p{site}\"\ncores = 1\n").unwrap();
    }
    for (link, mode, efficiency) in [
        ("into-p2", "shared", efficiency),
        ("out-of-p2", "per-flow", "none"),
        ("p1-p3", "per-flow", "none"),
        ("p3-p1", "per-flow", "none"),
    ] {
        write!(
            text,
            "[[link]]\nname = \"{link}\"\ncapacity = \"1 MB/s\"\nmode = \"{mode}\"\nefficiency = \"{efficiency}\"\n"
        )
        .unwrap();
    }
    for (from, to, link) in [
        ("p1", "p2", "into-p2"),
        ("p3", "p2", "into-p2"),
        ("p2", "p1", "out-of-p2"),
        ("p2", "p3", "out-of-p2"),
        ("p1", "p3", "p1-p3"),
        ("p3", "p1", "p3-p1"),
    ] {
        write!(text, "[[route]]\nfrom = \"{from}\"\nto = \"{to}\"\nlinks = [\"{link}\"]\n").unwrap();
    }
    text
}

/// A table of costs as a job: run times by site, and a megabyte for each unit of an edge's cost.
fn job(table: &CostTable) -> String {
    let task = |times: &Vec<f64>| {
        let times = times.iter().zip(1..).map(|(time, site)| format!("p{site} = \"{time} s\""));
        format!("{{ runtime = {{ {} }}, cores = 1 }}", times.collect::<Vec<_>>().join(", "))
    };
    let tasks: Vec<String> = table.run.iter().map(task).collect();
    let edges: Vec<String> =
        table.edges.iter().map(|(from, to, cost)| format!("[{from}, {to}, \"{cost} MB\"]")).collect();
    format!(
        "[[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\n[[workload.job]]\ntasks = [{}]\nedges = [{}]\n",
        tasks.join(", "),
        edges.join(", ")
    )
}

/// Seconds from the start of the grid to the end of its job.
fn makespan(text: &str) -> f64 {
    let (_, log) = run(text);
    let end = log.iter().find(|entry| matches!(entry.record, Record::Completed { .. })).expect("the job is completed");
    end.stamp.time.micros() as f64 / 1e6
}

#[test]
fn a_grid_plans_and_stretches_as_the_experiment_does() {
    let extent = Extent { graphs: 1, draws: 1 };
    let settings = Settings::default();
    let (least, most) = settings.costs.cost_range();
    let graphs = extent.graphs();
    let shapes = [(10, 0.8, 0.2, 4), (20, 0.2, 0.8, 2), (50, 0.2, 0.8, 4), (50, 0.8, 0.8, 1)];
    for (tasks, fat, density, jump) in shapes {
        let is_it = |shape: &Shape| (shape.tasks, shape.fat, shape.density, shape.jump) == (tasks, fat, density, jump);
        let graph = graphs.iter().find(|graph| is_it(&graph.shape)).expect("it is a shape of the paper");
        let mut stream = SplitMix64::new(graph.seed);
        let table = graph.shape.draw(&mut stream).costs(PROCESSORS, least, most, &mut stream);
        for (found, (_, law)) in extent.run_graph(settings, graph).iter().zip(Law::ALL) {
            for (policy, expected) in [("heft", found.stretched), ("network-heft", found.best)] {
                let took = makespan(&format!("{}{}", sites(law, policy), job(&table)));
                // The experiment's clock is continuous; in a grid, data arrives at whole microseconds, the next ones.
                let apart = took - expected;
                assert!((-1e-6..=1e-6 * f64::from(tasks)).contains(&apart), "{graph:?} {law:?}: {took}, {expected}");
            }
            let is_busy = (tasks, fat) == (50, 0.8);
            assert!(!is_busy || found.stretched > found.original, "data shares links: {found:?}");
        }
    }
}
