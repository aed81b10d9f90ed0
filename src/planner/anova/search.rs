//! The search for a measure from several starts.

use super::objective::SearchObjective;
use crate::error::{Error, Result};
use crate::planner::minimise::{Limits, Minimum, minimise, softmax, through_softmax};
use crate::planner::plan::MeasureStart;

/// Relative difference up to which derivatives by two weights are equal up to rounding.
const ROUNDING: f64 = 1e-8;

/// The total error as a function of logarithms of weights, in units of similar curvature.
pub(super) struct Search<'o, 'w> {
    pub objective: &'o mut SearchObjective<'w>,
    sizes: &'o [usize],
    /// The unit of every variable.
    units: Vec<f64>,
    /// Evaluations so far.
    pub evaluations: usize,
}

/// A start with value and gradient, if they are known.
#[derive(Debug, Clone)]
pub(super) struct Start {
    pub name: MeasureStart,
    /// Logarithms of weights in the units of the search.
    x: Vec<f64>,
    value: Option<(f64, Vec<f64>)>,
}

impl<'o, 'w> Search<'o, 'w> {
    /// Creates the search over one measure per class of attributes, of the given sizes.
    pub fn new(objective: &'o mut SearchObjective<'w>, sizes: &'o [usize]) -> Self {
        // Gradient and curvature by a weight of about 1/n are in proportion to 1/n. In units of n,
        // those of all classes are similar.
        let max_size = sizes.iter().copied().max().unwrap_or(1) as f64;
        let units =
            sizes.iter().flat_map(|&n| std::iter::repeat_n(n as f64 / max_size, n)).collect();
        Search { objective, sizes, units, evaluations: 0 }
    }

    /// Returns the start at logarithms of weights.
    pub fn start(&self, name: MeasureStart, z: &[f64]) -> Start {
        let x = z.iter().zip(&self.units).map(|(z, unit)| z / unit).collect();
        Start { name, x, value: None }
    }

    fn evaluate(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        self.evaluations += 1;
        let z: Vec<f64> = x.iter().zip(&self.units).map(|(x, unit)| x * unit).collect();
        let measures = softmax(&z, self.sizes);
        let (value, gradients) = self.objective.evaluate(&measures)?;
        let mut gradient = through_softmax(&measures, &gradients);
        symmetrise(&mut gradient, self.sizes);
        Ok((value, gradient.iter().zip(&self.units).map(|(g, unit)| g * unit).collect()))
    }

    /// Evaluates starts and returns those that are not [dominated](Start::is_dominated_by).
    ///
    /// Starts at which a residual problem cannot be solved are omitted.
    ///
    /// # Errors
    /// An evaluation fails for another reason.
    pub fn screened(&mut self, starts: Vec<Start>) -> Result<Vec<Start>> {
        let mut known: Vec<Start> = Vec::with_capacity(starts.len());
        for start in starts {
            if let Some(value) = if_solved(self.evaluate(&start.x))? {
                known.push(Start { value: Some(value), ..start });
            }
        }
        let kept = |start: &Start| !known.iter().any(|other| start.is_dominated_by(other));
        Ok(known.iter().filter(|start| kept(start)).cloned().collect())
    }

    /// Minimises from a start; returns logarithms of weights.
    ///
    /// `None` if a residual problem cannot be solved.
    ///
    /// # Errors
    /// An evaluation fails for another reason.
    pub fn minimise(&mut self, start: Start, limits: &Limits) -> Result<Option<Minimum>> {
        let Start { x, mut value, .. } = start;
        let mut function = |x: &[f64]| value.take().map_or_else(|| self.evaluate(x), Ok);
        let Some(mut found) = if_solved(minimise(&mut function, x, limits))? else {
            return Ok(None);
        };
        found.x.iter_mut().zip(&self.units).for_each(|(x, unit)| *x *= unit);
        Ok(Some(found))
    }
}

impl Start {
    /// Returns whether another start is better, and the way to it descends from this one as it
    /// would for a convex function: `F(s) > F(t)` and `∇F(s)·(t − s) ≤ F(t) − F(s)`.
    ///
    /// Then a search from this start approaches the other one. At a stationary point, as the
    /// uniform measure can be for absolute differences, the derivative is zero and nothing is
    /// dominated.
    fn is_dominated_by(&self, other: &Start) -> bool {
        let (Some((value, gradient)), Some((better, _))) = (&self.value, &other.value) else {
            return false;
        };
        let slope: f64 =
            gradient.iter().zip(other.x.iter().zip(&self.x)).map(|(g, (t, s))| g * (t - s)).sum();
        value > better && slope <= better - value
    }
}

/// Averages every block of a gradient with its reversal if they differ by rounding only.
///
/// Then measures that begin symmetric stay so exactly, and the solves use the symmetry.
fn symmetrise(gradient: &mut [f64], sizes: &[usize]) {
    let mut rest = gradient;
    for &size in sizes {
        let (block, others) = rest.split_at_mut(size);
        let largest = block.iter().fold(0.0f64, |top, g| top.max(g.abs()));
        let reversed: Vec<f64> = block.iter().rev().copied().collect();
        if block.iter().zip(&reversed).all(|(a, b)| (a - b).abs() <= ROUNDING * largest) {
            block.iter_mut().zip(&reversed).for_each(|(a, b)| *a = 0.5 * (*a + b));
        }
        rest = others;
    }
}

/// Returns the result of a search, or `None` if it met a residual problem that cannot be solved.
///
/// Then the plan of another start or the uniform plan is used.
pub(super) fn if_solved<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(Error::DidNotConverge { .. } | Error::NotPositiveDefinite { .. }) => Ok(None),
        found => found.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_that_are_nearly_symmetric_become_symmetric() {
        let mut gradient = vec![1.0, 5.0, 1.0 + 1e-12, 2.0, 3.0];
        symmetrise(&mut gradient, &[3, 2]);
        assert!(gradient[0] == gradient[2] && gradient[1..2] == [5.0]);
        assert_eq!(gradient[3..], [2.0, 3.0]);
    }

    /// `Σ (x_i − i)²` has no other minimum, so every start that is farther away is dominated.
    /// A stationary start is not.
    #[test]
    fn starts_on_the_way_to_a_better_one_are_dominated() {
        let at = |x: [f64; 2]| {
            let value = x[0] * x[0] + (x[1] - 1.0).powi(2);
            let gradient = vec![2.0 * x[0], 2.0 * (x[1] - 1.0)];
            Start { name: MeasureStart::Uniform, x: x.to_vec(), value: Some((value, gradient)) }
        };
        let (near, far) = (at([0.1, 0.9]), at([3.0, -2.0]));
        assert!(far.is_dominated_by(&near) && !near.is_dominated_by(&far));
        let stationary = Start { value: Some((99.0, vec![0.0, 0.0])), ..far };
        assert!(!stationary.is_dominated_by(&near));
    }
}
