//! What a topology may choose.

use serde::Serialize;

use crate::settings::{Walk, key};

/// The dispatcher at the router.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Batch {
    pub dispatch: Dispatch,
}

impl Batch {
    /// The settings of `[batch]`.
    pub(super) fn settings(&mut self, w: &mut dyn Walk) {
        w.set(key("dispatch", "which of several sites gets a job"), &mut self.dispatch, Dispatch::ALL);
    }
}

/// Which of the sites that are large enough gets a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dispatch {
    #[default]
    First,
    RoundRobin,
    LeastWork,
}

impl Dispatch {
    /// As topologies write it.
    pub fn name(self) -> &'static str {
        Dispatch::ALL.iter().find(|(_, dispatch, _)| *dispatch == self).map_or("", |(name, ..)| name)
    }

    pub const ALL: &[(&'static str, Dispatch, &'static str)] = &[
        ("first", Dispatch::First, "the first in the topology's order that is large enough"),
        ("round-robin", Dispatch::RoundRobin, "one after another, of those that are large enough"),
        ("least-work", Dispatch::LeastWork, "the one with the least requested time a node of what it has been given"),
    ];
}
