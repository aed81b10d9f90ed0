//! Errors of private training at a budget (ε, δ), with and without amplification.

use std::time::Instant;

use matmech::privacy::gaussian::analytic_sigma_rounded_up;
use matmech::privacy::sampled::PoissonSampling;
use matmech::strategy::{Objective, Participation, Problem, Request};
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::strategies::check_workloads;

/// The method of independent noise on Poisson-sampled batches.
const POISSON: &str = "poisson";

/// Workloads × participations × ε × strategies: `error`, the mean squared error of a query with the
/// noise that (ε, δ) needs, at clipping norm 1.
///
/// For fixed participations it is the error at unit privacy cost, times the variance of the exact
/// Gaussian mechanism. For `random:K` it is that at the noise of the accountant. The method
/// `poisson` is DP-SGD: independent noise, every record in a step with probability K/n. `seconds`
/// is the time of fit and accounting.
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
            for (i, text) in run.methods.iter().enumerate().filter(|(_, text)| *text != POISSON) {
                Request::parse(text).map_err(refused(key("methods", i)))?;
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
        let (error, details) = match (method, participation) {
            (POISSON, Participation::Random { epochs, .. }) => {
                let sampling = PoissonSampling::new(epochs as f64 / steps as f64, steps)?;
                let sigma = sampling.sigma(epsilon, delta)?;
                (sigma * sigma * workload.gram()?.trace() / queries, Vec::new())
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
