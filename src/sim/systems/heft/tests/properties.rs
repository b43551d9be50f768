//! Properties of every plan and replay.

use proptest::prelude::*;

use super::*;
use crate::grid::{Edge, Kind, Task};
use crate::network::Flows;
use crate::random::SplitMix64;
use crate::time::{Span, Time};
use crate::workload::layered::Shape;

fn shapes() -> impl Strategy<Value = (Shape, u64)> {
    let shape = (2u32..40, 0.05..1.0f64, 0.0..1.0f64, 0.0..1.0f64, 1u32..5);
    (shape, any::<u64>()).prop_map(|((tasks, fat, density, regularity, jump), seed)| {
        (Shape { tasks, fat, density, regularity, jump }, seed)
    })
}

fn drawn(shape: Shape, seed: u64, processors: usize) -> CostTable {
    let mut stream = SplitMix64::new(seed);
    shape.draw(&mut stream).costs(processors, 10, 40, &mut stream)
}

fn times(schedule: &Schedule) -> Vec<(f64, f64)> {
    schedule.placed.iter().map(|placed| (placed.start, placed.end)).collect()
}

/// No core runs two tasks at once, no task starts before what it needs is there.
fn check(problem: &Problem, schedule: &Schedule, replay: &Replay) {
    for sequence in &schedule.sequences {
        for pair in sequence.windows(2) {
            let before = pair[0] as usize;
            let after = pair[1] as usize;
            assert!(schedule.placed[before].end <= schedule.placed[after].start + 1e-6, "planned");
            assert!(replay.tasks[before].1 <= replay.tasks[after].0 + 1e-6, "replayed");
        }
    }
    for (edge, (from, to, _)) in problem.edges().enumerate() {
        let there = replay.moved[edge].map_or(replay.tasks[from as usize].1, |moved| moved.end);
        assert!(there <= replay.tasks[to as usize].0 + 1e-6, "{from}-{to}");
        assert_eq!(
            replay.moved[edge].is_some(),
            schedule.placed[from as usize].site != schedule.placed[to as usize].site
        );
    }
    for (task, placed) in schedule.placed.iter().enumerate() {
        assert_eq!(placed.cores.len(), problem.needs[task] as usize);
        let time = problem.run(task, placed.site as usize);
        assert!((replay.tasks[task].1 - replay.tasks[task].0 - time).abs() < 1e-6);
    }
}

/// HEFT as its paper tells it, slowly: every gap of every processor is looked at.
fn judge(table: &CostTable) -> Vec<(usize, f64, f64)> {
    let tasks = table.run.len();
    let processors = table.run[0].len();
    let mut ranks = vec![0.0f64; tasks];
    for task in (0..tasks).rev() {
        let mean = table.run[task].iter().sum::<f64>() / processors as f64;
        let after = table.edges.iter().filter(|edge| edge.0 as usize == task);
        ranks[task] = mean + after.map(|edge| edge.2 + ranks[edge.1 as usize]).fold(0.0, f64::max);
    }
    let mut order: Vec<usize> = (0..tasks).collect();
    order.sort_by_key(|&task| (-(ranks[task] * 1e6).round() as i64, task));
    let mut placed = vec![(0, 0.0, 0.0); tasks];
    let mut busy: Vec<Vec<(f64, f64)>> = vec![Vec::new(); processors];
    for task in order {
        let mut best = (0, 0.0, f64::INFINITY);
        for (processor, busy) in busy.iter().enumerate() {
            let inputs = table.edges.iter().filter(|edge| edge.1 as usize == task).map(|edge| {
                let (site, _, end) = placed[edge.0 as usize];
                end + if site == processor { 0.0 } else { edge.2 }
            });
            let ready = inputs.fold(0.0, f64::max);
            let time = table.run[task][processor];
            let after = busy.iter().map(|slot| slot.1.max(ready));
            let mut starts: Vec<f64> = after.chain([ready]).collect();
            starts.sort_by(f64::total_cmp);
            let free = |start: f64| busy.iter().all(|slot| slot.1 <= start || start + time <= slot.0 + 1e-9);
            let start = starts.into_iter().find(|start| free(*start)).unwrap();
            if start + time < best.2 - 1e-9 {
                best = (processor, start, start + time);
            }
        }
        busy[best.0].push((best.1, best.2));
        placed[task] = best;
    }
    placed
}

proptest! {
    #[test]
    fn plans_are_those_of_the_slow_judge((shape, seed) in shapes(), processors in 1usize..6) {
        let table = drawn(shape, seed, processors);
        let link = Link { capacity: 1.0, latency: 0.0, efficiency: Efficiency::None, mode: Mode::PerFlow };
        let problem = Problem::from_table(&table, apart(processors, link)).unwrap();
        let schedule = plan_schedule(&problem, &TransferTimes::of_problem(&problem));
        let found: Vec<_> = schedule.placed.iter().map(|p| (p.site as usize, p.start, p.end)).collect();
        prop_assert_eq!(found, judge(&table));

        // Where every transfer has a link to itself, what was planned is what happens.
        let alone = replay_plan(&problem, &schedule, Replaying::default());
        check(&problem, &schedule, &alone);
        for (task, planned) in times(&schedule).iter().enumerate() {
            prop_assert!(close(alone.tasks[task].0, planned.0) && close(alone.tasks[task].1, planned.1));
        }
    }

    /// The cycle is the first plan that was there before, where costs are kept together with what it leaves behind, as
    /// found by going on and comparing each round with all before it.
    #[test]
    fn a_cycle_is_told_where_it_begins((shape, seed) in shapes(), tcp in any::<bool>(), keep in any::<bool>()) {
        let law = if tcp { Law::Tcp } else { Law::Ideal };
        let update = if keep { Update::Keep } else { Update::Reset };
        let problem = problem(&drawn(shape, seed, 3), law, Wiring::FullDuplex);
        let original = TransferTimes::of_problem(&problem);
        let mut costs = original.clone();
        let mut rounds: Vec<(Vec<_>, Vec<_>)> = Vec::new();
        let mut expected = None;
        while expected.is_none() && rounds.len() <= 12 {
            let schedule = plan_schedule(&problem, &costs);
            let moved = replay_plan(&problem, &schedule, Replaying::default()).moved;
            let before = if keep { &costs } else { &original };
            let known = moved.iter().zip(&before.known).map(|(moved, known)| moved.map(|m| m.duration()).or(*known));
            costs = TransferTimes { known: known.collect() };
            let left = costs.known.iter().map(|cost| cost.map(|cost| (cost * 1e6).round())).collect();
            let round = (schedule.sequences, if keep { left } else { Vec::new() });
            let same = rounds.iter().position(|before| *before == round);
            expected = same.map(|first| Cycle { first, period: rounds.len() - first });
            rounds.push(round);
        }
        let found = improve_plan(&problem, Improvement { stop: StopReason::Fixed(12), update, ..Improvement::default() });
        prop_assert_eq!(found.cycle, expected);
    }

    #[test]
    fn sharing_only_stretches((shape, seed) in shapes()) {
        let table = drawn(shape, seed, 3);
        for (_, law) in Law::ALL {
            let problem = problem(&table, law, Wiring::FullDuplex);
            let improved = improve_plan(&problem, Improvement { stop: StopReason::Fixed(6), ..Improvement::default() });
            let first = improved.rounds[0];
            prop_assert!(first.realistic >= first.planned - 1e-6);
            prop_assert!(improved.replay.makespan <= first.realistic + 1e-9);
            prop_assert_eq!(&replay_plan(&problem, &improved.schedule, Replaying::default()), &improved.replay);
            check(&problem, &improved.schedule, &improved.replay);
        }
    }

    /// Times and volumes by a power of two, so that nothing is rounded differently.
    #[test]
    fn scaling_scales((shape, seed) in shapes()) {
        let table = drawn(shape, seed, 3);
        let mut double = table.clone();
        double.run.iter_mut().flatten().for_each(|time| *time *= 2.0);
        double.edges.iter_mut().for_each(|edge| edge.2 *= 2.0);
        let makespan = |table: &CostTable| {
            let problem = problem(table, Law::Tcp, Wiring::FullDuplex);
            replay_plan(&problem, &plan_schedule(&problem, &TransferTimes::of_problem(&problem)), Replaying::default()).makespan
        };
        let single = makespan(&table);
        let double = makespan(&double);
        prop_assert!((double - 2.0 * single).abs() < 1e-6, "{single} {double}");

        // Where data needs no time, nothing is late.
        let plain = problem(&table, Law::Ideal, Wiring::FullDuplex);
        let schedule = plan_schedule(&plain, &TransferTimes::of_problem(&plain));
        let mut wide = plain.clone();
        wide.paths.links.iter_mut().for_each(|link| link.capacity = 1e12);
        prop_assert!(replay_plan(&wide, &schedule, Replaying::default()).makespan <= schedule.makespan + 1e-6);
    }

    /// Sites with several cores, tasks that need several, links with latency: nothing overlaps, nothing is early; and
    /// in whole microseconds everything is whole.
    #[test]
    fn wide_tasks_on_many_cores((shape, seed) in shapes(), cores in prop::collection::vec(1u32..5, 1..4)) {
        let mut stream = SplitMix64::new(seed);
        let layered = shape.draw(&mut stream);
        let widest = u64::from(*cores.iter().max().unwrap());
        let tasks: Vec<Task> = (0..layered.tasks())
            .map(|_| Task::new(Span::from_micros(stream.int(1, 5_000_000)), stream.int(1, widest) as u32, Kind(0)))
            .collect();
        let edges: Vec<Edge> =
            layered.edges.iter().map(|&(from, to)| Edge { from, to, data: stream.int(0, 50_000_000) }).collect();
        let sites: Vec<Resource> = cores.iter().map(|&cores| resource(cores, stream.int(500_000, 1_500_000))).collect();
        let cable = Link { capacity: 10.0, latency: 1500.0, efficiency: Efficiency::Tcp, mode: Mode::Shared };
        let routes = (0..sites.len()).map(|from| {
            (0..sites.len()).map(|to| if from == to { vec![] } else { vec![LinkId(from as u32), LinkId(4)] }).collect()
        });
        let paths = Paths::new(vec![cable; 5], routes.collect());
        let problem = Problem::from_work(Work { tasks: &tasks, edges: &edges, times: None }, &numbered(&sites), paths, Awareness::Network).unwrap();
        let how = Improvement {
            stop: StopReason::Fixed(3),
            replaying: Replaying { clock: Clock::Micros, ..Replaying::default() },
            ..Improvement::default()
        };
        let improved = improve_plan(&problem, how);
        check(&problem, &improved.schedule, &improved.replay);
        let whole = |time: f64| time.fract() == 0.0;
        prop_assert!(improved.replay.tasks.iter().all(|task| whole(task.0) && whole(task.1)));
        prop_assert!(improved.replay.moved.iter().flatten().all(|moved| whole(moved.release) && whole(moved.end)));
    }

    #[test]
    fn a_plan_goes_around_what_is_there_already((shape, seed) in shapes()) {
        let table = drawn(shape, seed, 3);
        let problem = problem(&table, Law::Ideal, Wiring::FullDuplex);
        let costs = TransferTimes::of_problem(&problem);
        let mut timetable = Timetable::new(&problem.cores);
        let before = plan_into(&problem, &costs, &mut timetable);
        timetable.advance(Time::from_micros(50));
        let after = plan_into(&problem, &costs, &mut timetable);
        prop_assert_eq!(&before, &plan_schedule(&problem, &costs));
        for core in 0..3 {
            let tasks = |schedule: &Schedule, origin: f64| {
                let times = schedule.sequences[core].iter().map(|&task| times(schedule)[task as usize]);
                times.map(|(start, end)| (origin + start, origin + end)).collect::<Vec<_>>()
            };
            let mut all: Vec<(f64, f64)> = [tasks(&before, 0.0), tasks(&after, 50.0)].concat();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            prop_assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-6));
        }
        prop_assert!(after.placed.iter().all(|placed| placed.start >= 0.0));
    }

    /// Plan after plan, each at its time, early and at the end of time: what was free before it matters to none, and
    /// what is taken out of the timetable again leaves no trace.
    #[test]
    fn what_is_past_may_be_forgotten(
        (shape, seed) in shapes(),
        apart in prop::collection::vec(0u32..150, 1..8),
        start in prop::sample::select(vec![0, (1 << 53) + 1, Time::LATEST.micros()]),
    ) {
        let mut rest = Timetable::new(&[1; 3]);
        let mut now = Time::from_micros(start);
        rest.advance(now);
        let mut placed: Vec<HeftPlacement> = Vec::new();
        for (number, apart) in (0..).zip(apart) {
            now = now + Span::from_micros(apart.into());
            let table = drawn(shape, seed.wrapping_add(number), 3);
            let problem = problem(&table, Law::Ideal, Wiring::FullDuplex);
            let costs = TransferTimes::of_problem(&problem);
            // All earlier plans, as seen from now.
            placed.iter_mut().for_each(|placed| {
                placed.start -= f64::from(apart);
                placed.end -= f64::from(apart);
            });
            placed.sort_by(|a, b| a.start.total_cmp(&b.start));
            let mut all = Timetable::new(&[1; 3]);
            all.advance(now);
            all.enter(&Schedule { placed: placed.clone(), list: vec![], sequences: vec![], makespan: 0.0 });
            let schedule = plan_into(&problem, &costs, &mut all);
            placed.extend_from_slice(&schedule.placed);

            rest.advance(now);
            let before = rest.clone();
            prop_assert_eq!(&plan_into(&problem, &costs, &mut rest), &schedule);
            rest.reset(&schedule, &before);
            prop_assert_eq!(&rest, &before);
            rest.enter(&schedule);
            schedule.placed.iter().for_each(|placed| rest.give_back(placed, now));
            let again = plan_into(&problem, &costs, &mut rest);
            for (one, other) in times(&again).into_iter().zip(times(&schedule)) {
                prop_assert!(close(one.0, other.0) && close(one.1, other.1));
            }
            rest = before;
            rest.enter(&schedule);
        }
    }

    #[test]
    fn graphs_are_as_they_were_asked_for((shape, seed) in shapes()) {
        let graph = shape.draw(&mut SplitMix64::new(seed));
        prop_assert_eq!(&graph, &shape.draw(&mut SplitMix64::new(seed)));
        prop_assert_eq!(graph.tasks(), shape.tasks);
        let level = |task: u32| graph.levels.partition_point(|first| *first <= task) - 1;
        for &(from, to) in &graph.edges {
            let back = level(to) as i64 - level(from) as i64;
            prop_assert!(back >= 1 && back <= i64::from(shape.jump), "{from}-{to} goes back {back} levels");
        }
        prop_assert!(graph.edges.windows(2).all(|pair| pair[0] < pair[1]));
        // Every task behind the first level waits for another one.
        let waits: std::collections::BTreeSet<u32> = graph.edges.iter().map(|edge| edge.1).collect();
        prop_assert_eq!(waits.len() as u32, graph.tasks() - graph.levels[1]);
    }
}

/// With a memory of costs, the loop's circle is one of plans and costs together.
#[test]
fn kept_costs_are_kept() {
    let problem = problem(&ten_tasks(), Law::Ideal, Wiring::FullDuplex);
    let reset = improve_plan(&problem, Improvement::default());
    let keep = improve_plan(&problem, Improvement { update: Update::Keep, ..Improvement::default() });
    assert_eq!(reset.rounds[..2], keep.rounds[..2]);
    assert_ne!(reset.rounds, keep.rounds);
    if let Some(Cycle { first, period }) = keep.cycle {
        assert_eq!(keep.rounds.len(), first + period);
    }
}

#[test]
fn bad_input_is_told() {
    let link = Link { capacity: 1.0, latency: 0.0, efficiency: Efficiency::None, mode: Mode::PerFlow };
    let message = |change: fn(&mut CostTable), paths: Paths| {
        let mut table = six_tasks();
        change(&mut table);
        Problem::from_table(&table, paths).unwrap_err().to_string()
    };
    let fine = || apart(3, link);
    assert_eq!(message(|t| t.run.clear(), fine()), "there are no tasks");
    assert_eq!(message(|t| t.run.iter_mut().for_each(Vec::clear), fine()), "there are no sites");
    assert_eq!(message(|t| t.run[2].truncate(2), fine()), "task 2 has 2 run times for 3 sites");
    assert_eq!(message(|t| t.run[1][2] = 0.0, fine()), "task 1 cannot take 0 at site 2: expected a time above zero");
    assert_eq!(
        message(|t| t.run[1][0] = f64::NAN, fine()),
        "task 1 cannot take NaN at site 0: expected a time above zero"
    );
    assert!(
        message(|t| t.edges.push((3, 1, 1.0)), fine()).starts_with("edge 3-1 does not lead from a task to a later one")
    );
    assert_eq!(message(|t| t.edges.push((0, 1, 1.0)), fine()), "edge 0-1 is given twice");
    assert!(message(|t| t.edges[0].2 = -1.0, fine()).starts_with("edge 0-1 cannot carry -1"));
    assert!(message(|t| t.edges[0].2 = f64::INFINITY, fine()).starts_with("edge 0-1 cannot carry inf"));
    assert!(message(|_| {}, apart(3, Link { capacity: 0.0, ..link })).starts_with("link 0: expected a capacity"));
    assert_eq!(message(|_| {}, apart(2, link)), "there are routes between 2 sites, but 3 sites");
    let twice = vec![vec![vec![LinkId(0), LinkId(0)]; 3]; 3];
    assert!(message(|_| {}, Paths::new(vec![link], twice)).starts_with("a route over link 0 crosses it twice"));

    let wide = [Task::new(Span::from_secs(1), 5, Kind(0))];
    let work = Work { tasks: &wide, edges: &[], times: None };
    let of = |site| Problem::from_work(work, &numbered(&[site]), apart(1, link), Awareness::Network).unwrap_err();
    let message = of(resource(4, 1_000_000)).to_string();
    assert_eq!(message, "task 0 needs 5 cores of one kind, but no site where it may run has that many");
    let message = of(Resource { kind: Kind(1), ..resource(8, 1_000_000) }).to_string();
    assert_eq!(message, "task 0 needs 5 cores of one kind, but no site where it may run has that many");
}

fn resource(cores: u32, speed_millionths: u64) -> Resource {
    Resource { cores, kind: Kind(0), speed_millionths, latency: Span::ZERO }
}

/// The engine's flows, as a replay uses them, never take more than a link has.
#[test]
fn links_are_never_overfull() {
    let paths = paper_paths(Law::Tcp, Wiring::FullDuplex);
    let mut flows = Flows::new(paths.links.clone());
    let routes: Vec<_> = [(0, 1), (2, 1), (0, 2), (1, 0)].map(|(m, n)| flows.route(&paths.route(m, n))).to_vec();
    let started: Vec<_> = routes.iter().cycle().take(12).map(|&route| flows.start(0.0, route, 10.0)).collect();
    let rates: Vec<f64> = started.iter().map(|&flow| flows.rate(flow)).collect();
    let into: f64 = rates.chunks(4).map(|four| four[0] + four[1]).sum();
    assert!(close(into, 1.0 - 1.0 / 19.0), "{into}");
    assert!(rates.chunks(4).all(|four| close(four[2], 1.0)), "P1 to P3 does not compete");
}
