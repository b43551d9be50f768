//! The thesis's planner: work after work is placed in a list of free slots (`grid::FreeList`).

use super::{Entry, Planner, Question, put};
use crate::grid::FreeList;
use crate::time::Time;

pub const ENTRY: Entry = Entry {
    name: "slotlist",
    about: "conservative backfilling in a list of free slots, of which the first that will do is taken",
    build: || Box::new(SlotList::default()),
};

#[derive(Default)]
struct SlotList {
    /// As it was left by the last plan.
    list: FreeList,
}

impl Planner for SlotList {
    fn copy(&self) -> Box<dyn Planner> {
        Box::new(SlotList::default())
    }

    fn plan(&mut self, question: &Question<'_>, starts: &mut Vec<Time>) {
        self.list = FreeList::empty_site(question.now, question.procs);
        question.all_fixed().for_each(|fixed| put(&mut self.list, &fixed));
        starts.clear();
        for ask in question.queue {
            let start = self.list.place(ask.nodes, ask.walltime, question.now);
            starts.push(start.expect("what fits the site starts some time"));
        }
    }

    fn left(&self) -> Option<&FreeList> {
        Some(&self.list)
    }
}
