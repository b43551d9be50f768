//! Senders of data and the network that they share: transfer a load; the load has arrived.

use serde::{Deserialize, Serialize};

use crate::grid::EdgeId;

/// Transfer of data from one site to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ship {
    /// Number of the load, chosen by its owner.
    pub load: u64,
    /// Indices into the topology's sites.
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
    /// The edge that the data belongs to.
    pub edge: EdgeId,
    /// True if the network is to record start and end of the transfer, as the owner does not.
    pub on_behalf: bool,
}

/// Arrival of all of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landed {
    pub load: u64,
}
