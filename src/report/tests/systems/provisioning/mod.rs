//! Users and sites together, where nodes fail.

mod by_hand;
mod payments;

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::play::{play_checked, read_text as read};
use crate::{Bargaining, Names, Status, Tally, calendars_fit};
use hansa_sim::grid::{
    Area, Bookings, Checkpoint, Distribution, Drawn, Every, Failure, FailurePattern, FailureTarget, Killed, Law,
    NodeSet, Per, Recovery, TaskId,
};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::{Bargain, HoldFate, Record};
use hansa_sim::systems::provisioning::planner;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::Topology;

/// The log of a topology and its summary. The report accepts no start on failed nodes, no booking that ends twice, and
/// no message about a booking of another user.
fn play(topology: &Topology) -> (Vec<Entry<Record>>, Bargaining) {
    let log = play_checked(topology);
    let names = Names::of(topology);
    let mut tally = Tally::new(topology, &names);
    let mut aside = Tally::putting_aside(topology, &names, Box::new(Vec::new()));
    for entry in &log {
        tally.add(entry).unwrap_or_else(|wrong| panic!("{entry:?}: {wrong}"));
        aside.add(entry).expect("a tally that sets closed jobs aside accepts the same entries");
    }
    let [summary, same] = [&tally, &aside].map(|tally| tally.summary(1, Status::Complete, String::new()));
    assert!(summary.jobs.add_up() && summary.tasks.add_up(), "{summary:?}");
    let [all, same]: [Bargaining; 2] =
        [summary, same].map(|summary| summary.read_part().expect("users have negotiated"));
    assert_eq!((all.whole, all.broken, all.empty, all.torn), (same.whole, same.broken, same.empty, same.torn));
    assert_eq!(aside.remembered_jobs(), 0, "all is over");
    assert!(all.add_up(), "{all:?}");
    assert_eq!((&all.sites, &all.causes), (&same.sites, &same.causes));
    calendars_fit(topology, &tally);
    (log, all)
}

/// Two jobs, one after the other, that need york and leeds at once, where york fails. A site names starts when a task
/// that can end is there.
fn pairs(fails: &str) -> (Vec<(&'static str, u32, f64)>, Bargaining) {
    let site =
        |name: &str, latency: u32| format!("[[site]]\nname = \"{name}\"\ncores = 4\nlatency = \"{latency} s\"\n");
    let job = |arrive: u32, tasks: &[(u32, u32)]| {
        let task = |(runtime, cores): &(u32, u32)| format!("{{ runtime = \"{runtime} s\", cores = {cores} }}");
        let tasks: Vec<String> = tasks.iter().map(task).collect();
        format!("[[workload.job]]\narrive = \"{arrive} s\"\ntasks = [{}]\n", tasks.join(", "))
    };
    let (log, bargaining) = play(&read(&format!(
        "name = \"pair\"\n[provisioning]\n{}{}[[failure]]\nsite = \"york\"\n{fails}\n[recovery]\ncompensation = 0.5\n\
         [[user]]\nname = \"ann\"\nstrategy = \"coallocate\"\nlegs = [\"york\", \"leeds\"]\n[[user]]\nname = \"crowd\"\n\
         [[workload]]\nsource = \"table\"\nusers = [\"ann\"]\n{}{}\
         [[workload]]\nsource = \"table\"\nusers = [\"crowd\"]\n{}{}",
        site("york", 1),
        site("leeds", 2),
        job(15, &[(60, 3), (60, 4)]),
        job(35, &[(30, 4), (50, 2)]),
        job(0, &[(40, 4)]),
        job(5, &[(40, 4)]),
    )));
    let event_words = |entry: &Entry<Record>| {
        let (word, number) = match &entry.record {
            Record::Started { task, .. } => ("starts", task.job.0 * 10 + task.index),
            Record::Finished { task } => ("ends", task.job.0 * 10 + task.index),
            Record::Lost { task, .. } => ("lost", task.job.0 * 10 + task.index),
            Record::Removed { job } => ("gone", job.0 * 10),
            Record::Completed { job, .. } => ("done", job.0 * 10),
            Record::Settled { fate: HoldFate::Broken, .. } => ("dropped", 0),
            _ => return None,
        };
        Some((word, number, entry.stamp.time.micros() as f64 / 1e6))
    };
    (log.iter().filter_map(event_words).collect(), bargaining)
}

#[test]
fn legs_run_together_or_not_at_all() {
    let starts = |events: &[(&str, u32, f64)]| -> Vec<(u32, f64)> {
        events.iter().filter(|(word, number, _)| *word == "starts" && *number < 20).map(|one| (one.1, one.2)).collect()
    };
    let together = |all: &Bargaining| {
        assert_eq!((all.left_held, all.left_booked), (0, 0));
        (all.whole, all.broken, all.empty, all.torn)
    };
    // A failure long after.
    let (events, all) = pairs("at = \"1 h\"\nfor = \"1 min\"");
    assert_eq!(together(&all), (2, 0, 0, 0), "{events:?}");
    let [(0, first), (1, other), (10, second), (11, another)] = starts(&events)[..] else { panic!("{events:?}") };
    assert!(first == other && second == another && first + 60.0 <= second, "{events:?}");

    // York's task is lost: ann hears of it a second later, and leeds another two seconds later.
    let at = first + 10.0;
    let (events, all) = pairs(&format!("nodes = \"0\"\nat = \"{at} s\"\nfor = \"20 s\""));
    for what in [("lost", 0, at), ("lost", 1, at + 3.0), ("gone", 0, at + 5.0)] {
        assert!(events.contains(&what), "{what:?}: {events:?}");
    }
    assert_eq!(together(&all), (1, 1, 0, 0), "{events:?}");

    // The node that fails is idle.
    let (events, all) = pairs(&format!("nodes = \"3\"\nat = \"{at} s\"\nfor = \"20 s\""));
    assert_eq!((together(&all), starts(&events).len()), ((2, 0, 0, 0), 4), "{events:?}");

    // There is no room for the next booking: its job never starts anywhere.
    let at = second - 5.0;
    let (events, all) = pairs(&format!("nodes = \"3\"\nat = \"{at} s\"\nfor = \"5 min\""));
    assert_eq!(together(&all), (1, 1, 0, 0), "{events:?}");
    assert_eq!(starts(&events), [(0, first), (1, first)], "{events:?}");

    // York fails between its hold and the commit: leeds releases its hold, too, and other starts are tried.
    let at = |quarters: u32| pairs(&format!("at = \"{} s\"\nfor = \"1 min\"", 20.0 + f64::from(quarters) / 4.0));
    let is_dropped = |events: &[(&str, u32, f64)]| events.iter().any(|(word, ..)| *word == "dropped");
    let dropped: Vec<_> = (0..40).map(at).filter(|(events, _)| is_dropped(events)).collect();
    assert!(!dropped.is_empty());
    for (events, all) in dropped {
        let (whole, broken, empty, torn) = together(&all);
        assert_eq!((whole + broken + empty, torn), (2, 0), "{events:?}");
    }
}

/// A job at two sites, of which the second fails: it can start when the first has ended its present task. An earlier
/// job has found no start, so its user knows the response times. All times are in seconds.
fn met(latencies: (u32, u32), arrive: u32, at: u32) -> (Vec<Entry<Record>>, Bargaining) {
    let site = |name, latency| format!("[[site]]\nname = \"{name}\"\ncores = 4\nlatency = \"{latency} s\"\n");
    let table = |user| format!("[[workload]]\nsource = \"table\"\nusers = [\"{user}\"]\n[[workload.job]]\n");
    play(&read(&format!(
        "name = \"met\"\n[provisioning]\ndelta = \"5 s\"\n{}{}[[failure]]\nsite = \"leeds\"\nat = \"{at} s\"\nfor = \"20 s\"\n\
         [[user]]\nname = \"ann\"\nstrategy = \"coallocate\"\nlegs = [\"york\", \"leeds\"]\n[[user]]\nname = \"crowd\"\n\
         {}tasks = [{{ runtime = \"1 s\", cores = 1 }}, {{ runtime = \"1 s\", cores = 1 }}]\n[[workload.job]]\narrive = \"{arrive} s\"\n\
         tasks = [{{ runtime = \"60 s\", cores = 4 }}, {{ runtime = \"60 s\", cores = 4 }}]\n\
         {}tasks = [{{ runtime = \"60 s\", cores = 4 }}]\n",
        site("york", latencies.0),
        site("leeds", latencies.1),
        table("ann"),
        table("crowd"),
    )))
}

/// The last commit of a job and the revocation of a committed leg reach its user in one instant: tasks are entered and
/// recalled in the same one, at a site where they can start at once.
#[test]
fn a_job_that_fails_as_it_succeeds_accuses_no_site() {
    let mut at_once = 0;
    for (latencies, arrive) in [((4, 1), 30..38), ((4, 2), 28..36), ((4, 3), 26..34)] {
        for (arrive, at) in arrive.flat_map(|arrive| (arrive + 28..arrive + 42).map(move |at| (arrive, at))) {
            let (log, all) = met(latencies, arrive, at);
            assert_eq!(
                (all.torn, all.left_held, all.left_booked),
                (0, 0, 0),
                "{latencies:?}, {arrive}, {at}: {log:#?}"
            );
            assert_eq!(all.whole + all.broken + all.empty, 2, "{latencies:?}, {arrive}, {at}: {log:#?}");
            let when = |is: fn(&Record) -> bool| {
                log.iter().filter(move |entry| is(&entry.record)).map(|entry| entry.stamp.time)
            };
            let starts: Vec<Time> =
                when(|record| matches!(record, Record::Started { task, .. } if task.job.0 == 1)).collect();
            at_once +=
                when(|record| matches!(record, Record::Lost { .. })).filter(|lost| starts.contains(lost)).count();
        }
    }
    assert!(at_once > 0);
}

/// Also with links of their own speed, over which tasks send each other data.
#[test]
fn a_workflow_bought_task_by_task_runs_in_what_is_bought() {
    let link =
        "[[link]]\nname = \"trunk\"\ncapacity = \"1 Gbps\"\nlatency = \"20 ms\"\nbetween = [\"york\", \"leeds\"]\n";
    for (latency, link) in [("1 ms", ""), ("1 s", ""), ("1 s", link), ("10 s", "")] {
        let site = |name: &str| format!("[[site]]\nname = \"{name}\"\ncores = 16\nlatency = \"{latency}\"\n");
        let user = format!("[[user]]\nname = \"buyer\"\nlatency = \"{latency}\"\nstrategy = \"greedy\"\n");
        let work =
            "[[workload]]\nsource = \"parallel\"\nworkflows = 3\ntasks = 20\nevery = \"1 d\"\ndata = \"10 MB\"\n";
        let sites = [site("york"), site("leeds")].concat();
        let (log, all) = play(&read(&format!("name = \"bought\"\n[provisioning]\n{sites}{link}{user}{work}")));
        assert_eq!((all.left_booked, all.open), (0, 0));
        let used = log.iter().filter_map(|entry| match entry.record {
            Record::Elapsed { used, .. } => Some(used > Area::ZERO),
            _ => None,
        });
        let used: Vec<bool> = used.collect();
        assert!(used.len() == 60 && used.iter().all(|used| *used), "{latency} {link}: {used:?}");
    }
}

#[test]
fn idle_sites_grant_time_soon() {
    let user = |(strategy, printed, tasks): (&str, &str, &str)| {
        format!(
            "[[user]]\nname = \"{strategy}\"\nstrategy = \"{strategy}\"\nlatency = \"1 s\"\n{printed}\n[[workload]]\nusers = [\"{strategy}\"]\n\
             source = \"table\"\n[[workload.job]]\ntasks = [{tasks}]\n"
        )
    };
    let one = "{ runtime = \"1 h\", cores = 1 }";
    let two = format!("{one}, {one}");
    let users = [("reserve", "", one), ("greedy", "", one), ("coallocate", "legs = [\"york\", \"leeds\"]", &two)];
    let site =
        |name: &str, latency: u32| format!("[[site]]\nname = \"{name}\"\ncores = 8\nlatency = \"{latency} s\"\n");
    let sites = [site("york", 1), site("leeds", 3)].concat();
    let (log, all) = play(&read(&format!("name = \"idle\"\n[provisioning]\n{sites}{}", users.map(user).concat())));
    assert_eq!((all.whole, all.empty, all.torn), (1, 0, 0), "{log:#?}");
    let booked = |entry: &&Entry<Record>| matches!(entry.record, Record::Bargained { end: Bargain::Booked, .. });
    assert_eq!(log.iter().filter(booked).count(), 3, "{log:#?}");
    let started = |entry: &Entry<Record>| matches!(entry.record, Record::Started { .. }).then_some(entry.stamp.time);
    // All starts, those that only others name, then later ones: a round of 8 s each, and one to spare. Holds take 4 and
    // 8 s, commits at most 20 s.
    assert_eq!(log.iter().filter_map(started).max(), Some(Time::from_micros((16 + 16 + 12 + 20) * 1_000_000)));
}

/// A user of each strategy, with jobs of its own, at two sites.
fn grid(seed: u64, planner: &str, mode: &str, latencies: (u64, u64)) -> String {
    // An exact plan works with one planner only.
    let planner = if mode == "exact" { planner::USUAL } else { planner };
    let sites = [("york", 8, 1.0, latencies.0), ("leeds", 6, 2.0, latencies.1)].map(|(name, cores, speed, latency)| {
        format!(
            "[[site]]\nname = \"{name}\"\ncores = {cores}\nspeed = {speed:?}\nscheduler = \"{planner}\"\nmode = \"{mode}\"\n\
             latency = \"{latency} s\"\n"
        )
    });
    let layered = "source = \"layered\"\ntasks = 8\nruntime = [\"20 s\", \"2 min\"]\nccr = 0.1";
    let layered = match seed % 2 {
        0 => layered.to_owned(),
        _ => format!("{layered}\noverestimate = [1.0, 3.0]"),
    };
    let layered = layered.as_str();
    let table = "source = \"table\"\n[[workload.job]]\ntasks = [{ runtime = \"90 s\", cores = 6 }]\n\
                 [[workload.job]]\narrive = \"1 min\"\ntasks = [{ runtime = \"40 s\", cores = 3 }]\n\
                 [[workload.job]]\narrive = \"4 min\"\ntasks = [{ runtime = \"100 s\", cores = 4 }]";
    let pair = |arrive: u64, first: u64| {
        format!(
            "[[workload.job]]\narrive = \"{arrive} s\"\ntasks = [{{ runtime = \"{first} s\", cores = 4 }}, \
             {{ runtime = \"60 s\", cores = 3 }}]\n"
        )
    };
    let pairs = format!("source = \"table\"\n{}{}{}", pair(0, 60), pair(50, 150), pair(200, 20));
    let pairs = pairs.as_str();
    let users = [
        ("best-effort", "", layered),
        ("moga", "", layered),
        ("greedy", "", layered),
        ("reserve", "", table),
        ("var", "ahead = \"3 min\"", table),
        ("var-and-reserve", "ahead = \"3 min\"", table),
        ("coallocate", "legs = [\"york\", \"leeds\"]", pairs),
        ("coallocate", "legs = [\"leeds\", \"york\"]\ncrash = { at = \"70 s\", lasts = \"40 s\" }", pairs),
    ];
    let user = |(number, (strategy, printed, source)): (usize, (&str, &str, &str))| {
        format!(
            "[[user]]\nname = \"{strategy}-{number}\"\nstrategy = \"{strategy}\"\nlatency = \"1 s\"\n{printed}\n\
             [[workload]]\nusers = [\"{strategy}-{number}\"]\n{source}\n"
        )
    };
    let users: Vec<String> = users.into_iter().enumerate().map(user).collect();
    format!(
        "name = \"fragile\"\nseed = {seed}\n[provisioning]\ngenerations = 2\npopulation = 10\n{}{}",
        sites.concat(),
        users.concat()
    )
}

/// Plays the grid above with its failures: nothing runs on failed nodes, no promise between actors is broken, no honest
/// peer is accused, each booking ends once, and each job is completed or given up.
fn all_cope(topology: &Topology) {
    let saves = topology.recovery.checkpoint.is_some();
    let (log, all) = play(topology);
    assert_eq!((all.torn, all.open, all.left_held, all.left_booked), (0, 0, 0, 0));
    assert_eq!(all.whole + all.broken + all.empty, 6);
    let mut on: BTreeMap<TaskId, (Time, ActorId, NodeSet)> = BTreeMap::new();
    let mut arrived = 0;
    let mut over = 0;
    let mut booked = 0;
    let mut losses: BTreeMap<TaskId, u32> = BTreeMap::new();
    for Entry { stamp, actor, record } in &log {
        match record {
            Record::Arrived { .. } => arrived += 1,
            Record::Completed { .. } | Record::Removed { .. } => over += 1,
            Record::Booked { .. } => booked += 1,
            Record::Returned { .. } | Record::Elapsed { .. } | Record::Revoked { .. } => booked -= 1,
            Record::Started { task, cores } => {
                assert!(on.values().all(|(_, site, other)| site != actor || !other.meets(cores)));
                assert_eq!(on.insert(*task, (stamp.time, *actor, cores.clone())), None);
            }
            Record::Finished { task } | Record::Killed { task } | Record::Dropped { task } => {
                assert!(on.remove(task).is_some());
            }
            Record::Lost { task, saved } => {
                let (since, ..) = on.remove(task).unwrap();
                *losses.entry(*task).or_default() += 1;
                assert!(*saved <= stamp.time - since && (saves || saved.is_zero()));
            }
            Record::Down { cores, .. } => {
                assert!(on.values().all(|(_, site, other)| site != actor || !other.meets(cores)));
            }
            _ => {}
        }
    }
    assert!(on.is_empty(), "{on:?} still run");
    // At every site: a new booking of a task continues its count of losses.
    let most = if topology.recovery.killed == Killed::Lost { 1 } else { topology.recovery.attempts };
    assert!(losses.values().all(|losses| *losses <= most), "{losses:?}");
    assert_eq!((arrived, over, booked), (18, 18, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 25 } else { 1_000 }))]

    /// Under every strategy, planner and failure handling.
    #[test]
    fn strategies_cope_with_failures(
        seed in 0u64..1_000,
        planner in prop::sample::select(planner::planner_names()),
        mode in prop::sample::select(vec!["exact", "rebuild"]),
        (latency, mtbf, mttr, attempts) in (0u64..6, 200u64..3_000, 5u64..200, 1u32..6),
        (killed, bookings, every, announced) in (0usize..4, 0usize..3, 0u64..40, any::<bool>()),
    ) {
        let text = grid(seed, planner.name, mode, (latency, latency));
        let mut topology = read(&text);
        let law = Law { kind: Distribution::Exponential, shape: 1.0 };
        let drawn = |site: usize, count: u32, per: Per| {
            let mtbf = Span::from_secs(mtbf);
            let mttr = Span::from_secs(mttr);
            let pattern = FailurePattern::Drawn(Drawn { mtbf, between: law, mttr, repair: law, per, share_millionths: 500_000 });
            Failure { what: FailureTarget::Nodes { site, nodes: NodeSet::all(count) }, pattern, announced }
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

        all_cope(&topology);
    }

    /// Like the test before, with all events at whole seconds, so that messages, failures and ends coincide.
    #[test]
    fn strategies_cope_with_simultaneous_failures(
        seed in 0u64..1_000,
        planner in prop::sample::select(planner::planner_names()),
        mode in prop::sample::select(vec!["exact", "rebuild"]),
        latencies in (0u64..6, 0u64..6),
        failures in prop::collection::vec((0usize..2, 1u32..9, 0u64..500, 1u64..90), 1..12),
        (killed, bookings) in (0usize..4, 0usize..3),
    ) {
        all_cope(&meeting(&grid(seed, planner.name, mode, latencies), &failures, (killed, bookings)));
    }
}

/// A grid on which some nodes of a site fail once, each time at whole seconds.
fn meeting(grid: &str, failures: &[(usize, u32, u64, u64)], (killed, bookings): (usize, usize)) -> Topology {
    let mut topology = read(grid);
    let once = |&(site, nodes, at, lasts): &(usize, u32, u64, u64)| {
        let nodes = NodeSet::all(nodes.min([8, 6][site]));
        let pattern = FailurePattern::Once { at: Time::ZERO + Span::from_secs(at), lasts: Span::from_secs(lasts) };
        Failure { what: FailureTarget::Nodes { site, nodes }, pattern, announced: true }
    };
    topology.failures = failures.iter().map(once).collect();
    let killed = Killed::ALL[killed].1;
    let bookings = Bookings::ALL[bookings].1;
    topology.recovery = Recovery { killed, bookings, compensation_millionths: 500_000, ..Recovery::default() };
    topology
}

/// Nodes of a hold fail at one site, and the user is down until the committed leg at the other one is over.
#[test]
fn what_is_left_over_by_a_broken_hold_is_broken_too() {
    let topology = meeting(&grid(254, "slotlist", "exact", (2, 5)), &[(0, 4, 28, 59), (0, 6, 52, 35)], (0, 0));
    assert_eq!(play(&topology).1.broken, 1);
    all_cope(&topology);
}
