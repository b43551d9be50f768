//! Failed processors: they occupy the calendar until their expected return, and parts without room beside them give
//! way.
//!
//! Running jobs are on processors that are up, so they always fit. The rest is holds and bookings. Holds give way
//! first, as they promise nothing; then the newest booking gives way before older ones. A caller that asks for the next
//! part and removes it, until none is left, has a calendar that fits: in the extreme it contains running jobs only.

use super::bookings::BookingState;
use super::{Active, Desk, HoldState, ProcessorUse};
use crate::grid::{Area, BookingId, Bookings, Counts, Expected, HoldId, Part, Receipt, TaskId};
use crate::time::{Span, Time};

/// A part that gives way, as failures leave it no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yields {
    Hold(HoldId),
    Booking(BookingId),
}

impl Desk {
    /// Sets the failed processors; all others are up.
    pub fn are_down(&mut self, now: Time, down: &[Expected]) {
        self.advance_to(now);
        self.down = down.iter().map(|one| Active { until: one.back, procs: one.nodes.len() }).collect();
        self.plan.displace();
    }

    /// The next part that has to give way, if any. `in_use` is the number of processors in use of a booking that has
    /// begun; they stay in use.
    pub fn yields(&mut self, in_use: impl Fn(BookingId) -> u32) -> Option<Yields> {
        self.gather_inputs();
        let counts = self.fixed_counts();
        // More processors are occupied than exist from the begin of some part on.
        let at = self
            .plan
            .fixed
            .iter()
            .map(|fixed| fixed.from)
            .find(|at| counts.most(*at, *at + MOMENT) > self.terms.procs)?;
        let mut last_first = self
            .bookings
            .iter()
            .rev()
            .filter(|(id, booking)| {
                let Part { procs, start, .. } = booking.receipt.part;
                let used = if booking.state == BookingState::Begun { in_use(**id) } else { 0 };
                start.max(self.now) <= at && at < booking.receipt.part.end() && procs > used
            })
            .peekable();
        let (last, _) = *last_first.peek().expect("what runs fits beside what is down");
        let held =
            last_first.find(|(_, booking)| booking.state == BookingState::Held).and_then(|(_, booking)| booking.hold);
        Some(held.map_or(Yields::Booking(*last), Yields::Hold))
    }

    /// Drops a hold that has not been committed.
    pub fn drop_hold(&mut self, id: HoldId) {
        let hold = self.holds.get_mut(&id).expect("what is held is known");
        hold.fate = HoldState::Broken;
        let (grant, receipt) = hold.granted.expect("what is held has been granted");
        self.leases.remove(&(grant.expiry, receipt.booking));
        self.remove_booking(receipt.booking);
    }

    /// Postpones a booking that has not begun: to the time when there is room for all of it, or for the time it has
    /// left. The rent is that of the remaining part. None, if there is no such time, or if it has to begin together
    /// with others elsewhere.
    pub fn postpone(&mut self, id: BookingId, how: Bookings) -> Option<Receipt> {
        let booking = *self.bookings.get(&id)?;
        let Receipt { part: before, rent, fee, .. } = booking.receipt;
        if booking.state == BookingState::Begun || booking.hold.is_some() {
            return None;
        }
        self.gather_inputs();
        let mut others = self.fixed_counts();
        others.remove(before.start, before.end(), before.procs);
        let part = match how {
            Bookings::Move => {
                let start = others.earliest(before.start, before.span, self.terms.procs - before.procs);
                Part { start, ..before }
            }
            Bookings::Shorten => shorten_part(&before, &others, self.terms.procs)?,
            Bookings::Break => return None,
        };
        part.check().ok()?;
        self.future.remove(&(before.start, id.0));
        self.future.insert((part.start, id.0), part);
        let receipt = Receipt { booking: id, part, rent: self.terms.tariff.cost(&part), fee };
        self.bookings.get_mut(&id).expect("it has been found").receipt = receipt;
        self.account.rents = self.account.rents.saturating_sub(rent) + receipt.rent;
        self.plan.displace();
        Some(receipt)
    }

    /// Takes a booking from its user, who pays for the part used, at its price. Returns the old receipt.
    pub fn revoke(&mut self, id: BookingId, paid: Area) -> Receipt {
        let booking = self.remove_booking(id);
        if let Some(hold) = booking.hold {
            self.holds.get_mut(&hold).expect("there is a last word on each hold").fate = HoldState::Broken;
        }
        let Receipt { rent, fee, .. } = booking.receipt;
        self.account.revoked += 1;
        self.account.rents = self.account.rents.saturating_sub(rent) + paid;
        self.account.fees = self.account.fees.saturating_sub(fee);
        self.plan.displace();
        booking.receipt
    }

    /// Keeps a job on processors of a booking that is revoked next.
    pub fn adopt(&mut self, job: TaskId, procs: u32, until: Time) {
        let Some(ProcessorUse::Runs(number)) = self.jobs.get(&job).copied() else {
            let number = self.number();
            self.jobs.insert(job, ProcessorUse::Runs(number));
            self.active.insert(number, Active { until, procs });
            return;
        };
        let active = self.active.get_mut(&number).expect("what runs is active");
        *active = Active { until: until.max(active.until), procs: active.procs + procs };
    }
}

/// The rest of a part, from the time when there is room for it until its end. None, if no rest fits.
fn shorten_part(before: &Part, others: &Counts, procs: u32) -> Option<Part> {
    let end = before.end();
    let mut start = before.start;
    while others.most(start, end) + before.procs > procs {
        start = others.next_change(start).filter(|next| *next < end)?;
    }
    Some(Part { start, span: end.since(start), ..*before })
}

const MOMENT: Span = Span::from_micros(1);
