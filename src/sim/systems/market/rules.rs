//! Settings of a market, where the paper leaves a choice.

use serde::Serialize;

use crate::grid::Program;
use crate::settings::{Layout, Millionths, POSITIVE_SPAN, Registered, SPAN, Unless, Walk, Word, key};
use crate::systems::hub_program::{keep_if_external, walk_command, walk_timeout};
use crate::time::Span;
use crate::words::words;

/// The auction at the router.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Market {
    /// Name of a bid policy in the catalogue.
    pub policy: String,
    /// The program that bids, if the policy is external.
    pub bidder: Option<Foreign>,
    /// The unit of run times and ages.
    pub tick: Span,
    /// Communication to computation ratio, in millionths: the delay of a task's output is this share of its run time.
    pub ccr_millionths: u64,
    pub network: Network,
    pub blocking: Blocking,
    pub removal: Removal,
    pub unplaceable: Unplaceable,
    pub bids: BidRecords,
    pub clearing: Clearing,
    /// Period of offers: sites send them at whole multiples of it; at once, if it is zero.
    pub offers_every: Span,
    // Options of single policies, as in the market's specification.
    pub succ_sum: SuccSum,
    pub edf: EdfDeadline,
    pub pvdsq: Pvdsq,
    pub pvr: Pvr,
    pub admission: Admission,
    /// A job is due when its result is worth this share of its value.
    pub admission_theta_millionths: u64,
    /// Share of the cores' time that admission assigns.
    pub admission_eta_millionths: u64,
}

impl Default for Market {
    fn default() -> Market {
        Market {
            policy: "fifo".to_owned(),
            bidder: None,
            tick: Span::from_minutes(1),
            ccr_millionths: 200_000,
            network: Network::PerCluster,
            blocking: Blocking::PerKind,
            removal: Removal::Deadline,
            unplaceable: Unplaceable::Error,
            bids: BidRecords::Off,
            clearing: Clearing::Direct,
            offers_every: Span::ZERO,
            succ_sum: SuccSum::PerPath,
            edf: EdfDeadline::Initial,
            pvdsq: Pvdsq::ResourceSquared,
            pvr: Pvr::Value,
            admission: Admission::Off,
            admission_theta_millionths: 750_000,
            admission_eta_millionths: 850_000,
        }
    }
}

const OVER_LINKS: &str = "the links of this topology determine how long transfers take: leave this out";
const NO_OFFERS: &str = "sites send offers only with clearing = \"messages\": set that, or leave this out";
const BIDDER: &str = "a table such as { command = [\"python3\", \"bidder.py\"] }";
const COMMAND: &str = "a program and its arguments, such as [\"python3\", \"bidder.py\"]";

impl Market {
    /// True if the log has a record of each auction.
    pub fn records_bids(&self) -> bool {
        self.bids == BidRecords::Log
    }

    /// True if sites offer their cores by messages.
    pub fn clears_by_messages(&self) -> bool {
        self.clearing == Clearing::Messages
    }

    /// The settings of `[market]`. With links, the delays without links are no settings.
    pub(super) fn settings(&mut self, w: &mut dyn Walk, linked: bool) {
        let policy = Registered { what: "a bid policy", words: Word::from_named(&super::bid::policy_names()) };
        w.set(key("policy", "the policy that determines the task with the best bid"), &mut self.policy, policy);
        w.set(key("tick", "the unit of run times and ages"), &mut self.tick, POSITIVE_SPAN);
        let ccr = key("ccr", "communication to computation ratio").only_if(!linked, OVER_LINKS);
        w.set(ccr, &mut self.ccr_millionths, Millionths::to(1_000));
        let network = key("network", "the place and time at which the output of a finished task is available")
            .only_if(!linked, OVER_LINKS);
        w.set(network, &mut self.network, Network::ALL);
        w.set(
            key("blocking", "the bidders that wait when the best bidder fits nowhere"),
            &mut self.blocking,
            Blocking::ALL,
        );
        w.set(key("removal", "the time at which a job is given up"), &mut self.removal, Removal::ALL);
        let unplaceable = key("unplaceable", "the fate of a job with a task that fits no site");
        w.set(unplaceable, &mut self.unplaceable, Unplaceable::ALL);
        let bids =
            key("bids", "records of auctions, with every offer and bid; costs time and space for each waiting task");
        w.set(bids.usual("`\"off\"`"), &mut self.bids, Unless(BidRecords::ALL, BidRecords::Off));
        let clearing = key("clearing", "the auctioneer's knowledge of free cores").usual("`\"direct\"`");
        w.set(clearing, &mut self.clearing, Unless(Clearing::ALL, Clearing::Direct));
        let offers_every = key("offers_every", "sites send offers at multiples of this; 0 s is at once")
            .only_if(self.clears_by_messages(), NO_OFFERS);
        w.set(offers_every, &mut self.offers_every, SPAN);
        let succ_sum = key("succ_sum", "the sum of the work behind a task where branches join");
        w.set(succ_sum, &mut self.succ_sum, SuccSum::ALL);
        w.set(key("edf", "the deadline that edf uses"), &mut self.edf, EdfDeadline::ALL);
        w.set(key("pvdsq", "the quantity that pvdsq squares"), &mut self.pvdsq, Pvdsq::ALL);
        w.set(key("pvr", "the units of pvr"), &mut self.pvr, Pvr::ALL);
        let admission = key("admission", "the rejection on arrival of jobs that would finish too late");
        w.set(admission, &mut self.admission, Admission::ALL);
        let theta = key("admission_theta", "a job is due when its worth has fallen to this share of its value");
        w.set(theta, &mut self.admission_theta_millionths, Millionths::to(1));
        let eta = key("admission_eta", "the share of the core time that admission assigns");
        w.set(eta, &mut self.admission_eta_millionths, Millionths::to(1));
        let bidder =
            key("bidder", "").means("an external program that bids, if the policy is `external`").expects(BIDDER);
        w.maybe(bidder, Layout::Section("market.bidder"), &mut self.bidder, Foreign::default, Foreign::settings);

        if w.written_fields().is_some() && linked {
            self.ccr_millionths = 0;
        }
        keep_if_external(&self.policy, &mut self.bidder, "bidder", BIDDER, w);
    }
}

impl Default for Foreign {
    fn default() -> Foreign {
        Foreign { program: Program::default(), ask: AskWhen::Once, winner: BestBid::Largest }
    }
}

impl Foreign {
    fn settings(&mut self, w: &mut dyn Walk) {
        walk_command(&mut self.program, "the program that bids", COMMAND, w);
        w.set(key("ask", "the times at which the external program is asked for a bid"), &mut self.ask, AskWhen::ALL);
        w.set(key("winner", "the best one of its bids"), &mut self.winner, BestBid::ALL);
        walk_timeout(&mut self.program, w);
    }
}

/// A program that bids instead of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Foreign {
    pub program: Program,
    pub ask: AskWhen,
    pub winner: BestBid,
}

words! {
    /// Place and time of the output of a finished task.
    Network {
        /// At once where the task ran, after the delay everywhere else.
        PerCluster = "per-cluster",
        /// Delayed only for successors that need another kind of core.
        KindChangeOnly = "kind-change-only",
    }
    /// The bidders that wait when the best bidder fits nowhere.
    Blocking {
        /// Only bidders of its own kind.
        PerKind = "per-kind",
        /// All bidders.
        Global = "global",
    }
    /// The time at which a job is given up.
    Removal {
        /// As soon as one of its queued tasks is past the final deadline.
        Deadline = "deadline",
        /// Also when a queued task can no longer meet the final deadline.
        Projected = "projected",
    }
    /// The fate of a job with a task that fits no site.
    Unplaceable {
        /// The run does not start.
        Error = "error",
        /// The job is refused on arrival and counts as starved.
        Refuse = "refuse",
    }
    /// Records of offers and bids.
    BidRecords {
        /// None: winners are in the log as assigned.
        Off = "off",
        /// One per auction in which a task may start: the free cores of sites, and all bids with their outcomes.
        Log = "log",
    }
    /// The auctioneer's knowledge of free cores.
    Clearing {
        /// It counts: cores are free when it hears of the end of their task.
        Direct = "direct",
        /// Sites offer their idle cores by messages: at the beginning, and whenever tasks have left.
        Messages = "messages",
    }
    /// The sum of the work behind a task where branches join.
    SuccSum {
        /// Once for every path.
        PerPath = "per-path",
        /// Each descendant once.
        Unique = "unique",
    }
    /// The deadline of EDF.
    EdfDeadline {
        /// The initial one.
        Initial = "initial",
        /// The final one.
        Final = "final",
    }
    /// The square in PVDSQ.
    Pvdsq {
        /// The resources.
        ResourceSquared = "resource-squared",
        /// The whole density.
        Literal = "literal",
    }
    /// Rejection on arrival of jobs that would finish too late.
    Admission {
        /// All jobs are admitted.
        Off = "off",
        /// A job is rejected if the work that is due before it leaves too little room.
        On = "on",
        /// Also if it takes the room of jobs that are due later; work that is past due counts as well.
        Strict = "strict",
    }
    /// The times at which an external program is asked for a task's bid.
    AskWhen {
        /// Only as the task joins the queue; the bid stays.
        Once = "once",
        /// Again at every auction in which some task could start.
        Always = "always",
    }
    /// The best of an external program's bids.
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
