//! Holds: temporary bookings, which become final when all sites of a request have granted theirs.
//!
//! A coordinator may repeat a request, late or twice. So the desk keeps the last state of each hold, and its answers do
//! not depend on how often a message arrives. A site never waits for another process: a hold lapses by itself.

use super::bookings::BookingState;
use super::{Desk, DeskAction};
use crate::grid::{Area, BookingId, Denial, Grant, HoldId, Part, QuoteId, Receipt};
use crate::time::Time;

#[derive(Clone, Copy, Debug)]
pub(super) struct DeskHold {
    pub fate: HoldState,
    /// The grant; none if the hold was aborted before its request arrived.
    pub granted: Option<(Grant, Receipt)>,
}

/// The state of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldState {
    Held,
    Committed,
    /// The booked time is over.
    Done,
    /// The hold was aborted before a commit.
    Released,
    Expired,
    /// The hold was cancelled after a commit.
    Cancelled,
    /// Processors failed, so the hold was taken from its user.
    Broken,
}

impl Desk {
    /// Holds processors until the lease ends, which is no later than the start.
    pub fn hold(&mut self, now: Time, id: HoldId, part: Part, quote: Option<QuoteId>) -> Result<Grant, Denial> {
        self.advance_to(now);
        self.begin_reservations();
        if let Some(hold) = self.holds.get(&id) {
            let alive = hold.granted.filter(|_| hold.fate == HoldState::Held);
            return alive.map(|(grant, _)| grant).ok_or(Denial::HoldOver);
        }
        if part.start <= now {
            return Err(Denial::InPast);
        }
        self.admit(&part)?;
        let fee = self.fee_for(&part, quote);
        let receipt = self.enter(part, fee, BookingState::Held, Some(id));
        self.outdate_plan_by(&part);
        let expiry = (now + self.terms.lease).min(part.start);
        let grant = Grant { hold: id, expiry, fee };
        self.leases.insert((expiry, receipt.booking), id);
        self.holds.insert(id, DeskHold { fate: HoldState::Held, granted: Some((grant, receipt)) });
        Ok(grant)
    }

    /// Makes a hold a booking. A repeated commit is confirmed again: its answer may have been lost.
    pub fn commit(&mut self, now: Time, id: HoldId) -> Result<Receipt, Denial> {
        self.advance_to(now);
        self.begin_reservations();
        let hold = self.holds.get_mut(&id).ok_or(Denial::HoldOver)?;
        let (grant, receipt) = hold.granted.ok_or(Denial::HoldOver)?;
        match hold.fate {
            HoldState::Committed | HoldState::Done => Ok(receipt),
            HoldState::Held => {
                hold.fate = HoldState::Committed;
                self.leases.remove(&(grant.expiry, receipt.booking));
                let booking = self.bookings.get_mut(&receipt.booking).expect("what is held is booked");
                booking.state = BookingState::Booked { since: now };
                self.charge(&receipt);
                Ok(receipt)
            }
            HoldState::Released | HoldState::Expired | HoldState::Cancelled | HoldState::Broken => {
                Err(Denial::HoldOver)
            }
        }
    }

    /// Aborts a hold that has not been committed. If its request has not arrived yet, it will be refused.
    pub fn abort(&mut self, now: Time, id: HoldId) -> HoldState {
        self.advance_to(now);
        let hold = self.holds.entry(id).or_insert(DeskHold { fate: HoldState::Released, granted: None });
        if let (HoldState::Held, Some((grant, receipt))) = (hold.fate, hold.granted) {
            hold.fate = HoldState::Released;
            self.leases.remove(&(grant.expiry, receipt.booking));
            self.free_hold(receipt.booking);
        }
        self.holds[&id].fate
    }

    /// Cancels a hold, committed or not, and returns the penalty, which is zero soon after the commit.
    pub fn cancel_hold(&mut self, now: Time, id: HoldId) -> (HoldState, Area) {
        self.abort(now, id);
        let hold = self.holds.get_mut(&id).expect("there is a last word on each hold");
        let (HoldState::Committed, Some((_, receipt))) = (hold.fate, hold.granted) else {
            return (hold.fate, Area::ZERO);
        };
        hold.fate = HoldState::Cancelled;
        let penalty = match self.bookings[&receipt.booking].state {
            BookingState::Booked { since } if now > since + self.terms.grace => {
                Some(receipt.fee.part(self.terms.cancelling))
            }
            BookingState::Booked { .. } => Some(Area::ZERO),
            BookingState::Held | BookingState::Begun => None,
        };
        (HoldState::Cancelled, self.take_back(receipt.booking, penalty))
    }

    /// The booking of a hold, if it was ever granted.
    pub fn booking_of(&self, id: HoldId) -> Option<BookingId> {
        self.holds.get(&id)?.granted.map(|(_, receipt)| receipt.booking)
    }

    /// The state of a hold, if it is known.
    #[cfg(test)]
    pub fn fate(&self, id: HoldId) -> Option<HoldState> {
        self.holds.get(&id).map(|hold| hold.fate)
    }

    pub(super) fn expire_leases(&mut self) {
        while let Some(((_, booking), id)) =
            self.leases.first_key_value().map(|(key, id)| (*key, *id)).filter(|(key, _)| key.0 <= self.now)
        {
            self.leases.pop_first();
            self.holds.get_mut(&id).expect("what is leased is held").fate = HoldState::Expired;
            self.free_hold(booking);
            self.actions.push(DeskAction::Lapse(id));
        }
    }

    pub(super) fn hold_done(&mut self, id: HoldId) {
        self.holds.get_mut(&id).expect("there is a last word on each hold").fate = HoldState::Done;
    }

    fn free_hold(&mut self, id: BookingId) {
        let booking = self.remove_booking(id);
        self.free_early(self.now, booking.receipt.part.end());
    }
}
