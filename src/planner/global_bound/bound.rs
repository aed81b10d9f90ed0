//! Lower bounds, and how they are computed.

use crate::residual::ReferenceMeasure;
use crate::strategy::{Proof, Status};

/// The share by which the bound is lowered, for rounding in sums and decompositions.
pub(super) const ROUNDING: f64 = 1e-10;

/// The weights m on the cells of the full domain that give a bound.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum BoundWeights {
    /// The product measure with the largest bound that the optimiser finds.
    ///
    /// It starts from uniform weights, and from a plan's reference measure if one is given.
    #[default]
    Optimised,
    /// Uniform weights.
    Uniform,
    /// The given product measure.
    Given(ReferenceMeasure),
    /// The weights of a proof over all cells, for [`BoundMethod::Explicit`].
    Cells(Proof),
}

/// How a bound was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundMethod {
    /// The certified optimum of the full domain, with a dense Gram.
    Explicit,
    /// Blocks of exchangeable attributes.
    Exchangeable,
    /// A dense block for single attributes and a diagonal block for pairs.
    Pairs,
}

/// A lower bound on the total variance of any matrix mechanism with Gaussian noise.
#[derive(Debug, Clone)]
pub struct GlobalBound {
    /// The lower bound on the weighted sum of variances at privacy cost 1.
    ///
    /// It is reduced by the quadrature's error.
    pub total_variance: f64,
    /// The error of the quadrature relative to `total_variance`, estimated from twice the step.
    pub quadrature_error: f64,
    /// How it was computed.
    pub method: BoundMethod,
    /// The product measure that gives the bound.
    ///
    /// `None` for [`BoundMethod::Explicit`].
    pub weights: Option<ReferenceMeasure>,
    /// The weights over all cells of [`BoundMethod::Explicit`].
    pub proof: Option<Proof>,
    /// How the search for the weights ended.
    pub status: Status,
    /// The number of evaluations of the bound.
    pub evaluations: usize,
}

impl GlobalBound {
    /// Returns the bound as the root mean square error of a number of queries, at a privacy cost.
    pub fn rmse(&self, queries: f64, privacy_cost: f64) -> f64 {
        (self.total_variance / privacy_cost / queries).sqrt()
    }
}
