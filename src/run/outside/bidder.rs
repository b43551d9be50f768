//! An external program as a bid policy.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::RunContext;
use super::lines::LineProgram;
use super::program_link::{ProgramLink, Trouble};
use hansa_sim::grid::{JobId, Site, TaskId};
use hansa_sim::protocol::outside::bidder::{BidderAnswer, BidderFacts, BidderQuestion, ClusterLine, TaskLine};
use hansa_sim::protocol::outside::to_seconds;
use hansa_sim::roles::outside::CheckedProgram;
use hansa_sim::settings::format_counted;
use hansa_sim::systems::ExternalDecider;
use hansa_sim::systems::market::bid::{BidPolicy, Bidder, Instant, Trend, Winner};
use hansa_sim::systems::market::{AskWhen, BestBid, Market};

pub fn greet_bidder(context: &RunContext<'_>, link: ProgramLink, system: usize) -> Result<ExternalDecider, Trouble> {
    let topology = context.topology;
    let market: &Market = topology.systems[system].settings().expect("only a market has a bidder");
    let foreign = market.bidder.as_ref().expect("the market names its bidder");
    fn cluster_line<'a>(site: &'a Site, kinds: &'a [String]) -> ClusterLine<'a> {
        ClusterLine { name: &site.name, cores: site.cores, kind: &kinds[usize::from(site.kind.0)] }
    }
    let sites = topology.sites.iter().map(|site| cluster_line(site, &topology.kinds)).collect();
    let ask = foreign.ask.word();
    let winner = foreign.winner.word();
    let facts = BidderFacts { ask, winner, tick: to_seconds(market.tick.micros()), sites };
    let bidder = BidderProgram {
        winner: match foreign.winner {
            BestBid::Smallest => Winner::Smallest,
            BestBid::Largest => Winner::Largest,
        },
        trend: match foreign.ask {
            AskWhen::Once => Trend::Fixed,
            AskWhen::Always => Trend::Redrawn,
        },
        kinds: topology.kinds.clone(),
        program: RefCell::new(LineProgram::greet_program(context, link, "bidder", facts)?),
        known: RefCell::default(),
        over: RefCell::default(),
    };
    // The type that the market expects.
    let bidder: Box<dyn BidPolicy> = Box::new(bidder);
    Ok(Box::new(bidder))
}

/// The program as a policy.
struct BidderProgram {
    winner: Winner,
    trend: Trend,
    kinds: Vec<String>,
    program: RefCell<LineProgram>,
    /// The last bid of every task that the program knows and whose job is not over.
    known: RefCell<BTreeMap<TaskId, f64>>,
    /// Tasks whose jobs are over, to be reported to the program.
    over: RefCell<Vec<TaskId>>,
}

impl BidPolicy for BidderProgram {
    fn compute_bid(&self, bidder: &Bidder<'_>, _: &Instant) -> f64 {
        self.known.borrow().get(&id_of(bidder)).copied().unwrap_or(0.0)
    }

    fn winner_rule(&self) -> Winner {
        self.winner
    }

    fn bid_trend(&self) -> Trend {
        self.trend
    }

    fn needs_announcement(&self) -> bool {
        true
    }

    fn announce_bidders(&self, bidders: &[Bidder<'_>], at: &Instant) {
        if bidders.is_empty() || self.has_failed() {
            return;
        }
        let mut known = self.known.borrow_mut();
        let new = bidders.iter().filter(|bidder| !known.contains_key(&id_of(bidder)));
        let question = BidderQuestion {
            new: new.map(|bidder| task_line(bidder, &self.kinds)).collect(),
            over: self.over.take().iter().map(TaskId::to_string).collect(),
            queue: bidders.iter().map(|bidder| id_of(bidder).to_string()).collect(),
        };
        let bids = self.program.borrow_mut().request_answer(at.now, question, |answer: BidderAnswer| {
            if answer.bids.len() != bidders.len() {
                let counts =
                    (format_counted(answer.bids.len() as u64, "bid"), format_counted(bidders.len() as u64, "task"));
                return Err(format!("gives {} for {} (question {})", counts.0, counts.1, answer.ask));
            }
            Ok(answer.bids)
        });
        // JSON has finite numbers only. After a fault there are none.
        known.extend(bidders.iter().map(id_of).zip(bids));
    }

    fn forget_job(&mut self, job: JobId) {
        let tasks = TaskId { job, index: 0 }..=TaskId { job, index: u32::MAX };
        self.over.get_mut().extend(self.known.get_mut().extract_if(tasks, |_, _| true).map(|(task, _)| task));
    }

    fn has_failed(&self) -> bool {
        self.program.borrow().has_failed()
    }
}

fn id_of(bidder: &Bidder<'_>) -> TaskId {
    TaskId { job: bidder.job.id, index: bidder.task as u32 }
}

fn task_line<'a>(bidder: &Bidder<'a>, kinds: &'a [String]) -> TaskLine<'a> {
    let task = &bidder.job.tasks[bidder.task];
    TaskLine {
        task: id_of(bidder).to_string(),
        job: bidder.job.id,
        submitted: to_seconds(bidder.job.arrive.micros()),
        runtime: to_seconds(task.runtime.micros()),
        cores: task.cores,
        kind: kinds.get(usize::from(task.kind.0)).map_or("", String::as_str),
        rank: to_seconds(bidder.rank.micros()),
        critical_path: to_seconds(bidder.critical_path.micros()),
        worth: &bidder.job.worth,
    }
}
