//! Product queries on single attributes and pairs with any weights.
//!
//! The blocks of ∅ and of single attributes are dense; the block of the pairs is diagonal.

use ndarray::Array2;

use super::axis::{Axis, ByAxis};
use super::schur::{Couple, Step, root_trace};

/// A workload of product queries on single attributes and pairs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pairs {
    /// The weight of each attribute's single queries with the same Gram as in pairs.
    ///
    /// Single queries with another Gram are in the axis.
    pub singles: Vec<f64>,
    /// The pairs with their weights.
    pub pairs: Vec<(usize, usize, f64)>,
}

impl Pairs {
    /// Returns tr √K and the error of the quadrature.
    ///
    /// Adds derivatives to `by`, one per axis. O(nodes · ((Σ r_i)³ + Σ_pairs r_i r_j)) time.
    pub fn root_trace(&self, axes: &[Axis], step: Step, by: Option<&mut [ByAxis]>) -> (f64, f64) {
        let mut offsets = vec![1];
        for axis in axes {
            offsets.push(offsets.last().copied().unwrap_or(1) + axis.rank());
        }
        let a = self.dense(axes, &offsets);
        let couples = self.couples(axes, &offsets);
        let mut by = by;
        let found = root_trace(&a, &couples, axes, step, by.as_deref_mut().map(|by| (by, 1.0)));
        if let (Some(by), Some(by_a)) = (by, &found.by_a) {
            self.pull_back(axes, &offsets, by_a, by);
        }
        (found.trace, found.error)
    }

    fn dense(&self, axes: &[Axis], offsets: &[usize]) -> Array2<f64> {
        let order = offsets.last().copied().unwrap_or(1);
        let mut a = Array2::zeros((order, order));
        for (i, axis) in axes.iter().enumerate() {
            let index = |k: usize| if k == 0 { 0 } else { offsets[i] + k - 1 };
            if let Some(alone) = &axis.alone {
                for ((k, l), x) in alone.matrix.indexed_iter() {
                    a[[index(k), index(l)]] += x;
                }
            }
            self.add_level(&mut a, axis, offsets[i], self.singles[i]);
        }
        for &(i, j, p) in &self.pairs {
            // Added twice below, once per attribute.
            a[[0, 0]] -= p * axes[i].s00 * axes[j].s00;
            self.add_level(&mut a, &axes[i], offsets[i], p * axes[j].s00);
            self.add_level(&mut a, &axes[j], offsets[j], p * axes[i].s00);
            for (k, x) in axes[i].s.iter().enumerate() {
                for (l, y) in axes[j].s.iter().enumerate() {
                    a[[offsets[i] + k, offsets[j] + l]] += p * x * y;
                    a[[offsets[j] + l, offsets[i] + k]] += p * x * y;
                }
            }
        }
        a
    }

    /// Adds `level · S̃` of one attribute.
    fn add_level(&self, a: &mut Array2<f64>, axis: &Axis, offset: usize, level: f64) {
        a[[0, 0]] += level * axis.s00;
        for k in 0..axis.rank() {
            a[[0, offset + k]] += level * axis.s[k];
            a[[offset + k, 0]] += level * axis.s[k];
            a[[offset + k, offset + k]] += level * axis.w[k];
        }
    }

    fn couples(&self, axes: &[Axis], offsets: &[usize]) -> Vec<Couple> {
        let mut couples = Vec::new();
        for &(i, j, p) in &self.pairs {
            for a in 0..axes[i].rank() {
                for b in 0..axes[j].rank() {
                    let columns = [0, offsets[i] + a, offsets[j] + b];
                    couples.push(Couple {
                        first: (i, a),
                        second: (j, b),
                        columns,
                        alpha: [p; 3],
                        delta: p,
                    });
                }
            }
        }
        couples
    }

    fn pull_back(&self, axes: &[Axis], offsets: &[usize], by_a: &Array2<f64>, by: &mut [ByAxis]) {
        // Adds the derivative by S̃ of one attribute. Returns the derivative by its factor.
        let level = |i: usize, factor: f64, by: &mut ByAxis| -> f64 {
            let (axis, offset) = (&axes[i], offsets[i]);
            by.s00 += factor * by_a[[0, 0]];
            let mut by_factor = by_a[[0, 0]] * axis.s00;
            for k in 0..axis.rank() {
                by.s[k] += 2.0 * factor * by_a[[0, offset + k]];
                by.w[k] += factor * by_a[[offset + k, offset + k]];
                by_factor += 2.0 * by_a[[0, offset + k]] * axis.s[k]
                    + by_a[[offset + k, offset + k]] * axis.w[k];
            }
            by_factor
        };
        for (i, axis) in axes.iter().enumerate() {
            let index = |k: usize| if k == 0 { 0 } else { offsets[i] + k - 1 };
            if let Some(alone) = &mut by[i].alone {
                let r = axis.rank();
                *alone +=
                    &Array2::from_shape_fn((r + 1, r + 1), |(k, l)| by_a[[index(k), index(l)]]);
            }
            level(i, self.singles[i], &mut by[i]);
        }
        for &(i, j, p) in &self.pairs {
            by[i].s00 -= p * by_a[[0, 0]] * axes[j].s00;
            by[j].s00 -= p * by_a[[0, 0]] * axes[i].s00;
            let by_j = level(i, p * axes[j].s00, &mut by[i]);
            let by_i = level(j, p * axes[i].s00, &mut by[j]);
            by[j].s00 += p * by_j;
            by[i].s00 += p * by_i;
            for k in 0..axes[i].rank() {
                for l in 0..axes[j].rank() {
                    let g = 2.0 * p * by_a[[offsets[i] + k, offsets[j] + l]];
                    by[i].s[k] += g * axes[j].s[l];
                    by[j].s[l] += g * axes[i].s[k];
                }
            }
        }
    }
}
