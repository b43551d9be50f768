//! Graph of places and links, and the shortest paths in it.

use super::link::LinkId;

/// Adjacency lists: sites first, then the other places where links meet.
#[derive(Clone, Debug)]
pub struct AdjacencyMap {
    sites: usize,
    /// Links that lead away from each place.
    out: Vec<Vec<Hop>>,
}

/// A link as seen from one of its ends.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    pub to: usize,
    pub link: LinkId,
    /// Rank of the link's name among all names.
    pub name: u32,
    /// Latency in microseconds.
    pub latency: u64,
}

impl AdjacencyMap {
    /// Creates a map without links.
    pub fn new(sites: usize, others: usize) -> AdjacencyMap {
        AdjacencyMap { sites, out: vec![Vec::new(); sites + others] }
    }

    pub fn lay(&mut self, from: usize, hop: Hop) {
        self.out[from].push(hop);
    }

    /// True if usable links lead from one place to another.
    pub fn reaches(&self, from: usize, to: usize, may_use: impl Fn(LinkId) -> bool) -> bool {
        let mut seen = vec![false; self.out.len()];
        let mut open = vec![from];
        seen[from] = true;
        while let Some(at) = open.pop() {
            for hop in self.out[at].iter().filter(|hop| may_use(hop.link)) {
                if !std::mem::replace(&mut seen[hop.to], true) {
                    open.push(hop.to);
                }
            }
        }
        seen[to]
    }

    /// Shortest paths from a place over usable links: fewest links, then least latency, then the names of the links,
    /// first to last, in lexicographic order.
    ///
    /// Breadth-first search, one more link per level. Of all paths to a node with the fewest links the best counts, by
    /// latency, then by names; as these paths have the same number of links, their order stays if both continue over
    /// the same link.
    pub fn shortest(&self, from: usize, may_use: impl Fn(LinkId) -> bool) -> PathTree {
        let mut reached: Vec<Option<ReachedPlace>> = vec![None; self.out.len()];
        let mut sites_left = self.sites - usize::from(from < self.sites);
        reached[from] = Some(ReachedPlace { latency: 0, before: from, rank: 0, name: 0, link: LinkId(0) });
        let mut level = vec![from];
        while !level.is_empty() && sites_left > 0 {
            let mut next: Vec<(usize, ReachedPlace)> = Vec::new();
            for &node in &level {
                let ReachedPlace { latency, rank, .. } = reached[node].expect("a level holds what was reached");
                for &Hop { to, link, name, latency: more } in &self.out[node] {
                    if reached[to].is_none() && may_use(link) {
                        let latency = latency + u128::from(more);
                        next.push((to, ReachedPlace { latency, before: node, rank, name, link }));
                    }
                }
            }
            // The best path to each node first.
            next.sort_unstable_by_key(|(to, way)| (*to, way.latency, way.rank, way.name));
            next.dedup_by_key(|(to, _)| *to);
            next.sort_unstable_by_key(|(_, way)| (way.rank, way.name));
            level.clear();
            for (rank, (node, way)) in (0..).zip(next) {
                reached[node] = Some(ReachedPlace { rank, ..way });
                level.push(node);
                sites_left -= usize::from(node < self.sites);
            }
        }
        PathTree { from, reached }
    }
}

/// Shortest paths from one place.
#[derive(Clone, Debug)]
pub struct PathTree {
    from: usize,
    reached: Vec<Option<ReachedPlace>>,
}

#[derive(Clone, Copy, Debug)]
struct ReachedPlace {
    latency: u128,
    before: usize,
    /// Rank of the path to the previous node among those of its length, by the names of their links; in the tree, rank
    /// of the path to this node.
    rank: u32,
    name: u32,
    link: LinkId,
}

impl PathTree {
    /// Shortest path to a site; None if there is none.
    pub fn path_to(&self, to: usize) -> Option<Vec<LinkId>> {
        let mut at = to;
        let mut way = Vec::new();
        while at != self.from {
            let ReachedPlace { before, link, .. } = self.reached[at]?;
            way.push(link);
            at = before;
        }
        way.reverse();
        Some(way)
    }
}
