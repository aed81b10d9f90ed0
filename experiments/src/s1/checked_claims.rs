//! Numerical checks of claims of S1 that are a formula, a trend or a count.

use matmech::linalg;
use matmech::strategy::{self, svd_bound};
use matmech::workload::{Family, Gram, RangeSample, Workload, range_count};
use ndarray::Array2;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::checked_examples::refuted;
use super::checked_examples::{self, random};
use super::checked_theorems;
use super::laplace;
use crate::error::Result;
use crate::experiment::{CellOf, Kind, Row};

/// One cell per claim; its rows state what holds, as text or numbers.
#[derive(Debug)]
pub struct CheckedClaims;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Names of claims.
    claims: Vec<Claim>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    claim: Claim,
}

/// The claims that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Claim {
    /// Sec. 5.1: the SVD bound falls as 1024 cells are arranged in more dimensions.
    BoundFallsWithDimensions,
    /// Sec. 5.1: the number of uniformly sampled ranges that reach the error level of all ranges.
    SampleShare,
    /// Sec. 5.2 and Fig. 3(b): the largest ratio of the errors of the wavelet and LSA.
    OrderOfMagnitude,
    /// App. B.3: the L1 sensitivity above which Gaussian noise is better.
    LaplaceThreshold,
    /// App. D.2, Eq. 21: the inverse of a matrix after a low-rank change.
    Woodbury,
    /// App. C: the product of the ±1 matrix of Thm C.1's proof with its transpose.
    HadamardGram,
    /// App. D.1: the sensitivity of a column-uniform matrix.
    ColumnNorm,
    /// Thm 3.2: a redundant query does not change the error.
    RedundantQueries,
    /// Thm B.1: it increases the error under pure differential privacy.
    RedundantQueriesLaplace,
    /// Thm 3.4: the SVD bound of a workload contained in another, up to equivalence, is not larger.
    ContainedWorkloads,
    /// Sec. 4.2: the growth of the work of LSA with the number of cells.
    LevelExponent,
    /// Sec. 5.1: 10,000 ranges as a share of all, and biased compared with uniform samples.
    SampledRanges,
    /// App. A: the example's workload, all ranges and all predicates.
    AppendixA,
    /// App. B, Fig. 4: four strategies over four cells.
    Figure4,
    /// App. C: the ratio of the optimal error to that of the identity.
    AgnosticGain,
    /// Thm 3.1: the minimal strategies are the column-uniform ones.
    MinimalStrategies,
    /// Thm 3.3 and Thm D.1: the SVD bound and the columns of the certified optimum.
    BoundAndOptimum,
    /// Thm 4.2: marginals separate, given the total.
    SeparatedMarginals,
    /// Thm C.1 and Cor. C.1: the SVD bound is attained.
    VariableAgnostic,
    /// Sec. 4.3.2: the cost of workload generalization.
    GeneralizationCost,
    /// App. B.2, Lemma 1 and Eq. 19: misprinted formulas.
    Misprints,
    /// App. B.2: the quality of LSA under ε.
    QualityUnderLaplace,
}

impl Claim {
    /// Returns the workload and the method of the claim in the result table.
    fn key(self) -> (&'static str, &'static str) {
        match self {
            Claim::BoundFallsWithDimensions => ("range over 1024 cells", "svd-bound"),
            Claim::SampleShare => ("range samples", "svd-bound"),
            Claim::OrderOfMagnitude => ("ranges of coverage 0.95", "lsa vs wavelet"),
            Claim::LaplaceThreshold => ("predicate strategies", "eps vs eps-delta"),
            Claim::Woodbury => ("App. D.2, Eq. 21", "inverse of X - U L V"),
            Claim::HadamardGram => ("App. C", "Q_k' Q_k"),
            Claim::ColumnNorm => ("App. D.1", "sensitivity of a column-uniform A"),
            Claim::RedundantQueries => ("Thm 3.2", "A_0, q, c_1 q vs A_0, c_2 q"),
            Claim::RedundantQueriesLaplace => ("Thm B.1", "A_0, q, c_1 q vs A_0, c_2 q"),
            Claim::ContainedWorkloads => {
                ("Thm 3.4", "rows of W_1 among those of a W_2' equivalent to W_2")
            }
            Claim::LevelExponent => ("range:128 to range:512", "lsa"),
            Claim::SampledRanges => ("10000 of all ranges", "svd-bound"),
            Claim::AppendixA => ("App. A", "counts"),
            Claim::Figure4 => ("App. B, Fig. 4", "strategies over 4 cells"),
            Claim::AgnosticGain => ("App. C", "optimum vs identity"),
            Claim::MinimalStrategies => ("Thm 3.1", "column-uniform strategies"),
            Claim::BoundAndOptimum => ("Thm 3.3 and D.1", "optimal"),
            Claim::SeparatedMarginals => ("Thm 4.2", "marginals, given the total"),
            Claim::VariableAgnostic => ("Thm C.1", "variable-agnostic"),
            Claim::GeneralizationCost => ("Sec. 4.3.2", "total cost with m the cube root of n"),
            Claim::Misprints => ("App. B and D", "formulas of proofs"),
            Claim::QualityUnderLaplace => ("range:256", "lsa vs hierarchical and wavelet"),
        }
    }
}

impl Kind for CheckedClaims {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "checked-claims";
    const SUMMARY: &'static str = "formulas, trends and counts of S1, checked numerically";
    const KEYS: &'static [&'static str] = &["workload"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let cells = grid.claims.iter().map(|&claim| {
            let (workload, method) = claim.key();
            CellOf::new([&workload], method, Params { claim })
        });
        Ok(cells.collect())
    }

    fn run(&self, _method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        Ok(match params.claim {
            Claim::BoundFallsWithDimensions => bound_falls_with_dimensions()?,
            Claim::SampleShare => sample_share(rng)?,
            Claim::OrderOfMagnitude => order_of_magnitude(rng)?,
            Claim::LaplaceThreshold => {
                let threshold = laplace_threshold()?;
                // The error with δ = 2/n² has the factor ln(2/δ) that is the threshold.
                let factor = Row::text("factor_of_error", threshold.clone());
                vec![Row::text("l1_sensitivity_threshold", threshold), factor]
            }
            Claim::Woodbury => vec![Row::text("formula", woodbury(rng)?)],
            Claim::HadamardGram => vec![Row::text("formula", hadamard_gram()?)],
            Claim::ColumnNorm => vec![Row::text("formula", column_norm(rng)?)],
            Claim::RedundantQueries => checked_examples::redundant_queries(rng)?,
            Claim::RedundantQueriesLaplace => checked_examples::redundant_queries_laplace(rng)?,
            Claim::ContainedWorkloads => checked_examples::contained_workloads(rng)?,
            Claim::LevelExponent => checked_examples::level_exponent()?,
            Claim::SampledRanges => checked_examples::sampled_ranges(rng)?,
            Claim::AppendixA => checked_examples::appendix_a()?,
            Claim::Figure4 => checked_examples::figure_4()?,
            Claim::AgnosticGain => checked_examples::agnostic_gain()?,
            Claim::MinimalStrategies => checked_theorems::minimal_strategies(rng)?,
            Claim::BoundAndOptimum => checked_theorems::bound_and_optimum()?,
            Claim::SeparatedMarginals => checked_theorems::separated_marginals(rng)?,
            Claim::VariableAgnostic => checked_theorems::variable_agnostic()?,
            Claim::GeneralizationCost => checked_theorems::generalization_cost(),
            Claim::Misprints => checked_theorems::misprints(rng)?,
            Claim::QualityUnderLaplace => checked_theorems::quality_under_laplace()?,
        })
    }
}

/// Computes the SVD bound over 1024 cells in 1, 2, 3, 4 and 10 dimensions, and its trend.
fn bound_falls_with_dimensions() -> Result<Vec<Row>> {
    let shapes: [&[usize]; 5] = [&[1024], &[32, 32], &[16, 8, 8], &[8, 8, 4, 4], &[2; 10]];
    let bounds = shapes
        .iter()
        .map(|shape| svd_bound(&Workload::family(Family::RANGE, shape)?.gram()?))
        .collect::<matmech::Result<Vec<f64>>>()?;
    let trend = if bounds.windows(2).all(|pair| pair[1] < pair[0]) {
        "decreasing"
    } else {
        "not decreasing"
    };
    Ok(vec![Row::text("trend", trend), Row::new("smallest_over_largest", bounds[4] / bounds[0])])
}

/// Tested sizes of samples of ranges, increasing.
const SAMPLE_SIZES: [usize; 6] = [300, 1_000, 3_000, 10_000, 30_000, 100_000];

/// Computes the smallest tested sample size that reaches the error level of all ranges.
///
/// The level of a sample is the SVD bound per query over that of all ranges; one uniform sample
/// must reach it in each of the three domains of Fig. 2. S1 has no number for "reach". The rows
/// `level_of_smaller_samples` and `level` show that every threshold between them gives the same
/// size.
fn sample_share(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    const REACHED: f64 = 0.98;
    let mut smaller: f64 = 0.0;
    for queries in SAMPLE_SIZES {
        let level = sample_level(queries, rng)?;
        if level >= REACHED {
            return Ok(vec![
                Row::new("sample_queries_reaching_full_error", queries as f64),
                Row::new("level", level),
                Row::new("level_of_smaller_samples", smaller),
            ]);
        }
        smaller = smaller.max(level);
    }
    Err(refuted(
        "a sample of up to 100,000 ranges",
        format!("{REACHED} of the full error level in all three domains"),
        smaller,
    ))
}

/// Returns the smallest level of a uniform sample in the three domains of Fig. 2.
fn sample_level(queries: usize, rng: &mut ChaCha20Rng) -> Result<f64> {
    let mut smallest = f64::INFINITY;
    for shape in [&[1024][..], &[32, 32], &[16, 8, 8]] {
        let whole = svd_bound(&Workload::family(Family::RANGE, shape)?.gram()?)?
            / range_count(shape)? as f64;
        let sample = RangeSample::uniform(shape, queries, rng)?;
        let level = svd_bound(&Gram::dense(shape, sample.gram())?)? / queries as f64 / whole;
        smallest = smallest.min(level);
    }
    Ok(smallest)
}

/// Computes the error of the wavelet over that of LSA on random ranges of coverage 0.95, in one,
/// two and three dimensions.
fn order_of_magnitude(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut largest: f64 = 0.0;
    for (shape, queries) in [(&[256][..], 500), (&[16, 16], 1000), (&[8, 8, 4], 1000)] {
        let sample = RangeSample::covering(shape, queries, 0.95, rng)?;
        let gram = Gram::dense(shape, sample.gram())?;
        let error = |name: &str| -> matmech::Result<f64> {
            Ok(strategy::by_name(name)?.select(&gram)?.error)
        };
        let gain = error("wavelet")? / error("lsa")?;
        largest = largest.max(gain);
        rows.push(Row::new(format!("gain_in_{}_dimensions", shape.len()), gain));
    }
    let verdict = if largest > 10.0 {
        "more than an order of magnitude"
    } else {
        "less than an order of magnitude"
    };
    rows.insert(0, Row::text("largest_gain", verdict));
    Ok(rows)
}

/// Finds the formula of the L1 sensitivity at which Laplace and Gaussian noise have the same error.
///
/// The strategy is a predicate strategy, δ = 2/n², and the method is bisection.
fn laplace_threshold() -> Result<String> {
    let (mut corrected, mut printed) = (true, true);
    for exponent in 1..=20 {
        let n = 1usize << exponent;
        let delta = laplace::delta_of_cells(n);
        let (mut low, mut high) = (1e-3, 1e6);
        for _ in 0..200 {
            let middle = f64::sqrt(low * high);
            if laplace::error_ratio_to_gaussian(middle, middle.sqrt(), delta) > 1.0 {
                high = middle
            } else {
                low = middle
            }
        }
        let ln = (n as f64).ln();
        corrected &= (low / (2.0 * ln) - 1.0).abs() < 1e-9;
        printed &= (low / ln.sqrt() - 1.0).abs() < 1e-9;
    }
    if corrected == printed {
        return Err(refuted("the crossing of the errors", "2 ln n or sqrt(log n)", "neither"));
    }
    Ok(if corrected { "2 ln n" } else { "sqrt(log n)" }.to_owned())
}

/// Returns the largest absolute value of an entry of a matrix.
fn largest(matrix: &Array2<f64>) -> f64 {
    matrix.iter().fold(0.0, |m, x| x.abs().max(m))
}

/// Checks the printed and the corrected form of Eq. 21 on random matrices.
///
/// X has order 8, U = Vᵀ has rank 3, and Λ = −5 I.
fn woodbury(rng: &mut ChaCha20Rng) -> Result<String> {
    let root = random(8, 8, rng);
    let x = root.t().dot(&root) + Array2::<f64>::eye(8) * 8.0;
    let v = random(3, 8, rng);
    let lambda = Array2::<f64>::eye(3) * -5.0;
    let inverse = linalg::spd_inverse(x.view())?;
    let changed = &x - &v.t().dot(&lambda).dot(&v);
    let small = v.dot(&inverse).dot(&v.t());
    // Both inner matrices are negative definite, so their negatives are inverted.
    let right_inner = -linalg::spd_inverse((-(&lambda / 25.0 - &small)).view())?;
    let printed_inner = -linalg::spd_inverse((-(&lambda + &small)).view())?;
    let outer = |inner: &Array2<f64>| inverse.dot(&v.t()).dot(inner).dot(&v).dot(&inverse);
    let identity = Array2::<f64>::eye(8);
    let right = largest(&(changed.dot(&(&inverse + &outer(&right_inner))) - &identity));
    let printed = largest(&(changed.dot(&(&inverse - &outer(&printed_inner))) - &identity));
    if !(right < 1e-12 && printed > 1e-3) {
        let found =
            format!("residuals {right:e} of the corrected and {printed:e} of the printed formula");
        return Err(refuted(
            "Eq. 21",
            "that the corrected formula holds and the printed one does not",
            found,
        ));
    }
    Ok("X^-1 + X^-1 U (L^-1 - V X^-1 U)^-1 V X^-1".to_owned())
}

/// Computes `Q_kᵀQ_k` for k = 1 … 6.
fn hadamard_gram() -> Result<String> {
    let two = ndarray::array![[1.0, 1.0], [1.0, -1.0]];
    let mut q = two.clone();
    for k in 1..=6 {
        let gram = q.t().dot(&q);
        let expected = Array2::<f64>::eye(1 << k) * f64::from(1 << k);
        if gram != expected {
            return Err(refuted(format!("Q_{k}'Q_{k}"), format!("2^{k} I"), "another matrix"));
        }
        q = linalg::kron(two.view(), q.view());
    }
    Ok("2^k I".to_owned())
}

/// Compares the sensitivity of random column-uniform matrices with the printed and the corrected
/// formula.
fn column_norm(rng: &mut ChaCha20Rng) -> Result<String> {
    for n in [2usize, 5, 9] {
        let mut a = random(n, n, rng);
        for mut column in a.columns_mut() {
            let norm = column.dot(&column).sqrt();
            column *= 1.7 / norm;
        }
        let gram_trace = a.t().dot(&a).diag().sum();
        let squared = gram_trace / n as f64;
        if (squared - 1.7f64.powi(2)).abs() >= 1e-12 {
            return Err(refuted(
                format!("tr(A'A)/n for n = {n}"),
                "the squared sensitivity 1.7^2",
                squared,
            ));
        }
        let printed = a.diag().sum() / n as f64;
        if (printed - 1.7).abs() <= 1e-6 {
            return Err(refuted(
                format!("tr(A)/n for n = {n}"),
                "a number different from the sensitivity 1.7",
                printed,
            ));
        }
    }
    Ok("||A||^2 = tr(A'A)/n".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    #[test]
    fn claims_have_the_expected_outcomes() {
        let grid: toml::Table = "claims = ['bound-falls-with-dimensions', 'laplace-threshold', \
             'woodbury', 'hadamard-gram', 'column-norm']"
            .parse()
            .unwrap();
        let kind: &dyn Experiment = &CheckedClaims;
        let found: Vec<Option<String>> = kind
            .cells(&grid)
            .unwrap()
            .iter()
            .map(|cell| kind.run(cell, &mut ChaCha20Rng::seed_from_u64(7)).unwrap()[0].text.clone())
            .collect();
        let expected = [
            "decreasing",
            "2 ln n",
            "X^-1 + X^-1 U (L^-1 - V X^-1 U)^-1 V X^-1",
            "2^k I",
            "||A||^2 = tr(A'A)/n",
        ];
        assert_eq!(found, expected.map(|text| Some(text.to_owned())));
        let unknown: toml::Table = "claims = ['hadamard']".parse().unwrap();
        assert!(kind.cells(&unknown).unwrap_err().to_string().contains("hadamard-gram"));
    }

    /// Returns the rows of a claim.
    fn rows_of(claim: &str) -> Vec<Row> {
        let kind: &dyn Experiment = &CheckedClaims;
        let cells = kind.cells(&format!("claims = ['{claim}']").parse().unwrap()).unwrap();
        kind.run(&cells[0], &mut ChaCha20Rng::seed_from_u64(7)).unwrap()
    }

    /// An independent program has levels of 0.944 for 3,000 and 0.983 for 10,000 queries; the
    /// tolerances are three standard deviations of a sample (`data/expected/s1_fig2.csv`).
    #[test]
    fn ten_thousand_ranges_reach_the_error_level_of_all() {
        let rows = rows_of("sample-share");
        let values: Vec<f64> = rows.iter().map(|row| row.value.unwrap()).collect();
        assert_eq!(values[0], 10_000.0);
        assert!((values[1] - 0.983).abs() < 0.02, "{values:?}");
        assert!((values[2] - 0.944).abs() < 0.025, "{values:?}");
        // Queries are distinct: the sample of all ranges over 16 × 8 × 8 cells has the level 1.
        let all = range_count(&[16, 8, 8]).unwrap();
        let sample = RangeSample::uniform(&[16, 8, 8], all, &mut ChaCha20Rng::seed_from_u64(1));
        let whole = Workload::family(Family::RANGE, &[16, 8, 8]).unwrap().gram().unwrap();
        let gram = Gram::dense(&[16, 8, 8], sample.unwrap().gram()).unwrap();
        let level = svd_bound(&gram).unwrap() / svd_bound(&whole).unwrap();
        assert!((level - 1.0).abs() < 1e-9, "{level}");
    }

    /// The wavelet is 10 times worse than LSA at high coverage, but only in several dimensions.
    #[test]
    fn an_order_of_magnitude_needs_several_dimensions() {
        let rows = rows_of("order-of-magnitude");
        assert_eq!(rows[0].text.as_deref(), Some("more than an order of magnitude"));
        let gains: Vec<f64> = rows[1..].iter().map(|row| row.value.unwrap()).collect();
        assert!(gains[0] > 1.0 && gains.is_sorted(), "{gains:?}");
        assert!(gains[0] < 10.0 && gains[2] > 10.0, "{gains:?}");
    }
}
