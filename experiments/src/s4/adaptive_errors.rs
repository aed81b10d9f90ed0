//! Mechanisms on all marginals of a few attributes, over privacy budgets (S4, Fig. 4 and 6 to 10).

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
use crate::statistics::Sample;

/// Data sets × ε × methods. Rows, each the mean over the trials with its standard error beside it (`…_se`):
///
/// - `mean_l1`, `max_l1`, `mean_l2`: ‖μ_γ − μ̂_γ‖/N over the workload's marginals, the metrics of S4; the seconds of
///   `mean_l1` are those of one trial, every marginal of the workload reconstructed;
/// - what a mechanism reports of its runs: of AIM+GReM `rounds` and `residuals_per_round`, the 1-way marginals not counted; and
///   for mechanisms that select in rounds `looks_per_round`: how many marginals of candidates were compared with the data;
/// - `expected_mean_l1` where it has a closed form: the same without sampling, of ResidualPlanner Σ_γ n_γ s_γ √(2/π)/(N·#W) with
///   s_γ² the exact variance of a cell.
///
/// A method is a mechanism, or two of them: `a-over-b` runs both and reports the ratios of the means, `l1_ratio`, `l2_ratio` and
/// `max_ratio`. The cell of a claim of the paper, on one data set, reports the largest `l1_ratio` over all ε as `worst_ratio`.
#[derive(Debug)]
pub struct AdaptiveErrors {
    /// The tables.
    pub catalogue: Catalogue,
}

/// The ratio that the paper's claims are about.
const RATIO: &str = "aim-grem-over-residual-planner";

/// The key column `id` of cells that are not about a claim.
const NO_CLAIM: &str = "-";

/// What S4 says of the worst ratio, under the ids of the published values.
const CLAIMS: [&str; 2] = ["fig4-rp-worst-low", "fig4-rp-worst-high"];

/// The grid.
#[derive(Debug, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
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
        let unknown = || Error::bug("a cell", "a method of this kind of experiment", method);
        let method = Method::named(method).ok_or_else(unknown)?;
        let mut ratios = Vec::new();
        for &epsilon in &params.epsilons {
            let setting = Setting::new(&self.catalogue, &params, epsilon)?;
            let (mut own, mut other) = (Outcomes::default(), Outcomes::default());
            for _ in 0..params.trials {
                let mut noise = ChaCha20Rng::from_rng(rng);
                if let Some(other_mechanism) = &method.over {
                    other.push(&setting.run(other_mechanism.as_ref(), &mut noise)?);
                }
                own.push(&setting.run(method.mechanism.as_ref(), &mut noise)?);
            }
            if method.over.is_none() {
                let expected = setting.expected_mean_l1(method.mechanism.as_ref())?;
                return Ok(own.rows().into_iter().chain(expected).collect());
            }
            ratios.push(own.over(&other));
        }
        if params.claim {
            let worst = ratios.iter().filter_map(|rows| rows[0].value).fold(0.0, f64::max);
            return Ok(vec![Row::new("worst_ratio", worst)]);
        }
        Ok(ratios.into_iter().flatten().collect())
    }
}

/// A mechanism, or the comparison of one with another.
#[derive(Debug)]
struct Method {
    mechanism: Box<dyn Mechanism>,
    over: Option<Box<dyn Mechanism>>,
}

impl Method {
    fn named(name: &str) -> Option<Self> {
        let (mechanism, over) = name.split_once("-over-").map_or((name, None), |(own, other)| (own, Some(other)));
        let over = match over {
            Some(other) => Some(mechanism::by_name(other).ok()?),
            None => None,
        };
        Some(Method { mechanism: mechanism::by_name(mechanism).ok()?, over })
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
        if let Some((i, name)) = self.methods.iter().enumerate().find(|(_, name)| Method::named(name).is_none()) {
            let mechanisms = mechanism::mechanisms();
            let known: Vec<&str> = mechanisms.iter().map(|m| m.name()).chain([RATIO]).collect();
            return Err(Error::unknown_name(format!("methods[{i}]"), "method", name, &known));
        }
        let unknown = |name: &str| !CLAIMS.contains(&name);
        if let Some((i, name)) = self.claims.iter().enumerate().find(|(_, name)| unknown(name)) {
            return Err(Error::unknown_name(format!("claims[{i}]"), "claim", name, &CLAIMS));
        }
        if self.ways == 0 {
            return Err(Error::config("ways", "at least 1 attribute per marginal", "0", "write `ways = 3`"));
        }
        for (i, &epsilon) in self.epsilons.iter().enumerate() {
            Rho::of_approximate_rounded_down(epsilon, self.delta)
                .map_err(|e| Error::refused(format!("epsilons[{i}]"), e))?;
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
#[derive(Debug)]
struct Setting {
    table: Arc<LoadedTable>,
    workload: GroupedWorkload,
    rho: Rho,
}

impl Setting {
    fn new(catalogue: &Catalogue, params: &Params, epsilon: f64) -> Result<Self> {
        let table = catalogue.load(&params.data.name)?;
        let identity = GroupFamily::Product(Family::IDENTITY);
        let workload = GroupedWorkload::all_ways(table.schema.clone(), &identity, &[params.ways])?;
        Ok(Self { table, workload, rho: Rho::of_approximate_rounded_down(epsilon, params.delta)? })
    }

    /// The errors of a linear mechanism are its noise, whatever the data: nothing is counted.
    fn run(&self, mechanism: &dyn Mechanism, rng: &mut ChaCha20Rng) -> Result<Outcome> {
        let records = &self.table.records;
        let started = Instant::now();
        let mut errors = MarginalErrors::of_records(records.len());
        let counter = MarginalCounter::new(records)?;
        let mut counts = Vec::new();
        let mut private = match mechanism.is_linear() {
            true => PrivateTable::of_zeros(&self.table.schema.sizes(), self.rho, rng),
            false => PrivateTable::of_records(records, self.rho, rng)?,
        };
        let report = mechanism.run(&self.workload, &mut private, &mut |place, answers| {
            if mechanism.is_linear() {
                errors.add(answers.iter().copied());
            } else {
                counter.count_into(self.workload.groups()[place].attributes(), &mut counts)?;
                errors.add(answers.iter().zip(&counts).map(|(answer, count)| answer - count));
            }
            Ok(())
        })?;
        let spent = private.accountant().spent();
        if spent > self.rho.get() {
            return Err(Error::bug(mechanism.name(), format!("to spend at most its budget {}", self.rho), spent));
        }
        let seconds = started.elapsed().as_secs_f64();
        let mut details = report.details;
        if let Some(&(_, rounds)) = details.iter().find(|(name, _)| *name == "rounds") {
            details.push(("looks_per_round", private.looks() as f64 / rounds));
        }
        Ok(Outcome { errors, seconds, details })
    }

    /// The mean over the noise of what [`Setting::run`] samples.
    fn expected_mean_l1(&self, mechanism: &dyn Mechanism) -> Result<Option<Row>> {
        let expected = mechanism.expected(&self.workload, self.rho)?.mean_l1;
        Ok(expected.map(|l1| Row::new("expected_mean_l1", l1 / self.table.records.len() as f64)))
    }
}

/// What came of one run.
#[derive(Debug)]
struct Outcome {
    errors: MarginalErrors,
    seconds: f64,
    /// What only this mechanism has to tell.
    details: Vec<(&'static str, f64)>,
}

/// The runs of one method.
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
        let mut rows = [("mean_l1", &self.mean_l1), ("mean_l2", &self.mean_l2), ("max_l1", &self.max_l1)]
            .into_iter()
            .flat_map(|(metric, sample)| sample.rows(metric))
            .collect::<Vec<_>>();
        // First, because the comparison takes a cell's time from its first row.
        rows[0].seconds = Some(self.seconds.mean());
        rows.extend(self.details.iter().flat_map(|(metric, sample)| sample.rows(metric)));
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
