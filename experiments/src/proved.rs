//! Bounds of strategy problems from certificates, for the kinds of experiments.

use std::sync::LazyLock;

use matmech::strategy::{self, Problem, Proof, ProvedBounds};
use matmech::workload::{Gram, Workload};

use crate::error::Result;
use crate::experiment::CellCertificate;
use crate::remembered::Remembered;

/// Bounds that many cells share, by workload string and certificate.
static GRAM_BOUNDS: LazyLock<Remembered<(String, CellCertificate), GramBounds>> =
    LazyLock::new(|| Remembered::new(MAX_SHARED));

/// The same for problems, by workload, objective and participation.
static PROBLEM_BOUNDS: LazyLock<Remembered<([String; 3], CellCertificate), ProvedBounds>> =
    LazyLock::new(|| Remembered::new(MAX_SHARED));

/// Number of bounds that are kept.
const MAX_SHARED: usize = 200;

/// Bounds on the total error of a workload.
#[derive(Clone, Copy, Debug)]
pub struct GramBounds {
    /// The best known lower bound.
    pub lower: f64,
    /// The error of the strategy of the certificate, if it has one.
    pub error: Option<f64>,
    /// The SVD bound.
    pub svd_bound: f64,
}

impl GramBounds {
    /// Returns the bounds for a workload string: those of the certificate, and the SVD bound, which
    /// is a closed form. Equal requests are computed once.
    ///
    /// # Errors
    /// The certificate does not fit the workload, or the eigensolver fails.
    pub fn of(workload: &str, certificate: &CellCertificate) -> Result<Self> {
        let key = (workload.to_owned(), certificate.clone());
        let bounds = GRAM_BOUNDS.get(key, || {
            let gram = Workload::parse(workload)?.gram()?;
            Self::of_gram(&gram, certificate.proof("")?.as_ref())
        })?;
        Ok(*bounds)
    }

    /// Returns the bounds of a proof, or the SVD bound if there is none.
    ///
    /// # Errors
    /// As [`GramBounds::of`].
    pub fn of_gram(gram: &Gram, proof: Option<&Proof>) -> Result<Self> {
        let svd_bound = strategy::svd_bound(gram)?;
        let Some(proof) = proof else {
            return Ok(GramBounds { lower: svd_bound, error: None, svd_bound });
        };
        let selection = proof.selection(gram)?;
        let lower = selection.certificate.map_or(svd_bound, |c| c.lower_bound.max(svd_bound));
        Ok(GramBounds { lower, error: Some(selection.error), svd_bound })
    }
}

/// Returns the bounds that a certificate proves for a problem, as totals for the objective `mean`;
/// `None` without a proof. Equal requests are computed once.
///
/// # Errors
/// The certificate does not fit the problem, or the eigensolver fails.
pub fn problem_bounds(
    problem: &Problem<'_>,
    certificate: &CellCertificate,
) -> Result<Option<ProvedBounds>> {
    let Some(proof) = certificate.proof("")? else { return Ok(None) };
    let name = problem.workload.name().to_owned();
    let names = [name, problem.objective.to_string(), problem.participation.to_string()];
    let key = (names, certificate.clone());
    Ok(Some(*PROBLEM_BOUNDS.get(key, || Ok(proof.bounds(problem)?))?))
}
