//! The dual function of a first-order recurrence, in O(cells · nodes).
//!
//! With `m_i = a_i² μ_i` and `D_p^½ W D_μ^½ = U S Vᵀ`, the matrix `K = V S² Vᵀ` has a tridiagonal
//! inverse, and `K^½ ≈ Σ_j w_j (K⁻¹ + t_j)⁻¹` ([`InverseRoot`]). The stationary and the progressive
//! qd recurrence for a shift t are
//!
//! ```text
//! σ_0 = m_0,          σ_{i+1} = m_{i+1} + ρ_{i+1}² σ_i/(1 + t p_i σ_i)
//! κ_{n−1} = p_{n−1},  κ_{i−1} = p_{i−1} + ρ_i² κ_i/(1 + t m_i κ_i)
//! e_i = diag(U S Uᵀ)_i/p_i = Σ_j w_j σ_i/(1 + t_j σ_i κ_i)
//! v_i = diag(V S Vᵀ)_i/μ_i = a_i² Σ_j w_j κ_i/(1 + t_j σ_i κ_i)
//! ```
//!
//! All terms are positive, so nothing cancels. Queries need no recurrences of their own, because
//! both diagonals belong to one chain that alternates cells and queries.
//!
//! **Rounding.** A step of a recurrence adds at most 10 rounding errors to the relative error of
//! its result, and the map from σ_i to σ_{i+1} does not increase relative errors. After n steps the
//! relative errors of σ and κ are at most 10nu, u = 2⁻⁵³. The derivatives of the terms by ln σ and
//! ln κ sum to at most 1 in absolute value, so e and v have relative errors of at most
//! `(20n + nodes + 100)u`, including the final sums and the nodes.

use super::zolotarev::InverseRoot;
use crate::workload::Recurrence;
use matmech_linalg::{Loops, Wide};

/// Number of nodes that are computed together.
const LANES: usize = 8;

/// Number of steps whose σ are stored. Other σ are computed again from the start of their block.
const BLOCK: usize = 1024;

/// One number per node of a group.
type Lanes = [f64; LANES];

/// The value and the derivatives of the dual function at weights μ and p, each with sum 1.
#[derive(Debug, Clone)]
pub(super) struct Evaluation {
    /// e, the squared errors of the queries up to a factor.
    pub queries: Vec<f64>,
    /// v, the squared column norms of the strategy up to a factor.
    pub cells: Vec<f64>,
    /// `F = tr S`. Its square is a lower bound up to the error.
    pub nuclear_norm: f64,
    /// A bound on the relative errors of all numbers, from the approximation and from rounding.
    pub error: f64,
}

/// Evaluates the dual function with an approximation error of at most `error`, plus rounding.
///
/// O(n log(condition)·log(1/error)) time and O(n) memory.
pub(super) fn evaluate(
    recurrence: &Recurrence,
    cell_weights: &[f64],
    query_weights: &[f64],
    error: f64,
) -> Evaluation {
    let n = recurrence.cells();
    let gains = recurrence.squared_gains();
    let cells = scaled(recurrence, cell_weights);
    let root = approximation(recurrence, &cells, query_weights, error);
    let (shifts, weights) = (root.shifts.as_chunks().0, root.weights.as_chunks().0);
    let groups = shifts.len();
    let (mut e, mut v) = (vec![0.0; n], vec![0.0; n]);
    Wide::detect().run(Sweeps {
        factors: recurrence.squared_factors(),
        gains,
        cells: &cells,
        queries: query_weights,
        shifts,
        weights,
        checkpoints: vec![[0.0; LANES]; n / BLOCK * groups],
        stored: vec![[0.0; LANES]; BLOCK.min(n) * groups],
        state: vec![[0.0; LANES]; groups],
        e: &mut e,
        v: &mut v,
    });
    let nuclear_norm = cell_weights.iter().zip(&v).map(|(mu, v)| mu * v).sum();
    let rounding = (20 * n + root.shifts.len() + 100) as f64 * f64::EPSILON / 2.0;
    Evaluation { queries: e, cells: v, nuclear_norm, error: root.error + rounding }
}

/// Returns m, the weights of the cells times the squared gains.
pub(crate) fn scaled(recurrence: &Recurrence, cell_weights: &[f64]) -> Vec<f64> {
    cell_weights.iter().zip(recurrence.squared_gains()).map(|(mu, a)| mu * a).collect()
}

/// Returns an approximation of `x^-½` on the [interval] of the spectrum.
pub(super) fn approximation(
    recurrence: &Recurrence,
    cells: &[f64],
    queries: &[f64],
    error: f64,
) -> InverseRoot {
    let (low, high) = interval(recurrence, cells, queries);
    InverseRoot::new(low, high, error, LANES)
}

/// Returns the ends of an interval that contains the spectrum of K⁻¹.
///
/// The smallest eigenvalue is at least 1/tr K, and the largest is at most the largest row sum.
pub(crate) fn interval(recurrence: &Recurrence, cells: &[f64], queries: &[f64]) -> (f64, f64) {
    let factors = recurrence.squared_factors();
    let n = cells.len();
    let (mut trace, mut kappa, mut factor) = (0.0, 0.0, 0.0);
    for i in (0..n).rev() {
        kappa = queries[i] + factor * kappa;
        factor = factors[i];
        trace += cells[i] * kappa;
    }
    let (mut largest, mut left) = (0.0f64, 0.0);
    for i in 0..n {
        let above = if i == 0 { 0.0 } else { factors[i] / queries[i - 1] };
        let mut sum = left + (1.0 / queries[i] + above) / cells[i];
        if i + 1 < n {
            left = (factors[i + 1] / (cells[i] * cells[i + 1])).sqrt() / queries[i];
            sum += left;
        }
        largest = largest.max(sum);
    }
    // The margins exceed the rounding errors of the sums.
    ((1.0 - 1e-8) / trace, (1.0 + 1e-8) * largest)
}

/// The recurrences over all nodes, with their inputs, working memory and results.
struct Sweeps<'a> {
    factors: &'a [f64],
    gains: &'a [f64],
    /// m.
    cells: &'a [f64],
    /// p.
    queries: &'a [f64],
    shifts: &'a [Lanes],
    weights: &'a [Lanes],
    /// σ before the first step of every block but the last.
    checkpoints: Vec<Lanes>,
    /// σ of every step of one block.
    stored: Vec<Lanes>,
    /// σ or κ of the current step.
    state: Vec<Lanes>,
    e: &'a mut [f64],
    v: &'a mut [f64],
}

impl Sweeps<'_> {
    /// Returns ρ_i², m_i and p_{i−1}, which is 0 for i = 0.
    #[inline(always)]
    fn step(&self, i: usize) -> (f64, f64, f64) {
        let before = if i == 0 { 0.0 } else { self.queries[i - 1] };
        (self.factors[i], self.cells[i], before)
    }

    /// Advances σ over a range of steps.
    ///
    /// Two nodes share one division, `1/x = y · 1/(xy)`.
    #[inline(always)]
    fn forward<const STORE: bool>(&mut self, start: usize, end: usize) {
        let groups = self.shifts.len();
        for i in start..end {
            let (factor, cell, query) = self.step(i);
            for (g, (sigma, t)) in self.state.iter_mut().zip(self.shifts).enumerate() {
                let mut x = [0.0; LANES];
                for l in 0..LANES {
                    x[l] = 1.0 + t[l] * query * sigma[l];
                }
                for l in 0..LANES / 2 {
                    let h = l + LANES / 2;
                    let inverse = 1.0 / (x[l] * x[h]);
                    sigma[l] = cell + factor * sigma[l] * (x[h] * inverse);
                    sigma[h] = cell + factor * sigma[h] * (x[l] * inverse);
                }
                if STORE {
                    self.stored[(i - start) * groups + g] = *sigma;
                }
            }
        }
    }

    /// Advances κ backwards over the range of steps whose σ are stored, and sums e and v.
    ///
    /// Four reciprocals share one division.
    #[inline(always)]
    fn backward(&mut self, start: usize, end: usize) {
        let groups = self.shifts.len();
        for i in (start..end).rev() {
            let (factor, cell, query) = self.step(i);
            let (mut e, mut v) = ([0.0; LANES], [0.0; LANES]);
            let stored = &self.stored[(i - start) * groups..][..groups];
            let nodes = self.shifts.iter().zip(self.weights).zip(stored);
            for (kappa, ((t, w), sigma)) in self.state.iter_mut().zip(nodes) {
                let (mut x, mut y, mut xy) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
                for l in 0..LANES {
                    let shifted = t[l] * kappa[l];
                    x[l] = 1.0 + shifted * sigma[l];
                    y[l] = 1.0 + shifted * cell;
                    xy[l] = x[l] * y[l];
                }
                let mut inverse = [0.0; LANES];
                for l in 0..LANES / 2 {
                    let h = l + LANES / 2;
                    let both = 1.0 / (xy[l] * xy[h]);
                    inverse[l] = both * xy[h];
                    inverse[h] = both * xy[l];
                }
                for l in 0..LANES {
                    let term = w[l] * (y[l] * inverse[l]);
                    e[l] += sigma[l] * term;
                    v[l] += kappa[l] * term;
                    kappa[l] = query + factor * kappa[l] * (x[l] * inverse[l]);
                }
            }
            self.e[i] = e.iter().sum();
            self.v[i] = self.gains[i] * v.iter().sum::<f64>();
        }
    }
}

impl Loops for Sweeps<'_> {
    #[inline(always)]
    fn run(mut self) {
        let (n, groups) = (self.cells.len(), self.shifts.len());
        let last = (n - 1) / BLOCK;
        for block in 0..last {
            self.checkpoints[block * groups..][..groups].copy_from_slice(&self.state);
            self.forward::<false>(block * BLOCK, (block + 1) * BLOCK);
        }
        self.forward::<true>(last * BLOCK, n);
        self.state.fill([self.queries[n - 1]; LANES]);
        self.backward(last * BLOCK, n);
        for block in (0..last).rev() {
            let kappa = self.state.clone();
            self.state.copy_from_slice(&self.checkpoints[block * groups..][..groups]);
            self.forward::<true>(block * BLOCK, (block + 1) * BLOCK);
            self.state = kappa;
            self.backward(block * BLOCK, (block + 1) * BLOCK);
        }
    }
}
