//! Workload generalization on all ranges and on skew-sampled ranges over growing domains (S1,
//! Fig. 3(d)).

use matmech::strategy;
use matmech::workload::{Family, Gram, RangeSample, Workload, range_count};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::sample_errors::{gram_of, over_samples, proved_over_samples};
use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::strategies::check_methods;

/// Domain sizes × {`range`, `skew-range`} × methods: `ratio_to_svdb`.
///
/// The LSA strategies also report the number of evaluated candidate splits (`candidates`).
/// `lsa-generalized` reports `candidate_ratio`, the candidates of `lsa` over those of
/// `lsa-generalized`, on the first three samples.
///
/// A skew-sampled workload has `max(least, share · all)` distinct ranges, drawn by the biased
/// sampler. All methods use the same samples.
#[derive(Debug)]
pub struct SkewedRanges;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// `range` (all ranges) or `skew-range` (sampled).
    families: Vec<String>,
    /// Domain sizes.
    cells: Vec<usize>,
    /// Strategy selectors or `svd-bound`.
    methods: Vec<String>,
    /// λ of the biased sampler.
    lambda: f64,
    /// Sampled share of all ranges.
    share: f64,
    /// Minimum number of sampled ranges.
    least: usize,
    /// Number of samples.
    samples: u64,
    /// Seed of the first sample; sample k has seed `sample_seed + k`.
    sample_seed: u64,
    /// Exceptions with fewer samples.
    fewer: Option<Fewer>,
}

/// From `cells` cells on, `methods` use the first `samples` samples only.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fewer {
    cells: usize,
    methods: Vec<String>,
    samples: u64,
}

/// Maximum number of samples for `candidate_ratio`, which runs `lsa` again on each.
const MAX_RATIO_SAMPLES: usize = 3;

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    cells: usize,
    /// Number of sampled ranges; `None` for all ranges.
    queries: Option<usize>,
    lambda: f64,
    samples: u64,
    sample_seed: u64,
}

impl Kind for SkewedRanges {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "skewed-ranges";
    const SUMMARY: &'static str =
        "workload generalization on all and on skew-sampled ranges over growing domains";
    const REVISION: u32 = 2;
    const KEYS: &'static [&'static str] = &["workload", "family", "cells"];
    const ERRORS: &'static [&'static str] = &["ratio_to_svdb"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        if grid.samples == 0 {
            return Err(Error::config("samples", "at least 1", "0", "write `samples = 3`"));
        }
        if let Some(fewer) = &grid.fewer {
            if !(1..=grid.samples).contains(&fewer.samples) {
                let expected = format!("1 to {}, the value of `samples`", grid.samples);
                return Err(Error::config(
                    "fewer.samples",
                    expected,
                    fewer.samples.to_string(),
                    "lower it, or omit `fewer`",
                ));
            }
            check_methods("fewer.methods", &fewer.methods)?;
        }
        if !(grid.share > 0.0 && grid.share <= 1.0) {
            return Err(Error::config(
                "share",
                "above 0 and up to 1",
                grid.share.to_string(),
                "write `share = 0.02`",
            ));
        }
        check_methods("methods", &grid.methods)?;
        let mut cells = Vec::new();
        for (i, family) in grid.families.iter().enumerate() {
            if !["range", "skew-range"].contains(&family.as_str()) {
                let key = format!("families[{i}]");
                return Err(Error::unknown_name(key, "family", family, &["range", "skew-range"]));
            }
            for (k, &n) in grid.cells.iter().enumerate() {
                let key = format!("cells[{k}]");
                let all = range_count(&[n]).map_err(|e| Error::refused(key.clone(), e))?;
                if !(2..=matmech::workload::MAX_DENSE_CELLS).contains(&n) {
                    let expected = format!("2 to {} cells", matmech::workload::MAX_DENSE_CELLS);
                    return Err(Error::config(key, expected, n.to_string(), "choose another size"));
                }
                let sampled = ((grid.share * all as f64).round() as usize).max(grid.least).min(all);
                let queries = (family == "skew-range").then_some(sampled);
                for method in &grid.methods {
                    let applies =
                        |fewer: &&Fewer| n >= fewer.cells && fewer.methods.contains(method);
                    let samples = grid
                        .fewer
                        .as_ref()
                        .filter(applies)
                        .map_or(grid.samples, |fewer| fewer.samples);
                    let params = Params {
                        cells: n,
                        queries,
                        lambda: grid.lambda,
                        samples: if queries.is_some() { samples } else { 1 },
                        sample_seed: grid.sample_seed,
                    };
                    cells.push(CellOf::new([&format!("{family}:{n}"), family, &n], method, params));
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let grams = grams(&params)?;
        let started = std::time::Instant::now();
        let mut rows = over_samples(method, &grams)?;
        let seconds = started.elapsed().as_secs_f64() / grams.len() as f64;
        for row in &mut rows {
            row.seconds = Some(seconds);
        }
        if method == "lsa-generalized" {
            let grams = &grams[..grams.len().min(MAX_RATIO_SAMPLES)];
            rows.push(Row::new(
                "candidate_ratio",
                candidates("lsa", grams)? / candidates("lsa-generalized", grams)?,
            ));
        }
        Ok(rows)
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
    match params.queries {
        None => Ok(vec![Workload::family(Family::RANGE, &[params.cells])?.gram()?]),
        Some(queries) => (0..params.samples)
            .map(|k| {
                let mut rng = ChaCha20Rng::seed_from_u64(params.sample_seed.wrapping_add(k));
                let cells = [params.cells];
                gram_of(&RangeSample::biased(&cells, queries, params.lambda, &mut rng)?)
            })
            .collect(),
    }
}

/// Returns the number of candidate splits that a method evaluates, over all samples.
fn candidates(method: &str, grams: &[Gram]) -> Result<f64> {
    let mut sum = 0.0;
    for gram in grams {
        let selection = strategy::by_name(method)?.select(gram)?;
        let found = selection.details.iter().find(|(name, _)| *name == "candidates");
        sum += found
            .ok_or_else(|| {
                Error::bug(format!("strategy {method}"), "a number of candidates", "none")
            })?
            .1;
    }
    Ok(sum)
}
