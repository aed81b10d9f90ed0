//! A strategy on one attribute, or jointly on several: V as a dense matrix, or as few queries.

use std::sync::{Arc, OnceLock};

use ndarray::{Array1, Array2, Axis};

use crate::error::{Error, Result};
use crate::linalg;
use crate::residual::centre_in_place;

/// What a strategy is given by.
enum Form {
    /// V, in `gram`.
    Dense,
    /// Orthogonal rows B with `BᵀB = V`, and their squared norms: the non-zero eigenvalues of V.
    LowRank { rows: Array2<f64>, eigenvalues: Array1<f64> },
}

/// A strategy on one attribute, or jointly on several, given by `V = BᵀΣ⁻¹B` at unit privacy cost.
///
/// *Memory*: 8·cells² bytes for V, or 8·rank·cells for few queries; covariances and queries are made when first asked for.
pub struct FactorStrategy {
    shape: Vec<usize>,
    form: Form,
    gram: OnceLock<Arc<Array2<f64>>>,
    covariance: OnceLock<Arc<Array2<f64>>>,
    queries: OnceLock<Arc<(Array2<f64>, Array2<f64>)>>,
}

impl FactorStrategy {
    /// A strategy with the given V, scaled to a largest diagonal entry of 1.
    ///
    /// # Errors
    /// A matrix of another order than the cells of the shape, or without a positive diagonal entry.
    pub fn new(shape: &[usize], mut gram: Array2<f64>) -> Result<Self> {
        let cells: usize = shape.iter().product();
        let top = gram.diag().iter().copied().fold(0.0, f64::max);
        if gram.dim() != (cells, cells) || !(top > 0.0 && top.is_finite()) {
            return Err(Error::invalid(
                format!("strategy over {shape:?}"),
                format!("a {cells} x {cells} matrix with a positive diagonal"),
                format!("{} x {}, largest diagonal entry {top}", gram.nrows(), gram.ncols()),
                "pass the Gram matrix of a strategy that measures something",
            ));
        }
        gram /= top;
        Ok(FactorStrategy {
            shape: shape.to_vec(),
            form: Form::Dense,
            gram: OnceLock::from(Arc::new(gram)),
            covariance: OnceLock::new(),
            queries: OnceLock::new(),
        })
    }

    /// The strategy of few queries over many cells, `V = BᵀB` scaled to a largest diagonal entry of 1, kept as its rows.
    /// O(rows² · cells).
    ///
    /// # Errors
    /// Queries over other cells than those of the shape, or only zeros.
    pub fn of_queries(shape: &[usize], queries: ndarray::ArrayView2<'_, f64>) -> Result<Self> {
        let cells: usize = shape.iter().product();
        let top = largest_column(queries);
        if queries.ncols() != cells || !(top > 0.0 && top.is_finite()) {
            return Err(Error::invalid(
                format!("strategy over {shape:?}"),
                format!("queries over {cells} cells, at least one not zero"),
                format!("{} x {}, largest squared column norm {top}", queries.nrows(), queries.ncols()),
                "pass the queries of a strategy that measures something",
            ));
        }
        let space = linalg::row_space(queries)?;
        let eigenvalues = space.singular_values.mapv(|s| s * s / top);
        let kept = linalg::nonzero_eigenvalues(&eigenvalues);
        let eigenvalues = eigenvalues.select(Axis(0), &kept);
        let mut rows = space.basis.select(Axis(0), &kept).as_standard_layout().into_owned();
        for (mut row, eigenvalue) in rows.rows_mut().into_iter().zip(&eigenvalues) {
            row *= eigenvalue.sqrt();
        }
        Ok(FactorStrategy {
            shape: shape.to_vec(),
            form: Form::LowRank { rows, eigenvalues },
            gram: OnceLock::new(),
            covariance: OnceLock::new(),
            queries: OnceLock::new(),
        })
    }

    /// Whether V is kept as few queries.
    pub fn is_low_rank(&self) -> bool {
        matches!(self.form, Form::LowRank { .. })
    }

    /// The largest diagonal entry of V, recomputed.
    pub fn max_diagonal(&self) -> f64 {
        match (&self.form, self.gram.get()) {
            (Form::LowRank { rows, .. }, _) => largest_column(rows.view()),
            (Form::Dense, gram) => gram.map_or(0.0, |v| v.diag().iter().copied().fold(0.0, f64::max)),
        }
    }

    /// `q V⁺ qᵀ`: the variance of a query in the range of V at unit privacy cost. O(cells²), for few queries
    /// O(rank · cells).
    ///
    /// # Errors
    /// A query of another length, or the eigensolver fails.
    pub fn variance(&self, query: &[f64]) -> Result<f64> {
        if self.is_low_rank() {
            return self.total_variance(std::iter::once(query.to_vec()));
        }
        let covariance = self.covariance()?;
        Ok(linalg::kron_apply(&[covariance.view()], query)?.iter().zip(query).map(|(x, q)| x * q).sum())
    }

    /// The sum of the variances of queries in the range of V.
    ///
    /// # Errors
    /// As [`FactorStrategy::variance`].
    pub fn total_variance(&self, queries: impl Iterator<Item = Vec<f64>>) -> Result<f64> {
        match &self.form {
            // q V⁺ qᵀ = Σ_k (b_k · q)²/λ_k², because b_k/√λ_k are V's eigenvectors.
            Form::LowRank { rows, eigenvalues } => {
                let mut sum = 0.0;
                for query in queries {
                    if query.len() != self.cells() {
                        return Err(Error::invalid(
                            format!("query over {:?}", self.shape),
                            format!("{} cells", self.cells()),
                            query.len().to_string(),
                            "give one number per cell, the last attribute varying fastest",
                        ));
                    }
                    let query = Array1::from_vec(query);
                    let answers = rows.dot(&query);
                    sum += answers.iter().zip(eigenvalues).map(|(a, l)| (a / l).powi(2)).sum::<f64>();
                }
                Ok(sum)
            }
            Form::Dense => {
                let mut sum = 0.0;
                for query in queries {
                    sum += self.variance(&query)?;
                }
                Ok(sum)
            }
        }
    }

    fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    /// The sizes of the attributes it spans.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// V. O(rank · cells²) the first time for few queries.
    ///
    /// # Errors
    /// Too many cells for a dense matrix.
    pub fn gram(&self) -> Result<Arc<Array2<f64>>> {
        if let Some(known) = self.gram.get() {
            return Ok(known.clone());
        }
        let made = Arc::new(self.sum_of_rows(|_| 1.0)?);
        Ok(self.gram.get_or_init(|| made).clone())
    }

    /// `Σ_k f(λ_k) b_kᵀb_k` over the rows of a strategy of few queries.
    fn sum_of_rows(&self, f: impl Fn(f64) -> f64) -> Result<Array2<f64>> {
        crate::workload::check_dense_size("strategy of a residual subspace", self.cells())?;
        let mut sum = Array2::zeros((self.cells(), self.cells()));
        if let Form::LowRank { rows, eigenvalues } = &self.form {
            let mut scaled = rows.clone();
            for (mut row, &eigenvalue) in scaled.rows_mut().into_iter().zip(eigenvalues) {
                row *= f(eigenvalue).sqrt();
            }
            linalg::add_gram(&mut sum, scaled.view())?;
        }
        Ok(sum)
    }

    /// `V⁺`, the covariance of the reconstructed cells at unit privacy cost. O(cells³) the first time.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn covariance(&self) -> Result<Arc<Array2<f64>>> {
        if let Some(known) = self.covariance.get() {
            return Ok(known.clone());
        }
        let made = Arc::new(self.pseudo_inverse()?);
        Ok(self.covariance.get_or_init(|| made).clone())
    }

    /// Queries B with `BᵀB = V`, and `B⁺`: what is measured, and how cells come back. O(cells³) the first time.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn queries(&self) -> Result<Arc<(Array2<f64>, Array2<f64>)>> {
        if let Some(known) = self.queries.get() {
            return Ok(known.clone());
        }
        if let Form::LowRank { rows, eigenvalues } = &self.form {
            let back = (&rows.t() / eigenvalues).as_standard_layout().into_owned();
            let made = Arc::new((rows.clone(), back));
            return Ok(self.queries.get_or_init(|| made).clone());
        }
        let eigen = linalg::eigh(self.gram()?.view())?;
        let kept = linalg::nonzero_eigenvalues(&eigen.values);
        let basis = eigen.vectors.select(Axis(1), &kept);
        let roots = kept.iter().map(|&k| eigen.values[k].sqrt());
        let (mut rows, mut back) =
            (basis.t().as_standard_layout().into_owned(), basis.as_standard_layout().into_owned());
        for (k, root) in roots.enumerate() {
            rows.row_mut(k).mapv_inplace(|x| x * root);
            back.column_mut(k).mapv_inplace(|x| x / root);
        }
        let made = Arc::new((rows, back));
        Ok(self.queries.get_or_init(|| made).clone())
    }

    fn pseudo_inverse(&self) -> Result<Array2<f64>> {
        if self.is_low_rank() {
            return self.sum_of_rows(|eigenvalue| eigenvalue.powi(-2));
        }
        let gram = self.gram()?;
        let v = gram.view();
        if linalg::full_rank_cholesky(v)?.is_some() {
            return linalg::spd_inverse(v);
        }
        // On the residual subspace alone V may still have full rank: add the projector on the complement.
        let complement = self.complement();
        let completed = &complement + &v;
        let inside = linalg::product(v, complement.view())?.iter().all(|x| x.abs() < 1e-9);
        if inside && linalg::full_rank_cholesky(completed.view())?.is_some() {
            return Ok(linalg::spd_inverse(completed.view())? - complement);
        }
        let eigen = linalg::eigh(v)?;
        let kept = linalg::nonzero_eigenvalues(&eigen.values);
        let mut roots = eigen.vectors.select(Axis(1), &kept).reversed_axes().as_standard_layout().into_owned();
        for (mut row, &k) in roots.rows_mut().into_iter().zip(&kept) {
            row /= eigen.values[k].sqrt();
        }
        let mut out = Array2::zeros(v.dim());
        linalg::add_gram(&mut out, roots.view())?;
        Ok(out)
    }

    /// `I − ⊗ (I − J/n_i)`.
    fn complement(&self) -> Array2<f64> {
        let mut out = Array2::eye(self.cells());
        for (cell, mut row) in out.rows_mut().into_iter().enumerate() {
            let mut projected = row.to_vec();
            centre_in_place(&self.shape, &mut projected);
            projected.iter_mut().for_each(|x| *x = -*x);
            projected[cell] += 1.0;
            row.assign(&ndarray::ArrayView1::from(&projected));
        }
        out
    }
}

/// The largest squared column norm.
fn largest_column(rows: ndarray::ArrayView2<'_, f64>) -> f64 {
    rows.columns().into_iter().map(|column| column.dot(&column)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    /// Three queries of rank 2 over six cells, and combinations of them to be answered.
    fn both() -> (FactorStrategy, FactorStrategy, Vec<Vec<f64>>) {
        let queries = ndarray::array![
            [1.0, 0.0, 2.0, -1.0, 0.5, 0.0],
            [0.0, 1.0, 1.0, 0.0, -2.0, 1.0],
            [1.0, 1.0, 3.0, -1.0, -1.5, 1.0]
        ];
        let rows = vec![queries.row(0).to_vec(), (&queries.row(1) * 3.0 - queries.row(0)).to_vec()];
        let dense = FactorStrategy::new(&[2, 3], queries.t().dot(&queries)).unwrap();
        (dense, FactorStrategy::of_queries(&[2, 3], queries.view()).unwrap(), rows)
    }

    #[test]
    fn few_queries_say_what_the_dense_matrix_says() {
        let (dense, few, rows) = both();
        assert!(few.is_low_rank() && !dense.is_low_rank());
        assert_abs_diff_eq!(few.gram().unwrap().as_ref(), dense.gram().unwrap().as_ref(), epsilon = 1e-14);
        assert_abs_diff_eq!(few.covariance().unwrap().as_ref(), dense.covariance().unwrap().as_ref(), epsilon = 1e-12);
        assert_relative_eq!(few.max_diagonal(), 1.0, max_relative = 1e-14);
        for row in &rows {
            assert_relative_eq!(few.variance(row).unwrap(), dense.variance(row).unwrap(), max_relative = 1e-12);
        }
        assert_relative_eq!(
            few.total_variance(rows.iter().cloned()).unwrap(),
            dense.total_variance(rows.into_iter()).unwrap(),
            max_relative = 1e-12
        );
    }

    #[test]
    fn what_is_measured_comes_back() {
        let (_, few, rows) = both();
        let queries = few.queries().unwrap();
        assert_eq!(queries.0.dim(), (2, 6));
        assert_abs_diff_eq!(queries.0.dot(&queries.1), Array2::eye(2), epsilon = 1e-13);
        for row in rows {
            let row = Array1::from_vec(row);
            assert_abs_diff_eq!(row.dot(&queries.1).dot(&queries.0), row, epsilon = 1e-13);
        }
    }

    #[test]
    fn bad_strategies_are_refused() {
        assert!(FactorStrategy::new(&[2], Array2::zeros((2, 2))).is_err());
        let message = FactorStrategy::of_queries(&[4], Array2::zeros((2, 4)).view()).err().unwrap().to_string();
        assert!(message.contains("not zero"), "{message}");
        assert!(FactorStrategy::of_queries(&[3], Array2::ones((2, 4)).view()).is_err());
        assert!(both().1.variance(&[1.0; 5]).unwrap_err().to_string().contains("6 cells"));
        assert!(both().0.variance(&[1.0; 5]).is_err());
    }
}
