//! A market at sites whose nodes fail.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use hansa_sim::grid::{Checkpoint, Every, Interrupted, Killed, Recovery};

/// A job that arrives at minute 100.
fn source(tasks: Vec<Task>, pairs: &[(u32, u32)]) -> Source {
    let arrive = minutes(100);
    let worth = None;
    let volumes = Default::default();
    let job = table::ListedJob { arrive, tasks, edges: edges(pairs), worth, volumes, ..table::ListedJob::default() };
    Source::Table(table::Table::of_jobs(vec![job]))
}

#[test]
fn a_task_that_is_lost_joins_the_queue_again_and_cores_that_are_down_are_not_given_away() {
    // Two tasks after each other, on two cores of four. Where the first one ran, all is down for an hour.
    let chain = source(vec![task(10, 2, 0), task(20, 2, 0)], &[(0, 1)]);
    let mut topology = grid(Market { ccr_millionths: 0, ..plain_market("fifo") }, &[(2, 0), (2, 0)], 1, chain);
    topology.failures = vec![once(0, "1", 105, 60)];
    let events: Vec<String> = play(&topology)
        .iter()
        .filter_map(|entry| {
            let at = in_minutes(entry.stamp.time);
            Some(match &entry.record {
                Record::Assigned { task, site } => format!("{at}: {} to {}", task.index, site.0),
                Record::Lost { task, .. } => format!("{at}: {} lost", task.index),
                Record::Finished { task } => format!("{at}: {} done", task.index),
                Record::Completed { .. } => format!("{at}: all done"),
                _ => return None,
            })
        })
        .collect();
    assert_eq!(
        events,
        ["100: 0 to 1", "105: 0 lost", "105: 0 to 2", "115: 0 done", "115: 1 to 2", "135: 1 done", "135: all done"]
    );
}

/// A task on one of two sites needs what another site has made. Both fail, one after the other.
#[test]
fn what_has_been_brought_to_a_site_is_there_when_a_task_comes_back_to_it() {
    let text = r#"name = "again"
        [market]
        policy = "fifo"
        [[site]]
        name = "leeds"
        cores = 1
        kind = "maker"
        [[site]]
        name = "york"
        cores = 3
        kind = "user"
        [[site]]
        name = "bath"
        cores = 2
        kind = "user"
        [network]
        switches = ["lab"]
        [[link]]
        name = "l"
        capacity = "8 Mbps"
        between = ["leeds", "lab"]
        [[link]]
        name = "y"
        capacity = "8 Mbps"
        between = ["york", "lab"]
        [[link]]
        name = "b"
        capacity = "8 Mbps"
        between = ["bath", "lab"]
        [[failure]]
        site = "york"
        at = "100 s"
        for = "100 s"
        [[failure]]
        site = "bath"
        at = "150 s"
        for = "1 h"
        [[user]]
        name = "ann"
        [[workload]]
        source = "table"
        [[workload.job]]
        tasks = [
            { runtime = "60 s", cores = 1, kind = "maker" },
            { runtime = "600 s", cores = 2, kind = "user" },
        ]
        edges = [[0, 1, "1 MB"]]
    "#;
    let topology = crate::play::read_text(text);
    let names = crate::Names::of(&topology);
    let mut tally = crate::Tally::new(&topology, &names);
    let events: Vec<String> = play(&topology)
        .iter()
        .filter_map(|entry| {
            tally.add(entry).unwrap();
            let at = entry.stamp.time.seconds();
            Some(match &entry.record {
                Record::Assigned { task, site } => format!("{at}: {} to {}", task.index, names.of_actor(*site)),
                Record::Sent { to, .. } => format!("{at}: sent to {}", names.of_actor(*to)),
                Record::Delivered { .. } => format!("{at}: there"),
                Record::Lost { task, .. } => format!("{at}: {} lost", task.index),
                Record::Finished { task } => format!("{at}: {} done", task.index),
                _ => return None,
            })
        })
        .collect();
    assert_eq!(
        events,
        [
            "0: 0 to leeds",
            "60: 0 done",
            "60: 1 to york",
            "60: sent to york",
            "61: there",
            "100: 1 lost",
            "100: 1 to bath",
            "100: sent to bath",
            "101: there",
            "150: 1 lost",
            "200: 1 to york",
            "800: 1 done"
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 20 } else { 100 }))]

    /// With all failures and all delays of their news: nothing runs on failed cores, work adds up, each job ends once.
    #[test]
    fn nothing_runs_where_cores_are_down_and_work_adds_up(
        (seed, jobs) in (0u64..1_000, 1u32..6),
        (latency, report_every, mtbf) in (0u64..3, 0u64..20, 60u64..600),
        (killed, every) in (0usize..4, 0u64..30),
        policy in prop::sample::select(vec!["fifo", "srtf", "pvr", "random"]),
        data in prop::option::of(prop::sample::select(Interrupted::ALL.to_vec())),
    ) {
        let output = if data.is_some() { "output = \"2 Mbps\"\n" } else { "" };
        let link = match data {
            Some(_) => "[[link]]\nname = \"trunk\"\ncapacity = \"20 Mbps\"\nbetween = [\"york\", \"leeds\"]\n",
            None => "",
        };
        let text = format!(
            "name = \"fragile\"\nseed = {seed}\n[market]\npolicy = \"{policy}\"\ntick = \"1 min\"\n[[site]]\nname = \"york\"\ncores = 5\n\
             latency = \"{latency} s\"\nreport_every = \"{report_every} min\"\n[[site]]\nname = \"leeds\"\ncores = 4\n\
             [[user]]\nname = \"ann\"\n[[workload]]\nsource = \"market\"\njobs = {jobs}\ncores_max = 4\nload = 2.0\n\
             total_runtime = [\"20 min\", \"300 min\"]\n{output}{link}"
        );
        let mut topology = crate::play::read_text(&text);
        topology.failures = vec![drawn(0, mtbf, Per::Node), drawn(1, 2 * mtbf, Per::Site), once(1, "0-3", 30, 45)];
        if data.is_some() {
            let Failure { pattern, announced, .. } = drawn(0, mtbf, Per::Node);
            topology.failures.push(Failure { what: FailureTarget::Link(0), pattern, announced });
        }
        let saves = Checkpoint { every: Every::Span(Span::from_minutes(every.max(1))), cost: Span::from_secs(30) };
        let checkpoint = (every > 0).then_some(saves);
        let killed = Killed::ALL[killed].1;
        let data = data.map_or(Interrupted::Wait, |data| data.1);
        topology.recovery = Recovery { killed, attempts: 20, checkpoint, data, ..Recovery::default() };
        let log = play(&topology);

        // The tally takes no start on what is said to be down.
        let names = crate::Names::of(&topology);
        let mut tally = crate::Tally::new(&topology, &names);
        for entry in &log {
            prop_assert!(tally.add(entry).is_ok(), "{entry:?}: {:?}", tally.add(entry));
        }
        let mut left: BTreeMap<TaskId, Span> = BTreeMap::new();
        let mut on: BTreeMap<TaskId, (Time, ActorId, NodeSet)> = BTreeMap::new();
        let mut arrived = 0;
        let mut over = 0;
        let stretched = |work: Span| checkpoint.map_or(work, |one| one.checkpoint_schedule(0.0).unwrap().with_checkpoints(work));
        for Entry { stamp, actor, record } in &log {
            let now = stamp.time;
            match record {
                Record::Arrived { job, .. } => {
                    arrived += 1;
                    let tasks = (0..).zip(&job.tasks);
                    left.extend(tasks.map(|(index, task)| (TaskId { job: job.id, index }, task.runtime)));
                }
                Record::Started { task, cores } => {
                    for (_, site, other) in on.values() {
                        prop_assert!(site != actor || !other.meets(cores));
                    }
                    prop_assert_eq!(on.insert(*task, (now, *actor, cores.clone())), None);
                }
                Record::Finished { task } => {
                    let (since, ..) = on.remove(task).unwrap();
                    prop_assert_eq!(now - since, stretched(left[task]));
                }
                Record::Lost { task, saved } => {
                    let (since, ..) = on.remove(task).unwrap();
                    let work = left.get_mut(task).unwrap();
                    prop_assert!(now - since < stretched(*work) && *saved < *work);
                    *work = Span::from_micros(work.micros() - saved.micros());
                }
                Record::Down { cores, .. } => {
                    prop_assert!(on.values().all(|(_, site, other)| site != actor || !other.meets(cores)));
                }
                Record::Completed { .. } | Record::Removed { .. } => over += 1,
                _ => {}
            }
        }
        prop_assert!(on.is_empty());
        prop_assert_eq!(arrived, over);
    }
}
