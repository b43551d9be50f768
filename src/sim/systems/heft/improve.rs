//! The improvement loop: plan, replay, plan again with the times that transfers took.

use std::collections::BTreeMap;

use super::{
    Cycle, Problem, Replay, Replaying, Round, Schedule, Timetable, TransferTimes, Update, plan_into, replay_plan,
};

/// Length of the loop of plans, and the memory that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Improvement {
    pub stop: StopReason,
    pub update: Update,
    pub replaying: Replaying,
}

impl Default for Improvement {
    fn default() -> Improvement {
        Improvement { stop: StopReason::Fixed(50), update: Update::Reset, replaying: Replaying::default() }
    }
}

/// The end of the loop. In either case it also ends when plans repeat in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The first plan that proves better than the first one of all, or this many further plans.
    FirstBetter(u32),
    /// A fixed number of further plans after the first.
    Fixed(u32),
}

/// The result of the loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Improved {
    pub rounds: Vec<Round>,
    /// The first of the rounds with the shortest realistic makespan.
    pub best: usize,
    pub cycle: Option<Cycle>,
    /// Schedule and replay of the best round.
    pub schedule: Schedule,
    pub replay: Replay,
}

/// Improves a plan on empty sites.
pub fn improve_plan(problem: &Problem, how: Improvement) -> Improved {
    improve_around(problem, how, &Timetable::new(&problem.cores))
}

/// Improves a plan around the entries of the timetable. The replay assumes that nothing else uses the sites and the
/// network.
///
/// Replays always move the original volumes, so a transfer that was slow in one round is quick in the next if no other
/// shares its links there.
pub fn improve_around(problem: &Problem, how: Improvement, timetable: &Timetable) -> Improved {
    let original = TransferTimes::of_problem(problem);
    let mut costs = original.clone();
    let (most, first_better) = match how.stop {
        StopReason::FirstBetter(most) => (most, true),
        StopReason::Fixed(most) => (most, false),
    };
    let mut seen = BTreeMap::new();
    let mut rounds: Vec<Round> = Vec::new();
    let mut best: Option<(usize, Schedule, Replay)> = None;
    let mut cycle = None;
    let mut trial = timetable.clone();
    for round in 0..=most as usize {
        let schedule = plan_into(problem, &costs, &mut trial);
        trial.reset(&schedule, timetable);
        let learned = (how.update == Update::Keep).then(|| learn_costs(problem, &schedule, how, &original, &mut costs));
        // The next plan depends on nothing else, so a repeated plan begins a cycle: where costs are kept, a plan that
        // also leaves the same costs.
        let key = (schedule.sequences.clone(), remembered_costs(problem, &costs, how.update));
        if let Some(first) = seen.insert(key, round) {
            cycle = Some(Cycle { first, period: round - first });
            break;
        }
        let replay = learned.unwrap_or_else(|| learn_costs(problem, &schedule, how, &original, &mut costs));
        rounds.push(Round { planned: schedule.makespan, realistic: replay.makespan });
        let better = best.as_ref().is_none_or(|(_, _, best)| replay.makespan < best.makespan - problem.tolerance());
        if better {
            best = Some((round, schedule, replay));
            if first_better && round > 0 {
                break;
            }
        }
    }
    let (best, schedule, replay) = best.expect("there is a first round");
    Improved { rounds, best, cycle, schedule, replay }
}

/// Replays a plan, and records the times of its transfers in the costs.
fn learn_costs(
    problem: &Problem,
    plan: &Schedule,
    how: Improvement,
    original: &TransferTimes,
    costs: &mut TransferTimes,
) -> Replay {
    let replay = replay_plan(problem, plan, how.replaying);
    for (edge, moved) in replay.moved.iter().enumerate() {
        match (moved, how.update) {
            (Some(moved), _) => costs.known[edge] = Some(moved.duration()),
            (None, Update::Reset) => costs.known[edge] = original.known[edge],
            (None, Update::Keep) => {}
        }
    }
    replay
}

/// The state besides this plan on which the next depends: costs that are kept.
fn remembered_costs(problem: &Problem, costs: &TransferTimes, update: Update) -> Vec<Option<u64>> {
    match update {
        Update::Reset => Vec::new(),
        Update::Keep => costs.known.iter().map(|cost| cost.map(|cost| (cost / problem.grain).round() as u64)).collect(),
    }
}
