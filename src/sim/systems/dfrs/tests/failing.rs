//! Jobs that share nodes, some of which fail.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::algorithm::{Optimise, Periodic};
use super::super::{Algorithm, Fractional, Timed, bounded_stretch, compute_bound};
use super::judge::{Down, judge};
use super::properties::any_images;
use super::site::{SITE, WAY, admit, any_jobs, play};
use super::{algorithm, timed};
use crate::grid::{
    Checkpoint, Every, Failure, FailurePattern, FailureTarget, Killed, MoveCost, NodeSet, Recovery, Traced,
};
use crate::kernel::Entry;
use crate::play::second;
use crate::protocol::Record;
use crate::systems::{Failing, Fails};
use crate::time::{Span, Time};

/// Outages with node, start and end in seconds; those of one node must not overlap.
fn failing(nodes: u32, outages: &[(u32, u64, u64)], recovery: Recovery) -> Option<Fails> {
    let traced = outages.iter().map(|&(component, down, up)| Traced { down: second(down), up: second(up), component });
    let mut traced: Vec<Traced> = traced.collect();
    traced.sort_unstable();
    let what = FailureTarget::Nodes { site: 0, nodes: NodeSet::all(nodes) };
    let failures = [Failure { what, pattern: FailurePattern::Traced(traced.into()), announced: true }];
    Failing { failures: &failures, recovery: &recovery, seed: 1 }.site(0)
}

/// Short outages; each of a node begins after the previous one has ended.
fn any_outages() -> impl Strategy<Value = Vec<(u32, u64, u64)>> {
    let outage = (0u32..4, 1u64..60, 1u64..80);
    prop::collection::vec(outage, 0..10).prop_map(|outages| {
        let mut free = [0; 4];
        let set = |(node, gap, lasts): (u32, u64, u64)| {
            let from = free[node as usize] + gap;
            free[node as usize] = from + lasts;
            (node, from, from + lasts)
        };
        outages.into_iter().map(set).collect()
    })
}

fn messages(jobs: &[Timed]) -> Vec<(Time, crate::protocol::Message)> {
    (0..).zip(jobs).map(|(job, timed)| admit(job, timed)).collect()
}

/// Log of a site, as text.
fn render_log(log: &[Entry<Record>]) -> Vec<String> {
    let render_entry = |entry: &Entry<Record>| {
        let at = Time::from_micros(entry.stamp.time.micros().saturating_sub(WAY.micros())).seconds();
        Some(match &entry.record {
            Record::Started { task, cores } => format!("{at}: {} on {cores}", task.job),
            Record::Resumed { task, cores } => format!("{at}: {} again on {cores}", task.job),
            Record::Moved { task, cores } => format!("{at}: {} to {cores}", task.job),
            Record::Suspended { task } => format!("{at}: {} is paused", task.job),
            Record::Finished { task } => format!("{at}: {} ends", task.job),
            Record::Lost { task, saved } => format!("{at}: {} is lost, {} s saved", task.job, saved.seconds()),
            Record::Checkpointed { task, times, .. } => format!("{at}: {} saved {times} times", task.job),
            _ => return None,
        })
    };
    log.iter().filter(|entry| entry.actor == SITE).filter_map(render_entry).collect()
}

/// Times are those of the site, which a job reaches after the latency; so nodes fail just before them.
fn play_rendered(
    name: &str,
    nodes: u32,
    jobs: &[(u64, u64, u32, f64, f64)],
    outages: &[(u32, u64, u64)],
) -> Vec<String> {
    play_rendered_with(name, nodes, jobs, outages, Recovery::default())
}

fn play_rendered_with(
    name: &str,
    nodes: u32,
    jobs: &[(u64, u64, u32, f64, f64)],
    outages: &[(u32, u64, u64)],
    recovery: Recovery,
) -> Vec<String> {
    render_log(&play(algorithm(name), nodes, None, failing(nodes, outages, recovery), messages(&timed(jobs))))
}

#[test]
fn a_lost_job_restarts_and_others_take_its_place() {
    // Jobs 0 and 1 each have a node, job 2 waits for memory. Node 0 fails: job 0 has the highest priority, as none of
    // its work is saved, but does not fit beside job 1, and restarts when its node is back, with job 2 then waiting for
    // job 1.
    let jobs = [(0, 100, 1, 1.0, 0.6), (0, 50, 1, 1.0, 0.6), (1, 10, 1, 1.0, 0.6)];
    assert_eq!(
        play_rendered("Greedy *", 2, &jobs, &[(0, 10, 30)]),
        [
            "0: 0 on 0",
            "0: 1 on 1",
            "9.999: 0 is lost, 0 s saved",
            "29.999: 2 on 0",
            "39.999: 2 ends",
            "39.999: 0 on 0",
            "50: 1 ends",
            "139.999: 0 ends",
        ]
    );
    // A lost job pauses others as if it were submitted then; they resume when there is room.
    assert_eq!(
        play_rendered("GreedyP */penalty=5", 2, &jobs[..2], &[(0, 10, 30)]),
        [
            "0: 0 on 0",
            "0: 1 on 1",
            "9.999: 0 is lost, 0 s saved",
            "9.999: 1 is paused",
            "9.999: 0 on 1",
            "29.999: 1 again on 0",
            "75: 1 ends",
            "109.999: 0 ends",
        ]
    );
}

#[test]
fn no_job_is_displaced_for_one_that_does_not_fit_while_nodes_are_down() {
    // Job 1 needs both nodes.
    let jobs = [(0, 50, 1, 1.0, 0.6), (5, 10, 2, 1.0, 0.6)];
    for name in ["GreedyP *", "GreedyPM *", "MCB8 *"] {
        assert_eq!(play_rendered(name, 2, &jobs, &[(1, 2, 40)])[..1], ["0: 0 on 0"], "{name}");
        let all = play_rendered(name, 2, &jobs, &[(1, 2, 40)]);
        assert!(all.iter().skip(1).all(|line| !line.starts_with("5: ")), "{name}: {all:?}");
        assert!(all.iter().any(|line| line.ends_with(": 1 ends")), "{name}: {all:?}");
    }
}

#[test]
fn jobs_that_end_in_the_instant_of_a_failure_have_ended() {
    // Half a share each, so both end at 20 s.
    let jobs = [(0, 10, 1, 1.0, 0.4), (0, 10, 1, 1.0, 0.4), (0, 30, 1, 1.0, 0.4)];
    let way = WAY.micros();
    let down = Traced { down: second(20) + WAY, up: second(40), component: 0 };
    assert_eq!(way, 1_000);
    let what = FailureTarget::Nodes { site: 0, nodes: NodeSet::all(1) };
    let failures = [Failure { what, pattern: FailurePattern::Traced(vec![down].into()), announced: true }];
    let fails = Failing { failures: &failures, recovery: &Recovery::default(), seed: 1 }.site(0);
    let log = play(algorithm("Greedy *"), 1, None, fails, messages(&timed(&jobs[..2])));
    assert_eq!(render_log(&log), ["0: 0 on 0", "0: 1 on 0", "20: 0 ends", "20: 1 ends"]);
}

#[test]
fn checkpoints_are_made_of_progress() {
    // Two jobs at half speed: after 20 s of work and 2 s for the checkpoint, which take 44 s, 20 s are saved. Then one
    // of them is paused, as its node is gone, and the other one, lost, restarts with 30 s to go, and one checkpoint
    // within these.
    let jobs = [(0, 50, 1, 1.0, 0.4), (0, 50, 1, 1.0, 0.4)];
    let checkpoint = Some(Checkpoint { every: Every::Span(Span::from_secs(20)), cost: Span::from_secs(2) });
    let recovery = Recovery { checkpoint, ..Recovery::default() };
    assert_eq!(
        play_rendered_with("Greedy *", 1, &jobs, &[(0, 60, 70)], recovery.clone()),
        [
            "0: 0 on 0",
            "0: 1 on 0",
            "59.999: 0 saved 1 times",
            "59.999: 0 is lost, 20 s saved",
            "59.999: 1 saved 1 times",
            "59.999: 1 is lost, 20 s saved",
            "69.999: 0 on 0",
            "69.999: 1 on 0",
            "133.999: 0 saved 1 times",
            "133.999: 0 ends",
            "133.999: 1 saved 1 times",
            "133.999: 1 ends",
        ]
    );
    // With two attempts, it is over after the second loss.
    let twice = Recovery { attempts: 2, ..recovery };
    assert_eq!(
        play_rendered_with("MCB8 *", 1, &jobs[..1], &[(0, 30, 40), (0, 50, 60)], twice)[3..],
        ["39.999: 0 on 0", "49.999: 0 is lost, 0 s saved"]
    );
}

/// Nodes and progress of a job, according to a log.
struct Seen {
    on: Option<Vec<NodeSet>>,
    /// Previous nodes, and end of the wait there.
    before: (Vec<NodeSet>, Time),
    has_run: bool,
    share: f64,
    done: f64,
    from: Time,
    left: Span,
}

impl Seen {
    fn settle(&mut self, now: Time) {
        if self.on.is_some() {
            self.done += self.share * now.since(self.from).micros() as f64;
            self.from = self.from.max(now);
        }
    }

    fn put(&mut self, now: Time, cores: &NodeSet) {
        self.settle(now);
        self.before = (self.on.take().unwrap_or_default(), self.from);
        (self.on, self.from) = (Some(vec![cores.clone()]), now);
    }

    /// The job resumes now on all of its nodes, and waits for the images that move to them.
    fn wait(&mut self, now: Time, cost: &MoveCost, memory: f64) {
        let count =
            |layers: &[NodeSet], node: u32| layers.iter().filter(|on| on.meets(&NodeSet::from_run(node, node))).count();
        let on = self.on.as_deref().expect("it runs");
        let come: usize = on[0].each().map(|node| count(on, node).saturating_sub(count(&self.before.0, node))).sum();
        self.from = self.before.1.max(cost.after_move(now, come as u32, memory));
    }
}

/// Checks a log: no task is on a node that is down, no node exceeds its capacity, and a job that ends has done all its
/// work, except for what was saved. Returns the ends of jobs.
fn follow(
    log: &[Entry<Record>],
    nodes: u32,
    cost: &MoveCost,
    jobs: &[Timed],
    saves: Option<Checkpoint>,
) -> Vec<Option<Time>> {
    let saves = saves.and_then(|checkpoint| checkpoint.checkpoint_schedule(0.0));
    let stretched = |work: Span| saves.map_or(work, |saves| saves.with_checkpoints(work));
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    let mut left: Vec<Span> = jobs.iter().map(|job| job.runtime).collect();
    let mut ends = vec![None; jobs.len()];
    let mut down = NodeSet::default();
    let own: Vec<&Entry<Record>> = log.iter().filter(|entry| entry.actor == SITE).collect();
    for (at, Entry { stamp, record, .. }) in own.iter().copied().enumerate() {
        let now = stamp.time;
        match record {
            Record::Started { task, cores } => {
                let job = task.job.0;
                let left = left[job as usize];
                let before = (Vec::new(), Time::ZERO);
                let mut one = Seen { on: None, before, has_run: false, share: 1.0, done: 0.0, from: now, left };
                one.put(now, cores);
                assert!(seen.insert(job, one).is_none(), "job {job} starts twice");
            }
            Record::Resumed { task, cores } | Record::Moved { task, cores } => {
                let one = seen.get_mut(&task.job.0).expect("it has started");
                assert_eq!(one.on.is_some(), matches!(record, Record::Moved { .. }));
                one.put(now, cores);
                one.has_run = true;
                one.wait(now, cost, jobs[task.job.0 as usize].need.memory);
            }
            Record::Stacked { task, cores } => {
                let one = seen.get_mut(&task.job.0).expect("it has started");
                one.on.as_mut().expect("it runs").push(cores.clone());
                if one.has_run {
                    one.wait(now, cost, jobs[task.job.0 as usize].need.memory);
                }
            }
            Record::Suspended { task } => {
                let one = seen.get_mut(&task.job.0).expect("it has started");
                one.settle(now);
                assert!(one.on.take().is_some());
            }
            Record::Shared { task, share } => {
                let one = seen.get_mut(&task.job.0).expect("it has started");
                one.settle(now);
                one.share = *share;
            }
            Record::Lost { task, saved } => {
                let mut one = seen.remove(&task.job.0).expect("it has started");
                one.settle(now);
                let on = one.on.expect("it runs");
                // One of its nodes goes down now.
                let fails = own[at..].iter().find_map(|entry| match &entry.record {
                    Record::Down { cores, .. } if entry.stamp.time == now => Some(cores),
                    _ => None,
                });
                assert!(fails.is_some_and(|cores| on[0].meets(cores)), "job {} is lost at {now}", task.job);
                let steps = saves.map_or(0, |saves| saves.times(Span::from_micros((one.done + 1.0) as u64)));
                let most = saves.map_or(Span::ZERO, |saves| saves.saved(steps));
                assert!(*saved <= most && saved.micros() as f64 <= one.done + 1.0, "{saved} of {}", one.done);
                left[task.job.0 as usize] = Span::from_micros(one.left.micros() - saved.micros());
            }
            Record::Finished { task } => {
                let mut one = seen.remove(&task.job.0).expect("it has started");
                one.settle(now);
                let wanted = stretched(one.left).micros() as f64;
                assert!(
                    (one.done - wanted).abs() < 20.0,
                    "job {} ends with {} of {wanted} at {now}",
                    task.job,
                    one.done
                );
                assert!(ends[task.job.0 as usize].replace(now).is_none());
            }
            Record::Down { cores, .. } => {
                assert!(!down.meets(cores));
                down.unite(cores);
            }
            Record::Up { cores, .. } => {
                assert!(down.contains(cores));
                down.subtract(cores);
            }
            Record::Checkpointed { .. } => assert!(saves.is_some()),
            other => panic!("{other:?}"),
        }
        if own.get(at + 1).is_some_and(|next| next.stamp == *stamp) {
            continue;
        }
        let mut taken = vec![(0.0, 0.0); nodes as usize];
        for (job, one) in &seen {
            for node in one.on.iter().flatten().flat_map(NodeSet::each) {
                assert!(
                    !down.meets(&NodeSet::from_run(node, node)),
                    "job {job} is on node {node}, which is down, at {now}"
                );
                taken[node as usize].0 += jobs[*job as usize].need.cpu * one.share;
                taken[node as usize].1 += jobs[*job as usize].need.memory;
            }
        }
        assert!(taken.iter().all(|taken| taken.0 <= 1.0 + 1e-6 && taken.1 <= 1.0 + 1e-6), "at {now}: {taken:?}");
    }
    assert!(seen.values().all(|one| one.on.is_none()));
    ends
}

/// The algorithms that the judge knows.
fn judged_rules() -> Vec<Fractional> {
    let all = Algorithm::all_published().into_iter();
    let rules = all.map(|algorithm| *algorithm.fractional().expect("all of these share nodes"));
    rules.filter(|rules| rules.periodic != Some(Periodic::Stretch) && rules.optimise == Optimise::Min).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 150 } else { 1_000 }))]

    /// Under every algorithm: no task is on a node that is down, nodes give exactly what they have, all jobs end that
    /// should, and no promise is broken.
    #[test]
    fn no_task_is_on_nodes_that_are_down(
        jobs in any_jobs(),
        outages in any_outages(),
        (which, nodes, slow) in (0usize..116, 1u32..5, 0u64..4),
        (killed, attempts, every) in (0usize..4, 1u32..9, 0u64..40),
        images in any_images(1_000),
    ) {
        let rules = *Algorithm::all_published()[which].fractional().expect("all of these share nodes");
        let period = if rules.periodic.is_some() { Span::from_secs(20) } else { rules.period };
        let rules = Fractional { period, penalty: Span::from_secs(5 * slow), ..rules };
        let jobs: Vec<Timed> = jobs.into_iter().filter(|job| job.need.check(nodes).is_ok()).collect();
        let saves = Checkpoint { every: Every::Span(Span::from_secs(every.max(1))), cost: Span::from_millis(700) };
        let checkpoint = (every > 0).then_some(saves);
        let killed = Killed::ALL[killed].1;
        let recovery = Recovery { killed, attempts: 100 * attempts, checkpoint, ..Recovery::default() };
        let fails = failing(nodes, &outages, recovery);
        let may_be_lost = fails.is_some() && matches!(killed, Killed::Back | Killed::Lost);
        let saves = fails.as_ref().and(checkpoint);
        let log = play(rules, nodes, images, fails, messages(&jobs));
        let ends = follow(&log, nodes, &rules.move_cost(images), &jobs, saves);
        let mut worst: f64 = 1.0;
        for (job, end) in jobs.iter().zip(&ends) {
            prop_assert!(end.is_some() || may_be_lost, "{}", rules);
            if let Some(end) = end {
                prop_assert!(end.since(job.submit + WAY) + Span::from_micros(1) >= job.runtime);
                worst = worst.max(bounded_stretch(end.since(job.submit), job.runtime));
            }
        }
        // Outages do not lower the bound.
        prop_assert!(may_be_lost || jobs.is_empty() || worst >= compute_bound(nodes, &jobs).lo * (1.0 - 1e-9), "{}", rules);
    }

    /// The result equals that of the literal reading of the rules.
    #[test]
    fn the_judge_agrees_where_nodes_fail(
        jobs in any_jobs(),
        outages in any_outages(),
        rules in prop::sample::select(judged_rules()),
        nodes in 1u32..5,
        (slow, images) in (0u64..4, any_images(1_000)),
    ) {
        let period = if rules.periodic.is_some() { Span::from_secs(20) } else { rules.period };
        let rules = Fractional { period, penalty: Span::from_secs(5 * slow), ..rules };
        let jobs = jobs.into_iter().filter(|job| job.need.check(nodes).is_ok());
        // Priorities that are equal except for rounding may be ordered either way, so there must be none.
        let odd = |(at, job): (u64, Timed)| Timed {
            submit: job.submit + Span::from_micros(1_013 * at),
            runtime: job.runtime + Span::from_micros(27_644 * at + 7_919),
            ..job
        };
        let jobs: Vec<Timed> = (0..).zip(jobs).map(odd).collect();
        let outages: Vec<_> = outages.into_iter().filter(|one| one.0 < nodes).collect();
        let log = play(rules, nodes, images, failing(nodes, &outages, Recovery::default()), messages(&jobs));
        let ends = follow(&log, nodes, &rules.move_cost(images), &jobs, None);
        let there: Vec<Timed> = jobs.iter().map(|job| Timed { submit: job.submit + WAY, ..*job }).collect();
        let down = |&(node, from, to): &(u32, u64, u64)| Down { node: node as usize, from: second(from), to: second(to) };
        let down: Vec<Down> = outages.iter().map(down).collect();
        let judged = judge(&rules, nodes as usize, images, &there, &down, 20_000);
        for (end, judged) in ends.iter().zip(&judged.ends) {
            let is_near = match (end, judged) {
                (Some(end), Some(judged)) => end.since(*judged).max(judged.since(*end)) <= Span::from_micros(20),
                (end, judged) => end == judged,
            };
            prop_assert!(is_near, "{rules} ends {end:?}, by the judge {judged:?}");
        }
        let count = |is: fn(&Record) -> bool| log.iter().filter(|entry| is(&entry.record)).count() as u64;
        let moves = (count(|record| matches!(record, Record::Suspended { .. })), count(|record| matches!(record, Record::Moved { .. })));
        prop_assert_eq!(moves, (judged.preemptions, judged.migrations), "{}", rules);
    }
}
