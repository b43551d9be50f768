//! EASY as it would go on: at each instant heads start while they fit, and then whoever leaves the next head its own.

use super::{Entry, Planner, Question};
use crate::roles::queue::{Ask, Counts};
use crate::time::Time;

pub const ENTRY: Entry = Entry {
    name: "easy-count",
    about: "backfilling behind one reservation, counting, planned anew each time",
    build: || Box::new(EasyCount),
};

struct EasyCount;

impl Planner for EasyCount {
    fn copy(&self) -> Box<dyn Planner> {
        Box::new(EasyCount)
    }

    fn plan(&mut self, question: &Question<'_>, starts: &mut Vec<Time>) {
        let Question { procs, queue, .. } = *question;
        let mut counts = question.counts();
        let fits = |counts: &Counts, now, ask: &Ask| counts.most(now, now + ask.walltime) + ask.nodes <= procs;
        let start = |counts: &mut Counts, now, ask: &Ask| counts.insert(now, now + ask.walltime, ask.nodes);
        starts.clear();
        starts.resize(queue.len(), Time::NEVER);

        let mut waiting: Vec<usize> = (0..queue.len()).collect();
        let mut now = question.now;
        loop {
            let heads = waiting.iter().take_while(|place| {
                let ask = &queue[**place];
                let starts_now = fits(&counts, now, ask);
                if starts_now {
                    start(&mut counts, now, ask);
                    starts[**place] = now;
                }
                starts_now
            });
            let started = heads.count();
            waiting.drain(..started);
            let Some(head) = waiting.first().map(|place| queue[*place]) else { return };

            // The head's reservation stands for this instant only.
            let shadow = counts.earliest(now, head.walltime, procs - head.nodes);
            counts.insert(shadow, shadow + head.walltime, head.nodes);
            waiting.retain(|place| {
                let ask = &queue[*place];
                let starts_now = fits(&counts, now, ask);
                if starts_now {
                    start(&mut counts, now, ask);
                    starts[*place] = now;
                }
                !starts_now
            });
            counts.remove(shadow, shadow + head.walltime, head.nodes);
            now = counts.next_change(now).expect("who waits, waits for something to end");
        }
    }
}
