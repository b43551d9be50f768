//! Virtual advance reservations: an ordinary job, submitted so early and with such a long request that it still runs
//! when its work is wanted (D. Nurmi, R. Wolski, J. Brevik, "VARQ: virtual advance reservations for queues", 2008).
//! Such a job can be combined with a real reservation.
//!
//! The cost of a queued job is the price of its processors at best effort. That of a reservation is the price of its
//! site, and its fee.

use crate::grid::{Area, Part, Tariff};
use crate::time::{Span, Time};

/// Interval between the submission times that are tried.
pub const STEP: Span = Span::from_secs(30);

/// An imitated reservation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    pub submit: Time,
    pub requested: Span,
    /// Probability of a start in time.
    pub chance: f64,
}

/// Time that a job submitted then has to request: until the work begins, and for its duration.
pub fn requested_time(work: &Part, submit: Time) -> Span {
    work.start.since(submit) + work.span
}

/// The first submission time with the best probability, given the probability that a job with a requested time starts
/// within a time limit. None, if no time has a chance.
pub fn find_submission(now: Time, work: &Part, mut chance: impl FnMut(Span, Span) -> f64) -> Option<Attempt> {
    let mut best: Option<Attempt> = None;
    let mut submit = now;
    while submit < work.start {
        let requested = requested_time(work, submit);
        let chance = chance(requested, work.start - submit);
        if chance > best.map_or(0.0, |best| best.chance) {
            best = Some(Attempt { submit, requested, chance });
        }
        submit = submit + STEP;
    }
    best
}

/// Cost of occupying the processors until the work begins.
pub fn padding_cost(work: &Part, started: Time) -> Area {
    Area::of(work.procs, work.start.since(started))
}

/// Cost of a reservation for some work.
pub fn reserved_cost(work: &Part, tariff: &Tariff, fee: Area) -> Area {
    tariff.cost(work) + fee
}

/// The first action for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Only a reservation is made, as no job can be cheaper.
    Reserve,
    /// Only a job is submitted, as no reservation is available.
    Job,
    /// A reservation is made, and a job is tried as well.
    Both,
}

/// The first action, given the cost of a reservation (`None` where it is refused) and the least cost of a job.
pub fn choose_opening(reserved: Option<Area>, queued: Area) -> Opening {
    match reserved {
        None => Opening::Job,
        Some(reserved) if reserved <= queued => Opening::Reserve,
        Some(_) => Opening::Both,
    }
}

/// True if a job that has started in time is used instead of the reservation, which then has to be cancelled.
pub fn is_job_cheaper(queued: Area, reserved: Area, penalty: Area) -> bool {
    queued + penalty <= reserved
}

/// The place where the work was done, and its cost beside the work itself, which costs the same in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    Reserved(Area),
    Job(Area),
    Failed,
}

/// Result of a piece of work if the job and the reservation each had their own independent results: a reservation at a
/// fee, or none; a job that started then, or not in time.
pub fn replay_outcome(work: &Part, fee: Option<Area>, started: Option<Time>, cancelling: u32) -> ReplayOutcome {
    let started = started.filter(|started| *started <= work.start);
    match (choose_opening(fee, Area::ZERO), fee, started) {
        (Opening::Job, _, None) => ReplayOutcome::Failed,
        (Opening::Job, _, Some(started)) => ReplayOutcome::Job(padding_cost(work, started)),
        (Opening::Both, Some(fee), Some(started)) => {
            let padding = padding_cost(work, started);
            let penalty = fee.part(cancelling);
            if is_job_cheaper(padding, fee, penalty) {
                ReplayOutcome::Job(padding + penalty)
            } else {
                ReplayOutcome::Reserved(fee)
            }
        }
        (_, fee, _) => ReplayOutcome::Reserved(fee.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Rate;
    use crate::play::second;
    use crate::systems::provisioning::forecast::{Forecast, History, Recorded};

    fn area(area: u64) -> Area {
        Area::of(1, Span::from_secs(area))
    }

    #[test]
    fn a_job_is_submitted_when_it_is_most_likely_to_start_in_time() {
        let mut history = History::new();
        for i in 1..=60 {
            history.record_start(1, Span::from_minutes(240), Span::from_secs(200 * i));
            history.record_start(1, Span::from_minutes(720), Span::from_secs(400 * i));
        }
        let work = Part { procs: 1, start: second(14_400), span: Span::from_secs(3_600) };
        let mut chance = |requested, within| history.start_chance(1, requested, within);
        assert!((chance(requested_time(&work, Time::ZERO), Span::from_secs(14_400)) - 0.485649).abs() < 1e-6);
        let attempt = find_submission(Time::ZERO, &work, chance).unwrap();
        assert_eq!((attempt.submit, attempt.requested), (second(3_600), Span::from_secs(14_400)));
        assert!((attempt.chance - 0.812143).abs() < 1e-6);
    }

    #[test]
    fn the_job_asks_for_all_the_time_until_its_work_is_done() {
        let work = |minutes| Part { procs: 4, start: second(240 * 60), span: Span::from_minutes(minutes) };
        // The chance is best when there are so many minutes left, and not a step earlier.
        let best_at = |minutes: u64| {
            let left = Span::from_minutes(240 - minutes);
            let chances = [(Span::ZERO, 0.1), (left, 0.9), (left + Span::from_micros(1), 0.1)];
            let mut recorded = Recorded(chances.into_iter().collect());
            move |requested, within| recorded.start_chance(4, requested, within)
        };
        let attempt = find_submission(Time::ZERO, &work(60), best_at(110)).unwrap();
        assert_eq!((attempt.submit, attempt.requested), (second(110 * 60), Span::from_minutes(190)));
        let attempt = find_submission(Time::ZERO, &work(240), best_at(0)).unwrap();
        assert_eq!((attempt.submit, attempt.requested), (Time::ZERO, Span::from_minutes(480)));
        assert_eq!(find_submission(Time::ZERO, &work(60), |_, _| 0.0), None);
        assert_eq!(find_submission(second(240 * 60), &work(60), |_, _| 1.0), None);
    }

    #[test]
    fn a_reservation_at_the_price_of_best_effort_is_enough_if_it_has_no_fee() {
        let work = Part { procs: 2, start: second(8), span: Span::from_secs(50) };
        let opening = |price: u32, fee: u64| {
            choose_opening(Some(reserved_cost(&work, &Tariff::flat(Rate(price)), area(fee))), work.area())
        };
        assert_eq!([opening(1_000, 0), opening(1_000, 1)], [Opening::Reserve, Opening::Both]);
        // Queues are cheaper or dearer than this site.
        assert_eq!(
            [opening(1_200, 0), opening(900, 10), opening(900, 11)].map(|opening| opening == Opening::Both),
            [true, false, true]
        );
        assert_eq!(choose_opening(None, work.area()), Opening::Job);
    }

    #[test]
    fn a_reservation_is_given_back_where_the_job_is_cheaper() {
        let work = Part { procs: 32, start: second(8), span: Span::from_secs(1) };
        let outcome =
            |fee: Option<u64>, started: Option<u64>| replay_outcome(&work, fee.map(area), started.map(second), 100);
        assert_eq!(outcome(Some(100), Some(6)), ReplayOutcome::Job(area(74)));
        assert_eq!(outcome(Some(60), Some(6)), ReplayOutcome::Reserved(area(60)));
        assert_eq!(outcome(Some(0), Some(6)), ReplayOutcome::Reserved(area(0)));
        assert_eq!(outcome(None, Some(6)), ReplayOutcome::Job(area(64)));
        assert_eq!(outcome(None, Some(9)), ReplayOutcome::Failed);
        assert_eq!(outcome(None, None), ReplayOutcome::Failed);
        assert_eq!(outcome(Some(100), None), ReplayOutcome::Reserved(area(100)));
        // Equal counts for the job.
        assert_eq!(outcome(Some(80), Some(8)), ReplayOutcome::Job(area(8)));
    }
}
