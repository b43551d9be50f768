//! Records of auctions: worked by hand, and against a judge that reads only the log.

use super::*;
use crate::protocol::{BidOutcome, CoreOffer, LossReason, TaskBid};

const NO_ROOM: BidOutcome = BidOutcome::Lost(LossReason::NoRoom);
const NO_DATA: BidOutcome = BidOutcome::Lost(LossReason::NoData);
const BEHIND: BidOutcome = BidOutcome::Lost(LossReason::Behind);
const A: BidOutcome = BidOutcome::Won(ActorId(1));
const B: BidOutcome = BidOutcome::Won(ActorId(2));
const C: BidOutcome = BidOutcome::Won(ActorId(3));

fn recorded(market: Market) -> Market {
    Market { bids: BidRecords::Log, ..market }
}

/// The auctions of a log: minute, offered cores, and bids as (job, task, bid, outcome).
type Auction = (u64, Vec<u32>, Vec<(u32, u32, f64, BidOutcome)>);

fn auctions(log: &[Entry<Record>]) -> Vec<Auction> {
    let bid = |bid: &TaskBid| (bid.task.job.0, bid.task.index, bid.bid, bid.outcome);
    log.iter()
        .filter_map(|entry| match &entry.record {
            Record::Auctioned { offers, bids } => Some((
                in_minutes(entry.stamp.time),
                offers.iter().map(|offer| offer.cores).collect(),
                bids.iter().map(bid).collect(),
            )),
            _ => None,
        })
        .collect()
}

/// Three clusters: A and B with 4 and 6 cores of one kind, C with 4 of the other. By SRTF, C takes the task of 3
/// minutes, B with its 6 cores that of 9, A and then B those of 10 and 12; the task of 20 finds one core left on B,
/// which keeps that of 21 out although it fits. C has a core for the task of 25.
#[test]
fn the_first_auction_of_the_example_is_recorded() {
    let sites = [(4, 0), (6, 0), (4, 1)];
    let minutes = |count: f64| count * 6e7;
    let log = play(&grid(recorded(plain_market("srtf")), &sites, 1, auction_example()));
    let bids = vec![
        (3, 0, minutes(3.0), C),
        (1, 0, minutes(9.0), B),
        (2, 0, minutes(10.0), A),
        (0, 0, minutes(12.0), B),
        (4, 0, minutes(20.0), NO_ROOM),
        (5, 0, minutes(21.0), BEHIND),
        (6, 0, minutes(25.0), C),
    ];
    assert_eq!(auctions(&log)[0], (0, vec![4, 6, 4], bids));

    // All arrive at once, so the number decides: job 0 takes B, job 1 finds more room on A, and job 2 none.
    let log = play(&grid(recorded(plain_market("fifo")), &sites, 1, auction_example()));
    let outcomes = [B, A, NO_ROOM, C, NO_ROOM, BEHIND, C];
    let bids = outcomes.into_iter().zip(0..).map(|(outcome, job)| (job, 0, 0.0, outcome)).collect();
    assert_eq!(auctions(&log)[0], (0, vec![4, 6, 4], bids));

    // Under global blocking, job 2 of one kind keeps all behind it out, of any kind.
    let global = Market { blocking: Blocking::Global, ..plain_market("fifo") };
    let log = play(&grid(recorded(global), &sites, 1, auction_example()));
    let outcomes = [B, A, NO_ROOM, BEHIND, NO_ROOM, BEHIND, BEHIND];
    let bids = outcomes.into_iter().zip(0..).map(|(outcome, job)| (job, 0, 0.0, outcome)).collect();
    assert_eq!(auctions(&log)[0], (0, vec![4, 6, 4], bids));
}

fn listed(arrive: u64, tasks: &[Task], pairs: &[(u32, u32)], max: f64) -> table::ListedJob {
    table::ListedJob {
        arrive: minutes(arrive),
        tasks: tasks.to_vec(),
        edges: edges(pairs),
        worth: Some(Worth { max, curve: Curve::new(2.0, 6.0, &[]).unwrap() }),
        ..table::ListedJob::default()
    }
}

/// A curve from 2 to 6 has an area of 1 + 4 / 2 = 3 left at an SLR of 1, and of 3 * 0.75 / 2 = 1.125 at 3.
#[test]
fn remaining_values_are_the_bids_under_pvr() {
    let jobs = vec![
        listed(0, &[task(10, 3, 0)], &[], 10.0),
        listed(0, &[task(5, 2, 0)], &[], 4.0),
        listed(0, &[task(20, 2, 0)], &[], 5.0),
    ];
    let log = play(&grid(recorded(plain_market("pvr")), &[(4, 0)], 1, Source::Table(table::Table::of_jobs(jobs))));
    let first = (0, vec![4], vec![(1, 0, 12.0, A), (2, 0, 15.0, A), (0, 0, 30.0, NO_ROOM)]);
    // At 5, two cores are free, too few for any waiting task: no auction. At 20, the age of job 0 is twice its path.
    assert_eq!(auctions(&log), [first, (20, vec![4], vec![(0, 0, 11.25, A)])]);
}

/// At 10, task 1 of job 0 finds its data on A alone, where the shorter job 2 goes first; B, which is free since 8, gets
/// the data at 12. Job 3 would fit on B. Task 1 of job 1 has its data on C since 10.
#[test]
fn a_task_without_its_data_blocks_as_one_without_room() {
    let jobs = vec![
        listed(0, &[task(10, 2, 0), task(5, 2, 0)], &[(0, 1)], 1.0),
        listed(0, &[task(8, 2, 0), task(20, 1, 1)], &[(0, 1)], 1.0),
        listed(10, &[task(1, 2, 0)], &[], 1.0),
        listed(10, &[task(6, 1, 0)], &[], 1.0),
    ];
    let sites = [(2, 0), (2, 0), (2, 1)];
    let log = play(&grid(recorded(plain_market("srtf")), &sites, 1, Source::Table(table::Table::of_jobs(jobs))));
    let all = auctions(&log);
    let at_ten = all.iter().find(|auction| auction.0 == 10).expect("job 2 arrives then");
    assert_eq!(at_ten.1, [2, 2, 2]);
    let outcomes: Vec<_> = at_ten.2.iter().map(|bid| (bid.0, bid.1, bid.3)).collect();
    assert_eq!(outcomes, [(2, 0, A), (0, 1, NO_DATA), (3, 0, BEHIND), (1, 1, C)]);
}

/// Reads the log alone, and knows the state of the grid from the records before an auction.
#[derive(Default)]
struct Judge {
    jobs: BTreeMap<JobId, Arc<Job>>,
    removed: BTreeSet<JobId>,
    placed: BTreeMap<TaskId, ActorId>,
    ended: BTreeSet<TaskId>,
}

impl Judge {
    fn task(&self, id: TaskId) -> Task {
        self.jobs[&id.job].tasks[id.index as usize]
    }

    fn free(&self, site: ActorId, cores: u32) -> u32 {
        let running = self.placed.iter().filter(|(task, at)| **at == site && !self.ended.contains(task));
        cores - running.map(|(task, _)| self.task(*task).cores).sum::<u32>()
    }

    /// Tasks that wait if data takes no time.
    fn waiting(&self, kinds: &BTreeSet<Kind>) -> BTreeSet<TaskId> {
        let jobs = self.jobs.values().filter(|job| !self.removed.contains(&job.id));
        let all = jobs.flat_map(|job| (0..job.tasks.len() as u32).map(|index| TaskId { job: job.id, index }));
        let has_inputs = |task: &TaskId| {
            let mut before = self.jobs[&task.job].edges.iter().filter(|edge| edge.to == task.index);
            before.all(|edge| self.ended.contains(&TaskId { job: task.job, index: edge.from }))
        };
        all.filter(|task| !self.placed.contains_key(task) && has_inputs(task) && kinds.contains(&self.task(*task).kind))
            .collect()
    }

    fn note(&mut self, record: &Record) {
        match record {
            Record::Arrived { job, .. } => drop(self.jobs.insert(job.id, job.clone())),
            Record::Removed { job } => drop(self.removed.insert(*job)),
            Record::Assigned { task, site } => drop(self.placed.insert(*task, *site)),
            Record::Finished { task } => drop(self.ended.insert(*task)),
            _ => {}
        }
    }

    fn check(&self, topology: &Topology, now: Time, offers: &[CoreOffer], bids: &[TaskBid]) {
        let site = |actor: ActorId| &topology.sites[actor.index() - 1];
        let market = topology.settings::<Market>().unwrap();
        let kinds: BTreeSet<Kind> = offers.iter().map(|offer| site(offer.site).kind).collect();
        for offer in offers {
            assert_eq!(offer.cores, self.free(offer.site, site(offer.site).cores), "of {} at {now}", offer.site);
        }
        let of_kinds = topology.sites.iter().filter(|site| kinds.contains(&site.kind)).count();
        assert_eq!(offers.len(), of_kinds, "each site of the kinds offers");

        let bidders: BTreeSet<TaskId> = bids.iter().map(|bid| bid.task).collect();
        let waiting = self.waiting(&kinds);
        assert!(bidders.len() == bids.len() && bidders.is_subset(&waiting), "only waiting tasks bid, and once");
        if market.ccr_millionths == 0 {
            assert_eq!(bidders, waiting, "every waiting task bids");
        }
        self.check_order(market, now, bids);
        self.check_outcomes(market.blocking, |actor| site(actor).kind, offers, bids);
    }

    /// Each bid is that of its policy, and better ones are ahead.
    fn check_order(&self, market: &Market, now: Time, bids: &[TaskBid]) {
        let policy = (bid::find_bid_policy(&market.policy).unwrap().build)(market, 0);
        let place = |bid: &TaskBid| (self.jobs[&bid.task.job].arrive, bid.task);
        for pair in bids.windows(2) {
            let order = match policy.winner_rule() {
                Winner::Smallest => pair[0].bid.total_cmp(&pair[1].bid),
                Winner::Largest => pair[1].bid.total_cmp(&pair[0].bid),
            };
            assert!(order.then(place(&pair[0]).cmp(&place(&pair[1]))).is_lt(), "{pair:?} are out of order");
        }
        if ["random", "p-slr"].contains(&market.policy.as_str()) {
            // Their bids depend on the number of the instant, or on the other jobs.
            return;
        }
        let at = Instant { now, number: 1, tick: market.tick, longest_path: Span::ZERO };
        for bid in bids {
            let job = &self.jobs[&bid.task.job];
            let task = bid.task.index as usize;
            let figures = figures(job, market);
            let critical_path = figures.critical_path;
            let rank = figures.ranks[task];
            let successor_work = figures.successor_work[task];
            assert_eq!(bid.bid, policy.compute_bid(&Bidder { job, critical_path, task, rank, successor_work }, &at));
        }
    }

    /// The best bids win while they fit, and each reason is true after the last assignment.
    fn check_outcomes(
        &self,
        blocking: Blocking,
        kind: impl Fn(ActorId) -> Kind,
        offers: &[CoreOffer],
        bids: &[TaskBid],
    ) {
        let mut free: BTreeMap<ActorId, u32> = offers.iter().map(|offer| (offer.site, offer.cores)).collect();
        let mut closed: BTreeSet<Kind> = BTreeSet::new();
        let market = |kind: Kind| if blocking == Blocking::Global { Kind(0) } else { kind };
        for bid in bids {
            let Task { cores, kind: wanted, .. } = self.task(bid.task);
            match bid.outcome {
                BidOutcome::Won(site) => {
                    assert!(!closed.contains(&market(wanted)), "{bid:?} overtakes a better bidder");
                    assert!(kind(site) == wanted && free[&site] >= cores, "{bid:?} does not fit");
                    *free.get_mut(&site).unwrap() -= cores;
                }
                BidOutcome::Lost(reason) => {
                    let is_first = closed.insert(market(wanted));
                    assert!(!is_first || reason != LossReason::Behind, "{bid:?} fits and is the best one left");
                }
            }
        }
        for bid in bids {
            let Task { cores, kind: wanted, .. } = self.task(bid.task);
            let has_room = free.iter().any(|(site, free)| kind(*site) == wanted && *free >= cores);
            match bid.outcome {
                BidOutcome::Won(_) => {}
                BidOutcome::Lost(reason) => assert_eq!(has_room, reason != LossReason::NoRoom, "{bid:?}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The winners recorded are the tasks assigned, no better bid that fits is passed over, and nothing else in the log
    /// changes. Lanes that ask every task write the same records.
    #[test]
    fn each_recorded_auction_stands_before_a_judge(
        market in markets(),
        mut jobs in prop::collection::vec(listed_jobs(), 1..14),
        sites in prop::collection::vec((1u32..7, 0u16..2), 0..3),
    ) {
        jobs.sort_by_key(|job| job.arrive);
        let sites = [&sites[..], &[(4, 0), (4, 1)]].concat();
        let silent = grid(market.clone(), &sites, 2, Source::Table(table::Table::of_jobs(jobs.clone())));
        let topology = grid(recorded(market), &sites, 2, Source::Table(table::Table::of_jobs(jobs)));
        let log = play(&topology);
        prop_assert_eq!(&play_fast(&topology), &log);
        prop_assert_eq!(&play_asking_everybody(&topology), &log);

        let mut judge = Judge::default();
        for (position, entry) in log.iter().enumerate() {
            if let Record::Auctioned { offers, bids } = &entry.record {
                judge.check(&topology, entry.stamp.time, offers, bids);
                let won: Vec<(TaskId, ActorId)> = bids
                    .iter()
                    .filter_map(|bid| match bid.outcome {
                        BidOutcome::Won(site) => Some((bid.task, site)),
                        BidOutcome::Lost(_) => None,
                    })
                    .collect();
                let assigned = log[position + 1..].iter().map_while(|entry| match entry.record {
                    Record::Assigned { task, site } => Some((task, site)),
                    _ => None,
                });
                prop_assert_eq!(won, assigned.collect::<Vec<_>>());
            }
            judge.note(&entry.record);
        }
        let rest = log.into_iter().filter(|entry| !matches!(entry.record, Record::Auctioned { .. }));
        prop_assert_eq!(rest.collect::<Vec<_>>(), play(&silent));
    }
}
