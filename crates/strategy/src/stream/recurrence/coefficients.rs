//! The coefficients of a recurrence, with its sensitivity and its variances.

use ndarray::Array2;

use super::semiseparable::{Semiseparable, add, dot};
use crate::error::{Error, Result};
use crate::participation::pattern_sensitivity;
use crate::workload::Workload;

/// The coefficients of a recurrence with N buffers for k epochs of b steps, n = kb.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseRecurrence {
    /// λ, N nonnegative rates. A buffer is multiplied by `e^{−λ_j}` in a step.
    pub rates: Vec<f64>,
    /// B, n × N.
    pub input: Array2<f64>,
    /// H, n × N.
    pub output: Array2<f64>,
    /// d, n nonzero numbers.
    pub diagonal: Vec<f64>,
    /// r, n nonzero numbers.
    pub scale: Vec<f64>,
    /// f, (k − 1) × n. Row g − 1 has the weights of the normals g epochs before; entries of steps
    /// before epoch g are unused.
    pub taps: Array2<f64>,
    /// b.
    pub period: usize,
}

/// Bounds on a squared sensitivity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certified {
    /// A value that some contribution attains.
    pub lower: f64,
    /// The value of a dual solution: no contribution has a larger one.
    pub upper: f64,
}

impl NoiseRecurrence {
    /// Returns the number of steps n.
    pub fn steps(&self) -> usize {
        self.diagonal.len()
    }

    /// Returns the number of buffers N.
    pub fn buffers(&self) -> usize {
        self.rates.len()
    }

    /// Returns the number of epochs k.
    pub fn epochs(&self) -> usize {
        self.taps.nrows() + 1
    }

    /// Checks the shapes and that all numbers are finite.
    ///
    /// # Errors
    /// The shapes do not agree, a number is not finite, or d or r has a zero.
    pub fn check(&self) -> Result<()> {
        let (n, buffers) = (self.steps(), self.buffers());
        let shapes = self.input.dim() == (n, buffers)
            && self.output.dim() == (n, buffers)
            && self.scale.len() == n
            && self.taps.ncols() == n
            && n > 0
            && self.period.checked_mul(self.epochs()) == Some(n);
        if !shapes {
            return Err(Error::bad_input(
                "coefficients of a streaming recurrence",
                "n numbers d and r, matrices n x N for N rates, taps (k - 1) x n, and n = k * b",
                format!(
                    "{n} and {} numbers, matrices {:?} and {:?}, {buffers} rates, taps {:?}, b = {}",
                    self.scale.len(),
                    self.input.dim(),
                    self.output.dim(),
                    self.taps.dim(),
                    self.period
                ),
                "use the arrays of one fit together",
            ));
        }
        let matrices = [&self.input, &self.output, &self.taps];
        let numbers = || self.rates.iter().chain(matrices.into_iter().flatten());
        let divisors = || self.diagonal.iter().chain(&self.scale);
        if numbers().chain(divisors()).any(|x| !x.is_finite()) || divisors().any(|&x| x == 0.0) {
            return Err(Error::bad_input(
                "coefficients of a streaming recurrence",
                "finite numbers, with nonzero d and r",
                "others",
                "use the arrays of a fit without changes",
            ));
        }
        Ok(())
    }

    /// Returns `C⁻¹ = diag(r) C₀⁻¹ F`, n × n and lower triangular: row t has the weights of z in the
    /// noise of step t.
    ///
    /// O(n²(N + k)). The coefficients must satisfy [`check`](Self::check).
    pub fn noise_matrix(&self) -> Array2<f64> {
        let n = self.steps();
        let inverse = self.form().matrix::<true>();
        let mut out = Array2::zeros((n, n));
        for (t, mut row) in out.rows_mut().into_iter().enumerate() {
            for s in 0..=t {
                let mut sum = inverse[t * n + s];
                for (g, taps) in self.taps.rows().into_iter().enumerate() {
                    let later = s + (g + 1) * self.period;
                    if later > t {
                        break;
                    }
                    sum += taps[later] * inverse[t * n + later];
                }
                row[s] = self.scale[t] * sum;
            }
        }
        out
    }

    /// Returns bounds on the squared sensitivity of C for k epochs.
    ///
    /// The largest over the patterns π of `max Σ_{s,t∈π} X_st ⟨u_s, u_t⟩` over unit vectors u, for
    /// X = CᵀC ([`pattern_sensitivity`]). The bounds differ by the accuracy of the solver of this
    /// semidefinite program, about 1e-10. O(n²(N + k)).
    ///
    /// # Errors
    /// As [`check`](Self::check), or the eigensolver fails.
    pub fn squared_sensitivity(&self) -> Result<Certified> {
        let mut largest = Certified { lower: 0.0, upper: 0.0 };
        for pattern in self.pattern_sensitivities()? {
            largest.lower = largest.lower.max(pattern.lower);
            largest.upper = largest.upper.max(pattern.upper);
        }
        Ok(largest)
    }

    /// Returns bounds on the squared sensitivity of every pattern.
    pub(super) fn pattern_sensitivities(&self) -> Result<Vec<Certified>> {
        self.check()?;
        let (n, k, b) = (self.steps(), self.epochs(), self.period);
        let mut matrix = self.form().matrix::<false>();
        for t in b..n {
            let (before, row) = matrix.split_at_mut(t * n);
            for g in 1..=t / b {
                let earlier = &before[(t - g * b) * n..][..n];
                add(&mut row[..n], -self.taps[[g - 1, t]], earlier);
            }
        }
        let mut gram = vec![Array2::<f64>::zeros((k, k)); b];
        for row in matrix.chunks_exact(n) {
            for (c, block) in gram.iter_mut().enumerate() {
                for ((g, h), x) in block.indexed_iter_mut() {
                    *x += row[c + g * b] * row[c + h * b];
                }
            }
        }
        for (c, block) in gram.iter_mut().enumerate() {
            for ((g, h), x) in block.indexed_iter_mut() {
                *x /= self.scale[c + g * b] * self.scale[c + h * b];
            }
        }
        let bounds = |block: Array2<f64>| {
            let found = pattern_sensitivity(block.view())?;
            Ok(Certified { lower: found.lower, upper: found.upper })
        };
        gram.into_iter().map(bounds).collect()
    }

    /// Returns the variances of the answers to the queries of a workload, `‖w_q C⁻¹‖²`.
    ///
    /// Times the squared sensitivity they are the squared errors at unit privacy cost. O(n²(N + k)).
    ///
    /// # Errors
    /// As [`check`](Self::check); the workload is over other steps or not of a kind that
    /// [`fit_recurrence`](super::fit_recurrence) supports.
    pub fn variances(&self, workload: &Workload) -> Result<Vec<f64>> {
        self.check()?;
        let (factors, gains) = factors_and_gains(workload)?;
        let n = self.steps();
        if gains.len() != n {
            return Err(Error::bad_input(
                "streaming recurrence",
                format!("a workload over {n} steps"),
                format!("`{}`", workload.name()),
                "use the workload of the fit",
            ));
        }
        let noise = self.noise_matrix();
        let mut sum = vec![0.0; n];
        let variance = |(row, (factor, gain)): (ndarray::ArrayView1<'_, f64>, (&f64, &f64))| {
            sum.iter_mut().zip(row).for_each(|(s, x)| *s = factor * *s + gain * x);
            dot(&sum, &sum)
        };
        Ok(noise.rows().into_iter().zip(factors.iter().zip(&gains)).map(variance).collect())
    }

    pub(super) fn form(&self) -> Semiseparable {
        Semiseparable {
            rates: self.rates.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            diagonal: self.diagonal.clone(),
        }
    }
}

/// Returns ρ and a of a workload `y_t = ρ_t y_{t−1} + a_t x_t`.
///
/// # Errors
/// The workload has other queries.
pub(super) fn factors_and_gains(workload: &Workload) -> Result<(Vec<f64>, Vec<f64>)> {
    match workload.recurrence().filter(|recurrence| recurrence.answers_queries()) {
        Some(recurrence) => {
            let roots = |squares: &[f64]| squares.iter().map(|x| x.sqrt()).collect();
            Ok((roots(recurrence.squared_factors()), roots(recurrence.squared_gains())))
        }
        None => Err(Error::bad_input(
            "streaming recurrence",
            "prefix sums over one attribute, with or without decay or learning rates",
            format!("the workload `{}`", workload.name()),
            "use e.g. prefix:1024",
        )),
    }
}
