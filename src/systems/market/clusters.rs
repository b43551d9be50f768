//! The sites as the auctioneer sees them: how many cores it has not given away.

use crate::grid::Kind;
use crate::kernel::ActorId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub site: ActorId,
    pub kind: Kind,
    pub cores: u32,
}

#[derive(Debug)]
pub(super) struct Clusters {
    all: Vec<Cluster>,
    free: Vec<u32>,
    /// Indices by kind, ascending.
    of_kind: Vec<Vec<usize>>,
}

impl Clusters {
    pub fn new(all: Vec<Cluster>) -> Clusters {
        let kinds = all.iter().map(|cluster| usize::from(cluster.kind.0) + 1).max().unwrap_or(0);
        let mut of_kind = vec![Vec::new(); kinds];
        for (index, cluster) in all.iter().enumerate() {
            of_kind[usize::from(cluster.kind.0)].push(index);
        }
        Clusters { free: all.iter().map(|cluster| cluster.cores).collect(), all, of_kind }
    }

    pub fn kinds(&self) -> usize {
        self.of_kind.len()
    }

    pub fn of_kind(&self, kind: Kind) -> &[usize] {
        self.of_kind.get(usize::from(kind.0)).map_or(&[], Vec::as_slice)
    }

    pub fn site(&self, cluster: usize) -> ActorId {
        self.all[cluster].site
    }

    /// All cores, by kind.
    pub fn cores(&self) -> Vec<u64> {
        let sum = |of_kind: &Vec<usize>| of_kind.iter().map(|&cluster| u64::from(self.all[cluster].cores)).sum();
        self.of_kind.iter().map(sum).collect()
    }

    /// Whether some cluster could run this if it were empty.
    pub fn could_run(&self, kind: Kind, cores: u32) -> bool {
        self.of_kind(kind).iter().any(|&cluster| self.all[cluster].cores >= cores)
    }

    /// Whether some cluster has so many cores free now.
    pub fn has_free(&self, kind: Kind, cores: u32) -> bool {
        self.of_kind(kind).iter().any(|&cluster| self.free[cluster] >= cores)
    }

    /// The cluster with the most free cores, the first of several, among those that have enough and are `ready`.
    pub fn choose(&self, kind: Kind, cores: u32, ready: impl Fn(usize) -> bool) -> Option<usize> {
        let mut best: Option<usize> = None;
        for &cluster in self.of_kind(kind) {
            let free = self.free[cluster];
            if free >= cores && best.is_none_or(|best| free > self.free[best]) && ready(cluster) {
                best = Some(cluster);
            }
        }
        best
    }

    pub fn take(&mut self, cluster: usize, cores: u32) {
        let left = self.free[cluster].checked_sub(cores);
        self.free[cluster] = left.expect("a task goes where it fits");
    }

    pub fn give_back(&mut self, cluster: usize, cores: u32) {
        self.free[cluster] += cores;
        assert!(self.free[cluster] <= self.all[cluster].cores, "a cluster gets back what was taken from it");
    }
}
