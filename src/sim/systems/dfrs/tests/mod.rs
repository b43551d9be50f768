mod failing;
mod grid;
mod judge;
mod logs;
mod names;
mod parts;
mod properties;
mod site;

use super::{Algorithm, Fractional, Need, Timed};
use crate::time::{Span, Time};

fn algorithm(name: &str) -> Fractional {
    *Algorithm::parse(name).expect("a name of the paper's").fractional().expect("it shares nodes")
}

fn need(tasks: u32, cpu: f64, memory: f64) -> Need {
    Need::new(tasks, cpu, memory).expect("a job can need that")
}

/// `(submission, run time, tasks, cpu, memory)`, in seconds.
fn timed(jobs: &[(u64, u64, u32, f64, f64)]) -> Vec<Timed> {
    let job = |&(submit, runtime, tasks, cpu, memory): &(u64, u64, u32, f64, f64)| Timed {
        submit: Time::ZERO + Span::from_secs(submit),
        runtime: Span::from_secs(runtime),
        need: need(tasks, cpu, memory),
    };
    jobs.iter().map(job).collect()
}
