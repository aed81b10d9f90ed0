//! Workloads of first-order recurrences, whose Gram matrices have tridiagonal inverses.

/// Maximum number of cells, whose numbers are stored.
const MAX_CELLS: usize = 1 << 26;

/// The recurrence `y_0 = a_0 x_0`, `y_k = ρ_k y_{k−1} + a_k x_k` over n cells x.
///
/// As a matrix, `W_kj = a_j ρ_{j+1} ⋯ ρ_k` for k ≥ j and 0 above the diagonal. `W⁻¹` is bidiagonal
/// and `G⁻¹ = (WᵀW)⁻¹` is tridiagonal. Errors depend on the squares of the numbers only.
#[derive(Debug, Clone, PartialEq)]
pub struct Recurrence {
    /// ρ_k², with ρ_0 = 0.
    factors: Vec<f64>,
    /// a_k².
    gains: Vec<f64>,
    answers_queries: bool,
}

impl Recurrence {
    /// Creates the recurrence of a workload whose queries are y_0, …, y_{n−1}.
    ///
    /// `pair(k)` returns (ρ_k², a_k²); ρ_0 is treated as 0. Returns `None` if there is no cell, or
    /// more than 2²⁶, a number is negative or not finite, or an a_k is 0.
    pub fn of_queries(cells: usize, pair: impl Fn(usize) -> (f64, f64)) -> Option<Self> {
        Self::new(cells, pair, true)
    }

    /// Creates the recurrence whose Gram matrix is that of a workload with other queries.
    ///
    /// Total errors are equal. `pair` is as in [`Recurrence::of_queries`].
    pub fn of_gram(cells: usize, pair: impl Fn(usize) -> (f64, f64)) -> Option<Self> {
        Self::new(cells, pair, false)
    }

    fn new(
        cells: usize,
        pair: impl Fn(usize) -> (f64, f64),
        answers_queries: bool,
    ) -> Option<Self> {
        if cells > MAX_CELLS {
            return None;
        }
        let (mut factors, gains): (Vec<f64>, Vec<f64>) = (0..cells).map(pair).unzip();
        *factors.first_mut()? = 0.0;
        let valid = factors.iter().all(|&x| x >= 0.0 && x.is_finite())
            && gains.iter().all(|&x| x > 0.0 && x.is_finite());
        valid.then_some(Recurrence { factors, gains, answers_queries })
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.gains.len()
    }

    /// Returns ρ_k² for every k; the first is 0.
    pub fn squared_factors(&self) -> &[f64] {
        &self.factors
    }

    /// Returns a_k² for every k.
    pub fn squared_gains(&self) -> &[f64] {
        &self.gains
    }

    /// Returns whether y_0, …, y_{n−1} are the queries of the workload. Otherwise only the Gram
    /// matrix agrees.
    pub fn answers_queries(&self) -> bool {
        self.answers_queries
    }

    /// Returns whether W is symmetric about its antidiagonal, as prefix sums are.
    pub fn is_persymmetric(&self) -> bool {
        let inner = &self.factors[1..];
        self.gains.iter().all(|&a| a == self.gains[0])
            && inner.iter().zip(inner.iter().rev()).all(|(a, b)| a == b)
    }

    /// Returns the recurrence of every second query and cell, `W_{2k+1, 2j+1}`, on n/2 cells
    /// (rounded down); without queries, the Gram matrix is of the same kind.
    pub fn coarsened(&self) -> Option<Self> {
        let pair = |k: usize| {
            let odd = 2 * k + 1;
            (self.factors[odd] * self.factors[odd - 1], self.gains[odd])
        };
        Self::new(self.cells() / 2, pair, self.answers_queries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use approx::assert_relative_eq;

    /// The matrix of a recurrence from its definition.
    fn matrix(recurrence: &Recurrence) -> ndarray::Array2<f64> {
        let n = recurrence.cells();
        let mut rows = ndarray::Array2::zeros((n, n));
        for k in 0..n {
            for j in 0..k {
                rows[[k, j]] = recurrence.squared_factors()[k].sqrt() * rows[[k - 1, j]];
            }
            rows[[k, k]] = recurrence.squared_gains()[k].sqrt();
        }
        rows
    }

    #[test]
    fn families_with_the_structure_have_the_gram_matrix_of_their_recurrence() {
        for text in ["prefix:7", "cdf:5", "prefix:1", "range:9", "range:1", "decay(rate=0.7):8"] {
            let workload = Workload::parse(text).unwrap();
            let recurrence = workload.recurrence().unwrap();
            let rows = matrix(&recurrence);
            let gram = workload.gram().unwrap().to_dense().unwrap();
            assert_relative_eq!(rows.t().dot(&rows), gram, max_relative = 1e-13);
            if recurrence.answers_queries() {
                for (expected, row) in workload.rows().unwrap().zip(rows.rows()) {
                    assert_relative_eq!(expected.as_slice(), row.to_slice().unwrap());
                }
            }
        }
        for text in ["identity:4", "prefix:3x3", "residual(prefix:5)", "momentum(rate=0.9):4"] {
            assert!(Workload::parse(text).unwrap().recurrence().is_none(), "{text}");
        }
    }

    #[test]
    fn coarsening_keeps_every_second_query_and_cell() {
        let pair = |k: usize| (0.5 + 0.1 * k as f64, 1.0 + k as f64);
        let fine = Recurrence::of_queries(7, pair).unwrap();
        let (fine, coarse) = (matrix(&fine), matrix(&fine.coarsened().unwrap()));
        for k in 0..3 {
            for j in 0..3 {
                assert_relative_eq!(coarse[[k, j]], fine[[2 * k + 1, 2 * j + 1]]);
            }
        }
    }

    #[test]
    fn invalid_numbers_have_no_recurrence() {
        assert!(Recurrence::of_queries(0, |_| (1.0, 1.0)).is_none());
        assert!(Recurrence::of_queries(MAX_CELLS + 1, |_| (1.0, 1.0)).is_none());
        assert!(Recurrence::of_queries(3, |_| (1.0, 0.0)).is_none());
        assert!(Recurrence::of_queries(3, |_| (f64::NAN, 1.0)).is_none());
        let first_is_ignored = Recurrence::of_queries(3, |k| (if k == 0 { 5.0 } else { 1.0 }, 1.0));
        assert!(first_is_ignored.unwrap().is_persymmetric());
        assert!(!Recurrence::of_queries(3, |k| (1.0, 1.0 + k as f64)).unwrap().is_persymmetric());
    }
}
