//! First come, first served: no job overtakes another.

use super::{Planner, PlannerRow, Question};
use crate::time::Time;

pub const ROW: PlannerRow = PlannerRow { name: "fcfs-count", build: || Box::new(FcfsCount) };

struct FcfsCount;

impl Planner for FcfsCount {
    fn boxed_copy(&self) -> Box<dyn Planner> {
        Box::new(FcfsCount)
    }

    fn plan_starts(&mut self, question: &Question<'_>, starts: &mut Vec<Time>) {
        let mut counts = question.counts();
        let mut earliest = question.now;
        starts.clear();
        for ask in question.queue {
            earliest = counts.earliest(earliest, ask.walltime, question.procs - ask.nodes);
            counts.insert(earliest, earliest + ask.walltime, ask.nodes);
            starts.push(ask.in_time(earliest));
        }
    }
}
