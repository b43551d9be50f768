//! Expectations of plans about the network.

use crate::words::words;

words! {
    /// The throughput that a plan expects of a transfer.
    Awareness {
        /// The full capacity of its route, as in HEFT.
        Capacity = "capacity",
        /// The part of the capacity that a single flow obtains.
        Network = "lone-flow",
    }
}
