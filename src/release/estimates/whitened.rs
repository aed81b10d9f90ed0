//! Queries in whitened coordinates.
//!
//! The subspace of A is measured by `y_A = B_A x_A` with noise of variance Var_A. The estimate of a
//! query q with the components q_A is
//!
//! ```text
//! Σ_A p_A · y_A        p_A = B_A^{+T} q_Aᵀ, the weights of the answers
//! w_A = √Var_A p_A     covariance of two estimates = Σ_A w_A · w'_A
//! ```
//!
//! The w_A are the whitened query: in these coordinates the noise has the covariance I. A product
//! of rows has weights that are products of the weights of the factors, each as exact as its
//! factor is well-conditioned.

use super::least_squares::Estimates;
use super::weights::{Weights, kron};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::planner::SubspaceStrategy;
use crate::residual::{centre_for, contracted};
use crate::strategy::StrategyFactor;

/// Entries of centred rows, and means, below this share of the largest weight are rounding errors.
pub(super) const MAX_ROUNDING: f64 = 1e-12;

impl Estimates {
    /// Returns the weights p_A of the answers in the estimate of a product of one row per attribute;
    /// `None` if it has a component in a subspace that was not measured.
    ///
    /// *Time*: O(Σ cells of factors · rows of factors) and O(rows) per subspace.
    ///
    /// # Errors
    /// The singular value decomposition of a factor fails.
    pub(super) fn weights_of_product(
        &self,
        attributes: AttributeSet,
        rows: &[&[f64]],
    ) -> Result<Option<Weights>> {
        let (mut centred, mut means) = (Vec::new(), Vec::new());
        let (mut varying, mut required) = (AttributeSet::EMPTY, AttributeSet::EMPTY);
        for (position, row) in attributes.positions().zip(rows) {
            let least = MAX_ROUNDING * row.iter().fold(0.0f64, |max, x| max.max(x.abs()));
            let (mean, component) = self.centred_row(position, row);
            let member = AttributeSet::single(position);
            if component.iter().any(|x| x.abs() > least) {
                varying = varying.union(member);
            }
            if mean.abs() <= least {
                required = required.union(member);
            }
            centred.push((position, component));
            means.push((position, mean));
        }
        let mut weights = Weights::default();
        if !required.is_subset(varying) {
            return Ok(Some(weights));
        }
        for set in varying.subsets().filter(|set| required.is_subset(*set)) {
            let Some(part) = self.parts.get(&set) else { return Ok(None) };
            let outside = means.iter().filter(|(position, _)| !set.contains(*position));
            let mut product = vec![outside.map(|(_, mean)| mean).product()];
            let mut inside =
                centred.iter().filter(|(p, _)| set.contains(*p)).map(|(_, row)| row.as_slice());
            for factor in factors_of(&part.strategy)? {
                let row = kron(inside.by_ref().take(factor.shape().len()));
                product = kron([&product[..], &factor.weights_of(&row)?].into_iter());
            }
            weights.0.insert(set, product);
        }
        Ok(Some(weights))
    }

    /// Returns the mean and the centred weights of a row of an attribute.
    pub(super) fn centred_row(&self, position: usize, row: &[f64]) -> (f64, Vec<f64>) {
        let measure = self.measure.of_attribute(position);
        let mean = row.iter().enumerate().map(|(c, x)| x * measure.weight(c)).sum();
        let mut component = row.to_vec();
        centre_for(&[row.len()], &mut component, std::slice::from_ref(measure));
        (mean, component)
    }

    /// Returns the weights p_A of the answers in the estimate of a query on a marginal, without its
    /// components in subspaces that were not measured.
    ///
    /// O(2^k · cells · Σ sizes).
    ///
    /// # Errors
    /// Attributes outside the schema, or the singular value decomposition of a factor fails.
    pub(super) fn weights_of_query(
        &self,
        attributes: AttributeSet,
        query: &[f64],
    ) -> Result<Weights> {
        let sizes = self.schema.shape_of(attributes)?;
        let measures = self.measure.of(attributes);
        let mut weights = Weights::default();
        for (kept, set) in AxisSet::subsets(sizes.len()).zip(attributes.subsets()) {
            let Some(part) = self.parts.get(&set) else { continue };
            let mut component = contracted(&sizes, kept, query.to_vec(), &measures);
            centre_for(&kept.select(&sizes), &mut component, &self.measure.of(set));
            weights.0.insert(set, part.strategy.weights_of(&component)?);
        }
        Ok(weights)
    }

    /// Returns the whitened query with given weights: w_A = √Var_A p_A.
    pub(super) fn whitened(&self, mut weights: Weights) -> Weights {
        for (set, values) in &mut weights.0 {
            let deviation = self.parts.get(set).map_or(0.0, |part| part.noise.sqrt());
            values.iter_mut().for_each(|x| *x *= deviation);
        }
        weights
    }
}

/// Returns the error of a query that was not checked before.
pub(super) fn unmeasured() -> Error {
    Error::bug("variances", "queries whose components were measured", "an unmeasured component")
}

/// Returns the factors of the strategy of a release.
pub(super) fn factors_of(strategy: &SubspaceStrategy) -> Result<&[StrategyFactor]> {
    match strategy {
        SubspaceStrategy::Kronecker(factors) => Ok(factors),
        SubspaceStrategy::Fourier { .. } => {
            Err(Error::bug("estimates", "a product of factors", "another strategy"))
        }
    }
}
