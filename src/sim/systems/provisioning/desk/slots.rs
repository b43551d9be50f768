//! Slots: the free time that the site advertises, and claims to parts of it.

use super::bookings::BookingState;
use super::{Desk, DeskTerms};
use crate::grid::{Advert, Denial, EdgeSlots, FreeSlot, InnerSlots, Part, Receipt, Slot, fees_of};
use crate::time::{Span, Time};

/// Horizon of slots without end: from now, and from the end of all present parts.
const AHEAD: Span = Span::from_minutes(48 * 60);
const BEYOND: Span = Span::from_minutes(5);

impl Desk {
    /// Advertises the slots that running jobs, bookings and the planned queue leave free.
    pub fn advertise(&mut self, now: Time) -> Advert {
        self.advance_to(now);
        self.begin_reservations();
        self.list_free();
        let horizon = self.edge_horizon();
        let slots = self.plan.free.all().iter().map(|free| self.slot(free, horizon)).collect();
        Advert { version: self.plan.version, tariff: self.terms.tariff.clone(), slots }
    }

    /// Takes parts of advertised slots, given by their indices in the advertisement: all of them, or none.
    ///
    /// If the calendar has changed since, it suffices that some present slot contains the part and allows it.
    pub fn take(&mut self, now: Time, version: u64, parts: &[(u32, Part)]) -> Result<Vec<Receipt>, Denial> {
        self.advance_to(now);
        self.begin_reservations();
        self.list_free();
        let horizon = self.edge_horizon();
        let is_current = version == self.plan.version;
        // The rest of a slot after one part serves the next part of that slot, but not the part of another slot.
        let mut free = if is_current { self.plan.free.rooted() } else { self.plan.free.clone() };
        let mut is_carved = true;
        for (index, part) in parts {
            self.check(part)?;
            if is_current {
                let slot = self.plan.free.all().get(*index as usize).ok_or(Denial::NoSuchSlot)?;
                self.slot(slot, horizon).check(part)?;
                is_carved = is_carved && free.carve(part, |left| left.root == *index);
            } else {
                let there = free.all().iter().any(|slot| self.slot(slot, horizon).check(part).is_ok())
                    && free.carve(part, |_| true);
                there.then_some(()).ok_or(Denial::SlotGone)?;
            }
        }
        // Parts of one slot may overlap, or cross the rests that other parts have left.
        if !is_carved {
            self.gather_inputs();
            let mut all = self.planned_counts();
            for (_, part) in parts {
                if all.most(part.start, part.end()) + part.procs > self.terms.procs {
                    return Err(Denial::NoRoom);
                }
                all.insert(part.start, part.end(), part.procs);
            }
        }

        let booked = parts.iter().zip(fees_of(parts, self.terms.charge));
        let receipts: Vec<Receipt> =
            booked.map(|((_, part), fee)| self.enter(*part, fee, BookingState::Booked { since: now }, None)).collect();
        receipts.iter().for_each(|receipt| self.charge(receipt));
        if is_carved {
            self.plan.free = free.unrooted();
        }
        self.plan.record_removed_part(self.terms.mode, is_carved);
        Ok(receipts)
    }

    fn slot(&self, free: &FreeSlot, horizon: Time) -> Slot {
        let is_edge = free.end == Time::NEVER;
        let end = if is_edge { horizon } else { free.end };
        let DeskTerms { inner_slots, edge_slots, .. } = self.terms;
        let (divisible, extensible) = match (is_edge, edge_slots) {
            (false, _) => (inner_slots == InnerSlots::Divisible, false),
            (true, EdgeSlots::Open) => (true, true),
            (true, EdgeSlots::Divisible) => (true, false),
            (true, EdgeSlots::Extensible) => (false, true),
            (true, EdgeSlots::Whole) => (false, false),
        };
        Slot {
            start: free.start,
            procs: free.procs,
            span: end.since(free.start),
            rate: self.terms.tariff.at(free.start),
            fee: self.terms.charge,
            divisible,
            extensible,
        }
    }

    /// Horizon of the slots without end. Where these are sold whole, it stays while the plan does, so that a claim
    /// finds the slot that was advertised.
    fn edge_horizon(&mut self) -> Time {
        let version = self.plan.version;
        let now = self.now;
        if matches!(self.terms.edge_slots, EdgeSlots::Open | EdgeSlots::Divisible) {
            return self.horizon();
        }
        let (_, horizon) = self
            .whole_until
            .filter(|(of, horizon)| *of == version && now + BEYOND < *horizon)
            .unwrap_or_else(|| (version, self.horizon()));
        self.whole_until = Some((version, horizon));
        horizon
    }

    fn horizon(&self) -> Time {
        let planned = self.queue.iter().zip(&self.plan.starts).filter(|(_, start)| **start < Time::NEVER);
        let planned = planned.map(|(queued, start)| *start + queued.request.walltime);
        let active = self.active.values().chain(&self.down).map(|active| active.until);
        let last = self.future.values().map(Part::end).chain(active).chain(planned).max().unwrap_or(Time::ZERO);
        (self.now + AHEAD).max(last + BEYOND)
    }
}
