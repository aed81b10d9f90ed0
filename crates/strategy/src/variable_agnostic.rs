//! The optimal strategy for workloads that treat all cells equally.

use std::sync::Arc;

use ndarray::Array2;

use super::{
    Certificate, Selection, Status, Strategy, StrategyFactor, StrategySelector, svd_bound,
};
use crate::error::{Error, Result};
use crate::workload::{Gram, GramFactor};

/// Relative tolerance for equal entries, as a share of the diagonal.
const EQUAL: f64 = 1e-12;

/// The optimal strategy for variable-agnostic workloads, `G = (a − b) I + b J`.
///
/// `AᵀA = G^½`, i.e. `A = G^¼`, attains the SVD bound `(√(a+(n−1)b) + (n−1)√(a−b))² / n` for every
/// n. S1, Thm C.1 constructs it for powers of two; it is optimal for any n because `G^½` has a
/// constant diagonal. Closed form, O(n²).
#[derive(Debug, Clone, Copy, Default)]
pub struct VariableAgnostic;

impl StrategySelector for VariableAgnostic {
    fn name(&self) -> &str {
        "variable-agnostic"
    }

    fn summary(&self) -> &str {
        "closed-form optimum for workloads that treat every cell alike (identity, total, predicate)"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        let factors = gram.factors().iter().map(root).collect::<Result<Vec<_>>>()?;
        let strategy = Strategy::kronecker(self.name(), factors)?;
        let bound = svd_bound(gram)?;
        let error = strategy.error(gram)?;
        let certificate = Certificate {
            lower_bound: bound,
            upper_bound: error,
            iterations: 0,
            status: Status::Converged,
        };
        Ok(Selection {
            strategy,
            error,
            certificate: Some(certificate),
            proof: None,
            details: Vec::new(),
        })
    }
}

/// Returns `G^½` of one variable-agnostic factor.
fn root(factor: &GramFactor) -> Result<StrategyFactor> {
    let g = &factor.matrix;
    let n = g.nrows();
    let (a, b) = (g[[0, 0]], if n > 1 { g[[0, 1]] } else { 0.0 });
    let off =
        g.indexed_iter().find(|((i, j), x)| (*x - if i == j { a } else { b }).abs() > EQUAL * a);
    if let Some(((i, j), x)) = off {
        return Err(Error::bad_input(
            "strategy `variable-agnostic`",
            format!("a Gram matrix with {a} on the diagonal and {b} off it"),
            format!("{x} at ({i}, {j})"),
            "use `optimal`, which takes any workload",
        ));
    }
    let (on_ones, elsewhere) =
        ((a + (n as f64 - 1.0) * b).max(0.0).sqrt(), (a - b).max(0.0).sqrt());
    let shared = (on_ones - elsewhere) / n as f64;
    let half =
        Array2::from_shape_fn((n, n), |(i, j)| shared + if i == j { elsewhere } else { 0.0 });
    Ok(StrategyFactor::from_gram(&factor.shape, Arc::new(half)))
}
