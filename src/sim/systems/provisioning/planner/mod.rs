//! Planned starts of a queue around fixed parts: the base of a site's plan and of its prices.
//!
//! A planner gets a complete question each time, and its memory never affects an answer. Processors are counted, so
//! fixed parts can be anything that the counts allow.

mod counting;
mod policy;
mod slotlist;
#[cfg(test)]
mod tests;

use self::counting::{Counting, plan_conservative, plan_easy, plan_fcfs};
use crate::grid::{Counts, FreeList, Named};
use crate::roles::queue::{self, NodeRequest};
use crate::time::Time;

/// Processors that are in use or promised, independent of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Begin of the part; now, if it is in the past.
    pub from: Time,
    pub until: Time,
    pub procs: u32,
}

/// A question to a planner.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub now: Time,
    /// Processors of the site.
    pub procs: u32,
    /// Fixed parts by `from`, and then by the site's own numbers. None of them is over.
    pub fixed: &'a [Fixed],
    /// A hypothetical fixed part, which counts as the last one booked.
    pub extra: Option<Fixed>,
    /// The queue in order of submission; each job fits the site.
    pub queue: &'a [NodeRequest],
}

pub trait Planner: Send {
    /// The start of each job, in the order of the queue, if no more jobs came and each took the time it asks for;
    /// never, if time ends before it would.
    fn plan_starts(&mut self, question: &Question<'_>, starts: &mut Vec<Time>);

    /// A copy that gives the same answers.
    fn boxed_copy(&self) -> Box<dyn Planner>;

    /// The free slots after the last plan, if the planner keeps a list.
    fn free_slots(&self) -> Option<&FreeList> {
        None
    }
}

/// A faster equivalent of the queue policy of this name: it counts, and has no state.
pub struct PlannerRow {
    pub name: &'static str,
    pub build: fn() -> Box<dyn Planner>,
}

pub const ALL: &[PlannerRow] = &[
    slotlist::ROW,
    PlannerRow { name: "conservative-count", build: || Box::new(Counting(plan_conservative)) },
    PlannerRow { name: "fcfs-count", build: || Box::new(Counting(plan_fcfs)) },
    PlannerRow { name: "easy-count", build: || Box::new(Counting(plan_easy)) },
];

pub const USUAL: &str = slotlist::ROW.name;

/// A planner by its name: one of this module, or any queue policy.
pub fn build_planner(name: &str) -> Option<Box<dyn Planner>> {
    let own = ALL.iter().find(|row| row.name == name).map(|row| (row.build)());
    own.or_else(|| queue::find_policy(name).map(|row| Box::new(policy::ByPolicy(row)) as Box<dyn Planner>))
}

impl Clone for Box<dyn Planner> {
    fn clone(&self) -> Self {
        self.boxed_copy()
    }
}

/// All names that [`build_planner`] knows, the default first.
pub fn planner_names() -> Vec<Named> {
    let mut all: Vec<Named> = queue::ALL.iter().map(|row| Named { name: row.name, about: row.about }).collect();
    all.sort_by_key(|named| named.name != USUAL);
    all
}

impl Question<'_> {
    /// The fixed parts, with the extra part in its place.
    fn all_fixed(&self) -> impl Iterator<Item = Fixed> + '_ {
        let (before, after) = self.fixed.split_at(self.extra_place());
        before.iter().copied().chain(self.extra).chain(after.iter().copied())
    }

    /// Position of the extra part: behind all that begin no later; behind all, if there is none.
    fn extra_place(&self) -> usize {
        self.extra.map_or(self.fixed.len(), |extra| self.fixed.partition_point(|fixed| fixed.from <= extra.from))
    }

    /// Occupied processors over time, without the queue.
    fn counts(&self) -> Counts {
        Counts::from_bookings(self.all_fixed().map(|fixed| (fixed.from, fixed.until, fixed.procs)))
    }
}

/// The free slots around all parts at their times. In order of starts there is always room: each part present began no
/// later.
pub fn free_beside(question: &Question<'_>, starts: &[Time]) -> FreeList {
    let planned = question.queue.iter().zip(starts).filter(|(_, start)| **start < Time::NEVER);
    let planned =
        planned.map(|(request, start)| Fixed { from: *start, until: *start + request.walltime, procs: request.nodes });
    let mut all: Vec<Fixed> = question.all_fixed().chain(planned).collect();
    all.sort_by_key(|fixed| fixed.from);
    let mut list = FreeList::empty_site(question.now, question.procs);
    all.iter().for_each(|fixed| place_fixed(&mut list, fixed));
    list
}

/// Places a part at its time.
fn place_fixed(list: &mut FreeList, fixed: &Fixed) {
    let start = list.place(fixed.procs, fixed.until - fixed.from, fixed.from);
    assert_eq!(start, Some(fixed.from), "what stands fast fits the site");
}
