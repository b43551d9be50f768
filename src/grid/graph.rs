//! The shape of a job: who waits for whom, and what lies between a task and the job's end.

use super::Edge;
use crate::time::Span;

/// Successors and predecessors of every task, each in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    successors: Lists,
    predecessors: Lists,
}

/// Many lists in two allocations: list `i` is `items[starts[i]..starts[i + 1]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lists {
    starts: Box<[u32]>,
    items: Box<[u32]>,
}

impl Graph {
    /// The graph of a checked job's edges.
    pub fn new(tasks: usize, edges: &[Edge]) -> Graph {
        Graph {
            successors: Lists::new(tasks, edges.iter().map(|edge| (edge.from, edge.to))),
            predecessors: Lists::new(tasks, edges.iter().map(|edge| (edge.to, edge.from))),
        }
    }

    pub fn len(&self) -> usize {
        self.successors.starts.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn successors(&self, task: usize) -> &[u32] {
        self.successors.get(task)
    }

    pub fn predecessors(&self, task: usize) -> &[u32] {
        self.predecessors.get(task)
    }

    /// The longest way from the start of each task to the end of the job, where `delay(from, to)` is what an edge
    /// adds. The largest of them is the critical path. Saturates, as jobs may come from strangers.
    pub fn upward_ranks(&self, runtime: impl Fn(usize) -> Span, delay: impl Fn(usize, usize) -> Span) -> Vec<Span> {
        let mut ranks = vec![Span::ZERO; self.len()];
        for task in (0..self.len()).rev() {
            let after = self.successors(task).iter().map(|&next| delay(task, next as usize) + ranks[next as usize]);
            ranks[task] = runtime(task) + after.max().unwrap_or(Span::ZERO);
        }
        ranks
    }
}

impl Lists {
    fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
        let mut starts = vec![0u32; count + 1].into_boxed_slice();
        let mut total = 0;
        for (list, _) in pairs.clone() {
            starts[list as usize + 1] += 1;
            total += 1;
        }
        for list in 0..count {
            starts[list + 1] += starts[list];
        }

        // Filling moves each start to the end of its list, which is where the next one starts.
        let mut items = vec![0u32; total].into_boxed_slice();
        for (list, item) in pairs {
            let place = &mut starts[list as usize];
            items[*place as usize] = item;
            *place += 1;
        }
        starts.copy_within(0..count, 1);
        starts[0] = 0;
        Lists { starts, items }
    }

    fn get(&self, list: usize) -> &[u32] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_longest_way() {
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
