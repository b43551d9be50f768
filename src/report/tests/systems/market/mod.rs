//! Markets whose logs a tally reads.

mod failing;
mod links;
#[path = "../../../../sim/tests/markets.rs"]
mod markets;
mod offers;

use std::collections::BTreeMap;

use proptest::prelude::*;

use hansa_sim::grid::{Distribution, Drawn, Failure, FailurePattern, FailureTarget, Law, NodeSet, Per, Task, TaskId};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::Record;
use hansa_sim::systems::market::*;
use hansa_sim::time::{Span, Stamp, Time};
use hansa_sim::topology::Topology;
use hansa_sim::workload::{Source, table};
use markets::*;

fn drawn(site: usize, mtbf: u64, per: Per) -> Failure {
    let law = Law { kind: Distribution::Exponential, shape: 1.0 };
    let mtbf = Span::from_minutes(mtbf);
    let mttr = Span::from_minutes(20);
    let pattern =
        FailurePattern::Drawn(Drawn { mtbf, between: law, mttr, repair: law, per, share_millionths: 500_000 });
    Failure { what: FailureTarget::Nodes { site, nodes: NodeSet::all(4) }, pattern, announced: true }
}

fn once(site: usize, nodes: &str, at: u64, lasts: u64) -> Failure {
    let what = FailureTarget::Nodes { site, nodes: NodeSet::parse(nodes).unwrap() };
    Failure {
        what,
        pattern: FailurePattern::Once { at: minutes(at), lasts: Span::from_minutes(lasts) },
        announced: true,
    }
}
