//! What of a grid fails, and by which rule: as a topology describes it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::NodeSet;
use crate::math;
use crate::random::SplitMix64;
use crate::time::{Span, Time};
use crate::words::words;

/// Something that fails, and when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    pub what: FailureTarget,
    pub course: FailurePattern,
    /// Whether planners are told when nodes will be back as soon as they go down.
    pub announced: bool,
}

/// What fails.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum FailureTarget {
    /// Some nodes of a site, an index into the topology's.
    Nodes { site: usize, nodes: NodeSet },
    /// A link, likewise.
    Link(usize),
}

/// A link of a topology by its place there, with all of its directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CableId(pub u32);

/// When it is down.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum FailurePattern {
    Once {
        at: Time,
        lasts: Span,
    },
    Drawn(Drawn),
    /// From a trace: ascending by start, and those of a component do not overlap.
    Traced(Arc<Vec<Traced>>),
}

/// A component of a trace is down from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Traced {
    pub down: Time,
    pub up: Time,
    /// Of nodes their place among those of the table.
    pub component: u32,
}

/// It fails again and again, and is repaired each time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// From a repair to the next failure, in the mean.
    pub mtbf: Span,
    pub between: Law,
    /// How long it is down, in the mean.
    pub mttr: Span,
    pub repair: Law,
    pub per: Per,
    /// What part of the nodes goes down together, in millionths; where each fails for itself it is all of it.
    pub share_millionths: u64,
}

/// How lengths of time are distributed about their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Law {
    pub kind: Distribution,
    /// Of a Weibull distribution its exponent; of a lognormal one the deviation of the logarithm.
    pub shape: f64,
}

words! {
    /// A distribution of lengths of time.
    #[derive(Default)]
    Distribution {
        /// Without memory: how long it has been up says nothing of how long it will be.
        #[default]
        Exponential = "exponential",
        /// With a shape below 1 failures come in bursts, above 1 at more regular intervals.
        Weibull = "weibull",
        /// The logarithm has a normal distribution, as repairs often have.
        Lognormal = "lognormal",
    }
    /// What has a course of its own.
    #[derive(Default)]
    Per {
        /// Each node fails for itself.
        #[default]
        Node = "node",
        /// The nodes fail together, all or a share of them.
        Site = "site",
    }
}

impl Law {
    /// A length with this mean; at least a microsecond, and at most what a span can be.
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
    /// How often a second it strikes a task on so many nodes of a site that has so many: what is drawn counts, what is
    /// written down does not. Where only some nodes fail, the task has its part of them.
    pub fn rate(&self, site: u32, task: u32) -> f64 {
        let (FailureTarget::Nodes { nodes, .. }, FailurePattern::Drawn(drawn)) = (&self.what, &self.course) else {
            return 0.0;
        };
        let often = 1e6 / drawn.mtbf.micros() as f64;
        let width = f64::from(task) * f64::from(nodes.len()) / f64::from(site.max(1));
        match drawn.per {
            Per::Node => often * width,
            Per::Site => often * (1.0 - spared(nodes.len().into(), drawn.struck(nodes.len().into()), width)),
        }
    }
}

impl Drawn {
    /// How many of so many nodes fail together.
    pub fn struck(&self, nodes: u64) -> u64 {
        ((nodes * self.share_millionths + 500_000) / 1_000_000).clamp(1, nodes.max(1))
    }
}

/// The probability that none of `width` nodes is among the `struck` ones of all; a part of a node counts as so much of
/// one. O(the fewer of both), but not above some six times the root of all.
fn spared(all: u64, struck: u64, width: f64) -> f64 {
    let (whole, part) = (width.floor() as u64, width.fract());
    let of = |width: u64| {
        let (dealt, others) = (width.min(struck), width.max(struck));
        let mut spared = 1.0;
        for number in 0..dealt {
            let left = all - number;
            spared *= left.saturating_sub(others) as f64 / left as f64;
            if spared < 1e-15 {
                return 0.0;
            }
        }
        spared
    };
    if part == 0.0 { of(whole) } else { (1.0 - part) * of(whole) + part * of(whole + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every choice of so many of few nodes, as bits.
    fn choices(all: u32, struck: u32) -> Vec<u32> {
        (0..1_u32 << all).filter(|bits| bits.count_ones() == struck).collect()
    }

    #[test]
    fn what_a_task_is_spared_is_counted_out() {
        for all in 1..=8 {
            for (struck, width) in (1..=all).flat_map(|struck| (1..=all).map(move |width| (struck, width))) {
                let choices = choices(all, struck);
                let (its, count) = ((1_u32 << width) - 1, choices.len() as f64);
                let expected = choices.into_iter().filter(|bits| bits & its == 0).count() as f64 / count;
                let found = spared(all.into(), struck.into(), width.into());
                assert!((found - expected).abs() < 1e-12, "{width} of {all}, {struck}: {found} {expected}");
            }
        }
        // A part of a node counts as so much of one.
        assert_eq!(spared(4, 1, 0.5), 3.5 / 4.0);
        assert_eq!(spared(1_000_000, 500_000, 500_000.0), 0.0);
    }
}
