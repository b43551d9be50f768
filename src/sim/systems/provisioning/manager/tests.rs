//! The service of a site to users that ask for too much, too late, twice, or for parts of others.

mod books;
mod failing;

use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::grid::{JobId, QuoteId};
use crate::kernel::{Actor, Cause, Entry, Event, judge};
use crate::play::second;
use crate::protocol::{Claim, Claimed, Concluded, Coordinated, Lot, Pledge, PledgeAnswer, Returned};
use crate::roles::{Out, Site};
use crate::systems::provisioning::desk::{DeskTerms, PlanningMode};
use crate::systems::provisioning::forecast::History;
use crate::systems::provisioning::planner;
use crate::time::Stamp;

const SITE: ActorId = ActorId(0);
const PROCS: u32 = 8;

/// An actor that sends given messages and keeps those it receives.
struct Teller {
    messages: Vec<(Time, Message)>,
    received: Arc<Mutex<Vec<(Time, Message)>>>,
}

impl Actor<Message, Record> for Teller {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start => self.messages.drain(..).for_each(|(at, message)| out.send_at(at, SITE, message)),
                Cause::Message(message) => self.received.lock().unwrap().push((now.time, message)),
                Cause::Timer(_) => {}
            }
        }
    }
}

struct Played {
    log: Vec<Entry<Record>>,
    /// Messages received, by user.
    received: Vec<Vec<(Time, Message)>>,
}

/// Plays messages of users to a site at given times, in seconds. The judge checks that the site keeps its promises.
fn play(longest: Option<Span>, users: Vec<Vec<(u64, Message)>>) -> Played {
    play_under("slotlist", longest, users)
}

/// Like `play`, at a site with this planner.
fn play_under(planner: &str, longest: Option<Span>, users: Vec<Vec<(u64, Message)>>) -> Played {
    let terms = DeskTerms { longest, ..DeskTerms::new(PROCS, PlanningMode::Rebuild) };
    play_at(Desk::new(terms, planner::build_planner(planner).unwrap(), Box::new(History::new())), None, users)
}

/// Like `play`, at any desk, where nodes may fail. The account of the site must equal that of its log.
fn play_at(desk: Desk, fails: Option<Fails>, users: Vec<Vec<(u64, Message)>>) -> Played {
    let outages = fails.clone().map(|fails| fails.outages);
    let front = NegotiatingManager::new(desk);
    let front = match fails {
        Some(fails) => front.with_outages(fails),
        None => front,
    };
    let account = Arc::default();
    let watched = books::Watched { front, account: Arc::clone(&account) };
    let senders = (1..=users.len() as u32).map(ActorId);
    let mut actors: Vec<Box<dyn Actor<Message, Record> + Send>> =
        vec![Box::new(Site::new(PROCS, Box::new(watched), senders).with_outages(outages))];
    let mut ears = Vec::new();
    for messages in users {
        let received = Arc::new(Mutex::new(Vec::new()));
        ears.push(received.clone());
        let messages = messages.into_iter().map(|(at, message)| (second(at), message)).collect();
        actors.push(Box::new(Teller { messages, received }));
    }
    let latencies = vec![Span::ZERO; actors.len()];
    let log = judge::run_actors(actors, &latencies);
    assert_eq!(books::account_of_log(&log), *account.lock().unwrap());
    Played { log, received: ears.iter().map(|received| received.lock().unwrap().clone()).collect() }
}

fn part(procs: u32, start: u64, lasts: u64) -> Part {
    Part { procs, start: second(start), span: Span::from_secs(lasts) }
}

fn task(job: u32) -> TaskId {
    TaskId { job: JobId(job), index: 0 }
}

fn hold(job: u32) -> HoldId {
    HoldId { request: job.into(), attempt: 1, leg: 0 }
}

fn pledge(job: u32, pledge: Pledge) -> Message {
    Message::Coordinate(Coordinate { hold: hold(job), pledge })
}

fn wants(job: u32, part: Part) -> Message {
    pledge(job, Pledge::Hold { part, quote: None })
}

fn enter(job: u32, procs: u32, (runs, asks): (u64, u64), within: &[u64]) -> Message {
    Message::Enter(Enter {
        task: task(job),
        procs,
        walltime: Span::from_secs(asks),
        runtime: Span::from_secs(runs),
        not_before: Time::ZERO,
        within: within.iter().map(|booking| (BookingId(*booking), procs)).collect(),
        reports_start: false,
        losses: 0,
        may_be_lost: true,
        ends_quietly: false,
    })
}

fn ask(number: u64, query: Query) -> Message {
    Message::Inquire(Inquire { number, query, quiet_for: Span::ZERO })
}

fn answers(played: &Played, user: usize) -> Vec<PledgeAnswer> {
    let answer = |(_, message): &(Time, Message)| match message {
        Message::Coordinated(Coordinated { answer, .. }) => Some(*answer),
        _ => None,
    };
    played.received[user].iter().filter_map(answer).collect()
}

/// Neither when its number is known, nor before its request has arrived.
#[test]
fn a_user_has_no_say_about_the_holds_of_others() {
    let alice = vec![(1, wants(5, part(4, 100, 50))), (3, wants(6, part(2, 100, 50))), (5, pledge(5, Pledge::Commit))];
    let bob = vec![
        (1, pledge(6, Pledge::Abort)),
        (2, pledge(5, Pledge::Abort)),
        (2, pledge(5, Pledge::Cancel)),
        (2, pledge(5, Pledge::Commit)),
        (6, pledge(5, Pledge::Cancel)),
        (7, Message::Return(Return { booking: BookingId(0) })),
        (8, enter(5, 4, (10, 10), &[0])),
    ];
    let played = play(None, vec![alice, bob]);
    let [PledgeAnswer::Granted { .. }, PledgeAnswer::Granted { .. }, PledgeAnswer::Committed { booking, part: its }] =
        answers(&played, 0)[..]
    else {
        panic!("{:?}", played.received[0])
    };
    assert_eq!((booking, its), (BookingId(0), part(4, 100, 50)));
    assert_eq!(answers(&played, 1), [PledgeAnswer::Cancelled, PledgeAnswer::Expired, PledgeAnswer::Cancelled]);
    let returned = Message::Returned(Returned { booking, result: Err(Denial::NotBooked) });
    assert!(played.received[1].contains(&(second(7), returned)));
    // His task does not run in her booking, and the log says whose it is.
    let runs = |entry: &&Entry<Record>| matches!(entry.record, Record::Started { task: its, .. } if its == task(5));
    assert_eq!(played.log.iter().find(runs).unwrap().stamp.time, second(8));
    let entered = Record::Entered { user: ActorId(2), task: task(5) };
    assert!(played.log.iter().any(|entry| entry.record == entered));
}

#[test]
fn what_a_task_runs_in_is_not_taken_back() {
    let alice = vec![
        (1, wants(5, part(6, 20, 50))),
        (2, pledge(5, Pledge::Commit)),
        (3, enter(5, 6, (30, 40), &[0])),
        (25, pledge(5, Pledge::Cancel)),
        (25, Message::Return(Return { booking: BookingId(0) })),
        // It would be put on processors on which the first one runs.
        (26, enter(6, 8, (10, 10), &[])),
        (55, pledge(5, Pledge::Cancel)),
    ];
    let played = play(None, vec![alice]);
    let [_, _, PledgeAnswer::Refused(Denial::InUse), PledgeAnswer::Cancelled] = answers(&played, 0)[..] else {
        panic!("{:?}", played.received[0])
    };
    let returned = Message::Returned(Returned { booking: BookingId(0), result: Err(Denial::InUse) });
    assert!(played.received[0].contains(&(second(25), returned)));
    let starts = |entry: &Entry<Record>| match entry.record {
        Record::Started { task, .. } => Some((task.job.0, entry.stamp.time)),
        _ => None,
    };
    assert_eq!(played.log.iter().filter_map(starts).collect::<Vec<_>>(), [(5, second(20)), (6, second(55))]);
}

/// A co-allocation that fails as it succeeds: its user enters a leg and recalls it in the same instant.
#[test]
fn what_is_entered_and_taken_back_at_once_does_not_run() {
    let leg = |job, procs, within: &[u64]| match enter(job, procs, (30, 40), within) {
        Message::Enter(enter) => Message::Enter(Enter { reports_start: true, ..enter }),
        other => other,
    };
    let recall = |job| Message::Recall(Recall { task: task(job) });
    let run = |at: u64, messages: Vec<Message>| {
        let booked = [(1, wants(5, part(6, 20, 50))), (2, pledge(5, Pledge::Commit))];
        let played =
            play(None, vec![booked.into_iter().chain(messages.into_iter().map(|messages| (at, messages))).collect()]);
        let recalled = played.received[0].iter().filter_map(|(_, message)| match message {
            Message::Recalled(Recalled { in_time, .. }) => Some(*in_time),
            _ => None,
        });
        let ends = played.log.iter().filter(|entry| matches!(entry.record, Record::Finished { .. })).count();
        (recalled.collect::<Vec<_>>(), answers(&played, 0)[2..].to_vec(), ends)
    };
    // Before its booking begins, at its begin, and afterwards.
    for at in [10, 20, 25] {
        let messages = vec![leg(5, 6, &[0]), recall(5), pledge(5, Pledge::Cancel)];
        assert_eq!(run(at, messages), (vec![true], vec![PledgeAnswer::Cancelled], 0), "{at}");
        // The site does not have the booking it names, or it waits in the queue.
        let messages = vec![leg(5, 6, &[7]), recall(5), pledge(5, Pledge::Cancel)];
        assert_eq!(run(at, messages), (vec![true], vec![PledgeAnswer::Cancelled], 0), "{at}");
        let messages = vec![enter(6, 8, (10, 10), &[]), recall(6)];
        assert_eq!(run(at, messages), (vec![true], vec![], 0), "{at}");
        // A task that is recalled first can be entered again, and one entered and recalled does not obstruct it.
        let messages = vec![leg(5, 6, &[0]), recall(5), leg(5, 6, &[0])];
        assert_eq!(run(at, messages), (vec![true], vec![], 1), "{at}");
        let messages = vec![recall(5), leg(5, 6, &[0])];
        assert_eq!(run(at, messages), (vec![false], vec![], 1), "{at}");
        // Recalls of other tasks do not matter.
        let messages = vec![leg(5, 6, &[0]), recall(6)];
        assert_eq!(run(at, messages), (vec![false], vec![], 1), "{at}");
    }
}

/// It could only be refused when its booking is over, which is sooner than the site has promised to send anything.
#[test]
fn a_task_that_no_queue_takes_is_refused_at_once() {
    let alice = vec![
        (1, wants(5, part(6, 20, 50))),
        (2, pledge(5, Pledge::Commit)),
        (3, enter(5, 6, (40, 5_000), &[0])),
        (4, enter(6, 6, (40, 3_600), &[0])),
        (30, Message::Return(Return { booking: BookingId(0) })),
    ];
    let played = play(Some(Span::from_secs(3_600)), vec![alice]);
    let why = Denial::TooLong(Span::from_secs(3_600));
    assert!(played.received[0].contains(&(second(3), Message::Barred(Barred { task: task(5), why }))));
    assert!(played.log.iter().any(|entry| entry.record == Record::Finished { task: task(6) }));
}

/// A submission that promises that nothing follows from it before the task can have ended.
fn enter_for_certain(job: u32, procs: u32, runs: u64) -> Message {
    match enter(job, procs, (runs, 2 * runs), &[]) {
        Message::Enter(enter) => Message::Enter(Enter { may_be_lost: false, ends_quietly: true, ..enter }),
        other => other,
    }
}

#[test]
fn a_refusal_comes_no_sooner_than_its_submission_promises() {
    let played = play(None, vec![vec![(1, enter_for_certain(5, 4, 10)), (3, enter_for_certain(5, 4, 30))]]);
    let barred = Message::Barred(Barred { task: task(5), why: Denial::Duplicate });
    let concluded = Message::Concluded(Concluded { task: task(5) });
    assert_eq!(played.received[0], [(second(11), concluded), (second(33), barred)]);
}

#[test]
fn a_hold_costs_what_was_quoted_for_it() {
    let wanted = part(8, 100, 50);
    let price = ask(1, Query::Price(wanted));
    let busy = |quote| {
        let wanted = pledge(5, Pledge::Hold { part: wanted, quote });
        let first = vec![(0, enter(8, 8, (90, 90), &[])), (1, price.clone()), (2, enter(9, 8, (500, 500), &[]))];
        let played = play(None, vec![first.into_iter().chain([(3, wanted)]).collect()]);
        let [PledgeAnswer::Granted { fee, .. }] = answers(&played, 0)[..] else { panic!("{:?}", played.received) };
        fee
    };
    assert_eq!(busy(Some(QuoteId(0))), Area::ZERO);
    assert_eq!(busy(None), Area::of(8, Span::from_secs(60)));
    // There was no such quote.
    assert_eq!(busy(Some(QuoteId(7))), Area::of(8, Span::from_secs(60)));
}

/// The charge is part of the fee: a tenth of it is lost. Two parts of one slot pay it once, so the second is returned
/// for nothing. A hold that is cancelled four minutes after its commit loses nothing, and later a tenth.
#[test]
fn a_tenth_of_the_fixed_charge_is_lost_with_a_booking_that_is_cancelled() {
    let charge = Area::of(1, Span::from_secs(100));
    let terms = DeskTerms { charge, ..DeskTerms::new(PROCS, PlanningMode::Rebuild) };
    let claim = |number, lot| Message::Claim(Claim { number, job: JobId(1), lot });
    let back = |booking| Message::Return(Return { booking: BookingId(booking) });
    let slots = Lot::Slots { version: 0, parts: vec![(0, part(2, 400, 50)), (0, part(1, 500, 20))] };
    let alice = vec![
        (1, ask(1, Query::Slots)),
        (1, claim(2, slots)),
        (2, back(0)),
        (3, back(1)),
        (4, ask(3, Query::Price(part(4, 600, 10)))),
        (5, claim(4, Lot::Quote { quote: QuoteId(0), start: second(600) })),
        (6, back(2)),
        (7, wants(5, part(3, 900, 50))),
        (8, pledge(5, Pledge::Commit)),
        (248, pledge(5, Pledge::Cancel)),
        (300, wants(6, part(3, 900, 50))),
        (301, pledge(6, Pledge::Commit)),
        (542, pledge(6, Pledge::Cancel)),
    ];
    let desk = Desk::new(terms, planner::build_planner("slotlist").unwrap(), Box::new(History::new()));
    let played = play_at(desk, None, vec![alice]);
    let seconds = |area: &Area| area.seconds();
    let fees = played.log.iter().filter_map(|entry| match &entry.record {
        Record::Advertised { slots, .. } => Some(("slot", seconds(&slots[0].fee))),
        Record::Quoted { offers, .. } => Some(("quote", seconds(&offers[0].fee))),
        Record::Held { fee, .. } => Some(("hold", seconds(fee))),
        Record::Booked { receipt, .. } => Some(("booked", seconds(&receipt.fee))),
        Record::Returned { penalty, .. } => Some(("back", seconds(&penalty.unwrap()))),
        _ => None,
    });
    let expected = [
        [("slot", 100.0), ("booked", 100.0), ("booked", 0.0), ("back", 10.0), ("back", 0.0)].to_vec(),
        [("quote", 100.0), ("booked", 100.0), ("back", 10.0)].to_vec(),
        [("hold", 100.0), ("booked", 100.0), ("back", 0.0)].to_vec(),
        [("hold", 100.0), ("booked", 100.0), ("back", 10.0)].to_vec(),
    ];
    assert_eq!(fees.collect::<Vec<_>>(), expected.concat());
}

#[test]
fn what_is_longer_than_is_taken_has_no_chance_and_the_rest_has() {
    let jobs = (0..30).map(|job| (u64::from(job), enter(job, 1, (1, 60), &[])));
    let work = part(1, 10_000, 600);
    let query = Query::Chances { work, step: Span::from_secs(600) };
    let asks = ask(1, query);
    let played = play(Some(Span::from_secs(3_600)), vec![jobs.chain([(1_000, asks)]).collect()]);
    let chances = played.received[0].iter().find_map(|(_, message)| match message {
        Message::Informed(Informed { reply: Reply::Chances(chances), .. }) => Some(chances.clone()),
        _ => None,
    });
    // From 7,000 s on it requests no more than an hour.
    let chances = chances.unwrap();
    assert_eq!((chances.len(), chances.iter().position(|chance| *chance > 0.0)), (15, Some(10)));
}

/// One message of a user, with small numbers so that users obstruct each other, and sometimes senseless.
fn any_word() -> impl Strategy<Value = Message> {
    let any_part = || {
        let part = |(procs, start, span)| Part { procs, start: second(start), span: Span::from_secs(span) };
        let sane = (1u32..10, 0u64..300, 1u64..80).prop_map(part);
        let far = (any::<u32>(), any::<u64>(), any::<u64>()).prop_map(|(procs, start, span)| Part {
            procs,
            start: Time::from_micros(start),
            span: Span::from_micros(span),
        });
        prop_oneof![9 => sane, 1 => far]
    };
    let number = || any::<u64>();
    let pledges = prop_oneof![
        4 => (any_part(), prop::option::of(0u64..6)).prop_map(|(part, quote)| {
            Pledge::Hold { part, quote: quote.map(QuoteId) }
        }),
        3 => Just(Pledge::Commit),
        1 => Just(Pledge::Abort),
        2 => Just(Pledge::Cancel),
    ];
    let queries = prop_oneof![
        Just(Query::Load),
        Just(Query::Slots),
        any_part().prop_map(Query::Price),
        any_part().prop_map(|part| Query::Prices { procs: part.procs, span: part.span }),
        any_part().prop_map(Query::PricesFrom),
        (any_part(), 0u64..90).prop_map(|(work, step)| Query::Chances { work, step: Span::from_secs(step) }),
    ];
    let lots = prop_oneof![
        (0u64..6, 0u64..300).prop_map(|(quote, start)| Lot::Quote { quote: QuoteId(quote), start: second(start) }),
        (0u64..40, prop::collection::vec((0u32..4, any_part()), 0..3))
            .prop_map(|(version, parts)| Lot::Slots { version, parts }),
    ];
    let enters = (0u32..8, 0u32..10, (0u64..60, 0u64..120), 0u64..300, prop::collection::vec((0u64..9, 0u32..9), 0..3));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let enters = (enters, flags).prop_map(|((job, procs, (runs, asks), not_before, within), flags)| {
        let (reports_start, may_be_lost, ends_quietly) = flags;
        Message::Enter(Enter {
            task: task(job),
            procs,
            walltime: Span::from_secs(asks),
            runtime: Span::from_secs(runs),
            not_before: second(not_before),
            within: within.into_iter().map(|(booking, procs)| (BookingId(booking), procs)).collect(),
            reports_start,
            losses: 0,
            may_be_lost,
            ends_quietly,
        })
    });
    prop_oneof![
        3 => (0u32..5, pledges).prop_map(|(job, kind)| pledge(job, kind)),
        2 => (number(), queries).prop_map(|(number, query)| ask(number, query)),
        3 => (number(), 0u32..8, lots)
            .prop_map(|(number, job, lot)| Message::Claim(Claim { number, job: JobId(job), lot })),
        4 => enters,
        1 => (0u64..9).prop_map(|booking| Message::Return(Return { booking: BookingId(booking) })),
        1 => (0u32..8).prop_map(|job| Message::Recall(Recall { task: task(job) })),
    ]
}

/// Number of answers to a message, all of them at once.
fn is_answered(message: &Message) -> bool {
    match message {
        Message::Coordinate(Coordinate { pledge, .. }) => *pledge != Pledge::Abort,
        Message::Enter(_) => false,
        _ => true,
    }
}

fn is_answer(message: &Message) -> bool {
    !matches!(
        message,
        Message::Barred(_)
            | Message::Begun(_)
            | Message::Ended(_)
            | Message::Concluded(_)
            | Message::Lost(_)
            | Message::Revoked(_)
            | Message::Postponed(_)
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(unoptimised) { 80 } else { 2_000 }, ..ProptestConfig::default() })]

    /// Under all messages of users, in all orders: no processor runs two tasks (the site checks that), no promise is
    /// broken (the judge checks that), each question is answered at once, and each booking and hold ends once.
    #[test]
    fn a_site_serves_all_users(
        users in prop::collection::vec(prop::collection::vec((0u64..250, any_word()), 0..25), 1..4),
        longest in prop::option::of(1u64..100),
        planner in prop::sample::select(planner::planner_names()),
    ) {
        let asked: Vec<usize> =
            users.iter().map(|messages| messages.iter().filter(|(_, message)| is_answered(message)).count()).collect();
        let times: Vec<Vec<Time>> =
            users.iter().map(|messages| messages.iter().map(|(at, _)| second(*at)).collect()).collect();
        let played = play_under(planner.name, longest.map(Span::from_secs), users);
        for (user, received) in played.received.iter().enumerate() {
            let answers: Vec<_> = received.iter().filter(|(_, message)| is_answer(message)).collect();
            prop_assert_eq!(answers.len(), asked[user]);
            prop_assert!(answers.iter().all(|(at, _)| times[user].contains(at)));
        }
        let mut booked = BTreeSet::new();
        let mut held = BTreeSet::new();
        for entry in &played.log {
            match &entry.record {
                Record::Booked { receipt, .. } => prop_assert!(booked.insert(receipt.booking)),
                Record::Returned { booking, .. } | Record::Elapsed { booking, .. } => prop_assert!(booked.remove(booking)),
                Record::Held { user, hold, .. } => prop_assert!(held.insert((*user, *hold))),
                Record::Settled { hold, .. } => {
                    let its = held.iter().find(|(_, other)| other == hold).copied();
                    prop_assert!(its.is_some_and(|its| held.remove(&its)));
                }
                _ => {}
            }
        }
        prop_assert!(booked.is_empty() && held.is_empty(), "left: {booked:?} {held:?}");
        let claimed = played.received.iter().flatten().filter_map(|(_, message)| match message {
            Message::Claimed(Claimed { result: Ok(receipts), .. }) => Some(receipts.len()),
            _ => None,
        });
        let committed: usize = played.log.iter().filter(|entry| {
            matches!(entry.record, Record::Settled { fate: HoldFate::Committed, .. })
        }).count();
        let noted = played.log.iter().filter(|entry| matches!(entry.record, Record::Booked { .. })).count();
        prop_assert_eq!(claimed.sum::<usize>() + committed, noted);
    }
}
