//! The types of the nodes of a hierarchy.

use std::collections::HashMap;
use std::ops::Range;

use ndarray::Array2;

use crate::workload::Nodes;

/// A type of nodes: nodes that exchanges of siblings with equal subtrees map to each other.
#[derive(Debug, Clone)]
pub(super) struct NodeType {
    /// The index of the type of the parents; 0 for the root.
    pub parent: usize,
    /// The number of nodes of the type under one parent.
    pub siblings: usize,
    /// The number of nodes of the type.
    pub count: f64,
    /// The types of leaves below, by their numbers.
    pub leaves: Range<usize>,
    /// The distance from the root.
    depth: usize,
}

/// The types of the nodes of a hierarchy, with the root, in preorder.
#[derive(Debug, Clone)]
pub(super) struct NodeTypes {
    /// The types; a type comes after that of its parents.
    pub list: Vec<NodeType>,
    /// The type of every leaf, by its number among the types of leaves.
    pub of_leaf: Vec<usize>,
    /// The index in the list of every type of leaves.
    pub of_leaves: Vec<usize>,
    /// Whether the root is a query.
    has_root: bool,
}

/// The nodes of one distance from the root.
struct Depth {
    /// The nodes of the next depth below each node.
    children: Vec<Vec<usize>>,
    /// A number per node, equal for equal subtrees.
    shape: Vec<usize>,
}

impl NodeTypes {
    /// Finds the types. O(leaves · levels).
    pub fn of(nodes: &Nodes) -> Self {
        let depths = depths(nodes);
        let leaves = nodes.hierarchy().leaves();
        let mut types = NodeTypes {
            list: Vec::new(),
            of_leaf: vec![0; leaves],
            of_leaves: Vec::new(),
            has_root: nodes.has_root(),
        };
        types.add(&depths, 0, 1, 1.0, 0, &[0]);
        types
    }

    /// Adds the type of some siblings and the types below. `members` are all nodes of the type.
    fn add(
        &mut self,
        depths: &[Depth],
        parent: usize,
        siblings: usize,
        count: f64,
        depth: usize,
        members: &[usize],
    ) {
        let (index, first) = (self.list.len(), self.of_leaves.len());
        self.list.push(NodeType { parent, siblings, count, leaves: first..first, depth });
        if depth + 1 == depths.len() {
            members.iter().for_each(|&leaf| self.of_leaf[leaf] = first);
            self.of_leaves.push(index);
        } else {
            let mut by_shape: Vec<(usize, Vec<usize>)> = Vec::new();
            for &member in members {
                for &child in &depths[depth].children[member] {
                    let shape = depths[depth + 1].shape[child];
                    match by_shape.iter_mut().find(|(known, _)| *known == shape) {
                        Some((_, same)) => same.push(child),
                        None => by_shape.push((shape, vec![child])),
                    }
                }
            }
            for (_, same) in by_shape {
                let siblings = same.len() / members.len();
                self.add(depths, index, siblings, same.len() as f64, depth + 1, &same);
            }
        }
        self.list[index].leaves.end = self.of_leaves.len();
    }

    /// Returns the number of leaves of every type.
    pub fn leaf_counts(&self) -> Vec<f64> {
        self.of_leaves.iter().map(|&index| self.list[index].count).collect()
    }

    /// Returns the number of equal blocks of a type: of contrasts between its siblings, or 1 for
    /// the root.
    pub fn copies(&self, index: usize) -> f64 {
        let NodeType { parent, siblings, .. } = self.list[index];
        if index == 0 { 1.0 } else { self.list[parent].count * (siblings - 1) as f64 }
    }

    /// Returns the blocks with at least one copy: the index of the type, and G_q.
    pub fn blocks(&self) -> Vec<(usize, Array2<f64>)> {
        let counts = self.leaf_counts();
        let with_copies = (0..self.list.len()).filter(|&index| self.copies(index) > 0.0);
        with_copies.map(|index| (index, self.block(index, &counts))).collect()
    }

    fn block(&self, index: usize, counts: &[f64]) -> Array2<f64> {
        let range = self.list[index].leaves.clone();
        let mut block = Array2::zeros((range.len(), range.len()));
        // The types of a subtree follow each other in preorder.
        let below = self.list[index..]
            .iter()
            .enumerate()
            .take_while(|(k, inner)| *k == 0 || inner.depth > self.list[index].depth);
        for (_, inner) in below.filter(|(k, _)| index + k > 0 || self.has_root) {
            let start = inner.leaves.start - range.start;
            let roots: Vec<f64> =
                counts[inner.leaves.clone()].iter().map(|n| (n / inner.count).sqrt()).collect();
            for (i, x) in roots.iter().enumerate() {
                for (j, y) in roots.iter().enumerate() {
                    block[[start + i, start + j]] += x * y;
                }
            }
        }
        block
    }

    /// Returns the types from the root to a type of leaves.
    pub fn path(&self, leaves: usize) -> Vec<usize> {
        let mut path = vec![self.of_leaves[leaves]];
        while let Some(&last) = path.last().filter(|&&last| last > 0) {
            path.push(self.list[last].parent);
        }
        path.reverse();
        path
    }
}

/// Returns the nodes by their distances from the root, with the numbers of their subtrees.
fn depths(nodes: &Nodes) -> Vec<Depth> {
    let leaves = nodes.hierarchy().leaves();
    let mut node_of: Vec<Vec<usize>> = vec![vec![0; leaves]];
    for level in nodes.hierarchy().levels() {
        node_of.push(level.node_of().iter().map(|&node| node as usize).collect());
    }
    node_of.push((0..leaves).collect());
    let mut depths: Vec<Depth> = Vec::with_capacity(node_of.len());
    for (k, of_leaf) in node_of.iter().enumerate() {
        let count = of_leaf.iter().max().map_or(0, |last| last + 1);
        let mut children = vec![Vec::new(); count];
        if let Some(finer) = node_of.get(k + 1) {
            let mut known = vec![false; leaves];
            for (&node, &child) in of_leaf.iter().zip(finer) {
                if !std::mem::replace(&mut known[child], true) {
                    children[node].push(child);
                }
            }
        }
        depths.push(Depth { children, shape: vec![0; count] });
    }
    for k in (0..depths.len() - 1).rev() {
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        let shape = |children: &Vec<usize>| {
            let mut shapes: Vec<usize> = children.iter().map(|&c| depths[k + 1].shape[c]).collect();
            shapes.sort_unstable();
            let next = known.len();
            *known.entry(shapes).or_insert(next)
        };
        depths[k].shape = depths[k].children.iter().map(shape).collect();
    }
    depths
}
