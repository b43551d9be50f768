//! Any policy for queues as a planner: what it would do from now on, at a site that looks like this.

use super::{Fixed, Planner, Question};
use crate::grid::{NodeSet, Reserved};
use crate::roles::queue::Row;
use crate::time::Time;

pub struct ByPolicy(pub &'static Row);

impl Planner for ByPolicy {
    fn copy(&self) -> Box<dyn Planner> {
        Box::new(ByPolicy(self.0))
    }

    fn plan(&mut self, question: &Question<'_>, starts: &mut Vec<Time>) {
        let mut policy = (self.0.build)(question.procs, &named(question));
        question.queue.iter().for_each(|ask| policy.submit(question.now, *ask));
        // In the order of the queue, in which they have been submitted.
        starts.clear();
        starts.extend(policy.plan(question.now, None).into_iter().map(|(_, start)| start));
    }
}

/// Gives nodes to what is only counted: in order of starts the lowest that are free then are always enough.
fn named(question: &Question<'_>) -> Vec<Reserved> {
    let mut free = NodeSet::all(question.procs);
    let mut held: Vec<Reserved> = Vec::new();
    let mut all = Vec::new();
    for Fixed { from, until, procs } in question.all_fixed() {
        held.retain(|other| {
            let over = other.until <= from;
            if over {
                free.insert(&other.nodes);
            }
            !over
        });
        let nodes = free.take_lowest(procs).expect("what stands fast fits the site");
        let reserved = Reserved { from, until, nodes };
        held.push(reserved.clone());
        all.push(reserved);
    }
    all
}
