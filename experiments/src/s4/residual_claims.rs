//! Numerical checks of the propositions and theorems of S4 on residuals.

use matmech::domain::AxisSet;
use matmech::linalg;
use matmech::residual::{decomp, privacy_coefficient, recon};
use ndarray::Array2;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::residual_matrices::{difference, random, residual_matrix_of, squared_norm_of_a_record};
use super::residual_theorems::{cost_over_budget, visits_per_cell};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};

/// The propositions on decomposition, reconstruction and noise, on a marginal of 3 × 4 × 2 cells.
///
/// | metric | value |
/// |---|---|
/// | `difference_of_the_sum` | Prop. 3.1: the sum of the components minus the marginal |
/// | `difference_of_the_estimate` | Thm 4.1: GReM-MLE minus generalised least squares over all tables |
/// | `difference_of_the_update` | Prop. 4.2: an updated marginal minus a new reconstruction |
/// | `difference_of_p` | Prop. 4.3: printed p_τ minus the privacy cost of a residual |
/// | `expected_squared_error` | Prop. 4.4: the terms of the sum that are the exact error |
/// | `violation_of_optimality` | Thm D.1: of budget and stationarity by the closed form |
/// | `visits_per_cell` | Thm 3.2: cells that Decomp and Recon visit, over |γ| n_γ |
/// | `cost_over_budget` | Thm 5.1: privacy cost of a run of AIM+GReM over its budget |
/// | `speedup` | the quotient of two printed times |
///
/// Differences are the largest absolute ones.
#[derive(Debug)]
pub struct ResidualClaims;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Pairs of printed times whose quotient is compared with a printed one.
    #[serde(default)]
    printed: Vec<PrintedTimes>,
}

/// Two printed times in seconds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedTimes {
    /// The name, which is the key of the cell.
    name: String,
    /// The time of the baseline.
    slow: f64,
    /// The time of the improved program.
    fast: f64,
}

/// The params of a cell: two printed times, or none for the propositions and theorems.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    printed: Option<PrintedTimes>,
}

const SIZES: [usize; 3] = [3, 4, 2];
const CELLS: usize = 24;

impl Kind for ResidualClaims {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "residual-claims";
    const SUMMARY: &'static str =
        "propositions and theorems of S4 on residuals, checked numerically";
    const REVISION: u32 = 3;
    const KEYS: &'static [&'static str] = &["component"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let formulas = Params { printed: None };
        let mut cells = vec![CellOf::new([&"residuals of 3x4x2 cells"], "formulas", formulas)];
        for (i, times) in grid.printed.into_iter().enumerate() {
            if !(times.slow > 0.0 && times.fast > 0.0 && (times.slow / times.fast).is_finite()) {
                let found = format!("{} and {}", times.slow, times.fast);
                let expected = "two positive times";
                return Err(Error::config(format!("printed[{i}]"), expected, found, "copy them"));
            }
            let name = times.name.clone();
            cells.push(CellOf::new([&name], "printed times", Params { printed: Some(times) }));
        }
        Ok(cells)
    }

    fn run(&self, _method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        if let Some(times) = params.printed {
            return Ok(vec![Row::new("speedup", times.slow / times.fast)]);
        }
        Ok(vec![
            Row::new("difference_of_the_sum", difference_of_the_sum(rng)?),
            Row::new("difference_of_the_update", difference_of_the_update(rng)?),
            Row::new("difference_of_p", difference_of_p()?),
            Row::text("expected_squared_error", expected_squared_error()?),
            Row::new("violation_of_optimality", violation_of_optimality(rng)),
            Row::new("difference_of_the_estimate", difference_of_the_estimate(rng)?),
            Row::new("visits_per_cell", visits_per_cell(rng)?),
            Row::new("cost_over_budget", cost_over_budget(rng)?),
        ])
    }
}

fn all_axes() -> impl Iterator<Item = AxisSet> {
    AxisSet::subsets(SIZES.len())
}

/// Returns the sum of the reconstructions of residuals.
fn reconstructed(residuals: &[(AxisSet, Vec<f64>)]) -> Result<Vec<f64>> {
    let mut sum = vec![0.0; CELLS];
    for (axes, residual) in residuals {
        let component = recon(residual, &SIZES, *axes)?;
        sum.iter_mut().zip(&component).for_each(|(sum, x)| *sum += x);
    }
    Ok(sum)
}

fn residuals_of(marginal: &[f64]) -> Result<Vec<(AxisSet, Vec<f64>)>> {
    all_axes().map(|axes| Ok((axes, decomp(marginal, &SIZES, axes)?))).collect()
}

fn difference_of_the_sum(rng: &mut ChaCha20Rng) -> Result<f64> {
    let marginal = random(CELLS, rng);
    Ok(difference(&reconstructed(&residuals_of(&marginal)?)?, &marginal))
}

fn difference_of_the_update(rng: &mut ChaCha20Rng) -> Result<f64> {
    let mut residuals = residuals_of(&random(CELLS, rng))?;
    let mut largest: f64 = 0.0;
    for index in 0..residuals.len() {
        let before = reconstructed(&residuals)?;
        let (axes, old) = residuals[index].clone();
        let new = random(old.len(), rng);
        let change: Vec<f64> = new.iter().zip(&old).map(|(new, old)| new - old).collect();
        let change = recon(&change, &SIZES, axes)?;
        let updated: Vec<f64> = before.iter().zip(&change).map(|(x, d)| x + d).collect();
        residuals[index].1 = new;
        largest = largest.max(difference(&updated, &reconstructed(&residuals)?));
    }
    Ok(largest)
}

/// Compares the estimate of GReM-MLE, the reconstruction of inverse-variance means, with the table x
/// that minimises Σ_τ Σ_i ‖R_τ x − z_τi‖²/(2σ_τi²) in the norm of V_τ⁻¹, by normal equations.
///
/// Every residual has two measurements of random values and variances.
fn difference_of_the_estimate(rng: &mut ChaCha20Rng) -> Result<f64> {
    let mut normal = Array2::<f64>::zeros((CELLS, CELLS));
    let mut right = Array2::<f64>::zeros((CELLS, 1));
    let mut means = Vec::new();
    for axes in all_axes() {
        let matrix = residual_matrix(axes)?.1;
        let norm = linalg::spd_inverse(matrix.dot(&matrix.t()).view())?;
        let mut columns = Vec::new();
        for cell in 0..CELLS {
            let mut unit = vec![0.0; CELLS];
            unit[cell] = 1.0;
            columns.push(decomp(&unit, &SIZES, axes)?);
        }
        let rows = Array2::from_shape_fn((matrix.nrows(), CELLS), |(i, j)| columns[j][i]);
        let (mut total, mut weighted) = (0.0, vec![0.0; matrix.nrows()]);
        for _ in 0..2 {
            let (weight, z) = (rng.random_range(0.5..2.0), random(matrix.nrows(), rng));
            let measured = Array2::from_shape_fn((z.len(), 1), |(i, _)| z[i]);
            normal = normal + rows.t().dot(&norm).dot(&rows) * weight;
            right = right + rows.t().dot(&norm).dot(&measured) * weight;
            total += weight;
            weighted.iter_mut().zip(&z).for_each(|(sum, z)| *sum += weight * z);
        }
        means.push((axes, weighted.into_iter().map(|sum| sum / total).collect()));
    }
    let best = linalg::spd_inverse(normal.view())?.dot(&right);
    Ok(difference(&reconstructed(&means)?, &best.into_raw_vec_and_offset().0))
}

/// Returns the matrix of the residual on all axes of a marginal with the sizes of `axes`.
fn residual_matrix(axes: AxisSet) -> Result<(Vec<usize>, Array2<f64>)> {
    let sizes = axes.select(&SIZES);
    let matrix = residual_matrix_of(&sizes)?;
    Ok((sizes, matrix))
}

fn difference_of_p() -> Result<f64> {
    let mut largest: f64 = 0.0;
    for axes in all_axes() {
        let sizes = axes.select(&SIZES);
        let cost = squared_norm_of_a_record(&sizes)?;
        let printed: f64 = sizes.iter().map(|&n| (n as f64 - 1.0) / n as f64).product();
        largest = largest.max((printed - cost).abs());
        largest = largest.max((privacy_coefficient(&SIZES, axes) - cost).abs());
    }
    Ok(largest)
}

/// Compares the exact expected squared error of a reconstruction with the printed terms v_τ σ_τ²,
/// and with n_γ v_τ σ_τ².
fn expected_squared_error() -> Result<&'static str> {
    let (mut printed_holds, mut scaled_holds) = (true, true);
    for axes in all_axes() {
        let (sizes, matrix) = residual_matrix(axes)?;
        let covariance = matrix.dot(&matrix.t());
        let mut columns = Vec::new();
        for k in 0..matrix.nrows() {
            let mut unit = vec![0.0; matrix.nrows()];
            unit[k] = 1.0;
            columns.push(recon(&unit, &SIZES, axes)?);
        }
        let back = Array2::from_shape_fn((CELLS, columns.len()), |(i, j)| columns[j][i]);
        let exact = back.dot(&covariance).dot(&back.t()).diag().sum();
        let inside: f64 = sizes.iter().map(|&n| (n as f64 - 1.0) / n as f64).product();
        let outside: f64 = (0..SIZES.len())
            .filter(|&axis| !axes.contains(axis))
            .map(|axis| (SIZES[axis] as f64).powi(-2))
            .product();
        let printed = inside * outside;
        printed_holds &= (printed / exact - 1.0).abs() < 1e-9;
        scaled_holds &= (printed * CELLS as f64 / exact - 1.0).abs() < 1e-9;
    }
    match (printed_holds, scaled_holds) {
        (true, false) => Ok("sum of v_tau sigma_tau^2"),
        (false, true) => Ok("sum of n_gamma v_tau sigma_tau^2"),
        _ => Err(Error::bug("Prop. 4.4", "one of the two formulas", "neither")),
    }
}

/// Returns how far the closed form of Thm D.1 is from the budget and from equal marginal gains
/// v_τ/((x_τ + a_τ)² p_τ).
fn violation_of_optimality(rng: &mut ChaCha20Rng) -> f64 {
    let mut largest: f64 = 0.0;
    for count in [2usize, 8, 16] {
        let (p, v, a) = (random(count, rng), random(count, rng), random(count, rng));
        let s: f64 = p.iter().zip(&v).map(|(p, v)| (p * v).sqrt()).sum();
        let q: f64 = p.iter().zip(&a).map(|(p, a)| p * a).sum();
        let x: Vec<f64> = (0..count).map(|k| (1.0 + q) / s * (v[k] / p[k]).sqrt() - a[k]).collect();
        let budget: f64 = p.iter().zip(&x).map(|(p, x)| p * x).sum();
        let gains: Vec<f64> = (0..count).map(|k| v[k] / ((x[k] + a[k]).powi(2) * p[k])).collect();
        let spread = gains.iter().map(|gain| (gain / gains[0] - 1.0).abs()).fold(0.0, f64::max);
        largest = largest.max((budget - 1.0).abs()).max(spread);
    }
    largest
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::experiment::Experiment;

    #[test]
    fn propositions_hold_except_for_the_missing_factor() {
        let kind: &dyn Experiment = &ResidualClaims;
        let cells = kind.cells(&toml::Table::new()).unwrap();
        let rows = kind.run(&cells[0], &mut ChaCha20Rng::seed_from_u64(4)).unwrap();
        for row in rows[..6].iter().filter(|row| row.value.is_some()) {
            assert!(row.value.unwrap() < 1e-9, "{row:?}");
        }
        assert_eq!(rows[3].text.as_deref(), Some("sum of n_gamma v_tau sigma_tau^2"));
    }

    #[test]
    fn printed_times_are_divided_and_must_be_positive() {
        let kind: &dyn Experiment = &ResidualClaims;
        let grid = |fast: &str| {
            format!("printed = [{{ name = 'a', slow = 9.0, fast = {fast} }}]").parse().unwrap()
        };
        let cells = kind.cells(&grid("2.0")).unwrap();
        let rows = kind.run(&cells[1], &mut ChaCha20Rng::seed_from_u64(0)).unwrap();
        assert_eq!(rows[0].value, Some(4.5));
        assert_eq!(kind.cells(&grid("0.0")).unwrap_err().key(), "printed[0]");
    }
}
