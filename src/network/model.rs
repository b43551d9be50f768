//! What a topology says about links, in its words.

use serde::Serialize;

use super::link::{Efficiency, Mode};

/// Declares the enums that a topology names by their words: the words are written once.
macro_rules! words {
    ($(#[doc = $doc:literal] $name:ident { $(#[doc = $about:literal] $variant:ident = $word:literal),+ $(,)? })+) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub enum $name { $(#[doc = $about] #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Each variant with the word that a topology uses for it and a line about it.
            pub const ALL: &[(&'static str, $name, &'static str)] = &[$(($word, $name::$variant, $about)),+];
        }
    )+};
}

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
    ("per_flow", Mode::PerFlow, "every flow has it to itself: it limits each, and none takes from another"),
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
