//! Dominance between plans.

use super::Cost;

/// True if `one` is no worse in either aim and better in one.
pub fn dominates(one: &Cost, other: &Cost) -> bool {
    one.allocation <= other.allocation && one.makespan <= other.makespan && one != other
}

/// The plans that none dominates, no two of equal cost; the cheapest first.
#[derive(Clone, Debug)]
pub struct Archive<T> {
    members: Vec<(Cost, T)>,
}

impl<T> Archive<T> {
    pub fn new() -> Archive<T> {
        Archive { members: Vec::new() }
    }

    /// The plans by ascending price, and so by descending duration.
    pub fn members(&self) -> &[(Cost, T)] {
        &self.members
    }

    /// Adds a plan unless one is at least as good, and drops those that are worse.
    pub fn offer(&mut self, cost: Cost, plan: impl FnOnce() -> T) {
        // Of the plans that are no dearer, the last is the shortest.
        let place = self.members.partition_point(|(other, _)| other.allocation <= cost.allocation);
        if place.checked_sub(1).is_some_and(|before| self.members[before].0.makespan <= cost.makespan) {
            return;
        }
        // A dominated plan costs as much or more, and is no shorter.
        let equal = self.members[..place].last().is_some_and(|(other, _)| other.allocation == cost.allocation);
        let first = place - usize::from(equal);
        let worse = self.members[first..].iter().take_while(|(other, _)| other.makespan >= cost.makespan).count();
        self.members.splice(first..first + worse, [(cost, plan())]);
    }
}

impl<T> Default for Archive<T> {
    fn default() -> Self {
        Archive::new()
    }
}
