//! Semiseparable lower triangular matrices and their inverses.

use ndarray::{Array2, Axis};

use matmech_linalg::{Loops, Wide};

/// Number of partial sums of an inner product.
const LANES: usize = 8;

/// The lower triangular matrix with `d_t` on the diagonal and
/// `Σ_j H_tj e^{−λ_j (t−s)} B_sj` in row t and column s < t.
#[derive(Debug, Clone)]
pub(super) struct Semiseparable {
    /// λ, N rates.
    pub rates: Vec<f64>,
    /// B, n × N.
    pub input: Array2<f64>,
    /// H, n × N.
    pub output: Array2<f64>,
    /// d.
    pub diagonal: Vec<f64>,
}

impl Semiseparable {
    /// Returns a derivative of zeros.
    pub fn zeros(steps: usize, buffers: usize) -> Self {
        Semiseparable {
            rates: vec![0.0; buffers],
            input: Array2::zeros((steps, buffers)),
            output: Array2::zeros((steps, buffers)),
            diagonal: vec![0.0; steps],
        }
    }

    /// Returns the number of steps n.
    pub fn steps(&self) -> usize {
        self.diagonal.len()
    }

    /// Returns the matrix, or its inverse, row by row. O(n²N).
    pub fn matrix<const INVERSE: bool>(&self) -> Vec<f64> {
        let n = self.steps();
        let mut out = vec![0.0; n * n];
        Wide::detect().run(Forward::<INVERSE> {
            matrix: self,
            decays: &self.decays(),
            out: &mut out,
        });
        out
    }

    /// Returns `JMᵀJ` for the matrix M and J that reverses the order of the steps.
    pub fn reversed(&self) -> Self {
        let reversed = |matrix: &Array2<f64>| {
            let mut matrix = matrix.clone();
            matrix.invert_axis(Axis(0));
            matrix
        };
        Semiseparable {
            rates: self.rates.clone(),
            input: reversed(&self.output),
            output: reversed(&self.input),
            diagonal: self.diagonal.iter().rev().copied().collect(),
        }
    }

    fn decays(&self) -> Vec<f64> {
        self.rates.iter().map(|rate| (-rate).exp()).collect()
    }
}

/// Adds a multiple of x to y.
#[inline(always)]
pub(super) fn add(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// Returns the inner product, in a fixed order of additions.
#[inline(always)]
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (x_lanes, x_rest) = x.as_chunks::<LANES>();
    let (y_lanes, y_rest) = y.as_chunks::<LANES>();
    for (a, b) in x_lanes.iter().zip(y_lanes) {
        for l in 0..LANES {
            sums[l] += a[l] * b[l];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// The recurrence on unit vectors, one per column.
struct Forward<'a, const INVERSE: bool> {
    matrix: &'a Semiseparable,
    decays: &'a [f64],
    out: &'a mut [f64],
}

impl<const INVERSE: bool> Loops for Forward<'_, INVERSE> {
    #[inline(always)]
    fn run(self) {
        let (m, n) = (self.matrix, self.matrix.steps());
        let mut state = vec![0.0; self.decays.len() * n];
        for (t, row) in self.out.chunks_exact_mut(n).enumerate() {
            let row = &mut row[..=t];
            let sign = if INVERSE { -1.0 } else { 1.0 };
            for (j, state) in state.chunks_exact(n).enumerate() {
                add(row, sign * m.output[[t, j]], &state[..=t]);
            }
            if INVERSE {
                row[t] += 1.0;
                let pivot = 1.0 / m.diagonal[t];
                row.iter_mut().for_each(|y| *y *= pivot);
            } else {
                row[t] += m.diagonal[t];
            }
            for (j, state) in state.chunks_exact_mut(n).enumerate() {
                let (decay, gain) = (self.decays[j], self.decays[j] * m.input[[t, j]]);
                if INVERSE {
                    for (x, y) in state.iter_mut().zip(row.iter()) {
                        *x = decay * *x + gain * y;
                    }
                } else {
                    state[..=t].iter_mut().for_each(|x| *x *= decay);
                    state[t] += gain;
                }
            }
        }
    }
}
