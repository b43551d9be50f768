//! The worked examples, and random stories held against the judge.

use proptest::prelude::*;

use super::judge::{Rule, judge};
use super::{ALL, Reserved, find};
use crate::grid::{Calendar, NodeSet};
use crate::systems::batch::{Ran, Rigid, play};
use crate::time::{Span, Time};

fn second(second: u64) -> Time {
    Time::ZERO + Span::from_secs(second)
}

fn job(submit: u64, nodes: u32, walltime: u64, runtime: u64) -> Rigid {
    Rigid { submit: second(submit), nodes, walltime: Span::from_secs(walltime), runtime: Span::from_secs(runtime) }
}

fn ends(policy: &str, nodes: u32, jobs: &[Rigid]) -> Vec<u64> {
    let mut policy = (find(policy).unwrap().build)(nodes, &[]);
    play(&mut *policy, nodes, jobs).into_iter().map(|ran| ran.unwrap().end.micros() / 1_000_000).collect()
}

#[test]
fn the_worked_examples_come_out() {
    let exact = |gap: u64, list: &[(u32, u64)]| -> Vec<Rigid> {
        list.iter().zip(0..).map(|(&(nodes, runtime), number)| job(gap * number, nodes, runtime, runtime)).collect()
    };
    for policy in ["easy", "easy-count"] {
        assert_eq!(ends(policy, 4, &exact(0, &[(2, 60), (4, 30), (2, 30), (2, 50)])), [60, 90, 30, 140]);
        assert_eq!(
            ends(policy, 6, &exact(0, &[(1, 6000), (2, 70), (4, 20), (5, 20), (1, 6000)])),
            [6000, 70, 90, 6020, 6000]
        );
        assert_eq!(ends(policy, 6, &exact(1, &[(3, 660), (1, 120), (3, 1740), (1, 1080)])), [660, 121, 1861, 1740]);
    }
}

#[test]
fn a_job_ends_at_its_walltime() {
    for entry in ALL {
        assert_eq!(ends(entry.name, 2, &[job(0, 2, 10, 25), job(0, 1, 5, 5)]), [10, 15], "{}", entry.name);
    }
}

#[test]
fn policies_differ_where_they_should() {
    // Behind a job on two of three nodes wait one for all three, and then one that fits beside the first.
    let jobs = [job(0, 2, 10, 10), job(0, 3, 5, 5), job(0, 1, 10, 10), job(0, 1, 11, 11)];
    assert_eq!(ends("fcfs", 3, &jobs), [10, 15, 25, 26]);
    assert_eq!(ends("easy", 3, &jobs), [10, 15, 10, 26]);
    assert_eq!(ends("conservative", 3, &jobs), [10, 15, 10, 26]);

    // Nodes 0-1 and 3 are free for the last job, but not as long as it takes if the head must have 0-2.
    let jobs = [job(0, 2, 10, 4), job(0, 1, 20, 20), job(0, 1, 3, 3), job(1, 4, 5, 5), job(4, 1, 30, 30)];
    assert_eq!(ends("easy", 4, &jobs)[3], 25);
}

fn rule(name: &str) -> (Rule, bool) {
    let counting = name.ends_with("-count");
    let rule = match name.trim_end_matches("-count") {
        "fcfs" => Rule::Fcfs,
        "easy" => Rule::Easy,
        "conservative" => Rule::Conservative,
        "conservative-rebuild" => Rule::Rebuild,
        other => panic!("the judge has not heard of {other}"),
    };
    (rule, counting)
}

fn check(name: &str, nodes: u32, reserved: &[Reserved], jobs: &[Rigid]) -> Result<(), TestCaseError> {
    let mut policy = (find(name).unwrap().build)(nodes, reserved);
    let ran = play(&mut *policy, nodes, jobs);
    let (rule, counting) = rule(name);
    let verdict = judge(rule, counting, nodes, reserved, jobs);
    let numbers = |set: &NodeSet| set.runs().iter().flat_map(|&(first, last)| first..=last).collect::<Vec<u32>>();
    for (number, (ran, verdict)) in ran.iter().zip(&verdict).enumerate() {
        let start = ran.as_ref().map(|ran| ran.start.micros() / 1_000_000);
        prop_assert_eq!(start, verdict.as_ref().map(|verdict| verdict.0), "{}: start of job {}", name, number);
        if let Some((ran, verdict)) = ran.as_ref().zip(verdict.as_ref()) {
            prop_assert_eq!(ran.nodes.len(), jobs[number].nodes);
            prop_assert!(counting || numbers(&ran.nodes) == verdict.1, "{}: nodes of job {}", name, number);
        }
    }
    // Nobody runs where another does, or where something is reserved; where only counted, the reserved ones may be others.
    let mut calendar = Calendar::new(nodes);
    for Reserved { from, until, nodes } in reserved.iter().filter(|_| !counting) {
        calendar.insert(*from, *until, nodes).unwrap();
    }
    for Ran { start, end, nodes } in ran.iter().flatten() {
        prop_assert_eq!(calendar.insert(*start, *end, nodes), Ok(()), "{}", name);
    }
    Ok(())
}

fn jobs(width: u32) -> impl Strategy<Value = Vec<Rigid>> {
    let one = (0u64..25, 0..=width + 1, 1u64..14, 1u64..10);
    prop::collection::vec(one, 1..24).prop_map(|mut list| {
        list.sort_by_key(|one| one.0);
        // Some ask for what they need, some for more, and some are killed.
        list.into_iter().map(|(submit, nodes, walltime, runtime)| job(submit, nodes, walltime, runtime)).collect()
    })
}

fn reservations(width: u32) -> impl Strategy<Value = Vec<Reserved>> {
    prop::collection::vec((0u64..40, 1u64..15, 0..width, 1..=width), 0..4).prop_map(move |list| {
        let mut calendar = Calendar::new(width);
        let mut kept = Vec::new();
        for (from, length, first, count) in list {
            let nodes = NodeSet::run(first, (first + count - 1).min(width - 1));
            let (from, until) = (second(from), second(from + length));
            if calendar.insert(from, until, &nodes).is_ok() {
                kept.push(Reserved { from, until, nodes });
            }
        }
        kept
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 400 }))]

    #[test]
    fn every_policy_does_as_the_judge(jobs in jobs(6)) {
        for entry in ALL {
            check(entry.name, 6, &[], &jobs)?;
        }
    }

    #[test]
    fn every_policy_plans_around_what_is_reserved(jobs in jobs(5), reserved in reservations(5)) {
        for entry in ALL {
            check(entry.name, 5, &reserved, &jobs)?;
        }
    }

    /// Sets of nodes come in three kinds, by the size of the site; the schedule is the same.
    #[test]
    fn large_sites_are_like_small_ones(jobs in jobs(8)) {
        let widen = |factor: u32| -> Vec<Rigid> {
            jobs.iter().map(|job| Rigid { nodes: job.nodes * factor, ..*job }).collect()
        };
        for name in ["easy", "fcfs", "conservative", "conservative-rebuild"] {
            let ends = |factor: u32| {
                let (nodes, jobs) = (8 * factor, widen(factor));
                let mut policy = (find(name).unwrap().build)(nodes, &[]);
                let ran = play(&mut *policy, nodes, &jobs);
                ran.iter().map(|ran| ran.as_ref().map(|ran| (ran.start, ran.nodes.len() / factor))).collect::<Vec<_>>()
            };
            let small = ends(1);
            prop_assert_eq!(&ends(100), &small, "{}", name);
            prop_assert_eq!(&ends(1000), &small, "{}", name);
        }
    }
}

#[test]
fn the_counts_of_a_calendar_are_those_of_a_table() {
    use super::counts::Counts;
    let mut stream = crate::random::SplitMix64::new(3);
    for _ in 0..50 {
        let (mut counts, mut table, mut placed) = (Counts::default(), vec![0u32; 60], Vec::new());
        for _ in 0..30 {
            let (from, length, count) = (stream.int(0, 40), stream.int(1, 12), stream.int(1, 4) as u32);
            if placed.len() > 3 && stream.int(0, 2) == 0 {
                let (from, until, count): (u64, u64, u32) =
                    placed.swap_remove(stream.int(0, placed.len() as u64 - 1) as usize);
                counts.remove(second(from), second(until), count);
                (from..until).for_each(|at| table[at as usize] -= count);
            } else {
                counts.insert(second(from), second(from + length), count);
                (from..from + length).for_each(|at| table[at as usize] += count);
                placed.push((from, from + length, count));
            }
            let most =
                |from: u64, length: u64| table[from as usize..(from + length) as usize].iter().max().copied().unwrap();
            assert_eq!(counts.most(second(from), second(from + length)), most(from, length));
            let limit = stream.int(0, 5) as u32;
            let expected = (from..).find(|at| *at + length > 59 || most(*at, length) <= limit).unwrap();
            if expected + length <= 59 {
                assert_eq!(counts.earliest(second(from), Span::from_secs(length), limit), second(expected));
            }
        }
    }
}
