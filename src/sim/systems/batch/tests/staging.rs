//! Jobs with input, held against the slow judge of flows and the policy alone.

use proptest::prelude::*;

use super::*;
use crate::grid::{QueueOrder, Staging, Volumes};
use crate::network::{Efficiency, Link, LinkId, Mode, Paths, Stager, judge as flows};

const HOME: ActorId = ActorId(2);

/// York, where the queue is, and bath, where data is at home: inputs cross the one link, outputs the other.
fn paths(capacity: f64, latency: f64, efficiency: Efficiency) -> Paths {
    let link = Link { capacity, latency, efficiency, mode: Mode::Shared };
    let none = Vec::new;
    Paths::new(vec![link, link], vec![vec![none(), vec![LinkId(1)]], vec![vec![LinkId(0)], none()]])
}

/// The first whole microsecond that is not before an exact time, give or take what rounding does to it.
fn whole(time: f64) -> Time {
    Time::from_micros((time - 1e-3).ceil() as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 60 } else { 400 }))]

    /// A queue whose jobs have data is one whose jobs come when flows that share the links have ended, as the slow
    /// judge of flows says; each is over when what it leaves is home.
    #[test]
    fn a_queue_of_jobs_with_data_is_one_whose_jobs_come_later(
        jobs in prop::collection::vec((0u64..60, 1u32..=6, 1u64..14, 1u64..12, 0u64..20, 0u64..9), 1..25),
        (capacity, latency, parallel) in (1u64..9, 0u64..4, any::<bool>()),
    ) {
        let mut jobs = jobs;
        jobs.sort_by_key(|job| job.0);
        let efficiency = if parallel { Efficiency::Tcp } else { Efficiency::None };
        let paths = paths(capacity as f64 / 3.0, 1e6 * latency as f64, efficiency);
        let volumes = |&(.., input, output): &(u64, u32, u64, u64, u64, u64)| {
            Volumes { input: 1_000_000 * input, output: 1_000_000 * output }
        };
        let rigids: Vec<Rigid> = jobs.iter().map(|&(submit, nodes, walltime, runtime, ..)| rigid(submit, nodes, walltime, runtime)).collect();
        // When each input is there.
        let with_input: Vec<usize> = (0..jobs.len()).filter(|job| volumes(&jobs[*job]).input > 0).collect();
        let released = |job: &usize| {
            (rigids[*job].submit.micros() as f64, vec![0], volumes(&jobs[*job]).input as f64)
        };
        let ends = flows::flow_ends(&paths.links, &with_input.iter().map(released).collect::<Vec<_>>());
        let mut there: Vec<Time> = rigids.iter().map(|rigid| rigid.submit).collect();
        with_input.iter().zip(&ends).for_each(|(job, end)| there[*job] = whole(*end));
        let exact = |job: usize| with_input.iter().position(|other| *other == job).map_or(0.0, |at| ends[at]);

        for entry in ALL {
            let known = KnownSite::new(ActorId(1), 6, Takes::Queued);
            let stager = Stager::new(paths.clone().into(), vec![ActorId(1), HOME]);
            let messages = (0..).zip(&rigids).zip(&jobs).map(|((number, rigid), staged)| {
                let staging = Some(Staging { volumes: volumes(staged), home: 1 });
                let enqueue = Enqueue { job: job(number, rigid), site: None, kind: None, think: None, needs: None, staging };
                (rigid.submit, ROUTER, Message::Enqueue(enqueue))
            });
            let user = User::new(Script::from_messages(messages.collect()));
            let site = |nodes| {
                let policy = (queue::find_policy(entry.name).unwrap().build)(nodes, &[], QueueOrder::Arrival.into());
                Box::new(Site::new(nodes, Box::new(QueueManager::new(policy)), [ROUTER]))
            };
            let dispatcher = Dispatcher::new(vec![known], Dispatch::First, Some(stager));
            let log = judge::run_actors(vec![Box::new(dispatcher), site(6), site(1), Box::new(user)], &[Span::ZERO; 4]);

            // Of jobs that arrive in one microsecond those come first whose data does; a job without data comes last.
            let mut order: Vec<usize> = (0..jobs.len()).collect();
            order.sort_by(|&a, &b| {
                let brings = |job: usize| !with_input.contains(&job);
                there[a].cmp(&there[b]).then(brings(a).cmp(&brings(b))).then(exact(a).total_cmp(&exact(b))).then(a.cmp(&b))
            });
            let later: Vec<Rigid> = order.iter().map(|&job| Rigid { submit: there[job], ..rigids[job] }).collect();
            let alone = play_jobs(&mut *(entry.build)(6, &[], QueueOrder::Arrival.into()), 6, &later);
            let alone: BTreeMap<u32, Ran> =
                order.iter().zip(alone).filter_map(|(job, ran)| Some((*job as u32, ran?))).collect();
            prop_assert_eq!(ran(&log), alone.clone(), "{}", entry.name);

            // What goes back competes with nothing but its like.
            let mut left: Vec<(Time, u32)> = alone.iter().map(|(job, ran)| (ran.end, *job)).collect();
            left.sort_unstable();
            left.retain(|(_, job)| volumes(&jobs[*job as usize]).output > 0);
            let back = |(end, job): &(Time, u32)| (end.micros() as f64, vec![1], volumes(&jobs[*job as usize]).output as f64);
            let home = flows::flow_ends(&paths.links, &left.iter().map(back).collect::<Vec<_>>());
            let mut over: BTreeMap<u32, Time> = alone.iter().map(|(job, ran)| (*job, ran.end)).collect();
            left.iter().zip(home).for_each(|((_, job), end)| *over.get_mut(job).unwrap() = whole(end));
            let completed = log.iter().filter_map(|entry| match entry.record {
                Record::Completed { job, .. } => Some((job.0, entry.stamp.time)),
                _ => None,
            });
            prop_assert_eq!(completed.collect::<BTreeMap<_, _>>(), over, "{}", entry.name);
        }
    }
}
