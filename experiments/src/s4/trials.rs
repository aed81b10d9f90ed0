//! Independent trials of the same run.

use crate::experiment::Row;

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
    fn standard_errors_are_those_of_the_mean() {
        let trials: Trials = [1.0, 2.0, 4.0, 5.0].into_iter().collect();
        assert_eq!(trials.mean(), 3.0);
        // Variance 10/3 of one trial, a quarter of it for the mean.
        assert!((trials.standard_error().unwrap() - (10.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(trials.rows("x").len(), 2);
        assert_eq!([1.0].into_iter().collect::<Trials>().rows("x").len(), 1);
    }
}
