//! The error metrics of S4: distances of estimated marginals from the true ones, per record.

use crate::experiment::Row;

/// Distances over the marginals of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MarginalErrors {
    records: f64,
    marginals: usize,
    sum_l1: f64,
    sum_l2: f64,
    largest_l1: f64,
}

impl MarginalErrors {
    /// Nothing seen yet of a table with this many records.
    pub(super) fn of_records(records: usize) -> Self {
        Self { records: records as f64, ..Self::default() }
    }

    /// Adds a marginal by its cells' errors μ̂_γ − μ_γ.
    pub(super) fn add(&mut self, differences: impl Iterator<Item = f64>) {
        let (mut l1, mut squared) = (0.0, 0.0);
        for difference in differences {
            l1 += difference.abs();
            squared += difference * difference;
        }
        self.marginals += 1;
        self.sum_l1 += l1;
        self.sum_l2 += squared.sqrt();
        self.largest_l1 = self.largest_l1.max(l1);
    }

    /// Mean over the marginals of ‖μ_γ − μ̂_γ‖₁/N.
    pub(super) fn mean_l1(&self) -> f64 {
        self.sum_l1 / self.marginals as f64 / self.records
    }

    /// Mean over the marginals of ‖μ_γ − μ̂_γ‖₂/N.
    pub(super) fn mean_l2(&self) -> f64 {
        self.sum_l2 / self.marginals as f64 / self.records
    }

    /// The largest ‖μ_γ − μ̂_γ‖₁/N.
    pub(super) fn max_l1(&self) -> f64 {
        self.largest_l1 / self.records
    }
}

/// The mean of independent trials.
#[derive(Clone, Debug, Default)]
pub(super) struct Trials(Vec<f64>);

impl Trials {
    pub(super) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The standard error of the mean; `None` of a single trial.
    pub(super) fn standard_error(&self) -> Option<f64> {
        let (count, mean) = (self.0.len() as f64, self.mean());
        let squares: f64 = self.0.iter().map(|x| (x - mean).powi(2)).sum();
        (self.0.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt())
    }

    /// The rows `<metric>` and `<metric>_se`.
    pub(super) fn rows(&self, metric: &str) -> Vec<Row> {
        let mut rows = vec![Row::new(metric, self.mean())];
        rows.extend(self.standard_error().map(|error| Row::new(format!("{metric}_se"), error)));
        rows
    }
}

impl FromIterator<f64> for Trials {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_per_record() {
        let mut errors = MarginalErrors::of_records(10);
        errors.add([3.0, -4.0].into_iter());
        errors.add([1.0, 0.0, 0.0].into_iter());
        assert!((errors.mean_l1() - 0.4).abs() < 1e-15);
        assert!((errors.mean_l2() - 0.3).abs() < 1e-15);
        assert!((errors.max_l1() - 0.7).abs() < 1e-15);
    }

    #[test]
    fn standard_errors_are_those_of_the_mean() {
        let trials: Trials = [1.0, 2.0, 4.0, 5.0].into_iter().collect();
        assert_eq!(trials.mean(), 3.0);
        // Variance 10/3 of one trial, a quarter of it for the mean.
        assert!((trials.standard_error().unwrap() - (10.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(trials.rows("x").len(), 2);
        assert_eq!([1.0].into_iter().collect::<Trials>().rows("x").len(), 1);
    }
}
