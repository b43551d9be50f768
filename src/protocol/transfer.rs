//! Those who let data go and the network that they share: carry this; it is there.

use serde::{Deserialize, Serialize};

use crate::grid::EdgeId;
use crate::kernel::Reaction;

/// Somebody lets data go from one site to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ship {
    /// The owner's own number for it.
    pub load: u64,
    /// Indices into the topology's sites.
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
    /// Whose data it is, where the owner does not write down itself what becomes of it.
    pub edge: Option<EdgeId>,
}

/// All of a load has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landed {
    pub load: u64,
}

impl Ship {
    pub fn reaction(&self) -> Reaction {
        Reaction::Now
    }
}

impl Landed {
    pub fn reaction(&self) -> Reaction {
        Reaction::Now
    }
}
