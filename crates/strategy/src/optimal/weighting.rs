//! How the weights of an optimum are found: by search, or from a proof.

use super::bounds::{OptimalOptions, Proved};
use super::dual::Dual;
use super::search::certify;
use crate::certificate::{Certificate, Status};
use crate::error::Result;
use crate::symmetry::Orbits;

/// How the weights of an optimum are found.
pub(super) enum Weighting<'a> {
    /// By search, from uniform weights on the cells.
    Search(&'a OptimalOptions),
    /// By search from weights per cell of a point of the central path.
    Near(&'a OptimalOptions, &'a [f64]),
    /// The weights per cell of the lower bound, and of the strategy.
    Known(&'a [f64], &'a [f64]),
}

impl Weighting<'_> {
    /// Returns the best point of a dual problem over `cells` cells.
    ///
    /// `start` are the weights per orbit of a search, `by_orbit` maps known weights to the orbits.
    ///
    /// # Errors
    /// As [`certify`]; or known weights are invalid.
    pub fn proved(
        &self,
        dual: &Dual,
        start: Vec<f64>,
        cells: usize,
        by_orbit: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Result<Proved> {
        let (lower, upper) = match self {
            Weighting::Search(options) => return certify(dual, start, options, cells, false),
            Weighting::Near(options, near) => {
                return certify(dual, by_orbit(near), options, cells, true);
            }
            Weighting::Known(lower, upper) => (lower, upper),
        };
        let point = dual.evaluate(&by_orbit(upper))?;
        let bound = if lower == upper { point.clone() } else { dual.evaluate(&by_orbit(lower))? };
        let certificate = Certificate {
            lower_bound: bound.lower_bound().max(point.lower_bound()),
            upper_bound: point.upper_bound(),
            iterations: 1,
            status: Status::Converged,
        };
        Ok(Proved { point, dual: bound.mu, certificate })
    }
}

/// Returns the mean weight of every orbit.
pub(super) fn orbit_means(orbits: &Orbits, weights: &[f64]) -> Vec<f64> {
    means_of_orbits(&orbits.orbit_of, &orbits.sizes, weights)
}

/// Returns the mean weight of every orbit, from the orbit of every cell and the sizes of the orbits.
pub(super) fn means_of_orbits(orbit_of: &[usize], sizes: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut means = vec![0.0; sizes.len()];
    for (&orbit, weight) in orbit_of.iter().zip(weights) {
        means[orbit] += weight / sizes[orbit];
    }
    means
}
