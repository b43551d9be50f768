//! Market-based workflow scheduling, after A. Burkimsher and L. S. Indrusiak, "Bidding policies for market-based HPC
//! workflow scheduling": one queue at the router, and an auction of free cores among the queued tasks at every
//! instant at which something has changed.
//!
//! Where the paper is silent the choice is an option of the topology's market, or is noted where it is made.

mod admission;
mod auctioned;
mod auctioneer;
pub mod bid;
mod build;
mod clusters;
mod failing;
mod figures;
mod offering;
mod offers;
mod queue;
mod rules;
#[cfg(test)]
mod tests;

pub use auctioneer::Auctioneer;
pub use build::ROW;
pub use clusters::Cluster;
pub use figures::{Figures, Immeasurable};
pub use rules::{
    Admission, AskWhen, BestBid, BidRecords, Blocking, Clearing, EdfDeadline, Foreign, Market, Network, Pvdsq, Pvr,
    Removal, SuccSum, Unplaceable,
};
