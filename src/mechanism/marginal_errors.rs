//! The error metrics of S4: distances between estimated and true marginals, per record.

use std::fmt;

/// Errors over the marginals of a workload.
///
/// They are computed from the true data and therefore **not private**.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct MarginalErrors {
    records: f64,
    marginals: usize,
    sum_l1: f64,
    sum_l2: f64,
    max_l1: f64,
    squared: f64,
}

/// Shows only the number of marginals: all other values are computed from the true data.
impl fmt::Debug for MarginalErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarginalErrors").field("marginals", &self.marginals).finish_non_exhaustive()
    }
}

impl MarginalErrors {
    /// Creates empty metrics for a table with this many records.
    pub fn of_records(records: usize) -> Self {
        Self { records: records as f64, ..Self::default() }
    }

    /// Adds a marginal by its cells' errors μ̂_γ − μ_γ and returns its ‖μ_γ − μ̂_γ‖₁/N.
    pub fn add(&mut self, differences: impl Iterator<Item = f64>) -> f64 {
        let (mut l1, mut squared) = (0.0, 0.0);
        for difference in differences {
            l1 += difference.abs();
            squared += difference * difference;
        }
        self.marginals += 1;
        self.sum_l1 += l1;
        self.sum_l2 += squared.sqrt();
        self.max_l1 = self.max_l1.max(l1);
        self.squared += squared;
        l1 / self.records
    }

    /// Returns the mean of ‖μ_γ − μ̂_γ‖₁/N over the marginals.
    pub fn mean_l1(&self) -> f64 {
        self.sum_l1 / self.marginals as f64 / self.records
    }

    /// Returns the mean of ‖μ_γ − μ̂_γ‖₂/N over the marginals.
    pub fn mean_l2(&self) -> f64 {
        self.sum_l2 / self.marginals as f64 / self.records
    }

    /// Returns the maximum of ‖μ_γ − μ̂_γ‖₁/N over the marginals.
    pub fn max_l1(&self) -> f64 {
        self.max_l1 / self.records
    }

    /// Returns the total squared error Σ_γ ‖μ_γ − μ̂_γ‖₂², in counts, as ResidualPlanner predicts
    /// it.
    pub fn squared_error(&self) -> f64 {
        self.squared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_per_record() {
        let mut errors = MarginalErrors::of_records(10);
        assert_eq!(errors.add([3.0, -4.0].into_iter()), 0.7);
        assert_eq!(errors.add([1.0, 0.0, 0.0].into_iter()), 0.1);
        assert!((errors.mean_l1() - 0.4).abs() < 1e-15);
        assert!((errors.mean_l2() - 0.3).abs() < 1e-15);
        assert!((errors.max_l1() - 0.7).abs() < 1e-15);
        assert_eq!(errors.squared_error(), 26.0);
        assert_eq!(format!("{errors:?}"), "MarginalErrors { marginals: 2, .. }");
    }
}
