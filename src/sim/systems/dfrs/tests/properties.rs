//! Properties of every run, and slow computations of the same results.

use proptest::prelude::*;

use super::super::{
    Algorithm, Fractional, TaskPlaces, Timed, bounded_stretch, compute_bound, run_alone, run_on, stretch, yields,
};
use super::judge::judge;
use super::{algorithm, need, timed};
use crate::grid::{Images, TaskId};
use crate::systems::dfrs::{Changes, Cluster, Need, Optimise, Periodic};
use crate::time::{Span, Time};

/// Small sets of jobs on few nodes, with numbers that often coincide.
fn sets() -> impl Strategy<Value = (u32, Vec<Timed>)> {
    let job = (0..40_u64, 1..60_u64, 1..5_u32, 1..5_u32, 1..11_u32).prop_map(|(gap, runtime, tasks, cpu, memory)| {
        (gap * 10, runtime * 20, need(tasks, f64::from(cpu) / 4.0, f64::from(memory) / 10.0))
    });
    (1..5_u32, prop::collection::vec(job, 1..12)).prop_map(|(nodes, jobs)| {
        let mut submit = Time::ZERO;
        let timed = |(gap, runtime, need)| {
            submit = submit + Span::from_secs(gap);
            Timed { submit, runtime: Span::from_secs(runtime), need }
        };
        (nodes, jobs.into_iter().map(timed).collect())
    })
}

fn fractional(algorithm: &Algorithm) -> Fractional {
    *algorithm.fractional().expect("all that are published share nodes")
}

/// Rates at which images move, if any: the content of a full node takes at most this many milliseconds. A job whose
/// transfer takes a whole period may never end.
pub(super) fn any_images(most: u64) -> impl Strategy<Value = Option<Images>> {
    let images = (1..9_999_999_u64, 1..=most).prop_map(|(memory_kb, millis)| {
        let bandwidth = (8_000_000 * memory_kb).div_ceil(millis);
        Images { memory_kb, bandwidth }
    });
    prop::option::of(images)
}

/// `PROPTEST_CASES` sets the number of cases in a release build.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    ProptestConfig { cases: if cfg!(unoptimised) { 32 } else { config.cases }, ..config }
}

/// At 1800 s the first job and the fourth have exactly equal priorities: 1800 s in the queue for 310 s of progress, and
/// 1250 s for 258 1/3 s, are 18/961 both. So the fourth, which came later, is left out first, and the first one after
/// it, for the third fills a node: then it is alone. An implementation that lets rounding decide keeps the fourth.
#[test]
fn of_equal_priorities_the_later_job_is_left_out_first() {
    let jobs = timed(&[
        (0, 320, 4, 1.0, 0.4),
        (80, 20, 3, 0.25, 0.6),
        (320, 300, 1, 0.25, 1.0),
        (550, 260, 3, 0.5, 0.1),
        (730, 20, 3, 0.25, 0.6),
        (1050, 80, 4, 0.5, 0.2),
    ]);
    let rules = algorithm("GreedyP/per/penalty=0");
    let ends = [Some(2_421_666_667), None, Some(1_820_000_000), Some(2_405_000_000), None, Some(1_205_000_000)];
    let ends = ends.map(|end| end.map(Time::from_micros));
    assert_eq!(run_alone(rules, 2, &jobs, |_, _, _| {}).ends, ends);
    assert_eq!(judge(&rules, 2, None, &jobs, &[], 5_000).ends, ends);
}

/// The third and the fourth job arrive together and have equal yields, so at 1800 s, when one of them has to pause,
/// they have equal priorities. But the third was moved at 1200 s, so the cluster has added up its progress in two
/// steps, and rounding decides.
#[test]
fn equal_priorities_of_jobs_that_moved_at_other_times_are_close() {
    let jobs =
        timed(&[(0, 600, 2, 0.25, 0.8), (220, 320, 1, 0.5, 0.1), (520, 740, 3, 1.0, 0.3), (520, 740, 2, 0.75, 0.6)]);
    let rules = algorithm("MCB8/per/opt=min/minft=600/penalty=0");
    let judged = judge(&rules, 4, None, &jobs, &[], 5_000);
    assert!(judged.is_close);
    let ends =
        |third: u64, fourth: u64| [1_880_000_000, 540_000_000, third, fourth].map(|end| Some(Time::from_micros(end)));
    assert_eq!(judged.ends, ends(1_817_142_857, 2_408_571_429));
    assert_eq!(run_alone(rules, 4, &jobs, |_, _, _| {}).ends, ends(2_408_571_429, 1_808_571_429));
}

proptest! {
    #![proptest_config(config())]

    /// The event-driven cluster does what the literal reading of the rules says.
    #[test]
    fn the_judge_agrees((nodes, jobs) in sets(), slow in 0..3_u64, images in any_images(60_000)) {
        let judged = |rules: &Fractional| {
            rules.periodic != Some(Periodic::Stretch) && rules.optimise == Optimise::Min
        };
        // Variants that the paper names or defines, but does not compare.
        const VARIANTS: [&str; 13] = [
            "GreedyP */priority=inverse",
            "GreedyPM */per/priority=stretch",
            "GreedyPM */per/minvt=600/priority=inverse",
            "MCB8 */priority=stretch/sort=sum",
            "MCB8/per/sort=sum",
            "/per/sort=sum",
            "GreedyP */vt=yield",
            "GreedyPM */per/minvt=600/vt=yield",
            "MCB8/per/priority=stretch/vt=yield",
            "/per/minvt=300/priority=inverse/vt=yield",
            "GreedyPM */per/pays=pauses",
            "MCB8 */pays=from-pause",
            "GreedyP */per/minvt=600/vt=yield/pays=from-pause",
        ];
        let variants = VARIANTS.map(|name| Algorithm::parse(name).expect("they are in the grammar"));
        for algorithm in Algorithm::all_published().iter().chain(&variants).map(fractional).filter(judged) {
            let penalty = Span::from_secs([300, 30, 0][slow as usize]);
            let rules = Fractional { penalty, ..algorithm };
            let outcome = run_on(Cluster::new(rules, nodes).moving(images), &jobs, |_, _, _| {});
            let judged = judge(&rules, nodes as usize, images, &jobs, &[], 5_000);
            if judged.is_close {
                continue;
            }
            // Each change of a yield may be rounded either way.
            for (end, judged) in outcome.ends.iter().zip(&judged.ends) {
                let is_near = match (end, judged) {
                    (Some(end), Some(judged)) => end.since(*judged).max(judged.since(*end)) <= Span::from_micros(20),
                    (end, judged) => end == judged,
                };
                prop_assert!(is_near, "{rules} ends {end:?}, by the judge {judged:?}");
            }
            let moves = (outcome.moves.preemptions, outcome.moves.migrations);
            prop_assert_eq!(moves, (judged.preemptions, judged.migrations), "{}", rules);
        }
    }

    /// No node exceeds its capacity, no job is faster than alone, and no schedule beats the bound.
    #[test]
    fn invariants_hold((nodes, jobs) in sets(), images in any_images(60_000)) {
        let possible: Vec<Timed> = jobs.iter().copied().filter(|job| job.need.check(nodes).is_ok()).collect();
        let least = compute_bound(nodes, &possible).lo;
        for algorithm in Algorithm::all_published().iter().map(fractional) {
            let cluster = Cluster::new(algorithm, nodes).moving(images);
            let outcome = run_on(cluster, &jobs, |now, cluster, changes| {
                check(now, cluster, &jobs);
                check_waits(now, algorithm.penalty, images, changes, &jobs);
            });
            let mut worst: f64 = 1.0;
            for (job, end) in jobs.iter().zip(&outcome.ends) {
                prop_assert_eq!(end.is_none(), job.need.check(nodes).is_err(), "{}", algorithm);
                if let Some(end) = end {
                    prop_assert!(end.since(job.submit) >= job.runtime, "{algorithm}: {end:?} of {job:?}");
                    worst = worst.max(bounded_stretch(end.since(job.submit), job.runtime));
                }
            }
            prop_assert!(worst >= least || possible.is_empty(), "{algorithm}: {worst} beats {least}");
        }
    }

    /// A flow by the simplest method is infeasible where the bound is, and feasible where it is.
    #[test]
    fn a_plain_flow_agrees_with_the_bound((nodes, jobs) in sets()) {
        let found = compute_bound(nodes, &jobs);
        prop_assert!(flows(nodes, &jobs, found.hi * (1.0 + 1e-9)));
        prop_assert!(found.lo == 1.0 || !flows(nodes, &jobs, found.lo * (1.0 - 1e-9)));
        prop_assert!(found.hi - found.lo <= 1e-3 * found.lo);
    }

    /// The best of all corners, which are finitely many.
    #[test]
    fn the_highest_average_is_that_of_the_best_corner(mapping in mappings(4)) {
        let (nodes, needs, places) = mapping;
        let mapped: Vec<_> = needs.iter().zip(&places).collect();
        let shares = yields::average_yields(nodes, &mapped);
        let rows = yields::short_rows(nodes, &mapped);
        let given = |row: &[(usize, f64)], shares: &[f64]| row.iter().map(|(job, need)| need * shares[*job]).sum::<f64>();
        prop_assert!(rows.rows.iter().all(|row| given(row, &shares) <= 1.0 + 1e-9));
        prop_assert!(shares.iter().all(|share| (rows.base - 1e-12..=1.0).contains(share)));

        // Each corner is where as many limits meet as there are jobs.
        let count = needs.len();
        let mut limits: Vec<(Vec<f64>, f64)> = Vec::new();
        for row in &rows.rows {
            let mut line = vec![0.0; count];
            row.iter().for_each(|(job, need)| line[*job] = *need);
            limits.push((line, 1.0));
        }
        for job in 0..count {
            let mut line = vec![0.0; count];
            line[job] = 1.0;
            limits.push((line.clone(), 1.0));
            limits.push((line, rows.base));
        }
        let mut best: f64 = 0.0;
        for chosen in 0_u32..1 << limits.len() {
            if chosen.count_ones() as usize != count {
                continue;
            }
            let meeting = limits.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).map(|(_, limit)| limit.clone());
            let Some(corner) = meet(meeting.collect()) else { continue };
            let is_within = corner.iter().all(|share| (rows.base - 1e-9..=1.0 + 1e-9).contains(share))
                && rows.rows.iter().all(|row| given(row, &corner) <= 1.0 + 1e-9);
            if is_within {
                best = best.max(corner.iter().sum());
            }
        }
        let sum: f64 = shares.iter().sum();
        prop_assert!((sum - best).abs() < 1e-6, "{shares:?} add up to {sum}, not {best}");
    }

    /// Tiny steps of the pace reach equal yields, and no search finds lower sums of stretches.
    #[test]
    fn yields_by_stretch_are_the_best(mapping in mappings(5), ages in prop::collection::vec((0..20_u32, 0..=10_u32), 5)) {
        let (nodes, needs, places) = mapping;
        let mapped: Vec<_> = needs.iter().zip(&places).collect();
        let ages: Vec<stretch::Age> = { ages.into_iter().take(needs.len()) }
            .map(|(flow, part)| {
                let flow = f64::from(flow) / 4.0;
                stretch::Age::new(flow, flow * f64::from(part) / 10.0, 1.0)
            })
            .collect();
        let full = |shares: &[f64]| {
            let mut given = vec![0.0; nodes as usize];
            for ((need, places), share) in mapped.iter().zip(shares) {
                places.iter().for_each(|&(node, tasks)| given[node as usize] += f64::from(tasks) * need.cpu * share);
            }
            given
        };

        let fair = stretch::maximum_yields(nodes, &mapped, &ages, 0.0);
        let mut slow = vec![0.0; needs.len()];
        let mut is_rising = vec![true; needs.len()];
        for step in 0..=10_000 {
            let pace = f64::from(step) / 10_000.0;
            let next: Vec<f64> = { 0..needs.len() }
                .map(|job| {
                    let asked = (pace * ages[job].flow - ages[job].done).clamp(0.0, 1.0);
                    if is_rising[job] { asked } else { slow[job] }
                })
                .collect();
            let given = full(&next);
            for job in 0..needs.len() {
                is_rising[job] &= places[job].iter().all(|(node, _)| given[*node as usize] <= 1.0);
                slow[job] = if is_rising[job] { next[job] } else { slow[job] };
            }
        }
        prop_assert!(fair.iter().zip(&slow).all(|(a, b)| (a - b).abs() < 5e-3), "{fair:?} are not {slow:?}");

        let shares = stretch::average_yields(nodes, &mapped, &ages, 0.0);
        prop_assert!(full(&shares).iter().all(|given| *given <= 1.0 + 1e-9));
        let cost = |shares: &[f64]| -> f64 { ages.iter().zip(shares).map(|(age, share)| age.flow / (age.done + share)).sum() };
        let known = cost(&shares);
        // The problem is convex, so it suffices to search along the lines to other points.
        for other in [&fair, &yields::minimum_yields(nodes, &mapped), &yields::average_yields(nodes, &mapped)] {
            let nudged: Vec<f64> = shares.iter().zip(other).map(|(a, b)| a + 0.02 * (b - a)).collect();
            for point in [other, &nudged] {
                prop_assert!(known <= cost(point) * (1.0 + 1e-4), "{shares:?} cost {known}, {point:?} only {}", cost(point));
            }
        }
    }
}

/// A node all of whose jobs are limited by other nodes sets no limit of its own.
#[test]
fn yields_stay_yields_where_full_nodes_meet() {
    let job = |submit, runtime, need| Timed {
        submit: Time::ZERO + Span::from_secs(submit),
        runtime: Span::from_secs(runtime),
        need,
    };
    let jobs = [
        job(0, 20, need(1, 0.25, 0.1)),
        job(300, 460, need(1, 1.0, 0.1)),
        job(690, 20, need(2, 1.0, 0.1)),
        job(990, 20, need(3, 1.0, 0.1)),
    ];
    let rules = fractional(&Algorithm::parse("/stretch-per/opt=avg").expect("it is published"));
    let outcome = run_alone(rules, 3, &jobs, |now, cluster, _| check(now, cluster, &jobs));
    assert!(outcome.ends.iter().all(Option::is_some));
}

/// Checks the state at every instant.
fn check(now: Time, cluster: &Cluster, jobs: &[Timed]) {
    let mut taken = vec![(0.0, 0.0); cluster.nodes() as usize];
    for live in cluster.live() {
        let done = live.progress(now);
        let alone = now.since(live.submitted).micros() as f64;
        assert!((0.0..=1.0).contains(&live.share), "{:?} has a yield of {}", live.job, live.share);
        // Yields are exact to 1e-9.
        assert!(done <= alone * (1.0 + 1e-9) + 1e-3, "{:?} is faster than alone by {}", live.job, done - alone);
        assert!(done <= jobs[live.job.job.0 as usize].runtime.micros() as f64 + 1.0, "{:?} is over", live.job);
        let tasks: u32 = live.places.iter().map(|place| place.1).sum();
        assert!(tasks == 0 || tasks == live.need.tasks, "all tasks run, or none");
        for &(node, tasks) in &live.places {
            let (cpu, memory) = &mut taken[node as usize];
            *cpu += f64::from(tasks) * live.need.cpu * live.share;
            *memory += f64::from(tasks) * live.need.memory;
        }
    }
    assert!(taken.iter().all(|(cpu, memory)| *cpu <= 1.0 + 1e-8 && *memory <= 1.0 + 1e-8), "{taken:?} at {now}");
}

/// A job that starts makes progress at once. A resumed job waits for all its memory, and a moved one at least for what
/// moves: it may wait for more that was under way already, but for no more than all of it.
fn check_waits(now: Time, penalty: Span, images: Option<Images>, changes: &Changes, jobs: &[Timed]) {
    let seconds = |span: Span| span.micros() as f64 / 1e6;
    let takes = |job: TaskId, tasks: u32| {
        let gigabytes = images.map_or(0.0, |images| images.memory_kb as f64 / 1e6);
        let bytes = 1e9 * gigabytes * jobs[job.job.0 as usize].need.memory * f64::from(tasks);
        seconds(penalty) + images.map_or(0.0, |images| 8.0 * bytes / images.bandwidth as f64)
    };
    // A byte of rounding per image, and a microsecond.
    let slack = |tasks: u32| 2e-6 + images.map_or(0.0, |images| 8.0 * f64::from(tasks) / images.bandwidth as f64);
    assert!(changes.started.iter().all(|placed| placed.from == now));
    for placed in &changes.resumed {
        let all = jobs[placed.job.job.0 as usize].need.tasks;
        let waits = seconds(placed.from.since(now));
        assert!((waits - takes(placed.job, all)).abs() <= slack(all), "{placed:?} at {now} waits {waits} s");
    }
    for placed in &changes.migrated {
        let all = jobs[placed.job.job.0 as usize].need.tasks;
        let waits = seconds(placed.from.since(now));
        assert!((1..=all).contains(&placed.moved));
        let least = takes(placed.job, placed.moved);
        let most = takes(placed.job, all);
        assert!((least - slack(all)..=most + slack(all)).contains(&waits), "{placed:?} at {now} waits {waits} s");
    }
}

/// Some jobs on up to three nodes, regardless of their memory.
fn mappings(most: usize) -> impl Strategy<Value = (u32, Vec<Need>, Vec<TaskPlaces>)> {
    let job = (1..5_u32, prop::collection::vec(0..3_u32, 3));
    prop::collection::vec(job, 1..=most).prop_map(|jobs| {
        let places = |counts: &[u32]| -> TaskPlaces {
            let on = (0..).zip(counts.iter().copied()).filter(|(_, tasks)| *tasks > 0);
            let on: TaskPlaces = on.collect();
            if on.is_empty() { vec![(0, 1)] } else { on }
        };
        let places: Vec<TaskPlaces> = jobs.iter().map(|(_, counts)| places(counts)).collect();
        let tasks = |places: &TaskPlaces| places.iter().map(|place| place.1).sum();
        let needs = jobs.iter().zip(&places).map(|((cpu, _), places)| need(tasks(places), f64::from(*cpu) / 4.0, 0.01));
        (3, needs.collect(), places)
    })
}

/// The point at which limits meet, by elimination.
fn meet(mut limits: Vec<(Vec<f64>, f64)>) -> Option<Vec<f64>> {
    let count = limits.len();
    for column in 0..count {
        let pivot = (column..count).max_by(|a, b| limits[*a].0[column].abs().total_cmp(&limits[*b].0[column].abs()))?;
        if limits[pivot].0[column].abs() < 1e-9 {
            return None;
        }
        limits.swap(column, pivot);
        let (line, right) = limits[column].clone();
        for (other, value) in
            limits.iter_mut().enumerate().filter(|(at, _)| *at != column).map(|(_, limit)| (&mut limit.0, &mut limit.1))
        {
            let factor = other[column] / line[column];
            other.iter_mut().zip(&line).for_each(|(other, by)| *other -= factor * by);
            *value -= factor * right;
        }
    }
    Some(limits.iter().enumerate().map(|(at, (line, right))| right / line[at]).collect())
}

/// True if all work is done by the deadlines of a stretch: shortest paths on a full table of capacities.
fn flows(nodes: u32, jobs: &[Timed], stretch: f64) -> bool {
    let seconds = |micros: u64| micros as f64 / 1e6;
    let window = |job: &Timed| {
        let release = seconds(job.submit.micros());
        (release, release + stretch * seconds(job.runtime.micros()).max(10.0))
    };
    let mut cuts: Vec<f64> = jobs.iter().map(window).flat_map(|window| [window.0, window.1]).collect();
    cuts.sort_by(f64::total_cmp);
    let count = jobs.len();
    let intervals = cuts.len() - 1;
    let source = count + intervals;
    let sink = count + intervals + 1;
    let mut capacity = vec![vec![0.0; sink + 1]; sink + 1];
    let mut all = 0.0;
    for (j, job) in jobs.iter().enumerate() {
        let rate = job.need.cpu * f64::from(job.need.tasks);
        capacity[source][j] = rate * seconds(job.runtime.micros());
        all += capacity[source][j];
        for i in 0..intervals {
            let length = cuts[i + 1] - cuts[i];
            capacity[count + i][sink] = f64::from(nodes) * length;
            if window(job).0 <= cuts[i] && cuts[i + 1] <= window(job).1 {
                capacity[j][count + i] = rate * length;
            }
        }
    }
    let mut flow = 0.0;
    loop {
        let mut from = vec![usize::MAX; sink + 1];
        let mut queue = vec![source];
        let mut at = 0;
        while at < queue.len() {
            let here = queue[at];
            at += 1;
            for next in 0..=sink {
                if from[next] == usize::MAX && next != source && capacity[here][next] > 1e-9 {
                    from[next] = here;
                    queue.push(next);
                }
            }
        }
        if from[sink] == usize::MAX {
            return flow >= all * (1.0 - 1e-7);
        }
        let mut amount = f64::INFINITY;
        let mut node = sink;
        while node != source {
            amount = f64::min(amount, capacity[from[node]][node]);
            node = from[node];
        }
        node = sink;
        while node != source {
            capacity[from[node]][node] -= amount;
            capacity[node][from[node]] += amount;
            node = from[node];
        }
        flow += amount;
    }
}

#[test]
fn refusals_have_a_reason() {
    let cluster = Cluster::new(algorithm("MCB8 *"), 2);
    assert_eq!(
        cluster.check(&need(3, 1.0, 0.6)).expect_err("too large").to_string(),
        "3 tasks need the memory of 3 nodes, but there are 2"
    );
    assert!(cluster.check(&need(20, 1.0, 0.1)).is_ok());
    assert!(cluster.check(&need(21, 1.0, 0.1)).is_err());
}
