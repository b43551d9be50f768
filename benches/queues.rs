//! Speed of queues, policy by policy, beside EASY by counts as one writes it by hand: `cargo bench -- queues`, on
//! jobs of a model, or `cargo bench -- queues LOG.swf NODES`, on those of a log. In CPU seconds, as wall time
//! depends on other load.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;
use std::path::Path;

use crate::measure::cpu;
use hansa_run::gzip;
use hansa_sim::grid::{JobId, NodeSet, QueueOrder, Reserved, TaskId};
use hansa_sim::random::SplitMix64;
use hansa_sim::roles::queue::{self, NodeRequest, Rigid, Step, play_jobs};
use hansa_sim::time::{Span, Time};
use hansa_sim::workload::lublin::{Lublin, Sizes, Stream, Times, Types};
use hansa_sim::workload::rigids::{Content, Window};
use hansa_sim::workload::{Trace, swf};

pub fn main(arguments: &[String]) {
    let mut arguments = arguments.iter().filter(|argument| !argument.starts_with("--")).cloned();
    let (jobs, nodes) = match arguments.next() {
        None => (model(50_000), 128),
        Some(path) => {
            let nodes =
                arguments.next().and_then(|nodes| nodes.parse().ok()).expect("a log, and how many nodes there are");
            (log(Path::new(&path)), nodes)
        }
    };
    println!("{:<24}{:>10}{:>10}{:>14}{:>16}{:>12}", "policy", "jobs", "CPU s", "jobs/CPU s", "mean wait s", "by hand");
    let (hand, waits) = measured(|| easy_by_hand(&jobs, nodes));
    show("easy-count by hand", jobs.len(), hand, &waits, hand);
    for entry in queue::ALL {
        let (taken, ran) =
            measured(|| play_jobs(&mut *(entry.build)(nodes, &[], QueueOrder::Arrival.into()), nodes, &jobs));
        let waits: Vec<u64> = ran
            .iter()
            .zip(&jobs)
            .filter_map(|(ran, job)| Some(ran.as_ref()?.start.since(job.submit).micros()))
            .collect();
        show(entry.name, jobs.len(), taken, &waits, hand);
    }
    price_all(&jobs, nodes);
    long_queues();
}

/// Cost of a growing queue: many jobs at once, each of which takes a random part of its requested time.
fn long_queues() {
    const LENGTHS: [usize; 3] = [500, 1000, 2000];
    println!("\n{:<24}{:>10}{:>10}{:>10}", "CPU s, all at once", LENGTHS[0], LENGTHS[1], LENGTHS[2]);
    let mut stream = SplitMix64::new(1);
    let mut job = || {
        let walltime = stream.int(600, 60_000);
        let runtime = Span::from_secs(stream.int(60, walltime));
        let walltime = Span::from_secs(walltime);
        Rigid { submit: Time::ZERO, nodes: 1 << stream.int(0, 6), walltime, runtime }
    };
    let jobs: Vec<Rigid> = (0..LENGTHS[2]).map(|_| job()).collect();
    for entry in queue::ALL {
        let taken = LENGTHS.map(|length| {
            measured(|| play_jobs(&mut *(entry.build)(128, &[], QueueOrder::Arrival.into()), 128, &jobs[..length])).0
        });
        println!("{:<24}{:>10.3}{:>10.3}{:>10.3}", entry.name, taken[0], taken[1], taken[2]);
    }
}

/// Cost of a booking to waiting jobs, at every candidate time: 50 jobs wait, and for each time at which a job starts or
/// ends the policy plans with 16 nodes booked from then on for an hour.
fn price_all(jobs: &[Rigid], nodes: u32) {
    println!("\n{:<24}{:>10}{:>12}{:>14}", "50 wait", "times", "CPU ms", "us a time");
    for entry in queue::ALL {
        let mut policy = (entry.build)(nodes, &[], QueueOrder::Arrival.into());
        let now = Time::ZERO;
        let mut waiting = 0;
        let mut steps = Vec::new();
        let mut times = vec![now];
        let walltime = |job: usize| jobs[job].walltime;
        for (number, job) in jobs.iter().enumerate().filter(|(_, job)| job.nodes <= nodes) {
            let id = TaskId { job: JobId(number as u32), index: 0 };
            policy.submit_job(now, NodeRequest { job: id, nodes: job.nodes, walltime: job.walltime });
            waiting += 1;
            policy.run_pass(now, &mut steps);
            for step in steps.drain(..) {
                if let Step::Start { job, .. } = step {
                    waiting -= 1;
                    times.push(now + walltime(job.job.0 as usize));
                }
            }
            if waiting == 50 {
                break;
            }
        }
        let before = policy.planned_starts(now, None);
        times.extend(before.iter().flat_map(|(job, start)| [*start, *start + walltime(job.job.0 as usize)]));
        times.sort_unstable();
        times.dedup();
        let (taken, delays) = measured(|| {
            let quote = |from: &Time| {
                let hour = |first| Reserved {
                    from: *from,
                    until: *from + Span::from_minutes(60),
                    nodes: NodeSet::from_run(first, first + 15),
                };
                let booking = (0..nodes / 16).map(|block| hour(block * 16)).find(|it| policy.has_room(now, it))?;
                let after = policy.planned_starts(now, Some(&booking));
                Some(before.iter().zip(&after).map(|(was, is)| is.1.since(was.1).micros()).sum::<u64>())
            };
            times.iter().filter_map(quote).collect::<Vec<u64>>()
        });
        let each = taken * 1e6 / delays.len().max(1) as f64;
        println!("{:<24}{:>10}{:>12.3}{:>14.1}", entry.name, delays.len(), taken * 1e3, each);
    }
}

fn show(name: &str, jobs: usize, seconds: f64, waits: &[u64], by_hand: f64) {
    let mean = waits.iter().map(|wait| *wait as f64 / 1e6).sum::<f64>() / waits.len().max(1) as f64;
    let rate = jobs as f64 / seconds;
    println!("{name:<24}{jobs:>10}{seconds:>10.3}{rate:>14.0}{mean:>16.1}{:>12.2}", seconds / by_hand);
}

/// Jobs that request twice their run time, so that unplanned gaps arise.
fn model(jobs: u32) -> Vec<Rigid> {
    let lublin = Lublin {
        seed: 1,
        jobs,
        nodes: 128,
        types: Types::One,
        stream: Stream::Own,
        sizes: Sizes::default(),
        times: Times::default(),
        rate_millionths: 1_000_000,
    };
    rigid(Trace { jobs: lublin.generate(), ..Trace::default() }, 2)
}

fn log(path: &Path) -> Vec<Rigid> {
    let mut bytes = Vec::new();
    let begun = cpu();
    gzip::open_unpacked(path).and_then(|mut input| input.read_to_end(&mut bytes)).expect("the log can be read");
    let trace = swf::read_log(&bytes[..]).expect("memory can be read");
    println!("{} jobs read in {:.3} CPU s", trace.jobs.len(), cpu() - begun);
    rigid(trace, 1)
}

fn rigid(trace: Trace, overestimate: u64) -> Vec<Rigid> {
    let content = Content::of_trace(trace, Window::default());
    let job = |job: hansa_sim::workload::Rigid| {
        let runtime = job.runs_for().expect("jobs that cannot be run are left out");
        let nodes = job.nodes().expect("jobs that cannot be run are left out");
        let asked = Span::from_micros(runtime.micros() * overestimate);
        Rigid { submit: job.submit, nodes, walltime: job.walltime().unwrap_or(asked), runtime }
    };
    content.jobs.iter().map(job).collect()
}

fn measured<T>(mut what: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::INFINITY;
    let mut made = None;
    for _ in 0..3 {
        let before = cpu();
        made = Some(what());
        best = best.min(cpu() - before);
        if best > 2.0 {
            break;
        }
    }
    (best, made.expect("it was made at least once"))
}

/// Wait of each job. No actors, no nodes by number, no log: one loop.
fn easy_by_hand(jobs: &[Rigid], nodes: u32) -> Vec<u64> {
    let mut waits = Vec::with_capacity(jobs.len());
    let mut free = nodes;
    let mut queue: Vec<u32> = Vec::new();
    let mut ends: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    // (has to end, nodes, job), ascending.
    let mut limits: Vec<(u64, u32, u32)> = Vec::new();
    let mut next = 0;
    loop {
        let coming = jobs.get(next).map_or(u64::MAX, |job| job.submit.micros());
        let ending = ends.peek().map_or(u64::MAX, |Reverse((end, _))| *end);
        let now = coming.min(ending);
        if now == u64::MAX {
            return waits;
        }
        while let Some(&Reverse((end, job))) = ends.peek()
            && end == now
        {
            ends.pop();
            let place = limits.iter().position(|limit| limit.2 == job).expect("it runs");
            free += limits.remove(place).1;
        }
        while let Some(job) = jobs.get(next)
            && job.submit.micros() == now
        {
            if job.nodes <= nodes {
                queue.push(next as u32);
            }
            next += 1;
        }
        let mut start = |number: u32, free: &mut u32, limits: &mut Vec<(u64, u32, u32)>| {
            let job = &jobs[number as usize];
            *free -= job.nodes;
            ends.push(Reverse((now + job.runtime.min(job.walltime).micros(), number)));
            let limit = (now + job.walltime.micros(), job.nodes, number);
            limits.insert(limits.partition_point(|other| *other < limit), limit);
            waits.push(now - job.submit.micros());
        };
        let heads = queue
            .iter()
            .take_while(|number| {
                let fits = jobs[**number as usize].nodes <= free;
                if fits {
                    start(**number, &mut free, &mut limits);
                }
                fits
            })
            .count();
        queue.drain(..heads);
        if queue.len() < 2 || free == 0 {
            continue;
        }
        let head = jobs[queue[0] as usize].nodes;
        let mut there = free;
        let mut shadow = now;
        for limit in &limits {
            if there >= head && limit.0 > shadow {
                break;
            }
            (there, shadow) = (there + limit.1, limit.0);
        }
        let mut spare = there - head;
        let mut place = 0;
        queue.retain(|number| {
            place += 1;
            let job = &jobs[*number as usize];
            let lasts = now + job.walltime.micros() > shadow;
            if place == 1 || job.nodes > free || (lasts && job.nodes > spare) {
                return true;
            }
            if lasts {
                spare -= job.nodes;
            }
            start(*number, &mut free, &mut limits);
            false
        });
    }
}
