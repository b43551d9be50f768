//! The free time of a site as a list of rectangles, and the rule by which work is placed in it.
//!
//! G. Singh, "An end-to-end framework for provisioning based resource and application management in grids", 2008,
//! chapter 4. A rectangle without end is an *edge*; where one ends, some work begins. Work may take several rectangles at
//! once, as long as each lasts for all of it. That only counts processors, and yet it is not the same as counting: what was
//! placed on one rectangle is not moved to another one to let later work in, so that may start later than counts allow.
//!
//! Where the published rule is silent or needs help, ours: rectangles that start together are looked at with the
//! earliest end first, and those that are alike are one.

use std::mem;

use serde::Serialize;

use super::Part;
use crate::time::{Span, Time};

/// Processors that nothing has been placed on from a start to an end, which may be never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FreeSlot {
    pub start: Time,
    pub end: Time,
    pub procs: u32,
    /// Which slot it was cut from; those of different slots stay apart.
    pub root: u32,
}

impl FreeSlot {
    fn key(&self) -> (Time, Time, u32, u32) {
        (self.start, self.end, self.procs, self.root)
    }

    fn is_like(&self, other: &FreeSlot) -> bool {
        (self.start, self.end, self.root) == (other.start, other.end, other.root)
    }
}

/// What was taken of one rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub root: u32,
    pub procs: u32,
}

/// Rectangles, ascending by start, end, processors and root; no two with the same start, end and root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreeList {
    list: Vec<FreeSlot>,
    /// Places in the list and how much is taken there, while something is being placed.
    touched: Vec<(usize, u32)>,
}

impl FreeList {
    /// A site of which nothing is in use.
    pub fn empty_site(now: Time, procs: u32) -> FreeList {
        let mut list = FreeList::default();
        list.add(FreeSlot { start: now, end: Time::NEVER, procs, root: 0 });
        list
    }

    pub fn of(rectangles: impl IntoIterator<Item = FreeSlot>) -> FreeList {
        let mut list = FreeList::default();
        rectangles.into_iter().for_each(|free| list.add(free));
        list
    }

    pub fn all(&self) -> &[FreeSlot] {
        &self.list
    }

    /// Becomes like another list, without giving memory back.
    pub fn copy_from(&mut self, other: &FreeList) {
        self.list.clone_from(&other.list);
    }

    /// Places work at the first place of the list that will do, and says when it starts; `None`, and no change, if none
    /// does. What each rectangle gives is added to `taken`, if anybody wants to know.
    ///
    /// Costs O(rectangles²) at worst, when nothing fits before the last of them; most placements end early.
    pub fn place(&mut self, procs: u32, span: Span, earliest: Time, taken: Option<&mut Vec<Taken>>) -> Option<Time> {
        let start = self.find(procs, span, earliest)?;
        self.cut(start, start + span, taken);
        Some(start)
    }

    /// When work would start; what it would take is noted in `touched`.
    fn find(&mut self, procs: u32, span: Span, earliest: Time) -> Option<Time> {
        for place in 0..self.list.len() {
            let slot = self.list[place];
            let start = slot.start.max(earliest);
            let end = start + span;
            if slot.end < end {
                continue;
            }
            self.touched.clear();
            let mut need = procs;
            // Itself, then backwards: whatever has started by then and lasts can be stacked on it.
            for (below, other) in self.list[..=place].iter().enumerate().rev() {
                if other.end >= end {
                    let take = other.procs.min(need);
                    self.touched.push((below, take));
                    need -= take;
                    if need == 0 {
                        return Some(start);
                    }
                }
            }
        }
        None
    }

    /// Takes a part out of the first rectangle that holds all of it; whether there is one.
    pub fn carve(&mut self, part: &Part) -> bool {
        let Some(place) = self.holding(part) else { return false };
        self.touched.clear();
        self.touched.push((place, part.procs));
        self.cut(part.start, part.end(), None);
        true
    }

    fn holding(&self, part: &Part) -> Option<usize> {
        self.list.iter().position(|free| free.procs >= part.procs && free.start <= part.start && free.end >= part.end())
    }

    /// Of each touched rectangle stays what lies beside, before and after.
    fn cut(&mut self, start: Time, end: Time, mut taken: Option<&mut Vec<Taken>>) {
        let mut touched = mem::take(&mut self.touched);
        // From the last place on, so the others stay where they are; what is left is added when all are out.
        touched.sort_unstable_by_key(|(place, _)| *place);
        let first_left = self.list.len() - touched.len();
        let mut left: smallvec::SmallVec<[FreeSlot; 12]> = smallvec::SmallVec::new();
        for &(place, take) in touched.iter().rev() {
            let free = self.list.remove(place);
            if let Some(taken) = taken.as_deref_mut() {
                taken.push(Taken { root: free.root, procs: take });
            }
            if take < free.procs {
                left.push(FreeSlot { procs: free.procs - take, ..free });
            }
            if free.start < start {
                left.push(FreeSlot { end: start, procs: take, ..free });
            }
            if free.end > end {
                left.push(FreeSlot { start: end, procs: take, ..free });
            }
        }
        debug_assert_eq!(self.list.len(), first_left);
        left.into_iter().for_each(|free| self.add(free));
        touched.clear();
        self.touched = touched;
    }

    /// Adds a rectangle, to a like one if there is one.
    pub fn add(&mut self, mut free: FreeSlot) {
        let first = self.list.partition_point(|other| (other.start, other.end) < (free.start, free.end));
        let like = self.list[first..].iter().take_while(|other| (other.start, other.end) == (free.start, free.end));
        if let Some(place) = like.enumerate().find(|(_, other)| other.is_like(&free)).map(|(place, _)| first + place) {
            free.procs += self.list.remove(place).procs;
        }
        let place = first + self.list[first..].partition_point(|other| other.key() < free.key());
        self.list.insert(place, free);
    }

    /// Forgets what lies before a time.
    pub fn trim(&mut self, now: Time) {
        // What has begun by now is in front; of that, what goes on begins now.
        let begun = self.list.partition_point(|free| free.start < now);
        if begun == 0 {
            return;
        }
        let goes_on: Vec<FreeSlot> = self
            .list
            .drain(..begun)
            .filter(|free| free.end > now)
            .map(|free| FreeSlot { start: now, ..free })
            .collect();
        goes_on.into_iter().for_each(|free| self.add(free));
    }
}
