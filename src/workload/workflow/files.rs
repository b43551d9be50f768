//! Edges from files: who reads what another task has written.

use std::collections::{BTreeMap, BTreeSet};

use crate::grid::Edge;

/// The files of a workflow by name, and who reads and writes them.
#[derive(Default)]
pub struct Files<'t> {
    numbers: BTreeMap<&'t str, usize>,
    all: Vec<File>,
}

struct File {
    size: u64,
    /// Whether the size is that of a writer, who knows best.
    written: bool,
    writers: BTreeSet<u32>,
    /// The one of them that was named first.
    first: Option<u32>,
}

impl<'t> Files<'t> {
    /// A file with its size, whoever uses it; whether its name is new.
    pub fn add(&mut self, name: &'t str, size: u64) -> bool {
        let before = self.all.len();
        let number = self.number(name, size);
        number == before
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The file that a task reads. Where tasks do not agree on its size, that of a writer counts, or else the first.
    pub fn number(&mut self, name: &'t str, size: u64) -> usize {
        let next = self.all.len();
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.all.push(File { size, written: false, writers: BTreeSet::new(), first: None });
        }
        number
    }

    /// Notes that `task` writes a file; `size` is what it says of it, if it says anything.
    pub fn write(&mut self, file: usize, task: u32, size: Option<u64>) {
        let file = &mut self.all[file];
        if let (Some(size), false) = (size, file.written) {
            (file.size, file.written) = (size, true);
        }
        file.writers.insert(task);
        file.first.get_or_insert(task);
    }

    /// The edges of tasks that read these files and wait for those `(from, to)` besides. An edge carries every file
    /// that its first task writes and its second reads. A file whose writers are not among those that its reader says
    /// it waits for makes it wait for the first of them.
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
            let said = carried.len();
            let mut read: Vec<usize> = read.clone();
            read.sort_unstable();
            read.dedup();
            for file in read.into_iter().map(|file| &self.all[file]) {
                let mut from_said = false;
                // Real workflows have files that a thousand tasks write, so it is the shorter list that is walked.
                let mut carry = |data: &mut u64| {
                    *data = data.saturating_add(file.size);
                    from_said = true;
                };
                if said > 0 && file.writers.len() < carried.len() {
                    let writers = file.writers.iter().filter(|writer| **writer != task);
                    writers.for_each(|writer| carried.get_mut(writer).into_iter().for_each(&mut carry));
                } else if said > 0 {
                    let them = carried.iter_mut().filter(|(from, _)| **from != task && file.writers.contains(from));
                    them.for_each(|(_, data)| carry(data));
                }
                // A task that writes what it reads changes it in place, for which nobody else is needed.
                if let Some(first) = file.first.filter(|_| !from_said && !file.writers.contains(&task)) {
                    let data = carried.entry(first).or_insert(0);
                    *data = data.saturating_add(file.size);
                }
            }
            edges.extend(carried.iter().map(|(&from, &data)| Edge { from, to: task, data }));
        }
        edges
    }
}
