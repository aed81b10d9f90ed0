//! The optimum for a Gram matrix, factor by factor.

use std::sync::Arc;

use super::bounds::{Optimal, OptimalOptions};
use super::dual::Dual;
use super::identical_cells::CellClasses;
use super::proof::{Proof, ProofWeights};
use super::weighting::{Weighting, means_of_orbits, orbit_means};
use crate::error::Result;
use crate::exchangeable::{Exchangeable, ExchangeableStrategy};
use crate::symmetry::Reduction;
use crate::workload::{Gram, GramFactor};
use crate::{Certificate, Selection, Status, StrategyFactor};

/// The optimum of one Kronecker factor.
struct FactorOptimum {
    strategy: StrategyFactor,
    dual: Arc<Vec<f64>>,
    /// The weights of the strategy.
    weights: Arc<Vec<f64>>,
    certificate: Certificate,
}

impl Optimal {
    /// Selects a strategy by search, or at the weights of a proof.
    ///
    /// # Errors
    /// A factor of the Gram matrix is zero, or the eigensolver fails.
    pub(super) fn selected(&self, gram: &Gram, known: Option<&Proof>) -> Result<Selection> {
        let factors = gram.factors();
        let options = OptimalOptions {
            tolerance: self.options.tolerance / factors.len() as f64,
            ..self.options
        };
        let mut solved: Vec<(&GramFactor, FactorOptimum)> = Vec::new();
        let (mut strategy, mut dual, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let mut total = Certificate {
            lower_bound: 1.0,
            upper_bound: 1.0,
            iterations: 0,
            status: Status::Converged,
        };
        for (k, factor) in factors.iter().enumerate() {
            let equal = solved
                .iter()
                .position(|(f, _)| f.shape == factor.shape && f.matrix == factor.matrix);
            let index = match equal {
                Some(index) => index,
                None => {
                    let weighting = match known {
                        Some(proof) => {
                            Weighting::Known(&proof.dual.cells[k], &proof.strategy().cells[k])
                        }
                        None => Weighting::Search(&options),
                    };
                    let optimum = solve_factor(factor, &weighting)?;
                    total.iterations += optimum.certificate.iterations;
                    solved.push((factor, optimum));
                    solved.len() - 1
                }
            };
            let optimum = &solved[index].1;
            total.lower_bound *= optimum.certificate.lower_bound;
            total.upper_bound *= optimum.certificate.upper_bound;
            if optimum.certificate.status != Status::Converged {
                total.status = optimum.certificate.status;
            }
            strategy.push(optimum.strategy.clone());
            dual.push(optimum.dual.clone());
            weights.push(optimum.weights.clone());
        }
        let proof = Proof::new(ProofWeights::of_cells(dual), ProofWeights::of_cells(weights));
        Ok(Selection { proof: Some(proof), ..self.selection(strategy, total)? })
    }
}

/// Solves one dense factor. O(cells³) per iteration, or O(classes³) for classes of exchangeable
/// values.
fn solve_factor(factor: &GramFactor, weighting: &Weighting<'_>) -> Result<FactorOptimum> {
    if let Some(values) = Exchangeable::of(&factor.shape, factor.matrix.view()) {
        return solve_exchangeable(factor, values, weighting);
    }
    if let Some(classes) = CellClasses::of(factor.matrix.view()) {
        return solve_classes(factor, &classes, weighting);
    }
    let reduction = Reduction::of(&factor.shape, factor.matrix.view());
    let dual = Dual::new(&reduction)?;
    let orbits = &reduction.orbits;
    let proved = weighting.proved(&dual, dual.uniform(), factor.matrix.nrows(), |weights| {
        orbit_means(orbits, weights)
    })?;
    let gram = reduction.assemble(&dual.strategy_blocks(&reduction, &proved.point));
    let per_cell =
        |weights: &[f64]| Arc::new(orbits.orbit_of.iter().map(|&orbit| weights[orbit]).collect());
    Ok(FactorOptimum {
        strategy: StrategyFactor::from_gram(&factor.shape, Arc::new(gram)),
        dual: per_cell(&proved.dual),
        weights: per_cell(&proved.point.mu),
        certificate: proved.certificate,
    })
}

/// Solves one dense factor with one weight per class of exchangeable values.
fn solve_exchangeable(
    factor: &GramFactor,
    values: Exchangeable,
    weighting: &Weighting<'_>,
) -> Result<FactorOptimum> {
    let (sizes, orbit_of) = (values.orbit_sizes(), values.orbits());
    let dual = Dual::of_exchangeable(&values, &values.parts(factor.matrix.view()))?;
    let means = |weights: &[f64]| means_of_orbits(&orbit_of, &sizes, weights);
    let proved = weighting.proved(&dual, dual.uniform(), factor.matrix.nrows(), means)?;
    let parts = values.strategy_parts(dual.strategy_rows(&proved.point));
    let strategy = Arc::new(ExchangeableStrategy::new(values, parts));
    let per_cell =
        |weights: &[f64]| Arc::new(orbit_of.iter().map(|&orbit| weights[orbit]).collect());
    Ok(FactorOptimum {
        strategy: StrategyFactor::from_gram_source(&factor.shape, strategy),
        dual: per_cell(&proved.dual),
        weights: per_cell(&proved.point.mu),
        certificate: proved.certificate,
    })
}

/// Solves one dense factor with identical cells merged, starting from uniform weights on the cells.
fn solve_classes(
    factor: &GramFactor,
    classes: &CellClasses,
    weighting: &Weighting<'_>,
) -> Result<FactorOptimum> {
    let merged = classes.merged(factor.matrix.view());
    let reduction = Reduction::of(&[merged.nrows()], merged.view());
    let dual = Dual::new(&reduction)?;
    let orbits = &reduction.orbits;
    let start = orbit_means(orbits, &classes.sizes);
    let proved = weighting.proved(&dual, start, merged.nrows(), |weights| {
        orbit_means(orbits, &classes.summed(weights))
    })?;
    let gram =
        classes.repeated(&reduction.assemble(&dual.strategy_blocks(&reduction, &proved.point)));
    let per_cell = |weights: &[f64]| {
        let classed: Vec<f64> = orbits.orbit_of.iter().map(|&orbit| weights[orbit]).collect();
        Arc::new(classes.divided(&classed))
    };
    Ok(FactorOptimum {
        strategy: StrategyFactor::from_gram(&factor.shape, Arc::new(gram)),
        dual: per_cell(&proved.dual),
        weights: per_cell(&proved.point.mu),
        certificate: proved.certificate,
    })
}
