//! Words of topologies for links.

use super::link::{Efficiency, Mode};
use crate::words::words;

words! {
    /// Sharing of a link among its flows, where the link itself has no setting.
    Model {
        /// Flows share all of a link's capacity max-min fairly.
        Ideal = "ideal",
        /// Flows share, max-min fairly, what N parallel TCP flows obtain of a link: 1 - 1/(1 + 3N) of its capacity.
        TcpParallel = "tcp-parallel",
    }
    /// The directions in which data crosses a link.
    Duplex {
        /// Both, each with its own capacity.
        Full = "full",
        /// Both, sharing one capacity.
        Half = "half",
        /// Only from its first end to its second.
        OneWay = "one-way",
    }
}

pub const MODES: &[(&str, Mode, &str)] = &[
    ("shared", Mode::Shared, "flows compete for it"),
    ("per-flow", Mode::PerFlow, "no sharing: it limits every flow separately"),
];

pub const EFFICIENCIES: &[(&str, Efficiency, &str)] = &[
    ("none", Efficiency::None, "all of its capacity"),
    ("tcp", Efficiency::Tcp, "1 - 1/(1 + 3N) of its capacity, as N parallel TCP flows obtain"),
];

impl Model {
    pub fn efficiency(self) -> Efficiency {
        match self {
            Model::Ideal => Efficiency::None,
            Model::TcpParallel => Efficiency::Tcp,
        }
    }
}
