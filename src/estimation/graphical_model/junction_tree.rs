//! Junction trees: greedy elimination, maximal cliques, maximum-weight spanning tree.

use crate::domain::AttributeSet;
use crate::error::{Error, Result};

/// Bytes per megabyte of model size, as in S4's code.
const BYTES_PER_MEGABYTE: f64 = (1u64 << 20) as f64;

/// Bytes per cell.
const BYTES_PER_CELL: f64 = 8.0;

/// Returns the number of cells of 8 bytes in `mb` megabytes of 2²⁰ bytes.
pub fn cells_of_mb(mb: f64) -> f64 {
    mb * BYTES_PER_MEGABYTE / BYTES_PER_CELL
}

/// A junction tree: maximal cliques of a chordal graph in which given sets are complete.
///
/// The cliques that contain an attribute are connected (running intersection). Every clique comes
/// after its parent.
///
/// The graph is the union of the sets. It is triangulated by eliminating, at every step, the
/// attribute whose clique (the attribute and its remaining neighbours) has the fewest cells. The
/// tree is a spanning tree of maximum total separator size (number of attributes). Parts that share
/// no attribute are joined by empty separators. *Reference*: Koller and Friedman, Probabilistic
/// Graphical Models, Sec. 9.4 and 10.4; S4, App. F (model size).
#[derive(Debug, Clone, PartialEq)]
pub struct JunctionTree {
    cliques: Vec<AttributeSet>,
    /// For every clique, its parent and the separator. The first clique is its own parent.
    parents: Vec<(usize, AttributeSet)>,
    children: Vec<Vec<usize>>,
}

impl JunctionTree {
    /// Builds the tree for attributes and sets of them. O(attributes³ + cliques²).
    ///
    /// `sizes` has the sizes of all attributes of the schema, by position.
    ///
    /// # Errors
    /// No attributes, attributes that the schema lacks, or a set that is not among the attributes.
    pub fn new(sizes: &[usize], attributes: AttributeSet, sets: &[AttributeSet]) -> Result<Self> {
        let outside = sets.iter().find(|set| !set.is_subset(attributes));
        if attributes.is_empty() || attributes.end() > sizes.len() || outside.is_some() {
            return Err(Error::bad_input(
                "junction tree",
                format!("subsets of {attributes:?} with positions below {}", sizes.len()),
                outside.map_or_else(|| format!("{attributes:?}"), |set| format!("{set:?}")),
                "use attribute positions of the schema",
            ));
        }
        let mut waiting = maximal_cliques(sizes, attributes, sets);
        let mut tree =
            JunctionTree { cliques: Vec::new(), parents: Vec::new(), children: Vec::new() };
        let mut next = Some((0, (0, AttributeSet::EMPTY)));
        while let Some((index, parent)) = next {
            let added = tree.cliques.len();
            if added > 0 {
                tree.children[parent.0].push(added);
            }
            tree.cliques.push(waiting.remove(index));
            tree.parents.push(parent);
            tree.children.push(Vec::new());
            next = None;
            for (index, clique) in waiting.iter().enumerate() {
                for (parent, parent_clique) in tree.cliques.iter().enumerate() {
                    let shared = clique.intersection(*parent_clique);
                    if next.is_none_or(|(_, (_, best)): (usize, (usize, AttributeSet))| {
                        shared.len() > best.len()
                    }) {
                        next = Some((index, (parent, shared)));
                    }
                }
            }
        }
        Ok(tree)
    }

    /// Returns the total number of cells of the cliques, without building the tree.
    ///
    /// It decides whether a model is within a size limit. It is rounded beyond 2⁵³.
    pub fn cells_for(sizes: &[usize], attributes: AttributeSet, sets: &[AttributeSet]) -> f64 {
        maximal_cliques(sizes, attributes, sets).iter().map(|&clique| cells(sizes, clique)).sum()
    }

    /// Returns the total number of cells of the cliques.
    pub fn cells(&self, sizes: &[usize]) -> f64 {
        self.cliques.iter().map(|&clique| cells(sizes, clique)).sum()
    }

    /// Returns the model size in MB (2²⁰ bytes), with 8 bytes per cell of every clique.
    pub fn megabytes(&self, sizes: &[usize]) -> f64 {
        self.cells(sizes) * BYTES_PER_CELL / BYTES_PER_MEGABYTE
    }

    /// Returns the cliques, parents first.
    pub fn cliques(&self) -> &[AttributeSet] {
        &self.cliques
    }

    /// Returns the parent of a clique and their separator.
    ///
    /// `None` for the first clique and for indices out of range.
    pub fn parent(&self, clique: usize) -> Option<(usize, AttributeSet)> {
        self.parents.get(clique).copied().filter(|_| clique > 0)
    }

    /// Returns the children of a clique.
    pub fn children(&self, clique: usize) -> &[usize] {
        self.children.get(clique).map_or(&[], Vec::as_slice)
    }

    /// Returns the smallest clique that contains a set.
    pub fn clique_of(&self, sizes: &[usize], set: AttributeSet) -> Option<usize> {
        let containing = (0..self.cliques.len()).filter(|&k| set.is_subset(self.cliques[k]));
        containing.min_by(|&a, &b| {
            cells(sizes, self.cliques[a]).total_cmp(&cells(sizes, self.cliques[b]))
        })
    }
}

/// Returns the number of cells n_γ, rounded beyond 2⁵³.
pub(crate) fn cells(sizes: &[usize], set: AttributeSet) -> f64 {
    set.positions().map(|p| sizes[p] as f64).product()
}

/// Returns the maximal cliques of the triangulated graph, in the order of elimination.
fn maximal_cliques(
    sizes: &[usize],
    attributes: AttributeSet,
    sets: &[AttributeSet],
) -> Vec<AttributeSet> {
    let mut neighbours = vec![AttributeSet::EMPTY; attributes.end()];
    for set in sets {
        for p in set.positions() {
            neighbours[p] = neighbours[p].union(*set);
        }
    }
    let mut left = attributes;
    let mut cliques: Vec<AttributeSet> = Vec::new();
    while !left.is_empty() {
        let clique_of = |p: usize| neighbours[p].intersection(left).union(AttributeSet::single(p));
        let cost = |p: usize| cells(sizes, clique_of(p));
        let Some((eliminated, _)) =
            left.positions().map(|p| (p, cost(p))).min_by(|a, b| a.1.total_cmp(&b.1))
        else {
            break;
        };
        let clique = clique_of(eliminated);
        for p in clique.positions() {
            neighbours[p] = neighbours[p].union(clique);
        }
        left = left.without(AttributeSet::single(eliminated));
        if !cliques.iter().any(|known| clique.is_subset(*known)) {
            cliques.push(clique);
        }
    }
    cliques
}
