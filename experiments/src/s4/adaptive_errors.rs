//! ResidualPlanner and AIM+GReM on all marginals of a few attributes, over privacy budgets (S4, Fig. 4 and 6 to 10).

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use matmech::data::MarginalCounter;
use matmech::domain::AttributeSet;
use matmech::mechanism::aim_grem::{self, PrivateTable};
use matmech::mechanism::{BatchMarginals, ResidualNoise};
use matmech::privacy::zcdp;
use matmech::workload::attribute_sets;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::marginal_errors::{MarginalErrors, Trials};
use crate::config::ConfigError;
use crate::datasets::{Catalogue, DataUse, Table};
use crate::experiment::{Cell, Experiment, Row, parse_grid};

/// Data sets × ε × methods. Rows, each the mean over the trials with its standard error beside it (`…_se`):
///
/// - `mean_l1`, `max_l1`, `mean_l2`: ‖μ_γ − μ̂_γ‖/N over the workload's marginals, the metrics of S4; the seconds of
///   `mean_l1` are those of one trial, every marginal of the workload reconstructed;
/// - `rounds` and `residuals_per_round` of AIM+GReM, the 1-way marginals not counted, and `looks`: how many marginals of
///   candidates were compared with the data per round.
///
/// The method `aim-grem-over-residual-planner` runs both and reports the ratios of the means, `l1_ratio`, `l2_ratio` and
/// `max_ratio`.
pub struct AdaptiveErrors {
    /// The tables.
    pub catalogue: Catalogue,
}

const METHODS: [&str; 3] = ["residual-planner", "aim-grem", "aim-grem-over-residual-planner"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grid {
    datasets: Vec<String>,
    /// ε of (ε, δ)-differential privacy.
    epsilons: Vec<f64>,
    delta: f64,
    /// Attributes per marginal.
    ways: usize,
    /// Independent runs.
    trials: usize,
    methods: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Params {
    data: DataUse,
    epsilon: f64,
    delta: f64,
    ways: usize,
    trials: usize,
}

impl Experiment for AdaptiveErrors {
    fn kind(&self) -> &'static str {
        "adaptive-errors"
    }

    fn summary(&self) -> &'static str {
        "ResidualPlanner and AIM+GReM on all k-way marginals, over privacy budgets"
    }

    fn revision(&self) -> u32 {
        1
    }

    fn key_columns(&self) -> &'static [&'static str] {
        &["dataset", "data", "epsilon"]
    }

    fn cells(&self, grid: &toml::Table) -> Result<Vec<Cell>, ConfigError> {
        let grid: Grid = parse_grid(grid)?;
        if grid.trials == 0 {
            return Err(ConfigError::new("trials", "at least 1", "0", "write `trials = 5`"));
        }
        for (i, method) in grid.methods.iter().enumerate() {
            if !METHODS.contains(&method.as_str()) {
                return Err(ConfigError::unknown_name(format!("methods[{i}]"), "method", method, &METHODS));
            }
        }
        for (i, &epsilon) in grid.epsilons.iter().enumerate() {
            zcdp::rho_from_approximate(epsilon, grid.delta)
                .map_err(|e| ConfigError::sentence(format!("epsilons[{i}]"), e.to_string()))?;
        }
        let mut cells = Vec::new();
        for (i, dataset) in grid.datasets.iter().enumerate() {
            let key = format!("datasets[{i}]");
            if !Catalogue::names().contains(&dataset.as_str()) {
                return Err(ConfigError::unknown_name(key, "data set", dataset, Catalogue::names()));
            }
            let data = self.catalogue.identify(dataset).map_err(|e| ConfigError::sentence(key, format!("{e:#}")))?;
            for &epsilon in &grid.epsilons {
                cells.extend(grid.methods.iter().map(|method| Cell {
                    key: vec![
                        ("dataset".to_owned(), dataset.clone()),
                        ("data".to_owned(), data.label().to_owned()),
                        ("epsilon".to_owned(), epsilon.to_string()),
                    ],
                    method: method.clone(),
                    params: serde_json::json!(Params {
                        data: data.clone(),
                        epsilon,
                        delta: grid.delta,
                        ways: grid.ways,
                        trials: grid.trials,
                    }),
                }));
            }
        }
        Ok(cells)
    }

    fn run(&self, cell: &Cell, rng: &mut ChaCha20Rng) -> anyhow::Result<Vec<Row>> {
        let params: Params = serde_json::from_value(cell.params.clone()).context("parameters of the cell")?;
        let setting = Setting::new(&self.catalogue, &params)?;
        let mut of_planner = Outcomes::default();
        let mut of_adaptive = Outcomes::default();
        for _ in 0..params.trials {
            let mut own = ChaCha20Rng::from_rng(rng);
            if cell.method != "aim-grem" {
                of_planner.push(&setting.residual_planner(&mut own)?);
            }
            if cell.method != "residual-planner" {
                of_adaptive.push(&setting.aim_grem(&mut own)?);
            }
        }
        Ok(match cell.method.as_str() {
            "residual-planner" => of_planner.rows(),
            "aim-grem" => of_adaptive.rows(),
            _ => of_adaptive.over(&of_planner),
        })
    }
}

/// The data, the marginals asked for and the budget of a cell.
struct Setting {
    table: Arc<Table>,
    workload: Vec<Vec<usize>>,
    rho: f64,
}

impl Setting {
    fn new(catalogue: &Catalogue, params: &Params) -> anyhow::Result<Self> {
        let table = catalogue.load(&params.data.name)?;
        let workload = attribute_sets(&table.schema, &[params.ways])?;
        let rho = zcdp::rho_from_approximate(params.epsilon, params.delta)?;
        Ok(Self { table, workload, rho })
    }

    /// Its errors are its noise, whatever the data: nothing is counted.
    fn residual_planner(&self, rng: &mut ChaCha20Rng) -> anyhow::Result<Trial> {
        let started = Instant::now();
        let mut errors = MarginalErrors::of_records(self.table.records.len());
        BatchMarginals::plan(&self.table.schema, &self.workload, self.rho)?.errors(
            &ResidualNoise::from_rng(rng),
            &mut |_, noise| {
                errors.add(noise.iter().copied());
                Ok(())
            },
        )?;
        Ok(Trial { errors, seconds: started.elapsed().as_secs_f64(), adaptive: None })
    }

    fn aim_grem(&self, rng: &mut ChaCha20Rng) -> anyhow::Result<Trial> {
        let Table { schema, records, .. } = self.table.as_ref();
        let sets = self.workload.iter().map(|p| AttributeSet::from_positions(p)).collect::<Result<Vec<_>, _>>()?;
        let started = Instant::now();
        let mut private = PrivateTable::new(records, self.rho, rng)?;
        let outcome = aim_grem::run(schema, &sets, &mut private)?;
        let looks = private.looks();
        anyhow::ensure!(private.accountant().spent() <= self.rho, "the budget was exceeded; report this as a bug");
        let mut errors = MarginalErrors::of_records(records.len());
        let counter = MarginalCounter::new(records)?;
        let mut counts = Vec::new();
        for positions in &self.workload {
            let estimate = outcome.estimates.marginal(positions)?;
            counter.count_into(positions, &mut counts)?;
            errors.add(estimate.iter().zip(&counts).map(|(e, c)| e - c));
        }
        let seconds = started.elapsed().as_secs_f64();
        let rounds = outcome.rounds.len() as f64;
        let adaptive = Adaptive {
            rounds,
            residuals_per_round: outcome.residuals_per_round(),
            looks_per_round: looks as f64 / rounds,
        };
        Ok(Trial { errors, seconds, adaptive: Some(adaptive) })
    }
}

/// One run.
struct Trial {
    errors: MarginalErrors,
    seconds: f64,
    adaptive: Option<Adaptive>,
}

/// How an adaptive run got there.
struct Adaptive {
    rounds: f64,
    residuals_per_round: f64,
    looks_per_round: f64,
}

/// The runs of one method.
#[derive(Default)]
struct Outcomes {
    mean_l1: Trials,
    mean_l2: Trials,
    max_l1: Trials,
    seconds: Trials,
    rounds: Trials,
    residuals_per_round: Trials,
    looks_per_round: Trials,
}

impl Outcomes {
    fn push(&mut self, trial: &Trial) {
        self.mean_l1.push(trial.errors.mean_l1());
        self.mean_l2.push(trial.errors.mean_l2());
        self.max_l1.push(trial.errors.max_l1());
        self.seconds.push(trial.seconds);
        if let Some(adaptive) = &trial.adaptive {
            self.rounds.push(adaptive.rounds);
            self.residuals_per_round.push(adaptive.residuals_per_round);
            self.looks_per_round.push(adaptive.looks_per_round);
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = [("mean_l1", &self.mean_l1), ("mean_l2", &self.mean_l2), ("max_l1", &self.max_l1)]
            .into_iter()
            .flat_map(|(metric, trials)| trials.rows(metric))
            .collect::<Vec<_>>();
        // First, because the comparison takes a cell's time from its first row.
        rows[0].seconds = Some(self.seconds.mean());
        if !self.rounds.is_empty() {
            rows.extend(self.rounds.rows("rounds"));
            rows.extend(self.residuals_per_round.rows("residuals_per_round"));
            rows.extend(self.looks_per_round.rows("looks_per_round"));
        }
        rows
    }

    /// The ratios of the means.
    fn over(&self, other: &Self) -> Vec<Row> {
        [
            ("l1_ratio", &self.mean_l1, &other.mean_l1),
            ("l2_ratio", &self.mean_l2, &other.mean_l2),
            ("max_ratio", &self.max_l1, &other.max_l1),
        ]
        .into_iter()
        .map(|(metric, own, other)| Row::new(metric, own.mean() / other.mean()))
        .collect()
    }
}
