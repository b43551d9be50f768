//! The free time of a site as a list of rectangles, and the placement rule for work.
//!
//! G. Singh, "An end-to-end framework for provisioning based resource and application management in grids", 2008,
//! chapter 4. A rectangle without end is an *edge*; where one ends, some work begins. Work may take several rectangles
//! at once, as long as each lasts for all of it. The list only counts processors, yet differs from counts: work that is
//! placed on one rectangle is not moved to another to let later work in, which may therefore start later than counts
//! allow.
//!
//! Where the published rule is silent or incomplete, ours: rectangles that start together are examined with the
//! earliest end first, and identical ones are merged.

use serde::Serialize;
use smallvec::SmallVec;

use super::Part;
use crate::time::{Span, Time};

/// Free processors from a start to an end, which may be never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FreeSlot {
    pub start: Time,
    pub end: Time,
    pub procs: u32,
    /// Index of the slot that it was cut from; those of different slots stay apart.
    pub root: u32,
}

impl FreeSlot {
    /// Start and end in one number, which is compared at once; rectangles with equal ones are adjacent.
    fn when(&self) -> u128 {
        u128::from(self.start.micros()) << 64 | u128::from(self.end.micros())
    }

    fn key(&self) -> (u128, u32, u32) {
        (self.when(), self.procs, self.root)
    }
}

/// Processors taken from one rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    pub root: u32,
    pub procs: u32,
}

/// Rectangles, ascending by start, end, processors and root; start, end and root are unique.
#[derive(Clone, Debug, Default)]
pub struct FreeList {
    list: Vec<FreeSlot>,
    // Scratch buffers of a placement, kept to avoid reallocation: rectangles that last long enough, and the processors
    // taken from each.
    lasting: Vec<Lasting>,
    touched: Vec<(usize, u32)>,
}

/// A rectangle that has been passed, and lasts long enough.
#[derive(Clone, Copy, Debug)]
struct Lasting {
    place: usize,
    end: Time,
    procs: u32,
}

impl PartialEq for FreeList {
    fn eq(&self, other: &FreeList) -> bool {
        self.list == other.list
    }
}

impl Eq for FreeList {}

impl FreeList {
    /// The list of an idle site.
    pub fn empty_site(now: Time, procs: u32) -> FreeList {
        let mut list = FreeList::default();
        list.restart(now, procs);
        list
    }

    /// Resets to an idle site, keeping the allocation.
    pub fn restart(&mut self, now: Time, procs: u32) {
        self.list.clear();
        self.list.push(FreeSlot { start: now, end: Time::NEVER, procs, root: 0 });
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }

    pub fn all(&self) -> &[FreeSlot] {
        &self.list
    }

    /// Copies another list, keeping the allocation.
    pub fn copy_from(&mut self, other: &FreeList) {
        self.list.clone_from(&other.list);
    }

    /// Places work at the first possible place of the list, and returns its start; `None`, without change, if there is
    /// none.
    pub fn place(&mut self, procs: u32, span: Span, earliest: Time) -> Option<Time> {
        let start = self.find(procs, span, earliest, Time::NEVER)?;
        self.allocate_found(start, start + span, |_| ());
        Some(start)
    }

    /// Like [`Self::place`], for work that must end: [`Time::NEVER`], without change, if no place ends before the end
    /// of time.
    pub fn place_in_time(&mut self, procs: u32, span: Span, earliest: Time) -> Time {
        // The first place ends first.
        let found = self.find(procs, span, earliest, Time::NEVER).filter(|start| *start + span < Time::NEVER);
        let Some(start) = found else { return Time::NEVER };
        self.allocate_found(start, start + span, |_| ());
        start
    }

    /// Start of work, if it is before a limit; [`Self::allocate_found`] then takes it.
    ///
    /// The rule examines each rectangle, and then backwards the others that have begun by its start and last as long as
    /// the work. That start only grows along the list, and so does the required end: a rectangle that is once too short
    /// stays so. Costs O(rectangles), plus those passed again when some of them drop out.
    pub fn find(&mut self, procs: u32, span: Span, earliest: Time, limit: Time) -> Option<Time> {
        let FreeList { list, lasting, touched } = self;
        lasting.clear();
        let mut sum = 0u64;
        let mut first_end = Time::NEVER;
        let mut next = 0;
        loop {
            // Nearly all are too short.
            let place = next + list[next..].iter().position(|slot| lasts_long_enough(slot, earliest, limit, span))?;
            let slot = list[place];
            let start = slot.start.max(earliest);
            let end = start + span;
            if start >= limit {
                return None;
            }
            next = place + 1;
            if first_end < end {
                (sum, first_end) = (0, Time::NEVER);
                lasting.retain(|passed| {
                    let lasts = passed.end >= end;
                    if lasts {
                        sum += u64::from(passed.procs);
                        first_end = first_end.min(passed.end);
                    }
                    lasts
                });
            }
            lasting.push(Lasting { place, end: slot.end, procs: slot.procs });
            sum += u64::from(slot.procs);
            first_end = first_end.min(slot.end);
            if sum < u64::from(procs) {
                continue;
            }

            // The rectangle itself first, then backwards.
            touched.clear();
            let mut need = procs;
            for passed in lasting.iter().rev() {
                let take = passed.procs.min(need);
                touched.push((passed.place, take));
                need -= take;
                if need == 0 {
                    return Some(start);
                }
            }
        }
    }

    /// A copy in which each rectangle has its index as its root, so that remainders can be told apart.
    pub fn rooted(&self) -> FreeList {
        let list = self.list.iter().zip(0..).map(|(free, root)| FreeSlot { root, ..*free }).collect();
        FreeList { list, ..FreeList::default() }
    }

    /// A copy without roots, so that identical rectangles merge.
    pub fn unrooted(&self) -> FreeList {
        let mut list = FreeList::default();
        self.list.iter().for_each(|free| list.add(FreeSlot { root: 0, ..*free }));
        list
    }

    /// Takes a part out of the first rectangle that contains it and satisfies `will_do`. True if there is one.
    pub fn carve(&mut self, part: &Part, will_do: impl Fn(&FreeSlot) -> bool) -> bool {
        self.list
            .iter()
            .position(|free| {
                free.procs >= part.procs && free.start <= part.start && free.end >= part.end() && will_do(free)
            })
            .map(|place| self.carve_at(place, part))
            .is_some()
    }

    fn carve_at(&mut self, place: usize, part: &Part) {
        self.touched.clear();
        self.touched.push((place, part.procs));
        self.allocate_found(part.start, part.end(), |_| ());
    }

    /// Allocates the area found last and reports the processors taken from each rectangle; their remainders beside,
    /// before and after it stay free.
    ///
    /// Planning does hardly anything else, so as little as possible is moved: remainders beside the work stay in place,
    /// and a removed rectangle leaves a gap for additions, so that only the entries between the two are shifted. A gap
    /// keeps its old value, which lasted for all of the work; additions do not (unless the work takes no time), and so
    /// do not equal it.
    pub fn allocate_found(&mut self, start: Time, end: Time, mut taken: impl FnMut(Allocation)) {
        let mut gaps: SmallVec<[usize; 8]> = SmallVec::new();
        let mut before: SmallVec<[FreeSlot; 8]> = SmallVec::new();
        let mut after: SmallVec<[FreeSlot; 8]> = SmallVec::new();
        // From the last place backwards.
        for at in 0..self.touched.len() {
            let (place, take) = self.touched[at];
            let free = self.list[place];
            taken(Allocation { root: free.root, procs: take });
            if free.start < start {
                before.push(FreeSlot { end: start, procs: take, ..free });
            }
            if free.end > end {
                after.push(FreeSlot { start: end, procs: take, ..free });
            }
            if take < free.procs {
                self.list[place].procs -= take;
                self.sink(place);
            } else {
                gaps.push(place);
            }
        }
        if start == end {
            self.close(&mut gaps);
        }
        // Remainders before are near the gaps, and remainders after are near the end of the list.
        for free in before.into_iter().chain(after) {
            self.enter(free, &mut gaps);
        }
        self.close(&mut gaps);
    }

    fn close(&mut self, gaps: &mut SmallVec<[usize; 8]>) {
        gaps.sort_unstable();
        while let Some(place) = gaps.pop() {
            self.list.remove(place);
        }
    }

    /// Adds a rectangle, merged with an identical one.
    pub fn add(&mut self, free: FreeSlot) {
        self.enter(free, &mut SmallVec::new());
    }

    /// Like [`Self::add`], while there are gaps, one of which may be filled.
    fn enter(&mut self, free: FreeSlot, gaps: &mut SmallVec<[usize; 8]>) {
        let mut place = self.list.partition_point(|other| other.when() < free.when());
        while let Some(other) = self.list.get(place).filter(|other| other.when() == free.when()) {
            if other.root == free.root {
                self.list[place].procs += free.procs;
                return self.rise(place);
            }
            place += 1;
        }
        let Some(gap) = gaps.pop() else {
            self.list.insert(place, free);
            return self.sink(place);
        };
        if gap < place {
            self.list.copy_within(gap + 1..place, gap);
            place -= 1;
            gaps.iter_mut().filter(|other| (gap..=place).contains(*other)).for_each(|other| *other -= 1);
        } else {
            self.list.copy_within(place..gap, place + 1);
            gaps.iter_mut().filter(|other| (place..gap).contains(*other)).for_each(|other| *other += 1);
        }
        self.list[place] = free;
        self.sink(place);
    }

    /// Restores the order of equal start and end: fewer processors come first.
    fn sink(&mut self, mut place: usize) {
        while place > 0 && self.list[place - 1].key() > self.list[place].key() {
            self.list.swap(place - 1, place);
            place -= 1;
        }
    }

    /// Restores the order of equal start and end: more processors come last.
    fn rise(&mut self, mut place: usize) {
        while place + 1 < self.list.len() && self.list[place + 1].key() < self.list[place].key() {
            self.list.swap(place, place + 1);
            place += 1;
        }
    }

    /// Drops everything before a time. True if entries of the list changed their index.
    pub fn trim(&mut self, now: Time) -> bool {
        // Rectangles that have begun are in front; those that continue begin now.
        let begun = self.list.partition_point(|free| free.start < now);
        if begun == 0 {
            return false;
        }
        let before: Vec<FreeSlot> = self.list.drain(..begun).map(|free| FreeSlot { start: now, ..free }).collect();
        before.iter().filter(|free| free.end > now).for_each(|free| self.add(*free));
        self.list.get(..begun) != Some(&before[..])
    }
}

fn lasts_long_enough(slot: &FreeSlot, earliest: Time, limit: Time, span: Span) -> bool {
    slot.end >= slot.start.max(earliest) + span || slot.start >= limit
}
