//! Factorisation norms of the prefix sums, beyond their logarithm.

use std::f64::consts::PI;
use std::time::Instant;

use matmech::strategy::{Objective, Participation, Problem, Request};
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::proved::problem_bounds;
use crate::strategies::check_workload;

/// Numbers of steps × norms: `constant`, γ(n) − ln n/π, with a lower bound.
///
/// γ₂(n) is the smallest root of the largest squared error of a prefix sum over n steps, at unit
/// privacy cost, and γ_F(n) that of the mean squared error. The interval is computed in double
/// precision. `seconds` is the time of the solver.
///
/// *Source* of asymptotic bounds: Henzinger, Kalinin and Upadhyay, arXiv 2509.14334.
#[derive(Debug)]
pub struct PrefixConstants;

/// The grid: a list of products of lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    /// Numbers of steps.
    steps: Vec<usize>,
    norms: Vec<Norm>,
    /// A strategy with a certificate.
    method: String,
}

/// A factorisation norm.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Norm {
    /// γ₂.
    #[serde(rename = "gamma-2")]
    Gamma2,
    /// γ_F, divided by √n.
    #[serde(rename = "gamma-f")]
    GammaF,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    steps: usize,
    norm: Norm,
}

impl Params {
    fn workload(&self) -> Result<Workload> {
        Ok(Workload::parse(&format!("prefix:{}", self.steps))?)
    }

    fn problem<'a>(&self, workload: &'a Workload) -> Problem<'a> {
        let objective = match self.norm {
            Norm::Gamma2 => Objective::Max,
            Norm::GammaF => Objective::Mean,
        };
        Problem { workload, objective, participation: Participation::Single }
    }

    /// Returns the constant for the error of [`Params::problem`], a total for the mean.
    fn constant(&self, error: f64) -> f64 {
        let steps = self.steps as f64;
        let squared = match self.norm {
            Norm::Gamma2 => error,
            Norm::GammaF => error / steps,
        };
        squared.sqrt() - steps.ln() / PI
    }
}

impl Kind for PrefixConstants {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "prefix-constants";
    const SUMMARY: &'static str = "factorisation norms of prefix sums minus ln n/π";
    const KEYS: &'static [&'static str] = &["n", "norm"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let mut cells = Vec::new();
        for (r, run) in grid.runs.into_iter().enumerate() {
            let refused = |error| Error::refused(format!("runs[{r}].method"), error);
            Request::parse(&run.method).map_err(refused)?;
            for (i, &steps) in run.steps.iter().enumerate() {
                check_workload(&format!("runs[{r}].steps[{i}]"), &format!("prefix:{steps}"))?;
                for &norm in &run.norms {
                    let name = match norm {
                        Norm::Gamma2 => "gamma-2",
                        Norm::GammaF => "gamma-f",
                    };
                    let params = Params { steps, norm };
                    cells.push(CellOf::new([&steps, &name], run.method.clone(), params));
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let workload = params.workload()?;
        let started = Instant::now();
        let selection = Request::parse(method)?.selector.select_for(&params.problem(&workload))?;
        let seconds = Some(started.elapsed().as_secs_f64());
        let Some(certificate) = selection.certificate else {
            return Err(Error::Computation {
                what: format!("`{method}` for {} prefix sums", params.steps),
                expected: "a strategy with a lower bound".into(),
                found: "no certificate".into(),
                remedy: "use the method `optimal`".into(),
            });
        };
        let value = params.constant(selection.error);
        let lower = params.constant(certificate.lower_bound).min(value);
        let row = Row::certified("constant", value, lower, value / lower - 1.0);
        let certificate = selection.proof.as_ref().map(CellCertificate::of);
        Ok(vec![Row { seconds, certificate, ..row }])
    }

    fn prove(
        &self,
        _method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        let workload = params.workload()?;
        let bounds = problem_bounds(&params.problem(&workload), certificate)?;
        let constant = |error| params.constant(error);
        Ok(bounds.map_or_else(Vec::new, |bounds| {
            vec![Row::proved("constant", constant(bounds.lower_bound), bounds.error.map(constant))]
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    fn rows(text: &str) -> Vec<Row> {
        let kind: &dyn Experiment = &PrefixConstants;
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let cells = kind.cells(&text.parse().unwrap()).unwrap();
        cells.iter().map(|cell| kind.run(cell, &mut rng).unwrap().swap_remove(0)).collect()
    }

    /// Two steps have γ₂² = 4/3 and γ_F² = (1 + √5)²/8, that is (√λ₁ + √λ₂)²/4 for the eigenvalues
    /// (3 ± √5)/2 of the Gram matrix.
    #[test]
    fn constants_of_two_steps_have_closed_forms() {
        let rows = rows(
            "runs = [{ steps = [2], norms = ['gamma-2', 'gamma-f'], \
             method = 'optimal(tolerance=1e-10)' }]",
        );
        let roots = [(4.0f64 / 3.0).sqrt(), (1.0 + 5f64.sqrt()) / 8f64.sqrt()];
        for (row, root) in rows.iter().zip(roots) {
            let expected = root - 2f64.ln() / PI;
            assert!((row.value.unwrap() - expected).abs() < 1e-9, "{row:?}");
            assert!(row.lower_bound.unwrap() <= expected + 1e-12, "{row:?}");
        }
    }

    /// Known bounds for every n: (2 + ln((2n + 1)/3))/π ≤ γ₂(n) ≤ 1 + ln n/π (Matoušek, Nikolov and
    /// Talwar 2020; Mathias 1993). γ_F ≤ γ₂, and both constants decrease.
    #[test]
    fn constants_are_between_known_bounds() {
        let rows = rows(
            "runs = [{ steps = [16, 64, 256], norms = ['gamma-2', 'gamma-f'], \
             method = 'optimal' }]",
        );
        for (pair, n) in rows.chunks(2).zip([16.0f64, 64.0, 256.0]) {
            let least = (2.0 + ((2.0 * n + 1.0) / 3.0).ln()) / PI - n.ln() / PI;
            assert!(least < pair[0].lower_bound.unwrap() && pair[0].value.unwrap() < 1.0);
            assert!(pair[1].value.unwrap() < pair[0].lower_bound.unwrap());
        }
        for (now, later) in rows.iter().zip(&rows[2..]) {
            assert!(later.value.unwrap() < now.lower_bound.unwrap());
        }
    }

    #[test]
    fn methods_without_a_certificate_are_refused() {
        let kind: &dyn Experiment = &PrefixConstants;
        let grid = |steps: &str, method: &str| {
            format!("runs = [{{ steps = [{steps}], norms = ['gamma-f'], method = '{method}' }}]")
                .parse()
                .unwrap()
        };
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let cells = kind.cells(&grid("4", "wavelet")).unwrap();
        assert!(kind.run(&cells[0], &mut rng).unwrap_err().to_string().contains("optimal"));
        for (steps, method, key) in
            [("0", "optimal", "runs[0].steps[0]"), ("4", "optimum", "runs[0].method")]
        {
            assert_eq!(kind.cells(&grid(steps, method)).unwrap_err().key(), key);
        }
    }
}
