//! Numerical checks of the theorems of S1 and of formulas in their proofs.

use matmech::linalg;
use matmech::strategy::{self, svd_bound};
use matmech::workload::{Family, Gram, Workload};
use ndarray::{Array1, Array2, Axis, Slice, concatenate};
use rand_chacha::ChaCha20Rng;

use super::checked_examples::{l1_norm, random, refuted};
use crate::error::{Error, Result};
use crate::experiment::Row;

/// Returns the largest squared norm of a column.
fn sensitivity_squared(a: &Array2<f64>) -> f64 {
    a.columns().into_iter().map(|column| column.dot(&column)).fold(0.0, f64::max)
}

/// Returns `‖A‖₂² (AᵀA)⁻¹`, which determines the error of every query.
fn covariance(a: &Array2<f64>) -> Result<Array2<f64>> {
    let gram = a.t().dot(a);
    Ok(linalg::spd_inverse(gram.view()).map_err(matmech::Error::from)? * sensitivity_squared(a))
}

/// Returns a random n × n matrix whose columns have norm 1.
fn column_uniform(n: usize, rng: &mut ChaCha20Rng) -> Array2<f64> {
    let mut a = random(n, n, rng) + Array2::<f64>::eye(n) * 2.0;
    for mut column in a.columns_mut() {
        let norm = column.dot(&column).sqrt();
        column /= norm;
    }
    a
}

/// Returns the smallest eigenvalue of a symmetric matrix.
fn smallest_eigenvalue(a: &Array2<f64>) -> Result<f64> {
    let values = linalg::eigvalsh(a.view()).map_err(matmech::Error::from)?;
    Ok(values.iter().copied().fold(f64::INFINITY, f64::min))
}

fn stack(parts: &[&Array2<f64>]) -> Result<Array2<f64>> {
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    concatenate(Axis(0), &views)
        .map_err(|error| Error::bug("a stacked strategy", "rows of equal length", error))
}

/// Checks Thm 3.1: a strategy is minimal if and only if it is column-uniform.
///
/// A strategy with a smaller column is dominated by the one that measures the missing part of each
/// column. Of two column-uniform strategies neither has lower errors for all queries.
pub(super) fn minimal_strategies(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    for n in [2usize, 4, 7] {
        for _ in 0..20 {
            let a = random(n, n, rng) + Array2::<f64>::eye(n) * 2.0;
            let largest = sensitivity_squared(&a);
            let missing = a.columns().into_iter().map(|c| (largest - c.dot(&c)).max(0.0).sqrt());
            let filled = stack(&[&a, &Array2::from_diag(&Array1::from_iter(missing))])?;
            let gain = covariance(&a)? - covariance(&filled)?;
            if smallest_eigenvalue(&gain)? < -1e-9 || gain.diag().sum() <= 0.0 {
                return Err(refuted("a filled strategy", "lower errors", "a higher error"));
            }
            let (first, second) = (column_uniform(n, rng), column_uniform(n, rng));
            let difference = covariance(&first)? - covariance(&second)?;
            let opposite = -&difference;
            if smallest_eigenvalue(&difference)? > -1e-12
                || smallest_eigenvalue(&opposite)? > -1e-12
            {
                return Err(refuted("two column-uniform strategies", "incomparable", "comparable"));
            }
        }
    }
    Ok(vec![Row::text("minimal", "if and only if column-uniform")])
}

/// Computes the largest SVD bound over the certified optimum of several workloads (Thm 3.3), and
/// the smallest column over the largest of the optimal strategies (Thm D.1).
pub(super) fn bound_and_optimum() -> Result<Vec<Row>> {
    let (mut bound_over_optimum, mut columns): (f64, f64) = (0.0, f64::INFINITY);
    for text in ["range:16", "range:4x4", "prefix:24", "predicate:8", "range:2x2x4"] {
        let gram = Workload::parse(text)?.gram()?;
        let optimum = strategy::by_name("optimal")?.select(&gram)?;
        bound_over_optimum = bound_over_optimum.max(svd_bound(&gram)? / optimum.error);
        let mut diagonal = vec![1.0];
        for factor in optimum.strategy.factors() {
            let of_factor = factor.gram()?;
            diagonal = diagonal
                .iter()
                .flat_map(|x| of_factor.diag().iter().map(|y| x * y).collect::<Vec<f64>>())
                .collect();
        }
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        columns = diagonal.iter().map(|x| (x / largest).sqrt()).fold(columns, f64::min);
    }
    Ok(vec![
        Row::new("svdb_over_optimum", bound_over_optimum),
        Row::new("smallest_over_largest_column", columns),
    ])
}

/// Checks Thm 4.2: given the total, estimates of one marginal do not use queries of the others.
///
/// The total is measured with weight 10⁷. The row is the largest weight, over queries of every
/// marginal of 3 × 4 × 2 cells, of an answer of another marginal, relative to the largest weight.
pub(super) fn separated_marginals(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    const TOTAL: f64 = 1e7;
    let sizes = [3usize, 4, 2];
    let ones = |n: usize| Array2::<f64>::ones((1, n));
    let on_marginal = |queries: &Array2<f64>, axis: usize| {
        let parts: Vec<Array2<f64>> = (0..sizes.len())
            .map(|other| if other == axis { queries.clone() } else { ones(sizes[other]) })
            .collect();
        parts
            .iter()
            .skip(1)
            .fold(parts[0].clone(), |left, right| linalg::kron(left.view(), right.view()))
    };
    // Random queries of full rank on each marginal.
    let strategies: Vec<Array2<f64>> = (0..sizes.len())
        .map(|axis| {
            let n = sizes[axis];
            on_marginal(&(random(n, n, rng) + Array2::<f64>::eye(n) * 2.0), axis)
        })
        .collect();
    let total = Array2::<f64>::ones((1, 24)) * TOTAL;
    let all = stack(&[&total, &strategies[0], &strategies[1], &strategies[2]])?;
    let inverse = linalg::least_squares_inverse(all.view()).map_err(matmech::Error::from)?;
    let mut starts = vec![1];
    for size in sizes {
        starts.push(starts.last().copied().unwrap_or(1) + size);
    }
    let mut largest: f64 = 0.0;
    for axis in 0..sizes.len() {
        let query = on_marginal(&Array2::eye(sizes[axis]), axis);
        let weights = query.dot(&inverse);
        let scale = weights.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for other in (0..sizes.len()).filter(|other| *other != axis) {
            let of_other =
                weights.slice_axis(Axis(1), Slice::from(starts[other]..starts[other + 1]));
            largest = of_other.iter().fold(largest, |m, x| m.max(x.abs() / scale));
        }
    }
    Ok(vec![Row::new("weight_of_others", largest)])
}

/// Checks Thm C.1 and Cor. C.1 for 2, 4, 8 and 16 cells.
///
/// `G = (a − b)I + bJ`; the strategy has the eigenvectors of the ±1 matrix and the square roots of
/// the eigenvalues. Cor. C.1 is the formula for all predicates.
pub(super) fn variable_agnostic() -> Result<Vec<Row>> {
    let (mut formula, mut attained, mut corollary): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for n in [2usize, 4, 8, 16] {
        let cells = n as f64;
        for (a, b) in [(1.0, 0.0), (2.0, 1.0), (5.0, 4.0), (3.0, 0.5)] {
            let gram = Array2::<f64>::eye(n) * (a - b) + Array2::<f64>::from_elem((n, n), b);
            let (first, others) = (a + (cells - 1.0) * b, a - b);
            let printed = (first.sqrt() + (cells - 1.0) * f64::sqrt(others)).powi(2) / cells;
            let bound = svd_bound(&Gram::dense(&[n], gram.clone())?)?;
            formula = formula.max((printed / bound - 1.0).abs());
            // V = G^½ has a constant diagonal: the strategy is column-uniform.
            let root = |value: f64| value.sqrt();
            let shift = (root(first) - root(others)) / cells;
            let v = Array2::<f64>::eye(n) * root(others) + Array2::from_elem((n, n), shift);
            let inverse = linalg::spd_inverse(v.view()).map_err(matmech::Error::from)?;
            let error = v[[0, 0]] * gram.dot(&inverse).diag().sum();
            attained = attained.max((error / bound - 1.0).abs());
        }
        let gram = Workload::family(Family::PREDICATE, &[n])?.gram()?;
        let printed =
            2f64.powi(n as i32 - 2) / cells * (cells - 1.0 + (cells + 1.0).sqrt()).powi(2);
        corollary = corollary.max((printed / svd_bound(&gram)? - 1.0).abs());
    }
    Ok(vec![
        Row::new("formula_error", formula),
        Row::new("error_above_bound", attained),
        Row::new("all_predicates_error", corollary),
    ])
}

/// Computes the exponent of n in the cost m⁴ + n⁴/m³ of Sec. 4.3.2 with m = n^⅓.
pub(super) fn generalization_cost() -> Vec<Row> {
    let cost = |n: f64| {
        let m = n.cbrt();
        m.powi(4) + n.powi(4) / m.powi(3)
    };
    let exponent = (cost(1e12) / cost(1e9)).log(1e3);
    vec![Row::new("exponent_of_cost", exponent)]
}

/// Checks formulas of App. B.2 and D.1 that are misprinted, on random matrices.
///
/// - B.2: "‖A‖₂ is the largest diagonal entry of AᵀA": its square is.
/// - Lemma 1: `‖WA′⁻¹‖_F² ≤ ‖WA_d⁻¹‖_F²` and `‖A′‖₂² ≤ ‖A_d‖₂²` for the block triangular A′ and its
///   diagonal blocks A_d. Both are ≥, as the conclusion needs.
/// - Eq. 19: the error has ‖A‖₂² and tr(AᵀA), where ‖A‖₂ and tr(A) are printed.
pub(super) fn misprints(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    for _ in 0..20 {
        let blocks = [column_uniform(3, rng), column_uniform(2, rng)];
        let workloads = [random(4, 3, rng), random(4, 2, rng)];
        let upper = random(3, 2, rng);
        let diagonal = |parts: &[Array2<f64>; 2]| {
            let (rows, columns) = parts[0].dim();
            let shape = (rows + parts[1].nrows(), columns + parts[1].ncols());
            Array2::from_shape_fn(shape, |(i, j)| match (i < rows, j < columns) {
                (true, true) => parts[0][[i, j]],
                (false, false) => parts[1][[i - rows, j - columns]],
                _ => 0.0,
            })
        };
        let separate = diagonal(&blocks);
        let mut joint = separate.clone();
        upper.indexed_iter().for_each(|((i, j), x)| joint[[i, 3 + j]] = *x);
        let workload = diagonal(&workloads);
        let error = |a: &Array2<f64>| -> Result<f64> {
            let inverse = covariance(a)? / sensitivity_squared(a);
            Ok(workload.dot(&inverse).dot(&workload.t()).diag().sum())
        };
        if error(&joint)? < error(&separate)?
            || sensitivity_squared(&joint) < sensitivity_squared(&separate)
        {
            return Err(refuted("Lemma 1", "both norms at least those of the blocks", "smaller"));
        }
        // With ‖A‖₂ and tr(A) in place of ‖A‖₂² and tr(AᵀA) the error is not invariant to scale.
        let scaled = &separate * 3.0;
        let (gram, gram_scaled) = (separate.t().dot(&separate), scaled.t().dot(&scaled));
        let right = |gram: &Array2<f64>, a: &Array2<f64>| -> Result<f64> {
            Ok(gram.diag().sum() / 5.0 * error(a)?)
        };
        let printed = |a: &Array2<f64>| -> Result<f64> { Ok(a.diag().sum() / 5.0 * error(a)?) };
        if (right(&gram, &separate)? / right(&gram_scaled, &scaled)? - 1.0).abs() > 1e-9
            || (printed(&separate)? / printed(&scaled)? - 1.0).abs() < 0.1
        {
            return Err(refuted("Eq. 19", "the corrected form invariant to scale", "otherwise"));
        }
        let entry = gram_scaled.diag().iter().copied().fold(0.0, f64::max);
        if (sensitivity_squared(&scaled) - entry).abs() > 1e-9 || (entry.sqrt() - entry).abs() < 1.0
        {
            return Err(refuted("App. B.2", "the squared sensitivity", "another number"));
        }
    }
    Ok(vec![
        Row::text("largest_diagonal_entry", "||A||_2^2"),
        Row::text("lemma_1", ">="),
        Row::text("equation_19", "||A||_2^2 and tr(A'A)"),
    ])
}

/// Computes the quality of LSA's strategies under ε (App. B.2).
///
/// The row is the excess of LSA's error over that of the better of hierarchical and wavelet under
/// Laplace noise, divided by the same ratio under Gaussian noise, on all ranges over 256 cells.
pub(super) fn quality_under_laplace() -> Result<Vec<Row>> {
    let gram = Workload::family(Family::RANGE, &[256])?.gram()?;
    let errors = |name: &str| -> Result<(f64, f64)> {
        let selection = strategy::by_name(name)?.select(&gram)?;
        let queries = selection.strategy.factors()[0].queries()?;
        let l1 = l1_norm(&queries).powi(2) / sensitivity_squared(&queries);
        Ok((selection.error, selection.error * l1))
    };
    let (lsa, hierarchical, wavelet) =
        (errors("lsa")?, errors("hierarchical")?, errors("wavelet")?);
    let gaussian = lsa.0 / hierarchical.0.min(wavelet.0);
    let laplace = lsa.1 / hierarchical.1.min(wavelet.1);
    Ok(vec![
        Row::new("relative_quality", laplace / gaussian),
        Row::new("over_others_gaussian", gaussian),
        Row::new("over_others_laplace", laplace),
    ])
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn value(rows: &[Row], metric: &str) -> f64 {
        rows.iter().find(|row| row.metric == metric).unwrap().value.unwrap()
    }

    #[test]
    fn theorems_hold_on_random_matrices() {
        let rng = &mut ChaCha20Rng::seed_from_u64(3);
        minimal_strategies(rng).unwrap();
        misprints(rng).unwrap();
        let separated = value(&separated_marginals(rng).unwrap(), "weight_of_others");
        assert!(separated < 1e-6, "{separated}");
        let agnostic = variable_agnostic().unwrap();
        for metric in ["formula_error", "error_above_bound", "all_predicates_error"] {
            assert!(value(&agnostic, metric) < 1e-9, "{metric} {agnostic:?}");
        }
        let exponent = value(&generalization_cost(), "exponent_of_cost");
        assert!((exponent - 3.0).abs() < 1e-3, "{exponent}");
    }

    #[test]
    fn the_bound_is_below_the_optimum_with_uniform_columns() {
        let rows = bound_and_optimum().unwrap();
        let (bound, columns) =
            (value(&rows, "svdb_over_optimum"), value(&rows, "smallest_over_largest_column"));
        assert!(bound < 1.0 + 1e-9 && bound > 0.9, "{bound}");
        assert!(columns > 0.9999, "{columns}");
    }
}
