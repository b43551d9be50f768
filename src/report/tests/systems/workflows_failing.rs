//! Workflows at sites whose nodes fail.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::play::{play_checked, read_text};
use crate::{Names, Tally};
use hansa_sim::grid::{
    Checkpoint, Distribution, Drawn, Every, Failure, FailurePattern, FailureTarget, Killed, Law, NodeSet, Per,
    Recovery, TaskId,
};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::Record;
use hansa_sim::time::{Span, Time};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 20 } else { 100 }))]

    /// Plans are carried on: nothing runs on what is down, a task is lost only by a failure, what it has saved is not
    /// done again, and each workflow is completed or given up.
    #[test]
    fn plans_are_carried_on(
        seed in 0u64..1_000,
        (latency, mtbf, attempts) in (0u64..3, 30u64..300, 1u32..12),
        (killed, every) in (0usize..4, 0u64..9),
        policy in prop::sample::select(vec!["heft", "network-heft", "best-effort"]),
        linked in any::<bool>(),
    ) {
        let links = "[[link]]\nname = \"a\"\ncapacity = \"1 Gbps\"\nbetween = [\"york\", \"leeds\"]\n";
        let text = format!(
            "name = \"fragile\"\nseed = {seed}\n[workflow]\npolicy = \"{policy}\"\n[[site]]\nname = \"york\"\ncores = 5\n\
             latency = \"{latency} s\"\n[[site]]\nname = \"leeds\"\ncores = 4\nspeed = 2.0\n{}[[user]]\nname = \"ann\"\n\
             [[workload]]\nsource = \"layered\"\ntasks = 12\n[[workload]]\nsource = \"layered\"\ntasks = 8\nseed = 3\n",
            if linked { links } else { "" }
        );
        let mut topology = read_text(&text);
        let law = Law { kind: Distribution::Exponential, shape: 1.0 };
        let mtbf = Span::from_secs(mtbf);
        let mttr = Span::from_secs(20);
        let pattern = FailurePattern::Drawn(Drawn { mtbf, between: law, mttr, repair: law, per: Per::Node, share_millionths: 1_000_000 });
        let nodes = |site, count| FailureTarget::Nodes { site, nodes: NodeSet::all(count) };
        topology.failures = [nodes(0, 5), nodes(1, 4)]
            .map(|what| Failure { what, pattern: pattern.clone(), announced: true })
            .to_vec();
        let saves = Checkpoint { every: Every::Span(Span::from_secs(every.max(1))), cost: Span::from_millis(100) };
        let checkpoint = (every > 0).then_some(saves);
        topology.recovery = Recovery { killed: Killed::ALL[killed].1, attempts, checkpoint, ..Recovery::default() };

        let log = play_checked(&topology);
        let names = Names::of(&topology);
        let mut tally = Tally::new(&topology, &names);
        for entry in &log {
            // It takes no start on what is said to be down.
            let taken = tally.add(entry);
            prop_assert!(taken.is_ok(), "{entry:?}: {taken:?}");
        }
        let mut on: BTreeMap<TaskId, (Time, ActorId, NodeSet)> = BTreeMap::new();
        let mut whole: BTreeMap<TaskId, Span> = BTreeMap::new();
        let mut arrived = 0;
        let mut over = 0;
        for Entry { stamp, actor, record } in &log {
            match record {
                Record::Arrived { .. } => arrived += 1,
                Record::Started { task, cores } => {
                    prop_assert!(on.values().all(|(_, site, other)| site != actor || !other.meets(cores)));
                    prop_assert_eq!(on.insert(*task, (stamp.time, *actor, cores.clone())), None);
                }
                Record::Finished { task } => {
                    let (since, ..) = on.remove(task).unwrap();
                    let ran = stamp.time - since;
                    // Without checkpoints it takes as long as if it had never been lost.
                    prop_assert!(every > 0 || whole.get(task).is_none_or(|lost| *lost < ran));
                }
                Record::Lost { task, saved } => {
                    let (since, ..) = on.remove(task).unwrap();
                    let ran = stamp.time - since;
                    prop_assert!(*saved <= ran && (every > 0 || saved.is_zero()));
                    let most = whole.entry(*task).or_default();
                    *most = ran.max(*most);
                }
                Record::Down { cores, .. } => {
                    prop_assert!(on.values().all(|(_, site, other)| site != actor || !other.meets(cores)));
                }
                Record::Completed { .. } | Record::Removed { .. } => over += 1,
                _ => {}
            }
        }
        prop_assert!(on.is_empty());
        prop_assert_eq!((arrived, over), (2, 2));
    }
}

/// The first workflow would keep the faster site for 200 s, but is lost after 10 s.
#[test]
fn plans_reuse_the_time_of_abandoned_workflows() {
    for policy in ["heft", "network-heft"] {
        let text = format!(
            "name = \"ghost\"\n[workflow]\npolicy = \"{policy}\"\n[recovery]\nkilled = \"lost\"\n[[site]]\nname = \"york\"\n\
             cores = 1\n[[site]]\nname = \"leeds\"\ncores = 1\nspeed = 0.5\n[[failure]]\nsite = \"york\"\nat = \"10 s\"\n\
             for = \"1 s\"\n[[user]]\nname = \"ann\"\n[[workload]]\nsource = \"table\"\n[[workload.job]]\narrive = \"0 s\"\n\
             tasks = [{{ runtime = \"100 s\", cores = 1 }}, {{ runtime = \"100 s\", cores = 1 }}]\nedges = [[0, 1]]\n\
             [[workload.job]]\narrive = \"20 s\"\ntasks = [{{ runtime = \"90 s\", cores = 1 }}]\n"
        );
        let topology = read_text(&text);
        let log = play_checked(&topology);
        let ends = log.iter().filter_map(|entry| match entry.record {
            Record::Removed { job } | Record::Completed { job, .. } => Some((job.0, entry.stamp.time.seconds())),
            _ => None,
        });
        assert_eq!(ends.map(|(job, at)| format!("{job}: {at}")).collect::<Vec<_>>(), ["0: 10", "1: 110"], "{policy}");
    }
}
