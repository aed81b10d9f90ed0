//! Errors of strategies on workloads, cached per process.

use std::sync::Arc;
use std::time::Instant;

use matmech::privacy::{Guarantee, PrivacyBudget};
use matmech::strategy::{self, Selection};
use matmech::workload::{Gram, Workload};

use crate::error::Result;
use crate::experiment::CellCertificate;
use crate::remembered::Remembered;
use crate::strategies::SVD_BOUND;

/// The strategy of S2, which others are compared with.
pub(super) const EIGEN_DESIGN: &str = "eigen-design";

/// The error of a selected strategy, its bounds and details.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// The total error at unit privacy cost.
    pub error: f64,
    /// The best known lower bound: the SVD bound or that of the strategy's certificate.
    pub lower: f64,
    /// The SVD bound.
    pub svd_bound: f64,
    /// The number of queries.
    pub queries: f64,
    /// Time of the selection in seconds, without the Gram matrix of the workload.
    pub seconds: f64,
    /// Details that the selector reports, by name.
    pub details: Vec<(&'static str, f64)>,
    /// The certificate of the optimum.
    pub certificate: Option<CellCertificate>,
}

impl Outcome {
    /// Returns the RMSE over that of another outcome on the same workload.
    pub fn over(&self, other: &Outcome) -> f64 {
        (self.error / other.error).sqrt()
    }

    /// Returns the RMSE over the SVD bound.
    pub fn over_bound(&self) -> f64 {
        (self.error / self.svd_bound).sqrt()
    }
}

/// Maximum number of cached outcomes and bounds, more than one run needs.
const MAX_OUTCOMES: usize = 4000;

/// Maximum number of cached Gram matrices of workloads, up to 34 MB each.
const MAX_GRAMS: usize = 4;

/// A cache of selections that several cells need. Clones share it.
///
/// Values do not depend on the order of requests. Seconds are those of the one computed selection.
#[derive(Debug, Clone)]
pub struct Selections(Arc<Caches>);

#[derive(Debug)]
struct Caches {
    outcomes: Remembered<(String, String), Outcome>,
    svd_bounds: Remembered<String, f64>,
    grams: Remembered<String, (Gram, f64)>,
}

impl Default for Selections {
    fn default() -> Self {
        Selections(Arc::new(Caches {
            outcomes: Remembered::new(MAX_OUTCOMES),
            svd_bounds: Remembered::new(MAX_OUTCOMES),
            grams: Remembered::new(MAX_GRAMS),
        }))
    }
}

impl Selections {
    /// Returns the outcome of a method (a strategy or `svd-bound`) on a workload string.
    ///
    /// Concurrent requests for one outcome compute it once.
    ///
    /// # Errors
    /// Returns an error if the workload or the method is invalid, or the selection fails.
    pub(super) fn of(&self, workload: &str, method: &str) -> Result<Arc<Outcome>> {
        let key = (workload.to_owned(), method.to_owned());
        self.0.outcomes.get(key, || self.select(workload, method))
    }

    fn select(&self, text: &str, method: &str) -> Result<Outcome> {
        let problem = self.0.grams.get(text.to_owned(), || {
            let workload = Workload::parse(text)?;
            Ok((workload.gram()?, workload.count().as_f64()))
        })?;
        let (gram, queries) = (&problem.0, problem.1);
        let svd_bound =
            *self.0.svd_bounds.get(text.to_owned(), || Ok(strategy::svd_bound(gram)?))?;
        if method == SVD_BOUND {
            let (error, lower, seconds, details) = (svd_bound, svd_bound, 0.0, Vec::new());
            let certificate = None;
            return Ok(Outcome { error, lower, svd_bound, queries, seconds, details, certificate });
        }
        let selector = strategy::by_name(method)?;
        let started = Instant::now();
        let Selection { error, certificate, proof, details, .. } = selector.select(gram)?;
        let seconds = started.elapsed().as_secs_f64();
        let lower = certificate.map_or(svd_bound, |c| c.lower_bound.max(svd_bound)).min(error);
        let certificate = proof.as_ref().map(CellCertificate::of);
        Ok(Outcome { error, lower, svd_bound, queries, seconds, details, certificate })
    }
}

/// Returns 1/β = 2 ln(2/δ)/ε² for the classical calibration.
///
/// # Errors
/// Returns an error if ε or δ is invalid, or if the classical calibration does not satisfy
/// (ε, δ)-differential privacy at this ε.
pub(super) fn inverse_privacy_cost(epsilon: f64, delta: f64) -> matmech::Result<f64> {
    let budget = PrivacyBudget::from(Guarantee::ApproximateClassical { epsilon, delta });
    Ok(1.0 / budget.privacy_cost()?.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_cached_and_equal_those_of_the_strategy() {
        let selections = Selections::default();
        let first = selections.of("range:16", "wavelet").unwrap();
        assert!(Arc::ptr_eq(&first, &selections.of("range:16", "wavelet").unwrap()));
        let gram = Workload::parse("range:16").unwrap().gram().unwrap();
        assert_eq!(first.error, strategy::by_name("wavelet").unwrap().select(&gram).unwrap().error);
        assert_eq!((first.queries, first.lower), (136.0, first.svd_bound));
        let bound = selections.of("range:16", SVD_BOUND).unwrap();
        assert_eq!((bound.over_bound(), first.over(&bound)), (1.0, first.over_bound()));
        assert!(
            selections.of("range:16", "wavelets").is_err()
                && selections.of("rang:16", "wavelet").is_err()
        );
    }
}
