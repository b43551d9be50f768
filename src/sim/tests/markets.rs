//! Small markets without latency, and random ones.

use proptest::prelude::*;

pub use crate::play::{play as play_fast, play_checked as play};
use hansa_sim::grid::{Curve, Edge, Kind, Task, Worth};
use hansa_sim::systems::Service;
use hansa_sim::systems::market::*;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::*;
use hansa_sim::workload::{Source, table};

pub const MINUTE: Span = Span::from_minutes(1);

pub fn minutes(count: u64) -> Time {
    Time::ZERO + Span::from_minutes(count)
}

pub fn in_minutes(time: Time) -> u64 {
    assert_eq!(time.micros() % MINUTE.micros(), 0, "{time} is no whole minute");
    time.micros() / MINUTE.micros()
}

pub fn plain_market(policy: &str) -> Market {
    Market {
        policy: policy.to_owned(),
        tick: MINUTE,
        ccr_millionths: 200_000,
        network: Network::PerCluster,
        blocking: Blocking::PerKind,
        removal: Removal::Deadline,
        unplaceable: Unplaceable::Error,
        succ_sum: SuccSum::PerPath,
        edf: EdfDeadline::Initial,
        pvdsq: Pvdsq::ResourceSquared,
        pvr: Pvr::Value,
        ..Market::default()
    }
}

/// A topology without latency, from the cores and kinds of its sites.
pub fn grid(market: Market, sites: &[(u32, u16)], users: usize, source: Source) -> Topology {
    let site = |(index, &(cores, kind)): (usize, &(u32, u16))| Site {
        name: format!("site{index}"),
        cores,
        kind: Kind(kind),
        scheduler: "auction".to_owned(),
        systems: vec![0],
        ..Site::with_defaults()
    };
    Topology {
        name: "test".to_owned(),
        seed: 0,
        kinds: vec!["one".to_owned(), "two".to_owned()],
        systems: vec![Service::new(market)],
        sites: sites.iter().enumerate().map(site).collect(),
        users: (0..users).map(|user| User::named(format!("user{user}"))).collect(),
        workloads: vec![Workload { users: (0..users).collect(), shares: Vec::new(), system: 0, source }],
        ..Topology::default()
    }
}

pub fn task(runtime: u64, cores: u32, kind: u16) -> Task {
    Task::new(Span::from_minutes(runtime), cores, Kind(kind))
}

pub fn edges(pairs: &[(u32, u32)]) -> Vec<Edge> {
    pairs.iter().map(|&(from, to)| Edge::new(from, to)).collect()
}

prop_compose! {
    pub fn worths()(
        max in 0u32..50,
        initial in 1.0f64..2.0,
        width in 0.1f64..3.0,
        mut values in prop::collection::vec(0.0f64..=1.0, 0..3),
    ) -> Worth {
        values.sort_by(|a, b| b.total_cmp(a));
        let points: Vec<(f64, f64)> = values.into_iter().map(|value| (initial + width / 2.0, value)).collect();
        Worth { max: f64::from(max), curve: Curve::new(initial, initial + width, &points).unwrap() }
    }
}

prop_compose! {
    pub fn listed_jobs()(
        arrive in 0u64..25,
        tasks in prop::collection::vec((1u64..9, 1u32..5, 0u16..2), 1..6),
        picks in prop::collection::vec(any::<bool>(), 15),
        worth in prop::option::weighted(0.9, worths()),
    ) -> table::ListedJob {
        let pairs = (0..tasks.len() as u32).flat_map(|to| (0..to).map(move |from| (from, to)));
        let mut pairs: Vec<(u32, u32)> = pairs.zip(picks).filter(|(_, pick)| *pick).map(|(pair, _)| pair).collect();
        pairs.sort_unstable();
        table::ListedJob { arrive: minutes(arrive), tasks: tasks.into_iter().map(|(runtime, cores, kind)| task(runtime, cores, kind)).collect(), edges: edges(&pairs), worth, ..table::ListedJob::default() }
    }
}

pub fn one_of<T: Copy + std::fmt::Debug + 'static>(
    all: &'static [(&'static str, T, &'static str)],
) -> impl Strategy<Value = T> {
    (0..all.len()).prop_map(move |index| all[index].1)
}

prop_compose! {
    pub fn markets()(
        policy in 0..bid::ALL.len(),
        ccr_millionths in prop::sample::select(vec![0, 200_000, 1_500_000]),
        network in one_of(Network::ALL),
        blocking in one_of(Blocking::ALL),
        removal in one_of(Removal::ALL),
        succ_sum in one_of(SuccSum::ALL),
        edf in one_of(EdfDeadline::ALL),
        pvdsq in one_of(Pvdsq::ALL),
        pvr in one_of(Pvr::ALL),
    ) -> Market {
        Market {
            ccr_millionths, network, blocking, removal, succ_sum, edf, pvdsq, pvr,
            ..plain_market(bid::ALL[policy].name)
        }
    }
}
