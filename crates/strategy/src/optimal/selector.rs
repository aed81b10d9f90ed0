//! The selector of the certified optimum.

use super::options::Optimal;
use crate::call::Call;
use crate::error::Result;
use crate::workload::Gram;
use crate::{Participation, Problem, Selection, StrategySelector};

impl StrategySelector for Optimal {
    fn name(&self) -> &str {
        "optimal"
    }

    fn summary(&self) -> &str {
        "certified optimum: smallest total error of any strategy, with a lower bound"
    }

    fn options(&self) -> &'static [&'static str] {
        &["tolerance", "max-iterations", "bands", "norms"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        Ok(Box::new(self.with_options(call)?))
    }

    fn as_optimal(&self) -> Option<&Optimal> {
        Some(self)
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        self.check_bands(Participation::Single)?;
        Ok(self.select_with_dual(gram)?.0)
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        Ok(self.select_with_any_dual(problem)?.0)
    }
}
