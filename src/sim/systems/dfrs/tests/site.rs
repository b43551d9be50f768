//! A site whose jobs share its nodes, compared with the cluster alone.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::{Algorithm, Cluster, ClusterRun, Fractional, Timed, run_on};
use super::properties::any_images;
use super::{algorithm, need};
use crate::grid::{Images, JobId, Layers, Needs, NodeSet, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Entry, Event, Outbox, judge};
use crate::protocol::{Admit, Message, Recall, Record};
use crate::roles::Site;
use crate::systems::Fails;
use crate::time::{Span, Stamp, Time};

pub(super) const HUB: ActorId = ActorId(0);
pub(super) const SITE: ActorId = ActorId(1);
pub(super) const WAY: Span = Span::from_millis(1);

/// Sends messages to the site at their times, and logs its answers as if it had removed or recalled jobs.
struct Hub {
    messages: Vec<(Time, Message)>,
}

impl Actor<Message, Record> for Hub {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start => self.messages.drain(..).for_each(|(at, message)| out.send_at(at, SITE, message)),
                Cause::Message(Message::Ended(ended)) => out.log(Record::Removed { job: ended.task.job }),
                Cause::Message(Message::Recalled(recalled)) if recalled.in_time => {
                    out.log(Record::Withdrawn { task: recalled.task });
                }
                _ => {}
            }
        }
    }
}

fn task(job: u32) -> TaskId {
    TaskId { job: JobId(job), index: 0 }
}

pub(super) fn admit(job: u32, timed: &Timed) -> (Time, Message) {
    let needs = Needs { cpu: timed.need.cpu, memory: timed.need.memory };
    let admit = Admit { job: JobId(job), tasks: timed.need.tasks, needs, runtime: timed.runtime, losses: 0 };
    (timed.submit, Message::Admit(admit))
}

pub(super) fn play(
    rules: Fractional,
    nodes: u32,
    images: Option<Images>,
    fails: Option<Fails>,
    messages: Vec<(Time, Message)>,
) -> Vec<Entry<Record>> {
    let memory_kb = images.map_or(1, |images| images.memory_kb);
    let image_bandwidth = images.map(|images| images.bandwidth);
    let site = crate::grid::Site { scheduler: rules.to_string(), cores: nodes, memory_kb, image_bandwidth, ..a_site() };
    let manager = (super::super::KIND.build)(&site, fails.as_ref(), None).expect("it is a name of its kind");
    let site = Site::new(nodes, manager, [HUB]).with_outages(fails.map(|fails| fails.outages));
    judge::run_actors(vec![Box::new(Hub { messages }), Box::new(site)], &[Span::ZERO, WAY])
}

fn a_site() -> crate::grid::Site {
    crate::grid::Site {
        name: "york".to_owned(),
        cores: 1,
        kind: crate::grid::Kind(0),
        speed_millionths: 1_000_000,
        scheduler: String::new(),
        memory_kb: 1,
        latency: WAY,
        report_every: Span::ZERO,
        systems: Vec::new(),
        ..crate::grid::Site::with_defaults()
    }
}

/// Results of a site's log.
#[derive(Debug, PartialEq)]
pub(super) struct ReplayedLog {
    pub ends: Vec<Option<Time>>,
    pub preemptions: u64,
    pub migrations: u64,
}

/// Nodes and share of a job.
struct Seen {
    on: Option<Layers>,
    share: f64,
}

/// Reads a log, and checks that no node exceeds its capacity.
pub(super) fn replay_log(log: &[Entry<Record>], nodes: u32, jobs: &[Timed]) -> ReplayedLog {
    let mut replayed = ReplayedLog { ends: vec![None; jobs.len()], preemptions: 0, migrations: 0 };
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    let mut stamp = Stamp::ZERO;
    let last = Entry { stamp: Stamp::NEVER, actor: HUB, record: Record::Removed { job: JobId(0) } };
    for Entry { stamp: now, record, actor } in log.iter().chain([&last]) {
        if *now != stamp {
            check(&seen, nodes, jobs, stamp);
            stamp = *now;
        }
        if *actor != SITE {
            continue;
        }
        match record {
            Record::Started { task, cores } | Record::Resumed { task, cores } => {
                let seen = seen.entry(task.job.0).or_insert(Seen { on: None, share: 1.0 });
                assert!(seen.on.replace(cores.clone().into()).is_none());
            }
            Record::Moved { task, cores } => {
                replayed.migrations += 1;
                let seen = seen.get_mut(&task.job.0).expect("it has started");
                assert!(seen.on.replace(cores.clone().into()).is_some());
            }
            Record::Stacked { task, cores } => {
                let seen = seen.get_mut(&task.job.0).expect("it has started");
                seen.on.as_mut().expect("it runs").more.push(cores.clone());
            }
            Record::Suspended { task } => {
                replayed.preemptions += 1;
                assert!(seen.get_mut(&task.job.0).expect("it has started").on.take().is_some());
            }
            Record::Shared { task, share } => seen.get_mut(&task.job.0).expect("it has started").share = *share,
            Record::Finished { task } => {
                assert!(seen.remove(&task.job.0).is_some_and(|seen| seen.on.is_some()));
                replayed.ends[task.job.0 as usize] = Some(now.time);
            }
            other => panic!("{other:?}"),
        }
    }
    replayed
}

fn check(seen: &BTreeMap<u32, Seen>, nodes: u32, jobs: &[Timed], at: Stamp) {
    let mut taken = vec![(0.0, 0.0); nodes as usize];
    for (job, seen) in seen {
        let need = jobs[*job as usize].need;
        let Some(layers) = &seen.on else { continue };
        assert_eq!(layers.each().map(NodeSet::len).sum::<u32>(), need.tasks, "job {job} at {at}");
        for node in layers.each().flat_map(NodeSet::each) {
            taken[node as usize].0 += need.cpu * seen.share;
            taken[node as usize].1 += need.memory;
        }
    }
    assert!(taken.iter().all(|taken| taken.0 <= 1.0 + 1e-6 && taken.1 <= 1.0 + 1e-6), "at {at}: {taken:?}");
}

/// Checks that the site and the cluster alone do the same at the same times, except for the latency to the site.
fn agree(rules: Fractional, nodes: u32, images: Option<Images>, jobs: &[Timed]) {
    let messages = (0..).zip(jobs).map(|(job, timed)| admit(job, timed)).collect();
    let log = play(rules, nodes, images, None, messages);
    let there: Vec<Timed> = jobs.iter().map(|job| Timed { submit: job.submit + WAY, ..*job }).collect();
    let ClusterRun { ends, moves, .. } = run_on(Cluster::new(rules, nodes).moving(images), &there, |_, _, _| {});
    let alone = ReplayedLog { ends, preemptions: moves.preemptions, migrations: moves.migrations };
    assert_eq!(replay_log(&log, nodes, jobs), alone, "{rules}");
    let received = log.iter().filter(|entry| entry.actor == HUB).map(|entry| {
        let Record::Removed { job } = entry.record else { panic!("{entry:?}") };
        (job.0, entry.stamp.time)
    });
    let received: BTreeMap<u32, Time> = received.collect();
    let ended = (0..).zip(&alone.ends).filter_map(|(job, end)| Some((job, (*end)? + WAY)));
    assert_eq!(received, ended.collect(), "{rules}");
}

pub(super) fn any_jobs() -> impl Strategy<Value = Vec<Timed>> {
    let job = (0u64..40, 1u64..200, 1u32..5, 1u32..5, 1u32..11).prop_map(|(gap, runtime, tasks, cpu, memory)| {
        (gap, runtime, need(tasks, f64::from(cpu) / 4.0, f64::from(memory) / 10.0))
    });
    prop::collection::vec(job, 1..14).prop_map(|jobs| {
        let mut submit = Time::ZERO;
        let timed = jobs.into_iter().map(|(gap, runtime, need)| {
            submit = submit + Span::from_secs(gap);
            Timed { submit, runtime: Span::from_secs(runtime), need }
        });
        timed.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Under every algorithm, with ticks that sometimes coincide with submissions.
    #[test]
    fn a_site_does_what_a_cluster_does(
        jobs in any_jobs(),
        which in 0usize..116,
        nodes in 1u32..5,
        (slow, images) in (0u64..4, any_images(1_000)),
    ) {
        let rules = *Algorithm::all_published()[which].fractional().expect("all of these share nodes");
        let period = if rules.periodic.is_some() { Span::from_secs(20) } else { rules.period };
        let penalty = Span::from_secs(5 * slow);
        let fits = |job: &Timed| job.need.check(nodes).is_ok();
        let jobs: Vec<Timed> = jobs.into_iter().filter(fits).collect();
        agree(Fractional { period, penalty, ..rules }, nodes, images, &jobs);
    }
}

#[test]
fn waiting_jobs_can_be_recalled_and_started_ones_cannot() {
    let second = |second| Time::ZERO + Span::from_secs(second);
    let timed =
        |submit, memory| Timed { submit: second(submit), runtime: Span::from_secs(100), need: need(1, 1.0, memory) };
    let jobs = [timed(0, 0.9), timed(1, 0.9), timed(2, 0.9), timed(3, 0.9)];
    let mut messages: Vec<(Time, Message)> = (0..).zip(&jobs).map(|(job, timed)| admit(job, timed)).collect();
    // The last one at the very moment of its arrival, and no job twice.
    for (at, job) in [(2, 1), (3, 3), (10, 0), (11, 1), (12, 7)] {
        messages.push((second(at), Message::Recall(Recall { task: task(job) })));
    }
    messages.sort_by_key(|(at, _)| *at);
    let log = play(algorithm("Greedy *"), 1, None, None, messages);
    let back: Vec<u32> = log
        .iter()
        .filter_map(|entry| match entry.record {
            Record::Withdrawn { task } => Some(task.job.0),
            _ => None,
        })
        .collect();
    assert_eq!(back, [1, 3]);
    let log: Vec<Entry<Record>> = log.into_iter().filter(|entry| entry.actor == SITE).collect();
    let ends = replay_log(&log, 1, &jobs).ends;
    assert_eq!(ends, [Some(second(100) + WAY), None, Some(second(200) + WAY), None]);
}

/// A whole node and almost nothing fit together, as sums may slightly exceed 1.
#[test]
fn a_whole_node_leaves_room_for_nearly_nothing() {
    let timed = |cpu, memory| Timed { submit: Time::ZERO, runtime: Span::from_secs(9), need: need(1, cpu, memory) };
    agree(algorithm("Greedy *"), 1, None, &[timed(1.0, 1.0), timed(1e-12, 1e-12), timed(1e-10, 5e-10)]);
}

/// Strangers may send anything; nonsense is ignored.
#[test]
fn nonsense_is_ignored() {
    let runtime = Span::from_secs(1);
    let messages = |job, tasks, cpu, memory, runtime| {
        let needs = Needs { cpu, memory };
        (Time::ZERO, Message::Admit(Admit { job: JobId(job), tasks, needs, runtime, losses: 0 }))
    };
    let nonsense = vec![
        messages(0, 0, 0.5, 0.5, runtime),
        messages(1, 1, f64::NAN, 0.5, runtime),
        messages(2, 1, 0.5, 1.5, runtime),
        messages(3, 1, 0.5, 0.5, Span::ZERO),
        messages(4, 5, 0.5, 0.6, runtime),
        messages(5, 1, 0.5, 0.5, runtime),
        messages(5, 1, 0.5, 0.5, runtime),
    ];
    let log = play(algorithm("MCB8 */per"), 2, None, None, nonsense);
    let started = log.iter().filter(|entry| matches!(entry.record, Record::Started { .. }));
    assert_eq!(started.count(), 1);
}
