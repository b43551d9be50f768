//! The service of a site to its users when its nodes fail.

use std::collections::BTreeMap;

use super::*;
use crate::grid::{
    Bookings, Checkpoint, Drawn, Every, Failure, FailurePattern, FailureTarget, Killed, Law, NodeSet, Per, Rate,
    Receipt, Recovery, Tariff, Traced,
};
use crate::protocol::{Postponed, Revoked};
use crate::systems::Failing;

/// Nodes that are down once.
fn once(nodes: &str, at: u64, lasts: u64) -> Failure {
    let what = FailureTarget::Nodes { site: 0, nodes: NodeSet::parse(nodes).unwrap() };
    Failure { what, pattern: FailurePattern::Once { at: second(at), lasts: Span::from_secs(lasts) }, announced: true }
}

fn fails(failures: &[Failure], recovery: &Recovery, seed: u64) -> Option<Fails> {
    Failing { failures, recovery, seed }.site(0)
}

fn desk(planner: &str, mode: PlanningMode) -> Desk {
    Desk::new(DeskTerms::new(PROCS, mode), planner::build_planner(planner).unwrap(), Box::new(History::new()))
}

/// Plays messages of one user to a site of eight nodes, of which some fail.
fn with(failures: &[Failure], recovery: &Recovery, messages: Vec<(u64, Message)>) -> Played {
    play_at(desk("slotlist", PlanningMode::Rebuild), fails(failures, recovery, 1), vec![messages])
}

/// Asks for the price of a part, and books it; the site numbers quotes and bookings from 0 on.
fn books(at: u64, number: u64, part: Part) -> [(u64, Message); 2] {
    let price = ask(2 * number, Query::Price(part));
    let lot = Lot::Quote { quote: QuoteId(number), start: part.start };
    [(at, price), (at + 1, Message::Claim(Claim { number: 2 * number + 1, job: JobId(number as u32), lot }))]
}

/// Starts, ends and losses of tasks, with their times.
fn stints(played: &Played) -> Vec<(&'static str, u32, u64)> {
    let event_words = |entry: &Entry<Record>| {
        let (word, task) = match &entry.record {
            Record::Started { task, .. } => ("starts", *task),
            Record::Finished { task } => ("ends", *task),
            Record::Lost { task, .. } => ("lost", *task),
            _ => return None,
        };
        Some((word, task.job.0, entry.stamp.time.micros() / 1_000_000))
    };
    played.log.iter().filter_map(event_words).collect()
}

fn received<T>(played: &Played, pick: impl Fn(&Message) -> Option<T>) -> Vec<(Time, T)> {
    played.received[0].iter().filter_map(|(at, message)| Some((*at, pick(message)?))).collect()
}

fn revoked(played: &Played) -> Vec<(Time, BookingId)> {
    received(played, |message| match message {
        Message::Revoked(Revoked { booking, .. }) => Some(*booking),
        _ => None,
    })
}

fn postponed(played: &Played) -> Vec<(Time, Receipt)> {
    received(played, |message| match message {
        Message::Postponed(Postponed { receipt, .. }) => Some(*receipt),
        _ => None,
    })
}

/// Used area, payment and compensation of each revoked booking, in processor seconds.
fn charged(played: &Played) -> Vec<(u64, u64, u64)> {
    let revocation = |entry: &Entry<Record>| match entry.record {
        Record::Revoked { used, paid, compensation, .. } => {
            Some((used, paid, compensation)).map(|(a, b, c)| (a.micros(), b.micros(), c.micros()))
        }
        _ => None,
    };
    let seconds = |(a, b, c): (u64, u64, u64)| (a / 1_000_000, b / 1_000_000, c / 1_000_000);
    played.log.iter().filter_map(revocation).map(seconds).collect()
}

fn breaking() -> Recovery {
    Recovery { bookings: Bookings::Break, compensation_millionths: 500_000, ..Recovery::default() }
}

#[test]
fn a_lost_task_starts_again_first_or_last() {
    let messages = || vec![(0, enter(1, 8, (50, 50), &[])), (1, enter(2, 8, (10, 10), &[]))];
    let run = |killed| stints(&with(&[once("3", 20, 5)], &Recovery { killed, ..Recovery::default() }, messages()));
    let first =
        [("starts", 1, 0), ("lost", 1, 20), ("starts", 1, 25), ("ends", 1, 75), ("starts", 2, 75), ("ends", 2, 85)];
    assert_eq!(run(Killed::Head), first);
    assert_eq!(run(Killed::Back), first);
    let last =
        [("starts", 1, 0), ("lost", 1, 20), ("starts", 2, 25), ("ends", 2, 35), ("starts", 1, 35), ("ends", 1, 85)];
    assert_eq!(run(Killed::Tail), last);
    let gone = with(&[once("3", 20, 5)], &Recovery { killed: Killed::Lost, ..Recovery::default() }, messages());
    assert_eq!(stints(&gone), [("starts", 1, 0), ("lost", 1, 20), ("starts", 2, 25), ("ends", 2, 35)]);
    assert_eq!(received(&gone, |message| matches!(message, Message::Lost(_)).then_some(())), [(second(20), ())]);
}

/// A submission to a site whose nodes fail must not promise that nothing follows before its end.
#[test]
fn a_task_that_may_not_be_lost_is_refused() {
    let played = with(&[once("3", 20, 5)], &Recovery::default(), vec![(1, enter_for_certain(1, 8, 50))]);
    let barred = Message::Barred(Barred { task: task(1), why: Denial::NotSafe });
    assert_eq!(played.received[0], [(second(51), barred)]);
    assert_eq!(stints(&played), []);
}

#[test]
fn the_newest_booking_gives_way_first() {
    let messages = books(0, 0, part(4, 100, 50)).into_iter().chain(books(2, 1, part(4, 100, 50)));
    let messages: Vec<_> =
        messages.chain([(5, enter(0, 4, (50, 50), &[0])), (5, enter(1, 4, (50, 50), &[1]))]).collect();
    // There is room for one of them.
    let played = with(&[once("0-1", 90, 20)], &breaking(), messages.clone());
    assert_eq!(revoked(&played), [(second(90), BookingId(1))]);
    assert_eq!(charged(&played), [(0, 0, 100)]);
    // The other task joins the queue, and finds room when the nodes are back and the first one is over.
    assert_eq!(stints(&played), [("starts", 0, 100), ("starts", 1, 110), ("ends", 0, 150), ("ends", 1, 160)]);
    // It suffices that they return in time.
    let played = with(&[once("0-1", 80, 20)], &breaking(), messages.clone());
    assert!(revoked(&played).is_empty());
    // A node is expected back after 15 s, which is the mean; if it is not, after 30 s more.
    let outage = |(from, lasts)| Traced { down: second(from), up: second(from + lasts), component: 0 };
    let pattern = FailurePattern::Traced([(84, 40), (900, 5), (920, 5), (940, 10)].map(outage).to_vec().into());
    let traced = Failure { pattern, announced: false, ..once("0", 0, 0) };
    let played = with(&[traced], &breaking(), messages);
    assert_eq!(revoked(&played), [(second(99), BookingId(1))]);
}

#[test]
fn a_booking_moves_or_is_shortened_where_there_is_room() {
    let messages: Vec<_> =
        books(0, 0, part(6, 100, 50)).into_iter().chain([(5, enter(0, 6, (30, 40), &[0]))]).collect();
    let run = |bookings, failure| {
        with(
            &[failure],
            &Recovery { bookings, compensation_millionths: 500_000, ..Recovery::default() },
            messages.clone(),
        )
    };
    let receipt = |part: Part| Receipt { booking: BookingId(0), part, rent: part.area(), fee: Area::ZERO };
    let played = run(Bookings::Move, once("0-3", 90, 30));
    assert_eq!(postponed(&played), [(second(90), receipt(part(6, 120, 50)))]);
    assert_eq!(stints(&played), [("starts", 0, 120), ("ends", 0, 150)]);
    let played = run(Bookings::Shorten, once("0-3", 90, 30));
    assert_eq!(postponed(&played), [(second(90), receipt(part(6, 120, 30)))]);
    assert_eq!(stints(&played), [("starts", 0, 120), ("ends", 0, 150)]);
    // It cannot end in the rest, so it joins the queue at once.
    let played = run(Bookings::Shorten, once("0-3", 90, 40));
    assert_eq!(postponed(&played), [(second(90), receipt(part(6, 130, 20)))]);
    assert_eq!(stints(&played), [("starts", 0, 150), ("ends", 0, 180)]);
    // There is no rest.
    let played = run(Bookings::Shorten, once("0-3", 90, 60));
    assert_eq!((postponed(&played), revoked(&played)), (vec![], vec![(second(90), BookingId(0))]));
    assert_eq!(stints(&played), [("starts", 0, 150), ("ends", 0, 180)]);
}

#[test]
fn a_task_in_a_revoked_booking_continues() {
    let messages = books(0, 0, part(8, 10, 90)).into_iter();
    let messages = messages.chain([(5, enter(0, 3, (40, 40), &[0])), (5, enter(1, 4, (40, 40), &[0]))]);
    // The first has nodes 0-2, the second 3-6; node 7 is idle.
    let played = with(&[once("7", 20, 5)], &breaking(), messages.clone().collect());
    assert_eq!(revoked(&played), [(second(20), BookingId(0))]);
    assert_eq!(stints(&played), [("starts", 0, 10), ("starts", 1, 10), ("ends", 0, 50), ("ends", 1, 50)]);
    // Seven processors for ten seconds of the 720 booked.
    assert_eq!(charged(&played), [(70, 70, 325)]);
    // A lost task starts again in its booking, as long as there is room for it.
    let room = books(0, 0, part(4, 10, 90)).into_iter().chain([(5, enter(0, 3, (40, 40), &[0]))]);
    let played = with(&[once("1", 20, 500)], &breaking(), room.collect());
    assert!(revoked(&played).is_empty());
    assert_eq!(stints(&played), [("starts", 0, 10), ("lost", 0, 20), ("starts", 0, 20), ("ends", 0, 60)]);
    // There is no room: it joins the queue.
    let played = with(&[once("1", 20, 500)], &breaking(), messages.collect());
    assert_eq!(revoked(&played), [(second(20), BookingId(0))]);
    let again =
        [("starts", 0, 10), ("starts", 1, 10), ("lost", 0, 20), ("starts", 0, 20), ("ends", 1, 50), ("ends", 0, 60)];
    assert_eq!(stints(&played), again);
    assert_eq!(charged(&played), [(70, 70, 325)]);
}

/// The price is 1 until 15 s and 3 then. Of 8 * (5 + 3 * 85) for the rent and 40 for the charge, seven processors have
/// used 7 * (5 + 3 * 5) at 20 s. The rest is refunded, and half of it is the compensation.
#[test]
fn a_revoked_booking_costs_what_was_used_at_its_hour() {
    let messages = books(0, 0, part(8, 10, 90)).into_iter();
    let messages = messages.chain([(5, enter(0, 3, (40, 40), &[0])), (5, enter(1, 4, (40, 40), &[0]))]);
    let tariff = Tariff::by_day(vec![(Span::ZERO, Rate(1_000)), (Span::from_secs(15), Rate(3_000))]);
    let charge = Area::of(1, Span::from_secs(40));
    let terms = DeskTerms { tariff, charge, ..DeskTerms::new(PROCS, PlanningMode::Rebuild) };
    let desk = Desk::new(terms, planner::build_planner("slotlist").unwrap(), Box::new(History::new()));
    let played = play_at(desk, fails(&[once("7", 20, 5)], &breaking(), 1), vec![messages.collect()]);
    assert_eq!(charged(&played), [(70, 140, (2_080 + 40 - 140) / 2)]);
}

#[test]
fn failed_nodes_are_not_sold_and_holds_on_them_lapse() {
    let wanted = part(6, 100, 50);
    let price = |at, number| (at, ask(number, Query::Price(wanted)));
    let messages = vec![(70, wants(5, wanted)), price(95, 1), price(96, 2), (97, pledge(5, Pledge::Commit))];
    let played = with(&[once("0-3", 90, 30)], &breaking(), messages);
    let offered = received(&played, |message| match message {
        Message::Informed(Informed { reply: Reply::Prices(quote), .. }) => Some(quote.offers.len()),
        _ => None,
    });
    assert_eq!(offered, [(second(95), 0), (second(96), 0)]);
    let [PledgeAnswer::Granted { .. }, PledgeAnswer::Expired] = answers(&played, 0)[..] else {
        panic!("{:?}", played.received[0])
    };
    let broken = Record::Settled { hold: hold(5), fate: HoldFate::Broken };
    assert!(played.log.iter().any(|entry| entry.record == broken && entry.stamp.time == second(90)));
}

fn drawn(mtbf: u64, mttr: u64, per: Per, announced: bool) -> Failure {
    let law = |kind| Law { kind, shape: 1.0 };
    let pattern = FailurePattern::Drawn(Drawn {
        mtbf: Span::from_secs(mtbf),
        between: law(crate::grid::Distribution::Exponential),
        mttr: Span::from_secs(mttr),
        repair: law(crate::grid::Distribution::Lognormal),
        per,
        share_millionths: 600_000,
    });
    Failure { what: FailureTarget::Nodes { site: 0, nodes: NodeSet::all(PROCS) }, pattern, announced }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(unoptimised) { 60 } else { 3_000 }, ..ProptestConfig::default() })]

    /// Under all messages of users, all failures of nodes and every planner: nothing runs on failed nodes, no processor
    /// runs two tasks, no promise is broken, each question is answered at once, and each booking and hold ends once. No
    /// more of a booking is used than was booked, and no more is paid than it cost.
    #[test]
    fn a_site_whose_nodes_fail_serves_all_users(
        users in prop::collection::vec(prop::collection::vec((0u64..250, any_word()), 0..25), 1..4),
        (name, is_exact) in (0..planner::planner_names().len(), any::<bool>()),
        (mtbf, mttr, seed) in (20u64..600, 1u64..60, 0u64..1_000),
        (killed, attempts, every, announced) in (0usize..4, 1u32..6, 0u64..9, any::<bool>()),
        bookings in 0usize..3,
    ) {
        let failures = [
            drawn(mtbf, mttr, Per::Node, announced),
            drawn(2 * mtbf, mttr, Per::Site, !announced),
            once("0-4", 100, 30),
        ];
        let saves = Checkpoint { every: Every::Span(Span::from_secs(every.max(1))), cost: Span::from_millis(500) };
        let recovery = Recovery {
            killed: Killed::ALL[killed].1,
            attempts,
            checkpoint: (every > 0).then_some(saves),
            bookings: Bookings::ALL[bookings].1,
            compensation_millionths: 700_000,
            ..Recovery::default()
        };
        let mode = if is_exact { PlanningMode::Exact } else { PlanningMode::Rebuild };
        let asked: Vec<usize> =
            users.iter().map(|messages| messages.iter().filter(|(_, message)| is_answered(message)).count()).collect();
        let played = play_at(desk(planner::planner_names()[name].name, mode), fails(&failures, &recovery, seed), users);
        for (user, received) in played.received.iter().enumerate() {
            prop_assert_eq!(received.iter().filter(|(_, message)| is_answer(message)).count(), asked[user]);
        }

        let mut down = NodeSet::default();
        let mut running = BTreeMap::<TaskId, NodeSet>::new();
        let mut booked = BTreeMap::<BookingId, Receipt>::new();
        let mut held = BTreeSet::new();
        for Entry { record, .. } in &played.log {
            match record {
                Record::Down { cores, .. } => down.unite(cores),
                Record::Up { cores, .. } => down.subtract(cores),
                Record::Started { task, cores } => {
                    prop_assert!(!cores.meets(&down), "{} starts on {}, of which {} are down", task, cores, down);
                    prop_assert!(running.values().all(|other| !other.meets(cores)));
                    prop_assert_eq!(running.insert(*task, cores.clone()), None);
                }
                Record::Finished { task } | Record::Killed { task } | Record::Dropped { task } => {
                    prop_assert!(running.remove(task).is_some());
                }
                // Nodes are reported down as soon as no task is on them any more.
                Record::Lost { task, .. } => prop_assert!(running.remove(task).is_some()),
                Record::Booked { receipt, .. } => prop_assert_eq!(booked.insert(receipt.booking, *receipt), None),
                Record::Postponed { receipt } => {
                    let before = booked.insert(receipt.booking, *receipt).unwrap();
                    prop_assert!(receipt.part.start > before.part.start && receipt.part.span <= before.part.span);
                    prop_assert_eq!((receipt.part.procs, receipt.fee), (before.part.procs, before.fee));
                    prop_assert_eq!(receipt.rent, receipt.part.area());
                }
                Record::Returned { booking, used, .. } | Record::Elapsed { booking, used } => {
                    let receipt = booked.remove(booking).unwrap();
                    prop_assert!(*used <= receipt.part.area());
                }
                Record::Revoked { booking, used, paid, compensation } => {
                    let receipt = booked.remove(booking).unwrap();
                    prop_assert!(*used <= receipt.part.area() && *paid == *used && *paid <= receipt.total());
                    prop_assert_eq!(*compensation, recovery.compensation(receipt.total().saturating_sub(*paid)));
                }
                Record::Held { user, hold, .. } => prop_assert!(held.insert((*user, *hold))),
                Record::Settled { hold, .. } => {
                    let its = held.iter().find(|(_, other)| other == hold).copied();
                    prop_assert!(its.is_some_and(|its| held.remove(&its)));
                }
                _ => {}
            }
            prop_assert!(running.values().all(|cores| !cores.meets(&down)));
        }
        prop_assert!(running.is_empty(), "{running:?} still run");
        prop_assert!(booked.is_empty() && held.is_empty(), "left: {booked:?} {held:?}");
    }
}
