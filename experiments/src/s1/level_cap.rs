//! Error of the Level Selection Algorithm as a function of the cap k on its levels (S1, Fig. 1).

use matmech::strategy::lsa::{self, LsaOptions, Reading};
use matmech::strategy::{Optimal, StrategySelector, svd_bound};
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::proved::GramBounds;
use crate::strategies::check_names;

/// Level caps k × methods on one workload.
///
/// The metrics are `ratio_to_svdb` and the numbers of levels and queries of the selected strategy.
/// The method `optimal` does not depend on k; it is the reference line.
#[derive(Debug)]
pub struct LevelCap;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The workload.
    workload: String,
    /// Caps on the number of levels, including the identity level.
    levels: Vec<usize>,
    /// `lsa`, `lsa-sequential`, `lsa-best-first`, `lsa-forced`, `optimal`.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    workload: String,
    levels: usize,
}

impl Kind for LevelCap {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "level-cap";
    const SUMMARY: &'static str =
        "error of the Level Selection Algorithm as the cap on its levels grows";
    const REVISION: u32 = 2;
    const KEYS: &'static [&'static str] = &["workload", "k"];
    const ERRORS: &'static [&'static str] = &["ratio_to_svdb"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        crate::strategies::check_workload("workload", &grid.workload)?;
        let known: Vec<&str> = Reading::ALL.iter().map(|r| r.name()).chain(["optimal"]).collect();
        check_names("methods", "method", &grid.methods, &known)?;
        if let Some(i) = grid.levels.iter().position(|&k| k == 0) {
            return Err(Error::config(
                format!("levels[{i}]"),
                "at least 1, the identity level",
                "0",
                "omit it",
            ));
        }
        let cells = grid.methods.iter().flat_map(|method| {
            let workload = &grid.workload;
            grid.levels.iter().map(move |&k| {
                let params = Params { workload: workload.clone(), levels: k };
                CellOf::new([workload, &k], method, params)
            })
        });
        Ok(cells.collect())
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let gram = Workload::parse(&params.workload)?.gram()?;
        let bound = svd_bound(&gram)?;
        let Some(reading) = Reading::ALL.into_iter().find(|r| r.name() == method) else {
            let optimum = Optimal::default().select(&gram)?;
            let certificate = optimum
                .certificate
                .ok_or_else(|| Error::bug("the optimum", "a certificate", "none"))?;
            let (upper, lower) = (certificate.upper_bound / bound, certificate.lower_bound / bound);
            let row = Row::certified("ratio_to_svdb", upper, lower, certificate.gap());
            let certificate = optimum.proof.as_ref().map(CellCertificate::of);
            return Ok(vec![Row { certificate, ..row }]);
        };
        let options = LsaOptions { max_levels: params.levels, ..LsaOptions::default() };
        let outcome = lsa::run(&gram, reading, &options)?;
        let error = outcome.error();
        Ok(vec![
            Row::certified("ratio_to_svdb", error / bound, 1.0, error / bound - 1.0),
            Row::new("levels", outcome.levels.len() as f64),
            Row::new("queries_in_strategy", outcome.queries.total() as f64),
            Row::new("distinct_queries", outcome.queries.distinct().len() as f64),
        ])
    }
    fn prove(
        &self,
        _method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        let rows = super::strategy_errors::proved(&GramBounds::of(&params.workload, certificate)?);
        Ok(rows.into_iter().filter(|row| row.metric == "ratio_to_svdb").collect())
    }
}
