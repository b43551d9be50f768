//! Allocation of nodes to tasks. Allocations that do not fit are refused with a panic.

use crate::grid::{Demand, Layers, NodeSet, Share, TaskId};

#[derive(Debug)]
pub(super) struct Nodes {
    total: u32,
    /// Nodes without a task.
    free: NodeSet,
    free_count: u32,
    /// Allocated part of each node, up to the last one that has been shared.
    shared: Vec<Taken>,
    /// Overcommitted nodes, each with the task that exceeded it; the same instant may correct it.
    doubtful: Vec<(TaskId, u32)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    tasks: u32,
    /// CPU share in billionths.
    cpu: u64,
    memory: u64,
}

impl Taken {
    fn is_too_much(self) -> bool {
        let whole = Share::WHOLE.billionths();
        // Shares are rounded; the tolerance keeps rounding from causing a refusal.
        self.cpu > whole + u64::from(self.tasks) || self.memory > whole + u64::from(self.tasks)
    }
}

impl Nodes {
    pub fn new(total: u32) -> Nodes {
        Nodes { total, free: NodeSet::all(total), free_count: total, shared: Vec::new(), doubtful: Vec::new() }
    }

    pub fn total(&self) -> u32 {
        self.total
    }

    pub fn free_count(&self) -> u32 {
        self.free_count
    }

    pub fn free(&self) -> &NodeSet {
        &self.free
    }

    pub fn lowest(&self, count: u32) -> NodeSet {
        self.free.lowest(count).expect("a task starts once enough nodes are free")
    }

    /// Allocates nodes to a task that has them to itself.
    pub fn take_lowest(&mut self, count: u32) -> NodeSet {
        let lowest = self.free.take_lowest(count).expect("a task starts once enough nodes are free");
        self.free_count -= count;
        lowest
    }

    pub fn take_all(&mut self, task: TaskId, layers: &Layers, demand: Demand, share: f64) {
        layers.each().for_each(|nodes| self.take(task, nodes, demand, share));
    }

    pub fn give_back_all(&mut self, layers: &Layers, demand: Demand, share: f64) {
        layers.each().for_each(|nodes| self.give_back(nodes, demand, share));
    }

    fn take(&mut self, task: TaskId, nodes: &NodeSet, demand: Demand, share: f64) {
        if demand == Demand::NODE {
            assert!(self.free.contains(nodes), "task {task} gets nodes {nodes}, some of which are taken");
            self.free.subtract(nodes);
            self.free_count -= nodes.len();
            return;
        }
        let cpu = used_billionths(demand.cpu, share);
        for node in nodes.each() {
            let at = node as usize;
            if at >= self.shared.len() {
                self.shared.resize(at + 1, Taken::default());
            }
            if self.shared[at].tasks == 0 {
                let alone = NodeSet::from_run(node, node);
                assert!(self.free.contains(&alone), "task {task} shares node {node}, which another task has to itself");
                self.free.subtract(&alone);
                self.free_count -= 1;
            }
            let taken = &mut self.shared[at];
            taken.tasks += 1;
            taken.cpu += cpu;
            taken.memory += demand.memory.billionths();
            if taken.is_too_much() {
                self.doubtful.push((task, node));
            }
        }
    }

    /// Changes the share of its demand that a task gets on its nodes.
    pub fn share_all(&mut self, task: TaskId, layers: &Layers, demand: Demand, before: f64, share: f64) {
        if demand == Demand::NODE {
            return;
        }
        let before = used_billionths(demand.cpu, before);
        let cpu = used_billionths(demand.cpu, share);
        for node in layers.each().flat_map(NodeSet::each) {
            let taken = &mut self.shared[node as usize];
            taken.cpu = taken.cpu - before + cpu;
            if cpu > before && taken.is_too_much() {
                self.doubtful.push((task, node));
            }
        }
    }

    /// Marks nodes without tasks as down, so that no task gets them.
    pub fn mark_down(&mut self, nodes: &NodeSet) {
        assert!(self.free.contains(nodes), "of nodes {nodes}, which are down, some are taken");
        self.free.subtract(nodes);
        self.free_count -= nodes.len();
    }

    /// Marks nodes as up.
    pub fn mark_up(&mut self, nodes: &NodeSet) {
        self.free.insert(nodes);
        self.free_count += nodes.len();
    }

    /// Panics if a node is overcommitted after all orders of an instant.
    pub fn check(&mut self) {
        for (task, node) in self.doubtful.drain(..) {
            let taken = self.shared[node as usize];
            if !taken.is_too_much() {
                continue;
            }
            let Taken { cpu, memory, .. } = taken;
            panic!("with task {task} node {node} is to give more than it has: {cpu} and {memory} billionths");
        }
    }

    fn give_back(&mut self, nodes: &NodeSet, demand: Demand, share: f64) {
        if demand == Demand::NODE {
            self.free.insert(nodes);
            self.free_count += nodes.len();
            return;
        }
        let cpu = used_billionths(demand.cpu, share);
        for node in nodes.each() {
            let taken = &mut self.shared[node as usize];
            taken.tasks = taken.tasks.checked_sub(1).expect("what is given back was taken");
            taken.cpu -= cpu;
            taken.memory -= demand.memory.billionths();
            if taken.tasks == 0 {
                self.free.insert(&NodeSet::from_run(node, node));
                self.free_count += 1;
            }
        }
    }
}

fn used_billionths(cpu: Share, share: f64) -> u64 {
    (cpu.billionths() as f64 * share) as u64
}
