//! Promises of queues against what happens: every message and timer of a site promises when its site sends something at
//! the earliest, and an end is announced when its job starts. Random grids, under every policy and order.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;

use super::{cases, load_text};
use crate::play::play_checked as play;
use crate::play::second;
use crate::{Names, Tally};
use hansa_sim::grid::{Calendar, Killed, Multifactor, NodeSet, QueueOrder, TaskId};
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::Record;
use hansa_sim::roles::queue;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{Roster, Topology};

/// Name and nodes of each site. York may be shared by several systems.
const SITES: [(&str, u32); 2] = [("york", 6), ("bath", 4)];

/// Arrival, nodes, walltime and run time of a queued job, and true if its user may take it back.
type Queued = (u64, u32, u64, u64, bool);
/// Submission, time until it is ready, duration, slack, nodes and run time of a request, and the time after which it is
/// cancelled.
type Asked = (u64, u64, u64, u64, u32, u64, Option<u64>);
/// Site, start, duration, first node and number of nodes of a reservation.
type Kept = (usize, u64, u64, u32, u32);

#[derive(Clone, Debug)]
struct Story {
    queued: Vec<Queued>,
    /// Empty where sites have queues only.
    asked: Vec<Asked>,
    /// Arrival, cores and run time of tasks of a market and of a planner at york; empty if they do not use it.
    sold: Vec<(u64, u32, u64)>,
    kept: Vec<Kept>,
    /// Mean times between failures and to repair, seed, and true if outages are announced.
    failures: Option<(u64, u64, u64, bool)>,
    /// Index of the treatment of lost jobs, and period of checkpoints.
    recovery: (usize, u64),
    /// Latencies of york, bath and the users.
    latencies: [u64; 3],
    report_every: u64,
    patience: u64,
    dispatch: usize,
}

fn story() -> impl Strategy<Value = Story> {
    let queued = (0u64..50, 1u32..=6, 1u64..30, 1u64..30, any::<bool>());
    let asked = (0u64..50, 0u64..15, 1u64..20, 0u64..30, 1u32..6, 1u64..20, prop::option::weighted(0.3, 0u64..40));
    let sold = prop::collection::vec((0u64..50, 1u32..6, 1u64..15), 1..5);
    let kept = (0usize..2, 0u64..60, 1u64..20, 0u32..6, 1u32..4);
    let others = (
        prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(asked, 1..8)],
        prop_oneof![3 => Just(Vec::new()), 1 => sold],
    );
    let failing = (10u64..150, 1u64..30, 0u64..1_000, any::<bool>());
    (
        (prop::collection::vec(queued, 1..20), others, prop::collection::vec(kept, 0..3)),
        (prop::option::weighted(0.3, failing), (0usize..3, prop::sample::select(vec![0u64, 0, 2, 5]))),
        (prop::array::uniform3(0u64..3), prop::sample::select(vec![0u64, 0, 0, 4])),
        (1u64..25, 0usize..3),
    )
        .prop_map(|((queued, (asked, sold), kept), (failures, recovery), (latencies, report_every), rest)| {
            let (patience, dispatch) = rest;
            Story { queued, asked, sold, kept, failures, recovery, latencies, report_every, patience, dispatch }
        })
}

impl Story {
    fn text(&self) -> String {
        let dispatch = ["first", "round-robin", "least-work"][self.dispatch];
        let seed = self.failures.map_or(1, |(_, _, seed, _)| seed);
        let mut text = format!("name = \"promises\"\nseed = {seed}\n[batch]\ndispatch = \"{dispatch}\"\n");
        let mut systems = vec!["batch"];
        if !self.asked.is_empty() {
            text += "[reservation]\n";
            systems.push("reservation");
        }
        if !self.sold.is_empty() {
            text += "[market]\npolicy = \"fifo\"\n[workflow]\npolicy = \"heft\"\n";
            systems.extend(["market", "workflow"]);
        }
        for (number, (name, cores)) in SITES.iter().enumerate() {
            let systems = if number == 0 { systems.as_slice() } else { &["batch"] };
            let latency = self.latencies[number];
            let kept = self.reserved(number);
            let report_every = if self.report_every > 0 {
                format!("report_every = \"{} s\"\n", self.report_every)
            } else {
                String::new()
            };
            write!(
                text,
                "[[site]]\nname = \"{name}\"\ncores = {cores}\nlatency = \"{latency} s\"\nsystem = {systems:?}\n\
                 reserved = [{kept}]\n{report_every}"
            )
            .unwrap();
        }
        let latency = self.latencies[2];
        let patience = self.patience;
        write!(
            text,
            "[[user]]\nname = \"ann\"\nlatency = \"{latency} s\"\n\
             [[user]]\nname = \"ben\"\nlatency = \"{latency} s\"\nplanner = \"resubmit\"\npatience = \"{patience} s\"\n"
        )
        .unwrap();
        self.write_failures(&mut text);
        self.write_jobs(&mut text);
        text
    }

    /// The reservations of a site: the first of those that overlap.
    fn reserved(&self, site: usize) -> String {
        let nodes = SITES[site].1;
        let mut calendar = Calendar::new(nodes);
        let mut all = Vec::new();
        for &(_, from, lasts, first, count) in self.kept.iter().filter(|kept| kept.0 == site && kept.3 < nodes) {
            let kept = NodeSet::from_run(first, (first + count - 1).min(nodes - 1));
            let until = from + lasts;
            if calendar.insert(second(from), second(until), &kept).is_ok() {
                all.push(format!("{{ from = \"{from} s\", until = \"{until} s\", nodes = \"{kept}\" }}"));
            }
        }
        all.join(", ")
    }

    fn write_failures(&self, text: &mut String) {
        let Some((mtbf, mttr, _, announced)) = self.failures else { return };
        let (killed, every) = self.recovery;
        let killed = Killed::ALL[killed].0;
        for (name, _) in SITES {
            write!(
                text,
                "[[failure]]\nsite = \"{name}\"\nmtbf = \"{mtbf} s\"\nmttr = \"{mttr} s\"\nannounced = {announced}\n"
            )
            .unwrap();
        }
        write!(text, "[recovery]\nkilled = \"{killed}\"\nattempts = 4\n").unwrap();
        if every > 0 {
            writeln!(text, "checkpoint = {{ every = \"{every} s\", cost = \"500 ms\" }}").unwrap();
        }
    }

    fn write_jobs(&self, text: &mut String) {
        for (user, returns) in [("ann", false), ("ben", true)] {
            let mut queued: Vec<&Queued> = self.queued.iter().filter(|job| job.4 == returns).collect();
            queued.sort_by_key(|job| job.0);
            if queued.is_empty() {
                continue;
            }
            writeln!(text, "[[workload]]\nsource = \"table\"\nsystem = \"batch\"\nusers = [\"{user}\"]").unwrap();
            for (arrive, nodes, walltime, runtime, _) in queued {
                write!(
                    text,
                    "[[workload.job]]\narrive = \"{arrive} s\"\n\
                     tasks = [{{ runtime = \"{runtime} s\", walltime = \"{walltime} s\", cores = {nodes} }}]\n"
                )
                .unwrap();
            }
        }
        let mut asked = self.asked.clone();
        asked.sort_by_key(|request| request.0);
        if !asked.is_empty() {
            text.push_str("[[workload]]\nsource = \"requests\"\nusers = [\"ann\"]\n");
        }
        for (arrive, ahead, duration, slack, nodes, runtime, cancel) in asked {
            let ready = arrive + ahead;
            let deadline = ready + duration + slack;
            let runtime = runtime.min(duration);
            write!(
                text,
                "[[workload.request]]\narrive = \"{arrive} s\"\nready = \"{ready} s\"\nduration = \"{duration} s\"\n\
                 deadline = \"{deadline} s\"\nnodes = {nodes}\nruntime = \"{runtime} s\"\n"
            )
            .unwrap();
            cancel.into_iter().for_each(|cancel| writeln!(text, "cancel = \"{} s\"", arrive + cancel).unwrap());
        }
        let mut sold = self.sold.clone();
        sold.sort_by_key(|task| task.0);
        for system in ["market", "workflow"].into_iter().filter(|_| !sold.is_empty()) {
            writeln!(text, "[[workload]]\nsource = \"table\"\nsystem = \"{system}\"\nusers = [\"ann\"]").unwrap();
            for (arrive, cores, runtime) in &sold {
                write!(
                    text,
                    "[[workload.job]]\narrive = \"{arrive} s\"\n\
                     tasks = [{{ runtime = \"{runtime} s\", cores = {cores} }}, {{ runtime = \"5 s\", cores = 1 }}]\n\
                     edges = [[0, 1]]\n"
                )
                .unwrap();
            }
        }
    }
}

/// Checks that every job ends, and that the end of a queued job is reported as of the moment at which it happens.
fn check(story: &Story, topology: &Topology) -> Result<(), TestCaseError> {
    let log = play(topology);
    let mut tally = Tally::new(topology, &Names::of(topology));
    for entry in &log {
        let added = tally.add(entry);
        prop_assert!(added.is_ok(), "{entry:?}: {added:?}");
    }
    prop_assert_eq!(tally.jobs_ended(), topology.jobs());
    let mut ends: BTreeMap<TaskId, Time> = BTreeMap::new();
    let names = Roster::of_topology(topology).names;
    for Entry { stamp, actor, record } in &log {
        match record {
            Record::Finished { task } | Record::Killed { task } => {
                let site = SITES.iter().position(|(name, _)| *name == names[actor.index()]).expect("it is a site");
                let reported = stamp.time.round_up(Span::from_secs(story.report_every));
                ends.insert(*task, reported + Span::from_secs(story.latencies[site]));
            }
            Record::Completed { job, .. } if (job.0 as usize) < story.queued.len() => {
                let task = TaskId { job: *job, index: 0 };
                prop_assert_eq!(ends.get(&task), Some(&stamp.time), "{} is over", job);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Story of a timer that outlives its plan: it was set for the start of a booking, which is cancelled, and a shorter
/// job joins the queue before it fires. A timer's promise is about the jobs that waited when it was set.
#[test]
fn outdated_timers_start_nothing() {
    let story = Story {
        queued: vec![(35, 5, 1, 1, false), (23, 6, 14, 3, false), (1, 6, 18, 14, false)],
        asked: vec![(31, 7, 1, 0, 1, 1, Some(0)), (17, 0, 10, 2, 1, 10, None), (11, 1, 1, 27, 1, 1, None)],
        sold: Vec::new(),
        kept: Vec::new(),
        failures: None,
        recovery: (0, 0),
        latencies: [0; 3],
        report_every: 0,
        patience: 1,
        dispatch: 0,
    };
    let mut topology = load_text(&story.text(), &[]).unwrap();
    for site in &mut topology.sites {
        site.scheduler = "fcfs".to_owned();
        site.order = QueueOrder::MostStretched;
    }
    check(&story, &topology).unwrap();
}

proptest! {
    #![proptest_config(cases(if cfg!(unoptimised) { 20 } else { 200 }))]

    #[test]
    fn queues_keep_their_promises_in_every_order(story in story()) {
        let text = story.text();
        let mut topology = load_text(&text, &[]).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
        let ranked = Multifactor {
            age: 1_000,
            fair_share: 1_000,
            job_size: 1_000,
            max_age: Span::from_secs(60),
            calc_period: Span::from_secs(7),
            ..Multifactor::default()
        };
        for row in queue::ALL {
            for (name, order, _) in QueueOrder::ALL {
                for site in &mut topology.sites {
                    site.scheduler = row.name.to_owned();
                    site.order = *order;
                    site.multifactor = Some(Box::new(ranked.clone()));
                }
                let checked = catch_unwind(AssertUnwindSafe(|| check(&story, &topology)));
                let kept = checked.unwrap_or_else(|broken| {
                    let why = broken.downcast_ref::<String>().cloned().unwrap_or_default();
                    Err(TestCaseError::fail(why))
                });
                prop_assert!(kept.is_ok(), "{} {}: {:?}", row.name, name, kept);
            }
        }
    }
}
