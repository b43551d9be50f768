//! Live jobs on no node, from the highest priority to the lowest, if only the first few of thousands are needed.

use std::ops::Range;

use super::ClusterJob;
use super::algorithm::{Fractional, Priority, VirtualTime};
use super::ranking::PriorityRanking;
use super::room::Fits;
use crate::time::Time;

/// Inputs of the priorities of jobs on no node, in columns, by index among all live jobs. They are constant until a job
/// gets nodes.
///
/// Jobs are ranked in [`PriorityBand`]s of priorities, from the top. For `J` live jobs, each band costs a scan of all
/// `J`, at about a nanosecond each, and O(n) for its `n` jobs; a removal shifts all later jobs, O(J).
#[derive(Clone, Debug, Default)]
pub(super) struct Idle {
    rule: Priority,
    virtual_time: VirtualTime,
    /// In microseconds; 0 if the priority does not depend on it.
    submitted: Vec<f64>,
    /// Divisor of the priority: a power of the virtual time.
    divisor: Vec<f64>,
    /// Memory of a task. Infinite for jobs on nodes, so that no search finds them.
    memory: Vec<f64>,
    tasks: Vec<u32>,
}

/// Range of priorities, end exclusive, by their bits: floats that are not negative sort like their bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct PriorityBand {
    from: u64,
    to: u64,
}

/// Sample size for the distribution of priorities.
const SAMPLE: usize = 256;

/// Jobs that are tested together.
const BLOCK: usize = 8;

/// Relative rounding error of a priority, and more.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

impl PriorityBand {
    /// An empty band above all jobs.
    pub const ABOVE_ALL: PriorityBand = PriorityBand { from: u64::MAX, to: u64::MAX };

    pub fn has(self, priority: f64) -> bool {
        (self.from..self.to).contains(&priority.to_bits())
    }

    /// True if no job is below the band.
    pub fn is_last(self) -> bool {
        self.from == 0
    }
}

impl Idle {
    pub fn new(rules: &Fractional) -> Idle {
        Idle { rule: rules.priority, virtual_time: rules.virtual_time, ..Idle::default() }
    }

    /// Adds a live job, behind all others.
    pub fn push(&mut self, live: &ClusterJob, now: Time) {
        let at = self.tasks.len();
        let submitted = live.submitted.micros() as f64;
        self.submitted.push(if self.rule == Priority::Inverse { 0.0 } else { submitted });
        self.divisor.push(0.0);
        self.memory.push(0.0);
        self.tasks.push(live.need.tasks);
        self.set(at, live, now);
    }

    /// Removes a live job; later ones shift.
    pub fn remove(&mut self, at: usize) {
        self.submitted.remove(at);
        self.divisor.remove(at);
        self.memory.remove(at);
        self.tasks.remove(at);
    }

    /// Updates a job that has got nodes, or has left them.
    pub fn set(&mut self, at: usize, live: &ClusterJob, now: Time) {
        if live.places.is_empty() {
            let done = live.virtual_time(now, self.virtual_time);
            let divisor = if self.rule == Priority::Square { done * done } else { done };
            (self.divisor[at], self.memory[at]) = (divisor, live.need.memory);
        } else {
            self.memory[at] = f64::INFINITY;
        }
    }

    /// The next band below one, with about this many jobs that may fit; the number is an estimate from a sample.
    pub fn next_band(&self, above: PriorityBand, wanted: usize, now: Time, fits: &Fits) -> PriorityBand {
        let to = above.from;
        let jobs = self.tasks.len();
        if jobs <= SAMPLE {
            return PriorityBand { from: 0, to };
        }
        let step = jobs.div_ceil(SAMPLE);
        let meant = (0..jobs).step_by(step).filter(|at| self.memory[*at] <= fits.memory);
        let now = self.now(now);
        let bits = meant.map(|at| self.priority(at, now).to_bits());
        let mut sample: Vec<u64> = bits.filter(|bits| *bits < to).collect();
        let last = wanted / step;
        let from = if last < sample.len() { *sample.select_nth_unstable_by(last, |a, b| b.cmp(a)).1 } else { 0 };
        PriorityBand { from, to }
    }

    /// Ranks the jobs of a band that may fit.
    pub fn rank(&self, band: PriorityBand, now: Time, fits: &Fits, ranking: &mut PriorityRanking) {
        let now = self.now(now);
        // Multiplication is faster than division, but may be a little too high. Infinity times zero would be NaN.
        let least = (f64::from_bits(band.from) * (1.0 - ROUNDING)).min(f64::MAX);
        let mut look = |places: Range<usize>| {
            for at in places.filter(|at| self.memory[*at] <= fits.memory) {
                let priority = self.priority(at, now);
                if band.has(priority) && fits.may_fit(self.memory[at], self.tasks[at]) {
                    ranking.add(priority, at);
                }
            }
        };
        let blocks = |column| <[f64]>::as_chunks::<BLOCK>(column).0;
        let all = blocks(&self.submitted).iter().zip(blocks(&self.divisor)).zip(blocks(&self.memory));
        for (block, ((submitted, divisor), memory)) in all.enumerate() {
            // Branch-free, so that several are tested at once.
            let any_is_meant = (0..BLOCK).fold(false, |any, at| {
                any | (now - submitted[at] >= least * divisor[at]) & (memory[at] <= fits.memory)
            });
            if any_is_meant {
                look(block * BLOCK..(block + 1) * BLOCK);
            }
        }
        look(self.tasks.len() / BLOCK * BLOCK..self.tasks.len());
    }

    /// Equals [`ClusterJob::priority`] to the last bit: microseconds are whole numbers that a float represents exactly.
    fn priority(&self, at: usize, now: f64) -> f64 {
        let divisor = self.divisor[at];
        if divisor == 0.0 { f64::INFINITY } else { (now - self.submitted[at]) / divisor }
    }

    /// Time from which submissions are subtracted, in microseconds; 1 if priorities do not depend on either.
    fn now(&self, now: Time) -> f64 {
        if self.rule == Priority::Inverse { 1.0 } else { now.micros() as f64 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grid::sharing::need::count_slots;
    use crate::grid::{JobId, TaskId};
    use crate::systems::dfrs::algorithm::{Action, make_family};
    use crate::systems::dfrs::{Need, greedy, room::NodeLoads};
    use crate::time::Span;

    /// Submission, progress, presence on a node, tasks and memory of jobs, with numbers that often coincide.
    fn jobs() -> impl Strategy<Value = Vec<(u64, u64, bool, u32, u32)>> {
        let job = (0..50_u64, prop_oneof![Just(0), 1..20_u64], prop::bool::weighted(0.1), 1..6_u32, 1..11_u32);
        prop::collection::vec(job, 0..900)
    }

    fn room() -> impl Strategy<Value = NodeLoads> {
        let node =
            (prop_oneof![Just(f64::NEG_INFINITY), (0..11_u32).prop_map(|free| f64::from(free) / 10.0)], 0..5_u32);
        prop::collection::vec(node, 1..6).prop_map(|nodes| NodeLoads {
            free: nodes.iter().map(|node| node.0).collect(),
            load: nodes.iter().map(|node| f64::from(node.1) / 4.0).collect(),
        })
    }

    fn need(tasks: u32, memory: u32) -> Need {
        Need { tasks, cpu: 0.25, memory: f64::from(memory) / 10.0 }
    }

    proptest! {
        /// The bands together equal a full sort.
        #[test]
        fn bands_are_a_ranking_in_pieces(
            jobs in jobs(),
            room in room(),
            is_choosy: bool,
            wanted in 0usize..200,
            rule in prop_oneof![Just(Priority::Square), Just(Priority::Stretch), Just(Priority::Inverse)],
        ) {
            let at = |secs| Time::ZERO + Span::from_secs(secs);
            let rules = Fractional { priority: rule, ..make_family(Action::Greedy, true, None) };
            let mut idle = Idle::new(&rules);
            let mut live = Vec::new();
            for (number, &(submitted, done, is_running, tasks, memory)) in (0..).zip(&jobs) {
                let task = TaskId { job: JobId(number), index: 0 };
                let mut waiting = ClusterJob::new(task, need(tasks, memory), at(submitted));
                waiting.done = done as f64 * 1e6 / 7.0;
                idle.push(&waiting, at(submitted));
                live.push(waiting);
                if is_running {
                    live[number as usize].places = vec![(0, tasks)];
                    idle.set(number as usize, &live[number as usize], at(60));
                }
            }
            // Some jobs leave, also before others.
            for gone in (0..live.len()).rev().filter(|at| at % 7 == 3) {
                live.remove(gone);
                idle.remove(gone);
            }

            let now = at(100);
            let fits = if is_choosy { room.fits() } else { Fits::ALL };
            let is_meant = |live: &ClusterJob| live.places.is_empty() && fits.may_fit(live.need.memory, live.need.tasks);
            let mut slow: Vec<usize> = (0..live.len()).filter(|at| is_meant(&live[*at])).collect();
            slow.sort_by(|a, b| live[*b].priority(now, &rules).total_cmp(&live[*a].priority(now, &rules)));

            let mut fast = Vec::new();
            let mut band = PriorityBand::ABOVE_ALL;
            let mut ranking = PriorityRanking::default();
            while !band.is_last() {
                band = idle.next_band(band, wanted, now, &fits);
                ranking.restart(std::iter::empty());
                idle.rank(band, now, &fits, &mut ranking);
                let found = fast.len();
                fast.extend(ranking.by_ref());
                prop_assert!(fast[found..].iter().all(|at| band.has(live[*at].priority(now, &rules))));
            }
            prop_assert_eq!(fast, slow);
        }

        /// A job with enough slots is placed, and no placed job is ruled out.
        #[test]
        fn only_jobs_that_do_not_fit_are_passed_over(room in room(), tasks in 1..12_u32, memory in 1..11_u32) {
            let need = need(tasks, memory);
            let placed = greedy::place_tasks(&mut room.clone(), &need);
            let sum: u64 = room.free.iter().map(|free| count_slots(*free, need.memory)).sum();
            prop_assert_eq!(placed.is_some(), sum >= tasks.into());
            prop_assert!(placed.is_none() || room.fits().may_fit(need.memory, need.tasks));
        }
    }
}
