//! Speed of node sharing in a cluster: `cargo bench -- dfrs`, on a trace of the model, or `cargo bench --
//! dfrs -- LOG.swf NODES [ALGORITHM]` for one run of a log, by default under the recommended algorithm with a period of
//! ten penalties, as its authors advise. In CPU seconds, as wall time depends on other load.
//!
//! The baseline is a packing as one writes it by hand, task by task and node by node, in the same process.

use std::path::Path;

use crate::measure::cpu;
use hansa_papers::dfrs::{BEST, NODES, speed_inputs};
use hansa_run::gzip;
use hansa_sim::grid::{JobId, TaskId};
use hansa_sim::systems::dfrs::{
    Algorithm, Cluster, Events, Fractional, Need, Timed, bounded_stretch, compute_bound, measure_underutilisation,
    run_alone,
};
use hansa_sim::time::Time;
use hansa_sim::workload::{needs, swf};

pub fn main(arguments: &[String]) {
    let mut arguments = arguments.iter().filter(|argument| !argument.starts_with("--")).cloned();
    if let Some(path) = arguments.next() {
        let nodes = arguments.next().and_then(|nodes| nodes.parse().ok()).expect("a log, and how many nodes there are");
        let name = arguments.next().unwrap_or_else(|| format!("{BEST}/period=3000"));
        return log(Path::new(&path), nodes, &name);
    }
    let (trace, crowd) = speed_inputs();
    println!("1,000 jobs on {NODES} nodes");
    println!("{:<48}{:>12}{:>12}{:>12}", "algorithm", "CPU ms", "instants", "us each");
    let mut slowest = (0.0, String::new());
    for algorithm in Algorithm::all_published() {
        let Algorithm::Dfrs(rules) = algorithm else { continue };
        let mut instants = 0;
        let seconds = measured(|| drop(run_alone(rules, NODES, &trace, |_, _, _| instants += 1)));
        if seconds > slowest.0 {
            slowest = (seconds, algorithm.to_string());
        }
        if SHOWN.contains(&algorithm.to_string().as_str()) {
            let each = seconds * 1e6 / f64::from(instants);
            println!("{:<48}{:>12.1}{instants:>12}{each:>12.1}", algorithm.to_string(), seconds * 1e3);
        }
    }
    println!("slowest of all 116: {} in {:.1} ms", slowest.1, slowest.0 * 1e3);
    println!("\nits bound: {:.1} ms", measured(|| _ = compute_bound(NODES, &trace)) * 1e3);

    let come = (0..).zip(&crowd).map(|(job, timed)| (TaskId { job: JobId(job), index: 0 }, timed.need)).collect();
    let all = Events { come, ..Events::default() };
    let call = || drop(Cluster::new(rules("MCB8 *"), NODES).advance(Time::ZERO, &all));
    let calls = 100;
    let ours = measured(|| (0..calls).for_each(|_| call())) / f64::from(calls);
    let needs: Vec<Need> = crowd.iter().map(|timed| timed.need).collect();
    let by_hand = measured(|| _ = mcb8_by_hand(&needs));
    println!("one MCB8 call for {} jobs: {:.3} ms; by hand {:.3} ms", crowd.len(), ours * 1e3, by_hand * 1e3);
}

const SHOWN: [&str; 8] = [
    "Greedy */opt=min",
    "GreedyPM */opt=min",
    BEST,
    "GreedyPM */per/opt=avg/minvt=600",
    "MCB8 */opt=min",
    "MCB8 */per/opt=avg",
    "/stretch-per/opt=max",
    "/stretch-per/opt=avg",
];

fn rules(name: &str) -> Fractional {
    *Algorithm::parse(name).expect("a name of the paper's").fractional().expect("it shares nodes")
}

/// A whole log as one run, by the paper's rules for nodes with two processors.
fn log(path: &Path, nodes: u32, name: &str) {
    let trace = gzip::open_unpacked(path).and_then(swf::read_log).expect("a log that can be read");
    let timed = |job: hansa_sim::workload::Rigid| {
        let shape = needs::dual_core(&job, 2 * 1024 * 1024).ok()?;
        let need = Need::new(shape.tasks, shape.needs.cpu, shape.needs.memory).ok()?;
        Some(Timed { submit: job.submit, runtime: job.runs_for().ok()?, need })
    };
    let jobs: Vec<Timed> = trace.jobs.iter().filter_map(timed).collect();
    let mut instants = 0_u64;
    let mut most = 0;
    let mut live = 0;
    let mut ends = Vec::new();
    let seconds = measured(|| {
        let outcome = run_alone(rules(name), nodes, &jobs, |_, cluster, _| {
            instants += 1;
            live += cluster.live().len() as u64;
            most = most.max(cluster.live().len());
        });
        ends = outcome.ends;
    });
    let ended = || jobs.iter().zip(&ends).filter_map(|(job, end)| Some((*job, (*end)?)));
    let stretch = ended().map(|(job, end)| bounded_stretch(end.since(job.submit), job.runtime)).fold(1.0, f64::max);
    println!(
        "{} jobs on {nodes} nodes under {name}: {seconds:.1} s, {instants} instants of {:.0} us, {} live jobs in the mean, {most} at most, \
         largest stretch {stretch:.0}, underutilisation {:.2}",
        jobs.len(),
        seconds * 1e6 / instants.max(1) as f64,
        live / instants.max(1),
        measure_underutilisation(nodes, ended()).missed_per_work()
    );
}

/// Search for the highest yield, where every packing scans both lists again for each task.
fn mcb8_by_hand(all: &[Need]) -> f64 {
    for kept in (1..=all.len()).rev() {
        let needs = &all[..kept];
        if pack_by_hand(needs, 1.0) {
            return 1.0;
        }
        if pack_by_hand(needs, 0.01) {
            let mut lo = 0.01;
            let mut hi = 1.0;
            while hi - lo > 0.01 {
                let mid = (lo + hi) / 2.0;
                if pack_by_hand(needs, mid) { lo = mid } else { hi = mid }
            }
            return lo;
        }
    }
    0.0
}

fn pack_by_hand(needs: &[Need], share: f64) -> bool {
    let size = |need: &Need| (share * need.cpu).max(need.memory);
    let mut sorted: Vec<(Need, u32)> = needs.iter().map(|need| (*need, need.tasks)).collect();
    sorted.sort_by(|a, b| size(&b.0).total_cmp(&size(&a.0)));
    let (mut cpu_list, mut memory_list): (Vec<_>, Vec<_>) =
        sorted.into_iter().partition(|(need, _)| share * need.cpu > need.memory);
    for _ in 0..NODES {
        let mut cpu = 1.0;
        let mut memory = 1.0;
        loop {
            let lists =
                if memory > cpu + 1e-9 { [&mut memory_list, &mut cpu_list] } else { [&mut cpu_list, &mut memory_list] };
            let fits = |(need, left): &&mut (Need, u32)| {
                *left > 0 && share * need.cpu <= cpu + 1e-9 && need.memory <= memory + 1e-9
            };
            let Some((need, left)) = lists.into_iter().find_map(|list| list.iter_mut().find(fits)) else { break };
            *left -= 1;
            cpu -= share * need.cpu;
            memory -= need.memory;
        }
    }
    cpu_list.iter().chain(&memory_list).all(|(_, left)| *left == 0)
}

fn measured(work: impl FnOnce()) -> f64 {
    let began = cpu();
    work();
    cpu() - began
}
