//! Results of negotiations: questions, bookings, holds and returns, and a check that they add up.

mod records;

use std::collections::BTreeMap;

use super::Tally;
use hansa_sim::grid::{Area, BookingId, HoldId, JobId, Part, Receipt, Slot, TaskId};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::{Bargain, HoldFate, Reason, Refusal};
use hansa_sim::time::Time;

/// Keeps open bookings and holds, and counts closed ones by user: each charge has its booking, and each hold its end.
#[derive(Clone, Debug, Default)]
pub struct Bargains {
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
    /// Verdicts about those.
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
    /// True if nodes of one failed.
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

/// Data of negotiations for a page.
#[derive(Clone, Copy, Debug)]
pub enum NegotiationData {
    /// Fee of the earliest start, per processor time.
    Quote {
        site: u32,
        time: Time,
        soonest: f64,
    },
    /// A claim came too late for its slot or quote.
    Stale {
        site: u32,
        time: Time,
    },
    Booking(BookingSpan),
    Hold(HoldSpan),
    Idled(Idled),
}

/// A booking, from its begin until it was over.
#[derive(Clone, Copy, Debug)]
pub struct BookingSpan {
    pub site: u32,
    pub user: ActorId,
    pub job: JobId,
    pub from: Time,
    pub until: Time,
    pub procs: u32,
    /// Used share of it, and used area; unknown for an open booking.
    pub used: Option<f64>,
    pub worked: Option<Area>,
    /// True if it was a hold before.
    pub was_held: bool,
    /// True if it was revoked because nodes failed.
    pub is_revoked: bool,
}

/// A hold: its part, its times, and its fate.
#[derive(Clone, Copy, Debug)]
pub struct HoldSpan {
    pub site: u32,
    pub user: ActorId,
    pub hold: HoldId,
    pub part: Part,
    pub since: Time,
    pub over: Time,
    pub fate: HoldFate,
}

/// A task that was taken back while it waited on its processors for its work.
#[derive(Clone, Copy, Debug)]
pub struct Idled {
    pub site: u32,
    pub user: ActorId,
    pub task: TaskId,
    pub from: Time,
    pub until: Time,
    pub procs: u32,
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
    /// Number of bookings whose rest was handed back.
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

impl Bargains {
    /// Keeps all, as pages need it.
    pub fn keeping() -> Bargains {
        Bargains { keeps: true, ..Bargains::default() }
    }

    fn of(&mut self, user: ActorId) -> &mut NegotiationCounts {
        self.users.entry(user).or_default()
    }

    /// Charges for open bookings.
    pub fn pending(&self) -> Area {
        self.open.values().fold(Area::ZERO, |sum, open| sum + open.receipt.total())
    }

    /// The user that owns a hold at a site.
    pub fn holder(&self, site: ActorId, hold: HoldId) -> Option<ActorId> {
        self.held.get(&(site, hold)).map(|(user, ..)| *user)
    }

    /// Numbers of open holds and of open bookings.
    pub fn left(&self) -> (u64, u64) {
        (self.held.len() as u64, self.open.len() as u64)
    }

    /// Verdicts about the jobs that are set aside.
    pub fn settled(&self) -> Verdicts {
        self.settled
    }

    /// Counts the verdict about a job of so many tasks; false if the job is set aside, or never had a booking.
    pub fn judge(&self, job: JobId, tasks: usize, verdicts: &mut Verdicts) -> bool {
        self.together.get(&job).inspect(|together| verdicts.count(together, tasks)).is_some()
    }

    /// Sets a job aside. It counts if its user has reported the end of its negotiation.
    pub fn put_aside(&mut self, job: JobId, tasks: usize, counts: bool) {
        if let Some(together) = self.together.get_mut(&job) {
            together.aside = Some(counts.then_some(tasks));
            self.settle(job);
        }
    }

    /// Drops all but the verdict about a job set aside, once it has no open booking.
    fn settle(&mut self, job: JobId) {
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
        self.settle(job);
    }

    #[cfg(test)]
    pub fn remembers(&self) -> usize {
        self.together.len() + self.legs.len() + self.open.len() + self.held.len()
    }

    fn at(&mut self, site: ActorId) -> &mut Takings {
        self.sites.entry(site).or_default()
    }
}

impl Tally {
    /// All bookings that have begun, the closed ones first.
    pub(crate) fn bookings(&self) -> impl Iterator<Item = BookingSpan> {
        let over = self.bargains.seen.iter().filter_map(|seen| match seen {
            NegotiationData::Booking(booking) => Some(*booking),
            _ => None,
        });
        let open = self.bargains.open.iter().filter_map(|((site, _), open)| {
            let from = open.receipt.part.start;
            (from < self.last).then_some(BookingSpan {
                site: *self.site_of.get(site)?,
                user: open.user,
                job: open.job,
                from,
                until: self.last,
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
