//! Figures of a job, computed once on its arrival.

use super::rules::{Market, SuccSum};
use crate::grid::{Graph, Job, forced_ranks, output_delay};
use crate::network::LoneTimes;
use crate::time::Span;

#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The longest path from the start of each task to the end of the job, with only the delays that no placement can
    /// avoid.
    pub ranks: Vec<Span>,
    pub critical_path: Span,
    /// Transfer time of each task's output to another cluster, without links.
    pub delays: Vec<Span>,
    /// Core-ticks from each task to the end of the job; empty if no bid needs them.
    pub successor_work: Vec<f64>,
}

/// A job whose figures are too large for a number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the work behind task {task}, once for every path, is more than a number can hold; \
     succ_sum = \"unique\" counts it once"
)]
pub struct Immeasurable {
    pub task: usize,
}

impl Figures {
    /// Figures of a job; `lone` has the transfer times over links, if there are any.
    pub fn of_job(
        job: &Job,
        graph: &Graph,
        market: &Market,
        lone: Option<&LoneTimes>,
        weigh: bool,
    ) -> Result<Figures, Immeasurable> {
        let delays: Vec<Span> =
            job.tasks.iter().map(|task| output_delay(task.runtime, market.ccr_millionths, market.tick)).collect();
        let ranks = match lone {
            Some(lone) => forced_ranks(job, graph, |from, to| lone.of_edge(job, from, to)),
            None => forced_ranks(job, graph, |from, _| delays[from]),
        };
        let critical_path = ranks.iter().copied().max().expect("a checked job has tasks");
        let successor_work = if weigh { successor_work(job, graph, market)? } else { Vec::new() };
        Ok(Figures { ranks, critical_path, delays, successor_work })
    }
}

/// A duration in ticks; exact for whole ticks.
pub fn span_ticks(span: Span, tick: Span) -> f64 {
    span.micros() as f64 / tick.micros() as f64
}

fn successor_work(job: &Job, graph: &Graph, market: &Market) -> Result<Vec<f64>, Immeasurable> {
    let own: Vec<f64> =
        job.tasks.iter().map(|task| span_ticks(task.runtime, market.tick) * f64::from(task.cores)).collect();
    let sums = match market.succ_sum {
        SuccSum::PerPath => per_path(&own, graph),
        SuccSum::Unique => reachable_sums(&own, graph),
    };
    match sums.iter().rposition(|sum| !sum.is_finite()) {
        Some(task) => Err(Immeasurable { task }),
        None => Ok(sums),
    }
}

fn per_path(own: &[f64], graph: &Graph) -> Vec<f64> {
    let mut sums = own.to_vec();
    for task in (0..sums.len()).rev() {
        sums[task] += graph.successors(task).iter().map(|&next| sums[next as usize]).sum::<f64>();
    }
    sums
}

fn reachable_sums(own: &[f64], graph: &Graph) -> Vec<f64> {
    let mut seen = vec![usize::MAX; own.len()];
    let mut stack = Vec::new();
    let mut sum_from = |start: usize| {
        let mut sum = 0.0;
        seen[start] = start;
        stack.push(start);
        while let Some(task) = stack.pop() {
            sum += own[task];
            for &next in graph.successors(task) {
                if std::mem::replace(&mut seen[next as usize], start) != start {
                    stack.push(next as usize);
                }
            }
        }
        sum
    };
    (0..own.len()).map(&mut sum_from).collect()
}
