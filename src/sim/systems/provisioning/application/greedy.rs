//! Purchase of one start after another. Slots quoted in answer to different questions may overlap, so prices are asked
//! for one task, a start is chosen and booked, and only then the next task follows.

use super::{Application, Broken, Cost, Limits, TaskPlace, choose_quoted};
use crate::grid::{Area, Part, Quote, QuoteId, Receipt};
use crate::time::{Span, Time};

/// A plan whose slots are bought task by task.
#[derive(Clone, Debug)]
pub struct GreedyPlan<'a> {
    application: &'a Application,
    alpha: f64,
    now: Time,
    /// Processors of each site.
    sites: Vec<u32>,
    placed: Vec<(u32, Time)>,
    bought: Vec<(TaskPlace, Receipt)>,
    limits: Limits,
    /// Rest of the plan after each task, in the order of purchase: the least cost of all tasks bought after it, and the
    /// least time of those that depend on it. Empty without limits.
    rest: Vec<(Area, Span)>,
}

/// A question for the price of a task at a site, from a start on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceQuery {
    pub site: usize,
    pub part: Part,
}

impl<'a> GreedyPlan<'a> {
    pub fn new(application: &'a Application, alpha: f64, now: Time, sites: Vec<u32>) -> GreedyPlan<'a> {
        let placed = vec![(0, Time::ZERO); application.tasks()];
        let bought = Vec::new();
        let rest = Vec::new();
        GreedyPlan { application, alpha, now, sites, placed, bought, limits: Limits::NONE, rest }
    }

    /// Like this plan, within limits. `least` is the least cost of this core time at a site. A start is only bought if
    /// the limits leave enough for the tasks after it, at the least cost and the shortest run times.
    pub fn with_limits(self, limits: Limits, least: impl Fn(usize, Area) -> Area) -> GreedyPlan<'a> {
        if limits == Limits::NONE {
            return self;
        }
        let GreedyPlan { application, sites, .. } = &self;
        let cheapest = |task: usize| {
            (0..sites.len())
                .filter(|site| site_fits(task, site, application, sites))
                .map(|site| least(site, Area::of(application.procs(task), application.runtime(task, site))))
                .min()
        };
        let after = application.times_to_end(|task| {
            let runtimes = (0..sites.len())
                .filter(|site| site_fits(task, site, application, sites))
                .map(|site| application.runtime(task, site));
            runtimes.min().unwrap_or_default()
        });
        let mut cost = Area::ZERO;
        let mut rest: Vec<(Area, Span)> = Vec::new();
        for task in application.order().iter().rev().map(|task| *task as usize) {
            rest.push((cost, after[task]));
            cost += cheapest(task).unwrap_or_default();
        }
        rest.reverse();
        GreedyPlan { limits, rest, ..self }
    }

    /// Drops the starts of the next task after which the limits cannot be kept. If there are some, and none is left,
    /// returns the limit that left none.
    pub fn retain_within_limits(&self, quotes: &mut [(usize, Quote)]) -> Option<Broken> {
        let (cost, time) = *self.rest.get(self.bought.len())?;
        self.limits.less(self.cost().allocation + cost, time).retain_starts(quotes)
    }

    /// The questions to ask now: the next task, at each site that is large enough. Empty when all tasks have been
    /// bought.
    pub fn price_queries(&self, now: Time) -> Vec<PriceQuery> {
        let Some(task) = self.next() else { return Vec::new() };
        let procs = self.application.procs(task);
        let large = (0..self.sites.len()).filter(|site| self.sites[*site] >= procs);
        large
            .map(|site| {
                let start = self.application.ready(task, site, &self.placed).max(now);
                PriceQuery { site, part: Part { procs, start, span: self.application.runtime(task, site) } }
            })
            .collect()
    }

    /// The best start of all quotes: its site, its quote and the start.
    pub fn choose(&self, quotes: &[(usize, Quote)]) -> Option<(usize, QuoteId, Time)> {
        choose_quoted(self.alpha, quotes)
    }

    /// Records that the next task has been booked at a site.
    pub fn bought(&mut self, site: usize, receipt: Receipt) {
        let task = self.next().expect("only what is wanted is bought");
        let Part { start, .. } = receipt.part;
        let end = receipt.part.end();
        self.placed[task] = (site as u32, end);
        self.bought.push((TaskPlace { task: task as u32, site: site as u32, start, end }, receipt));
    }

    /// All purchases so far, in their order.
    pub fn all(&self) -> &[(TaskPlace, Receipt)] {
        &self.bought
    }

    /// Cost of the purchases so far, and the duration of the plan.
    pub fn cost(&self) -> Cost {
        let allocation: Area = self.bought.iter().map(|(_, receipt)| receipt.total()).sum();
        let last = self.bought.iter().map(|(placed, _)| placed.end).max();
        Cost { allocation, makespan: last.map_or(Span::ZERO, |last| last.since(self.now)) }
    }

    /// The task to be bought next.
    fn next(&self) -> Option<usize> {
        self.application.order().get(self.bought.len()).map(|task| *task as usize)
    }
}

fn site_fits(task: usize, site: &usize, application: &Application, sites: &[u32]) -> bool {
    sites[*site] >= application.procs(task) && application.suits(task, *site)
}
