//! Workload separation on queries over marginals of one attribute (S1, Fig. 3(c)) and of several
//! (Sec. 4.3.1).

use std::sync::Arc;
use std::time::Instant;

use matmech::strategy::lsa::separated::{SeparatedOptions, Separation};
use matmech::strategy::{
    self, LsaSeparated, Selection, Strategy, StrategyFactor, StrategySelector, Wavelet, svd_bound,
};
use matmech::workload::{Gram, MarginalGram, Workload};
use ndarray::Array2;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::strategy_errors::{certificate, proved};
use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::proved::GramBounds;
use crate::strategies::{SVD_BOUND, check_names, check_workload};

/// `lsa-separated` that measures the separating query, the total, once more (w₀ = 1).
const SEPARATED_WITH_TOTAL: &str = "lsa-separated-total";

/// `lsa-separated` without separating marginals; contained marginals are merged.
const SEPARATED_MERGED: &str = "lsa-separated-merged";

/// `lsa-separated` by recursion over the separating marginals.
const SEPARATED_RECURSIVE: &str = "lsa-separated-recursive";

/// The Haar wavelets of all marginals together.
const WAVELET_PER_MARGINAL: &str = "wavelet-per-marginal";

/// Workloads over marginals × methods: `ratio_to_svdb`, `total_error` and the details of the LSA
/// strategies.
///
/// `seconds` is the time of the selection.
#[derive(Debug)]
pub struct SeparatedMarginals;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Workloads over marginals, `range-marginals:…`.
    workloads: Vec<String>,
    /// Strategy selectors, `svd-bound`, or the four methods of this kind.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    workload: String,
}

impl Kind for SeparatedMarginals {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "separated-marginals";
    const SUMMARY: &'static str = "workload separation on queries over marginals";
    const REVISION: u32 = 3;
    const KEYS: &'static [&'static str] = &["workload", "cells"];
    const ERRORS: &'static [&'static str] = &["total_error", "ratio_to_svdb"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let selectors = strategy::strategies();
        let mut known: Vec<&str> = selectors.iter().map(|s| s.name()).collect();
        known.extend([
            SVD_BOUND,
            SEPARATED_WITH_TOTAL,
            SEPARATED_MERGED,
            SEPARATED_RECURSIVE,
            WAVELET_PER_MARGINAL,
        ]);
        check_names("methods", "method", &grid.methods, &known)?;
        let mut cells = Vec::new();
        for (i, text) in grid.workloads.iter().enumerate() {
            let key = format!("workloads[{i}]");
            check_workload(&key, text)?;
            let workload = Workload::parse(text).map_err(|e| Error::refused(key.clone(), e))?;
            let Ok(Some(_)) =
                workload.gram().map(|gram| gram.marginals().map(<[MarginalGram]>::len))
            else {
                let found = format!("\"{text}\"");
                return Err(Error::config(
                    key,
                    "a workload over marginals",
                    found,
                    "write e.g. \"range-marginals:8x8\"",
                ));
            };
            for method in &grid.methods {
                let params = Params { workload: text.clone() };
                cells.push(CellOf::new([text, &workload.cells()], method, params));
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let gram = Workload::parse(&params.workload)?.gram()?;
        let bound = svd_bound(&gram)?;
        let default = SeparatedOptions::default();
        let started = Instant::now();
        let selection = match method {
            SVD_BOUND => {
                return Ok(vec![
                    Row::certified("total_error", bound, bound, 0.0),
                    Row::certified("ratio_to_svdb", 1.0, 1.0, 0.0),
                ]);
            }
            SEPARATED_WITH_TOTAL => {
                separated(SeparatedOptions { total_weight: 1.0, ..default }, &gram)?
            }
            SEPARATED_MERGED => {
                separated(SeparatedOptions { separation: Separation::Merged, ..default }, &gram)?
            }
            SEPARATED_RECURSIVE => {
                separated(SeparatedOptions { separation: Separation::Recursive, ..default }, &gram)?
            }
            WAVELET_PER_MARGINAL => wavelet_per_marginal(&gram)?,
            method => strategy::by_name(method)?.select(&gram)?,
        };
        let seconds = Some(started.elapsed().as_secs_f64());
        let (lower, gap) = certificate(&selection, bound);
        let error = Row::certified("total_error", selection.error, lower, gap);
        let ratio = Row::certified("ratio_to_svdb", selection.error / bound, lower / bound, gap);
        let certificate = selection.proof.as_ref().map(CellCertificate::of);
        let mut rows = vec![Row { seconds, certificate, ..error }, Row { seconds, ..ratio }];
        rows.extend(selection.details.iter().map(|(name, value)| Row::new(*name, *value)));
        Ok(rows)
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

fn separated(options: SeparatedOptions, gram: &Gram) -> matmech::Result<Selection> {
    LsaSeparated { options }.select(gram)
}

/// Returns the strategy `AᵀA = Σ_γ V_γ ⊗ J`, where V_γ is the wavelet's Gram matrix on marginal γ.
fn wavelet_per_marginal(gram: &Gram) -> Result<Selection> {
    let shape = gram.shape();
    let terms = gram.marginals().ok_or_else(|| {
        Error::bug("a workload over marginals", "the Gram matrices of its terms", "none")
    })?;
    let parts = terms
        .iter()
        .map(|term| {
            let strategy = Wavelet.select(&term.gram)?.strategy;
            let grams = strategy
                .factors()
                .iter()
                .map(StrategyFactor::gram)
                .collect::<matmech::Result<Vec<_>>>()?;
            let v = grams
                .iter()
                .fold(Array2::eye(1), |all, gram| matmech::linalg::kron(all.view(), gram.view()));
            let sizes: Vec<usize> = term.attributes.positions().map(|a| shape[a]).collect();
            Ok(MarginalGram { attributes: term.attributes, gram: Gram::dense(&sizes, v)? })
        })
        .collect::<matmech::Result<Vec<_>>>()?;
    let sum = Gram::over_marginals(&shape, parts)?.to_dense()?;
    let strategy = Strategy::kronecker(
        WAVELET_PER_MARGINAL,
        vec![StrategyFactor::from_gram(&shape, Arc::new(sum))],
    )?;
    let error = strategy.error(gram)?;
    Ok(Selection { strategy, error, certificate: None, proof: None, details: Vec::new() })
}
