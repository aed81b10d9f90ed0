//! Published estimates of marginals.

use crate::domain::AttributeSet;

/// The published estimates of one marginal.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedMarginal {
    /// The attributes.
    pub attributes: AttributeSet,
    /// The estimates, row-major.
    pub estimates: Vec<f64>,
    /// Half the lengths of their 95 % intervals; empty if the estimates have none.
    pub half_widths: Vec<f64>,
    /// An error bound of the whole marginal, in words.
    pub bound: Option<String>,
}
