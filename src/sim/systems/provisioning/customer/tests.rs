//! The reaction of a user to sites that answer late, with old news, with nonsense, or not at all.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::grid::{
    Advert, Area, BookingId, Denial, Edge, HoldId, Invalid, Kind, Offer, Part, Quote, QuoteId, Rate, Receipt, Slot,
    Tariff, Task,
};
use crate::kernel::{Actor, Cause, Entry, Event, Message as _, judge};
use crate::protocol::{
    Bargain, Barred, Claimed, Concluded, Enter, Informed, Inquire, Lot, Pledge, PledgeAnswer, Query, Reason, Recall,
    Recalled, Reply,
};
use crate::random::SplitMix64;
use crate::roles::{Site, User};
use crate::systems::provisioning::desk::{Desk, DeskTerms, PlanningMode};
use crate::systems::provisioning::forecast::History;
use crate::systems::provisioning::manager::NegotiatingManager;
use crate::systems::provisioning::planner;
use crate::time::Stamp;

const CORES: u32 = 16;
const LATENCY: Span = Span::from_secs(2);

/// A site with arbitrary answers.
struct Trickster {
    random: SplitMix64,
    /// Number of wrong answers in ten.
    lies: u64,
    rate: Rate,
    received: Arc<Mutex<Vec<Message>>>,
    /// Quotes so far, by number.
    quoted: Vec<(Part, Vec<Offer>)>,
    booked: u64,
    entered: Vec<(ActorId, TaskId)>,
    holds: BTreeMap<HoldId, Part>,
}

impl Actor<Message, Record> for Trickster {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        for Event { from, cause } in batch.drain(..) {
            let Cause::Message(message) = cause else { continue };
            self.received.lock().unwrap().push(message.clone());
            // A sooner message would break the promise of this one, which is noticed elsewhere.
            let at = message.reaction().earliest(now).time;
            let answer = self.answer(now.time, from, message, out);
            match (self.one_in(10) < self.lies, self.one_in(4)) {
                (true, 0) => {}
                (true, 1) => answer.into_iter().for_each(|answer| {
                    out.send_at(at, from, answer.clone());
                    out.send_at(at, from, answer);
                }),
                (true, 2) => {
                    let other = self.anything();
                    out.send_at(at, from, other);
                    answer.into_iter().for_each(|answer| out.send_at(at, from, answer));
                }
                (true, _) => {
                    let other = self.anything();
                    out.send_at(at, from, other);
                }
                (false, _) => answer.into_iter().for_each(|answer| out.send_at(at, from, answer)),
            }
        }
    }
}

impl Trickster {
    fn new(seed: u64, lies: u64) -> Trickster {
        let received = Arc::default();
        let quoted = Vec::new();
        let entered = Vec::new();
        let random = SplitMix64::new(seed);
        let rate = Rate::ONE;
        let holds = BTreeMap::new();
        Trickster { random, lies, rate, received, quoted, booked: 0, entered, holds }
    }

    fn one_in(&mut self, count: u64) -> u64 {
        self.random.int(0, count - 1)
    }

    fn receipt(&mut self, part: Part, fee: Area) -> Receipt {
        self.booked += 1;
        Receipt { booking: BookingId(self.booked), part, rent: part.area().cost_at(self.rate), fee }
    }

    fn quote(&mut self, now: Time, part: Part, is_one: bool) -> Reply {
        let offer =
            |ahead: u64, fee| Offer { start: part.start.max(now) + Span::from_secs(ahead), fee: Area::of(1, fee) };
        let all = vec![offer(0, Span::from_secs(30)), offer(60, Span::from_secs(9)), offer(4_000, Span::ZERO)];
        let offers =
            if is_one { vec![Offer { start: part.start, fee: Area::of(2, Span::from_secs(50)) }] } else { all };
        self.quoted.push((part, offers.clone()));
        let id = QuoteId(self.quoted.len() as u64 - 1);
        let Part { procs, span, .. } = part;
        Reply::Prices(Quote {
            id,
            expiry: now + Span::from_secs(60),
            procs,
            span,
            tariff: Tariff::flat(self.rate),
            offers,
        })
    }

    /// An answer that an honest site might give.
    fn answer(&mut self, now: Time, from: ActorId, message: Message, out: &mut Out) -> Option<Message> {
        match message {
            Message::Inquire(Inquire { number, query, quiet_for }) => {
                let reply = match query {
                    Query::Load => Reply::Load(self.one_in(9) as u32),
                    Query::Slots => {
                        let slot = |start, procs, span, open| Slot {
                            start,
                            procs,
                            span: Span::from_secs(span),
                            rate: Rate::ONE,
                            fee: Area::ZERO,
                            divisible: open,
                            extensible: open,
                        };
                        let slots = vec![slot(now, 3, 500, false), slot(now, CORES, 90_000, true)];
                        Reply::Slots(Advert { version: 1, tariff: Tariff::flat(Rate::ONE), slots })
                    }
                    Query::Price(part) => self.quote(now, part, true),
                    Query::PricesFrom(part) => self.quote(now, part, false),
                    Query::Prices { procs, span } => self.quote(now, Part { procs, start: now, span }, false),
                    Query::Chances { .. } => Reply::Chances(vec![0.1, 0.4, 0.3]),
                };
                Some(Message::Informed(Informed { number, reply, quiet_for }))
            }
            Message::Claim(claim) => {
                let is_stale = self.one_in(4) == 0;
                let result = match claim.lot {
                    _ if is_stale => Err(Denial::QuoteOvertaken),
                    Lot::Slots { parts, .. } => {
                        Ok(parts.into_iter().map(|(_, part)| self.receipt(part, Area::ZERO)).collect())
                    }
                    Lot::Quote { quote, start } => {
                        let (part, offers) = self.quoted[quote.0 as usize].clone();
                        let fee = offers.iter().find(|offer| offer.start == start).unwrap().fee;
                        Ok(vec![self.receipt(Part { start, ..part }, fee)])
                    }
                };
                Some(Message::Claimed(Claimed { number: claim.number, result }))
            }
            Message::Coordinate(coordinate) => {
                let hold = coordinate.hold;
                let answer = match coordinate.pledge {
                    Pledge::Hold { .. } if self.one_in(3) == 0 => PledgeAnswer::Refused(Denial::NoRoom),
                    Pledge::Hold { part, .. } => {
                        self.holds.insert(hold, part);
                        PledgeAnswer::Granted { expiry: part.start, fee: Area::ZERO }
                    }
                    Pledge::Commit => match self.holds.get(&hold).copied() {
                        Some(part) if self.one_in(6) > 0 => {
                            PledgeAnswer::Committed { booking: BookingId(hold.attempt.into()), part }
                        }
                        _ => PledgeAnswer::Expired,
                    },
                    Pledge::Abort => return None,
                    Pledge::Cancel if self.one_in(3) == 0 => PledgeAnswer::Refused(Denial::InUse),
                    Pledge::Cancel => PledgeAnswer::Cancelled,
                };
                Some(Message::Coordinated(Coordinated { hold, answer }))
            }
            Message::Return(back) => {
                Some(Message::Returned(Returned { booking: back.booking, result: Ok(Area::ZERO) }))
            }
            Message::Enter(enter) => {
                self.entered.push((from, enter.task));
                if enter.reports_start {
                    out.send(from, Message::Begun(Begun { task: enter.task }));
                }
                let end = enter.not_before.max(now) + enter.runtime;
                let ended = match enter.ends_quietly {
                    true => Message::Concluded(Concluded { task: enter.task }),
                    false => Message::Ended(Ended { task: enter.task, started: now }),
                };
                out.send_at(end, from, ended);
                None
            }
            Message::Recall(recall) => {
                Some(Message::Recalled(Recalled { task: recall.task, in_time: false, losses: 0 }))
            }
            _ => None,
        }
    }

    /// An answer to no question, or of a wrong kind.
    fn anything(&mut self) -> Message {
        let number = self.random.int(0, 6);
        let job = JobId(self.one_in(3) as u32);
        let index = self.one_in(4) as u32;
        let task = TaskId { job, index };
        let start = Time::from_micros(self.random.next_u64() >> self.one_in(60));
        let part = Part { procs: self.one_in(40) as u32, start, span: Span::from_micros(self.random.next_u64()) };
        let fee = Area::from_micros(self.random.next_u64());
        let receipts = (0..self.one_in(9)).map(|_| self.receipt(part, fee)).collect();
        let slot =
            Slot { start, procs: part.procs, span: part.span, rate: Rate(7), fee, divisible: true, extensible: true };
        let hold = HoldId { request: job.0.into(), attempt: self.one_in(4) as u32, leg: self.one_in(3) as u32 };
        let reply = match self.one_in(6) {
            0 => Reply::Load(u32::MAX),
            1 => Reply::Slots(Advert { version: number, tariff: Tariff::flat(Rate(7)), slots: vec![slot; 3] }),
            2 => Reply::Chances(vec![f64::NAN, 2.0, -1.0]),
            3 => Reply::Denied(Denial::NoRoom),
            4 => Reply::Chances(Vec::new()),
            _ => {
                let offers = vec![Offer { start, fee }; 2];
                let procs = part.procs;
                let span = part.span;
                Reply::Prices(Quote {
                    id: QuoteId(9),
                    expiry: start,
                    procs,
                    span,
                    tariff: Tariff::flat(Rate(0)),
                    offers,
                })
            }
        };
        let answers = [
            PledgeAnswer::Granted { expiry: start, fee },
            PledgeAnswer::Refused(Denial::NoRoom),
            PledgeAnswer::Committed { booking: BookingId(number), part },
            PledgeAnswer::Expired,
            PledgeAnswer::Cancelled,
        ];
        let answer = answers[self.one_in(5) as usize];
        let in_time = self.one_in(2) == 0;
        match self.one_in(9) {
            0 | 1 => {
                let quiet_for = Span::from_secs(self.one_in(3));
                Message::Informed(Informed { number, reply, quiet_for })
            }
            2 => Message::Claimed(Claimed { number, result: Ok(receipts) }),
            3 => Message::Coordinated(Coordinated { hold, answer }),
            4 => Message::Returned(Returned { booking: BookingId(number), result: Ok(fee) }),
            5 => Message::Recalled(Recalled { task, in_time, losses: number as u32 }),
            6 => Message::Begun(Begun { task }),
            7 if in_time => Message::Concluded(Concluded { task }),
            7 => Message::Ended(Ended { task, started: start }),
            _ => Message::Barred(Barred { task, why: Denial::NoRoom }),
        }
    }
}

fn job(id: u32, arrive: u64, tasks: u32) -> NegotiatedJob {
    let task = |number: u32| Task {
        walltime: Span::from_secs(400),
        ..Task::new(Span::from_secs(300), 2 + number % 3, Kind(0))
    };
    let chain = (1..tasks).map(|to| Edge::new(to / 2, to)).collect();
    let job = Job {
        id: JobId(id),
        arrive: Time::ZERO + Span::from_secs(arrive),
        tasks: (0..tasks).map(task).collect(),
        edges: if tasks > 2 { chain } else { Vec::new() },
        ..Job::default()
    };
    NegotiatedJob { job: Arc::new(job), site: None, after: None }
}

/// One user with two jobs, between two sites.
fn play(strategy: &str, sites: [Trickster; 2]) -> Vec<Entry<Record>> {
    let row = strategy::find_strategy(strategy).unwrap();
    let tasks = if row.is_rigid {
        1
    } else if row.has_legs {
        2
    } else {
        5
    };
    let approach = Approach {
        strategy: strategy.to_owned(),
        legs: vec![0, 1],
        ahead: row.pads.then_some(Span::from_secs(3_000)),
        ..Approach::default()
    };
    let world = World::with_providers(&[CORES, CORES], LATENCY);
    let negotiated = vec![job(0, 100, tasks), job(1, 130, tasks)];
    let rules = Provisioning { generations: 2, population: 6, ..Provisioning::default() };
    let customer = Customer::new((ActorId(2), 7), world, rules, approach, row, negotiated);
    let [one, other] = sites;
    let actors: Vec<Box<dyn Actor<Message, Record> + Send>> =
        vec![Box::new(one), Box::new(other), Box::new(User::new(customer))];
    judge::run_actors(actors, &[Span::ZERO, Span::ZERO, LATENCY])
}

fn accused(log: &[Entry<Record>]) -> Vec<(ActorId, Fault)> {
    let accused = |entry: &Entry<Record>| match entry.record {
        Record::Accused { site, fault } => Some((site, fault)),
        _ => None,
    };
    log.iter().filter_map(accused).collect()
}

fn all_over(log: &[Entry<Record>]) -> usize {
    log.iter().filter(|entry| matches!(entry.record, Record::Completed { .. } | Record::Removed { .. })).count()
}

#[test]
fn with_honest_sites_every_strategy_comes_to_an_end() {
    for row in strategy::ALL {
        for seed in 0..20 {
            let log = play(row.name, [Trickster::new(seed, 0), Trickster::new(seed + 50, 0)]);
            assert_eq!((accused(&log), all_over(&log)), (Vec::new(), 2), "{} {seed}: {log:#?}", row.name);
            let bargained = log.iter().filter_map(|entry| match entry.record {
                Record::Bargained { end, why, .. } => Some((end, why)),
                _ => None,
            });
            let bargained: Vec<_> = bargained.collect();
            assert_eq!(bargained.len(), if row.bargains { 2 } else { 0 }, "{} {seed}", row.name);
            for (end, why) in bargained {
                assert_eq!(end == Bargain::Booked, why.is_none(), "{} {seed}: {why:?}", row.name);
            }
        }
    }
}

/// The user never panics and never runs for ever. It accuses the dishonest site once, and is silent then.
#[test]
fn a_user_finishes_or_accuses_its_site_for_all_answers() {
    let seeds = if cfg!(unoptimised) { 150 } else { 2_000 };
    for row in strategy::ALL {
        let mut found = 0;
        for seed in 0..seeds {
            let lies = 1 + seed % 10;
            let log = play(row.name, [Trickster::new(seed, 0), Trickster::new(seed + 50, lies)]);
            let accused = accused(&log);
            assert!(
                accused.len() <= 1 && accused.iter().all(|(site, _)| *site == ActorId(1)),
                "{}: {accused:?}",
                row.name
            );
            if let Some(at) = log.iter().position(|entry| matches!(entry.record, Record::Accused { .. })) {
                assert_eq!(at, log.len() - 1, "{} {seed}", row.name);
                found += 1;
            }
        }
        assert!(found > seeds / 2, "{}: {found}", row.name);
    }
}

#[test]
fn an_answer_that_does_not_come_is_missed_at_once() {
    for row in strategy::ALL {
        let log = play_mute(row.name);
        assert_eq!(accused(&log), [(ActorId(1), Fault::Silent)], "{}", row.name);
        // The first question is asked when the job arrives, and a message takes two seconds each way.
        let last = log.last().unwrap().stamp.time;
        assert!(last >= Time::ZERO + Span::from_secs(104), "{}: {last}", row.name);
        assert!(
            row.has_legs || last == Time::ZERO + Span::from_secs(104) + Span::from_micros(1),
            "{}: {last}",
            row.name
        );
    }
}

#[test]
fn what_fits_no_site_is_turned_away_and_what_comes_after_it_goes_on() {
    let row = strategy::find_strategy("best-effort").unwrap();
    let mut large = job(0, 100, 1);
    Arc::make_mut(&mut large.job).tasks[0].cores = CORES + 1;
    let next = NegotiatedJob { after: Some((JobId(0), Span::from_secs(5))), ..job(1, 100, 1) };
    let approach = Approach { strategy: row.name.to_owned(), ..Approach::default() };
    let world = World::with_providers(&[CORES], LATENCY);
    let customer = Customer::new((ActorId(1), 7), world, Provisioning::default(), approach, row, vec![large, next]);
    let actors: Vec<Box<dyn Actor<Message, Record> + Send>> =
        vec![Box::new(Trickster::new(1, 0)), Box::new(User::new(customer))];
    let log = judge::run_actors(actors, &[Span::ZERO, LATENCY]);
    let Record::Rejected { why: Invalid::TooManyNodes, .. } = log[0].record else { panic!("{log:#?}") };
    let Record::Arrived { job, .. } = &log[1].record else { panic!("{log:#?}") };
    assert_eq!((job.id, job.arrive), (JobId(1), Time::ZERO + Span::from_secs(105)));
    assert_eq!(all_over(&log), 1);
}

/// A site without a history has no forecast, so no reservation can be imitated.
#[test]
fn without_any_chance_it_is_the_reservation_or_nothing() {
    for (name, end) in [("var", Bargain::GivenUp), ("var-and-reserve", Bargain::Booked)] {
        let row = strategy::find_strategy(name).unwrap();
        let ahead = Span::from_secs(3_000);
        let approach = Approach { strategy: name.to_owned(), ahead: Some(ahead), ..Approach::default() };
        let world = World::with_providers(&[CORES], LATENCY);
        let rules = Provisioning::default();
        let customer = Customer::new((ActorId(1), 7), world, rules, approach, row, vec![job(0, 100, 1)]);
        let site = Young(Trickster::new(2, 0));
        let actors: Vec<Box<dyn Actor<Message, Record> + Send>> = vec![Box::new(site), Box::new(User::new(customer))];
        let log = judge::run_actors(actors, &[Span::ZERO, LATENCY]);
        let bargain_end = |entry: &Entry<Record>| match entry.record {
            Record::Bargained { end, why, .. } => Some((end, why)),
            _ => None,
        };
        let ends: Vec<_> = log.iter().filter_map(bargain_end).collect();
        let why = (end == Bargain::GivenUp).then_some(Reason::NoChance);
        assert_eq!((ends, all_over(&log)), (vec![(end, why)], 1), "{name}");
    }
}

/// A site without a history.
struct Young(Trickster);

impl Actor<Message, Record> for Young {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let mut rest = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Inquire(Inquire { number, query: Query::Chances { .. }, quiet_for })) => {
                    let reply = Reply::Chances(vec![0.0; 30]);
                    out.send(event.from, Message::Informed(Informed { number, reply, quiet_for }));
                }
                _ => rest.push(event),
            }
        }
        self.0.handle_batch(now, &mut rest, out);
    }
}

/// The job waits for some 50 minutes with its two processors, which costs more than the fee of the reservation, and
/// less than its rent where that is high.
#[test]
fn a_reservation_is_kept_unless_a_job_is_cheaper_in_all() {
    for (price, is_kept) in [(1_000, true), (8_000, true), (9_000, false)] {
        let row = strategy::find_strategy("var-and-reserve").unwrap();
        let ahead = Span::from_secs(3_000);
        let approach = Approach { strategy: row.name.to_owned(), ahead: Some(ahead), ..Approach::default() };
        let mut world = World::with_providers(&[CORES], LATENCY);
        world.providers[0].tariff = Tariff::flat(Rate(price));
        let rules = Provisioning::default();
        let negotiated = vec![job(0, 100, 1)];
        let customer = Customer::new((ActorId(1), 7), world, rules, approach, row, negotiated);
        let site = Trickster { rate: Rate(price), ..Trickster::new(2, 0) };
        let received = site.received.clone();
        let actors: Vec<Box<dyn Actor<Message, Record> + Send>> = vec![Box::new(site), Box::new(User::new(customer))];
        let log = judge::run_actors(actors, &[Span::ZERO, LATENCY]);
        assert_eq!((accused(&log), all_over(&log)), (Vec::new(), 1), "{log:#?}");
        let received = received.lock().unwrap();
        let is_job_taken_back = received.iter().any(|message| matches!(message, Message::Recall(_)));
        assert_eq!(is_job_taken_back, is_kept, "price {price}: {received:#?}");
    }
}

/// Its padded job has ended, or is lost for good, before the recall arrives.
#[test]
fn nothing_stays_reserved_for_a_job_that_is_over() {
    for is_lost in [false, true] {
        let row = strategy::find_strategy("var-and-reserve").unwrap();
        let ahead = Span::from_secs(3_000);
        let approach = Approach { strategy: row.name.to_owned(), ahead: Some(ahead), ..Approach::default() };
        let world = World::with_providers(&[CORES], LATENCY).failing();
        let rules = Provisioning::default();
        let negotiated = vec![job(0, 100, 1)];
        let customer = Customer::new((ActorId(1), 7), world, rules, approach, row, negotiated);
        // It grants the first claim.
        let site = Brief { site: Trickster::new(2, 0), is_lost };
        let received = site.site.received.clone();
        let actors: Vec<Box<dyn Actor<Message, Record> + Send>> = vec![Box::new(site), Box::new(User::new(customer))];
        let log = judge::run_actors(actors, &[Span::ZERO, LATENCY]);
        assert_eq!((accused(&log), all_over(&log)), (Vec::new(), 1), "{log:#?}");
        let received = received.lock().unwrap();
        let is_back = |message: &&Message| matches!(message, Message::Return(back) if back.booking == BookingId(1));
        assert!(received.iter().any(|message| matches!(message, Message::Claim(_))));
        assert_eq!(received.iter().filter(is_back).count(), 1, "lost: {is_lost}, {received:#?}");
    }
}

/// A site at which a recalled task has just ended, or is lost for good.
struct Brief {
    site: Trickster,
    is_lost: bool,
}

impl Actor<Message, Record> for Brief {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let mut rest = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Enter(Enter { task, .. })) => {
                    out.send(event.from, Message::Begun(Begun { task }));
                }
                Cause::Message(Message::Recall(Recall { task })) => {
                    let started = now.time;
                    let saved = Span::ZERO;
                    out.send(
                        event.from,
                        match self.is_lost {
                            true => Message::Lost(Lost { task, started, saved }),
                            false => Message::Ended(Ended { task, started }),
                        },
                    );
                    out.send(event.from, Message::Recalled(Recalled { task, in_time: false, losses: 0 }));
                }
                _ => rest.push(event),
            }
        }
        self.site.handle_batch(now, &mut rest, out);
    }
}

/// The tasks of the worked example of plans, whose ranks are 4, 3 and 1, and two more after the first one, with ranks 5
/// and 1.
#[test]
fn tasks_that_are_ready_together_go_in_the_order_of_heft() {
    let row = strategy::find_strategy("best-effort").unwrap();
    let hours = |hours: u64| Task::new(Span::from_secs(hours * 3_600), 1, Kind(0));
    let example = Job {
        tasks: vec![hours(1), hours(2), hours(1), hours(5), hours(1)],
        edges: vec![Edge::new(0, 1), Edge::new(0, 2), Edge::new(0, 3), Edge::new(0, 4), Edge::new(1, 2)],
        ..Job::default()
    };
    let world = World::with_providers(&[CORES], LATENCY);
    let approach = Approach { strategy: row.name.to_owned(), ..Approach::default() };
    let negotiated = NegotiatedJob { job: Arc::new(example), site: None, after: None };
    let customer = Customer::new((ActorId(1), 7), world, Provisioning::default(), approach, row, vec![negotiated]);
    let site = Trickster::new(1, 0);
    let received = site.received.clone();
    let actors: Vec<Box<dyn Actor<Message, Record> + Send>> = vec![Box::new(site), Box::new(User::new(customer))];
    judge::run_actors(actors, &[Span::ZERO, LATENCY]);
    let received = received.lock().unwrap();
    let entered = received.iter().filter_map(|message| match message {
        Message::Enter(enter) => Some(enter.task.index),
        _ => None,
    });
    // When the first has ended three are ready: of ranks 3, 5 and 1.
    assert_eq!(entered.collect::<Vec<_>>(), [0, 3, 1, 4, 2]);
}

/// A site that never answers.
struct Mute;

impl Actor<Message, Record> for Mute {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, _: &mut Out) {
        batch.clear();
    }
}

fn play_mute(strategy: &str) -> Vec<Entry<Record>> {
    let row = strategy::find_strategy(strategy).unwrap();
    let tasks = if row.is_rigid {
        1
    } else if row.has_legs {
        2
    } else {
        5
    };
    let approach = Approach { strategy: strategy.to_owned(), legs: vec![0, 1], ..Approach::default() };
    let world = World::with_providers(&[CORES, CORES], LATENCY);
    let rules = Provisioning { generations: 2, population: 6, ..Provisioning::default() };
    let customer = Customer::new((ActorId(2), 7), world, rules, approach, row, vec![job(0, 100, tasks)]);
    let actors: Vec<Box<dyn Actor<Message, Record> + Send>> =
        vec![Box::new(Trickster::new(1, 0)), Box::new(Mute), Box::new(User::new(customer))];
    judge::run_actors(actors, &[Span::ZERO, Span::ZERO, LATENCY])
}

/// A user with jobs of one task, between two sites at different latencies.
fn play_calendar(arrivals: &[u64], cores: [u32; 2], asks_ahead: bool) -> Vec<Entry<Record>> {
    let row = strategy::find_strategy(strategy::USUAL).unwrap();
    let further = Span::from_secs(1);
    let mut world = World::with_providers(&cores, LATENCY);
    world.providers[1].latency = LATENCY + further;
    let negotiated = (0..).zip(arrivals).map(|(id, arrive)| {
        let mut next = job(id, *arrive, 1);
        Arc::make_mut(&mut next.job).tasks[0].cores = 1 + id % 20;
        next
    });
    let approach = Approach { strategy: row.name.to_owned(), ..Approach::default() };
    let mut customer =
        Customer::new((ActorId(2), 7), world, Provisioning::default(), approach, row, negotiated.collect());
    assert!(customer.asks_ahead);
    customer.asks_ahead = asks_ahead;
    play_between(cores, customer, further)
}

/// A user between two sites that keep all promises; the second is this much further away.
fn play_between(cores: [u32; 2], customer: Customer, further: Span) -> Vec<Entry<Record>> {
    let mut actors: Vec<Box<dyn Actor<Message, Record> + Send>> = Vec::new();
    for procs in cores {
        let planner = planner::build_planner(planner::USUAL).unwrap();
        let desk = Desk::new(DeskTerms::new(procs, PlanningMode::Rebuild), planner, Box::new(History::new()));
        actors.push(Box::new(Site::new(procs, Box::new(NegotiatingManager::new(desk)), [ActorId(2)])));
    }
    actors.push(Box::new(User::new(customer)));
    judge::run_actors(actors, &[Span::ZERO, further, LATENCY])
}

/// A workflow: arrival, run times of its tasks in seconds, and for each task but the first those that it depends on, as
/// bits.
type Flow = (u64, Vec<u64>, Vec<u32>);

fn play_flows(strategy: &str, flows: &[Flow], foresees_arrivals: bool) -> Vec<Entry<Record>> {
    let row = strategy::find_strategy(strategy).unwrap();
    let mut world = World::with_providers(&[CORES, CORES], LATENCY).with_transfers(Span::from_secs(4));
    world.foresees_arrivals = foresees_arrivals;
    let negotiated = (0..).zip(flows).map(|(id, (arrive, runs, before))| {
        let mut next = job(id, *arrive, runs.len() as u32);
        let job = Arc::make_mut(&mut next.job);
        for (task, run) in job.tasks.iter_mut().zip(runs) {
            task.runtime = Span::from_secs(*run);
        }
        let pairs = (1..runs.len() as u32).zip(before).flat_map(|(to, before)| {
            (0..to).filter(move |from| before >> from & 1 == 1).map(move |from| Edge::new(from, to))
        });
        job.edges = pairs.collect();
        job.edges.sort_by_key(|edge| (edge.from, edge.to));
        next
    });
    let approach = Approach { strategy: strategy.to_owned(), ..Approach::default() };
    let rules = Provisioning { generations: 2, population: 6, ..Provisioning::default() };
    let customer = Customer::new((ActorId(2), 7), world, rules, approach, row, negotiated.collect());
    play_between([CORES, CORES], customer, Span::ZERO)
}

proptest! {
    /// Questions that are sent ahead are answered like those that are sent at submission, though jobs are submitted at
    /// once and fit one site, both or none. The judge checks that quiet timers make the user send nothing.
    #[test]
    fn questions_sent_ahead_change_nothing(
        arrivals in prop::collection::vec(0u64..60, 1..150),
        cores in prop::array::uniform2(8u32..20),
    ) {
        let expected = play_calendar(&arrivals, cores, false);
        prop_assert_eq!(accused(&expected), []);
        prop_assert_eq!(play_calendar(&arrivals, cores, true), expected);
    }
}

proptest! {
    /// Tasks that are entered ahead run as those that are entered at their time do, though run times, arrivals and
    /// transfers are such that much happens at once. The judge checks that quiet timers make the user send nothing.
    #[test]
    fn tasks_entered_ahead_change_nothing(
        strategy in prop::sample::select(vec!["best-effort", "moga", "greedy"]),
        flows in prop::collection::vec(
            (0u64..10, prop::collection::vec(1u64..5, 2..7), prop::collection::vec(any::<u32>(), 6)),
            1..5,
        ),
    ) {
        let scale = |(arrive, runs, before): &Flow| {
            (4 * arrive, runs.iter().map(|run| 4 * run).collect(), before.clone())
        };
        let flows: Vec<Flow> = flows.iter().map(scale).collect();
        let expected = play_flows(strategy, &flows, false);
        prop_assert_eq!(accused(&expected), []);
        prop_assert_eq!(play_flows(strategy, &flows, true), expected);
    }
}

/// It tries three times, with new questions each time, then it queues.
#[test]
fn a_user_that_finds_every_quote_stale_queues() {
    let strategies = ["reserve", "greedy", "moga"];
    for name in strategies {
        let row = strategy::find_strategy(name).unwrap();
        let approach = Approach { strategy: name.to_owned(), ..Approach::default() };
        let rules = Provisioning { generations: 2, population: 6, ..Provisioning::default() };
        let world = World::with_providers(&[CORES], LATENCY);
        let customer = Customer::new((ActorId(1), 7), world, rules, approach, row, vec![job(0, 100, 1)]);
        let site = Overtaken(Trickster::new(1, 0));
        let received = site.0.received.clone();
        let actors: Vec<Box<dyn Actor<Message, Record> + Send>> = vec![Box::new(site), Box::new(User::new(customer))];
        let log = judge::run_actors(actors, &[Span::ZERO, LATENCY]);
        let end = log.iter().find_map(|entry| match entry.record {
            Record::Bargained { end, .. } => Some(end),
            _ => None,
        });
        assert_eq!((end, all_over(&log)), (Some(Bargain::Stale), 1), "{name}");
        let received = received.lock().unwrap();
        let count = |is: fn(&Message) -> bool| received.iter().filter(|message| is(message)).count();
        assert_eq!(count(|message| matches!(message, Message::Claim(_))), 3, "{name}");
        assert_eq!(count(|message| matches!(message, Message::Inquire(_))), 3, "{name}");
        assert_eq!(count(|message| matches!(message, Message::Enter(_))), 1, "{name}");
    }
}

/// A site at which another user is always first.
struct Overtaken(Trickster);

impl Actor<Message, Record> for Overtaken {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let mut rest = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Claim(claim)) => {
                    self.0.received.lock().unwrap().push(Message::Claim(claim.clone()));
                    let result = Err(Denial::SlotGone);
                    out.send(event.from, Message::Claimed(Claimed { number: claim.number, result }));
                }
                _ => rest.push(event),
            }
        }
        self.0.handle_batch(now, &mut rest, out);
    }
}

/// A user whose process goes down, with two jobs at two sites.
fn play_crashing(crash: Crash, seed: u64) -> Vec<Entry<Record>> {
    let row = strategy::find_strategy("coallocate").unwrap();
    let name = row.name.to_owned();
    let approach = Approach { strategy: name, legs: vec![0, 1], crash: Some(crash), ..Approach::default() };
    let world = World::with_providers(&[CORES, CORES], LATENCY);
    let negotiated = vec![job(0, 100, 2), job(1, 130, 2)];
    let customer = Customer::new((ActorId(2), 7), world, Provisioning::default(), approach, row, negotiated);
    let actors: Vec<Box<dyn Actor<Message, Record> + Send>> =
        vec![Box::new(Trickster::new(seed, 0)), Box::new(Trickster::new(seed + 50, 0)), Box::new(User::new(customer))];
    judge::run_actors(actors, &[Span::ZERO, Span::ZERO, LATENCY])
}

/// Number of a job's tasks that have been assigned.
fn assigned(log: &[Entry<Record>], job: u32) -> usize {
    let its = |entry: &&Entry<Record>| matches!(entry.record, Record::Assigned { task, .. } if task.job == JobId(job));
    log.iter().filter(its).count()
}

/// It is back long after its sites have kept their promises: the bookings they report are useless.
#[test]
fn tasks_whose_time_together_has_passed_do_not_run_at_all() {
    let mut late = 0;
    // At some of these times the first job's commits are on their way.
    for (at, seed) in (106..118).flat_map(|at| (0..8).map(move |seed| (at, seed))) {
        let log = play_crashing(Crash { at: Span::from_secs(at), lasts: Span::from_secs(20_000) }, seed);
        let booked = Record::Bargained { job: JobId(0), end: Bargain::Booked, why: None };
        let removed = Record::Removed { job: JobId(0) };
        let is_late = [booked, removed].iter().all(|record| log.iter().any(|entry| entry.record == *record));
        late += usize::from(is_late);
        assert!(!is_late || assigned(&log, 0) == 0, "{log:#?}");
    }
    assert!(late > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// With a crash and a return at any times, each request ends, whole or not at all, and no site is accused because
    /// of a forgotten question.
    #[test]
    fn a_coordinator_that_crashes_accuses_no_site(at in 100u64..200, lasts in 1u64..900, seed in 0u64..50) {
        let log = play_crashing(Crash { at: Span::from_secs(at), lasts: Span::from_secs(lasts) }, seed);
        prop_assert_eq!((accused(&log), all_over(&log)), (Vec::new(), 2));
        prop_assert!((0..2).all(|job| [0, 2].contains(&assigned(&log, job))));
    }
}
