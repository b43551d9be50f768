//! The rules of a market: what a topology may choose where the paper leaves a choice.

use serde::Serialize;

use crate::time::Span;

/// The auction at the router.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Market {
    /// Name of a bid policy in the catalogue.
    pub policy: String,
    /// The program that bids, if the policy is [`EXTERNAL`].
    pub bidder: Option<Foreign>,
    /// The unit in which run times and ages are counted.
    pub tick: Span,
    /// Communication to computation ratio, in millionths: the delay of a task's output is this share of its run time.
    pub ccr_millionths: u64,
    pub network: Network,
    pub blocking: Blocking,
    pub removal: Removal,
    pub unplaceable: Unplaceable,
    // Options of single policies, as in the market's specification.
    pub succ_sum: SuccSum,
    pub edf: EdfDeadline,
    pub pvdsq: Pvdsq,
    pub pvr: Pvr,
    pub admission: Admission,
    /// A job is due when its result is worth this share of its value.
    pub admission_theta_millionths: u64,
    /// The share of the cores' time that is given out.
    pub admission_eta_millionths: u64,
}

/// The policy that stands for a program outside.
pub const EXTERNAL: &str = "external";

/// A program that bids in the place of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Foreign {
    /// The program and its arguments, as one would start it where the router runs.
    pub command: Vec<String>,
    pub ask: AskWhen,
    pub winner: BestBid,
    /// On the clock of the wall: how long it may take to answer.
    pub timeout: Span,
}

/// Declares the enums that a topology names by their words: the words are written once.
macro_rules! words {
    ($(#[doc = $doc:literal] $name:ident { $(#[doc = $about:literal] $variant:ident = $word:literal),+ $(,)? })+) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub enum $name { $(#[doc = $about] #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Each variant with the word that a topology uses for it and a line about it.
            pub const ALL: &[(&'static str, $name, &'static str)] = &[$(($word, $name::$variant, $about)),+];

            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    )+};
}

words! {
    /// Where the output of a finished task is, and when.
    Network {
        /// At once where the task ran, after the delay everywhere else.
        PerCluster = "per_cluster",
        /// Delayed only for successors of another kind.
        KindChangeOnly = "kind_change_only",
    }
    /// Whom the best bidder stops when it fits nowhere.
    Blocking {
        /// Only bidders of its own kind.
        PerKind = "per_kind",
        /// Everybody.
        Global = "global",
    }
    /// When a job is given up.
    Removal {
        /// When a queued task of it is past the final deadline.
        Deadline = "deadline",
        /// Also when a queued task can no longer meet the final deadline.
        Projected = "projected",
    }
    /// What becomes of a job with a task that fits no site.
    Unplaceable {
        /// The run does not start.
        Error = "error",
        /// The job is refused on arrival and counts as starved.
        Refuse = "refuse",
    }
    /// How the work behind a task is added up where branches join.
    SuccSum {
        /// Once for every path.
        PerPath = "per_path",
        /// Each descendant once.
        Unique = "unique",
    }
    /// Which deadline EDF means.
    EdfDeadline {
        /// The initial one.
        Initial = "initial",
        /// The final one.
        Final = "final",
    }
    /// What PVDSQ squares.
    Pvdsq {
        /// The resources.
        ResourceSquared = "resource_squared",
        /// The whole density.
        Literal = "literal",
    }
    /// Whether jobs are turned away that would come too late.
    Admission {
        /// Everybody is taken in.
        Off = "off",
        /// A job is turned away if the work that is due before it leaves too little room.
        On = "on",
        /// Also if it takes the room of jobs that are due later; work that is past due counts as well.
        Strict = "strict",
    }
    /// When a program outside is asked for a task's bid.
    AskWhen {
        /// When the task joins the queue; the bid stays.
        Once = "once",
        /// At every auction in which somebody could start.
        Always = "always",
    }
    /// Which of an outside program's bids is the best.
    BestBid {
        /// The smallest.
        Smallest = "smallest",
        /// The largest.
        Largest = "largest",
    }
    /// The units of PVR.
    Pvr {
        /// Value times SLR.
        Value = "value",
        /// SLR alone.
        Factor = "factor",
    }
}
