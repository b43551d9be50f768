//! Each job of the queue at the earliest time that the counts allow, around all before it.

use super::{Planner, PlannerRow, Question};
use crate::time::Time;

pub const ROW: PlannerRow = PlannerRow { name: "conservative-count", build: || Box::new(ConservativeCount) };

struct ConservativeCount;

impl Planner for ConservativeCount {
    fn boxed_copy(&self) -> Box<dyn Planner> {
        Box::new(ConservativeCount)
    }

    fn plan_starts(&mut self, question: &Question<'_>, starts: &mut Vec<Time>) {
        let mut counts = question.counts();
        starts.clear();
        for ask in question.queue {
            let start = ask.in_time(counts.earliest(question.now, ask.walltime, question.procs - ask.nodes));
            counts.insert(start, start + ask.walltime, ask.nodes);
            starts.push(start);
        }
    }
}
