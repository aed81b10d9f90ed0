//! Tests of factor.

use super::*;
use approx::{assert_abs_diff_eq, assert_relative_eq};

/// Returns three queries of rank 2 over six cells, in every form.
fn forms() -> [StrategyFactor; 3] {
    let queries = ndarray::array![
        [1.0, 0.0, 2.0, -1.0, 0.5, 0.0],
        [0.0, 1.0, 1.0, 0.0, -2.0, 1.0],
        [1.0, 1.0, 3.0, -1.0, -1.5, 1.0]
    ];
    let max = largest_column(queries.view());
    [
        StrategyFactor::from_gram_scaled(&[2, 3], queries.t().dot(&queries)).unwrap(),
        StrategyFactor::low_rank(&[2, 3], queries.view()).unwrap(),
        StrategyFactor::from_queries(&[2, 3], queries / max.sqrt()).unwrap(),
    ]
}

/// Queries in the row space of the strategy.
fn answered() -> Vec<Vec<f64>> {
    vec![vec![1.0, 0.0, 2.0, -1.0, 0.5, 0.0], vec![-1.0, 3.0, 1.0, 1.0, -6.5, 3.0]]
}

/// All forms of a strategy have the same Gram matrix, covariance, sensitivity and variances.
#[test]
fn all_forms_agree() {
    let [dense, rest @ ..] = forms();
    for factor in rest {
        assert_abs_diff_eq!(
            factor.gram().unwrap().as_ref(),
            dense.gram().unwrap().as_ref(),
            epsilon = 1e-14
        );
        let (a, b) = (factor.covariance().unwrap(), dense.covariance().unwrap());
        assert_abs_diff_eq!(a.as_ref(), b.as_ref(), epsilon = 1e-12);
        assert_relative_eq!(factor.sensitivity_squared(), 1.0, max_relative = 1e-14);
        for row in &answered() {
            assert_relative_eq!(
                factor.variance(row).unwrap(),
                dense.variance(row).unwrap(),
                max_relative = 1e-12
            );
        }
        let total = |f: &StrategyFactor| f.total_variance(answered().into_iter()).unwrap();
        assert_relative_eq!(total(&factor), total(&dense), max_relative = 1e-12);
    }
    assert!(forms()[1].is_low_rank() && !dense.is_low_rank());
}

/// The inverse recovers the answered queries, and its noise has the covariance V⁺.
#[test]
fn the_inverse_recovers_what_is_measured() {
    for factor in forms() {
        let (queries, inverse) = (factor.queries().unwrap(), factor.inverse().unwrap());
        assert_abs_diff_eq!(
            queries.t().dot(queries.as_ref()),
            factor.gram().unwrap().as_ref(),
            epsilon = 1e-13
        );
        for row in answered() {
            let row = Array1::from_vec(row);
            assert_abs_diff_eq!(
                row.dot(inverse.as_ref()).dot(queries.as_ref()),
                row,
                epsilon = 1e-12
            );
        }
        // The noise of the reconstructed cells has the covariance V⁺.
        let covariance = inverse.dot(&inverse.t());
        assert_abs_diff_eq!(covariance, factor.covariance().unwrap().as_ref(), epsilon = 1e-12);
    }
}

#[test]
fn bad_strategies_are_refused() {
    assert!(StrategyFactor::from_gram_scaled(&[2], Array2::zeros((2, 2))).is_err());
    let zeros: Array2<f64> = Array2::zeros((2, 4));
    let message = StrategyFactor::low_rank(&[4], zeros.view()).err().unwrap().to_string();
    assert!(message.contains("not zero"), "{message}");
    assert!(StrategyFactor::low_rank(&[3], Array2::ones((2, 4)).view()).is_err());
    assert!(StrategyFactor::from_queries(&[3], Array2::eye(2)).is_err());
    for factor in forms() {
        assert!(factor.variance(&[1.0; 5]).is_err());
    }
    assert!(forms()[1].variance(&[1.0; 5]).unwrap_err().to_string().contains("6 cells"));
}
