//! Users and sites together, where nodes fail.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::grid::{
    Bookings, Checkpoint, Course, Distribution, Drawn, Every, Failure, Fragile, Killed, Law, NodeSet, Per, Recovery,
    TaskId,
};
use crate::kernel::{ActorId, Entry, judge};
use crate::protocol::Record;
use crate::report::{Names, Tally};
use crate::time::{Span, Time};
use crate::topology::{Plan, build, load};

/// A user of each strategy, with jobs of its own, at two sites.
fn grid(seed: u64, planner: &str, mode: &str, latency: u64) -> String {
    let sites = [("york", 8, 1.0), ("leeds", 6, 2.0)].map(|(name, cores, speed)| {
        format!(
            "[[site]]\nname = \"{name}\"\ncores = {cores}\nspeed = {speed:?}\nscheduler = \"{planner}\"\nmode = \"{mode}\"\n\
             latency = \"{latency} s\"\n"
        )
    });
    let layered = "source = \"layered\"\ntasks = 8\nruntime = [\"20 s\", \"2 min\"]\nccr = 0.1";
    let table = "source = \"table\"\n[[workload.job]]\ntasks = [{ runtime = \"90 s\", cores = 6 }]\n\
                 [[workload.job]]\narrive = \"1 min\"\ntasks = [{ runtime = \"40 s\", cores = 3 }]\n\
                 [[workload.job]]\narrive = \"4 min\"\ntasks = [{ runtime = \"100 s\", cores = 4 }]";
    let users = [
        ("best-effort", "", layered),
        ("moga", "", layered),
        ("greedy", "", layered),
        ("reserve", "", table),
        ("var", "ahead = \"3 min\"", table),
        ("var-and-reserve", "ahead = \"3 min\"", table),
    ];
    let users = users.map(|(strategy, said, source)| {
        format!(
            "[[user]]\nname = \"{strategy}\"\nstrategy = \"{strategy}\"\nlatency = \"1 s\"\n{said}\n\
             [[workload]]\nusers = [\"{strategy}\"]\n{source}\n"
        )
    });
    format!(
        "name = \"fragile\"\nseed = {seed}\n[provisioning]\ngenerations = 2\npopulation = 10\n{}{}",
        sites.concat(),
        users.concat()
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 1_000 }))]

    /// Under every strategy, planner and remedy: nothing runs on what is down, no promise between actors is broken, no honest peer is
    /// accused, each booking comes to one end, and each job is completed or given up.
    #[test]
    fn whoever_bargains_copes_with_failures(
        seed in 0u64..1_000,
        planner in prop::sample::select(super::planner::names()),
        mode in prop::sample::select(vec!["exact", "rebuild"]),
        (latency, mtbf, mttr, attempts) in (0u64..6, 200u64..3_000, 5u64..200, 1u32..6),
        (killed, bookings, every, announced) in (0usize..4, 0usize..3, 0u64..40, any::<bool>()),
    ) {
        let text = grid(seed, planner.name, mode, latency);
        let mut read = |_: &str| Ok(text.clone().into_bytes());
        let mut topology = load("grid.toml", &[], &mut read).unwrap_or_else(|faults| panic!("{faults}\n{text}")).topology;
        let law = Law { kind: Distribution::Exponential, shape: 1.0 };
        let drawn = |site: usize, count: u32, per: Per| {
            let (mtbf, mttr) = (Span::from_secs(mtbf), Span::from_secs(mttr));
            let course = Course::Drawn(Drawn { mtbf, between: law, mttr, repair: law, per, share_millionths: 500_000 });
            Failure { what: Fragile::Nodes { site, nodes: NodeSet::all(count) }, course, announced }
        };
        topology.failures = vec![drawn(0, 8, Per::Node), drawn(1, 6, Per::Site), drawn(0, 5, Per::Site)];
        let saves = Checkpoint { every: Every::Span(Span::from_secs(every.max(1))), cost: Span::from_millis(700) };
        topology.recovery = Recovery {
            killed: Killed::ALL[killed].1,
            attempts,
            checkpoint: (every > 0).then_some(saves),
            bookings: Bookings::ALL[bookings].1,
            compensation_millionths: 500_000,
            ..Recovery::default()
        };

        let plan = Plan::of(&topology);
        let actors = build(&topology, &plan.all()).unwrap();
        let log = judge::run(actors.into_iter().map(|(_, actor)| actor).collect(), &plan.latencies);
        let names = Names::of(&topology);
        // It takes no start on what is down, no booking that ends twice, and no word of what is another one's.
        let mut tally = Tally::new(&topology, &names);
        for entry in &log {
            let taken = tally.add(entry);
            prop_assert!(taken.is_ok(), "{entry:?}: {taken:?}");
        }
        let mut on: BTreeMap<TaskId, (Time, ActorId, NodeSet)> = BTreeMap::new();
        let (mut arrived, mut over, mut booked) = (0, 0, 0);
        for Entry { stamp, actor, record } in &log {
            match record {
                Record::Arrived { .. } => arrived += 1,
                Record::Completed { .. } | Record::Removed { .. } => over += 1,
                Record::Booked { .. } => booked += 1,
                Record::Returned { .. } | Record::Elapsed { .. } | Record::Revoked { .. } => booked -= 1,
                Record::Started { task, cores } => {
                    prop_assert!(on.values().all(|(_, site, other)| site != actor || !other.meets(cores)));
                    prop_assert_eq!(on.insert(*task, (stamp.time, *actor, cores.clone())), None);
                }
                Record::Finished { task } | Record::Killed { task } | Record::Dropped { task } => {
                    prop_assert!(on.remove(task).is_some());
                }
                Record::Lost { task, saved } => {
                    let (since, ..) = on.remove(task).unwrap();
                    prop_assert!(*saved <= stamp.time - since && (every > 0 || saved.is_zero()));
                }
                Record::Down { cores, .. } => {
                    prop_assert!(on.values().all(|(_, site, other)| site != actor || !other.meets(cores)));
                }
                _ => {}
            }
        }
        prop_assert!(on.is_empty(), "{on:?} still run");
        prop_assert_eq!((arrived, over, booked), (12, 12, 0));
    }
}
