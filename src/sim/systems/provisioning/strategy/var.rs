//! Virtual advance reservation: an ordinary job, submitted so early and with such a long request that it still runs
//! when its work is wanted. If it has not started by then it is recalled.

use super::{Strategy, StrategyRow};
use crate::grid::Part;
use crate::protocol::{Bargain, Query, Reason, Reply};
use crate::systems::provisioning::job_context::JobContext;
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
pub fn job_work(provider: usize, context: &JobContext<'_>) -> Part {
    let task = context.run.job.tasks[0];
    Part { procs: task.cores, start: context.wanted(), span: context.world.providers[provider].time(task.walltime) }
}

impl PaddedJob {
    /// Asks all providers for the probability that the job starts in time.
    pub fn request_chances(&mut self, context: &mut JobContext<'_>) {
        let providers = context.fitting_providers(0);
        self.silent = providers.len();
        let round = providers.into_iter().map(|provider| {
            let work = job_work(provider, context);
            (provider, Query::Chances { work, step: STEP })
        });
        let round = round.collect();
        context.send_queries(round);
    }

    /// Handles an answer. Returns whether there is a chance, if it was the last one.
    pub fn take_chance(&mut self, provider: usize, reply: &Reply, context: &mut JobContext<'_>) -> Option<bool> {
        let Reply::Chances(chances) = reply else { return None };
        let mut ahead = Span::ZERO;
        for &chance in chances {
            // The answer is as of its sending; the difference is a message's latency.
            if chance > self.best.map_or(0.0, |best| best.0) {
                self.best = Some((chance, context.now + ahead, provider));
            }
            ahead = ahead + STEP;
        }
        self.silent = self.silent.saturating_sub(1);
        if self.silent > 0 {
            return None;
        }
        if let Some((_, submit, _)) = self.best {
            context.wake_at(submit, SUBMIT);
        }
        Some(self.best.is_some())
    }

    /// Submits the job, if it is time to and not too late for it.
    pub fn wake(&mut self, token: u64, context: &mut JobContext<'_>) {
        let Some((_, _, provider)) = self.best.filter(|_| token == SUBMIT) else { return };
        let work = job_work(provider, context);
        if context.now >= work.start {
            return;
        }
        let padded = Padded { work_from: work.start, walltime: requested_time(&work, context.now) };
        context.send(0, Assignment { provider, padded: Some(padded), ..Assignment::default() });
    }
}

impl Strategy for Var {
    fn begin_job(&mut self, context: &mut JobContext<'_>) {
        self.job.request_chances(context);
        context.wake_at(context.wanted(), WANTED);
    }

    fn task_ready(&mut self, _: u32, _: &mut JobContext<'_>) {}

    fn receive_reply(&mut self, _: u64, provider: usize, reply: Reply, context: &mut JobContext<'_>) {
        if self.job.take_chance(provider, &reply, context) == Some(false) {
            context.bargained(Bargain::GivenUp, Some(Reason::NoChance));
            context.give_up();
        }
    }

    fn timer_due(&mut self, token: u64, context: &mut JobContext<'_>) {
        self.job.wake(token, context);
        if token != WANTED || self.job.begun {
            return;
        }
        if context.run.assignment(0).is_some() {
            return context.recall(0);
        }
        // The answers came so late that it was never submitted.
        context.bargained(Bargain::GivenUp, Some(Reason::TooLate));
        context.give_up();
    }

    fn task_begun(&mut self, _: u32, context: &mut JobContext<'_>) {
        self.job.begun = true;
        context.bargained(Bargain::Booked, None);
    }

    fn task_recalled(&mut self, _: u32, in_time: bool, context: &mut JobContext<'_>) {
        if in_time {
            // It may have begun when it was recalled, and have been lost before that arrived.
            if !self.job.begun {
                context.bargained(Bargain::GivenUp, Some(Reason::NotStarted));
            }
            context.give_up();
        }
    }
}
