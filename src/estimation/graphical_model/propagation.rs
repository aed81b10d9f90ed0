//! Belief propagation in log space, and the maximum of a sum of potentials by max-propagation.

use super::calibrated::CalibratedTree;
use super::junction_tree::JunctionTree;
use super::table::Projection;
use crate::domain::AttributeSet;
use matmech_linalg::exponentials;

/// The projections of cliques onto separators, computed once per tree.
#[derive(Debug, Clone)]
pub(super) struct Propagation {
    /// For every clique: its parent, and the projections of the clique and of the parent onto their
    /// separator.
    onto: Vec<Option<(usize, Projection, Projection)>>,
}

impl Propagation {
    pub(super) fn new(sizes: &[usize], tree: &JunctionTree) -> Self {
        let cliques = tree.cliques();
        let edge = |(k, &clique): (usize, &AttributeSet)| {
            let (parent, separator) = tree.parent(k)?;
            let from_clique = Projection::new(sizes, clique, separator);
            Some((parent, from_clique, Projection::new(sizes, cliques[parent], separator)))
        };
        Propagation { onto: cliques.iter().enumerate().map(edge).collect() }
    }

    /// Replaces log-potentials θ of the cliques by marginals, and returns those on the separators.
    ///
    /// The marginals are those of `x ∝ exp(Σ_C θ_C(x_C))` and sum to `total`. Upwards every clique
    /// sends `ln Σ exp(θ_C + messages)` over its separator, with the largest term of every sum
    /// factored out. Downwards the parent's marginal on the separator replaces the message.
    /// O(cells), with two exponentials per cell.
    pub(super) fn marginals(&self, potentials: &mut [Vec<f64>], total: f64) -> Vec<Vec<f64>> {
        let mut upwards: Vec<Vec<f64>> = vec![Vec::new(); potentials.len()];
        for clique in (1..potentials.len()).rev() {
            let Some((parent, from_clique, from_parent)) = &self.onto[clique] else { continue };
            let largest = maxima(from_clique, &potentials[clique]);
            let table = &mut potentials[clique];
            // Relative to the largest term of its separator cell, as downward propagation needs it.
            from_clique.apply(table, &largest, |x, m| *x -= m);
            let mut terms = table.clone();
            exponentials(&mut terms);
            let sums = from_clique.reduced(&terms, 0.0, |sum, x| *sum += x);
            *table = terms;
            let message: Vec<f64> =
                sums.iter().zip(&largest).map(|(sum, m)| sum.ln() + m).collect();
            from_parent.apply(&mut potentials[*parent], &message, |x, m| *x += m);
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
            let Some((parent, from_clique, from_parent)) = &self.onto[clique] else { continue };
            let separator = from_parent.reduced(&potentials[*parent], 0.0, |sum, x| *sum += x);
            // The terms sum to `upwards` over the separator, and each sum is at least 1.
            let ratios: Vec<f64> =
                separator.iter().zip(&upwards[clique]).map(|(s, sum)| s / sum).collect();
            from_clique.apply(&mut potentials[clique], &ratios, |x, ratio| *x *= ratio);
            separators[clique] = separator;
        }
        separators
    }

    /// Returns `max_x Σ_C θ_C(x_C)`, by max-propagation. O(cells).
    pub(super) fn largest(&self, potentials: &mut [Vec<f64>]) -> f64 {
        for clique in (1..potentials.len()).rev() {
            let Some((parent, from_clique, from_parent)) = &self.onto[clique] else { continue };
            let message = maxima(from_clique, &potentials[clique]);
            from_parent.apply(&mut potentials[*parent], &message, |x, m| *x += m);
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
    /// Computes the marginals of `x ∝ exp(Σ_C θ_C(x_C))` over the cliques of a tree, in counts.
    ///
    /// The counts sum to `total`. The potentials θ_C are row-major and must be finite, one per cell
    /// of every clique. *Time*: O(cells of the tree), two passes in log space.
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
