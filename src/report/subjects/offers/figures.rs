//! The numbers of offers: the part of a summary, and its metrics and line.

use serde::{Deserialize, Serialize};

use crate::results::metric::{Better, Family, Metric, Unit};
use crate::{Summary, SummaryPart};
use hansa_sim::numerals::{format_count, format_span};

pub const METRICS: &[Metric] = &[
    Metric::new(
        "offer_age_mean",
        "mean age of the offer of a site when a task is given to it",
        Family::Knowledge,
        Unit::Seconds,
        Better::Less,
        |summary| Some(summary.read_part::<Offers>()?.age_mean),
    ),
    Metric::new(
        "offer_age_max",
        "largest age of the offer of a site when a task is given to it",
        Family::Knowledge,
        Unit::Seconds,
        Better::Less,
        |summary| Some(summary.read_part::<Offers>()?.age_max),
    ),
];

/// Summary of the offers of sites. The age of an offer, in virtual seconds, is the time from sending it to the
/// assignment of a task by it, unless a later offer has arrived. An offer may be old because nothing has changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Offers {
    pub offers: u64,
    /// Tasks given to sites, more than once if they were lost.
    pub given: u64,
    pub age_mean: f64,
    pub age_max: f64,
}

impl SummaryPart for Offers {
    const NAME: &'static str = "offers";
}

pub fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(Offers { offers, age_mean, age_max, .. }) = summary.read_part() else { return Vec::new() };
    let text = format!(
        "{}; {} old on average when a task is given away, {} at most",
        format_count(offers),
        format_span(age_mean),
        format_span(age_max)
    );
    vec![("offers", text)]
}
