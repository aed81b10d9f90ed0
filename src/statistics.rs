//! Mean and standard error of independent trials.

/// The mean; NaN of no value.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of the mean of independent values, √(Σ (x − mean)²/(k − 1)/k); `None` of
/// fewer than two.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    let (count, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_errors_are_those_of_the_mean() {
        let values = [1.0, 2.0, 4.0, 5.0];
        assert_eq!(mean(&values), 3.0);
        // Variance 10/3 of one value, a quarter of it for the mean.
        assert!((standard_error(&values).unwrap() - (10.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!((standard_error(&[1.0]), standard_error(&[])), (None, None));
    }
}
