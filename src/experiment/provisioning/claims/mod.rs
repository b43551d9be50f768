//! What the thesis concludes, figure by figure.
//!
//! Trends are of means; from one point to the next 3 % of noise are allowed. Where the thesis says "about" or
//! "most", the bounds are ours: a factor of 2 or 1.3, one half, 2 %.

mod at_prices;
mod over_slots;
mod prices;
mod slots;
mod virtuals;

use super::super::claims::{Claim, Judge, Number};
use super::Results;
use super::load::Site;
use super::plans::widths;

/// From one point to the next, as a share.
const NOISE: f64 = 0.03;
const ALPHAS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
const TASKS: [f64; 4] = [100.0, 200.0, 300.0, 400.0];
const SITES: [f64; 5] = [2.0, 3.0, 4.0, 5.0, 6.0];

impl Judge<'_, Results> {
    fn mean(&self, figure: &'static str, line: &str, at: f64) -> Number {
        Number { name: format!("{figure}({line}, {at})"), value: self.results.mean(figure, line, at) }
    }

    fn deviation(&self, figure: &'static str, line: &str, at: f64) -> Number {
        Number { name: format!("sd {figure}({line}, {at})"), value: self.results.deviation(figure, line, at) }
    }

    fn count(&self, figure: &'static str, line: &str, at: f64) -> Number {
        let count = self.results.samples(figure, line, at).len();
        Number { name: format!("number {figure}({line}, {at})"), value: Some(count as f64) }
    }

    /// The largest of all that was seen.
    fn most(&self, figure: &'static str, line: &str) -> Number {
        let samples = self.results.samples(figure, line, 0.0);
        Number { name: format!("most {figure}({line})"), value: samples.iter().copied().max_by(f64::total_cmp) }
    }

    fn falls(&mut self, figure: &'static str, line: &str, along: &[f64]) {
        for pair in along.windows(2) {
            let (before, after) = (self.mean(figure, line, pair[0]), self.mean(figure, line, pair[1]));
            let noise = NOISE * before.value.unwrap_or_default().abs();
            self.at_most(&after, &before, noise);
        }
    }

    fn rises(&mut self, figure: &'static str, line: &str, along: &[f64]) {
        let backwards: Vec<f64> = along.iter().rev().copied().collect();
        self.falls(figure, line, &backwards);
    }

    fn within_factor(&mut self, one: &Number, other: &Number, factor: f64) {
        self.at_most(one, &other.times(factor), 0.0);
        self.at_most(other, &one.times(factor), 0.0);
    }
}

fn names() -> [&'static str; 2] {
    Site::ALL.map(Site::name)
}

fn loads(site: Site) -> Vec<f64> {
    site.loads().iter().map(|load| f64::from(*load) / 10.0).collect()
}

fn priced(site: Site) -> [f64; 3] {
    site.priced_loads().map(|load| f64::from(load) / 10.0)
}

fn all_widths(site: Site) -> [f64; 4] {
    widths(site).map(f64::from)
}

pub const CLAIMS: &[Claim<Results>] = &[
    slots::COUNT,
    slots::COUNT_AND_JOBS,
    slots::STARTS,
    slots::SIZES,
    slots::ESTIMATES,
    over_slots::MAKESPAN,
    over_slots::COST,
    over_slots::VARIATION,
    over_slots::BY_TASKS,
    over_slots::BY_WIDTH,
    over_slots::BY_LOAD,
    over_slots::CYBERSHAKE,
    over_slots::SEVERAL_SITES,
    prices::FEES,
    prices::WAITS,
    prices::BY_LOAD,
    prices::BY_SHARE,
    prices::HALF,
    prices::PLANNERS,
    prices::ESTIMATES,
    virtuals::COSTS,
    virtuals::SUCCESS,
    virtuals::CHEAPER,
    virtuals::COMBINED,
    at_prices::MAKESPAN,
    at_prices::AGAINST_SLOTS,
    at_prices::BY_TASKS,
    at_prices::BY_WIDTH_AND_LOAD,
    at_prices::SEVERAL_SITES,
];
