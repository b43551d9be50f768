//! Settings of a topology: for the whole system, and for each site.

use serde::Serialize;

use super::application::{Aims, MogaSettings};
use super::planner;
use crate::grid::{Area, DAY, EdgeSlots, InnerSlots, PlanMode, PriceStep, Site, Terms};
use crate::settings::{
    CoreTime, FormExt, LATENCY, Layout, Maybe, Millionths, POSITIVE_SPAN, Rate, SPAN, Unless, Walk, key,
};
use crate::time::Span;
use crate::words::words;

/// Settings for all sites and users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provisioning {
    /// Duration of a hold that is not committed.
    pub lease: Span,
    /// Longest time for which a coordinator waits for an answer in one direction.
    pub delta: Span,
    /// Duration after a commit in which a cancellation is free.
    pub grace: Span,
    /// Validity of a quote.
    pub quotes_last: Span,
    /// Least duration of a transfer between two sites, and its speed; only where there are no links.
    pub transfer_latency: Span,
    pub bandwidth: Option<u64>,
    /// Size of the genetic algorithm.
    pub population: u32,
    pub generations: u32,
    pub search: PlanSearch,
}

words! {
    /// Aim of the genetic algorithm.
    #[derive(Default)]
    PlanSearch {
        /// Plans that no other one it has found beats in both cost and makespan.
        #[default]
        Pareto = "pareto",
        /// The plan with the least weighted sum of cost and makespan.
        Weighted = "weighted",
    }
}

impl Default for Provisioning {
    fn default() -> Provisioning {
        Provisioning {
            lease: Span::from_secs(60),
            delta: Span::from_secs(10),
            grace: Span::from_secs(240),
            quotes_last: Span::from_secs(60),
            transfer_latency: Span::ZERO,
            bandwidth: None,
            population: 100,
            generations: 10,
            search: PlanSearch::Pareto,
        }
    }
}

const POPULATION_MAX: u32 = 10_000;
const GENERATIONS_MAX: u32 = 10_000;

impl Provisioning {
    /// Settings of a user's search.
    pub(super) fn search(&self, seed: u64, alpha: f64) -> MogaSettings {
        MogaSettings {
            population: self.population as usize,
            generations: self.generations as usize,
            seed,
            aims: match self.search {
                PlanSearch::Pareto => Aims::Both,
                PlanSearch::Weighted => Aims::Sum(alpha),
            },
        }
    }

    /// The settings of `[provisioning]`.
    pub(super) fn settings(&mut self, w: &mut dyn Walk, linked: bool) {
        w.set(key("lease", "the lifetime of a hold that is not committed"), &mut self.lease, POSITIVE_SPAN);
        let delta = key("delta", "the longest time that a message between a coordinator and a site takes");
        w.set(delta, &mut self.delta, POSITIVE_SPAN);
        w.set(key("grace", "the time after a commit in which it can be taken back for free"), &mut self.grace, SPAN);
        w.set(key("quotes_last", "the lifetime of a site's quotes"), &mut self.quotes_last, POSITIVE_SPAN);
        let links = "leave this out: the links determine how data moves";
        let latency = key("transfer_latency", "the fixed part of the time that data takes between two sites");
        w.set(latency.only_if(!linked, links), &mut self.transfer_latency, LATENCY);
        let bandwidth = key("bandwidth", "the speed of data between two sites").usual("no limit");
        w.set(bandwidth.only_if(!linked, links), &mut self.bandwidth, Maybe(Rate));
        let population = key("population", "plans in a generation of moga");
        w.set(population, &mut self.population, 2..=POPULATION_MAX);
        let generations = key("generations", "generations of moga, after the first");
        w.set(generations, &mut self.generations, 0..=GENERATIONS_MAX);
        w.set(key("search", "the aim of moga's search"), &mut self.search, PlanSearch::ALL);
        if let Some(fields) = w.written_fields()
            && self.lease.micros() / 2 < self.delta.micros()
        {
            let lease = self.lease;
            let delta = self.delta;
            fields.complain(format!(
                "expected a lease of at least twice delta, so that a commit can arrive in time, found {lease} and {delta}"
            ));
        }
    }
}

/// Terms of a `[[site]]`.
pub(super) fn walk_site(site: &mut Site, fits: bool, w: &mut dyn Walk) {
    let why = "leave this out: only sites under a [provisioning] have terms of their own";
    let terms = &mut site.terms;
    let mode = key("mode", "the method by which a site under `[provisioning]` maintains its plan").only_if(fits, why);
    w.set(mode, &mut terms.mode, PlanMode::ALL);
    if fits
        && terms.mode == PlanMode::Exact
        && !["", planner::USUAL].contains(&site.scheduler.as_str())
        && let Some(field) = w.written_fields().and_then(|fields| fields.get("mode"))
    {
        let usual = planner::USUAL;
        let scheduler = &site.scheduler;
        field.complain(format!(
            "expected `rebuild`, as `exact` keeps a plan by {usual}, and this site has scheduler {scheduler}"
        ));
    }
    let price = key("price", "the price of a processor, as a multiple of the price of best effort").only_if(fits, why);
    let price_form = || {
        Millionths::to(PRICE_MAX).with_condition("a price in thousandths", |price: &u64| price.is_multiple_of(1_000))
    };
    let is_replaced = w.writes() && !terms.prices.is_empty();
    w.set(price.only_if(fits && !is_replaced, why), &mut terms.price_millionths, price_form());
    let prices =
        key("prices", "").means("prices by time of day, which replace `price`: each until the next one begins");
    let prices = prices.expects(PRICES).each(PRICES).only_if(fits, why);
    w.rows(prices, Layout::Lines, &mut terms.prices, PriceStep::default, |step, w| {
        let of_day = SPAN.with_condition("a time of day, below 24 h", |from: &Span| *from < DAY);
        w.set(key("from", "").need("the time of day at which it begins, such as \"8 h\""), &mut step.from, of_day);
        w.set(
            key("price", "").need("a price, as a multiple of that of best effort"),
            &mut step.price_millionths,
            price_form(),
        );
    });
    if fits {
        check_prices(terms, w);
    }
    let charge = key("charge", "the fixed part of the fee of a booking, at the price of best effort");
    let charge = charge.usual("none").only_if(fits, why);
    w.set(charge, &mut terms.charge, Unless(CoreTime, Area::ZERO));
    let cancelled = key("cancelling", "the share of its fee that cancelling a booking costs").only_if(fits, why);
    let part = || Millionths::to(1).with_condition("a part in thousandths", |part: &u64| part.is_multiple_of(1_000));
    w.set(cancelled, &mut terms.cancelled_millionths, part());
    let handing_back = "the share of its rent that the rest of a booking costs when its user hands it back";
    let handing_back = key("handing_back", handing_back).usual("bookings last to their ends").only_if(fits, why);
    w.set(handing_back, &mut terms.handing_back_millionths, Maybe(part()));
    let inner =
        key("inner_slots", "the parts that may be taken of a slot that ends where something planned or booked begins");
    let inner = inner.usual("`\"whole\"`").only_if(fits, why);
    w.set(inner, &mut terms.inner_slots, Unless(InnerSlots::ALL, InnerSlots::default()));
    let edge = key("edge_slots", "the parts that may be taken of a slot after which nothing is planned or booked");
    let edge = edge.usual("`\"open\"`").only_if(fits, why);
    w.set(edge, &mut terms.edge_slots, Unless(EdgeSlots::ALL, EdgeSlots::default()));
    let longest = key("longest", "the longest run that is accepted").usual("any").only_if(fits, why);
    w.set(longest, &mut terms.longest, Maybe(POSITIVE_SPAN));
}

/// Checks that prices ascend by time of day, and lets a price that is written replace prices that are defaults.
fn check_prices(terms: &mut Terms, w: &mut dyn Walk) {
    let Some(fields) = w.written_fields() else { return };
    match (fields.has("price"), fields.get("prices")) {
        (true, None) => terms.prices.clear(),
        (true, Some(field)) => field.complain("expected either `price` or `prices`, not both"),
        (false, Some(field)) if terms.prices.len() > PRICES_MAX => {
            field.complain(format!("expected at most {PRICES_MAX} prices, found {}", terms.prices.len()));
        }
        (false, Some(field)) => {
            let rows = field.list_items().unwrap_or_default();
            let pairs = terms.prices.iter().zip(terms.prices.iter().skip(1));
            for ((one, next), row) in pairs.zip(rows.iter().skip(1)) {
                // Times that could not be read are 0.
                let is_read = next.from > Span::ZERO || field.diagnostics().is_empty();
                if next.from <= one.from && is_read {
                    let one = one.from;
                    let next = next.from;
                    row.complain(format!("expected ascending times of day, found {next} after {one}"));
                }
            }
        }
        (false, None) => {}
    }
    if !terms.prices.is_empty() {
        terms.price_millionths = Terms::default().price_millionths;
    }
}

const PRICES: &str = "a list such as [{ from = \"8 h\", price = 2.0 }, { from = \"18 h\", price = 1.0 }]";
const PRICES_MAX: usize = 96;
const PRICE_MAX: u64 = 1_000;
