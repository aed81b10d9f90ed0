//! The square root of the prefix sums in a cyclic group.

use std::f64::consts::PI;
use std::sync::Arc;

use ndarray::Array2;

use super::factorisation::{Factorisation, Factorised, NoiseCost};
use crate::error::Result;
use crate::{Problem, StrategyFactor};

/// The factorisation of the prefix sums in the group algebra of the cyclic group of order 2n.
///
/// The prefix sums are a block of the circulant matrix of order 2n with n ones per row, whose
/// eigenvalues have the absolute values n, `1/sin(πk/2n)` for odd k, and 0. B and C are the first
/// rows and columns of a square root, with
///
/// ```text
/// X_st = ½ + (1/2n) Σ_{odd k<2n} cos(πk(s − t)/n)/sin(πk/2n),     ‖b_q‖² = X_00
/// ```
///
/// for every query. *Source*: Henzinger and Upadhyay, Improved differentially private continual
/// observation using group algebra (2025), Theorem 1. Noise takes 2n normals, all of which every
/// step uses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Circulant;

impl Factorised for Circulant {
    const NAME: &'static str = "circulant";
    const SUMMARY: &'static str = "square root of the prefix sums in a cyclic group";

    /// Returns the factorisation. O(n²).
    fn factorise(&self, _problem: &Problem<'_>, n: usize) -> Result<Factorisation> {
        let angle = PI / n as f64;
        let cosines: Vec<f64> = (0..2 * n).map(|j| (angle * j as f64).cos()).collect();
        let of_lag = |lag: usize| {
            let term = |k: usize| cosines[k * lag % (2 * n)] / (0.5 * angle * k as f64).sin();
            0.5 + (1..2 * n).step_by(2).map(term).sum::<f64>() / (2 * n) as f64
        };
        let by_lag: Vec<f64> = (0..n).map(of_lag).collect();
        let gram = Array2::from_shape_fn((n, n), |(s, t)| by_lag[s.abs_diff(t)]);
        Ok(Factorisation {
            factor: StrategyFactor::from_gram(&[n], Arc::new(gram)),
            variances: vec![by_lag[0]; n],
            cost: NoiseCost { buffers: 2.0 * n as f64, normals: 2.0, coefficients: 2.0 * n as f64 },
        })
    }
}
