//! Those who let data go and the network that they share: carry this; it is there.

use serde::{Deserialize, Serialize};

use crate::grid::EdgeId;

/// Somebody lets data go from one site to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ship {
    /// The owner's own number for it.
    pub load: u64,
    /// Indices into the topology's sites.
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
    /// Whose data it is.
    pub edge: EdgeId,
    /// Whether the network is to write down that it was sent and has arrived, as the owner does not do so itself.
    pub on_behalf: bool,
}

/// All of a load has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landed {
    pub load: u64,
}
