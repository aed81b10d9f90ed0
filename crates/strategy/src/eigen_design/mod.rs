//! Eigen-Design: strategies that weight fixed design queries (S2, Programs 1 and 2).
//!
//! Program 2 takes the eigenvectors of `G = WᵀW` with non-zero eigenvalues as design queries Q,
//! weights them by Program 1 ([`weighting`]) and completes the columns:
//!
//! ```text
//! A = diag(√u) Q,   V = AᵀA + diag(d),   d_j = max_i (AᵀA)_ii − (AᵀA)_jj
//! ```
//!
//! The error is at most `√(n λ₁/svdb)` times the SVD bound (Thm 3, [`ratio_bound`]). It does not
//! change if cells are renamed (Prop. 5) or the workload is replaced by one with the same Gram
//! matrix (Prop. 6), up to the choice of a basis for equal eigenvalues (see [`EigenQueries`]).
//!
//! *Kronecker products*: for `G = ⊗G_i` and `Q = ⊗Q_i` the weights `⊗u_i` are optimal, so every
//! factor is solved separately. Completing the columns of the whole domain, as in Program 2, loses
//! the product structure. Completing those of every factor keeps it and works on domains of any
//! size ([`Completion`]).
//!
//! *Cost*: an eigendecomposition and Program 1 of the largest factor; `O(cells³ / blocks²)` for
//! completion over the whole domain, where the workload's symmetries give the blocks.
//! *Reference*: S2, Programs 1 and 2, Thms 1 to 3, Props 5 and 6.

mod completion;
mod design;
mod eigenbasis;
mod principal;
mod program2;
mod separation;
#[cfg(test)]
mod tests;
pub mod weighting;

pub use design::Design;
pub use eigenbasis::EigenQueries;
pub use principal::{PrincipalCount, PrincipalVectors};
pub use program2::Completion;
use program2::{FactorDesign, assembled};
pub use separation::EigenSeparation;
use weighting::WeightingOptions;

use super::{Call, Selection, StrategySelector, svd_bound};
use crate::error::Result;
use crate::workload::Gram;
use matmech_linalg as linalg;

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
    fn of(call: &Call<'_>) -> Result<Self> {
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
    name: Option<String>,
    /// The strategy whose queries are the design set; `None` for the eigen-queries.
    design: Option<Box<dyn StrategySelector>>,
    options: Options,
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

impl StrategySelector for EigenDesign {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("eigen-design")
    }

    fn summary(&self) -> &str {
        "weighted eigen-queries of the workload; eigen-design:STRATEGY weights those of a strategy"
    }

    fn options(&self) -> &'static [&'static str] {
        &["tolerance", "completion"]
    }

    fn takes_operand(&self) -> bool {
        true
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        let options = Options::of(call)?;
        let mut selector = match call.operand() {
            None => Self::new(options)?,
            Some(design) => Self::weighting(super::by_name(design)?, options)?,
        };
        selector.name = Some(call.text().to_owned());
        Ok(Box::new(selector))
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        // The relative gaps of the factors add up.
        let tolerance = self.options.weighting.tolerance / gram.factors().len() as f64;
        let weighting = WeightingOptions { tolerance, ..self.options.weighting };
        let mut solved: Vec<FactorDesign> = Vec::new();
        match &self.design {
            None => {
                for (factor, eigen) in gram.factors().iter().zip(EigenQueries::of_factors(gram)?) {
                    let next = match solved.iter().find(|known| known.is_for(factor)) {
                        Some(known) => known.repeated(),
                        None => FactorDesign::of_eigen_queries(factor.clone(), eigen, &weighting)?,
                    };
                    solved.push(next);
                }
            }
            Some(selector) => {
                for design in Design::of_strategy(selector.as_ref(), gram)? {
                    solved.push(FactorDesign::of_design(design, &weighting)?);
                }
            }
        }
        assembled(self.name(), solved, self.options.completion)
    }
}
