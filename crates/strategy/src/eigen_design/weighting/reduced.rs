//! The weighting problem with equal rows and columns merged.
//!
//! Equal columns of B are one constraint. Design queries with equal rows of B have weights
//! proportional to `ρ_i = c_i^(1/(p+1))`, so they are merged into one query with the sum of their
//! ρ. Symmetric workloads have many of both: the eigen-queries of all ranges need half of the
//! columns, and marginals need one row per set of attributes and one column.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::weighting_problem::WeightingProblem;
use crate::error::{Error, Result};

/// Relative tolerance for equal entries of B. The certificate is computed from the full B, so it
/// includes the effect of merging.
const EQUAL: f64 = 1e-11;

/// The problem over distinct design queries and cells.
pub(super) struct Reduced {
    /// ρ > 0, scaled so that F is 1 at the start.
    pub roots: Array1<f64>,
    /// B, distinct design queries × distinct cells.
    pub columns: Array2<f64>,
    /// p.
    pub exponent: f64,
    /// The distinct cell of every cell.
    cell_of: Vec<usize>,
    /// The number of cells merged into every distinct cell.
    multiplicity: Array1<f64>,
}

/// A dual point with its bounds.
pub(super) struct ReducedPoint {
    /// s = B y.
    pub s: Array1<f64>,
    /// g = Bᵀu.
    pub g: Array1<f64>,
    /// F at y, which need not be on the simplex.
    pub value: f64,
    /// LB, in the units of the scaled ρ.
    pub lower: f64,
    /// UB, in the same units.
    pub upper: f64,
}

/// The best point found.
pub(super) struct Search {
    /// The dual point with the smallest gap.
    pub dual: Array1<f64>,
    lower: f64,
    upper: f64,
    /// Steps of either method.
    pub iterations: usize,
}

impl Search {
    /// Returns UB/LB − 1 of the best point.
    pub fn gap(&self) -> f64 {
        self.upper / self.lower - 1.0
    }

    /// Keeps a point if its gap is the smallest.
    pub fn record(&mut self, dual: &Array1<f64>, point: &ReducedPoint) {
        self.iterations += 1;
        if point.upper * self.lower < self.upper * point.lower {
            (self.lower, self.upper) = (point.lower, point.upper);
            self.dual.assign(dual);
        }
    }
}

impl Reduced {
    /// Drops queries without cost and merges equal rows and columns.
    ///
    /// O(k n + k log k + n log n).
    ///
    /// # Errors
    /// The costs or columns are so large or small that F is not finite.
    pub fn of(problem: &WeightingProblem) -> Result<Self> {
        let exponent = problem.norm.exponent();
        let kept: Vec<usize> =
            (0..problem.costs.len()).filter(|&i| problem.costs[i] > 0.0).collect();
        let all = problem.columns.select(Axis(0), &kept);
        let (cell_of, cells) = groups(all.t());
        let narrow = all.select(Axis(1), &cells);
        let (query_of, queries) = groups(narrow.view());
        let mut roots = Array1::zeros(queries.len());
        for (&i, &query) in kept.iter().zip(&query_of) {
            roots[query] += problem.costs[i].powf(1.0 / (exponent + 1.0));
        }
        let columns = narrow.select(Axis(0), &queries).as_standard_layout().into_owned();
        let mut multiplicity = Array1::zeros(cells.len());
        cell_of.iter().for_each(|&cell| multiplicity[cell] += 1.0);
        let mut out = Reduced { roots, columns, exponent, cell_of, multiplicity };
        let value = out.at(&out.uniform()).value;
        if !(value > 0.0 && value.is_finite()) {
            return Err(Error::DidNotConverge {
                what: "weighting problem".into(),
                order: problem.costs.len(),
            });
        }
        out.roots /= value;
        Ok(out)
    }

    /// Returns the dual point that is uniform on the cells of the problem.
    fn uniform(&self) -> Array1<f64> {
        &self.multiplicity / self.multiplicity.sum()
    }

    /// Starts at the uniform point. Its lower bound for eigen-queries is the SVD bound.
    pub fn start(&self) -> Search {
        let dual = self.uniform();
        let point = self.at(&dual);
        Search { dual, lower: point.lower, upper: point.upper, iterations: 0 }
    }

    /// Returns F, its gradient and the bounds at y > 0. O(k n).
    pub fn at(&self, y: &Array1<f64>) -> ReducedPoint {
        let power = 1.0 / (self.exponent + 1.0);
        let s = self.columns.dot(y);
        let (mut value, mut g) = (0.0, Array1::<f64>::zeros(self.columns.ncols()));
        for ((row, &s), &root) in self.columns.axis_iter(Axis(0)).zip(&s).zip(&self.roots) {
            let weight = root / s.powf(power);
            value += weight * s;
            g.scaled_add(weight, &row);
        }
        // On the simplex: s/σ for s, u σ^power for u, and F/σ^(p power) for F.
        let sigma = y.sum();
        let scaled = value / sigma.powf(self.exponent * power);
        let max_load = g.iter().copied().fold(0.0, f64::max) * sigma.powf(power);
        let (lower, upper) =
            (scaled.powf(self.exponent + 1.0), scaled * max_load.powf(self.exponent));
        ReducedPoint { s, g, value, lower, upper }
    }

    /// Returns a dual point over the cells of the problem, on the simplex.
    pub fn expand(&self, dual: &Array1<f64>, problem: &WeightingProblem) -> Array1<f64> {
        let sum = dual.sum();
        let cells = 0..problem.columns.ncols();
        cells
            .map(|j| self.cell_of[j])
            .map(|cell| dual[cell] / (self.multiplicity[cell] * sum))
            .collect()
    }
}

/// Returns the group of equal rows of every row, and the first row of every group.
fn groups(rows: ArrayView2<'_, f64>) -> (Vec<usize>, Vec<usize>) {
    let rows = rows.as_standard_layout();
    // Equal rows have equal products with a vector of distinct entries.
    let mixed = Array1::from_shape_fn(rows.ncols(), |j| {
        1.0 + ((j + 1) as f64 * 0.618_033_988_749_894_9).fract()
    });
    let sums = rows.dot(&mixed);
    let mut order: Vec<usize> = (0..rows.nrows()).collect();
    order.sort_by(|&a, &b| sums[a].total_cmp(&sums[b]).then(a.cmp(&b)));
    let mut first_of: Vec<usize> = (0..rows.nrows()).collect();
    let mut open: Vec<usize> = Vec::new();
    for &row in &order {
        open.retain(|&first| sums[row] - sums[first] <= EQUAL * sums[row].abs());
        match open.iter().find(|&&first| equal(rows.row(first), rows.row(row))) {
            Some(&first) => first_of[row] = first,
            None => open.push(row),
        }
    }
    let representatives: Vec<usize> =
        (0..rows.nrows()).filter(|&row| first_of[row] == row).collect();
    let mut group_of = vec![0; rows.nrows()];
    representatives.iter().enumerate().for_each(|(k, &row)| group_of[row] = k);
    (first_of.into_iter().map(|first| group_of[first]).collect(), representatives)
}

/// Returns whether two rows are equal up to the tolerance.
fn equal(a: ndarray::ArrayView1<'_, f64>, b: ndarray::ArrayView1<'_, f64>) -> bool {
    let max = a.iter().copied().fold(0.0, f64::max);
    a.iter().zip(b).all(|(x, y)| (x - y).abs() <= EQUAL * max)
}

/// Updates `y ← y ∘ g / F` until the gap reaches the tolerance or the updates are used up.
///
/// Starts at the best point. An update keeps y on the simplex and increases F.
/// O(k n) per update.
pub(super) fn multiplicative_updates(
    reduced: &Reduced,
    search: &mut Search,
    tolerance: f64,
    updates: usize,
) {
    let mut y = &search.dual / search.dual.sum();
    for _ in 0..updates {
        let point = reduced.at(&y);
        search.record(&y, &point);
        if search.gap() <= tolerance {
            return;
        }
        y.zip_mut_with(&point.g, |y, g| *y *= g / point.value);
    }
}
