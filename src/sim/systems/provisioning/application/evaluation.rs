//! The cost of a plan. A plan is a subset of the slots that all sites advertise, with the tasks placed in them.

use super::Application;
use crate::grid::{Area, FreeList, FreeSlot, Part, Slot, Tariff};
use crate::time::{Span, Time};

/// Cost and duration of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Price of the slots.
    pub allocation: Area,
    /// Duration from now to the end of the last task.
    pub makespan: Span,
}

impl Cost {
    /// Both aims as numbers: cost, then time.
    pub fn objectives(&self) -> (u64, u64) {
        (self.allocation.micros(), self.makespan.micros())
    }
}

/// The place of a task: site, start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskPlace {
    pub task: u32,
    pub site: u32,
    pub start: Time,
    pub end: Time,
}

/// A booking that the plan needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedBooking {
    pub site: u32,
    /// Index of the slot in the site's advertisement.
    pub slot: u32,
    pub part: Part,
    /// The task of the booking; none if the whole slot is booked, whichever tasks run there.
    pub task: Option<u32>,
}

/// A complete plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationPlan {
    pub cost: Cost,
    /// The tasks in the order of placement.
    pub tasks: Vec<TaskPlace>,
    /// Whole slots first, by site and slot; then parts, in the order of placement.
    pub bookings: Vec<PlannedBooking>,
    /// Share of each task in each slot, by the global number of the slot: `(task, slot, processors)`.
    pub shares: Vec<(u32, u32, u32)>,
}

/// Places an application in slots, repeatedly.
pub struct Evaluator<'a> {
    application: &'a Application,
    now: Time,
    /// Earliest start of any task.
    from: Time,
    /// Prices of each site where they vary.
    tariffs: Vec<Option<&'a Tariff>>,
    /// The slots with their sites and their indices there, ordered by both.
    slots: Vec<(u32, u32, Slot)>,
    /// The slots as free lists hold them; edges have no end.
    free: Vec<FreeSlot>,
    bins: Vec<FreeList>,
    /// Site and end of each task, by its number.
    placed: Vec<(u32, Time)>,
    /// Used area of each slot, by its number, and the rent of it where prices vary.
    used: Vec<Area>,
    rents: Vec<Area>,
    /// Time by which the last task in each slot has ended, by its number.
    until: Vec<Time>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of the slots that each site has advertised.
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
            from: now,
            tariffs: vec![None; adverts.len()],
            free: free.collect(),
            bins: vec![FreeList::default(); application.sites()],
            placed: vec![(0, Time::ZERO); application.tasks()],
            used: vec![Area::ZERO; slots.len()],
            rents: vec![Area::ZERO; slots.len()],
            until: vec![Time::ZERO; slots.len()],
            slots,
        }
    }

    /// Like this evaluator, at these prices of the sites instead of those of the slots.
    pub fn at_prices(self, tariffs: &'a [Tariff]) -> Evaluator<'a> {
        let tariffs = tariffs.iter().map(|tariff| Some(tariff).filter(|tariff| !tariff.is_flat())).collect();
        Evaluator { tariffs, ..self }
    }

    /// Sets the earliest start of all further tasks.
    pub fn wait_until(&mut self, from: Time) {
        self.from = from;
    }

    /// Number of slots to choose from.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Cost of a plan; `None` if some task fits nowhere in it.
    pub fn cost(&mut self, chosen: impl Fn(usize) -> bool) -> Option<Cost> {
        self.evaluate(chosen, |_, _| ())
    }

    /// The plan with all its bookings.
    pub fn plan(&mut self, chosen: impl Fn(usize) -> bool) -> Option<ApplicationPlan> {
        let mut tasks = Vec::new();
        let mut shares = Vec::new();
        let cost = self.evaluate(chosen, |placed, taken| {
            tasks.push(placed);
            shares.extend(taken.iter().map(|(slot, procs)| (placed.task, *slot, *procs)));
        })?;
        let indivisible = (0..self.slots.len())
            .filter(|slot| !self.used[*slot].is_zero())
            .filter(|slot| !self.slots[*slot].2.divisible);
        let indivisible = indivisible.map(|at| {
            let (site, place, slot) = self.slots[at];
            PlannedBooking { site, slot: place, part: extended_part(&slot, self.until[at]), task: None }
        });
        let mut bookings: Vec<PlannedBooking> = indivisible.collect();
        let mut shared = shares.iter().peekable();
        for placed in &tasks {
            while let Some(&(task, slot, procs)) = shared.next_if(|share| share.0 == placed.task) {
                let (site, place, slot) = self.slots[slot as usize];
                let part = Part { procs, start: placed.start, span: placed.end - placed.start };
                if slot.divisible {
                    bookings.push(PlannedBooking { site, slot: place, part, task: Some(task) });
                }
            }
        }
        Some(ApplicationPlan { cost, tasks, bookings, shares })
    }

    /// Places each task where it starts first; of equal sites the first is taken.
    fn evaluate(
        &mut self,
        chosen: impl Fn(usize) -> bool,
        mut visit: impl FnMut(TaskPlace, &[(u32, u32)]),
    ) -> Option<Cost> {
        let Evaluator { application, now, from, tariffs, slots, free, bins, placed, used, rents, until } = self;
        bins.iter_mut().for_each(FreeList::clear);
        used.fill(Area::ZERO);
        rents.fill(Area::ZERO);
        until.fill(Time::ZERO);
        for (root, (site, ..)) in slots.iter().enumerate().filter(|(root, _)| chosen(*root)) {
            bins[*site as usize].add(free[root]);
        }

        let mut last = *now;
        let mut taken: Vec<(u32, u32)> = Vec::new();
        for &task in application.order() {
            let procs = application.procs(task as usize);
            let mut best: Option<(Time, usize)> = None;
            for (site, bin) in bins.iter_mut().enumerate().filter(|(site, _)| application.suits(task as usize, *site)) {
                let ready = application.ready(task as usize, site, placed).max(*from);
                let limit = best.map_or(Time::NEVER, |best| best.0);
                let runtime = application.runtime(task as usize, site);
                best = bin.find(procs, runtime, ready, limit).map(|start| (start, site)).or(best);
            }
            let (start, site) = best?;
            let runtime = application.runtime(task as usize, site);
            let end = start + runtime;
            taken.clear();
            bins[site].allocate_found(start, end, |part| {
                used[part.root as usize] += Area::of(part.procs, runtime);
                until[part.root as usize] = end.max(until[part.root as usize]);
                if let Some(tariff) = tariffs[site] {
                    rents[part.root as usize] += tariff.cost(&Part { procs: part.procs, start, span: runtime });
                }
                taken.push((part.root, part.procs));
            });
            placed[task as usize] = (site as u32, end);
            last = last.max(end);
            visit(TaskPlace { task, site: site as u32, start, end }, &taken);
        }

        let paid = (0..slots.len()).filter(|slot| !used[*slot].is_zero()).map(|at| {
            let (site, _, slot) = &slots[at];
            let rent = match (slot.divisible, tariffs[*site as usize]) {
                (true, None) => used[at].cost_at(slot.rate),
                (true, Some(_)) => rents[at],
                (false, None) => extended_part(slot, until[at]).area().cost_at(slot.rate),
                (false, Some(tariff)) => tariff.cost(&extended_part(slot, until[at])),
            };
            rent + slot.fee
        });
        Some(Cost { allocation: paid.sum(), makespan: last - *now })
    }
}

/// All of a slot, extended until a time if that is later than its end.
fn extended_part(slot: &Slot, until: Time) -> Part {
    let part = slot.whole();
    Part { span: part.end().max(until).since(part.start), ..part }
}
