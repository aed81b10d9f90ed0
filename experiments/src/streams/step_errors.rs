//! Errors of single queries: the profile over the steps.

use matmech::strategy::{Objective, Participation, Problem, Request};
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::remembered::Remembered;
use crate::strategies::check_workload;

/// The errors of all queries by workload, participation and method.
type Profiles = Remembered<(String, String, String), Vec<f64>>;

/// Participations × steps × strategies: `error`, the squared error of the query of a step at unit
/// privacy cost. Strategies are selected for the objective `mean`.
#[derive(Debug)]
pub struct StepErrors {
    profiles: Profiles,
}

impl Default for StepErrors {
    fn default() -> Self {
        StepErrors { profiles: Remembered::new(16) }
    }
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// A workload with one query per step, such as `prefix:1024`.
    workload: String,
    /// `single`, `epochs:K` or `min-sep:B,K`.
    participations: Vec<String>,
    /// Numbers of steps, from 1.
    steps: Vec<usize>,
    /// Strategies.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    workload: String,
    participation: String,
    step: usize,
}

impl Kind for StepErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "step-errors";
    const SUMMARY: &'static str = "errors of strategies for the queries of single steps";
    const KEYS: &'static [&'static str] = &["workload", "participation", "step"];
    const ERRORS: &'static [&'static str] = &["error"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        check_workload("workload", &grid.workload)?;
        let queries = Workload::parse(&grid.workload)?.count().as_f64();
        for (i, &step) in grid.steps.iter().enumerate() {
            if step == 0 || step as f64 > queries {
                return Err(Error::config(
                    format!("steps[{i}]"),
                    format!("1 to {queries}, the queries of `{}`", grid.workload),
                    step.to_string(),
                    "remove it",
                ));
            }
        }
        let refused = |key: String| move |error| Error::refused(key, error);
        for (i, text) in grid.participations.iter().enumerate() {
            text.parse::<Participation>().map_err(refused(format!("participations[{i}]")))?;
        }
        for (i, text) in grid.methods.iter().enumerate() {
            Request::parse(text).map_err(refused(format!("methods[{i}]")))?;
        }
        let mut cells = Vec::new();
        for method in &grid.methods {
            for participation in &grid.participations {
                cells.extend(grid.steps.iter().map(|&step| {
                    let params = Params {
                        workload: grid.workload.clone(),
                        participation: participation.clone(),
                        step,
                    };
                    CellOf::new([&grid.workload, participation, &step.to_string()], method, params)
                }));
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let Params { workload, participation, step } = params;
        let key = (workload.clone(), participation.clone(), method.to_owned());
        let profile = self.profiles.get(key, || {
            let workload = Workload::parse(&workload)?;
            let participation = participation.parse()?;
            let problem =
                Problem { workload: &workload, objective: Objective::Mean, participation };
            Ok(Request::parse(method)?.selector.query_errors(&problem)?)
        })?;
        let error = profile.get(step - 1).copied().unwrap_or(f64::NAN);
        Ok(vec![Row::new("error", error)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    fn grid(steps: &str, method: &str) -> toml::Table {
        let text = format!(
            "workload = 'prefix:4'\nparticipations = ['epochs:2']\nsteps = {steps}\n\
             methods = ['{method}']"
        );
        text.parse().unwrap()
    }

    /// The identity has the error t, times the two participations.
    #[test]
    fn errors_are_those_of_the_steps() {
        let kind: &dyn Experiment = &StepErrors::default();
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let cells = kind.cells(&grid("[1, 4]", "identity")).unwrap();
        let errors: Vec<f64> =
            cells.iter().map(|cell| kind.run(cell, &mut rng).unwrap()[0].value.unwrap()).collect();
        approx::assert_relative_eq!(errors[..], [2.0, 8.0][..], max_relative = 1e-12);
        for (steps, method, key) in [
            ("[0]", "identity", "steps[0]"),
            ("[5]", "identity", "steps[0]"),
            ("[1]", "x", "methods[0]"),
        ] {
            assert_eq!(kind.cells(&grid(steps, method)).unwrap_err().key(), key);
        }
    }
}
