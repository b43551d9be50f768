//! Small grids whose schedules were worked out by hand.

use std::collections::BTreeMap;

use super::{play, read};
use hansa_sim::grid::TaskId;
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::{Bargain, Reason, Record};
use hansa_sim::topology::{Roster, Topology, build_actors, read_topology};

/// The tasks with their sites, starts and ends, in seconds, in the order of starts; and the whole log.
type Played = (Vec<(String, usize, f64, f64)>, Vec<Entry<Record>>);

/// The settings of each user, and its jobs: the arrival of each, and its tasks.
pub type Users<'a> = [(&'a str, &'a [(u32, &'a str)])];

/// The schedule of these users at these sites.
fn schedule(sites: &[&str], users: &Users<'_>) -> Played {
    rows(&topology_of(sites, users))
}

/// These users at these sites.
pub fn topology_of(sites: &[&str], users: &Users<'_>) -> Topology {
    let mut text = "name = \"by-hand\"\n[provisioning]\n".to_owned();
    for (number, printed) in sites.iter().enumerate() {
        text += &format!("[[site]]\nname = \"site-{number}\"\n{printed}\n");
    }
    for (number, (printed, jobs)) in users.iter().enumerate() {
        text += &format!("[[user]]\nname = \"user-{number}\"\n{printed}\n");
        text += &format!("[[workload]]\nsource = \"table\"\nusers = [\"user-{number}\"]\n");
        for (arrive, tasks) in *jobs {
            text += &format!("[[workload.job]]\narrive = \"{arrive} s\"\n{tasks}\n");
        }
    }
    read(&text)
}

fn rows(topology: &Topology) -> Played {
    let (log, all) = play(topology);
    assert_eq!((all.torn, all.open, all.left_held, all.left_booked), (0, 0, 0, 0));
    let seconds = |entry: &Entry<Record>| entry.stamp.time.micros() as f64 / 1e6;
    let mut on: BTreeMap<TaskId, (usize, f64)> = BTreeMap::new();
    let mut rows = Vec::new();
    for entry in &log {
        match &entry.record {
            Record::Started { task, .. } => _ = on.insert(*task, (entry.actor.index(), seconds(entry))),
            Record::Finished { task } | Record::Killed { task } => {
                let (site, start) = on.remove(task).unwrap();
                rows.push((task.to_string(), site, start, seconds(entry)));
            }
            _ => {}
        }
    }
    let first = rows.iter().map(|row| row.1).min().unwrap_or(0);
    rows.iter_mut().for_each(|row| row.1 -= first);
    rows.sort_by(|a, b| (a.2, &a.0).partial_cmp(&(b.2, &b.0)).unwrap());
    (rows, log)
}

#[test]
fn tasks_that_are_ready_together_go_to_the_shortest_queue_one_after_the_other() {
    let seconds = |span: u32| format!("{{ runtime = \"{span} s\", cores = 4 }}");
    let tasks = format!("tasks = [{}]", [10, 40, 20, 30].map(seconds).join(", "));
    let (rows, _) = schedule(&["cores = 4", "cores = 4"], &[("", &[(0, tasks.as_str())])]);
    // In HEFT order: the longest first.
    assert_eq!(
        rows.iter().map(|row| (row.0.as_str(), row.1, row.2)).collect::<Vec<_>>(),
        [("0.1", 0, 0.0), ("0.3", 1, 0.0), ("0.0", 1, 30.0), ("0.2", 0, 40.0),]
    );
}

#[test]
fn a_user_counts_what_it_has_sent_for_other_jobs() {
    let places = |sites: &[&str], jobs: &[(u32, &str)]| {
        let (mut rows, _) = schedule(sites, &[("", jobs)]);
        rows.sort_by(|one, other| one.0.cmp(&other.0));
        rows.into_iter().map(|row| row.1).collect::<Vec<_>>()
    };
    let one = "tasks = [{ runtime = \"1 h\", cores = 1 }]";
    assert_eq!(places(&["cores = 40", "cores = 20"], &[(0, one), (0, one), (0, one)]), [0, 1, 0]);

    // The second asks at 105 s, before the first is sent, at 110 s; the third at 112 s, before the second is sent.
    let [large, small] = ["cores = 40\nlatency = \"5 s\"", "cores = 20\nlatency = \"5 s\""];
    assert_eq!(places(&[large, small], &[(100, one), (105, one), (112, one)]), [0, 1, 0]);

    // The first arrives together with the question of the second, at 115 s, and counts once: both sites have one task
    // then, as there is no other place for the wide one.
    let wide = "tasks = [{ runtime = \"1 h\", cores = 30 }]";
    assert_eq!(places(&[small, large], &[(50, wide), (100, one), (110, one)]), [1, 0, 0]);
}

/// A crowd that holds all four processors until 50 s, a user that has booked three of them from 111 s on, and a plan
/// beside both.
fn planned(tasks: &str, late: &str) -> Vec<(String, usize, f64, f64)> {
    let users: &Users<'_> = &[
        ("", &[(0, "tasks = [{ runtime = \"50 s\", cores = 4 }]"), (2, late)]),
        ("strategy = \"var-and-reserve\"\nahead = \"111 s\"", &[(0, "tasks = [{ runtime = \"600 s\", cores = 3 }]")]),
        ("strategy = \"moga\"\nalpha = 0.0", &[(1, tasks)]),
    ];
    let (rows, _) = schedule(&["cores = 4"], users);
    rows.into_iter().filter(|row| row.3 - row.2 < 40.0).collect()
}

#[test]
fn what_is_planned_runs_as_it_is_planned() {
    // The first task takes a slot and a part of another one, which begin together; the second needs the whole first
    // slot.
    let rows = planned(
        "tasks = [{ runtime = \"20 s\", cores = 4 }, { runtime = \"10 s\", cores = 3 }]",
        "tasks = [{ runtime = \"300 s\", cores = 1 }]",
    );
    assert_eq!(rows.iter().map(|row| (row.2, row.3)).collect::<Vec<_>>(), [(50.0, 70.0), (70.0, 80.0)]);
    // Between the first task and its successor the slot is free for a moment, which a later task must not take.
    let rows = planned(
        "tasks = [{ runtime = \"10 s\", cores = 1 }, { runtime = \"20 s\", cores = 3 }, { runtime = \"15 s\", cores = 3 }, \
         { runtime = \"10 s\", cores = 1 }]\nedges = [[0, 1], [1, 3]]",
        "tasks = [{ runtime = \"900 s\", cores = 1 }]",
    );
    assert!(rows.iter().all(|row| row.3 <= 95.0), "{rows:?}");
}

#[test]
fn a_site_cuts_what_is_booked_out_of_the_slot_that_was_named() {
    let users: &Users<'_> = &[
        ("", &[(0, "tasks = [{ runtime = \"11 s\", cores = 2 }]"), (2, "tasks = [{ runtime = \"25 s\", cores = 1 }]")]),
        ("strategy = \"moga\"\nalpha = 0.0", &[(1, "tasks = [{ runtime = \"10 s\", cores = 3 }]")]),
    ];
    let (rows, _) = schedule(&["cores = 4\nmode = \"exact\""], users);
    let starts: Vec<(f64, f64)> = rows.iter().map(|row| (row.2, row.3)).collect();
    assert_eq!(starts, [(0.0, 11.0), (2.0, 27.0), (11.0, 21.0)], "{rows:?}");
}

#[test]
fn a_task_killed_in_time_runs_in_its_booking() {
    // The request is 60 s.
    let log = "1 1 -1 61 1 -1 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n";
    let text = "name = \"late\"\n[provisioning]\n[[site]]\nname = \"york\"\ncores = 1\n[[user]]\nname = \"crowd\"\n\
                [[user]]\nname = \"booker\"\nstrategy = \"reserve\"\nalpha = 0.0\n\
                [[workload]]\nsource = \"table\"\nusers = [\"crowd\"]\n\
                [[workload.job]]\ntasks = [{ runtime = \"100 s\", cores = 1 }]\n\
                [[workload]]\nsource = \"swf\"\nfile = \"log.swf\"\nusers = [\"booker\"]\n";
    let mut read = |path: &str| Ok(if path == "grid.toml" { text } else { log }.as_bytes().to_vec());
    let topology = read_topology("grid.toml", &[], &mut read).unwrap().topology;
    let (rows, _) = rows(&topology);
    assert_eq!(rows, [("0.0".to_owned(), 0, 0.0, 100.0), ("1.0".to_owned(), 0, 100.0, 160.0)]);
}

#[test]
fn a_price_is_what_the_queue_loses_by_the_slot_alone() {
    let users: &Users<'_> = &[
        (
            "",
            &[
                (0, "tasks = [{ runtime = \"5 s\", cores = 2 }]"),
                (0, "tasks = [{ runtime = \"9 s\", cores = 2 }]"),
                (1, "tasks = [{ runtime = \"7 s\", cores = 1 }]"),
                (1, "tasks = [{ runtime = \"5 s\", cores = 1 }]"),
            ],
        ),
        ("strategy = \"var-and-reserve\"\nahead = \"8 s\"", &[(0, "tasks = [{ runtime = \"8 s\", cores = 1 }]")]),
        ("strategy = \"reserve\"\nalpha = 1.0", &[(4, "tasks = [{ runtime = \"7 s\", cores = 2 }]")]),
    ];
    let (_, log) = schedule(&["cores = 3"], users);
    let quoted = log.iter().rev().find_map(|entry| match &entry.record {
        Record::Quoted { procs: 2, offers, .. } => Some(offers.clone()),
        _ => None,
    });
    let offers: Vec<(u64, f64)> =
        quoted.unwrap().iter().map(|offer| (offer.start.micros() / 1_000_000, offer.fee.seconds())).collect();
    assert_eq!(offers.iter().map(|offer| offer.0).collect::<Vec<_>>(), [5, 8, 16, 17, 21]);
    assert_eq!(offers[0], (5, 8.0));
}

#[test]
fn listed_tasks_may_request_more_or_less_than_they_take() {
    let times = |sites: &[&str], jobs: &[(u32, &str)]| {
        let (rows, _) = schedule(sites, &[("", jobs)]);
        rows.into_iter().map(|row| (row.0, row.2, row.3)).collect::<Vec<_>>()
    };
    let row = |task: &str, from: f64, until: f64| (task.to_owned(), from, until);
    // The successor of a killed task runs.
    let two = "tasks = [{ runtime = \"100 s\", walltime = \"60 s\", cores = 1 }, { runtime = \"10 s\", cores = 1 }]\n\
               edges = [[0, 1]]";
    assert_eq!(times(&["cores = 1"], &[(0, two)]), [row("0.0", 0.0, 60.0), row("0.1", 60.0, 70.0)]);

    // The third may go first only if it requests no more time than is left before the second, as far as is known.
    let long = "tasks = [{ runtime = \"100 s\", walltime = \"200 s\", cores = 1 }]";
    let wide = "tasks = [{ runtime = \"10 s\", cores = 2 }]";
    let third = |walltime: u32| {
        let last = format!("tasks = [{{ runtime = \"50 s\", walltime = \"{walltime} s\", cores = 1 }}]");
        times(&["cores = 2"], &[(0, long), (1, wide), (2, &last)])
    };
    assert_eq!(third(198), [row("0.0", 0.0, 100.0), row("2.0", 2.0, 52.0), row("1.0", 100.0, 110.0)]);
    assert_eq!(third(199), [row("0.0", 0.0, 100.0), row("1.0", 100.0, 110.0), row("2.0", 110.0, 160.0)]);
}

#[test]
fn an_early_end_prefers_the_faster_site() {
    let users: &Users<'_> = &[
        ("", &[(0, "tasks = [{ runtime = \"1 s\", cores = 4 }]"), (0, "tasks = [{ runtime = \"40 s\", cores = 4 }]")]),
        ("strategy = \"reserve\"\nalpha = 0.0", &[(5, "tasks = [{ runtime = \"100 s\", cores = 2 }]")]),
    ];
    let (rows, _) = schedule(&["cores = 4\nspeed = 2.0", "cores = 4"], users);
    let last = rows.iter().max_by(|a, b| a.3.total_cmp(&b.3)).unwrap();
    assert!(last.3 <= 100.0, "{rows:?}");
}

#[test]
fn a_reservation_is_booked_where_it_costs_least_in_all() {
    let users: &Users<'_> =
        &[("strategy = \"var-and-reserve\"\nahead = \"1 h\"", &[(0, "tasks = [{ runtime = \"100 s\", cores = 1 }]")])];
    let (rows, log) = schedule(&["cores = 1\nprice = 3.0\nspeed = 0.5", "cores = 1"], users);
    assert_eq!(rows.iter().map(|row| (row.2, row.3)).collect::<Vec<_>>(), [(3_600.0, 3_700.0)]);
    let receipts = log.iter().filter_map(|entry| match &entry.record {
        Record::Booked { receipt, .. } => Some(receipt.total().seconds()),
        _ => None,
    });
    assert_eq!(receipts.collect::<Vec<_>>(), [100.0]);
}

#[test]
fn a_leg_that_its_site_does_not_accept_is_told_before_the_run() {
    let text = "name = \"long\"\n[provisioning]\n[[site]]\nname = \"york\"\ncores = 1\nlongest = \"1 h\"\n[[site]]\nname = \"leeds\"\ncores = 1\n\
                [[user]]\nname = \"pair\"\nstrategy = \"coallocate\"\nlegs = [\"york\", \"leeds\"]\n\
                [[workload]]\nsource = \"table\"\n[[workload.job]]\n\
                tasks = [{ runtime = \"61 min\", cores = 1 }, { runtime = \"61 min\", cores = 1 }]\n";
    let topology = read(text);
    let error = build_actors(&topology, &Roster::of_topology(&topology).all()).err().unwrap().to_string();
    assert!(error.contains("its leg is at york, which accepts up to 1 h"), "{error}");
}

/// The ends of all negotiations, with their reasons.
pub fn bargains(log: &[Entry<Record>]) -> Vec<(Bargain, Option<Reason>)> {
    let bargained = log.iter().filter_map(|entry| match entry.record {
        Record::Bargained { end, why, .. } => Some((end, why)),
        _ => None,
    });
    bargained.collect()
}

/// A crowd holds all four cores until 100 s. The first job wants its four cores at 10 + 90 = 100 s and has them until
/// 160 s. The second wants them at 20 + 90 = 110 s; they are free again at 160 s. The third wants them at 120 s and
/// must have ended at 30 + 219 = 249 s: the next free 30 s begin at 220 s, so it joins the queue, and starts then all
/// the same. With a second more it is booked.
#[test]
fn a_reservation_starts_when_it_is_wanted_or_as_soon_after_as_it_can() {
    let run = |deadline: u32| {
        let hurried = format!("strategy = \"reserve\"\nalpha = 0.0\nahead = \"90 s\"\ndeadline = \"{deadline} s\"");
        let minute = "tasks = [{ runtime = \"60 s\", cores = 4 }]";
        let users: &Users<'_> = &[
            ("", &[(0, "tasks = [{ runtime = \"100 s\", cores = 4 }]")]),
            ("strategy = \"reserve\"\nalpha = 0.0\nahead = \"90 s\"", &[(10, minute), (20, minute)]),
            (&hurried, &[(30, "tasks = [{ runtime = \"30 s\", cores = 4 }]")]),
        ];
        let (rows, log) = schedule(&["cores = 4"], users);
        assert_eq!(
            rows.iter().map(|row| (row.2, row.3)).collect::<Vec<_>>(),
            [(0.0, 100.0), (100.0, 160.0), (160.0, 220.0), (220.0, 250.0)]
        );
        *bargains(&log).last().unwrap()
    };
    assert_eq!(run(219), (Bargain::Refused, Some(Reason::PastDeadline)));
    assert_eq!(run(220), (Bargain::Booked, None));
}

/// Only the second site has six cores: they are booked for 100 s from 590 s on. The pair wants a minute at both sites
/// from 5 + 595 = 600 s on. The first would admit that; the second has no room before 690 s. So both tasks start then
/// and end at 750 s, which is 745 s after the arrival.
#[test]
fn tasks_at_several_sites_start_together_when_they_are_wanted() {
    let run = |deadline: u32| {
        let pair = format!(
            "strategy = \"coallocate\"\nlegs = [\"site-0\", \"site-1\"]\nahead = \"595 s\"\ndeadline = \"{deadline} s\""
        );
        let two = "tasks = [{ runtime = \"60 s\", cores = 4 }, { runtime = \"60 s\", cores = 4 }]";
        let users: &Users<'_> = &[
            (
                "strategy = \"reserve\"\nalpha = 0.0\nahead = \"590 s\"",
                &[(0, "tasks = [{ runtime = \"100 s\", cores = 6 }]")],
            ),
            (&pair, &[(5, two)]),
        ];
        let (rows, log) = schedule(&["cores = 4", "cores = 6"], users);
        let rows: Vec<_> = rows.into_iter().map(|row| (row.1, row.2, row.3)).collect();
        (rows, *bargains(&log).last().unwrap())
    };
    let reserved = (1, 590.0, 690.0);
    assert_eq!(run(745), (vec![reserved, (0, 690.0, 750.0), (1, 690.0, 750.0)], (Bargain::Booked, None)));
    assert_eq!(run(744), (vec![(0, 590.0, 690.0)], (Bargain::Refused, Some(Reason::PastDeadline))));
}

/// The second of three jobs reserves: it wants both cores at 1 + 200 = 201 s. The third would start after it in a
/// queue; so it starts at 100 s, when the first ends.
#[test]
fn one_job_of_three_reserves() {
    let text = "name = \"shares\"\n[provisioning]\n[[site]]\nname = \"york\"\ncores = 2\n[[user]]\nname = \"crowd\"\n\
                [[user]]\nname = \"booker\"\nstrategy = \"reserve\"\nalpha = 0.0\nahead = \"200 s\"\n\
                [[workload]]\nsource = \"table\"\nusers = [\"crowd\", \"booker\"]\nshares = [2, 1]\n\
                [[workload.job]]\ntasks = [{ runtime = \"100 s\", cores = 2 }]\n\
                [[workload.job]]\narrive = \"1 s\"\ntasks = [{ runtime = \"50 s\", cores = 2 }]\n\
                [[workload.job]]\narrive = \"2 s\"\ntasks = [{ runtime = \"10 s\", cores = 2 }]\n";
    let (rows, _) = rows(&read(text));
    let rows: Vec<_> = rows.iter().map(|row| (row.0.as_str(), row.2, row.3)).collect();
    assert_eq!(rows, [("0.0", 0.0, 100.0), ("2.0", 100.0, 110.0), ("1.0", 201.0, 251.0)]);
}
