//! Certified optima for Grams over boxes.

use ndarray::Array2;

use crate::error::Result;
use crate::planner::subspace::entrywise;
use crate::strategy::{Optimal, Proof, StrategyFactor, StrategySelector};
use crate::workload::{Family, Gram};

/// Returns the 1-D Gram of a family.
pub(super) fn family_gram(family: Family, n: usize) -> Result<Array2<f64>> {
    crate::workload::check_dense_size(&format!("Gram matrix of {}:{n}", family.name()), n)?;
    family.gram(&[n])
}

/// The certified optimum for a Gram over a box.
#[derive(Clone)]
pub(super) struct Optimum {
    pub(super) strategy: StrategyFactor,
    pub(super) error: f64,
    /// `lower_bound / error`: at most 1.
    pub(super) tightness: f64,
    pub(super) iterations: usize,
    pub(super) proof: Option<Proof>,
}

/// Returns the certified optimum for a Gram over a box, by search or at the weights of a proof.
pub(super) fn optimum(
    sizes: &[usize],
    gram: Array2<f64>,
    known: Option<&Proof>,
) -> Result<Optimum> {
    let gram = Gram::dense(sizes, gram)?;
    let best = match known {
        Some(proof) => proof.selection(&gram)?,
        None => Optimal::default().select(&gram)?,
    };
    let matrix = best.strategy.factors()[0].gram()?.as_ref().clone();
    Ok(Optimum {
        strategy: StrategyFactor::from_gram_scaled(sizes, matrix)?,
        error: best.error,
        tightness: best.certificate.map_or(0.0, |c| c.lower_bound / best.error),
        iterations: best.certificate.map_or(0, |c| c.iterations),
        proof: best.proof,
    })
}

/// Returns `tr(Γ V⁻¹)`.
pub(super) fn trace(gram: &Array2<f64>, strategy: &StrategyFactor) -> Result<f64> {
    Ok(entrywise(gram, strategy.covariance()?.as_ref()))
}
