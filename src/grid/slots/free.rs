//! The free time of a site as a list of rectangles, and the rule by which work is placed in it.
//!
//! G. Singh, "An end-to-end framework for provisioning based resource and application management in grids", 2008,
//! chapter 4. A rectangle without end is an *edge*; where one ends, some work begins. Work may take several rectangles
//! at once, as long as each lasts for all of it. That only counts processors, and yet it is not the same as counting:
//! what was placed on one rectangle is not moved to another one to let later work in, so that may start later than
//! counts allow.
//!
//! Where the published rule is silent or needs help, ours: rectangles that start together are looked at with the
//! earliest end first, and those that are alike are one.

use serde::Serialize;
use smallvec::SmallVec;

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
    /// Those that start and end together are next to each other. As one number, which is compared at once.
    fn when(&self) -> u128 {
        u128::from(self.start.micros()) << 64 | u128::from(self.end.micros())
    }

    fn key(&self) -> (u128, u32, u32) {
        (self.when(), self.procs, self.root)
    }
}

/// What was taken of one rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    pub root: u32,
    pub procs: u32,
}

/// Rectangles, ascending by start, end, processors and root; no two with the same start, end and root.
#[derive(Clone, Debug, Default)]
pub struct FreeList {
    list: Vec<FreeSlot>,
    // While something is being placed, kept for the memory: what lasts long enough to be stacked, and what is taken of
    // it.
    lasting: Vec<Lasting>,
    touched: Vec<(usize, u32)>,
}

/// A rectangle that has been passed, and lasts.
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
    /// A site of which nothing is in use.
    pub fn empty_site(now: Time, procs: u32) -> FreeList {
        let mut list = FreeList::default();
        list.restart(now, procs);
        list
    }

    /// Becomes the list of a site of which nothing is in use, without giving memory back.
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

    /// Becomes like another list, without giving memory back.
    pub fn copy_from(&mut self, other: &FreeList) {
        self.list.clone_from(&other.list);
    }

    /// Places work at the first place of the list that will do, and says when it starts; `None`, and no change, if none
    /// does.
    pub fn place(&mut self, procs: u32, span: Span, earliest: Time) -> Option<Time> {
        let start = self.find(procs, span, earliest, Time::NEVER)?;
        self.take_found(start, start + span, |_| ());
        Some(start)
    }

    /// As [`Self::place`], for work that has an end: [`Time::NEVER`], and no change, if time ends before any place for
    /// it does.
    pub fn place_in_time(&mut self, procs: u32, span: Span, earliest: Time) -> Time {
        // The first place ends first.
        let found = self.find(procs, span, earliest, Time::NEVER).filter(|start| *start + span < Time::NEVER);
        let Some(start) = found else { return Time::NEVER };
        self.take_found(start, start + span, |_| ());
        start
    }

    /// When work would start, if that is before a limit; [`Self::take_found`] then takes it.
    ///
    /// The rule is to look at each rectangle, and then backwards for others that have begun by its start and last as
    /// long as the work. That start only ever grows along the list, and so does the end that is asked for: what has
    /// once been too short stays so. Costs O(rectangles), and what is passed again when some of them drop out.
    pub fn find(&mut self, procs: u32, span: Span, earliest: Time, limit: Time) -> Option<Time> {
        let FreeList { list, lasting, touched } = self;
        lasting.clear();
        let (mut sum, mut first_end) = (0u64, Time::NEVER);
        let mut next = 0;
        loop {
            // Nearly all are too short.
            let lasts = |slot: &FreeSlot| slot.end >= slot.start.max(earliest) + span || slot.start >= limit;
            let place = next + list[next..].iter().position(lasts)?;
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

            // Itself first, then backwards.
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

    /// The same, each rectangle with its place as its root, so that what is left of one can be told from the others.
    pub fn rooted(&self) -> FreeList {
        let list = self.list.iter().zip(0..).map(|(free, root)| FreeSlot { root, ..*free }).collect();
        FreeList { list, ..FreeList::default() }
    }

    /// The same without roots, so that what is alike is one.
    pub fn unrooted(&self) -> FreeList {
        let mut list = FreeList::default();
        self.list.iter().for_each(|free| list.add(FreeSlot { root: 0, ..*free }));
        list
    }

    /// Takes a part out of the first rectangle that holds all of it and will do; whether there is one.
    pub fn carve(&mut self, part: &Part, will_do: impl Fn(&FreeSlot) -> bool) -> bool {
        let holds = |free: &FreeSlot| {
            free.procs >= part.procs && free.start <= part.start && free.end >= part.end() && will_do(free)
        };
        self.list.iter().position(holds).map(|place| self.carve_at(place, part)).is_some()
    }

    fn carve_at(&mut self, place: usize, part: &Part) {
        self.touched.clear();
        self.touched.push((place, part.procs));
        self.take_found(part.start, part.end(), |_| ());
    }

    /// Takes what has just been found, and says of which rectangles. Of each stays what lies beside, before and after.
    ///
    /// A plan is hardly more than this, so as little as can be is moved about: what lies beside stays in its place, and
    /// a rectangle that is gone leaves a gap for what is added, so that only what lies between the two is shifted. A
    /// gap looks like what has been there, which lasted for all of the work; what is added does not, unless the work
    /// takes no time, and so is not like it.
    pub fn take_found(&mut self, start: Time, end: Time, mut taken: impl FnMut(Allocation)) {
        let mut gaps: SmallVec<[usize; 8]> = SmallVec::new();
        let mut before: SmallVec<[FreeSlot; 8]> = SmallVec::new();
        let mut after: SmallVec<[FreeSlot; 8]> = SmallVec::new();
        // They are touched from the last place back.
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
        // What lies before is near the gaps, and what lies after is near the end of the list.
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

    /// Adds a rectangle, to a like one if there is one.
    pub fn add(&mut self, free: FreeSlot) {
        self.enter(free, &mut SmallVec::new());
    }

    /// The same while there are gaps, of which one may be filled.
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

    /// Of those that start and end together, one with fewer processors comes before the others.
    fn sink(&mut self, mut place: usize) {
        while place > 0 && self.list[place - 1].key() > self.list[place].key() {
            self.list.swap(place - 1, place);
            place -= 1;
        }
    }

    /// And one with more after them.
    fn rise(&mut self, mut place: usize) {
        while place + 1 < self.list.len() && self.list[place + 1].key() < self.list[place].key() {
            self.list.swap(place, place + 1);
            place += 1;
        }
    }

    /// Forgets what lies before a time. Whether others are in some places of the list than were there before.
    pub fn trim(&mut self, now: Time) -> bool {
        // What has begun by now is in front; of that, what goes on begins now.
        let begun = self.list.partition_point(|free| free.start < now);
        if begun == 0 {
            return false;
        }
        let before: Vec<FreeSlot> = self.list.drain(..begun).map(|free| FreeSlot { start: now, ..free }).collect();
        before.iter().filter(|free| free.end > now).for_each(|free| self.add(*free));
        self.list.get(..begun) != Some(&before[..])
    }
}
