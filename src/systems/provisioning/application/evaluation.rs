//! What a plan costs: a plan is some of the slots that all sites advertise, and the tasks are placed in those.

use super::Application;
use crate::grid::{Area, FreeList, FreeSlot, Part, Slot};
use crate::time::{Span, Time};

/// What a plan costs, and how long everything takes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// What is paid for the slots.
    pub allocation: Area,
    /// From now to the end of the last task.
    pub makespan: Span,
}

/// Where a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub task: u32,
    pub site: u32,
    pub start: Time,
    pub end: Time,
}

/// What is to be booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booked {
    pub site: u32,
    /// Its place in the site's advertisement.
    pub slot: u32,
    pub part: Part,
    /// For which task; none for a slot that is booked as a whole, whoever runs there.
    pub task: Option<u32>,
}

/// A plan in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub cost: Cost,
    /// In the order of placing.
    pub tasks: Vec<Placed>,
    /// Slots as a whole first, by site and slot; then part after part, in the order of placing.
    pub bookings: Vec<Booked>,
    /// What each task takes of each slot, by its global number: `(task, slot, processors)`.
    pub shares: Vec<(u32, u32, u32)>,
}

/// Places an application in slots, again and again.
pub struct Evaluator<'a> {
    application: &'a Application,
    now: Time,
    /// With the site and the place there, in order of both.
    slots: Vec<(u32, u32, Slot)>,
    /// As they are placed in; edges have no end.
    free: Vec<FreeSlot>,
    bins: Vec<FreeList>,
    /// By task: where, and until when.
    placed: Vec<(u32, Time)>,
    /// By slot: the area that is used of it.
    used: Vec<Area>,
}

impl<'a> Evaluator<'a> {
    /// Of the slots of each site, as they have been advertised.
    pub fn new(application: &'a Application, now: Time, adverts: &[&[Slot]]) -> Evaluator<'a> {
        let slots = adverts.iter().enumerate().flat_map(|(site, slots)| {
            slots.iter().enumerate().map(move |(place, slot)| (site as u32, place as u32, *slot))
        });
        let slots: Vec<(u32, u32, Slot)> = slots.collect();
        let free = slots.iter().enumerate().map(|(root, (_, _, slot))| FreeSlot {
            start: slot.start,
            end: if slot.extensible { Time::NEVER } else { slot.end() },
            procs: slot.procs,
            root: root as u32,
        });
        Evaluator {
            application,
            now,
            free: free.collect(),
            bins: vec![FreeList::default(); application.sites()],
            placed: vec![(0, Time::ZERO); application.tasks()],
            used: vec![Area::ZERO; slots.len()],
            slots,
        }
    }

    /// How many slots there are to choose among.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// What a plan costs; `None` if some task fits nowhere in it.
    pub fn cost(&mut self, chosen: impl Fn(usize) -> bool) -> Option<Cost> {
        self.evaluate(chosen, |_, _| ())
    }

    /// The plan, with all that is to be booked.
    pub fn plan(&mut self, chosen: impl Fn(usize) -> bool) -> Option<Plan> {
        let (mut tasks, mut shares) = (Vec::new(), Vec::new());
        let cost = self.evaluate(chosen, |placed, taken| {
            tasks.push(placed);
            shares.extend(taken.iter().map(|(slot, procs)| (placed.task, *slot, *procs)));
        })?;
        let used = |slot: &usize| !self.used[*slot].is_zero();
        let whole = (0..self.slots.len()).filter(used).filter(|slot| !self.slots[*slot].2.extensible);
        let whole = whole.map(|slot| {
            let (site, place, slot) = self.slots[slot];
            Booked { site, slot: place, part: slot.whole(), task: None }
        });
        let mut bookings: Vec<Booked> = whole.collect();
        let mut shared = shares.iter().peekable();
        for placed in &tasks {
            while let Some(&(task, slot, procs)) = shared.next_if(|share| share.0 == placed.task) {
                let (site, place, slot) = self.slots[slot as usize];
                let part = Part { procs, start: placed.start, span: placed.end - placed.start };
                if slot.extensible {
                    bookings.push(Booked { site, slot: place, part, task: Some(task) });
                }
            }
        }
        Some(Plan { cost, tasks, bookings, shares })
    }

    /// Task after task goes where it starts first; of equal sites to the first.
    fn evaluate(
        &mut self,
        chosen: impl Fn(usize) -> bool,
        mut tell: impl FnMut(Placed, &[(u32, u32)]),
    ) -> Option<Cost> {
        let Evaluator { application, now, slots, free, bins, placed, used } = self;
        bins.iter_mut().for_each(FreeList::clear);
        used.fill(Area::ZERO);
        for (root, (site, ..)) in slots.iter().enumerate().filter(|(root, _)| chosen(*root)) {
            bins[*site as usize].add(free[root]);
        }

        let mut last = *now;
        let mut taken: Vec<(u32, u32)> = Vec::new();
        for &task in application.order() {
            let procs = application.procs(task as usize);
            let mut best: Option<(Time, usize)> = None;
            for (site, bin) in bins.iter_mut().enumerate().filter(|(site, _)| application.suits(task as usize, *site)) {
                let ready = application.ready(task as usize, site, placed).max(*now);
                let limit = best.map_or(Time::NEVER, |best| best.0);
                let runtime = application.runtime(task as usize, site);
                best = bin.find(procs, runtime, ready, limit).map(|start| (start, site)).or(best);
            }
            let (start, site) = best?;
            let runtime = application.runtime(task as usize, site);
            let end = start + runtime;
            taken.clear();
            bins[site].take_found(start, end, |part| {
                used[part.root as usize] += Area::of(part.procs, runtime);
                taken.push((part.root, part.procs));
            });
            placed[task as usize] = (site as u32, end);
            last = last.max(end);
            tell(Placed { task, site: site as u32, start, end }, &taken);
        }

        let paid = slots.iter().zip(used).filter(|(_, used)| !used.is_zero());
        let paid =
            paid.map(|((_, _, slot), used)| if slot.extensible { used.at(slot.rate) + slot.fee } else { slot.cost() });
        Some(Cost { allocation: paid.sum(), makespan: last - *now })
    }
}
