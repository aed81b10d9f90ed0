//! Counts that S3's text states, its worked example (Fig. 1 and 2), and the effect of weights (App.
//! E).

use matmech::linalg;
use matmech::privacy::gaussian::analytic_delta;
use matmech::residual::centre_in_place;
use matmech::schema::Schema;
use matmech::workload::attribute_sets;
use ndarray::{Array2, array};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::{plan_errors, plan_rows, workloads};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};

/// Domain sizes and numbers of views of `[n]^d` for the workloads of Sec. 8.3, the subqueries of
/// Fig. 2, and the change from Table 4 to Table 8.
#[derive(Debug)]
pub struct PlanClaims;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Sizes of the attributes.
    n: Vec<usize>,
    /// Numbers of attributes.
    d: Vec<usize>,
    /// The number of attributes in the denominator of `views_ratio`.
    views_over: usize,
    /// The part of Tables 4 and 8 that is compared.
    #[serde(default)]
    weighted: Option<Weighted>,
    /// Whether Theorems 2 and 4 and a formula of the appendix are checked.
    #[serde(default)]
    formulas: bool,
}

/// Workloads of Table 4 that Table 8 has with weights.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// Sizes of the attributes.
    n: Vec<usize>,
    /// Number of attributes.
    d: usize,
    /// Seed of the weights of the marginals.
    weight_seed: u32,
    /// Names of workloads.
    workloads: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub enum Params {
    /// The subqueries of Fig. 2.
    WorkedExample,
    /// n, d, and the d in the denominator of `views_ratio`.
    Domain(usize, usize, usize),
    /// The change that weights make.
    Weighted(Weighted),
    /// Theorems 2 and 4, and a formula of the appendix.
    Formulas,
}

impl Kind for PlanClaims {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "plan-claims";
    const REVISION: u32 = 2;
    const SUMMARY: &'static str =
        "domains and views that S3's text states, its worked example, and the effect of weights";
    const KEYS: &'static [&'static str] = &["workload"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let mut cells = vec![CellOf::new([&"Fig. 1 and 2"], "subqueries", Params::WorkedExample)];
        for (&n, &d) in grid.n.iter().flat_map(|n| grid.d.iter().map(move |d| (n, d))) {
            let schema = Schema::uniform(n, d).map_err(|e| Error::refused("d", e))?;
            attribute_sets(&schema, &WAYS).map_err(|e| Error::refused("d", e))?;
            cells.push(CellOf::new(
                [&format!("[{n}]^{d}")],
                "counts",
                Params::Domain(n, d, grid.views_over),
            ));
        }
        if grid.formulas {
            cells.push(CellOf::new([&"Theorems 2 and 4"], "formulas", Params::Formulas));
        }
        if let Some(weighted) = grid.weighted {
            let known: Vec<&str> =
                workloads::UNIFORM.into_iter().filter(|name| *name != "mixed").collect();
            for (i, name) in weighted.workloads.iter().enumerate() {
                let key = format!("weighted.workloads[{i}]");
                plan_rows::check_workload(&key, name, &known)?;
                for &n in &weighted.n {
                    plan_errors::check_size("weighted", n, weighted.d, name)?;
                }
            }
            let params = Params::Weighted(weighted);
            cells.push(CellOf::new([&"weights 1 to 5"], "WFF over QS", params));
        }
        Ok(cells)
    }

    fn run(&self, _method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        match params {
            Params::WorkedExample => worked_example(),
            Params::Domain(n, d, over) => domain(n, d, over),
            Params::Weighted(weighted) => change_by_weights(&weighted),
            Params::Formulas => formulas(rng),
        }
    }
}

/// The workload of Sec. 8.3: 1-way ranges, 2-way affine queries and 3-way prefix sums.
const WAYS: [usize; 3] = [1, 2, 3];

fn domain(n: usize, d: usize, over: usize) -> Result<Vec<Row>> {
    let views = |d: usize, ways: &[usize]| -> Result<f64> {
        Ok(attribute_sets(&Schema::uniform(n, d)?, ways)?.len() as f64)
    };
    // A floating-point product: 40^40 exceeds `u128`.
    let sizes = Schema::uniform(n, d)?.sizes();
    let cells: f64 = sizes.iter().map(|&size| size as f64).product();
    let mut rows = vec![
        Row::new("cells", cells),
        Row::text("domain", format!("{}^{}", sizes[0], sizes.len())),
    ];
    for way in WAYS {
        rows.push(Row::new(format!("groups_of_{way}"), views(d, &[way])?));
    }
    rows.push(Row::new("views", views(d, &WAYS)?));
    rows.push(Row::new("views_ratio", views(d, &WAYS)? / views(over, &WAYS)?));
    Ok(rows)
}

/// Computes how the error of WFF over that of QuerySmasher differs between Tables 4 and 8.
///
/// `largest_change` is the largest max(a/b, b/a) of a workload, where a and b are the ratios without
/// and with weights.
fn change_by_weights(weighted: &Weighted) -> Result<Vec<Row>> {
    let mut largest: f64 = 1.0;
    for (&n, name) in
        weighted.n.iter().flat_map(|n| weighted.workloads.iter().map(move |name| (n, name)))
    {
        let ratio = |seed: Option<u32>| -> Result<f64> {
            let workload = workloads::uniform(n, weighted.d, name, seed)?;
            let rmse = |method| Ok(plan_rows::timed(method, &workload)?.0.rmse());
            let found: Result<f64> = rmse("weighted-fourier");
            Ok(found? / rmse("query-smasher")?)
        };
        let change = ratio(Some(weighted.weight_seed))? / ratio(None)?;
        largest = largest.max(change.max(change.recip()));
    }
    Ok(vec![Row::new("largest_change", largest)])
}

/// The query of Fig. 1: yes ∧ b, yes ∧ c, no ∧ c, over {yes, no} × {a, b, c}.
const QUERY: [[f64; 3]; 2] = [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]];

/// Computes the subqueries of Fig. 2, one for every set of attributes.
///
/// A subquery is the query averaged over the other attributes and centred along those of the set.
fn worked_example() -> Result<Vec<Row>> {
    let flat: Vec<f64> = QUERY.concat();
    let (rows, columns) = (QUERY.len(), QUERY[0].len());
    let by_row: Vec<f64> =
        QUERY.iter().map(|row| row.iter().sum::<f64>() / columns as f64).collect();
    let by_column: Vec<f64> =
        (0..columns).map(|j| QUERY.iter().map(|row| row[j]).sum::<f64>() / rows as f64).collect();
    let total = vec![flat.iter().sum::<f64>() / flat.len() as f64];
    let parts: [(&str, &[usize], Vec<f64>); 4] = [
        ("q_{}", &[], total),
        ("q_{A1}", &[rows], by_row),
        ("q_{A2}", &[columns], by_column),
        ("q_{A1,A2}", &[rows, columns], flat.clone()),
    ];
    let mut found = vec![Row::text("q", in_fractions(&flat)?)];
    for (name, sizes, mut values) in parts {
        centre_in_place(sizes, &mut values)?;
        found.push(Row::text(name, in_fractions(&values)?));
    }
    Ok(found)
}

/// Checks Theorem 2 on the query of Fig. 1, δ of Theorem 4, and the appendix on noise covariances.
///
/// - `largest_inner_product`, `difference_of_sum`: the subqueries as queries over all cells are
///   orthogonal, and their sum is the query.
/// - `difference_of_delta`: the printed δ(ε, β) against the integral of max(0, p − e^ε q) for normal
///   densities p and q with means √β and 0.
/// - `difference_of_mu`, relative: μ = √β of Theorem 4 against the largest distance between the
///   whitened answers of two neighbouring tables to three random mechanisms, the μ of Gaussian DP.
/// - `factor_after_whitening`: the factor that turns the answers of the whitened mechanism
///   Σ^−½ B x + z into those with noise covariance Σ.
fn formulas(rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
    let (rows, columns) = (QUERY.len(), QUERY[0].len());
    let flat = QUERY.concat();
    let mut parts: Vec<Vec<f64>> = Vec::new();
    for (by_row, by_column) in [(false, false), (true, false), (false, true), (true, true)] {
        // The mean over the other attributes, at every cell.
        let averaged = |i: usize, j: usize| -> f64 {
            let same = |k: usize| (!by_row || k / columns == i) && (!by_column || k % columns == j);
            let cells: Vec<f64> = (0..flat.len()).filter(|&k| same(k)).map(|k| flat[k]).collect();
            cells.iter().sum::<f64>() / cells.len() as f64
        };
        let mut values: Vec<f64> =
            (0..flat.len()).map(|k| averaged(k / columns, k % columns)).collect();
        if by_row && by_column {
            centre_in_place(&[rows, columns], &mut values)?;
        } else if by_row || by_column {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            values.iter_mut().for_each(|value| *value -= mean);
        }
        parts.push(values);
    }
    let mut product: f64 = 0.0;
    for (k, part) in parts.iter().enumerate() {
        for other in &parts[..k] {
            product = product.max(part.iter().zip(other).map(|(a, b)| a * b).sum::<f64>().abs());
        }
    }
    let sum = |k: usize| parts.iter().map(|part| part[k]).sum::<f64>();
    let difference = (0..flat.len()).map(|k| (sum(k) - flat[k]).abs()).fold(0.0, f64::max);
    let mut of_delta: f64 = 0.0;
    for beta in [0.25f64, 1.0, 4.0] {
        for epsilon in [0.1, 1.0, 3.0] {
            let printed =
                analytic_delta(beta.sqrt(), 1.0, epsilon).map_err(matmech::Error::from)?;
            of_delta = of_delta.max((printed - integrated_delta(beta.sqrt(), epsilon)).abs());
        }
    }
    Ok(vec![
        Row::new("largest_inner_product", product),
        Row::new("difference_of_sum", difference),
        Row::new("difference_of_delta", of_delta),
        Row::text("factor_after_whitening", factor_after_whitening()?),
        Row::new("difference_of_mu", difference_of_mu(rng)?),
    ])
}

/// The relative difference of √β, with the privacy cost β = maxᵢ (Σⱼ BⱼᵀΣⱼ⁻¹Bⱼ)ᵢᵢ, and the largest
/// norm of a column of the stacked Σⱼ^−½Bⱼ.
fn difference_of_mu(rng: &mut ChaCha20Rng) -> Result<f64> {
    const CELLS: usize = 5;
    let (mut cost, mut distance) = (Array2::<f64>::zeros((CELLS, CELLS)), [0.0; CELLS]);
    for queries in [2usize, 3, 4] {
        let mut random = |rows: usize, columns: usize| {
            Array2::<f64>::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0))
        };
        let (b, root) = (random(queries, CELLS), random(queries, queries));
        let sigma = root.dot(&root.t()) + Array2::<f64>::eye(queries);
        let inverse = linalg::spd_inverse(sigma.view()).map_err(matmech::Error::from)?;
        cost = cost + b.t().dot(&inverse).dot(&b);
        let eigen = linalg::eigh(sigma.view()).map_err(matmech::Error::from)?;
        let scaled = &eigen.vectors * &eigen.values.mapv(|value| value.powf(-0.5));
        let whitened = scaled.dot(&eigen.vectors.t()).dot(&b);
        for (sum, column) in distance.iter_mut().zip(whitened.columns()) {
            *sum += column.dot(&column);
        }
    }
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max).sqrt();
    let mu = largest(&mut cost.diag().iter().copied());
    Ok((largest(&mut distance.into_iter()) / mu - 1.0).abs())
}

/// Finds the power of Σ whose product with noise of covariance I has covariance Σ.
fn factor_after_whitening() -> Result<&'static str> {
    let sigma = array![[2.0, 1.0], [1.0, 3.0]];
    let eigen = linalg::eigh(sigma.view()).map_err(matmech::Error::from)?;
    let has_covariance = |power: f64| {
        let scaled = &eigen.vectors * &eigen.values.mapv(|value| value.powf(power));
        let factor = scaled.dot(&eigen.vectors.t());
        let covariance = factor.dot(&factor.t());
        covariance.iter().zip(&sigma).all(|(a, b): (&f64, &f64)| (a - b).abs() < 1e-12)
    };
    match (has_covariance(0.5), has_covariance(-0.5)) {
        (true, false) => Ok("Sigma^(1/2)"),
        (false, true) => Ok("Sigma^(-1/2)"),
        _ => Err(Error::bug("the noise of whitened answers", "one of the two powers", "neither")),
    }
}

/// Integrates max(0, p − e^ε q) for normal densities with means `mean` and 0 and variance 1.
fn integrated_delta(mean: f64, epsilon: f64) -> f64 {
    const STEPS: usize = 400_000;
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let width = 24.0 / STEPS as f64;
    let at = |k: usize| {
        let x = -10.0 + (k as f64 + 0.5) * width;
        (density(x - mean) - epsilon.exp() * density(x)).max(0.0)
    };
    (0..STEPS).map(at).sum::<f64>() * width
}

/// Formats values as fractions, such as `[-1/6 1/3 0]`.
fn in_fractions(values: &[f64]) -> Result<String> {
    let fraction = |value: &f64| {
        let parts = (1..=12).map(|below: i32| (value * f64::from(below), below));
        let (above, below) =
            parts.into_iter().find(|(above, _)| (above - above.round()).abs() < 1e-12).ok_or_else(
                || Error::bug("the worked example", "fractions of at most twelfths", value),
            )?;
        let above = above.round() as i64;
        Ok(if below == 1 { above.to_string() } else { format!("{above}/{below}") })
    };
    let words: Vec<String> = values.iter().map(fraction).collect::<Result<_>>()?;
    Ok(if words.len() == 1 { words.concat() } else { format!("[{}]", words.join(" ")) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    #[test]
    fn subqueries_sum_to_the_query() {
        let rows = worked_example().unwrap();
        let text = |metric: &str| {
            rows.iter().find(|row| row.metric == metric).unwrap().text.clone().unwrap()
        };
        assert_eq!(text("q"), "[0 1 1 0 0 1]");
        assert_eq!(text("q_{A1,A2}"), "[-1/6 1/3 -1/6 1/6 -1/3 1/6]");
        // Cell (yes, b): 1/2 + 1/6 + 0 + 1/3 = 1.
        assert_eq!(
            [text("q_{}"), text("q_{A1}"), text("q_{A2}")],
            ["1/2", "[1/6 -1/6]", "[-1/2 0 1/2]"]
        );
    }

    #[test]
    fn theorems_hold() {
        let rows = formulas(&mut ChaCha20Rng::seed_from_u64(1)).unwrap();
        for row in rows.iter().filter(|row| row.value.is_some()) {
            assert!(row.value.unwrap() < 1e-8, "{row:?}");
        }
        assert_eq!(rows[3].text.as_deref(), Some("Sigma^(1/2)"));
    }

    /// Compares with the printed values for prefix sums on 10 values, 39.70 and 33.70 in Table 4,
    /// 66.58 and 56.59 in Table 8. On marginals both planners are optimal, so nothing changes.
    #[test]
    fn weights_change_little() {
        let change = |name: &str| {
            let weighted =
                Weighted { n: vec![10], d: 40, weight_seed: 42, workloads: vec![name.to_owned()] };
            change_by_weights(&weighted).unwrap()[0].value.unwrap()
        };
        let printed: f64 = (66.58 / 56.59) / (39.70 / 33.70);
        assert!((change("prefix") - printed.recip()).abs() < 2e-3);
        assert!(change("prefix") > 1.0 + 1e-6);
        assert!((change("marginal") - 1.0).abs() < 1e-9);
    }

    #[test]
    fn unknown_workloads_are_refused_under_their_key() {
        let text = "n = [40]\nd = [10]\nviews_over = 10\n\
            weighted = { n = [10], d = 40, weight_seed = 42, workloads = ['mixed'] }";
        let error = Experiment::cells(&PlanClaims, &text.parse().unwrap()).unwrap_err();
        assert_eq!(error.key(), "weighted.workloads[0]", "{error}");
    }

    #[test]
    fn counts_are_binomial_coefficients() {
        let kind: &dyn Experiment = &PlanClaims;
        let cells =
            kind.cells(&"n = [40]\nd = [10, 40]\nviews_over = 10".parse().unwrap()).unwrap();
        let rows = kind.run(&cells[2], &mut ChaCha20Rng::seed_from_u64(0)).unwrap();
        let value =
            |metric: &str| rows.iter().find(|row| row.metric == metric).unwrap().value.unwrap();

        assert_eq!(
            [value("groups_of_2"), value("groups_of_3")],
            [40.0 * 39.0 / 2.0, 40.0 * 39.0 * 38.0 / 6.0]
        );
        assert!((value("cells").log10() - 40.0 * 40f64.log10()).abs() < 1e-9);
    }
}
