//! The fit policies as rules that reports may ask again.

use super::book::ClusterBook;
use super::fit::{self, Fit};
use super::rules::RectEnd;
use crate::grid::{Clash, NodeSet, Rectangle, Request};
use crate::systems::starts::{StartBook, StartRule};
use crate::time::Time;

/// A fit policy, with the end of rectangles that have none.
#[derive(Debug)]
pub struct FitRule {
    pub fit: &'static Fit,
    pub rect_end: RectEnd,
}

impl StartRule for FitRule {
    fn name(&self) -> &'static str {
        self.fit.name
    }

    fn about(&self) -> &'static str {
        self.fit.about
    }

    fn open_book(&self, nodes: u32) -> Box<dyn StartBook> {
        Box::new(ClusterBook::new(nodes, self.fit, self.rect_end))
    }

    fn starts_by_rule(&self, starts: &[Rectangle]) -> Vec<(&'static str, Option<Time>)> {
        let taken = |fit: &Fit| {
            let best = starts.iter().min_by_key(|rectangle| (fit.rank(rectangle), rectangle.start));
            best.map(|rectangle| rectangle.start)
        };
        fit::ALL.iter().map(|fit| (fit.name, taken(fit))).collect()
    }
}

impl StartBook for ClusterBook {
    fn find(&mut self, now: Time, request: &Request) -> Option<(Time, NodeSet)> {
        ClusterBook::find(self, now, request).map(|offer| (offer.start, offer.nodes))
    }

    fn starts(&mut self, now: Time, request: &Request) -> Vec<(Rectangle, NodeSet)> {
        let mut starts = Vec::new();
        self.candidates(now, request, |rectangle, free| starts.push((rectangle, free)));
        starts
    }

    fn book(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        self.add(start, end, nodes)
    }

    fn free(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        self.delete(start, end, nodes)
    }
}
