//! Graphs of tables 3 to 8 in a grid of a user, a planner and the paper's three sites, over its links.
//!
//! A topology has no run times per site, so it cannot plan with the paper's matrix of costs. Here each task is of the
//! kind of the site that the experiment's plan chose, with its run time there; an edge without data from each task to
//! the next one of its site keeps the order of the plan. All else, transfers that share links above all, is left to the
//! actors.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::super::*;
use crate::experiment::tests::grid::run;
use crate::protocol::Record;
use crate::systems::heft::{Improved, StopReason};
use crate::workload::workflow::CostTable;

/// The paper's sites and links: a unit of cost is a megabyte and a second.
fn sites(law: Law) -> String {
    let efficiency = match law {
        Law::Ideal => "none",
        Law::Tcp => "tcp",
    };
    let mut text = "name = \"table-3\"\n[workflow]\npolicy = \"heft\"\n[network]\n".to_owned();
    for site in 1..=PROCESSORS {
        write!(text, "[[site]]\nname = \"p{site}\"\ncores = 1\nkind = \"of-{site}\"\n").unwrap();
    }
    for (link, mode, efficiency) in [
        ("into-p2", "shared", efficiency),
        ("out-of-p2", "shared", efficiency),
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

/// The plan as a job, its tasks in the order of their planned starts.
fn job(table: &CostTable, plan: &Improved) -> String {
    let placed = &plan.schedule.placed;
    let mut order: Vec<usize> = (0..placed.len()).collect();
    order.sort_by(|one, other| placed[*one].start.total_cmp(&placed[*other].start));
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, task)| place[*task] = at);
    let task = |task: &usize| {
        let site = placed[*task].site;
        format!("{{ runtime = \"{} s\", cores = 1, kind = \"of-{}\" }}", table.run[*task][site as usize], site + 1)
    };
    let tasks: Vec<String> = order.iter().map(task).collect();
    let edges = table.edges.iter().map(|(from, to, cost)| (place[*from as usize], place[*to as usize], *cost));
    let mut edges: Vec<(usize, usize, f64)> = edges.collect();
    let known: BTreeSet<(usize, usize)> = edges.iter().map(|(from, to, _)| (*from, *to)).collect();
    for sequence in &plan.schedule.sequences {
        let pairs = sequence.windows(2).map(|pair| (place[pair[0] as usize], place[pair[1] as usize]));
        edges.extend(pairs.filter(|pair| !known.contains(pair)).map(|(from, to)| (from, to, 0.0)));
    }
    let edges: Vec<String> = edges.iter().map(|(from, to, cost)| format!("[{from}, {to}, \"{cost} MB\"]")).collect();
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
fn a_grid_stretches_plans_as_the_experiment_does() {
    let extent = Extent { graphs: 1, draws: 1 };
    let graphs = extent.graphs();
    let shapes = [(10, 0.8, 0.2, 4), (20, 0.2, 0.8, 2), (50, 0.2, 0.8, 4), (50, 0.8, 0.8, 1)];
    for (tasks, fat, density, jump) in shapes {
        let is_it = |shape: &Shape| (shape.tasks, shape.fat, shape.density, shape.jump) == (tasks, fat, density, jump);
        let graph = graphs.iter().find(|graph| is_it(&graph.shape)).expect("it is a shape of the paper");
        let mut stream = SplitMix64::new(graph.seed);
        let table = graph.shape.draw(&mut stream).costs(PROCESSORS, COSTS.0, COSTS.1, &mut stream);
        for (found, (_, law)) in extent.runs(graph).iter().zip(Law::ALL) {
            let problem = Problem::table(&table, paths(law, Wiring::FullDuplex)).unwrap();
            let first = Improvement { stop: StopReason::Fixed(0), ..Improvement::default() };
            for (how, expected) in [(first, found.stretched), (Improvement::default(), found.best)] {
                let plan = improve(&problem, how);
                let took = makespan(&format!("{}{}", sites(law), job(&table, &plan)));
                // The experiment's clock is continuous; in a grid, data arrives at whole microseconds, the next ones.
                let apart = took - expected;
                assert!((-1e-6..=1e-6 * f64::from(tasks)).contains(&apart), "{graph:?} {law:?}: {took}, {expected}");
            }
            let is_busy = (tasks, fat) == (50, 0.8);
            assert!(!is_busy || found.stretched > found.original, "data shares links: {found:?}");
        }
    }
}
