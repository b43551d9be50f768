//! A workflow of rigid parallel tasks, their run times at each site, and the links between the sites.

use std::collections::BTreeMap;

use crate::grid::{Area, Speed, Workflow};
use crate::time::{Span, Time};

/// A checked workflow on some sites; its tasks are in topological order.
#[derive(Clone, Debug)]
pub struct Application {
    procs: Vec<u32>,
    /// Run times, indexed by task, then site.
    runtimes: Vec<Span>,
    sites: usize,
    /// Suitable sites, indexed by task, then site; empty if each task may run everywhere.
    suits: Vec<bool>,
    /// Pairs `(from, to)`, ascending.
    edges: Vec<(u32, u32)>,
    /// Kind of link between two sites, indexed by the first site, then the second. A site is linked to itself by the
    /// first kind, which takes no time.
    between: Vec<u32>,
    kinds: usize,
    /// Transfer times, indexed by edge, then kind of link.
    transfers: Vec<Span>,
    /// The edges into task `t` are those numbered `into[into_starts[t]..into_starts[t + 1]]`.
    into: Vec<u32>,
    into_starts: Vec<u32>,
    order: Vec<u32>,
    /// Position of each task in the order of ranks.
    places: Vec<u32>,
}

/// The link between two different sites. Transfers are estimated as if no other used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SiteLink {
    pub latency: Span,
    /// Bandwidth between sites in bits per second.
    pub bandwidth: u64,
}

impl Application {
    pub fn new(workflow: &Workflow, sites: &[Speed], link: impl Fn(usize, usize) -> SiteLink) -> Application {
        let count = workflow.tasks.len();
        let mut kinds: BTreeMap<SiteLink, u32> = BTreeMap::new();
        let pairs = (0..sites.len()).flat_map(|from| (0..sites.len()).map(move |to| (from, to)));
        let between: Vec<u32> = pairs
            .map(|(from, to)| {
                let next = kinds.len() as u32 + 1;
                if from == to { 0 } else { *kinds.entry(link(from, to)).or_insert(next) }
            })
            .collect();
        let mut links: Vec<(&SiteLink, &u32)> = kinds.iter().collect();
        links.sort_unstable_by_key(|(_, kind)| **kind);
        let transfers = workflow.edges.iter().flat_map(|edge| {
            let crossing = links.iter().map(|(link, _)| link.transfer(edge.data));
            std::iter::once(Span::ZERO).chain(crossing)
        });

        let mut into: Vec<u32> = (0..workflow.edges.len() as u32).collect();
        into.sort_by_key(|edge| workflow.edges[*edge as usize].to);
        let mut application = Application {
            procs: workflow.tasks.iter().map(|task| task.cores).collect(),
            runtimes: workflow.tasks.iter().flat_map(|task| sites.iter().map(|site| site.time(task.work))).collect(),
            sites: sites.len(),
            suits: Vec::new(),
            edges: workflow.edges.iter().map(|edge| (edge.from, edge.to)).collect(),
            transfers: transfers.collect(),
            kinds: links.len() + 1,
            between,
            into_starts: (0..=count as u32).map(|task| count_edges_before(task, &into, workflow)).collect(),
            into,
            order: Vec::new(),
            places: vec![0; count],
        };
        application.order = application.heft_order();
        for (place, task) in application.order.iter().enumerate() {
            application.places[*task as usize] = place as u32;
        }
        application
    }

    /// Like this application, with a restricted choice of sites for each task. Ranks are computed as if each task could
    /// run everywhere.
    pub fn restricted_by(self, suits: impl Fn(usize, usize) -> bool) -> Application {
        let sites = self.sites;
        let suits: Vec<bool> = (0..self.tasks() * sites).map(|at| suits(at / sites, at % sites)).collect();
        Application { suits: if suits.contains(&false) { suits } else { Vec::new() }, ..self }
    }

    /// True if a task may run at a site.
    pub fn suits(&self, task: usize, site: usize) -> bool {
        self.suits.is_empty() || self.suits[task * self.sites + site]
    }

    pub fn tasks(&self) -> usize {
        self.procs.len()
    }

    pub fn sites(&self) -> usize {
        self.sites
    }

    pub fn procs(&self, task: usize) -> u32 {
        self.procs[task]
    }

    pub fn runtime(&self, task: usize, site: usize) -> Span {
        self.runtimes[task * self.sites + site]
    }

    /// All tasks, the highest rank first. The rank is the longest path to the end, by mean run times and mean transfer
    /// times between two different sites. Of equal ranks the first task in the workflow comes first.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns for each task the least time from its end to the end of all tasks that depend on it, given the run
    /// times.
    pub fn times_to_end(&self, runtime: impl Fn(usize) -> Span) -> Vec<Span> {
        let mut after = vec![Span::ZERO; self.tasks()];
        // Tasks are in topological order, and edges ascend.
        for &(from, to) in self.edges.iter().rev() {
            let from = from as usize;
            let to = to as usize;
            after[from] = after[from].max(runtime(to) + after[to]);
        }
        after
    }

    /// Position of a task in the order of ranks.
    pub fn place(&self, task: usize) -> u32 {
        self.places[task]
    }

    /// Processor time of all tasks at a site, which is the cost of best effort.
    pub fn work(&self, site: usize) -> Area {
        (0..self.tasks()).map(|task| Area::of(self.procs[task], self.runtime(task, site))).sum()
    }

    /// Time at which all inputs of a task are at a site, given the sites and ends of its predecessors.
    pub fn ready(&self, task: usize, site: usize, placed: &[(u32, Time)]) -> Time {
        self.incoming(task)
            .map(|(from, transfer)| {
                let (at, end) = placed[from];
                end + self.transfers[transfer + self.between[at as usize * self.sites + site] as usize]
            })
            .max()
            .unwrap_or(Time::ZERO)
    }

    /// Predecessors of a task.
    pub fn predecessors(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        self.incoming(task).map(|(from, _)| from)
    }

    /// Successors of a task.
    pub fn successors(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        let first = self.edges.partition_point(|edge| (edge.0 as usize) < task);
        self.edges[first..].iter().take_while(move |edge| edge.0 as usize == task).map(|edge| edge.1 as usize)
    }

    /// Predecessors of a task, each with the index of the first transfer time of its edge.
    fn incoming(&self, task: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let into = &self.into[self.into_starts[task] as usize..self.into_starts[task + 1] as usize];
        into.iter().map(|edge| (self.edges[*edge as usize].0 as usize, *edge as usize * self.kinds))
    }

    /// Means are multiplied by their divisors, so ranks are exact.
    fn heft_order(&self) -> Vec<u32> {
        let sites = self.sites as u128;
        let mut pairs = vec![0u128; self.kinds];
        self.between.iter().for_each(|kind| pairs[*kind as usize] += 1);
        let moves = |edge: usize| -> u128 {
            let transfers = self.transfers[edge * self.kinds..][..self.kinds].iter();
            transfers.zip(&pairs).map(|(transfer, pairs)| u128::from(transfer.micros()) * pairs).sum()
        };
        let mut ranks = vec![0u128; self.tasks()];
        let mut edge = self.edges.len();
        for task in (0..self.tasks()).rev() {
            // The edges of later tasks have been visited, and the tasks they lead to have their ranks.
            let mut longest = 0;
            while edge > 0 && self.edges[edge - 1].0 as usize == task {
                edge -= 1;
                longest = longest.max(moves(edge) + ranks[self.edges[edge].1 as usize]);
            }
            ranks[task] = self.runtime_weight(task, sites) + longest;
        }
        let mut order: Vec<u32> = (0..self.tasks() as u32).collect();
        order.sort_by(|one, other| ranks[*other as usize].cmp(&ranks[*one as usize]).then(one.cmp(other)));
        order
    }

    fn runtime_weight(&self, task: usize, sites: u128) -> u128 {
        let sum: u128 = (0..self.sites).map(|site| u128::from(self.runtime(task, site).micros())).sum();
        sum * (sites - 1).max(1)
    }
}

fn count_edges_before(task: u32, into: &[u32], workflow: &Workflow) -> u32 {
    into.partition_point(|edge| workflow.edges[*edge as usize].to < task) as u32
}

impl SiteLink {
    /// Transfer time of `bytes`.
    pub fn transfer(&self, bytes: u64) -> Span {
        let micros = u128::from(bytes) * 8_000_000 / u128::from(self.bandwidth.max(1));
        self.latency + Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}
