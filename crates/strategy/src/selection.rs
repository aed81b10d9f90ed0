//! A selected strategy with its error.

use crate::certificate::Certificate;
use crate::error::Result;
use crate::optimal::Proof;
use crate::strategy::Strategy;
use crate::workload::Gram;

/// A strategy for a workload with its error and, if known, a certificate.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The strategy.
    pub strategy: Strategy,
    /// The expected squared error on the workload at unit privacy cost: the total
    /// `‖A‖₂² tr(G (AᵀA)⁻¹)`, or that of another [`Objective`](crate::Objective) and
    /// [`Participation`](crate::Participation).
    pub error: f64,
    /// Bounds on the optimum, for selectors that compute them.
    pub certificate: Option<Certificate>,
    /// The weights that prove the certificate's lower bound, and the error of an optimal strategy.
    pub proof: Option<Proof>,
    /// Values specific to this selector, by name.
    pub details: Vec<(&'static str, f64)>,
}

/// Returns a selection without a certificate, with the error computed from the strategy.
///
/// # Errors
/// As [`Strategy::error`].
pub fn evaluated(strategy: Strategy, gram: &Gram) -> Result<Selection> {
    let error = strategy.error(gram)?;
    Ok(Selection { strategy, error, certificate: None, proof: None, details: Vec::new() })
}
