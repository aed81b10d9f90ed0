//! Total errors of strategies on workloads, with the SVD bound and the certified optimum.

use matmech::strategy::{self, Selection};
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::proved::GramBounds;
use crate::remembered::Remembered;
use crate::strategies::{SVD_BOUND, check_methods, check_workloads};

/// Workloads × strategies: `total_error` at unit privacy cost, `ratio_to_svdb` and `queries`.
///
/// `seconds` is the time of the selection. Every error has a lower bound: the one of the strategy's
/// certificate or the SVD bound, whichever is larger.
#[derive(Debug)]
pub struct StrategyErrors {
    /// Rows by workload and method: several tables have the same cells.
    known: Remembered<(String, String), Vec<Row>>,
}

/// Maximum number of cached cells, more than one run needs.
const MAX_KNOWN: usize = 1000;

impl Default for StrategyErrors {
    fn default() -> Self {
        Self { known: Remembered::new(MAX_KNOWN) }
    }
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Workload strings.
    workloads: Vec<String>,
    /// Names of strategy selectors, `matrix:FILE.npy`, or `svd-bound`.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    workload: String,
}

impl Kind for StrategyErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "strategy-errors";
    const SUMMARY: &'static str =
        "total error of strategies on workloads, with the SVD bound and the certified optimum";
    const REVISION: u32 = 2;
    const KEYS: &'static [&'static str] = &["workload"];
    const ERRORS: &'static [&'static str] = &["total_error", "ratio_to_svdb"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        check_workloads("workloads", &grid.workloads)?;
        check_methods("methods", &grid.methods)?;
        let cells = grid.workloads.iter().flat_map(|workload| {
            grid.methods.iter().map(move |method| {
                CellOf::new([workload], method, Params { workload: workload.clone() })
            })
        });
        Ok(cells.collect())
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let key = (params.workload.clone(), method.to_owned());
        let rows = self.known.get(key, || rows(method, &params.workload))?;
        Ok(rows.as_ref().clone())
    }

    fn prove(
        &self,
        _method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        Ok(proved(&GramBounds::of(&params.workload, certificate)?))
    }
}

/// Returns the proved rows of the total error and of its ratio to the SVD bound.
pub(super) fn proved(bounds: &GramBounds) -> Vec<Row> {
    let GramBounds { lower, error, svd_bound } = *bounds;
    let ratio = error.map(|error| error / svd_bound);
    vec![
        Row::proved("total_error", lower, error),
        Row::proved("ratio_to_svdb", lower / svd_bound, ratio),
    ]
}

/// Returns the rows of a method on a workload string.
fn rows(method: &str, workload: &str) -> Result<Vec<Row>> {
    let workload = Workload::parse(workload)?;
    let gram = workload.gram()?;
    let bound = strategy::svd_bound(&gram)?;
    let mut rows = Vec::new();
    if method == SVD_BOUND {
        rows.push(Row::certified("total_error", bound, bound, 0.0));
        rows.push(Row::certified("ratio_to_svdb", 1.0, 1.0, 0.0));
    } else {
        let selector = strategy::by_name(method)?;
        let started = std::time::Instant::now();
        let selection = selector.select(&gram)?;
        let seconds = Some(started.elapsed().as_secs_f64());
        let (lower, gap) = certificate(&selection, bound);
        let error = Row::certified("total_error", selection.error, lower, gap);
        let ratio = Row::certified("ratio_to_svdb", selection.error / bound, lower / bound, gap);
        let certificate = selection.proof.as_ref().map(CellCertificate::of);
        rows.extend([Row { seconds, certificate, ..error }, Row { seconds, ..ratio }]);
        rows.extend(selection.details.iter().map(|(name, value)| Row::new(*name, *value)));
    }
    // From 128 cells on, the number of all predicates exceeds `u128` and is stored as text.
    match workload.count() {
        matmech::workload::QueryCount::Exact(count) => rows.push(Row::new("queries", count as f64)),
        power => rows.push(Row::text("queries", power.to_string())),
    }
    Ok(rows)
}

/// Returns the best known lower bound on the error of a selection, and the relative gap to it.
pub(super) fn certificate(selection: &Selection, svd_bound: f64) -> (f64, f64) {
    let lower = selection
        .certificate
        .map_or(svd_bound, |c| c.lower_bound.max(svd_bound))
        .min(selection.error);
    (lower, selection.error / lower - 1.0)
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
        for (text, key) in [
            ("workloads = ['range:-4']\nmethods = ['identity']", "workloads[0]"),
            ("workloads = ['range:4', 'rage:4']\nmethods = ['identity']", "workloads[1]"),
            ("workloads = ['range:4']\nmethods = ['optimum']", "methods[0]"),
            ("workloads = ['range:4']\nmethods = ['matrix:nowhere.npy']", "methods[0]"),
            ("workloads = ['range:4']\nmethods = ['identity']\ntrials = 3", "trials"),
        ] {
            let error = Experiment::cells(&StrategyErrors::default(), &grid(text)).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }

    #[test]
    fn rows_hold_error_ratio_and_certificate() {
        let kind: &dyn Experiment = &StrategyErrors::default();
        let cells = kind
            .cells(&grid("workloads = ['range:16']\nmethods = ['svd-bound', 'optimal', 'wavelet']"))
            .unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let value =
            |rows: &[Row], metric: &str| rows.iter().find(|r| r.metric == metric).cloned().unwrap();
        let all: Vec<Vec<Row>> =
            cells.iter().map(|cell| kind.run(cell, &mut rng).unwrap()).collect();
        let optimum = value(&all[1], "ratio_to_svdb");
        assert!((optimum.value.unwrap() - 1.021403).abs() < 1e-6 && optimum.gap.unwrap() <= 1e-7);
        assert!(value(&all[2], "total_error").value > value(&all[1], "total_error").value);
        assert_eq!(value(&all[0], "queries").value, Some(136.0));
    }
}
