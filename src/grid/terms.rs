//! What sites and users say of themselves where time is bargained for.

use serde::Serialize;

use crate::time::Span;
use crate::words::words;

/// On what terms a site lets its processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Terms {
    pub mode: PlanMode,
    /// What a processor-second costs, in millionths.
    pub price_millionths: u64,
    /// The part of what is paid on top that is lost when a booking is taken back, in millionths.
    pub cancelled_millionths: u64,
    /// The longest run that is accepted.
    pub longest: Option<Span>,
}

words! {
    /// How a site maintains its plan.
    #[derive(Default)]
    PlanMode {
        /// Planned starts stay: for jobs that run exactly as long as they request.
        Exact = "exact",
        /// The plan is rebuilt whenever something arrives, ends, is booked or is taken back.
        #[default]
        Rebuild = "rebuild",
    }
}

impl Default for Terms {
    fn default() -> Terms {
        Terms { mode: PlanMode::default(), price_millionths: 1_000_000, cancelled_millionths: 100_000, longest: None }
    }
}

/// How a user gets time from sites.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Approach {
    /// By the name of its row; empty where nothing is bargained for.
    pub strategy: String,
    /// What counts: 0 is the end, 1 is the cost.
    pub alpha: f64,
    /// How long after its arrival a job should run.
    pub ahead: Span,
    /// Where the parts of a job run at the same time: indices into the topology's sites.
    pub legs: Vec<usize>,
    pub crash: Option<Crash>,
}

/// A user's process goes down, and comes back with nothing but its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Crash {
    pub at: Span,
    pub lasts: Span,
}

impl Default for Approach {
    fn default() -> Approach {
        Approach {
            strategy: String::new(),
            alpha: 0.5,
            ahead: Span::from_secs(4 * 3_600),
            legs: Vec::new(),
            crash: None,
        }
    }
}
