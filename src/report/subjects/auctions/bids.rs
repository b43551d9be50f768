//! `bids.csv`: the offers and bids of each auction, where a market records them.

use crate::tables::columns::{TableForm, number, seconds, text, whole_number};
use crate::tables::csv::CsvRow;
use hansa_sim::protocol::TaskBid;
use hansa_sim::time::Time;

pub const BIDS: TableForm = TableForm {
    file: "bids.csv",
    about: "One row per offer of a site and per bid of a task, only for markets with `bids = \"log\"`. Rows of an auction \
            are adjacent: first the offers, then the bids, the best first.",
    columns: &[
        whole_number("auction", "number of the auction, from 1"),
        seconds("time", "when it was held"),
        text("bidder", "`site` for an offer of free cores, `task` for a bid"),
        text("kind", "kind of core that is offered, or needed"),
        text("site", "the site that offers, or to which the task goes"),
        whole_number("job", "number of the task's job, from 0, as events.jsonl has it"),
        whole_number("task", "number of the task in its job, from 0"),
        whole_number("cores", "free cores before the auction, or cores that the task needs"),
        number(
            "bid",
            "",
            "bid of the task: microseconds under `fifo`, `srtf` and `lrtf`, ticks under `edf`; `inf` if its job has no worth, under `edf` and `pvr`",
        ),
        whole_number("place", "place among all bids of the auction, from 1 for the best"),
        text(
            "outcome",
            "`won`; `no_room` if no site of its kind had as many cores left; `no_data` if some had, but its data was at none of \
             them; `behind` if it would have fit, but a better bidder did not",
        ),
    ],
};

/// The columns that offers and bids share.
pub(crate) struct BidRow<'a> {
    pub auction: u64,
    pub time: Time,
    /// Names as fields.
    pub kind: &'a str,
    pub site: &'a str,
    pub cores: u32,
}

impl BidRow<'_> {
    fn begin<'t>(&self, text: &'t mut Vec<u8>, bidder: &str) -> CsvRow<'t> {
        let mut line = BIDS.row(text);
        line.number(self.auction).time(self.time).text(bidder).text(self.kind).text(self.site);
        line
    }

    pub fn put_offer(&self, text: &mut Vec<u8>) {
        let mut line = self.begin(text, "site");
        line.until("cores").number(self.cores).end();
    }

    pub fn put_bid(&self, bid: &TaskBid, place: u64, text: &mut Vec<u8>) {
        let mut line = self.begin(text, "task");
        line.number(bid.task.job.0).number(bid.task.index).number(self.cores);
        line.float(bid.bid).number(place).text(bid.outcome.word()).end();
    }
}
