//! Virtual advance reservation: an ordinary job, submitted so early and with such a long request that it still runs
//! when its work is wanted. If it has not started by then it is recalled.

use super::{Strategy, StrategyRow};
use crate::grid::Part;
use crate::protocol::{Bargain, Query, Reason, Reply};
use crate::systems::provisioning::deal::Deal;
use crate::systems::provisioning::run::{Assignment, Padded};
use crate::systems::provisioning::virtual_reservation::{STEP, requested_time};
use crate::time::{Span, Time};

pub const ROW: StrategyRow = StrategyRow {
    name: "var",
    about: "a queued job, submitted early enough to be running when it is wanted; it may fail",
    has_ahead: true,
    pads: true,
    is_rigid: true,
    build: |_| Box::new(Var { job: PaddedJob::default() }),
    ..super::BARGAINING
};

struct Var {
    job: PaddedJob,
}

/// A job that imitates a reservation.
#[derive(Default)]
pub struct PaddedJob {
    silent: usize,
    /// The best probability so far, with the time and the provider of its submission.
    best: Option<(f64, Time, usize)>,
    pub begun: bool,
}

/// Tokens of timers.
const SUBMIT: u64 = 1;
pub const WANTED: u64 = 2;

/// The work of a job at a provider.
pub fn job_work(provider: usize, deal: &Deal<'_>) -> Part {
    let task = deal.run.job.tasks[0];
    Part { procs: task.cores, start: deal.wanted(), span: deal.world.providers[provider].time(task.walltime) }
}

impl PaddedJob {
    /// Asks all providers for the probability that the job starts in time.
    pub fn ask(&mut self, deal: &mut Deal<'_>) {
        let providers = deal.fitting(0);
        self.silent = providers.len();
        let round = providers.into_iter().map(|provider| {
            let work = job_work(provider, deal);
            (provider, Query::Chances { work, step: STEP })
        });
        let round = round.collect();
        deal.ask_all(round);
    }

    /// Handles an answer. Returns whether there is a chance, if it was the last one.
    pub fn informed(&mut self, provider: usize, reply: &Reply, deal: &mut Deal<'_>) -> Option<bool> {
        let Reply::Chances(chances) = reply else { return None };
        let mut ahead = Span::ZERO;
        for &chance in chances {
            // The answer is as of its sending; the difference is a message's latency.
            if chance > self.best.map_or(0.0, |best| best.0) {
                self.best = Some((chance, deal.now + ahead, provider));
            }
            ahead = ahead + STEP;
        }
        self.silent = self.silent.saturating_sub(1);
        if self.silent > 0 {
            return None;
        }
        if let Some((_, submit, _)) = self.best {
            deal.wake_at(submit, SUBMIT);
        }
        Some(self.best.is_some())
    }

    /// Submits the job, if it is time to and not too late for it.
    pub fn wake(&mut self, token: u64, deal: &mut Deal<'_>) {
        let Some((_, _, provider)) = self.best.filter(|_| token == SUBMIT) else { return };
        let work = job_work(provider, deal);
        if deal.now >= work.start {
            return;
        }
        let padded = Padded { work_from: work.start, walltime: requested_time(&work, deal.now) };
        deal.send(0, Assignment { provider, padded: Some(padded), ..Assignment::default() });
    }
}

impl Strategy for Var {
    fn begin_job(&mut self, deal: &mut Deal<'_>) {
        self.job.ask(deal);
        deal.wake_at(deal.wanted(), WANTED);
    }

    fn task_ready(&mut self, _: u32, _: &mut Deal<'_>) {}

    fn receive_reply(&mut self, _: u64, provider: usize, reply: Reply, deal: &mut Deal<'_>) {
        if self.job.informed(provider, &reply, deal) == Some(false) {
            deal.bargained(Bargain::GivenUp, Some(Reason::NoChance));
            deal.give_up();
        }
    }

    fn timer_due(&mut self, token: u64, deal: &mut Deal<'_>) {
        self.job.wake(token, deal);
        if token != WANTED || self.job.begun {
            return;
        }
        if deal.run.assignment(0).is_some() {
            return deal.recall(0);
        }
        // The answers came so late that it was never submitted.
        deal.bargained(Bargain::GivenUp, Some(Reason::TooLate));
        deal.give_up();
    }

    fn task_begun(&mut self, _: u32, deal: &mut Deal<'_>) {
        self.job.begun = true;
        deal.bargained(Bargain::Booked, None);
    }

    fn task_recalled(&mut self, _: u32, in_time: bool, deal: &mut Deal<'_>) {
        if in_time {
            // It may have begun when it was recalled, and have been lost before that arrived.
            if !self.job.begun {
                deal.bargained(Bargain::GivenUp, Some(Reason::NotStarted));
            }
            deal.give_up();
        }
    }
}
