//! ResidualPlanner and AIM+GReM on all marginals of a few attributes, over privacy budgets (S4, Fig. 4 and 6 to 10).

use std::sync::Arc;
use std::time::Instant;

use matmech::data::MarginalCounter;
use matmech::domain::AttributeSet;
use matmech::mechanism::aim_grem::{self, PrivateTable};
use matmech::mechanism::{BatchMarginals, MarginalErrors, ResidualNoise};
use matmech::privacy::zcdp;
use matmech::workload::attribute_sets;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::columns;
use crate::datasets::{Catalogue, DataUse, Table};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::statistics::Sample;

/// Data sets × ε × methods. Rows, each the mean over the trials with its standard error beside it (`…_se`):
///
/// - `mean_l1`, `max_l1`, `mean_l2`: ‖μ_γ − μ̂_γ‖/N over the workload's marginals, the metrics of S4; the seconds of
///   `mean_l1` are those of one trial, every marginal of the workload reconstructed;
/// - `rounds` and `residuals_per_round` of AIM+GReM, the 1-way marginals not counted, and `looks`: how many marginals of
///   candidates were compared with the data per round.
///
/// - `expected_mean_l1` of ResidualPlanner: the same without sampling, Σ_γ n_γ s_γ √(2/π)/(N·#W) with s_γ² the exact variance
///   of a cell.
///
/// The method `aim-grem-over-residual-planner` runs both and reports the ratios of the means, `l1_ratio`, `l2_ratio` and
/// `max_ratio`. The cell of a claim of the paper, on one data set, reports the largest `l1_ratio` over all ε as `worst_ratio`.
pub struct AdaptiveErrors {
    /// The tables.
    pub catalogue: Catalogue,
}

const RATIO: &str = "aim-grem-over-residual-planner";

const METHODS: [&str; 3] = ["residual-planner", "aim-grem", RATIO];

/// The key column `id` of cells that are not about a claim.
const NO_CLAIM: &str = "-";

/// What S4 says of the worst ratio, under the ids of the published values.
const CLAIMS: [&str; 2] = ["fig4-rp-worst-low", "fig4-rp-worst-high"];

/// The grid.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    datasets: Vec<String>,
    /// ε of (ε, δ)-differential privacy.
    epsilons: Vec<f64>,
    delta: f64,
    /// Attributes per marginal.
    ways: usize,
    /// Independent runs.
    trials: usize,
    methods: Vec<String>,
    /// Data sets on which both methods are compared at every ε.
    ratios: Vec<String>,
    /// Claims about the worst ratio, tested on the data sets of `ratios`.
    claims: Vec<String>,
}

/// The params of a cell.
#[derive(Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    /// One, but for claims.
    epsilons: Vec<f64>,
    delta: f64,
    ways: usize,
    trials: usize,
    claim: bool,
}

impl Kind for AdaptiveErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "adaptive-errors";
    const SUMMARY: &'static str = "ResidualPlanner and AIM+GReM on all k-way marginals, over privacy budgets";
    const KEYS: &'static [&'static str] = &["id", "dataset", columns::DATA, "epsilon"];
    const ERRORS: &'static [&'static str] = &["mean_l1", "max_l1", "mean_l2", "expected_mean_l1"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        grid.check()?;
        let mut cells = Vec::new();
        for (i, dataset) in grid.datasets.iter().enumerate() {
            let data = self.identify(&format!("datasets[{i}]"), dataset)?;
            for &epsilon in &grid.epsilons {
                cells.extend(
                    grid.methods
                        .iter()
                        .map(|method| grid.cell(NO_CLAIM, &data, &[epsilon], epsilon.to_string(), method)),
                );
            }
        }
        for (i, dataset) in grid.ratios.iter().enumerate() {
            let data = self.identify(&format!("ratios[{i}]"), dataset)?;
            for &epsilon in &grid.epsilons {
                cells.push(grid.cell(NO_CLAIM, &data, &[epsilon], epsilon.to_string(), RATIO));
            }
            for claim in &grid.claims {
                cells.push(grid.cell(claim, &data, &grid.epsilons, "all".to_owned(), RATIO));
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let mut ratios = Vec::new();
        for &epsilon in &params.epsilons {
            let setting = Setting::new(&self.catalogue, &params, epsilon)?;
            let mut of_planner = Outcomes::default();
            let mut of_adaptive = Outcomes::default();
            for _ in 0..params.trials {
                let mut own = ChaCha20Rng::from_rng(rng);
                if method != "aim-grem" {
                    of_planner.push(&setting.residual_planner(&mut own)?);
                }
                if method != "residual-planner" {
                    of_adaptive.push(&setting.aim_grem(&mut own)?);
                }
            }
            match method {
                "residual-planner" => {
                    let expected = Row::new("expected_mean_l1", setting.expected_mean_l1()?);
                    return Ok(of_planner.rows().into_iter().chain([expected]).collect());
                }
                "aim-grem" => return Ok(of_adaptive.rows()),
                _ => ratios.push(of_adaptive.over(&of_planner)),
            }
        }
        if params.claim {
            let worst = ratios.iter().filter_map(|rows| rows[0].value).fold(0.0, f64::max);
            return Ok(vec![Row::new("worst_ratio", worst)]);
        }
        Ok(ratios.into_iter().flatten().collect())
    }
}

impl AdaptiveErrors {
    fn identify(&self, key: &str, dataset: &str) -> Result<DataUse> {
        self.catalogue.identify(dataset).map_err(|error| error.under(key))
    }
}

impl Grid {
    fn check(&self) -> Result<()> {
        if self.trials == 0 {
            return Err(Error::config("trials", "at least 1", "0", "write `trials = 5`"));
        }
        for (names, known, key, what) in
            [(&self.methods, &METHODS[..], "methods", "method"), (&self.claims, &CLAIMS[..], "claims", "claim")]
        {
            if let Some((i, name)) = names.iter().enumerate().find(|(_, name)| !known.contains(&name.as_str())) {
                return Err(Error::unknown_name(format!("{key}[{i}]"), what, name, known));
            }
        }
        if self.ways == 0 {
            return Err(Error::config("ways", "at least 1 attribute per marginal", "0", "write `ways = 3`"));
        }
        for (i, &epsilon) in self.epsilons.iter().enumerate() {
            zcdp::rho_from_approximate(epsilon, self.delta).map_err(|e| Error::refused(format!("epsilons[{i}]"), e))?;
        }
        Ok(())
    }

    fn cell(&self, id: &str, data: &DataUse, epsilons: &[f64], epsilon: String, method: &str) -> CellOf<Params> {
        let params = Params {
            data: data.clone(),
            epsilons: epsilons.to_vec(),
            delta: self.delta,
            ways: self.ways,
            trials: self.trials,
            claim: id != NO_CLAIM,
        };
        CellOf::new([&id, &data.name, &data.label(), &epsilon], method, params)
    }
}

/// The data, the marginals asked for and the budget of a cell.
struct Setting {
    table: Arc<Table>,
    workload: Vec<Vec<usize>>,
    rho: f64,
}

impl Setting {
    fn new(catalogue: &Catalogue, params: &Params, epsilon: f64) -> Result<Self> {
        let table = catalogue.load(&params.data.name)?;
        let workload = attribute_sets(&table.schema, &[params.ways])?;
        let rho = zcdp::rho_from_approximate(epsilon, params.delta)?;
        Ok(Self { table, workload, rho })
    }

    /// Its errors are its noise, whatever the data: nothing is counted.
    fn residual_planner(&self, rng: &mut ChaCha20Rng) -> Result<Trial> {
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

    /// The mean over the noise of what [`Setting::residual_planner`] samples: a cell with variance s² is off by s √(2/π).
    fn expected_mean_l1(&self) -> Result<f64> {
        let Table { schema, records, .. } = self.table.as_ref();
        let plan = BatchMarginals::plan(schema, &self.workload, self.rho)?;
        Ok(plan.expected_mean_l1()? / records.len() as f64)
    }

    fn aim_grem(&self, rng: &mut ChaCha20Rng) -> Result<Trial> {
        let Table { schema, records, .. } = self.table.as_ref();
        let sets =
            self.workload.iter().map(|p| AttributeSet::from_positions(p)).collect::<matmech::Result<Vec<_>>>()?;
        let started = Instant::now();
        let mut private = PrivateTable::new(records, self.rho, rng)?;
        let outcome = aim_grem::run(schema, &sets, &mut private)?;
        let looks = private.looks();
        let spent = private.accountant().spent();
        if spent > self.rho {
            return Err(Error::bug("AIM+GReM", format!("to spend at most its budget {}", self.rho), spent));
        }
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
    mean_l1: Sample,
    mean_l2: Sample,
    max_l1: Sample,
    seconds: Sample,
    rounds: Sample,
    residuals_per_round: Sample,
    looks_per_round: Sample,
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
            .flat_map(|(metric, sample)| sample.rows(metric))
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

#[cfg(test)]
mod tests;
