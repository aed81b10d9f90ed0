//! The central path of the dual problem: a smooth objective for a search over workloads.
//!
//! For rows R, queries × cells, and a barrier τ > 0
//!
//! ```text
//! φ(R) = max { 2 tr (R diag(μ) Rᵀ)^½ − Σ μ + τ Σ ln μ : μ > 0 }
//! ```
//!
//! is concave in μ with an interior maximiser. φ is smooth in R, while the optimum E, its limit for
//! τ → 0, has kinks and flat directions. The maximiser for one R is a good start for the next.
//! `μ/Σμ` are dual weights with a gap of at most `cells·τ/E`. With μ fixed,
//! `∂φ/∂R = 2 K^(−½) R diag(μ)`, `K = R diag(μ) Rᵀ`.
//!
//! Permutations of the cells that keep the rows leave φ unchanged, so the maximiser is constant on
//! their orbits O, with `|O|` in front of the sums over orbits.

use ndarray::{Array1, ArrayView2};

use super::Optimal;
use super::dual::Dual;
use super::interior_point::step_length;
use super::low_rank::RowReduction;
use super::newton::{self, Curvature};
use crate::error::{Error, Result};
use crate::strategy::symmetry::Orbits;

/// Factor between the barriers of successive steps, until τ is reached.
const BARRIER_FACTOR: f64 = 0.15;

/// Newton's method stops after a step that raises φ by less than this share of Σμ.
///
/// The remaining error is of the order of its square.
const PRECISION: f64 = 1e-6;

/// Maximum error of a start's slacks, weighted by μ and relative to the slacks.
const MAX_SLACK_ERROR: f64 = 0.5;

/// A second start is stored when the products of weights and slacks are at most this multiple of τ.
const EARLIER_BARRIER: f64 = 12.0;

/// Relative residual of the linear systems; a rough solution is enough for Newton's method.
const LINEAR_RESIDUAL: f64 = 3e-2;

/// Maximum number of steps.
const MAX_STEPS: usize = 60;

/// A point of the central path of a workload given by rows.
#[derive(Debug, Clone)]
pub(crate) struct Centre {
    /// φ.
    pub value: f64,
    /// Evaluations used, with one eigendecomposition each.
    pub steps: usize,
    /// Weights and slacks of the cells.
    iterate: Iterate,
    /// An earlier iterate, further inside.
    earlier: Option<Iterate>,
    /// τ.
    barrier: f64,
}

impl Centre {
    /// Returns the maximiser, one weight per cell.
    pub fn mu(&self) -> &[f64] {
        self.iterate.mu.as_slice().unwrap_or(&[])
    }
}

impl Optimal {
    /// Returns the centre of a workload given by rows over a box.
    ///
    /// With a start, the barrier is that of the start, and the start is used if it is near.
    /// Otherwise the barrier is set for a relative gap, with the SVD bound in place of the optimum.
    ///
    /// *Cost*: a step is O(rows³ + rows²·cells) and a linear system over the cells with weight; 3
    /// to 6 steps from a near centre, 15 without a start.
    ///
    /// # Errors
    /// All rows are zero, or the steps do not converge.
    pub(crate) fn centre_of_rows(
        shape: &[usize],
        rows: ArrayView2<'_, f64>,
        gap: f64,
        start: Option<&Centre>,
    ) -> Result<Centre> {
        let reduction = RowReduction::of(shape, rows)?;
        let (dual, orbits) = (Dual::of_rows(&reduction), &reduction.orbits);
        let cells = rows.ncols();
        if dual.block_orbits().next().is_none() {
            let what = "central path of a residual problem".into();
            return Err(Error::DidNotConverge { what, order: cells });
        }
        if let Some(centre) = start.filter(|start| start.mu().len() == cells) {
            let iterate = centre.iterate.of_orbits(orbits);
            if dual.is_near(&iterate)?
                && let Some(found) = solve(&dual, iterate, centre.barrier)?
            {
                return Ok(Centre { earlier: centre.earlier.clone(), ..found.of_cells(orbits) });
            }
            let earlier = centre.earlier.as_ref().map(|earlier| earlier.of_orbits(orbits));
            if let Some(earlier) = earlier
                && dual.is_near(&earlier)?
                && let Some(found) = solve(&dual, earlier, centre.barrier)?
            {
                return Ok(found.of_cells(orbits));
            }
        }
        let bound = dual.evaluate(&dual.uniform())?.lower_bound();
        let barrier = start.map_or(gap * bound / cells as f64, |start| start.barrier);
        let uniform = Iterate {
            mu: Array1::from_elem(orbits.sizes.len(), bound / cells as f64),
            slack: Array1::from_vec(orbits.sizes.clone()),
        };
        let found = solve(&dual, uniform, barrier)?.map(|found| found.of_cells(orbits));
        found.ok_or_else(|| Error::DidNotConverge {
            what: "central path of a residual problem".into(),
            order: cells,
        })
    }
}

impl Centre {
    /// Returns the centre with iterates per cell.
    fn of_cells(self, orbits: &Orbits) -> Self {
        let earlier = self.earlier.map(|earlier| earlier.of_cells(orbits));
        Centre { iterate: self.iterate.of_cells(orbits), earlier, ..self }
    }
}

/// Weights and slacks: of cells, or of orbits, where a slack is the sum over the orbit.
#[derive(Debug, Clone)]
struct Iterate {
    mu: Array1<f64>,
    slack: Array1<f64>,
}

impl Iterate {
    /// Returns the means of the weights and the sums of the slacks over the orbits.
    fn of_orbits(&self, orbits: &Orbits) -> Self {
        let mut mu = Array1::zeros(orbits.sizes.len());
        let mut slack = Array1::zeros(orbits.sizes.len());
        for (&orbit, (m, z)) in orbits.orbit_of.iter().zip(self.mu.iter().zip(&self.slack)) {
            mu[orbit] += m / orbits.sizes[orbit];
            slack[orbit] += z;
        }
        Iterate { mu, slack }
    }

    /// Returns the weights and slacks of the cells.
    fn of_cells(&self, orbits: &Orbits) -> Self {
        let of_cell = |value: &dyn Fn(usize) -> f64| {
            Array1::from_iter(orbits.orbit_of.iter().map(|&orbit| value(orbit)))
        };
        Iterate {
            mu: of_cell(&|orbit| self.mu[orbit]),
            slack: of_cell(&|orbit| self.slack[orbit] / orbits.sizes[orbit]),
        }
    }
}

impl Dual {
    /// Returns whether another workload's iterate is a good start: its slacks are wrong by less
    /// than their size.
    fn is_near(&self, iterate: &Iterate) -> Result<bool> {
        let sizes = &self.orbit_sizes;
        let sigma: f64 = iterate.mu.iter().zip(sizes).map(|(m, size)| m * size).sum();
        let point = self.evaluate(iterate.mu.as_slice().unwrap_or(&[]))?;
        let error: f64 = (point.v.iter().zip(sizes).zip(iterate.slack.iter().zip(&iterate.mu)))
            .map(|((v, size), (z, m))| m * (size * (1.0 - v / sigma.sqrt()) - z).abs())
            .sum();
        Ok(error <= MAX_SLACK_ERROR * iterate.mu.dot(&iterate.slack))
    }
}

/// Runs Newton's method on μ and the slacks `z = |O| (1 − v)` for `μ z = |O| τ`.
///
/// The barriers decrease if the products of the start are larger. Returns `None` if the steps do
/// not converge.
fn solve(dual: &Dual, start: Iterate, barrier: f64) -> Result<Option<Centre>> {
    let Iterate { mut mu, mut slack } = start;
    let sizes = Array1::from_vec(dual.orbit_sizes.clone());
    let cells = sizes.sum();
    let formed = newton::step_cost(dual).is_some_and(|(formed, _)| formed);
    let mut earlier: Option<Iterate> = None;
    let mut near = false;
    for steps in 1..=MAX_STEPS {
        let point = dual.evaluate(mu.as_slice().unwrap_or(&[]))?;
        // `evaluate` normalises μ. For Σμ = σ, t is larger by √σ, v smaller by √σ, and H is scaled
        // by σ^(−3/2).
        let sigma = mu.dot(&sizes);
        if near {
            let value =
                2.0 * point.t * sigma.sqrt() - sigma + barrier * sizes.dot(&mu.mapv(f64::ln));
            let iterate = Iterate { mu, slack };
            return Ok(Some(Centre { value, iterate, earlier, barrier, steps }));
        }
        let residual = Array1::from_iter(point.v.iter().map(|v| 1.0 - v / sigma.sqrt())) * &sizes;
        let mean = mu.dot(&slack) / cells;
        if earlier.is_none() && mean <= EARLIER_BARRIER * barrier {
            earlier = Some(Iterate { mu: mu.clone(), slack: slack.clone() });
        }
        let target = barrier.max(BARRIER_FACTOR * mean);
        let divisor = sigma.powf(1.5);
        let curvature = if formed {
            Curvature::nearly_formed(dual, &point, divisor)
        } else {
            Curvature::products(dual, &point, divisor)
        };
        let right = Array1::from_shape_fn(mu.len(), |i| target * sizes[i] / mu[i] - residual[i]);
        let system = curvature.system(&slack / &mu)?;
        let Some(dmu) = system.solve(right, LINEAR_RESIDUAL) else { return Ok(None) };
        let rise: f64 =
            (0..mu.len()).map(|i| dmu[i] * (barrier * sizes[i] / mu[i] - residual[i])).sum();
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

    /// Residual rows of queries on a pair, every third one doubled, which removes the symmetries.
    fn rows(family: Family, shape: &[usize]) -> Array2<f64> {
        let queries = JointQueries::family(family, shape).unwrap();
        let values: Vec<f64> = queries.residual_rows(AxisSet::all(2)).unwrap().flatten().collect();
        let mut rows =
            Array2::from_shape_vec((queries.count(), shape.iter().product()), values).unwrap();
        rows.rows_mut().into_iter().step_by(3).for_each(|mut row| row *= 2.0);
        rows
    }

    /// Oracle: the certificate of the optimum. The weights of a centre prove a lower bound within
    /// the requested gap.
    #[test]
    fn centres_prove_their_gap() {
        for (family, shape) in
            [(Family::AFFINE, [9, 7]), (Family::ABS, [12, 8]), (Family::AFFINE, [40, 30])]
        {
            let rows = rows(family, &shape);
            let optimum = Optimal::default().select_rows(&shape, rows.view()).unwrap().certificate;
            for gap in [1e-2, 1e-3] {
                let centre = Optimal::centre_of_rows(&shape, rows.view(), gap, None).unwrap();
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

    /// Oracle: central differences. φ has the derivative `2 K^(−½) R diag(μ)`.
    #[test]
    fn the_derivative_matches_central_differences() {
        // Different weights of the cells: with equal weights φ has large curvature in directions
        // that raise the rank.
        let mut base = rows(Family::AFFINE, &[8, 9]);
        base.columns_mut()
            .into_iter()
            .enumerate()
            .for_each(|(j, mut c)| c *= 1.0 + 0.1 * ((j * 5) % 7) as f64);
        let change = Array2::from_shape_fn(base.dim(), |(i, j)| {
            base[[i, j]] * (((j * 3) % 11) as f64 - 5.0) / 5.0
        });
        let first = Optimal::centre_of_rows(&[8, 9], base.view(), 1e-2, None).unwrap();
        let at = |step: f64| {
            let moved = &base + &(&change * step);
            Optimal::centre_of_rows(&[8, 9], moved.view(), 1e-2, Some(&first)).unwrap()
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
        assert!(Optimal::centre_of_rows(&[6], Array2::zeros((2, 6)).view(), 1e-2, None).is_err());
    }
}
