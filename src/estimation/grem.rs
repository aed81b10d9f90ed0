//! GReM-MLE: from noisy residuals to the most likely consistent marginals (S4, Sec. 4.1 and Alg. 3).

use std::collections::HashMap;

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::planner::variance_coefficient;
use crate::residual::add_spread;
use crate::schema::Schema;

/// What is known about one residual τ: the mean of its measurements, weighted by their precisions.
///
/// The estimate is stored *centred*: c_τ = Recon(z_τ, τ, τ) = (⊗_{i∈τ} (I − J/n_i)) y_τ over the n_τ cells of the marginal
/// on τ, instead of the Π (n_i − 1) numbers of z_τ. It is the same information (Decomp of c_τ is z_τ), and Recon to γ ⊇ τ
/// only spreads it: every cell gets c_τ/n_{γ∖τ}.
#[derive(Debug, Clone, PartialEq)]
pub struct ResidualEstimate {
    centred: Vec<f64>,
    precision: f64,
}

impl ResidualEstimate {
    /// c_τ, row-major over the cells of the marginal on τ.
    pub fn centred(&self) -> &[f64] {
        &self.centred
    }

    /// λ_τ = Σ σ⁻² over the measurements of τ.
    pub fn precision(&self) -> f64 {
        self.precision
    }
}

/// The residual estimates of a table: c_τ and λ_τ of every residual measured so far. What is not measured is estimated as 0.
///
/// Any marginal follows from them, μ̂_γ = Σ_{τ⊆γ} Recon(z_τ, τ, γ); together these are consistent, and they maximise the
/// likelihood of all measurements (S4, Theorem 4.1). *Memory*: 8 n_τ bytes per measured residual.
#[derive(Debug, Clone)]
pub struct ResidualEstimates {
    sizes: Vec<usize>,
    known: HashMap<AttributeSet, ResidualEstimate>,
}

impl ResidualEstimates {
    /// No measurement yet, of a table with these attributes.
    pub fn new(schema: &Schema) -> Self {
        ResidualEstimates { sizes: schema.attributes().iter().map(|a| a.size).collect(), known: HashMap::new() }
    }

    /// The sizes of all attributes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// What is known about τ; `None` if it has not been measured.
    pub fn get(&self, tau: AttributeSet) -> Option<&ResidualEstimate> {
        self.known.get(&tau)
    }

    /// λ_τ: 0 if τ has not been measured.
    pub fn precision(&self, tau: AttributeSet) -> f64 {
        self.known.get(&tau).map_or(0.0, |e| e.precision)
    }

    /// λ_τ for all τ ⊆ γ by mask: bit i is set if the i-th position is in τ.
    ///
    /// # Errors
    /// Positions that are not ascending positions of the schema.
    pub fn precisions(&self, positions: &[usize]) -> Result<Vec<f64>> {
        self.own_sizes(positions)?;
        (0..1usize << positions.len()).map(|mask| Ok(self.precision(subset(positions, mask)?))).collect()
    }

    /// The number of residuals that have been measured.
    pub fn measured(&self) -> usize {
        self.known.len()
    }

    /// Takes in a measurement of τ, centred, with noise variance σ²: c ← (λc + σ⁻²y)/(λ + σ⁻²), λ ← λ + σ⁻².
    /// Returns the change of c_τ, which is what the marginals on γ ⊇ τ have to be told. O(n_τ).
    ///
    /// # Errors
    /// A set outside the schema, another number of cells, or a variance that is not a finite number greater than 0.
    pub fn update(&mut self, tau: AttributeSet, measured_centred: &[f64], variance: f64) -> Result<Vec<f64>> {
        let positions: Vec<usize> = tau.positions().collect();
        let cells: usize = self.own_sizes(&positions)?.iter().product();
        let refuse = |expected: String, found: String, remedy: &str| {
            Err(Error::invalid(format!("measurement of the residual on {positions:?}"), expected, found, remedy))
        };
        if measured_centred.len() != cells {
            let found = format!("{} numbers", measured_centred.len());
            return refuse(
                format!("{cells} numbers, one per cell of the marginal"),
                found,
                "centre it; do not drop cells",
            );
        }
        if !(variance > 0.0 && variance.is_finite() && variance.recip().is_finite()) {
            let expected = "a finite variance greater than 0".into();
            return refuse(expected, variance.to_string(), "leave out what is not measured");
        }
        let precision = variance.recip();
        let Some(estimate) = self.known.get_mut(&tau) else {
            let centred = measured_centred.to_vec();
            self.known.insert(tau, ResidualEstimate { centred, precision });
            return Ok(measured_centred.to_vec());
        };
        estimate.precision += precision;
        let weight = precision / estimate.precision;
        let change: Vec<f64> =
            measured_centred.iter().zip(&estimate.centred).map(|(new, old)| weight * (new - old)).collect();
        for (value, change) in estimate.centred.iter_mut().zip(&change) {
            *value += change;
        }
        Ok(change)
    }

    /// μ̂_γ, row-major over the given ascending positions. O(k n_γ) for k attributes.
    ///
    /// The residuals other than γ itself are collected by the first attribute i of γ that they lack: those that lack the
    /// same one are added up over γ∖{i}, which has n_i times fewer cells, and spread once.
    ///
    /// # Errors
    /// Positions that are not ascending positions of the schema.
    pub fn marginal(&self, positions: &[usize]) -> Result<Vec<f64>> {
        let sizes = self.own_sizes(positions)?;
        let own = self.own_part(positions, &sizes)?;
        self.collected(own, positions, &sizes, 0)
    }

    /// μ̂_γ with c_γ given instead of looked up: for marginals whose own residual is not to be kept.
    pub(crate) fn completed(&self, positions: &[usize], centred: Vec<f64>) -> Result<Vec<f64>> {
        let sizes = self.own_sizes(positions)?;
        self.collected(centred, positions, &sizes, 0)
    }

    /// c_γ, 0 if γ has not been measured.
    fn own_part(&self, positions: &[usize], sizes: &[usize]) -> Result<Vec<f64>> {
        Ok(match self.known.get(&AttributeSet::from_positions(positions)?) {
            Some(estimate) => estimate.centred.clone(),
            None => vec![0.0; sizes.iter().product()],
        })
    }

    /// Adds Σ Recon(z_τ, τ, γ) over the proper subsets τ of γ that contain the first `fixed` positions.
    fn collected(&self, mut sum: Vec<f64>, positions: &[usize], sizes: &[usize], fixed: usize) -> Result<Vec<f64>> {
        for axis in fixed..positions.len() {
            let without = |list: &[usize]| -> Vec<usize> {
                list.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, &x)| x).collect()
            };
            let (positions, fewer) = (without(positions), without(sizes));
            let part = self.collected(self.own_part(&positions, &fewer)?, &positions, &fewer, axis)?;
            let kept: Vec<bool> = (0..sizes.len()).map(|i| i != axis).collect();
            add_spread(&mut sum, sizes, &kept, &part);
        }
        Ok(sum)
    }

    /// Drops what is known about τ.
    pub(crate) fn forget(&mut self, tau: AttributeSet) {
        self.known.remove(&tau);
    }

    /// Σ_{τ⊆γ} v_τ/λ_τ: the variance of every cell of μ̂_γ (S4, Prop. 4.4). Infinite if a residual of γ is not measured,
    /// and for positions outside the schema.
    pub fn cell_variance(&self, positions: &[usize]) -> f64 {
        let (Ok(sizes), Ok(precisions)) = (self.own_sizes(positions), self.precisions(positions)) else {
            return f64::INFINITY;
        };
        let term = |(mask, precision): (usize, f64)| match variance_coefficient(&sizes, mask) {
            0.0 => 0.0,
            coefficient => coefficient / precision,
        };
        precisions.into_iter().enumerate().map(term).sum()
    }

    /// The sizes at ascending positions.
    pub(crate) fn own_sizes(&self, positions: &[usize]) -> Result<Vec<usize>> {
        let ascending = positions.windows(2).all(|w| w[0] < w[1]);
        let sizes: Option<Vec<usize>> = positions.iter().map(|&p| self.sizes.get(p).copied()).collect();
        sizes.filter(|_| ascending).ok_or_else(|| {
            Error::invalid(
                format!("marginal on attributes {positions:?}"),
                format!("ascending positions below {}", self.sizes.len()),
                format!("{positions:?}"),
                "sort the positions and use those of the schema",
            )
        })
    }
}

/// The subset of γ that a mask names: bit i stands for the i-th position.
pub(crate) fn subset(positions: &[usize], mask: usize) -> Result<AttributeSet> {
    let chosen: Vec<usize> =
        positions.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1).map(|(_, &p)| p).collect();
    AttributeSet::from_positions(&chosen)
}
