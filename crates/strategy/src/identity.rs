//! The identity strategy.

use ndarray::Array2;

use super::{Selection, StrategySelector, evaluated, per_attribute};
use crate::error::Result;
use crate::workload::Gram;

/// The identity strategy: every cell is measured, and queries are sums of noisy cells.
///
/// Error `tr G` (S1, Example 2.1).
#[derive(Debug, Clone, Copy, Default)]
pub struct Identity;

impl StrategySelector for Identity {
    fn name(&self) -> &str {
        "identity"
    }

    fn summary(&self) -> &str {
        "every cell once"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        evaluated(per_attribute(self.name(), gram, Array2::eye)?, gram)
    }
}
