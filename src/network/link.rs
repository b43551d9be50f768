//! What a link is, and how much of it its flows can use.

use serde::Serialize;

/// A link by its place in the list that the flows were made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl LinkId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One direction of a cable. A full-duplex cable is two links, a half-duplex one a single link in the routes of both
/// directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Data per unit of time.
    pub capacity: f64,
    pub latency: f64,
    pub efficiency: Efficiency,
    pub mode: Mode,
}

/// How much of its capacity a link yields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Efficiency {
    /// All of it.
    #[default]
    None,
    /// What `n` parallel TCP flows obtain together: `1 - 1/(1 + 3n)` (Altman et al.), 0.75 for a lone one.
    Tcp,
}

/// Whether flows compete on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Shared,
    /// Every flow has the link to itself: it limits each, but none takes from another.
    PerFlow,
}

impl Link {
    /// What its flows get together while there are so many of them.
    pub fn effective(&self, flows: u32) -> f64 {
        self.capacity * self.efficiency.of(flows)
    }

    /// A capacity above zero, which may be infinite, and a latency that is a length of time.
    pub fn is_sound(&self) -> bool {
        self.capacity > 0.0 && self.latency >= 0.0 && self.latency.is_finite()
    }
}

impl Efficiency {
    pub fn of(self, flows: u32) -> f64 {
        match self {
            Efficiency::None => 1.0,
            Efficiency::Tcp => 1.0 - 1.0 / (1.0 + 3.0 * f64::from(flows)),
        }
    }
}
