//! Routes from site to site.

use smallvec::SmallVec;

use super::link::{Link, LinkId};

/// Links, and a route between any two sites. A site needs no route to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    pub links: Vec<Link>,
    sites: usize,
    ways: Ways,
}

#[derive(Clone, Debug, PartialEq)]
enum Ways {
    /// Route of each pair of sites: a range of `crossed` that begins at `starts`, by sender, then by receiver.
    Listed { starts: Vec<u32>, crossed: Vec<LinkId> },
    /// Each site has a line to a router, with its own number, so memory does not grow with the pairs of sites.
    ByRouter,
}

/// Links that data crosses, in order.
pub type Route = SmallVec<[LinkId; 4]>;

impl Paths {
    /// `routes[m][n]` leads from site `m` to site `n`.
    pub fn new(links: Vec<Link>, routes: Vec<Vec<Vec<LinkId>>>) -> Paths {
        let sites = routes.len();
        assert!(routes.iter().all(|row| row.len() == sites), "there is a route for every pair of sites");
        let mut starts = Vec::with_capacity(sites * sites + 1);
        let mut crossed = Vec::new();
        for route in routes.into_iter().flatten() {
            starts.push(crossed.len() as u32);
            crossed.extend(route);
        }
        starts.push(crossed.len() as u32);
        Paths { links, sites, ways: Ways::Listed { starts, crossed } }
    }

    /// Star: each site has its own line to a router, which all of its traffic crosses.
    pub fn by_router(lines: Vec<Link>) -> Paths {
        Paths { sites: lines.len(), links: lines, ways: Ways::ByRouter }
    }

    /// Copy with the routes between some of the sites only.
    pub fn restricted_to(self, sites: &[usize]) -> Paths {
        if sites.iter().copied().eq(0..self.sites) {
            return self;
        }
        if self.ways == Ways::ByRouter {
            return Paths::by_router(sites.iter().map(|site| self.links[*site]).collect());
        }
        let routes = sites.iter().map(|&from| sites.iter().map(|&to| self.route_vec(from, to)).collect()).collect();
        Paths::new(self.links.clone(), routes)
    }

    fn route_vec(&self, from: usize, to: usize) -> Vec<LinkId> {
        self.route(from, to).to_vec()
    }

    pub fn sites(&self) -> usize {
        self.sites
    }

    pub fn route(&self, from: usize, to: usize) -> Route {
        match self.ways {
            Ways::Listed { .. } => self.listed_route(from, to).into(),
            Ways::ByRouter if from == to => Route::new(),
            Ways::ByRouter => [LinkId(from as u32), LinkId(to as u32)].into_iter().collect(),
        }
    }

    /// Route from a list, without a copy; empty if routes are not listed.
    pub fn listed_route(&self, from: usize, to: usize) -> &[LinkId] {
        let Ways::Listed { starts, crossed } = &self.ways else { return &[] };
        let pair = from * self.sites + to;
        &crossed[starts[pair] as usize..starts[pair + 1] as usize]
    }

    /// Bandwidth of a flow without other traffic; infinite if its route has no links.
    pub fn bandwidth(&self, from: usize, to: usize, alone: impl Fn(&Link) -> f64) -> f64 {
        let links = self.route(from, to).into_iter().map(|link| &self.links[link.index()]);
        links.map(alone).fold(f64::INFINITY, f64::min)
    }

    /// Mean capacity of the routes between two sites; None if there are no two sites between which data takes time.
    pub fn mean_capacity(&self) -> Option<f64> {
        let pairs = (0..self.sites * self.sites).map(|pair| (pair / self.sites, pair % self.sites));
        let apart = pairs.filter(|(from, to)| from != to);
        let capacities = apart.map(|(from, to)| self.bandwidth(from, to, |link| link.capacity));
        let (count, sum) = capacities
            .filter(|capacity| capacity.is_finite())
            .fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + one));
        (count > 0.0).then(|| sum / count)
    }

    pub fn latency(&self, from: usize, to: usize) -> f64 {
        self.route(from, to).iter().map(|link| self.links[link.index()].latency).sum()
    }
}
