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
    /// An attempt begins; the first has the number 1.
    Attempt(u32),
    /// All sites hold. The decision is final.
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
pub enum Deed {
    /// An entry to write to the log before any other action.
    LogEntry(LogEntry),
    Tell {
        leg: usize,
        hold: HoldId,
        order: HoldOrder,
    },
    /// No start is left to try. The driver is to offer new ones; see [`Coordinator::offer`].
    Ask,
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
    /// Starts have been requested of the driver.
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
    pub fn over(self, latency: Span, slack: Span) -> Patience {
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
        deeds: &mut Vec<Deed>,
    ) -> Coordinator {
        let mut coordinator = Coordinator::new(request, patience);
        let legs = coordinator.request.legs.len();
        let attempts =
            log.iter().filter_map(|entry| if let LogEntry::Attempt(attempt) = entry { Some(*attempt) } else { None });
        coordinator.attempt = attempts.max().unwrap_or(0);
        match log.last() {
            None => deeds.push(Deed::Ask),
            Some(LogEntry::Attempt(_)) => {
                coordinator.abort(legs, deeds);
                coordinator.give_up_attempt(now, deeds);
            }
            Some(LogEntry::Commit) => coordinator.commit(now, deeds),
            Some(LogEntry::Compensate) => coordinator.cancel(now, deeds),
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
    pub fn offer(&mut self, now: Time, starts: &[Time], deeds: &mut Vec<Deed>) {
        if self.phase != CoallocationPhase::Asking {
            return;
        }
        self.starts = starts.iter().rev().copied().collect();
        match starts {
            [] => self.end(CoallocationOutcome::Nothing, deeds),
            _ => self.try_next(now, deeds),
        }
    }

    /// Handles an answer of a site about a hold. An answer about another attempt, or one already known, is ignored.
    pub fn hear(&mut self, now: Time, hold: HoldId, answer: LegAnswer, deeds: &mut Vec<Deed>) {
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
                self.hold_next(now, deeds);
            }
            (CoallocationPhase::Holding { granted, .. }, LegAnswer::Refused) if *granted == leg => {
                self.fail_attempt(now, deeds)
            }
            (CoallocationPhase::Committing { missing }, LegAnswer::Committed) => {
                missing[leg] = false;
                if !missing.contains(&true) {
                    self.end(CoallocationOutcome::Whole, deeds);
                }
            }
            (CoallocationPhase::Committing { .. }, LegAnswer::Expired) => {
                deeds.push(Deed::LogEntry(LogEntry::Compensate));
                self.cancel(now, deeds);
            }
            (CoallocationPhase::Compensating { missing }, LegAnswer::Cancelled) => {
                missing[leg] = false;
                if !missing.contains(&true) {
                    self.end(CoallocationOutcome::Nothing, deeds);
                }
            }
            _ => {}
        }
    }

    /// A site no longer has its committed part: all parts are cancelled, even if the request was over.
    pub fn broken(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        if matches!(
            self.phase,
            CoallocationPhase::Committing { .. } | CoallocationPhase::Over(CoallocationOutcome::Whole)
        ) {
            deeds.push(Deed::LogEntry(LogEntry::Compensate));
            self.cancel(now, deeds);
        }
    }

    /// Acts at the wake-up time.
    pub fn woken(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        if self.wake.is_none_or(|wake| wake > now) {
            return;
        }
        self.wake = None;
        match &self.phase {
            CoallocationPhase::Pausing => self.try_next(now, deeds),
            CoallocationPhase::Holding { .. } => self.fail_attempt(now, deeds),
            CoallocationPhase::Committing { missing } => {
                let missing = missing.clone();
                self.order_missing_legs(now, &missing, HoldOrder::Commit, deeds);
            }
            CoallocationPhase::Compensating { missing } => {
                let missing = missing.clone();
                self.order_missing_legs(now, &missing, HoldOrder::Cancel, deeds);
            }
            CoallocationPhase::Asking | CoallocationPhase::Over(_) => {}
        }
    }

    /// Begins the next attempt. Starts in the past are skipped.
    fn try_next(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        while self.starts.pop_if(|start| *start <= now).is_some() {}
        let Some(start) = self.starts.pop() else {
            self.phase = CoallocationPhase::Asking;
            deeds.push(Deed::Ask);
            return;
        };
        self.attempt += 1;
        deeds.push(Deed::LogEntry(LogEntry::Attempt(self.attempt)));
        self.phase = CoallocationPhase::Holding { start, granted: 0, expiry: Time::NEVER };
        self.hold_next(now, deeds);
    }

    /// Asks the next site, or commits if all have granted and their holds last until the commit arrives.
    fn hold_next(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        let CoallocationPhase::Holding { start, granted, expiry } = self.phase else { return };
        if let Some(leg) = self.request.legs.get(granted) {
            deeds.push(self.tell(granted, HoldOrder::Hold(leg.part(start))));
            self.wake = Some(self.patience.answered_by(now));
        } else if self.patience.answered_by(now) <= expiry && now + self.patience.reach <= start {
            deeds.push(Deed::LogEntry(LogEntry::Commit));
            self.commit(now, deeds);
        } else {
            self.fail_attempt(now, deeds);
        }
    }

    fn fail_attempt(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        if let CoallocationPhase::Holding { granted, .. } = self.phase {
            self.abort((granted + 1).min(self.request.legs.len()), deeds);
        }
        self.give_up_attempt(now, deeds);
    }

    /// Aborts the first `legs` legs, the last of them first.
    fn abort(&mut self, legs: usize, deeds: &mut Vec<Deed>) {
        deeds.extend((0..legs).rev().map(|leg| self.tell(leg, HoldOrder::Abort)));
    }

    fn give_up_attempt(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        if self.attempt >= self.patience.attempts {
            return self.end(CoallocationOutcome::Nothing, deeds);
        }
        // Two requests that obstructed each other do not retry at the same time.
        let doubled = self.patience.pause.micros() << (self.attempt.max(1) - 1).min(30);
        let apart = Span::from_secs(self.request.number % 16);
        self.phase = CoallocationPhase::Pausing;
        self.wake = Some(now + Span::from_micros(doubled) + apart);
    }

    fn commit(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        let missing = vec![true; self.request.legs.len()];
        self.order_missing_legs(now, &missing, HoldOrder::Commit, deeds);
        self.phase = CoallocationPhase::Committing { missing };
    }

    fn cancel(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        let missing = vec![true; self.request.legs.len()];
        self.order_missing_legs(now, &missing, HoldOrder::Cancel, deeds);
        self.phase = CoallocationPhase::Compensating { missing };
    }

    fn order_missing_legs(&mut self, now: Time, missing: &[bool], order: HoldOrder, deeds: &mut Vec<Deed>) {
        let legs = missing.iter().enumerate().filter(|(_, missing)| **missing);
        deeds.extend(legs.map(|(leg, _)| self.tell(leg, order)));
        self.wake = Some(now + self.patience.delta);
    }

    fn tell(&self, leg: usize, order: HoldOrder) -> Deed {
        Deed::Tell { leg, hold: HoldId { request: self.request.number, attempt: self.attempt, leg: leg as u32 }, order }
    }

    fn end(&mut self, outcome: CoallocationOutcome, deeds: &mut Vec<Deed>) {
        self.phase = CoallocationPhase::Over(outcome);
        self.wake = None;
        deeds.extend([Deed::LogEntry(LogEntry::Over(outcome)), Deed::Over(outcome)]);
    }
}
