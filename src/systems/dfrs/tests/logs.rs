//! Whole runs of small sets of jobs, worked by hand and by two other programs.

use super::super::{measures::seconds, run, underutilisation};
use super::{algorithm, timed};
use crate::time::{Span, Time};

const A: [(u64, u64, u32, f64, f64); 4] =
    [(0, 300, 2, 1.0, 0.5), (0, 1000, 1, 0.5, 0.6), (20, 40, 1, 1.0, 0.5), (30, 100, 2, 0.5, 0.3)];
const B: [(u64, u64, u32, f64, f64); 4] =
    [(0, 2000, 1, 1.0, 0.5), (100, 2000, 1, 1.0, 0.3), (500, 900, 2, 0.5, 0.4), (550, 30, 1, 1.0, 0.2)];

/// Ends in seconds, normalised underutilisation, preemptions and migrations, gigabytes of each for nodes of 8 GB.
type Expected = ([f64; 4], f64, (u64, u64), (f64, f64));

fn check(set: &[(u64, u64, u32, f64, f64)], name: &str, expected: Expected) {
    let jobs = timed(set);
    let outcome = run(algorithm(name), 2, &jobs, |_, _, _| {});
    let ends: Vec<Time> = outcome.ends.iter().map(|end| end.expect("all jobs end")).collect();
    for (end, expected) in ends.iter().zip(expected.0) {
        let is_near = (seconds(end.since(Time::ZERO)) - expected).abs() < 1e-6;
        assert!(is_near, "{name} ends jobs at {ends:?}, not {expected}");
    }
    let usage = underutilisation(2, jobs.into_iter().zip(ends));
    assert!((usage.normalised() - expected.1).abs() < 1e-6, "{name} leaves {}", usage.normalised());
    let moves = outcome.moves;
    assert_eq!((moves.preemptions, moves.migrations), expected.2, "{name}");
    let gigabytes = (8.0 * moves.paused, 8.0 * moves.migrated);
    let is_near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(is_near(gigabytes.0, expected.3.0) && is_near(gigabytes.1, expected.3.1), "{name} moves {gigabytes:?}");
}

#[test]
fn set_a_comes_out_as_worked() {
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
fn set_b_comes_out_as_worked() {
    check(&B, "GreedyPM */per/opt=min", ([2700.0, 3470.0, 2320.0, 620.0], 0.231237, (0, 5), (0.0, 13.6)));
    check(&B, "GreedyPM */per/opt=min/minvt=600", ([2450.0, 2580.0, 1880.0, 625.0], 0.0, (0, 0), (0.0, 0.0)));
    check(&B, "MCB8 */opt=min", ([2580.0, 3210.0, 2210.0, 610.0], 0.154158, (0, 5), (0.0, 13.6)));
    check(&B, "MCB8/per/opt=min", ([2700.0, 3450.0, 2275.0, 610.0], 0.227181, (0, 5), (0.0, 13.6)));
    check(&B, "/per/opt=min", ([3165.0, 3365.0, 1995.0, 660.0], 0.304260, (0, 2), (0.0, 5.6)));
    let ends = [3413.509357, 3599.223642, 2522.461349, 696.923077];
    check(&B, "/stretch-per/opt=max", (ends, 0.402177, (0, 2), (0.0, 6.4)));
}

#[test]
fn a_log_tells_each_step() {
    let mut log: Vec<String> = Vec::new();
    run(algorithm("GreedyPM */opt=min"), 2, &timed(&A), |now, cluster, changes| {
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

#[test]
fn yields_of_a_stretch_are_those_worked() {
    let mut yields = Vec::new();
    run(algorithm("/stretch-per/opt=max"), 2, &timed(&B), |now, cluster, _| {
        if now == Time::ZERO + Span::from_secs(600) {
            yields = cluster.live().iter().map(|live| live.share).collect();
        }
    });
    for (got, expected) in yields.iter().zip([5.0 / 6.0, 11.0 / 21.0, 1.0 / 3.0, 13.0 / 42.0]) {
        assert!((got - expected).abs() < 1e-9, "{yields:?}");
    }
}

#[test]
fn a_period_as_long_as_the_penalty_may_hold_jobs_up_for_ever() {
    // The second to come is smaller, yet MCB8 puts the first elsewhere at each tick.
    let outcome = run(algorithm("MCB8 */per/opt=min/period=100/penalty=100"), 2, &timed(&A), |_, _, _| {});
    let ended = outcome.ends.iter().flatten().count();
    assert_eq!(ended == A.len(), outcome.stuck.is_none());
}
