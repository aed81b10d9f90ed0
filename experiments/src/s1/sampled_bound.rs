//! The SVD bound of sampled range workloads relative to that of all ranges (S1, Fig. 2).

use matmech::strategy::svd_bound;
use matmech::workload::{Family, Gram, RangeSample, Workload, range_count};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::statistics::Sample;

/// Domains × samplers × sample sizes: `relative_bound = (svdb(sample)/m) / (svdb(all ranges)/M)`.
///
/// The rows are the mean over independent samples of m of the M ranges, its standard error, and the
/// extremes.
#[derive(Debug)]
pub struct SampledBound;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Workloads of all ranges, `range:…`.
    workloads: Vec<String>,
    /// `uniform`, or `biased` with its `lambda`.
    samplings: Vec<Sampling>,
    /// Sample sizes m.
    queries: Vec<usize>,
    /// Independent samples per cell.
    samples: usize,
}

/// How ranges are sampled; see [`RangeSample`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sampling {
    /// Every set of m distinct ranges is equally likely.
    Uniform {},
    /// A range at distance r from the centre has weight exp(λ(r − 1)).
    Biased {
        /// λ.
        lambda: f64,
    },
}

impl Sampling {
    fn name(self) -> String {
        match self {
            Sampling::Uniform {} => "uniform".to_owned(),
            Sampling::Biased { lambda } => format!("biased-{lambda}"),
        }
    }
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    workload: String,
    sampling: Sampling,
    queries: usize,
    samples: usize,
}

/// Returns the number of ranges of a workload `range:…`.
fn all_ranges(key: &str, text: &str) -> Result<usize> {
    let refused = || {
        Error::config(
            key,
            "all ranges over a domain, range:…",
            format!("\"{text}\""),
            "write e.g. \"range:32x32\"",
        )
    };
    let workload = Workload::parse(text).map_err(|_| refused())?;
    if !text.starts_with("range:") {
        return Err(refused());
    }
    range_count(workload.shape()).map_err(|e| Error::refused(key, e))
}

impl Kind for SampledBound {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "sampled-bound";
    const SUMMARY: &'static str =
        "the SVD bound of sampled range workloads against that of all ranges";
    const KEYS: &'static [&'static str] = &["workload", "sampling", "queries"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        if grid.samples == 0 {
            return Err(Error::config("samples", "at least 1", "0", "write `samples = 5`"));
        }
        for (i, sampling) in grid.samplings.iter().enumerate() {
            if let Sampling::Biased { lambda } = sampling
                && !lambda.is_finite()
            {
                let key = format!("samplings[{i}].lambda");
                return Err(Error::config(
                    key,
                    "a finite number",
                    lambda.to_string(),
                    "write e.g. 10",
                ));
            }
        }
        let mut cells = Vec::new();
        for (i, workload) in grid.workloads.iter().enumerate() {
            let count = all_ranges(&format!("workloads[{i}]"), workload)?;
            for &sampling in &grid.samplings {
                for (k, &queries) in grid.queries.iter().enumerate() {
                    if queries == 0 || queries > count {
                        return Err(Error::config(
                            format!("queries[{k}]"),
                            format!("1 to {count}, the number of distinct ranges of {workload}"),
                            queries.to_string(),
                            "lower it, or remove this domain",
                        ));
                    }
                    let params = Params {
                        workload: workload.clone(),
                        sampling,
                        queries,
                        samples: grid.samples,
                    };
                    cells.push(CellOf::new(
                        [workload, &sampling.name(), &queries],
                        "svd-bound",
                        params,
                    ));
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, _method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let workload = Workload::parse(&params.workload)?;
        let shape = workload.shape();
        let whole = svd_bound(&Workload::family(Family::RANGE, shape)?.gram()?)?
            / range_count(shape)? as f64;
        let mut bounds = Sample::default();
        for _ in 0..params.samples {
            let sample = match params.sampling {
                Sampling::Uniform {} => RangeSample::uniform(shape, params.queries, rng)?,
                Sampling::Biased { lambda } => {
                    RangeSample::biased(shape, params.queries, lambda, rng)?
                }
            };
            let gram = Gram::dense(shape, sample.gram())?;
            bounds.push(svd_bound(&gram)? / params.queries as f64 / whole);
        }
        let mut rows = vec![
            Row::new("relative_bound", bounds.mean()),
            Row::new("relative_bound_min", bounds.smallest()),
            Row::new("relative_bound_max", bounds.largest()),
        ];
        rows.extend(
            bounds.standard_error().map(|error| Row::new("relative_bound_standard_error", error)),
        );
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    #[test]
    fn a_sample_of_all_ranges_has_relative_bound_1_and_larger_samples_are_refused() {
        let grid = |queries: usize| -> toml::Table {
            format!(
                "workloads = ['range:12']\nsamplings = [{{ kind = 'uniform' }}, \
                 {{ kind = 'biased', lambda = 10 }}]\nqueries = [{queries}]\nsamples = 2"
            )
            .parse()
            .unwrap()
        };
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let kind: &dyn Experiment = &SampledBound;
        for cell in kind.cells(&grid(78)).unwrap() {
            for row in kind.run(&cell, &mut rng).unwrap() {
                let expected = if row.metric.ends_with("standard_error") { 0.0 } else { 1.0 };
                assert!((row.value.unwrap() - expected).abs() < 1e-9, "{row:?}");
            }
        }
        assert_eq!(kind.cells(&grid(79)).unwrap_err().key(), "queries[0]");
        let other: toml::Table =
            "workloads = ['prefix:12']\nsamplings = []\nqueries = []\nsamples = 1".parse().unwrap();
        assert_eq!(kind.cells(&other).unwrap_err().key(), "workloads[0]");
    }
}
