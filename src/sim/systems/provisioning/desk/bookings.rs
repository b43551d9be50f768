//! The life of a booking: charge, begin, end, cancellation and early return.

use super::{Active, Desk, DeskAction};
use crate::grid::{Area, BookingId, Counts, Denial, HoldId, Part, Receipt};
use crate::time::Time;

/// A booking that is not over.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeskBooking {
    pub receipt: Receipt,
    pub state: BookingState,
    /// The hold it began as, if it is one leg of several.
    pub hold: Option<HoldId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BookingState {
    /// Held until the lease ends.
    Held,
    Booked {
        since: Time,
    },
    Begun,
}

/// Income of a site. Each charge has its booking: `rents + fees` is the sum of the charges less the refunds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteAccount {
    pub booked: u64,
    pub cancelled: u64,
    /// Number of bookings that were handed back before their end.
    pub handed_back: u64,
    /// Bookings taken from their users because processors failed.
    pub revoked: u64,
    pub rents: Area,
    pub fees: Area,
    /// Charges for cancellations.
    pub penalties: Area,
}

impl SiteAccount {
    pub fn revenue(&self) -> Area {
        self.rents + self.fees + self.penalties
    }
}

impl Desk {
    /// Cancels a booking. Before its begin the user pays a part of its fee; later there is no refund, but the
    /// processors are free at once. Returns the amount to pay beside the charges so far, or instead of them.
    pub fn cancel(&mut self, now: Time, id: BookingId) -> Result<Area, Denial> {
        self.advance_to(now);
        let booking = self.bookings.get(&id).ok_or(Denial::NotBooked)?;
        if booking.state == BookingState::Held || booking.hold.is_some() {
            return Err(Denial::NotBooked);
        }
        let penalty = match booking.state {
            BookingState::Begun => None,
            _ => Some(booking.receipt.fee.part(self.terms.cancelling)),
        };
        Ok(self.take_back(id, penalty))
    }

    /// Takes back the rest of a booking that has begun, if these are the terms. Returns the refund and the penalty,
    /// which together are the rent of that rest.
    pub fn hand_back(&mut self, now: Time, id: BookingId) -> Option<(Area, Area)> {
        self.advance_to(now);
        let share = self.terms.handing_back?;
        let booking = self.bookings.get(&id).filter(|booking| booking.state == BookingState::Begun)?;
        let part = booking.receipt.part;
        let rest = self.terms.tariff.cost(&Part { start: now, span: part.end().since(now), ..part });
        let rent = rest.min(booking.receipt.rent);
        let penalty = rent.part(share);
        self.end_booking(id);
        self.account.handed_back += 1;
        self.account.rents = self.account.rents.saturating_sub(rent);
        self.account.penalties += penalty;
        Some((rent.saturating_sub(penalty), penalty))
    }

    /// Frees a booking. The charges are refunded for a penalty, or not at all.
    pub(super) fn take_back(&mut self, id: BookingId, penalty: Option<Area>) -> Area {
        let booking = self.remove_booking(id);
        let Receipt { part, rent, fee, .. } = booking.receipt;
        self.free_early(self.now, part.end());
        if let Some(penalty) = penalty {
            self.account.cancelled += 1;
            self.account.rents = self.account.rents.saturating_sub(rent);
            self.account.fees = self.account.fees.saturating_sub(fee);
            self.account.penalties += penalty;
        }
        penalty.unwrap_or_default()
    }

    /// Books processors for a service, without payment. The queue gives way.
    pub fn book_free_of_charge(&mut self, now: Time, part: Part) -> Result<BookingId, Denial> {
        self.advance_to(now);
        self.begin_reservations();
        self.admit(&part)?;
        let receipt = self.enter(part, Area::ZERO, BookingState::Booked { since: now }, None);
        self.outdate_plan_by(&part);
        Ok(receipt.booking)
    }

    /// Frees processors set aside, unless their time is over.
    pub fn give_up(&mut self, now: Time, id: BookingId) {
        if self.bookings.contains_key(&id) {
            let booking = self.remove_booking(id);
            self.free_early(now, booking.receipt.part.end());
        }
    }

    /// Enters a part into the calendar.
    pub(super) fn enter(&mut self, part: Part, fee: Area, state: BookingState, hold: Option<HoldId>) -> Receipt {
        let number = self.number();
        let receipt = Receipt { booking: BookingId(number), part, rent: self.terms.tariff.cost(&part), fee };
        self.future.insert((part.start, number), part);
        self.bookings.insert(receipt.booking, DeskBooking { receipt, state, hold });
        receipt
    }

    pub(super) fn charge(&mut self, receipt: &Receipt) {
        self.account.booked += 1;
        self.account.rents += receipt.rent;
        self.account.fees += receipt.fee;
    }

    /// Checks that a part is admissible; waiting jobs do not count.
    pub(super) fn admit(&mut self, part: &Part) -> Result<(), Denial> {
        self.check(part)?;
        self.gather_inputs();
        if self.fixed_counts().most(part.start, part.end()) + part.procs > self.terms.procs {
            return Err(Denial::NoRoom);
        }
        Ok(())
    }

    /// Checks a part as far as this is possible without the calendar.
    pub(super) fn check(&self, part: &Part) -> Result<(), Denial> {
        part.check()?;
        match part {
            _ if part.procs > self.terms.procs => Err(Denial::TooLarge(self.terms.procs)),
            _ if part.start < self.now => Err(Denial::InPast),
            _ => Ok(()),
        }
    }

    /// Processors occupied by fixed parts.
    pub(super) fn fixed_counts(&self) -> Counts {
        Counts::from_bookings(self.plan.fixed.iter().map(|fixed| (fixed.from, fixed.until, fixed.procs)))
    }

    /// Processors occupied by fixed parts and by the planned queue.
    pub(super) fn planned_counts(&self) -> Counts {
        self.counts_with(&self.plan.starts)
    }

    /// Processors occupied by fixed parts and by the queue with these starts.
    pub(super) fn counts_with(&self, starts: &[Time]) -> Counts {
        let fixed = self.plan.fixed.iter().map(|fixed| (fixed.from, fixed.until, fixed.procs));
        let planned = self.queue.iter().zip(starts);
        let planned = planned.map(|(queued, start)| (*start, *start + queued.request.walltime, queued.request.nodes));
        Counts::from_bookings(fixed.chain(planned))
    }

    pub(super) fn begin_reservations(&mut self) {
        while let Some(((start, number), part)) = self.future.first_key_value().map(|(key, part)| (*key, *part))
            && start <= self.now
        {
            let id = BookingId(number);
            self.future.remove(&(start, number));
            self.active.insert(number, Active { until: part.end(), procs: part.procs });
            self.ends.insert((part.end(), id));
            self.bookings.get_mut(&id).expect("what begins has been booked").state = BookingState::Begun;
            self.actions.push(DeskAction::Begin(id));
        }
    }

    /// Ends a booking whose time is over, or whose rest is not needed.
    pub fn end_booking(&mut self, id: BookingId) {
        let booking = self.remove_booking(id);
        self.free_early(self.now, booking.receipt.part.end());
        if let Some(hold) = booking.hold {
            self.hold_done(hold);
        }
    }

    pub(super) fn remove_booking(&mut self, id: BookingId) -> DeskBooking {
        let booking = self.bookings.remove(&id).expect("what is removed has been booked");
        let part = booking.receipt.part;
        self.future.remove(&(part.start, id.0));
        self.active.remove(&id.0);
        self.ends.remove(&(part.end(), id));
        booking
    }
}
