//! Workloads of training by stochastic gradient descent: the change of the parameters after every
//! step, as linear queries on the gradients.
//!
//! With learning rates η, momentum β and decay γ, gradient x_k of step k enters as
//!
//! ```text
//! m_k = β m_{k−1} + x_k            heavy-ball momentum
//! y_k = γ y_{k−1} + η_k m_k        query k
//! W_kj = Σ_{s=j}^{k} γ^{k−s} η_s β^{s−j}      for k ≥ j
//! ```
//!
//! *Reference*: Kalinin & Lampert, Banded square root matrix factorization for differentially
//! private model training (2024), Sec. 2, for momentum and weight decay.

use ndarray::Array2;

use super::{Recurrence, check_dense_size};
use crate::error::{Error, Result};

/// The rate that replaces 0 in a fit, as a share of the smallest positive rate.
const SHARE_OF_UNUSED: f64 = 0.03;

/// The rates that [`Training::without_small_rates`] replaces by 0, as a share of the largest.
const SHARE_OF_SMALL: f64 = 1e-3;

/// The queries of a training run of n steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Training {
    /// η, one per step.
    rates: Vec<f64>,
    momentum: f64,
    decay: f64,
}

impl Training {
    /// Creates the queries from learning rates η_k ≥ 0, momentum 0 ≤ β < 1 and decay 0 < γ ≤ 1.
    ///
    /// # Errors
    /// No step, all rates zero, or a number outside its range.
    pub fn new(rates: Vec<f64>, momentum: f64, decay: f64) -> Result<Self> {
        let refuse = |expected: &str, found: String, remedy: &str| {
            Err(Error::bad_input("training workload", expected, found, remedy))
        };
        if let Some(k) = rates.iter().position(|x| !(*x >= 0.0 && x.is_finite())) {
            return refuse(
                "learning rates of at least 0",
                format!("{} at step {}", rates[k], k + 1),
                "give one finite, nonnegative learning rate per step",
            );
        }
        if rates.iter().all(|&x| x == 0.0) {
            return refuse(
                "at least one positive learning rate",
                format!("{} steps, none with a positive rate", rates.len()),
                "give one learning rate per step",
            );
        }
        if !(0.0..1.0).contains(&momentum) {
            return refuse(
                "a momentum of at least 0 and less than 1",
                momentum.to_string(),
                "use e.g. momentum(rate=0.9):128",
            );
        }
        if !(decay > 0.0 && decay <= 1.0) {
            return refuse(
                "a decay rate greater than 0 and at most 1",
                decay.to_string(),
                "use e.g. decay(rate=0.99):1024",
            );
        }
        Ok(Training { rates, momentum, decay })
    }

    /// Returns the number of steps, which are both cells and queries.
    pub fn steps(&self) -> usize {
        self.rates.len()
    }

    /// Returns the learning rates, the momentum and the decay.
    pub fn parameters(&self) -> (&[f64], f64, f64) {
        (&self.rates, self.momentum, self.decay)
    }

    /// Returns the queries with small positive rates in place of zeros, if there is no momentum.
    ///
    /// A gradient with rate 0 then reaches no query, and its error does not matter. A strategy for
    /// the small rates measures it as it measures others.
    pub fn with_positive_rates(&self) -> Option<Self> {
        let positive = self.rates.iter().copied().filter(|rate| *rate > 0.0);
        let smallest = positive.fold(f64::INFINITY, f64::min) * SHARE_OF_UNUSED;
        if self.momentum > 0.0 || smallest <= 0.0 || !self.rates.contains(&0.0) {
            return None;
        }
        let rates = self.rates.iter().map(|&rate| if rate == 0.0 { smallest } else { rate });
        Some(Training { rates: rates.collect(), ..*self })
    }

    /// Returns the queries with zeros in place of rates below a thousandth of the largest, if there
    /// is no momentum and a rate is positive and as small.
    ///
    /// The weights of these steps are hard to compute and matter little to a lower bound.
    pub fn without_small_rates(&self) -> Option<Self> {
        let least = SHARE_OF_SMALL * self.rates.iter().copied().fold(0.0, f64::max);
        if self.momentum > 0.0 || !self.rates.iter().any(|&rate| 0.0 < rate && rate < least) {
            return None;
        }
        let rates = self.rates.iter().map(|&rate| if rate < least { 0.0 } else { rate });
        Some(Training { rates: rates.collect(), ..*self })
    }

    /// Returns the first-order recurrence: γ and η_k, if there is no momentum and no rate is 0.
    pub(super) fn recurrence(&self) -> Option<Recurrence> {
        let pair = |k: usize| (self.decay * self.decay, self.rates[k] * self.rates[k]);
        if self.momentum == 0.0 { Recurrence::of_queries(self.steps(), pair) } else { None }
    }

    /// Computes the Gram matrix `Mᵀ D Q D M` in O(n²), without subtractions.
    ///
    /// Q is the Gram matrix of decay, `Q_ij = γ^|i−j| Σ_{l < n−max(i,j)} γ^{2l}`, D = diag(η), and
    /// M is the matrix of momentum, with `(Mᵀx)_i = x_i + β (Mᵀx)_{i+1}`.
    ///
    /// # Errors
    /// Too many steps for a dense matrix.
    pub(super) fn gram(&self) -> Result<Array2<f64>> {
        let n = self.steps();
        check_dense_size("Gram matrix of a training workload", n)?;
        let mut tails = vec![0.0; n];
        let mut powers = vec![1.0; n];
        for k in 0..n {
            let (sum, power) =
                if k == 0 { (0.0, 1.0) } else { (tails[n - k], self.decay * powers[k - 1]) };
            powers[k] = power;
            tails[n - 1 - k] = 1.0 + self.decay * self.decay * sum;
        }
        let mut gram = Array2::from_shape_fn((n, n), |(i, j)| {
            self.rates[i] * self.rates[j] * powers[i.abs_diff(j)] * tails[i.max(j)]
        });
        if self.momentum > 0.0 {
            for i in (0..n.saturating_sub(1)).rev() {
                for j in 0..n {
                    gram[[i, j]] += self.momentum * gram[[i + 1, j]];
                }
            }
            for i in 0..n {
                for j in (0..n.saturating_sub(1)).rev() {
                    gram[[i, j]] += self.momentum * gram[[i, j + 1]];
                }
            }
            // Both triangles hold the same sums with different rounding.
            for i in 0..n {
                for j in 0..i {
                    gram[[i, j]] = gram[[j, i]];
                }
            }
        }
        Ok(gram)
    }

    /// Answers the queries by the recurrences, O(n).
    pub(super) fn answers(&self, gradients: &[f64]) -> Vec<f64> {
        let (mut m, mut y) = (0.0, 0.0);
        let step = |(x, rate): (&f64, &f64)| {
            m = self.momentum * m + x;
            y = self.decay * y + rate * m;
            y
        };
        gradients.iter().zip(&self.rates).map(step).collect()
    }

    /// Iterates over the queries: `W_kj = γ^{k−j} η_j + β W_{k,j+1}`.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        let n = self.steps();
        (0..n).map(move |k| {
            let mut row = vec![0.0; n];
            let (mut power, mut next) = (1.0, 0.0);
            for j in (0..=k).rev() {
                next = power * self.rates[j] + self.momentum * next;
                row[j] = next;
                power *= self.decay;
            }
            row
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn rows_match_the_answers_and_the_gram_matrix() {
        let rates = vec![0.5, 0.0, 2.0, 1.0, 0.25];
        for (momentum, decay) in [(0.0, 1.0), (0.9, 1.0), (0.0, 0.7), (0.6, 0.8)] {
            let training = Training::new(rates.clone(), momentum, decay).unwrap();
            let rows: Vec<Vec<f64>> = training.rows().collect();
            for j in 0..5 {
                let mut unit = [0.0; 5];
                unit[j] = 1.0;
                for (row, answer) in rows.iter().zip(training.answers(&unit)) {
                    assert_relative_eq!(row[j], answer, epsilon = 1e-15);
                }
            }
            let gram = training.gram().unwrap();
            for i in 0..5 {
                for j in 0..5 {
                    let sum: f64 = rows.iter().map(|row| row[i] * row[j]).sum();
                    assert_relative_eq!(gram[[i, j]], sum, max_relative = 1e-13);
                }
            }
        }
    }

    #[test]
    fn small_rates_become_zeros_and_zeros_small_rates() {
        let training = |rates: &[f64]| Training::new(rates.to_vec(), 0.0, 1.0).unwrap();
        let rates = [0.0, 0.002, 1.0, 2.0, 0.0019];
        let large = training(&[0.0, 0.002, 1.0, 2.0, 0.0]);
        assert_eq!(training(&rates).without_small_rates(), Some(large.clone()));
        assert_eq!(large.without_small_rates(), None);
        let smallest = 0.002 * SHARE_OF_UNUSED;
        let positive = training(&[smallest, 0.002, 1.0, 2.0, smallest]);
        assert_eq!(large.with_positive_rates(), Some(positive.clone()));
        assert_eq!(positive.with_positive_rates(), None);
        let with_momentum = Training::new(rates.to_vec(), 0.5, 1.0).unwrap();
        assert_eq!(with_momentum.without_small_rates(), None);
        assert_eq!(with_momentum.with_positive_rates(), None);
    }

    #[test]
    fn invalid_numbers_are_refused() {
        for (rates, momentum, decay) in [
            (vec![], 0.0, 1.0),
            (vec![0.0, 0.0], 0.0, 1.0),
            (vec![1.0, -1.0], 0.0, 1.0),
            (vec![1.0, f64::NAN], 0.0, 1.0),
            (vec![1.0], 1.0, 1.0),
            (vec![1.0], -0.1, 1.0),
            (vec![1.0], 0.0, 0.0),
            (vec![1.0], 0.0, 1.1),
        ] {
            assert!(Training::new(rates.clone(), momentum, decay).is_err(), "{rates:?}");
        }
    }
}
