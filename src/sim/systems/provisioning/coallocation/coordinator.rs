//! Two-phase commit: all sites are asked to hold, then all holds are committed or all are returned.

use serde::{Deserialize, Serialize};

use crate::grid::{Area, HoldId, Part};
use crate::time::{Span, Time};

/// The processors requested of one site, and the duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    pub site: u32,
    pub procs: u32,
    pub span: Span,
}

/// A request for all legs at the same start, or none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoallocationRequest {
    pub number: u64,
    /// The legs, ascending by site; no site occurs twice.
    pub legs: Vec<Leg>,
}

/// Time limits and number of attempts of a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// A bound on the delay of every message.
    pub delta: Span,
    /// Time before the start by which all sites must have granted, so that tasks can arrive in time: after a commit and
    /// its answer.
    pub reach: Span,
    pub attempts: u32,
    /// Pause after a failed attempt; it doubles after each further one.
    pub pause: Span,
}

/// Log entries of a coordinator. It writes an entry before it acts on it, and recovers from the log after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogEntry {
    /// An attempt begins; they are numbered from 1.
    Attempt(u32),
    /// All sites have granted their holds, so the decision to commit is final.
    Commit,
    /// A site no longer held its part when the commit arrived, or later. All committed parts are cancelled.
    Compensate,
    Over(CoallocationOutcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CoallocationOutcome {
    Whole,
    Nothing,
}

/// Instructions to a site about a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HoldOrder {
    Hold(Part),
    Commit,
    Abort,
    Cancel,
}

/// Answers of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LegAnswer {
    Granted {
        expiry: Time,
        fee: Area,
    },
    Refused,
    Committed,
    /// The site no longer holds this part.
    Expired,
    Cancelled,
}

/// Actions of a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoordinatorStep {
    /// An entry to write to the log before any other action.
    LogEntry(LogEntry),
    OrderLeg {
        leg: usize,
        hold: HoldId,
        order: HoldOrder,
    },
    /// No start is left to try. The driver is to offer new ones; see [`Coordinator::offer`].
    RequestStarts,
    Over(CoallocationOutcome),
}

/// A request that is in progress.
#[derive(Clone, Debug)]
pub struct Coordinator {
    request: CoallocationRequest,
    patience: Patience,
    attempt: u32,
    /// The starts to try, the best last.
    starts: Vec<Time>,
    phase: CoallocationPhase,
    /// Time at which to act if no message arrives.
    wake: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum CoallocationPhase {
    /// The next attempt begins at the wake-up time.
    Pausing,
    /// The driver has been asked for possible starts.
    Asking,
    /// `granted` legs, in their order, have been granted; the next has been requested.
    Holding {
        start: Time,
        granted: usize,
        expiry: Time,
    },
    /// The legs whose commit has not been confirmed yet.
    Committing {
        missing: Vec<bool>,
    },
    /// The legs whose cancellation has not been confirmed yet.
    Compensating {
        missing: Vec<bool>,
    },
    Over(CoallocationOutcome),
}

impl Patience {
    pub fn new(delta: Span) -> Patience {
        Patience { delta, reach: Span::ZERO, attempts: 5, pause: Span::from_secs(30) }
    }

    /// Adds the reach for a grid with this maximum latency, where tasks may be late by `slack`.
    pub fn with_reach(self, latency: Span, slack: Span) -> Patience {
        let ways = latency + latency + latency;
        Patience { reach: Span::from_micros(ways.micros().saturating_sub(slack.micros())), ..self }
    }

    /// Time by which a commit sent now has been answered in any case.
    fn answered_by(&self, now: Time) -> Time {
        now + self.delta + self.delta
    }
}

impl Leg {
    pub fn part(&self, start: Time) -> Part {
        Part { procs: self.procs, start, span: self.span }
    }
}

impl Coordinator {
    /// A new coordinator, which begins by asking for starts.
    pub fn new(request: CoallocationRequest, patience: Patience) -> Coordinator {
        Coordinator { request, patience, attempt: 0, starts: Vec::new(), phase: CoallocationPhase::Asking, wake: None }
    }

    /// Recovers a coordinator from its log alone.
    pub fn from_log(
        now: Time,
        request: CoallocationRequest,
        patience: Patience,
        log: &[LogEntry],
        steps: &mut Vec<CoordinatorStep>,
    ) -> Coordinator {
        let mut coordinator = Coordinator::new(request, patience);
        let legs = coordinator.request.legs.len();
        let attempts =
            log.iter().filter_map(|entry| if let LogEntry::Attempt(attempt) = entry { Some(*attempt) } else { None });
        coordinator.attempt = attempts.max().unwrap_or(0);
        match log.last() {
            None => steps.push(CoordinatorStep::RequestStarts),
            Some(LogEntry::Attempt(_)) => {
                coordinator.abort(legs, steps);
                coordinator.give_up_attempt(now, steps);
            }
            Some(LogEntry::Commit) => coordinator.commit(now, steps),
            Some(LogEntry::Compensate) => coordinator.cancel(now, steps),
            Some(LogEntry::Over(outcome)) => coordinator.phase = CoallocationPhase::Over(*outcome),
        }
        coordinator
    }

    pub fn request(&self) -> &CoallocationRequest {
        &self.request
    }

    pub fn wake(&self) -> Option<Time> {
        self.wake
    }

    pub fn outcome(&self) -> Option<CoallocationOutcome> {
        if let CoallocationPhase::Over(outcome) = self.phase { Some(outcome) } else { None }
    }

    /// Supplies starts that all sites would admit, the best first. Without any the request ends with nothing.
    pub fn offer(&mut self, now: Time, starts: &[Time], steps: &mut Vec<CoordinatorStep>) {
        if self.phase != CoallocationPhase::Asking {
            return;
        }
        self.starts = starts.iter().rev().copied().collect();
        match starts {
            [] => self.conclude(CoallocationOutcome::Nothing, steps),
            _ => self.try_next(now, steps),
        }
    }

    /// Handles an answer of a site about a hold. An answer about another attempt, or one already known, is ignored.
    pub fn take_answer(&mut self, now: Time, hold: HoldId, answer: LegAnswer, steps: &mut Vec<CoordinatorStep>) {
        let leg = hold.leg as usize;
        if hold.request != self.request.number || hold.attempt != self.attempt || leg >= self.request.legs.len() {
            return;
        }
        match (&mut self.phase, answer) {
            (CoallocationPhase::Holding { granted, expiry, .. }, LegAnswer::Granted { expiry: lease, .. })
                if *granted == leg =>
            {
                *granted += 1;
                *expiry = lease.min(*expiry);
                self.hold_next(now, steps);
            }
            (CoallocationPhase::Holding { granted, .. }, LegAnswer::Refused) if *granted == leg => {
                self.fail_attempt(now, steps)
            }
            (CoallocationPhase::Committing { missing }, LegAnswer::Committed) => {
                missing[leg] = false;
                if !missing.contains(&true) {
                    self.conclude(CoallocationOutcome::Whole, steps);
                }
            }
            (CoallocationPhase::Committing { .. }, LegAnswer::Expired) => {
                steps.push(CoordinatorStep::LogEntry(LogEntry::Compensate));
                self.cancel(now, steps);
            }
            (CoallocationPhase::Compensating { missing }, LegAnswer::Cancelled) => {
                missing[leg] = false;
                if !missing.contains(&true) {
                    self.conclude(CoallocationOutcome::Nothing, steps);
                }
            }
            _ => {}
        }
    }

    /// A site no longer has its committed part: all parts are cancelled, even if the request was over.
    pub fn broken(&mut self, now: Time, steps: &mut Vec<CoordinatorStep>) {
        if matches!(
            self.phase,
            CoallocationPhase::Committing { .. } | CoallocationPhase::Over(CoallocationOutcome::Whole)
        ) {
            steps.push(CoordinatorStep::LogEntry(LogEntry::Compensate));
            self.cancel(now, steps);
        }
    }

    /// Acts at the wake-up time.
    pub fn woken(&mut self, now: Time, steps: &mut Vec<CoordinatorStep>) {
        if self.wake.is_none_or(|wake| wake > now) {
            return;
        }
        self.wake = None;
        match &self.phase {
            CoallocationPhase::Pausing => self.try_next(now, steps),
            CoallocationPhase::Holding { .. } => self.fail_attempt(now, steps),
            CoallocationPhase::Committing { missing } => {
                let missing = missing.clone();
                self.order_missing_legs(now, &missing, HoldOrder::Commit, steps);
            }
            CoallocationPhase::Compensating { missing } => {
                let missing = missing.clone();
                self.order_missing_legs(now, &missing, HoldOrder::Cancel, steps);
            }
            CoallocationPhase::Asking | CoallocationPhase::Over(_) => {}
        }
    }

    /// Begins the next attempt. Starts in the past are skipped.
    fn try_next(&mut self, now: Time, steps: &mut Vec<CoordinatorStep>) {
        while self.starts.pop_if(|start| *start <= now).is_some() {}
        let Some(start) = self.starts.pop() else {
            self.phase = CoallocationPhase::Asking;
            steps.push(CoordinatorStep::RequestStarts);
            return;
        };
        self.attempt += 1;
        steps.push(CoordinatorStep::LogEntry(LogEntry::Attempt(self.attempt)));
        self.phase = CoallocationPhase::Holding { start, granted: 0, expiry: Time::NEVER };
        self.hold_next(now, steps);
    }

    /// Asks the next site, or commits if all have granted and their holds last until the commit arrives.
    fn hold_next(&mut self, now: Time, steps: &mut Vec<CoordinatorStep>) {
        let CoallocationPhase::Holding { start, granted, expiry } = self.phase else { return };
        if let Some(leg) = self.request.legs.get(granted) {
            steps.push(self.order_leg(granted, HoldOrder::Hold(leg.part(start))));
            self.wake = Some(self.patience.answered_by(now));
        } else if self.patience.answered_by(now) <= expiry && now + self.patience.reach <= start {
            steps.push(CoordinatorStep::LogEntry(LogEntry::Commit));
            self.commit(now, steps);
        } else {
            self.fail_attempt(now, steps);
        }
    }

    fn fail_attempt(&mut self, now: Time, steps: &mut Vec<CoordinatorStep>) {
        if let CoallocationPhase::Holding { granted, .. } = self.phase {
            self.abort((granted + 1).min(self.request.legs.len()), steps);
        }
        self.give_up_attempt(now, steps);
    }

    /// Aborts the first `legs` legs, the last of them first.
    fn abort(&mut self, legs: usize, steps: &mut Vec<CoordinatorStep>) {
        steps.extend((0..legs).rev().map(|leg| self.order_leg(leg, HoldOrder::Abort)));
    }

    fn give_up_attempt(&mut self, now: Time, steps: &mut Vec<CoordinatorStep>) {
        if self.attempt >= self.patience.attempts {
            return self.conclude(CoallocationOutcome::Nothing, steps);
        }
        // Two requests that obstructed each other do not retry at the same time.
        let doubled = self.patience.pause.micros() << (self.attempt.max(1) - 1).min(30);
        let apart = Span::from_secs(self.request.number % 16);
        self.phase = CoallocationPhase::Pausing;
        self.wake = Some(now + Span::from_micros(doubled) + apart);
    }

    fn commit(&mut self, now: Time, steps: &mut Vec<CoordinatorStep>) {
        let missing = vec![true; self.request.legs.len()];
        self.order_missing_legs(now, &missing, HoldOrder::Commit, steps);
        self.phase = CoallocationPhase::Committing { missing };
    }

    fn cancel(&mut self, now: Time, steps: &mut Vec<CoordinatorStep>) {
        let missing = vec![true; self.request.legs.len()];
        self.order_missing_legs(now, &missing, HoldOrder::Cancel, steps);
        self.phase = CoallocationPhase::Compensating { missing };
    }

    fn order_missing_legs(&mut self, now: Time, missing: &[bool], order: HoldOrder, steps: &mut Vec<CoordinatorStep>) {
        let legs = missing.iter().enumerate().filter(|(_, missing)| **missing);
        steps.extend(legs.map(|(leg, _)| self.order_leg(leg, order)));
        self.wake = Some(now + self.patience.delta);
    }

    fn order_leg(&self, leg: usize, order: HoldOrder) -> CoordinatorStep {
        CoordinatorStep::OrderLeg {
            leg,
            hold: HoldId { request: self.request.number, attempt: self.attempt, leg: leg as u32 },
            order,
        }
    }

    fn conclude(&mut self, outcome: CoallocationOutcome, steps: &mut Vec<CoordinatorStep>) {
        self.phase = CoallocationPhase::Over(outcome);
        self.wake = None;
        steps.extend([CoordinatorStep::LogEntry(LogEntry::Over(outcome)), CoordinatorStep::Over(outcome)]);
    }
}
