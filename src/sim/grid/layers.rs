//! Locations of parallel tasks that may share nodes.

use super::NodeSet;

/// Nodes of parallel tasks, in layers: a node with n tasks is in the first n layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Union of the layers.
    pub nodes: NodeSet,
    /// Nodes with more than one task, with more than two, and so on.
    pub more: Vec<NodeSet>,
}

impl Layers {
    /// Builds from ascending `(node, tasks)`.
    pub fn from_counts(counts: &[(u32, u32)]) -> Layers {
        let highest = counts.iter().map(|count| count.1).max().unwrap_or(0);
        let mut layers = (0..highest).map(|layer| {
            let mut nodes = NodeSet::default();
            counts.iter().filter(|count| count.1 > layer).for_each(|&(node, _)| nodes.push(node, node));
            nodes
        });
        Layers { nodes: layers.next().unwrap_or_default(), more: layers.collect() }
    }

    pub fn each(&self) -> impl Iterator<Item = &NodeSet> {
        std::iter::once(&self.nodes).chain(&self.more)
    }
}

/// One task per node.
impl From<NodeSet> for Layers {
    fn from(nodes: NodeSet) -> Layers {
        Layers { nodes, more: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_in_as_many_layers_as_it_has_tasks() {
        let layers = Layers::from_counts(&[(0, 1), (1, 3), (2, 2), (7, 1)]);
        let layers_text: Vec<String> = layers.each().map(NodeSet::to_string).collect();
        assert_eq!(layers_text, ["0-2 7", "1-2", "1"]);
        assert_eq!(Layers::from_counts(&[(3, 1), (4, 1)]), NodeSet::from_run(3, 4).into());
        assert_eq!(Layers::from_counts(&[]), Layers::default());
    }
}
