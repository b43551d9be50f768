//! When each of a queue would start, around what stands fast: what a site's plan and its prices rest on.
//!
//! A planner is asked anew each time, and remembers nothing that matters. Processors are counted, so what stands fast
//! can be anything as long as the counts allow it.

mod conservative_count;
mod easy_count;
mod fcfs_count;
mod policy;
mod slotlist;
#[cfg(test)]
mod tests;

use crate::few;
use crate::grid::{Counts, FreeList, Named};
use crate::roles::queue::{self, Ask};
use crate::time::Time;

/// Processors that are in use or promised, whatever becomes of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Now, if it has begun already.
    pub from: Time,
    pub until: Time,
    pub procs: u32,
}

/// What a planner is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub now: Time,
    /// Processors of the site.
    pub procs: u32,
    /// By `from`, and then by the site's own numbers. None of it is over.
    pub fixed: &'a [Fixed],
    /// What if this stood fast too, and were the last to have been booked?
    pub extra: Option<Fixed>,
    /// In order of submission; each fits the site.
    pub queue: &'a [Ask],
}

pub trait Planner: Send {
    /// When each of the queue would start, in its order, if nothing more came and all took as long as they ask for;
    /// never, if time ends before it would.
    fn plan(&mut self, question: &Question<'_>, starts: &mut Vec<Time>);

    /// Another one that would say the same.
    fn copy(&self) -> Box<dyn Planner>;

    /// The free slots as the last plan has left them, if the planner has a list of its own.
    fn left(&self) -> Option<&FreeList> {
        None
    }
}

/// A quicker way to what the policy for queues of this name would do: it counts, and starts from nothing each time.
pub struct Row {
    pub name: &'static str,
    pub build: fn() -> Box<dyn Planner>,
}

pub const ALL: &[Row] = &[slotlist::ROW, conservative_count::ROW, fcfs_count::ROW, easy_count::ROW];

pub const USUAL: &str = slotlist::ROW.name;

/// A planner by its name: one of ours, or any policy for queues.
pub fn build(name: &str) -> Option<Box<dyn Planner>> {
    let own = ALL.iter().find(|row| row.name == name).map(|row| (row.build)());
    own.or_else(|| queue::find(name).map(|row| Box::new(policy::ByPolicy(row)) as Box<dyn Planner>))
}

impl Clone for Box<dyn Planner> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

/// All names that [`build`] knows, the usual one first.
pub fn names() -> Vec<Named> {
    let mut all: Vec<Named> = queue::ALL.iter().map(|row| Named { name: row.name, about: row.about }).collect();
    few::sort_by_key(&mut all, |named| named.name != USUAL);
    all
}

impl Question<'_> {
    /// What stands fast, the extra in its place.
    fn all_fixed(&self) -> impl Iterator<Item = Fixed> + '_ {
        let (before, after) = self.fixed.split_at(self.extra_place());
        before.iter().copied().chain(self.extra).chain(after.iter().copied())
    }

    /// Behind all that begin no later; behind all, if there is none.
    fn extra_place(&self) -> usize {
        self.extra.map_or(self.fixed.len(), |extra| self.fixed.partition_point(|fixed| fixed.from <= extra.from))
    }

    /// How many are busy when, without the queue.
    fn counts(&self) -> Counts {
        Counts::of(self.all_fixed().map(|fixed| (fixed.from, fixed.until, fixed.procs)))
    }
}

/// Free slots around everything where it is. In order of starts there is always room for it: whatever is there already
/// began no later.
pub fn free_beside(question: &Question<'_>, starts: &[Time]) -> FreeList {
    let planned = question.queue.iter().zip(starts).filter(|(_, start)| **start < Time::NEVER);
    let planned = planned.map(|(ask, start)| Fixed { from: *start, until: *start + ask.walltime, procs: ask.nodes });
    let mut all: Vec<Fixed> = question.all_fixed().chain(planned).collect();
    few::sort_by_key(&mut all, |fixed| fixed.from);
    let mut list = FreeList::empty_site(question.now, question.procs);
    all.iter().for_each(|fixed| put(&mut list, fixed));
    list
}

/// Places what has its time already.
fn put(list: &mut FreeList, fixed: &Fixed) {
    let start = list.place(fixed.procs, fixed.until - fixed.from, fixed.from);
    assert_eq!(start, Some(fixed.from), "what stands fast fits the site");
}
