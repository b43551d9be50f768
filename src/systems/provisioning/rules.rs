//! Settings of a topology: for the whole system, for each site, and for each user.

use serde::Serialize;

use super::{planner, strategy};
use crate::grid::{Approach, Crash, PlanMode, Site, User};
use crate::settings::{
    FormExt, LATENCY, Layout, List, Maybe, Millionths, NameIndex, Number, OneOf, POSITIVE_SPAN, Rate, Registered, SPAN,
    Walk, Word, key,
};
use crate::time::Span;

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
        }
    }
}

const POPULATION_MAX: u32 = 10_000;
const GENERATIONS_MAX: u32 = 10_000;
/// Bound on wanted starts and crashes: a probability is asked for each half minute up to them.
const AHEAD_MAX: Span = Span::from_secs(30 * 86_400);

impl Provisioning {
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
        if let Some(fields) = w.fields()
            && self.lease.micros() / 2 < self.delta.micros()
        {
            let (lease, delta) = (self.lease, self.delta);
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
        && let Some(field) = w.fields().and_then(|fields| fields.get("mode"))
    {
        let (usual, scheduler) = (planner::USUAL, &site.scheduler);
        field.complain(format!(
            "expected `rebuild`, as `exact` keeps a plan by {usual}, and this site has scheduler {scheduler}"
        ));
    }
    let price = key("price", "the price of a processor, as a multiple of the price of best effort").only_if(fits, why);
    let price_form =
        Millionths::to(PRICE_MAX).that("a price in thousandths", |price: &u64| price.is_multiple_of(1_000));
    w.set(price, &mut terms.price_millionths, price_form);
    let cancelled = key("cancelling", "the share of its fee that cancelling a booking costs").only_if(fits, why);
    let part = Millionths::to(1).that("a part in thousandths", |part: &u64| part.is_multiple_of(1_000));
    w.set(cancelled, &mut terms.cancelled_millionths, part);
    let longest = key("longest", "the longest run that is accepted").usual("any").only_if(fits, why);
    w.set(longest, &mut terms.longest, Maybe(POSITIVE_SPAN));
}

const PRICE_MAX: u64 = 1_000;

/// The way a `[[user]]` obtains time.
pub(super) fn walk_user(user: &mut User, fits: bool, sites: &NameIndex<'_>, w: &mut dyn Walk) {
    // A user whose jobs are all of other systems need not state it.
    let approach = &mut user.approach;
    if !fits && w.writes() {
        return;
    }
    if fits && approach.strategy.is_empty() {
        approach.strategy = strategy::USUAL.to_owned();
    }
    let why = "leave this out: only users under a [provisioning] negotiate for time";
    let words = strategy::ALL.iter().map(|row| Word::new(row.name, row.about)).collect();
    let name = key("strategy", "the strategy by which a user obtains time for its jobs")
        .usual("best-effort")
        .only_if(fits, why);
    w.set(name, &mut approach.strategy, Registered { what: "a strategy", words });
    let row = strategy::find(&approach.strategy);
    let has = |asks: fn(&strategy::StrategyRow) -> bool| !fits || row.is_some_and(asks);
    let only = |what: &'static str| if fits { what } else { why };
    // Defaults for all users are dropped where a strategy cannot use them.
    let usual = Approach::default();
    if w.reads() && !(fits && has(|row| row.has_alpha)) {
        approach.alpha = usual.alpha;
    }
    if w.reads() && !(fits && has(|row| row.has_ahead)) {
        approach.ahead = usual.ahead;
    }
    if w.reads() && !(fits && has(|row| row.has_legs)) {
        (approach.legs, approach.crash) = (usual.legs, usual.crash);
    }

    let alpha = key("alpha", "the objective: 0 is an early end, 1 is a low cost");
    let alpha = alpha.only_if(fits && has(|row| row.has_alpha), only("this strategy has nothing to weigh"));
    w.set(alpha, &mut approach.alpha, Number::from(0.0, 1.0, "a number from 0 to 1"));
    let ahead = key("ahead", "the time from the arrival of a job to its desired start");
    let wants = "only var and var-and-reserve have a wanted time for their jobs";
    let at_most = POSITIVE_SPAN.that("at most 30 days ahead", |span: &Span| *span <= AHEAD_MAX);
    w.set(ahead.only_if(fits && has(|row| row.has_ahead), only(wants)), &mut approach.ahead, at_most);

    let coallocates = fits && has(|row| row.has_legs);
    let parts = only("only coallocate runs the parts of a job at several sites at the same time");
    walk_legs(&mut approach.legs, (coallocates, parts), sites, w);
    walk_crash(&mut approach.crash, (coallocates, parts), w);
}

/// Sites of a job's tasks, if the strategy has legs; otherwise the reason why not.
fn walk_legs(legs: &mut Vec<usize>, (fits, why): (bool, &'static str), sites: &NameIndex<'_>, w: &mut dyn Walk) {
    let its = key("legs", "the sites where the tasks of a job run at the same time, in the order of the tasks");
    let its = its.only_if(fits, why);
    let its = if fits && legs.is_empty() {
        its.need("the sites of a job's tasks, such as [\"york\", \"leeds\"]")
    } else {
        its
    };
    w.set(its, legs, List(OneOf { what: "a site", names: sites }, "a list of sites"));
    if let Some(field) = w.fields().and_then(|fields| fields.get("legs")) {
        let mut sorted = legs.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < legs.len() {
            field.complain("expected each site only once: two tasks at one site need no coordination");
        }
    }
}

fn walk_crash(crash: &mut Option<Crash>, (fits, why): (bool, &'static str), w: &mut dyn Walk) {
    let its = key("crash", "a crash of its process, after which it comes back with nothing but its log").usual("never");
    w.maybe(its.only_if(fits, why), Layout::Inline, crash, Crash::default, |crash, w| {
        w.set(key("at", "").need("the time, counted from the start of the run"), &mut crash.at, POSITIVE_SPAN);
        w.set(key("lasts", "").need("for how long"), &mut crash.lasts, POSITIVE_SPAN);
    });
}

impl Approach {
    /// The row of its strategy, if it has one.
    pub(super) fn row(&self) -> Option<&'static strategy::StrategyRow> {
        strategy::find(&self.strategy)
    }
}
