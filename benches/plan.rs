//! Duration of planning: `cargo bench -- plan`. In CPU seconds, as wall time depends on other load.

use crate::measure::cpu;
use hansa_sim::kernel::ActorId;
use hansa_sim::network::{Efficiency, Link, LinkId, Mode};
use hansa_sim::random::SplitMix64;
use hansa_sim::systems::heft::{
    Awareness, Clock, Improvement, Paths, Problem, Replaying, Resource, TransferTimes, Work, improve_plan,
    plan_schedule,
};
use hansa_sim::workload::layered::Shape;
use hansa_sim::{grid, time};

pub fn main() {
    println!("{:<66}{:>12}", "what", "CPU s");
    let heft = problem(10_000, 32, 0.6, 7);
    measured("HEFT with insertion, 10,000 tasks on 32 cores", &heft, 0);
    let small = problem(1_000, 32, 0.6, 7);
    measured("network-aware HEFT, 50 rounds, 1,000 tasks on 32 sites", &small, 50);
    let large = problem(10_000, 100, 0.6, 7);
    measured("network-aware HEFT, 50 rounds, 10,000 tasks on 100 sites", &large, 50);
}

/// Plans once, or improves; reports the numbers of edges and rounds.
fn measured(what: &str, problem: &Problem, rounds: u32) {
    let edges = problem.edges().len();
    let costs = TransferTimes::of_problem(problem);
    let before = cpu();
    let made = match rounds {
        0 => {
            std::hint::black_box(plan_schedule(problem, &costs));
            1
        }
        rounds => {
            let replaying = Replaying { clock: Clock::Micros, ..Replaying::default() };
            let how = Improvement {
                stop: hansa_sim::systems::heft::StopReason::Fixed(rounds),
                replaying,
                ..Improvement::default()
            };
            improve_plan(problem, how).rounds.len()
        }
    };
    let taken = cpu() - before;
    println!("{:<66}{taken:>12.3}   {edges} edges, {made} rounds", what);
}

/// A layered graph on sites of one core around a switch: two links to every site, one each way.
fn problem(tasks: u32, sites: usize, fat: f64, seed: u64) -> Problem {
    let mut stream = SplitMix64::new(seed);
    let layered = Shape { tasks, fat, density: 0.02, regularity: 0.5, jump: 2 }.draw(&mut stream);
    let work: Vec<grid::Task> = (0..layered.tasks())
        .map(|_| grid::Task::new(time::Span::from_secs(stream.int(10, 100)), 1, grid::Kind(0)))
        .collect();
    let edges: Vec<grid::Edge> = layered
        .edges
        .iter()
        .map(|&(from, to)| grid::Edge { from, to, data: stream.int(1_000_000, 100_000_000) })
        .collect();
    let resource = |speed_millionths| grid_site(speed_millionths);
    let resources = (1..).map(ActorId).zip((0..sites).map(|_| resource(stream.int(500_000, 2_000_000))));
    let resources: Vec<(ActorId, Resource)> = resources.collect();
    let cable = Link { capacity: 125.0, latency: 100.0, efficiency: Efficiency::Tcp, mode: Mode::Shared };
    let route = |from: usize, to: usize| match from == to {
        true => Vec::new(),
        false => vec![LinkId(2 * from as u32), LinkId(2 * to as u32 + 1)],
    };
    let routes = (0..sites).map(|from| (0..sites).map(|to| route(from, to)).collect()).collect();
    let paths = Paths::new(vec![cable; 2 * sites], routes);
    let work = Work { tasks: &work, edges: &edges, times: None };
    Problem::from_work(work, &resources, paths, Awareness::Network).expect("what is drawn here is sound")
}

fn grid_site(speed_millionths: u64) -> Resource {
    Resource { cores: 1, kind: grid::Kind(0), speed_millionths, latency: time::Span::ZERO }
}
