//! What a topology says about links, in its words.

use super::link::{Efficiency, Mode};
use crate::words::words;

words! {
    /// How links share out what they have, where a link does not say so itself.
    Model {
        /// Flows share all of a link max-min fairly.
        Ideal = "ideal",
        /// Flows share max-min fairly what N parallel TCP flows obtain of a link: 1 - 1/(1 + 3N) of it.
        TcpParallel = "tcp-parallel",
    }
    /// Which ways data goes over a link.
    Duplex {
        /// Both, and neither takes from the other.
        Full = "full",
        /// Both, and they share it.
        Half = "half",
        /// From its first end to its second.
        OneWay = "one-way",
    }
}

pub const MODES: &[(&str, Mode, &str)] = &[
    ("shared", Mode::Shared, "flows compete for it"),
    ("per-flow", Mode::PerFlow, "every flow has it to itself: it limits each, and none takes from another"),
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
