//! What a site does under the auction, and under a manager that does whatever it may.

use proptest::prelude::*;

use super::*;
use crate::grid::{JobId, TaskId};
use crate::kernel::{Cause, Entry, Event, judge};
use crate::protocol::{Record, Run};
use crate::roles::scheduler;
use crate::time::Span;

const ROUTER: ActorId = ActorId(0);
const SITE: ActorId = ActorId(1);

/// Gives out runs at their times and notes what it hears of them as if it had removed those jobs.
struct Router {
    runs: Vec<(u64, Run)>,
}

impl Actor<Message, Record> for Router {
    fn handle(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start => {
                    for &(at, run) in &self.runs {
                        out.send_at(Time::from_micros(at), SITE, Message::Run(run));
                    }
                }
                Cause::Message(Message::Ended(ended)) => out.log(Record::Removed { job: ended.task.job }),
                _ => {}
            }
        }
    }
}

fn play(cores: u32, runs: &[(u64, u32, u64)]) -> Vec<Entry<Record>> {
    play_telling_every(Span::ZERO, cores, runs)
}

fn play_telling_every(period: Span, cores: u32, runs: &[(u64, u32, u64)]) -> Vec<Entry<Record>> {
    let run = |(number, &(at, cores, runtime)): (usize, &(u64, u32, u64))| {
        let task = TaskId { job: JobId(number as u32), index: 0 };
        (at, Run { task, cores, runtime: Span::from_micros(runtime) })
    };
    let runs = runs.iter().enumerate().map(run).collect();
    let scheduler = (scheduler::find("auction").unwrap().build)();
    judge::run(
        vec![Box::new(Router { runs }), Box::new(Site::new(cores, scheduler, [ROUTER]).telling_every(period))],
        &[Span::ZERO, Span::ZERO],
    )
}

fn story(log: &[Entry<Record>]) -> Vec<String> {
    let tell = |entry: &Entry<Record>| {
        let at = entry.stamp.time.micros();
        match &entry.record {
            Record::Started { task, cores } => format!("{at}: {} on {cores}", task.job),
            Record::Finished { task } => format!("{at}: {} ends", task.job),
            Record::Removed { job } => format!("{at}: router hears of {job}"),
            other => panic!("{other:?}"),
        }
    };
    log.iter().map(tell).collect()
}

#[test]
fn tasks_get_the_lowest_cores_and_what_does_not_fit_waits_its_turn() {
    let log = play(4, &[(0, 1, 10), (0, 2, 5), (5, 2, 5), (6, 2, 1), (6, 1, 1), (7, 9, 1)]);
    assert_eq!(
        story(&log),
        [
            "0: 0 on 0",
            "0: 1 on 1-2",
            "5: 1 ends",
            "5: router hears of 1",
            "5: 2 on 1-2",
            "10: 0 ends",
            "10: 2 ends",
            "10: 3 on 0-1",
            "10: 4 on 2",
            "10: router hears of 0",
            "10: router hears of 2",
            "11: 3 ends",
            "11: 4 ends",
            "11: router hears of 3",
            "11: router hears of 4",
        ]
    );
}

#[test]
fn ends_are_told_with_the_next_report() {
    let log = play_telling_every(Span::from_micros(10), 4, &[(0, 1, 10), (0, 1, 11), (3, 2, 1), (20, 4, 7)]);
    assert_eq!(
        story(&log),
        [
            "0: 0 on 0",
            "0: 1 on 1",
            "3: 2 on 2-3",
            "4: 2 ends",
            "10: 0 ends",
            "10: router hears of 0",
            "10: router hears of 2",
            "11: 1 ends",
            "20: router hears of 1",
            "20: 3 on 0-3",
            "27: 3 ends",
            "30: router hears of 3",
        ]
    );
}

proptest! {
    /// Whatever a router throws at it: no core runs two tasks, order of arrival is kept, and ends are told in time.
    #[test]
    fn no_core_is_sold_twice(runs in prop::collection::vec((0u64..40, 0u32..7, 1u64..12), 1..40)) {
        let mut runs = runs;
        runs.sort_by_key(|run| run.0);
        let mut used = std::collections::BTreeMap::new();
        let mut running = std::collections::BTreeMap::new();
        let mut last_started = None;
        for entry in play(5, &runs) {
            match entry.record {
                Record::Started { task, cores } => {
                    prop_assert!(last_started < Some(task));
                    last_started = Some(task);
                    prop_assert_eq!(cores.len(), runs[task.job.0 as usize].1);
                    for core in cores.runs().iter().flat_map(|&(first, last)| first..=last) {
                        prop_assert!(core < 5);
                        prop_assert_eq!(used.insert(core, task), None);
                    }
                    running.insert(task, (entry.stamp.time, cores));
                }
                Record::Finished { task } => {
                    let (start, cores) = running.remove(&task).unwrap();
                    prop_assert_eq!((entry.stamp.time - start).micros(), runs[task.job.0 as usize].2);
                    for core in cores.runs().iter().flat_map(|&(first, last)| first..=last) {
                        used.remove(&core);
                    }
                }
                _ => {}
            }
        }
        prop_assert!(running.is_empty());
    }
}
