//! Who dominates whom.

use super::Cost;

/// No worse in either, and better in one.
pub fn dominates(one: &Cost, other: &Cost) -> bool {
    one.allocation <= other.allocation && one.makespan <= other.makespan && one != other
}

/// Plans that nobody dominates, no two of which cost the same; the cheapest first.
#[derive(Clone, Debug)]
pub struct Archive<T> {
    members: Vec<(Cost, T)>,
}

impl<T> Archive<T> {
    pub fn new() -> Archive<T> {
        Archive { members: Vec::new() }
    }

    /// Ascending by what is paid, so descending by how long it takes.
    pub fn members(&self) -> &[(Cost, T)] {
        &self.members
    }

    /// Takes a plan in, unless there is one that is as good, and drops those that are worse.
    pub fn offer(&mut self, cost: Cost, plan: impl FnOnce() -> T) {
        // Of those that are no dearer the last takes the least time.
        let place = self.members.partition_point(|(other, _)| other.allocation <= cost.allocation);
        if place.checked_sub(1).is_some_and(|before| self.members[before].0.makespan <= cost.makespan) {
            return;
        }
        // Whoever is dominated costs as much or more, and takes no less.
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
