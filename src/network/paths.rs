//! The way from site to site: which links data crosses.

use super::link::{Link, LinkId};

/// Links, and the route between any two sites. A site needs no route to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    pub links: Vec<Link>,
    sites: usize,
    /// By the site that sends, then the one that receives.
    routes: Vec<Vec<LinkId>>,
}

impl Paths {
    /// `routes[m][n]` leads from site `m` to site `n`.
    pub fn new(links: Vec<Link>, routes: Vec<Vec<Vec<LinkId>>>) -> Paths {
        let sites = routes.len();
        assert!(routes.iter().all(|row| row.len() == sites), "there is a route for every pair of sites");
        Paths { links, sites, routes: routes.into_iter().flatten().collect() }
    }

    /// A link of its own for every pair of sites, which its flows do not compete for.
    pub fn apart(sites: usize, link: Link) -> Paths {
        let id = |from: usize, to: usize| LinkId((from * sites + to) as u32);
        let route = |from, to| if from == to { Vec::new() } else { vec![id(from, to)] };
        let routes = (0..sites).map(|from| (0..sites).map(|to| route(from, to)).collect()).collect();
        Paths::new(vec![link; sites * sites], routes)
    }

    /// The same links, with the routes between some of the sites only.
    pub fn among(self, sites: &[usize]) -> Paths {
        if sites.iter().copied().eq(0..self.sites) {
            return self;
        }
        let way = |from: usize, to: usize| self.route(from, to).to_vec();
        let routes = sites.iter().map(|&from| sites.iter().map(|&to| way(from, to)).collect()).collect();
        Paths::new(self.links.clone(), routes)
    }

    pub fn sites(&self) -> usize {
        self.sites
    }

    pub fn route(&self, from: usize, to: usize) -> &[LinkId] {
        &self.routes[from * self.sites + to]
    }

    /// The most that a lone flow gets; infinite where data crosses no link.
    pub fn bandwidth(&self, from: usize, to: usize, alone: impl Fn(&Link) -> f64) -> f64 {
        let links = self.route(from, to).iter().map(|link| &self.links[link.index()]);
        links.map(alone).fold(f64::INFINITY, f64::min)
    }

    pub fn latency(&self, from: usize, to: usize) -> f64 {
        self.route(from, to).iter().map(|link| self.links[link.index()].latency).sum()
    }
}
