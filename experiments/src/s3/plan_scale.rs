//! Time and memory of planning and answering over growing numbers of attributes (S3, Tables 6
//! and 7).

use std::time::Instant;

use matmech::access::PrivateTable;
use matmech::data::Records;
use matmech::mechanism::run_plan;
use matmech::planner::Decomposition;
use matmech::workload::{QueryCount, attribute_sets};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::plan_errors::check_size;
use super::{plan_rows, workloads};
use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};

/// The number of phases: planning and answering.
const PHASES: usize = 2;

/// n × d × workloads × planners, with one row per phase.
///
/// | metric | `seconds` of |
/// |---|---|
/// | `rmse` | planning: decomposition, strategies, privacy costs, the error of every group |
/// | `residual_subspaces` | decomposition |
/// | `solves` | the rest of planning |
/// | `answers` | measuring synthetic records, reconstructing, answering every query |
/// | `phases` | planning and answering |
///
/// The key `views` and the row `views` are the number of marginals in the workload.
#[derive(Debug)]
pub struct PlanScale;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Sizes of the attributes.
    n: Vec<usize>,
    /// Numbers of attributes.
    d: Vec<usize>,
    /// Names of workloads.
    workloads: Vec<String>,
    /// Names of planners.
    methods: Vec<String>,
    /// Number of synthetic records that the plan is run on.
    records: usize,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    n: usize,
    d: usize,
    workload: String,
    records: usize,
    views: usize,
}

impl Kind for PlanScale {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "plan-scale";
    const SUMMARY: &'static str =
        "time and memory of planning and answering over growing numbers of attributes";
    const REVISION: u32 = 2;
    const KEYS: &'static [&'static str] = &["n", "d", "workload", "views"];
    const ERRORS: &'static [&'static str] = &["rmse"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        plan_rows::check_workloads("workloads", &grid.workloads, &workloads::UNIFORM)?;
        plan_rows::check_methods("methods", &grid.methods)?;
        let mut cells = Vec::new();
        for (&n, &d) in grid.n.iter().flat_map(|n| grid.d.iter().map(move |d| (n, d))) {
            for workload in &grid.workloads {
                let schema = check_size("", n, d, workload)?;
                let views = attribute_sets(&schema, workloads::ways(workload))
                    .map_err(|e| Error::refused("d", e))?
                    .len();
                cells.extend(grid.methods.iter().map(|method| {
                    let params =
                        Params { n, d, workload: workload.clone(), records: grid.records, views };
                    CellOf::new([&n, &d, workload, &views], method, params)
                }));
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let workload = workloads::uniform(params.n, params.d, &params.workload, None)?;
        let started = Instant::now();
        let subspaces = Decomposition::of(&workload)?.residuals().len();
        let decompose = started.elapsed().as_secs_f64();
        let (plan, seconds) = plan_rows::timed(method, &workload)?;
        let records = Records::uniform(workload.schema(), params.records, rng)?;
        let started = Instant::now();
        let mut answers = 0;
        let mut table = PrivateTable::of_records(&records, plan.privacy_cost().rho(), rng)?;
        run_plan(&plan, &workload, &mut table, &mut |_, group| {
            answers += group.len();
            Ok(())
        })?;
        let answering = started.elapsed().as_secs_f64();
        if plan.queries() != QueryCount::exact(answers as u128) {
            return Err(Error::bug(
                format!("planner {method}"),
                format!("{} answers", plan.queries()),
                answers,
            ));
        }
        let phase = |metric: &str, count: usize, seconds: f64| Row {
            seconds: Some(seconds),
            ..Row::new(metric, count as f64)
        };
        Ok(vec![
            // The first row, from which the comparison reads the time of the cell.
            phase("phases", PHASES, seconds + answering),
            plan_rows::error("rmse", &plan, seconds),
            phase("residual_subspaces", subspaces, decompose),
            // Planning includes a second decomposition, which is subtracted.
            phase("solves", plan.solves(), (seconds - decompose).max(0.0)),
            phase("answers", answers, answering),
            Row::new("views", params.views as f64),
        ])
    }

    fn prove(
        &self,
        method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        let workload = workloads::uniform(params.n, params.d, &params.workload, None)?;
        plan_rows::proved("rmse", method, &workload, certificate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    #[test]
    fn bad_grids_name_the_key() {
        for (text, key) in [
            ("records = 9\nn = [10]\nd = [10]\nworkloads = ['mixd']\nmethods = []", "workloads[0]"),
            ("records = 9\nn = [10]\nd = [10]\nworkloads = []\nmethods = ['qs']", "methods[0]"),
            ("records = 9\nn = [0]\nd = [10]\nworkloads = ['prefix']\nmethods = []", "n"),
            ("records = 9\nn = [10]\nd = [1]\nworkloads = ['prefix']\nmethods = []", "d"),
            ("records = 9\nn = [10]\nd = [2]\nworkloads = ['mixed']\nmethods = []", "d"),
            ("records = 9\nn = [10]\nworkloads = ['mixed']\nmethods = []", "d"),
        ] {
            let error = Experiment::cells(&PlanScale, &text.parse().unwrap()).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }

    /// The first row of Table 7 has 175 views. The residual subspaces are these and the total; few
    /// of them are distinct.
    #[test]
    fn solves_do_not_grow_with_attributes() {
        let text = "records = 100\nn = [5]\nd = [10, 12]\nworkloads = ['mixed']\n\
                    methods = ['query-smasher']";
        let kind: &dyn Experiment = &PlanScale;
        let cells = kind.cells(&text.parse().unwrap()).unwrap();
        assert_eq!(cells[0].key[3].1, "175");
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let rows: Vec<Vec<Row>> =
            cells.iter().map(|cell| kind.run(cell, &mut rng).unwrap()).collect();
        assert_eq!(rows[0][2].value, Some(176.0));
        assert_eq!((rows[0][3].value, rows[0][3].value), (rows[1][3].value, Some(3.0)));
        // 10 ranges of 15, 45 affine families of 9, 120 boxes of 125 prefix sums.
        assert_eq!(rows[0][4].value, Some(150.0 + 405.0 + 15000.0));
        assert!(
            rows[0][1].gap.unwrap() <= 1e-6
                && rows
                    .iter()
                    .flatten()
                    .filter(|r| r.metric != "views")
                    .all(|r| r.seconds.is_some())
        );
    }
}
