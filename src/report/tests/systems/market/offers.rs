//! A market in which sites offer their cores by messages: worked examples, against direct clearing, and the arithmetic
//! of offers before a judge that reads the log.

use super::*;
use crate::{Names, Status, Tally};
use hansa_sim::grid::{Failure, Killed, Per, Recovery};
use hansa_sim::protocol::CoreOffer;

fn by_messages(market: Market, offers_every: Span) -> Market {
    Market { clearing: Clearing::Messages, offers_every, ..market }
}

fn is_offer(entry: &Entry<Record>) -> bool {
    matches!(entry.record, Record::Offered { .. })
}

/// A topology with the latencies of its sites and of its users.
fn far(topology: Topology, sites: &[u64], users: u64) -> Topology {
    let mut topology = topology;
    let latencies = sites.iter().cycle().map(|seconds| Span::from_secs(*seconds));
    topology.sites.iter_mut().zip(latencies).for_each(|(site, latency)| site.latency = latency);
    topology.users.iter_mut().for_each(|user| user.latency = Span::from_secs(users));
    topology
}

/// The facts of a log of jobs with one task each, with the time in seconds.
fn render_log(log: &[Entry<Record>]) -> Vec<String> {
    let render_entry = |entry: &Entry<Record>| {
        let fact = match &entry.record {
            Record::Offered { idle, waiting, received } => {
                format!("{idle} idle, {waiting} waiting, {received} received")
            }
            Record::Assigned { task, .. } => format!("gives {}", task.job),
            Record::Started { task, .. } => format!("starts {}", task.job),
            Record::Finished { task } => format!("ends {}", task.job),
            Record::Lost { task, .. } => format!("loses {}", task.job),
            _ => return None,
        };
        Some(format!("{}: {fact}", entry.stamp.time.seconds()))
    };
    log.iter().filter_map(render_entry).collect()
}

/// Jobs of one task: arrival and run time in minutes, and cores.
fn listed(jobs: &[(u64, u64, u32)]) -> Source {
    let job = |&(arrive, runtime, cores): &(u64, u64, u32)| table::ListedJob {
        arrive: minutes(arrive),
        tasks: vec![task(runtime, cores, 0)],
        ..table::ListedJob::default()
    };
    Source::Table(table::Table::of_jobs(jobs.iter().map(job).collect()))
}

/// One site with 4 cores, 10 s away. The first job takes 3 min on all of them from 0:20 on, and the second one needs
/// all, too. Its end at 3:20 is offered at 5:00, which is known at 5:10.
#[test]
fn an_old_offer_delays_a_start() {
    let market = |every| by_messages(plain_market("fifo"), every);
    let grid = |every| far(grid(market(every), &[(4, 0)], 1, listed(&[(0, 3, 4), (1, 2, 4)])), &[10], 0);
    let expected = [
        "0: 4 idle, 0 waiting, 0 received",
        "10: gives 0",
        "20: starts 0",
        "200: ends 0",
        "300: 4 idle, 0 waiting, 1 received",
        "310: gives 1",
        "320: starts 1",
        "440: ends 1",
        "600: 4 idle, 0 waiting, 2 received",
    ];
    let topology = grid(Span::from_minutes(5));
    let log = play(&topology);
    assert_eq!(render_log(&log), expected);

    // 100 s late on 4 cores, and the first offer was 10 s old.
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    log.iter().for_each(|entry| tally.add(entry).unwrap());
    let summary = tally.summary(0, Status::Complete, String::new());
    let view = summary.view.unwrap();
    assert!(view.by_offers);
    // From 200 s to 310 s, and from 440 s to 610 s.
    assert_eq!((view.lag_mean, view.lag_max, view.unseen), (140.0, 170.0, 4.0 * 280.0));
    let offers: crate::Offers = summary.read_part().unwrap();
    assert_eq!((offers.offers, offers.given, offers.age_mean, offers.age_max), (3, 2, 10.0, 10.0));

    let at_once = [
        "0: 4 idle, 0 waiting, 0 received",
        "10: gives 0",
        "20: starts 0",
        "200: ends 0",
        "200: 4 idle, 0 waiting, 1 received",
        "210: gives 1",
        "220: starts 1",
        "340: ends 1",
        "340: 4 idle, 0 waiting, 2 received",
    ];
    assert_eq!(render_log(&play(&grid(Span::ZERO))), at_once);
}

/// One site with 4 cores, a minute away. At minute 5, the third job is given the core that is free as of the first
/// offer, and the first one ends: 3 cores are idle and offered. The offer cannot count the start that is on its way, so
/// the fourth job, which needs 3, waits for the end of the third one.
#[test]
fn starts_that_a_site_has_not_received_are_subtracted_from_its_offer() {
    let jobs = listed(&[(0, 3, 2), (0, 20, 1), (5, 2, 1), (5, 9, 3)]);
    let log = play(&far(grid(by_messages(plain_market("fifo"), Span::ZERO), &[(4, 0)], 1, jobs), &[60], 0));
    let expected = [
        "0: 4 idle, 0 waiting, 0 received",
        "60: gives 0",
        "60: gives 1",
        "120: starts 0",
        "120: starts 1",
        "300: ends 0",
        "300: 3 idle, 0 waiting, 2 received",
        "300: gives 2",
        "360: starts 2",
        "480: ends 2",
        "480: 3 idle, 0 waiting, 3 received",
        "540: gives 3",
        "600: starts 3",
        "1140: ends 3",
        "1140: 3 idle, 0 waiting, 4 received",
        "1320: ends 1",
        "1320: 4 idle, 0 waiting, 4 received",
    ];
    assert_eq!(render_log(&log), expected);
}

/// Two cores of four fail and take a task of three with them: one core is offered, and the two count again without an
/// offer when they are back.
#[test]
fn an_offer_counts_nodes_that_are_up() {
    let mut topology =
        grid(by_messages(plain_market("fifo"), Span::ZERO), &[(4, 0)], 1, listed(&[(0, 3, 3), (1, 2, 1)]));
    topology.failures = vec![once(0, "0-1", 2, 30)];
    let expected = [
        "0: 4 idle, 0 waiting, 0 received",
        "0: gives 0",
        "0: starts 0",
        "60: gives 1",
        "60: starts 1",
        "120: loses 0",
        "120: 1 idle, 0 waiting, 2 received",
        "180: ends 1",
        "180: 2 idle, 0 waiting, 2 received",
        "1920: gives 0",
        "1920: starts 0",
        "2100: ends 0",
        "2100: 4 idle, 0 waiting, 3 received",
    ];
    assert_eq!(render_log(&play(&topology)), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// If users are no nearer than sites and offers are sent at once, the auctioneer knows what it would have counted:
    /// the logs differ in offers only.
    #[test]
    fn offers_at_once_change_nothing(
        market in markets(),
        bids in one_of(BidRecords::ALL),
        mut jobs in prop::collection::vec(listed_jobs(), 1..14),
        sites in prop::collection::vec((1u32..7, 0u16..2), 0..3),
        latencies in prop::collection::vec(0u64..200, 1..4),
        is_near in any::<bool>(),
    ) {
        jobs.sort_by_key(|job| job.arrive);
        let sites = [&sites[..], &[(4, 0), (4, 1)]].concat();
        let latencies = if is_near { vec![0] } else { latencies };
        let user = *latencies.iter().max().unwrap();
        let market = Market { bids, ..market };
        let source = Source::Table(table::Table::of_jobs(jobs));
        let direct = far(grid(market.clone(), &sites, 2, source.clone()), &latencies, user);
        let offering = far(grid(by_messages(market, Span::ZERO), &sites, 2, source), &latencies, user);
        let log = play(&offering);
        prop_assert_eq!(&play_fast(&offering), &log);
        let (offers, rest): (Vec<_>, Vec<_>) = log.into_iter().partition(is_offer);
        prop_assert!(offers.len() >= sites.len());
        prop_assert_eq!(rest, play(&direct));
    }

    /// With nodes that fail, over links without latency, tasks are lost, queued again and started at the times of
    /// direct clearing.
    #[test]
    fn offers_at_once_change_nothing_where_nodes_fail(
        market in markets(),
        mut jobs in prop::collection::vec(listed_jobs(), 1..14),
        (seed, mtbf, killed) in (any::<u64>(), 20u64..200, 0..Killed::ALL.len()),
        at in 0u64..30,
    ) {
        jobs.sort_by_key(|job| job.arrive);
        let failing = |market| {
            let source = Source::Table(table::Table::of_jobs(jobs.clone()));
            let mut topology = grid(market, &[(4, 0), (4, 1), (4, 0)], 2, source);
            topology.seed = seed;
            topology.failures = vec![drawn(0, mtbf, Per::Node), drawn(1, 3 * mtbf, Per::Site), once(2, "0-2", at, 25)];
            topology.recovery = Recovery { killed: Killed::ALL[killed].1, attempts: 20, ..Recovery::default() };
            topology
        };
        let offering = failing(by_messages(market.clone(), Span::ZERO));
        let log = play(&offering);
        let mut tally = Tally::new(&offering, &Names::of(&offering));
        for entry in &log {
            prop_assert!(tally.add(entry).is_ok(), "{entry:?}: {:?}", tally.add(entry));
        }
        let rest: Vec<_> = log.into_iter().filter(|entry| !is_offer(entry)).collect();
        prop_assert_eq!(rest, play(&failing(market)));
    }

    /// The free cores of each auction are those that the judge finds, and each task starts as soon as its start
    /// arrives.
    #[test]
    fn known_cores_are_those_of_the_judge(
        market in markets(),
        mut jobs in prop::collection::vec(listed_jobs(), 1..14),
        sites in prop::collection::vec((1u32..7, 0u16..2), 0..3),
        latencies in prop::collection::vec(0u64..200, 1..4),
        (user, every) in (0u64..300, prop::sample::select(vec![0u64, 7, 60, 90, 1_000])),
    ) {
        jobs.sort_by_key(|job| job.arrive);
        let sites = [&sites[..], &[(4, 0), (4, 1)]].concat();
        let market = by_messages(Market { bids: BidRecords::Log, ..market }, Span::from_secs(every));
        let topology = far(grid(market, &sites, 2, Source::Table(table::Table::of_jobs(jobs))), &latencies, user);
        let log = play(&topology);
        prop_assert_eq!(&play_fast(&topology), &log);
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        let mut judge = OfferJudge { topology: &topology, cores: BTreeMap::new(), offers: Vec::new(), sent: Vec::new() };
        for entry in &log {
            prop_assert!(tally.add(entry).is_ok(), "{entry:?}: {:?}", tally.add(entry));
            judge.check(entry);
        }
        let started = |task: &TaskId| log.iter().find_map(|entry| match &entry.record {
            Record::Started { task: started, .. } if started == task => Some(entry.stamp),
            _ => None,
        });
        for (task, _, _, arrival) in &judge.sent {
            prop_assert_eq!(started(task), Some(*arrival));
        }
        // Nothing is kept back for ever.
        let arrived = log.iter().filter(|entry| matches!(entry.record, Record::Arrived { .. })).count();
        let over = |entry: &&Entry<Record>| matches!(entry.record, Record::Completed { .. } | Record::Removed { .. });
        prop_assert_eq!(arrived, log.iter().filter(over).count());
    }

    /// With all failures and delays: nothing runs on failed cores, offers are true, and each job ends.
    #[test]
    fn offers_are_true_where_nodes_fail(
        market in markets(),
        mut jobs in prop::collection::vec(listed_jobs(), 1..10),
        latencies in prop::collection::vec(0u64..100, 1..4),
        (seed, mtbf, user) in (any::<u64>(), 60u64..400, 0u64..100),
        every in prop::sample::select(vec![0u64, 60, 90, 1_000]),
    ) {
        jobs.sort_by_key(|job| job.arrive);
        let source = Source::Table(table::Table::of_jobs(jobs));
        let market = by_messages(market, Span::from_secs(every));
        let mut topology = far(grid(market, &[(4, 0), (4, 1), (4, 0)], 2, source), &latencies, user);
        topology.seed = seed;
        let fails: Vec<Failure> = vec![drawn(0, mtbf, Per::Node), drawn(1, 3 * mtbf, Per::Site), once(2, "0-2", 9, 25)];
        topology.failures = fails;
        topology.recovery = Recovery { attempts: 50, ..Recovery::default() };
        let log = play(&topology);
        prop_assert_eq!(&play_fast(&topology), &log);
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        for entry in &log {
            prop_assert!(tally.add(entry).is_ok(), "{entry:?}: {:?}", tally.add(entry));
        }
        let arrived = log.iter().filter(|entry| matches!(entry.record, Record::Arrived { .. })).count();
        let over = |entry: &&Entry<Record>| matches!(entry.record, Record::Completed { .. } | Record::Removed { .. });
        prop_assert_eq!(arrived, log.iter().filter(over).count());
    }
}

/// Knows the free cores of a site from times alone: the cores of the last offer that has arrived, less those of each
/// task given to the site whose start arrives there after the offer has left.
struct OfferJudge<'a> {
    topology: &'a Topology,
    /// Cores of each task.
    cores: BTreeMap<TaskId, u32>,
    /// Site, idle cores, departure and arrival of each offer.
    offers: Vec<(ActorId, u32, Stamp, Stamp)>,
    /// Task, site, cores and arrival at the site of each start.
    sent: Vec<(TaskId, ActorId, u32, Stamp)>,
}

impl OfferJudge<'_> {
    fn latency(&self, site: ActorId) -> Span {
        self.topology.sites[site.index() - 1].latency
    }

    fn free(&self, site: ActorId, now: Stamp) -> u32 {
        let known = self.offers.iter().rfind(|(from, _, _, arrival)| *from == site && *arrival <= now);
        let Some(&(_, idle, left, _)) = known else { return 0 };
        let unreceived = self.sent.iter().filter(|(_, to, _, arrival)| *to == site && *arrival > left);
        idle - unreceived.map(|(_, _, cores, _)| cores).sum::<u32>()
    }

    fn check(&mut self, entry: &Entry<Record>) {
        match &entry.record {
            Record::Arrived { job, .. } => {
                let tasks = (0..).zip(&job.tasks);
                self.cores.extend(tasks.map(|(index, task)| (TaskId { job: job.id, index }, task.cores)));
            }
            Record::Offered { idle, waiting, received } => {
                let is_here = |to: &ActorId, arrival: &Stamp| *to == entry.actor && *arrival <= entry.stamp;
                let here = self.sent.iter().filter(|(_, to, _, arrival)| is_here(to, arrival)).count();
                assert_eq!((*waiting, *received), (0, here as u64));
                self.offers.push((entry.actor, *idle, entry.stamp, entry.stamp.after(self.latency(entry.actor))));
            }
            Record::Auctioned { offers, .. } => {
                for CoreOffer { site, cores } in offers {
                    assert_eq!(*cores, self.free(*site, entry.stamp), "{site} at {}", entry.stamp);
                }
            }
            Record::Assigned { task, site } => {
                self.sent.push((*task, *site, self.cores[task], entry.stamp.after(self.latency(*site))));
            }
            _ => {}
        }
    }
}
