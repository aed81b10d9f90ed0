//! Error and time of eigen-query separation and principal vectors (S2, Sec. 4.2 and 5).

use std::collections::BTreeMap;

use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::selections::{EIGEN_DESIGN, Selections};
use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::proved::GramBounds;
use crate::strategies::{check_method, check_methods, check_workloads};

const SEPARATION: &str = "eigen-separation";
const PRINCIPAL: &str = "principal-vectors";
/// The method of the best competitor of a workload.
const COMPETITOR: &str = "competitor";

/// Workloads × (group sizes of `eigen-separation` and shares of `principal-vectors` in per cent).
///
/// The share is that of the number of cells n, rounded up to a number of vectors. On workloads of
/// low rank it exceeds the share of the eigen-queries: above rank/n all of them are principal.
///
/// The metrics are `ratio_to_bound` and `over_eigen`, the ratios of the root mean square error to
/// the SVD bound and to Eigen-Design, and `speedup`, the time of Eigen-Design over that of the
/// method. Seconds are those of the selection, including the eigendecomposition. Reference
/// strategies have a cell at every point, for the lines of the figure.
#[derive(Debug, Default)]
pub struct EigenApproximations {
    /// The selections, shared by the kinds of S2.
    pub selections: Selections,
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Workload strings.
    workloads: Vec<String>,
    /// Group sizes of eigen-query separation.
    groups: Vec<usize>,
    /// Shares of principal vectors in per cent of the number of cells.
    shares: Vec<f64>,
    /// Reference strategies, or `svd-bound`.
    references: Vec<String>,
    /// Workload → its best competitor, whose cells have the method `competitor`.
    #[serde(default)]
    competitors: BTreeMap<String, String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    workload: String,
    strategy: String,
}

impl Kind for EigenApproximations {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "eigen-approximations";
    const SUMMARY: &'static str =
        "eigen-query separation by group size and principal vectors by share: error and time";
    const REVISION: u32 = 2;
    const KEYS: &'static [&'static str] = &["workload", "approximation", "at"];
    const TIMED: &'static [&'static str] = &["speedup"];
    const ERRORS: &'static [&'static str] = &["ratio_to_bound"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        check_workloads("workloads", &grid.workloads)?;
        check_methods("references", &grid.references)?;
        for (workload, method) in &grid.competitors {
            let key = format!("competitors.{workload}");
            if !grid.workloads.contains(workload) {
                return Err(Error::config(
                    key,
                    "one of `workloads`",
                    workload,
                    "add the workload there, or remove this key",
                ));
            }
            check_method(&key, method)?;
        }
        let mut points = Vec::new();
        for (i, group) in grid.groups.iter().enumerate() {
            let strategy = format!("{SEPARATION}(group={group})");
            check_method(&format!("groups[{i}]"), &strategy)?;
            points.push(Point::Groups(*group));
        }
        for (i, share) in grid.shares.iter().enumerate() {
            check_method(
                &format!("shares[{i}]"),
                &format!("{PRINCIPAL}(share={})", share / 100.0),
            )?;
            points.push(Point::Share(*share));
        }
        if points.is_empty() {
            return Err(Error::config(
                "groups",
                "at least one group size or share",
                "none",
                "give e.g. groups = [16]",
            ));
        }
        let mut cells = Vec::new();
        for workload in &grid.workloads {
            let n = Workload::parse(workload).map_err(|e| Error::refused("workloads", e))?.cells();
            for point in &points {
                let (approximation, at, strategy) = point.on(n);
                let point = (approximation, &strategy);
                let competitor =
                    grid.competitors.get(workload).map(|strategy| (COMPETITOR, strategy));
                let references = grid.references.iter().map(|r| (r.as_str(), r)).chain(competitor);
                for (method, strategy) in [point].into_iter().chain(references) {
                    let params = Params { workload: workload.clone(), strategy: strategy.clone() };
                    cells.push(CellOf::new(
                        [workload, &approximation.to_owned(), &at],
                        method,
                        params,
                    ));
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, _method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let Params { workload, strategy } = params;
        let eigen = self.selections.of(&workload, EIGEN_DESIGN)?;
        let outcome = self.selections.of(&workload, &strategy)?;
        let lower = (outcome.lower / outcome.svd_bound).sqrt();
        let (seconds, certificate) = (Some(outcome.seconds), outcome.certificate.clone());
        let ratio = outcome.over_bound();
        let mut rows = vec![
            Row {
                seconds,
                certificate,
                ..Row::certified("ratio_to_bound", ratio, lower, ratio / lower - 1.0)
            },
            Row::new("over_eigen", outcome.over(&eigen)),
        ];
        if outcome.seconds > 0.0 {
            rows.push(Row::new("speedup", eigen.seconds / outcome.seconds));
        }
        rows.extend(outcome.details.iter().map(|(name, value)| Row::new(*name, *value)));
        Ok(rows)
    }

    fn prove(
        &self,
        _method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        // The SVD bound is 1 as a ratio.
        if certificate.is_empty() {
            return Ok(vec![Row::proved("ratio_to_bound", 1.0, None)]);
        }
        let bounds = GramBounds::of(&params.workload, certificate)?;
        let ratio = |error: f64| (error / bounds.svd_bound).sqrt();
        Ok(vec![Row::proved("ratio_to_bound", ratio(bounds.lower), bounds.error.map(ratio))])
    }
}

/// A parameter of one of the approximations.
#[derive(Debug, Clone, Copy)]
enum Point {
    /// The group size of eigen-query separation.
    Groups(usize),
    /// The share of principal vectors in per cent.
    Share(f64),
}

impl Point {
    /// Returns the approximation, its parameter, and its strategy over n cells.
    fn on(self, n: usize) -> (&'static str, String, String) {
        match self {
            Point::Groups(group) => {
                (SEPARATION, group.to_string(), format!("{SEPARATION}(group={group})"))
            }
            Point::Share(share) => {
                let count = principal_vectors(share, n);
                (PRINCIPAL, share.to_string(), format!("{PRINCIPAL}(count={count})"))
            }
        }
    }
}

/// Returns the number of vectors that is a share of n cells, rounded up.
fn principal_vectors(per_cent: f64, n: usize) -> usize {
    // The product of a decimal share and n can be a whole number up to rounding.
    (per_cent / 100.0 * n as f64 - 1e-9).ceil() as usize
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::experiment::Experiment;

    #[test]
    fn one_group_or_all_principal_vectors_equal_eigen_design() {
        let kind = EigenApproximations::default();
        let kind: &dyn Experiment = &kind;
        let grid = "workloads = ['range:32']\ngroups = [4, 32]\nshares = [10.0, 100.0]\n\
                    references = ['eigen-design']";
        let cells = kind.cells(&grid.parse().unwrap()).unwrap();
        assert_eq!(cells.len(), 8);
        let over: Vec<f64> = cells
            .iter()
            .map(|cell| {
                kind.run(cell, &mut ChaCha20Rng::seed_from_u64(0)).unwrap()[1].value.unwrap()
            })
            .collect();
        for k in [1, 2, 3, 5, 6, 7] {
            approx::assert_relative_eq!(over[k], 1.0, max_relative = 1e-5);
        }
        assert!(over[0] > 1.0 && over[4] > 1.0, "{over:?}");
    }

    #[test]
    fn shares_are_those_of_the_cells() {
        assert_eq!(
            [6.0, 10.0, 12.5, 100.0].map(|p| principal_vectors(p, 2048)),
            [123, 205, 256, 2048]
        );
        assert_eq!(principal_vectors(10.0, 1000), 100);
        // Rank 3 of 12 cells: a third of the cells holds all eigen-queries.
        let kind: &dyn Experiment = &EigenApproximations::default();
        let grid = "workloads = ['identity-marginals(ways=1):2x6']\ngroups = []\nshares = [67.0]\n\
                    references = ['eigen-design']";
        let cells = kind.cells(&grid.parse().unwrap()).unwrap();
        let rows = kind.run(&cells[0], &mut ChaCha20Rng::seed_from_u64(0)).unwrap();
        approx::assert_relative_eq!(rows[1].value.unwrap(), 1.0, max_relative = 1e-6);
    }

    #[test]
    fn bad_grids_name_the_key() {
        let base = "workloads = ['range:8']\nreferences = []\n";
        for (text, key) in [
            ("groups = [0]\nshares = []", "groups[0]"),
            ("groups = [4]\nshares = [10.0, 120.0]", "shares[1]"),
            ("groups = []\nshares = []", "groups"),
            (
                "groups = [2]\nshares = []\ncompetitors = { 'range:9' = 'wavelet' }",
                "competitors.range:9",
            ),
        ] {
            let grid = format!("{base}{text}").parse().unwrap();
            let error = Experiment::cells(&EigenApproximations::default(), &grid).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }
}
