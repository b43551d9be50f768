//! Bookings and holds at a site: their owners, their return, and the messages about their fate.

use super::{Booked, NegotiatingManager};
use crate::grid::{Area, BookingId, Denial, Grant, HoldId, JobId, Receipt};
use crate::kernel::ActorId;
use crate::protocol::{
    Claim, Claimed, Coordinated, HoldFate, Lot, Message, Pledge, PledgeAnswer, Record, Refusal, Returned,
};
use crate::roles::site::SiteOrder;
use crate::systems::provisioning::desk::HoldState;
use crate::time::Time;

impl NegotiatingManager {
    pub(super) fn claim(&mut self, now: Time, user: ActorId, claim: Claim, orders: &mut Vec<SiteOrder>) {
        let Claim { number, job, lot } = claim;
        let result = match lot {
            Lot::Slots { version, parts } => self.desk.take(now, version, &parts),
            Lot::Quote { quote, start } => self.desk.book(now, quote, start).map(|receipt| vec![receipt]),
        };
        if let Err(denial) = &result {
            orders.push(SiteOrder::Log(Record::Denied { user, job, why: Refusal::from(*denial) }));
        }
        for receipt in result.iter().flatten() {
            self.note_booked(now, (user, job), *receipt, false, orders);
        }
        orders.push(SiteOrder::Send(user, Message::Claimed(Claimed { number, result })));
    }

    /// Handles a user's message about a hold. Users cannot name holds of others.
    pub(super) fn coordinate(
        &mut self,
        now: Time,
        user: ActorId,
        hold: HoldId,
        pledge: Pledge,
        orders: &mut Vec<SiteOrder>,
    ) {
        let Some(its) = known_as(user, hold) else {
            let answer = PledgeAnswer::Refused(Denial::NotBooked);
            return orders.push(SiteOrder::Send(user, Message::Coordinated(Coordinated { hold, answer })));
        };
        let answer = match pledge {
            Pledge::Hold { part, quote } => match self.desk.hold(now, its, part, quote) {
                Ok(Grant { expiry, fee, .. }) => {
                    if self.held.insert(its) {
                        orders.push(SiteOrder::Log(Record::Held { user, hold, part, fee, expiry }));
                    }
                    PledgeAnswer::Granted { expiry, fee }
                }
                Err(denial) => {
                    let job = JobId(hold.request as u32);
                    orders.push(SiteOrder::Log(Record::Denied { user, job, why: Refusal::from(denial) }));
                    PledgeAnswer::Refused(denial)
                }
            },
            Pledge::Commit => match self.desk.commit(now, its) {
                Ok(receipt) => {
                    if self.held.contains(&its) {
                        self.log_fate(its, HoldFate::Committed, orders);
                        self.note_booked(now, (user, JobId(hold.request as u32)), receipt, true, orders);
                    }
                    PledgeAnswer::Committed { booking: receipt.booking, part: receipt.part }
                }
                Err(_) => PledgeAnswer::Expired,
            },
            Pledge::Abort => {
                self.desk.abort(now, its);
                return self.log_fate(its, HoldFate::Released, orders);
            }
            // A booking stays while tasks run in it.
            Pledge::Cancel if self.is_used(its) => PledgeAnswer::Refused(Denial::InUse),
            Pledge::Cancel => {
                let (fate, penalty) = self.desk.cancel_hold(now, its);
                self.log_fate(its, HoldFate::Released, orders);
                if let (HoldState::Cancelled, Some(booking)) = (fate, self.desk.booking_of(its)) {
                    self.note_returned(now, booking, penalty, orders);
                }
                PledgeAnswer::Cancelled
            }
        };
        orders.push(SiteOrder::Send(user, Message::Coordinated(Coordinated { hold, answer })));
    }

    fn is_used(&self, its: HoldId) -> bool {
        let booked = self.desk.booking_of(its).and_then(|booking| self.booked.get(&booking));
        booked.is_some_and(|booked| booked.used > 0)
    }

    /// Logs the fate of a hold, once.
    pub(super) fn log_fate(&mut self, its: HoldId, fate: HoldFate, orders: &mut Vec<SiteOrder>) {
        if self.held.remove(&its) {
            orders.push(SiteOrder::Log(Record::Settled { hold: user_hold_id(its), fate }));
        }
    }

    fn note_booked(
        &mut self,
        now: Time,
        (user, job): (ActorId, JobId),
        receipt: Receipt,
        is_leg: bool,
        orders: &mut Vec<SiteOrder>,
    ) {
        orders.push(SiteOrder::Log(Record::Booked { user, job, receipt }));
        let begun = receipt.part.start <= now;
        let part = receipt.part;
        let tasks = Vec::new();
        let booked = Booked { user, job, part, used: 0, worked: Area::ZERO, worth: 0, begun, is_leg, tasks };
        self.booked.insert(receipt.booking, booked);
    }

    fn note_returned(&mut self, now: Time, booking: BookingId, penalty: Area, orders: &mut Vec<SiteOrder>) {
        let Some(booked) = self.booked.get(&booking) else { return };
        // There is no refund once it has begun.
        let penalty = Some(penalty).filter(|_| !booked.begun);
        orders.push(SiteOrder::Log(Record::Returned { booking, used: booked.worked, penalty }));
        self.close_booking(now, booking, orders);
    }

    pub(super) fn give_back(&mut self, now: Time, user: ActorId, booking: BookingId, orders: &mut Vec<SiteOrder>) {
        let result = match self.booked.get(&booking).filter(|booked| booked.user == user) {
            // A booking stays while tasks run in it; a user that asks has lost count.
            Some(Booked { used: 1.., .. }) => Err(Denial::InUse),
            Some(Booked { worked, .. }) => match (*worked, self.desk.hand_back(now, booking)) {
                (used, Some((refund, penalty))) => {
                    orders.push(SiteOrder::Log(Record::HandedBack { booking, used, refund, penalty }));
                    self.close_booking(now, booking, orders);
                    Ok(penalty)
                }
                (_, None) => self.cancel(now, booking, orders),
            },
            None => Err(Denial::NotBooked),
        };
        orders.push(SiteOrder::Send(user, Message::Returned(Returned { booking, result })));
    }

    fn cancel(&mut self, now: Time, booking: BookingId, orders: &mut Vec<SiteOrder>) -> Result<Area, Denial> {
        let penalty = self.desk.cancel(now, booking)?;
        self.note_returned(now, booking, penalty, orders);
        Ok(penalty)
    }

    /// Removes a booking that is over or was returned. Tasks that wait for it join the queue.
    pub(super) fn close_booking(&mut self, now: Time, booking: BookingId, orders: &mut Vec<SiteOrder>) {
        let Some(booked) = self.booked.remove(&booking) else { return };
        for task in booked.tasks {
            self.start_within(now, task, orders);
        }
    }
}

/// Identity of a hold at the desk. Users number their holds by their jobs, so the number of the user comes before that,
/// and no user can name the hold of another.
fn known_as(user: ActorId, hold: HoldId) -> Option<HoldId> {
    let request = u32::try_from(hold.request).ok()?;
    Some(HoldId { request: u64::from(user.0) << 32 | u64::from(request), ..hold })
}

/// Identity of a hold as its user knows it.
fn user_hold_id(its: HoldId) -> HoldId {
    HoldId { request: u64::from(its.request as u32), ..its }
}
