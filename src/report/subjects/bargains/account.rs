//! The account of users that negotiate.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::tally::{BargainTally, Takings, Verdicts};
use super::{Bargaining, Earned, KnownUser, OneUser, Strategies, WantedTimes, count_of};
use crate::referee::tally::{Fate, JobRow};
use crate::results::account::Account;
use crate::{Summary, Tally};
use hansa_sim::grid::Area;
use hansa_sim::protocol::{Bargain, HoldFate, Reason, Refusal};
use hansa_sim::time::{Span, Time};

pub struct Accounts<'a> {
    tally: &'a Tally,
    bargains: &'a BargainTally,
    known: &'a Strategies,
    users: Vec<User>,
    all: Bargaining,
    /// Verdicts about jobs that needed several sites at once, and the number of others of them: their verdicts are
    /// counted already, and a job without one never had a booking.
    together: Verdicts,
    others: u64,
    /// Processor time of tasks, by site.
    areas: BTreeMap<usize, Area>,
}

#[derive(Clone, Copy, Default)]
struct User {
    jobs: u64,
    finished: u64,
    requests: u64,
    /// Finished jobs that count in means, and the sum of their makespans.
    timed: u64,
    makespan: u128,
    started: u64,
    wait: u128,
    /// Processor time of tasks at all sites.
    area: Area,
    padding: Area,
    wanted: WantedTimes,
    /// Sum of the delays of late jobs, in microseconds.
    delay: u128,
}

impl User {
    /// Adds a job to the means.
    fn time(&mut self, row: &JobRow) {
        if let Fate::Completed { at, .. } = row.fate {
            self.timed += 1;
            self.makespan += u128::from(at.since(row.job.arrive).micros());
        }
        if let Some(wait) = row.wait() {
            self.started += 1;
            self.wait += u128::from(wait.micros());
        }
    }

    /// Compares a job with its wanted start and its deadline.
    fn compare_wanted(&mut self, row: &JobRow, (ahead, deadline): (Option<Span>, Option<Span>)) {
        if let Some((start, ahead)) = row.start().zip(ahead) {
            let wanted = row.job.arrive + ahead;
            match start.cmp(&wanted) {
                Ordering::Less => self.wanted.early += 1,
                Ordering::Equal => self.wanted.punctual += 1,
                Ordering::Greater => {
                    self.wanted.late += 1;
                    self.delay += u128::from((start - wanted).micros());
                }
            }
        }
        if let Some(deadline) = deadline {
            let is_kept = matches!(row.fate, Fate::Completed { at, .. } if at <= row.job.arrive + deadline);
            self.wanted.kept = Some(self.wanted.kept.unwrap_or(0) + u64::from(is_kept));
        }
    }
}

impl<'a> Accounts<'a> {
    pub fn new(tally: &'a Tally, known: &'a Strategies) -> Accounts<'a> {
        Accounts {
            tally,
            bargains: tally.state(),
            known,
            users: vec![User::default(); known.users.len()],
            all: Bargaining::default(),
            together: Verdicts::default(),
            others: 0,
            areas: BTreeMap::new(),
        }
    }

    fn user_summary(&self, at: usize, known: &KnownUser, user: &User) -> OneUser {
        let counts = self.bargains.users.get(&self.tally.user_at(at)).copied().unwrap_or_default();
        let mean = |sum: u128, count: u64| (count > 0).then(|| sum as f64 / count as f64 / 1e6);
        let queued = user.area.saturating_sub(counts.used);
        let unused = counts.area.saturating_sub(counts.used);
        OneUser {
            user: known.name.clone(),
            strategy: known.strategy.clone(),
            jobs: user.jobs,
            finished: user.finished,
            makespan: mean(user.makespan, user.timed),
            wait: mean(user.wait, user.started),
            cost: area_hours(queued + counts.rents + counts.fees + counts.penalties),
            fees: area_hours(counts.fees),
            charges: area_hours(counts.charges),
            penalties: area_hours(counts.penalties),
            paid_for_nothing: area_hours(unused + user.padding + counts.penalties),
            padding: area_hours(user.padding),
            adverts: counts.adverts,
            quotes: counts.quotes,
            bookings: counts.booked,
            returned: counts.returned,
            handed_back: counts.handed_back,
            revoked: counts.revoked,
            postponed: counts.postponed,
            compensation: area_hours(counts.compensation),
            denied_stale: counts.denied[Refusal::Stale as usize],
            denied: counts.denied.iter().sum(),
            held: counts.held,
            committed: counts.fates[HoldFate::Committed as usize],
            released: counts.fates[HoldFate::Released as usize],
            expired: counts.fates[HoldFate::Expired as usize],
            broken: counts.fates[HoldFate::Broken as usize],
            requests: user.requests,
            booked: count_of(&counts.ends, Bargain::Booked),
            refused: count_of(&counts.ends, Bargain::Refused),
            stale: count_of(&counts.ends, Bargain::Stale),
            given_up: count_of(&counts.ends, Bargain::GivenUp),
            wanted: known.wanted.map(|_| WantedTimes { delay: mean(user.delay, user.wanted.late), ..user.wanted }),
        }
    }
}

impl Account for Accounts<'_> {
    fn job(&mut self, row: &JobRow, _: &[Option<Time>]) {
        let at = self.tally.user_index(row.user).filter(|_| self.known.systems.contains(&row.system));
        if let Some(user) = at.and_then(|at| self.users.get_mut(at)) {
            user.time(row);
        }
        self.add_uncounted(row, &[]);
    }

    /// Requests, bookings and payments are those of all jobs.
    fn add_uncounted(&mut self, row: &JobRow, _: &[Option<Time>]) {
        let at = self.tally.user_index(row.user).filter(|_| self.known.systems.contains(&row.system));
        let Some(at) = at else { return };
        let (Some(known), Some(user)) = (self.known.users.get(at), self.users.get_mut(at)) else { return };
        user.jobs += 1;
        user.finished += u64::from(matches!(row.fate, Fate::Completed { .. }));
        if let Some(wanted) = known.wanted {
            user.compare_wanted(row, wanted);
        }
        for (task, asked) in row.tasks.iter().zip(&row.job.tasks) {
            let Some(start) = task.start else { continue };
            let ran = task.run_time_by(self.tally.last);
            user.area += Area::of(asked.cores, ran);
            for stint in task.stints(self.tally.last) {
                if let Some(site) = stint.site.or(task.site) {
                    *self.areas.entry(site as usize).or_default() += Area::of(asked.cores, stint.to.since(stint.from));
                }
            }
            if let Some(ahead) = known.ahead {
                user.padding += Area::of(asked.cores, (row.job.arrive + ahead).since(start).min(ran));
            }
        }
        if let Fate::Rejected(why) = row.fate {
            *self.all.rejected.entry(why.to_string()).or_default() += 1;
        }
        // Jobs that fit nowhere were never requested.
        if known.bargains && !matches!(row.fate, Fate::Rejected(_)) {
            user.requests += 1;
            self.all.open += u64::from(row.bargain.is_none());
            if row.bargain.is_some() && known.is_whole_or_nothing {
                let is_known = self.bargains.judge(row.job.id, row.tasks.len(), &mut self.together);
                self.others += u64::from(!is_known);
            }
        }
    }

    fn close(&mut self, summary: &mut Summary) {
        let users = self.users.iter().zip(&self.known.users).enumerate();
        let users =
            users.filter(|(_, (user, _))| user.jobs > 0).map(|(at, (user, known))| self.user_summary(at, known, user));
        let users: Vec<OneUser> = users.collect();
        let all = &mut self.all;
        for user in &users {
            all.requests += user.requests;
            all.booked += user.booked;
            all.refused += user.refused;
            all.stale += user.stale;
            all.given_up += user.given_up;
        }
        let settled = self.bargains.verdicts_aside();
        let known = self.together;
        let Verdicts { whole, broken, torn, .. } = settled;
        (all.whole, all.broken, all.torn) = (known.whole + whole, known.broken + broken, known.torn + torn);
        all.empty = known.empty + self.others.saturating_sub(whole + broken + torn);
        (all.left_held, all.left_booked) = self.bargains.open_counts();
        let counted = Reason::ALL.iter().filter(|(_, cause, _)| self.bargains.causes[*cause as usize] > 0);
        let causes = &self.bargains.causes;
        all.causes =
            BTreeMap::from_iter(counted.map(|(words, cause, _)| ((*words).to_owned(), causes[*cause as usize])));
        all.users = users;
        self.settle_revenue();
        summary.put_part(&self.all);
    }
}

impl Accounts<'_> {
    /// Computes the income of each site, and compares it with the payments of users: sites charge at the booking, users
    /// count a booking when it is over.
    fn settle_revenue(&mut self) {
        let mut earned = Area::ZERO;
        let mut given = Area::ZERO;
        for site in self.tally.sites_of(&self.known.systems) {
            let facts = &self.tally.sites[site];
            let takings = self.bargains.sites.get(&facts.actor).copied().unwrap_or_default();
            let queue = self.areas.get(&site).copied().unwrap_or_default().saturating_sub(takings.used);
            let Takings { bookings, rents, fees, charges, penalties, compensation, .. } = takings;
            let sum = queue + rents + fees + penalties;
            (earned, given) = (earned + sum, given + compensation);
            let [earned, queue, rents, fees, charges, penalties, compensation] =
                [sum, queue, rents, fees, charges, penalties, compensation].map(area_hours);
            let site = facts.name.clone();
            let one = Earned { site, earned, queue, rents, fees, charges, penalties, compensation, bookings };
            self.all.sites.push(one);
        }
        let mut paid = self.bargains.pending();
        let mut got = Area::ZERO;
        for (at, user) in self.users.iter().enumerate() {
            let counts = self.bargains.users.get(&self.tally.user_at(at)).copied().unwrap_or_default();
            paid += user.area.saturating_sub(counts.used) + counts.rents + counts.fees + counts.penalties;
            got += counts.compensation;
        }
        let apart = |one: Area, other: Area| one.saturating_sub(other) + other.saturating_sub(one);
        self.all.unbalanced = area_hours(apart(earned, paid) + apart(given, got));
    }
}

fn area_hours(area: Area) -> f64 {
    area.seconds() / 3_600.0
}
