//! Errors of strategies on workloads, each computed once per process.

use std::sync::Arc;
use std::time::Instant;

use matmech::strategy::{self, Selection};
use matmech::workload::Workload;

use crate::error::Result;
use crate::remembered::Remembered;
use crate::strategies::SVD_BOUND;

/// The strategy that S2 is about.
pub(super) const EIGEN_DESIGN: &str = "eigen-design";

/// What is kept of a selection.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// The total error at unit privacy cost.
    pub error: f64,
    /// The best lower bound known: the SVD bound, or that of the strategy's own certificate.
    pub lower: f64,
    /// The SVD bound.
    pub svd_bound: f64,
    /// The number of queries.
    pub queries: f64,
    /// What the selection took, the workload's Gram matrix apart.
    pub seconds: f64,
    /// What only this selector tells.
    pub details: Vec<(&'static str, f64)>,
}

impl Outcome {
    /// The root mean square error over that of another outcome on the same workload.
    pub fn over(&self, other: &Outcome) -> f64 {
        (self.error / other.error).sqrt()
    }

    /// The root mean square error over the bound.
    pub fn over_bound(&self) -> f64 {
        (self.error / self.svd_bound).sqrt()
    }
}

/// More than one run asks for.
const ROOM: usize = 1000;

/// Cells that compare strategies need the same selections; here each is made once. Values do not
/// depend on who asks first; the seconds are those of the one selection that was made.
#[derive(Debug)]
pub(super) struct Selections(Remembered<(String, String), Outcome>);

impl Default for Selections {
    fn default() -> Self {
        Selections(Remembered::new(ROOM))
    }
}

impl Selections {
    /// The outcome of a method (the name of a strategy, or the bound) on a workload string. Who
    /// asks for what is being computed waits for it.
    ///
    /// # Errors
    /// The workload or the method is refused, or the selection fails.
    pub fn of(&self, workload: &str, method: &str) -> Result<Arc<Outcome>> {
        self.0.get((workload.to_owned(), method.to_owned()), || {
            select(&Workload::parse(workload)?, method)
        })
    }
}

/// Selects without remembering.
pub(super) fn select(workload: &Workload, method: &str) -> Result<Outcome> {
    let gram = workload.gram()?;
    let svd_bound = strategy::svd_bound(&gram)?;
    let queries = workload.count().as_f64();
    if method == SVD_BOUND {
        let details = Vec::new();
        return Ok(Outcome {
            error: svd_bound,
            lower: svd_bound,
            svd_bound,
            queries,
            seconds: 0.0,
            details,
        });
    }
    let selector = strategy::by_name(method)?;
    let started = Instant::now();
    let Selection { error, certificate, details, .. } = selector.select(&gram)?;
    let seconds = started.elapsed().as_secs_f64();
    let lower = certificate.map_or(svd_bound, |c| c.lower_bound.max(svd_bound)).min(error);
    Ok(Outcome { error, lower, svd_bound, queries, seconds, details })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_made_once_and_equals_the_strategy_s() {
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
