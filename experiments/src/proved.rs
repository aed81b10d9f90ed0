//! Bounds of strategy problems from certificates, for the kinds of experiments.

use std::sync::LazyLock;

use matmech::strategy::{self, Proof};
use matmech::workload::{Gram, Workload};

use crate::error::Result;
use crate::experiment::Certificate;
use crate::remembered::Remembered;

/// SVD bounds by workload string: many cells have the same workload.
static SVD_BOUNDS: LazyLock<Remembered<String, f64>> = LazyLock::new(|| Remembered::new(200));

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
    /// is a closed form.
    ///
    /// # Errors
    /// The certificate does not fit the workload, or the eigensolver fails.
    pub fn of(workload: &str, certificate: &Certificate) -> Result<Self> {
        let proof = certificate.proof("")?;
        let svd_bound = *SVD_BOUNDS.get(workload.to_owned(), || {
            Ok(strategy::svd_bound(&Workload::parse(workload)?.gram()?)?)
        })?;
        match proof {
            None => Ok(GramBounds { lower: svd_bound, error: None, svd_bound }),
            Some(proof) => Self::of_proof(&Workload::parse(workload)?.gram()?, &proof, svd_bound),
        }
    }

    /// Returns the bounds of a proof, or the SVD bound if there is none.
    ///
    /// # Errors
    /// As [`GramBounds::of`].
    pub fn of_gram(gram: &Gram, proof: Option<&Proof>) -> Result<Self> {
        let svd_bound = strategy::svd_bound(gram)?;
        match proof {
            None => Ok(GramBounds { lower: svd_bound, error: None, svd_bound }),
            Some(proof) => Self::of_proof(gram, proof, svd_bound),
        }
    }

    fn of_proof(gram: &Gram, proof: &Proof, svd_bound: f64) -> Result<Self> {
        let selection = proof.selection(gram)?;
        let lower = selection.certificate.map_or(svd_bound, |c| c.lower_bound.max(svd_bound));
        Ok(GramBounds { lower, error: Some(selection.error), svd_bound })
    }
}
