//! Workflows: named tasks, and the data between them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use serde::Serialize;

use super::{Edge, Kind, LONGEST, Task};
use crate::time::Span;

/// A checked workflow: its tasks are in topological order, and all sizes are within their limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workflow {
    pub name: String,
    /// In topological order: a task has a larger number than its predecessors.
    pub tasks: Vec<Step>,
    /// Edges, ascending by (from, to) and unique.
    pub edges: Vec<Edge>,
}

/// A task of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub name: String,
    /// Run time at speed 1.
    pub work: Span,
    pub cores: u32,
}

/// Most data of all edges of a workflow together, in bytes: whole bytes are exact as floating point numbers up to here.
pub const DATA_MAX: u64 = 1 << 53;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowError {
    #[error("the workflow has no tasks")]
    Empty,
    #[error("the workflow has more tasks than 32 bits can number")]
    TooMany,
    #[error("two tasks are called `{0}`")]
    SameName(String),
    #[error("task `{0}` uses no cores")]
    NoCores(String),
    #[error("the tasks together take longer than {LONGEST}")]
    TooLong,
    #[error("the edges together carry more than {DATA_MAX} bytes")]
    TooMuchData,
    #[error("the edge from `{from}` to `{to}` is written twice")]
    SameEdge { from: String, to: String },
    #[error("tasks wait for each other in a cycle: {around}")]
    Cycle { first: usize, around: String },
}

impl WorkflowError {
    /// A task on the cycle, as an index into the input.
    pub fn on_cycle(&self) -> Option<usize> {
        match self {
            WorkflowError::Cycle { first, .. } => Some(*first),
            _ => None,
        }
    }
}

impl Workflow {
    /// Sorts the tasks topologically, which keeps an order that is topological already. The edges number the tasks in
    /// the order of the input.
    pub fn new(name: String, tasks: Vec<Step>, edges: Vec<Edge>) -> Result<Workflow, WorkflowError> {
        check_workflow(&tasks, &edges)?;
        let order = topological_order(&tasks, &edges)?;

        let mut number = vec![0u32; tasks.len()];
        for (place, &task) in order.iter().enumerate() {
            number[task as usize] = place as u32;
        }
        let mut edges: Vec<Edge> = edges
            .iter()
            .map(|edge| Edge { from: number[edge.from as usize], to: number[edge.to as usize], data: edge.data })
            .collect();
        edges.sort_unstable();
        let mut tasks: Vec<Option<Step>> = tasks.into_iter().map(Some).collect();
        let tasks: Vec<Step> =
            order.iter().map(|&task| tasks[task as usize].take().expect("each task comes once")).collect();
        if let Some(pair) = edges.windows(2).find(|pair| (pair[0].from, pair[0].to) == (pair[1].from, pair[1].to)) {
            return Err(WorkflowError::SameEdge {
                from: task_name(pair[0].from, &tasks),
                to: task_name(pair[0].to, &tasks),
            });
        }
        Ok(Workflow { name, tasks, edges })
    }

    /// Its tasks as those of a job. Tasks take at least a microsecond.
    pub fn job_tasks(&self, kind: Kind) -> Vec<Task> {
        let shortest = Span::from_micros(1);
        self.tasks.iter().map(|task| Task::new(task.work.max(shortest), task.cores, kind)).collect()
    }

    /// Total run time of all tasks.
    pub fn work(&self) -> Span {
        self.tasks.iter().fold(Span::ZERO, |sum, task| sum + task.work)
    }

    /// Total bytes of all edges.
    pub fn data(&self) -> u64 {
        self.edges.iter().map(|edge| edge.data).sum()
    }

    /// Longest chain of run times, without transfers.
    pub fn critical_path(&self) -> Span {
        let mut until = vec![Span::ZERO; self.tasks.len()];
        let mut edges = self.edges.iter().peekable();
        let mut longest = Span::ZERO;
        for (task, step) in self.tasks.iter().enumerate() {
            let end = until[task] + step.work;
            longest = longest.max(end);
            while let Some(edge) = edges.next_if(|edge| edge.from as usize == task) {
                until[edge.to as usize] = until[edge.to as usize].max(end);
            }
        }
        longest
    }

    /// Number of tasks of the longest chain.
    #[cfg(test)]
    pub fn depth(&self) -> usize {
        let mut levels = vec![1usize; self.tasks.len()];
        for edge in &self.edges {
            levels[edge.to as usize] = levels[edge.to as usize].max(levels[edge.from as usize] + 1);
        }
        levels.into_iter().max().unwrap_or(0)
    }
}

fn task_name(task: u32, tasks: &[Step]) -> String {
    tasks[task as usize].name.clone()
}

fn check_workflow(tasks: &[Step], edges: &[Edge]) -> Result<(), WorkflowError> {
    if tasks.is_empty() {
        return Err(WorkflowError::Empty);
    }
    if u32::try_from(tasks.len()).is_err() {
        return Err(WorkflowError::TooMany);
    }
    let mut names = BTreeSet::new();
    let mut total = Span::ZERO;
    for task in tasks {
        if !names.insert(task.name.as_str()) {
            return Err(WorkflowError::SameName(task.name.clone()));
        }
        if task.cores == 0 {
            return Err(WorkflowError::NoCores(task.name.clone()));
        }
        total = total.saturating_add(task.work);
    }
    if total > LONGEST {
        return Err(WorkflowError::TooLong);
    }
    let data = edges.iter().fold(0u64, |sum, edge| sum.saturating_add(edge.data));
    if data > DATA_MAX { Err(WorkflowError::TooMuchData) } else { Ok(()) }
}

/// Kahn's algorithm; among ready tasks, the first of the input goes first.
fn topological_order(tasks: &[Step], edges: &[Edge]) -> Result<Vec<u32>, WorkflowError> {
    let mut by_from: Vec<Edge> = edges.to_vec();
    by_from.sort_unstable();
    let mut waits = vec![0u32; tasks.len()];
    for edge in edges {
        waits[edge.to as usize] += 1;
    }
    let mut free: BinaryHeap<Reverse<u32>> =
        (0..tasks.len() as u32).filter(|&task| waits[task as usize] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(Reverse(task)) = free.pop() {
        order.push(task);
        let first = by_from.partition_point(|edge| edge.from < task);
        for edge in by_from[first..].iter().take_while(|edge| edge.from == task) {
            waits[edge.to as usize] -= 1;
            if waits[edge.to as usize] == 0 {
                free.push(Reverse(edge.to));
            }
        }
    }
    if order.len() == tasks.len() { Ok(order) } else { Err(find_cycle(tasks, edges, &waits)) }
}

/// Finds a cycle among the tasks that still wait: each of them waits for another one of them, so following predecessors
/// leads into a cycle.
fn find_cycle(tasks: &[Step], edges: &[Edge], waits: &[u32]) -> WorkflowError {
    let mut before: Vec<Option<u32>> = vec![None; tasks.len()];
    for edge in edges.iter().filter(|edge| waits[edge.from as usize] > 0) {
        before[edge.to as usize].get_or_insert(edge.from);
    }
    let mut at = waits.iter().position(|&waits| waits > 0).expect("a task still waits") as u32;
    for _ in 0..tasks.len() {
        at = predecessor_of(at, &before);
    }
    let mut around = vec![at];
    let mut next = predecessor_of(at, &before);
    while next != at {
        around.push(next);
        next = predecessor_of(next, &before);
    }
    around.push(at);
    around.reverse();
    let names: Vec<&str> = around.iter().map(|&task| tasks[task as usize].name.as_str()).collect();
    let text = match names.len() {
        0..=SHOWN => names.join(" -> "),
        all => format!("{} -> ... ({} more) -> {}", names[..SHOWN - 2].join(" -> "), all - SHOWN + 1, names[all - 1]),
    };
    WorkflowError::Cycle { first: around[0] as usize, around: text }
}

fn predecessor_of(at: u32, before: &[Option<u32>]) -> u32 {
    before[at as usize].expect("a task that waits has one before it that waits")
}

/// Most names of a cycle in a message.
const SHOWN: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn step(name: &str, secs: u64) -> Step {
        Step { name: name.to_owned(), work: Span::from_secs(secs), cores: 1 }
    }

    fn edges(edges: &[(u32, u32)]) -> Vec<Edge> {
        edges.iter().map(|&(from, to)| Edge { from, to, data: 10 }).collect()
    }

    fn workflow(names: &[&str], pairs: &[(u32, u32)]) -> Result<Workflow, WorkflowError> {
        let steps = names.iter().enumerate().map(|(place, name)| step(name, place as u64 + 1)).collect();
        Workflow::new("w".to_owned(), steps, edges(pairs))
    }

    #[test]
    fn tasks_are_in_topological_order() {
        let sorted = workflow(&["a", "b", "c", "d"], &[(3, 1), (1, 0), (2, 0)]).unwrap();
        let names: Vec<&str> = sorted.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["c", "d", "b", "a"]);
        assert_eq!(sorted.edges.iter().map(|edge| (edge.from, edge.to)).collect::<Vec<_>>(), [(0, 3), (1, 2), (2, 3)]);
        assert_eq!((sorted.work(), sorted.data()), (Span::from_secs(10), 30));
        assert_eq!((sorted.critical_path(), sorted.depth()), (Span::from_secs(7), 3));
    }

    #[test]
    fn every_fault_is_reported() {
        let message = |names: &[&str], pairs: &[(u32, u32)]| workflow(names, pairs).unwrap_err().to_string();
        assert_eq!(message(&[], &[]), "the workflow has no tasks");
        assert_eq!(message(&["a", "a"], &[]), "two tasks are called `a`");
        assert_eq!(message(&["a", "b"], &[(0, 1), (0, 1)]), "the edge from `a` to `b` is written twice");
        assert_eq!(
            message(&["a", "b", "c", "d"], &[(0, 1), (1, 2), (2, 1), (2, 3)]),
            "tasks wait for each other in a cycle: b -> c -> b"
        );
        let cycle = workflow(&["a", "b", "c", "d"], &[(0, 1), (1, 2), (2, 1), (2, 3)]).unwrap_err();
        assert_eq!(cycle.on_cycle(), Some(1));
        assert_eq!(message(&["a"], &[(0, 0)]), "tasks wait for each other in a cycle: a -> a");
        let idle = Workflow::new("w".into(), vec![Step { cores: 0, ..step("a", 1) }], vec![]);
        assert_eq!(idle.unwrap_err().to_string(), "task `a` uses no cores");
        let long = Workflow::new("w".into(), vec![Step { work: Span::MAX, ..step("a", 1) }, step("b", 1)], vec![]);
        assert_eq!(long, Err(WorkflowError::TooLong));
        let heavy = [u64::MAX, 1].map(|data| Edge { from: 0, to: 1, data }).to_vec();
        assert_eq!(Workflow::new("w".into(), vec![step("a", 1), step("b", 1)], heavy), Err(WorkflowError::TooMuchData));
    }

    #[test]
    fn a_long_cycle_is_abbreviated() {
        let names: Vec<String> = (0..20).map(|name| name.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let pairs: Vec<(u32, u32)> = (0..20).map(|at| (at, (at + 1) % 20)).collect();
        let message = workflow(&names, &pairs).unwrap_err().to_string();
        assert!(message.contains("-> ... (14 more) ->"), "{message}");
    }

    proptest! {
        /// Renumbered at random, an acyclic graph keeps its names and edges, and every edge leads forward.
        #[test]
        fn the_order_of_the_input_does_not_change_the_workflow(
            pairs in prop::collection::btree_set((0u32..12, 0u32..12), 0..30),
            keys in prop::collection::vec(any::<u64>(), 12),
        ) {
            // An edge leads from the smaller key to the larger one, so there is no cycle.
            let forward: BTreeSet<(u32, u32)> = pairs
                .into_iter()
                .filter(|(a, b)| keys[*a as usize] != keys[*b as usize])
                .map(|(a, b)| if keys[a as usize] < keys[b as usize] { (a, b) } else { (b, a) })
                .collect();
            let names: Vec<String> = (0..12).map(|name| name.to_string()).collect();
            let named: Vec<&str> = names.iter().map(String::as_str).collect();
            let sorted = workflow(&named, &forward.iter().copied().collect::<Vec<_>>()).unwrap();
            prop_assert!(sorted.edges.iter().all(|edge| edge.from < edge.to));
            let name = |task: u32| sorted.tasks[task as usize].name.parse::<u32>().unwrap();
            let again: BTreeSet<(u32, u32)> = sorted.edges.iter().map(|edge| (name(edge.from), name(edge.to))).collect();
            prop_assert_eq!(again, forward);
        }
    }
}
