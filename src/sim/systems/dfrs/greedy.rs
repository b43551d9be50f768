//! Greedy placement: tasks go to the nodes with the least load, immediately or not at all. Section 4.1 of the paper.

use super::Need;
use super::room::{NodeLoads, TaskPlaces};
use crate::grid::sharing::need::{TOLERANCE, count_slots, fits_memory};

/// Places each task of a job on the node with the least load and enough memory, of equal ones the lowest; or no task at
/// all. O(tasks x nodes); O(nodes) if they do not fit.
pub(super) fn place_tasks(room: &mut NodeLoads, need: &Need) -> Option<TaskPlaces> {
    // Most jobs have a single task, which needs no counting.
    if need.tasks == 1 {
        let node = least_loaded(room, |node| fits_memory(room.free[node], need.memory))?;
        room.load[node] += need.cpu;
        room.free[node] -= need.memory;
        return Some(vec![(node as u32, 1)]);
    }
    let mut left: Vec<u64> = room.free.iter().map(|free| count_slots(*free, need.memory)).collect();
    if left.iter().sum::<u64>() < need.tasks.into() {
        return None;
    }
    let mut counts = vec![0; left.len()];
    for _ in 0..need.tasks {
        let node = least_loaded(room, |node| left[node] > 0).expect("as many tasks fit as have been counted");
        counts[node] += 1;
        left[node] -= 1;
        room.load[node] += need.cpu;
    }
    let places = task_places(&counts);
    places.iter().for_each(|&(node, tasks)| room.free[node as usize] -= f64::from(tasks) * need.memory);
    Some(places)
}

/// The lowest of the nodes with the least load, among the open ones.
fn least_loaded(room: &NodeLoads, is_open: impl Fn(usize) -> bool) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (node, load) in room.load.iter().enumerate() {
        if best.is_none_or(|best| *load < room.load[best] - TOLERANCE) && is_open(node) {
            best = Some(node);
        }
    }
    best
}

/// Jobs that a new one displaces, as indices into `running`, in its order, which is from highest to lowest priority.
/// O(nodes + tasks of the jobs considered).
pub(super) fn find_displaced(room: &NodeLoads, need: &Need, running: &[(&Need, &TaskPlaces)]) -> Vec<usize> {
    let mut free = room.free.clone();
    let wanted = u64::from(need.tasks);
    let mut fitting: u64 = free.iter().map(|free| count_slots(*free, need.memory)).sum();
    // Effect on the new job if another one leaves (+1) or stays (-1).
    let shift = |free: &mut Vec<f64>, fitting: &mut u64, at: usize, sign: f64| {
        let (other, places) = running[at];
        for &(node, tasks) in places {
            let free = &mut free[node as usize];
            *fitting -= count_slots(*free, need.memory);
            *free += sign * f64::from(tasks) * other.memory;
            *fitting += count_slots(*free, need.memory);
        }
    };

    let mut first = running.len();
    while fitting < wanted {
        first = first.checked_sub(1).expect("a job that fits an empty cluster fits once all others are gone");
        shift(&mut free, &mut fitting, first, 1.0);
    }

    // Some of these left only because they were in the way of the walk.
    let mut displaced = Vec::new();
    for at in first..running.len() {
        shift(&mut free, &mut fitting, at, -1.0);
        if fitting < wanted {
            shift(&mut free, &mut fitting, at, 1.0);
            displaced.push(at);
        }
    }
    displaced
}

/// Jobs that did not fit, so that jobs with equal or larger needs are not tried: while jobs only arrive, free memory
/// only shrinks.
#[derive(Default)]
pub(super) struct Failures(Vec<(u32, f64)>);

impl Failures {
    pub fn rule_out(&self, need: &Need) -> bool {
        self.0.iter().any(|(tasks, memory)| *tasks <= need.tasks && *memory <= need.memory)
    }

    pub fn add_failure(&mut self, need: &Need) {
        self.0.retain(|(tasks, memory)| *tasks < need.tasks || *memory < need.memory);
        self.0.push((need.tasks, need.memory));
    }
}

pub(super) fn task_places(counts: &[u32]) -> TaskPlaces {
    let counts = counts.iter().enumerate().filter(|(_, tasks)| **tasks > 0);
    counts.map(|(node, tasks)| (node as u32, *tasks)).collect()
}
