//! Reconstruction from a fixed set of noisy marginals: GReM-MLE and Private-PGM (S4, Sec. 5.2).

use std::time::Instant;

use matmech::access::{PaidAccess, PrivateTable, Question};
use matmech::data::MarginalCounter;
use matmech::domain::AttributeSet;
use matmech::estimation::ResidualEstimates;
use matmech::estimation::graphical_model::{FitSettings, GraphicalModel};
use matmech::privacy::{NoiseStream, Rho};
use matmech::workload::attribute_sets;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::columns;
use crate::datasets::{Catalogue, DataUse, LoadedTable};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::statistics::Sample;

/// Data sets × ε × reconstructions of the same noisy marginals.
///
/// Measured, with isotropic noise and equal parts of the budget, are all 1-way marginals and the
/// pairs of neighbouring attributes in the order of the table, whose graphical model is a chain.
/// `mean_l1` is the mean over the trials of the mean over all 3-way marginals of ‖μ_γ − μ̂_γ‖₁/N;
/// its `seconds` are those of one reconstruction.
#[derive(Debug)]
pub struct FixedMeasurements {
    /// The tables.
    pub catalogue: Catalogue,
}

/// The reconstructions.
const METHODS: [&str; 2] = ["grem-mle", "private-pgm"];

/// The fit of the graphical model, as after the last round of AIM+PGM.
const FIT: FitSettings = FitSettings { iterations: 2500, tolerance: 1e-5, stall: 5e-4 };

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    datasets: Vec<String>,
    epsilons: Vec<f64>,
    delta: f64,
    trials: usize,
    /// Seed of the noise, which both reconstructions share.
    noise_seed: u64,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    epsilon: f64,
    delta: f64,
    trials: usize,
    noise_seed: u64,
}

impl Kind for FixedMeasurements {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "fixed-measurements";
    const SUMMARY: &'static str = "GReM-MLE and Private-PGM from the same noisy marginals";
    const KEYS: &'static [&'static str] = &["dataset", columns::DATA, "epsilon"];
    const ERRORS: &'static [&'static str] = &["mean_l1"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid { datasets, epsilons, delta, trials, noise_seed } = grid;
        if trials == 0 {
            return Err(Error::config("trials", "at least 1", "0", "write `trials = 5`"));
        }
        let mut cells = Vec::new();
        for (i, dataset) in datasets.iter().enumerate() {
            let data = self
                .catalogue
                .identify(dataset)
                .map_err(|error| error.under(&format!("datasets[{i}]")))?;
            for (j, &epsilon) in epsilons.iter().enumerate() {
                Rho::of_approximate_rounded_down(epsilon, delta)
                    .map_err(|error| Error::refused(format!("epsilons[{j}]"), error))?;
                cells.extend(METHODS.map(|method| {
                    let params = Params { data: data.clone(), epsilon, delta, trials, noise_seed };
                    CellOf::new([dataset, &data.label(), &epsilon], method, params)
                }));
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let table = self.catalogue.load(&params.data.name)?;
        let rho = Rho::of_approximate_rounded_down(params.epsilon, params.delta)?;
        let mut noise = ChaCha20Rng::seed_from_u64(params.noise_seed);
        let (mut errors, mut seconds) = (Sample::default(), Sample::default());
        for _ in 0..params.trials {
            let measured = measure(&table, rho, &mut noise)?;
            let started = Instant::now();
            let error = if method == METHODS[0] {
                let mut residuals = ResidualEstimates::new(&table.schema);
                for (gamma, values, variance) in &measured {
                    residuals.update_by_marginal(*gamma, values, *variance)?;
                }
                seconds.push(started.elapsed().as_secs_f64());
                mean_l1(&table, &|gamma| residuals.marginal(gamma))?
            } else {
                let sizes = table.schema.sizes();
                let mut model = GraphicalModel::new(&sizes, AttributeSet::first(sizes.len()))?;
                for (gamma, values, variance) in measured {
                    model.measure(gamma, values, variance)?;
                }
                model.fit(FIT)?;
                seconds.push(started.elapsed().as_secs_f64());
                mean_l1(&table, &|gamma| model.marginals().marginal(gamma))?
            };
            errors.push(error);
        }
        let mut rows =
            vec![Row { seconds: Some(seconds.mean()), ..Row::new("mean_l1", errors.mean()) }];
        rows.extend(errors.standard_error().map(|error| Row::new("mean_l1_se", error)));
        Ok(rows)
    }
}

/// Attributes, noisy cells and variance of a measured marginal.
type Measured = (AttributeSet, Vec<f64>, f64);

/// Measures all 1-way marginals and the pairs of neighbouring attributes.
fn measure(table: &LoadedTable, rho: Rho, rng: &mut ChaCha20Rng) -> Result<Vec<Measured>> {
    let count = table.schema.sizes().len();
    let single = (0..count).map(AttributeSet::single);
    let pairs = (1..count).map(|k| AttributeSet::single(k - 1).union(AttributeSet::single(k)));
    let sets: Vec<AttributeSet> = single.chain(pairs).collect();
    // The sum of equal shares may exceed the budget by rounding.
    let share = rho.get() * (1.0 - 1e-12) / sets.len() as f64;
    let variance = 0.5 / share;
    let mut private = PrivateTable::of_records(&table.records, rho, rng)?;
    sets.into_iter()
        .enumerate()
        .map(|(round, attributes)| {
            let question = Question::Marginal { attributes, variance };
            let stream = NoiseStream::Separate { round: round as u64 };
            Ok((attributes, private.measure(&question, stream)?, variance))
        })
        .collect()
}

/// Returns the mean over all 3-way marginals of ‖μ_γ − μ̂_γ‖₁/N.
fn mean_l1(
    table: &LoadedTable,
    estimate: &dyn Fn(AttributeSet) -> matmech::Result<Vec<f64>>,
) -> Result<f64> {
    let counter = MarginalCounter::new(&table.records)?;
    let workload = attribute_sets(&table.schema, &[3])?;
    let (mut counts, mut sum) = (Vec::new(), 0.0);
    for &gamma in &workload {
        counter.count_into(gamma, &mut counts)?;
        let estimated = estimate(gamma)?;
        sum += counts.iter().zip(&estimated).map(|(x, y)| (x - y).abs()).sum::<f64>();
    }
    Ok(sum / (table.records.len() as f64 * workload.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::datasets::Folders;
    use crate::experiment::Experiment;

    fn experiment() -> FixedMeasurements {
        let missing = std::env::temp_dir().join("matmech-no-data");
        let folders = Folders { user: None, tables: missing.clone(), downloads: missing.clone() };
        FixedMeasurements { catalogue: Catalogue::new(&missing, folders) }
    }

    const GRID: &str = "datasets = ['titanic']\nepsilons = [1000.0]\ndelta = 1e-9\ntrials = 2\n\
                        noise_seed = 1\n";

    /// With little noise both reconstructions have the measured marginals, and their errors are
    /// those of their assumptions on the unmeasured ones.
    #[test]
    fn both_reconstructions_fit_the_measured_marginals() {
        let experiment = experiment();
        let table = experiment.catalogue.load("titanic").unwrap();
        let rho = Rho::new(1e6).unwrap();
        let measured = measure(&table, rho, &mut ChaCha20Rng::seed_from_u64(2)).unwrap();
        let count = table.schema.sizes().len();
        assert_eq!(measured.len(), 2 * count - 1);
        for (gamma, values, _) in &measured {
            let truth = table.records.marginal(*gamma).unwrap();
            assert!(truth.iter().zip(values).all(|(x, y)| (x - y).abs() < 1.0));
        }
        let kind: &dyn Experiment = &experiment;
        let cells = kind.cells(&GRID.parse().unwrap()).unwrap();
        let errors = [0, 1].map(|k: usize| {
            let rows = kind.run(&cells[k], &mut ChaCha20Rng::seed_from_u64(0)).unwrap();
            rows[0].value.unwrap()
        });
        assert!(errors.iter().all(|error| *error > 0.0 && *error < 2.0), "{errors:?}");
        assert!(errors[0] != errors[1]);
    }

    #[test]
    fn bad_grids_name_the_key() {
        for (from, to, key) in [
            ("'titanic'", "'titan'", "datasets[0]"),
            ("[1000.0]", "[0.0]", "epsilons[0]"),
            ("trials = 2", "trials = 0", "trials"),
        ] {
            let grid = GRID.replace(from, to).parse().unwrap();
            let error = Experiment::cells(&experiment(), &grid).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }
}
