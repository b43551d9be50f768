//! One auction: the free cores, all bids, and the outcome of each.

use super::tally::{AuctionTally, ShownAuction};
use super::{Auctions, RecordedMarket};
use crate::Tally;
use crate::markup::{Html, cells, html};
use crate::present::page::Page;
use crate::present::page::html::{
    format_count, format_counted, moment_text, table_html, unbroken_micros, unbroken_number,
};
use hansa_sim::protocol::{BidOutcome, LossReason, TaskBid};
use hansa_sim::systems::BidUnit;
use hansa_sim::time::Time;

pub(super) fn auction_section(market: &RecordedMarket, page: &Page<'_>) -> Html {
    let (Some(all), Some(shown)) = (page.results.read_part::<Auctions>(), &page.tally.state::<AuctionTally>().shown)
    else {
        return Html::default();
    };
    let more = shown.sums.bids() - shown.bids.len() as u64;
    let more =
        if more > 0 { html!("<p>{} more are not shown.</p>\n", format_counted(more, "bid")) } else { Html::default() };
    all_auctions(&all)
        + explain_auction(market, shown)
        + offers_table(page.tally, shown)
        + bids_table(market, page.tally, shown)
        + more
}

fn all_auctions(all: &Auctions) -> Html {
    html!(
        "<p>{} had free cores for some waiting task. Of {}, {} won; {} were of tasks that need more cores than any site of \
         their kind had left, {} of tasks whose data was at no site with enough cores, and {} of tasks that would have fit \
         but not overtaken a better bidder. <code>bids.csv</code> lists all.</p>\n",
        format_counted(all.auctions, "auction"),
        format_counted(all.bids, "bid"),
        format_count(all.won),
        format_count(all.no_room),
        format_count(all.no_data),
        format_count(all.behind)
    )
}

pub(super) fn explain_auction(market: &RecordedMarket, shown: &ShownAuction) -> Html {
    let sums = shown.sums;
    let which = match (sums.won, sums.bids() - sums.won) {
        (0, _) | (_, 0) => "the one with most bidders",
        _ => "the one with most bidders of those in which some won and some lost",
    };
    html!(
        "<p>Auction {}, at {}, is {which}: {} of {} won. The policy is <code>{}</code> ({}). The best bidder \
         goes to the site of its kind with most free cores, then the next one, until one fits nowhere.</p>\n",
        format_count(shown.number),
        shown.time,
        format_count(sums.won),
        format_counted(sums.bids(), "bid"),
        &market.policy,
        market.about,
        which
    )
}

fn kind_name(tally: &Tally, kind: u16) -> String {
    tally.names.kinds.get(usize::from(kind)).cloned().unwrap_or_default()
}

pub(super) fn offers_table(tally: &Tally, shown: &ShownAuction) -> Html {
    table_html(
        &["Site", "Kind", "#Free cores", "#Tasks won", "#Cores left"],
        shown.offers.iter().map(|offer| {
            let site = tally.site_of.get(&offer.site).map(|site| &tally.sites[*site as usize]);
            let won = shown.bids.iter().filter(|(bid, _)| bid.outcome == BidOutcome::Won(offer.site));
            let (tasks, cores) =
                won.fold((0, 0), |(tasks, cores), (_, task)| (tasks + 1, cores + u64::from(task.cores)));
            cells![
                tally.names.of_actor(offer.site),
                site.map(|site| kind_name(tally, site.kind.0)),
                format_count(offer.cores.into()),
                format_count(tasks),
                format_count(u64::from(offer.cores) - cores),
            ]
        }),
    )
}

pub(super) fn bids_table(market: &RecordedMarket, tally: &Tally, shown: &ShownAuction) -> Html {
    let rows = shown.bids.iter().zip(1..).map(|((bid, task), place)| {
        let index = bid.task.index as usize;
        let job = tally.jobs.get(&bid.task.job);
        cells![
            format_count(place),
            job.map_or(bid.task.to_string(), |row| tally.task_label(row, index)),
            job.map(|row| tally.names.of_actor(row.user)),
            bid_in_words(market.unit, bid.bid),
            kind_name(tally, task.kind.0),
            format_count(task.cores.into()),
            outcome_words(tally, bid),
        ]
    });
    table_html(&["#Place", "Task", "User", "#Bid", "Kind", "#Cores", "Outcome"], rows)
}

fn bid_in_words(unit: BidUnit, bid: f64) -> String {
    match unit {
        BidUnit::TimeMicros => moment_text(Time::from_micros(bid as u64)),
        BidUnit::SpanMicros => unbroken_micros(bid as u64),
        BidUnit::Number if bid.is_infinite() => "∞".to_owned(),
        BidUnit::Number => unbroken_number(bid),
    }
}

fn outcome_words(tally: &Tally, bid: &TaskBid) -> String {
    match bid.outcome {
        BidOutcome::Won(site) => format!("won: goes to {}", tally.names.of_actor(site)),
        BidOutcome::Lost(LossReason::NoRoom) => "does not fit: no site has as many cores left".to_owned(),
        BidOutcome::Lost(LossReason::NoData) => {
            "does not fit: its data is at no site with enough cores left".to_owned()
        }
        BidOutcome::Lost(LossReason::Behind) => "fits, but a better bidder waits".to_owned(),
    }
}
