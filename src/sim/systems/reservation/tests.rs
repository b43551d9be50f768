//! The paper's Figure 1, the calendar against the paper's list under random histories, and whole runs.

mod allocating;
mod blocked;
mod failing;
mod shapes;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::fit::{self, ALL};
use super::reference::AvailRectList;
use super::*;
use crate::grid::{Calendar, Clash, Invalid, Job, JobId, Kind, NodeSet, Request, Speed, Task, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Entry, Event, Outbox, judge};
use crate::play::second as at;
use crate::protocol::{Cancel, Ended, Message, Record, Reserve, ReserveAnswer};
use crate::random::SplitMix64;
use crate::roles::{Script, Site, User};
use crate::time::{Span, Stamp, Time};
use crate::workload::lublin::Times;
use crate::workload::malleable::Malleability;
use crate::workload::reservations::RequestGenerator;

fn set(text: &str) -> NodeSet {
    NodeSet::parse(text).unwrap()
}

/// Jobs 1 to 3 of Figure 1 on ten nodes.
const FIGURE: [(u64, u64, &str); 3] = [(0, 6, "0-3"), (0, 2, "4-6"), (18, 24, "4-9")];

fn figure_request() -> Request {
    Request { arrive: at(0), ready: at(4), duration: Span::from_secs(5), deadline: at(20), nodes: 4 }
}

fn figure_list() -> AvailRectList {
    let mut list = AvailRectList::new(10);
    for (start, end, nodes) in FIGURE {
        list.add_allocation(at(start), at(end), &set(nodes)).unwrap();
    }
    list
}

fn figure_book(fit: &str, rect_end: RectEnd) -> ClusterBook {
    let mut book = ClusterBook::new(10, fit::find_fit(fit).unwrap(), rect_end);
    for (start, end, nodes) in FIGURE {
        book.add(at(start), at(end), &set(nodes)).unwrap();
    }
    book
}

fn shown(records: &[(Time, NodeSet)]) -> String {
    let shown = |(time, busy): &(Time, NodeSet)| match busy.is_empty() {
        true => format!("{{{}: none}}", time.seconds()),
        false => format!("{{{}: {busy}}}", time.seconds()),
    };
    records.iter().map(shown).collect::<Vec<_>>().join(" ")
}

#[test]
fn figure_1_has_these_candidates_and_rectangles() {
    let list = figure_list();
    let request = figure_request();
    assert_eq!(shown(list.records()), "{0: 0-6} {2: 0-3} {6: none} {18: 4-9} {24: none}");
    let starts = list.candidates(request.ready, at(15), request.duration, request.deadline);
    assert_eq!(starts, [4, 6, 13, 15].map(at));

    let book = figure_book("ff", RectEnd::Clip);
    let rows: Vec<_> = starts
        .into_iter()
        .map(|start| {
            let end = start + request.duration;
            let free = book.calendar().free_over(start, end);
            let judged = list.rectangle(start, end, &free, at(0), request.deadline, RectEnd::Clip);
            let (begin, until) = book.calendar().stretch(start, end, &free, at(0));
            assert_eq!((judged.begin, judged.end, judged.width), (begin, until.min(request.deadline), free.len()));
            let duration = (judged.end - judged.begin).micros() / 1_000_000;
            let seconds = |time: Time| time.micros() / 1_000_000;
            let area = u64::from(judged.width) * duration;
            (seconds(start), seconds(judged.begin), seconds(judged.end), judged.width, duration, area)
        })
        .collect();
    assert_eq!(
        rows,
        [(4, 2, 18, 6, 16, 96), (6, 6, 18, 10, 12, 120), (13, 6, 18, 10, 12, 120), (15, 6, 20, 4, 14, 56)]
    );
}

#[test]
fn every_policy_chooses_in_figure_1_as_the_paper_says() {
    let expected = [
        ("ff", 4, "4-7"),
        ("pe_b", 15, "0-3"),
        ("du_b", 6, "0-3"),
        ("pedu_b", 15, "0-3"),
        ("pe_w", 6, "0-3"),
        ("du_w", 4, "4-7"),
        ("pedu_w", 6, "0-3"),
    ];
    assert_eq!(expected.map(|(name, ..)| name), *ALL.iter().map(|fit| fit.name).collect::<Vec<_>>());
    for (name, start, nodes) in expected {
        let offer = figure_book(name, RectEnd::Clip).find(at(0), &figure_request()).unwrap();
        assert_eq!((offer.start, offer.nodes.to_string()), (at(start), nodes.to_owned()), "{name}");
        let judged =
            figure_list().find_allocation(at(0), &figure_request(), fit::find_fit(name).unwrap(), RectEnd::Clip);
        assert_eq!(judged, Some(offer), "{name}");
    }
}

#[test]
fn figure_1_goes_on_with_a_booking_and_a_release() {
    let mut list = figure_list();
    let mut book = figure_book("pe_w", RectEnd::Clip);
    let both = |list: &AvailRectList, book: &ClusterBook, expected: &str| {
        assert_eq!(shown(list.records()), expected);
        assert_eq!(shown(&book.calendar().records()), expected);
    };
    list.add_allocation(at(6), at(11), &set("0-3")).unwrap();
    book.add(at(6), at(11), &set("0-3")).unwrap();
    both(&list, &book, "{0: 0-6} {2: 0-3} {11: none} {18: 4-9} {24: none}");

    list.delete_allocation(at(0), at(2), &set("4-6")).unwrap();
    book.delete(at(0), at(2), &set("4-6")).unwrap();
    both(&list, &book, "{0: 0-3} {11: none} {18: 4-9} {24: none}");

    list.advance(at(2));
    let mut calendar = Calendar::new(10);
    for (start, nodes) in [(0, "0-3"), (18, "4-9")] {
        calendar.insert(at(start), at(start + if start == 0 { 11 } else { 6 }), &set(nodes)).unwrap();
    }
    calendar.advance(at(2));
    assert_eq!(shown(list.records()), "{2: 0-3} {11: none} {18: 4-9} {24: none}");
    assert_eq!(calendar.records(), list.records());

    assert_eq!(list.add_allocation(at(3), at(4), &set("3-4")), Err(Clash::DoubleBooking));
    assert_eq!(list.delete_allocation(at(3), at(12), &set("0-1")), Err(Clash::NotBooked));
    assert_eq!(shown(list.records()), "{2: 0-3} {11: none} {18: 4-9} {24: none}");
}

#[test]
fn an_empty_list_starts_at_the_ready_time_on_the_lowest_nodes() {
    for fit in ALL {
        for (word, rect_end, _) in RectEnd::ALL {
            let mut book = ClusterBook::new(10, fit, *rect_end);
            let offer = book.find(at(0), &figure_request()).unwrap();
            assert_eq!((offer.start, offer.nodes), (at(4), set("0-3")), "{} {word}", fit.name);
        }
    }
}

#[test]
fn invalid_requests_are_distinguished_from_ones_that_do_not_fit() {
    let good = figure_request();
    assert_eq!(good.check(10), Ok(()));
    let check = |change: fn(&mut Request), expected| {
        let mut request = figure_request();
        change(&mut request);
        assert_eq!(request.check(10), Err(expected));
    };
    check(|r| r.nodes = 0, Invalid::NoNodes);
    check(|r| r.nodes = 11, Invalid::TooManyNodes);
    check(|r| r.duration = Span::ZERO, Invalid::NoDuration);
    check(|r| r.arrive = at(5), Invalid::ReadyBeforeArrival);
    check(|r| r.deadline = at(8), Invalid::DeadlineTooEarly);
    check(|r| r.duration = Span::MAX, Invalid::TooLate);
    check(|r| r.deadline = Time::NEVER, Invalid::TooLate);

    // It may start at once, but not in the past.
    assert_eq!(Request { deadline: at(9), ..good }.check(10), Ok(()));
    let mut book = figure_book("ff", RectEnd::Clip);
    assert_eq!(book.find(at(15), &good).map(|offer| offer.start), Some(at(15)));
    assert_eq!(book.find(at(16), &good), None);
}

#[test]
fn slowdown_counts_from_the_ready_time() {
    assert_eq!(figure_request().slowdown(at(4) + figure_request().duration), 1.0);
    assert_eq!(figure_request().slowdown(at(9) + figure_request().duration), 2.0);
}

/// Random requests, bookings, early releases and cancellations over 10^4 operations, under every policy in turn.
fn histories(nodes: u32, operations: u32, rect_end: RectEnd, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut list = AvailRectList::new(nodes);
    let mut books: Vec<ClusterBook> = ALL.iter().map(|fit| ClusterBook::new(nodes, fit, rect_end)).collect();
    let mut booked: Vec<(Time, Time, NodeSet)> = Vec::new();
    let mut now = 0;
    for operation in 0..if cfg!(unoptimised) { operations / 5 } else { operations } {
        if random.int(0, 3) == 0 {
            now += random.int(0, 3);
        }
        list.advance(at(now));
        booked.retain(|(_, end, _)| *end > at(now));
        if random.int(0, 3) == 0 && !booked.is_empty() {
            let (start, end, nodes) = booked.swap_remove(random.int(0, booked.len() as u64 - 1) as usize);
            let from = start.max(at(now));
            list.delete_allocation(from, end, &nodes).unwrap();
            for book in &mut books {
                book.delete(from, end, &nodes).unwrap();
            }
            continue;
        }
        let ready = now + random.int(0, 40);
        let duration = random.int(1, 12);
        let request = Request {
            arrive: at(now),
            ready: at(ready),
            duration: Span::from_secs(duration),
            deadline: at(ready + duration + random.int(0, 40)),
            nodes: random.int(1, u64::from(nodes).div_ceil(2)) as u32,
        };
        let mut chosen = None;
        for book in &mut books {
            let offer = book.find(at(now), &request);
            let expected = list.find_allocation(at(now), &request, book.fit(), rect_end);
            assert_eq!(offer, expected, "operation {operation}, {}", book.fit().name);
            if ALL[operation as usize % ALL.len()].name == book.fit().name {
                chosen = offer;
            }
        }
        if let Some(Offer { start, nodes, .. }) = chosen {
            let end = start + request.duration;
            list.add_allocation(start, end, &nodes).unwrap();
            for book in &mut books {
                book.add(start, end, &nodes).unwrap();
            }
            booked.push((start, end, nodes));
        }
        if operation % 10 == 0 {
            for book in &books {
                assert_eq!(book.calendar().records(), list.records(), "operation {operation}");
            }
        }
    }
}

#[test]
fn all_policies_choose_as_the_papers_list_does() {
    histories(16, 10_000, RectEnd::Clip, 1);
    histories(16, 2_000, RectEnd::Inf2tdl, 2);
    histories(16, 2_000, RectEnd::Open, 3);
}

#[test]
fn larger_clusters_choose_alike_too() {
    histories(700, 2_000, RectEnd::Clip, 4);
    histories(5_000, 2_000, RectEnd::Clip, 5);
}

fn demand(size: f64) -> RequestGenerator {
    RequestGenerator { seed: 1, requests: 10_000, nodes: 1024, size, size_max: 10.0, ..RequestGenerator::default() }
}

/// Offered load by middle size; the reference is a run of another program, and the tolerance is the spread of our own
/// runs.
#[test]
fn the_papers_workload_offers_the_known_load() {
    for (size, load) in [(5.0, 0.45), (6.0, 0.57), (7.0, 0.85), (8.0, 1.30), (9.0, 2.18)] {
        let loads = (1..=5).map(|seed| {
            let requests = RequestGenerator { seed, ..demand(size) }.requests();
            assert!(requests.is_sorted_by_key(|request| request.arrive));
            assert!(requests.iter().all(|r| r.check(1024).is_ok() && r.nodes.is_power_of_two() && r.nodes >= 32));
            let work: f64 = requests.iter().map(|r| r.duration.micros() as f64 * f64::from(r.nodes)).sum();
            work / 1024.0 / requests.last().unwrap().arrive.micros() as f64
        });
        let loads: Vec<f64> = loads.collect();
        assert!(
            loads.iter().any(|it| *it < load * 1.05) && loads.iter().any(|it| *it > load * 0.95),
            "{size}: {loads:?}"
        );
    }
}

/// Arrival, ready time after it, duration, slack, actual run time, nodes, and time of cancellation after the arrival.
type Asked = (u64, u64, u64, u64, u64, u32, Option<u64>);

const USER: ActorId = ActorId(3);

/// Messages of a user with all these requests.
fn messages(asked: &[Asked]) -> Vec<(Time, ActorId, Message)> {
    messages_in_shapes(asked, Malleability::default())
}

/// Messages of a user with all these requests, which have up to eight nodes in their further shapes.
fn messages_in_shapes(asked: &[Asked], malleability: Malleability) -> Vec<(Time, ActorId, Message)> {
    let mut messages = Vec::new();
    for (number, &(arrive, ahead, duration, slack, runtime, nodes, cancel)) in asked.iter().enumerate() {
        let id = JobId(number as u32);
        let ready = arrive + ahead;
        let walltime = Span::from_secs(duration);
        let runtime = Span::from_secs(runtime.min(duration));
        let tasks = vec![Task { walltime, ..Task::new(runtime, nodes, Kind(0)) }];
        let job = Job { id, arrive: at(arrive), first_task: id.0, tasks, edges: Vec::new(), worth: None, times: None };
        // A slack of 0 makes the deadline a second too early.
        let deadline = at((ready + duration + slack).saturating_sub(1));
        let request = Request { arrive: at(arrive), ready: at(ready), duration: walltime, deadline, nodes };
        let shapes = malleability.shapes(&request, runtime, 8);
        let reserve = Reserve { job: Arc::new(job), ready: at(ready), deadline, shapes, staging: None };
        messages.push((at(arrive), ActorId(0), Message::Reserve(reserve)));
        messages.extend(cancel.map(|after| (at(arrive + after), ActorId(0), Message::Cancel(Cancel { job: id }))));
    }
    messages
}

/// One user, a site of 4 nodes and one of 6, with these latencies of user and sites in seconds.
fn play(asked: &[Asked], choose: Choose, latencies: [u64; 3]) -> Vec<Entry<Record>> {
    play_at([Speed::USUAL; 2], asked, choose, latencies)
}

/// Sites with these speeds.
fn play_at(speeds: [Speed; 2], asked: &[Asked], choose: Choose, latencies: [u64; 3]) -> Vec<Entry<Record>> {
    let [user, york, leeds] = latencies.map(Span::from_secs);
    let messages = messages(asked);
    let cluster = |number: u32, nodes: u32, latency: Span| {
        let book = ClusterBook::new(nodes, fit::find_fit("pe_w").unwrap(), RectEnd::Clip);
        let speed = speeds[number as usize - 1];
        Cluster { site: ActorId(number), latency, speed, is_shared: false, book, outages: None }
    };
    let hub = MetaScheduler::new(vec![cluster(1, 4, york), cluster(2, 6, leeds)], choose, None);
    judge::run_actors(
        vec![
            Box::new(hub),
            Box::new(Site::new(4, Box::new(HoldManager), [ActorId(0)])),
            Box::new(Site::new(6, Box::new(HoldManager), [ActorId(0)])),
            Box::new(User::new(Script::from_messages(messages))),
        ],
        &[Span::ZERO, york, leeds, user],
    )
}

fn render_log(log: &[Entry<Record>]) -> Vec<String> {
    let line = |entry: &Entry<Record>| {
        let now = entry.stamp.time.seconds();
        Some(match &entry.record {
            Record::Answered { job, answer: ReserveAnswer::Accepted { site, start, nodes }, .. } => {
                format!("{now}: {job} gets {nodes} of {} at {}", site.0, start.seconds())
            }
            Record::Answered { job, answer, .. } => format!("{now}: {job} {answer:?}"),
            Record::Started { task, cores } => format!("{now}: {} starts on {cores}", task.job),
            Record::Finished { task } => format!("{now}: {} ends", task.job),
            Record::Completed { job, .. } => format!("{now}: {job} is complete"),
            Record::Cancelled { job } => format!("{now}: {job} is taken back"),
            _ => return None,
        })
    };
    log.iter().filter_map(line).collect()
}

#[test]
fn accepted_jobs_run_as_booked_and_their_rest_is_released() {
    let log = play(
        &[
            (0, 10, 20, 1, 5, 4, None),
            // Fits only the larger site.
            (1, 9, 20, 1, 20, 6, None),
            // York is booked until 30, unless job 0 ends early; by then this one has been declined.
            (2, 14, 10, 1, 10, 3, None),
            (16, 0, 10, 1, 10, 3, None),
            (17, 10, 3, 1, 3, 1, Some(2)),
            // Too late for a cancellation.
            (18, 10, 3, 1, 3, 1, Some(10)),
            (19, 0, 3, 0, 3, 1, None),
            (20, 0, 3, 1, 3, 7, None),
        ],
        Choose::First,
        [0, 0, 0],
    );
    assert_eq!(
        render_log(&log),
        [
            "0: 0 gets 0-3 of 1 at 10",
            "1: 1 gets 0-5 of 2 at 10",
            "2: 2 Declined",
            "10: 0 starts on 0-3",
            "10: 1 starts on 0-5",
            "15: 0 ends",
            "15: 0 is complete",
            "16: 3 gets 0-2 of 1 at 16",
            "16: 3 starts on 0-2",
            "17: 4 gets 0 of 1 at 27",
            "18: 5 gets 1 of 1 at 28",
            "19: 4 is taken back",
            "19: 6 Invalid(DeadlineTooEarly)",
            "20: 7 Invalid(TooManyNodes)",
            "26: 3 ends",
            "26: 3 is complete",
            "28: 5 starts on 1",
            "30: 1 ends",
            "30: 1 is complete",
            "31: 5 ends",
            "31: 5 is complete",
        ]
    );
}

#[test]
fn a_remote_site_starts_nothing_before_a_message_can_arrive() {
    let log = play(&[(0, 0, 5, 20, 5, 4, None), (0, 0, 5, 20, 5, 6, None)], Choose::First, [3, 2, 7]);
    assert_eq!(
        render_log(&log),
        [
            "3: 0 gets 0-3 of 1 at 5",
            "3: 1 gets 0-5 of 2 at 10",
            "5: 0 starts on 0-3",
            "10: 0 ends",
            "10: 1 starts on 0-5",
            "12: 0 is complete",
            "15: 1 ends",
            "22: 1 is complete",
        ]
    );
}

#[test]
fn global_takes_the_site_whose_start_the_policy_prefers() {
    let site = |choose| match render_log(&play(&[(0, 0, 5, 1, 5, 2, None)], choose, [0; 3]))[0].as_str() {
        "0: 0 gets 0-1 of 1 at 0" => 1,
        "0: 0 gets 0-1 of 2 at 0" => 2,
        other => panic!("{other}"),
    };
    // Worst fit: more nodes are free at the second site.
    assert_eq!((site(Choose::First), site(Choose::Global)), (1, 2));
}

proptest! {
    /// Under any requests and cancellations: no node is booked twice, accepted jobs start as promised, and every
    /// request has exactly one end.
    #[test]
    fn promises_are_kept(
        asked in prop::collection::vec(
            (0u64..60, 0u64..20, 0u64..15, 0u64..20, 1u64..15, 0u32..8, prop::option::of(0u64..30)),
            1..40,
        ),
        global in any::<bool>(),
        latencies in prop::array::uniform3(0u64..4),
        tenths in prop::sample::select(vec![[10u64, 10], [10, 20], [7, 10], [13, 30]]),
    ) {
        let choose = if global { Choose::Global } else { Choose::First };
        let speeds = tenths.map(|tenths| Speed(tenths * 100_000));
        let log = play_at(speeds, &asked, choose, latencies);
        let mut promised = BTreeMap::new();
        let mut used = BTreeMap::new();
        let mut ends = BTreeMap::new();
        for entry in &log {
            match &entry.record {
                Record::Answered { job, answer: ReserveAnswer::Accepted { site, start, nodes }, ready, deadline } => {
                    let task = &asked[job.0 as usize];
                    let lasts = speeds[site.index() - 1].time(Span::from_secs(task.2));
                    prop_assert!(start >= ready && *start + lasts <= *deadline);
                    prop_assert_eq!(nodes.len(), task.5);
                    promised.insert(*job, (*site, *start, nodes.clone()));
                }
                Record::Answered { job, .. } | Record::Cancelled { job } | Record::Completed { job, .. } => {
                    prop_assert_eq!(ends.insert(*job, ()), None);
                }
                Record::Started { task, cores } => {
                    let promise = &promised[&task.job];
                    prop_assert_eq!(promise, &(entry.actor, entry.stamp.time, cores.clone()));
                    for node in cores.each() {
                        prop_assert_eq!(used.insert((entry.actor, node), task.job), None);
                    }
                }
                Record::Finished { task } => {
                    let real = asked[task.job.0 as usize];
                    let (site, start, _) = promised[&task.job];
                    let runs = speeds[site.index() - 1].time(Span::from_secs(real.4.min(real.2)));
                    prop_assert_eq!(entry.stamp.time - start, runs);
                    used.retain(|_, job| *job != task.job);
                }
                _ => {}
            }
        }
        prop_assert!(used.is_empty());
        prop_assert_eq!(ends.len(), asked.len());
    }
}

/// At a site of twice the speed, the request of Figure 1 takes 2.5 s, and its latest start is 17.5 s: starts at 4,
/// 6, 15.5 and 17.5 s have rectangles of 6, 10, 10 and 4 nodes and of 16, 12, 12 and 14 s.
#[test]
fn every_policy_chooses_in_figure_1_at_twice_the_speed() {
    let halves = |halves: u64| Time::from_micros(halves * 500_000);
    let expected = [
        ("ff", 8, "4-7"),
        ("pe_b", 35, "0-3"),
        ("du_b", 12, "0-3"),
        ("pedu_b", 35, "0-3"),
        ("pe_w", 12, "0-3"),
        ("du_w", 8, "4-7"),
        ("pedu_w", 12, "0-3"),
    ];
    let request = figure_request();
    let speed = Speed(2_000_000);
    let there = Request { duration: Span::from_micros(2_500_000), ..request };
    for (name, start, nodes) in expected {
        let judged = figure_list().find_allocation(at(0), &there, fit::find_fit(name).unwrap(), RectEnd::Clip).unwrap();
        assert_eq!((judged.start, judged.nodes.to_string()), (halves(start), nodes.to_owned()), "{name}");
        for choose in [Choose::First, Choose::Global] {
            let book = figure_book(name, RectEnd::Clip);
            let site = ActorId(1);
            let cluster = Cluster { site, latency: Span::ZERO, speed, is_shared: false, book, outages: None };
            let wanted = WantedJob::rigid(JobId(0), request, request.duration);
            let found = MetaScheduler::new(vec![cluster], choose, None).find(at(0), &wanted, None, &[]);
            let offer = judged.clone();
            assert_eq!(found, Some(ShapedOffer { cluster: 0, shape: 0, offer }), "{name}");
        }
    }
}

/// Leeds is twice as fast, so its six nodes count as twelve, and its jobs take half their time. Job 1 gets leeds
/// although york is free at once; job 2 is too wide for york. Job 3 has a second, which suffices at leeds; job 4
/// has none.
#[test]
fn jobs_at_a_fast_site_take_less_of_its_time() {
    let asked = [
        (0, 0, 10, 1, 6, 4, None),
        (1, 0, 10, 1, 10, 4, None),
        (2, 0, 4, 1, 4, 6, None),
        (3, 0, 2, 0, 2, 2, None),
        (4, 0, 1, 0, 1, 1, None),
    ];
    let log = play_at([Speed::USUAL, Speed(2_000_000)], &asked, Choose::Global, [0, 0, 0]);
    assert_eq!(
        render_log(&log),
        [
            "0: 0 gets 0-3 of 2 at 0",
            "0: 0 starts on 0-3",
            "1: 1 gets 0-3 of 2 at 5",
            "2: 2 Declined",
            "3: 0 ends",
            "3: 0 is complete",
            "3: 3 gets 0-1 of 2 at 3",
            "3: 3 starts on 0-1",
            "4: 3 ends",
            "4: 3 is complete",
            "4: 4 Invalid(DeadlineTooEarly)",
            "5: 1 starts on 0-3",
            "10: 1 ends",
            "10: 1 is complete",
        ]
    );
}

/// With gaps of about e^3 s and run times of about e^2 s, whose class is a minute.
#[test]
fn the_constants_of_the_model_can_be_overridden() {
    let times = Times { gap: Some((300.0, 0.01)), ..Times::default() };
    let dense = RequestGenerator { times: times.clone(), ..demand(7.0) }.requests();
    let mean = dense.last().unwrap().arrive.micros() / 1_000_000 / dense.len() as u64;
    assert!((15..30).contains(&mean), "{mean}");
    let short = (Some((200.0, 0.01)), Some((200.0, 0.01)));
    let brief = RequestGenerator { times: Times { short: short.0, long: short.1, ..times }, ..demand(7.0) }.requests();
    assert!(brief.iter().all(|request| request.duration == Span::from_secs(60)));
    assert!(dense.iter().any(|request| request.duration > Span::from_secs(60)));
}

#[test]
fn a_repeated_request_is_answered_but_not_accepted_twice() {
    let request = (0, 5, 5, 1, 5, 2, None);
    let mut log = play(&[request], Choose::First, [0; 3]);
    let once = log.len();
    let Some(Record::Arrived { job, user }) = log.drain(..).map(|entry| entry.record).next() else { panic!() };
    assert_eq!(user, USER);
    let reserve = |at_second: u64| {
        let ready = at(5);
        let deadline = at(10);
        (
            at(at_second),
            ActorId(0),
            Message::Reserve(Reserve { job: job.clone(), ready, deadline, shapes: Vec::new(), staging: None }),
        )
    };
    let book = ClusterBook::new(4, fit::find_fit("ff").unwrap(), RectEnd::Clip);
    let cluster =
        Cluster { site: ActorId(1), latency: Span::ZERO, speed: Speed::USUAL, is_shared: false, book, outages: None };
    let log = judge::run_actors(
        vec![
            Box::new(MetaScheduler::new(vec![cluster], Choose::First, None)),
            Box::new(Site::new(4, Box::new(HoldManager), [ActorId(0)])),
            Box::new(User::new(Script::from_messages(vec![reserve(0), reserve(1)]))),
        ],
        &[Span::ZERO; 3],
    );
    assert_eq!(log.len(), once);
}

/// A site that repeatedly reports that the first job has ended here.
struct Braggart;

impl Actor<Message, Record> for Braggart {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        if batch.iter().any(|event| event.cause == Cause::Start) {
            let ended = Ended { task: TaskId { job: JobId(0), index: 0 }, started: Time::ZERO };
            (1..12).for_each(|second| out.send_at(at(second), ActorId(0), Message::Ended(ended)));
        }
    }
}

#[test]
fn a_site_does_not_end_the_job_of_another() {
    let task = Task::new(Span::from_secs(5), 2, Kind(0));
    let job = Job { arrive: at(0), tasks: vec![task], ..Job::default() };
    let messages = vec![(
        at(0),
        ActorId(0),
        Message::Reserve(Reserve {
            job: Arc::new(job),
            ready: at(5),
            deadline: at(10),
            shapes: Vec::new(),
            staging: None,
        }),
    )];
    let cluster = |number| {
        let book = ClusterBook::new(4, fit::find_fit("ff").unwrap(), RectEnd::Clip);
        Cluster {
            site: ActorId(number),
            latency: Span::ZERO,
            speed: Speed::USUAL,
            is_shared: false,
            book,
            outages: None,
        }
    };
    let log = judge::run_actors(
        vec![
            Box::new(MetaScheduler::new(vec![cluster(1), cluster(2)], Choose::First, None)),
            Box::new(Site::new(4, Box::new(HoldManager), [ActorId(0)])),
            Box::new(Braggart),
            Box::new(User::new(Script::from_messages(messages))),
        ],
        &[Span::ZERO; 4],
    );
    let completed = log.iter().filter(|entry| matches!(entry.record, Record::Completed { .. }));
    assert_eq!(completed.map(|entry| entry.stamp.time).collect::<Vec<_>>(), [at(10)]);
}
