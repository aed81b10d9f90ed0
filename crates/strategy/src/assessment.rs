//! The error of a strategy and its certified distance to the optimum.

use super::participation::Sensitivity;
use super::{
    Certificate, DualWeights, Optimal, Participation, Problem, Strategy, allocated, svd_bound,
    unanswered,
};
use crate::error::{Error, Result};
use matmech_linalg as linalg;

/// Relative rounding error allowed below the lower bound.
const ROUNDING: f64 = 1e-6;

/// The error and the bounds of a strategy for a problem, at unit privacy cost.
#[derive(Debug, Clone)]
pub struct Assessment {
    /// [`Problem::error`]; an upper bound if the sensitivity is one.
    pub error: f64,
    /// [`Problem::sensitivity`].
    pub sensitivity: Sensitivity,
    /// The rank of the strategy matrix A.
    pub rank: usize,
    /// The condition number of A: the largest over the smallest non-zero singular value. The
    /// relative accuracy of `error` is about `condition² · 1e-16`.
    pub condition: f64,
    /// [`Problem::svd_bound`] of the workload; none for random allocation.
    pub svd_bound: Option<f64>,
    /// A lower bound on the error of any strategy: [`DualWeights::lower_bound`] of `dual`. For random
    /// allocation: of any strategy with at most the divergence `chi_square`.
    pub lower_bound: f64,
    /// The smallest known error: of this strategy or of the best strategy found.
    pub upper_bound: f64,
    /// The bounds on the optimum, and the status of the solver.
    pub certificate: Certificate,
    /// Weights that prove the lower bound; none for random allocation.
    pub dual: Option<DualWeights>,
    /// For random allocation: the chi-square divergence of the strategy with the noise for (ε, δ).
    pub chi_square: Option<f64>,
}

impl Assessment {
    /// Returns `error / lower_bound − 1`, an upper bound on the relative excess of the strategy's
    /// error over the optimum.
    pub fn max_excess(&self) -> f64 {
        self.error / self.lower_bound - 1.0
    }

    /// Returns `error / upper_bound − 1`, a lower bound on the relative excess over the optimum.
    pub fn min_excess(&self) -> f64 {
        self.error / self.upper_bound - 1.0
    }
}

impl Optimal {
    /// Compares a strategy with the optimum of a problem.
    ///
    /// For random allocation, whose noise depends on (ε, δ), the optimum is that of the chi-square
    /// divergence that the strategy has with this noise.
    ///
    /// O(cells³) per iteration, for the largest factor if the problem is the default one; otherwise
    /// with the limits of [`Optimal::solve`](crate::StrategySelector::solve) without structure.
    ///
    /// # Errors
    /// The strategy has other cells than the workload, cannot answer a query
    /// ([`Error::UnansweredQuery`] names it), or is so ill-conditioned that its error cannot be
    /// computed; the workload is zero; or as [`Optimal::solve`](crate::StrategySelector::solve).
    pub fn assess(&self, strategy: &Strategy, problem: &Problem<'_>) -> Result<Assessment> {
        let workload = problem.workload;
        if let Participation::Random { .. } = problem.participation {
            return assess_allocation(strategy, problem);
        }
        let error =
            problem.error(strategy).map_err(|e| unanswered::with_query(e, strategy, workload))?;
        let (rank, condition) = spectrum(strategy)?;
        let gram = workload.gram()?;
        let (selection, dual) = self.solve_dense(problem)?;
        let Some(certificate) = selection.certificate else {
            return Err(Error::bug("optimal strategy", "a certificate", "none"));
        };
        let lower_bound = dual.lower_bound(problem)?;
        check_rounding(strategy, error, lower_bound, condition)?;
        let upper_bound = certificate.upper_bound.min(error);
        Ok(Assessment {
            error,
            sensitivity: problem.sensitivity(strategy)?,
            rank,
            condition,
            svd_bound: Some(problem.svd_bound(svd_bound(&gram)?)),
            // Rounding may put the lower bound slightly above an equal upper bound.
            lower_bound: lower_bound.min(upper_bound),
            upper_bound,
            certificate,
            dual: Some(dual),
            chi_square: None,
        })
    }
}

/// Compares a strategy with the strategies whose chi-square divergence is at most that of this one
/// with the noise for (ε, δ).
fn assess_allocation(strategy: &Strategy, problem: &Problem<'_>) -> Result<Assessment> {
    let allocation = allocated::allocation_of(problem, allocated::MAX_STEPS)?;
    let [factor] = strategy.factors() else {
        return Err(Error::bug("participation", "one factor", "several"));
    };
    let (rank, condition) = spectrum(strategy)?;
    let lower = linalg::lower_factor(factor.gram()?.view()).map_err(|_| {
        Error::bad_input(
            format!("strategy `{}`", strategy.name()),
            "a strategy of full rank, which measures every step",
            format!("rank {rank}, condition {condition:.1e}"),
            "give a lower triangular matrix without zeros on the diagonal",
        )
    })?;
    let sensitivity = problem.sensitivity(strategy)?;
    let error = problem.error_at(strategy, sensitivity.squared)?;
    let squared = sensitivity.squared;
    let bounds = allocated::chi_square_bounds(problem, allocation, &lower, squared, None)?;
    check_rounding(strategy, error, bounds.lower_bound, condition)?;
    let upper_bound = bounds.upper_bound.min(error);
    let lower_bound = bounds.lower_bound.min(upper_bound);
    let certificate = Certificate {
        lower_bound,
        upper_bound: bounds.upper_bound,
        iterations: bounds.rounds,
        status: bounds.status,
    };
    Ok(Assessment {
        error,
        sensitivity,
        rank,
        condition,
        svd_bound: None,
        lower_bound,
        upper_bound,
        certificate,
        dual: None,
        chi_square: Some(bounds.divergence),
    })
}

/// Refuses an error below the lower bound of any strategy.
fn check_rounding(strategy: &Strategy, error: f64, lower_bound: f64, condition: f64) -> Result<()> {
    if error >= lower_bound * (1.0 - ROUNDING) {
        return Ok(());
    }
    Err(Error::bad_input(
        format!("strategy `{}`", strategy.name()),
        format!("an error of at least {lower_bound:.6e}, the lower bound of any strategy"),
        format!("{error:.6e}, a rounding error of a matrix of condition {condition:.1e}"),
        "drop queries that are nearly combinations of others, or scale the rows alike",
    ))
}

/// Returns the rank and the condition number of A. O(cells³) for the largest factor.
fn spectrum(strategy: &Strategy) -> Result<(usize, f64)> {
    let (mut rank, mut condition) = (1, 1.0);
    for factor in strategy.factors() {
        let values = linalg::eigvalsh(factor.gram()?.view())?;
        let kept = linalg::nonzero_eigenvalues(&values);
        let (smallest, largest) = kept
            .iter()
            .map(|&k| values[k])
            .fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
        rank *= kept.len();
        condition *= (largest / smallest).sqrt();
    }
    Ok((rank, condition))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use crate::{Identity, StrategyFactor, StrategySelector};
    use approx::assert_relative_eq;

    /// The error of the identity strategy is the trace of the Gram matrix.
    #[test]
    fn the_error_of_the_identity_is_the_trace() {
        let workload = Workload::parse("range:6x9").unwrap();
        let gram = workload.gram().unwrap();
        let identity = Identity.select(&gram).unwrap().strategy;
        let assessment = Optimal::default().assess(&identity, &Problem::new(&workload)).unwrap();
        assert_relative_eq!(assessment.error, gram.trace(), max_relative = 1e-12);
        assert_eq!(assessment.rank, 54);
        assert_relative_eq!(assessment.condition, 1.0, max_relative = 1e-12);
        assert!(assessment.min_excess() <= assessment.max_excess());
        assert!(assessment.max_excess() - assessment.min_excess() < 1e-5);
        assert!(
            assessment.svd_bound.unwrap() <= assessment.lower_bound
                && assessment.lower_bound <= assessment.upper_bound
        );
    }

    #[test]
    fn the_optimum_has_no_excess_error() {
        let workload = Workload::parse("prefix:20").unwrap();
        let best = Optimal::default().select(&workload.gram().unwrap()).unwrap();
        let queries = best.strategy.factors()[0].queries().unwrap();
        let scaled = StrategyFactor::from_queries(&[20], queries.as_ref() * 37.0).unwrap();
        let assessment = Optimal::default()
            .assess(&Strategy::single("scaled", scaled), &Problem::new(&workload))
            .unwrap();
        assert!(assessment.max_excess() < 1e-6, "{assessment:?}");
    }

    #[test]
    fn an_unanswered_query_is_named() {
        let workload = Workload::parse("prefix:3").unwrap();
        let total = StrategyFactor::from_queries(&[3], ndarray::Array2::ones((1, 3))).unwrap();
        let error = Optimal::default()
            .assess(&Strategy::single("total", total), &Problem::new(&workload))
            .unwrap_err();
        assert!(matches!(error, Error::UnansweredQuery { .. }), "{error}");
        assert!(error.to_string().contains("prefix:3"), "{error}");
    }
}
