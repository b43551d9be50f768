//! Edges from files: who reads what another task has written.

use std::collections::BTreeMap;

use super::Unreadable;
use crate::grid::Edge;

/// The files of a workflow by name, and who reads and writes them.
#[derive(Default)]
pub struct Files<'t> {
    numbers: BTreeMap<&'t str, usize>,
    all: Vec<File<'t>>,
}

struct File<'t> {
    name: &'t str,
    size: u64,
    /// Whether the size is that of a writer, who knows best.
    written: bool,
    writers: Vec<u32>,
}

/// A file that more tasks write says nothing about who needs whom.
const WRITERS_MAX: usize = 16;

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
            self.all.push(File { name, size, written: false, writers: Vec::new() });
        }
        number
    }

    /// Notes that `task` writes a file; `size` is what it says of it, if it says anything.
    pub fn write(&mut self, file: usize, task: u32, size: Option<u64>) -> Result<(), Unreadable> {
        let file = &mut self.all[file];
        if let (Some(size), false) = (size, file.written) {
            (file.size, file.written) = (size, true);
        }
        if file.writers.last() == Some(&task) {
            return Ok(());
        }
        if file.writers.len() == WRITERS_MAX {
            let message = format!("more than {WRITERS_MAX} tasks write the file `{}`", file.name);
            return Err(Unreadable::at("", message));
        }
        file.writers.push(task);
        Ok(())
    }

    /// The edges of tasks that read these files and wait for those `(from, to)` besides. An edge carries every file that
    /// its first task writes and its second reads. A file whose writers are not among those that its reader says it
    /// waits for makes it wait for the first of them.
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
                for writer in file.writers.iter().filter(|writer| **writer != task && said > 0) {
                    if let Some(data) = carried.get_mut(writer) {
                        *data = data.saturating_add(file.size);
                        from_said = true;
                    }
                }
                // A task that writes what it reads changes it in place, for which nobody else is needed.
                if let Some(&first) = file.writers.first().filter(|_| !from_said && !file.writers.contains(&task)) {
                    let data = carried.entry(first).or_insert(0);
                    *data = data.saturating_add(file.size);
                }
            }
            edges.extend(carried.iter().map(|(&from, &data)| Edge { from, to: task, data }));
        }
        edges
    }
}
