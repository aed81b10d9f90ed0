//! The banded strategy of min-separation, for fixed epochs.

use std::sync::Arc;

use super::fit::BandedFit;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::prefix_sums::NoiseCost;
use crate::workload::Gram;
use crate::{
    Objective, Optimal, Participation, Problem, Selection, Strategy, StrategyFactor,
    StrategySelector,
};

/// Relative decrease of the error over 25 quasi-Newton steps at which the fit stops.
const TOLERANCE: f64 = 1e-7;

/// Maximum number of quasi-Newton steps.
const MAX_STEPS: usize = 5000;

/// The banded strategy with the smallest mean error under min-separation (BandMF), also for fixed
/// epochs and for other objectives.
///
/// Fixed epochs of b steps are patterns of min-separation b, and the columns of a pattern are
/// orthogonal, so the sensitivity is exact. The fit is always for the objective `mean`. *Source*:
/// Choquette-Choo et al., (Amplified) banded matrix factorization: a unified approach to private
/// training (2023), for equal norms.
#[derive(Debug, Clone, Copy)]
pub struct BandedForEpochs {
    /// The number of bands. Default the separation.
    pub bands: Option<usize>,
    /// Whether all columns have equal norms. Default true.
    pub equal_norms: bool,
}

impl Default for BandedForEpochs {
    fn default() -> Self {
        BandedForEpochs { bands: None, equal_norms: true }
    }
}

impl StrategySelector for BandedForEpochs {
    fn name(&self) -> &str {
        "bandmf"
    }

    fn summary(&self) -> &str {
        "banded strategy for several participations, norms=equal or free"
    }

    fn select(&self, _: &Gram) -> Result<Selection> {
        Err(self.refused("single participation"))
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        problem.check()?;
        let participation = match problem.participation {
            Participation::Random { epochs: count, .. } => {
                Participation::MinSeparation { separation: problem.workload.cells() / count, count }
            }
            Participation::Epochs(count) if count > 1 => {
                Participation::MinSeparation { separation: problem.workload.cells() / count, count }
            }
            Participation::Single | Participation::Epochs(_) => {
                return Err(self.refused(&format!("participation `{}`", problem.participation)));
            }
            other => other,
        };
        let fitted = Problem { objective: Objective::Mean, participation, ..*problem };
        let mut fit = BandedFit::new(&fitted, self.bands, self.equal_norms, MAX_STEPS)?;
        while fit.ended.is_none() && fit.advance(0.0)? > TOLERANCE {}
        let strategy = Arc::new(fit.form.gram(fit.variables())?);
        let factor = StrategyFactor::from_gram(problem.workload.shape(), strategy);
        let strategy = Strategy::kronecker(self.name(), vec![factor])?;
        let bands = fit.form.bands() as f64;
        let cost = NoiseCost {
            buffers: bands - 1.0,
            normals: 1.0,
            coefficients: bands * problem.workload.cells() as f64,
        };
        Ok(Selection {
            error: problem.error(&strategy)?,
            strategy,
            certificate: None,
            proof: None,
            details: cost.details(),
        })
    }

    fn options(&self) -> &'static [&'static str] {
        &["bands", "norms"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        let Optimal { bands, equal_norms, .. } = Optimal::default().with_options(call)?;
        let equal_norms = equal_norms || call.written("norms").is_none();
        Ok(Box::new(BandedForEpochs { bands, equal_norms }))
    }
}

impl BandedForEpochs {
    fn refused(&self, found: &str) -> Error {
        Error::bad_input(
            format!("strategy `{}`", self.name()),
            "several participations, epochs:K or min-sep:B,K with K > 1",
            found,
            "use e.g. participation=epochs:4, or another strategy, e.g. optimal",
        )
    }
}
