//! Samples of independent runs and their result rows.

use crate::experiment::Row;

/// The numbers of independent runs or samples, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// Adds a number.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Returns how many numbers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the mean; NaN without numbers.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean_of(|x| x)
    }

    /// Returns the mean of a function of the numbers; NaN without numbers.
    #[must_use]
    pub fn mean_of(&self, function: impl Fn(f64) -> f64) -> f64 {
        self.0.iter().map(|&x| function(x)).sum::<f64>() / self.0.len() as f64
    }

    /// Returns the standard error of the mean, √(Σ(x − x̄)²/(n − 1)/n).
    ///
    /// It is `None` for fewer than two numbers.
    #[must_use]
    pub fn standard_error(&self) -> Option<f64> {
        let (count, mean) = (self.0.len() as f64, self.mean());
        let squares: f64 = self.0.iter().map(|x| (x - mean).powi(2)).sum();
        (self.0.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt())
    }

    /// Returns the smallest number; infinity without numbers.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the largest number; minus infinity without numbers.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the rows `<metric>` and, for at least two numbers, `<metric>_se`.
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
    fn the_standard_error_is_that_of_the_mean() {
        let sample: Sample = [1.0, 2.0, 4.0, 5.0].into_iter().collect();
        assert_eq!((sample.mean(), sample.smallest(), sample.largest()), (3.0, 1.0, 5.0));
        // One trial has variance 10/3, the mean of four trials a quarter of it.
        assert!((sample.standard_error().unwrap() - (10.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(sample.rows("x").len(), 2);
        assert_eq!([1.0].into_iter().collect::<Sample>().rows("x").len(), 1);
    }
}
