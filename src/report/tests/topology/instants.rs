//! Order of events within an instant.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;

use super::meeting::run;
use super::{cases, load_text};
use hansa_sim::grid::{JobId, Multifactor, QueueOrder};
use hansa_sim::protocol::Record;
use hansa_sim::roles::queue;
use hansa_sim::time::Span;
use hansa_sim::topology::Topology;

/// Two flows share a link from 30 s on: the first, which alone would end at 110 s, ends at 190 s, the second at 210 s.
/// The fourth job is worthless from 60 s on, and keeps the fifth from the free core.
const BLOCKED: &str = r#"name = "blocked"
[market]
policy = "fifo"
tick = "1 s"
[[site]]
name = "york"
cores = 3
kind = "A"
[[site]]
name = "bath"
cores = 2
kind = "B"
[[link]]
name = "wire"
capacity = "10 B/s"
between = ["york", "bath"]
[[user]]
name = "alice"
[[workload]]
source = "table"
[[workload.job]]
tasks = [{ runtime = "10 s", cores = 1, kind = "A" }, { runtime = "1 s", cores = 1, kind = "B" }]
edges = [[0, 1, 1000]]
[[workload.job]]
tasks = [{ runtime = "30 s", cores = 1, kind = "A" }, { runtime = "1 s", cores = 1, kind = "B" }]
edges = [[0, 1, 1000]]
[[workload.job]]
tasks = [{ runtime = "500 s", cores = 1, kind = "A" }]
[[workload.job]]
arrive = "40 s"
tasks = [{ runtime = "10 s", cores = 3, kind = "A" }]
worth = { max = 1.0, initial = 1.0, final = 2.0 }
[[workload.job]]
arrive = "45 s"
tasks = [{ runtime = "7 s", cores = 1, kind = "A" }]
"#;

fn when(text: &str, what: impl Fn(&Record) -> bool) -> Vec<u64> {
    let log = run(&load_text(text, &[]).unwrap());
    log.iter().filter(|entry| what(&entry.record)).map(|entry| entry.stamp.time.micros() / 1_000_000).collect()
}

#[test]
fn a_market_is_cleared_when_data_arrives_and_not_when_it_was_once_expected() {
    let delivered = when(BLOCKED, |record| matches!(record, Record::Delivered { .. }));
    assert_eq!(delivered, [190, 210]);
    assert_eq!(when(BLOCKED, |record| matches!(record, Record::Removed { .. })), [190]);
    let fifth = |record: &Record| matches!(record, Record::Started { task, .. } if task.job.0 == 4);
    assert_eq!(when(BLOCKED, fifth), [190]);
}

#[test]
fn a_reservation_may_be_cancelled_in_the_instant_of_its_request() {
    let text = r#"name = "withdrawn"
[reservation]
policy = "ff"
[[site]]
name = "york"
cores = 10
[[user]]
name = "alice"
[[workload]]
source = "requests"
[[workload.request]]
arrive = "5 s"
ready = "10 s"
duration = "6 s"
nodes = 4
cancel = "5 s"
[[workload.request]]
arrive = "5 s"
ready = "10 s"
duration = "6 s"
nodes = 7
deadline = "16 s"
[[workload.request]]
arrive = "6 s"
ready = "10 s"
duration = "6 s"
nodes = 7
deadline = "16 s"
"#;
    assert_eq!(when(text, |record| matches!(record, Record::Cancelled { job } if job.0 == 0)), [5]);
    // The requests of that instant have been answered by then.
    let starts = |job| when(text, move |record| matches!(record, Record::Started { task, .. } if task.job.0 == job));
    assert_eq!([0, 1, 2].map(starts), [vec![], vec![], vec![10]]);
}

/// A queue in which the order of one instant matters: at 10 s the first job ends, and the third comes.
const SHORTER_AS_ONE_ENDS: &str = r#"name = "shorter-as-one-ends"
[batch]
[[site]]
name = "york"
cores = 4
scheduler = "fcfs"
order = "shortest"
[[user]]
name = "alice"
[[workload]]
source = "table"
[[workload.job]]
tasks = [{ runtime = "10 s", cores = 1 }]
[[workload.job]]
arrive = "5 s"
tasks = [{ runtime = "10 s", cores = 4 }]
[[workload.job]]
arrive = "10 s"
tasks = [{ runtime = "5 s", cores = 1 }]
"#;

/// Start of each job, with this much time taken off.
fn starts(topology: &Topology, shift: Span) -> BTreeMap<JobId, u64> {
    let started = |(at, record): (u64, &Record)| match record {
        Record::Started { task, .. } => Some((task.job, at - shift.micros())),
        _ => None,
    };
    let log = run(topology);
    log.iter().map(|entry| (entry.stamp.time.micros(), &entry.record)).filter_map(started).collect()
}

/// Gives the site and the users of a grid these latencies. Everything at the site is later by their sum.
fn with_latencies(grid: &Topology, site: u64, user: u64) -> (Topology, Span) {
    let mut topology = grid.clone();
    let shift = Span::from_secs(site + user);
    topology.sites[0].latency = Span::from_secs(site);
    topology.users.iter_mut().for_each(|one| one.latency = Span::from_secs(user));
    for reserved in &mut topology.sites[0].reserved {
        (reserved.from, reserved.until) = (reserved.from + shift, reserved.until + shift);
    }
    (topology, shift)
}

#[test]
fn a_job_that_comes_as_another_ends_is_ranked_before_the_next_one_starts() {
    let grid = load_text(SHORTER_AS_ONE_ENDS, &[]).unwrap();
    for (site, user) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let (topology, shift) = with_latencies(&grid, site, user);
        let starts: Vec<u64> = starts(&topology, shift).into_values().map(|start| start / 1_000_000).collect();
        assert_eq!(starts, [0, 15, 10], "{site} s and {user} s");
    }
}

proptest! {
    #![proptest_config(cases(if cfg!(unoptimised) { 20 } else { 200 }))]

    /// Latency delays a queue, and changes nothing else about it.
    #[test]
    fn queues_do_the_same_with_and_without_latency(
        jobs in prop::collection::vec((0u64..25, 1u32..=6, 1u64..14, 1u64..10, any::<bool>()), 1..24),
        kept in prop::option::of((0u64..40, 1u64..15, 0u32..6)),
    ) {
        let mut text = "name = \"later\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 6\n".to_owned();
        if let Some((from, lasts, node)) = kept {
            let until = from + lasts;
            let times = format!("from = \"{from} s\", until = \"{until} s\"");
            writeln!(text, "reserved = [{{ {times}, nodes = \"{node}\" }}]").unwrap();
        }
        text += "[[user]]\nname = \"ann\"\n[[user]]\nname = \"ben\"\n";
        let mut jobs = jobs;
        jobs.sort_by_key(|job| (job.4, job.0));
        for of_user in jobs.chunk_by(|one, other| one.4 == other.4) {
            let user = if of_user[0].4 { "ann" } else { "ben" };
            writeln!(text, "[[workload]]\nsource = \"table\"\nusers = [\"{user}\"]").unwrap();
            for (arrive, cores, walltime, runtime, _) in of_user {
                write!(
                    text,
                    "[[workload.job]]\narrive = \"{arrive} s\"\n\
                     tasks = [{{ runtime = \"{runtime} s\", walltime = \"{walltime} s\", cores = {cores} }}]\n"
                )
                .unwrap();
            }
        }
        let mut grid = load_text(&text, &[]).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
        // Ranks by size do not depend on the time.
        grid.sites[0].multifactor = Some(Box::new(Multifactor { job_size: 1_000, ..Multifactor::default() }));
        let orders = || QueueOrder::ALL.iter();
        for (row, (name, order, _)) in queue::ALL.iter().flat_map(|row| orders().map(move |order| (row, order))) {
            grid.sites[0].scheduler = row.name.to_owned();
            grid.sites[0].order = *order;
            let expected = starts(&grid, Span::ZERO);
            prop_assert_eq!(expected.len(), jobs.len());
            for (site, user) in [(2, 0), (0, 2), (1, 1)] {
                let (topology, shift) = with_latencies(&grid, site, user);
                let starts = starts(&topology, shift);
                prop_assert_eq!(&starts, &expected, "{} {}, {} s and {} s", row.name, name, site, user);
            }
        }
    }
}
