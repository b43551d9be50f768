//! Live jobs from the highest priority to the lowest, if only the first few of thousands are needed.

/// A lazy sort: jobs that are not reached are never sorted. O(n) at first, and O(n) again each time that four times as
/// many are needed: for the first `k` of `n`, O(n log k) at worst, for scans rather than for sorting.
#[derive(Clone, Debug, Default)]
pub struct PriorityRanking {
    /// Keys that are not sorted yet; all of them come after `first`.
    rest: Vec<PriorityKey>,
    /// Sorted keys; the next one is last.
    first: Vec<PriorityKey>,
    /// Number of jobs that are sorted next.
    chunk: usize,
}

/// Sort key, higher for an earlier turn, in one number so that comparisons are branch-free: the priority, then the
/// earlier submission.
type PriorityKey = u128;

impl PriorityRanking {
    /// Ranks jobs, given by priority, which is not negative, and index.
    pub fn from_jobs(jobs: impl Iterator<Item = (f64, usize)>) -> PriorityRanking {
        let mut ranking = PriorityRanking::default();
        ranking.restart(jobs);
        ranking
    }

    /// Starts a ranking of other jobs, and keeps the memory.
    pub fn restart(&mut self, jobs: impl Iterator<Item = (f64, usize)>) {
        self.first.clear();
        self.rest.clear();
        self.chunk = 32;
        jobs.for_each(|(priority, at)| self.add(priority, at));
    }

    /// Adds a job; its turn must not be over.
    pub fn add(&mut self, priority: f64, at: usize) {
        // Floats that are not negative sort like their bits.
        self.rest.push(PriorityKey::from(priority.to_bits()) << 64 | PriorityKey::from(!(at as u64)));
    }

    /// Keeps only some jobs.
    pub fn retain(&mut self, stays: impl Fn(usize) -> bool) {
        self.rest.retain(|rank| stays(rank_index(*rank)));
        self.first.retain(|rank| stays(rank_index(*rank)));
    }

    fn sort_some(&mut self) {
        let cut = self.rest.len().saturating_sub(self.chunk);
        if cut > 0 {
            self.rest.select_nth_unstable(cut);
        }
        self.first.extend(self.rest.drain(cut..));
        self.first.sort_unstable();
        self.chunk *= 4;
    }
}

impl Iterator for PriorityRanking {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.first.is_empty() {
            self.sort_some();
        }
        self.first.pop().map(rank_index)
    }
}

fn rank_index(rank: PriorityKey) -> usize {
    !(rank as u64) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_ranking_is_what_sorting_gives(
            priorities in prop::collection::vec(prop_oneof![Just(f64::INFINITY), 0.0..4.0, (0u8..4).prop_map(f64::from)], 0..300),
            reached in 0usize..300,
        ) {
            let mut wanted: Vec<usize> = (0..priorities.len()).collect();
            wanted.sort_by(|a, b| priorities[*b].total_cmp(&priorities[*a]));
            let mut ranking = PriorityRanking::from_jobs(priorities.iter().copied().zip(0..));
            let first: Vec<usize> = ranking.by_ref().take(reached).collect();
            ranking.retain(|at| at % 3 != 0);
            let wanted_later = wanted.split_off(first.len());
            prop_assert_eq!(first, wanted);
            prop_assert_eq!(ranking.collect::<Vec<_>>(), wanted_later.into_iter().filter(|at| at % 3 != 0).collect::<Vec<_>>());
        }
    }
}
