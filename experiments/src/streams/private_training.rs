//! Accuracy of private logistic regression with the noise of strategies.

use matmech::privacy::sampled::PoissonSampling;
use matmech::strategy::allocation::MonteCarloOptions;
use matmech::strategy::calibration::{Calibration, NoiseStrategy, noise_guarantee};
use matmech::strategy::{Objective, Participation, Problem, Request};
use matmech::workload::Workload;
use ndarray::Array2;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use super::logistic::{Examples, Model};
use crate::columns;
use crate::datasets::{Catalogue, DataUse};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::statistics::Sample;

/// The method of independent noise on Poisson-sampled batches.
const POISSON: &str = "poisson";

/// The method without noise.
const NONE: &str = "none";

/// Participations × ε × strategies: `accuracy` on records that are in no other part, its standard
/// error over the trials, the learning `rate`, and `sigma`, the noise multiplier for (ε, δ).
///
/// The gradient of a record has norm below 1 without clipping. A step with batch B moves the model by
/// −rate · (Σ_B gradients + noise)/(training/steps). The rate is the one with the highest mean accuracy
/// on the validation records; this choice is not part of the privacy cost. Every trial draws the
/// training and the validation records, the batches and the noise; all rates use the same ones.
///
/// Batches are fixed parts of a random order with `epochs:K`, those of drawn bins with `random:K`, and
/// Poisson samples with the method `poisson`. `none` adds no noise.
#[derive(Debug)]
pub struct PrivateTraining {
    /// The tables.
    pub catalogue: Catalogue,
}

/// The grid: a list of products of lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    dataset: String,
    setting: Setting,
    runs: Vec<Run>,
}

/// What all cells share.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The attribute of two values that is predicted.
    label: String,
    delta: f64,
    /// The number of records of each part.
    training: usize,
    validation: usize,
    /// Steps of an epoch.
    steps: usize,
    epochs: usize,
    rates: Vec<f64>,
    trials: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    epsilons: Vec<f64>,
    /// `epochs` or `random`.
    participations: Vec<String>,
    /// Strategies, `none`, or `poisson` with `random`.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    setting: Setting,
    participation: String,
    epsilon: f64,
}

/// The noise of all steps.
struct Noise {
    /// σ.
    sigma: f64,
    /// C⁻¹, n×n.
    inverse: Array2<f64>,
}

impl Kind for PrivateTraining {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "private-training";
    const SUMMARY: &'static str =
        "accuracy of private logistic regression with the noise of strategies";
    const KEYS: &'static [&'static str] = &["dataset", columns::DATA, "participation", "epsilon"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid { dataset, setting, runs } = grid;
        let data = self.catalogue.identify(&dataset).map_err(|error| error.under("dataset"))?;
        let sizes = [setting.training, setting.steps, setting.epochs, setting.trials];
        if sizes.contains(&0) || setting.rates.is_empty() {
            let expected = "at least 1 record, step, epoch, trial and rate";
            return Err(Error::config("grid", expected, "none", "write e.g. `trials = 10`"));
        }
        let mut cells = Vec::new();
        for (r, run) in runs.iter().enumerate() {
            for participation in &run.participations {
                let text = format!("{participation}:{}", setting.epochs);
                let refused = |error| Error::refused(format!("runs[{r}].participations"), error);
                text.parse::<Participation>().map_err(refused)?;
                for (i, method) in run.methods.iter().enumerate() {
                    if ![NONE, POISSON].contains(&method.as_str()) {
                        Request::parse(method).map_err(|error| {
                            Error::refused(format!("runs[{r}].methods[{i}]"), error)
                        })?;
                    }
                    for epsilon in &run.epsilons {
                        let params = Params {
                            data: data.clone(),
                            setting: setting.clone(),
                            participation: text.clone(),
                            epsilon: *epsilon,
                        };
                        let keys: [&dyn ToString; 4] = [&dataset, &data.label(), &text, epsilon];
                        cells.push(CellOf::new(keys, method, params));
                    }
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let Params { data, setting, participation, epsilon } = params;
        let table = self.catalogue.load(&data.name)?;
        let examples = Examples::new(&table, &setting.label)?;
        let needed = setting.training + setting.validation;
        if needed >= examples.len() {
            let found = format!("{} records", examples.len());
            let remedy = "lower `training` or `validation`";
            return Err(Error::config(
                "training",
                format!("more than {needed} records"),
                found,
                remedy,
            ));
        }
        let participation: Participation = participation.parse()?;
        let noise = noise(method, participation, epsilon, &setting)?;
        let mut validated = vec![Sample::default(); setting.rates.len()];
        let mut tested = validated.clone();
        for _ in 0..setting.trials {
            let mut trial = ChaCha20Rng::from_rng(rng);
            let mut order: Vec<usize> = (0..examples.len()).collect();
            order.shuffle(&mut trial);
            let (training, others) = order.split_at(setting.training);
            let (validation, test) = others.split_at(setting.validation);
            let batches = batches(training, &setting, participation, method, &mut trial);
            let noise = noise.as_ref().map(|noise| noise.rows(examples.features(), &mut trial));
            for (r, rate) in setting.rates.iter().enumerate() {
                let scale = rate * setting.steps as f64 / setting.training as f64;
                let mut model = Model::new(&examples);
                for (t, batch) in batches.iter().enumerate() {
                    let row = noise.as_ref().map(|noise| noise.row(t));
                    model.step(batch, row, scale);
                }
                validated[r].push(model.accuracy(validation));
                tested[r].push(model.accuracy(test));
            }
        }
        let rates = 0..setting.rates.len();
        let best = rates.max_by(|a, b| validated[*a].mean().total_cmp(&validated[*b].mean()));
        let best = best.unwrap_or_default();
        let mut rows = tested[best].rows("accuracy");
        rows.push(Row::new("rate", setting.rates[best]));
        rows.extend(noise.map(|noise| Row::new("sigma", noise.sigma)));
        rows.push(Row::new("trials", setting.trials as f64));
        Ok(rows)
    }
}

/// Returns the noise of a method; none without noise.
fn noise(
    method: &str,
    participation: Participation,
    epsilon: f64,
    setting: &Setting,
) -> Result<Option<Noise>> {
    let steps = setting.steps * setting.epochs;
    let delta = setting.delta;
    if method == NONE {
        return Ok(None);
    }
    if method == POISSON {
        let sampling = PoissonSampling::new(1.0 / setting.steps as f64, steps)?;
        let sigma = sampling.sigma(epsilon, delta)?;
        return Ok(Some(Noise { sigma, inverse: Array2::eye(steps) }));
    }
    let calibration = Calibration::Sigma { epsilon, delta };
    let participation = calibration.target_of(participation);
    let workload = Workload::parse(&format!("prefix:{steps}"))?;
    let problem = Problem { workload: &workload, objective: Objective::Mean, participation };
    let strategy = NoiseStrategy::of_text(method, &problem)?;
    let sigma =
        noise_guarantee(&strategy, &problem, calibration, MonteCarloOptions::default())?.sigma;
    let inverse = matmech::linalg::inverse_of_lower(strategy.matrix(&problem)?.view());
    Ok(Some(Noise { sigma, inverse }))
}

impl Noise {
    /// Draws the noise of all steps, n × features.
    fn rows(&self, features: usize, rng: &mut ChaCha20Rng) -> Array2<f64> {
        let shape = (self.inverse.nrows(), features);
        let normals = Array2::from_shape_simple_fn(shape, || {
            self.sigma * rng.sample::<f64, _>(StandardNormal)
        });
        matmech::linalg::matmul(self.inverse.view(), normals.view())
    }
}

/// Draws the batches of all steps.
fn batches(
    training: &[usize],
    setting: &Setting,
    participation: Participation,
    method: &str,
    rng: &mut ChaCha20Rng,
) -> Vec<Vec<usize>> {
    let Setting { steps, epochs, .. } = *setting;
    if method == POISSON {
        let probability = 1.0 / steps as f64;
        let mut sampled =
            || training.iter().copied().filter(|_| rng.random_bool(probability)).collect();
        return (0..steps * epochs).map(|_| sampled()).collect();
    }
    let mut epoch = vec![Vec::new(); steps];
    for (position, record) in training.iter().enumerate() {
        let bin = match participation {
            Participation::Random { .. } => rng.random_range(0..steps),
            _ => position % steps,
        };
        epoch[bin].push(*record);
    }
    (0..steps * epochs).map(|t| epoch[t % steps].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_those_of_the_participation() {
        let setting = Setting {
            label: String::new(),
            delta: 1e-6,
            training: 40,
            validation: 0,
            steps: 4,
            epochs: 3,
            rates: vec![1.0],
            trials: 1,
        };
        let records: Vec<usize> = (100..140).collect();
        let target = None;
        for (participation, method) in [
            (Participation::Epochs(3), "identity"),
            (Participation::Random { epochs: 3, target }, "identity"),
            (Participation::Random { epochs: 3, target }, POISSON),
        ] {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let found = batches(&records, &setting, participation, method, &mut rng);
            assert_eq!(found.len(), 12);
            let mut epoch = found[..4].concat();
            epoch.sort_unstable();
            let sizes: Vec<usize> = found[..4].iter().map(Vec::len).collect();
            if method == POISSON {
                assert!(found[..4] != found[4..8] && epoch != records);
                continue;
            }
            assert_eq!((epoch, &found[..4]), (records.clone(), &found[8..]));
            let equal = sizes == [10; 4];
            assert_eq!(equal, participation == Participation::Epochs(3), "{sizes:?}");
        }
    }
}
