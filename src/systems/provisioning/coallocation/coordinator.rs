//! Two phases: ask all sites to hold, then commit; or give all of it back.

use serde::{Deserialize, Serialize};

use crate::grid::{Area, HoldId, Part};
use crate::time::{Span, Time};

/// What is wanted of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    pub site: u32,
    pub procs: u32,
    pub span: Span,
}

/// All legs at the same start, or none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub number: u64,
    /// Ascending by site, no site twice.
    pub legs: Vec<Leg>,
}

/// How long a coordinator waits for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Longer than any message is under way.
    pub delta: Span,
    /// All must have granted so long before the start, that tasks can be there: after a commit and its answer.
    pub reach: Span,
    pub attempts: u32,
    /// After a failed attempt; twice as long after each further one.
    pub pause: Span,
}

/// What a coordinator writes down before it acts on it, and comes back with after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Log {
    /// An attempt begins, the first is 1.
    Attempt(u32),
    /// All sites hold: from now on there is no way back.
    Commit,
    /// A site no longer did when the commit came, or later: all that was committed is taken back.
    Compensate,
    Over(Outcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Whole,
    Nothing,
}

/// What a coordinator tells a site about a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    Hold(Part),
    Commit,
    Abort,
    Cancel,
}

/// What a site answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    Granted {
        expiry: Time,
        fee: Area,
    },
    Refused,
    Committed,
    /// It does not hold this any more.
    Expired,
    Cancelled,
}

/// What a coordinator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// To be written before anything else is done.
    Log(Log),
    Tell {
        leg: usize,
        hold: HoldId,
        order: Order,
    },
    /// No start is left to try: new ones are wanted, see [`Coordinator::offer`].
    Ask,
    Over(Outcome),
}

/// One request on its way.
#[derive(Clone, Debug)]
pub struct Coordinator {
    request: Request,
    patience: Patience,
    attempt: u32,
    /// Starts to try, the best last.
    starts: Vec<Time>,
    phase: Phase,
    /// When to act though nothing comes.
    wake: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// The next attempt begins at the time to wake.
    Pausing,
    /// The driver has been asked for starts.
    Asking,
    /// Of the legs in order so many have been granted; the next has been asked.
    Holding {
        start: Time,
        granted: usize,
        expiry: Time,
    },
    /// Who has not said yet that he has committed.
    Committing {
        missing: Vec<bool>,
    },
    /// Who has not said yet that he holds nothing.
    Compensating {
        missing: Vec<bool>,
    },
    Over(Outcome),
}

impl Patience {
    pub fn new(delta: Span) -> Patience {
        Patience { delta, reach: Span::ZERO, attempts: 5, pause: Span::from_secs(30) }
    }

    /// The same, where messages take so long at most, and tasks may be late by some slack.
    pub fn over(self, latency: Span, slack: Span) -> Patience {
        let ways = latency + latency + latency;
        Patience { reach: Span::from_micros(ways.micros().saturating_sub(slack.micros())), ..self }
    }

    /// When a commit that is sent now has been answered in any case.
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
    /// Begins by asking for starts.
    pub fn new(request: Request, patience: Patience) -> Coordinator {
        Coordinator { request, patience, attempt: 0, starts: Vec::new(), phase: Phase::Asking, wake: None }
    }

    /// Comes back after a crash with nothing but its log.
    pub fn recover(now: Time, request: Request, patience: Patience, log: &[Log], deeds: &mut Vec<Deed>) -> Coordinator {
        let mut coordinator = Coordinator::new(request, patience);
        let legs = coordinator.request.legs.len();
        let attempts =
            log.iter().filter_map(|entry| if let Log::Attempt(attempt) = entry { Some(*attempt) } else { None });
        coordinator.attempt = attempts.max().unwrap_or(0);
        match log.last() {
            None => deeds.push(Deed::Ask),
            Some(Log::Attempt(_)) => {
                coordinator.abort(legs, deeds);
                coordinator.give_up_attempt(now, deeds);
            }
            Some(Log::Commit) => coordinator.commit(now, deeds),
            Some(Log::Compensate) => coordinator.cancel(now, deeds),
            Some(Log::Over(outcome)) => coordinator.phase = Phase::Over(*outcome),
        }
        coordinator
    }

    pub fn request(&self) -> &Request {
        &self.request
    }

    pub fn wake(&self) -> Option<Time> {
        self.wake
    }

    pub fn outcome(&self) -> Option<Outcome> {
        if let Phase::Over(outcome) = self.phase { Some(outcome) } else { None }
    }

    /// Starts that all sites would admit, the best first; without any, that is the end of it.
    pub fn offer(&mut self, now: Time, starts: &[Time], deeds: &mut Vec<Deed>) {
        if self.phase != Phase::Asking {
            return;
        }
        self.starts = starts.iter().rev().copied().collect();
        match starts {
            [] => self.end(Outcome::Nothing, deeds),
            _ => self.try_next(now, deeds),
        }
    }

    /// A site has answered about a hold; what is about another attempt, or was known, says nothing new.
    pub fn hear(&mut self, now: Time, hold: HoldId, answer: Answer, deeds: &mut Vec<Deed>) {
        let leg = hold.leg as usize;
        if hold.request != self.request.number || hold.attempt != self.attempt || leg >= self.request.legs.len() {
            return;
        }
        match (&mut self.phase, answer) {
            (Phase::Holding { granted, expiry, .. }, Answer::Granted { expiry: lease, .. }) if *granted == leg => {
                *granted += 1;
                *expiry = lease.min(*expiry);
                self.hold_next(now, deeds);
            }
            (Phase::Holding { granted, .. }, Answer::Refused) if *granted == leg => self.fail_attempt(now, deeds),
            (Phase::Committing { missing }, Answer::Committed) => {
                missing[leg] = false;
                if !missing.contains(&true) {
                    self.end(Outcome::Whole, deeds);
                }
            }
            (Phase::Committing { .. }, Answer::Expired) => {
                deeds.push(Deed::Log(Log::Compensate));
                self.cancel(now, deeds);
            }
            (Phase::Compensating { missing }, Answer::Cancelled) => {
                missing[leg] = false;
                if !missing.contains(&true) {
                    self.end(Outcome::Nothing, deeds);
                }
            }
            _ => {}
        }
    }

    /// A site no longer has what it had committed: all of it is taken back, even if nothing was left to do.
    pub fn broken(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        if matches!(self.phase, Phase::Committing { .. } | Phase::Over(Outcome::Whole)) {
            deeds.push(Deed::Log(Log::Compensate));
            self.cancel(now, deeds);
        }
    }

    /// The time to wake has come.
    pub fn woken(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        if self.wake.is_none_or(|wake| wake > now) {
            return;
        }
        self.wake = None;
        match &self.phase {
            Phase::Pausing => self.try_next(now, deeds),
            Phase::Holding { .. } => self.fail_attempt(now, deeds),
            Phase::Committing { missing } => {
                let missing = missing.clone();
                self.tell_missing(now, &missing, Order::Commit, deeds);
            }
            Phase::Compensating { missing } => {
                let missing = missing.clone();
                self.tell_missing(now, &missing, Order::Cancel, deeds);
            }
            Phase::Asking | Phase::Over(_) => {}
        }
    }

    /// A start that has passed is nothing to ask for.
    fn try_next(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        while self.starts.pop_if(|start| *start <= now).is_some() {}
        let Some(start) = self.starts.pop() else {
            self.phase = Phase::Asking;
            deeds.push(Deed::Ask);
            return;
        };
        self.attempt += 1;
        deeds.push(Deed::Log(Log::Attempt(self.attempt)));
        self.phase = Phase::Holding { start, granted: 0, expiry: Time::NEVER };
        self.hold_next(now, deeds);
    }

    /// Asks the next site, or commits if all have granted and will hold until the commit has come.
    fn hold_next(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        let Phase::Holding { start, granted, expiry } = self.phase else { return };
        if let Some(leg) = self.request.legs.get(granted) {
            deeds.push(self.tell(granted, Order::Hold(leg.part(start))));
            self.wake = Some(self.patience.answered_by(now));
        } else if self.patience.answered_by(now) <= expiry && now + self.patience.reach <= start {
            deeds.push(Deed::Log(Log::Commit));
            self.commit(now, deeds);
        } else {
            self.fail_attempt(now, deeds);
        }
    }

    fn fail_attempt(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        if let Phase::Holding { granted, .. } = self.phase {
            self.abort((granted + 1).min(self.request.legs.len()), deeds);
        }
        self.give_up_attempt(now, deeds);
    }

    /// Takes the first legs back, the last of them first.
    fn abort(&mut self, legs: usize, deeds: &mut Vec<Deed>) {
        deeds.extend((0..legs).rev().map(|leg| self.tell(leg, Order::Abort)));
    }

    fn give_up_attempt(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        if self.attempt >= self.patience.attempts {
            return self.end(Outcome::Nothing, deeds);
        }
        // Two requests that were in each other's way do not come back at the same time.
        let doubled = self.patience.pause.micros() << (self.attempt.max(1) - 1).min(30);
        let apart = Span::from_secs(self.request.number % 16);
        self.phase = Phase::Pausing;
        self.wake = Some(now + Span::from_micros(doubled) + apart);
    }

    fn commit(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        let missing = vec![true; self.request.legs.len()];
        self.tell_missing(now, &missing, Order::Commit, deeds);
        self.phase = Phase::Committing { missing };
    }

    fn cancel(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        let missing = vec![true; self.request.legs.len()];
        self.tell_missing(now, &missing, Order::Cancel, deeds);
        self.phase = Phase::Compensating { missing };
    }

    fn tell_missing(&mut self, now: Time, missing: &[bool], order: Order, deeds: &mut Vec<Deed>) {
        let legs = missing.iter().enumerate().filter(|(_, missing)| **missing);
        deeds.extend(legs.map(|(leg, _)| self.tell(leg, order)));
        self.wake = Some(now + self.patience.delta);
    }

    fn tell(&self, leg: usize, order: Order) -> Deed {
        Deed::Tell { leg, hold: HoldId { request: self.request.number, attempt: self.attempt, leg: leg as u32 }, order }
    }

    fn end(&mut self, outcome: Outcome, deeds: &mut Vec<Deed>) {
        self.phase = Phase::Over(outcome);
        self.wake = None;
        deeds.extend([Deed::Log(Log::Over(outcome)), Deed::Over(outcome)]);
    }
}
