//! Junction trees of sets of attributes: greedy elimination, maximal cliques, maximum-weight
//! spanning tree.

use super::table::without;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};

/// Bytes of a megabyte of model size, as S4's code counts them.
const MEGABYTE: f64 = (1u64 << 20) as f64;

/// Bytes of a cell.
const CELL: f64 = 8.0;

/// The number of cells that fit into so many MB (2²⁰ bytes) at 8 bytes each.
pub fn cells_of_mb(mb: f64) -> f64 {
    mb * MEGABYTE / CELL
}

/// Maximal cliques of a chordal graph in which every one of some sets of attributes is complete,
/// joined to a tree: the cliques that contain an attribute are connected (running intersection).
/// Every clique comes after its parent.
///
/// The graph is the union of the sets, triangulated by eliminating at every step the attribute
/// whose clique, it and its remaining neighbours, has the fewest cells; the tree is a spanning tree
/// of greatest total separator size (number of attributes). Parts that share no attribute are
/// joined by empty separators. *Reference*: Koller and Friedman, Probabilistic Graphical Models,
/// Sec. 9.4 and 10.4; S4, App. F (model size).
#[derive(Debug, Clone, PartialEq)]
pub struct JunctionTree {
    cliques: Vec<AttributeSet>,
    /// Of every clique: its parent, and what they share. The first clique is its own parent.
    parents: Vec<(usize, AttributeSet)>,
    children: Vec<Vec<usize>>,
}

impl JunctionTree {
    /// The tree for `attributes` and `sets` of them. O(attributes³ + cliques²), sizes of attributes
    /// by position.
    ///
    /// # Errors
    /// No attribute, or a set with attributes that are not among them.
    pub fn new(sizes: &[usize], attributes: AttributeSet, sets: &[AttributeSet]) -> Result<Self> {
        let outside = sets.iter().find(|set| !set.is_subset(attributes));
        if attributes.is_empty() || attributes.end() > sizes.len() || outside.is_some() {
            return Err(Error::bad_input(
                "junction tree",
                format!(
                    "sets of attributes among {attributes:?}, of {} that there are",
                    sizes.len()
                ),
                outside.map_or_else(|| format!("{attributes:?}"), |set| format!("{set:?}")),
                "name attributes of the schema",
            ));
        }
        let mut waiting = maximal_cliques(sizes, attributes, sets);
        let mut tree =
            JunctionTree { cliques: Vec::new(), parents: Vec::new(), children: Vec::new() };
        let mut next = Some((0, (0, AttributeSet::EMPTY)));
        while let Some((place, parent)) = next {
            let clique = waiting.remove(place);
            let own = tree.cliques.len();
            if own > 0 {
                tree.children[parent.0].push(own);
            }
            tree.cliques.push(clique);
            tree.parents.push(parent);
            tree.children.push(Vec::new());
            next = None;
            for (place, clique) in waiting.iter().enumerate() {
                for (known, other) in tree.cliques.iter().enumerate() {
                    let shared = clique.intersection(*other);
                    if next.is_none_or(|(_, (_, best)): (usize, (usize, AttributeSet))| {
                        shared.len() > best.len()
                    }) {
                        next = Some((place, (known, shared)));
                    }
                }
            }
        }
        Ok(tree)
    }

    /// Σ over the cliques of their cells, without joining them: what decides whether a model fits.
    /// Not a whole number where it is too large for one.
    pub fn cells_for(sizes: &[usize], attributes: AttributeSet, sets: &[AttributeSet]) -> f64 {
        maximal_cliques(sizes, attributes, sets).iter().map(|&clique| cells(sizes, clique)).sum()
    }

    /// Σ over the cliques of their cells.
    pub fn cells(&self, sizes: &[usize]) -> f64 {
        self.cliques.iter().map(|&clique| cells(sizes, clique)).sum()
    }

    /// The model size in MB: 8 bytes for every cell of every maximal clique.
    pub fn megabytes(&self, sizes: &[usize]) -> f64 {
        self.cells(sizes) * CELL / MEGABYTE
    }

    /// The cliques, parents first.
    pub fn cliques(&self) -> &[AttributeSet] {
        &self.cliques
    }

    /// The parent of a clique and their separator; `None` for the first clique and places that
    /// there are not.
    pub fn parent(&self, clique: usize) -> Option<(usize, AttributeSet)> {
        self.parents.get(clique).copied().filter(|_| clique > 0)
    }

    /// The children of a clique.
    pub fn children(&self, clique: usize) -> &[usize] {
        self.children.get(clique).map_or(&[], Vec::as_slice)
    }

    /// The smallest clique that contains a set.
    pub fn clique_of(&self, sizes: &[usize], set: AttributeSet) -> Option<usize> {
        let containing = (0..self.cliques.len()).filter(|&k| set.is_subset(self.cliques[k]));
        containing.min_by(|&a, &b| {
            cells(sizes, self.cliques[a]).total_cmp(&cells(sizes, self.cliques[b]))
        })
    }
}

/// n_γ, not a whole number where it is too large for one.
pub(crate) fn cells(sizes: &[usize], set: AttributeSet) -> f64 {
    set.positions().map(|p| sizes[p] as f64).product()
}

/// The maximal cliques of the triangulated graph, in the order of elimination.
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
        left = without(left, AttributeSet::single(eliminated));
        if !cliques.iter().any(|known| clique.is_subset(*known)) {
            cliques.push(clique);
        }
    }
    cliques
}
