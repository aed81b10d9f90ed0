//! Designs for pure ε-differential privacy: Program 1 under the L1 norm (S2, on ε-differential
//! privacy).
//!
//! With Laplace noise the error of a strategy is `(2/ε²) ‖A‖₁² tr(G (AᵀA)⁺)`, where ‖A‖₁ is the
//! largest L1 norm of a column. It does not depend on AᵀA alone, so there is neither an analogue of
//! the SVD bound nor a best design set. The queries of any strategy can still be weighted better.
//! For `A = diag(w) Q`, Program 1 and its dual are
//!
//! ```text
//! minimise  Σ c_i/w_i²                     subject to  |Q|ᵀw ≤ 1
//! maximise  (Σ c_i^⅓ (|Q|y)_i^⅔)³          subject to  y on the simplex
//! ```
//!
//! Errors are in units of 2/ε². Columns are not completed: S2 completes them under L2 only.

use matmech::strategy::eigen_design::Design;
use matmech::strategy::eigen_design::weighting::{ColumnNorm, WeightingOptions, WeightingProblem};
use matmech::strategy::{Strategy, StrategyFactor, StrategySelector};
use matmech::workload::Gram;
use ndarray::{Array1, Axis};

use crate::error::Result;

/// A strategy for Laplace noise with the certificate of its weights.
pub(super) struct LaplaceDesign {
    /// Its error on the workload, `‖A‖₁² tr(G (AᵀA)⁺)`.
    pub(super) error: f64,
    /// A lower bound on the objective for any weights of the design queries.
    pub(super) lower_bound: f64,
    /// The objective reached: the error, if the design queries are linearly independent.
    #[cfg_attr(not(test), expect(dead_code, reason = "the test compares it with both others"))]
    pub(super) upper_bound: f64,
    /// The dual point that proves the lower bound, one vector per Kronecker factor.
    pub(super) duals: Vec<Array1<f64>>,
}

/// Weights the queries of the strategy that a selector chooses for the workload.
///
/// Kronecker factors are weighted separately, which is optimal for the product.
///
/// With `known` dual points, the weights are those of these points.
///
/// # Errors
/// As [`Design::of_strategy`] and [`WeightingProblem::solve`].
pub(super) fn reweighted(
    selector: &dyn StrategySelector,
    gram: &Gram,
    known: Option<&[Array1<f64>]>,
) -> Result<LaplaceDesign> {
    let designs = Design::of_strategy(selector, gram)?;
    let (mut lower_bound, mut upper_bound) = (1.0, 1.0);
    let mut duals = Vec::with_capacity(designs.len());
    let mut factors = Vec::with_capacity(designs.len());
    for (k, Design { gram, queries, costs }) in designs.into_iter().enumerate() {
        let problem = WeightingProblem::new(costs, &queries, ColumnNorm::L1)?;
        let weighting = match known {
            None => problem.solve(&WeightingOptions::default())?,
            Some(duals) => problem.at(duals.get(k).cloned().unwrap_or_default())?,
        };
        lower_bound *= weighting.lower_bound;
        upper_bound *= weighting.upper_bound;
        let kept: Vec<usize> =
            (0..queries.nrows()).filter(|&i| weighting.weights[i] > 0.0).collect();
        let weights = weighting.weights.select(Axis(0), &kept).insert_axis(Axis(1));
        factors.push(StrategyFactor::from_queries(
            &gram.shape,
            queries.select(Axis(0), &kept) * &weights,
        )?);
        duals.push(weighting.dual);
    }
    let strategy = Strategy::kronecker(selector.name(), factors)?;
    Ok(LaplaceDesign { error: error(&strategy, gram)?, lower_bound, upper_bound, duals })
}

/// Returns `‖A‖₁² tr(G (AᵀA)⁺)` of any strategy, in units of 2/ε².
///
/// # Errors
/// As [`Strategy::error`], or the strategy is known only by its Gram matrix and has no L1 norm.
pub(super) fn error(strategy: &Strategy, gram: &Gram) -> Result<f64> {
    let mut l1 = 1.0;
    for factor in strategy.factors() {
        let queries = factor.queries()?;
        l1 *= queries
            .columns()
            .into_iter()
            .map(|column| column.mapv(f64::abs).sum())
            .fold(0.0, f64::max);
    }
    Ok(strategy.error(gram)? / strategy.sensitivity_squared() * l1 * l1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use matmech::strategy::{Hierarchical, Identity, Wavelet};
    use matmech::workload::Workload;

    /// The duality gap closes, the objective is the error of independent queries, and weighting
    /// never increases the error.
    #[test]
    fn weighting_improves_strategies_with_a_certificate() {
        for text in ["range:32", "range:8x6", "cdf:20", "range-sample(queries=60,seed=2):24"] {
            let gram = Workload::parse(text).unwrap().gram().unwrap();
            for selector in [&Wavelet as &dyn StrategySelector, &Identity, &Hierarchical] {
                let found = reweighted(selector, &gram, None).unwrap();
                let name = selector.name();
                let gap = found.upper_bound / found.lower_bound - 1.0;
                assert!(gap <= 1e-6, "{text} {name}: {gap}");
                match name {
                    "hierarchical" => assert!(found.error <= found.upper_bound * (1.0 + 1e-9)),
                    _ => assert_relative_eq!(found.error, found.upper_bound, max_relative = 1e-7),
                }
                let unweighted = error(&selector.select(&gram).unwrap().strategy, &gram).unwrap();
                assert!(found.error <= unweighted * (1.0 + 1e-9), "{text} {name}: {unweighted}");
            }
        }
    }

    /// The identity on n cells: all weights are 1 and the error is tr G.
    #[test]
    fn the_identity_has_a_closed_form() {
        let gram = Workload::parse("range:9").unwrap().gram().unwrap();
        let found = reweighted(&Identity, &gram, None).unwrap();
        assert_relative_eq!(found.error, gram.trace(), max_relative = 1e-9);
    }
}
