//! Coordinators and real desks under random schedules: messages are lost, late and overtake each other, and
//! coordinators crash and recover from their logs.

use std::collections::BTreeMap;

use super::*;
use crate::grid::{Area, Counts, HoldId, JobId, Offer, Part, Quote, QuoteId, Rate, Tariff, TaskId};
use crate::play::second;
use crate::random::SplitMix64;
use crate::roles::queue::NodeRequest;
use crate::systems::provisioning::desk::{Desk, DeskTerms, HoldState, PlanningMode};
use crate::systems::provisioning::{forecast::Constant, planner};
use crate::time::{Span, Time};

fn desk(procs: u32) -> Desk {
    Desk::new(
        DeskTerms::new(procs, PlanningMode::Rebuild),
        planner::build_planner("conservative-count").unwrap(),
        Box::new(Constant(0.0)),
    )
}

#[derive(Clone, Copy, Debug)]
struct Weather {
    loss: f64,
    /// The longest delay of a message, in seconds; delta is ten.
    delay: u64,
    crashes: f64,
}

#[derive(Clone, Copy, Debug)]
enum News {
    ToSite { site: usize, hold: HoldId, order: HoldOrder },
    ToCoordinator { request: usize, hold: HoldId, answer: LegAnswer },
    Back { request: usize },
}

struct Model {
    draw: SplitMix64,
    weather: Weather,
    desks: Vec<Desk>,
    /// The running job of each desk.
    ends: Vec<Option<(Time, TaskId)>>,
    procs: Vec<u32>,
    /// `None` while it is down.
    coordinators: Vec<Option<Coordinator>>,
    requests: Vec<CoallocationRequest>,
    logs: Vec<Vec<LogEntry>>,
    /// News by time, then by a number that makes ties random.
    agenda: BTreeMap<(Time, u64), News>,
    granted: BTreeMap<HoldId, (usize, Part)>,
}

const SITES: usize = 4;

impl Model {
    fn new(seed: u64, weather: Weather) -> Model {
        let mut draw = SplitMix64::new(seed);
        let procs: Vec<u32> = (0..SITES).map(|_| draw.int(3, 8) as u32).collect();
        let mut desks: Vec<Desk> = procs.iter().map(|procs| desk(*procs)).collect();
        let mut ends = Vec::new();
        for (number, desk) in desks.iter_mut().enumerate() {
            let request = NodeRequest {
                job: TaskId { job: JobId(number as u32), index: 0 },
                nodes: draw.int(1, 3) as u32,
                walltime: Span::from_secs(draw.int(100, 900)),
            };
            desk.submit(Time::ZERO, request).unwrap();
            desk.run_pass(Time::ZERO, &mut Vec::new());
            ends.push(Some((Time::ZERO + request.walltime, request.job)));
        }
        let request = |number, draw: &mut SplitMix64| {
            let mut sites: Vec<u32> = (0..SITES as u32).filter(|_| draw.int(0, 2) > 0).collect();
            if sites.is_empty() {
                sites.push(draw.int(0, SITES as u64 - 1) as u32);
            }
            let leg = |site| Leg {
                site,
                procs: draw.int(1, u64::from(procs[site as usize])) as u32,
                span: Span::from_secs(draw.int(50, 600)),
            };
            CoallocationRequest { number, legs: sites.into_iter().map(leg).collect() }
        };
        let requests: Vec<CoallocationRequest> = (0..12).map(|number| request(number, &mut draw)).collect();
        let coordinators =
            requests.iter().map(|request| Coordinator::new(request.clone(), Patience::new(Span::from_secs(10))));
        Model {
            weather,
            coordinators: coordinators.map(Some).collect(),
            logs: vec![Vec::new(); requests.len()],
            requests,
            desks,
            ends,
            procs,
            draw,
            agenda: BTreeMap::new(),
            granted: BTreeMap::new(),
        }
    }

    fn send(&mut self, now: Time, news: News) {
        let copies = if self.draw.unit() < self.weather.loss { 0 } else { 1 + u64::from(self.draw.unit() < 0.1) };
        for _ in 0..copies {
            let delay = Span::from_micros(self.draw.int(1, self.weather.delay * 1_000_000));
            self.agenda.insert((now + delay, self.draw.next_u64()), news);
        }
    }

    fn carry_out(&mut self, now: Time, request: usize, steps: Vec<CoordinatorStep>) {
        let mut steps = std::collections::VecDeque::from(steps);
        while let Some(step) = steps.pop_front() {
            // It may crash after any action, and then the rest is not done.
            match step {
                CoordinatorStep::LogEntry(entry) => self.logs[request].push(entry),
                CoordinatorStep::OrderLeg { leg, hold, order } => {
                    let site = self.requests[request].legs[leg].site as usize;
                    self.send(now, News::ToSite { site, hold, order });
                }
                CoordinatorStep::RequestStarts => {
                    // So far ahead that no part begins before it can be cancelled.
                    let base = now.micros() / 1_000_000 + 20_000;
                    let starts: Vec<Time> =
                        (0..self.draw.int(1, 4)).map(|i| second(base + 150 * i + self.draw.int(0, 300))).collect();
                    let mut more = Vec::new();
                    let coordinator = self.coordinators[request].as_mut().expect("it is up");
                    coordinator.offer(now, &starts, &mut more);
                    steps.extend(more);
                }
                CoordinatorStep::Over(_) => {}
            }
            if self.draw.unit() < self.weather.crashes {
                self.coordinators[request] = None;
                let back = now + Span::from_secs(self.draw.int(1, 200));
                self.agenda.insert((back, self.draw.next_u64()), News::Back { request });
                return;
            }
        }
    }

    fn run(&mut self) {
        for request in 0..self.requests.len() {
            let now = second(self.draw.int(0, 60));
            self.agenda.insert((now, self.draw.next_u64()), News::Back { request });
            self.coordinators[request] = None;
        }
        for _ in 0..200_000 {
            let wakes = self
                .coordinators
                .iter()
                .enumerate()
                .filter_map(|(request, coordinator)| Some((coordinator.as_ref()?.wake()?, request)));
            let wake = wakes.min();
            let news = self.agenda.first_key_value().map(|(key, _)| key.0);
            match (wake, news) {
                (None, None) => return,
                (Some((at, request)), news) if news.is_none_or(|news| at < news) => {
                    let mut steps = Vec::new();
                    self.coordinators[request].as_mut().expect("it wakes").woken(at, &mut steps);
                    self.carry_out(at, request, steps);
                }
                _ => {
                    let ((now, _), news) = self.agenda.pop_first().expect("there is news");
                    self.take_answer(now, news);
                }
            }
        }
        panic!("the requests never end: {:?}", self.weather);
    }

    fn take_answer(&mut self, now: Time, news: News) {
        match news {
            News::Back { request } => {
                let mut steps = Vec::new();
                let wanted = self.requests[request].clone();
                let patience = Patience::new(Span::from_secs(10));
                let coordinator = Coordinator::from_log(now, wanted, patience, &self.logs[request], &mut steps);
                self.coordinators[request] = Some(coordinator);
                self.carry_out(now, request, steps);
            }
            News::ToCoordinator { request, hold, answer } => {
                let mut steps = Vec::new();
                if let Some(coordinator) = &mut self.coordinators[request] {
                    coordinator.take_answer(now, hold, answer, &mut steps);
                    self.carry_out(now, request, steps);
                }
            }
            News::ToSite { site, hold, order } => {
                self.catch_up(site, now);
                let desk = &mut self.desks[site];
                let answer = match order {
                    HoldOrder::Hold(part) => match desk.hold(now, hold, part, None) {
                        Ok(grant) => {
                            self.granted.insert(hold, (site, part));
                            LegAnswer::Granted { expiry: grant.expiry, fee: grant.fee }
                        }
                        Err(_) => LegAnswer::Refused,
                    },
                    HoldOrder::Commit => desk.commit(now, hold).map_or(LegAnswer::Expired, |_| LegAnswer::Committed),
                    HoldOrder::Abort => {
                        desk.abort(now, hold);
                        LegAnswer::Cancelled
                    }
                    HoldOrder::Cancel => {
                        desk.cancel_hold(now, hold);
                        LegAnswer::Cancelled
                    }
                };
                desk.run_pass(now, &mut Vec::new());
                self.send(now, News::ToCoordinator { request: hold.request as usize, hold, answer });
            }
        }
    }

    /// Tells a desk of each instant at which an event is due.
    fn catch_up(&mut self, site: usize, now: Time) {
        loop {
            let end = self.ends[site].map(|(end, _)| end);
            let Some(next) = self.desks[site].wake().into_iter().chain(end).min().filter(|next| *next <= now) else {
                return;
            };
            if let Some((_, job)) = self.ends[site].take_if(|(end, _)| *end == next) {
                self.desks[site].end_job(next, job);
            }
            self.desks[site].run_pass(next, &mut Vec::new());
        }
    }

    fn check(&mut self, seed: u64) {
        let end = second(100_000_000);
        (0..SITES).for_each(|site| self.catch_up(site, end));
        let mut busy: Vec<Counts> = vec![Counts::default(); SITES];
        for (request, wanted) in self.requests.iter().enumerate() {
            let coordinator = self.coordinators[request].as_ref().expect("all have come back");
            let outcome = coordinator.outcome().expect("every request ends");
            let kept = self.granted.iter().filter(|(hold, (site, _))| {
                let fate = self.desks[*site].fate(**hold).expect("what was granted is known");
                assert!(
                    !matches!(fate, HoldState::Held | HoldState::Committed),
                    "seed {seed}: {hold:?} is not at rest"
                );
                hold.request == wanted.number && fate == HoldState::Done
            });
            let kept: Vec<(HoldId, usize, Part)> = kept.map(|(hold, (site, part))| (*hold, *site, *part)).collect();
            let expected = if outcome == CoallocationOutcome::Whole { wanted.legs.len() } else { 0 };
            assert_eq!(kept.len(), expected, "seed {seed}: {wanted:?} ended as {outcome:?} with {kept:?}");
            assert!(
                kept.iter().all(|(hold, _, part)| (hold.attempt, part.start) == (kept[0].0.attempt, kept[0].2.start))
            );
            kept.iter().for_each(|(_, site, part)| busy[*site].insert(part.start, part.end(), part.procs));
        }
        for (busy, procs) in busy.iter().zip(&self.procs) {
            assert!(busy.most(Time::ZERO, end) <= *procs, "seed {seed}");
        }
    }
}

#[test]
fn a_request_is_whole_or_nothing_under_all_faults() {
    let weathers = [
        Weather { loss: 0.0, delay: 9, crashes: 0.0 },
        Weather { loss: 0.1, delay: 9, crashes: 0.02 },
        Weather { loss: 0.3, delay: 9, crashes: 0.1 },
        // Later than the coordinator expects.
        Weather { loss: 0.1, delay: 45, crashes: 0.0 },
        Weather { loss: 0.3, delay: 100, crashes: 0.15 },
    ];
    let seeds = if cfg!(unoptimised) { 60 } else { 2_000 };
    let mut wholes = [0; 5];
    for (weather, wholes) in weathers.into_iter().zip(&mut wholes) {
        for seed in 0..seeds {
            let mut model = Model::new(seed, weather);
            model.run();
            model.check(seed);
            let outcomes = model.coordinators.iter().flatten();
            *wholes += outcomes.filter(|coordinator| coordinator.outcome() == Some(CoallocationOutcome::Whole)).count();
        }
    }
    assert!(wholes.iter().all(|wholes| *wholes > 0) && wholes[0] > seeds as usize * 3, "{wholes:?}");
}

#[test]
fn a_lease_that_runs_out_undoes_a_commit() {
    let request = CoallocationRequest {
        number: 3,
        legs: [0, 1].map(|site| Leg { site, procs: 1, span: Span::from_secs(5) }).to_vec(),
    };
    let mut coordinator = Coordinator::new(request.clone(), Patience::new(Span::from_secs(10)));
    let mut steps = Vec::new();
    let hold = |leg| HoldId { request: 3, attempt: 1, leg };
    let order_leg = |leg: usize, order| CoordinatorStep::OrderLeg { leg, hold: hold(leg as u32), order };
    let granted = |expiry| LegAnswer::Granted { expiry: second(expiry), fee: Area::ZERO };
    let held = |start| HoldOrder::Hold(request.legs[0].part(second(start)));

    coordinator.offer(Time::ZERO, &[second(500), second(900)], &mut steps);
    assert_eq!(steps, [CoordinatorStep::LogEntry(LogEntry::Attempt(1)), order_leg(0, held(500))]);
    steps.clear();
    coordinator.take_answer(second(1), hold(0), granted(60), &mut steps);
    assert_eq!((steps.split_off(0), coordinator.wake()), (vec![order_leg(1, held(500))], Some(second(21))));
    coordinator.take_answer(second(2), hold(1), granted(61), &mut steps);
    assert_eq!(
        steps.split_off(0),
        [CoordinatorStep::LogEntry(LogEntry::Commit), order_leg(0, HoldOrder::Commit), order_leg(1, HoldOrder::Commit)]
    );
    coordinator.take_answer(second(3), hold(0), LegAnswer::Committed, &mut steps);
    coordinator.woken(second(12), &mut steps);
    assert_eq!(steps.split_off(0), [order_leg(1, HoldOrder::Commit)]);
    coordinator.take_answer(second(70), hold(1), LegAnswer::Expired, &mut steps);
    assert_eq!(
        steps.split_off(0),
        [
            CoordinatorStep::LogEntry(LogEntry::Compensate),
            order_leg(0, HoldOrder::Cancel),
            order_leg(1, HoldOrder::Cancel)
        ]
    );
    coordinator.take_answer(second(71), hold(0), LegAnswer::Cancelled, &mut steps);
    coordinator.take_answer(second(71), hold(0), LegAnswer::Cancelled, &mut steps);
    assert_eq!(steps, []);
    coordinator.take_answer(second(72), hold(1), LegAnswer::Cancelled, &mut steps);
    assert_eq!(
        steps,
        [
            CoordinatorStep::LogEntry(LogEntry::Over(CoallocationOutcome::Nothing)),
            CoordinatorStep::Over(CoallocationOutcome::Nothing)
        ]
    );
}

#[test]
fn an_attempt_that_comes_too_late_to_commit_is_given_back() {
    let request = CoallocationRequest {
        number: 17,
        legs: [0, 1].map(|site| Leg { site, procs: 1, span: Span::from_secs(5) }).to_vec(),
    };
    let mut coordinator = Coordinator::new(request, Patience::new(Span::from_secs(10)));
    let mut steps = Vec::new();
    let hold = |leg| HoldId { request: 17, attempt: 1, leg };
    coordinator.offer(Time::ZERO, &[second(500)], &mut steps);
    coordinator.take_answer(second(1), hold(0), LegAnswer::Granted { expiry: second(60), fee: Area::ZERO }, &mut steps);
    steps.clear();
    coordinator.take_answer(second(2), hold(1), LegAnswer::Granted { expiry: second(21), fee: Area::ZERO }, &mut steps);
    let abort = |leg: usize| CoordinatorStep::OrderLeg { leg, hold: hold(leg as u32), order: HoldOrder::Abort };
    assert_eq!(steps.split_off(0), [abort(1), abort(0)]);
    // 30 s, and a second because of the request's number; then there is nothing left to try.
    assert_eq!(coordinator.wake(), Some(second(33)));
    coordinator.woken(second(33), &mut steps);
    assert_eq!(steps.split_off(0), [CoordinatorStep::RequestStarts]);
    coordinator.offer(second(33), &[], &mut steps);
    assert_eq!(coordinator.outcome(), Some(CoallocationOutcome::Nothing));
}

#[test]
fn starts_are_those_that_all_admit() {
    let leg = |site| Leg { site, procs: 2, span: Span::from_secs(10) };
    let quote = |offers: &[(u64, u64)]| Quote {
        id: QuoteId(0),
        expiry: second(60),
        procs: 2,
        span: Span::from_secs(10),
        tariff: Tariff::flat(Rate::ONE),
        offers: offers
            .iter()
            .map(|(start, fee)| Offer { start: second(*start), fee: Area::of(1, Span::from_secs(*fee)) })
            .collect(),
    };
    let mut pool = Pool::new(vec![leg(0), leg(1)], &[quote(&[(0, 9), (5, 4), (8, 0)]), quote(&[(0, 9), (6, 0)])]);
    let asked = |leg: usize, start| StartQuestion {
        leg,
        part: Part { procs: 2, start: second(start), span: Span::from_secs(10) },
    };
    assert_eq!(pool.questions(), [asked(1, 5), asked(0, 6), asked(1, 8)]);
    pool.record_prices(1, &quote(&[(5, 2)]));
    pool.record_prices(0, &quote(&[]));
    pool.record_prices(1, &quote(&[(8, 0)]));
    assert_eq!(pool.ranked(0.0), [second(0), second(5), second(8)]);
    assert_eq!(pool.ranked(1.0), [second(8), second(5), second(0)]);
}
