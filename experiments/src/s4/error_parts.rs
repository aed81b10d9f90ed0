//! The parts of the error of mechanisms with a model: not measured, too imprecise, estimator.

use matmech::access::{CandidateSelection, Candidates, PaidAccess, PrivateTable, Question};
use matmech::data::MarginalCounter;
use matmech::domain::AttributeSet;
use matmech::estimation::graphical_model::{
    CalibratedTree, FitSettings, GraphicalModel, Messages, ProportionalFit,
};
use matmech::estimation::soft_ipf::{LearnedFit, SetEvidence};
use matmech::estimation::{FittedModel, MarginalEstimates, ResidualEstimates};
use matmech::mechanism::{self, KnownWidths, MarginalErrors, Mechanism};
use matmech::privacy::{NoiseStream, Rho};
use matmech::workload::{Family, GroupFamily, GroupedWorkload};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::columns;
use crate::datasets::{Catalogue, DataUse, LoadedTable};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::statistics::Sample;

/// Data sets × mechanisms with a model, at one ε: the parts of their mean L1 error.
///
/// The measurements of a run that lie within a clique of its last model are given to two graphical
/// models of maximum likelihood: one of the exact marginals on the measured sets, by iterative
/// proportional fitting, and one of the noisy ones, by the mirror descent of AIM+PGM. Of residuals,
/// only the largest measured sets with all their subsets are used. Means over the trials, with
/// standard errors:
///
/// - `mean_l1`: the mean over the workload of ‖μ_γ − μ̂_γ‖₁/N of the mechanism's answers.
/// - `not_measured`: that of the model of the exact marginals.
/// - `imprecise`: that of the model of the noisy ones, less `not_measured`.
/// - `estimator`: `mean_l1` less that of the model of the noisy ones. Negative if the estimator of the
///   mechanism is better than maximum likelihood.
/// - `measured_sets`: the number of sets of the two models.
/// - `misfit`: the largest ‖μ_γ − μ̂_γ‖₁/N of the model of the exact marginals on its sets, 0 at the
///   maximum.
/// - `true_widths`: for `staged`, the mean L1 error of its answers if all of the budget after the first
///   measurements is planned for the evidence of the exact marginals ([`KnownWidths`]).
#[derive(Debug)]
pub struct ErrorParts {
    /// The tables.
    pub catalogue: Catalogue,
}

/// The metrics of every mechanism.
const METRICS: [&str; 6] =
    ["mean_l1", "not_measured", "imprecise", "estimator", "measured_sets", "misfit"];

/// The metric of staged measurement.
const TRUE_WIDTHS: &str = "true_widths";

/// The fit to noisy marginals, as after the last round of AIM+PGM.
const FIT: FitSettings = FitSettings { iterations: 2500, tolerance: 1e-5, stall: 5e-4 };

/// The fit to exact marginals.
const EXACT: ProportionalFit = ProportionalFit { sweeps: 500, tolerance: 1e-6 };

/// The variance of a cell of an exact marginal, so small that its evidence is that of the true width.
const SMALL_VARIANCE: f64 = 1.0;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    epsilon: f64,
    delta: f64,
    trials: usize,
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    datasets: Vec<String>,
    /// Number of attributes per marginal.
    ways: usize,
    /// Mechanisms that end with a model.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    epsilon: f64,
    delta: f64,
    ways: usize,
    trials: usize,
}

impl Kind for ErrorParts {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "error-parts";
    const SUMMARY: &'static str =
        "errors of mechanisms with a model: not measured, too imprecise, estimator";
    const KEYS: &'static [&'static str] = &["dataset", columns::DATA];
    const ERRORS: &'static [&'static str] = &["mean_l1", TRUE_WIDTHS];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid { epsilon, delta, trials, runs } = grid;
        Rho::of_approximate_rounded_down(epsilon, delta)
            .map_err(|error| Error::refused("epsilon", error))?;
        if trials == 0 {
            return Err(Error::config("trials", "at least 1", "0", "write `trials = 5`"));
        }
        let mut cells = Vec::new();
        for (i, Run { datasets, ways, methods }) in runs.into_iter().enumerate() {
            if ways == 0 {
                let key = format!("runs[{i}].ways");
                return Err(Error::config(key, "at least 1", "0", "write `ways = 3`"));
            }
            for (j, method) in methods.iter().enumerate() {
                let key = format!("runs[{i}].methods[{j}]");
                let mechanism =
                    mechanism::by_name(method).map_err(|error| Error::refused(&key, error))?;
                if !mechanism.ends_with_model() {
                    let expected = "a mechanism that ends with a model";
                    return Err(Error::config(key, expected, method, "write e.g. `staged`"));
                }
            }
            for (j, dataset) in datasets.iter().enumerate() {
                let key = format!("runs[{i}].datasets[{j}]");
                let data = self.catalogue.identify(dataset).map_err(|error| error.under(&key))?;
                cells.extend(methods.iter().map(|method| {
                    let params = Params { data: data.clone(), epsilon, delta, ways, trials };
                    CellOf::new([dataset, &data.label()], method, params)
                }));
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let mechanism = mechanism::by_name(method)?;
        let table = self.catalogue.load(&params.data.name)?;
        let identity = GroupFamily::Product(Family::IDENTITY);
        let workload = GroupedWorkload::all_ways(table.schema.clone(), &identity, &[params.ways])?;
        let rho = Rho::of_approximate_rounded_down(params.epsilon, params.delta)?;
        let oracle = match mechanism.as_staged() {
            Some(staged) => Some(KnownWidths::new(staged, true_evidence(&table, &workload)?)),
            None => None,
        };
        let mut samples: [Sample; METRICS.len()] = Default::default();
        let mut true_widths = Sample::default();
        for _ in 0..params.trials {
            let parts = parts(&table, &workload, mechanism.as_ref(), rho, rng)?;
            samples.iter_mut().zip(parts).for_each(|(sample, value)| sample.push(value));
            if let Some(oracle) = &oracle {
                let mut noise = ChaCha20Rng::from_rng(rng);
                let mut private = PrivateTable::of_records(&table.records, rho, &mut noise)?;
                true_widths.push(run(&table, &workload, oracle, &mut private)?.0);
            }
        }
        let mut rows: Vec<Row> =
            METRICS.iter().zip(&samples).flat_map(|(metric, sample)| sample.rows(metric)).collect();
        if oracle.is_some() {
            rows.extend(true_widths.rows(TRUE_WIDTHS));
        }
        Ok(rows)
    }
}

/// Returns the evidence of the exact marginals of a workload and of their subsets.
fn true_evidence(table: &LoadedTable, workload: &GroupedWorkload) -> Result<Vec<SetEvidence>> {
    let mut residuals = ResidualEstimates::new(&table.schema);
    let mut attributes = AttributeSet::EMPTY;
    for group in workload.groups() {
        let set = group.attributes();
        residuals.update_by_marginal(set, &table.records.marginal(set)?, SMALL_VARIANCE)?;
        attributes = attributes.union(set);
    }
    Ok(LearnedFit::default().fit(residuals, attributes, &[], &[])?.1)
}

/// Runs a mechanism, and returns its mean L1 error and the tree of its last model.
fn run(
    table: &LoadedTable,
    workload: &GroupedWorkload,
    mechanism: &dyn Mechanism,
    access: &mut dyn PaidAccess,
) -> Result<(f64, CalibratedTree)> {
    let counter = MarginalCounter::new(&table.records)?;
    let mut counts = Vec::new();
    let mut errors = MarginalErrors::of_records(table.records.len());
    let report = mechanism.run(workload, access, &mut |group, answers| {
        counter.count_into(workload.groups()[group].attributes(), &mut counts)?;
        errors.add(answers.iter().zip(&counts).map(|(answer, count)| answer - count));
        Ok(())
    })?;
    let Some(model) = report.model.as_ref().map(FittedModel::tree) else {
        return Err(Error::bug(mechanism.name(), "a model", "none"));
    };
    Ok((errors.mean_l1(), model.clone()))
}

/// Runs a mechanism, and returns the values of [`METRICS`].
fn parts(
    table: &LoadedTable,
    workload: &GroupedWorkload,
    mechanism: &dyn Mechanism,
    rho: Rho,
    rng: &mut ChaCha20Rng,
) -> Result<[f64; METRICS.len()]> {
    let records = &table.records;
    let mut noise = ChaCha20Rng::from_rng(rng);
    let mut private = PrivateTable::of_records(records, rho, &mut noise)?;
    let mut measured = Measurements {
        marginals: Vec::new(),
        residuals: ResidualEstimates::new(&table.schema),
        sets: Vec::new(),
    };
    let mut access = Recorded { inner: &mut private, measured: &mut measured };
    let (error, model) = run(table, workload, mechanism, &mut access)?;
    let measured = measured.within(&model)?;
    let mut sets: Vec<AttributeSet> = measured.iter().map(|(set, ..)| *set).collect();
    sets.sort_unstable();
    sets.dedup();
    let marginals: Vec<(AttributeSet, Vec<f64>)> =
        (sets.iter()).map(|&set| Ok((set, records.marginal(set)?))).collect::<Result<_>>()?;
    let (exact, _) = EXACT.fit(model.sizes(), model.attributes(), &marginals)?;
    let mut misfits = MarginalErrors::of_records(records.len());
    for (set, counts) in &marginals {
        let found = exact.marginal(*set)?;
        misfits.add(found.iter().zip(counts).map(|(found, count)| found - count));
    }
    let mut noisy = GraphicalModel::new(model.sizes(), model.attributes())?;
    for (set, values, variance) in measured {
        noisy.measure(set, values, variance)?;
    }
    noisy.fit(FIT)?;
    let exact = mean_l1(table, workload, &exact)?;
    let noisy = mean_l1(table, workload, noisy.marginals())?;
    Ok([error, exact, noisy - exact, error - noisy, sets.len() as f64, misfits.max_l1()])
}

/// Returns the mean over the workload of ‖μ_γ − μ̂_γ‖₁/N of a model.
fn mean_l1(table: &LoadedTable, workload: &GroupedWorkload, model: &CalibratedTree) -> Result<f64> {
    let counter = MarginalCounter::new(&table.records)?;
    let mut errors = MarginalErrors::of_records(table.records.len());
    let (mut counts, mut messages) = (Vec::new(), Messages::default());
    for group in workload.groups() {
        let estimated = model.marginal_with(&mut messages, group.attributes())?;
        counter.count_into(group.attributes(), &mut counts)?;
        errors.add(estimated.iter().zip(&counts).map(|(estimate, count)| estimate - count));
    }
    Ok(errors.mean_l1())
}

/// A set of attributes, its noisy marginal, and the variance of a cell.
type Measured = (AttributeSet, Vec<f64>, f64);

/// What a mechanism has measured.
struct Measurements {
    marginals: Vec<Measured>,
    residuals: ResidualEstimates,
    /// The sets of the residuals.
    sets: Vec<AttributeSet>,
}

impl Measurements {
    /// Returns the noisy marginals on sets within a clique of a model.
    ///
    /// Of residuals, those on the largest sets all of whose subsets are measured.
    fn within(self, model: &CalibratedTree) -> Result<Vec<Measured>> {
        let is_within =
            |set: AttributeSet| model.tree().cliques().iter().any(|clique| set.is_subset(*clique));
        let mut measured = self.marginals;
        measured.retain(|(set, ..)| is_within(*set));
        let mut sets = self.sets;
        sets.retain(|set| {
            !set.is_empty() && is_within(*set) && self.residuals.cell_variance(*set).is_finite()
        });
        sets.sort_unstable();
        sets.dedup();
        for &set in &sets {
            let is_larger = |other: &AttributeSet| set.is_subset(*other) && set != *other;
            if !sets.iter().any(is_larger) {
                let variance = self.residuals.cell_variance(set);
                measured.push((set, self.residuals.marginal(set)?, variance));
            }
        }
        Ok(measured)
    }
}

/// Access that records all answers.
struct Recorded<'a> {
    inner: &'a mut dyn PaidAccess,
    measured: &'a mut Measurements,
}

impl PaidAccess for Recorded<'_> {
    fn sizes(&self) -> &[usize] {
        self.inner.sizes()
    }

    fn total(&self) -> Rho {
        self.inner.total()
    }

    fn remaining(&self) -> Option<Rho> {
        self.inner.remaining()
    }

    fn reserved(
        &mut self,
        what: &str,
        rho: Rho,
        measure: &mut dyn FnMut(&mut dyn PaidAccess) -> matmech::Result<()>,
    ) -> matmech::Result<()> {
        let measured = &mut *self.measured;
        self.inner.reserved(what, rho, &mut |inner| measure(&mut Recorded { inner, measured }))
    }

    fn measure(
        &mut self,
        question: &Question<'_>,
        stream: NoiseStream,
    ) -> matmech::Result<Vec<f64>> {
        let answer = self.inner.measure(question, stream)?;
        match *question {
            Question::Marginal { attributes, variance } => {
                self.measured.marginals.push((attributes, answer.clone(), variance));
            }
            Question::Residual { attributes, variance } => {
                self.measured.residuals.update(attributes, &answer, variance)?;
                self.measured.sets.push(attributes);
            }
            Question::Strategy { .. } => {
                let expected = "a mechanism that measures marginals or residuals";
                return Err(matmech::Error::bug("parts of an error", expected, question));
            }
        }
        Ok(answer)
    }

    fn select(
        &mut self,
        selection: &CandidateSelection,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) -> matmech::Result<usize> {
        self.inner.select(selection, candidates, estimates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::datasets::Folders;
    use crate::experiment::Experiment;

    /// Returns the experiment without a folder of data sets, so that every table is a stand-in.
    fn experiment() -> ErrorParts {
        let missing = std::env::temp_dir().join("matmech-no-data");
        let folders = Folders { user: None, tables: missing.clone(), downloads: missing.clone() };
        ErrorParts { catalogue: Catalogue::new(&missing, folders) }
    }

    const GRID: &str = "epsilon = 1.0\ndelta = 1e-9\ntrials = 1\nruns = [{ datasets = ['titanic'], \
                        ways = 2, methods = ['aim-pgm', 'staged(switch=0)'] }]";

    #[test]
    fn bad_grids_name_the_key() {
        for (from, to, key) in [
            ("epsilon = 1.0", "epsilon = 0.0", "epsilon"),
            ("trials = 1", "trials = 0", "trials"),
            ("ways = 2", "ways = 0", "runs[0].ways"),
            ("'titanic'", "'titanik'", "runs[0].datasets[0]"),
            ("'aim-pgm'", "'aim-gram'", "runs[0].methods[0]"),
            ("'staged(switch=0)'", "'residual-planner'", "runs[0].methods[1]"),
        ] {
            let text = GRID.replacen(from, to, 1);
            assert_ne!(text, GRID);
            let error = Experiment::cells(&experiment(), &text.parse().unwrap()).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }

    /// Returns the metrics of a method at an ε.
    fn values(epsilon: f64, method: usize) -> [f64; METRICS.len()] {
        let experiment = experiment();
        let kind: &dyn Experiment = &experiment;
        let grid = GRID.replacen("1.0", &format!("{epsilon:.1}"), 1).parse().unwrap();
        let cell = &kind.cells(&grid).unwrap()[method];
        let rows = kind.run(cell, &mut ChaCha20Rng::seed_from_u64(5)).unwrap();
        assert_eq!(rows.iter().any(|row| row.metric == TRUE_WIDTHS), method == 1);
        METRICS.map(|metric| rows.iter().find(|row| row.metric == metric).unwrap().value.unwrap())
    }

    /// The answers of AIM+PGM are those of the graphical model of its measurements, fitted in rounds.
    #[test]
    fn the_parts_of_aim_pgm_have_no_estimator() {
        let parts = values(1.0, 0);
        let [error, not_measured, imprecise, estimator, sets, misfit] = parts;
        assert!((not_measured + imprecise + estimator - error).abs() < 1e-12 * error);
        assert!(not_measured > 0.0 && imprecise > 0.0 && sets >= 1.0, "{parts:?}");
        assert!(estimator.abs() < 0.05 * error && misfit < 1e-5, "{parts:?}");
    }

    /// With a larger budget more is measured; a model of exact marginals is better than of noisy ones.
    #[test]
    fn with_a_larger_budget_more_is_measured() {
        let [small, large] = [1.0, 4.0].map(|epsilon| values(epsilon, 1));
        assert!(large[1] < 0.5 * small[1], "{small:?} {large:?}");
        assert!(small[2] > 0.0 && large[2] > 0.0, "{small:?} {large:?}");
    }
}
