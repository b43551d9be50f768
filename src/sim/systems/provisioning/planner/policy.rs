//! A queue policy as a planner: its answer from now on, at a site in this state.

use super::{Fixed, Planner, Question};
use crate::grid::{NodeSet, QueueOrder, Reserved};
use crate::roles::queue::QueuePolicyRow;
use crate::time::Time;

pub struct ByPolicy(pub &'static QueuePolicyRow);

impl Planner for ByPolicy {
    fn boxed_copy(&self) -> Box<dyn Planner> {
        Box::new(ByPolicy(self.0))
    }

    fn plan_starts(&mut self, question: &Question<'_>, starts: &mut Vec<Time>) {
        let mut policy = (self.0.build)(question.procs, &assign_nodes(question), QueueOrder::Arrival.into());
        question.queue.iter().for_each(|request| policy.submit_job(question.now, *request));
        let mut planned = policy.planned_starts(question.now, None);
        planned.sort_unstable_by_key(|(job, _)| *job);
        starts.clear();
        starts.extend(question.queue.iter().map(|request| {
            let place = planned.binary_search_by_key(&request.job, |(job, _)| *job);
            planned[place.expect("a policy plans for all waiting jobs")].1
        }));
    }
}

/// Assigns nodes to parts that are only counted: in order of starts, the lowest free nodes always suffice.
fn assign_nodes(question: &Question<'_>) -> Vec<Reserved> {
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
