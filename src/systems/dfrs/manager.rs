//! The manager of a site whose jobs share its nodes: it tells a [`Cluster`] what has happened, and the site what that makes of it.
//!
//! The cluster keeps account of progress, so it is who says when a job ends; the site checks that. A job that comes may make others end
//! sooner, so it comes by a message that promises nothing (`Admit`), and ends are told when they happen: each instant at which a job comes or ends
//! is waited for. Of a tick more can be said: nothing ends after it before the least that any job has left to do.

use std::collections::{BTreeMap, BTreeSet};

use super::{Algorithm, Changes, Cluster, Fractional, Live, Need, Placed, Stage};
use crate::grid::{Demand, Layers, Named, Share, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Admit, Message, Recall, Recalled};
use crate::roles::site::{Ending, Manager, On, Order, Start, Tasks};
use crate::systems::managers::Kind;
use crate::time::{Span, Time};

pub const KIND: Kind = Kind {
    names: || FAMILIES.iter().map(|&(name, about)| Named { name, about }).collect(),
    grammar: GRAMMAR,
    pattern: r"^\s*((Greedy|GreedyP|GreedyPM|MCB8)\s*(\*\s*)?)?(/(stretch-)?per\s*)?(/(opt|minvt|minft|period|penalty)=[^/]+)*$",
    about: "jobs share nodes, and are paused and moved",
    read,
    warning: |name| rules(name)?.warning(),
    build: |site| Some(Box::new(Sharing::new(rules(&site.scheduler)?, site.cores))),
};

const FAMILIES: &[(&str, &str)] = &[
    ("Greedy *", "jobs share nodes: who fits into memory is placed, when it comes and when one ends"),
    ("GreedyP *", "the same, and for who comes and does not fit others are paused"),
    ("GreedyPM *", "the same, and who would be paused is moved if it can be"),
    ("Greedy/per", "who fits is placed when it comes; every period all are placed anew"),
    ("GreedyP/per", "who comes is placed even if others have to be paused; every period all are placed anew"),
    ("GreedyPM/per", "who comes is placed even if others have to be moved or paused; every period all are placed anew"),
    ("Greedy */per", "as Greedy *, and every period all are placed anew"),
    ("GreedyP */per", "as GreedyP *, and every period all are placed anew"),
    ("GreedyPM */per", "as GreedyPM *, and every period all are placed anew"),
    ("MCB8 *", "all are placed anew when one comes or ends"),
    ("MCB8/per", "all are placed anew when one comes, and every period"),
    ("MCB8 */per", "all are placed anew when one comes or ends, and every period"),
    ("/per", "all are placed anew every period, and only then"),
    ("/stretch-per", "every period all are placed anew, for the lowest estimated stretch of all"),
];

const GRAMMAR: &[&str] = &[
    "A name of those that share nodes may go on with parts:",
    "/opt=min or /opt=avg: what processor time is left goes to the worst-off (usual), or to the highest average",
    "    (with /stretch-per: /opt=max, usual, or /opt=avg)",
    "/minvt=SECONDS or /minft=SECONDS: who has run less, or has been there for less, is not moved when all are placed anew",
    "/period=SECONDS: how often all are placed anew (usual: 600)",
    "/penalty=SECONDS: for how long who is resumed or moved makes no progress (usual: 300)",
];

/// What an algorithm of this name does, if it shares nodes.
fn rules(name: &str) -> Option<Fractional> {
    Algorithm::parse(name).ok()?.fractional().copied()
}

fn read(name: &str) -> Option<Result<String, String>> {
    match Algorithm::parse(name) {
        Ok(Algorithm::Dfrs(rules)) => Some(Ok(rules.to_string())),
        Ok(Algorithm::Fcfs | Algorithm::Easy) => None,
        Err(error) => {
            let small = name.trim_start().to_ascii_lowercase();
            let is_meant = name.contains(['/', '*']) || ["greedy", "mcb"].iter().any(|word| small.starts_with(word));
            is_meant.then(|| Err(error.to_string()))
        }
    }
}

struct Sharing {
    cluster: Cluster,
    given: BTreeMap<TaskId, Given>,
    /// Who has come and who was taken back since the last instant.
    come: Vec<(TaskId, Need)>,
    taken_back: Vec<TaskId>,
    tick: Option<Time>,
    /// When the next job ends, as it stands.
    end: Option<Time>,
}

/// What the cluster does not know of a job.
#[derive(Clone, Copy)]
struct Given {
    giver: ActorId,
    runtime: Span,
}

impl Sharing {
    fn new(rules: Fractional, nodes: u32) -> Sharing {
        Sharing {
            cluster: Cluster::new(rules, nodes),
            given: BTreeMap::new(),
            come: Vec::new(),
            taken_back: Vec::new(),
            tick: None,
            end: None,
        }
    }

    /// The dispatcher knows how large the site is; what could never run is nothing to answer to.
    fn admit(&mut self, giver: ActorId, admit: Admit) {
        let Admit { job, tasks, needs, runtime } = admit;
        let task = TaskId { job, index: 0 };
        let Ok(need) = Need::new(tasks, needs.cpu, needs.memory) else { return };
        let is_new = !self.given.contains_key(&task) && !self.taken_back.contains(&task);
        if self.cluster.check(&need).is_ok() && !runtime.is_zero() && is_new {
            self.given.insert(task, Given { giver, runtime });
            self.come.push((task, need));
        }
    }

    /// Only who has not run yet can be taken back.
    fn recall(&mut self, giver: ActorId, task: TaskId) -> bool {
        if self.given.get(&task).is_none_or(|given| given.giver != giver) {
            return false;
        }
        if let Some(at) = self.come.iter().position(|come| come.0 == task) {
            self.come.remove(at);
        } else if self.cluster.live().iter().any(|live| live.job == task && live.stage() == Stage::Waiting) {
            self.taken_back.push(task);
        } else {
            return false;
        }
        self.given.remove(&task);
        true
    }

    /// All that ends now, then what that and who has come make of the rest; and again, if somebody's end has come to be now.
    fn instant(&mut self, now: Time, orders: &mut Vec<Order>) {
        let mut is_tick = self.tick == Some(now);
        loop {
            let come = std::mem::take(&mut self.come);
            let mut gone = std::mem::take(&mut self.taken_back);
            for live in self.cluster.live() {
                if self.given.get(&live.job).is_some_and(|given| live.end(given.runtime) <= now) {
                    orders.push(Order::Finish(live.job));
                    gone.push(live.job);
                }
            }
            if gone.is_empty() && come.is_empty() && !is_tick {
                break;
            }
            is_tick = false;
            self.given.retain(|task, _| !gone.contains(task));
            let changes = self.cluster.advance(now, &gone, &come);
            self.order(now, changes, orders);
        }
        self.tick = self.cluster.next_tick(now);
        let ends = self.cluster.live().iter().map(|live| live.end(self.given[&live.job].runtime));
        self.end = ends.min().filter(|end| *end < Time::NEVER);
    }

    /// Of each kind all, those first who leave nodes.
    fn order(&self, now: Time, changes: Changes, orders: &mut Vec<Order>) {
        let Changes { paused, migrated, resumed, started, yields } = changes;
        orders.extend(paused.into_iter().map(Order::Suspend));
        orders.extend(migrated.into_iter().map(|Placed { job, places, from, .. }| Order::Move {
            task: job,
            nodes: Layers::of(&places),
            from,
        }));
        let yields: BTreeMap<TaskId, f64> = yields.into_iter().collect();
        for Placed { job, places, from, .. } in resumed {
            orders.push(Order::Resume { task: job, nodes: Layers::of(&places), from });
            // To the cluster it had none while it was paused.
            if !yields.contains_key(&job) {
                orders.push(Order::Share { task: job, share: 0.0 });
            }
        }
        let newcomers: BTreeSet<TaskId> = started.iter().map(|placed| placed.job).collect();
        for Placed { job, places, .. } in started {
            let need = self.cluster.live().iter().find(|live| live.job == job).expect("who starts is live").need;
            let Given { giver, runtime } = self.given[&job];
            orders.push(Order::Start(Start {
                task: job,
                giver,
                at: now,
                on: On::These(Layers::of(&places)),
                demand: demand(&need),
                share: yields.get(&job).copied().unwrap_or(0.0),
                runtime,
                walltime: Span::MAX,
                ending: Ending::Ordered,
                rank: 0,
            }));
        }
        let others = yields.into_iter().filter(|(job, _)| !newcomers.contains(job));
        orders.extend(others.map(|(task, share)| Order::Share { task, share }));
    }
}

/// What a task takes of its node, which is never all of it: another one may need next to nothing.
fn demand(need: &Need) -> Demand {
    let share = |part| Share::of(part).expect("needs are shares");
    Demand { cpu: share(need.cpu), memory: share(need.memory).min(Share::ALL_BUT_ALL) }
}

impl Manager for Sharing {
    fn hear(&mut self, _: Time, giver: ActorId, message: Message, _: &Tasks, orders: &mut Vec<Order>) {
        match message {
            Message::Admit(admit) => self.admit(giver, admit),
            Message::Recall(Recall { task }) => {
                let in_time = self.recall(giver, task);
                orders.push(Order::Say(giver, Message::Recalled(Recalled { task, in_time })));
            }
            _ => {}
        }
    }

    fn decide(&mut self, now: Time, _: &Tasks, orders: &mut Vec<Order>) {
        self.instant(now, orders);
    }

    fn wake(&self) -> Option<Time> {
        self.end.into_iter().chain(self.tick).min()
    }

    /// A tick may let everybody have all he can use, and nobody more. O(live jobs).
    fn floor(&self, at: Time) -> Time {
        if self.end.is_some_and(|end| end <= at) {
            return at;
        }
        let left = |live: &Live| self.given[&live.job].runtime.micros() as f64 - live.virtual_time(at);
        let least = self.cluster.live().iter().map(left).fold(f64::INFINITY, f64::min);
        // A microsecond less, for what is rounded.
        let least = (least - 1.0).max(0.0) as u64;
        if self.cluster.live().is_empty() { Time::NEVER } else { at + Span::from_micros(least) }
    }
}
