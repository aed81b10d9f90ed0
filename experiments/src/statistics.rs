//! Samples of independent runs, and the rows that they give.

use crate::experiment::Row;

/// Numbers of independent runs or samples, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// Adds a number.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mean; NaN without numbers.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The standard error of the mean, √(Σ(x − x̄)²/(n − 1)/n); `None` of fewer than two numbers.
    #[must_use]
    pub fn standard_error(&self) -> Option<f64> {
        let (count, mean) = (self.0.len() as f64, self.mean());
        let squares: f64 = self.0.iter().map(|x| (x - mean).powi(2)).sum();
        (self.0.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt())
    }

    /// The smallest number; infinity without numbers.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The largest number; minus infinity without numbers.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The rows `<metric>` and, of two numbers and more, `<metric>_se`.
    #[must_use]
    pub fn rows(&self, metric: &str) -> Vec<Row> {
        let mut rows = vec![Row::new(metric, self.mean())];
        rows.extend(self.standard_error().map(|error| Row::new(format!("{metric}_se"), error)));
        rows
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_errors_are_those_of_the_mean() {
        let sample: Sample = [1.0, 2.0, 4.0, 5.0].into_iter().collect();
        assert_eq!((sample.mean(), sample.smallest(), sample.largest()), (3.0, 1.0, 5.0));
        // Variance 10/3 of one trial, a quarter of it for the mean.
        assert!((sample.standard_error().unwrap() - (10.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(sample.rows("x").len(), 2);
        assert_eq!([1.0].into_iter().collect::<Sample>().rows("x").len(), 1);
    }
}
