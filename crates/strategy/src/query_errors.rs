//! Squared errors of single queries, and Gram matrices of weighted queries.
//!
//! For a covariance Σ of the cells, the error of query w is `w Σ wᵀ`. Ranges and prefixes need no
//! rows: with the two-dimensional prefix sums `P_ij = Σ_{a<i, b<j} Σ_ab`, the range [s, e) has the
//! error `P_ee − P_es − P_se + P_ss`. Circular ranges are ranges of two copies of the cells in a
//! row.

use ndarray::{Array2, ArrayView2, Axis, Slice};

use super::Strategy;
use crate::error::{Error, Result};
use crate::workload::{Family, Workload, check_dense_size};
use matmech_linalg as linalg;

/// Maximum `queries · cells²` for queries given by rows.
const MAX_PRODUCTS: f64 = 1e13;

/// Maximum number of entries of a stored matrix of queries: 1 GiB.
pub(super) const MAX_ENTRIES: f64 = (1u64 << 27) as f64;

/// Number of rows that are multiplied together.
const BATCH: usize = 256;

/// Returns the largest squared error of a query, `max_q w_q (AᵀA)⁺ w_qᵀ`.
///
/// The errors of a product of families with a product of strategies are products. O(cells³), and
/// O(queries · cells²) for queries other than identities, prefixes and ranges.
///
/// # Errors
/// Too many queries to list, or too many cells for a dense matrix.
pub(super) fn largest_error(workload: &Workload, strategy: &Strategy) -> Result<f64> {
    if let Some(families) = workload.families()
        && families.len() == strategy.factors().len()
        && families.iter().zip(strategy.factors()).all(|((_, sizes), f)| f.shape() == *sizes)
    {
        let mut product = 1.0;
        for ((family, sizes), factor) in families.iter().zip(strategy.factors()) {
            let single = Workload::product(&[(*family, sizes.as_slice())])?;
            product *= largest(&QueryErrors::of(&single)?, factor.covariance()?.view())?;
        }
        return Ok(product);
    }
    largest(&QueryErrors::of(workload)?, covariance(workload, strategy)?.view())
}

/// Returns `(AᵀA)⁺` of all cells. O(cells³).
pub(super) fn covariance(workload: &Workload, strategy: &Strategy) -> Result<Array2<f64>> {
    check_dense_size("covariance of a strategy", workload.cells())?;
    let mut covariance = Array2::ones((1, 1));
    for factor in strategy.factors() {
        covariance = linalg::kron(covariance.view(), factor.covariance()?.view());
    }
    Ok(covariance)
}

fn largest(queries: &QueryErrors<'_>, covariance: ArrayView2<'_, f64>) -> Result<f64> {
    Ok(queries.errors(covariance)?.into_iter().fold(0.0, f64::max))
}

/// The queries of a workload, in the form in which their errors are computed.
#[derive(Debug)]
pub(super) enum QueryErrors<'a> {
    /// One query per cell.
    Identity,
    /// All prefixes of one attribute.
    Prefixes,
    /// All ranges of one attribute, or all circular ranges.
    Ranges { circular: bool },
    /// Rows that are listed.
    Rows(&'a Workload),
    /// Rows that are stored, queries × cells.
    Matrix(Array2<f64>),
}

impl<'a> QueryErrors<'a> {
    /// Chooses the form.
    ///
    /// # Errors
    /// Too many queries to list.
    pub fn of(workload: &'a Workload) -> Result<Self> {
        if let Some([(family, _)]) = workload.families() {
            if *family == Family::IDENTITY {
                return Ok(QueryErrors::Identity);
            } else if *family == Family::PREFIX || family.name() == "cdf" {
                return Ok(QueryErrors::Prefixes);
            } else if *family == Family::RANGE || *family == Family::CIRCULAR {
                return Ok(QueryErrors::Ranges { circular: *family == Family::CIRCULAR });
            }
        }
        let products = workload.count().as_f64() * (workload.cells() as f64).powi(2);
        if products > MAX_PRODUCTS {
            return Err(Error::too_large(
                format!("errors of the queries of `{}`", workload.name()),
                "queries * cells²",
                MAX_PRODUCTS,
                products,
                "use objective=mean, or fewer cells",
            ));
        }
        Ok(QueryErrors::Rows(workload))
    }

    /// Stores the rows, if they are needed more than once.
    ///
    /// # Errors
    /// The matrix is larger than 1 GiB.
    pub fn stored(self) -> Result<Self> {
        let QueryErrors::Rows(workload) = self else { return Ok(self) };
        let (queries, cells) = (workload.count().as_f64(), workload.cells());
        if queries * cells as f64 > MAX_ENTRIES {
            return Err(Error::too_large(
                format!("rows of `{}`", workload.name()),
                "entries",
                MAX_ENTRIES,
                queries * cells as f64,
                "use objective=mean, or fewer queries",
            ));
        }
        let values: Vec<f64> = workload.rows()?.flatten().collect();
        let rows = Array2::from_shape_vec((values.len() / cells, cells), values)
            .map_err(|_| Error::bug("rows of a workload", "rows of equal length", "others"))?;
        Ok(QueryErrors::Matrix(rows))
    }

    /// Returns the number of queries over `cells` cells.
    pub fn count(&self, cells: usize) -> usize {
        match self {
            QueryErrors::Identity | QueryErrors::Prefixes => cells,
            QueryErrors::Ranges { circular: false } => cells * (cells + 1) / 2,
            QueryErrors::Ranges { circular: true } => cells * cells,
            QueryErrors::Rows(workload) => workload.count().as_f64() as usize,
            QueryErrors::Matrix(rows) => rows.nrows(),
        }
    }

    /// Returns whether [`weighted_matrix`](Self::weighted_matrix) has a matrix.
    pub fn has_matrix(&self, cells: usize) -> bool {
        match self {
            QueryErrors::Prefixes => true,
            QueryErrors::Matrix(rows) => (cells..=2 * cells).contains(&rows.nrows()),
            QueryErrors::Identity | QueryErrors::Ranges { .. } | QueryErrors::Rows(_) => false,
        }
    }

    /// Returns `diag(weights)^½ W` with some columns, for prefixes and for stored rows, if they are
    /// as many as the columns, or up to twice as many.
    pub fn weighted_matrix(&self, weights: &[f64], columns: &[usize]) -> Option<Array2<f64>> {
        let entry = |query: usize, cell: usize| match self {
            QueryErrors::Matrix(rows) => rows[[query, cell]],
            _ => f64::from(u8::from(cell <= query)),
        };
        let shape = (weights.len(), columns.len());
        self.has_matrix(columns.len()).then(|| {
            Array2::from_shape_fn(shape, |(q, j)| weights[q].sqrt() * entry(q, columns[j]))
        })
    }

    /// Returns the image of every query if the order of the cells is reversed, for query families
    /// that this maps to themselves.
    pub fn reversed(&self, cells: usize) -> Option<Vec<usize>> {
        match self {
            QueryErrors::Identity => Some((0..cells).rev().collect()),
            QueryErrors::Ranges { circular: false } => {
                let start = |s: usize| s * cells - s * s.saturating_sub(1) / 2;
                let image = |s: usize, e: usize| start(cells - 1 - e) + e - s;
                Some((0..cells).flat_map(|s| (s..cells).map(move |e| image(s, e))).collect())
            }
            _ => None,
        }
    }

    /// Returns `w Σ wᵀ` of every query, in the order of the rows.
    ///
    /// # Errors
    /// The rows cannot be listed.
    pub fn errors(&self, covariance: ArrayView2<'_, f64>) -> Result<Vec<f64>> {
        let cells = covariance.nrows();
        Ok(match self {
            QueryErrors::Identity => covariance.diag().to_vec(),
            QueryErrors::Prefixes => {
                let sums = prefix_sums(covariance, cells);
                (1..=cells).map(|e| sums[[e, e]]).collect()
            }
            QueryErrors::Ranges { circular } => {
                let sums = prefix_sums(covariance, line(cells, *circular));
                let diagonal = sums.diag().to_vec();
                let mut errors = Vec::with_capacity(self.count(cells));
                for (start, row) in sums.rows().into_iter().enumerate().take(cells) {
                    let ends = row.iter().zip(&diagonal).skip(start + 1).take(cells);
                    errors.extend(ends.map(|(x, end)| end - 2.0 * x + diagonal[start]));
                }
                errors
            }
            QueryErrors::Matrix(rows) => {
                let mut errors = Vec::with_capacity(rows.nrows());
                for batch in rows.axis_chunks_iter(Axis(0), BATCH) {
                    add_errors(batch, covariance, &mut errors);
                }
                errors
            }
            QueryErrors::Rows(workload) => {
                let mut errors = Vec::with_capacity(self.count(cells));
                let (mut batch, mut filled) = (Array2::zeros((BATCH, cells)), 0);
                for row in workload.rows()? {
                    batch.row_mut(filled).assign(&ndarray::ArrayView1::from(&row));
                    filled += 1;
                    if filled == BATCH {
                        add_errors(batch.view(), covariance, &mut errors);
                        filled = 0;
                    }
                }
                add_errors(
                    batch.slice_axis(Axis(0), Slice::from(..filled)),
                    covariance,
                    &mut errors,
                );
                errors
            }
        })
    }

    /// Returns `Σ_q p_q w_qᵀ w_q`, cells × cells, for weights in the order of the rows.
    ///
    /// # Errors
    /// The rows cannot be listed.
    pub fn weighted_gram(&self, weights: &[f64], cells: usize) -> Result<Array2<f64>> {
        Ok(match self {
            QueryErrors::Identity => Array2::from_diag(&ndarray::ArrayView1::from(weights)),
            QueryErrors::Prefixes => {
                let mut tails = weights.to_vec();
                for i in (1..cells).rev() {
                    tails[i - 1] += tails[i];
                }
                Array2::from_shape_fn((cells, cells), |(i, j)| tails[i.max(j)])
            }
            QueryErrors::Ranges { circular } => {
                // Entry (i, j), i ≤ j, is the weight of the ranges from s ≤ i to e ≥ j.
                let line = line(cells, *circular);
                let mut gram = Array2::zeros((cells, cells));
                let mut rest = weights;
                let mut above = vec![0.0; line];
                for start in 0..line {
                    let ends = start..line.min(start + cells);
                    if start < cells {
                        let (row, tail) = rest.split_at(ends.len());
                        rest = tail;
                        let mut sum = 0.0;
                        for (weight, above) in row.iter().zip(&mut above[ends.clone()]).rev() {
                            sum += weight;
                            *above += sum;
                        }
                    }
                    for end in ends {
                        let (i, j) = (start % cells, end % cells);
                        gram[[i, j]] += above[end];
                        if i != j {
                            gram[[j, i]] += above[end];
                        }
                    }
                }
                gram
            }
            QueryErrors::Matrix(rows) => {
                let mut scaled = rows.clone();
                for (mut row, weight) in scaled.rows_mut().into_iter().zip(weights) {
                    row *= weight.sqrt();
                }
                linalg::gram_of(scaled.view())
            }
            QueryErrors::Rows(workload) => {
                let mut gram = Array2::zeros((cells, cells));
                for (row, weight) in workload.rows()?.zip(weights) {
                    let row: Vec<f64> = row.iter().map(|x| x * weight.sqrt()).collect();
                    linalg::add_gram(
                        &mut gram,
                        ArrayView2::from_shape((1, cells), &row).map_err(|_| {
                            Error::bug("row of a workload", "one number per cell", "others")
                        })?,
                    );
                }
                gram
            }
        })
    }
}

/// Appends the errors of rows.
fn add_errors(rows: ArrayView2<'_, f64>, covariance: ArrayView2<'_, f64>, errors: &mut Vec<f64>) {
    if rows.is_empty() {
        return;
    }
    let images = linalg::matmul(rows, covariance);
    errors.extend(rows.rows().into_iter().zip(images.rows()).map(|(row, image)| row.dot(&image)));
}

/// Returns the number of cells in a row whose ranges are the queries.
fn line(cells: usize, circular: bool) -> usize {
    if circular { 2 * cells } else { cells }
}

/// Returns `P_ij = Σ_{a<i, b<j} x_ab`, of order `line` + 1, for the periodic continuation of x.
/// O(line²).
fn prefix_sums(matrix: ArrayView2<'_, f64>, line: usize) -> Array2<f64> {
    let n = matrix.nrows();
    let mut sums = Array2::zeros((line + 1, line + 1));
    let mut previous = vec![0.0; line + 1];
    for i in 0..line {
        let mut sum = 0.0;
        for j in 0..line {
            sum += matrix[[i % n, j % n]];
            previous[j + 1] += sum;
            sums[[i + 1, j + 1]] = previous[j + 1];
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    use super::*;
    use crate::{Hierarchical, StrategySelector};

    /// Oracle: the rows of the workload.
    #[test]
    fn errors_and_weighted_grams_match_the_rows() {
        let covariance = |n: usize| {
            let a = Array2::from_shape_fn((n, n), |(i, j)| ((3 * i + 7 * j + i * j) as f64).sin());
            linalg::gram_of(a.view())
        };
        for text in
            ["identity:7", "prefix:9", "cdf:5", "range:8", "circular:1", "circular:6", "affine:3x4"]
        {
            let workload = Workload::parse(text).unwrap();
            let cells = workload.cells();
            let matrix = QueryErrors::Rows(&workload).stored().unwrap();
            let weights: Vec<f64> =
                (0..matrix.count(cells)).map(|q| 1.0 + (q as f64).sin()).collect();
            let covariance = covariance(cells);
            let expected = matrix.errors(covariance.view()).unwrap();
            let gram = matrix.weighted_gram(&weights, cells).unwrap();
            for queries in [QueryErrors::of(&workload).unwrap(), QueryErrors::Rows(&workload)] {
                assert_eq!(queries.count(cells), expected.len(), "{text}");
                let errors = queries.errors(covariance.view()).unwrap();
                assert_abs_diff_eq!(errors.as_slice(), expected.as_slice(), epsilon = 1e-9);
                let found = queries.weighted_gram(&weights, cells).unwrap();
                assert_abs_diff_eq!(found, gram, epsilon = 1e-12);
            }
            if let Some(images) = QueryErrors::of(&workload).unwrap().reversed(cells) {
                let QueryErrors::Matrix(rows) = matrix else { panic!("{text}") };
                for (row, &image) in rows.rows().into_iter().zip(&images) {
                    assert!(row.iter().eq(rows.row(image).iter().rev()), "{text}");
                }
            }
        }
    }

    /// Oracle: the variance of every query.
    #[test]
    fn the_largest_error_of_products_matches_the_variances() {
        for text in ["range:4x3", "affine:3x4", "normalised(range:3x4)"] {
            let workload = Workload::parse(text).unwrap();
            let gram = workload.gram().unwrap();
            let strategy = Hierarchical.select(&gram).unwrap().strategy;
            let views: Vec<_> =
                strategy.factors().iter().map(|f| f.covariance().unwrap()).collect();
            let views: Vec<_> = views.iter().map(|v| v.view()).collect();
            let variance = |row: Vec<f64>| -> f64 {
                linalg::kron_apply(&views, row.clone())
                    .unwrap()
                    .iter()
                    .zip(&row)
                    .map(|(a, b)| a * b)
                    .sum()
            };
            let expected = workload.rows().unwrap().map(variance).fold(0.0, f64::max);
            let found = largest_error(&workload, &strategy).unwrap();
            assert_relative_eq!(found, expected, max_relative = 1e-12);
        }
    }
}
