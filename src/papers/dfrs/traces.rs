//! Jobs of the experiment.

use hansa_sim::systems::dfrs::{Need, Timed, offered_load};
use hansa_sim::time::{Span, Time};
use hansa_sim::workload::lublin::{Lublin, Sizes, Stream, Times, Types};
use hansa_sim::workload::needs;
use hansa_sim::workload::{Rigid, Trace};

/// Size of the cluster of generated traces, with quad-core nodes.
pub const NODES: u32 = 128;
pub const JOBS: u32 = 1_000;
/// Size of the cluster of the log, with dual-core nodes of 2 GB.
pub const LOG_NODES: u32 = 120;
const LOG_KILOBYTES: u64 = 2 * 1024 * 1024;

const MICROS_PER_WEEK: u64 = 604_800_000_000;

/// A trace of the model with random memory demands.
pub fn generate_trace(types: Types, seed: u64) -> Vec<Timed> {
    let model = Lublin {
        seed,
        jobs: JOBS,
        nodes: NODES,
        types,
        stream: Stream::Own,
        sizes: Sizes::default(),
        times: Times::default(),
        rate_millionths: 1_000_000,
    };
    let jobs = model.generate();
    let needs = needs::quad_core(seed, jobs.iter().map(|job| node_count(&job)));
    jobs.iter()
        .zip(needs)
        .map(|(job, needs)| Timed {
            submit: job.submit,
            runtime: job.runs_for().expect("the model draws a run time"),
            need: Need::new(node_count(&job), needs.cpu, needs.memory).expect("the model draws shares"),
        })
        .collect()
}

fn node_count(job: &Rigid) -> u32 {
    job.nodes().expect("the model draws a size")
}

/// Jobs with all gaps between them stretched by one factor, so that they offer this load.
pub fn scale_load(jobs: &[Timed], load: f64) -> Vec<Timed> {
    let factor = offered_load(NODES, jobs) / load;
    let first = jobs[0].submit;
    jobs.iter().map(|job| Timed { submit: first + stretched_time(job.submit, factor, first), ..*job }).collect()
}

fn stretched_time(time: Time, factor: f64, first: Time) -> Span {
    Span::from_micros((time.since(first).micros() as f64 * factor).round() as u64)
}

/// A week of a log, as an independent instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Week {
    pub jobs: Vec<Timed>,
    /// Number of jobs that cannot run both by shares and by queues, or whose run time or size the log does not contain.
    pub left_out: usize,
}

/// Weeks by the log's own clock, by the paper's rules for dual-core nodes.
pub fn split_weeks(log: &Trace) -> Vec<Week> {
    let mut weeks: Vec<Week> = Vec::new();
    for job in &log.jobs {
        let week = (job.submit.micros() / MICROS_PER_WEEK) as usize;
        if weeks.len() <= week {
            weeks.resize(week + 1, Week { jobs: Vec::new(), left_out: 0 });
        }
        let timed = || {
            let shape = needs::dual_core(&job, LOG_KILOBYTES).ok()?;
            let need = Need::new(shape.tasks, shape.needs.cpu, shape.needs.memory).ok()?;
            let runs_both_ways = need.tasks <= LOG_NODES && need.check(LOG_NODES).is_ok();
            let submit = Time::from_micros(job.submit.micros() % MICROS_PER_WEEK);
            Some(Timed { submit, runtime: job.runs_for().ok()?, need }).filter(|_| runs_both_ways)
        };
        match timed() {
            Some(timed) => weeks[week].jobs.push(timed),
            None => weeks[week].left_out += 1,
        }
    }
    weeks
}

/// Weeks put together again: the log as one trace.
pub fn join_weeks(weeks: &[Week]) -> Vec<Timed> {
    weeks
        .iter()
        .enumerate()
        .flat_map(|(number, week)| {
            let later = Span::from_micros(number as u64 * MICROS_PER_WEEK);
            week.jobs.iter().map(|job| Timed { submit: job.submit + later, ..*job }).collect::<Vec<_>>()
        })
        .collect()
}

/// Two jobs of one node: the second arrives just after the first, and is this many times as short. It waits for all of
/// the first one under FCFS, and could go first with hardly a loss.
pub fn behind_a_long_one(delta: u32) -> Vec<Timed> {
    let short = Span::from_secs(1_000);
    let need = Need::new(1, 1.0, 0.01).expect("shares");
    let long = Timed { submit: Time::ZERO, runtime: Span::from_micros(u64::from(delta) * short.micros()), need };
    vec![long, Timed { submit: Time::from_micros(1), runtime: short, need }]
}

/// Jobs of one node that all end at once if it is shared equally, so that the last one's stretch is their number:
/// theorem 4 of the paper. Run times are long enough for the threshold of the bounded stretch to be irrelevant.
pub fn worst_case(jobs: u32) -> Vec<Timed> {
    let factor = 5_040_000_000;
    let mut release = 0;
    (1..=jobs)
        .map(|i| {
            release += if i <= 2 { 0 } else { worst_case_runtime(i - 1, factor, jobs) };
            let need = Need::new(1, 1.0, 0.01).expect("shares");
            Timed {
                submit: Time::from_micros(release),
                runtime: Span::from_micros(worst_case_runtime(i, factor, jobs)),
                need,
            }
        })
        .collect()
}

fn worst_case_runtime(i: u32, factor: u64, jobs: u32) -> u64 {
    factor * u64::from(jobs - 1) / u64::from(if i <= 2 { 1 } else { i - 1 })
}
