//! Design sets: the queries of any strategy, with their costs for a workload.

use ndarray::{Array1, Array2, Axis};

use crate::error::{Error, Result};
use crate::workload::{Gram, GramFactor};
use crate::{Selection, StrategySelector, factor_ends};
use matmech_linalg as linalg;

/// Largest share of the workload outside the row space of the design queries; less is rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// Costs below this multiple of cells × the largest cost are rounding.
const NO_COST: f64 = 8.0 * f64::EPSILON;

/// Design queries for one Kronecker factor of a workload.
#[derive(Debug, Clone)]
pub struct Design {
    /// The factor of the workload.
    pub gram: GramFactor,
    /// Q, design queries × cells.
    pub queries: Array2<f64>,
    /// `c_i = ‖column i of W Q⁺‖²`; 0 for queries that the workload does not use.
    pub costs: Array1<f64>,
}

impl Design {
    /// Returns the queries of the strategy that a selector chooses for the workload, with their
    /// costs.
    ///
    /// The result has one design per group of Kronecker factors at which the strategy and the
    /// workload align. O(queries · cells²) for the largest factor.
    ///
    /// # Errors
    /// The selector fails, the queries do not span the workload, or a factor is too large to be
    /// dense.
    pub fn of_strategy(selector: &dyn StrategySelector, gram: &Gram) -> Result<Vec<Self>> {
        let Selection { strategy, .. } = selector.select(gram)?;
        let strategy_ends = factor_ends(strategy.factors().iter().map(|f| f.shape().len()));
        let gram_ends = factor_ends(gram.factors().iter().map(|f| f.shape.len()));
        let mut out: Vec<Design> = Vec::new();
        let (mut first, mut first_of_gram) = (0, 0);
        for (k, end) in strategy_ends.iter().enumerate() {
            let Some(last_of_gram) = gram_ends.iter().position(|e| e == end) else { continue };
            let factors = &strategy.factors()[first..=k];
            let part = Gram::from_factors(gram.factors()[first_of_gram..=last_of_gram].to_vec())?;
            (first, first_of_gram) = (k + 1, last_of_gram + 1);
            let shape = part.shape();
            let cells = part.cells();
            crate::workload::check_dense_size(
                &format!("design queries of `{}`", selector.name()),
                cells,
            )?;
            let queries = factors.iter().map(|f| f.queries()).collect::<Result<Vec<_>>>()?;
            let inverses = factors.iter().map(|f| f.inverse()).collect::<Result<Vec<_>>>()?;
            let part = GramFactor { shape, matrix: std::sync::Arc::new(part.to_dense()?) };
            let queries = linalg::kron_all(queries.iter().map(|q| q.view()));
            let inverse = linalg::kron_all(inverses.iter().map(|q| q.view()));
            out.push(Self::new(selector.name(), part, queries, &inverse)?);
        }
        Ok(out)
    }

    /// Computes the costs of design queries, given their pseudo-inverse.
    fn new(
        name: &str,
        gram: GramFactor,
        queries: Array2<f64>,
        inverse: &Array2<f64>,
    ) -> Result<Self> {
        let images = linalg::matmul(gram.matrix.view(), inverse.view());
        let mut costs = (&images * inverse).sum_axis(Axis(0));
        let total = gram.matrix.diag().sum();
        let spanned: f64 = images.iter().zip(queries.t()).map(|(x, q)| x * q).sum();
        let share = (1.0 - spanned / total).max(0.0);
        if share > NEGLIGIBLE {
            return Err(Error::Unanswered { strategy: name.to_owned(), share });
        }
        let cut = NO_COST * queries.ncols() as f64 * costs.iter().copied().fold(0.0, f64::max);
        costs.mapv_inplace(|c| if c > cut { c } else { 0.0 });
        Ok(Design { gram, queries, costs })
    }
}
