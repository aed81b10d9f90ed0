//! Weighting the queries of a strategy under pure ε-differential privacy (S2, Sec. 3.5).

use matmech::strategy;
use matmech::workload::Workload;
use ndarray::Array1;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::laplace;
use crate::error::Result;
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::strategies::{check_methods, check_workloads};

/// Workloads × design sets: the gain of weighting the queries.
///
/// | metric | value |
/// |---|---|
/// | `improvement` | RMSE without weights over RMSE with weights |
/// | `l1_error` | `‖A‖₁² tr(G (AᵀA)⁺)` with weights; its lower bound holds for all weights |
/// | `bare_l1_error` | the same without weights |
#[derive(Debug)]
pub struct LaplaceDesigns;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Workload strings.
    workloads: Vec<String>,
    /// Names of strategies whose queries are weighted.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    workload: String,
}

impl Kind for LaplaceDesigns {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "laplace-designs";
    const SUMMARY: &'static str =
        "pure epsilon-differential privacy: what weighting the queries of a strategy gains";
    const REVISION: u32 = 2;
    const KEYS: &'static [&'static str] = &["workload"];
    const ERRORS: &'static [&'static str] = &["l1_error"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        check_workloads("workloads", &grid.workloads)?;
        check_methods("methods", &grid.methods)?;
        let cells = grid.workloads.iter().flat_map(|workload| {
            let params = || Params { workload: workload.clone() };
            grid.methods.iter().map(move |method| CellOf::new([workload], method, params()))
        });
        Ok(cells.collect())
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let gram = Workload::parse(&params.workload)?.gram()?;
        let selector = strategy::by_name(method)?;
        let bare = laplace::error(&selector.select(&gram)?.strategy, &gram)?;
        let weighted = laplace::reweighted(selector.as_ref(), &gram, None)?;
        let mut certificate = CellCertificate::default();
        for (k, dual) in weighted.duals.iter().enumerate() {
            certificate.insert(&format!("dual.{k}"), &dual.to_vec());
        }
        let gap = weighted.error / weighted.lower_bound - 1.0;
        Ok(vec![
            Row::new("improvement", (bare / weighted.error).sqrt()),
            Row {
                certificate: Some(certificate),
                ..Row::certified(
                    "l1_error",
                    weighted.error,
                    weighted.lower_bound.min(weighted.error),
                    gap.max(0.0),
                )
            },
            Row::new("bare_l1_error", bare),
        ])
    }

    fn prove(
        &self,
        method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        let gram = Workload::parse(&params.workload)?.gram()?;
        let mut duals = Vec::new();
        while let Some(dual) = certificate.values(&format!("dual.{}", duals.len()))? {
            duals.push(Array1::from_vec(dual));
        }
        let selector = strategy::by_name(method)?;
        let found = laplace::reweighted(selector.as_ref(), &gram, Some(&duals))?;
        Ok(vec![Row::proved("l1_error", found.lower_bound, Some(found.error))])
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::experiment::Experiment;

    /// On the identity workload equal weights are optimal, so that the improvement of the identity
    /// is 1. On ranges, weighting improves the wavelet.
    #[test]
    fn weighting_improves_the_wavelet_on_ranges() {
        let kind: &dyn Experiment = &LaplaceDesigns;
        let grid = "workloads = ['identity:16', 'range:16']\nmethods = ['identity', 'wavelet']";
        let improvement: Vec<f64> = kind
            .cells(&grid.parse().unwrap())
            .unwrap()
            .iter()
            .map(|cell| {
                kind.run(cell, &mut ChaCha20Rng::seed_from_u64(0)).unwrap()[0].value.unwrap()
            })
            .collect();
        approx::assert_relative_eq!(improvement[0], 1.0, max_relative = 1e-6);
        assert!(
            improvement.iter().all(|factor| *factor >= 1.0 - 1e-9) && improvement[3] > 1.01,
            "{improvement:?}"
        );
    }
}
