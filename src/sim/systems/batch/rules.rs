//! Settings of a topology.

use serde::Serialize;

use crate::settings::{Walk, key};
use crate::words::words;

/// The dispatcher at the router.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Batch {
    pub dispatch: Dispatch,
}

impl Batch {
    /// The settings of `[batch]`.
    pub(super) fn settings(&mut self, w: &mut dyn Walk) {
        w.set(key("dispatch", "the choice of the site for a job"), &mut self.dispatch, Dispatch::ALL);
    }
}

words! {
    /// Choice among the sites that are large enough for a job.
    #[derive(Default)]
    Dispatch {
        /// The first in the topology's order that is large enough.
        #[default]
        First = "first",
        /// In turns, among those that are large enough.
        RoundRobin = "round-robin",
        /// The site with the least requested time per node among the jobs assigned to it.
        LeastWork = "least-work",
    }
}
