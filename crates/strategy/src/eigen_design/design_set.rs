//! Program 2 with a design set: its options, its constructors and its bound.

use super::program2::Completion;
use super::weighting::WeightingOptions;
use crate::error::Result;
use crate::workload::Gram;
use crate::{Call, StrategySelector, svd_bound};
use matmech_linalg as linalg;

/// The options of Program 2.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Options {
    /// For Program 1. Default [`WeightingOptions::default`].
    pub weighting: WeightingOptions,
    /// Which columns are completed. Default [`Completion::Joint`].
    pub completion: Completion,
}

impl Options {
    /// Reads the options of a call.
    pub(super) fn of(call: &Call<'_>) -> Result<Self> {
        let mut options = Options::default();
        options.weighting.tolerance =
            call.option("tolerance")?.unwrap_or(options.weighting.tolerance);
        if let Some(written) = call.written("completion") {
            options.completion = Completion::named(written).ok_or_else(|| {
                call.refuse("`joint`, `factors` or `none` for `completion`", written)
            })?;
        }
        options.weighting.check()?;
        Ok(options)
    }
}

/// Selects the strategy of Program 2, from the eigen-queries or from another design set:
/// `eigen-design`, `eigen-design(completion=factors)`, `eigen-design:wavelet`,
/// `eigen-design:matrix:A.npy`.
#[derive(Debug, Default)]
pub struct EigenDesign {
    pub(super) name: Option<String>,
    /// The strategy whose queries are the design set; `None` for the eigen-queries.
    pub(super) design: Option<Box<dyn StrategySelector>>,
    pub(super) options: Options,
}

impl EigenDesign {
    /// Creates Program 2 with the eigen-queries.
    ///
    /// # Errors
    /// Invalid options.
    pub fn new(options: Options) -> Result<Self> {
        options.weighting.check()?;
        Ok(EigenDesign { options, ..Self::default() })
    }

    /// Creates Program 2 with the queries of a strategy as the design set.
    ///
    /// # Errors
    /// Invalid options.
    pub fn weighting(design: Box<dyn StrategySelector>, options: Options) -> Result<Self> {
        options.weighting.check()?;
        Ok(EigenDesign {
            name: Some(format!("eigen-design:{}", design.name())),
            design: Some(design),
            options,
        })
    }
}

/// Returns the bound of S2, Thm 3, on Eigen-Design's error over the SVD bound, `√(n λ₁/svdb)`.
///
/// The paper's exponent ¼ is for root mean square errors. O(n³) for the largest factor.
///
/// # Errors
/// The eigensolver fails.
pub fn ratio_bound(gram: &Gram) -> Result<f64> {
    let mut largest = 1.0;
    for factor in gram.factors() {
        largest *= linalg::eigvalsh(factor.matrix.view())?.iter().copied().fold(0.0, f64::max);
    }
    Ok((gram.cells() as f64 * largest / svd_bound(gram)?).sqrt())
}
