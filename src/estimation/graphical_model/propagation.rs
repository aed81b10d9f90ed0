//! Belief propagation in log space, and the largest value of a sum of potentials by
//! max-propagation.

use super::calibrated::CalibratedTree;
use super::exponential::exponentials;
use super::junction_tree::JunctionTree;
use super::table::Projection;
use crate::domain::AttributeSet;

/// The projections of the cliques onto the separators to their parents and from these, made once
/// per tree.
#[derive(Debug, Clone)]
pub(super) struct Propagation {
    /// Of every clique: onto its separator, and from its parent onto the same.
    onto: Vec<Option<(usize, Projection, Projection)>>,
}

impl Propagation {
    pub(super) fn new(sizes: &[usize], tree: &JunctionTree) -> Self {
        let cliques = tree.cliques();
        let edge = |(k, &clique): (usize, &AttributeSet)| {
            let (parent, separator) = tree.parent(k)?;
            let own = Projection::new(sizes, clique, separator);
            Some((parent, own, Projection::new(sizes, cliques[parent], separator)))
        };
        Propagation { onto: cliques.iter().enumerate().map(edge).collect() }
    }

    /// Turns log-potentials of the cliques into the marginals of `x ∝ exp(Σ_C θ_C(x_C))` on them,
    /// adding up to `total`, and on the separators.
    ///
    /// Upwards every clique sends `ln Σ exp(θ_C + messages)` over its separator, the largest term
    /// of every sum taken out first; downwards the parent's marginal on the separator replaces the
    /// message. O(cells), two exponentials each.
    pub(super) fn marginals(&self, potentials: &mut [Vec<f64>], total: f64) -> Vec<Vec<f64>> {
        let mut upwards: Vec<Vec<f64>> = vec![Vec::new(); potentials.len()];
        for clique in (1..potentials.len()).rev() {
            let Some((parent, own, parents)) = &self.onto[clique] else { continue };
            let largest = maxima(own, &potentials[clique]);
            let table = &mut potentials[clique];
            // Kept relative to the largest of its separator cell: what downward propagation needs.
            own.apply(table, &largest, |x, m| *x -= m);
            let mut terms = table.clone();
            exponentials(&mut terms);
            let sums = own.reduced(&terms, 0.0, |sum, x| *sum += x);
            *table = terms;
            let message: Vec<f64> =
                sums.iter().zip(&largest).map(|(sum, m)| sum.ln() + m).collect();
            parents.apply(&mut potentials[*parent], &message, |x, m| *x += m);
            upwards[clique] = sums;
        }
        if let Some(root) = potentials.first_mut() {
            let largest = root.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            root.iter_mut().for_each(|x| *x -= largest);
            exponentials(root);
            let scale = total / root.iter().sum::<f64>();
            root.iter_mut().for_each(|x| *x *= scale);
        }
        let mut separators = vec![vec![total]; potentials.len()];
        for clique in 1..potentials.len() {
            let Some((parent, own, parents)) = &self.onto[clique] else { continue };
            let separator = parents.reduced(&potentials[*parent], 0.0, |sum, x| *sum += x);
            // The terms add up to the sums over the separator, each at least 1.
            let ratios: Vec<f64> =
                separator.iter().zip(&upwards[clique]).map(|(s, sum)| s / sum).collect();
            own.apply(&mut potentials[clique], &ratios, |x, ratio| *x *= ratio);
            separators[clique] = separator;
        }
        separators
    }

    /// `max_x Σ_C θ_C(x_C)`, by max-propagation. O(cells).
    pub(super) fn largest(&self, potentials: &mut [Vec<f64>]) -> f64 {
        for clique in (1..potentials.len()).rev() {
            let Some((parent, own, parents)) = &self.onto[clique] else { continue };
            let message = maxima(own, &potentials[clique]);
            parents.apply(&mut potentials[*parent], &message, |x, m| *x += m);
        }
        potentials
            .first()
            .map_or(0.0, |root| root.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }
}

fn maxima(onto: &Projection, table: &[f64]) -> Vec<f64> {
    onto.reduced(table, f64::NEG_INFINITY, |largest, x| {
        if x > *largest {
            *largest = x;
        }
    })
}

impl CalibratedTree {
    /// The marginals of `x ∝ exp(Σ_C θ_C(x_C))` over the cliques of a tree, in counts that add up
    /// to `total`; θ_C row-major.
    ///
    /// *Time*: O(cells of the tree), two passes in log space. The potentials must be finite, one
    /// for every cell of every clique.
    pub fn of_potentials(
        sizes: &[usize],
        tree: &JunctionTree,
        mut potentials: Vec<Vec<f64>>,
        total: f64,
    ) -> Self {
        let separators = Propagation::new(sizes, tree).marginals(&mut potentials, total);
        CalibratedTree::new(sizes.to_vec(), tree.clone(), potentials, separators)
    }
}
