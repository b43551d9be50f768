use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::StorySubject;
use super::wait::*;
use crate::Names;
use crate::Tally;
use crate::play::second as at;
use crate::referee::tally::{StintEnd, Stints, TaskRow};
use crate::subjects::requests::tests as reservations;
use crate::tests::{ANN, ROUTER, YORK, topology};
use hansa_sim::grid::{Job, JobId, Kind, NodeSet, Task, TaskId};
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::Record;
use hansa_sim::time::{Span, Stamp};

/// The wait of a job of one task.
fn wait_of(tally: &Tally, job: &str) -> Why {
    let (id, task) = tally.find_job(job).unwrap();
    match tally.explain_job(&topology(), id, task, None).subject {
        StorySubject::Task(why) => *why,
        other => panic!("job {job} has no wait: {other:?}"),
    }
}

/// On 8 cores: job 0 has 6 of them until 100 s, job 1 wants 8, and job 2, which came later, has 2 until 60 s.
fn tally() -> Tally {
    tally_of(&[(0, 0, 6, Some(0), 100), (1, 10, 8, Some(100), 150), (2, 20, 2, Some(20), 60), (3, 30, 8, None, 0)])
}

/// Number, arrival, cores, start and end of a job, in seconds.
type JobTimes = (u32, u64, u32, Option<u64>, u64);

fn tally_of(jobs: &[JobTimes]) -> Tally {
    let mut topology = topology();
    topology.sites[0].cores = 8;
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    let mut story = Vec::new();
    for &(id, came, cores, start, end) in jobs {
        let task = TaskId { job: JobId(id), index: 0 };
        let tasks = vec![Task::new(Span::from_secs(60), cores, Kind(0))];
        let job =
            Job { id: task.job, arrive: at(came), first_task: id, tasks, edges: Vec::new(), worth: None, times: None };
        story.push((came, ROUTER, Record::Arrived { job: Arc::new(job), user: ANN }));
        story.push((came, ROUTER, Record::Assigned { task, site: YORK }));
        if let Some(start) = start {
            story.push((start, YORK, Record::Started { task, cores: NodeSet::default() }));
            story.push((end, YORK, Record::Finished { task }));
        }
    }
    // Ends come before starts of their moment.
    story.sort_by_key(|(seconds, _, record)| (*seconds, matches!(record, Record::Started { .. })));
    let mut free = NodeSet::all(8);
    let mut held: BTreeMap<TaskId, NodeSet> = BTreeMap::new();
    for (seconds, actor, mut record) in story {
        match &mut record {
            Record::Started { task, cores } => {
                let wanted = jobs[task.job.0 as usize].2;
                *cores = free.take_lowest(wanted).expect("jobs at a time fit");
                held.insert(*task, cores.clone());
            }
            Record::Finished { task } => free.insert(&held[&*task]),
            _ => {}
        }
        tally.add(&Entry { stamp: Stamp::at(at(seconds)), actor, record }).unwrap();
    }
    tally
}

#[test]
fn a_wait_is_explained_by_what_was_ahead_what_was_free_and_what_went_first() {
    let why = wait_of(&tally(), "1");
    assert_eq!((why.came, why.started, why.ahead), (10.0, Some(100.0), Amount::default()));
    assert_eq!(why.running, Amount { jobs: 1, cores: 6 });
    // 2 cores are free from 10 s to 20 s and from 60 s on.
    assert_eq!(why.free, Some(Free { most: 2, enough_for: 0.0 }));
    assert_eq!(why.overtaken_by, [Later { job: "2".to_owned(), cores: 2, started: 20.0, held: 40.0 }]);
    assert_eq!(why.freed_by, ["0"]);
    assert_eq!((&why.waited[..], why.free_without_later), (&[][..], Some(100.0)));
    assert_eq!(why.ran, [Before { job: "0".to_owned(), cores: 6, until: 100.0 }]);
    let text = why.to_string();
    assert!(text.ends_with("started       00:01:40, after 1 min 30 s, when job 0 left its cores\n"), "{text}");
    assert!(wait_of(&tally(), "2").to_string().ends_with("started       at once\n"));
}

/// Job 1 waits for the 6 cores of job 0 until 50 s, and for those of the later job 2 until 90 s.
#[test]
fn the_cost_of_being_overtaken_is_named() {
    let jobs =
        |end| [(0, 0, 6, Some(0), 50), (1, 10, 8, Some(end), 150), (2, 20, 2, Some(20), end), (3, 30, 1, Some(50), 60)];
    let why = wait_of(&tally_of(&jobs(90)), "1");
    assert_eq!((why.free_without_later, why.until), (Some(50.0), 90.0));
    let text = why.to_string();
    let line = "without these, enough cores would have been free for its whole run from 00:00:50 on, 40 s sooner\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("job 0 ran on 6 cores until 00:00:50\n"), "{text}");
    // Job 3 has nothing ahead of it but job 1, which leaves the queue after it: it went first.
    let first = wait_of(&tally_of(&jobs(90)), "3");
    assert_eq!(
        (first.free_without_later, &first.waited[..]),
        (None, &[Before { job: "1".to_owned(), cores: 8, until: 90.0 }][..])
    );
    let mut in_time = jobs(50);
    in_time[3] = (3, 30, 1, Some(150), 160);
    let text = wait_of(&tally_of(&in_time), "1").to_string();
    assert!(text.contains("without these, enough cores would have been free no sooner\n"), "{text}");
}

/// Without job 3, all cores are free from 40 s until job 1, which is ahead of job 2, starts at 93 s.
#[test]
fn room_that_ends_before_the_start_counts_if_the_job_fits_into_it() {
    let jobs =
        |end| [(0, 0, 6, Some(0), 40), (1, 1, 8, Some(93), 103), (2, 2, 8, Some(103), end), (3, 3, 2, Some(3), 93)];
    let why = wait_of(&tally_of(&jobs(113)), "2");
    assert_eq!(why.free_without_later, Some(40.0));
    let text = why.to_string();
    let line = "without these, enough cores would have been free for its whole run from 00:00:40 on, 1 min 03 s \
                sooner, while 1 job ahead of it still waited\n";
    assert!(text.contains(line), "{text}");
    assert_eq!(wait_of(&tally_of(&jobs(156)), "2").free_without_later, Some(40.0));
    let text = wait_of(&tally_of(&jobs(157)), "2").to_string();
    assert!(text.contains("without these, enough cores would have been free no sooner\n"), "{text}");
}

/// Starts jobs on eight cores at random: at each second each waiting job starts by chance if it fits.
fn play_at_random(jobs: &[(u64, u32, u64)], chances: &[u8]) -> Vec<JobTimes> {
    let mut played: Vec<JobTimes> = Vec::new();
    for (id, &(came, cores, _)) in jobs.iter().enumerate() {
        played.push((id as u32, came, cores, None, 0));
    }
    for second in 0..200u64 {
        for (place, &(_, _, runtime)) in jobs.iter().enumerate() {
            let (_, came, cores, start, _) = played[place];
            let held: u32 = played.iter().filter(|job| is_held_at(job, second)).map(|job| job.2).sum();
            let chance = chances[(second as usize * 7 + place) % chances.len()];
            if start.is_none() && came <= second && held + cores <= 8 && chance < 60 {
                played[place].3 = Some(second);
                played[place].4 = second + runtime;
            }
        }
    }
    played
}

fn is_held_at(job: &JobTimes, second: u64) -> bool {
    job.3.is_some_and(|start| start <= second) && job.4 > second
}

/// First second at which a job fits for its whole time, tried one by one.
fn first_room_by_trying(jobs: &[JobTimes], own: &JobTimes, until: u64) -> u64 {
    let is_other = |job: &&JobTimes| {
        let is_later = (job.1, job.0) > (own.1, own.0) && job.3.is_some_and(|start| start < until);
        job.0 != own.0 && !is_later
    };
    let others: Vec<&JobTimes> = jobs.iter().filter(is_other).collect();
    let need = own.3.map_or(60, |start| own.4 - start);
    let fits_at = |from: &u64| {
        (*from..from + need).all(|second| {
            let held: u32 = others.iter().filter(|job| is_held_at(job, second)).map(|job| job.2).sum();
            held + own.2 <= 8
        })
    };
    (own.1..until).find(fits_at).unwrap_or(until)
}

proptest! {
    #[test]
    fn the_cost_of_being_overtaken_is_that_of_trying_every_second(
        jobs in prop::collection::vec((0u64..40, 1u32..=8, 1u64..30), 2..12),
        chances in prop::collection::vec(any::<u8>(), 60..80),
    ) {
        let mut jobs = jobs;
        jobs.sort_by_key(|job| job.0);
        let played = play_at_random(&jobs, &chances);
        let tally = tally_of(&played);
        for own in &played {
            let why = wait_of(&tally, &own.0.to_string());
            let until = own.3.unwrap_or(why.until as u64);
            let is_overtaken = !why.overtaken_by.is_empty();
            let tried = is_overtaken.then(|| first_room_by_trying(&played, own, until) as f64);
            prop_assert_eq!(why.free_without_later, tried, "job {} of {:?}", own.0, played);
        }
    }
}

/// A job that starts at once has half of its cores from 10 s to 50 s, is paused for 30 s, moved after 20 s more,
/// and has them to itself for the last 10 s.
#[test]
fn what_became_of_a_shared_start_is_said() {
    let nodes = NodeSet::from_run(0, 1);
    let mut task = TaskRow { start: Some(at(10)), cores: nodes.clone(), ..TaskRow::default() };
    let stints = Stints::of(&mut task.stints, at(10));
    stints.set_share(at(10), &nodes, 0.5);
    stints.leave_nodes(at(50), &nodes, StintEnd::Suspended);
    stints.begin(at(80));
    stints.set_share(at(80), &nodes, 0.5);
    stints.leave_nodes(at(100), &nodes, StintEnd::Moved);
    stints.begin(at(100));
    let run = SharedRun::of(&task, at(110)).unwrap();
    assert_eq!((run.pauses, run.moves, run.on_cores, run.paused), (1, 1, 70.0, 30.0));
    assert!((run.share - 40.0 / 70.0).abs() < 1e-12, "{run:?}");
    assert_eq!(SharedRun::of(&TaskRow { start: Some(at(10)), ..TaskRow::default() }, at(20)), None);
    let mut why = wait_of(&tally(), "2");
    why.shared = Some(run);
    let text = why.to_string();
    let lines = "started       at once\n\
                 then          1 pause, 1 move; 30 s off its cores\n\
                 on its cores  1 min 10 s, with 57.1 % of their processors in the mean\n";
    assert!(text.ends_with(lines), "{text}");
}

#[test]
fn a_job_that_never_started_waits_to_the_end() {
    let why = wait_of(&tally(), "3");
    assert_eq!((why.started, why.until, why.ahead), (None, 150.0, Amount { jobs: 1, cores: 8 }));
    // All cores but those of job 1: none from 100 s on.
    assert_eq!((why.first_from, why.free), (Some(100.0), Some(Free { most: 2, enough_for: 0.0 })));
    assert!(why.to_string().contains("started       never; until 00:02:30 it had waited 2 min 00 s"));
}

#[test]
fn a_booked_job_waits_for_its_booking() {
    let why = wait_of(&reservations::tally(), "0");
    assert_eq!((why.booked, why.started), (Some(600.0), Some(600.0)));
    let text = why.to_string();
    assert!(text.contains("booked        from 00:10:00 on, for which it waits\n"), "{text}");
    assert!(!text.contains("free cores") && !text.contains("overtaken"), "{text}");
}

#[test]
fn what_is_not_there_is_said() {
    let message = |job| tally().find_job(job).unwrap_err();
    assert_eq!(message("9"), "there is no job 9; numbers go from 0 to 3");
    assert_eq!(message("x"), "there is no job x; numbers go from 0 to 3");
    assert_eq!(message("1.4"), "there is no task 1.4; those of job 1 go from 0 to 0");
}
