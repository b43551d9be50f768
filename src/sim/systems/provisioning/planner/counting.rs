//! Planners that only count processors, and keep nothing from one question to the next.

use super::{Planner, Question};
use crate::grid::Counts;
use crate::roles::queue::NodeRequest;
use crate::time::{Span, Time};

/// A planner without state: a function of its question.
pub(super) struct Counting(pub fn(&Question<'_>, &mut Vec<Time>));

impl Planner for Counting {
    fn boxed_copy(&self) -> Box<dyn Planner> {
        Box::new(Counting(self.0))
    }

    fn plan_starts(&mut self, question: &Question<'_>, starts: &mut Vec<Time>) {
        starts.clear();
        (self.0)(question, starts);
    }
}

/// Each job of the queue at the earliest time that the counts allow, around all before it.
pub(super) fn plan_conservative(question: &Question<'_>, starts: &mut Vec<Time>) {
    let mut counts = question.counts();
    for request in question.queue {
        let start = request.in_time(counts.earliest(question.now, request.walltime, question.procs - request.nodes));
        counts.insert(start, start + request.walltime, request.nodes);
        starts.push(start);
    }
}

/// First come, first served: no job overtakes another.
pub(super) fn plan_fcfs(question: &Question<'_>, starts: &mut Vec<Time>) {
    let mut counts = question.counts();
    let mut earliest = question.now;
    for request in question.queue {
        earliest = counts.earliest(earliest, request.walltime, question.procs - request.nodes);
        counts.insert(earliest, earliest + request.walltime, request.nodes);
        starts.push(request.in_time(earliest));
    }
}

/// EASY, continued into the future: at each instant heads start while they fit, and then each job that leaves the next
/// head its reservation.
///
/// Most instants have few free processors, and most jobs need more. One count excludes these jobs, before the duration
/// for which processors stay free is computed; where it excludes all, the head's reservation is not computed either.
pub(super) fn plan_easy(question: &Question<'_>, starts: &mut Vec<Time>) {
    let Question { procs, queue, .. } = *question;
    let mut counts = question.counts();
    starts.resize(queue.len(), Time::NEVER);

    let mut waiting: Vec<usize> = (0..queue.len()).collect();
    let mut now = question.now;
    loop {
        let mut free = procs - counts.most(now, now + Span::from_micros(1));
        let heads = waiting.iter().take_while(|place| {
            let starts_now = start_if_room(&mut counts, &mut free, now, &queue[**place], procs);
            if starts_now {
                starts[**place] = queue[**place].in_time(now);
            }
            starts_now
        });
        let started = heads.count();
        waiting.drain(..started);
        let Some((head, behind)) = waiting.split_first() else { return };

        if behind.iter().any(|place| queue[*place].nodes <= free) {
            // The head's reservation stands for this instant only.
            let head = queue[*head];
            let shadow = counts.earliest(now, head.walltime, procs - head.nodes);
            counts.insert(shadow, shadow + head.walltime, head.nodes);
            waiting.retain(|place| {
                let starts_now = start_if_room(&mut counts, &mut free, now, &queue[*place], procs);
                if starts_now {
                    starts[*place] = queue[*place].in_time(now);
                }
                !starts_now
            });
            counts.remove(shadow, shadow + head.walltime, head.nodes);
        }
        now = counts.next_change(now).expect("a waiting job waits for something to end");
        if now == Time::NEVER {
            return;
        }
    }
}

/// True if a job fits with this many processors free now, which it then takes.
fn start_if_room(counts: &mut Counts, free: &mut u32, now: Time, request: &NodeRequest, procs: u32) -> bool {
    let end = now + request.walltime;
    let fits = request.nodes <= *free && counts.most(now, end) + request.nodes <= procs;
    if fits {
        counts.insert(now, end, request.nodes);
        *free -= request.nodes;
    }
    fits
}
