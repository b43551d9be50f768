//! Edges derived from files: from writers to readers.

use std::collections::{BTreeMap, BTreeSet};

use crate::grid::Edge;

/// Files of a workflow by name, with their readers and writers.
#[derive(Default)]
pub struct Files<'t> {
    numbers: BTreeMap<&'t str, usize>,
    all: Vec<WorkflowData>,
}

struct WorkflowData {
    size: u64,
    /// True if the size comes from a writer, which has precedence.
    written: bool,
    writers: BTreeSet<u32>,
    /// The first writer listed.
    first: Option<u32>,
}

impl<'t> Files<'t> {
    /// Adds a file with its size. True if the name is new.
    pub fn add(&mut self, name: &'t str, size: u64) -> bool {
        let before = self.all.len();
        let number = self.number(name, size);
        number == before
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// Index of a file that a task reads. If tasks disagree on its size, that of a writer counts, or else the first.
    pub fn number(&mut self, name: &'t str, size: u64) -> usize {
        let next = self.all.len();
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.all.push(WorkflowData { size, written: false, writers: BTreeSet::new(), first: None });
        }
        number
    }

    /// Records that `task` writes a file; `size` is its size according to the task, if given.
    pub fn write(&mut self, file: usize, task: u32, size: Option<u64>) {
        let file = &mut self.all[file];
        if let (Some(size), false) = (size, file.written) {
            (file.size, file.written) = (size, true);
        }
        file.writers.insert(task);
        file.first.get_or_insert(task);
    }

    /// Edges of tasks that read these files and have the dependencies `waits` of `(from, to)` as well. An edge carries
    /// every file that its first task writes and its second reads. If no writer of a file is among the stated
    /// dependencies of its reader, the reader depends on the first writer.
    pub fn edges(&self, reads: &[Vec<usize>], mut waits: Vec<(u32, u32)>) -> Vec<Edge> {
        waits.sort_unstable_by_key(|&(from, to)| (to, from));
        waits.dedup();
        let mut edges = Vec::with_capacity(waits.len());
        let mut carried: BTreeMap<u32, u64> = BTreeMap::new();
        let mut waits = waits.into_iter().peekable();
        for (task, read) in reads.iter().enumerate() {
            let task = task as u32;
            carried.clear();
            while let Some((from, _)) = waits.next_if(|&(_, to)| to == task) {
                carried.insert(from, 0);
            }
            let declared = carried.len();
            let mut read: Vec<usize> = read.clone();
            read.sort_unstable();
            read.dedup();
            for file in read.into_iter().map(|file| &self.all[file]) {
                let mut is_declared = false;
                // Real workflows have files with a thousand writers, so the shorter list is iterated.
                let mut carry = |data: &mut u64| {
                    *data = data.saturating_add(file.size);
                    is_declared = true;
                };
                if declared > 0 && file.writers.len() < carried.len() {
                    let writers = file.writers.iter().filter(|writer| **writer != task);
                    writers.for_each(|writer| carried.get_mut(writer).into_iter().for_each(&mut carry));
                } else if declared > 0 {
                    let them = carried.iter_mut().filter(|(from, _)| **from != task && file.writers.contains(from));
                    them.for_each(|(_, data)| carry(data));
                }
                // A task that writes a file that it reads changes it in place, and needs no other writer.
                if let Some(first) = file.first.filter(|_| !is_declared && !file.writers.contains(&task)) {
                    let data = carried.entry(first).or_insert(0);
                    *data = data.saturating_add(file.size);
                }
            }
            edges.extend(carried.iter().map(|(&from, &data)| Edge { from, to: task, data }));
        }
        edges
    }
}
