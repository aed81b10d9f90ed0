//! Errors of strategies for objectives and participations, with the certified optimum.

use std::time::Instant;

use matmech::strategy::{Objective, Participation, Problem, Request};
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::proved::problem_bounds;
use crate::statistics::Sample;
use crate::strategies::check_workloads;

/// Workloads × objectives × participations × strategies: `error` at unit privacy cost.
///
/// The error of the objective `mean` is the mean squared error of the queries; of `max`, the largest
/// one. Rows of strategies with a certificate have its lower bound. `seconds` is the time of the
/// selection. For the objective `balanced`, `mean_error` and `max_error` are the two errors of the
/// same strategy.
#[derive(Debug)]
pub struct ProblemErrors;

/// The grid: a list of products of lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    /// Workload strings.
    workloads: Vec<String>,
    /// `mean`, `max` or `balanced:SHARE`.
    objectives: Vec<String>,
    /// `single`, `epochs:K` or `min-sep:B,K`.
    participations: Vec<String>,
    /// Strategies.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    workload: String,
    objective: String,
    participation: String,
}

impl Kind for ProblemErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "problem-errors";
    const SUMMARY: &'static str =
        "error of strategies for objectives and participations, with the certified optimum";
    const REVISION: u32 = 3;
    const KEYS: &'static [&'static str] = &["workload", "objective", "participation"];
    const ERRORS: &'static [&'static str] = &["error", "mean_error", "max_error"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let mut cells = Vec::new();
        for (r, run) in grid.runs.iter().enumerate() {
            let key = |list: &str, i: usize| format!("runs[{r}].{list}[{i}]");
            check_workloads(&format!("runs[{r}].workloads"), &run.workloads)?;
            let refused = |key: String| move |error| Error::refused(key, error);
            for (i, text) in run.objectives.iter().enumerate() {
                text.parse::<Objective>().map_err(refused(key("objectives", i)))?;
            }
            for (i, text) in run.participations.iter().enumerate() {
                text.parse::<Participation>().map_err(refused(key("participations", i)))?;
            }
            for (i, text) in run.methods.iter().enumerate() {
                Request::parse(text).map_err(refused(key("methods", i)))?;
            }
            for workload in &run.workloads {
                for objective in &run.objectives {
                    for participation in &run.participations {
                        cells.extend(run.methods.iter().map(|method| {
                            let params = Params {
                                workload: workload.clone(),
                                objective: objective.clone(),
                                participation: participation.clone(),
                            };
                            CellOf::new([workload, objective, participation], method, params)
                        }));
                    }
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let workload = Workload::parse(&params.workload)?;
        let objective: Objective = params.objective.parse()?;
        let participation: Participation = params.participation.parse()?;
        let selector = Request::parse(method)?.selector;
        let started = Instant::now();
        let problem = Problem { workload: &workload, objective, participation };
        let selection = selector.select_for(&problem)?;
        let seconds = Some(started.elapsed().as_secs_f64());
        let unit = match objective {
            Objective::Mean => workload.count().as_f64(),
            _ => 1.0,
        };
        let error = selection.error / unit;
        let row = match selection.certificate {
            Some(certificate) => {
                let lower = (certificate.lower_bound / unit).min(error);
                Row::certified("error", error, lower, error / lower - 1.0)
            }
            None => Row::new("error", error),
        };
        let certificate = selection.proof.as_ref().map(CellCertificate::of);
        let mut rows = vec![Row { seconds, certificate, ..row }];
        rows.extend(selection.details.iter().map(|(name, value)| Row::new(*name, *value)));
        if !matches!(objective, Objective::Mean | Objective::Max) {
            let errors: Sample = selector.query_errors(&problem)?.into_iter().collect();
            rows.push(Row::new("mean_error", errors.mean()));
            rows.push(Row::new("max_error", errors.largest()));
        }
        Ok(rows)
    }

    fn prove(
        &self,
        _method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        let workload = Workload::parse(&params.workload)?;
        let objective: Objective = params.objective.parse()?;
        let participation: Participation = params.participation.parse()?;
        let problem = Problem { workload: &workload, objective, participation };
        let Some(bounds) = problem_bounds(&problem, certificate)? else { return Ok(Vec::new()) };
        let unit = match objective {
            Objective::Mean => workload.count().as_f64(),
            _ => 1.0,
        };
        let error = bounds.error.map(|error| error / unit);
        Ok(vec![Row::proved("error", bounds.lower_bound / unit, error)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    fn grid(text: &str) -> toml::Table {
        text.parse().unwrap()
    }

    #[test]
    fn bad_grids_name_the_key() {
        let run = |workload: &str, objective: &str, participation: &str, method: &str| {
            grid(&format!(
                "runs = [{{ workloads = ['{workload}'], objectives = ['{objective}'], \
                 participations = ['{participation}'], methods = ['{method}'] }}]"
            ))
        };
        for (bad, key) in [
            (run("prefix:-4", "max", "single", "optimal"), "runs[0].workloads[0]"),
            (run("prefix:4", "most", "single", "optimal"), "runs[0].objectives[0]"),
            (run("prefix:4", "max", "epochs:0", "optimal"), "runs[0].participations[0]"),
            (run("prefix:4", "max", "single", "optimum"), "runs[0].methods[0]"),
        ] {
            assert_eq!(Experiment::cells(&ProblemErrors, &bad).unwrap_err().key(), key);
        }
    }

    /// The optima of two steps: 4/3 for the largest error of prefix sums; the identity has 2.
    #[test]
    fn rows_hold_error_and_certificate() {
        let kind: &dyn Experiment = &ProblemErrors;
        let text = "runs = [{ workloads = ['prefix:2'], objectives = ['max', 'mean'], \
                    participations = ['single'], methods = ['optimal', 'identity'] }]";
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let errors: Vec<Row> = kind
            .cells(&grid(text))
            .unwrap()
            .iter()
            .map(|cell| kind.run(cell, &mut rng).unwrap().swap_remove(0))
            .collect();
        assert!((errors[0].value.unwrap() - 4.0 / 3.0).abs() < 1e-6);
        assert!(errors[0].gap.unwrap() <= 1e-7 && errors[1].gap.is_none());
        assert_eq!((errors[1].value, errors[3].value), (Some(2.0), Some(1.5)));
        assert!(errors[2].value.unwrap() < errors[3].value.unwrap());
    }
}
