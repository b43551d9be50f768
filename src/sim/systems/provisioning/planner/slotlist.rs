//! The planner of the thesis: one job after another is placed in a list of free slots (`grid::FreeList`).

use super::{Fixed, Planner, PlannerRow, Question, place_fixed};
use crate::grid::FreeList;
use crate::time::Time;

pub const ROW: PlannerRow = PlannerRow { name: "slotlist", build: || Box::new(SlotListPlanner::default()) };

#[derive(Clone, Default)]
struct SlotListPlanner {
    /// The list after the last plan.
    list: FreeList,
    /// The list with the first fixed parts placed. Consecutive questions for prices share them.
    base: FreeList,
    placed: Vec<Fixed>,
    at: (Time, u32),
}

impl SlotListPlanner {
    /// Places the fixed parts in front of the extra one. A continuation from the last question equals a new beginning.
    fn place_first(&mut self, question: &Question<'_>, count: usize) {
        let SlotListPlanner { base, placed, at, .. } = self;
        let here = (question.now, question.procs);
        if *at != here || question.fixed[..count].get(..placed.len()) != Some(&placed[..]) {
            *at = here;
            placed.clear();
            base.restart(question.now, question.procs);
        }
        for fixed in &question.fixed[placed.len()..count] {
            place_fixed(base, fixed);
            placed.push(*fixed);
        }
    }
}

impl Planner for SlotListPlanner {
    fn boxed_copy(&self) -> Box<dyn Planner> {
        Box::new(self.clone())
    }

    fn plan_starts(&mut self, question: &Question<'_>, starts: &mut Vec<Time>) {
        let count = question.extra_place();
        self.place_first(question, count);
        let SlotListPlanner { list, base, .. } = self;
        list.copy_from(base);
        question.extra.iter().chain(&question.fixed[count..]).for_each(|fixed| place_fixed(list, fixed));
        starts.clear();
        for request in question.queue {
            starts.push(list.place_in_time(request.nodes, request.walltime, question.now));
        }
    }

    fn free_slots(&self) -> Option<&FreeList> {
        Some(&self.list)
    }
}
