//! Results of negotiations: questions, bookings, holds and returns, and a check that they add up.

use std::collections::BTreeMap;

use super::records::fault_in_words;
use super::seen::{BookingSpan, HoldSpan, Idled, NegotiationData};
use crate::referee::tally::{CountResult, Inconsistent, JobBook, JobRow, Reporter, SubjectTally, TaskRow};
use hansa_sim::grid::{Area, BookingId, HoldId, JobId, Offer, Part, Receipt, Slot, TaskId};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::{Bargain, Fault, HoldFate, Reason, Record, Refusal};
use hansa_sim::time::{Span, Time};

/// Keeps open bookings and holds, and counts closed ones by user: each charge has its booking, and each hold its end.
#[derive(Clone, Debug, Default)]
pub struct BargainTally {
    /// Open bookings, by site.
    open: BTreeMap<(ActorId, BookingId), OpenBooking>,
    /// Open holds, each with its user, its part and its begin.
    held: BTreeMap<(ActorId, HoldId), (ActorId, Part, Time)>,
    /// The hold that has just been committed; its booking follows.
    committing: Option<(ActorId, JobId)>,
    pub users: BTreeMap<ActorId, NegotiationCounts>,
    /// Number of failed negotiations, by reason.
    pub causes: [u64; Reason::ALL.len()],
    /// Income of each site from bookings, and refunds after failures of its nodes.
    pub sites: BTreeMap<ActorId, Takings>,
    /// Jobs that have had several sites at once, except those set aside without an open booking.
    together: BTreeMap<JobId, Together>,
    /// Verdicts about the jobs that were set aside.
    settled: Verdicts,
    /// Jobs of open bookings that are legs.
    legs: BTreeMap<(ActorId, BookingId), JobId>,
    /// All quotes, bookings and holds, where they are kept for pages.
    pub seen: Vec<NegotiationData>,
    /// Number of tasks of each job that sites have accepted.
    pub entered: BTreeMap<JobId, u32>,
    /// The largest advertisement of each site, with its time.
    pub offers: BTreeMap<u32, (Time, Vec<Slot>)>,
    pub keeps: bool,
}

/// The state of a job that needs several sites at once.
#[derive(Clone, Copy, Debug, Default)]
struct Together {
    /// Number of sites that have a final booking for it, and of these bookings that are open.
    has: u32,
    open: u32,
    /// True if nodes of one of these bookings failed.
    is_broken: bool,
    /// True if nodes of a hold for it failed.
    is_hold_broken: bool,
    /// Number of its tasks, if it counts, once the job is set aside.
    aside: Option<Option<usize>>,
}

/// Numbers of jobs that needed several sites at once and have all, had some until nodes failed, have none, or have only
/// some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    pub whole: u64,
    pub broken: u64,
    pub empty: u64,
    pub torn: u64,
}

/// An open booking.
#[derive(Clone, Copy, Debug)]
struct OpenBooking {
    user: ActorId,
    job: JobId,
    receipt: Receipt,
    /// The fixed part of its fee.
    charge: Area,
    was_held: bool,
}

/// Income of a site from bookings: each charge has its booking. That of queues follows from the tasks that ran there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Takings {
    pub bookings: u64,
    pub rents: Area,
    pub fees: Area,
    /// The fixed part of the fees.
    pub charges: Area,
    pub penalties: Area,
    pub compensation: Area,
    /// The part of the bookings on which tasks ran.
    pub used: Area,
}

/// Results of one user's negotiations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NegotiationCounts {
    pub adverts: u64,
    pub quotes: u64,
    pub booked: u64,
    pub returned: u64,
    /// Number of bookings that were handed back before their end.
    pub handed_back: u64,
    pub held: u64,
    /// Counts by fate of holds, by reason of refused claims, and by end of negotiations.
    pub fates: [u64; HoldFate::ALL.len()],
    pub denied: [u64; Refusal::ALL.len()],
    pub ends: [u64; Bargain::ALL.len()],
    /// Payments for bookings that were not returned in time, and for returns.
    pub rents: Area,
    pub fees: Area,
    /// The fixed part of the fees.
    pub charges: Area,
    pub penalties: Area,
    /// Number of bookings revoked and postponed because nodes failed, and the user's compensation.
    pub revoked: u64,
    pub postponed: u64,
    pub compensation: Area,
    /// Bookings that were not returned in time: their area, and the part on which tasks ran.
    pub area: Area,
    pub used: Area,
}

impl SubjectTally for BargainTally {
    fn take(&mut self, book: &mut JobBook, by: Reporter, record: &Record) -> Option<CountResult> {
        self.take_record(book, by, record)
    }

    /// A job counts if its user has reported the end of its negotiation.
    fn put_aside(&mut self, row: &JobRow) {
        if let Some(together) = self.together.get_mut(&row.job.id) {
            together.aside = Some(row.bargain.is_some().then_some(row.tasks.len()));
            self.keep_verdict(row.job.id);
        }
    }

    fn drop_page_data(&mut self) {
        self.keeps = false;
    }

    /// A site numbers its bookings itself, and knows what it holds for a user.
    fn is_alone_with(&self, entry: &Entry<Record>, wrong: &Inconsistent) -> bool {
        match (&entry.record, wrong) {
            (_, Inconsistent::BookedTwice(..)) => true,
            (Record::Held { user, hold, .. }, Inconsistent::HeldTwice(..)) => {
                self.held.get(&(entry.actor, *hold)).is_some_and(|(holder, ..)| holder == user)
            }
            _ => false,
        }
    }

    #[cfg(test)]
    fn memory(&self) -> usize {
        self.together.len() + self.legs.len() + self.open.len() + self.held.len()
    }
}

impl BargainTally {
    /// Keeps all, as pages need it.
    pub fn keeping() -> BargainTally {
        BargainTally { keeps: true, ..BargainTally::default() }
    }

    fn of(&mut self, user: ActorId) -> &mut NegotiationCounts {
        self.users.entry(user).or_default()
    }

    /// Charges for open bookings.
    pub fn pending(&self) -> Area {
        self.open.values().fold(Area::ZERO, |sum, open| sum + open.receipt.total())
    }

    /// Numbers of open holds and of open bookings.
    pub fn open_counts(&self) -> (u64, u64) {
        (self.held.len() as u64, self.open.len() as u64)
    }

    /// Verdicts about the jobs that are set aside.
    pub fn verdicts_aside(&self) -> Verdicts {
        self.settled
    }

    /// Counts the verdict about a job of this many tasks; false if the job is set aside, or never had a booking.
    pub fn judge(&self, job: JobId, tasks: usize, verdicts: &mut Verdicts) -> bool {
        self.together.get(&job).inspect(|together| verdicts.count(together, tasks)).is_some()
    }

    /// Drops all but the verdict about a job set aside, once it has no open booking.
    fn keep_verdict(&mut self, job: JobId) {
        let Some(together) = self.together.get(&job).filter(|together| together.open == 0) else { return };
        let Some(aside) = together.aside else { return };
        if let Some(tasks) = aside {
            self.settled.count(together, tasks);
        }
        self.together.remove(&job);
    }

    /// Closes a leg, in this way.
    fn leg_over(&mut self, site: ActorId, booking: BookingId, how: impl FnOnce(&mut Together)) {
        let Some(job) = self.legs.remove(&(site, booking)) else { return };
        if let Some(together) = self.together.get_mut(&job) {
            together.open -= 1;
            how(together);
        }
        self.keep_verdict(job);
    }

    fn at(&mut self, site: ActorId) -> &mut Takings {
        self.sites.entry(site).or_default()
    }
}

/// The meaning of the records.
impl BargainTally {
    pub fn advertised(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        user: &ActorId,
        _version: &u64,
        slots: &[Slot],
    ) -> CountResult {
        self.of(*user).adverts += 1;
        if let (true, Some(&site)) = (self.keeps, book.site_of.get(&by.actor)) {
            let most = self.offers.entry(site).or_default();
            if slots.len() > most.1.len() {
                *most = (by.now, slots.to_vec());
            }
        }
        Ok(None)
    }

    pub fn quoted(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        user: &ActorId,
        procs: &u32,
        span: &Span,
        offers: &[Offer],
    ) -> CountResult {
        self.of(*user).quotes += 1;
        if let (true, Some(first), Some(&site)) = (self.keeps, offers.first(), book.site_of.get(&by.actor)) {
            let area = Area::of(*procs, *span).seconds();
            let share = |fee: Area| if area > 0.0 { fee.seconds() / area } else { 0.0 };
            self.seen.push(NegotiationData::Quote { site, time: by.now, soonest: share(first.fee) });
        }
        Ok(None)
    }

    pub fn denied(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        user: &ActorId,
        job: &JobId,
        why: &Refusal,
    ) -> CountResult {
        check_request(book, *user, *job)?;
        self.of(*user).denied[*why as usize] += 1;
        if let (true, Refusal::Stale, Some(&site)) = (self.keeps, why, book.site_of.get(&by.actor)) {
            self.seen.push(NegotiationData::Stale { site, time: by.now });
        }
        Ok(None)
    }

    pub fn booked(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        user: &ActorId,
        job: &JobId,
        receipt: &Receipt,
    ) -> CountResult {
        check_request(book, *user, *job)?;
        let key = (by.actor, receipt.booking);
        if self.open.contains_key(&key) {
            return Err(Inconsistent::BookedTwice(receipt.booking, book.names.of_actor(by.actor)));
        }
        let was_held = self.committing.take() == Some((by.actor, *job));
        let charge = book.site_of.get(&by.actor).map_or(Area::ZERO, |site| book.sites[*site as usize].charge);
        let open = OpenBooking { user: *user, job: *job, receipt: *receipt, charge: charge.min(receipt.fee), was_held };
        self.open.insert(key, open);
        self.of(*user).booked += 1;
        self.at(by.actor).charge(&open);
        if was_held {
            self.legs.insert(key, *job);
            let together = self.together.entry(*job).or_default();
            together.has += 1;
            together.open += 1;
        }
        Ok(None)
    }

    pub fn returned(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        booking: &BookingId,
        used: &Area,
        penalty: &Option<Area>,
    ) -> CountResult {
        let open = self.close_booking(book, by, *booking)?;
        let counts = self.of(open.user);
        counts.returned += 1;
        match penalty {
            Some(penalty) => counts.penalties += *penalty,
            None => counts.charge(&open, *used),
        }
        let takings = self.at(by.actor);
        match penalty {
            Some(penalty) => {
                takings.give_back(&open);
                takings.penalties += *penalty;
            }
            None => takings.used += *used,
        }
        self.leg_over(by.actor, *booking, |together| together.has -= 1);
        self.see_booking(book, by, &open, *used, false);
        Ok(None)
    }

    /// The rest of a booking has been taken back: its rent is refunded but for a penalty, and the fee is kept.
    pub fn handed_back(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        booking: &BookingId,
        used: &Area,
        refund: &Area,
        penalty: &Area,
    ) -> CountResult {
        let open = self.close_booking(book, by, *booking)?;
        let Part { procs, .. } = open.receipt.part;
        let rest = Area::of(procs, open.receipt.part.end().since(by.now));
        let rent = *refund + *penalty;
        let counts = self.of(open.user);
        counts.handed_back += 1;
        counts.charge(&open, *used);
        counts.rents = counts.rents.saturating_sub(rent);
        counts.area = counts.area.saturating_sub(rest);
        counts.penalties += *penalty;
        let takings = self.at(by.actor);
        takings.rents = takings.rents.saturating_sub(rent);
        takings.penalties += *penalty;
        takings.used += *used;
        self.leg_over(by.actor, *booking, |_| {});
        self.see_booking(book, by, &open, *used, false);
        Ok(None)
    }

    pub fn elapsed(&mut self, book: &mut JobBook, by: Reporter, booking: &BookingId, used: &Area) -> CountResult {
        let open = self.close_booking(book, by, *booking)?;
        self.of(open.user).charge(&open, *used);
        self.at(by.actor).used += *used;
        self.leg_over(by.actor, *booking, |_| {});
        self.see_booking(book, by, &open, *used, false);
        Ok(None)
    }

    /// Nodes of a booking have failed: its user pays for the used part.
    pub fn revoked(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        booking: &BookingId,
        used: &Area,
        paid: &Area,
        compensation: &Area,
    ) -> CountResult {
        let open = self.close_booking(book, by, *booking)?;
        let counts = self.of(open.user);
        counts.revoked += 1;
        counts.rents += *paid;
        counts.area += *used;
        counts.used += *used;
        counts.compensation += *compensation;
        let takings = self.at(by.actor);
        takings.give_back(&open);
        takings.rents += *paid;
        takings.used += *used;
        takings.compensation += *compensation;
        self.leg_over(by.actor, *booking, |together| {
            together.has -= 1;
            together.is_broken = true;
        });
        self.see_booking(book, by, &open, *used, true);
        Ok(None)
    }

    /// Nodes of a booking have failed: it begins later, and may be shorter for it.
    pub fn postponed(&mut self, book: &mut JobBook, by: Reporter, receipt: &Receipt) -> CountResult {
        let open = self.open.get_mut(&(by.actor, receipt.booking));
        let open = open.ok_or_else(|| Inconsistent::NoBooking(receipt.booking, book.names.of_actor(by.actor)))?;
        let before = std::mem::replace(&mut open.receipt, *receipt);
        let user = open.user;
        self.of(user).postponed += 1;
        let takings = self.at(by.actor);
        takings.rents = takings.rents.saturating_sub(before.rent) + receipt.rent;
        takings.fees = takings.fees.saturating_sub(before.fee) + receipt.fee;
        Ok(None)
    }

    fn close_booking(&mut self, book: &JobBook, by: Reporter, booking: BookingId) -> Result<OpenBooking, Inconsistent> {
        let open = self.open.remove(&(by.actor, booking));
        open.ok_or_else(|| Inconsistent::NoBooking(booking, book.names.of_actor(by.actor)))
    }

    /// Records a booking up to now, for the page.
    fn see_booking(&mut self, book: &JobBook, by: Reporter, open: &OpenBooking, used: Area, is_revoked: bool) {
        let OpenBooking { user, job, receipt, was_held, .. } = *open;
        let Part { procs, start, .. } = receipt.part;
        if let (true, Some(&site)) = (self.keeps && start < by.now, book.site_of.get(&by.actor)) {
            let area = receipt.part.area();
            let share = if area.is_zero() { 0.0 } else { used.seconds() / area.seconds() };
            let (from, until, worked, used) = (start, by.now, Some(used), Some(share.min(1.0)));
            let booking = BookingSpan { site, user, job, from, until, procs, used, worked, was_held, is_revoked };
            self.seen.push(NegotiationData::Booking(booking));
        }
    }

    /// A task that waits on its processors for its work is taken back.
    pub fn dropped(&mut self, book: &mut JobBook, by: Reporter, task: &TaskId) -> CountResult {
        let idled = self.keeps.then(|| idled(book, by, *task)).flatten();
        let dropped = book.drop_task(by, *task)?;
        self.seen.extend(idled.map(NegotiationData::Idled));
        Ok(dropped)
    }

    #[allow(clippy::too_many_arguments, reason = "they are the fields of the record")]
    pub fn held(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        user: &ActorId,
        hold: &HoldId,
        part: &Part,
        _fee: &Area,
        _expiry: &Time,
    ) -> CountResult {
        let job =
            u32::try_from(hold.request).map_err(|_| Inconsistent::NoHold(*hold, book.names.of_actor(by.actor)))?;
        check_request(book, *user, JobId(job))?;
        if self.held.contains_key(&(by.actor, *hold)) {
            return Err(Inconsistent::HeldTwice(*hold, book.names.of_actor(by.actor)));
        }
        self.held.insert((by.actor, *hold), (*user, *part, by.now));
        self.of(*user).held += 1;
        Ok(None)
    }

    pub fn settled(&mut self, book: &mut JobBook, by: Reporter, hold: &HoldId, fate: &HoldFate) -> CountResult {
        let held = self.held.remove(&(by.actor, *hold));
        let (user, part, since) = held.ok_or_else(|| Inconsistent::NoHold(*hold, book.names.of_actor(by.actor)))?;
        self.of(user).fates[*fate as usize] += 1;
        if *fate == HoldFate::Committed {
            self.committing = u32::try_from(hold.request).ok().map(|job| (by.actor, JobId(job)));
        }
        if let (HoldFate::Broken, Ok(job)) = (fate, u32::try_from(hold.request).map(JobId))
            && book.jobs.contains_key(&job)
        {
            self.together.entry(job).or_default().is_hold_broken = true;
        }
        if let (true, Some(&site)) = (self.keeps, book.site_of.get(&by.actor)) {
            let hold = HoldSpan { site, user, hold: *hold, part, since, over: by.now, fate: *fate };
            self.seen.push(NegotiationData::Hold(hold));
        }
        Ok(None)
    }

    /// A site has accepted a task of a user, which has assigned it there before.
    pub fn entered(&mut self, book: &mut JobBook, by: Reporter, user: &ActorId, task: &TaskId) -> CountResult {
        let (site, name) = (book.site(by.actor)?, book.names.of_actor(by.actor));
        if book.open(task.job)?.user != *user {
            return Err(Inconsistent::NotItsJob(task.job, book.names.of_actor(*user)));
        }
        let row = book.reportable_task(*task, site)?;
        match row {
            TaskRow { site: None, .. } => return Err(Inconsistent::NotGiven(*task, name)),
            TaskRow { entered: true, .. } => return Err(Inconsistent::Again(*task, "been taken in")),
            _ => row.entered = true,
        }
        if self.keeps {
            *self.entered.entry(task.job).or_default() += 1;
        }
        Ok(None)
    }

    /// The run is senseless now, with either of the two at fault.
    pub fn accused(&mut self, book: &mut JobBook, by: Reporter, site: &ActorId, fault: &Fault) -> CountResult {
        let (user, site) = (book.names.of_actor(by.actor), book.names.of_actor(*site));
        Err(Inconsistent::Accused(user, site, fault_in_words(*fault)))
    }

    pub fn bargained(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        job: &JobId,
        end: &Bargain,
        why: &Option<Reason>,
    ) -> CountResult {
        let row = book.reported_job(by, *job)?;
        if row.bargain.replace(*end).is_some() {
            return Err(Inconsistent::BargainedTwice(*job));
        }
        self.of(by.actor).ends[*end as usize] += 1;
        if let Some(why) = why {
            self.causes[*why as usize] += 1;
        }
        Ok(None)
    }

    /// All bookings that have begun, the closed ones first.
    pub fn bookings<'a>(&'a self, book: &'a JobBook) -> impl Iterator<Item = BookingSpan> + 'a {
        let over = self.seen.iter().filter_map(|seen| match seen {
            NegotiationData::Booking(booking) => Some(*booking),
            _ => None,
        });
        let open = self.open.iter().filter_map(move |((site, _), open)| {
            let from = open.receipt.part.start;
            (from < book.last).then_some(BookingSpan {
                site: *book.site_of.get(site)?,
                user: open.user,
                job: open.job,
                from,
                until: book.last,
                procs: open.receipt.part.procs,
                used: None,
                worked: None,
                was_held: open.was_held,
                is_revoked: false,
            })
        });
        over.chain(open)
    }
}

/// Checks that a user may request something for a job: it is its own, even if it is over.
fn check_request(book: &JobBook, user: ActorId, job: JobId) -> Result<(), Inconsistent> {
    match book.jobs.get(&job) {
        Some(row) if row.user == user => Ok(()),
        None if book.knows(job) => Ok(()),
        Some(_) => Err(Inconsistent::NotItsJob(job, book.names.of_actor(user))),
        None => Err(Inconsistent::UnknownJob(job)),
    }
}

/// The time that a task has waited on its processors, until it is taken back.
fn idled(book: &JobBook, by: Reporter, task: TaskId) -> Option<Idled> {
    let row = book.jobs.get(&task.job)?;
    let procs = row.job.tasks.get(task.index as usize)?.cores;
    let TaskRow { site: Some(site), start: Some(from), .. } = row.tasks[task.index as usize] else { return None };
    Some(Idled { site, user: row.user, task, from, until: by.now, procs })
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

impl Verdicts {
    fn count(&mut self, together: &Together, tasks: usize) {
        let Together { has, open, is_broken, is_hold_broken, .. } = *together;
        *match has as usize {
            _ if is_broken && open == 0 => &mut self.broken,
            0 => &mut self.empty,
            has if has == tasks => &mut self.whole,
            // The committed leg at another site was over before a user that was down could return it.
            _ if is_hold_broken && open == 0 => &mut self.broken,
            _ => &mut self.torn,
        } += 1;
    }
}
