//! A calibrated junction tree: a distribution over all attributes, and the marginals of any of them.

use std::collections::HashMap;
use std::rc::Rc;

use super::junction_tree::{JunctionTree, cells};
use super::table::{Projection, Table, contracted, without};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::residual::summed;

/// The marginals of a graphical model on the cliques of its junction tree, which agree on their separators: the distribution
/// `Π_cliques μ_C / Π_separators μ_S`, in counts.
///
/// *Memory*: 8 bytes per cell of every clique and of every separator.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibratedTree {
    pub(crate) sizes: Vec<usize>,
    pub(crate) tree: JunctionTree,
    pub(crate) tables: Vec<Vec<f64>>,
    /// The marginal on the separator to the parent, of every clique.
    pub(crate) separators: Vec<Vec<f64>>,
    /// The attributes of every clique and of all that descend from it.
    pub(crate) below: Vec<AttributeSet>,
}

/// Messages of variable elimination that several marginals share: μ(T | S) from a clique over the separator S to a neighbour, T
/// the wanted attributes beyond it. They are good until the tables change.
#[derive(Debug, Clone, Default)]
pub struct Messages(HashMap<(usize, usize, AttributeSet), Rc<Table>>);

impl CalibratedTree {
    pub(crate) fn new(sizes: Vec<usize>, tree: JunctionTree, tables: Vec<Vec<f64>>, separators: Vec<Vec<f64>>) -> Self {
        let mut below = tree.cliques().to_vec();
        for clique in (1..below.len()).rev() {
            if let Some((parent, _)) = tree.parent(clique) {
                below[parent] = below[parent].union(below[clique]);
            }
        }
        CalibratedTree { sizes, tree, tables, separators, below }
    }

    /// The junction tree.
    pub fn tree(&self) -> &JunctionTree {
        &self.tree
    }

    /// The sizes of all attributes of the schema.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// All attributes that the model is over.
    pub fn attributes(&self) -> AttributeSet {
        self.below.first().copied().unwrap_or_default()
    }

    /// The marginal on the clique at a place of the tree, row-major.
    pub fn table(&self, clique: usize) -> &[f64] {
        self.tables.get(clique).map_or(&[], Vec::as_slice)
    }

    /// The number of records that the model has.
    pub fn total(&self) -> f64 {
        self.tables.first().map_or(0.0, |table| table.iter().sum())
    }

    /// The model size in MB: 8 bytes for every cell of every maximal clique, as it is allocated.
    pub fn megabytes(&self) -> f64 {
        self.tables.iter().map(|table| (table.len() * size_of::<f64>()) as f64).sum::<f64>() / f64::from(1 << 20)
    }

    /// The marginal on any set of attributes, row-major: summed from a clique that contains it, else by variable elimination
    /// towards the clique that has most of it. O(cells of the clique), or of the tables on the way: n_γ times a separator.
    ///
    /// # Errors
    /// An attribute that the model lacks.
    pub fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.marginal_with(&mut Messages::default(), gamma)
    }

    /// [`CalibratedTree::marginal`] with messages that were sent for others.
    ///
    /// # Errors
    /// An attribute that the model lacks.
    pub fn marginal_with(&self, messages: &mut Messages, gamma: AttributeSet) -> Result<Vec<f64>> {
        if !gamma.is_subset(self.attributes()) {
            return Err(Error::bad_input(
                format!("marginal on attributes {gamma:?}"),
                format!("attributes of the model, {:?}", self.attributes()),
                format!("{gamma:?}"),
                "ask for attributes that the workload uses",
            ));
        }
        let cliques = self.tree.cliques();
        let root = self.tree.clique_of(&self.sizes, gamma).unwrap_or_else(|| {
            let rank = |k: usize| (cliques[k].intersection(gamma).len(), -cells(&self.sizes, cliques[k]));
            let better = |a: &usize, b: &usize| {
                let (a, b) = (rank(*a), rank(*b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            };
            (0..cliques.len()).max_by(better).unwrap_or(0)
        });
        Ok(self.eliminated(messages, root, None, gamma).values)
    }

    /// Σ over everything but `kept` of the model on this clique's side of the tree, away from the neighbour `towards`.
    fn eliminated(&self, messages: &mut Messages, clique: usize, towards: Option<usize>, kept: AttributeSet) -> Table {
        let own = self.tree.cliques()[clique];
        let missing = without(kept, own);
        let mut sources: Vec<(AttributeSet, Rc<Table>)> = Vec::new();
        let up = self.tree.parent(clique).map(|(parent, _)| parent);
        for neighbour in up.into_iter().chain(self.tree.children(clique).iter().copied()) {
            if Some(neighbour) == towards {
                continue;
            }
            let beyond = match Some(neighbour) == up {
                // What the rest of the tree has that this side lacks.
                true => without(missing, self.below[clique]),
                false => missing.intersection(self.below[neighbour]),
            };
            if !beyond.is_empty() {
                let message = self.message(messages, neighbour, clique, beyond);
                sources.push((self.separator(neighbour, clique).1, message));
            }
        }
        // The message over the smallest separator last: what is kept for it is multiplied by all others.
        sources.sort_by(|a, b| cells(&self.sizes, b.0).total_cmp(&cells(&self.sizes, a.0)));
        let needed = |rest: &[(AttributeSet, Rc<Table>)]| rest.iter().fold(kept, |all, (s, _)| all.union(*s));
        let start = kept.union(needed(&sources));
        let kept_cells = start.intersection(own);
        let mut current = Table { set: kept_cells, values: self.summed(clique, kept_cells) };
        for k in 0..sources.len() {
            current = contracted(&self.sizes, &current, &sources[k].1, needed(&sources[k + 1..]));
        }
        current
    }

    /// μ(T | S) from one clique to its neighbour.
    fn message(&self, messages: &mut Messages, from: usize, to: usize, wanted: AttributeSet) -> Rc<Table> {
        if let Some(known) = messages.0.get(&(from, to, wanted)) {
            return Rc::clone(known);
        }
        let (edge, separator) = self.separator(from, to);
        let mut table = self.eliminated(messages, from, Some(to), separator.union(wanted));
        let divide = Projection::new(&self.sizes, table.set, separator);
        divide.apply(&mut table.values, &self.separators[edge], |x, s| *x = if s > 0.0 { *x / s } else { 0.0 });
        let table = Rc::new(table);
        messages.0.insert((from, to, wanted), Rc::clone(&table));
        table
    }

    /// The lower clique of an edge, and the separator.
    fn separator(&self, one: usize, other: usize) -> (usize, AttributeSet) {
        let lower = one.max(other);
        (lower, self.tree.parent(lower).map_or(AttributeSet::EMPTY, |(_, separator)| separator))
    }

    /// The Hugin message over the edge from a clique to its parent: the sums of the sender's table over the separator, by the
    /// old ones, multiply the receiver's.
    pub(crate) fn pass(&mut self, lower: usize, upwards: bool) {
        let Some((parent, separator)) = self.tree.parent(lower) else { return };
        let (sender, receiver) = if upwards { (lower, parent) } else { (parent, lower) };
        let cliques = self.tree.cliques();
        let (from, to) = (cliques[sender], cliques[receiver]);
        let new =
            summed(&from.items(&self.sizes), from.axes_in(separator), &self.tables[sender]);
        let old = std::mem::replace(&mut self.separators[lower], new);
        let ratios: Vec<f64> = self.separators[lower].iter().zip(&old).map(|(n, o)| if *o > 0.0 { n / o } else { 1.0 }).collect();
        let projection = Projection::new(&self.sizes, to, separator);
        projection.apply(&mut self.tables[receiver], &ratios, |x, ratio| *x *= ratio);
    }

    fn summed(&self, clique: usize, kept: AttributeSet) -> Vec<f64> {
        let set = self.tree.cliques()[clique];
        summed(&set.items(&self.sizes), set.axes_in(kept), &self.tables[clique])
    }
}
