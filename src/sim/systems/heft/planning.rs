//! Settings of workflow planning.

use serde::Serialize;

use super::{Awareness, Improvement, Replaying, StopReason};
use crate::settings::{Maybe, Walk, key};
use crate::words::words;

/// The policy that plans workflows at the router, with its options.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planning {
    pub policy: Policy,
    /// Number of further plans of a workflow by network-aware HEFT, after the first.
    pub iterations: u32,
    pub stop: StopRule,
    pub update: Update,
    /// The throughput that a first plan expects; None for the usual one of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Awareness>,
}

words! {
    /// The choice of site and start of each task.
    Policy {
        /// As soon as a task can run, it goes to the site where it would finish first, and fetches its data then.
        BestEffort = "best-effort",
        /// HEFT with insertion: one plan for the whole workflow, as if no transfers shared a link.
        Heft = "heft",
        /// HEFT repeated, with the times that transfers took on the shared network; the best plan is kept.
        NetworkHeft = "network-heft",
    }
    /// The end of the improvement loop of network-aware HEFT.
    StopRule {
        /// After all iterations.
        Fixed = "fixed",
        /// At the first plan that turns out better than the first one.
        FirstBetter = "first-better",
    }
    /// The cost of an edge that had no transfer in the last plan, since both its tasks were at one site.
    Update {
        /// Its first cost.
        Reset = "reset",
        /// Its cost in the last plan.
        Keep = "keep",
    }
}

impl Default for Planning {
    fn default() -> Planning {
        Planning {
            policy: Policy::NetworkHeft,
            iterations: 50,
            stop: StopRule::Fixed,
            update: Update::Reset,
            estimate: None,
        }
    }
}

const ITERATIONS_MAX: u32 = 10_000;

impl Planning {
    /// The settings of `[workflow]`.
    pub(super) fn settings(&mut self, w: &mut dyn Walk) {
        w.set(key("policy", "the method that plans places and times of tasks"), &mut self.policy, Policy::ALL);
        let iterations = key("iterations", "plans of network-heft after the first");
        w.set(iterations, &mut self.iterations, 0..=ITERATIONS_MAX);
        w.set(key("stop", "the condition on which network-heft stops planning"), &mut self.stop, StopRule::ALL);
        w.set(key("update", "the cost of a transfer that the last plan did not use"), &mut self.update, Update::ALL);
        let estimate = key("estimate", "the throughput that heft and the first plan of network-heft expect");
        let estimate = estimate.usual("`capacity` for heft, `lone-flow` for network-heft");
        w.set(estimate, &mut self.estimate, Maybe(Awareness::ALL));
    }

    /// The name of the policy in topologies.
    pub fn name(&self) -> &'static str {
        let found = Policy::ALL.iter().find(|(_, policy, _)| *policy == self.policy);
        found.map(|(name, ..)| *name).expect("every policy has a name")
    }

    /// The throughput that a first plan expects of a transfer.
    pub fn awareness(&self) -> Awareness {
        self.estimate.unwrap_or(match self.policy {
            Policy::NetworkHeft => Awareness::Network,
            Policy::Heft | Policy::BestEffort => Awareness::Capacity,
        })
    }

    /// The options of the loop. Plain HEFT is a loop of one round.
    pub fn improvement(&self, replaying: Replaying) -> Improvement {
        let iterations = if self.policy == Policy::NetworkHeft { self.iterations } else { 0 };
        Improvement {
            stop: match self.stop {
                StopRule::Fixed => StopReason::Fixed(iterations),
                StopRule::FirstBetter => StopReason::FirstBetter(iterations),
            },
            update: self.update,
            replaying,
        }
    }
}
