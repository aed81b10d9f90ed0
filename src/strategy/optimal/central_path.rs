//! The central path of the dual problem: what a search over workloads minimises in place of the
//! optimum.
//!
//! For rows R, queries × cells, and a barrier τ > 0
//!
//! ```text
//! φ(R) = max { 2 tr (R diag(μ) Rᵀ)^½ − Σ μ + τ Σ ln μ : μ > 0 }
//! ```
//!
//! is concave in μ, and its maximiser lies inside: φ is smooth in R where the optimum E, its limit
//! for τ → 0, has kinks and flat directions, and the maximiser for one R is a good start for the
//! next. `μ/Σμ` are dual weights of the gap `cells·τ/E` at most. With μ fixed,
//! `∂φ/∂R = 2 K^(−½) R diag(μ)`, `K = R diag(μ) Rᵀ`.

use ndarray::{Array1, ArrayView2};

use super::Optimal;
use super::dual::Dual;
use super::interior_point::step_length;
use super::newton::{self, Curvature};
use crate::error::{Error, Result};

/// The barrier falls by this factor from step to step until it reaches τ.
const DESCENT: f64 = 0.15;

/// Newton's steps end with one that raises φ by less than this share of it: what is left is its
/// square.
const PRECISION: f64 = 1e-6;

/// A start is near if its slacks, weighted by μ, are wrong by at most this share of them.
const NEAR: f64 = 0.5;

/// Another start is kept from where the products of weights and slacks are at most this many τ.
const BEFORE: f64 = 12.0;

/// Relative residual of the systems: Newton's steps are repeated anyway.
const LINEAR: f64 = 3e-2;

/// Most steps.
const MOST_STEPS: usize = 60;

/// A point of the central path of a workload given by rows.
#[derive(Debug, Clone)]
pub(crate) struct Centre {
    /// φ.
    pub value: f64,
    /// Evaluations used, each one eigendecomposition.
    pub steps: usize,
    place: Place,
    /// A place on the way to it, further inside.
    before: Option<Place>,
    /// τ.
    barrier: f64,
}

impl Centre {
    /// The maximiser, one weight per cell.
    pub fn mu(&self) -> &[f64] {
        self.place.mu.as_slice().unwrap_or(&[])
    }
}

impl Optimal {
    /// The centre at the barrier of another workload's centre, which is a start if it is near;
    /// without one at the barrier for a gap, the SVD bound standing for the optimum.
    ///
    /// *Cost*: a step is O(rows³ + rows²·cells) and a system over those cells whose weights count;
    /// 3 to 6 steps from a centre nearby, 15 from none.
    ///
    /// # Errors
    /// Rows of zeros, or the steps do not converge.
    pub(crate) fn centre_of_rows(
        rows: ArrayView2<'_, f64>,
        gap: f64,
        start: Option<&Centre>,
    ) -> Result<Centre> {
        let dual = Dual::of_any_rows(rows);
        let cells = rows.ncols();
        if let Some(centre) = start.filter(|start| start.mu().len() == cells) {
            if dual.is_near(&centre.place)?
                && let Some(found) = climb(&dual, centre.place.clone(), centre.barrier)?
            {
                return Ok(Centre { before: centre.before.clone(), ..found });
            }
            if let Some(before) = &centre.before
                && dual.is_near(before)?
                && let Some(found) = climb(&dual, before.clone(), centre.barrier)?
            {
                return Ok(found);
            }
        }
        let bound = dual.evaluate(&dual.uniform())?.lower_bound();
        let barrier = start.map_or(gap * bound / cells as f64, |start| start.barrier);
        let uniform = Place {
            mu: Array1::from_elem(cells, bound / cells as f64),
            slack: Array1::ones(cells),
        };
        climb(&dual, uniform, barrier)?.ok_or_else(|| Error::DidNotConverge {
            what: "central path of a residual problem".into(),
            order: cells,
        })
    }
}

/// Weights and slacks.
#[derive(Debug, Clone)]
struct Place {
    mu: Array1<f64>,
    slack: Array1<f64>,
}

impl Dual {
    /// Whether another workload's place on its path is one to start from: its slacks are wrong by
    /// less than they are.
    fn is_near(&self, place: &Place) -> Result<bool> {
        let sigma = place.mu.sum();
        let point = self.evaluate(place.mu.as_slice().unwrap_or(&[]))?;
        let wrong: f64 = (point.v.iter().zip(&place.slack).zip(&place.mu))
            .map(|((v, z), m)| m * (1.0 - v / sigma.sqrt() - z).abs())
            .sum();
        Ok(wrong <= NEAR * place.mu.dot(&place.slack))
    }
}

/// Newton's method on μ and the slacks `z = 1 − v` for `μ z = τ`, by way of larger products where
/// the start has them. Nothing if the steps do not converge.
fn climb(dual: &Dual, start: Place, barrier: f64) -> Result<Option<Centre>> {
    let Place { mut mu, mut slack } = start;
    let cells = mu.len();
    let formed = newton::step_cost(dual).is_some_and(|(formed, _)| formed);
    let mut before: Option<Place> = None;
    let mut near = false;
    for steps in 1..=MOST_STEPS {
        let point = dual.evaluate(mu.as_slice().unwrap_or(&[]))?;
        // `evaluate` normalises: with Σμ = σ, t grows by √σ, v shrinks by it, and H scales by
        // σ^(−3/2).
        let sigma = mu.sum();
        if near {
            let value = 2.0 * point.t * sigma.sqrt() - sigma
                + barrier * mu.iter().map(|m| m.ln()).sum::<f64>();
            return Ok(Some(Centre { value, place: Place { mu, slack }, before, barrier, steps }));
        }
        let residual = Array1::from_iter(point.v.iter().map(|v| 1.0 - v / sigma.sqrt()));
        let now = mu.dot(&slack) / cells as f64;
        if before.is_none() && now <= BEFORE * barrier {
            before = Some(Place { mu: mu.clone(), slack: slack.clone() });
        }
        let target = barrier.max(DESCENT * now);
        let divisor = sigma.powf(1.5);
        let curvature = if formed {
            Curvature::nearly_formed(dual, &point, divisor)
        } else {
            Curvature::products(dual, &point, divisor)
        };
        let right = Array1::from_shape_fn(cells, |i| target / mu[i] - residual[i]);
        let system = curvature.system(&slack / &mu)?;
        let Some(dmu) = system.solve(right, LINEAR) else { return Ok(None) };
        let rise: f64 =
            (dmu.iter().zip(&mu).zip(&residual)).map(|((d, m), r)| d * (barrier / m - r)).sum();
        let dslack = &residual + &curvature.times(&dmu) - &slack;
        let (alpha, beta) = (step_length(&mu, &dmu), step_length(&slack, &dslack));
        near = target <= barrier && alpha >= 1.0 && beta >= 1.0 && rise.abs() <= PRECISION * sigma;
        mu.scaled_add(alpha, &dmu);
        slack.scaled_add(beta, &dslack);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use ndarray::Array2;

    use super::super::by_rows;
    use super::*;
    use crate::domain::AxisSet;
    use crate::workload::{Family, JointQueries};

    /// Residual rows of queries on a pair, some of them twice as heavy: no symmetry is left.
    fn rows(family: Family, shape: &[usize]) -> Array2<f64> {
        let queries = JointQueries::family(family, shape).unwrap();
        let values: Vec<f64> = queries.residual_rows(AxisSet::all(2)).unwrap().flatten().collect();
        let mut rows =
            Array2::from_shape_vec((queries.count(), shape.iter().product()), values).unwrap();
        rows.rows_mut().into_iter().step_by(3).for_each(|mut row| row *= 2.0);
        rows
    }

    /// Above the optimum minus the barrier's price and below the optimum plus nothing: the weights
    /// prove the gap that was asked for.
    #[test]
    fn centres_prove_their_gap() {
        for (family, shape) in
            [(Family::AFFINE, [9, 7]), (Family::ABS, [12, 8]), (Family::AFFINE, [40, 30])]
        {
            let rows = rows(family, &shape);
            let optimum = Optimal::default().select_rows(&shape, rows.view()).unwrap().certificate;
            for gap in [1e-2, 1e-3] {
                let centre = Optimal::centre_of_rows(rows.view(), gap, None).unwrap();
                let (t, _) = by_rows(rows.view(), centre.mu()).unwrap();
                let bound = t * t / centre.mu().iter().sum::<f64>();
                assert!(bound <= optimum.upper_bound * (1.0 + 1e-12), "{shape:?}");
                assert!(
                    bound >= optimum.lower_bound * (1.0 - gap),
                    "{shape:?}: {bound} against {optimum:?}"
                );
            }
        }
    }

    /// φ has the derivative `2 K^(−½) R diag(μ)`, whether the start is near, far or none.
    #[test]
    fn the_derivative_is_that_of_central_differences() {
        // Cells of unlike weights: where a direction raises the rank, as it would from equal ones,
        // φ bends sharply.
        let mut base = rows(Family::AFFINE, &[8, 9]);
        base.columns_mut()
            .into_iter()
            .enumerate()
            .for_each(|(j, mut c)| c *= 1.0 + 0.1 * ((j * 5) % 7) as f64);
        let change = Array2::from_shape_fn(base.dim(), |(i, j)| {
            base[[i, j]] * (((j * 3) % 11) as f64 - 5.0) / 5.0
        });
        let first = Optimal::centre_of_rows(base.view(), 1e-2, None).unwrap();
        let at = |step: f64| {
            let moved = &base + &(&change * step);
            Optimal::centre_of_rows(moved.view(), 1e-2, Some(&first)).unwrap()
        };
        for step in [0.0, 1e-3, 0.1] {
            let (_, mut derivative) =
                by_rows((&base + &(&change * step)).view(), at(step).mu()).unwrap();
            derivative *= 2.0;
            let expected = (&derivative * &change).sum();
            let difference = (at(step + 1e-4).value - at(step - 1e-4).value) / 2e-4;
            assert_relative_eq!(difference, expected, max_relative = 1e-3);
        }
    }

    #[test]
    fn rows_of_zeros_have_no_centre() {
        assert!(Optimal::centre_of_rows(Array2::zeros((2, 6)).view(), 1e-2, None).is_err());
    }
}
