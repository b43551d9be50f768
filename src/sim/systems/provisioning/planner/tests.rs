use proptest::prelude::*;

use super::*;
use crate::grid::{Counts, JobId, TaskId};
use crate::play::second;
use crate::time::Span;

pub(crate) fn task(number: u32) -> TaskId {
    TaskId { job: JobId(number), index: 0 }
}

fn request(number: u32, nodes: u32, length: u64) -> NodeRequest {
    NodeRequest { job: task(number), nodes, walltime: Span::from_secs(length) }
}

fn fixed(from: u64, until: u64, procs: u32) -> Fixed {
    Fixed { from: second(from), until: second(until), procs }
}

fn planned(name: &str, question: &Question<'_>) -> Vec<u64> {
    let mut starts = vec![Time::ZERO];
    build_planner(name).unwrap().plan_starts(question, &mut starts);
    starts.iter().map(|start| start.micros() / 1_000_000).collect()
}

#[test]
fn planners_differ_as_in_the_example() {
    let queue = [request(1, 1, 1), request(2, 4, 4), request(3, 3, 2), request(4, 2, 3)];
    let fixed = [fixed(0, 4, 1), fixed(4, 6, 2)];
    let question = Question { now: Time::ZERO, procs: 4, fixed: &fixed, extra: None, queue: &queue };
    let rows = [
        ("slotlist", [0, 6, 1, 10]),
        ("conservative-count", [0, 6, 1, 3]),
        ("fcfs-count", [0, 6, 10, 12]),
        ("easy-count", [0, 6, 10, 0]),
    ];
    for (name, starts) in rows {
        assert_eq!(planned(name, &question), starts, "{name}");
    }
}

#[test]
fn every_name_is_a_planner() {
    let names: Vec<&str> = planner_names().iter().map(|named| named.name).collect();
    assert!(names.iter().all(|name| build_planner(name).is_some()) && names.len() == queue::ALL.len(), "{names:?}");
    assert!(names[0] == USUAL && ALL.iter().all(|row| names.contains(&row.name)), "{names:?}");
    assert!(build_planner("slotlits").is_none());
}

fn questions() -> impl Strategy<Value = (Vec<Fixed>, Vec<NodeRequest>)> {
    let procs = 6;
    let bookings = prop::collection::vec((0u64..15, 1u64..10, 1u32..=3), 0..6);
    let queue = prop::collection::vec((1u32..=procs, 1u64..9), 0..12);
    (bookings, queue).prop_map(move |(bookings, queue)| {
        let mut counts = Counts::default();
        let mut all = Vec::new();
        for (from, length, width) in bookings {
            let until = second(from + length);
            let from = second(from);
            if counts.most(from, until) + width <= procs {
                counts.insert(from, until, width);
                all.push(Fixed { from, until, procs: width });
            }
        }
        all.sort_by_key(|fixed| fixed.from);
        let queue =
            queue.into_iter().enumerate().map(|(number, (nodes, length))| request(number as u32, nodes, length));
        (all, queue.collect())
    })
}

proptest! {
    /// Counting planners equal the queue policies of their names, which compute plans in another way.
    #[test]
    fn planners_that_count_do_as_policies_do((fixed, queue) in questions()) {
        let question = Question { now: Time::ZERO, procs: 6, fixed: &fixed, extra: None, queue: &queue };
        for name in ["conservative-count", "fcfs-count", "easy-count"] {
            let mut starts = Vec::new();
            policy::ByPolicy(queue::find_policy(name).unwrap()).plan_starts(&question, &mut starts);
            let starts: Vec<u64> = starts.iter().map(|start| start.micros() / 1_000_000).collect();
            prop_assert_eq!(planned(name, &question), starts, "{}", name);
        }
    }

    /// With every planner, a job without a place before time ends never starts.
    #[test]
    fn planners_plan_up_to_the_end_of_time((fixed, queue) in questions()) {
        // The fixed parts are over a while before the end of time, and two of the longest jobs reach it.
        let unit = 1 << 53;
        let now = Time::from_micros(u64::MAX - 16 * unit);
        let at = |time: Time| now + Span::from_micros(time.micros() / 1_000_000 * (unit / 2));
        let fixed: Vec<Fixed> =
            fixed.iter().map(|one| Fixed { from: at(one.from), until: at(one.until), procs: one.procs }).collect();
        let longer = |request: &NodeRequest| NodeRequest { walltime: Span::from_micros(request.walltime.micros() / 1_000_000 * unit), ..*request };
        let queue: Vec<NodeRequest> = queue.iter().map(longer).collect();
        let question = Question { now, procs: 6, fixed: &fixed, extra: None, queue: &queue };
        for name in planner_names() {
            let mut starts = Vec::new();
            let mut by_policy = Vec::new();
            let mut planner = build_planner(name.name).unwrap();
            planner.plan_starts(&question, &mut starts);
            for (request, start) in queue.iter().zip(&starts) {
                prop_assert!(*start == Time::NEVER || *start + request.walltime < Time::NEVER, "{}", name.name);
            }
            policy::ByPolicy(queue::find_policy(name.name).unwrap()).plan_starts(&question, &mut by_policy);
            prop_assert_eq!(&by_policy, &starts, "{}", name.name);
            free_beside(&question, &starts);
        }
    }

    /// A planner may remember earlier questions, as long as that changes no answer.
    #[test]
    fn planners_answer_as_if_asked_for_the_first_time((fixed, queue) in questions(), extras in prop::collection::vec((0u64..12, 1u64..6, 1u32..=6, 0usize..6), 1..8)) {
        for name in planner_names() {
            let mut planner = build_planner(name.name).unwrap();
            for (from, length, procs, left_out) in &extras {
                let fixed: Vec<Fixed> = fixed.iter().enumerate().filter(|(place, _)| place != left_out).map(|(_, fixed)| *fixed).collect();
                let counts = Counts::from_bookings(fixed.iter().map(|fixed| (fixed.from, fixed.until, fixed.procs)));
                let extra = Fixed { from: second(*from), until: second(from + length), procs: *procs };
                let extra = Some(extra).filter(|extra| counts.most(extra.from, extra.until) + extra.procs <= 6);
                let question = Question { now: Time::ZERO, procs: 6, fixed: &fixed, extra, queue: &queue };
                let mut starts = Vec::new();
                let mut anew = Vec::new();
                planner.plan_starts(&question, &mut starts);
                build_planner(name.name).unwrap().plan_starts(&question, &mut anew);
                prop_assert_eq!(&starts, &anew, "{}", name.name);
            }
        }
    }

    /// With every planner, no more processors are occupied than exist, and the free slots are the rest.
    #[test]
    fn plans_fit_the_site((fixed, queue) in questions(), extra in (0u64..12, 1u64..6, 1u32..=6)) {
        let counts = Counts::from_bookings(fixed.iter().map(|fixed| (fixed.from, fixed.until, fixed.procs)));
        let extra = Fixed { from: second(extra.0), until: second(extra.0 + extra.1), procs: extra.2 };
        let extra = Some(extra).filter(|extra| counts.most(extra.from, extra.until) + extra.procs <= 6);
        let question = Question { now: Time::ZERO, procs: 6, fixed: &fixed, extra, queue: &queue };
        for name in planner_names() {
            let mut planner = build_planner(name.name).unwrap();
            let mut starts = Vec::new();
            planner.plan_starts(&question, &mut starts);
            let planned = queue.iter().zip(&starts).map(|(request, start)| (*start, *start + request.walltime, request.nodes));
            let fixed = question.all_fixed().map(|fixed| (fixed.from, fixed.until, fixed.procs));
            let counts = Counts::from_bookings(fixed.chain(planned));
            prop_assert!(counts.most(Time::ZERO, Time::NEVER) <= 6, "{}", name.name);
            let free = planner.free_slots().cloned().unwrap_or_else(|| free_beside(&question, &starts));
            for at in (0..200).map(second) {
                let is_there = |free: &&crate::grid::FreeSlot| free.start <= at && at < free.end;
                let there: u32 = free.all().iter().filter(is_there).map(|free| free.procs).sum();
                prop_assert_eq!(there + counts.most(at, at + Span::from_secs(1)), 6, "{}", name.name);
            }
        }
    }
}
