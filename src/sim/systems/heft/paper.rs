//! The worked examples and the network of the paper: three sites, of which two reach the second one over a shared link.
//!
//! The paper names the paths P1-P2 and P3-P2 as those that share a bottleneck, and each transfer that its examples
//! stretch goes into P2; its drawing is not available. P1 and P3 are assumed to lie on one side of the bottleneck, so
//! that between them every transfer has a path to itself. Transfers out of P2 are a choice: see [`Wiring`].

use serde::{Deserialize, Serialize};

use super::Paths;
use crate::network::{Efficiency, Link, LinkId, Mode};
use crate::words::words;
use crate::workload::workflow::CostTable;

/// The division of the bottleneck among its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Law {
    /// Each flow gets an equal part of the full capacity.
    Ideal,
    /// Equal parts of the throughput of as many TCP flows.
    Tcp,
}

words! {
    /// The cables between the sites that transfers share.
    Wiring {
        /// Transfers into P2 share a cable; those out of it have a path each.
        IntoP2 = "into-p2",
        /// Transfers into P2 share a cable, and those out of it another one.
        FullDuplex = "both-ways",
        /// Transfers into P2 and out of it share one cable.
        HalfDuplex = "half-duplex",
        /// Like `both-ways`; also transfers between P1 and P3 share a cable in each direction.
        SidesShared = "sides-shared",
    }
}

impl Law {
    pub const ALL: [(&'static str, Law); 2] = [("ideal", Law::Ideal), ("tcp", Law::Tcp)];

    fn efficiency(self) -> Efficiency {
        match self {
            Law::Ideal => Efficiency::None,
            Law::Tcp => Efficiency::Tcp,
        }
    }
}

/// The paper's three sites; capacities are 1, so that a unit of cost is a unit of data.
pub fn paper_paths(law: Law, wiring: Wiring) -> Paths {
    let shared = Link { capacity: 1.0, latency: 0.0, efficiency: law.efficiency(), mode: Mode::Shared };
    let alone = Link { efficiency: Efficiency::None, mode: Mode::PerFlow, ..shared };
    let aside = if wiring == Wiring::SidesShared { shared } else { alone };
    let [into_p2, out_of_p2, p1_p3, p3_p1] = [0, 1, 2, 3].map(LinkId);
    let leaving = if wiring == Wiring::IntoP2 { alone } else { shared };
    let out_of_p2 = if wiring == Wiring::HalfDuplex { into_p2 } else { out_of_p2 };
    let routes = vec![
        vec![vec![], vec![into_p2], vec![p1_p3]],
        vec![vec![out_of_p2], vec![], vec![out_of_p2]],
        vec![vec![p3_p1], vec![into_p2], vec![]],
    ];
    Paths::new(vec![shared, leaving, aside, aside], routes)
}

/// The six tasks of the paper's first example; the placement of three edge labels follows its figure.
pub fn six_tasks() -> CostTable {
    cost_table(
        &[[3, 5, 7], [4, 8, 3], [3, 4, 11], [5, 8, 2], [10, 3, 5], [5, 8, 8]],
        &[(1, 2, 3), (1, 3, 4), (2, 4, 2), (2, 5, 5), (3, 5, 7), (4, 6, 3), (5, 6, 6)],
    )
}

/// The ten tasks of Topcuoglu's paper, which are the second example.
pub fn ten_tasks() -> CostTable {
    cost_table(
        &[
            [14, 16, 9],
            [13, 19, 18],
            [11, 13, 19],
            [13, 8, 17],
            [12, 13, 10],
            [13, 16, 9],
            [7, 15, 11],
            [5, 11, 14],
            [18, 12, 20],
            [21, 7, 16],
        ],
        &[
            (1, 2, 18),
            (1, 3, 12),
            (1, 4, 9),
            (1, 5, 11),
            (1, 6, 14),
            (2, 8, 19),
            (2, 9, 16),
            (3, 7, 23),
            (4, 8, 27),
            (4, 9, 23),
            (5, 9, 13),
            (6, 8, 15),
            (7, 10, 17),
            (8, 10, 11),
            (9, 10, 13),
        ],
    )
}

fn cost_table(run: &[[u32; 3]], edges: &[(u32, u32, u32)]) -> CostTable {
    CostTable {
        names: (1..=run.len()).map(|task| task.to_string()).collect(),
        processors: Vec::new(),
        run: run.iter().map(|times| times.map(f64::from).to_vec()).collect(),
        edges: edges.iter().map(|&(from, to, cost)| (from - 1, to - 1, f64::from(cost))).collect(),
    }
}
