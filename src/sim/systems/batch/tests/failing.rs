//! Queues at sites whose nodes fail.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::grid::{
    Checkpoint, Distribution, Drawn, Every, Failure, FailurePattern, FailureTarget, Killed, Law, News, Outages, Per,
    QueueOrder, Recovery, Reserved,
};
use crate::roles::site::Manager;
use crate::systems::{Failing, Fails};

pub(super) fn once(site: usize, nodes: &str, at: u64, lasts: u64) -> Failure {
    let what = FailureTarget::Nodes { site, nodes: NodeSet::parse(nodes).unwrap() };
    Failure { what, pattern: FailurePattern::Once { at: second(at), lasts: Span::from_secs(lasts) }, announced: true }
}

pub(super) fn drawn(site: usize, nodes: u32, mtbf: u64, mttr: u64, per: Per, announced: bool) -> Failure {
    let law = |kind| Law { kind, shape: 0.8 };
    let mtbf = Span::from_secs(mtbf);
    let mttr = Span::from_secs(mttr);
    let between = law(Distribution::Weibull);
    let repair = law(Distribution::Exponential);
    let pattern = FailurePattern::Drawn(Drawn { mtbf, between, mttr, repair, per, share_millionths: 500_000 });
    Failure { what: FailureTarget::Nodes { site, nodes: NodeSet::all(nodes) }, pattern, announced }
}

/// A dispatcher, sites with queues whose nodes fail, and a user.
fn failing_cast(
    sites: &[(u32, &str)],
    dispatch: Dispatch,
    jobs: &[Rigid],
    failing: Failing<'_>,
    latencies: &[Span],
) -> Built {
    managed_cast(sites, dispatch, jobs, failing, latencies, super::Takes::Queued, &desk)
}

pub(super) fn desk(nodes: u32, name: &str, fails: Option<&Fails>) -> Box<dyn Manager> {
    let desk = QueueManager::new((queue::find_policy(name).unwrap().build)(nodes, &[], QueueOrder::Arrival.into()));
    Box::new(match fails {
        Some(fails) => desk.with_outages(fails, nodes, &[]),
        None => desk,
    })
}

/// The manager of a site with so many nodes, by the name of a policy, where nodes fail in this way.
pub(super) type MakesManager<'a> = &'a dyn Fn(u32, &str, Option<&Fails>) -> Box<dyn Manager>;

/// Like `failing_cast`, with any managers that get jobs in this form.
pub(super) fn managed_cast(
    sites: &[(u32, &str)],
    dispatch: Dispatch,
    jobs: &[Rigid],
    failing: Failing<'_>,
    latencies: &[Span],
    takes: super::Takes,
    manager: MakesManager<'_>,
) -> Built {
    let fails = |site: usize| -> Option<Fails> { failing.site(site) };
    let mut known = Vec::new();
    let mut cast: Built = Vec::new();
    for (number, (nodes, name)) in sites.iter().enumerate() {
        let site = super::KnownSite::new(ActorId(number as u32 + 1), *nodes, takes);
        let outages = fails(number).map(|fails| fails.outages);
        known.push(
            site.with_outages(outages.clone().map(|outages| News::new(outages, latencies[number + 1], Span::ZERO))),
        );
        let manager = manager(*nodes, name, fails(number).as_ref());
        cast.push(Box::new(Site::new(*nodes, manager, [ROUTER]).with_outages(outages)));
    }
    let dispatcher = Dispatcher::new(known, dispatch, None).recovering(failing.recovery.clone());
    cast.insert(0, Box::new(dispatcher));
    cast.push(Box::new(User::new(Script::from_messages(messages(jobs, None)))));
    cast
}

/// Like this cast, with a user that takes back a job after a wait, and submits it again, up to five times.
pub(super) fn impatient_cast(mut cast: Built, jobs: &[Rigid], patience: Span) -> Built {
    cast.pop();
    cast.push(Box::new(User::new(Resubmit::new(Script::from_messages(messages(jobs, None)), patience, 5))));
    cast
}

/// The events in words, without those of the dispatcher.
pub(super) fn render_log(log: &[Entry<Record>]) -> Vec<String> {
    let render_entry = |entry: &Entry<Record>| {
        let at = entry.stamp.time.seconds();
        Some(match &entry.record {
            Record::Started { task, cores } => format!("{at}: {} on {cores}", task.job),
            Record::Finished { task } => format!("{at}: {} ends", task.job),
            Record::Killed { task } => format!("{at}: {} is killed", task.job),
            Record::Lost { task, saved } => format!("{at}: {} is lost, {} s saved", task.job, saved.seconds()),
            Record::Checkpointed { task, times, .. } => format!("{at}: {} saved {times} times", task.job),
            Record::Down { cores, since } => format!("{at}: {cores} down since {}", since.seconds()),
            Record::Up { cores, since } => format!("{at}: {cores} up since {}", since.seconds()),
            Record::Removed { job } => format!("{at}: {job} is given up"),
            _ => return None,
        })
    };
    log.iter().filter_map(render_entry).collect()
}

fn play_failing(jobs: &[Rigid], sites: &[(u32, &str)], failures: &[Failure], recovery: &Recovery) -> Vec<String> {
    let failing = Failing { failures, recovery, seed: 1 };
    let latencies = vec![Span::ZERO; sites.len() + 2];
    render_log(&judge::run_actors(failing_cast(sites, Dispatch::First, jobs, failing, &latencies), &latencies))
}

#[test]
fn a_lost_job_returns_to_the_head_or_the_tail_and_starts_again() {
    let jobs = [rigid(0, 2, 20, 10), rigid(1, 4, 9, 5), rigid(2, 1, 9, 5)];
    let failures = [once(0, "1", 4, 3)];
    let play = |killed| {
        let recovery = Recovery { killed, ..Recovery::default() };
        play_failing(&jobs, &[(4, "fcfs")], &failures, &recovery)
    };
    // Job 1 waits for all nodes, and no job goes before it, except the lost one.
    let begins = ["0: 0 on 0-1", "4: 0 is lost, 0 s saved", "4: 1 down since 4"];
    let head =
        ["4: 0 on 0 2", "7: 1 up since 7", "14: 0 ends", "14: 1 on 0-3", "19: 1 ends", "19: 2 on 0", "24: 2 ends"];
    let tail =
        ["7: 1 up since 7", "7: 1 on 0-3", "12: 1 ends", "12: 2 on 0", "12: 0 on 1-2", "17: 2 ends", "22: 0 ends"];
    assert_eq!(play(Killed::Head), [&begins[..], &head].concat());
    assert_eq!(play(Killed::Tail), [&begins[..], &tail].concat());
}

/// Outages of idle nodes may be of any length.
#[test]
fn a_run_ends_with_its_work() {
    let jobs = [rigid(0, 2, 20, 10), rigid(1, 4, 9, 5)];
    let failures = [once(0, "0", 4, 1_000), once(0, "5", 5, 2_000), once(0, "6", 1_500, 1)];
    for policy in queue::ALL {
        let lines = play_failing(&jobs, &[(7, policy.name)], &failures, &Recovery::default());
        assert!(lines.last().is_some_and(|last| last.ends_with("ends")), "{}: {lines:#?}", policy.name);
    }
}

#[test]
fn work_that_is_saved_is_not_done_again() {
    let jobs = [rigid(0, 1, 100, 25)];
    let checkpoint = Some(Checkpoint { every: Every::Span(Span::from_secs(10)), cost: Span::from_secs(1) });
    let recovery = Recovery { checkpoint, ..Recovery::default() };
    // After 11 s its first checkpoint is made. 15 s are left, which take one more.
    let failures = [once(0, "0", 15, 5)];
    assert_eq!(
        play_failing(&jobs, &[(1, "easy")], &failures, &recovery),
        [
            "0: 0 on 0",
            "15: 0 saved 1 times",
            "15: 0 is lost, 10 s saved",
            "15: 0 down since 15",
            "20: 0 up since 20",
            "20: 0 on 0",
            "36: 0 saved 1 times",
            "36: 0 ends",
        ]
    );
}

#[test]
fn a_returned_job_goes_elsewhere_and_one_that_fails_too_often_is_given_up() {
    let jobs = [rigid(0, 2, 20, 10)];
    let failures = [once(0, "0-1", 4, 3), once(0, "0", 9, 1), once(1, "0-1", 6, 100)];
    let sites = [(2, "easy"), (2, "easy")];
    let play = |killed, attempts| {
        let recovery = Recovery { killed, attempts, ..Recovery::default() };
        play_failing(&jobs, &sites, &failures, &recovery)
    };
    let lost = ["0: 0 on 0-1", "4: 0 is lost, 0 s saved", "4: 0-1 down since 4"];
    assert_eq!(play(Killed::Lost, 9), [&lost[..], &["4: 0 is given up"]].concat());
    // The other site is up still; when that is gone too, the first one is waited for: it is back sooner.
    let elsewhere = ["4: 0 on 0-1", "6: 0 is lost, 0 s saved", "6: 0-1 down since 6"];
    let again = ["7: 0-1 up since 7", "7: 0 on 0-1", "9: 0 is lost, 0 s saved", "9: 0 down since 9"];
    let last = ["10: 0 up since 10", "10: 0 on 0-1", "20: 0 ends"];
    let all = [&lost[..], &elsewhere, &again, &last].concat();
    assert_eq!(play(Killed::Back, 9), all);
    assert_eq!(play(Killed::Back, 2), [&lost[..], &elsewhere, &["6: 0 is given up"]].concat());
    assert_eq!(play(Killed::Head, 1), [&lost[..], &["4: 0 is given up"]].concat());
}

#[test]
fn a_new_submission_grants_no_more_attempts() {
    let jobs = [rigid(0, 2, 20, 10)];
    let failures = [once(0, "0-1", 4, 20), once(0, "0", 30, 1)];
    let lost = ["0: 0 on 0-1", "4: 0 is lost, 0 s saved", "4: 0-1 down since 4"];
    let again = ["24: 0-1 up since 24", "24: 0 on 0-1", "30: 0 is lost, 0 s saved", "30: 0 down since 30"];
    for (killed, patience) in [(Killed::Head, 10), (Killed::Tail, 10), (Killed::Back, 10), (Killed::Back, 1_000)] {
        let recovery = Recovery { killed, attempts: 2, ..Recovery::default() };
        let failing = Failing { failures: &failures, recovery: &recovery, seed: 1 };
        let latencies = [Span::ZERO; 3];
        let cast = failing_cast(&[(2, "easy")], Dispatch::First, &jobs, failing, &latencies);
        let log = judge::run_actors(impatient_cast(cast, &jobs, Span::from_secs(patience)), &latencies);
        let withdrawn = log.iter().filter(|entry| matches!(entry.record, Record::Withdrawn { .. })).count();
        assert_eq!(withdrawn, if patience == 10 { 2 } else { 0 });
        assert_eq!(render_log(&log), [&lost[..], &again, &["30: 0 is given up"]].concat(), "{killed:?}");
    }
}

#[test]
fn what_ends_in_the_instant_of_a_failure_has_ended() {
    let jobs = [rigid(0, 1, 5, 5), rigid(5, 1, 5, 5)];
    assert_eq!(
        play_failing(&jobs, &[(1, "conservative")], &[once(0, "0", 5, 2)], &Recovery::default()),
        ["0: 0 on 0", "5: 0 ends", "5: 0 down since 5", "7: 0 up since 7", "7: 1 on 0", "12: 1 ends"]
    );
}

/// `PROPTEST_CASES` says how many are drawn, if it is set.
pub(super) fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(usual))
}

/// A site under FCFS, second by second: a lost job starts again, before all others.
pub(super) fn plain_fcfs(nodes: u32, jobs: &[Rigid], outages: &Outages, reserved: &[Reserved]) -> Vec<Vec<(u64, u64)>> {
    let mut outages = outages.clone();
    let mut stints = vec![Vec::new(); jobs.len()];
    let mut queue: Vec<usize> = Vec::new();
    let mut running: Vec<(usize, u64, Vec<u32>)> = Vec::new();
    let mut down: Vec<bool> = vec![false; nodes as usize];
    let mut over = 0;
    for now in 0.. {
        running.retain(|(job, start, _)| {
            let end = start + jobs[*job].runtime.min(jobs[*job].walltime).micros() / 1_000_000;
            if end == now {
                stints[*job].push((*start, end));
                over += 1;
            }
            end > now
        });
        if over == jobs.len() {
            return stints;
        }
        let mut lost = Vec::new();
        for change in outages.advance(second(now)) {
            for node in 0..nodes {
                if change.nodes.meets(&NodeSet::from_run(node, node)) {
                    down[node as usize] = !change.is_up;
                }
            }
            running.retain(|(job, start, on)| {
                let is_lost = on.iter().any(|node| down[*node as usize]);
                if is_lost {
                    stints[*job].push((*start, now));
                    lost.push(*job);
                }
                !is_lost
            });
        }
        lost.sort_unstable();
        queue.splice(0..0, lost);
        queue.extend((0..jobs.len()).filter(|job| jobs[*job].submit == second(now)));
        while let Some(&head) = queue.first() {
            let taken = |node: &u32| running.iter().any(|(_, _, on)| on.contains(node));
            let start = second(now);
            let end = second(now) + jobs[head].walltime;
            let overlaps = |held: &&Reserved| held.from < end && start < held.until;
            let is_kept = |node: &u32| {
                let alone = NodeSet::from_run(*node, *node);
                reserved.iter().filter(overlaps).any(|held| held.nodes.meets(&alone))
            };
            let free: Vec<u32> =
                (0..nodes).filter(|node| !down[*node as usize] && !taken(node) && !is_kept(node)).collect();
            let Some(on) = free.get(..jobs[head].nodes as usize) else { break };
            running.push((head, now, on.to_vec()));
            queue.remove(0);
        }
    }
    unreachable!("time goes on for ever")
}

/// Begin and end of each run of the jobs, in seconds.
pub(super) fn stints(log: &[Entry<Record>], jobs: usize) -> Vec<Vec<(u64, u64)>> {
    let mut stints: Vec<Vec<(u64, u64)>> = vec![Vec::new(); jobs];
    let mut started = BTreeMap::new();
    for Entry { stamp, record, .. } in log {
        let now = stamp.time.micros() / 1_000_000;
        match record {
            Record::Started { task, .. } => drop(started.insert(task.job.0, now)),
            Record::Finished { task } | Record::Killed { task } | Record::Lost { task, .. } => {
                stints[task.job.0 as usize].push((started.remove(&task.job.0).unwrap(), now));
            }
            _ => {}
        }
    }
    stints
}

/// Outages at whole seconds, for the reference that looks at each second.
pub(super) fn at_seconds(spec: &[(u32, u64, u64)], nodes: u32) -> Vec<Failure> {
    spec.iter().map(|(node, at, lasts)| once(0, &(node % nodes).to_string(), *at, *lasts)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 40 } else { 200 }))]

    /// A queue with failures equals a slow reference that looks at every node and second.
    #[test]
    fn fcfs_with_failures_is_what_a_plain_reading_says(
        jobs in prop::collection::vec((0u64..40, 1u32..=5, 1u64..14, 1u64..12), 1..16),
        spec in prop::collection::vec((0u32..5, 1u64..90, 1u64..25), 0..12),
    ) {
        const NODES: u32 = 5;
        let mut jobs = jobs;
        jobs.sort_by_key(|job| job.0);
        let jobs: Vec<Rigid> =
            jobs.iter().map(|&(submit, nodes, walltime, runtime)| rigid(submit, nodes, walltime, runtime)).collect();
        let failures = at_seconds(&spec, NODES);
        let recovery = Recovery::default();
        let failing = Failing { failures: &failures, recovery: &recovery, seed: 1 };
        let Some(fails) = failing.site(0) else { return Ok(()) };
        let log = judge::run_actors(failing_cast(&[(NODES, "fcfs")], Dispatch::First, &jobs, failing, &[Span::ZERO; 3]), &[Span::ZERO; 3]);
        prop_assert_eq!(stints(&log, jobs.len()), plain_fcfs(NODES, &jobs, &fails.outages, &[]));
    }

    /// Under every policy, failure handling and latency: nothing runs on failed nodes, no two jobs share a node, work
    /// adds up, each job ends once, and no promise is broken.
    #[test]
    fn nothing_runs_where_nodes_are_down_and_work_adds_up(
        jobs in prop::collection::vec((0u64..60, 1u32..=4, 1u64..40, 1u64..40), 1..16),
        names in (0usize..ALL.len(), 0usize..ALL.len()),
        latencies in prop::collection::vec(0u64..3, 4),
        (mtbf, mttr, seed) in (20u64..200, 1u64..40, 0u64..1_000),
        (killed, attempts, every, announced) in (0usize..4, 1u32..6, 0u64..9, any::<bool>()),
        (dispatch, patience) in (0usize..3, prop::option::of(1u64..30)),
    ) {
        let mut jobs = jobs;
        jobs.sort_by_key(|job| job.0);
        let jobs: Vec<Rigid> =
            jobs.iter().map(|&(submit, nodes, walltime, runtime)| rigid(submit, nodes, walltime, runtime)).collect();
        let sites = [(5, ALL[names.0].name), (4, ALL[names.1].name)];
        let failures = [
            drawn(0, 5, mtbf, mttr, Per::Node, announced),
            drawn(0, 4, 2 * mtbf, mttr, Per::Site, !announced),
            once(1, "0-3", 30, 20),
        ];
        let saves = Checkpoint { every: Every::Span(Span::from_secs(every.max(1))), cost: Span::from_millis(500) };
        let checkpoint = (every > 0).then_some(saves);
        let recovery = Recovery { killed: Killed::ALL[killed].1, attempts, checkpoint, ..Recovery::default() };
        let failing = Failing { failures: &failures, recovery: &recovery, seed };
        let latencies: Vec<Span> = std::iter::once(0).chain(latencies).take(4).map(Span::from_secs).collect();
        let dispatch = Dispatch::ALL[dispatch].1;
        let cast = failing_cast(&sites, dispatch, &jobs, failing, &latencies);
        let cast = match patience {
            Some(patience) => impatient_cast(cast, &jobs, Span::from_secs(patience)),
            None => cast,
        };
        let log = judge::run_actors(cast, &latencies);

        let end = log.last().map_or(Time::ZERO, |entry| entry.stamp.time);
        // When it started or went on, since when it is on these nodes, and where.
        let mut on: BTreeMap<TaskId, (Time, Time, ActorId, NodeSet)> = BTreeMap::new();
        let all: Vec<Span> = jobs.iter().map(|job| job.runtime.min(job.walltime)).collect();
        let mut left = all.clone();
        let mut losses: BTreeMap<u32, u32> = BTreeMap::new();
        let mut fates: BTreeMap<u32, &str> = BTreeMap::new();
        let mut stints: Vec<(ActorId, NodeSet, Time, Time, bool)> = Vec::new();
        let stretched = |work: Span| match recovery.checkpoint {
            Some(checkpoint) => checkpoint.checkpoint_schedule(0.0).unwrap().with_checkpoints(work),
            None => work,
        };
        for Entry { stamp, actor, record } in &log {
            let now = stamp.time;
            match record {
                Record::Started { task, cores } => {
                    prop_assert_eq!(on.insert(*task, (now, now, *actor, cores.clone())), None, "{} runs twice", task);
                }
                Record::Moved { task, cores } => {
                    let (_, since, site, before) = on.get_mut(task).unwrap();
                    stints.push((*site, std::mem::replace(before, cores.clone()), *since, now, false));
                    *since = now;
                }
                Record::Finished { task } | Record::Killed { task } => {
                    let (start, since, site, cores) = on.remove(task).unwrap();
                    prop_assert_eq!(now - start, stretched(left[task.job.0 as usize]), "{}", task);
                    stints.push((site, cores, since, now, false));
                }
                Record::Lost { task, saved } => {
                    *losses.entry(task.job.0).or_default() += 1;
                    let (start, since, site, cores) = on.remove(task).unwrap();
                    let ran = now - start;
                    let work = &mut left[task.job.0 as usize];
                    prop_assert!(ran < stretched(*work) && *saved < *work && *saved <= ran, "{}", task);
                    prop_assert!(every > 0 || saved.is_zero());
                    *work = Span::from_micros(work.micros() - saved.micros());
                    stints.push((site, cores, since, now, true));
                }
                // A job that is submitted again starts from the beginning, but its losses count.
                Record::Withdrawn { task } => left[task.job.0 as usize] = all[task.job.0 as usize],
                Record::Completed { job, .. } => {
                    prop_assert!(losses.get(&job.0).is_none_or(|losses| *losses < recovery.attempts), "job {}", job);
                    prop_assert_eq!(fates.insert(job.0, "done"), None);
                }
                Record::Removed { job } => {
                    let most = if recovery.killed == Killed::Lost { 1 } else { recovery.attempts };
                    prop_assert_eq!(losses.get(&job.0), Some(&most), "job {} is given up", job);
                    prop_assert_eq!(fates.insert(job.0, "gone"), None);
                }
                Record::Rejected { job, .. } => prop_assert_eq!(fates.insert(job.id.0, "rejected"), None),
                _ => {}
            }
        }
        prop_assert!(on.is_empty());
        prop_assert_eq!(fates.len(), jobs.len());

        for (site, (nodes, _)) in sites.iter().enumerate() {
            let mut outages = failing.site(site).unwrap().outages;
            let changes = outages.advance(end);
            let failed = |cores: &NodeSet, from: Time, to: Time| {
                changes.iter().any(|change| {
                    !change.is_up && from < change.at && change.at <= to && change.nodes.meets(cores)
                })
            };
            let here = stints.iter().filter(|stint| stint.0 == ActorId(site as u32 + 1));
            for (_, cores, from, to, lost) in here.clone() {
                // A job is lost when a node of it fails; no other job is on one that does.
                let before = Time::from_micros(to.micros().saturating_sub(1));
                prop_assert!(!failed(cores, *from, before), "{cores} from {from} to {to}");
                prop_assert!(!*lost || failed(cores, before, *to), "{cores} from {from} to {to}");
            }
            // Nothing starts on what is down.
            let mut calendar = crate::grid::Calendar::new(*nodes);
            let mut since: BTreeMap<u32, Time> = BTreeMap::new();
            let mut stretches = Vec::new();
            for change in &changes {
                for node in change.nodes.each() {
                    if change.is_up {
                        stretches.push((since.remove(&node).unwrap(), change.at, node));
                    } else {
                        prop_assert_eq!(since.insert(node, change.at), None);
                    }
                }
            }
            stretches.extend(since.into_iter().map(|(node, from)| (from, end + Span::from_secs(1), node)));
            for (from, to, node) in stretches {
                prop_assert_eq!(calendar.insert(from, to, &NodeSet::from_run(node, node)), Ok(()));
            }
            for (_, cores, from, to, _) in here.filter(|stint| stint.2 < stint.3) {
                prop_assert_eq!(calendar.insert(*from, *to, cores), Ok(()), "{} from {} to {}", cores, from, to);
            }
        }
    }
}
