//! Buying start after start: slots that are quoted to different questions may overlap, so task after task is asked for,
//! chosen and booked before the next.

use super::{Application, Cost, Placed, choose_quoted};
use crate::grid::{Area, Part, Quote, QuoteId, Receipt};
use crate::time::{Span, Time};

/// A plan that is being bought.
#[derive(Clone, Debug)]
pub struct Greedy<'a> {
    application: &'a Application,
    alpha: f64,
    now: Time,
    /// Processors of each site.
    sites: Vec<u32>,
    placed: Vec<(u32, Time)>,
    bought: Vec<(Placed, Receipt)>,
}

/// Prices are wanted for a task: at a site, from a start on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    pub site: usize,
    pub part: Part,
}

impl<'a> Greedy<'a> {
    pub fn new(application: &'a Application, alpha: f64, now: Time, sites: Vec<u32>) -> Greedy<'a> {
        let placed = vec![(0, Time::ZERO); application.tasks()];
        Greedy { application, alpha, now, sites, placed, bought: Vec::new() }
    }

    /// What to ask for now: the next task, at every site that is large enough; none, when all have been bought.
    pub fn wishes(&self, now: Time) -> Vec<Wish> {
        let Some(task) = self.next() else { return Vec::new() };
        let procs = self.application.procs(task);
        let large = (0..self.sites.len()).filter(|site| self.sites[*site] >= procs);
        let wish = |site| {
            let start = self.application.ready(task, site, &self.placed).max(now);
            Wish { site, part: Part { procs, start, span: self.application.runtime(task, site) } }
        };
        large.map(wish).collect()
    }

    /// The best of all that was quoted: which site's, by its place among the quotes, and from when on.
    pub fn choose(&self, quotes: &[(usize, Quote)]) -> Option<(usize, QuoteId, Time)> {
        choose_quoted(self.alpha, quotes)
    }

    /// The task has been booked there.
    pub fn bought(&mut self, site: usize, receipt: Receipt) {
        let task = self.next().expect("only what is wanted is bought");
        let Part { start, .. } = receipt.part;
        let end = receipt.part.end();
        self.placed[task] = (site as u32, end);
        self.bought.push((Placed { task: task as u32, site: site as u32, start, end }, receipt));
    }

    /// What has been bought so far, in that order.
    pub fn all(&self) -> &[(Placed, Receipt)] {
        &self.bought
    }

    /// What it has cost so far, and how long it takes.
    pub fn cost(&self) -> Cost {
        let allocation: Area = self.bought.iter().map(|(_, receipt)| receipt.total()).sum();
        let last = self.bought.iter().map(|(placed, _)| placed.end).max();
        Cost { allocation, makespan: last.map_or(Span::ZERO, |last| last.since(self.now)) }
    }

    /// The task that is to be bought next.
    fn next(&self) -> Option<usize> {
        self.application.order().get(self.bought.len()).map(|task| *task as usize)
    }
}
