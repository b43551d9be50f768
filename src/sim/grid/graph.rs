//! Dependency graph of a job, and critical paths.

use super::Edge;
use crate::time::Span;

/// Successors and predecessors of every task, each in ascending order.
///
/// All lists share one allocation, as there is a graph for every job: the starts of the lists of successors, their
/// items, and again for predecessors. List `i` is `items[starts[i]..starts[i + 1]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    tasks: usize,
    lists: Box<[u32]>,
}

impl Graph {
    /// The graph of a checked job's edges.
    pub fn new(tasks: usize, edges: &[Edge]) -> Graph {
        let mut lists = vec![0; 2 * (tasks + 1 + edges.len())].into_boxed_slice();
        let (successors, predecessors) = lists.split_at_mut(tasks + 1 + edges.len());
        write_lists(successors, tasks, edges.iter().map(|edge| (edge.from, edge.to)));
        write_lists(predecessors, tasks, edges.iter().map(|edge| (edge.to, edge.from)));
        Graph { tasks, lists }
    }

    pub fn len(&self) -> usize {
        self.tasks
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn successors(&self, task: usize) -> &[u32] {
        self.list(&self.lists[..self.lists.len() / 2], task)
    }

    pub fn predecessors(&self, task: usize) -> &[u32] {
        self.list(&self.lists[self.lists.len() / 2..], task)
    }

    fn list<'a>(&self, lists: &'a [u32], task: usize) -> &'a [u32] {
        let (starts, items) = lists.split_at(self.tasks + 1);
        &items[starts[task] as usize..starts[task + 1] as usize]
    }

    /// Longest path from the start of each task to the end of the job, where `delay(from, to)` is the delay of an edge.
    /// The largest of them is the critical path. Saturates, as jobs may come from untrusted peers.
    pub fn upward_ranks(&self, runtime: impl Fn(usize) -> Span, delay: impl Fn(usize, usize) -> Span) -> Vec<Span> {
        let mut ranks = vec![Span::ZERO; self.len()];
        for task in (0..self.len()).rev() {
            let after = self.successors(task).iter().map(|&next| delay(task, next as usize) + ranks[next as usize]);
            ranks[task] = runtime(task) + after.max().unwrap_or(Span::ZERO);
        }
        ranks
    }
}

/// Writes the lists of one direction, from pairs of a list and an item.
fn write_lists(lists: &mut [u32], count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) {
    let (starts, items) = lists.split_at_mut(count + 1);
    for (list, _) in pairs.clone() {
        starts[list as usize + 1] += 1;
    }
    for list in 0..count {
        starts[list + 1] += starts[list];
    }

    // Filling moves each start to the end of its list, which is where the next one starts.
    for (list, item) in pairs {
        let place = &mut starts[list as usize];
        items[*place as usize] = item;
        *place += 1;
    }
    starts.copy_within(0..count, 1);
    starts[0] = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_longest_path() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3)].map(|(from, to)| Edge::new(from, to));
        let graph = Graph::new(5, &edges);
        assert_eq!((graph.successors(0), graph.successors(1), graph.successors(3)), (&[1, 2][..], &[3][..], &[][..]));
        assert_eq!(
            (graph.predecessors(0), graph.predecessors(3), graph.predecessors(4)),
            (&[][..], &[1, 2][..], &[][..])
        );

        let runtimes = [10, 20, 15, 5, 7];
        let ranks =
            graph.upward_ranks(|task| Span::from_micros(runtimes[task]), |from, _| Span::from_micros(from as u64));
        assert_eq!(ranks, [36, 26, 22, 5, 7].map(Span::from_micros));
    }
}
