//! A whole grid in which messages take no time: all events of one moment are one instant, whichever process sends them.

use std::fmt::Write;

use proptest::prelude::*;

use super::super::{Algorithm, ClusterRun, Fractional, Timed, run_alone};
use super::site::{any_jobs, replay_log};
use super::timed;
use crate::grid::PenaltyRule;
use crate::play::{play_checked as play, read_text};
use crate::time::{Span, Time};
use crate::topology::Topology;

/// A user, a dispatcher and a site; messages take no time.
fn grid(scheduler: &str, nodes: u32, jobs: &[Timed]) -> Topology {
    let mut text = format!(
        "name = \"dfrs\"\n[batch]\n[[site]]\nname = \"york\"\ncores = {nodes}\nscheduler = \"{scheduler}\"\n[[user]]\nname = \"alice\"\n\
         [[workload]]\nsource = \"table\"\n"
    );
    for Timed { submit, runtime, need } in jobs {
        let [arrive, runtime] = [submit.since(Time::ZERO), *runtime].map(|span| span.micros() / 1_000_000);
        write!(
            text,
            "[[workload.job]]\narrive = \"{arrive} s\"\ntasks = [{{ runtime = \"{runtime} s\", cores = {} }}]\ncpu = {:?}\nmemory = {:?}\n",
            need.tasks, need.cpu, need.memory
        )
        .unwrap();
    }
    read_text(&text)
}

/// Checks that the grid does what the cluster does alone.
fn agree(rules: Fractional, nodes: u32, jobs: &[Timed]) {
    let log = play(&grid(&rules.to_string(), nodes, jobs));
    let replayed = replay_log(&log, nodes, jobs);
    let ClusterRun { ends, moves, .. } = run_alone(rules, nodes, jobs, |_, _, _| {});
    assert_eq!(
        (replayed.ends, replayed.preemptions, replayed.migrations),
        (ends, moves.preemptions, moves.migrations),
        "{rules}: {jobs:?}"
    );
}

#[test]
fn arrivals_at_a_tick_or_an_end_are_part_of_it() {
    let Algorithm::Dfrs(rules) = Algorithm::parse("/per/penalty=0").unwrap() else { unreachable!() };
    agree(rules, 2, &timed(&[(0, 1_000, 1, 1.0, 0.5), (600, 1_000, 1, 1.0, 0.5)]));
    // The third job ends as the last one arrives.
    let Algorithm::Dfrs(rules) = Algorithm::parse("GreedyP */per/period=20/penalty=0").unwrap() else { unreachable!() };
    let jobs = [
        (0, 26, 1, 0.25, 0.1),
        (0, 26, 4, 1.0, 0.5),
        (10, 22, 2, 0.75, 0.1),
        (20, 12, 2, 0.5, 0.6),
        (35, 1, 1, 0.25, 0.6),
    ];
    agree(rules, 3, &timed(&jobs));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 100 } else { 400 }))]

    #[test]
    fn a_grid_does_what_a_cluster_does(jobs in any_jobs(), which in 0usize..116, nodes in 1u32..5, slow in 0u64..3, pays in 0usize..3) {
        let rules = *Algorithm::all_published()[which].fractional().expect("all of these share nodes");
        let period = if rules.periodic.is_some() { Span::from_secs(20) } else { rules.period };
        let penalty = Span::from_secs(5 * slow);
        // Most arrivals coincide with a tick or an end.
        let jobs = jobs.into_iter().filter(|job| job.need.check(nodes).is_ok());
        let rounded = |at: u64| (at / 5_000_000) * 5_000_000;
        let jobs: Vec<Timed> = jobs.map(|job| Timed { submit: Time::from_micros(rounded(job.submit.micros())), ..job }).collect();
        prop_assume!(!jobs.is_empty());
        let pays = PenaltyRule::ALL[pays].1;
        agree(Fractional { period, penalty, pays, ..rules }, nodes, &jobs);
    }
}
