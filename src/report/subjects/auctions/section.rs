//! One auction: the free cores, all bids, and the outcome of each.

use super::tally::{AuctionTally, ShownAuction};
use super::{Auctions, RecordedMarket};
use crate::Tally;
use crate::markup::{Html, cells, html};
use crate::present::page::Page;
use crate::present::page::html::{count, counted, micros, moment, number, table};
use hansa_sim::grid::Task;
use hansa_sim::protocol::{BidOutcome, CoreOffer, LossReason, TaskBid};
use hansa_sim::systems::BidUnit;
use hansa_sim::time::Time;

pub(super) fn auction(market: &RecordedMarket, page: &Page<'_>) -> Html {
    let (Some(all), Some(shown)) = (page.results.part::<Auctions>(), &page.tally.state::<AuctionTally>().shown) else {
        return Html::default();
    };
    let more = shown.sums.bids() - shown.bids.len() as u64;
    let more = if more > 0 { html!("<p>{} more are not shown.</p>\n", counted(more, "bid")) } else { Html::default() };
    all_auctions(&all) + explained(market, shown) + offers(page.tally, shown) + bids(market, page.tally, shown) + more
}

fn all_auctions(all: &Auctions) -> Html {
    html!(
        "<p>{} had free cores for some waiting task. Of {}, {} won; {} were of tasks that need more cores than any site of \
         their kind had left, {} of tasks whose data was at no site with enough cores, and {} of tasks that would have fit \
         but not overtaken a better bidder. <code>bids.csv</code> lists all.</p>\n",
        counted(all.auctions, "auction"),
        counted(all.bids, "bid"),
        count(all.won),
        count(all.no_room),
        count(all.no_data),
        count(all.behind)
    )
}

pub(super) fn explained(market: &RecordedMarket, shown: &ShownAuction) -> Html {
    let sums = shown.sums;
    let which = match (sums.won, sums.bids() - sums.won) {
        (0, _) | (_, 0) => "the one with most bidders",
        _ => "the one with most bidders of those in which some won and some lost",
    };
    html!(
        "<p>Auction {}, at {}, is {which}: {} of {} won. The policy is <code>{}</code> ({}). The best bidder \
         goes to the site of its kind with most free cores, then the next one, until one fits nowhere.</p>\n",
        count(shown.number),
        shown.time,
        count(sums.won),
        counted(sums.bids(), "bid"),
        &market.policy,
        market.about,
        which
    )
}

fn kind(tally: &Tally, kind: u16) -> String {
    tally.names.kinds.get(usize::from(kind)).cloned().unwrap_or_default()
}

pub(super) fn offers(tally: &Tally, shown: &ShownAuction) -> Html {
    let row = |offer: &CoreOffer| {
        let site = tally.site_of.get(&offer.site).map(|site| &tally.sites[*site as usize]);
        let won = shown.bids.iter().filter(|(bid, _)| bid.outcome == BidOutcome::Won(offer.site));
        let (tasks, cores) = won.fold((0, 0), |(tasks, cores), (_, task)| (tasks + 1, cores + u64::from(task.cores)));
        cells![
            tally.names.of_actor(offer.site),
            site.map(|site| kind(tally, site.kind.0)),
            count(offer.cores.into()),
            count(tasks),
            count(u64::from(offer.cores) - cores),
        ]
    };
    table(&["Site", "Kind", "#Free cores", "#Tasks won", "#Cores left"], shown.offers.iter().map(row))
}

pub(super) fn bids(market: &RecordedMarket, tally: &Tally, shown: &ShownAuction) -> Html {
    let row = |((bid, task), place): (&(TaskBid, Task), u64)| {
        let index = bid.task.index as usize;
        let job = tally.jobs.get(&bid.task.job);
        cells![
            count(place),
            job.map_or(bid.task.to_string(), |row| tally.task_label(row, index)),
            job.map(|row| tally.names.of_actor(row.user)),
            bid_in_words(market.unit, bid.bid),
            kind(tally, task.kind.0),
            count(task.cores.into()),
            outcome(tally, bid),
        ]
    };
    let rows = shown.bids.iter().zip(1..).map(row);
    table(&["#Place", "Task", "User", "#Bid", "Kind", "#Cores", "Outcome"], rows)
}

fn bid_in_words(unit: BidUnit, bid: f64) -> String {
    match unit {
        BidUnit::TimeMicros => moment(Time::from_micros(bid as u64)),
        BidUnit::SpanMicros => micros(bid as u64),
        BidUnit::Number if bid.is_infinite() => "∞".to_owned(),
        BidUnit::Number => number(bid),
    }
}

fn outcome(tally: &Tally, bid: &TaskBid) -> String {
    match bid.outcome {
        BidOutcome::Won(site) => format!("won: goes to {}", tally.names.of_actor(site)),
        BidOutcome::Lost(LossReason::NoRoom) => "does not fit: no site has as many cores left".to_owned(),
        BidOutcome::Lost(LossReason::NoData) => {
            "does not fit: its data is at no site with enough cores left".to_owned()
        }
        BidOutcome::Lost(LossReason::Behind) => "fits, but a better bidder waits".to_owned(),
    }
}
