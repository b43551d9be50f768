//! Whole runs of small sets of jobs, worked by hand and by two other programs.

use super::super::{Cluster, Timed, bounded_stretch, compute_bound, measure_underutilisation, run_alone, run_on};
use super::{algorithm, timed};
use crate::grid::Images;
use crate::grid::sharing::measures::to_seconds;
use crate::time::{Span, Time};

const A: [(u64, u64, u32, f64, f64); 4] =
    [(0, 300, 2, 1.0, 0.5), (0, 1000, 1, 0.5, 0.6), (20, 40, 1, 1.0, 0.5), (30, 100, 2, 0.5, 0.3)];
const B: [(u64, u64, u32, f64, f64); 4] =
    [(0, 2000, 1, 1.0, 0.5), (100, 2000, 1, 1.0, 0.3), (500, 900, 2, 0.5, 0.4), (550, 30, 1, 1.0, 0.2)];

/// Ends in seconds, normalised underutilisation, preemptions and migrations, and gigabytes of each for nodes of 8 GB.
type Expected = ([f64; 4], f64, (u64, u64), (f64, f64));

fn check(set: &[(u64, u64, u32, f64, f64)], name: &str, expected: Expected) {
    let jobs = timed(set);
    let outcome = run_alone(algorithm(name), 2, &jobs, |_, _, _| {});
    let ends: Vec<Time> = outcome.ends.iter().map(|end| end.expect("all jobs end")).collect();
    for (end, expected) in ends.iter().zip(expected.0) {
        let is_near = (to_seconds(end.since(Time::ZERO)) - expected).abs() < 1e-6;
        assert!(is_near, "{name} ends jobs at {ends:?}, not {expected}");
    }
    let usage = measure_underutilisation(2, jobs.into_iter().zip(ends));
    assert!((usage.missed_per_work() - expected.1).abs() < 1e-6, "{name} leaves {}", usage.missed_per_work());
    let moves = outcome.moves;
    assert_eq!((moves.preemptions, moves.migrations), expected.2, "{name}");
    let gigabytes = (8.0 * moves.paused, 8.0 * moves.migrated);
    let is_near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(is_near(gigabytes.0, expected.3.0) && is_near(gigabytes.1, expected.3.1), "{name} moves {gigabytes:?}");
}

#[test]
fn set_a_equals_the_worked_example() {
    let none = ((0, 0), (0.0, 0.0));
    check(&A, "Greedy */opt=min", ([390.0, 1390.0, 100.0, 250.0], 0.032258, none.0, none.1));
    check(&A, "GreedyP */opt=min", ([745.0, 1000.0, 75.0, 145.0], 0.304435, none.0, none.1));
    check(&A, "GreedyPM */opt=min", ([600.0, 1740.0, 460.0, 130.0], 0.427419, (2, 0), (8.8, 0.0)));
    check(&A, "MCB8 */opt=min", ([1360.0, 1790.0, 510.0, 180.0], 1.366935, (2, 4), (8.8, 24.0)));
    check(&A, "MCB8/per/opt=min", ([1540.0, 2180.0, 930.0, 180.0], 1.741935, (3, 3), (16.8, 16.8)));
    check(&A, "/per/opt=min", ([1200.0, 2200.0, 1260.0, 1320.0], 1.459677, (0, 2), (0.0, 9.6)));
    let ends = [1200.0, 2200.0, 1259.887640, 1350.564972];
    check(&A, "/stretch-per/opt=max", (ends, 1.484281, (0, 2), (0.0, 9.6)));
}

#[test]
fn set_b_equals_the_worked_example() {
    check(&B, "GreedyPM */per/opt=min", ([2700.0, 3470.0, 2320.0, 620.0], 0.231237, (0, 5), (0.0, 13.6)));
    check(&B, "GreedyPM */per/opt=min/minvt=600", ([2450.0, 2580.0, 1880.0, 625.0], 0.0, (0, 0), (0.0, 0.0)));
    check(&B, "MCB8 */opt=min", ([2580.0, 3210.0, 2210.0, 610.0], 0.154158, (0, 5), (0.0, 13.6)));
    check(&B, "MCB8/per/opt=min", ([2700.0, 3450.0, 2275.0, 610.0], 0.227181, (0, 5), (0.0, 13.6)));
    check(&B, "/per/opt=min", ([3165.0, 3365.0, 1995.0, 660.0], 0.304260, (0, 2), (0.0, 5.6)));
    let ends = [3413.509357, 3599.223642, 2522.461349, 696.923077];
    check(&B, "/stretch-per/opt=max", (ends, 0.402177, (0, 2), (0.0, 6.4)));
}

#[test]
fn a_log_contains_each_step() {
    let mut log: Vec<String> = Vec::new();
    run_alone(algorithm("GreedyPM */opt=min"), 2, &timed(&A), |now, cluster, changes| {
        let jobs = |placed: &[super::super::Placed]| {
            placed.iter().map(|placed| format!("{} {:?}", placed.job.job, placed.places)).collect::<Vec<_>>()
        };
        let paused: Vec<String> = changes.paused.iter().map(|job| job.job.to_string()).collect();
        let yields: Vec<f64> = cluster.live().iter().map(|live| live.share).collect();
        log.push(format!(
            "{} start {:?} resume {:?} pause {:?} yields {yields:?}",
            now.seconds(),
            jobs(&changes.started),
            jobs(&changes.resumed),
            paused
        ));
    });
    let expected = [
        r#"0 start ["0 [(1, 2)]", "1 [(0, 1)]"] resume [] pause [] yields [0.5, 1.0]"#,
        r#"20 start ["2 [(0, 1)]"] resume [] pause ["1"] yields [0.5, 0.0, 1.0]"#,
        r#"30 start ["3 [(0, 2)]"] resume [] pause ["2"] yields [0.5, 0.0, 0.0, 1.0]"#,
        r#"130 start [] resume ["2 [(0, 1)]"] pause [] yields [0.5, 0.0, 1.0]"#,
        r#"460 start [] resume ["1 [(0, 1)]"] pause [] yields [0.5, 1.0]"#,
        r#"600 start [] resume [] pause [] yields [1.0]"#,
        r#"1740 start [] resume [] pause [] yields []"#,
    ];
    assert_eq!(log, expected);
}

/// Job 0 has 50 s alone, is paused for job 1 and resumes at 100 s, together with job 2, with a penalty until 200 s. Job
/// 3 needs the memory of either at 190 s. By progress, job 0 has a priority of 190/50^2 and job 2 one of 90/90^2, so
/// job 2 is paused; it resumes at 250 s and has 110 s left from 350 s on. By yield, job 0 has 140 s of virtual time and
/// a priority of 190/140^2, which is less, so job 0 is paused; it has 250 s left from 350 s on.
#[test]
fn a_job_under_the_penalty_is_paused_first_if_its_virtual_time_runs_on() {
    let jobs = timed(&[(0, 300, 1, 0.5, 0.4), (50, 50, 1, 0.5, 0.7), (100, 200, 1, 0.5, 0.4), (190, 60, 1, 0.5, 0.6)]);
    let ends = |name: &str| {
        let outcome = run_alone(algorithm(name), 1, &jobs, |_, _, _| {});
        assert_eq!((outcome.moves.preemptions, outcome.moves.migrations), (2, 0));
        outcome.ends.into_iter().map(|end| to_seconds(end.expect("all end").since(Time::ZERO))).collect::<Vec<f64>>()
    };
    assert_eq!(ends("GreedyP */penalty=100"), [450.0, 100.0, 460.0, 250.0]);
    assert_eq!(ends("GreedyP */penalty=100/vt=yield"), [600.0, 100.0, 300.0, 250.0]);
}

/// The third job makes the first one move to node 4 with both of its tasks, the last one makes one of these move on.
#[test]
fn a_job_that_is_moved_again_still_waits_for_transfers_under_way() {
    let jobs = timed(&[
        (0, 5_000, 2, 0.1, 0.3),
        (90, 5_000, 1, 1.0, 0.6),
        (100, 5_000, 3, 0.1, 0.75),
        (110, 5_000, 1, 0.1, 0.5),
    ]);
    let moves = |name: &str, millis: u64| {
        // An image of the first job takes three tenths of that.
        let images = Images { memory_kb: 1_000_000, bandwidth: 8_000_000_000_000 / millis };
        let mut moves = Vec::new();
        run_on(Cluster::new(algorithm(name), 5).moving(Some(images)), &jobs, |now, _, changes| {
            let seconds = |time: Time| time.micros() / 1_000_000;
            let all = changes.migrated.iter().map(|placed| {
                assert_eq!(placed.job.job.0, 0);
                (seconds(now), placed.places.clone(), placed.moved, seconds(placed.from))
            });
            moves.extend(all);
        });
        moves.truncate(2);
        moves
    };
    let both = vec![(4, 2)];
    let apart = vec![(2, 1), (4, 1)];
    let expected = |first, second| [(100, both.clone(), 2, first), (110, apart.clone(), 1, second)];
    assert_eq!(moves("GreedyPM */penalty=0", 1_000_000), expected(700, 700));
    assert_eq!(moves("GreedyPM */penalty=400", 1_000_000), expected(1_100, 1_100));
    // The transfers under way take less time than those that start then.
    assert_eq!(moves("GreedyPM */penalty=0", 20_000), expected(112, 116));
    assert_eq!(moves("GreedyPM */penalty=400", 20_000), expected(512, 516));
}

#[test]
fn yields_of_a_stretch_equal_the_worked_ones() {
    let mut yields = Vec::new();
    run_alone(algorithm("/stretch-per/opt=max"), 2, &timed(&B), |now, cluster, _| {
        if now == Time::ZERO + Span::from_secs(600) {
            yields = cluster.live().iter().map(|live| live.share).collect();
        }
    });
    for (got, expected) in yields.iter().zip([5.0 / 6.0, 11.0 / 21.0, 1.0 / 3.0, 13.0 / 42.0]) {
        assert!((got - expected).abs() < 1e-9, "{yields:?}");
    }
}

#[test]
fn the_bound_equals_the_worked_one() {
    let near = |nodes, jobs: &[Timed], expected: f64| {
        let found = compute_bound(nodes, jobs);
        let is_between = found.lo <= expected && expected <= found.hi + 1e-9 && found.hi - found.lo <= 1e-3 * found.lo;
        assert!(is_between, "{found:?} does not hold {expected}");
    };
    near(2, &timed(&A), 24.8 / 19.0);
    near(2, &timed(&B), 1.2325);
    near(1, &timed(&SHARED), 17.0 / 6.0);
    // A single job needs only its run time.
    assert_eq!(compute_bound(1, &timed(&[(0, 4, 1, 1.0, 0.1)])).hi, 1.0);
}

/// Jobs of one node, which all end at once if they share it equally.
const SHARED: [(u64, u64, u32, f64, f64); 4] =
    [(0, 300, 1, 1.0, 0.1), (0, 300, 1, 1.0, 0.1), (300, 150, 1, 1.0, 0.1), (450, 100, 1, 1.0, 0.1)];

#[test]
fn equal_sharing_stretches_no_job_beyond_the_number_of_jobs() {
    let jobs = timed(&SHARED);
    let outcome = run_alone(algorithm("Greedy */opt=min"), 1, &jobs, |_, _, _| {});
    let stretches = jobs.iter().zip(&outcome.ends).map(|(job, end)| {
        let end = end.expect("all jobs end");
        assert_eq!(end, Time::ZERO + Span::from_secs(850));
        bounded_stretch(end - job.submit, job.runtime)
    });
    let expected = [17.0 / 6.0, 17.0 / 6.0, 11.0 / 3.0, 4.0];
    assert!(stretches.zip(expected).all(|(stretch, expected)| (stretch - expected).abs() < 1e-9));
}

#[test]
fn the_worst_case_of_equal_sharing_is_as_bad_as_proved() {
    for k in [4_u64, 6, 9] {
        // Run times, times 2520 k, are whole numbers for these.
        let factor = 2_520;
        let runtime = |i: u64| factor * (k - 1) / if i <= 2 { 1 } else { i - 1 };
        let mut release = 0;
        let jobs: Vec<_> = (1..=k)
            .map(|i| {
                release += if i <= 2 { 0 } else { runtime(i - 1) };
                (release, runtime(i), 1, 1.0, 0.1)
            })
            .collect();
        let jobs = timed(&jobs);
        let outcome = run_alone(algorithm("Greedy */opt=min"), 1, &jobs, |_, _, _| {});
        let end = Time::ZERO + Span::from_secs(release + factor * k);
        assert!(
            outcome
                .ends
                .iter()
                .all(|ended| ended.is_some_and(|ended| ended.since(end).max(end.since(ended)).micros() < 10))
        );
        let last = jobs[k as usize - 1];
        assert!((bounded_stretch(end - last.submit, last.runtime) - k as f64).abs() < 1e-6);
        let expected = 2.0 + (2..k).map(|i| 1.0 / i as f64).sum::<f64>();
        let found = compute_bound(1, &jobs);
        assert!(found.lo <= expected && expected <= found.hi + 1e-6, "{found:?} does not hold {expected}");
    }
}
