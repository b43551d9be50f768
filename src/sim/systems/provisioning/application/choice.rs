//! The choice of one option by the weights of money and time.

use std::cmp::Ordering;

use crate::grid::{Offer, Quote, QuoteId};
use crate::time::Time;

/// The best of some `(cost, time)`: cost has the weight `alpha` and time the rest, each as a share of its range. Of
/// equal options the earlier is taken, then the cheaper, then the first.
pub fn choose_best(alpha: f64, options: &[(u64, u64)]) -> Option<usize> {
    let compare = by_score(alpha, options);
    (0..options.len()).min_by(|one, other| compare(*one, *other))
}

/// Indices of all options, the best first.
pub fn rank_options(alpha: f64, options: &[(u64, u64)]) -> Vec<usize> {
    let compare = by_score(alpha, options);
    let mut order: Vec<usize> = (0..options.len()).collect();
    order.sort_by(|one, other| compare(*one, *other));
    order
}

/// Rank of each option: the number of options that are better.
pub(super) fn option_ranks(alpha: f64, options: &[(u64, u64)]) -> Vec<usize> {
    let compare = by_score(alpha, options);
    let all = 0..options.len();
    all.clone().map(|one| all.clone().filter(|other| compare(*other, one).is_lt()).count()).collect()
}

/// The best start of a quote for one job.
pub fn choose_offer(alpha: f64, offers: &[Offer]) -> Option<Offer> {
    let options: Vec<(u64, u64)> = offers.iter().map(|offer| (offer.fee.micros(), offer.start.micros())).collect();
    choose_best(alpha, &options).map(|place| offers[place])
}

/// The best start of all quotes: its site, its quote and the start. Of equal ones the one with the earlier end is
/// taken, then the cheaper, then that of the first site.
pub fn choose_quoted(alpha: f64, quotes: &[(usize, Quote)]) -> Option<(usize, QuoteId, Time)> {
    let offered = quotes.iter().flat_map(|(site, quote)| quote.offers.iter().map(move |offer| (*site, quote, offer)));
    let (pool, options): (Vec<_>, Vec<_>) = offered
        .map(|(site, quote, offer)| {
            ((site, quote.id, offer.start), (quote.cost(offer).micros(), (offer.start + quote.span).micros()))
        })
        .unzip();
    choose_best(alpha, &options).map(|place| pool[place])
}

fn by_score(alpha: f64, options: &[(u64, u64)]) -> impl Fn(usize, usize) -> Ordering {
    let costs = range_of(|option| option.0, options);
    let times = range_of(|option| option.1, options);
    let share = |value: u64, (least, range): (u64, u64)| match range {
        0 => 0.0,
        range => (value - least) as f64 / range as f64,
    };
    move |one, other| {
        let one = &options[one];
        let other = &options[other];
        // Scores that differ by no more than rounding are equal.
        let [first, second] = [one, other].map(|option| {
            let score = alpha * share(option.0, costs) + (1.0 - alpha) * share(option.1, times);
            (score * 1e12).round()
        });
        first.total_cmp(&second).then((one.1, one.0).cmp(&(other.1, other.0)))
    }
}

fn range_of(of: fn(&(u64, u64)) -> u64, options: &[(u64, u64)]) -> (u64, u64) {
    let least = options.iter().map(of).min().unwrap_or(0);
    (least, options.iter().map(of).max().unwrap_or(0) - least)
}
