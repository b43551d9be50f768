//! What came of bargaining: what was asked, booked, held and given back, and whether all of it adds up.

use std::collections::BTreeMap;

use super::counting::{By, Taken};
use super::{Inconsistent, Tally, TaskRow};
use crate::grid::{Area, BookingId, HoldId, JobId, Offer, Part, Receipt, Slot, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Bargain, Fault, HoldFate, Refusal};
use crate::report::records::tell;
use crate::time::{Span, Time};

/// Keeps what is open, and counts what is over, user by user: each charge has its booking, and each hold its end.
#[derive(Clone, Debug, Default)]
pub struct Bargains {
    /// What is booked, by site.
    open: BTreeMap<(ActorId, BookingId), (ActorId, Receipt)>,
    /// Whose holds are open.
    held: BTreeMap<(ActorId, HoldId), (ActorId, Part)>,
    /// What has just been committed, and is booked next.
    committing: Option<(ActorId, JobId)>,
    pub users: BTreeMap<ActorId, Counts>,
    /// Jobs that have had several sites at once, but for those that are put aside and have nothing booked any more.
    together: BTreeMap<JobId, Together>,
    /// What has become of these.
    settled: Verdicts,
    /// Which open bookings are for which of them.
    legs: BTreeMap<(ActorId, BookingId), JobId>,
    /// Where all is kept for pages: what was quoted, booked and held.
    pub seen: Vec<Seen>,
    /// By site: when it advertised the most slots, and these.
    pub offers: BTreeMap<u32, (Time, Vec<Slot>)>,
    pub keeps: bool,
}

/// What a job has of the sites that it wants at once.
#[derive(Clone, Copy, Debug, Default)]
struct Together {
    /// How many sites have booked for it for good, and how many of these bookings are not over.
    has: u32,
    open: u32,
    /// Whether nodes of one failed.
    is_broken: bool,
    /// Once the job is put aside: how many tasks it has, if it counts.
    aside: Option<Option<usize>>,
}

/// How many jobs that wanted several sites at once have all of them, none, or only some, and how many had some until nodes failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    pub whole: u64,
    pub broken: u64,
    pub empty: u64,
    pub torn: u64,
}

/// What a page shows of bargaining.
#[derive(Clone, Copy, Debug)]
pub enum Seen {
    /// By processor-time: the fee of the earliest start.
    Quote {
        site: u32,
        time: Time,
        soonest: f64,
    },
    /// A claim came too late for what it was about.
    Stale {
        site: u32,
        time: Time,
    },
    /// With the share of it that tasks used.
    Booking {
        site: u32,
        user: ActorId,
        from: Time,
        until: Time,
        procs: u32,
        used: f64,
    },
    Hold {
        site: u32,
        user: ActorId,
        part: Part,
        fate: HoldFate,
    },
}

/// What came of one user's bargaining.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub adverts: u64,
    pub quotes: u64,
    pub booked: u64,
    pub returned: u64,
    pub held: u64,
    /// By what became of holds, why claims were denied, and how bargaining ended.
    pub fates: [u64; HoldFate::ALL.len()],
    pub denied: [u64; Refusal::ALL.len()],
    pub ends: [u64; Bargain::ALL.len()],
    /// What was paid for what was not given back in time, and for giving back.
    pub rents: Area,
    pub fees: Area,
    pub penalties: Area,
    /// How many bookings were taken from the user as nodes failed, how often one was to begin later, and what the user was given.
    pub revoked: u64,
    pub postponed: u64,
    pub compensation: Area,
    /// Of what was booked and not given back in time: all of it, and what tasks ran on.
    pub area: Area,
    pub used: Area,
}

impl Bargains {
    /// One that keeps all, as pages want it.
    pub fn keeping() -> Bargains {
        Bargains { keeps: true, ..Bargains::default() }
    }

    fn of(&mut self, user: ActorId) -> &mut Counts {
        self.users.entry(user).or_default()
    }

    /// How much is held and booked still.
    pub fn left(&self) -> (u64, u64) {
        (self.held.len() as u64, self.open.len() as u64)
    }

    /// What has become of jobs that are not told of one by one any more.
    pub fn settled(&self) -> Verdicts {
        self.settled
    }

    /// Counts what has become of a job of so many tasks; false if it is among those that are settled, or never had anything.
    pub fn judge(&self, job: JobId, tasks: usize, verdicts: &mut Verdicts) -> bool {
        self.together.get(&job).inspect(|together| verdicts.count(together, tasks)).is_some()
    }

    /// A job is put aside, which counts if its user has said what came of bargaining.
    pub fn put_aside(&mut self, job: JobId, tasks: usize, counts: bool) {
        if let Some(together) = self.together.get_mut(&job) {
            together.aside = Some(counts.then_some(tasks));
            self.settle(job);
        }
    }

    /// Of a job that is put aside only the verdict is kept, once nothing is booked for it.
    fn settle(&mut self, job: JobId) {
        let Some(together) = self.together.get(&job).filter(|together| together.open == 0) else { return };
        let Some(aside) = together.aside else { return };
        if let Some(tasks) = aside {
            self.settled.count(together, tasks);
        }
        self.together.remove(&job);
    }

    /// A booking of several is over, in this way.
    fn leg_over(&mut self, site: ActorId, booking: BookingId, how: impl FnOnce(&mut Together)) {
        let Some(job) = self.legs.remove(&(site, booking)) else { return };
        if let Some(together) = self.together.get_mut(&job) {
            together.open -= 1;
            how(together);
        }
        self.settle(job);
    }

    #[cfg(test)]
    pub fn remembers(&self) -> usize {
        self.together.len() + self.legs.len() + self.open.len() + self.held.len()
    }

    fn close(&mut self, site: ActorId, booking: BookingId) -> Option<(ActorId, &mut Counts, Receipt)> {
        let (user, receipt) = self.open.remove(&(site, booking))?;
        Some((user, self.of(user), receipt))
    }
}

/// What the records of bargaining mean.
impl Tally {
    pub fn advertised(&mut self, by: By, user: &ActorId, _version: &u64, slots: &[Slot]) -> Taken {
        self.bargains.of(*user).adverts += 1;
        if let (true, Some(&site)) = (self.bargains.keeps, self.site_of.get(&by.actor)) {
            let most = self.bargains.offers.entry(site).or_default();
            if slots.len() > most.1.len() {
                *most = (by.now, slots.to_vec());
            }
        }
        Ok(None)
    }

    pub fn quoted(&mut self, by: By, user: &ActorId, procs: &u32, span: &Span, offers: &[Offer]) -> Taken {
        self.bargains.of(*user).quotes += 1;
        if let (true, Some(first), Some(&site)) = (self.bargains.keeps, offers.first(), self.site_of.get(&by.actor)) {
            let area = Area::of(*procs, *span).seconds();
            let share = |fee: Area| if area > 0.0 { fee.seconds() / area } else { 0.0 };
            self.bargains.seen.push(Seen::Quote { site, time: by.now, soonest: share(first.fee) });
        }
        Ok(None)
    }

    pub fn denied(&mut self, by: By, user: &ActorId, job: &JobId, why: &Refusal) -> Taken {
        self.asks_for(*user, *job)?;
        self.bargains.of(*user).denied[*why as usize] += 1;
        if let (true, Refusal::Stale, Some(&site)) = (self.bargains.keeps, why, self.site_of.get(&by.actor)) {
            self.bargains.seen.push(Seen::Stale { site, time: by.now });
        }
        Ok(None)
    }

    pub fn booked(&mut self, by: By, user: &ActorId, job: &JobId, receipt: &Receipt) -> Taken {
        self.asks_for(*user, *job)?;
        let key = (by.actor, receipt.booking);
        if self.bargains.open.contains_key(&key) {
            return Err(Inconsistent::BookedTwice(receipt.booking, self.names.of_actor(by.actor)));
        }
        self.bargains.open.insert(key, (*user, *receipt));
        self.bargains.of(*user).booked += 1;
        if self.bargains.committing.take() == Some((by.actor, *job)) {
            self.bargains.legs.insert(key, *job);
            let together = self.bargains.together.entry(*job).or_default();
            together.has += 1;
            together.open += 1;
        }
        Ok(None)
    }

    pub fn returned(&mut self, by: By, booking: &BookingId, used: &Area, penalty: &Option<Area>) -> Taken {
        let closed = self.bargains.close(by.actor, *booking);
        let (user, counts, receipt) =
            closed.ok_or_else(|| Inconsistent::NoBooking(*booking, self.names.of_actor(by.actor)))?;
        counts.returned += 1;
        let area = receipt.part.area();
        match penalty {
            Some(penalty) => counts.penalties += *penalty,
            None => counts.charge(&receipt, *used),
        }
        self.bargains.leg_over(by.actor, *booking, |together| together.has -= 1);
        self.see_booking(by, user, &receipt, area, *used);
        Ok(None)
    }

    pub fn elapsed(&mut self, by: By, booking: &BookingId, used: &Area) -> Taken {
        let closed = self.bargains.close(by.actor, *booking);
        let (user, counts, receipt) =
            closed.ok_or_else(|| Inconsistent::NoBooking(*booking, self.names.of_actor(by.actor)))?;
        counts.charge(&receipt, *used);
        self.bargains.leg_over(by.actor, *booking, |_| {});
        self.see_booking(by, user, &receipt, receipt.part.area(), *used);
        Ok(None)
    }

    /// Nodes of a booking have failed: its user pays for what was used of it.
    pub fn revoked(&mut self, by: By, booking: &BookingId, used: &Area, paid: &Area, compensation: &Area) -> Taken {
        let closed = self.bargains.close(by.actor, *booking);
        let (user, counts, receipt) =
            closed.ok_or_else(|| Inconsistent::NoBooking(*booking, self.names.of_actor(by.actor)))?;
        counts.revoked += 1;
        counts.rents += *paid;
        counts.area += *used;
        counts.used += *used;
        counts.compensation += *compensation;
        self.bargains.leg_over(by.actor, *booking, |together| {
            together.has -= 1;
            together.is_broken = true;
        });
        self.see_booking(by, user, &receipt, receipt.part.area(), *used);
        Ok(None)
    }

    /// Nodes of a booking have failed: it begins later, and may be shorter for it.
    pub fn postponed(&mut self, by: By, receipt: &Receipt) -> Taken {
        let open = self.bargains.open.get_mut(&(by.actor, receipt.booking));
        let (user, its) =
            open.ok_or_else(|| Inconsistent::NoBooking(receipt.booking, self.names.of_actor(by.actor)))?;
        *its = *receipt;
        let user = *user;
        self.bargains.of(user).postponed += 1;
        Ok(None)
    }

    /// A booking up to now, for the page.
    fn see_booking(&mut self, by: By, user: ActorId, receipt: &Receipt, area: Area, used: Area) {
        let Part { procs, start, .. } = receipt.part;
        if let (true, Some(&site)) = (self.bargains.keeps && start < by.now, self.site_of.get(&by.actor)) {
            let share = if area.is_zero() { 0.0 } else { used.seconds() / area.seconds() };
            let booking = Seen::Booking { site, user, from: start, until: by.now, procs, used: share.min(1.0) };
            self.bargains.seen.push(booking);
        }
    }

    pub fn held(&mut self, by: By, user: &ActorId, hold: &HoldId, part: &Part, _fee: &Area, _expiry: &Time) -> Taken {
        let job =
            u32::try_from(hold.request).map_err(|_| Inconsistent::NoHold(*hold, self.names.of_actor(by.actor)))?;
        self.asks_for(*user, JobId(job))?;
        if self.bargains.held.contains_key(&(by.actor, *hold)) {
            return Err(Inconsistent::HeldTwice(*hold, self.names.of_actor(by.actor)));
        }
        self.bargains.held.insert((by.actor, *hold), (*user, *part));
        self.bargains.of(*user).held += 1;
        Ok(None)
    }

    pub fn settled(&mut self, by: By, hold: &HoldId, fate: &HoldFate) -> Taken {
        let held = self.bargains.held.remove(&(by.actor, *hold));
        let (user, part) = held.ok_or_else(|| Inconsistent::NoHold(*hold, self.names.of_actor(by.actor)))?;
        self.bargains.of(user).fates[*fate as usize] += 1;
        if *fate == HoldFate::Committed {
            self.bargains.committing = u32::try_from(hold.request).ok().map(|job| (by.actor, JobId(job)));
        }
        if let (true, Some(&site)) = (self.bargains.keeps, self.site_of.get(&by.actor)) {
            self.bargains.seen.push(Seen::Hold { site, user, part, fate: *fate });
        }
        Ok(None)
    }

    /// Whether a user may want something for a job: it is his, though it may be over.
    fn asks_for(&self, user: ActorId, job: JobId) -> Result<(), Inconsistent> {
        match self.jobs.get(&job) {
            Some(row) if row.user == user => Ok(()),
            None if self.knows(job) => Ok(()),
            Some(_) => Err(Inconsistent::NotItsJob(job, self.names.of_actor(user))),
            None => Err(Inconsistent::UnknownJob(job)),
        }
    }

    /// A site has taken a task in: from its user, who has said before that it goes there.
    pub fn entered(&mut self, by: By, user: &ActorId, task: &TaskId) -> Taken {
        let (site, name) = (self.site(by.actor)?, self.names.of_actor(by.actor));
        if self.open(task.job)?.user != *user {
            return Err(Inconsistent::NotItsJob(task.job, self.names.of_actor(*user)));
        }
        let row = self.given(*task, site)?;
        match row {
            TaskRow { site: None, .. } => return Err(Inconsistent::NotGiven(*task, name)),
            TaskRow { entered: true, .. } => return Err(Inconsistent::Again(*task, "been taken in")),
            _ => row.entered = true,
        }
        Ok(None)
    }

    /// The run makes no sense any more, whoever of the two is right.
    pub fn accused(&mut self, by: By, site: &ActorId, fault: &Fault) -> Taken {
        let (user, site) = (self.names.of_actor(by.actor), self.names.of_actor(*site));
        Err(Inconsistent::Accused(user, site, tell(*fault)))
    }

    pub fn bargained(&mut self, by: By, job: &JobId, end: &Bargain) -> Taken {
        let row = self.told_of(by, *job)?;
        if row.bargain.replace(*end).is_some() {
            return Err(Inconsistent::BargainedTwice(*job));
        }
        self.bargains.of(by.actor).ends[*end as usize] += 1;
        Ok(None)
    }
}

impl Verdicts {
    fn count(&mut self, together: &Together, tasks: usize) {
        let Together { has, open, is_broken, .. } = *together;
        *match has as usize {
            _ if is_broken && open == 0 => &mut self.broken,
            0 => &mut self.empty,
            has if has == tasks => &mut self.whole,
            _ => &mut self.torn,
        } += 1;
    }
}

impl Counts {
    fn charge(&mut self, receipt: &Receipt, used: Area) {
        self.rents += receipt.rent;
        self.fees += receipt.fee;
        self.area += receipt.part.area();
        self.used += used;
    }
}
