use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::grid::{AccountShares, JobId, Kind, PartitionFactor, QosLevel, Shares, Task, UserShares};
use crate::workload::table::{ListedJob, Table};
use crate::workload::{Source, Workload};

fn second(second: u64) -> Time {
    Time::from_micros(second * 1_000_000)
}

fn account(name: &str, parent: &str, shares: Shares) -> AccountShares {
    AccountShares { name: name.to_owned(), parent: parent.to_owned(), shares }
}

fn user(name: &str, account: &str, shares: Shares) -> UserShares {
    UserShares { name: name.to_owned(), account: account.to_owned(), shares, qos: String::new() }
}

/// Facts about jobs with these options of `sbatch`.
pub fn facts_of_options(options: &[String]) -> JobFactsIndex {
    let task = Task::new(Span::from_secs(1), 1, Kind(0));
    let job = |sbatch: &String| {
        let plain = ListedJob::with_tasks(Time::ZERO, vec![task], Vec::new());
        ListedJob { sbatch: sbatch.clone(), ..plain }
    };
    let source = Source::Table(Table::of_jobs(options.iter().map(job).collect()));
    JobFactsIndex::of_workloads(&[Workload { users: vec![0], shares: Vec::new(), system: 0, source }])
}

fn rules(settings: Multifactor, cores: u32, options: &[&str]) -> Arc<MultifactorRules> {
    let options: Vec<String> = options.iter().map(|text| (*text).to_owned()).collect();
    Arc::new(MultifactorRules::new(settings, cores, facts_of_options(&options)))
}

fn request(job: u32, nodes: u32, walltime: u64) -> NodeRequest {
    NodeRequest { job: TaskId { job: JobId(job), index: 0 }, nodes, walltime: Span::from_secs(walltime) }
}

/// Factor of a user after this usage of users, in core seconds.
fn factor_of(settings: &Multifactor, usage: &[(&str, &str, f64)], user: &str, account: &str) -> f64 {
    let tree = Arc::new(ShareTree::new(settings, &[]));
    let mut fair_share = FairShare::new(tree.clone());
    for (user, account, used) in usage {
        fair_share.charge(tree.find(Some(user), Some(account)), *used);
    }
    fair_share.refresh();
    fair_share.factor(tree.find(Some(user), Some(account)))
}

/// The example of Slurm's page on the classic algorithm ("Example", figure 3), in which the root has no user.
#[test]
fn the_classic_example_of_slurms_documentation_comes_out() {
    let own = Shares::Count;
    let settings = Multifactor {
        fair_tree: false,
        accounts: vec![
            account("A", "", own(40)),
            account("D", "", own(60)),
            account("B", "A", own(30)),
            account("C", "A", own(10)),
            account("E", "D", own(25)),
            account("F", "D", own(35)),
        ],
        users: vec![
            user("root", "", own(0)),
            user("1", "B", own(1)),
            user("2", "C", own(1)),
            user("3", "C", own(1)),
            user("4", "E", own(1)),
            user("5", "F", own(1)),
        ],
        ..Multifactor::default()
    };
    // The published usage is a part of the machine. The rest of it is the root's here, as Slurm divides by all usage.
    let usage = [("1", "B", 0.2), ("2", "C", 0.25), ("4", "E", 0.25), ("root", "root", 0.3)];
    for (user, account, published) in
        [("1", "B", 0.408479), ("2", "C", 0.022097), ("3", "C", 0.125000), ("4", "E", 0.500000), ("5", "F", 0.749154)]
    {
        let factor = factor_of(&settings, &usage, user, account);
        assert!((factor - published).abs() < 6e-7, "user {user}: {factor}");
    }
    // A dampening factor divides the exponent, and members with the shares of their account all have its factor.
    let damped = Multifactor { dampening: 5, ..settings.clone() };
    let exponent = |factor: f64| -crate::math::log2(factor);
    let factor = factor_of(&damped, &usage, "1", "B");
    assert!((exponent(factor) - 0.3875 / 0.3 / 5.0).abs() < 1e-9, "{factor}");
    let mut joint = settings;
    joint.users[2].shares = Shares::Parent;
    joint.users[3].shares = Shares::Parent;
    for user in ["2", "3"] {
        let factor = factor_of(&joint, &usage, user, "C");
        assert!((exponent(factor) - 0.3 / 0.1).abs() < 1e-9, "user {user}: {factor}");
    }
}

/// Two accounts of 40 and 60 shares, and the root with one, have used 40, 20 and nothing of 60 core seconds. So their
/// quotients are 40/101 / (40/60) = 0.594, 60/101 / (20/60) = 1.78 and infinity. In the first account, ann has used 30
/// and bob 10 of 40: 0.67 and 2.
#[test]
fn a_fair_tree_ranks_level_by_level() {
    let own = Shares::Count;
    let settings = Multifactor {
        accounts: vec![account("lab", "", own(40)), account("chem", "", own(60))],
        users: vec![user("ann", "lab", own(1)), user("bob", "lab", own(1)), user("cid", "chem", own(1))],
        ..Multifactor::default()
    };
    let usage = [("ann", "lab", 30.0), ("bob", "lab", 10.0), ("cid", "chem", 20.0)];
    let factors = |settings: &Multifactor| {
        let of = |user: &str, account: &str| factor_of(settings, &usage, user, account);
        [of("root", "root"), of("cid", "chem"), of("bob", "lab"), of("ann", "lab")]
    };
    assert_eq!(factors(&settings), [1.0, 0.75, 0.5, 0.25]);
    // A user with the shares of the account is its first, and an account with those of the root has its members there.
    let mut parents = settings.clone();
    parents.users[0].shares = Shares::Parent;
    assert_eq!(factors(&parents), [1.0, 0.75, 0.25, 0.5]);
    // On the level of the root there are ann, bob and the root with one share of 63 each, and chem with 60.
    parents = settings.clone();
    parents.accounts[0].shares = Shares::Parent;
    assert_eq!(factors(&parents), [1.0, 0.75, 0.5, 0.25]);
    parents.accounts[1].shares = own(1);
    assert_eq!(factors(&parents), [1.0, 0.5, 0.75, 0.25]);
    // Those without shares are last, and without any usage all others are first alike.
    let mut none = settings;
    none.users[1].shares = own(0);
    assert_eq!(factors(&none), [1.0, 0.75, 0.25, 0.5]);
    assert_eq!(factor_of(&none, &[], "ann", "lab"), 1.0);
}

/// Two accounts with equal quotients, each with a user of much usage and one of little. In Slurm, the first user of the
/// second account has the rank of the last one of the first account.
#[test]
fn accounts_that_are_tied_are_ranked_as_in_slurms_source() {
    let own = Shares::Count;
    let settings = Multifactor {
        accounts: vec![account("a", "", own(10)), account("b", "", own(10))],
        users: ["1", "2"].into_iter().flat_map(|name| ["a", "b"].map(|account| user(name, account, own(1)))).collect(),
        ..Multifactor::default()
    };
    let usage = [("1", "a", 30.0), ("2", "a", 10.0), ("1", "b", 25.0), ("2", "b", 15.0)];
    let of = |user: &str, account: &str| factor_of(&settings, &usage, user, account) * 5.0;
    assert_eq!([of("2", "a"), of("1", "a"), of("2", "b"), of("1", "b")], [4.0, 3.0, 3.0, 1.0]);
}

fn settings_of_all() -> Multifactor {
    Multifactor {
        age: 1000,
        job_size: 400,
        partition: 300,
        qos: 200,
        max_age: Span::from_secs(1000),
        calc_period: Span::from_secs(100),
        partitions: vec![
            PartitionFactor { name: "main".to_owned(), factor: 10, tier: 1 },
            PartitionFactor { name: "debug".to_owned(), factor: 40, tier: 2 },
        ],
        qos_levels: vec![
            QosLevel { name: "low".to_owned(), priority: 5, usage_factor_millionths: MILLION },
            QosLevel { name: "high".to_owned(), priority: 20, usage_factor_millionths: 2 * MILLION },
        ],
        users: vec![UserShares { qos: "low".to_owned(), ..user("ann", "", Shares::Count(1)) }],
        ..Multifactor::default()
    }
}

#[test]
fn a_priority_is_the_sum_of_the_weighted_factors() {
    let options = ["--uid=ann", "--uid=ann -p debug -q high --nice=30", "", "-N 2 --nice=-5", "--nice=5000"];
    let mut priorities = Priorities::new(rules(settings_of_all(), 8, &options));
    let of = |priorities: &Priorities, job: u32, nodes: u32, since: u64| {
        let standing = priorities.standing(&request(job, nodes, 60));
        (standing.tier, priorities.priority(second(since), &standing))
    };
    // Size 2 of 8, partition 10 of 40, QOS 5 of 20.
    assert_eq!(of(&priorities, 0, 2, 0), (1, 100 + 75 + 50));
    assert_eq!(of(&priorities, 1, 8, 0), (2, 400 + 300 + 200 - 30));
    assert_eq!(of(&priorities, 2, 1, 0), (1, 50 + 75));
    assert_eq!(of(&priorities, 4, 1, 0), (1, 1));
    // Ages are those of the last multiple of the period.
    priorities.advance(second(399));
    assert_eq!(of(&priorities, 2, 1, 0), (1, 300 + 50 + 75));
    assert_eq!(of(&priorities, 2, 1, 260), (1, 40 + 50 + 75));
    assert_eq!(of(&priorities, 2, 1, 350), (1, 50 + 75));
    priorities.advance(second(5000));
    assert_eq!(of(&priorities, 2, 1, 0), (1, 1000 + 50 + 75));

    let size = |settings: Multifactor, job: u32, nodes: u32, walltime: u64| {
        let rules = rules(Multifactor { partitions: Vec::new(), ..settings }, 8, &options);
        Priorities::new(rules.clone()).priority(Time::ZERO, &rules.standing(&request(job, nodes, walltime)))
    };
    let plain = settings_of_all();
    // Four nodes of two cores: one node, or the two of the options, whose nice value is -5.
    let nodes = Multifactor { nodes: 4, ..plain.clone() };
    assert_eq!(size(nodes.clone(), 2, 4, 60), (400 / 4 + 400 / 2) / 2);
    assert_eq!(size(nodes.clone(), 3, 4, 60), 400 / 2 + 5);
    let small = Multifactor { favor_small: true, ..plain.clone() };
    assert_eq!(size(small, 2, 2, 60), 400 * 6 / 8);
    // Half of the cores for a minute and a half, which counts as two.
    let relative = Multifactor { relative_to_time: true, ..plain };
    assert_eq!(size(relative.clone(), 2, 4, 90), 400 / 2 / 2);
    assert_eq!(size(Multifactor { nodes: 4, ..relative.clone() }, 3, 1, 60), 400 / 2 + 5);
    assert_eq!(size(Multifactor { favor_small: true, ..relative }, 2, 4, 90), 400 * 3 / 4);
}

/// A half-life of 1,000 s, so that a second lets 0.999307 of usage remain, and a period of 100 s.
#[test]
fn usage_is_charged_and_decays_by_period() {
    let halving = Multifactor { half_life: Span::from_secs(1000), ..settings_of_all() };
    let rules = rules(halving, 8, &["--uid=ann", "--uid=ann -q high", "--uid=bob"]);
    let mut priorities = Priorities::new(rules.clone());
    let start = |priorities: &mut Priorities, at: u64, job: u32, nodes: u32| {
        let asked = request(job, nodes, 60);
        let standing = priorities.standing(&asked);
        priorities.start_job(second(at), &asked, standing);
    };
    let ann = rules.tree.find(Some("ann"), None);
    let used = |priorities: &Priorities| priorities.fair_share.used(ann);
    let decay = |seconds: f64| crate::math::pow(1.0 - 0.693 / 1000.0, seconds);
    let is_near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b;
    // From 30 to 250 on two cores; with QOS high from 60 to 80 on one, which counts twice.
    start(&mut priorities, 30, 0, 2);
    start(&mut priorities, 60, 1, 1);
    priorities.end_job(second(80), request(1, 1, 60).job);
    let short = 20.0 * decay(20.0) * 2.0;
    assert!(is_near(used(&priorities), short));
    priorities.advance(second(100));
    let first = short * decay(100.0) + 70.0 * decay(70.0) * 2.0;
    assert!(is_near(used(&priorities), first));
    priorities.advance(second(249));
    let two = first * decay(100.0) + 100.0 * decay(100.0) * 2.0;
    assert!(is_near(used(&priorities), two));
    priorities.end_job(second(250), request(0, 2, 60).job);
    let three = two + 50.0 * decay(50.0) * 2.0;
    assert!(is_near(used(&priorities), three));
    // Nothing runs for eight periods. Decay is due when something is charged again.
    start(&mut priorities, 1_010, 0, 2);
    priorities.advance(second(1_100));
    assert!(is_near(used(&priorities), three * decay(900.0) + 90.0 * decay(90.0) * 2.0));
}

/// A run of jobs: user, cores, start and duration in seconds.
type History = Vec<(u8, u32, u64, u64)>;

/// Usage of a user as the definition has it: period by period, job by job.
fn judged_usage(settings: &Multifactor, history: &History, user: u8, now: u64) -> f64 {
    let period = settings.calc_period.micros() / 1_000_000;
    let half_life = settings.half_life.micros() as f64 / 1e6;
    let decay = |seconds: u64| {
        let factor = if half_life > 0.0 { 1.0 - 0.693 / half_life } else { 1.0 };
        (0..seconds).fold(1.0, |product, _| product * factor)
    };
    let mut usage = 0.0;
    for number in 0..now / period {
        let begin = number * period;
        let end = begin + period;
        let part = |from: u64, until: u64, cores: u32| {
            let seconds = until.saturating_sub(from.max(begin));
            seconds as f64 * decay(seconds) * f64::from(cores)
        };
        let own = || history.iter().filter(|job| job.0 == user);
        for (_, cores, start, lasts) in own().filter(|job| begin < job.2 + job.3 && job.2 + job.3 < end) {
            usage += part(*start, start + lasts, *cores);
        }
        usage *= decay(period);
        for (_, cores, start, _) in own().filter(|job| job.2 < end && end <= job.2 + job.3) {
            usage += part(*start, end, *cores);
        }
    }
    usage
}

proptest! {
    #[test]
    fn usage_is_that_of_the_definition(
        history in proptest::collection::vec((0u8..3, 1u32..9, 0u64..2_000, 1u64..900), 0..12),
        looks in proptest::collection::btree_set(0u64..4_000, 0..8),
        half_life in prop_oneof![Just(0u64), 60u64..5_000],
        period in 60u64..400,
    ) {
        let settings = Multifactor {
            half_life: Span::from_secs(half_life),
            calc_period: Span::from_secs(period),
            ..settings_of_all()
        };
        let options: Vec<String> = history.iter().map(|job| format!("--uid=user{}", job.0)).collect();
        let rules = Arc::new(MultifactorRules::new(settings.clone(), 99, facts_of_options(&options)));
        let mut priorities = Priorities::new(rules.clone());
        let mut events: BTreeMap<(u64, u8, u32), u32> = BTreeMap::new();
        for ((_, _, start, lasts), job) in history.iter().zip(0..) {
            events.insert((*start, 1, job), job);
            events.insert((start + lasts, 0, job), job);
        }
        for look in &looks {
            events.insert((*look, 2, 0), 0);
        }
        events.insert((4_000, 2, 0), 0);
        for ((at, kind, _), job) in events {
            let asked = request(job, history.get(job as usize).map_or(1, |job| job.1), 60);
            match kind {
                0 => priorities.end_job(second(at), asked.job),
                1 => {
                    let standing = priorities.standing(&asked);
                    priorities.start_job(second(at), &asked, standing);
                }
                _ => {
                    priorities.advance(second(at));
                    // The usage as of the end of the last period, if nothing has ended since.
                    let ended_since = history.iter().any(|job| {
                        let end = job.2 + job.3;
                        end > at / period * period && end <= at
                    });
                    for user in 0..3u8 {
                        let name = format!("user{user}");
                        let found = rules.tree.find(Some(&name), None);
                        let undecayed = rules.decay_over((priorities.undecayed * period) as f64);
                        let used = if found == 0 { 0.0 } else { priorities.fair_share.used(found) * undecayed };
                        let judged = judged_usage(&settings, &history, user, at);
                        let is_near = (used - judged).abs() <= 1e-9 * judged.max(1.0);
                        prop_assert!(ended_since || is_near, "{} at {}: {} is {}", name, at, used, judged);
                    }
                }
            }
        }
    }
}
