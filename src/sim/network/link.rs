//! Links, and the part of their capacity that flows can use.

use serde::Serialize;

/// Index of a link in the list that the flows were created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl LinkId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One direction of a cable. A full-duplex cable is two links; a half-duplex one is a single link in the routes of both
/// directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Data per unit of time.
    pub capacity: f64,
    pub latency: f64,
    pub efficiency: Efficiency,
    pub mode: Mode,
}

/// Usable part of a link's capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Efficiency {
    /// Flows can use all of the capacity.
    #[default]
    None,
    /// Total of `n` parallel TCP flows: `1 - 1/(1 + 3n)` of the capacity (Altman et al.), 0.75 for a single one.
    Tcp,
    /// Total of `n` flows with this many TCP sockets each: that of as many parallel TCP flows as there are sockets.
    TcpSockets(u32),
}

/// Sharing of a link among its flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Shared,
    /// Every flow has the link to itself: it limits each, but none takes from another.
    PerFlow,
}

impl Link {
    /// Usable capacity with this many flows.
    pub fn effective(&self, flows: u32) -> f64 {
        self.capacity * self.efficiency.of(flows)
    }

    /// True if the capacity is above zero (it may be infinite), and the latency finite and not negative.
    pub fn is_sound(&self) -> bool {
        self.capacity > 0.0 && self.latency >= 0.0 && self.latency.is_finite()
    }
}

impl Efficiency {
    pub fn of(self, flows: u32) -> f64 {
        match self {
            Efficiency::None => 1.0,
            Efficiency::Tcp => parallel_share(f64::from(flows)),
            Efficiency::TcpSockets(sockets) => parallel_share(f64::from(flows) * f64::from(sockets)),
        }
    }
}

/// Part of a link's capacity that this many parallel TCP flows obtain together.
fn parallel_share(flows: f64) -> f64 {
    1.0 - 1.0 / (1.0 + 3.0 * flows)
}
