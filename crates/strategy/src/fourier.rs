//! The Fourier basis of Barak et al.

use std::sync::Arc;

use ndarray::{Array1, Array2};

use super::{QuerySource, Selection, Strategy, StrategyFactor, StrategySelector};
use crate::error::{Error, Result};
use crate::workload::{Gram, GramFactor};
use matmech_linalg as linalg;

/// Energies below this multiple of cells × the largest energy are rounding.
const MIN_ENERGY: f64 = 8.0 * f64::EPSILON;

/// The Fourier strategy of Barak et al., as compared in S2.
///
/// It measures the ±1 Walsh–Hadamard queries with `q G qᵀ > 0`. All columns have the same norm and
/// the queries are orthogonal, so
///
/// ```text
/// ‖A‖₂² = queries,      error = queries · tr(G) / n
/// ```
///
/// *Requirements*: every attribute size is a power of two (its bits are the binary attributes of
/// the paper). *Cost*: O(n² log n) per Kronecker factor. *Reference*: S2, competing approaches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fourier;

impl StrategySelector for Fourier {
    fn name(&self) -> &str {
        "fourier"
    }

    fn summary(&self) -> &str {
        "the Walsh-Hadamard queries that the workload uses (sizes that are powers of two)"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        let (mut made, mut error): (Vec<(&GramFactor, StrategyFactor, usize)>, f64) =
            (Vec::new(), 1.0);
        for factor in gram.factors() {
            let same =
                made.iter().find(|(f, ..)| f.shape == factor.shape && f.matrix == factor.matrix);
            let (strategy, queries) = match same {
                Some((_, strategy, queries)) => (strategy.clone(), *queries),
                None => select_factor(factor)?,
            };
            error *= queries as f64 * factor.matrix.diag().sum() / factor.matrix.nrows() as f64;
            made.push((factor, strategy, queries));
        }
        let queries: f64 = made.iter().map(|(_, _, queries)| *queries as f64).product();
        let strategy = Strategy::kronecker(
            self.name(),
            made.into_iter().map(|(_, strategy, _)| strategy).collect(),
        )?;
        Ok(Selection {
            strategy,
            error,
            certificate: None,
            proof: None,
            details: vec![("queries_in_strategy", queries)],
        })
    }
}

/// Returns the strategy for one factor, and its number of queries.
fn select_factor(factor: &GramFactor) -> Result<(StrategyFactor, usize)> {
    let cells = factor.matrix.nrows();
    if let Some(size) = factor.shape.iter().find(|size| !size.is_power_of_two()) {
        return Err(Error::bad_input(
            "strategy `fourier`",
            "attribute sizes that are powers of two",
            format!("{size} values"),
            "use `eigen-design`, which supports any size, or another domain",
        ));
    }
    let energies = energies(&factor.matrix)?;
    let cut = MIN_ENERGY * cells as f64 * energies.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> = (0..cells).filter(|&k| energies[k] > cut).collect();
    if kept.is_empty() {
        return Err(Error::bad_input(
            "strategy `fourier`",
            "a workload with at least one non-zero query",
            "a Gram matrix of zeros",
            "drop this workload: it needs no measurement",
        ));
    }
    // V_ij = Σ_k H_ki H_kj depends only on i xor j.
    let mut differences = vec![0.0; cells];
    kept.iter().for_each(|&k| differences[k] = 1.0);
    linalg::walsh_hadamard(&mut differences)?;
    let gram = Array2::from_shape_fn((cells, cells), |(i, j)| differences[i ^ j]);
    let queries = kept.len();
    let source = Arc::new(WalshRows { cells, kept });
    Ok((StrategyFactor::from_source(&factor.shape, source, Arc::new(gram)), queries))
}

/// Returns `h_k G h_kᵀ` for every Walsh–Hadamard row h_k. O(n² log n).
fn energies(gram: &Array2<f64>) -> Result<Array1<f64>> {
    let mut transformed = gram.as_standard_layout().into_owned();
    for mut row in transformed.rows_mut() {
        match row.as_slice_mut() {
            Some(row) => linalg::walsh_hadamard(row)?,
            None => {
                return Err(Error::bug(
                    "Walsh–Hadamard transform of a Gram",
                    "contiguous rows",
                    "others",
                ));
            }
        }
    }
    let mut out = Array1::zeros(gram.nrows());
    for (k, column) in transformed.columns().into_iter().enumerate() {
        let mut column = column.to_vec();
        linalg::walsh_hadamard(&mut column)?;
        out[k] = column[k];
    }
    Ok(out)
}

/// The kept rows of the Walsh–Hadamard matrix.
#[derive(Debug)]
struct WalshRows {
    cells: usize,
    kept: Vec<usize>,
}

impl QuerySource for WalshRows {
    fn rows(&self) -> Array2<f64> {
        let sign =
            |k: usize, j: usize| if (k & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        Array2::from_shape_fn((self.kept.len(), self.cells), |(row, j)| sign(self.kept[row], j))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::gram;

    use approx::{assert_abs_diff_eq, assert_relative_eq};

    /// Against the explicit matrix: the rows kept, their Gram matrix, and the error.
    #[test]
    fn the_strategy_equals_the_explicit_matrix() {
        for (text, queries) in [
            ("identity-marginals(ways=1):2x4x2", 1 + 1 + 3 + 1),
            ("identity-marginals(ways=2):2^4", 1 + 4 + 6),
            ("identity-marginals(ways=1+2):4x2x2", 1 + 3 + 1 + 1 + 3 + 3 + 1),
            ("range:8", 8),
            ("range:4x4", 16),
            ("total:8", 1),
        ] {
            let gram = gram(text);
            let selection = Fourier.select(&gram).unwrap();
            let cells = gram.cells();
            let dense = gram.to_dense().unwrap();
            let hadamard = Array2::from_shape_fn((cells, cells), |(k, j)| {
                1.0 - 2.0 * f64::from((k & j).count_ones() % 2)
            });
            let energies = hadamard.dot(&dense).dot(&hadamard.t()).diag().to_owned();
            let needed: Vec<usize> =
                (0..cells).filter(|&k| energies[k] > 1e-9 * energies.sum()).collect();
            assert_eq!(needed.len(), queries, "{text}");
            assert_relative_eq!(
                selection.strategy.sensitivity_squared(),
                queries as f64,
                max_relative = 1e-12
            );
            let explicit = hadamard.select(ndarray::Axis(0), &needed);
            let parts: Vec<_> =
                selection.strategy.factors().iter().map(|f| f.queries().unwrap()).collect();
            let made = linalg::kron_all(parts.iter().map(|q| q.view()));
            assert_abs_diff_eq!(made.t().dot(&made), explicit.t().dot(&explicit), epsilon = 1e-12);
            assert_relative_eq!(
                selection.strategy.error(&gram).unwrap(),
                selection.error,
                max_relative = 1e-10
            );
        }
        let other = gram("identity-marginals(ways=1):2x6");
        assert!(Fourier.select(&other).unwrap_err().to_string().contains("6 values"));
    }
}
