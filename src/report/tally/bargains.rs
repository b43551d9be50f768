//! What came of bargaining: what was asked, booked, held and given back, and whether all of it adds up.

mod records;

use std::collections::BTreeMap;

use super::Tally;
use crate::grid::{Area, BookingId, HoldId, JobId, Part, Receipt, Slot, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Bargain, HoldFate, Reason, Refusal};
use crate::time::Time;

/// Keeps what is open, and counts what is over, user by user: each charge has its booking, and each hold its end.
#[derive(Clone, Debug, Default)]
pub struct Bargains {
    /// What is booked, by site.
    open: BTreeMap<(ActorId, BookingId), Open>,
    /// Whose holds are open, and since when.
    held: BTreeMap<(ActorId, HoldId), (ActorId, Part, Time)>,
    /// What has just been committed, and is booked next.
    committing: Option<(ActorId, JobId)>,
    pub users: BTreeMap<ActorId, Counts>,
    /// Why bargaining came to nothing.
    pub causes: [u64; Reason::ALL.len()],
    /// What each site took for bookings, and gave back as its nodes failed.
    pub sites: BTreeMap<ActorId, Takings>,
    /// Jobs that have had several sites at once, but for those that are put aside and have nothing booked any more.
    together: BTreeMap<JobId, Together>,
    /// What has become of these.
    settled: Verdicts,
    /// Which open bookings are for which of them.
    legs: BTreeMap<(ActorId, BookingId), JobId>,
    /// Where all is kept for pages: what was quoted, booked and held.
    pub seen: Vec<Seen>,
    /// How often sites have taken in tasks of each job.
    pub entered: BTreeMap<JobId, u32>,
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
    /// Whether nodes failed that one held for it.
    is_hold_broken: bool,
    /// Once the job is put aside: how many tasks it has, if it counts.
    aside: Option<Option<usize>>,
}

/// How many jobs that wanted several sites at once have all of them, none, or only some, and how many had some until
/// nodes failed.
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
    Booking(Booking),
    Hold(Hold),
    Idled(Idled),
}

/// What somebody had booked, from when its time began until it was over.
#[derive(Clone, Copy, Debug)]
pub struct Booking {
    pub site: u32,
    pub user: ActorId,
    pub job: JobId,
    pub from: Time,
    pub until: Time,
    pub procs: u32,
    /// The share of it that tasks used, and how much that is; not known of one that is not over.
    pub used: Option<f64>,
    pub worked: Option<Area>,
    /// Whether it was a hold before.
    pub was_held: bool,
    /// Whether it was taken from its user as nodes failed.
    pub is_revoked: bool,
}

/// What a site held for somebody: which part, from when to when, and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
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

/// What is booked and not over.
#[derive(Clone, Copy, Debug)]
struct Open {
    user: ActorId,
    job: JobId,
    receipt: Receipt,
    was_held: bool,
}

/// What a site took: each charge has its booking. That of queues follows from what ran there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Takings {
    pub bookings: u64,
    pub rents: Area,
    pub fees: Area,
    pub penalties: Area,
    pub compensation: Area,
    /// Of what was booked, what tasks ran on.
    pub used: Area,
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
    /// How many bookings were taken from the user as nodes failed, how often one was to begin later, and what the user
    /// was given.
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

    /// What is charged for bookings that are not over.
    pub fn pending(&self) -> Area {
        self.open.values().fold(Area::ZERO, |sum, open| sum + open.receipt.total())
    }

    /// The user for whom a site keeps a hold.
    pub fn holder(&self, site: ActorId, hold: HoldId) -> Option<ActorId> {
        self.held.get(&(site, hold)).map(|(user, ..)| *user)
    }

    /// How much is held and booked still.
    pub fn left(&self) -> (u64, u64) {
        (self.held.len() as u64, self.open.len() as u64)
    }

    /// What has become of jobs that are not told of one by one any more.
    pub fn settled(&self) -> Verdicts {
        self.settled
    }

    /// Counts what has become of a job of so many tasks; false if it is among those that are settled, or never had
    /// anything.
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

    fn at(&mut self, site: ActorId) -> &mut Takings {
        self.sites.entry(site).or_default()
    }
}

impl Tally {
    /// All bookings whose time has begun, those first that are over.
    pub(in crate::report) fn bookings(&self) -> impl Iterator<Item = Booking> {
        let over = self.bargains.seen.iter().filter_map(|seen| match seen {
            Seen::Booking(booking) => Some(*booking),
            _ => None,
        });
        let open = self.bargains.open.iter().filter_map(|((site, _), open)| {
            let from = open.receipt.part.start;
            (from < self.last).then_some(Booking {
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
            // What another site had committed was over before a user who was down could give it back.
            _ if is_hold_broken && open == 0 => &mut self.broken,
            _ => &mut self.torn,
        } += 1;
    }
}
