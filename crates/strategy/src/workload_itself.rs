//! The queries of the workload as the strategy.

use super::{Selection, Strategy, StrategyFactor, StrategySelector, evaluated};
use crate::error::Result;
use crate::workload::Gram;

/// The workload as the strategy: the Gaussian mechanism on every query, made consistent by least
/// squares.
///
/// Error `rank(G) · max_i G_ii`.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkloadItself;

impl StrategySelector for WorkloadItself {
    fn name(&self) -> &str {
        "workload"
    }

    fn summary(&self) -> &str {
        "the queries of the workload"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        let factors = gram
            .factors()
            .iter()
            .map(|f| StrategyFactor::from_gram(&f.shape, f.matrix.clone()))
            .collect();
        evaluated(Strategy::kronecker(self.name(), factors)?, gram)
    }
}
