//! Systems whose logs a tally reads: what a tally refuses, and what it sums up.

mod market;
mod node_sharing;
mod provisioning;
mod workflows_failing;
