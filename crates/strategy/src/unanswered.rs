//! Search for a query of a workload that a strategy cannot answer.

use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::Strategy;
use crate::domain::coordinates;
use crate::error::{Error, Result};
use crate::workload::Workload;
use matmech_linalg as linalg;

/// Maximum number of entries of the rows that are examined.
const MAX_ENTRIES: usize = 1 << 32;

/// Largest share of an answered query's squared norm outside the row space.
const NEGLIGIBLE: f64 = 1e-9;

/// Adds the first query that the strategy cannot answer to [`Error::Unanswered`], if the workload's
/// queries can be listed. Returns any other error unchanged.
pub(super) fn with_query(error: Error, strategy: &Strategy, workload: &Workload) -> Error {
    let Error::Unanswered { share, .. } = error else { return error };
    match first(strategy, workload) {
        Ok(Some((query, row, outside))) => Error::UnansweredQuery {
            strategy: strategy.name().to_owned(),
            workload: workload.name().to_owned(),
            query,
            weights: weights(workload.shape(), &row),
            outside,
            share,
        },
        Ok(None) | Err(_) => error,
    }
}

/// Returns the first unanswered query: its number from 1, its row, and the share of its squared
/// norm outside the row space.
///
/// It is found with a random vector z orthogonal to the strategy's rows: `q·z ≠ 0`.
/// O(rows · cells).
fn first(strategy: &Strategy, workload: &Workload) -> Result<Option<(usize, Vec<f64>, f64)>> {
    let mut projectors = Vec::with_capacity(strategy.factors().len());
    for factor in strategy.factors() {
        projectors.push(projector(&*factor.gram()?)?);
    }
    let views: Vec<_> = projectors.iter().map(|p| p.view()).collect();
    let rest = |x: &[f64]| -> Result<Vec<f64>> {
        Ok(x.iter()
            .zip(linalg::kron_apply(&views, x.to_vec())?)
            .map(|(x, inside)| x - inside)
            .collect())
    };
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let random: Vec<f64> = (0..workload.cells()).map(|_| rng.random_range(-1.0..1.0)).collect();
    let z = rest(&random)?;
    for (index, row) in workload.rows()?.take(MAX_ENTRIES / workload.cells()).enumerate() {
        let norm = squared(&row);
        let product: f64 = row.iter().zip(&z).map(|(q, z)| q * z).sum();
        // Rounding alone is far smaller, and an unanswered query is hardly ever this orthogonal
        // to z.
        if product * product > 1e-6 * NEGLIGIBLE * norm {
            let outside = squared(&rest(&row)?) / norm;
            if outside > NEGLIGIBLE {
                return Ok(Some((index + 1, row, outside)));
            }
        }
    }
    Ok(None)
}

/// Returns the projector on the range of a Gram matrix. O(cells³).
fn projector(gram: &Array2<f64>) -> Result<Array2<f64>> {
    let eigen = linalg::eigh(gram.view())?;
    let kept = linalg::nonzero_eigenvalues(&eigen.values);
    let basis = eigen.vectors.select(ndarray::Axis(1), &kept);
    Ok(linalg::gram_of(basis.t()))
}

fn squared(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// Describes the weights of a query in words: `1 on cells 2 to 5`.
fn weights(shape: &[usize], row: &[f64]) -> String {
    let cell = |cell: usize| match shape {
        [_] => cell.to_string(),
        _ => format!("{:?}", coordinates(shape, cell)),
    };
    let support: Vec<usize> = (0..row.len()).filter(|&cell| row[cell] != 0.0).collect();
    let (Some(&from), Some(&to)) = (support.first(), support.last()) else {
        return "zero".to_owned();
    };
    let equal = support.iter().all(|&cell| row[cell] == row[from]);
    match (support.len(), equal) {
        (1, _) => format!("{} on cell {}, counted from 0", row[from], cell(from)),
        (cells, true) if cells == to - from + 1 => {
            format!("{} on cells {} to {}, counted from 0", row[from], cell(from), cell(to))
        }
        (cells, _) => format!(
            "{cells} cells with weights, from cell {} to {}, counted from 0",
            cell(from),
            cell(to)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StrategyFactor;

    #[test]
    fn queries_are_described_by_their_cells() {
        assert_eq!(weights(&[5], &[0.0, 1.0, 1.0, 1.0, 0.0]), "1 on cells 1 to 3, counted from 0");
        assert_eq!(weights(&[2, 2], &[0.0, 0.0, 0.5, 0.0]), "0.5 on cell [1, 0], counted from 0");
        assert_eq!(
            weights(&[4], &[1.0, 0.0, -1.0, 0.0]),
            "2 cells with weights, from cell 0 to 2, counted from 0"
        );
    }

    #[test]
    fn the_first_query_outside_the_row_space_is_found() {
        // Pairs of cells answer the ranges of even start and length; the first other range is the
        // first cell.
        let pairs =
            Array2::from_shape_fn((3, 6), |(pair, cell)| f64::from(u8::from(cell / 2 == pair)));
        let strategy = |name: &str, factors: &[&Array2<f64>]| {
            let factor = |q: &&Array2<f64>| {
                StrategyFactor::from_queries(&[q.ncols()], (*q).clone()).unwrap()
            };
            Strategy::kronecker(name, factors.iter().map(factor).collect()).unwrap()
        };
        let single = strategy("pairs", &[&pairs]);
        let (query, row, outside) =
            first(&single, &Workload::parse("range:6").unwrap()).unwrap().unwrap();
        assert_eq!((query, row), (1, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
        assert!((outside - 0.5).abs() < 1e-12, "{outside}");
        let (query, row, _) =
            first(&single, &Workload::parse("prefix:6").unwrap()).unwrap().unwrap();
        assert_eq!(row.iter().filter(|&&x| x != 0.0).count() % 2, 1, "query {query}");
        assert!(first(&single, &Workload::parse("total:6").unwrap()).unwrap().is_none());
        let double = strategy("product", &[&Array2::eye(2), &pairs]);
        let (query, row, _) =
            first(&double, &Workload::parse("identity:2x6").unwrap()).unwrap().unwrap();
        assert_eq!((query, row[0]), (1, 1.0));
    }
}
