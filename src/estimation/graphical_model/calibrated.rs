//! A calibrated junction tree: a distribution over all attributes and its marginals.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::junction_tree::{JunctionTree, cells};
use super::table::{Projection, Scratch, Table, contracted};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::residual::summed;

/// The marginals of a graphical model on the cliques of its junction tree.
///
/// They agree on the separators and define the distribution `Π_cliques μ_C / Π_separators μ_S`, in
/// counts.
///
/// *Memory*: 8 bytes per cell of every clique and of every separator.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibratedTree {
    pub(crate) sizes: Vec<usize>,
    pub(crate) tree: JunctionTree,
    pub(crate) tables: Vec<Vec<f64>>,
    /// For every clique, the marginal on the separator to its parent.
    pub(crate) separators: Vec<Vec<f64>>,
    /// For every clique, the attributes of its subtree.
    pub(crate) below: Vec<AttributeSet>,
    /// The number of cells of every clique.
    clique_cells: Vec<f64>,
    /// For every clique, the number of cells of the separator to its parent.
    separator_cells: Vec<f64>,
}

/// Cached messages of variable elimination, shared by several marginals.
///
/// A message is μ(T | S) from a clique over the separator S to a neighbour, with T the wanted
/// attributes on the sender's side. Messages are valid until the tables change.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    cache: FxHashMap<(usize, usize, AttributeSet), Rc<Table>>,
    cells: usize,
    costs: Costs,
    scratch: Scratch,
}

/// The costs of the messages of one marginal, over every edge to and from the parent.
///
/// The wanted attributes of an edge follow from the marginal, so each cost is computed once; NaN
/// until then.
type Costs = Vec<[f64; 2]>;

/// Maximum number of cells of cached messages (32 MiB). Other messages are computed again.
const MAX_CACHED_CELLS: usize = 1 << 22;

impl CalibratedTree {
    pub(crate) fn new(
        sizes: Vec<usize>,
        tree: JunctionTree,
        tables: Vec<Vec<f64>>,
        separators: Vec<Vec<f64>>,
    ) -> Self {
        let mut below = tree.cliques().to_vec();
        for clique in (1..below.len()).rev() {
            if let Some((parent, _)) = tree.parent(clique) {
                below[parent] = below[parent].union(below[clique]);
            }
        }
        let clique_cells = tree.cliques().iter().map(|&clique| cells(&sizes, clique)).collect();
        let separator =
            |clique| tree.parent(clique).map_or(AttributeSet::EMPTY, |(_, separator)| separator);
        let separator_cells =
            (0..below.len()).map(|clique| cells(&sizes, separator(clique))).collect();
        CalibratedTree { sizes, tree, tables, separators, below, clique_cells, separator_cells }
    }

    /// Returns the junction tree.
    pub fn tree(&self) -> &JunctionTree {
        &self.tree
    }

    /// Returns the sizes of all attributes of the schema.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the attributes of the model.
    pub fn attributes(&self) -> AttributeSet {
        self.below.first().copied().unwrap_or_default()
    }

    /// Returns the marginal on a clique, by its index, row-major.
    pub fn table(&self, clique: usize) -> &[f64] {
        self.tables.get(clique).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of records of the model.
    pub fn total(&self) -> f64 {
        self.tables.first().map_or(0.0, |table| table.iter().sum())
    }

    /// Returns the total number of allocated cells of the cliques.
    pub fn cells(&self) -> usize {
        self.tables.iter().map(Vec::len).sum()
    }

    /// Returns the model size in MB (2²⁰ bytes), with 8 bytes per allocated cell.
    pub fn megabytes(&self) -> f64 {
        (self.cells() * size_of::<f64>()) as f64 / f64::from(1 << 20)
    }

    /// Returns the marginal on a set of attributes, row-major.
    ///
    /// It is summed from a clique that contains the set, or computed by variable elimination where
    /// that is cheapest. O(cells of the clique), or of the intermediate tables: n_γ times the cells
    /// of a separator.
    ///
    /// # Errors
    /// An attribute that the model lacks.
    pub fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.marginal_with(&mut Messages::default(), gamma)
    }

    /// As [`CalibratedTree::marginal`], with cached messages.
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
        if let Some(clique) = self.tree.clique_of(&self.sizes, gamma) {
            return Ok(self.summed(clique, gamma));
        }
        Ok(self.across(messages, gamma))
    }

    /// Computes a marginal that no clique contains, at the cheapest clique or separator.
    fn across(&self, messages: &mut Messages, gamma: AttributeSet) -> Vec<f64> {
        let mut costs = std::mem::take(&mut messages.costs);
        costs.clear();
        costs.resize(self.tables.len(), [f64::NAN; 2]);
        let (mut best, mut cheapest) = ((0, false), f64::INFINITY);
        // The first of equally cheap positions is used. A position is skipped once a part of its
        // cost exceeds this bound.
        let bound = self.cost(messages, &mut costs, self.nearest(gamma), None, gamma);
        for clique in 0..self.tables.len() {
            if self.clique_cells[clique] <= bound.min(cheapest) {
                let cost = self.cost(messages, &mut costs, clique, None, gamma);
                if cost < cheapest {
                    (best, cheapest) = ((clique, false), cost);
                }
            }
            let edge = self
                .tree
                .parent(clique)
                .filter(|_| self.separator_cells[clique] <= bound.min(cheapest));
            let Some((parent, separator)) = edge else { continue };
            let joined = cells(&self.sizes, separator.union(gamma));
            if joined <= bound.min(cheapest) {
                let (lower, upper) = self.sides(clique, separator, gamma);
                let ends = self.message_cost(messages, &mut costs, clique, parent, lower)
                    + self.message_cost(messages, &mut costs, parent, clique, upper);
                if ends + joined < cheapest {
                    (best, cheapest) = ((clique, true), ends + joined);
                }
            }
        }
        messages.costs = costs;
        let (clique, at_separator) = best;
        let Some((parent, separator)) = self.tree.parent(clique).filter(|_| at_separator) else {
            return self.eliminated(messages, clique, None, gamma).values;
        };
        let (lower, upper) = self.sides(clique, separator, gamma);
        let mut current = Table { set: separator, values: self.separators[clique].clone() };
        for (from, to, wanted, rest) in
            [(clique, parent, lower, separator), (parent, clique, upper, gamma)]
        {
            let message = if wanted.is_empty() {
                None
            } else {
                Some(self.message(messages, from, to, wanted))
            };
            current = match message {
                Some(message) => contracted(
                    &self.sizes,
                    &current,
                    &message,
                    gamma.union(rest),
                    &mut messages.scratch,
                ),
                None => current.onto(&self.sizes, gamma.union(rest)),
            };
        }
        current.values
    }

    /// Returns the attributes of γ outside a separator, on the lower and on the upper side.
    fn sides(
        &self,
        clique: usize,
        separator: AttributeSet,
        gamma: AttributeSet,
    ) -> (AttributeSet, AttributeSet) {
        let outside = gamma.without(separator);
        (outside.intersection(self.below[clique]), outside.without(self.below[clique]))
    }

    /// Returns the clique with the most attributes of a set; among several, the smallest.
    fn nearest(&self, gamma: AttributeSet) -> usize {
        let shared = |clique: usize| self.tree.cliques()[clique].intersection(gamma).len();
        let smaller = |a: usize, b: usize| self.clique_cells[a].total_cmp(&self.clique_cells[b]);
        (0..self.tables.len())
            .min_by(|&a, &b| shared(b).cmp(&shared(a)).then_with(|| smaller(a, b)))
            .unwrap_or(0)
    }

    /// Returns the approximate number of multiplications of [`CalibratedTree::eliminated`].
    fn cost(
        &self,
        messages: &Messages,
        costs: &mut [[f64; 2]],
        clique: usize,
        towards: Option<usize>,
        kept: AttributeSet,
    ) -> f64 {
        let sources = self.sources(clique, towards, kept);
        let mut current = sources
            .iter()
            .fold(kept, |all, source| all.union(source.2))
            .intersection(self.tree.cliques()[clique]);
        let mut cost = self.clique_cells[clique];
        for (k, &(neighbour, beyond, separator)) in sources.iter().enumerate() {
            let all = current.union(separator).union(beyond);
            cost += self.message_cost(messages, costs, neighbour, clique, beyond)
                + cells(&self.sizes, all);
            current = sources[k + 1..]
                .iter()
                .fold(kept, |all, source| all.union(source.2))
                .intersection(all);
        }
        cost
    }

    fn message_cost(
        &self,
        messages: &Messages,
        costs: &mut [[f64; 2]],
        from: usize,
        to: usize,
        wanted: AttributeSet,
    ) -> f64 {
        if wanted.is_empty() {
            return 0.0;
        }
        let (edge, separator) = self.separator(from, to);
        let direction = usize::from(from < to);
        let known = costs[edge][direction];
        if !known.is_nan() {
            return known;
        }
        let cost = match messages.cache.contains_key(&(from, to, wanted)) {
            true => 0.0,
            false => self.cost(messages, costs, from, Some(to), separator.union(wanted)),
        };
        costs[edge][direction] = cost;
        cost
    }

    /// Returns the neighbours of a clique that lead to wanted attributes.
    ///
    /// Each comes with these attributes and the separator. The largest separator comes first, so
    /// that intermediate tables stay small.
    fn sources(
        &self,
        clique: usize,
        towards: Option<usize>,
        kept: AttributeSet,
    ) -> Vec<(usize, AttributeSet, AttributeSet)> {
        let mut missing = kept.without(self.tree.cliques()[clique]);
        let mut sources = Vec::new();
        let up = self.tree.parent(clique).map(|(parent, _)| parent);
        for neighbour in up.into_iter().chain(self.tree.children(clique).iter().copied()) {
            if missing.is_empty() {
                break;
            }
            if Some(neighbour) == towards {
                continue;
            }
            let beyond = match Some(neighbour) == up {
                true => missing.without(self.below[clique]),
                false => missing.intersection(self.below[neighbour]),
            };
            if !beyond.is_empty() {
                // At most one neighbour leads to an attribute.
                missing = missing.without(beyond);
                sources.push((neighbour, beyond, self.separator(neighbour, clique).1));
            }
        }
        let size = |neighbour: usize| self.separator_cells[neighbour.max(clique)];
        sources.sort_by(|a, b| size(b.0).total_cmp(&size(a.0)));
        sources
    }

    /// Sums the model on one side of the tree over all attributes not in `kept`.
    ///
    /// It is the side of the clique without the neighbour `towards`.
    fn eliminated(
        &self,
        messages: &mut Messages,
        clique: usize,
        towards: Option<usize>,
        kept: AttributeSet,
    ) -> Table {
        let sources = self.sources(clique, towards, kept);
        let needed =
            |from: usize| sources[from..].iter().fold(kept, |all, source| all.union(source.2));
        let start = needed(0).intersection(self.tree.cliques()[clique]);
        let mut current = Table { set: start, values: self.summed(clique, start) };
        for (k, &(neighbour, beyond, _)) in sources.iter().enumerate() {
            let message = self.message(messages, neighbour, clique, beyond);
            current =
                contracted(&self.sizes, &current, &message, needed(k + 1), &mut messages.scratch);
        }
        current
    }

    /// Returns the message μ(T | S) from a clique to its neighbour.
    fn message(
        &self,
        messages: &mut Messages,
        from: usize,
        to: usize,
        wanted: AttributeSet,
    ) -> Rc<Table> {
        if let Some(known) = messages.cache.get(&(from, to, wanted)) {
            return Rc::clone(known);
        }
        let (edge, separator) = self.separator(from, to);
        let mut table = self.eliminated(messages, from, Some(to), separator.union(wanted));
        let divide = Projection::new(&self.sizes, table.set, separator);
        divide.apply(&mut table.values, &self.separators[edge], |x, s| {
            *x = if s > 0.0 { *x / s } else { 0.0 }
        });
        let table = Rc::new(table);
        if messages.cells + table.values.len() <= MAX_CACHED_CELLS {
            messages.cells += table.values.len();
            messages.cache.insert((from, to, wanted), Rc::clone(&table));
        }
        table
    }

    /// Returns the lower clique of an edge, and the separator.
    fn separator(&self, clique: usize, neighbour: usize) -> (usize, AttributeSet) {
        let lower = clique.max(neighbour);
        (lower, self.tree.parent(lower).map_or(AttributeSet::EMPTY, |(_, separator)| separator))
    }

    /// Passes a Hugin message over the edge between a clique and its parent.
    ///
    /// The receiver's table is multiplied by the sender's sums over the separator, divided by the
    /// previous ones.
    pub(crate) fn pass(&mut self, lower: usize, upwards: bool) {
        let Some((parent, separator)) = self.tree.parent(lower) else { return };
        let (sender, receiver) = if upwards { (lower, parent) } else { (parent, lower) };
        let cliques = self.tree.cliques();
        let (from, to) = (cliques[sender], cliques[receiver]);
        let new = summed(&from.select(&self.sizes), from.axes_in(separator), &self.tables[sender]);
        let old = std::mem::replace(&mut self.separators[lower], new);
        let ratios: Vec<f64> = self.separators[lower]
            .iter()
            .zip(&old)
            .map(|(n, o)| if *o > 0.0 { n / o } else { 1.0 })
            .collect();
        let projection = Projection::new(&self.sizes, to, separator);
        projection.apply(&mut self.tables[receiver], &ratios, |x, ratio| *x *= ratio);
    }

    fn summed(&self, clique: usize, kept: AttributeSet) -> Vec<f64> {
        let set = self.tree.cliques()[clique];
        summed(&set.select(&self.sizes), set.axes_in(kept), &self.tables[clique])
    }
}
