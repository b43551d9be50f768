//! The paper's two worked examples, as exact arithmetic has them.

use super::super::schedule::task_ranks;
use super::*;

/// Site, start and end, in the paper's own numbers.
fn placed(schedule: &Schedule) -> Vec<(u32, f64, f64)> {
    schedule.placed.iter().map(|placed| (placed.site + 1, placed.start, placed.end)).collect()
}

fn list(schedule: &Schedule) -> Vec<u32> {
    schedule.list.iter().map(|task| task + 1).collect()
}

fn assert_flows(problem: &Problem, replay: &Replay, expected: &[(u32, u32, f64, f64)]) {
    for &(from, to, release, end) in expected {
        let edge = problem.edges().position(|edge| (edge.0 + 1, edge.1 + 1) == (from, to)).unwrap();
        let moved = replay.moved[edge].unwrap();
        let fits = release.is_nan() || close(moved.release, release);
        assert!(fits && close(moved.end, end), "{from}-{to}: {moved:?}, expected {release}-{end}");
    }
    let all = replay.moved.iter().flatten().count();
    assert!(expected.len() <= all, "{all} transfers");
}

#[test]
fn six_tasks_are_planned_as_published() {
    let problem = problem(&six_tasks(), Law::Ideal, Wiring::FullDuplex);
    let costs = TransferTimes::of_problem(&problem);
    assert_eq!(task_ranks(&problem, &costs), [41.0, 29.0, 32.0, 15.0, 19.0, 7.0]);
    let schedule = plan_schedule(&problem, &costs);
    assert_eq!(list(&schedule), [1, 3, 2, 5, 4, 6]);
    let expected = [(1, 0.0, 3.0), (3, 6.0, 9.0), (1, 3.0, 6.0), (3, 9.0, 11.0), (2, 14.0, 17.0), (2, 17.0, 25.0)];
    assert_eq!(placed(&schedule), expected);
    assert_eq!(schedule.makespan, 25.0);
}

#[test]
fn six_tasks_stretch_to_32() {
    let problem = problem(&six_tasks(), Law::Ideal, Wiring::FullDuplex);
    let replay =
        replay_plan(&problem, &plan_schedule(&problem, &TransferTimes::of_problem(&problem)), Replaying::default());
    assert_flows(&problem, &replay, &[(1, 2, 3.0, 6.0), (3, 5, 6.0, 20.0), (4, 6, 11.0, 20.0), (2, 5, 9.0, 21.0)]);
    assert!(close(replay.makespan, 32.0), "{}", replay.makespan);
}

#[test]
fn six_tasks_stretch_further_under_tcp() {
    let problem = problem(&six_tasks(), Law::Tcp, Wiring::FullDuplex);
    let schedule = plan_schedule(&problem, &TransferTimes::of_problem(&problem));
    let exact = replay_plan(&problem, &schedule, Replaying::default());
    assert_flows(&problem, &exact, &[(4, 6, 11.0, 21.0), (3, 5, 6.0, 277.0 / 12.0), (2, 5, 9.0, 281.0 / 12.0)]);
    assert!(close(exact.makespan, 413.0 / 12.0), "{}", exact.makespan);

    // The paper prints 34.38, which comes out if a period is cut to whole seconds.
    let cut = Replaying { period_rounding: PeriodRounding::WholeSeconds, ..Replaying::default() };
    let cut = replay_plan(&problem, &schedule, cut);
    assert!(close(cut.makespan, 34.380_952_380_952), "{}", cut.makespan);
}

#[test]
fn six_tasks_are_a_fixed_point() {
    for (_, law) in Law::ALL {
        let improved = improve_plan(&problem(&six_tasks(), law, Wiring::FullDuplex), Improvement::default());
        assert_eq!((improved.best, improved.cycle), (0, Some(Cycle { first: 0, period: 1 })));
        assert_eq!(improved.rounds.len(), 1);
    }
}

#[test]
fn ten_tasks_are_planned_as_published() {
    let problem = problem(&ten_tasks(), Law::Ideal, Wiring::FullDuplex);
    let costs = TransferTimes::of_problem(&problem);
    let expected = [108.0, 77.0, 80.0, 80.0, 69.0, 190.0 / 3.0, 128.0 / 3.0, 107.0 / 3.0, 133.0 / 3.0, 44.0 / 3.0];
    assert!(task_ranks(&problem, &costs).iter().zip(expected).all(|(rank, expected)| close(*rank, expected)));
    let schedule = plan_schedule(&problem, &costs);
    // Tasks 3 and 4 have the same rank.
    assert_eq!(list(&schedule), [1, 3, 4, 2, 5, 6, 9, 7, 8, 10]);
    let expected = [
        (3, 0.0, 9.0),
        (1, 27.0, 40.0),
        (3, 9.0, 28.0),
        (2, 18.0, 26.0),
        (3, 28.0, 38.0),
        (2, 26.0, 42.0),
        (3, 38.0, 49.0),
        (1, 57.0, 62.0),
        (2, 56.0, 68.0),
        (2, 73.0, 80.0),
    ];
    assert_eq!(placed(&schedule), expected);
    assert_eq!(schedule.makespan, 80.0);
}

#[test]
fn ten_tasks_stretch_to_102() {
    let problem = problem(&ten_tasks(), Law::Ideal, Wiring::FullDuplex);
    let replay =
        replay_plan(&problem, &plan_schedule(&problem, &TransferTimes::of_problem(&problem)), Replaying::default());
    let expected = [
        (1, 2, 9.0, 27.0),
        (1, 4, 9.0, 27.0),
        (1, 6, 9.0, 32.0),
        (4, 8, 35.0, 73.0),
        (5, 9, 38.0, 68.5),
        (2, 9, 40.0, 78.5),
        (7, 10, 49.0, 86.0),
        (6, 8, 51.0, 77.0),
        (8, 10, 82.0, 95.0),
    ];
    assert_flows(&problem, &replay, &expected);
    assert_eq!(replay.moved.iter().flatten().count(), expected.len());
    assert!(close(replay.tasks[8].0, 78.5) && close(replay.tasks[8].1, 90.5), "{:?}", replay.tasks[8]);
    assert!(close(replay.tasks[9].0, 95.0) && close(replay.tasks[9].1, 102.0), "{:?}", replay.tasks[9]);
}

#[test]
fn ten_tasks_stretch_further_under_tcp() {
    let problem = problem(&ten_tasks(), Law::Tcp, Wiring::FullDuplex);
    let replay =
        replay_plan(&problem, &plan_schedule(&problem, &TransferTimes::of_problem(&problem)), Replaying::default());
    let any = f64::NAN;
    let expected = [
        (1, 4, any, 30.0),
        (1, 6, any, 110.0 / 3.0),
        (5, 9, any, 1564.0 / 21.0),
        (2, 9, any, 3569.0 / 42.0),
        (4, 8, any, 89.0),
        (6, 8, any, 89.0),
        (7, 10, any, 3841.0 / 42.0),
        (8, 10, any, 326.0 / 3.0),
    ];
    assert_flows(&problem, &replay, &expected);
    assert!(close(replay.tasks[9].0, 326.0 / 3.0) && close(replay.tasks[9].1, 347.0 / 3.0));
}

/// Law, wiring, the realistic makespans, the best of them and the circle they end in.
#[test]
fn ten_tasks_improve_as_computed_in_exact_numbers() {
    type Case<'a> = (Law, Wiring, &'a [f64], usize, (usize, usize));
    let cases: [Case; 4] = [
        (Law::Ideal, Wiring::FullDuplex, &[102.0, 111.0, 91.0, 104.0], 2, (0, 4)),
        (Law::Tcp, Wiring::FullDuplex, &[347.0 / 3.0, 771.0 / 7.0, 1223.0 / 12.0, 16887.0 / 140.0], 2, (2, 2)),
        (Law::Ideal, Wiring::SidesShared, &[102.0, 111.0, 121.0, 719.0 / 6.0, 111.0], 0, (1, 4)),
        (Law::Ideal, Wiring::HalfDuplex, &[146.0, 100.0, 143.0, 117.0, 131.0, 105.0], 1, (0, 6)),
    ];
    for (law, wiring, makespans, best, (first, period)) in cases {
        let improved = improve_plan(&problem(&ten_tasks(), law, wiring), Improvement::default());
        let found: Vec<f64> = improved.rounds.iter().map(|round| round.realistic).collect();
        assert!(found.iter().zip(makespans).all(|(a, b)| close(*a, *b)), "{law:?} {wiring:?}: {found:?}");
        assert_eq!(improved.cycle, Some(Cycle { first, period }), "{law:?} {wiring:?}: {found:?}");
        assert_eq!(improved.best, best);
        assert_eq!(improved.rounds.len(), first + period);
        assert!(close(improved.replay.makespan, makespans[best]));
    }
}

#[test]
fn plans_may_be_more_pessimistic_than_what_comes_of_them() {
    let improved = improve_plan(&problem(&ten_tasks(), Law::Ideal, Wiring::FullDuplex), Improvement::default());
    let planned: Vec<f64> = improved.rounds.iter().map(|round| round.planned).collect();
    assert!(planned.iter().zip([80.0, 106.5, 100.0, 96.0]).all(|(a, b)| close(*a, b)), "{planned:?}");
}

#[test]
fn the_first_better_plan_can_be_the_last() {
    let problem = problem(&ten_tasks(), Law::Ideal, Wiring::FullDuplex);
    let how = Improvement { stop: StopReason::FirstBetter(50), ..Improvement::default() };
    let improved = improve_plan(&problem, how);
    assert_eq!((improved.rounds.len(), improved.best, improved.cycle), (3, 2, None));
    let none = improve_plan(&problem, Improvement { stop: StopReason::Fixed(0), ..Improvement::default() });
    assert_eq!((none.rounds.len(), none.best, none.cycle), (1, 0, None));
}
