//! Conclusions of the thesis, figure by figure.
//!
//! Trends are of means, from one point to the next. Where the thesis says "about", "generally" or "most", the bounds
//! are ours.

mod at_prices;
mod over_slots;
mod prices;
mod slots;
mod virtuals;

use super::Results;
use super::load::Site;
use super::plans::workflow_widths;
use hansa_report::experiment::claims::{Claim, Judge, Number};

const ALPHAS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
const TASKS: [f64; 4] = [100.0, 200.0, 300.0, 400.0];
const SITES: [f64; 5] = [2.0, 3.0, 4.0, 5.0, 6.0];

/// Numbers and comparisons that the claims below have in common.
trait ProvisioningNumbers {
    fn mean(&self, figure: &'static str, line: &str, at: f64) -> Number;
    fn ratio_number(&self, figure: &'static str, line: &str, at: f64) -> Number;
    fn deviation_number(&self, figure: &'static str, line: &str, at: f64) -> Number;
    fn count(&self, figure: &'static str, line: &str, at: f64) -> Number;
    fn most_number(&self, figure: &'static str, line: &str) -> Number;
    fn expect_falling(&mut self, figure: &'static str, line: &str, along: &[f64]);
    fn expect_rising(&mut self, figure: &'static str, line: &str, along: &[f64]);
    fn deviation_falls(&mut self, figure: &'static str, line: &str, along: &[f64]);
    fn deviation_rises(&mut self, figure: &'static str, line: &str, along: &[f64]);
    fn ratio_falls(&mut self, figure: &'static str, line: &str, along: &[f64]);
    fn one_below_the_other(&mut self, numbers: &[Number]);
    fn show_numbers(&mut self, numbers: &[(Number, f64)]);
    fn within_factor(&mut self, one: impl Into<Number>, other: impl Into<Number>, factor: f64);
}

impl ProvisioningNumbers for Judge<'_, Results> {
    fn mean(&self, figure: &'static str, line: &str, at: f64) -> Number {
        Number::mean(format!("{figure}({line}, {at})"), self.results.samples(figure, line, at))
    }

    /// Ratio of the means of a line with provisioning and by best effort.
    fn ratio_number(&self, figure: &'static str, line: &str, at: f64) -> Number {
        let name = match line.is_empty() {
            true => format!("{figure} ratio({at})"),
            false => format!("{figure} ratio({line}, {at})"),
        };
        self.results
            .pair_samples(figure, line, at)
            .map_or(Number::new(name.clone(), None), |[one, other]| Number::ratio(name, one, other))
    }

    fn deviation_number(&self, figure: &'static str, line: &str, at: f64) -> Number {
        Number::deviation(format!("sd {figure}({line}, {at})"), self.results.samples(figure, line, at))
    }

    fn count(&self, figure: &'static str, line: &str, at: f64) -> Number {
        let count = self.results.samples(figure, line, at).len();
        Number::new(format!("number {figure}({line}, {at})"), Some(count as f64))
    }

    /// Maximum of all samples.
    fn most_number(&self, figure: &'static str, line: &str) -> Number {
        let samples = self.results.samples(figure, line, 0.0);
        Number::new(format!("most {figure}({line})"), samples.iter().copied().max_by(f64::total_cmp))
    }

    fn expect_falling(&mut self, figure: &'static str, line: &str, along: &[f64]) {
        let numbers: Vec<Number> = along.iter().map(|at| self.mean(figure, line, *at)).collect();
        self.one_below_the_other(&numbers);
    }

    fn expect_rising(&mut self, figure: &'static str, line: &str, along: &[f64]) {
        let backwards: Vec<f64> = along.iter().rev().copied().collect();
        self.expect_falling(figure, line, &backwards);
    }

    fn deviation_falls(&mut self, figure: &'static str, line: &str, along: &[f64]) {
        let numbers: Vec<Number> = along.iter().map(|at| self.deviation_number(figure, line, *at)).collect();
        self.one_below_the_other(&numbers);
    }

    fn deviation_rises(&mut self, figure: &'static str, line: &str, along: &[f64]) {
        let backwards: Vec<f64> = along.iter().rev().copied().collect();
        self.deviation_falls(figure, line, &backwards);
    }

    fn ratio_falls(&mut self, figure: &'static str, line: &str, along: &[f64]) {
        let numbers: Vec<Number> = along.iter().map(|at| self.ratio_number(figure, line, *at)).collect();
        self.one_below_the_other(&numbers);
    }

    fn one_below_the_other(&mut self, numbers: &[Number]) {
        numbers.windows(2).for_each(|pair| self.expect_at_most(&pair[1], &pair[0]));
    }

    /// Shows numbers of the thesis beside ours.
    fn show_numbers(&mut self, numbers: &[(Number, f64)]) {
        numbers.iter().for_each(|(number, paper)| self.show_number(number, *paper));
    }

    fn within_factor(&mut self, one: impl Into<Number>, other: impl Into<Number>, factor: f64) {
        let one = one.into();
        let other = other.into();
        self.expect_at_most(&one, other.times(factor));
        self.expect_at_most(&other, one.times(factor));
    }
}

fn site_names() -> [&'static str; 2] {
    Site::ALL.map(Site::name)
}

fn load_percents(site: Site) -> Vec<f64> {
    site.plan_loads().iter().map(|load| f64::from(*load) / 10.0).collect()
}

fn priced_percents(site: Site) -> [f64; 3] {
    site.priced_loads().map(|load| f64::from(load) / 10.0)
}

fn all_widths(site: Site) -> [f64; 4] {
    workflow_widths(site).map(f64::from)
}

/// Processors of a task of a site in figure 54.
fn priced_widths(judge: &Judge<'_, Results>, site: Site) -> [f64; 4] {
    judge.results.settings.widths.of(site).map(f64::from)
}

/// Lines of figures 16 and 55, with their sites.
fn lines_by_width() -> impl Iterator<Item = (String, Site)> {
    Site::ALL
        .into_iter()
        .flat_map(|site| workflow_widths(site).map(move |procs| (format!("{} {procs} procs", site.name()), site)))
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
    virtuals::NOTICE,
];
