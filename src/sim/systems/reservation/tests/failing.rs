//! Reservations at sites whose nodes fail.

use super::*;
use crate::grid::{
    Area, Bookings, Checkpoint, Distribution, Drawn, Every, Failure, FailurePattern, FailureTarget, JobShape, Killed,
    Law, Per, Recovery,
};
use crate::kernel::BoxedActor;
use crate::systems::Failing;

/// Number of nodes and report period in seconds of each site.
const SITES: [(u32, u64); 2] = [(4, 0), (6, 3)];

pub(super) fn once(site: usize, nodes: &str, at_second: u64, lasts: u64) -> Failure {
    let what = FailureTarget::Nodes { site, nodes: set(nodes) };
    Failure {
        what,
        pattern: FailurePattern::Once { at: at(at_second), lasts: Span::from_secs(lasts) },
        announced: true,
    }
}

pub(super) fn drawn(site: usize, nodes: u32, mtbf: u64, mttr: u64, per: Per, announced: bool) -> Failure {
    let law = |kind| Law { kind, shape: 0.8 };
    let mtbf = Span::from_secs(mtbf);
    let mttr = Span::from_secs(mttr);
    let between = law(Distribution::Weibull);
    let repair = law(Distribution::Exponential);
    let pattern = FailurePattern::Drawn(Drawn { mtbf, between, mttr, repair, per, share_millionths: 500_000 });
    Failure { what: FailureTarget::Nodes { site, nodes: NodeSet::all(nodes) }, pattern, announced }
}

/// A user and two sites, with these latencies of user and sites in seconds.
fn play_failing(
    asked: &[Asked],
    choose: Choose,
    latencies: [u64; 3],
    failures: &[Failure],
    recovery: &Recovery,
    seed: u64,
) -> Vec<Entry<Record>> {
    play_failing_at([Speed::USUAL; 2], messages(asked), choose, latencies, (failures, recovery, seed))
}

/// Sites with these speeds, and a user with these messages.
fn play_failing_at(
    speeds: [Speed; 2],
    messages: Vec<(Time, ActorId, Message)>,
    choose: Choose,
    latencies: [u64; 3],
    failing: (&[Failure], &Recovery, u64),
) -> Vec<Entry<Record>> {
    let usual = (fit::find_fit("pe_w").unwrap(), RectEnd::Clip);
    play_with(speeds, messages, latencies, failing, usual, |clusters| MetaScheduler::new(clusters, choose, None))
}

/// The meta-scheduler that `meta` makes of clusters with this policy.
pub(super) fn play_with(
    speeds: [Speed; 2],
    messages: Vec<(Time, ActorId, Message)>,
    latencies: [u64; 3],
    (failures, recovery, seed): (&[Failure], &Recovery, u64),
    (fit, rect_end): (&'static fit::Fit, RectEnd),
    meta: impl FnOnce(Vec<Cluster>) -> MetaScheduler,
) -> Vec<Entry<Record>> {
    let [user, york, leeds] = latencies.map(Span::from_secs);
    let failing = Failing { failures, recovery, seed };
    let mut cast: Vec<BoxedActor<Message, Record>> = Vec::new();
    let mut clusters = Vec::new();
    let sites = SITES.into_iter().zip([york, leeds]).zip(speeds).enumerate();
    for (number, (((nodes, report_every), latency), speed)) in sites {
        let report_every = Span::from_secs(report_every);
        let fails = failing.site(number);
        clusters.push(Cluster {
            site: ActorId(number as u32 + 1),
            latency,
            speed,
            is_shared: false,
            book: ClusterBook::new(nodes, fit, rect_end),
            outages: fails.clone().map(|fails| OutageView::new(fails, nodes, latency, report_every)),
        });
        let site = match fails {
            None => Site::new(nodes, Box::new(HoldManager), [ActorId(0)]),
            Some(fails) => Site::new(nodes, Box::new(FailingHoldManager::new(fails.attempts(nodes))), [ActorId(0)])
                .with_outages(Some(fails.outages)),
        };
        cast.push(Box::new(site.with_report_period(report_every)));
    }
    cast.insert(0, Box::new(meta(clusters)));
    cast.push(Box::new(User::new(Script::from_messages(messages))));
    judge::run_actors(cast, &[Span::ZERO, york, leeds, user])
}

fn failure_lines(log: &[Entry<Record>]) -> Vec<String> {
    let mut chosen: BTreeMap<JobId, u32> = BTreeMap::new();
    let mut line = |entry: &Entry<Record>| {
        let now = entry.stamp.time.seconds();
        let in_shape = |job: &JobId| chosen.get(job).map_or(String::new(), |shape| format!(" in shape {shape}"));
        Some(match &entry.record {
            Record::Shaped { job, shape } => {
                chosen.insert(*job, *shape);
                return None;
            }
            Record::Answered { job, answer: ReserveAnswer::Accepted { .. }, .. } => {
                render_log(std::slice::from_ref(entry)).pop()? + &in_shape(job)
            }
            Record::Rebooked { job, site, start, until, nodes } => {
                let start = start.seconds();
                let until = until.seconds();
                let shape = in_shape(job);
                format!("{now}: {job} gets {nodes} of {} from {start} to {until}{shape} instead", site.0)
            }
            Record::Broken { job, compensation } => format!("{now}: {job} is broken, for {compensation}"),
            Record::Lost { task, saved } => format!("{now}: {} is lost, {} s saved", task.job, saved.seconds()),
            Record::Killed { task } => format!("{now}: {} is killed", task.job),
            _ => return render_log(std::slice::from_ref(entry)).pop(),
        })
    };
    log.iter().filter_map(&mut line).collect()
}

fn with(bookings: Bookings) -> Recovery {
    Recovery { bookings, compensation_millionths: 500_000, ..Recovery::default() }
}

#[test]
fn a_booking_on_nodes_that_fail_moves_or_waits_or_is_broken() {
    // Booked on all of york from 10 to 15; nodes are down from 4 to 12, and the news arrives at 5.
    let asked = [(0, 10, 5, 20, 4, 4, None)];
    let failures = [once(0, "0-1", 4, 8)];
    let play = |bookings, failures: &[Failure]| {
        failure_lines(&play_failing(&asked, Choose::First, [0, 1, 0], failures, &with(bookings), 1))
    };
    let booked = "0: 0 gets 0-3 of 1 at 10";
    let later = ["7: 0 gets 0-3 of 1 from 12 to 17 instead", "12: 0 starts on 0-3", "16: 0 ends", "17: 0 is complete"];
    assert_eq!(play(Bookings::Move, &failures), [&[booked], &later[..]].concat());
    let waits = ["12: 0 starts on 0-3", "15: 0 is killed", "16: 0 is complete"];
    assert_eq!(play(Bookings::Shorten, &failures), [&[booked], &waits[..]].concat());
    assert_eq!(play(Bookings::Break, &failures), [booked, "7: 0 is broken, for 10"]);

    // York is down for good: leeds remains, if it is up.
    let york = once(0, "0-1", 4, 100);
    let elsewhere =
        ["7: 0 gets 0-3 of 2 from 10 to 15 instead", "10: 0 starts on 0-3", "14: 0 ends", "15: 0 is complete"];
    assert_eq!(play(Bookings::Move, std::slice::from_ref(&york)), [&[booked], &elsewhere[..]].concat());
    assert_eq!(play(Bookings::Move, &[york.clone(), once(1, "1-5", 6, 90)]), [booked, "7: 0 is broken, for 10"]);
    assert_eq!(play(Bookings::Shorten, &[york]), [booked, "7: 0 is broken, for 10"]);
}

/// Nothing else fails, so nothing else would trigger a check.
#[test]
fn a_job_that_could_not_start_is_missed_when_its_time_is_over() {
    // Leeds reports its nodes every 3 s, and by then they are back.
    let asked = [(0, 19, 2, 20, 2, 6, None)];
    let failures = [once(0, "0", 0, 100), once(1, "0-5", 19, 2)];
    let play = |bookings| failure_lines(&play_failing(&asked, Choose::First, [0, 0, 0], &failures, &with(bookings), 1));
    let booked = "0: 0 gets 0-5 of 2 at 19";
    let moved = play(Bookings::Move);
    assert_eq!(moved[0], booked);
    assert!(moved.iter().any(|line| line.ends_with("0 is complete")), "{moved:?}");
    let broken = play(Bookings::Break);
    assert_eq!(broken[0], booked);
    assert!(broken.iter().any(|line| line.ends_with("0 is broken, for 6")), "{broken:?}");
}

#[test]
fn a_lost_job_resumes_from_its_saved_work() {
    let asked = [(0, 0, 20, 10, 20, 4, None)];
    let failures = [once(0, "2", 9, 3)];
    let checkpoint = Some(Checkpoint { every: Every::Span(Span::from_secs(5)), cost: Span::ZERO });
    let play = |bookings, killed| {
        let recovery = Recovery { checkpoint, killed, ..with(bookings) };
        failure_lines(&play_failing(&asked, Choose::First, [0, 1, 0], &failures, &recovery, 1))
    };
    let lost = ["0: 0 gets 0-3 of 1 at 1", "1: 0 starts on 0-3", "9: 0 is lost, 5 s saved"];
    // 15 of its 20 s are left, and 9 of its time; leeds is not asked, as york has room in time.
    let moved = ["10: 0 gets 0-3 of 1 from 12 to 27 instead", "12: 0 starts on 0-3", "27: 0 ends", "28: 0 is complete"];
    assert_eq!(play(Bookings::Move, Killed::Head), [&lost[..], &moved].concat());
    let stays = ["12: 0 starts on 0-3", "21: 0 is killed", "22: 0 is complete"];
    assert_eq!(play(Bookings::Shorten, Killed::Head), [&lost[..], &stays].concat());
    for (bookings, killed) in [(Bookings::Break, Killed::Head), (Bookings::Move, Killed::Lost)] {
        assert_eq!(play(bookings, killed), [&lost[..], &["10: 0 is broken, for 40"]].concat());
    }
}

/// The job has 20 s of work, of which a checkpoint saves 5 s at york: 15 s are left, which are 7.5 s at leeds. If
/// york is twice as fast, 5 s there are 10 s of work, and the other 10 s take as long at leeds.
#[test]
fn work_saved_at_one_speed_counts_at_another() {
    let asked = [(0, 0, 20, 10, 20, 4, None)];
    let failures = [once(0, "2", 9, 200)];
    let checkpoint = Some(Checkpoint { every: Every::Span(Span::from_secs(5)), cost: Span::ZERO });
    let recovery = Recovery { checkpoint, ..with(Bookings::Move) };
    let play = |speeds: [u64; 2]| {
        let speeds = speeds.map(|tenths| Speed(tenths * 100_000));
        failure_lines(&play_failing_at(speeds, messages(&asked), Choose::First, [0, 1, 0], (&failures, &recovery, 1)))
    };
    let lost = ["0: 0 gets 0-3 of 1 at 1", "1: 0 starts on 0-3", "9: 0 is lost, 5 s saved"];
    // Leeds reports every 3 s.
    let moved = |end: &str, reported: u32| {
        let moved = format!("10: 0 gets 0-3 of 2 from 10 to {end} instead");
        let ends = [format!("{end}: 0 ends"), format!("{reported}: 0 is complete")];
        let [ends, complete] = ends;
        [&lost.map(str::to_owned)[..], &[moved, "10: 0 starts on 0-3".to_owned(), ends, complete]].concat()
    };
    assert_eq!(play([10, 20]), moved("17.5", 18));
    assert_eq!(play([20, 10]), moved("20", 21));
}

#[test]
fn nodes_known_to_be_down_are_not_booked_before_their_return() {
    let failures = [once(0, "0-3", 2, 10)];
    let asked = [(5, 1, 5, 20, 5, 4, None), (5, 1, 5, 30, 5, 4, None)];
    let log = play_failing(&asked, Choose::First, [0, 1, 0], &failures, &with(Bookings::Move), 1);
    assert_eq!(render_log(&log)[..2], ["5: 0 gets 0-3 of 1 at 12", "5: 1 gets 0-3 of 1 at 17"]);
}

/// Booked on all of york from 10 to 15, where two nodes fail at 4 s and do not return; leeds has one node. On the
/// other two nodes of york, half the nodes take twice the time, which the deadline allows.
#[test]
fn a_moved_booking_may_get_another_shape_unless_its_work_is_saved() {
    let one_step = Malleability { steps: 1, serial_millionths: 0 };
    let failures = [once(0, "0-1", 4, 100), once(1, "1-5", 1, 100)];
    let play = |slack, recovery: &Recovery, failures: &[Failure]| {
        let messages = messages_in_shapes(&[(2, 8, 5, slack, 4, 4, None)], one_step);
        let log = play_failing_at([Speed::USUAL; 2], messages, Choose::First, [0, 1, 0], (failures, recovery, 1));
        failure_lines(&log)
    };
    let recovery = with(Bookings::Move);
    let moved = [
        "2: 0 gets 0-3 of 1 at 10 in shape 0",
        "7: 0 gets 2-3 of 1 from 10 to 20 in shape 1 instead",
        "10: 0 starts on 2-3",
        "18: 0 ends",
        "19: 0 is complete",
    ];
    assert_eq!(play(6, &recovery, &failures), moved);
    // A second less, and no shape is possible: the compensation is half of the 20 node seconds of the first one.
    assert_eq!(play(5, &recovery, &failures), [moved[0], "7: 0 is broken, for 10"]);
    // It is lost at 13 s. Without checkpoints it starts anew in the other shape. With 2 s of work saved it keeps its
    // own, for which there is no room.
    let failures = [once(0, "0-1", 13, 100), once(1, "1-5", 1, 100)];
    let lost =
        |saved| [moved[0].to_owned(), "10: 0 starts on 0-3".to_owned(), format!("13: 0 is lost, {saved} s saved")];
    let anew = ["14: 0 gets 2-3 of 1 from 15 to 25 in shape 1 instead", "15: 0 starts on 2-3", "23: 0 ends"];
    let expected = [&lost(0)[..], &anew.map(str::to_owned), &["24: 0 is complete".to_owned()]].concat();
    assert_eq!(play(20, &recovery, &failures), expected);
    let checkpoint = Some(Checkpoint { every: Every::Span(Span::from_secs(2)), cost: Span::ZERO });
    let expected = [&lost(2)[..], &["14: 0 is broken, for 10".to_owned()]].concat();
    assert_eq!(play(20, &Recovery { checkpoint, ..recovery }, &failures), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 150 } else { 1_000 }))]

    /// Under any failures, requests of one or several shapes and cancellations, every rule and latency: no task is on a
    /// node that is down or that another one has, every task runs within its last booking, every request has exactly
    /// one end, and no promise of the kernel is broken.
    #[test]
    fn promises_are_kept_moved_or_broken(
        asked in prop::collection::vec(
            (0u64..60, 0u64..20, 0u64..15, 0u64..40, 1u64..15, 0u32..8, prop::option::weighted(0.2, 0u64..30)),
            1..40,
        ),
        (global, latencies) in (any::<bool>(), prop::array::uniform3(0u64..4)),
        (mtbf, mttr, seed) in (10u64..200, 1u64..40, 0u64..1_000),
        (bookings, killed, every, attempts) in (0usize..3, 0usize..4, 0u64..6, 1u32..5),
        (steps, announced, tenths) in (0u32..3, any::<bool>(), prop::sample::select(vec![[10u64, 10], [10, 20], [7, 10], [13, 30]])),
    ) {
        let failures = [
            drawn(0, 4, mtbf, mttr, Per::Node, announced),
            drawn(1, 6, 2 * mtbf, mttr, Per::Site, !announced),
            once(1, "0-4", 30, 20),
        ];
        let saves = Checkpoint { every: Every::Span(Span::from_secs(every.max(1))), cost: Span::from_millis(500) };
        let checkpoint = (every > 0).then_some(saves);
        let bookings = Bookings::ALL[bookings].1;
        let killed = Killed::ALL[killed].1;
        let recovery = Recovery { killed, attempts, checkpoint, bookings, compensation_millionths: 250_000, ..Recovery::default() };
        let choose = if global { Choose::Global } else { Choose::First };
        let speeds = tenths.map(|tenths| Speed(tenths * 100_000));
        let malleability = Malleability { steps, serial_millionths: 100_000 };
        let messages = messages_in_shapes(&asked, malleability);
        let log = play_failing_at(speeds, messages, choose, latencies, (&failures, &recovery, seed));

        let failing = Failing { failures: &failures, recovery: &recovery, seed };
        let stretched = |work: Span| recovery.checkpoint.map_or(work, |it| it.checkpoint_schedule(0.0).unwrap().with_checkpoints(work));
        let mut down = [0, 1].map(|site| failing.site(site).unwrap().outages);
        let is_down = |outages: &mut crate::grid::Outages, now: Time, cores: &NodeSet| {
            outages.advance(now);
            outages.expected(now).iter().any(|one| one.nodes.meets(cores))
        };
        let mut promised: BTreeMap<JobId, (ActorId, Time, Time, NodeSet)> = BTreeMap::new();
        let mut used = BTreeMap::new();
        let mut ends = BTreeMap::new();
        let mut running = BTreeMap::new();
        let mut accepted = 0;
        let mut broken = BTreeMap::new();
        let mut removed = 0;
        let mut due = BTreeMap::new();
        let mut shapes = BTreeMap::new();
        let mut chosen = BTreeMap::new();
        // The nodes and the duration of a request, in the shape last chosen.
        let now_asks = |job: &JobId, chosen: &BTreeMap<JobId, JobShape>| {
            let (_, _, duration, _, _, nodes, _) = asked[job.0 as usize];
            chosen.get(job).map_or((nodes, Span::from_secs(duration)), |shape| (shape.nodes, shape.duration))
        };
        for entry in &log {
            let now = entry.stamp.time;
            match &entry.record {
                Record::Malleable { job, shapes: all } => prop_assert_eq!(shapes.insert(*job, all.clone()), None),
                Record::Shaped { job, shape } => {
                    prop_assert!(!running.contains_key(job));
                    chosen.insert(*job, shapes[job][*shape as usize]);
                }
                Record::Answered { job, answer: ReserveAnswer::Accepted { site, start, nodes }, ready, deadline } => {
                    let (wide, duration) = now_asks(job, &chosen);
                    prop_assert_eq!((nodes.len(), shapes.contains_key(job)), (wide, chosen.contains_key(job)));
                    let work = speeds[site.index() - 1].time(duration);
                    let until = *start + stretched(work);
                    prop_assert!(start >= ready && until <= *deadline);
                    promised.insert(*job, (*site, *start, until, nodes.clone()));
                    accepted += 1;
                    due.insert(*job, *deadline);
                }
                Record::Rebooked { job, site, start, until, nodes } => {
                    let (wide, _) = now_asks(job, &chosen);
                    prop_assert!(bookings == Bookings::Move && *start >= now && nodes.len() == wide);
                    prop_assert!(*start < *until && *until <= due[job]);
                    prop_assert!(promised.insert(*job, (*site, *start, *until, nodes.clone())).is_some());
                }
                Record::Answered { job, .. } | Record::Cancelled { job } | Record::Completed { job, .. } => {
                    prop_assert_eq!(ends.insert(*job, ()), None);
                }
                Record::Broken { job, compensation } => {
                    let (nodes, duration) = now_asks(job, &chosen);
                    let all = Area::of(nodes, duration);
                    prop_assert_eq!(*compensation, Area::from_micros(all.micros() / 4));
                    prop_assert_eq!(broken.insert(*job, ()), None);
                }
                Record::Removed { job } => {
                    prop_assert!(broken.contains_key(job));
                    prop_assert_eq!(ends.insert(*job, ()), None);
                    removed += 1;
                }
                Record::Started { task, cores } => {
                    let (site, start, until, nodes) = &promised[&task.job];
                    prop_assert_eq!((site, nodes), (&entry.actor, cores));
                    let on_time = *start <= now && now < *until;
                    prop_assert!(on_time, "{} starts at {} in {} to {}", task.job, now, start, until);
                    prop_assert!(!is_down(&mut down[site.index() - 1], now, cores));
                    for node in cores.runs().iter().flat_map(|&(first, last)| first..=last) {
                        prop_assert_eq!(used.insert((entry.actor, node), task.job), None);
                    }
                    prop_assert_eq!(running.insert(task.job, *until), None);
                }
                Record::Finished { task } | Record::Killed { task } | Record::Lost { task, .. } => {
                    let until = running.remove(&task.job);
                    prop_assert!(until.is_some_and(|until| now <= until));
                    used.retain(|_, job| *job != task.job);
                }
                Record::Down { cores, .. } => {
                    let site = entry.actor;
                    let on = used.iter().filter(|((at, node), _)| *at == site && cores.meets(&NodeSet::from_run(*node, *node)));
                    prop_assert_eq!(on.count(), 0);
                }
                _ => {}
            }
        }
        prop_assert!(used.is_empty() && running.is_empty());
        prop_assert_eq!((ends.len(), removed), (asked.len(), broken.len()));
        prop_assert!(broken.len() <= accepted);
    }
}
