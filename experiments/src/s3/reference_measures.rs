//! The reference measures of the planner `anova`.

use matmech::planner::{Anova, Planner};
use matmech::privacy::PrivacyCost;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::plan_errors::check_size;
use super::{plan_rows, workloads};
use crate::error::Result;
use crate::experiment::{CellOf, Kind, Row};
use crate::remembered::Remembered;

/// One value `weight` for each value of an attribute of `[n]^d`.
///
/// It is n times the weight in the reference measure, which all attributes share, so that the
/// uniform measure is 1 everywhere. The key `place` is (value + ½)/n.
#[derive(Debug)]
pub struct ReferenceMeasures(Remembered<(usize, usize, String), Vec<f64>>);

impl Default for ReferenceMeasures {
    fn default() -> Self {
        ReferenceMeasures(Remembered::new(100))
    }
}

/// The grid: all combinations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Sizes of the attributes.
    n: Vec<usize>,
    /// Numbers of attributes.
    d: Vec<usize>,
    /// Names of workloads.
    workloads: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    n: usize,
    d: usize,
    workload: String,
    value: usize,
}

impl Kind for ReferenceMeasures {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "reference-measures";
    const SUMMARY: &'static str =
        "reference measures of the planner anova on workloads over d attributes of n values";
    const KEYS: &'static [&'static str] = &["n", "d", "workload", "place"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let mut cells = Vec::new();
        for (k, workload) in grid.workloads.iter().enumerate() {
            plan_rows::check_workload(&format!("workloads[{k}]"), workload, &workloads::UNIFORM)?;
            for (&n, &d) in grid.n.iter().flat_map(|n| grid.d.iter().map(move |d| (n, d))) {
                check_size("", n, d, workload)?;
                cells.extend((0..n).map(|value| {
                    let place = (value as f64 + 0.5) / n as f64;
                    let params = Params { n, d, workload: workload.clone(), value };
                    CellOf::new([&n, &d, workload, &place], Anova::default().name(), params)
                }));
            }
        }
        Ok(cells)
    }

    fn run(&self, _method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let Params { n, d, workload, value } = params;
        let weights = self.0.get((n, d, workload.clone()), || {
            let workload = workloads::uniform(n, d, &workload, None)?;
            let plan = Anova::default().plan(&workload, PrivacyCost::UNIT)?;
            Ok(plan.measure().of_attribute(0).to_vec())
        })?;
        let weight = weights.get(value).copied().unwrap_or(f64::NAN);
        Ok(vec![Row::new("weight", weight * n as f64)])
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::experiment::Experiment;

    /// Weights sum to n. Circular queries are invariant under rotation: their measure is uniform.
    #[test]
    fn weights_sum_to_n_and_are_uniform_for_circular_queries() {
        let kind = ReferenceMeasures::default();
        let kind: &dyn Experiment = &kind;
        let cells = kind
            .cells(&"n = [6]\nd = [3]\nworkloads = ['prefix', 'circular']".parse().unwrap())
            .unwrap();
        let weights: Vec<f64> = cells
            .iter()
            .map(|cell| {
                kind.run(cell, &mut ChaCha20Rng::seed_from_u64(0)).unwrap()[0].value.unwrap()
            })
            .collect();
        approx::assert_relative_eq!(weights[..6].iter().sum::<f64>(), 6.0, max_relative = 1e-12);
        assert!(weights[0] > 1.2 && weights[2] < 1.0, "{weights:?}");
        for weight in &weights[6..] {
            approx::assert_relative_eq!(*weight, 1.0, max_relative = 1e-9);
        }
    }
}
