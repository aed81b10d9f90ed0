//! Strategies on random ranges of a given coverage (S1, Fig. 3(b)).

use matmech::workload::{Gram, RangeSample, Workload};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::sample_errors::{gram_of, over_samples, proved_over_samples};
use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::strategies::check_methods;

/// Domains × coverages × methods: `ratio_to_svdb` on random ranges.
///
/// A range covers on average the given share of the cells. All methods use the same samples.
#[derive(Debug)]
pub struct CoveredRanges;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Domains as `range:…`, each with the number of queries to sample.
    domains: Vec<Sampled>,
    /// Shares of the cells that a range covers on average.
    coverages: Vec<f64>,
    /// Strategy selectors or `svd-bound`.
    methods: Vec<String>,
    /// Number of samples.
    samples: u64,
    /// Seed of the first sample; sample k has seed `sample_seed + k`.
    sample_seed: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sampled {
    workload: String,
    queries: usize,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    shape: Vec<usize>,
    queries: usize,
    coverage: f64,
    samples: u64,
    sample_seed: u64,
}

impl Kind for CoveredRanges {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "covered-ranges";
    const SUMMARY: &'static str = "strategies on random ranges of a given coverage";
    const KEYS: &'static [&'static str] = &["workload", "coverage"];
    const ERRORS: &'static [&'static str] = &["ratio_to_svdb"];
    const REVISION: u32 = 3;

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        if grid.samples == 0 {
            return Err(Error::config("samples", "at least 1", "0", "write `samples = 3`"));
        }
        check_methods("methods", &grid.methods)?;
        let mut cells = Vec::new();
        for (i, domain) in grid.domains.iter().enumerate() {
            let key = format!("domains[{i}].workload");
            let workload =
                Workload::parse(&domain.workload).map_err(|e| Error::refused(key.clone(), e))?;
            if !domain.workload.starts_with("range:") {
                let found = format!("\"{}\"", domain.workload);
                return Err(Error::config(
                    key,
                    "a domain as range:…",
                    found,
                    "write e.g. \"range:16x16\"",
                ));
            }
            for (k, &coverage) in grid.coverages.iter().enumerate() {
                let drawn = RangeSample::covering(
                    workload.shape(),
                    domain.queries,
                    coverage,
                    &mut ChaCha20Rng::seed_from_u64(0),
                );
                if let Err(error) = drawn {
                    return Err(Error::refused(format!("coverages[{k}]"), error));
                }
                for method in &grid.methods {
                    let params = Params {
                        shape: workload.shape().to_vec(),
                        queries: domain.queries,
                        coverage,
                        samples: grid.samples,
                        sample_seed: grid.sample_seed,
                    };
                    cells.push(CellOf::new([&domain.workload, &coverage], method, params));
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        over_samples(method, &grams(&params)?)
    }

    fn prove(
        &self,
        _method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        // The SVD bound of every sample is 1 as a ratio, and needs no sample.
        if certificate.is_empty() {
            return Ok(vec![Row::proved("ratio_to_svdb", 1.0, None)]);
        }
        proved_over_samples(&grams(&params)?, certificate)
    }
}

/// Returns the Gram matrices of the samples of a cell.
fn grams(params: &Params) -> matmech::Result<Vec<Gram>> {
    (0..params.samples)
        .map(|k| {
            let mut rng = ChaCha20Rng::seed_from_u64(params.sample_seed.wrapping_add(k));
            gram_of(&RangeSample::covering(
                &params.shape,
                params.queries,
                params.coverage,
                &mut rng,
            )?)
        })
        .collect()
}
