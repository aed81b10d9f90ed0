//! Errors and times of mechanisms on all k-way marginals (S4, Fig. 4 and 6 to 11).

use std::sync::Arc;
use std::time::Instant;

use matmech::access::PrivateTable;
use matmech::data::MarginalCounter;
use matmech::mechanism::{self, MarginalErrors, Mechanism};
use matmech::privacy::Rho;
use matmech::workload::{Family, GroupFamily, GroupedWorkload};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::columns;
use crate::datasets::{Catalogue, DataUse, LoadedTable};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::files::first_bytes;
use crate::statistics::Sample;

/// Data sets × ε × mechanisms: errors and times.
///
/// Each row is the mean over the trials, with its standard error in `…_se`:
///
/// - `mean_l1`, `max_l1`, `mean_l2`: ‖μ_γ − μ̂_γ‖/N over the marginals of the workload, the metrics
///   of S4. The seconds of `mean_l1` are those of one trial, including the counting of the records,
///   the reconstruction of every marginal, and the counting of the true marginal. `seconds_se` is
///   their standard error; `trials` is the number of trials.
/// - Details of the mechanism: `rounds` and `residuals_per_round` of AIM+GReM, without the 1-way
///   marginals; `model_mb` of mechanisms with a model.
/// - `looks_per_round` of mechanisms that select in rounds: the number of candidate marginals that
///   are compared with the data.
/// - `expected_mean_l1`, if it has a closed form: the expectation of `mean_l1`. For ResidualPlanner
///   it is Σ_γ n_γ s_γ √(2/π)/(N·#W), where s_γ² is the variance of a cell.
///
/// Ratios between mechanisms are derived from these rows (`[[derive]]` in the config).
#[derive(Debug)]
pub struct AdaptiveErrors {
    /// The tables.
    pub catalogue: Catalogue,
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    delta: f64,
    /// Number of attributes per marginal.
    ways: usize,
    runs: Vec<Run>,
}

/// Data sets, privacy budgets and mechanisms, in all combinations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    datasets: Vec<String>,
    /// ε of (ε, δ)-differential privacy.
    epsilons: Vec<f64>,
    /// Mechanisms, such as `aim-pgm(max-mb=5)`.
    methods: Vec<String>,
    /// Number of independent runs.
    trials: usize,
    /// Number of attributes per marginal, instead of that of the grid.
    ways: Option<usize>,
    /// Seed of common random numbers: all methods at a data set and ε have the same noise streams,
    /// so that differences between methods are not those of their noise. By default every cell has
    /// its stream.
    noise_seed: Option<u64>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    epsilon: f64,
    delta: f64,
    ways: usize,
    trials: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    noise_seed: Option<u64>,
}

impl Kind for AdaptiveErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "adaptive-errors";
    const SUMMARY: &'static str =
        "mechanisms on all k-way marginals of tables, over privacy budgets: errors and times";
    const KEYS: &'static [&'static str] = &["dataset", columns::DATA, "epsilon"];
    const REVISION: u32 = 3;
    const ERRORS: &'static [&'static str] = &["mean_l1", "max_l1", "mean_l2", "expected_mean_l1"];
    const TIMED: &'static [&'static str] = &["seconds_se"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid { delta, ways, runs } = grid;
        check_ways(ways)?;
        let mut cells = Vec::new();
        for (i, run) in runs.iter().enumerate() {
            run.check(delta).map_err(|error| error.under(&format!("runs[{i}]")))?;
            let ways = run.ways.unwrap_or(ways);
            for (j, dataset) in run.datasets.iter().enumerate() {
                let key = format!("runs[{i}].datasets[{j}]");
                let data = self.catalogue.identify(dataset).map_err(|error| error.under(&key))?;
                for &epsilon in &run.epsilons {
                    cells.extend(run.methods.iter().map(|method| {
                        let params = Params {
                            data: data.clone(),
                            epsilon,
                            delta,
                            ways,
                            trials: run.trials,
                            noise_seed: run.noise_seed,
                        };
                        CellOf::new([dataset, &data.label(), &epsilon], method, params)
                    }));
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let mechanism = mechanism::by_name(method)?;
        let setting = Setting::new(&self.catalogue, &params)?;
        let mut outcomes = Outcomes::default();
        let mut common = params.noise_seed.map(|seed| {
            let Params { data, epsilon, delta, ways, .. } = &params;
            let stream =
                format!("adaptive errors; {seed}; {}; {epsilon}; {delta}; {ways}", data.name);
            ChaCha20Rng::from_seed(first_bytes(stream.as_bytes()))
        });
        for _ in 0..params.trials {
            let mut noise = ChaCha20Rng::from_rng(common.as_mut().unwrap_or(rng));
            outcomes.push(&setting.run(mechanism.as_ref(), &mut noise)?);
        }
        Ok(outcomes
            .rows()
            .into_iter()
            .chain(setting.expected_mean_l1(mechanism.as_ref())?)
            .collect())
    }
}

fn check_ways(ways: usize) -> Result<()> {
    if ways == 0 {
        return Err(Error::config(
            "ways",
            "at least 1 attribute per marginal",
            "0",
            "write `ways = 3`",
        ));
    }
    Ok(())
}

impl Run {
    fn check(&self, delta: f64) -> Result<()> {
        self.ways.map_or(Ok(()), check_ways)?;
        if self.trials == 0 {
            return Err(Error::config("trials", "at least 1", "0", "write `trials = 5`"));
        }
        for (i, method) in self.methods.iter().enumerate() {
            mechanism::by_name(method)
                .map_err(|error| Error::refused(format!("methods[{i}]"), error))?;
        }
        for (i, &epsilon) in self.epsilons.iter().enumerate() {
            Rho::of_approximate_rounded_down(epsilon, delta)
                .map_err(|error| Error::refused(format!("epsilons[{i}]"), error))?;
        }
        Ok(())
    }
}

/// The table, the workload and the budget of a cell.
#[derive(Debug)]
struct Setting {
    table: Arc<LoadedTable>,
    workload: GroupedWorkload,
    rho: Rho,
}

impl Setting {
    fn new(catalogue: &Catalogue, params: &Params) -> Result<Self> {
        let table = catalogue.load(&params.data.name)?;
        let identity = GroupFamily::Product(Family::IDENTITY);
        let workload = GroupedWorkload::all_ways(table.schema.clone(), &identity, &[params.ways])?;
        Ok(Self {
            table,
            workload,
            rho: Rho::of_approximate_rounded_down(params.epsilon, params.delta)?,
        })
    }

    fn run(&self, mechanism: &dyn Mechanism, rng: &mut ChaCha20Rng) -> Result<Outcome> {
        let records = &self.table.records;
        let started = Instant::now();
        let mut errors = MarginalErrors::of_records(records.len());
        let counter = MarginalCounter::new(records)?;
        let mut counts = Vec::new();
        let mut private = PrivateTable::of_records(records, self.rho, rng)?;
        let report = mechanism.run(&self.workload, &mut private, &mut |group, answers| {
            counter.count_into(self.workload.groups()[group].attributes(), &mut counts)?;
            errors.add(answers.iter().zip(&counts).map(|(answer, count)| answer - count));
            Ok(())
        })?;
        let spent = private.accountant().spent();
        if spent > self.rho.get() {
            return Err(Error::bug(
                mechanism.name(),
                format!("to spend at most its budget {}", self.rho),
                spent,
            ));
        }
        let seconds = started.elapsed().as_secs_f64();
        let mut details = report.details;
        // A mechanism that falls back to another one has no rounds.
        if let Some(&(_, rounds)) =
            details.iter().find(|(name, rounds)| *name == "rounds" && *rounds > 0.0)
        {
            details.push(("looks_per_round", private.looks() as f64 / rounds));
        }
        Ok(Outcome { errors, seconds, details })
    }

    /// Returns the expectation of `mean_l1` over the noise, if the mechanism knows it.
    fn expected_mean_l1(&self, mechanism: &dyn Mechanism) -> Result<Option<Row>> {
        let expected = mechanism.expected(&self.workload, self.rho)?.mean_l1;
        Ok(expected.map(|l1| Row::new("expected_mean_l1", l1 / self.table.records.len() as f64)))
    }
}

/// The outcome of one run.
#[derive(Debug)]
struct Outcome {
    errors: MarginalErrors,
    seconds: f64,
    /// Details that the mechanism reports, by name.
    details: Vec<(&'static str, f64)>,
}

/// The outcomes of the runs of one method.
#[derive(Debug, Default)]
struct Outcomes {
    mean_l1: Sample,
    mean_l2: Sample,
    max_l1: Sample,
    seconds: Sample,
    details: Vec<(&'static str, Sample)>,
}

impl Outcomes {
    fn push(&mut self, outcome: &Outcome) {
        self.mean_l1.push(outcome.errors.mean_l1());
        self.mean_l2.push(outcome.errors.mean_l2());
        self.max_l1.push(outcome.errors.max_l1());
        self.seconds.push(outcome.seconds);
        for &(name, value) in &outcome.details {
            match self.details.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sample)) => sample.push(value),
                None => self.details.push((name, [value].into_iter().collect())),
            }
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows =
            [("mean_l1", &self.mean_l1), ("mean_l2", &self.mean_l2), ("max_l1", &self.max_l1)]
                .into_iter()
                .flat_map(|(metric, sample)| sample.rows(metric))
                .collect::<Vec<_>>();
        // The first row, from which the comparison reads the time of the cell.
        rows[0].seconds = Some(self.seconds.mean());
        rows.push(Row::new("trials", self.mean_l1.len() as f64));
        rows.extend(self.seconds.standard_error().map(|error| Row::new("seconds_se", error)));
        rows.extend(self.details.iter().flat_map(|(metric, sample)| sample.rows(metric)));
        rows
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::datasets::Folders;
    use crate::experiment::Experiment;

    fn kind() -> (tempfile::TempDir, AdaptiveErrors) {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders {
            user: None,
            tables: root.path().join("tables"),
            downloads: root.path().join("downloads"),
        };
        let catalogue = Catalogue::new(root.path(), folders);
        (root, AdaptiveErrors { catalogue })
    }

    const GRID: &str = "delta = 1e-9\nways = 2\n\
                    runs = [{ datasets = ['titanic'], epsilons = [1.0, 10.0], trials = 3, \
                    methods = ['residual-planner', 'aim-grem'] }]";

    #[test]
    fn bad_grids_name_the_key() {
        let (_root, kind) = kind();
        for (from, to, key) in [
            ("'titanic'", "'titanik'", "runs[0].datasets[0]"),
            ("'aim-grem'", "'aim-gram'", "runs[0].methods[1]"),
            ("1.0,", "-1.0,", "runs[0].epsilons[0]"),
            ("trials = 3", "trials = 0", "runs[0].trials"),
            ("ways = 2", "ways = 0", "ways"),
            ("trials = 3", "trials = 3, ways = 0", "runs[0].ways"),
        ] {
            let text = GRID.replacen(from, to, 1);
            assert_ne!(text, GRID);
            assert_eq!(Experiment::cells(&kind, &text.parse().unwrap()).unwrap_err().key(), key);
        }
    }

    #[test]
    fn runs_can_have_other_ways_than_the_grid() {
        let (_root, kind) = kind();
        let text = GRID.replacen("trials = 3", "trials = 3, ways = 1", 1);
        let kind: &dyn Experiment = &kind;
        let ways = |text: &str| {
            let cells = kind.cells(&text.parse().unwrap()).unwrap();
            cells.iter().map(|cell| cell.params["ways"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!((ways(GRID), ways(&text)), (vec![2; 4], vec![1; 4]));
    }

    /// With common random numbers, the limits of a model that never binds do not change the errors.
    #[test]
    fn common_random_numbers_remove_the_noise_between_methods() {
        let (_root, kind) = kind();
        let kind: &dyn Experiment = &kind;
        let grid = "delta = 1e-9\nways = 2\nruns = [{ datasets = ['titanic'], epsilons = [0.1], \
                    trials = 2, methods = ['aim-pgm(max-mb=50)', 'aim-pgm(max-mb=100)'] }]";
        let errors = |grid: &str| -> Vec<f64> {
            let cells = kind.cells(&grid.parse().unwrap()).unwrap();
            let run = |(index, cell)| {
                values(kind.run(cell, &mut ChaCha20Rng::seed_from_u64(index)).unwrap())["mean_l1"]
            };
            (0..).zip(&cells).map(run).collect()
        };
        let common = errors(&grid.replace("trials = 2", "trials = 2, noise_seed = 5"));
        assert_eq!(common[0], common[1]);
        let separate = errors(grid);
        assert_ne!(separate[0], separate[1]);
    }

    fn values(rows: Vec<Row>) -> BTreeMap<String, f64> {
        rows.into_iter().map(|row| (row.metric, row.value.unwrap())).collect()
    }

    /// Compares ResidualPlanner with its expected error, within five standard errors, each at least 2%
    /// of the mean. For AIM+GReM, checks the inequalities between norms and the limits of a round.
    #[test]
    fn every_cell_reports_its_metrics() {
        let (_root, kind) = kind();
        let kind: &dyn Experiment = &kind;
        let cells = kind.cells(&GRID.parse().unwrap()).unwrap();
        assert_eq!(cells.len(), 2 * 2);
        assert!(
            cells.iter().all(|cell| cell.key[1].1 == "stand-in" && cell.data().unwrap().is_some())
        );
        let rows = |index: usize| {
            values(
                kind.run(&cells[index], &mut ChaCha20Rng::seed_from_u64(7 + index as u64)).unwrap(),
            )
        };
        for index in [0, 2] {
            let (planner, adaptive) = (rows(index), rows(index + 1));
            let off = planner["mean_l1"] / planner["expected_mean_l1"] - 1.0;
            assert!(
                off.abs() < 5.0 * (planner["mean_l1_se"] / planner["mean_l1"]).max(0.02),
                "{planner:?}"
            );
            assert!(
                adaptive["mean_l2"] < adaptive["mean_l1"]
                    && adaptive["mean_l1"] < adaptive["max_l1"],
                "{adaptive:?}"
            );
            assert!(adaptive["rounds"] >= 1.0 && adaptive["seconds_se"] >= 0.0);
            // A 2-way marginal has four residuals. There are 36 2-way marginals, 9 1-way marginals and
            // the total.
            assert!((1.0..=4.0).contains(&adaptive["residuals_per_round"]), "{adaptive:?}");
            assert!((1.0..=46.0).contains(&adaptive["looks_per_round"]), "{adaptive:?}");
        }
    }
}
