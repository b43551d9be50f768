//! An external program as a bid policy.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use super::talk::{Talk, Trouble};
use super::{ProgramFault, RunContext, ask, say_hello};
use crate::grid::{JobId, Site, TaskId};
use crate::protocol::outside::bidder::{BidderAnswer, BidderHello, BidderQuestion, ClusterLine, TaskLine};
use crate::protocol::outside::seconds;
use crate::settings::counted;
use crate::systems::ExternalDecider;
use crate::systems::market::bid::{BidPolicy, Bidder, Instant, Trend, Winner};
use crate::systems::market::{AskWhen, BestBid, Foreign, Market};
use crate::time::Span;

const EXPECTED: &str = r#"{"type":"bids","ask":1,"bids":[3.5]}"#;

pub struct BegunBidder<'a> {
    talk: Talk,
    foreign: &'a Foreign,
}

pub fn begin<'a>(around: &RunContext<'_>, who: String, foreign: &'a Foreign) -> Result<BegunBidder<'a>, String> {
    let timeout = Duration::from_micros(foreign.timeout.micros());
    let talk = Talk::over_pipes(who, &around.found(&foreign.command), timeout, around.stop)?;
    Ok(BegunBidder { talk, foreign })
}

pub fn greet(around: &RunContext<'_>, begun: BegunBidder<'_>) -> Result<ExternalDecider, Trouble> {
    let BegunBidder { mut talk, foreign } = begun;
    let topology = around.topology;
    let tick = topology.settings().map_or(Span::ZERO, |market: &Market| market.tick);
    fn cluster<'a>(site: &'a Site, kinds: &'a [String]) -> ClusterLine<'a> {
        ClusterLine { name: &site.name, cores: site.cores, kind: &kinds[usize::from(site.kind.0)] }
    }
    let sites = topology.sites.iter().map(|site| cluster(site, &topology.kinds)).collect();
    let words = (foreign.ask.word(), foreign.winner.word());
    say_hello(&mut talk, &BidderHello::new(&topology.name, topology.seed, words, tick, sites))?;
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
        talk: RefCell::new(talk),
        known: RefCell::default(),
        over: RefCell::default(),
        asked: RefCell::default(),
        fault: around.fault.clone(),
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
    talk: RefCell<Talk>,
    /// The last bid of every task that the program knows and whose job is not over.
    known: RefCell<BTreeMap<TaskId, f64>>,
    /// Tasks whose jobs are over, to be reported to the program.
    over: RefCell<Vec<TaskId>>,
    asked: RefCell<u64>,
    fault: ProgramFault,
}

impl BidderProgram {
    fn question(&self, bidders: &[Bidder<'_>], at: &Instant) -> Result<(), Trouble> {
        let mut known = self.known.borrow_mut();
        let id = |bidder: &Bidder<'_>| TaskId { job: bidder.job.id, index: bidder.task as u32 };
        let number = {
            let mut asked = self.asked.borrow_mut();
            *asked += 1;
            *asked
        };
        let new = bidders.iter().filter(|bidder| !known.contains_key(&id(bidder)));
        let question = BidderQuestion {
            kind: "bids",
            ask: number,
            t: seconds(at.now.micros()),
            new: new.map(|bidder| task_line(bidder, &self.kinds)).collect(),
            over: self.over.take().iter().map(TaskId::to_string).collect(),
            queue: bidders.iter().map(|bidder| id(bidder).to_string()).collect(),
        };
        let mut talk = self.talk.borrow_mut();
        let answer = ask(&mut talk, number, &question, EXPECTED, |answer: &BidderAnswer| answer.ask)?;
        if answer.bids.len() != bidders.len() {
            let counts = (counted(answer.bids.len() as u64, "bid"), counted(bidders.len() as u64, "task"));
            let text = format!("gives {} for {} (question {number})", counts.0, counts.1);
            return Err(talk.wrong(&text).into());
        }
        // JSON has finite numbers only.
        known.extend(bidders.iter().map(id).zip(answer.bids));
        Ok(())
    }
}

impl BidPolicy for BidderProgram {
    fn bid(&self, bidder: &Bidder<'_>, _: &Instant) -> f64 {
        let id = TaskId { job: bidder.job.id, index: bidder.task as u32 };
        self.known.borrow().get(&id).copied().unwrap_or(0.0)
    }

    fn winner(&self) -> Winner {
        self.winner
    }

    fn trend(&self) -> Trend {
        self.trend
    }

    fn is_asked_together(&self) -> bool {
        true
    }

    fn ask_together(&self, bidders: &[Bidder<'_>], at: &Instant) {
        if bidders.is_empty() || self.fault.is_set() {
            return;
        }
        if let Err(trouble) = self.question(bidders, at) {
            self.fault.note(trouble, at.now);
        }
    }

    fn forget(&mut self, job: JobId) {
        let tasks = TaskId { job, index: 0 }..=TaskId { job, index: u32::MAX };
        self.over.get_mut().extend(self.known.get_mut().extract_if(tasks, |_, _| true).map(|(task, _)| task));
    }

    fn has_failed(&self) -> bool {
        self.fault.is_set()
    }
}

fn task_line<'a>(bidder: &Bidder<'a>, kinds: &'a [String]) -> TaskLine<'a> {
    let task = &bidder.job.tasks[bidder.task];
    TaskLine {
        task: TaskId { job: bidder.job.id, index: bidder.task as u32 }.to_string(),
        job: bidder.job.id,
        submitted: seconds(bidder.job.arrive.micros()),
        runtime: seconds(task.runtime.micros()),
        cores: task.cores,
        kind: kinds.get(usize::from(task.kind.0)).map_or("", String::as_str),
        rank: seconds(bidder.rank.micros()),
        critical_path: seconds(bidder.critical_path.micros()),
        worth: &bidder.job.worth,
    }
}
