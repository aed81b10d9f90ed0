//! Semiseparable lower triangular matrices, their inverses and derivatives.

use ndarray::Array2;

use matmech_linalg::{Loops, Wide};

/// Number of columns whose derivatives are computed together.
const PANEL: usize = 64;

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
            first: 0,
            width: n,
            out: &mut out,
            states: None,
        });
        out
    }

    /// Adds the derivative of `Σ_ts D_ts M_ts` to `gradient`, where M is the matrix or its inverse.
    ///
    /// `derivative(t, columns, row, d)` writes the entries of row t of D into d and may read those
    /// of M, `row`. It is called for groups of columns, each with t descending from n − 1 to the
    /// first column of the group. Entries above the diagonal are ignored. O(n²N).
    pub fn add_gradient<const INVERSE: bool>(
        &self,
        gradient: &mut Semiseparable,
        mut derivative: impl FnMut(usize, std::ops::Range<usize>, &[f64], &mut [f64]),
    ) {
        let n = self.steps();
        let decays = self.decays();
        for first in (0..n).step_by(PANEL) {
            let width = PANEL.min(n - first);
            let rows = n - first;
            let mut out = vec![0.0; rows * width];
            let mut states = vec![0.0; rows * width * decays.len()];
            let mut derivatives = vec![0.0; rows * width];
            Wide::detect().run(Forward::<INVERSE> {
                matrix: self,
                decays: &decays,
                first,
                width,
                out: &mut out,
                states: Some(&mut states),
            });
            let both = out.chunks_exact(width).zip(derivatives.chunks_exact_mut(width));
            for (t, (row, d)) in both.enumerate().rev() {
                derivative(first + t, first..first + width, row, d);
            }
            Wide::detect().run(Backward::<INVERSE> {
                matrix: self,
                decays: &decays,
                first,
                width,
                out: &out,
                states: &states,
                derivatives: &derivatives,
                gradient,
            });
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

/// The recurrence on unit vectors, one per column of a group.
struct Forward<'a, const INVERSE: bool> {
    matrix: &'a Semiseparable,
    decays: &'a [f64],
    /// The first column of the group.
    first: usize,
    /// The number of columns.
    width: usize,
    /// The rows from `first` on.
    out: &'a mut [f64],
    /// The states before every step, rows × N × columns.
    states: Option<&'a mut [f64]>,
}

impl<const INVERSE: bool> Loops for Forward<'_, INVERSE> {
    #[inline(always)]
    fn run(mut self) {
        let (m, width) = (self.matrix, self.width);
        let buffers = self.decays.len();
        let mut state = vec![0.0; buffers * width];
        for (i, row) in self.out.chunks_exact_mut(width).enumerate() {
            let t = self.first + i;
            if let Some(states) = &mut self.states {
                states[i * state.len()..][..state.len()].copy_from_slice(&state);
            }
            let active = width.min(i + 1);
            let row = &mut row[..active];
            let sign = if INVERSE { -1.0 } else { 1.0 };
            for j in 0..buffers {
                add(row, sign * m.output[[t, j]], &state[j * width..][..active]);
            }
            if INVERSE {
                if i < width {
                    row[i] += 1.0;
                }
                let pivot = 1.0 / m.diagonal[t];
                row.iter_mut().for_each(|y| *y *= pivot);
            } else if i < width {
                row[i] += m.diagonal[t];
            }
            for j in 0..buffers {
                let state = &mut state[j * width..][..active];
                let (decay, gain) = (self.decays[j], self.decays[j] * m.input[[t, j]]);
                if INVERSE {
                    for (x, y) in state.iter_mut().zip(row.iter()) {
                        *x = decay * *x + gain * y;
                    }
                } else {
                    state.iter_mut().for_each(|x| *x *= decay);
                    if i < width {
                        state[i] += gain;
                    }
                }
            }
        }
    }
}

/// The adjoint of [`Forward`], from the last step to the first.
struct Backward<'a, const INVERSE: bool> {
    matrix: &'a Semiseparable,
    decays: &'a [f64],
    first: usize,
    width: usize,
    out: &'a [f64],
    states: &'a [f64],
    derivatives: &'a [f64],
    gradient: &'a mut Semiseparable,
}

impl<const INVERSE: bool> Loops for Backward<'_, INVERSE> {
    #[inline(always)]
    fn run(self) {
        let (m, width, gradient) = (self.matrix, self.width, self.gradient);
        let buffers = self.decays.len();
        // The derivative by the state after the current step.
        let mut adjoint = vec![0.0; buffers * width];
        let mut by_sum = vec![0.0; width];
        let rows = self.out.chunks_exact(width).zip(self.derivatives.chunks_exact(width));
        for (i, (row, derivative)) in rows.enumerate().rev() {
            let t = self.first + i;
            // The derivative by Σ_j H_tj x_j, up to the sign.
            by_sum.copy_from_slice(derivative);
            if INVERSE {
                for j in 0..buffers {
                    let adjoint = &adjoint[j * width..][..width];
                    add(&mut by_sum, self.decays[j] * m.input[[t, j]], adjoint);
                    gradient.input[[t, j]] += self.decays[j] * dot(adjoint, row);
                }
                let pivot = 1.0 / m.diagonal[t];
                by_sum.iter_mut().for_each(|x| *x *= pivot);
                gradient.diagonal[t] -= dot(&by_sum, row);
            } else if i < width {
                for j in 0..buffers {
                    gradient.input[[t, j]] += self.decays[j] * adjoint[j * width + i];
                }
                gradient.diagonal[t] += by_sum[i];
            }
            let sign = if INVERSE { -1.0 } else { 1.0 };
            let states = &self.states[i * adjoint.len()..][..adjoint.len()];
            for j in 0..buffers {
                let state = &states[j * width..][..width];
                let adjoint = &mut adjoint[j * width..][..width];
                gradient.output[[t, j]] += sign * dot(&by_sum, state);
                let (decay, gain) = (self.decays[j], sign * m.output[[t, j]]);
                for (x, y) in adjoint.iter_mut().zip(&by_sum) {
                    *x = decay * *x + gain * y;
                }
                gradient.rates[j] -= dot(adjoint, state);
            }
        }
    }
}
