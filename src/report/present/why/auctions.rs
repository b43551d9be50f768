//! The auctions that a task lost: its bid, the bids that won, and what would have been needed.

use serde::Serialize;

use super::lines::{StoryLines, moment_words};
use super::trail::{JobTrail, SeenAuction};
use crate::Tally;
use hansa_sim::grid::{JobId, Kind};
use hansa_sim::numerals::{format_count, format_counted, format_number, format_span};
use hansa_sim::protocol::{BidOutcome, LossReason, TaskBid};
use hansa_sim::systems::BidUnit;

/// Lost auctions that are printed: the last ones.
const SHOWN: usize = 5;

/// The auctions in which a task, or any task of a job, bid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuctionStory {
    pub auctions: u64,
    pub won: u64,
    pub lost: u64,
    /// Lost bids by reason, as in `bids.csv`.
    pub no_room: u64,
    pub no_data: u64,
    pub behind: u64,
    pub losses: Vec<LostBid>,
    /// Unit of the bids, for words.
    #[serde(skip)]
    unit: BidUnit,
}

/// A bid that lost. Bids are in the unit of `bids.csv`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LostBid {
    /// Time of the auction, in seconds from the start of the run.
    pub time: f64,
    pub task: String,
    /// None if it is infinite.
    pub bid: Option<f64>,
    /// Place among all bids of its kind of core, from 1 for the best, and their number.
    pub place: u64,
    pub bids: u64,
    pub reason: &'static str,
    pub cores: u32,
    /// Most cores that a site of its kind offered before the auction.
    pub most_offered: u32,
    /// The worst bid of its kind that won. None if none did.
    pub worst_won: Option<f64>,
    /// The best bid of its kind that lost before its own: a better bid than that would have come first. None if its own
    /// was the first that lost.
    pub bid_to_beat: Option<f64>,
}

impl AuctionStory {
    /// None if no auction was recorded in which it bid.
    pub(super) fn of(
        tally: &Tally,
        trail: &JobTrail,
        job: JobId,
        task: Option<usize>,
        unit: BidUnit,
    ) -> Option<AuctionStory> {
        let mut story =
            AuctionStory { auctions: 0, won: 0, lost: 0, no_room: 0, no_data: 0, behind: 0, losses: Vec::new(), unit };
        for auction in &trail.auctions {
            let of_job = auction.bids.iter().filter(|bid| bid.task.job == job);
            let own: Vec<&TaskBid> =
                of_job.filter(|bid| task.is_none_or(|task| bid.task.index as usize == task)).collect();
            story.auctions += u64::from(!own.is_empty());
            for bid in own {
                match bid.outcome {
                    BidOutcome::Won(_) => story.won += 1,
                    BidOutcome::Lost(reason) => {
                        story.count_loss(reason);
                        story.losses.extend(LostBid::of(tally, auction, bid, reason));
                    }
                }
            }
        }
        (story.auctions > 0).then_some(story)
    }

    fn count_loss(&mut self, reason: LossReason) {
        self.lost += 1;
        match reason {
            LossReason::NoRoom => self.no_room += 1,
            LossReason::NoData => self.no_data += 1,
            LossReason::Behind => self.behind += 1,
        }
    }

    pub(super) fn add_lines(&self, lines: &mut StoryLines) {
        let reasons = [
            (self.no_room, "without a site with as many cores left"),
            (self.no_data, "as its data was at no site with room"),
            (self.behind, "behind a better bid that did not fit"),
        ];
        let reasons: Vec<String> = reasons
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{} {why}", format_count(*count)))
            .collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
        let auctions = format_counted(self.auctions, "auction");
        lines.add(
            "bids",
            format!("in {auctions}: {} won, {} lost{reasons}", format_count(self.won), format_count(self.lost)),
        );
        let shown = self.losses.len().min(SHOWN);
        for (index, loss) in self.losses[self.losses.len() - shown..].iter().enumerate() {
            lines.add(if index == 0 { "lost last" } else { "" }, loss.words(self.unit));
        }
    }
}

impl LostBid {
    fn of(tally: &Tally, auction: &SeenAuction, own: &TaskBid, reason: LossReason) -> Option<LostBid> {
        let kind_of = |bid: &TaskBid| -> Option<Kind> {
            let row = tally.jobs.get(&bid.task.job)?;
            Some(row.job.tasks.get(bid.task.index as usize)?.kind)
        };
        let row = tally.jobs.get(&own.task.job)?;
        let task = row.job.tasks.get(own.task.index as usize)?;
        let rivals: Vec<&TaskBid> = auction.bids.iter().filter(|bid| kind_of(bid) == Some(task.kind)).collect();
        let place = rivals.iter().position(|bid| bid.task == own.task)?;
        let mut most_offered = 0;
        for offer in &auction.offers {
            let site = tally.site_index(offer.site).map(|site| &tally.sites[site]);
            if site.is_some_and(|site| site.kind == task.kind) {
                most_offered = most_offered.max(offer.cores);
            }
        }
        let worst_won = rivals.iter().rev().find(|bid| matches!(bid.outcome, BidOutcome::Won(_)));
        let first_lost = rivals[..place].iter().find(|bid| matches!(bid.outcome, BidOutcome::Lost(_)));
        Some(LostBid {
            time: auction.time.micros() as f64 / 1e6,
            task: tally.task_label(row, own.task.index as usize),
            bid: finite(own.bid),
            place: place as u64 + 1,
            bids: rivals.len() as u64,
            reason: BidOutcome::Lost(reason).word(),
            cores: task.cores,
            most_offered,
            worst_won: worst_won.and_then(|bid| finite(bid.bid)),
            bid_to_beat: first_lost.and_then(|bid| finite(bid.bid)),
        })
    }

    fn words(&self, unit: BidUnit) -> String {
        let LostBid { task, place, bids, most_offered, .. } = self;
        let time = moment_words(self.time);
        let own = bid_words(unit, self.bid);
        let won = match self.worst_won {
            Some(bid) => format!("the worst bid that won was {}", bid_words(unit, Some(bid))),
            None => "no bid of its kind won".to_owned(),
        };
        let needs = format_counted(self.cores.into(), "core");
        let needed = match (self.reason, self.bid_to_beat, self.worst_won) {
            ("no_data", ..) => "sites with room did not have its data yet".to_owned(),
            _ if *most_offered < self.cores => {
                format!("no bid would have won: it needs {needs}, and sites offered {most_offered} at most")
            }
            (_, Some(bid), _) => format!("a better bid than {} was needed to come first", bid_words(unit, Some(bid))),
            (_, None, Some(_)) => "a better bid than that was needed, as the winners took its room".to_owned(),
            (_, None, None) => format!("sites offered {most_offered} cores at most, and it needs {needs}"),
        };
        format!("{time}: task {task} bid {own}, place {place} of {bids} of its kind; {won}; {needed}")
    }
}

fn finite(bid: f64) -> Option<f64> {
    Some(bid).filter(|bid| bid.is_finite())
}

fn bid_words(unit: BidUnit, bid: Option<f64>) -> String {
    match (unit, bid) {
        (_, None) => "∞".to_owned(),
        (BidUnit::TimeMicros, Some(micros)) => moment_words(micros / 1e6),
        (BidUnit::SpanMicros, Some(micros)) => format_span(micros / 1e6),
        (BidUnit::Number, Some(number)) => format_number(number),
    }
}
