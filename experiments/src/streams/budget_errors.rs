//! Errors of private training at a budget (ε, δ), with and without amplification.

use std::time::Instant;

use matmech::call::Call;
use matmech::privacy::gaussian::analytic_sigma_rounded_up;
use matmech::privacy::sampled::PoissonSampling;
use matmech::strategy::{Objective, Participation, Problem, Request};
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::strategies::check_workloads;

/// The method of BandMF on Poisson-sampled batches, with 1 band by default: independent noise.
const POISSON: &str = "poisson";

/// Workloads × participations × ε × strategies: `error`, the mean squared error of a query with the
/// noise that (ε, δ) needs, at clipping norm 1.
///
/// For fixed participations it is the error at unit privacy cost, times the variance of the exact
/// Gaussian mechanism. For `random:K` it is that at the noise of the accountant. The method
/// `poisson` is DP-SGD: independent noise, every record in a step with probability K/n. With
/// `bands=p` it is banded cyclic Poisson sampling (Choquette-Choo et al. 2023, arXiv 2306.08153): the
/// records are in p groups, group t mod p is sampled in step t with probability pK/n, and C has p
/// bands and columns of norm 1, so that every record is in ⌈n/p⌉ Poisson-sampled Gaussian steps.
/// `seconds` is the time of fit and accounting.
#[derive(Debug)]
pub struct BudgetErrors;

/// The grid: a list of products of lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    delta: f64,
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    epsilons: Vec<f64>,
    /// Workload strings over one attribute.
    workloads: Vec<String>,
    /// `single`, `epochs:K`, `min-sep:B,K` or `random:K`.
    participations: Vec<String>,
    /// Strategies, or `poisson` with `random:K`.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    workload: String,
    participation: String,
    epsilon: f64,
    delta: f64,
}

impl Kind for BudgetErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "budget-errors";
    const SUMMARY: &'static str =
        "error of strategies at a budget (epsilon, delta), with and without amplification";
    const REVISION: u32 = 1;
    const KEYS: &'static [&'static str] = &["workload", "participation", "epsilon"];
    const ERRORS: &'static [&'static str] = &["error"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let mut cells = Vec::new();
        for (r, run) in grid.runs.iter().enumerate() {
            let key = |list: &str, i: usize| format!("runs[{r}].{list}[{i}]");
            check_workloads(&format!("runs[{r}].workloads"), &run.workloads)?;
            let refused = |key: String| move |error| Error::refused(key, error);
            for (i, text) in run.participations.iter().enumerate() {
                text.parse::<Participation>().map_err(refused(key("participations", i)))?;
            }
            for (i, text) in run.methods.iter().enumerate() {
                match sampled_bands(text) {
                    Ok(Some(_)) => {}
                    Ok(None) => drop(Request::parse(text).map_err(refused(key("methods", i)))?),
                    Err(error) => return Err(refused(key("methods", i))(error)),
                }
            }
            for workload in &run.workloads {
                for participation in &run.participations {
                    for epsilon in &run.epsilons {
                        cells.extend(run.methods.iter().map(|method| {
                            let params = Params {
                                workload: workload.clone(),
                                participation: participation.clone(),
                                epsilon: *epsilon,
                                delta: grid.delta,
                            };
                            let keys: [&dyn ToString; 3] = [workload, participation, epsilon];
                            CellOf::new(keys, method, params)
                        }));
                    }
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let Params { workload, participation, epsilon, delta } = params;
        let workload = Workload::parse(&workload)?;
        let participation: Participation = participation.parse()?;
        let (queries, steps) = (workload.count().as_f64(), workload.cells());
        let started = Instant::now();
        let (error, details) = match (sampled_bands(method)?, participation) {
            (Some(bands), Participation::Random { epochs, .. }) => {
                let rate = bands as f64 * epochs as f64 / steps as f64;
                let sigma =
                    PoissonSampling::new(rate, steps.div_ceil(bands))?.sigma(epsilon, delta)?;
                let error = error_of_banded(&workload, bands)?;
                (sigma * sigma * error / queries, Vec::new())
            }
            _ => {
                let participation = match participation {
                    Participation::Random { .. } => participation.at(Some(epsilon), Some(delta))?,
                    other => other,
                };
                let objective = Objective::Mean;
                let problem = Problem { workload: &workload, objective, participation };
                let selection = Request::parse(method)?.selector.select_for(&problem)?;
                let sigma = analytic_sigma_rounded_up(1.0, epsilon, delta)?;
                (selection.error * sigma * sigma / queries, selection.details)
            }
        };
        let seconds = Some(started.elapsed().as_secs_f64());
        let mut rows = vec![Row { seconds, ..Row::new("error", error) }];
        rows.extend(details.iter().map(|(name, value)| Row::new(*name, *value)));
        Ok(rows)
    }
}

/// Returns the number of bands of the method `poisson`; `None` for other methods.
fn sampled_bands(method: &str) -> matmech::Result<Option<usize>> {
    let call = Call::parse("method", method, "write a strategy or poisson(bands=8)")?;
    if call.name() != POISSON {
        return Ok(None);
    }
    call.allow(&["bands"])?;
    match call.option("bands")?.unwrap_or(1) {
        0 => Err(call.refuse("at least one band", method)),
        bands => Ok(Some(bands)),
    }
}

/// Returns the total error of BandMF with p bands and columns of norm 1, at unit noise.
///
/// It has the smallest error of these strategies: that under min-separation p with ⌊n/p⌋
/// participations, whose squared sensitivity is ⌊n/p⌋.
fn error_of_banded(workload: &Workload, bands: usize) -> Result<f64> {
    if bands == 1 {
        return Ok(workload.gram()?.trace());
    }
    let count = workload.cells() / bands;
    let participation = Participation::MinSeparation { separation: bands, count };
    let problem = Problem { workload, objective: Objective::Mean, participation };
    let selection = Request::parse("bandmf")?.selector.select_for(&problem)?;
    Ok(selection.error / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One band is independent noise; more bands have smaller errors, down to the optimum for one
    /// participation.
    #[test]
    fn errors_of_banded_noise_fall_with_the_bands() {
        let workload = Workload::parse("prefix:16").unwrap();
        let errors: Vec<f64> =
            [1, 2, 4, 8].iter().map(|bands| error_of_banded(&workload, *bands).unwrap()).collect();
        assert!(errors.is_sorted_by(|a, b| a > b), "{errors:?}");
        // The sum of 1 … 16.
        assert!((errors[0] - 136.0).abs() < 1e-9, "{errors:?}");
        let problem = Problem {
            workload: &workload,
            objective: Objective::Mean,
            participation: Participation::Single,
        };
        let optimum = Request::parse("optimal").unwrap().selector.select_for(&problem).unwrap();
        assert!(errors[3] > optimum.error && errors[3] < 1.1 * optimum.error, "{errors:?}");
    }

    #[test]
    fn only_poisson_has_sampled_bands() {
        assert_eq!(sampled_bands("poisson").unwrap(), Some(1));
        assert_eq!(sampled_bands("poisson(bands=8)").unwrap(), Some(8));
        assert_eq!(sampled_bands("bsr(bands=8)").unwrap(), None);
        for text in ["poisson(bands=0)", "poisson(steps=2)", "poisson(bands"] {
            assert!(sampled_bands(text).is_err(), "{text}");
        }
    }
}
