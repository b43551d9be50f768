//! The starts that all sites could admit, and the order in which to try them.

use super::Leg;
use crate::grid::{Area, Part, Quote};
use crate::systems::provisioning::application::rank_options;
use crate::time::Time;

/// Costs of each leg at each start.
#[derive(Clone, Debug)]
pub struct Pool {
    legs: Vec<Leg>,
    /// The starts, ascending, each with the cost of each leg if it is known.
    starts: Vec<(Time, Vec<Option<Area>>)>,
}

/// A question for the price of a start that a site has not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartQuestion {
    pub leg: usize,
    pub part: Part,
}

impl Pool {
    /// Builds the pool from each site's answer to the question for all starts.
    pub fn new(legs: Vec<Leg>, quotes: &[Quote]) -> Pool {
        let mut all: Vec<Time> = quotes.iter().flat_map(|quote| quote.offers.iter().map(|offer| offer.start)).collect();
        all.sort_unstable();
        all.dedup();
        let mut pool = Pool { starts: all.iter().map(|start| (*start, vec![None; legs.len()])).collect(), legs };
        quotes.iter().enumerate().for_each(|(leg, quote)| pool.record_prices(leg, quote));
        pool
    }

    /// The open questions: each start at each site that did not name it.
    pub fn questions(&self) -> Vec<StartQuestion> {
        let missing = self.starts.iter().flat_map(|(start, costs)| {
            let unknown = costs.iter().enumerate().filter(|(_, cost)| cost.is_none());
            unknown.map(|(leg, _)| StartQuestion { leg, part: self.legs[leg].part(*start) })
        });
        missing.collect()
    }

    /// Records the prices in an answer of a site. A start it was asked for but does not name is not admitted there.
    pub fn record_prices(&mut self, leg: usize, quote: &Quote) {
        for offer in &quote.offers {
            if let Ok(place) = self.starts.binary_search_by_key(&offer.start, |(start, _)| *start) {
                self.starts[place].1[leg] = Some(quote.cost(offer));
            }
        }
    }

    /// The starts that all sites admit, the best first: the sum of the costs has the weight `alpha`, and the start the
    /// rest.
    pub fn ranked(&self, alpha: f64) -> Vec<Time> {
        let whole: Vec<(u64, u64)> =
            self.starts.iter().filter_map(|(start, _)| Some((self.cost(*start)?.micros(), start.micros()))).collect();
        rank_options(alpha, &whole).into_iter().map(|place| Time::from_micros(whole[place].1)).collect()
    }

    /// Cost of all legs at a start, if all sites admit it.
    pub fn cost(&self, start: Time) -> Option<Area> {
        let place = self.starts.binary_search_by_key(&start, |(start, _)| *start).ok()?;
        self.starts[place].1.iter().copied().sum()
    }
}
