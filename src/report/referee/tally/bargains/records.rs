//! The meaning of the records of negotiations.

use super::{BookingSpan, HoldSpan, Idled, NegotiationCounts, NegotiationData, OpenBooking, Takings};
use crate::referee::records::tell;
use crate::referee::tally::counting::{CountResult, Reporter};
use crate::referee::tally::{Inconsistent, Tally, TaskRow};
use hansa_sim::grid::{Area, BookingId, HoldId, JobId, Offer, Part, Receipt, Slot, TaskId};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::{Bargain, Fault, HoldFate, Reason, Refusal};
use hansa_sim::time::{Span, Time};

impl Tally {
    pub fn advertised(&mut self, by: Reporter, user: &ActorId, _version: &u64, slots: &[Slot]) -> CountResult {
        self.bargains.of(*user).adverts += 1;
        if let (true, Some(&site)) = (self.bargains.keeps, self.site_of.get(&by.actor)) {
            let most = self.bargains.offers.entry(site).or_default();
            if slots.len() > most.1.len() {
                *most = (by.now, slots.to_vec());
            }
        }
        Ok(None)
    }

    pub fn quoted(&mut self, by: Reporter, user: &ActorId, procs: &u32, span: &Span, offers: &[Offer]) -> CountResult {
        self.bargains.of(*user).quotes += 1;
        if let (true, Some(first), Some(&site)) = (self.bargains.keeps, offers.first(), self.site_of.get(&by.actor)) {
            let area = Area::of(*procs, *span).seconds();
            let share = |fee: Area| if area > 0.0 { fee.seconds() / area } else { 0.0 };
            self.bargains.seen.push(NegotiationData::Quote { site, time: by.now, soonest: share(first.fee) });
        }
        Ok(None)
    }

    pub fn denied(&mut self, by: Reporter, user: &ActorId, job: &JobId, why: &Refusal) -> CountResult {
        self.asks_for(*user, *job)?;
        self.bargains.of(*user).denied[*why as usize] += 1;
        if let (true, Refusal::Stale, Some(&site)) = (self.bargains.keeps, why, self.site_of.get(&by.actor)) {
            self.bargains.seen.push(NegotiationData::Stale { site, time: by.now });
        }
        Ok(None)
    }

    pub fn booked(&mut self, by: Reporter, user: &ActorId, job: &JobId, receipt: &Receipt) -> CountResult {
        self.asks_for(*user, *job)?;
        let key = (by.actor, receipt.booking);
        if self.bargains.open.contains_key(&key) {
            return Err(Inconsistent::BookedTwice(receipt.booking, self.names.of_actor(by.actor)));
        }
        let was_held = self.bargains.committing.take() == Some((by.actor, *job));
        let charge = self.site_of.get(&by.actor).map_or(Area::ZERO, |site| self.sites[*site as usize].charge);
        let open = OpenBooking { user: *user, job: *job, receipt: *receipt, charge: charge.min(receipt.fee), was_held };
        self.bargains.open.insert(key, open);
        self.bargains.of(*user).booked += 1;
        self.bargains.at(by.actor).charge(&open);
        if was_held {
            self.bargains.legs.insert(key, *job);
            let together = self.bargains.together.entry(*job).or_default();
            together.has += 1;
            together.open += 1;
        }
        Ok(None)
    }

    pub fn returned(&mut self, by: Reporter, booking: &BookingId, used: &Area, penalty: &Option<Area>) -> CountResult {
        let open = self.close_booking(by, *booking)?;
        let counts = self.bargains.of(open.user);
        counts.returned += 1;
        match penalty {
            Some(penalty) => counts.penalties += *penalty,
            None => counts.charge(&open, *used),
        }
        let takings = self.bargains.at(by.actor);
        match penalty {
            Some(penalty) => {
                takings.give_back(&open);
                takings.penalties += *penalty;
            }
            None => takings.used += *used,
        }
        self.bargains.leg_over(by.actor, *booking, |together| together.has -= 1);
        self.see_booking(by, &open, *used, false);
        Ok(None)
    }

    /// The rest of a booking has been taken back: its rent is refunded but for a penalty, and the fee is kept.
    pub fn handed_back(
        &mut self,
        by: Reporter,
        booking: &BookingId,
        used: &Area,
        refund: &Area,
        penalty: &Area,
    ) -> CountResult {
        let open = self.close_booking(by, *booking)?;
        let Part { procs, .. } = open.receipt.part;
        let rest = Area::of(procs, open.receipt.part.end().since(by.now));
        let rent = *refund + *penalty;
        let counts = self.bargains.of(open.user);
        counts.handed_back += 1;
        counts.charge(&open, *used);
        counts.rents = counts.rents.saturating_sub(rent);
        counts.area = counts.area.saturating_sub(rest);
        counts.penalties += *penalty;
        let takings = self.bargains.at(by.actor);
        takings.rents = takings.rents.saturating_sub(rent);
        takings.penalties += *penalty;
        takings.used += *used;
        self.bargains.leg_over(by.actor, *booking, |_| {});
        self.see_booking(by, &open, *used, false);
        Ok(None)
    }

    pub fn elapsed(&mut self, by: Reporter, booking: &BookingId, used: &Area) -> CountResult {
        let open = self.close_booking(by, *booking)?;
        self.bargains.of(open.user).charge(&open, *used);
        self.bargains.at(by.actor).used += *used;
        self.bargains.leg_over(by.actor, *booking, |_| {});
        self.see_booking(by, &open, *used, false);
        Ok(None)
    }

    /// Nodes of a booking have failed: its user pays for the used part.
    pub fn revoked(
        &mut self,
        by: Reporter,
        booking: &BookingId,
        used: &Area,
        paid: &Area,
        compensation: &Area,
    ) -> CountResult {
        let open = self.close_booking(by, *booking)?;
        let counts = self.bargains.of(open.user);
        counts.revoked += 1;
        counts.rents += *paid;
        counts.area += *used;
        counts.used += *used;
        counts.compensation += *compensation;
        let takings = self.bargains.at(by.actor);
        takings.give_back(&open);
        takings.rents += *paid;
        takings.used += *used;
        takings.compensation += *compensation;
        self.bargains.leg_over(by.actor, *booking, |together| {
            together.has -= 1;
            together.is_broken = true;
        });
        self.see_booking(by, &open, *used, true);
        Ok(None)
    }

    /// Nodes of a booking have failed: it begins later, and may be shorter for it.
    pub fn postponed(&mut self, by: Reporter, receipt: &Receipt) -> CountResult {
        let open = self.bargains.open.get_mut(&(by.actor, receipt.booking));
        let open = open.ok_or_else(|| Inconsistent::NoBooking(receipt.booking, self.names.of_actor(by.actor)))?;
        let before = std::mem::replace(&mut open.receipt, *receipt);
        let user = open.user;
        self.bargains.of(user).postponed += 1;
        let takings = self.bargains.at(by.actor);
        takings.rents = takings.rents.saturating_sub(before.rent) + receipt.rent;
        takings.fees = takings.fees.saturating_sub(before.fee) + receipt.fee;
        Ok(None)
    }

    fn close_booking(&mut self, by: Reporter, booking: BookingId) -> Result<OpenBooking, Inconsistent> {
        let open = self.bargains.open.remove(&(by.actor, booking));
        open.ok_or_else(|| Inconsistent::NoBooking(booking, self.names.of_actor(by.actor)))
    }

    /// Records a booking up to now, for the page.
    fn see_booking(&mut self, by: Reporter, open: &OpenBooking, used: Area, is_revoked: bool) {
        let OpenBooking { user, job, receipt, was_held, .. } = *open;
        let Part { procs, start, .. } = receipt.part;
        if let (true, Some(&site)) = (self.bargains.keeps && start < by.now, self.site_of.get(&by.actor)) {
            let area = receipt.part.area();
            let share = if area.is_zero() { 0.0 } else { used.seconds() / area.seconds() };
            let from = start;
            let until = by.now;
            let worked = Some(used);
            let used = Some(share.min(1.0));
            let booking = BookingSpan { site, user, job, from, until, procs, used, worked, was_held, is_revoked };
            self.bargains.seen.push(NegotiationData::Booking(booking));
        }
    }

    /// Records a task that is taken back while it waits for its work, for the page.
    pub(in crate::referee::tally) fn see_idled(&mut self, by: Reporter, task: TaskId) {
        let Some(row) = self.jobs.get(&task.job).filter(|_| self.bargains.keeps) else { return };
        let index = task.index as usize;
        let user = row.user;
        if let TaskRow { site: Some(site), start: Some(from), .. } = row.tasks[index] {
            let procs = row.job.tasks[index].cores;
            self.bargains.seen.push(NegotiationData::Idled(Idled { site, user, task, from, until: by.now, procs }));
        }
    }

    pub fn held(
        &mut self,
        by: Reporter,
        user: &ActorId,
        hold: &HoldId,
        part: &Part,
        _fee: &Area,
        _expiry: &Time,
    ) -> CountResult {
        let job =
            u32::try_from(hold.request).map_err(|_| Inconsistent::NoHold(*hold, self.names.of_actor(by.actor)))?;
        self.asks_for(*user, JobId(job))?;
        if self.bargains.held.contains_key(&(by.actor, *hold)) {
            return Err(Inconsistent::HeldTwice(*hold, self.names.of_actor(by.actor)));
        }
        self.bargains.held.insert((by.actor, *hold), (*user, *part, by.now));
        self.bargains.of(*user).held += 1;
        Ok(None)
    }

    pub fn settled(&mut self, by: Reporter, hold: &HoldId, fate: &HoldFate) -> CountResult {
        let held = self.bargains.held.remove(&(by.actor, *hold));
        let (user, part, since) = held.ok_or_else(|| Inconsistent::NoHold(*hold, self.names.of_actor(by.actor)))?;
        self.bargains.of(user).fates[*fate as usize] += 1;
        if *fate == HoldFate::Committed {
            self.bargains.committing = u32::try_from(hold.request).ok().map(|job| (by.actor, JobId(job)));
        }
        if let (HoldFate::Broken, Ok(job)) = (fate, u32::try_from(hold.request).map(JobId))
            && self.jobs.contains_key(&job)
        {
            self.bargains.together.entry(job).or_default().is_hold_broken = true;
        }
        if let (true, Some(&site)) = (self.bargains.keeps, self.site_of.get(&by.actor)) {
            let hold = HoldSpan { site, user, hold: *hold, part, since, over: by.now, fate: *fate };
            self.bargains.seen.push(NegotiationData::Hold(hold));
        }
        Ok(None)
    }

    /// Checks that a user may request something for a job: it is its own, even if it is over.
    fn asks_for(&self, user: ActorId, job: JobId) -> Result<(), Inconsistent> {
        match self.jobs.get(&job) {
            Some(row) if row.user == user => Ok(()),
            None if self.knows(job) => Ok(()),
            Some(_) => Err(Inconsistent::NotItsJob(job, self.names.of_actor(user))),
            None => Err(Inconsistent::UnknownJob(job)),
        }
    }

    /// A site has accepted a task of a user, which has assigned it there before.
    pub fn entered(&mut self, by: Reporter, user: &ActorId, task: &TaskId) -> CountResult {
        let site = self.site(by.actor)?;
        let name = self.names.of_actor(by.actor);
        if self.open(task.job)?.user != *user {
            return Err(Inconsistent::NotItsJob(task.job, self.names.of_actor(*user)));
        }
        let row = self.given(*task, site)?;
        match row {
            TaskRow { site: None, .. } => return Err(Inconsistent::NotGiven(*task, name)),
            TaskRow { entered: true, .. } => return Err(Inconsistent::Again(*task, "been taken in")),
            _ => row.entered = true,
        }
        if self.bargains.keeps {
            *self.bargains.entered.entry(task.job).or_default() += 1;
        }
        Ok(None)
    }

    /// The run is senseless now, with either of the two at fault.
    pub fn accused(&mut self, by: Reporter, site: &ActorId, fault: &Fault) -> CountResult {
        let user = self.names.of_actor(by.actor);
        let site = self.names.of_actor(*site);
        Err(Inconsistent::Accused(user, site, tell(*fault)))
    }

    pub fn bargained(&mut self, by: Reporter, job: &JobId, end: &Bargain, why: &Option<Reason>) -> CountResult {
        let row = self.told_of(by, *job)?;
        if row.bargain.replace(*end).is_some() {
            return Err(Inconsistent::BargainedTwice(*job));
        }
        self.bargains.of(by.actor).ends[*end as usize] += 1;
        if let Some(why) = why {
            self.bargains.causes[*why as usize] += 1;
        }
        Ok(None)
    }
}

impl NegotiationCounts {
    fn charge(&mut self, open: &OpenBooking, used: Area) {
        self.rents += open.receipt.rent;
        self.fees += open.receipt.fee;
        self.charges += open.charge;
        self.area += open.receipt.part.area();
        self.used += used;
    }
}

impl Takings {
    fn charge(&mut self, open: &OpenBooking) {
        self.bookings += 1;
        self.rents += open.receipt.rent;
        self.fees += open.receipt.fee;
        self.charges += open.charge;
    }

    fn give_back(&mut self, open: &OpenBooking) {
        self.rents = self.rents.saturating_sub(open.receipt.rent);
        self.fees = self.fees.saturating_sub(open.receipt.fee);
        self.charges = self.charges.saturating_sub(open.charge);
    }
}
