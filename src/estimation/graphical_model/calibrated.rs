//! A calibrated junction tree: a distribution over all attributes, and the marginals of any of
//! them.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::junction_tree::{JunctionTree, cells};
use super::table::{Projection, Scratch, Table, contracted, without};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::residual::summed;

/// The marginals of a graphical model on the cliques of its junction tree, which agree on their
/// separators: the distribution `Π_cliques μ_C / Π_separators μ_S`, in counts.
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
    /// The cells of every clique.
    clique_cells: Vec<f64>,
    /// The cells of the separator to the parent, of every clique.
    separator_cells: Vec<f64>,
}

/// Messages of variable elimination that several marginals share: μ(T | S) from a clique over the
/// separator S to a neighbour, T the wanted attributes beyond it. They are good until the tables
/// change.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    known: FxHashMap<(usize, usize, AttributeSet), Rc<Table>>,
    cells: usize,
    costs: Costs,
    scratch: Scratch,
}

/// What the messages that one marginal needs would cost: over the edge from every clique to its
/// parent, and back. Which attributes are wanted over an edge follows from the marginal, so that
/// each is computed once; NaN until then.
type Costs = Vec<[f64; 2]>;

/// Messages are kept up to this many cells (32 MiB); others are sent again.
const CELLS_KEPT: usize = 1 << 22;

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

    /// Σ over the cliques of their cells, as they are allocated.
    pub fn cells(&self) -> usize {
        self.tables.iter().map(Vec::len).sum()
    }

    /// The model size in MB: 8 bytes for every cell of every maximal clique, as it is allocated.
    pub fn megabytes(&self) -> f64 {
        (self.cells() * size_of::<f64>()) as f64 / f64::from(1 << 20)
    }

    /// The marginal on any set of attributes, row-major: summed from a clique that contains it,
    /// else by variable elimination towards the clique that has most of it. O(cells of the clique),
    /// or of the tables on the way: n_γ times a separator.
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
        if let Some(clique) = self.tree.clique_of(&self.sizes, gamma) {
            return Ok(self.summed(clique, gamma));
        }
        Ok(self.across(messages, gamma))
    }

    /// A marginal that no clique has, put together where that is cheapest: at a clique, or across a
    /// separator.
    fn across(&self, messages: &mut Messages, gamma: AttributeSet) -> Vec<f64> {
        let mut costs = std::mem::take(&mut messages.costs);
        costs.clear();
        costs.resize(self.tables.len(), [f64::NAN; 2]);
        let (mut best, mut cheapest) = ((0, None), f64::INFINITY);
        // The first of the cheapest places is taken. Where a part of the cost is above this bound
        // on it no more is computed.
        let bound = self.cost(messages, &mut costs, self.nearest(gamma), None, gamma);
        for clique in 0..self.tables.len() {
            if self.clique_cells[clique] <= bound.min(cheapest) {
                let here = self.cost(messages, &mut costs, clique, None, gamma);
                if here < cheapest {
                    (best, cheapest) = ((clique, None), here);
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
                    (best, cheapest) = ((clique, Some(())), ends + joined);
                }
            }
        }
        messages.costs = costs;
        let clique = best.0;
        let Some((parent, separator)) = self.tree.parent(clique).filter(|_| best.1.is_some())
        else {
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

    /// The attributes of γ beyond a separator, on the lower and on the upper side.
    fn sides(
        &self,
        clique: usize,
        separator: AttributeSet,
        gamma: AttributeSet,
    ) -> (AttributeSet, AttributeSet) {
        let open = without(gamma, separator);
        (open.intersection(self.below[clique]), without(open, self.below[clique]))
    }

    /// The clique that has most attributes of a set; of several the smallest.
    fn nearest(&self, gamma: AttributeSet) -> usize {
        let shared = |clique: usize| self.tree.cliques()[clique].intersection(gamma).len();
        let smaller = |a: usize, b: usize| self.clique_cells[a].total_cmp(&self.clique_cells[b]);
        (0..self.tables.len())
            .min_by(|&a, &b| shared(b).cmp(&shared(a)).then_with(|| smaller(a, b)))
            .unwrap_or(0)
    }

    /// About how many multiplications [`CalibratedTree::eliminated`] would take.
    fn cost(
        &self,
        messages: &Messages,
        costs: &mut [[f64; 2]],
        clique: usize,
        towards: Option<usize>,
        kept: AttributeSet,
    ) -> f64 {
        let own = self.tree.cliques()[clique];
        let sources = self.sources(clique, towards, kept);
        let mut current =
            sources.iter().fold(kept, |all, source| all.union(source.2)).intersection(own);
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
        let way = usize::from(from < to);
        let known = costs[edge][way];
        if !known.is_nan() {
            return known;
        }
        let cost = match messages.known.contains_key(&(from, to, wanted)) {
            true => 0.0,
            false => self.cost(messages, costs, from, Some(to), separator.union(wanted)),
        };
        costs[edge][way] = cost;
        cost
    }

    /// The neighbours of a clique that have wanted attributes, with these and the separators: the
    /// largest separator first, so that what is kept for the others is multiplied by little.
    fn sources(
        &self,
        clique: usize,
        towards: Option<usize>,
        kept: AttributeSet,
    ) -> Vec<(usize, AttributeSet, AttributeSet)> {
        let mut missing = without(kept, self.tree.cliques()[clique]);
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
                // What the rest of the tree has that this side lacks.
                true => without(missing, self.below[clique]),
                false => missing.intersection(self.below[neighbour]),
            };
            if !beyond.is_empty() {
                // No two neighbours lead to the same attribute.
                missing = without(missing, beyond);
                sources.push((neighbour, beyond, self.separator(neighbour, clique).1));
            }
        }
        let size = |neighbour: usize| self.separator_cells[neighbour.max(clique)];
        sources.sort_by(|a, b| size(b.0).total_cmp(&size(a.0)));
        sources
    }

    /// Σ over everything but `kept` of the model on this clique's side of the tree, away from the
    /// neighbour `towards`.
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

    /// μ(T | S) from one clique to its neighbour.
    fn message(
        &self,
        messages: &mut Messages,
        from: usize,
        to: usize,
        wanted: AttributeSet,
    ) -> Rc<Table> {
        if let Some(known) = messages.known.get(&(from, to, wanted)) {
            return Rc::clone(known);
        }
        let (edge, separator) = self.separator(from, to);
        let mut table = self.eliminated(messages, from, Some(to), separator.union(wanted));
        let divide = Projection::new(&self.sizes, table.set, separator);
        divide.apply(&mut table.values, &self.separators[edge], |x, s| {
            *x = if s > 0.0 { *x / s } else { 0.0 }
        });
        let table = Rc::new(table);
        if messages.cells + table.values.len() <= CELLS_KEPT {
            messages.cells += table.values.len();
            messages.known.insert((from, to, wanted), Rc::clone(&table));
        }
        table
    }

    /// The lower clique of an edge, and the separator.
    fn separator(&self, one: usize, other: usize) -> (usize, AttributeSet) {
        let lower = one.max(other);
        (lower, self.tree.parent(lower).map_or(AttributeSet::EMPTY, |(_, separator)| separator))
    }

    /// The Hugin message over the edge from a clique to its parent: the sums of the sender's table
    /// over the separator, by the old ones, multiply the receiver's.
    pub(crate) fn pass(&mut self, lower: usize, upwards: bool) {
        let Some((parent, separator)) = self.tree.parent(lower) else { return };
        let (sender, receiver) = if upwards { (lower, parent) } else { (parent, lower) };
        let cliques = self.tree.cliques();
        let (from, to) = (cliques[sender], cliques[receiver]);
        let new = summed(&from.items(&self.sizes), from.axes_in(separator), &self.tables[sender]);
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
        summed(&set.items(&self.sizes), set.axes_in(kept), &self.tables[clique])
    }
}
