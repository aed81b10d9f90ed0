//! Numerical checks of worked examples and theorems of S1.

use matmech::strategy;
use matmech::workload::{Family, Gram, RangeSample, Workload, range_count};
use ndarray::{Array1, Array2, Axis, array, concatenate};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use crate::error::{Error, Result};
use crate::experiment::Row;

/// Counts App. A: the cells of the example after merging, and two standard workloads.
///
/// The example has five queries over year × gender; cells with equal columns are merged. The
/// workloads are AllRange(4, 2) and AllPredicate(8).
pub(super) fn appendix_a() -> Result<Vec<Row>> {
    let workload: Array2<f64> = array![
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -1.0, -1.0],
    ];
    let distinct = |cells: std::ops::Range<usize>| {
        cells
            .clone()
            .filter(|&j| (cells.start..j).all(|i| workload.column(i) != workload.column(j)))
            .count()
    };
    // The text merges cells within 2013 and within 2014 only. The columns of 2011 and 2012 are also
    // equal, but belong to different years.
    let merged = distinct(4..6) + distinct(6..8);
    let queries = |text: &str| -> Result<f64> { Ok(Workload::parse(text)?.count().as_f64()) };
    Ok(vec![
        Row::new("cells_after_merging", (4 + merged) as f64),
        Row::new("distinct_columns", distinct(0..8) as f64),
        Row::new("queries_of_all_ranges", queries("range:4x2")?),
        Row::new("queries_of_all_predicates", queries("predicate:8")?),
    ])
}

/// Returns `‖A‖₁`, the largest sum of absolute values of a column.
pub(super) fn l1_norm(matrix: &Array2<f64>) -> f64 {
    matrix
        .columns()
        .into_iter()
        .map(|column| column.iter().map(|x| x.abs()).sum::<f64>())
        .fold(0.0, f64::max)
}

/// Returns `AᵀA`, scaled to a largest diagonal entry of 1.
///
/// It is equal for equivalent strategies, since `‖A‖₂²(AᵀA)⁻¹` determines the error of every query.
fn profile(matrix: &Array2<f64>) -> Array2<f64> {
    unit_diagonal(matrix.t().dot(matrix))
}

fn unit_diagonal(gram: Array2<f64>) -> Array2<f64> {
    let largest = gram.diag().iter().copied().fold(0.0, f64::max);
    gram / largest
}

fn near(a: &Array2<f64>, b: &Array2<f64>) -> bool {
    a.dim() == b.dim() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12)
}

fn strategy_profile(name: &str) -> Result<Array2<f64>> {
    let selection =
        strategy::by_name(name)?.select(&Workload::family(Family::RANGE, &[4])?.gram()?)?;
    Ok(unit_diagonal(selection.strategy.factors()[0].gram()?.as_ref().clone()))
}

/// Checks App. B, Fig. 4: four strategies over four cells.
pub(super) fn figure_4() -> Result<Vec<Row>> {
    let root = std::f64::consts::SQRT_2;
    let eye = Array2::<f64>::eye(4);
    let halves = array![[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]];
    let stack = |parts: &[&Array2<f64>]| {
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        concatenate(Axis(0), &views)
            .map_err(|error| Error::bug("Fig. 4", "rows of four cells", error))
    };
    let h = stack(&[&Array2::ones((1, 4)), &halves, &eye])?;
    let y = array![
        [1.0, 1.0, 1.0, 1.0],
        [1.0, 1.0, -1.0, -1.0],
        [1.0, -1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, -1.0]
    ];
    let y1 = stack(&[&halves, &eye, &eye])?;
    let y2 = stack(&[&halves, &(&eye * root)])?;
    let same = |matrix: &Array2<f64>, name: &str, words: &str| -> Result<String> {
        Ok(if near(&profile(matrix), &strategy_profile(name)?) {
            words
        } else {
            "another strategy"
        }
        .to_owned())
    };
    let equivalent = near(&profile(&y), &profile(&y1)) && near(&profile(&y), &profile(&y2));
    let smaller = near(&profile(&y1), &profile(&y2)) && l1_norm(&y2) < l1_norm(&y1);
    Ok(vec![
        Row::text("H", same(&h, "hierarchical", "the hierarchical strategy")?),
        Row::text("Y", same(&y, "wavelet", "the wavelet strategy")?),
        Row::text(
            "equivalence",
            if equivalent { "Y, Y_1, Y_2 equivalent" } else { "not equivalent" },
        ),
        Row::text("l1_norms", if smaller { "||Y_2||_1 < ||Y_1||_1" } else { "not smaller" }),
        Row::new("l1_norm_of_H", l1_norm(&h)),
        Row::new("l1_norm_of_Y", l1_norm(&y)),
        Row::new("l1_norm_of_Y_1", l1_norm(&y1)),
        Row::new("l1_norm_of_Y_2", l1_norm(&y2)),
    ])
}

/// Returns a strategy with a redundant query and its reduced form, `A₀ ∪ q ∪ c₁q` and
/// `A₀ ∪ √(1 + c₁²) q`.
fn with_redundant(
    a0: &Array2<f64>,
    q: &Array1<f64>,
    c1: f64,
) -> Result<(Array2<f64>, Array2<f64>)> {
    let row = |scale: f64| (q * scale).insert_axis(Axis(0));
    let join = |parts: &[Array2<f64>]| {
        let views: Vec<_> =
            std::iter::once(a0.view()).chain(parts.iter().map(|part| part.view())).collect();
        concatenate(Axis(0), &views)
            .map_err(|error| Error::bug("redundant queries", "rows of equal length", error))
    };
    Ok((join(&[row(1.0), row(c1)])?, join(&[row((1.0 + c1 * c1).sqrt())])?))
}

/// Returns a random matrix with entries in (−1, 1).
pub(super) fn random(rows: usize, columns: usize, rng: &mut ChaCha20Rng) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |_| rng.random_range(-1.0..1.0))
}

/// Checks Thm 3.2 on random strategies: both forms have the same `AᵀA`.
pub(super) fn redundant_queries(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    for n in [2, 5, 9] {
        let q = Array1::from_shape_fn(n, |_| rng.random_range(-1.0..1.0));
        let (full, reduced) =
            with_redundant(&random(n + 1, n, rng), &q, rng.random_range(-3.0..3.0))?;
        if !near(&full.t().dot(&full), &reduced.t().dot(&reduced)) {
            return Err(refuted("Thm 3.2", "equal A'A", format!("unequal ones for n = {n}")));
        }
    }
    Ok(vec![Row::text("efficiency", "equivalent")])
}

/// Checks Thm B.1: the reduced strategy has the same `AᵀA` and a smaller `‖A‖₁`.
///
/// The exception: if a column without the query has the largest norm, both strategies have the same
/// `‖A‖₁` and the same errors.
pub(super) fn redundant_queries_laplace(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    let mut ratio: f64 = 0.0;
    for n in [2, 5, 9] {
        let q = Array1::from_shape_fn(n, |_| rng.random_range(0.1..1.0));
        let (full, reduced) =
            with_redundant(&random(n + 1, n, rng), &q, rng.random_range(0.2..3.0))?;
        ratio = ratio.max(l1_norm(&reduced) / l1_norm(&full));
    }
    if ratio >= 1.0 {
        return Err(refuted("Thm B.1 with a query on every cell", "a smaller norm", ratio));
    }
    let (full, reduced) = with_redundant(&array![[5.0, 0.0], [0.0, 1.0]], &array![0.0, 1.0], 1.0)?;
    let equal = l1_norm(&full) == l1_norm(&reduced);
    let found = if equal {
        "strictly more efficient unless a column without q has the largest L1 norm"
    } else {
        "strictly more efficient"
    };
    Ok(vec![Row::text("efficiency", found), Row::new("largest_norm_ratio", ratio)])
}

/// Checks Sec. 5.1: 10,000 queries as a share of all ranges, in the three domains of Fig. 2.
///
/// Also checks whether biased samples are farther from the error level of all ranges than uniform
/// ones.
pub(super) fn sampled_ranges(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    const QUERIES: usize = 10_000;
    let (mut smallest, mut largest, mut slower) = (f64::INFINITY, 0.0f64, true);
    for shape in [&[1024][..], &[32, 32], &[16, 8, 8]] {
        let all = range_count(shape)? as f64;
        let percent = 100.0 * QUERIES as f64 / all;
        (smallest, largest) = (smallest.min(percent), largest.max(percent));
        let whole = strategy::svd_bound(&Workload::family(Family::RANGE, shape)?.gram()?)? / all;
        for queries in [1_000, QUERIES] {
            let level = |sample: RangeSample| -> matmech::Result<f64> {
                Ok(strategy::svd_bound(&Gram::dense(shape, sample.gram())?)?
                    / queries as f64
                    / whole)
            };
            let uniform = level(RangeSample::uniform(shape, queries, rng)?)?;
            let biased = level(RangeSample::biased(shape, queries, 10.0, rng)?)?;
            slower &= (1.0 - biased).abs() > (1.0 - uniform).abs();
        }
    }
    Ok(vec![
        Row::new("smallest_percent", smallest),
        Row::new("largest_percent", largest),
        Row::text(
            "biased_sampling",
            if slower { "approaches 1 more slowly" } else { "not more slowly" },
        ),
    ])
}

/// Returns the SVD bound of a workload matrix.
fn bound_of(workload: &Array2<f64>) -> Result<f64> {
    let gram = Gram::dense(&[workload.ncols()], workload.t().dot(workload))?;
    Ok(strategy::svd_bound(&gram)?)
}

/// Checks Thm 3.4: the largest ratio of the SVD bound of a workload to that of a larger one.
///
/// The larger workload is W₂ = Q W₂′ for an orthogonal Q, and the rows of W₂′ are those of the
/// smaller one and others: random ones, and in the last pairs all prefixes among all ranges and all
/// ranges among all predicates.
pub(super) fn contained_workloads(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    let mut largest: f64 = 0.0;
    for n in [2, 5, 9, 16] {
        for (rows, more) in [(1, 1), (n, 1), (2 * n, 3)] {
            let inner = random(rows, n, rng);
            let outer = concatenate(Axis(0), &[inner.view(), random(more, n, rng).view()])
                .map_err(|error| Error::bug("Thm 3.4", "rows of equal length", error))?;
            // A reflection I − 2vvᵀ of the queries, with a unit vector v.
            let v = random(rows + more, 1, rng);
            let v = &v / v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let equivalent = &outer - &v.dot(&v.t().dot(&outer)) * 2.0;
            largest = largest.max(bound_of(&inner)? / bound_of(&equivalent)?);
        }
    }
    for (inner, outer) in [("prefix:64", "range:64"), ("range:10", "predicate:10")] {
        let bound = |text: &str| -> Result<f64> {
            Ok(strategy::svd_bound(&Workload::parse(text)?.gram()?)?)
        };
        largest = largest.max(bound(inner)? / bound(outer)?);
    }
    Ok(vec![Row::new("svdb_ratio", largest)])
}

/// Measures the exponent of n in the work of Program 4.1 (Sec. 4.2) on all ranges, from 128 to 512
/// cells.
///
/// The paper's implementation takes O(n²) per candidate split. Its work per level is therefore n²
/// times the number of evaluated candidates.
pub(super) fn level_exponent() -> Result<Vec<Row>> {
    let work = |n: usize| -> Result<f64> {
        let selection =
            strategy::by_name("lsa")?.select(&Workload::family(Family::RANGE, &[n])?.gram()?)?;
        let detail = |name: &str| {
            let found = selection.details.iter().find(|(known, _)| *known == name);
            found
                .map(|(_, value)| *value)
                .ok_or_else(|| Error::bug("strategy lsa", format!("its {name}"), "none"))
        };
        Ok(detail("candidates")? / detail("levels")? * (n * n) as f64)
    };
    Ok(vec![Row::new("exponent_of_n", (work(512)? / work(128)?).ln() / 4f64.ln())])
}

/// Checks App. C: the optimal error of a variable-agnostic workload over that of the identity, n·a.
///
/// The Gram matrix has a on the diagonal and b elsewhere; the ratio converges to 1 − b/a as n
/// grows.
pub(super) fn agnostic_gain() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut converges = true;
    for (a, b) in [(2.0, 1.0), (4.0, 1.0), (5.0, 4.0)] {
        let share = |n: usize| -> Result<f64> {
            let gram = Array2::from_shape_fn((n, n), |(i, j)| if i == j { a } else { b });
            Ok(strategy::svd_bound(&Gram::dense(&[n], gram)?)? / (n as f64 * a))
        };
        let limit = 1.0 - b / a;
        let (far, close) = (share(64)? - limit, share(1024)? - limit);
        converges &= 0.0 < close && close < far / 2.0;
        rows.push(Row::new(format!("share_left_for_{a}_and_{b}"), limit + close));
    }
    rows.insert(0, Row::text("error_ratio", if converges { "1 - b/a" } else { "another limit" }));
    Ok(rows)
}

/// Returns the error for a claim of which neither the printed nor the corrected form holds.
pub(super) fn refuted(
    what: impl Into<String>,
    expected: impl Into<String>,
    found: impl ToString,
) -> Error {
    Error::Computation {
        what: what.into(),
        expected: expected.into(),
        found: found.to_string(),
        remedy: "check the derivation: neither the printed nor the corrected claim holds"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn value(rows: &[Row], metric: &str) -> f64 {
        rows.iter().find(|row| row.metric == metric).unwrap().value.unwrap()
    }

    fn text(rows: &[Row], metric: &str) -> String {
        rows.iter().find(|row| row.metric == metric).unwrap().text.clone().unwrap()
    }

    #[test]
    fn counts_of_appendix_a() {
        let rows = appendix_a().unwrap();
        let found = ["cells_after_merging", "queries_of_all_ranges", "queries_of_all_predicates"]
            .map(|m| value(&rows, m));
        assert_eq!(found, [6.0, 30.0, 256.0]);
        // 10 ranges of years times 3 ranges of genders.
        assert_eq!(found[1], 10.0 * 3.0);
    }

    #[test]
    fn strategies_of_figure_4() {
        let rows = figure_4().unwrap();
        assert_eq!(text(&rows, "H"), "the hierarchical strategy");
        assert_eq!(text(&rows, "Y"), "the wavelet strategy");
        assert_eq!(text(&rows, "equivalence"), "Y, Y_1, Y_2 equivalent");
        assert_eq!(text(&rows, "l1_norms"), "||Y_2||_1 < ||Y_1||_1");
        assert_eq!(value(&rows, "l1_norm_of_Y_1"), 3.0);
        approx::assert_relative_eq!(
            value(&rows, "l1_norm_of_Y_2"),
            1.0 + 2f64.sqrt(),
            max_relative = 1e-15
        );
    }

    #[test]
    fn redundant_queries_under_both_privacy_definitions() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        assert_eq!(text(&redundant_queries(&mut rng).unwrap(), "efficiency"), "equivalent");
        assert!(
            text(&redundant_queries_laplace(&mut rng).unwrap(), "efficiency").contains("unless")
        );
    }

    /// Over two cells the bound is (tr G + 2√det G)/2, from λ₁ + λ₂ = tr G and λ₁λ₂ = det G.
    #[test]
    fn contained_workloads_have_smaller_bounds() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        for _ in 0..20 {
            let w = random(3, 2, &mut rng);
            let g = w.t().dot(&w);
            let determinant: f64 = g[(0, 0)] * g[(1, 1)] - g[(0, 1)] * g[(1, 0)];
            let closed = (g[(0, 0)] + g[(1, 1)] + 2.0 * determinant.sqrt()) / 2.0;
            approx::assert_relative_eq!(bound_of(&w).unwrap(), closed, max_relative = 1e-12);
        }
        let ratio = value(&contained_workloads(&mut rng).unwrap(), "svdb_ratio");
        assert!(ratio > 0.5 && ratio < 1.0, "{ratio}");
    }

    /// Compares with the closed form (√1025 + 1023)²/(2·1024²) for a = 2, b = 1 and n = 1024.
    #[test]
    fn error_ratio_of_agnostic_workloads_has_the_closed_form() {
        let rows = agnostic_gain().unwrap();
        assert_eq!(text(&rows, "error_ratio"), "1 - b/a");
        let expected = (1025f64.sqrt() + 1023.0).powi(2) / (2.0 * 1024f64.powi(2));
        approx::assert_relative_eq!(
            value(&rows, "share_left_for_2_and_1"),
            expected,
            max_relative = 1e-9
        );
    }

    /// All ranges over d cells are d(d + 1)/2; an independent program has biased samples of 10,000
    /// at 0.54 to 0.6 of the level of all ranges, uniform ones at 0.98 to 0.99.
    #[test]
    fn samples_are_two_to_six_percent_and_biased_ones_approach_slowly() {
        let rows = sampled_ranges(&mut ChaCha20Rng::seed_from_u64(5)).unwrap();
        let percent = |all: usize| 1e6 / all as f64;
        let square = |d: usize| d * (d + 1) / 2;
        assert_eq!(value(&rows, "smallest_percent"), percent(square(1024)));
        assert_eq!(value(&rows, "largest_percent"), percent(square(16) * square(8) * square(8)));
        assert_eq!(text(&rows, "biased_sampling"), "approaches 1 more slowly");
    }

    /// O(n²) per candidate, and at least n candidates per level: the exponent is at least 3.
    #[test]
    fn the_work_of_a_level_grows_at_least_as_the_cube() {
        let exponent = value(&level_exponent().unwrap(), "exponent_of_n");
        assert!((3.0..4.0).contains(&exponent), "{exponent}");
    }
}
