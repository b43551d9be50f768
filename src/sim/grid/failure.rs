//! Failures of a grid's components and their patterns, as a topology describes them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::NodeSet;
use crate::math;
use crate::random::SplitMix64;
use crate::time::{Span, Time};
use crate::words::words;

/// A component that fails, and its pattern.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    pub what: FailureTarget,
    pub pattern: FailurePattern,
    /// True if planners learn the end of an outage at its start.
    pub announced: bool,
}

/// The component that fails.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum FailureTarget {
    /// Nodes of a site, by its index in the topology.
    Nodes { site: usize, nodes: NodeSet },
    /// A link, by its index in the topology.
    Link(usize),
}

/// Index of a link in the topology, with all of its directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CableId(pub u32);

/// Times of outages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum FailurePattern {
    Once {
        at: Time,
        lasts: Span,
    },
    Drawn(Drawn),
    /// Outages of a trace: ascending by start, disjoint for each component.
    Traced(Arc<Vec<Traced>>),
}

/// An outage of a component of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Traced {
    pub down: Time,
    pub up: Time,
    /// Nodes only: index in the table's list of nodes.
    pub component: u32,
}

/// Repeated random failures and repairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// Mean time from a repair to the next failure.
    pub mtbf: Span,
    pub between: Law,
    /// Mean time to repair.
    pub mttr: Span,
    pub repair: Law,
    pub per: Per,
    /// Fraction of the nodes that fail together, in millionths; a whole if each fails independently.
    pub share_millionths: u64,
}

/// Distribution of durations about their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Law {
    pub kind: Distribution,
    /// Exponent of a Weibull distribution, or standard deviation of the logarithm of a lognormal one.
    pub shape: f64,
}

words! {
    /// A distribution of durations.
    #[derive(Default)]
    Distribution {
        /// Memoryless: the time up so far says nothing about the time left.
        #[default]
        Exponential = "exponential",
        /// With a shape below 1 failures come in bursts, above 1 at more regular intervals.
        Weibull = "weibull",
        /// The logarithm is normally distributed, as is common for repairs.
        Lognormal = "lognormal",
    }
    /// Unit that fails independently.
    #[derive(Default)]
    Per {
        /// Each node fails independently.
        #[default]
        Node = "node",
        /// The nodes fail together, all or a share of them.
        Site = "site",
    }
}

impl Law {
    /// A random duration with this mean; at least a microsecond, and at most the longest span.
    pub fn draw(self, mean: Span, random: &mut SplitMix64) -> Span {
        let of_mean = match self.kind {
            Distribution::Exponential => random.exponential(1.0),
            Distribution::Weibull => {
                math::pow(random.exponential(1.0), 1.0 / self.shape) / math::gamma(1.0 + 1.0 / self.shape)
            }
            Distribution::Lognormal => math::exp(self.shape * (random.normal() - self.shape / 2.0)),
        };
        Span::from_micros((mean.micros() as f64 * of_mean).round().max(1.0) as u64)
    }
}

impl Failure {
    /// Rate per second at which it hits a task on `task` nodes of a site with `site` nodes. Only random failures count,
    /// not listed ones. If it concerns only part of the nodes, the task has its share of them.
    pub fn rate(&self, site: u32, task: u32) -> f64 {
        let (FailureTarget::Nodes { nodes, .. }, FailurePattern::Drawn(drawn)) = (&self.what, &self.pattern) else {
            return 0.0;
        };
        let often = 1e6 / drawn.mtbf.micros() as f64;
        let width = f64::from(task) * f64::from(nodes.len()) / f64::from(site.max(1));
        match drawn.per {
            Per::Node => often * width,
            Per::Site => {
                often * (1.0 - spared_probability(nodes.len().into(), drawn.failing_count(nodes.len().into()), width))
            }
        }
    }
}

impl Drawn {
    /// Number of `nodes` nodes that fail together.
    pub fn failing_count(&self, nodes: u64) -> u64 {
        ((nodes * self.share_millionths + 500_000) / 1_000_000).clamp(1, nodes.max(1))
    }
}

/// Probability that none of `width` nodes is among the `struck` ones of all; a fraction of a node counts
/// proportionally. O(min(struck, width)), and at most about six times the root of all.
fn spared_probability(all: u64, struck: u64, width: f64) -> f64 {
    let whole = width.floor() as u64;
    let part = width.fract();
    if part == 0.0 {
        spared_by_one(whole, all, struck)
    } else {
        (1.0 - part) * spared_by_one(whole, all, struck) + part * spared_by_one(whole + 1, all, struck)
    }
}

fn spared_by_one(width: u64, all: u64, struck: u64) -> f64 {
    let dealt = width.min(struck);
    let others = width.max(struck);
    let mut spared = 1.0;
    for number in 0..dealt {
        let left = all - number;
        spared *= left.saturating_sub(others) as f64 / left as f64;
        if spared < 1e-15 {
            return 0.0;
        }
    }
    spared
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All choices of `struck` out of `all` nodes, as bits.
    fn choices(all: u32, struck: u32) -> Vec<u32> {
        (0..1_u32 << all).filter(|bits| bits.count_ones() == struck).collect()
    }

    #[test]
    fn the_probability_of_no_hit_equals_an_enumeration() {
        for all in 1..=8 {
            for (struck, width) in (1..=all).flat_map(|struck| (1..=all).map(move |width| (struck, width))) {
                let choices = choices(all, struck);
                let its = (1_u32 << width) - 1;
                let count = choices.len() as f64;
                let expected = choices.into_iter().filter(|bits| bits & its == 0).count() as f64 / count;
                let found = spared_probability(all.into(), struck.into(), width.into());
                assert!((found - expected).abs() < 1e-12, "{width} of {all}, {struck}: {found} {expected}");
            }
        }
        // A fraction of a node counts proportionally.
        assert_eq!(spared_probability(4, 1, 0.5), 3.5 / 4.0);
        assert_eq!(spared_probability(1_000_000, 500_000, 500_000.0), 0.0);
    }
}
