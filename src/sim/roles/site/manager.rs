//! The interface of managers, which decide at a site.

use super::tasks::{Running, Tasks};
use crate::grid::{CheckpointSchedule, Demand, Expected, Layers, NodeSet, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Message, Record};
use crate::time::{Span, Time};

/// Decides which tasks run at a site, when and where. The site carries out the orders, checks them, and keeps the
/// state.
///
/// A message promises how soon an answer may come (`Reaction`), and that binds all decisions in reaction to it. So a
/// manager that ends other tasks earlier in reaction to a message, as preemption does, must get its work by messages
/// that promise nothing.
///
/// In each instant a manager first learns of ends; then settled tasks start; then it receives messages one by one; then
/// it decides.
pub trait Manager: Send {
    /// Called when a settled task starts: orders to move or suspend tasks on its nodes, if that is allowed.
    fn make_way(&mut self, _now: Time, _site: &Tasks, _orders: &mut Vec<SiteOrder>) {}

    /// Receives a message of a sender of work. Orders are carried out before the next message.
    fn receive_message(
        &mut self,
        now: Time,
        from: ActorId,
        message: Message,
        site: &Tasks,
        orders: &mut Vec<SiteOrder>,
    );

    /// A task has left its nodes, because it was done or its walltime was over; not called for ordered ends.
    fn task_ended(&mut self, _now: Time, _task: &Running) {}

    /// Called before nodes fail or come back: orders to finish tasks that are done by now and that the manager accounts
    /// for itself.
    fn finish_tasks(&mut self, _now: Time, _orders: &mut Vec<SiteOrder>) {}

    /// A task has left its nodes because one of them has failed; `saved` of its work is saved. The nodes that are down
    /// are reported afterwards.
    fn task_lost(&mut self, _now: Time, task: &Running, _saved: Span) {
        unreachable!("task {} was on a node that failed, and its manager does not handle failures", task.task)
    }

    /// Exactly these nodes are down. Called when that changes, when an expected return changes, and when nodes do not
    /// return as expected.
    fn are_down(&mut self, _now: Time, _down: &[Expected]) {}

    /// True if a task waits here. If none waits and none runs, the site does not watch its nodes.
    fn has_waiting(&self) -> bool {
        false
    }

    /// Decides after all events of an instant. Orders are carried out one after the other; allocations have to be
    /// consistent after the last one.
    fn decide_orders(&mut self, _now: Time, _site: &Tasks, _orders: &mut Vec<SiteOrder>) {}

    /// First step of an instant in which it decides while tasks wait. A manager that is to decide once about all
    /// messages of an instant, which take steps on links without latency, awaits them.
    fn decides_from(&self) -> u32 {
        0
    }

    /// Called before it decides: neither a message nor a change of the site's tasks and nodes comes before this time,
    /// unless it is caused by what the manager orders now.
    fn foresee(&mut self, _until: Time) {}

    /// Next time to decide without an end or a message; called after deciding.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// True if there is more to decide at this time, one step later.
    fn has_more(&self, _now: Time) -> bool {
        false
    }

    /// A promise: decisions at `at`, and later ones without further messages, make the site send nothing before this.
    /// Settled tasks do not count, as their ends are sent already; neither do ends that the site computes itself.
    fn send_floor(&self, at: Time) -> Time {
        at
    }

    /// True if the manager decides only on messages, settles all its tasks, and need not learn of ends. Then timers
    /// only update the state, and each is set once.
    fn is_quiet(&self) -> bool {
        false
    }
}

/// Order of a manager to its site.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteOrder {
    Start(Start),
    /// Removes a task with a later start that has not started yet. Its sender is not told.
    Drop {
        task: TaskId,
        sender: ActorId,
    },
    /// Removes a running task from its nodes for good, as if it had never been there. Its sender is not told.
    Abandon(TaskId),
    /// Removes a running task from its nodes for good, as its work is useless. Its sender is not told.
    Lose(TaskId),
    /// Takes a running task off its nodes for another one. Its manager keeps it, to start it again from the beginning;
    /// its sender is not told.
    Requeue(TaskId),
    /// Ends a running task early. Its sender is told as of any other end.
    Kill(TaskId),
    /// Ends a running task early, for another one. Its sender is told as of any other end.
    Preempt(TaskId),
    /// Takes a task off its nodes, to resume it later.
    Suspend(TaskId),
    /// Resumes a suspended task; it makes progress from `from` on.
    Resume {
        task: TaskId,
        nodes: Layers,
        from: Time,
    },
    /// Moves a running task to other nodes, some of which may be the same; it makes progress from `from` on. Of several
    /// moves in a row, all leave their nodes before any takes new ones.
    Move {
        task: TaskId,
        nodes: Layers,
        from: Time,
    },
    /// Sets the CPU share of a running task, as a fraction of what it could use.
    Share {
        task: TaskId,
        share: f64,
    },
    /// Ends a task that the manager accounts for and that has done all its work.
    Finish(TaskId),
    Send(ActorId, Message),
    /// Sends a message as if at that time, which may be later.
    SendAt(Time, ActorId, Message),
    /// Logs a record that only the manager can write.
    Log(Record),
}

/// Start of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    pub task: TaskId,
    /// Sender of the task, which gets the message about its end.
    pub sender: ActorId,
    /// Now, or a later time that only an order to drop the task can change.
    pub at: Time,
    pub on: On,
    /// Demand on each of its nodes.
    pub demand: Demand,
    /// CPU share, as a fraction of what it could use.
    pub share: f64,
    /// Run time at full share.
    pub runtime: Span,
    /// Time after which it is killed.
    pub walltime: Span,
    pub ending: Ending,
    pub loss: Loss,
    /// Order of ends within one instant: lower ranks first, and among equals the earlier start.
    pub rank: u64,
    /// True if its sender only records its end.
    pub ends_quietly: bool,
}

impl Start {
    /// A task that has its nodes to itself and whose end is settled.
    pub fn on_whole_nodes(sender: ActorId, task: TaskId, at: Time, on: On, runtime: Span) -> Start {
        Start {
            task,
            sender,
            at,
            on,
            demand: Demand::NODE,
            share: 1.0,
            runtime,
            walltime: Span::MAX,
            ending: Ending::Settled,
            loss: Loss::default(),
            rank: 0,
            ends_quietly: false,
        }
    }
}

/// Rank that orders tasks of one instant by their numbers.
pub fn task_rank(task: TaskId) -> u64 {
    u64::from(task.job.0) << 32 | u64::from(task.index)
}

/// Treatment of a task if one of its nodes fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Its checkpoints; its run time includes them.
    pub saves: Option<CheckpointSchedule>,
    /// True if its sender is told; else its manager handles the loss.
    pub is_reported: bool,
}

impl Loss {
    /// Duration of a span of its work, with its checkpoints.
    pub fn with_checkpoints(&self, work: Span) -> Span {
        self.saves.map_or(work, |saves| saves.with_checkpoints(work))
    }
}

/// The party that determines the end of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Settled: it is never suspended and does not share its nodes, so its end is sent at once, with its later time.
    Settled,
    /// The site, by the CPU time that the task has had.
    Timed,
    /// The site, at the time that follows from its start: the task is never suspended or slowed down, but it may be
    /// abandoned or lost, so its end is sent when it comes.
    Fixed,
    /// The manager, by an order; the site checks that the work is done.
    Ordered,
}

/// Nodes of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum On {
    These(Layers),
    /// The lowest free nodes at the start, this many.
    Lowest(u32),
    /// These nodes if all of them are up and free when it starts, otherwise as many of the lowest free ones.
    Planned(NodeSet),
}

impl On {
    /// The planned nodes, or the lowest `count` if the plan does not name as many.
    pub fn from_plan(planned: NodeSet, count: u32) -> On {
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
