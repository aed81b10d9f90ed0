//! Workloads of few queries over many cells, given by their rows.
//!
//! Affine and absolute-difference queries on a pair of attributes have a + b − 1 and max(a, b) rows
//! over a·b cells. The root R of full row rank, `RᵀR = G`, is `Σ Uᵀ` of the singular value
//! decomposition of the rows: O(rows² · cells) time and O(rows · cells) memory, instead of
//! O(cells³) and O(cells²) for an eigendecomposition of G. All later steps use R. The directions
//! dropped by the rank decision have trace ρ, [`RowReduction::remainder`].

use ndarray::{Array2, ArrayView2, Axis};

use crate::error::Result;
use crate::symmetry::{EQUAL, Orbits};
use matmech_linalg as linalg;

/// Largest zero singular value, relative to the largest one and per cell; ρ is then below 1e-20 of
/// tr G.
const RANK_CUT: f64 = 8.0 * f64::EPSILON;

/// The rows of a workload in symmetry-adapted coordinates, reduced to full rank.
pub(super) struct RowReduction {
    /// The coordinates.
    pub orbits: Orbits,
    /// R of every character, rank × basis vectors; no rows for a character of rank 0.
    pub roots: Vec<Array2<f64>>,
    /// ρ = `tr G − Σ tr RᵀR`, the trace of the dropped directions.
    pub remainder: f64,
}

impl RowReduction {
    /// Finds the symmetries of the rows, splits the rows and reduces them to full rank.
    ///
    /// O(rows² · cells).
    ///
    /// # Errors
    /// The singular value decomposition fails.
    pub fn of(shape: &[usize], rows: ArrayView2<'_, f64>) -> Result<Self> {
        let orbits = Orbits::of(shape, &|candidate| keeps_rows(rows, candidate));
        let mut spaces = Vec::with_capacity(orbits.characters.len());
        for character in &orbits.characters {
            let mut reduced = Array2::zeros((rows.nrows(), character.orbits.len()));
            for (cell, entry) in orbits.entries(character).into_iter().enumerate() {
                if let Some((k, x)) = entry {
                    reduced.column_mut(k).scaled_add(x, &rows.column(cell));
                }
            }
            spaces.push(linalg::row_space(reduced.view())?);
        }
        let largest =
            spaces.iter().flat_map(|s| s.singular_values.iter().copied()).fold(0.0, f64::max);
        let cut = RANK_CUT * rows.ncols() as f64 * largest;
        let mut remainder = 0.0;
        let roots = spaces
            .into_iter()
            .map(|space| {
                let kept: Vec<usize> = (0..space.singular_values.len())
                    .filter(|&k| space.singular_values[k] > cut)
                    .collect();
                remainder +=
                    space.singular_values.iter().filter(|&&s| s <= cut).map(|s| s * s).sum::<f64>();
                let mut root = space.basis.select(Axis(0), &kept).as_standard_layout().into_owned();
                for (mut row, &k) in root.rows_mut().into_iter().zip(&kept) {
                    row *= space.singular_values[k];
                }
                root
            })
            .collect();
        Ok(RowReduction { orbits, roots, remainder })
    }

    /// Assembles rows in symmetry-adapted coordinates into rows over the cells.
    ///
    /// Each part has the index of its character and rows × basis vectors; the parts are stacked.
    pub fn assemble(&self, parts: &[(usize, Array2<f64>)]) -> Array2<f64> {
        let rows = parts.iter().map(|(_, part)| part.nrows()).sum();
        let mut out = Array2::zeros((rows, self.orbits.cells()));
        let mut first = 0;
        for (index, part) in parts {
            let entries = self.orbits.entries(&self.orbits.characters[*index]);
            for (cell, entry) in entries.into_iter().enumerate() {
                if let Some((k, x)) = entry {
                    for (row, value) in part.column(k).iter().enumerate() {
                        out[[first + row, cell]] = x * value;
                    }
                }
            }
            first += part.nrows();
        }
        out
    }
}

/// Returns whether a permutation of the cells only permutes the rows and changes signs.
///
/// Such a permutation leaves the Gram matrix unchanged. The converse does not hold, but a missed
/// symmetry only costs time.
fn keeps_rows(rows: ArrayView2<'_, f64>, permutation: &[usize]) -> bool {
    let scale = rows.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    let equals = |a: usize, b: usize, sign: f64| {
        let (a, b) = (rows.row(a), rows.row(b));
        permutation
            .iter()
            .enumerate()
            .all(|(cell, &image)| (a[image] - sign * b[cell]).abs() <= EQUAL * scale)
    };
    let mut unmatched = vec![true; rows.nrows()];
    (0..rows.nrows()).all(|row| {
        let partner = (0..rows.nrows())
            .find(|&k| unmatched[k] && (equals(row, k, 1.0) || equals(row, k, -1.0)));
        partner.map(|k| unmatched[k] = false).is_some()
    })
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;
    use rand::RngExt;

    use super::*;
    use crate::domain::AxisSet;
    use crate::test_support::rng;
    use crate::workload::{Family, Gram, JointQueries};
    use crate::{Optimal, Status, StrategySelector};
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    fn residual(family: Family, shape: &[usize]) -> Array2<f64> {
        let queries = JointQueries::family(family, shape).unwrap();
        let rows: Vec<f64> = queries.residual_rows(AxisSet::all(2)).unwrap().flatten().collect();
        Array2::from_shape_vec((queries.count(), shape.iter().product()), rows).unwrap()
    }

    /// Returns five random rows and seven linear combinations of them: rank 5.
    fn deficient(cells: usize) -> Array2<f64> {
        let mut rng = rng(11);
        let mut random = |rows: usize, columns: usize| {
            Array2::from_shape_fn((rows, columns), |_| rng.random_range(-1.0..1.0))
        };
        let base = random(5, cells);
        let sums = random(7, 5).dot(&base);
        ndarray::concatenate(Axis(0), &[base.view(), sums.view()]).unwrap()
    }

    /// Oracle for the upper bound: `tr(G V⁺)` by the eigenvectors of V.
    fn error(rows: &Array2<f64>, queries: &Array2<f64>) -> f64 {
        let eigen = linalg::eigh(queries.t().dot(queries).view()).unwrap();
        let max = eigen.values.iter().copied().fold(0.0, f64::max);
        (0..eigen.values.len())
            .filter(|&k| eigen.values[k] > 1e-11 * max)
            .map(|k| rows.dot(&eigen.vectors.column(k)).mapv(|x| x * x).sum() / eigen.values[k])
            .sum()
    }

    /// Oracle for the ranks: numpy.linalg.matrix_rank.
    #[test]
    fn rows_and_gram_have_the_same_optimum() {
        for (name, rows, shape, rank) in [
            ("affine", residual(Family::AFFINE, &[7, 9]), [7, 9], 13),
            ("square affine", residual(Family::AFFINE, &[8, 8]), [8, 8], 13),
            ("abs", residual(Family::ABS, &[7, 9]), [7, 9], 8),
            ("turned abs", residual(Family::ABS, &[9, 7]), [9, 7], 8),
            ("square abs", residual(Family::ABS, &[8, 8]), [8, 8], 7),
            ("large abs", residual(Family::ABS, &[20, 30]), [20, 30], 29),
            ("random", deficient(30), [5, 6], 5),
        ] {
            let by_rows = Optimal::default().select_rows(&shape, rows.view()).unwrap();
            let gram = Gram::dense(&shape, rows.t().dot(&rows)).unwrap();
            let by_gram = Optimal::default().select(&gram).unwrap();
            let (a, b) = (by_rows.certificate, by_gram.certificate.unwrap());
            assert_eq!((a.status, by_rows.queries.nrows()), (Status::Converged, rank), "{name}");
            assert!(a.gap() <= 1e-7 && b.gap() <= 1e-7, "{name}: {} {}", a.gap(), b.gap());
            // Each lower bound holds for the strategy of the other solution.
            assert!(a.lower_bound <= b.upper_bound * (1.0 + 1e-12), "{name}: {a:?} {b:?}");
            assert!(b.lower_bound <= a.upper_bound * (1.0 + 1e-12), "{name}: {a:?} {b:?}");
            assert_relative_eq!(error(&rows, &by_rows.queries), a.upper_bound, max_relative = 1e-9);
            let norms = Array1::from_iter(by_rows.queries.columns().into_iter().map(|c| c.dot(&c)));
            assert_relative_eq!(
                norms.iter().copied().fold(0.0, f64::max),
                1.0,
                max_relative = 1e-12
            );
        }
    }

    #[test]
    fn roots_have_the_gram_and_full_rank() {
        for (rows, shape) in [(residual(Family::AFFINE, &[6, 6]), [6, 6]), (deficient(42), [6, 7])]
        {
            let reduction = RowReduction::of(&shape, rows.view()).unwrap();
            let parts: Vec<_> = reduction.roots.iter().cloned().enumerate().collect();
            let root = reduction.assemble(&parts);
            assert_abs_diff_eq!(root.t().dot(&root), rows.t().dot(&rows), epsilon = 1e-11);
            assert!(linalg::cholesky(root.dot(&root.t()).view()).is_ok());
            assert!(reduction.remainder <= 1e-24 * rows.iter().map(|x| x * x).sum::<f64>());
        }
    }

    /// The numbers of orbits and blocks equal those of the Gram matrix.
    #[test]
    fn rows_have_the_symmetries_of_their_gram() {
        for (rows, shape, orbits, blocks) in [
            (residual(Family::AFFINE, &[6, 6]), [6, 6], 12, 4),
            (residual(Family::ABS, &[5, 5]), [5, 5], 9, 4),
            (residual(Family::AFFINE, &[5, 7]), [5, 7], 18, 2),
            (residual(Family::ABS, &[5, 7]), [5, 7], 35, 1),
            (deficient(25), [5, 5], 25, 1),
        ] {
            let reduction = RowReduction::of(&shape, rows.view()).unwrap();
            assert_eq!(
                (reduction.orbits.sizes.len(), reduction.roots.len()),
                (orbits, blocks),
                "{shape:?}"
            );
        }
    }

    #[test]
    fn invalid_rows_are_refused() {
        let select = |rows: &Array2<f64>| Optimal::default().select_rows(&[2, 3], rows.view());
        assert!(
            select(&Array2::ones((2, 5))).unwrap_err().to_string().contains("6 finite numbers")
        );
        assert!(select(&Array2::from_elem((2, 6), f64::NAN)).is_err());
        assert!(select(&Array2::zeros((2, 6))).unwrap_err().to_string().contains("zeros"));
    }
}
