//! Single decisions, worked by hand.

use super::super::algorithm::{Fractional, Priority, Sort, VirtualTime};
use super::super::{TaskPlaces, greedy, mcb8, room::NodeLoads, yields};
use super::{algorithm, need};
use crate::grid::{JobId, TaskId};
use crate::systems::dfrs::{Cluster, Events, Need};
use crate::time::{Span, Time};

#[test]
fn greedy_takes_the_least_loaded_node_that_has_the_memory() {
    let room = NodeLoads { free: vec![0.5, 1.0, 0.1], load: vec![0.25, 0.5, 0.0] };
    let place = |need: Need| greedy::place_tasks(&mut room.clone(), &need);
    assert_eq!(place(need(3, 0.5, 0.3)), Some(vec![(0, 1), (1, 2)]));
    assert_eq!(place(need(4, 0.5, 0.3)), Some(vec![(0, 1), (1, 3)]));
    assert_eq!(place(need(5, 0.5, 0.4)), None);
}

/// Jobs of half a processor: `(memory, node, virtual time at 100 s)`; returns the nodes of all jobs after a new one
/// arrives, empty for paused ones.
fn after_newcomer(name: &str, jobs: &[(f64, u32, f64)], memory: f64) -> Vec<TaskPlaces> {
    let at = |secs| Time::ZERO + Span::from_secs(secs);
    let mut cluster = Cluster::new(algorithm(name), 2);
    for (number, (memory, node, done)) in jobs.iter().enumerate() {
        cluster.put(TaskId { job: JobId(number as u32), index: 0 }, need(1, 0.5, *memory), *node, done * 1e6 / 100e6);
    }
    let come = vec![(TaskId { job: JobId(9), index: 0 }, need(1, 1.0, memory))];
    cluster.advance(at(100), &Events { come, ..Events::default() });
    cluster.live().iter().map(|live| live.places.clone()).collect()
}

#[test]
fn forced_admission_displaces_the_lowest_priorities() {
    let jobs = [(0.5, 0, 50.0), (0.45, 0, 80.0), (0.45, 1, 20.0)];
    let none = TaskPlaces::new();
    let at = |node| vec![(node, 1)];
    assert_eq!(after_newcomer("GreedyP *", &jobs, 0.6), [none.clone(), none.clone(), at(1), at(0)]);
    assert_eq!(after_newcomer("GreedyPM *", &jobs, 0.6), [at(1), none.clone(), at(1), at(0)]);

    let jobs = [(0.6, 0, 50.0), (0.4, 0, 80.0), (0.7, 1, 20.0)];
    assert_eq!(after_newcomer("GreedyP *", &jobs, 0.55), [none.clone(), at(0), at(1), at(0)]);
    assert_eq!(after_newcomer("GreedyPM *", &jobs, 0.55), [none, at(0), at(1), at(0)]);
}

#[test]
fn mcb8_packs_and_searches_as_worked() {
    let needs = [need(2, 1.0, 0.2), need(2, 0.5, 0.6), need(1, 0.25, 0.4), need(1, 1.0, 0.1)];
    let jobs: Vec<_> = needs.iter().map(|need| mcb8::Candidate { need, pinned: None }).collect();
    let mut packer = mcb8::Packer::new(3, &jobs, Sort::Max);
    packer.keep(&[0, 1, 2, 3]);
    assert!(packer.pack(|job| needs[job].cpu).is_none());
    let lowest = packer.pack(|job| 0.01 * needs[job].cpu).expect("memory suffices");
    assert_eq!(lowest.places(&jobs), [vec![(1, 2)], vec![(0, 1), (1, 1)], vec![(0, 1)], vec![(2, 1)]]);

    let mut tried = 0.0;
    mcb8::bisect_highest(0.01, 1.0, |share| {
        let works = packer.pack(|job| share * needs[job].cpu).is_some();
        tried = if works { share } else { tried };
        works
    });
    assert!((tried - 0.6596875).abs() < 1e-12, "{tried}");
    let mapping = mcb8::map_jobs(3, &jobs, &[0, 1, 2, 3], Sort::Max);
    assert_eq!(mapping, [vec![(0, 1), (1, 1)], vec![(0, 1), (1, 1)], vec![(2, 1)], vec![(2, 1)]]);

    let mapped: Vec<_> = needs.iter().zip(&mapping).collect();
    near(&yields::minimum_yields(3, &mapped), &[2.0 / 3.0, 2.0 / 3.0, 0.8, 0.8]);
}

/// Two nodes. By its larger requirement the task of 0.6 and 0.1 comes before that of 0.5 and 0.4; by the sum it is the
/// other way round. The first of both shares its node with the third task.
#[test]
fn sorting_by_the_sum_fills_other_nodes() {
    let needs = [need(1, 0.6, 0.1), need(1, 0.5, 0.4), need(1, 0.4, 0.5)];
    let jobs: Vec<_> = needs.iter().map(|need| mcb8::Candidate { need, pinned: None }).collect();
    let map = |sort| mcb8::map_jobs(2, &jobs, &[0, 1, 2], sort);
    assert_eq!(map(Sort::Max), [vec![(0, 1)], vec![(1, 1)], vec![(0, 1)]]);
    assert_eq!(map(Sort::Sum), [vec![(1, 1)], vec![(0, 1)], vec![(0, 1)]]);
}

#[test]
fn spare_processors_go_to_the_lowest_yield_or_to_the_highest_sum() {
    let needs = [need(2, 1.0, 0.1), need(1, 0.5, 0.1), need(1, 0.5, 0.1), need(1, 1.0, 0.1), need(1, 1.0, 0.1)];
    let places = [vec![(0, 1), (1, 1)], vec![(0, 1)], vec![(1, 1)], vec![(2, 1)], vec![(2, 1)]];
    let mapped: Vec<_> = needs.iter().zip(&places).collect();
    near(&yields::minimum_yields(3, &mapped), &[2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 0.5, 0.5]);
    near(&yields::average_yields(3, &mapped), &[0.5, 1.0, 1.0, 0.5, 0.5]);
}

#[test]
fn virtual_time_is_the_integral_of_the_yield() {
    let mut cluster = Cluster::new(algorithm("GreedyP */penalty=0"), 1);
    let at = |secs| Time::ZERO + Span::from_secs(secs);
    let task = |number| TaskId { job: JobId(number), index: 0 };
    // 10 s alone, 120 s paused for another that then leaves, and 30 s beside a third.
    let mut happen = |secs, gone: &[TaskId], number, memory| {
        let come = vec![(task(number), need(1, 1.0, memory))];
        cluster.advance(at(secs), &Events { gone: gone.to_vec(), come, ..Events::default() });
    };
    happen(0, &[], 0, 0.4);
    happen(10, &[], 1, 0.9);
    happen(130, &[task(1)], 2, 0.4);
    let job = &cluster.live()[0];
    assert_eq!(job.virtual_time(at(160), VirtualTime::Progress), 25e6);
    let rules = algorithm("GreedyP */penalty=0");
    let priority = |priority| job.priority(at(160), &Fractional { priority, ..rules });
    assert!((priority(Priority::Square) * 1e6 - 160.0 / 625.0).abs() < 1e-12);
    assert!((priority(Priority::Stretch) - 160.0 / 25.0).abs() < 1e-12);
    assert!((priority(Priority::Inverse) * 1e6 - 1.0 / 25.0).abs() < 1e-12);
}

/// Job 0 has 10 s alone, is paused at 10 s, and resumes at 130 s beside job 2 with a penalty of 100 s: it has half the
/// node, and makes progress from 230 s on. So at 160 s it has 10 s of progress, and 15 s of yield on top of them; at
/// 250 s it has 20 s and 70 s.
#[test]
fn virtual_time_stands_still_under_the_penalty_or_runs_on() {
    let mut cluster = Cluster::new(algorithm("GreedyP */penalty=100"), 1);
    let at = |secs| Time::ZERO + Span::from_secs(secs);
    let task = |number| TaskId { job: JobId(number), index: 0 };
    let mut happen = |secs, gone: &[TaskId], number, memory| {
        let come = vec![(task(number), need(1, 1.0, memory))];
        cluster.advance(at(secs), &Events { gone: gone.to_vec(), come, ..Events::default() });
    };
    happen(0, &[], 0, 0.4);
    happen(10, &[], 1, 0.9);
    happen(130, &[task(1)], 2, 0.4);
    let job = &cluster.live()[0];
    for (secs, progress, by_yield) in [(160, 10e6, 25e6), (230, 10e6, 60e6), (250, 20e6, 70e6)] {
        assert_eq!(job.progress(at(secs)), progress);
        assert_eq!(job.virtual_time(at(secs), VirtualTime::Progress), progress);
        assert_eq!(job.virtual_time(at(secs), VirtualTime::Yield), by_yield);
    }
    // Its end depends on progress alone: 30 s are left, at half the pace.
    assert_eq!(job.end(Span::from_secs(40)), at(290));
}

/// Job 0 needs 40 s alone. It is paused at 10 s for job 1, which ends at 50 or 130 s, and resumes with the node to
/// itself: with a penalty of 100 s its last 30 s begin 100 s after its return, or after its pause.
#[test]
fn the_penalty_counts_from_the_return_or_from_the_pause() {
    let at = |secs| Time::ZERO + Span::from_secs(secs);
    let task = |number| TaskId { job: JobId(number), index: 0 };
    let end = |name: &str, back: u64| {
        let mut cluster = Cluster::new(algorithm(name), 1);
        let mut happen = |secs, events: Events| _ = cluster.advance(at(secs), &events);
        happen(0, Events { come: vec![(task(0), need(1, 1.0, 0.4))], ..Events::default() });
        happen(10, Events { come: vec![(task(1), need(1, 1.0, 0.9))], ..Events::default() });
        happen(back, Events { gone: vec![task(1)], ..Events::default() });
        cluster.live()[0].end(Span::from_secs(40))
    };
    for (name, soon, late) in [
        ("GreedyP */penalty=100", 180, 260),
        ("GreedyP */penalty=100/pays=pauses", 180, 260),
        ("GreedyP */penalty=100/pays=from-pause", 140, 160),
    ] {
        assert_eq!((end(name, 50), end(name, 130)), (at(soon), at(late)), "{name}");
    }
}

/// Job 0 runs on node 0, and moves to node 1 at 10 s, as job 1 needs all memory of a node with little processor load.
#[test]
fn moves_are_free_if_only_pauses_pay() {
    let at = |secs| Time::ZERO + Span::from_secs(secs);
    let task = |number| TaskId { job: JobId(number), index: 0 };
    let end = |name: &str| {
        let mut cluster = Cluster::new(algorithm(name), 2);
        let mut happen = |secs, number, memory| {
            let come = vec![(task(number), need(1, 0.5, memory))];
            cluster.advance(at(secs), &Events { come, ..Events::default() })
        };
        happen(0, 0, 0.2);
        happen(0, 1, 0.2);
        let changes = happen(10, 2, 1.0);
        assert_eq!((changes.migrated.len(), changes.paused.len()), (1, 0), "{name}");
        cluster.live().iter().map(|job| job.end(Span::from_secs(40))).max()
    };
    assert_eq!(end("GreedyPM */penalty=100"), Some(at(140)));
    assert_eq!(end("GreedyPM */penalty=100/pays=from-pause"), Some(at(140)));
    assert_eq!(end("GreedyPM */penalty=100/pays=pauses"), Some(at(50)));
}

fn near(got: &[f64], expected: &[f64]) {
    let is_near = got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(is_near, "{got:?} are not {expected:?}");
}
