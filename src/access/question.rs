//! Questions to private data, their privacy costs, and the trait by which mechanisms ask them.

use super::selection::{CandidateSelection, Candidates};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::estimation::MarginalEstimates;
use crate::planner::SubspaceStrategy;
use crate::privacy::{NoiseStream, PrivacyCost, Rho};
use crate::residual::privacy_coefficient;

/// A measurement of a marginal with Gaussian noise.
#[derive(Debug, Clone, Copy)]
pub enum Question<'a> {
    /// The marginal on γ: `μ_γ + N(0, σ²I)`.
    ///
    /// ρ = 1/(2σ²), since a record is in one cell.
    Marginal {
        /// The attributes γ.
        attributes: AttributeSet,
        /// The noise variance σ².
        variance: f64,
    },
    /// The residual of τ from `μ_τ + N(0, σ²I)`, centred along all axes.
    ///
    /// ρ = p_τ/(2σ²) (S4, Prop. 4.3). Centring removes the residuals on subsets of τ, which this
    /// measurement does not release. The remaining noise is that of `z_τ` in S4, Sec. 4.1, of
    /// covariance σ² V_τ in the paper's coordinates.
    Residual {
        /// The attributes τ.
        attributes: AttributeSet,
        /// The noise variance σ².
        variance: f64,
    },
    /// Strategy answers `B μ_γ + N(0, I/β)`.
    ///
    /// ρ = β · max_i V_ii / 2 with `V = BᵀB`, recomputed from the matrices.
    Strategy {
        /// The attributes γ.
        attributes: AttributeSet,
        /// The strategy B.
        strategy: &'a SubspaceStrategy,
        /// The privacy cost β.
        privacy_cost: PrivacyCost,
    },
}

impl Question<'_> {
    /// Returns the attributes of the marginal that the question reads.
    pub fn attributes(&self) -> AttributeSet {
        match *self {
            Self::Marginal { attributes, .. }
            | Self::Residual { attributes, .. }
            | Self::Strategy { attributes, .. } => attributes,
        }
    }

    /// Returns the zCDP parameter ρ of the answer, rounded to nearest, for these attribute sizes.
    ///
    /// # Errors
    /// Attributes that the table lacks, or an invalid variance.
    pub fn cost(&self, sizes: &[usize]) -> Result<Rho> {
        if self.attributes().end() > sizes.len() {
            return Err(Error::bad_input(
                self.to_string(),
                format!("attributes below {}", sizes.len()),
                format!("{:?}", self.attributes()),
                "use attribute positions of the schema",
            ));
        }
        let gaussian = |sensitivity_squared: f64, variance: f64| -> Result<Rho> {
            if !(variance > 0.0 && variance.is_finite()) {
                return Err(Error::bad_input(
                    self.to_string(),
                    "a finite variance greater than 0",
                    variance.to_string(),
                    "omit queries that are not measured; noise of variance 0 is not private",
                ));
            }
            Ok(Rho::new(sensitivity_squared / (2.0 * variance))?)
        };
        match *self {
            Self::Marginal { variance, .. } => gaussian(1.0, variance),
            Self::Residual { attributes, variance } => {
                let shape = attributes.select(sizes);
                gaussian(privacy_coefficient(&shape, AxisSet::all(shape.len())), variance)
            }
            Self::Strategy { strategy, privacy_cost, .. } => {
                Ok(Rho::new(privacy_cost.get() * strategy.max_diagonal() / 2.0)?)
            }
        }
    }
}

impl std::fmt::Display for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Marginal { attributes, .. } => {
                write!(f, "measurement of the marginal on {attributes:?}")
            }
            Self::Residual { attributes, .. } => {
                write!(f, "measurement of the residual on {attributes:?}")
            }
            Self::Strategy { attributes, .. } => {
                write!(f, "measurement of a strategy on {attributes:?}")
            }
        }
    }
}

/// Paid access of a mechanism to private data.
pub trait PaidAccess {
    /// Returns the public sizes of the attributes.
    fn sizes(&self) -> &[usize];

    /// Returns the total budget.
    fn total(&self) -> Rho;

    /// Returns the remaining budget without the reserved part; `None` if it is zero.
    fn remaining(&self) -> Option<Rho>;

    /// Pays for several measurements together.
    ///
    /// The questions of `measure` are paid from ρ and cost at most ρ, up to the rounding of the sum
    /// (a relative 1e-9). The unused part is lost.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`](crate::Error::BudgetExhausted): ρ exceeds the remaining budget;
    /// nothing was paid or asked. Errors of `measure`.
    fn reserved(
        &mut self,
        what: &str,
        rho: Rho,
        measure: &mut dyn FnMut(&mut dyn PaidAccess) -> Result<()>,
    ) -> Result<()>;

    /// Returns the noisy answer to a question.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`](crate::Error::BudgetExhausted): the question costs more than the
    /// rest of the reservation, or than the remaining budget if there is no reservation; no count
    /// was read. Attributes that the table lacks, or a marginal of 2³² cells or more.
    fn measure(&mut self, question: &Question<'_>, stream: NoiseStream) -> Result<Vec<f64>>;

    /// Returns the index of the candidate that the exponential mechanism selects.
    ///
    /// # Errors
    /// As [`PaidAccess::measure`].
    fn select(
        &mut self,
        selection: &CandidateSelection,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) -> Result<usize>;
}
