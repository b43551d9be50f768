//! A moment of a log as a scheduler sees it, and the ways in which it may go on.

use hansa_sim::grid::{NodeSet, QueueOrder, Reserved};
use hansa_sim::random::{SplitMix64, mix_bits};
use hansa_sim::roles::queue::{QueuePolicyRow, QueueState, RankedPart, Rigid, RunningRigid, first_start};
use hansa_sim::time::{Span, Time};

use super::later::PastDays;
use super::ratios::{Ratios, UserLuck};
use super::{SeenJob, SiteLog};

/// Walltime that is left to a job that has exceeded its request.
const GRACE: Span = Span::from_secs(60);

/// The knowledge of a scheduler at one time: jobs that have arrived, with the run times of those that have ended.
#[derive(Debug)]
pub struct Moment<'a> {
    log: &'a SiteLog,
    now: Time,
    /// Number of jobs that have arrived: the first ones of the log.
    arrived: usize,
    running: Vec<usize>,
    /// In order of arrival.
    waiting: Vec<usize>,
    ratios: Ratios,
    past: PastDays,
}

/// A job whose start is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedJob {
    pub cores: u32,
    pub walltime: Span,
    /// An index into the users of the log, whose ratios predict its end.
    pub user: Option<u32>,
}

/// A policy for queues, with the order of the queue and the bookings of the site.
#[derive(Clone, Copy)]
pub struct QueueRule<'a> {
    pub policy: &'static QueuePolicyRow,
    pub order: QueueOrder,
    pub reserved: &'a [Reserved],
}

/// Start and end of the wanted job in one repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PredictedRun {
    pub start: Time,
    pub end: Time,
}

impl<'a> Moment<'a> {
    /// The moment `now`, after the arrivals and starts of that time. Jobs that start or arrive later are not looked at,
    /// nor is the end of a job that has not ended. O(n log n) in the number of jobs that have arrived.
    pub fn at(log: &'a SiteLog, now: Time) -> Moment<'a> {
        Moment::with_arrivals(log, now, log.jobs.partition_point(|job| job.came <= now), |start| start <= now)
    }

    /// The moment at which a job of the log arrives, which itself is not known yet.
    pub fn of_arrival(log: &'a SiteLog, job: usize) -> Moment<'a> {
        let now = log.jobs[job].came;
        Moment::with_arrivals(log, now, job, |start| start < now)
    }

    /// The state at `now`, after the arrival of the first `arrived` jobs. A job runs if `is_past` is true of its start.
    fn with_arrivals(log: &'a SiteLog, now: Time, arrived: usize, is_past: impl Fn(Time) -> bool) -> Moment<'a> {
        let known = &log.jobs[..arrived];
        let mut running = Vec::new();
        let mut waiting = Vec::new();
        let mut finished: Vec<&SeenJob> = Vec::new();
        for (place, job) in known.iter().enumerate() {
            if job.end.is_some_and(|end| end <= now) {
                finished.push(job);
            } else if job.start.is_some_and(&is_past) {
                running.push(place);
            } else {
                waiting.push(place);
            }
        }
        finished.sort_by_key(|job| std::cmp::Reverse(job.end));
        let ratios = Ratios::of(finished.into_iter());
        let past = if log.has_past { PastDays::of(known, now) } else { PastDays::default() };
        Moment { log, now, arrived, running, waiting, ratios, past }
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// Running jobs, and waiting ones.
    pub fn jobs(&self) -> [Vec<&SeenJob>; 2] {
        [&self.running, &self.waiting].map(|places| places.iter().map(|place| &self.log.jobs[*place]).collect())
    }

    /// Number of ratios of used to requested time.
    pub fn ratios(&self) -> u64 {
        self.ratios.count() as u64
    }

    /// True if the user has enough ratios of run time to request for predictions of its own.
    pub fn has_ratios_of(&self, user: u32) -> bool {
        self.ratios.has_ratios_of(user)
    }

    /// Number of past days from which later arrivals are drawn, and of the submissions in them.
    pub fn past_counts(&self) -> (u64, u64) {
        (self.past.count(), self.past.jobs())
    }

    /// One repetition: the run of the wanted job if it arrives now and a policy goes on with drawn run times and
    /// arrivals. None if it never starts. Equal seeds and numbers give equal draws under every policy.
    pub fn draw(&self, rule: QueueRule<'_>, wanted: WantedJob, seed: u64, number: u64) -> Option<PredictedRun> {
        let run = mix_bits(seed ^ mix_bits(number));
        let reserved: Vec<Reserved> = rule.reserved.iter().filter(|booked| booked.until > self.now).cloned().collect();
        let running: Vec<RunningRigid> =
            self.running.iter().map(|place| self.draw_rest(run, *place, &reserved)).collect();
        let waiting: Vec<Rigid> = self.waiting.iter().map(|place| self.drawn(run, *place, self.now)).collect();
        let state = QueueState { now: self.now, running: &running, waiting: &waiting };
        // A job without a known user draws its run time from all.
        let user = wanted.user.unwrap_or(u32::MAX);
        let runtime = self.ratios.draw(user, wanted.walltime, Span::ZERO, UserLuck::of(run, user));
        let job = Rigid { submit: self.now, nodes: wanted.cores, walltime: wanted.walltime, runtime };
        let mut policy = (rule.policy.build)(self.log.cores, &reserved, rule.order.into());
        // Where only the first of the queue may start, no later job overtakes it.
        let is_overtaken = rule.policy.ranks != RankedPart::Head || rule.order != QueueOrder::Arrival;
        let arrivals = self.past.arrivals(&self.log.jobs[..self.arrived], self.now, SplitMix64::new(mix_bits(run)));
        let later = arrivals.map(|(place, submit)| self.drawn(run, place, submit));
        let start = first_start(&mut *policy, &state, job, later.take_while(|_| is_overtaken))?;
        Some(PredictedRun { start, end: start + runtime.min(wanted.walltime) })
    }

    /// Draws the rest of a running job. Its nodes are unknown if they are booked meanwhile, as it may have been moved.
    fn draw_rest(&self, run: u64, place: usize, reserved: &[Reserved]) -> RunningRigid {
        let job = &self.log.jobs[place];
        let elapsed = job.start.map_or(Span::ZERO, |start| self.now.since(start));
        let runtime = self.ratios.draw(job.user, job.requested, elapsed, UserLuck::of(run, job.user));
        let left = Span::from_micros(job.requested.micros().saturating_sub(elapsed.micros()));
        let rest = Rigid {
            submit: self.now,
            nodes: job.cores,
            walltime: if left.is_zero() { GRACE } else { left },
            runtime: Span::from_micros(runtime.micros() - elapsed.micros()),
        };
        let until = self.now + rest.walltime;
        let is_booked = reserved.iter().any(|booked| booked.from < until && booked.nodes.meets(&job.nodes));
        RunningRigid { job: rest, nodes: if is_booked { NodeSet::default() } else { job.nodes.clone() } }
    }

    /// A job that arrives at `submit`, with its run time if that is known, and otherwise with one that it may have.
    fn drawn(&self, run: u64, place: usize, submit: Time) -> Rigid {
        let job = &self.log.jobs[place];
        let known = job.run_time().filter(|_| job.end.is_some_and(|end| end <= self.now));
        let elapsed = job.start.map_or(Span::ZERO, |start| self.now.since(start));
        let luck = UserLuck::of(run, job.user);
        let runtime = known.unwrap_or_else(|| self.ratios.draw(job.user, job.requested, elapsed, luck));
        Rigid { submit, nodes: job.cores, walltime: job.requested, runtime }
    }
}
