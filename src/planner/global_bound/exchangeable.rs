//! Exchangeable attributes: one family on all, one weight for singles and one for pairs.
//!
//! The space splits by representations of the symmetric group into two small blocks and a diagonal.
//! The block sizes do not depend on the number d of attributes: the trivial block has 1 + r +
//! r(r+1)/2 dimensions and occurs once; the standard block has r + r² dimensions and occurs d − 1
//! times.

use ndarray::Array2;

use super::axis::{Axis, ByAxis};
use super::schur::{Couple, RootTrace, Step, root_trace};

/// A workload on d attributes, with one weight for singles and one for pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exchangeable {
    /// The number of attributes.
    pub d: usize,
    /// The weight of the queries on one attribute, or 0 if there are none.
    pub single: f64,
    /// The weight of the queries on pairs.
    pub pair: f64,
}

impl Exchangeable {
    /// Returns tr √K and the error of the quadrature.
    ///
    /// Adds derivatives to `by`. O(nodes · n³) time.
    pub fn root_trace(&self, axis: &Axis, step: Step, by: Option<&mut ByAxis>) -> (f64, f64) {
        let (d, p, q) = (self.d as f64, self.single, self.pair);
        let axes = std::slice::from_ref(axis);
        let mut by = by;
        let level = p + q * (d - 1.0) * axis.s00;
        let trivial = self.trivial(axis, level);
        let first = root_trace(
            &trivial,
            &self.trivial_couples(axis.rank()),
            axes,
            step,
            parts(&mut by, 1.0),
        );
        let standard = self.standard(axis, level);
        let copies = d - 1.0;
        let second = root_trace(
            &standard,
            &self.standard_couples(axis.rank()),
            axes,
            step,
            parts(&mut by, copies),
        );
        let (sum, roots): (f64, f64) = (axis.w.sum(), axis.w.iter().map(|w| w.sqrt()).sum());
        let (symmetric, antisymmetric) = (d * (d - 1.0) / 2.0 - d, (d - 1.0) * (d - 2.0) / 2.0);
        let rest = q.sqrt() / 2.0
            * (symmetric * (roots * roots + sum) + antisymmetric * (roots * roots - sum));
        if let Some(by) = by {
            self.pull_back(axis, &first, &second, by);
            for (by, w) in by.w.iter_mut().zip(&axis.w) {
                let root = if *w > 0.0 { roots / w.sqrt() } else { 0.0 };
                *by += q.sqrt() / 2.0 * (symmetric * (root + 1.0) + antisymmetric * (root - 1.0));
            }
        }
        (first.trace + copies * second.trace + rest, first.error + copies * second.error)
    }

    fn trivial(&self, axis: &Axis, level: f64) -> Array2<f64> {
        let (d, p, q) = (self.d as f64, self.single, self.pair);
        let r = axis.rank();
        let mut a = Array2::zeros((r + 1, r + 1));
        a[[0, 0]] = p * d * axis.s00 + q * d * (d - 1.0) / 2.0 * axis.s00 * axis.s00;
        for i in 0..r {
            a[[0, i + 1]] = d.sqrt() * level * axis.s[i];
            a[[i + 1, 0]] = a[[0, i + 1]];
            for j in 0..r {
                a[[i + 1, j + 1]] = q * (d - 1.0) * axis.s[i] * axis.s[j];
            }
            a[[i + 1, i + 1]] += level * axis.w[i];
        }
        a
    }

    fn standard(&self, axis: &Axis, level: f64) -> Array2<f64> {
        let r = axis.rank();
        let mut a = Array2::from_shape_fn((r, r), |(i, j)| -self.pair * axis.s[i] * axis.s[j]);
        for i in 0..r {
            a[[i, i]] += level * axis.w[i];
        }
        a
    }

    /// Returns the symmetric tensors of the trivial representation.
    fn trivial_couples(&self, r: usize) -> Vec<Couple> {
        let (d, q) = (self.d as f64, self.pair);
        let (total, single) = ((d * (d - 1.0) / 2.0).sqrt(), (d - 1.0).sqrt());
        let root = std::f64::consts::SQRT_2;
        let mut couples = Vec::with_capacity(r * (r + 1) / 2);
        for a in 0..r {
            couples.push(couple(a, a, [0, a + 1, a + 1], [q * total, q * root * single, 0.0], q));
            for b in a + 1..r {
                couples.push(couple(
                    a,
                    b,
                    [0, a + 1, b + 1],
                    [q * root * total, q * single, q * single],
                    q,
                ));
            }
        }
        couples
    }

    /// Returns the symmetric and antisymmetric tensors of the standard representation.
    fn standard_couples(&self, r: usize) -> Vec<Couple> {
        let (d, q) = (self.d as f64, self.pair);
        let (symmetric, antisymmetric) = ((d - 2.0).max(0.0).sqrt(), d.sqrt());
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let mut couples = Vec::with_capacity(r * r);
        for a in 0..r {
            couples.push(couple(a, a, [a, a, a], [0.0, q * symmetric, 0.0], q));
            for b in a + 1..r {
                let (even, odd) = (q * symmetric * half, q * antisymmetric * half);
                couples.push(couple(a, b, [a, a, b], [0.0, even, even], q));
                couples.push(couple(a, b, [a, a, b], [0.0, odd, -odd], q));
            }
        }
        couples
    }

    /// Adds the derivatives by the axis, given the derivatives by the blocks A.
    fn pull_back(&self, axis: &Axis, trivial: &RootTrace, standard: &RootTrace, by: &mut ByAxis) {
        let (d, p, q) = (self.d as f64, self.single, self.pair);
        let (Some(first), Some(second)) = (&trivial.by_a, &standard.by_a) else { return };
        let level = p + q * (d - 1.0) * axis.s00;
        by.s00 += first[[0, 0]] * (p * d + q * d * (d - 1.0) * axis.s00);
        let mut by_level = 0.0;
        for i in 0..axis.rank() {
            by.s[i] += 2.0 * first[[0, i + 1]] * d.sqrt() * level;
            by.w[i] += (first[[i + 1, i + 1]] + second[[i, i]]) * level;
            by_level += 2.0 * first[[0, i + 1]] * d.sqrt() * axis.s[i];
            by_level += (first[[i + 1, i + 1]] + second[[i, i]]) * axis.w[i];
            for j in 0..axis.rank() {
                by.s[i] +=
                    2.0 * q * ((d - 1.0) * first[[i + 1, j + 1]] - second[[i, j]]) * axis.s[j];
            }
        }
        by.s00 += by_level * q * (d - 1.0);
    }
}

fn couple(a: usize, b: usize, columns: [usize; 3], alpha: [f64; 3], delta: f64) -> Couple {
    Couple { first: (0, a), second: (0, b), columns, alpha, delta }
}

/// Returns the target of a block's derivatives, with the block's multiplicity.
fn parts<'b>(by: &'b mut Option<&mut ByAxis>, copies: f64) -> Option<(&'b mut [ByAxis], f64)> {
    by.as_deref_mut().map(|by| (std::slice::from_mut(by), copies))
}
