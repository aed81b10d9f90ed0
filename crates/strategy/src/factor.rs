//! The strategy of one Kronecker factor, in any of its forms.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::error::{Error, Result};
use crate::residual::centre_box;
use matmech_linalg::{self as linalg, Semidefinite};

/// A source of queries that are cheaper to store in a special form than as a matrix.
pub trait QuerySource: fmt::Debug + Send + Sync {
    /// Returns the queries, one per row over the cells.
    fn rows(&self) -> Array2<f64>;
}

/// A Gram matrix that is computed on demand.
pub trait GramSource: fmt::Debug + Send + Sync {
    /// Returns the largest diagonal entry.
    fn sensitivity_squared(&self) -> f64;

    /// Computes the matrix.
    ///
    /// # Errors
    /// There are too many cells for a dense matrix.
    fn gram(&self) -> Result<Array2<f64>>;

    /// Computes the pseudo-inverse of the matrix, if that is cheaper than from the matrix.
    ///
    /// # Errors
    /// The eigensolver fails.
    fn covariance(&self) -> Result<Option<Array2<f64>>> {
        Ok(None)
    }

    /// Computes queries with this Gram matrix and their inverse, if that is cheaper than from the
    /// matrix.
    ///
    /// # Errors
    /// The eigensolver fails.
    fn queries_and_inverse(&self) -> Result<Option<QueriesWithInverse>> {
        Ok(None)
    }
}

/// Queries, one per row, and the matrix that maps their answers to cells by least squares.
pub type QueriesWithInverse = (Array2<f64>, Array2<f64>);

/// The form in which a factor is given.
#[derive(Debug)]
enum Form {
    /// `V`, in `gram`: under Gaussian noise all queries with this Gram matrix are equivalent (S1,
    /// App. B.2).
    Gram,
    /// V, computed on demand.
    GramSource(Arc<dyn GramSource>),
    /// Queries, with their Gram matrix in `gram`.
    Queries(Arc<Array2<f64>>),
    /// Queries computed on demand, with their Gram matrix in `gram`.
    Source(Arc<dyn QuerySource>),
    /// Orthogonal rows B with `BᵀB = V`, and their squared norms, the non-zero eigenvalues of V.
    LowRank { rows: Array2<f64>, eigenvalues: Array1<f64> },
}

/// A strategy A on one attribute, or jointly on several: one factor of a Kronecker product.
///
/// `V = AᵀA` is its Gram matrix. Derived matrices are computed on first use and kept; clones share
/// them. *Memory*: 8·cells² bytes for V, or 8·rank·cells for a strategy of few queries, and the
/// same for the covariance once it is computed.
#[derive(Debug, Clone)]
pub struct StrategyFactor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shape: Vec<usize>,
    form: Form,
    gram: OnceLock<Arc<Array2<f64>>>,
    covariance: OnceLock<Arc<Array2<f64>>>,
    pair: OnceLock<QueriesAndInverse>,
}

/// A and A⁺.
type QueriesAndInverse = (Arc<Array2<f64>>, Arc<Array2<f64>>);

impl StrategyFactor {
    fn new(shape: &[usize], form: Form, gram: Option<Arc<Array2<f64>>>) -> Self {
        let gram = gram.map_or_else(OnceLock::new, OnceLock::from);
        let (covariance, pair) = (OnceLock::new(), OnceLock::new());
        StrategyFactor(Arc::new(Inner { shape: shape.to_vec(), form, gram, covariance, pair }))
    }

    /// Creates a factor from its queries, one per row. 2·queries·cells² flops.
    ///
    /// # Errors
    /// The columns are not the cells of the shape.
    pub fn from_queries(shape: &[usize], queries: Array2<f64>) -> Result<Self> {
        let cells: usize = shape.iter().product();
        if queries.ncols() != cells || queries.nrows() == 0 {
            return Err(Error::bad_input(
                "strategy matrix",
                format!("at least one row of {cells} columns"),
                format!("{} x {}", queries.nrows(), queries.ncols()),
                "one row per query, one column per cell",
            ));
        }
        let gram = linalg::gram_of(queries.view());
        Ok(Self::new(shape, Form::Queries(Arc::new(queries)), Some(Arc::new(gram))))
    }

    /// Creates a factor from queries that are computed on demand, and their Gram matrix.
    pub fn from_source(
        shape: &[usize],
        source: Arc<dyn QuerySource>,
        gram: Arc<Array2<f64>>,
    ) -> Self {
        Self::new(shape, Form::Source(source), Some(gram))
    }

    /// Creates a factor from V alone.
    pub fn from_gram(shape: &[usize], gram: Arc<Array2<f64>>) -> Self {
        Self::new(shape, Form::Gram, Some(gram))
    }

    /// Creates a factor from V alone, computed on first use.
    pub fn from_gram_source(shape: &[usize], source: Arc<dyn GramSource>) -> Self {
        Self::new(shape, Form::GramSource(source), None)
    }

    /// Creates a factor from V, scaled to unit privacy cost: a largest diagonal entry of 1.
    ///
    /// # Errors
    /// The order of the matrix is not the number of cells, or no diagonal entry is positive.
    pub fn from_gram_scaled(shape: &[usize], mut gram: Array2<f64>) -> Result<Self> {
        let cells: usize = shape.iter().product();
        let max = gram.diag().iter().copied().fold(0.0, f64::max);
        if gram.dim() != (cells, cells) || !(max > 0.0 && max.is_finite()) {
            return Err(Error::bad_input(
                format!("strategy over {shape:?}"),
                format!("a {cells} x {cells} matrix with a positive diagonal"),
                format!("{} x {}, largest diagonal entry {max}", gram.nrows(), gram.ncols()),
                "pass the Gram matrix of a strategy with at least one non-zero query",
            ));
        }
        gram /= max;
        Ok(Self::from_gram(shape, Arc::new(gram)))
    }

    /// Returns the factor at unit privacy cost.
    ///
    /// # Errors
    /// No diagonal entry of V is positive.
    pub fn scaled(&self) -> Result<Self> {
        match &self.0.form {
            Form::GramSource(source) if source.sensitivity_squared() == 1.0 => Ok(self.clone()),
            _ => Self::from_gram_scaled(self.shape(), self.gram()?.as_ref().clone()),
        }
    }

    /// Creates a strategy of few queries over many cells, stored as rows and scaled to unit privacy
    /// cost.
    ///
    /// O(rows² · cells).
    ///
    /// # Errors
    /// The columns are not the cells of the shape, or all queries are zero.
    pub fn low_rank(shape: &[usize], queries: ArrayView2<'_, f64>) -> Result<Self> {
        let cells: usize = shape.iter().product();
        let max = largest_column(queries);
        if queries.ncols() != cells || !(max > 0.0 && max.is_finite()) {
            return Err(Error::bad_input(
                format!("strategy over {shape:?}"),
                format!("queries over {cells} cells, at least one not zero"),
                format!(
                    "{} x {}, largest squared column norm {max}",
                    queries.nrows(),
                    queries.ncols()
                ),
                "pass the queries of a strategy with at least one non-zero query",
            ));
        }
        let space = linalg::row_space(queries)?;
        let eigenvalues = space.singular_values.mapv(|s| s * s / max);
        let kept = linalg::nonzero_eigenvalues(&eigenvalues);
        let eigenvalues = eigenvalues.select(Axis(0), &kept);
        let mut rows = space.basis.select(Axis(0), &kept).as_standard_layout().into_owned();
        for (mut row, eigenvalue) in rows.rows_mut().into_iter().zip(&eigenvalues) {
            row *= eigenvalue.sqrt();
        }
        Ok(Self::new(shape, Form::LowRank { rows, eigenvalues }, None))
    }

    /// Returns the sizes of the attributes of the factor.
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.0.shape.iter().product()
    }

    /// Returns whether V is stored as few queries.
    pub fn is_low_rank(&self) -> bool {
        matches!(self.0.form, Form::LowRank { .. })
    }

    /// Returns `‖A‖₂²`, the largest diagonal entry of V.
    ///
    /// It is the privacy cost of measuring A with unit noise.
    pub fn sensitivity_squared(&self) -> f64 {
        match (&self.0.form, self.0.gram.get()) {
            (Form::LowRank { rows, .. }, _) => largest_column(rows.view()),
            (Form::GramSource(source), _) => source.sensitivity_squared(),
            (_, gram) => gram.map_or(0.0, |v| v.diag().iter().copied().fold(0.0, f64::max)),
        }
    }

    /// Returns V. O(rank · cells²) on first use for few queries.
    ///
    /// # Errors
    /// There are too many cells for a dense matrix.
    pub fn gram(&self) -> Result<Arc<Array2<f64>>> {
        computed_once(&self.0.gram, || match &self.0.form {
            Form::GramSource(source) => source.gram(),
            _ => self.sum_of_rows(|_| 1.0),
        })
    }

    /// Returns `V⁺`, the covariance of the reconstructed cells at unit noise.
    ///
    /// O(cells³) on first use.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn covariance(&self) -> Result<Arc<Array2<f64>>> {
        computed_once(&self.0.covariance, || self.pseudo_inverse())
    }

    /// Returns the measured queries, which have this Gram matrix.
    ///
    /// They are the queries that the factor was created from, or `Λ^½Uᵀ` from the
    /// eigendecomposition of V.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn queries(&self) -> Result<Arc<Array2<f64>>> {
        match &self.0.form {
            Form::Queries(queries) => Ok(queries.clone()),
            Form::Source(source) => Ok(Arc::new(source.rows())),
            Form::Gram | Form::GramSource(_) | Form::LowRank { .. } => Ok(self.pair()?.0.clone()),
        }
    }

    /// Returns `A⁺`, which maps answers of [`StrategyFactor::queries`] to cells by least squares.
    ///
    /// If A does not have full rank, it is the solution of smallest norm. O(queries · cells²) on
    /// first use.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn inverse(&self) -> Result<Arc<Array2<f64>>> {
        Ok(self.pair()?.1.clone())
    }

    /// Returns the queries and their inverse, from one decomposition.
    fn pair(&self) -> Result<&QueriesAndInverse> {
        if let Some(known) = self.0.pair.get() {
            return Ok(known);
        }
        let known = match &self.0.form {
            Form::GramSource(source) => source.queries_and_inverse()?,
            _ => None,
        };
        if let Some((queries, inverse)) = known {
            return Ok(self.0.pair.get_or_init(|| (Arc::new(queries), Arc::new(inverse))));
        }
        let (queries, inverse) = match &self.0.form {
            Form::Gram | Form::GramSource(_) => {
                let range = Semidefinite::of(self.gram()?.view())?;
                (Arc::new(range.root()), range.root_inverse())
            }
            Form::LowRank { rows, eigenvalues } => (
                Arc::new(rows.clone()),
                (&rows.t() / eigenvalues).as_standard_layout().into_owned(),
            ),
            Form::Queries(_) | Form::Source(_) => {
                let queries = self.queries()?;
                let inverse = linalg::least_squares_inverse(queries.view())?;
                (queries, inverse)
            }
        };
        Ok(self.0.pair.get_or_init(|| (queries, Arc::new(inverse))))
    }

    /// Returns `A^{+T} qᵀ`, the weights of the answers of [`StrategyFactor::queries`] in the
    /// estimate of a query.
    ///
    /// With the weights w of q and u of r, `q V⁺ rᵀ = w · u`. For ill-conditioned strategies the
    /// rounding errors of this product are far below those of V⁺. O(queries · cells).
    ///
    /// # Errors
    /// The query has another length, or the eigensolver fails.
    pub fn weights_of(&self, query: &[f64]) -> Result<Vec<f64>> {
        Ok(linalg::kron_apply(&[self.inverse()?.t()], query.to_vec())?)
    }

    /// Returns `q V⁺ qᵀ`, the variance of a query in the range of V at unit noise.
    ///
    /// O(cells²), or O(rank · cells) for few queries.
    ///
    /// # Errors
    /// The query has another length, or the eigensolver fails.
    pub fn variance(&self, query: &[f64]) -> Result<f64> {
        if self.is_low_rank() {
            return self.total_variance(std::iter::once(query.to_vec()));
        }
        let covariance = self.covariance()?;
        Ok(linalg::kron_apply(&[covariance.view()], query.to_vec())?
            .iter()
            .zip(query)
            .map(|(x, q)| x * q)
            .sum())
    }

    /// Returns the sum of the variances of queries in the range of V.
    ///
    /// # Errors
    /// As [`StrategyFactor::variance`].
    pub fn total_variance(&self, queries: impl Iterator<Item = Vec<f64>>) -> Result<f64> {
        let Form::LowRank { rows, eigenvalues } = &self.0.form else {
            let mut sum = 0.0;
            for query in queries {
                sum += self.variance(&query)?;
            }
            return Ok(sum);
        };
        // q V⁺ qᵀ = Σ_k (b_k · q)²/λ_k², because b_k/√λ_k are eigenvectors of V.
        let mut sum = 0.0;
        for query in queries {
            if query.len() != self.cells() {
                return Err(Error::bad_input(
                    format!("query over {:?}", self.shape()),
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

    /// Returns `Σ_k f(λ_k) b_kᵀb_k` over the rows of a strategy of few queries.
    fn sum_of_rows(&self, f: impl Fn(f64) -> f64) -> Result<Array2<f64>> {
        crate::workload::check_dense_size("strategy of a residual subspace", self.cells())?;
        let mut scaled = Array2::zeros((0, self.cells()));
        if let Form::LowRank { rows, eigenvalues } = &self.0.form {
            scaled = rows.clone();
            for (mut row, &eigenvalue) in scaled.rows_mut().into_iter().zip(eigenvalues) {
                row *= f(eigenvalue).sqrt();
            }
        }
        Ok(linalg::gram_of(scaled.view()))
    }

    /// Computes V⁺.
    fn pseudo_inverse(&self) -> Result<Array2<f64>> {
        if self.is_low_rank() {
            return self.sum_of_rows(|eigenvalue| eigenvalue.powi(-2));
        }
        if let Form::GramSource(source) = &self.0.form
            && let Some(covariance) = source.covariance()?
        {
            return Ok(covariance);
        }
        let gram = self.gram()?;
        let v = gram.view();
        if linalg::full_rank_cholesky(v)?.is_some() {
            return Ok(linalg::spd_inverse(v)?);
        }
        // V may have full rank on the residual subspace: add the projector on the complement.
        let complement = self.complement();
        let completed = &complement + &v;
        let inside = linalg::product(v, complement.view())?.iter().all(|x| x.abs() < 1e-9);
        if inside && linalg::full_rank_cholesky(completed.view())?.is_some() {
            return Ok(linalg::spd_inverse(completed.view())? - complement);
        }
        Ok(Semidefinite::of(v)?.pseudo_inverse())
    }

    /// Returns `I − ⊗ (I − J/n_i)`, the projector on the complement of the residual subspace.
    fn complement(&self) -> Array2<f64> {
        let mut out = Array2::eye(self.cells());
        for (cell, mut row) in out.rows_mut().into_iter().enumerate() {
            let mut projected = row.to_vec();
            centre_box(self.shape(), &mut projected);
            projected.iter_mut().for_each(|x| *x = -*x);
            projected[cell] += 1.0;
            row.assign(&ndarray::ArrayView1::from(&projected));
        }
        out
    }
}

/// Returns the value in a cache, computed on first use.
fn computed_once(
    cache: &OnceLock<Arc<Array2<f64>>>,
    compute: impl FnOnce() -> Result<Array2<f64>>,
) -> Result<Arc<Array2<f64>>> {
    if let Some(known) = cache.get() {
        return Ok(known.clone());
    }
    let computed = Arc::new(compute()?);
    Ok(cache.get_or_init(|| computed).clone())
}

/// Returns the largest squared column norm.
fn largest_column(rows: ArrayView2<'_, f64>) -> f64 {
    rows.columns().into_iter().map(|column| column.dot(&column)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    /// Returns three queries of rank 2 over six cells, in every form.
    fn forms() -> [StrategyFactor; 3] {
        let queries = ndarray::array![
            [1.0, 0.0, 2.0, -1.0, 0.5, 0.0],
            [0.0, 1.0, 1.0, 0.0, -2.0, 1.0],
            [1.0, 1.0, 3.0, -1.0, -1.5, 1.0]
        ];
        let max = largest_column(queries.view());
        [
            StrategyFactor::from_gram_scaled(&[2, 3], queries.t().dot(&queries)).unwrap(),
            StrategyFactor::low_rank(&[2, 3], queries.view()).unwrap(),
            StrategyFactor::from_queries(&[2, 3], queries / max.sqrt()).unwrap(),
        ]
    }

    /// Queries in the row space of the strategy.
    fn answered() -> Vec<Vec<f64>> {
        vec![vec![1.0, 0.0, 2.0, -1.0, 0.5, 0.0], vec![-1.0, 3.0, 1.0, 1.0, -6.5, 3.0]]
    }

    /// All forms of a strategy have the same Gram matrix, covariance, sensitivity and variances.
    #[test]
    fn all_forms_agree() {
        let [dense, rest @ ..] = forms();
        for factor in rest {
            assert_abs_diff_eq!(
                factor.gram().unwrap().as_ref(),
                dense.gram().unwrap().as_ref(),
                epsilon = 1e-14
            );
            let (a, b) = (factor.covariance().unwrap(), dense.covariance().unwrap());
            assert_abs_diff_eq!(a.as_ref(), b.as_ref(), epsilon = 1e-12);
            assert_relative_eq!(factor.sensitivity_squared(), 1.0, max_relative = 1e-14);
            for row in &answered() {
                assert_relative_eq!(
                    factor.variance(row).unwrap(),
                    dense.variance(row).unwrap(),
                    max_relative = 1e-12
                );
            }
            let total = |f: &StrategyFactor| f.total_variance(answered().into_iter()).unwrap();
            assert_relative_eq!(total(&factor), total(&dense), max_relative = 1e-12);
        }
        assert!(forms()[1].is_low_rank() && !dense.is_low_rank());
    }

    /// The inverse recovers the answered queries, and its noise has the covariance V⁺.
    #[test]
    fn the_inverse_recovers_what_is_measured() {
        for factor in forms() {
            let (queries, inverse) = (factor.queries().unwrap(), factor.inverse().unwrap());
            assert_abs_diff_eq!(
                queries.t().dot(queries.as_ref()),
                factor.gram().unwrap().as_ref(),
                epsilon = 1e-13
            );
            for row in answered() {
                let row = Array1::from_vec(row);
                assert_abs_diff_eq!(
                    row.dot(inverse.as_ref()).dot(queries.as_ref()),
                    row,
                    epsilon = 1e-12
                );
            }
            // The noise of the reconstructed cells has the covariance V⁺.
            let covariance = inverse.dot(&inverse.t());
            assert_abs_diff_eq!(covariance, factor.covariance().unwrap().as_ref(), epsilon = 1e-12);
        }
    }

    #[test]
    fn bad_strategies_are_refused() {
        assert!(StrategyFactor::from_gram_scaled(&[2], Array2::zeros((2, 2))).is_err());
        let zeros: Array2<f64> = Array2::zeros((2, 4));
        let message = StrategyFactor::low_rank(&[4], zeros.view()).err().unwrap().to_string();
        assert!(message.contains("not zero"), "{message}");
        assert!(StrategyFactor::low_rank(&[3], Array2::ones((2, 4)).view()).is_err());
        assert!(StrategyFactor::from_queries(&[3], Array2::eye(2)).is_err());
        for factor in forms() {
            assert!(factor.variance(&[1.0; 5]).is_err());
        }
        assert!(forms()[1].variance(&[1.0; 5]).unwrap_err().to_string().contains("6 cells"));
    }
}
