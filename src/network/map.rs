//! Which places links connect, and the shortest ways between them.

use super::link::LinkId;

/// What is next to what: sites first, then other places where links meet.
#[derive(Clone, Debug)]
pub struct Map {
    sites: usize,
    /// By place: where links lead from it.
    out: Vec<Vec<Hop>>,
}

/// A link as it leads away from a place.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    pub to: usize,
    pub link: LinkId,
    /// The place of its name among all names.
    pub name: u32,
    /// In microseconds.
    pub latency: u64,
}

impl Map {
    /// Without any links yet.
    pub fn new(sites: usize, others: usize) -> Map {
        Map { sites, out: vec![Vec::new(); sites + others] }
    }

    pub fn lay(&mut self, from: usize, hop: Hop) {
        self.out[from].push(hop);
    }

    /// Whether links that may be used lead from a place to another one.
    pub fn reaches(&self, from: usize, to: usize, may_use: impl Fn(LinkId) -> bool) -> bool {
        let (mut seen, mut open) = (vec![false; self.out.len()], vec![from]);
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

    /// The shortest ways from a place over links that may be used: the fewest links, then the least latency, then the
    /// names of its links, first to last, as a dictionary would order them.
    ///
    /// One more link at a time. Of all ways to a node with the fewest links the least counts, by latency, then by name;
    /// as all are equally long, the order of two ways stays what it is when both go on over the same link.
    pub fn shortest(&self, from: usize, may_use: impl Fn(LinkId) -> bool) -> Tree {
        let mut reached: Vec<Option<Reached>> = vec![None; self.out.len()];
        let mut sites_left = self.sites - usize::from(from < self.sites);
        reached[from] = Some(Reached { latency: 0, before: from, rank: 0, name: 0, link: LinkId(0) });
        let mut level = vec![from];
        while !level.is_empty() && sites_left > 0 {
            let mut next: Vec<(usize, Reached)> = Vec::new();
            for &node in &level {
                let Reached { latency, rank, .. } = reached[node].expect("a level holds what was reached");
                for &Hop { to, link, name, latency: more } in &self.out[node] {
                    if reached[to].is_none() && may_use(link) {
                        let latency = latency + u128::from(more);
                        next.push((to, Reached { latency, before: node, rank, name, link }));
                    }
                }
            }
            // The best way to each node comes first.
            next.sort_unstable_by_key(|(to, way)| (*to, way.latency, way.rank, way.name));
            next.dedup_by_key(|(to, _)| *to);
            next.sort_unstable_by_key(|(_, way)| (way.rank, way.name));
            level.clear();
            for (rank, (node, way)) in (0..).zip(next) {
                reached[node] = Some(Reached { rank, ..way });
                level.push(node);
                sites_left -= usize::from(node < self.sites);
            }
        }
        Tree { from, reached }
    }
}

/// The shortest ways from one place.
#[derive(Clone, Debug)]
pub struct Tree {
    from: usize,
    reached: Vec<Option<Reached>>,
}

#[derive(Clone, Copy, Debug)]
struct Reached {
    latency: u128,
    before: usize,
    /// The place of the way to the node before among those of its length, by the names of their links; in the tree,
    /// that of the way to this node.
    rank: u32,
    name: u32,
    link: LinkId,
}

impl Tree {
    /// The way to a site, if there is one.
    pub fn way(&self, to: usize) -> Option<Vec<LinkId>> {
        let (mut at, mut way) = (to, Vec::new());
        while at != self.from {
            let Reached { before, link, .. } = self.reached[at]?;
            way.push(link);
            at = before;
        }
        way.reverse();
        Some(way)
    }
}
