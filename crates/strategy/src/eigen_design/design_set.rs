//! Program 2 with a design set: its options and its constructors.

use super::options::Options;
use crate::StrategySelector;
use crate::error::Result;

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
