//! What has been booked: how it is charged, begins, ends, is taken back or handed back early.

use super::{Active, Deed, Desk};
use crate::grid::{Area, BookingId, Counts, Denial, HoldId, Part, Receipt};
use crate::time::Time;

/// What has been booked and is not over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Booking {
    pub receipt: Receipt,
    pub state: Standing,
    /// If it came about as one leg of several.
    pub hold: Option<HoldId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Until the lease is over.
    Held,
    Booked {
        since: Time,
    },
    Begun,
}

/// What a site has taken. Each charge has its booking: `rents + fees` is what was charged, less what went back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub booked: u64,
    pub cancelled: u64,
    /// Taken from their users as processors failed.
    pub revoked: u64,
    pub rents: Area,
    pub fees: Area,
    /// For cancelling.
    pub penalties: Area,
}

impl Account {
    pub fn revenue(&self) -> Area {
        self.rents + self.fees + self.penalties
    }
}

impl Desk {
    /// Takes a booking back. Before it begins that costs a part of its fee; later nothing is given back, but the
    /// processors are free at once. Says what has to be paid beside what is charged already, or instead of it.
    pub fn cancel(&mut self, now: Time, id: BookingId) -> Result<Area, Denial> {
        self.reach(now);
        let booking = self.bookings.get(&id).ok_or(Denial::NotBooked)?;
        if booking.state == Standing::Held || booking.hold.is_some() {
            return Err(Denial::NotBooked);
        }
        let penalty = match booking.state {
            Standing::Begun => None,
            _ => Some(booking.receipt.fee.part(self.terms.cancelling)),
        };
        Ok(self.take_back(id, penalty))
    }

    /// Frees a booking; what was charged is given back for a penalty, or not at all.
    pub(super) fn take_back(&mut self, id: BookingId, penalty: Option<Area>) -> Area {
        let booking = self.remove_booking(id);
        let Receipt { part, rent, fee, .. } = booking.receipt;
        self.freed(self.now, part.end());
        if let Some(penalty) = penalty {
            self.account.cancelled += 1;
            self.account.rents = self.account.rents.saturating_sub(rent);
            self.account.fees = self.account.fees.saturating_sub(fee);
            self.account.penalties += penalty;
        }
        penalty.unwrap_or_default()
    }

    /// Sets processors aside for somebody who pays nothing for them; who waits gives way.
    pub fn set_aside(&mut self, now: Time, part: Part) -> Result<BookingId, Denial> {
        self.reach(now);
        self.begin_reservations();
        self.admit(&part)?;
        let receipt = self.enter(part, Area::ZERO, Standing::Booked { since: now }, None);
        self.displaced_by(&part);
        Ok(receipt.booking)
    }

    /// What was set aside is free, if its time is not over anyway.
    pub fn give_up(&mut self, now: Time, id: BookingId) {
        if self.bookings.contains_key(&id) {
            let booking = self.remove_booking(id);
            self.freed(now, booking.receipt.part.end());
        }
    }

    /// Puts something on the calendar.
    pub(super) fn enter(&mut self, part: Part, fee: Area, state: Standing, hold: Option<HoldId>) -> Receipt {
        let number = self.number();
        let receipt = Receipt { booking: BookingId(number), part, rent: part.area().at(self.terms.rate), fee };
        self.future.insert((part.start, number), part);
        self.bookings.insert(receipt.booking, Booking { receipt, state, hold });
        receipt
    }

    pub(super) fn charge(&mut self, receipt: &Receipt) {
        self.account.booked += 1;
        self.account.rents += receipt.rent;
        self.account.fees += receipt.fee;
    }

    /// Whether something is admissible: who waits does not count.
    pub(super) fn admit(&mut self, part: &Part) -> Result<(), Denial> {
        self.check(part)?;
        self.look();
        if self.fixed_counts().most(part.start, part.end()) + part.procs > self.terms.procs {
            return Err(Denial::NoRoom);
        }
        Ok(())
    }

    /// What can be said without looking at the calendar.
    pub(super) fn check(&self, part: &Part) -> Result<(), Denial> {
        part.check()?;
        match part {
            _ if part.procs > self.terms.procs => Err(Denial::TooLarge(self.terms.procs)),
            _ if part.start < self.now => Err(Denial::InPast),
            _ => Ok(()),
        }
    }

    /// Of what stands fast.
    pub(super) fn fixed_counts(&self) -> Counts {
        Counts::of(self.plan.fixed.iter().map(|fixed| (fixed.from, fixed.until, fixed.procs)))
    }

    /// Of what stands fast, and the queue as it is planned.
    pub(super) fn all_counts(&self) -> Counts {
        self.counts_with(&self.plan.starts)
    }

    /// Of what stands fast, and the queue with these starts.
    pub(super) fn counts_with(&self, starts: &[Time]) -> Counts {
        let fixed = self.plan.fixed.iter().map(|fixed| (fixed.from, fixed.until, fixed.procs));
        let planned = self.queue.iter().zip(starts);
        let planned = planned.map(|(queued, start)| (*start, *start + queued.ask.walltime, queued.ask.nodes));
        Counts::of(fixed.chain(planned))
    }

    pub(super) fn begin_reservations(&mut self) {
        while let Some(((start, number), part)) = self.future.first_key_value().map(|(key, part)| (*key, *part))
            && start <= self.now
        {
            let id = BookingId(number);
            self.future.remove(&(start, number));
            self.active.insert(number, Active { until: part.end(), procs: part.procs });
            self.ends.insert((part.end(), id));
            self.bookings.get_mut(&id).expect("what begins has been booked").state = Standing::Begun;
            self.deeds.push(Deed::Begin(id));
        }
    }

    /// Its time is over, or nobody needs the rest of it.
    pub fn end_booking(&mut self, id: BookingId) {
        let booking = self.remove_booking(id);
        self.freed(self.now, booking.receipt.part.end());
        if let Some(hold) = booking.hold {
            self.hold_done(hold);
        }
    }

    pub(super) fn remove_booking(&mut self, id: BookingId) -> Booking {
        let booking = self.bookings.remove(&id).expect("what is removed has been booked");
        let part = booking.receipt.part;
        self.future.remove(&(part.start, id.0));
        self.active.remove(&id.0);
        self.ends.remove(&(part.end(), id));
        booking
    }
}
