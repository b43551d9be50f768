//! The sites as the auctioneer sees them: their cores that are not assigned.
//!
//! For each kind of core, a tree over its clusters finds the one with the most free cores: O(log clusters) for each
//! task that takes or returns cores, and for each choice of a cluster.

use crate::grid::Kind;
use crate::kernel::ActorId;
use crate::protocol::SiteOffer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub site: ActorId,
    pub kind: Kind,
    pub cores: u32,
}

#[derive(Debug)]
pub(super) struct Clusters {
    all: Vec<Cluster>,
    /// Assigned cores of each cluster, as far as is known, and its failed cores as far as the news goes.
    given: Vec<u32>,
    down: Vec<u32>,
    /// Position of each cluster among those of its kind.
    ranks: Vec<u32>,
    kinds: Vec<OfKind>,
}

/// The clusters of one kind.
#[derive(Debug)]
struct OfKind {
    /// Indices of the clusters, ascending.
    clusters: Vec<usize>,
    /// Free cores of the clusters.
    free: Roomiest,
    cores: u64,
    /// The cores of the largest one.
    largest: u32,
}

impl Clusters {
    pub fn new(all: Vec<Cluster>) -> Clusters {
        let count = all.iter().map(|cluster| usize::from(cluster.kind.0) + 1).max().unwrap_or(0);
        let mut of_kind = vec![Vec::new(); count];
        let mut ranks = Vec::with_capacity(all.len());
        for (index, cluster) in all.iter().enumerate() {
            let clusters = &mut of_kind[usize::from(cluster.kind.0)];
            ranks.push(clusters.len() as u32);
            clusters.push(index);
        }
        let kinds = of_kind.into_iter().map(|clusters| OfKind::new(clusters, &all)).collect();
        let given = vec![0; all.len()];
        let down = vec![0; all.len()];
        Clusters { all, given, down, ranks, kinds }
    }

    /// Sets the number of failed cores of a cluster. It is unknown which of them are assigned.
    pub fn fail(&mut self, cluster: usize, down: u32) {
        self.down[cluster] = down;
        self.update_free(cluster);
    }

    fn update_free(&mut self, cluster: usize) {
        // A core may be both assigned and down, so the sum may exceed the cores that are gone.
        let gone = self.given[cluster].saturating_add(self.down[cluster]);
        self.set_free(cluster, self.all[cluster].cores.saturating_sub(gone));
    }

    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// The kind of each cluster.
    pub fn kinds_in_order(&self) -> Vec<Kind> {
        self.all.iter().map(|cluster| cluster.kind).collect()
    }

    /// Number of clusters of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.of_kind(kind).map_or(0, |of_kind| of_kind.clusters.len())
    }

    pub fn is_of_kind(&self, cluster: usize, kind: Kind) -> bool {
        self.all[cluster].kind == kind
    }

    pub fn site(&self, cluster: usize) -> ActorId {
        self.all[cluster].site
    }

    /// Indices of the clusters of a kind, ascending.
    pub fn of(&self, kind: Kind) -> &[usize] {
        self.of_kind(kind).map_or(&[], |of_kind| &of_kind.clusters)
    }

    /// All cores, by kind.
    pub fn cores(&self) -> Vec<u64> {
        self.kinds.iter().map(|of_kind| of_kind.cores).collect()
    }

    /// True if some cluster could run this when empty.
    pub fn could_run(&self, kind: Kind, cores: u32) -> bool {
        self.of_kind(kind).is_some_and(|of_kind| of_kind.largest >= cores)
    }

    /// True if some cluster has this many free cores now.
    pub fn has_free(&self, kind: Kind, cores: u32) -> bool {
        self.of_kind(kind).is_some_and(|of_kind| !of_kind.clusters.is_empty() && of_kind.free.most() >= cores)
    }

    /// The cluster with the most free cores, the first of several; `None` if even that has too few.
    pub fn roomiest(&self, kind: Kind, cores: u32) -> Option<usize> {
        let of_kind = &self.kinds[usize::from(kind.0)];
        self.has_free(kind, cores).then(|| of_kind.clusters[of_kind.free.first_of_most()])
    }

    /// Like `roomiest`, among some clusters only, given in ascending order.
    pub fn roomiest_of(&self, kind: Kind, cores: u32, some: impl Iterator<Item = usize>) -> Option<usize> {
        let mut best: Option<(u32, usize)> = None;
        for cluster in some.filter(|&cluster| self.is_of_kind(cluster, kind)) {
            let free = self.free(cluster);
            if free >= cores && best.is_none_or(|(most, _)| free > most) {
                best = Some((free, cluster));
            }
        }
        best.map(|(_, cluster)| cluster)
    }

    pub fn take(&mut self, cluster: usize, cores: u32) {
        assert!(cores <= self.free(cluster), "a task goes where it fits");
        self.given[cluster] += cores;
        self.update_free(cluster);
    }

    /// Assigns all cores of all clusters, until their sites offer some.
    pub fn take_all(&mut self) {
        for cluster in 0..self.all.len() {
            self.given[cluster] = self.all[cluster].cores;
            self.update_free(cluster);
        }
    }

    /// Takes over the offer of a cluster, which does not know of `unreceived` assigned cores. Failed cores have to be
    /// as of the offer.
    pub fn take_offer(&mut self, cluster: usize, offer: SiteOffer, unreceived: u32) {
        // Cores that are neither idle nor failed are busy; the difference is less if a peer lies.
        let known = offer.idle.saturating_add(self.down[cluster]);
        let busy = self.all[cluster].cores.saturating_sub(known).saturating_add(offer.waiting);
        self.given[cluster] = busy.saturating_add(unreceived);
        self.update_free(cluster);
    }

    /// The cluster of a site.
    pub fn of_site(&self, site: ActorId) -> Option<usize> {
        self.all.binary_search_by_key(&site, |cluster| cluster.site).ok()
    }

    pub fn give_back(&mut self, cluster: usize, cores: u32) {
        let given = self.given[cluster].checked_sub(cores);
        self.given[cluster] = given.expect("a cluster gets back what was taken from it");
        self.update_free(cluster);
    }

    fn of_kind(&self, kind: Kind) -> Option<&OfKind> {
        self.kinds.get(usize::from(kind.0))
    }

    /// Free cores of a cluster.
    pub fn free(&self, cluster: usize) -> u32 {
        self.kinds[usize::from(self.all[cluster].kind.0)].free.get(self.ranks[cluster] as usize)
    }

    fn set_free(&mut self, cluster: usize, cores: u32) {
        let of_kind = &mut self.kinds[usize::from(self.all[cluster].kind.0)];
        of_kind.free.set(self.ranks[cluster] as usize, cores);
    }
}

impl OfKind {
    fn new(clusters: Vec<usize>, all: &[Cluster]) -> OfKind {
        let cores = || clusters.iter().map(|&cluster| all[cluster].cores);
        let largest = cores().max().unwrap_or(0);
        let sum = cores().map(u64::from).sum();
        let mut free = Roomiest::new(clusters.len());
        cores().enumerate().for_each(|(rank, cores)| free.set(rank, cores));
        OfKind { free, cores: sum, largest, clusters }
    }
}

/// A list of numbers with the largest of them: O(log n) for a change and for a look.
#[derive(Debug)]
struct Roomiest {
    /// A complete binary tree: node `i` holds the larger of nodes `2i` and `2i + 1`; the row is its second half.
    nodes: Vec<u32>,
}

impl Roomiest {
    fn new(len: usize) -> Roomiest {
        Roomiest { nodes: vec![0; 2 * len.next_power_of_two()] }
    }

    fn get(&self, rank: usize) -> u32 {
        self.nodes[self.nodes.len() / 2 + rank]
    }

    fn most(&self) -> u32 {
        self.nodes[1]
    }

    /// Index of the first cluster with the most free cores.
    fn first_of_most(&self) -> usize {
        let leaves = self.nodes.len() / 2;
        let mut node = 1;
        while node < leaves {
            // One of the two children equals the root; the leaves of the left one come first.
            let left = 2 * node;
            node = if self.nodes[left] == self.nodes[1] { left } else { left + 1 };
        }
        node - leaves
    }

    fn set(&mut self, rank: usize, number: u32) {
        let mut node = self.nodes.len() / 2 + rank;
        self.nodes[node] = number;
        while node > 1 {
            let larger = self.nodes[node].max(self.nodes[node ^ 1]);
            node /= 2;
            // A node without a change has no changed parents.
            if self.nodes[node] == larger {
                return;
            }
            self.nodes[node] = larger;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a look at all of them.
        #[test]
        fn knows_who_has_most_room(
            sites in prop::collection::vec((1u32..6, 0u16..3), 1..40),
            steps in prop::collection::vec((0usize..40, 0u32..6, any::<bool>()), 0..120),
        ) {
            let kinds: Vec<u16> = sites.iter().map(|site| site.1).collect();
            let mut free: Vec<u32> = sites.iter().map(|site| site.0).collect();
            let cluster = |&(cores, kind): &(u32, u16)| Cluster { site: ActorId(0), kind: Kind(kind), cores };
            let mut clusters = Clusters::new(sites.iter().map(cluster).collect());
            for (at, cores, take) in steps {
                let at = at % sites.len();
                if take && free[at] >= cores {
                    clusters.take(at, cores);
                    free[at] -= cores;
                } else if !take && free[at] + cores <= sites[at].0 {
                    clusters.give_back(at, cores);
                    free[at] += cores;
                }
                for (kind, cores) in (0..3).flat_map(|kind| (0..7).map(move |cores| (kind, cores))) {
                    let fits = |&at: &usize| kinds[at] == kind && free[at] >= cores;
                    let best = |some: &[usize]| {
                        some.iter().copied().filter(fits).max_by_key(|&at| (free[at], std::cmp::Reverse(at)))
                    };
                    let all: Vec<usize> = (0..sites.len()).collect();
                    let some: Vec<usize> = all.iter().copied().step_by(3).collect();
                    let kind = Kind(kind);
                    prop_assert_eq!(clusters.has_free(kind, cores), best(&all).is_some());
                    if usize::from(kind.0) < clusters.kinds() {
                        prop_assert_eq!(clusters.roomiest(kind, cores), best(&all));
                    }
                    prop_assert_eq!(clusters.roomiest_of(kind, cores, some.iter().copied()), best(&some));
                }
            }
        }
    }
}
