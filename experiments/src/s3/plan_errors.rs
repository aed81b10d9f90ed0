//! Errors of planners on workloads over `[n]^d` (S3, Tables 4, 5 and 8).

use matmech::schema::Schema;
use matmech::workload::attribute_sets;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::plan_rows::{self, KnownBounds};
use super::workloads;
use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};

/// Parts of a grid n × d × workloads × planners: `rmse`, `queries` and `solves`.
///
/// `rmse` (`wrmse` with weights) is at unit privacy cost, with lower bound. `solves` is the number
/// of solved strategy problems.
#[derive(Debug, Default)]
pub struct PlanErrors {
    bounds: KnownBounds<Params>,
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The parts, in the order of their cells.
    parts: Vec<Part>,
    /// Seed of the weights of the marginals; without it every query has weight 1.
    weight_seed: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// Sizes of the attributes.
    n: Vec<usize>,
    /// Numbers of attributes.
    d: Vec<usize>,
    /// Names of workloads.
    workloads: Vec<String>,
    /// Names of planners.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Params {
    n: usize,
    d: usize,
    workload: String,
    weight_seed: Option<u32>,
}

/// Returns a key of a table; the name of the grid itself is empty.
fn joined(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// Returns the schema `[n]^d`; refuses sizes over which the workload does not exist.
///
/// # Errors
/// Returns an error under the key `n` or `d` of `part`.
pub(super) fn check_size(part: &str, n: usize, d: usize, workload: &str) -> Result<Schema> {
    if n < 2 {
        return Err(Error::config(
            joined(part, "n"),
            "attributes of at least 2 values",
            n.to_string(),
            "write e.g. n = [10]",
        ));
    }
    let key = joined(part, "d");
    let schema = Schema::uniform(n, d).map_err(|e| Error::refused(key.clone(), e))?;
    attribute_sets(&schema, workloads::ways(workload)).map_err(|e| Error::refused(key, e))?;
    Ok(schema)
}

impl Kind for PlanErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "plan-errors";
    const SUMMARY: &'static str =
        "error of planners on workloads over d attributes of n values, with certificates";
    const REVISION: u32 = 2;
    const KEYS: &'static [&'static str] = &["n", "d", "workload"];
    const BOUND_ON_ALL: Option<&'static str> = Some(plan_rows::GLOBAL_BOUND);
    const ERRORS: &'static [&'static str] = &["rmse", "wrmse"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let mut cells = Vec::new();
        for (i, part) in grid.parts.iter().enumerate() {
            let key = format!("parts[{i}]");
            for (k, workload) in part.workloads.iter().enumerate() {
                plan_rows::check_workload(
                    &format!("{key}.workloads[{k}]"),
                    workload,
                    &workloads::UNIFORM,
                )?;
                if workload == "mixed" && grid.weight_seed.is_some() {
                    return Err(Error::config(
                        "weight_seed",
                        "no weights with the workload mixed",
                        "both",
                        "remove one of the two",
                    ));
                }
            }
            plan_rows::check_methods(&format!("{key}.methods"), &part.methods)?;
            for (&n, &d) in part.n.iter().flat_map(|n| part.d.iter().map(move |d| (n, d))) {
                for workload in &part.workloads {
                    check_size(&key, n, d, workload)?;
                    cells.extend(part.methods.iter().map(|method| {
                        let params = Params {
                            n,
                            d,
                            workload: workload.clone(),
                            weight_seed: grid.weight_seed,
                        };
                        CellOf::new([&n, &d, workload], method, params)
                    }));
                }
            }
        }
        Ok(cells)
    }

    fn bounded_by(&self, method: &str) -> Option<&'static str> {
        plan_rows::bounded_by(method)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let workload =
            workloads::uniform(params.n, params.d, &params.workload, params.weight_seed)?;
        let metric = if params.weight_seed.is_some() { "wrmse" } else { "rmse" };
        plan_rows::all(metric, method, &workload, &params, &self.bounds)
    }

    fn prove(
        &self,
        method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        let workload =
            workloads::uniform(params.n, params.d, &params.workload, params.weight_seed)?;
        let metric = if params.weight_seed.is_some() { "wrmse" } else { "rmse" };
        plan_rows::proved(metric, method, &workload, certificate)
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
        let kind: &dyn Experiment = &PlanErrors::default();
        for (part, key) in [
            (
                "n = [10], d = [40], workloads = ['prefx'], methods = ['query-smasher']",
                "parts[0].workloads[0]",
            ),
            ("n = [10], d = [40], workloads = ['prefix'], methods = ['QS']", "parts[0].methods[0]"),
            (
                "n = [1], d = [40], workloads = ['prefix'], methods = ['query-smasher']",
                "parts[0].n",
            ),
            (
                "n = [10], d = [1], workloads = ['prefix'], methods = ['query-smasher']",
                "parts[0].d",
            ),
            ("n = [10], d = [2], workloads = ['mixed'], methods = ['query-smasher']", "parts[0].d"),
            (
                "n = [10], d = [500], workloads = ['prefix'], methods = ['query-smasher']",
                "parts[0].d",
            ),
            (
                "n = [10], d = [40], workloads = ['prefix'], methods = [], trials = 3",
                "parts.trials",
            ),
        ] {
            let error = kind.cells(&grid(&format!("parts = [{{ {part} }}]"))).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
        let mixed =
            "weight_seed = 1\nparts = [{ n = [4], d = [4], workloads = ['mixed'], methods = [] }]";
        assert_eq!(kind.cells(&grid(mixed)).unwrap_err().key(), "weight_seed");
    }

    /// Compares with S3, Table 4 (WFF has 39.70 on prefix sums) and with the certified optimum
    /// 33.693 of the specification.
    #[test]
    fn rows_hold_error_queries_and_certificate() {
        let part = "n = [10], d = [40], workloads = ['prefix'], \
                    methods = ['weighted-fourier', 'query-smasher']";
        let kind: &dyn Experiment = &PlanErrors::default();
        let cells = kind.cells(&grid(&format!("parts = [{{ {part} }}]"))).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let rows: Vec<Vec<Row>> =
            cells.iter().map(|cell| kind.run(cell, &mut rng).unwrap()).collect();
        assert!(
            (rows[0][0].value.unwrap() - 39.70).abs() < 0.005 && rows[0][0].lower_bound.is_none()
        );
        assert!(
            (rows[1][0].value.unwrap() - 33.693).abs() < 0.0005 && rows[1][0].gap.unwrap() <= 1e-6
        );
        assert_eq!((rows[1][1].metric.as_str(), rows[1][1].value), ("queries", Some(78400.0)));
    }
}
