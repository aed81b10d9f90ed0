//! The trait of all estimators, and GReM-MLE: maximum-likelihood consistent marginals from noisy
//! residuals (S4, Sec. 4.1, Alg. 3).

use std::collections::HashMap;

use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::residual::{cells_summed_out, centre_box, spread_onto, summed, variance_coefficient};
use crate::schema::Schema;

/// The estimate of one residual τ: the mean of its measurements, weighted by their precisions.
///
/// The estimate is stored *centred*: c_τ = Recon(z_τ, τ, τ) = (⊗_{i∈τ} (I − J/n_i)) y_τ over the
/// n_τ cells of the marginal on τ, instead of the Π (n_i − 1) numbers of z_τ. The information is
/// the same (Decomp of c_τ is z_τ), and Recon to γ ⊇ τ gives every cell c_τ/n_{γ∖τ}.
#[derive(Debug, Clone, PartialEq)]
pub struct ResidualEstimate {
    centred: Vec<f64>,
    precision: f64,
}

impl ResidualEstimate {
    /// Returns the centred estimate c_τ, row-major over the cells of the marginal on τ.
    pub fn centred(&self) -> &[f64] {
        &self.centred
    }

    /// Returns the norm ‖c_τ‖₁.
    pub fn norm(&self) -> f64 {
        self.centred.iter().map(|x| x.abs()).sum()
    }

    /// Returns the precision λ_τ = Σ σ⁻² over the measurements of τ.
    pub fn precision(&self) -> f64 {
        self.precision
    }
}

/// The residual estimates of a table: c_τ and λ_τ of every residual measured so far.
///
/// A residual that is not measured is estimated as 0. The marginals μ̂_γ = Σ_{τ⊆γ} Recon(z_τ, τ, γ)
/// are consistent and maximise the likelihood of all measurements (S4, Theorem 4.1). *Memory*:
/// 8 n_τ bytes per measured residual.
#[derive(Debug, Clone)]
pub struct ResidualEstimates {
    sizes: Vec<usize>,
    known: HashMap<AttributeSet, ResidualEstimate>,
}

impl ResidualEstimates {
    /// Creates estimates without measurements for a schema.
    pub fn new(schema: &Schema) -> Self {
        ResidualEstimates { sizes: schema.sizes(), known: HashMap::new() }
    }

    /// Returns the sizes of all attributes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the estimate of τ; `None` if it has not been measured.
    pub fn get(&self, tau: AttributeSet) -> Option<&ResidualEstimate> {
        self.known.get(&tau)
    }

    /// Returns the precision λ_τ; 0 if τ has not been measured.
    pub fn precision(&self, tau: AttributeSet) -> f64 {
        self.known.get(&tau).map_or(0.0, |e| e.precision)
    }

    /// Returns the precisions λ_τ for all τ ⊆ γ, in the order of [`AttributeSet::subsets`].
    pub fn precisions(&self, gamma: AttributeSet) -> Vec<f64> {
        gamma.subsets().map(|tau| self.precision(tau)).collect()
    }

    /// Returns the measured residuals, in arbitrary order.
    pub(crate) fn measured_sets(&self) -> impl Iterator<Item = AttributeSet> + '_ {
        self.known.keys().copied()
    }

    /// Returns the number of measured residuals.
    pub fn measured(&self) -> usize {
        self.known.len()
    }

    /// Adds a centred measurement y of τ with noise variance σ², and returns the change of c_τ.
    ///
    /// c ← (λc + σ⁻²y)/(λ + σ⁻²), λ ← λ + σ⁻². [`add_spread`](crate::residual::add_spread) adds the
    /// change to the marginals on γ ⊇ τ. O(n_τ).
    ///
    /// # Errors
    /// A set outside the schema, a wrong number of cells, or a variance that is not a finite number
    /// greater than 0.
    pub fn update(
        &mut self,
        tau: AttributeSet,
        measured_centred: &[f64],
        variance: f64,
    ) -> Result<Vec<f64>> {
        let cells: usize = self.shape_of(tau)?.iter().product();
        let refuse = |expected: String, found: String, remedy: &str| {
            Err(Error::bad_input(
                format!("measurement of the residual on {tau:?}"),
                expected,
                found,
                remedy,
            ))
        };
        if measured_centred.len() != cells {
            let found = format!("{} numbers", measured_centred.len());
            return refuse(
                format!("{cells} numbers, one per cell of the marginal"),
                found,
                "centre the marginal without dropping cells",
            );
        }
        if !(variance > 0.0 && variance.is_finite() && variance.recip().is_finite()) {
            let expected = "a finite variance greater than 0".into();
            return refuse(expected, variance.to_string(), "omit residuals that are not measured");
        }
        let precision = variance.recip();
        let Some(estimate) = self.known.get_mut(&tau) else {
            let centred = measured_centred.to_vec();
            self.known.insert(tau, ResidualEstimate { centred, precision });
            return Ok(measured_centred.to_vec());
        };
        estimate.precision += precision;
        let weight = precision / estimate.precision;
        let change: Vec<f64> = measured_centred
            .iter()
            .zip(&estimate.centred)
            .map(|(new, old)| weight * (new - old))
            .collect();
        for (value, change) in estimate.centred.iter_mut().zip(&change) {
            *value += change;
        }
        Ok(change)
    }

    /// Adds a measurement `μ_γ + N(0, σ²I)` as the equivalent measurements of residuals.
    ///
    /// For every τ ⊆ γ these are the centred sums over γ∖τ, with variance σ² n_{γ∖τ}. O(2^k n_γ)
    /// for k attributes.
    ///
    /// # Errors
    /// As [`ResidualEstimates::update`].
    pub fn update_by_marginal(
        &mut self,
        gamma: AttributeSet,
        measured: &[f64],
        variance: f64,
    ) -> Result<()> {
        let sizes = self.shape_of(gamma)?;
        let cells: usize = sizes.iter().product();
        if measured.len() != cells {
            return Err(Error::bad_input(
                format!("measurement of the marginal on {gamma:?}"),
                format!("{cells} cells"),
                measured.len().to_string(),
                "pass one number per cell",
            ));
        }
        for (kept, tau) in AxisSet::subsets(sizes.len()).zip(gamma.subsets()) {
            let mut centred = summed(&sizes, kept, measured);
            centre_box(&kept.select(&sizes), &mut centred);
            self.update(tau, &centred, variance * cells_summed_out(&sizes, kept))?;
        }
        Ok(())
    }

    /// Returns the estimated marginal μ̂_γ, row-major. O(k n_γ) for k attributes.
    ///
    /// The proper subsets of γ are grouped by the first attribute i of γ that they lack. Each group
    /// is summed over γ∖{i}, which has n_i times fewer cells, and spread once.
    ///
    /// # Errors
    /// An attribute that the schema lacks.
    pub fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        let sizes = self.shape_of(gamma)?;
        Ok(self.collected(self.centred_or_zero(gamma, &sizes), gamma, &sizes, 0))
    }

    /// Returns μ̂_γ with a given c_γ, for a residual of γ that is not stored.
    pub(crate) fn completed(&self, gamma: AttributeSet, centred: Vec<f64>) -> Result<Vec<f64>> {
        let sizes = self.shape_of(gamma)?;
        Ok(self.collected(centred, gamma, &sizes, 0))
    }

    /// Returns c_γ; 0 if γ has not been measured.
    fn centred_or_zero(&self, gamma: AttributeSet, sizes: &[usize]) -> Vec<f64> {
        match self.known.get(&gamma) {
            Some(estimate) => estimate.centred.clone(),
            None => vec![0.0; sizes.iter().product()],
        }
    }

    /// Adds Σ Recon(z_τ, τ, γ) to `sum`.
    ///
    /// The sum is over the proper subsets τ of γ that contain the first `fixed` attributes.
    fn collected(
        &self,
        mut sum: Vec<f64>,
        gamma: AttributeSet,
        sizes: &[usize],
        fixed: usize,
    ) -> Vec<f64> {
        for axis in fixed..sizes.len() {
            let kept = AxisSet::all(sizes.len()).without(axis);
            let (subset, shape) = (gamma.at(kept), kept.select(sizes));
            let part = self.collected(self.centred_or_zero(subset, &shape), subset, &shape, axis);
            spread_onto(&mut sum, sizes, kept, &part);
        }
        sum
    }

    /// Drops the estimate of τ.
    pub(crate) fn forget(&mut self, tau: AttributeSet) {
        self.known.remove(&tau);
    }

    /// Returns the variance of every cell of μ̂_γ, Σ_{τ⊆γ} v_τ/λ_τ (S4, Prop. 4.4).
    ///
    /// Infinite if a residual of γ is not measured, and for attributes that the schema lacks.
    pub fn cell_variance(&self, gamma: AttributeSet) -> f64 {
        let Ok(sizes) = self.shape_of(gamma) else { return f64::INFINITY };
        let term = |(tau, precision): (AxisSet, f64)| match variance_coefficient(&sizes, tau) {
            0.0 => 0.0,
            coefficient => coefficient / precision,
        };
        AxisSet::subsets(sizes.len()).zip(self.precisions(gamma)).map(term).sum()
    }

    /// Returns the sizes of some attributes.
    pub(crate) fn shape_of(&self, gamma: AttributeSet) -> Result<Vec<usize>> {
        if gamma.end() > self.sizes.len() {
            return Err(outside(gamma, self.sizes.len()));
        }
        Ok(gamma.select(&self.sizes))
    }
}

/// Returns the error for attributes that are not among the first `count`.
pub(super) fn outside(gamma: AttributeSet, count: usize) -> Error {
    Error::bad_input(
        format!("marginal on attributes {gamma:?}"),
        format!("positions below {count}"),
        format!("{gamma:?}"),
        "use attribute positions of the schema",
    )
}

impl MarginalEstimates for ResidualEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        ResidualEstimates::marginal(self, gamma)
    }

    /// Returns Σ_{τ⊆γ} ‖c_τ‖₁ over the measured residuals of γ.
    fn norm_bound(&self, gamma: AttributeSet) -> f64 {
        gamma.subsets().map(|tau| self.get(tau).map_or(0.0, |estimate| estimate.norm())).sum()
    }
}

/// The current estimates of all marginals.
///
/// They are post-processing of measurements that were paid for, so nothing in them is private.
pub trait MarginalEstimates {
    /// Returns the estimated marginal μ̂_γ, row-major.
    ///
    /// # Errors
    /// A set whose marginal the estimator does not have.
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>>;

    /// Returns an upper bound on ‖μ̂_γ‖₁ that is cheaper than the marginal; infinite by default.
    fn norm_bound(&self, _gamma: AttributeSet) -> f64 {
        f64::INFINITY
    }

    /// Returns an upper bound on the change ‖μ̂_γ − μ̂'_γ‖₁ since the estimates μ̂' of the previous
    /// round.
    ///
    /// Infinite by default: selection then reads every marginal again.
    fn change_bound(&self, _gamma: AttributeSet) -> f64 {
        f64::INFINITY
    }
}
