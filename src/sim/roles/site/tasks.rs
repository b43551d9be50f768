//! Tasks of a site: running, settled to start, or suspended, with their nodes.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::manager::{Ending, Loss, On, Start};
use super::nodes::Nodes;
use crate::grid::{Demand, Layers, NodeSet, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Concluded, Ended, Message};
use crate::time::{Span, Time};

/// All tasks of a site that have not ended.
#[derive(Debug)]
pub struct Tasks {
    pub(super) nodes: Nodes,
    slots: Vec<Option<Running>>,
    vacant: Vec<usize>,
    coming: usize,
    /// Slot of each task; built at the first query.
    index: OnceCell<BTreeMap<TaskId, usize>>,
}

/// A task of a site.
#[derive(Clone, Debug)]
pub struct Running {
    pub task: TaskId,
    pub sender: ActorId,
    pub demand: Demand,
    pub state: TaskState,
    /// Start: in the past, or settled in advance.
    pub started: Time,
    pub ending: Ending,
    pub loss: Loss,
    /// True if its sender only records its end.
    pub(super) ends_quietly: bool,
    pub(super) rank: u64,
    /// Serial number of its latest timer; earlier timers are void.
    pub(super) serial: u64,
    /// CPU share, as a fraction of what it could use.
    pub(super) share: f64,
    pub(super) runtime: Span,
    /// Microseconds of its run time that were done at `from`, when it makes progress again.
    pub(super) done: f64,
    pub(super) from: Time,
    /// Time that it may still be on nodes, from `since` on.
    pub(super) allowed: Span,
    pub(super) since: Time,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TaskState {
    /// The task is settled to start later.
    Coming(On),
    Running(Layers),
    Suspended,
}

/// Expected end of a stint if nothing changes until then, and true if the task is killed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outlook {
    pub end: Time,
    pub killed: bool,
}

impl Tasks {
    pub fn new(nodes: u32) -> Tasks {
        Tasks { nodes: Nodes::new(nodes), slots: Vec::new(), vacant: Vec::new(), coming: 0, index: OnceCell::new() }
    }

    /// Number of nodes of the site.
    pub fn total(&self) -> u32 {
        self.nodes.total()
    }

    /// Number of nodes without a task.
    pub fn free(&self) -> u32 {
        self.nodes.free_count()
    }

    /// Nodes that are up and without a task.
    pub fn free_nodes(&self) -> &NodeSet {
        self.nodes.free()
    }

    /// True if a task is settled to start later.
    pub fn is_awaiting(&self) -> bool {
        self.coming > 0
    }

    pub fn all(&self) -> impl Iterator<Item = &Running> {
        self.slots.iter().flatten()
    }

    /// Slots of the tasks on some of these nodes, in the order in which they would end.
    pub(super) fn slots_on(&self, nodes: &NodeSet) -> Vec<usize> {
        let slots = self.slots.iter().enumerate().filter_map(|(slot, running)| Some((slot, running.as_ref()?)));
        let mut there: Vec<_> =
            slots.filter(|(_, one)| runs_on(one, nodes)).map(|(slot, one)| (one.rank, one.task, slot)).collect();
        there.sort_unstable();
        there.into_iter().map(|(.., slot)| slot).collect()
    }

    pub(super) fn get(&self, slot: usize) -> Option<&Running> {
        self.slots.get(slot)?.as_ref()
    }

    pub(super) fn at(&mut self, slot: usize) -> &mut Running {
        self.slots[slot].as_mut().expect("the books hold what they have given a number")
    }

    pub(super) fn add(&mut self, start: &Start) -> usize {
        let Start { task, sender, at, ref on, demand, share, runtime, walltime, ending, loss, rank, ends_quietly } =
            *start;
        let running = Running {
            task,
            sender,
            demand,
            state: TaskState::Coming(on.clone()),
            started: at,
            ending,
            loss,
            ends_quietly,
            rank,
            serial: 0,
            share,
            runtime,
            done: 0.0,
            from: at,
            allowed: walltime,
            since: at,
        };
        self.coming += 1;
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.slots[slot] = Some(running);
                slot
            }
            None => {
                self.slots.push(Some(running));
                self.slots.len() - 1
            }
        };
        if let Some(index) = self.index.get_mut() {
            index.insert(task, slot);
        }
        slot
    }

    pub(super) fn remove(&mut self, slot: usize) -> Running {
        let running = self.slots[slot].take().expect("the books hold what they have given a number");
        self.vacant.push(slot);
        self.coming -= usize::from(matches!(running.state, TaskState::Coming(_)));
        if let Some(index) = self.index.get_mut() {
            index.remove(&running.task);
        }
        running
    }

    /// Frees the nodes of a task that has ended.
    pub(super) fn finish(&mut self, slot: usize) -> Running {
        let running = self.remove(slot);
        let TaskState::Running(nodes) = &running.state else { unreachable!("what ends has run") };
        self.nodes.give_back_all(nodes, running.demand, running.share);
        running
    }

    pub fn of(&self, task: TaskId) -> Option<&Running> {
        self.get(self.find(task)?)
    }

    pub(super) fn find(&self, task: TaskId) -> Option<usize> {
        let index = self.index.get_or_init(|| {
            let named = self.slots.iter().enumerate();
            BTreeMap::from_iter(named.filter_map(|(slot, running)| Some((running.as_ref()?.task, slot))))
        });
        index.get(&task).copied()
    }

    /// Allocates the nodes of a task that is settled to start.
    pub(super) fn start(&mut self, slot: usize) -> &Running {
        self.coming -= 1;
        let running = self.slots[slot].as_mut().expect("the books hold what they have given a number");
        let TaskState::Coming(on) = &running.state else { unreachable!("task {} starts twice", running.task) };
        let nodes: Layers = match on {
            On::Lowest(count) if running.demand == Demand::NODE => self.nodes.take_lowest(*count).into(),
            _ => {
                let nodes = match on {
                    On::Lowest(count) => self.nodes.lowest(*count).into(),
                    On::These(nodes) => nodes.clone(),
                    On::Planned(nodes) if self.nodes.free().contains(nodes) => nodes.clone().into(),
                    On::Planned(nodes) => self.nodes.lowest(nodes.len()).into(),
                };
                self.nodes.take_all(running.task, &nodes, running.demand, running.share);
                nodes
            }
        };
        running.state = TaskState::Running(nodes);
        running
    }

    /// Takes a task off its nodes.
    pub(super) fn leave(&mut self, now: Time, slot: usize) {
        let running = self.slots[slot].as_mut().expect("the books hold what they have given a number");
        running.add_done_work(now);
        let TaskState::Running(nodes) = std::mem::replace(&mut running.state, TaskState::Suspended) else {
            unreachable!("task {} leaves nodes that it is not on", running.task)
        };
        self.nodes.give_back_all(&nodes, running.demand, running.share);
    }

    /// Puts a suspended task on nodes.
    pub(super) fn enter(&mut self, now: Time, slot: usize, nodes: Layers, from: Time) {
        let running = self.slots[slot].as_mut().expect("the books hold what they have given a number");
        assert!(
            running.state == TaskState::Suspended,
            "task {} is resumed although it was not suspended",
            running.task
        );
        self.nodes.take_all(running.task, &nodes, running.demand, running.share);
        (running.since, running.from) = (now, from.max(now));
        running.state = TaskState::Running(nodes);
    }

    pub(super) fn share(&mut self, now: Time, slot: usize, share: f64) {
        assert!((0.0..=1.0).contains(&share), "a share is a part of a whole");
        let running = self.slots[slot].as_mut().expect("the books hold what they have given a number");
        running.add_done_work(now);
        if let TaskState::Running(nodes) = &running.state {
            self.nodes.share_all(running.task, nodes, running.demand, running.share, share);
        }
        running.share = share;
    }
}

fn runs_on(running: &Running, nodes: &NodeSet) -> bool {
    running.nodes().is_some_and(|its| its.meets(nodes))
}

impl Running {
    /// The message about its end, for its sender.
    pub(super) fn end_message(&self) -> Message {
        match self.ends_quietly {
            true => Message::Concluded(Concluded { task: self.task }),
            false => Message::Ended(Ended { task: self.task, started: self.started }),
        }
    }

    /// Its nodes, if it runs.
    pub fn nodes(&self) -> Option<&NodeSet> {
        match &self.state {
            TaskState::Running(layers) => Some(&layers.nodes),
            TaskState::Coming(_) | TaskState::Suspended => None,
        }
    }

    /// Number of its nodes; 0 if it is suspended.
    pub fn width(&self) -> u32 {
        match &self.state {
            TaskState::Coming(on) => on.count(),
            TaskState::Running(layers) => layers.nodes.len(),
            TaskState::Suspended => 0,
        }
    }

    /// Time at which it is killed if nothing changes until then.
    pub fn until(&self) -> Time {
        self.since + self.allowed
    }

    pub fn end(&self) -> Time {
        self.outlook().end
    }

    /// Expected end if nothing changes until then.
    pub(super) fn outlook(&self) -> Outlook {
        let runtime = self.runtime.micros();
        let left = match self.share {
            // Whole numbers, so that nothing is rounded.
            1.0 => Some(runtime.saturating_sub(self.done as u64)),
            share if share > 0.0 => Some(((runtime as f64 - self.done).max(0.0) / share).round() as u64),
            _ => None,
        };
        let done = left.map_or(Time::NEVER, |left| self.from + Span::from_micros(left));
        let until = self.until();
        Outlook { end: done.min(until), killed: until < done }
    }

    /// True if all its work is done, except for rounding errors.
    pub(super) fn is_done(&mut self, now: Time) -> bool {
        self.add_done_work(now);
        let work = self.runtime.micros() as f64;
        (work - self.done).abs() <= 1.0 + work * 1e-9
    }

    /// Run time that it will have done by `then` at its current share.
    pub(super) fn run_time_at(&self, then: Time) -> Span {
        let ran = self.done as u64 + (self.share * then.since(self.from).micros() as f64) as u64;
        Span::from_micros(ran).min(self.runtime)
    }

    /// Adds the run time done up to now.
    fn add_done_work(&mut self, now: Time) {
        if self.from < now {
            self.done += self.share * now.since(self.from).micros() as f64;
            self.from = now;
        }
        self.allowed = Span::from_micros(self.allowed.micros().saturating_sub(now.since(self.since).micros()));
        self.since = now;
    }
}
