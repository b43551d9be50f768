//! Offers of sites to the auctioneer, and the parts of a recorded auction.

use serde::{Deserialize, Serialize};

use crate::grid::TaskId;
use crate::kernel::ActorId;
use crate::words::words;

/// Offer of a site to the auctioneer: its idle cores as of the time at which it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteOffer {
    /// Cores that are up and run no task.
    pub idle: u32,
    /// Cores of the tasks that wait at the site, because nodes have failed.
    pub waiting: u32,
    /// Starts that the site has received so far.
    pub received: u64,
}

/// Free cores of a site before an auction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreOffer {
    pub site: ActorId,
    pub cores: u32,
}

/// A bid of a waiting task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskBid {
    pub task: TaskId,
    /// Never NaN; infinite for a task whose job has no worth, under some policies.
    pub bid: f64,
    pub outcome: BidOutcome,
}

/// The outcome of a bid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BidOutcome {
    /// The task goes to this site.
    Won(ActorId),
    Lost(LossReason),
}

words! {
    /// Reason of a lost bid.
    LossReason {
        /// No site of its kind has as many cores left as it needs.
        NoRoom = "no_room",
        /// Sites have enough cores left, but its data is at none of them yet.
        NoData = "no_data",
        /// It fits, but would overtake a better bidder that does not.
        Behind = "behind",
    }
}

impl BidOutcome {
    /// The word of a won bid.
    pub const WON: &'static str = "won";

    pub fn word(self) -> &'static str {
        match self {
            BidOutcome::Won(_) => BidOutcome::WON,
            BidOutcome::Lost(reason) => reason.word(),
        }
    }
}
