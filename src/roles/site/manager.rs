//! Who decides at a site, and what they may decide.

use super::tasks::{Running, Tasks};
use crate::grid::{CheckpointSchedule, Demand, Expected, Layers, NodeSet, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Message, Record};
use crate::time::{Span, Time};

/// Decides what runs at a site, when and where. The site carries it out, checks it, and keeps the books.
///
/// What somebody says promises how soon an answer may come (`Reaction`), and that binds all that a manager decides
/// because of it. So one that makes others end sooner when something comes, as preemption does, is given work by
/// messages that promise nothing.
///
/// Of each instant a manager is told what has ended; what was settled for now starts; then it is told what has come,
/// message by message; then it decides.
pub trait Manager: Send {
    /// Something that was settled starts now: orders to move or suspend what is in its way, if anything may be.
    fn make_way(&mut self, _now: Time, _site: &Tasks, _orders: &mut Vec<Order>) {}

    /// Somebody who may give work here says something. Orders are carried out before the next message is heard.
    fn hear(&mut self, now: Time, from: ActorId, message: Message, site: &Tasks, orders: &mut Vec<Order>);

    /// A task has left its nodes, because it was done or because its walltime was over; not because it was ordered to.
    fn ended(&mut self, _now: Time, _task: &Running) {}

    /// Nodes are about to fail or to come back: orders to finish what is done by now and of which it keeps account
    /// itself.
    fn finish(&mut self, _now: Time, _orders: &mut Vec<Order>) {}

    /// A task has left its nodes because one of them has failed; so much of its work is saved. What is down is told
    /// afterwards.
    fn lost(&mut self, _now: Time, task: &Running, _saved: Span) {
        unreachable!("task {} was on a node that failed, and nobody knows what to do about it", task.task)
    }

    /// These nodes are down, all others are up; told when that changes, or when they are expected back, and when nodes
    /// are not back that were expected.
    fn are_down(&mut self, _now: Time, _down: &[Expected]) {}

    /// Whether somebody waits here who has not started: where nobody does, and nothing runs, a site need not watch its
    /// nodes.
    fn has_waiting(&self) -> bool {
        false
    }

    /// All of this instant has been told. Orders are carried out one after the other; what tasks share has to add up
    /// once all have been.
    fn decide(&mut self, _now: Time, _site: &Tasks, _orders: &mut Vec<Order>) {}

    /// When there may be something to decide though nothing ends or comes; after deciding.
    fn wake(&self) -> Option<Time> {
        None
    }

    /// Whether there is more to decide at this time, one step later.
    fn has_more(&self, _now: Time) -> bool {
        false
    }

    /// A promise: of what is decided at that time, and later without anything else having come, nothing makes the site
    /// say anything before this. What has been settled is none of it, as it has been told already; ends that the site
    /// reckons itself are its own business.
    fn floor(&self, at: Time) -> Time {
        at
    }

    /// Whether it decides only when it hears something, and settles all of it; of ends it need not know. Then timers do
    /// nothing but keep the books, and each is set once.
    fn is_quiet(&self) -> bool {
        false
    }
}

/// What a site is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    Start(Start),
    /// Takes a task back that its giver has given to start later, if it has not started yet. Nobody is told.
    Drop {
        task: TaskId,
        giver: ActorId,
    },
    /// Takes a running task off its nodes for good, as if it had never been there. Nobody is told.
    Abandon(TaskId),
    /// Takes a running task off its nodes for good, as its work is of no use to anybody any more. Nobody is told.
    Lose(TaskId),
    /// Ends a running task before its time. Its giver hears of it as of any other end.
    Kill(TaskId),
    /// Takes a task off its nodes, to go on later.
    Suspend(TaskId),
    /// Lets a suspended task go on; it makes progress from then on.
    Resume {
        task: TaskId,
        nodes: Layers,
        from: Time,
    },
    /// Puts a running task on other nodes, some of which may be the same; it makes progress from then on. Of several
    /// orders to move in a row all leave their nodes before any takes its new ones.
    Move {
        task: TaskId,
        nodes: Layers,
        from: Time,
    },
    /// Gives a running task this much of what it could use of its processors.
    Share {
        task: TaskId,
        share: f64,
    },
    /// A task of which the manager keeps account has done all its work.
    Finish(TaskId),
    Say(ActorId, Message),
    /// Writes down what only the manager knows of.
    Note(Record),
}

/// A task starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    pub task: TaskId,
    /// Who gave it, and is told of its end.
    pub giver: ActorId,
    /// Now, or at a later time that only an order to drop it can change.
    pub at: Time,
    pub on: On,
    /// What it takes of each of its nodes.
    pub demand: Demand,
    /// How much it gets of what it could use of the processors.
    pub share: f64,
    /// How long it runs if it gets all it can use.
    pub runtime: Span,
    /// How long it may be on its nodes; then it is killed.
    pub walltime: Span,
    pub ending: Ending,
    pub loss: Loss,
    /// Of what ends at one instant the lower goes first, and among equals what has started first.
    pub rank: u64,
}

impl Start {
    /// One that has its nodes for itself, and for as long as it runs, which is settled.
    pub fn whole(giver: ActorId, task: TaskId, at: Time, on: On, runtime: Span) -> Start {
        Start {
            task,
            giver,
            at,
            on,
            demand: Demand::NODE,
            share: 1.0,
            runtime,
            walltime: Span::MAX,
            ending: Ending::Settled,
            loss: Loss::default(),
            rank: 0,
        }
    }
}

/// The rank of tasks that end at one instant in the order of their numbers.
pub fn rank(task: TaskId) -> u64 {
    u64::from(task.job.0) << 32 | u64::from(task.index)
}

/// What there is to know of a task in case a node of it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// How it saves its work; its run time is with all its checkpoints.
    pub saves: Option<CheckpointSchedule>,
    /// Whether whoever gave it is told; else its manager sees to it alone.
    pub is_told: bool,
}

impl Loss {
    /// How long a span of its work takes, with its checkpoints.
    pub fn stretched(&self, work: Span) -> Span {
        self.saves.map_or(work, |saves| saves.stretched(work))
    }
}

/// Who knows when a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everybody: it will never be suspended nor share its nodes, so its end is told at once, as of then.
    Settled,
    /// The site, by what it has had of its nodes.
    Reckoned,
    /// The manager, who orders it; the site sees to it that the work has been done.
    Ordered,
}

/// Which nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum On {
    These(Layers),
    /// This many nodes, the lowest that are free when it starts.
    Lowest(u32),
    /// These nodes if all of them are up and free when it starts, otherwise as many of the lowest free ones.
    Planned(NodeSet),
}

impl On {
    /// The planned nodes, or the lowest `count` if the plan does not name as many.
    pub fn planned(planned: NodeSet, count: u32) -> On {
        if planned.len() == count { On::Planned(planned) } else { On::Lowest(count) }
    }

    /// The number of nodes.
    pub fn count(&self) -> u32 {
        match self {
            On::These(layers) => layers.nodes.len(),
            On::Lowest(count) => *count,
            On::Planned(nodes) => nodes.len(),
        }
    }
}
