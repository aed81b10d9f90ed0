//! Mean and standard error of independent trials.

/// Returns the mean; NaN for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the standard error of the mean of independent values, √(Σ (x − mean)²/(k − 1)/k).
///
/// `None` for fewer than two values.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    let (count, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_matches_manual_values() {
        let values = [1.0, 2.0, 4.0, 5.0];
        assert_eq!(mean(&values), 3.0);
        // The variance of one value is 10/3, that of the mean a quarter of it.
        assert!((standard_error(&values).unwrap() - (10.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!((standard_error(&[1.0]), standard_error(&[])), (None, None));
    }
}
