//! One strategy on one table under one budget: the relative error of its answers, by independent
//! runs.

use std::sync::Arc;
use std::time::Instant;

use matmech::access::PrivateTable;
use matmech::domain::AttributeSet;
use matmech::mechanism::estimate_cells;
use matmech::privacy::{Guarantee, PrivacyBudget, Rho};
use matmech::strategy::{self, Strategy};
use matmech::workload::Workload;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::datasets::{Catalogue, DataUse};
use crate::error::{Error, Result};
use crate::hash::first_bytes;
use crate::remembered::Remembered;
use crate::statistics::Sample;

/// Strategies that are kept: those of one workload, and some of the next. Over 2048 cells each may
/// hold three dense matrices of 34 MB.
const STRATEGIES: usize = 6;

/// Workloads with their true answers that are kept.
const TARGETS: usize = 3;

/// Errors that are kept, a few numbers each: all of the largest experiment.
const ERRORS: usize = 1 << 14;

/// What all points of an experiment have in common.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub delta: f64,
    /// Independent runs.
    pub trials: usize,
    /// The sanity bound as a share of the table's records.
    pub sanity_share: f64,
    /// With table, workload, ε and method it determines the noise, so that an error that several
    /// cells need is the same in all.
    pub noise_seed: u64,
}

/// A point: what the error of a method is a function of, besides the setting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point<'a> {
    pub data: &'a DataUse,
    pub workload: &'a str,
    pub epsilon: f64,
}

/// The mean over the trials of the mean relative error over the queries, and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RelativeError {
    pub mean: f64,
    pub standard_error: Option<f64>,
    /// The number of queries.
    pub queries: usize,
    /// Wall time of one trial: noise, estimate and answers, the selection of the strategy not
    /// included.
    pub seconds: f64,
}

impl RelativeError {
    /// How many times larger this error is than another, with the standard error of the quotient of
    /// two independent means to first order.
    pub fn over(&self, other: &Self) -> (f64, Option<f64>) {
        let ratio = self.mean / other.mean;
        let relative = |error: &Self| error.standard_error.map(|own| own / error.mean);
        let spread = relative(self).zip(relative(other)).map(|(a, b)| ratio * a.hypot(b));
        (ratio, spread)
    }
}

/// A workload on a table: cells, and per query what its error is divided by.
#[derive(Debug)]
struct Target {
    workload: Workload,
    cells: Vec<f64>,
    /// max(true answer, sanity bound).
    scales: Vec<f64>,
}

/// The runs of a process; clones of the catalogue share the tables.
#[derive(Debug)]
pub(super) struct Trials {
    catalogue: Catalogue,
    targets: Remembered<(DataUse, String, u64), Target>,
    strategies: Remembered<(String, String), Strategy>,
    errors: Remembered<String, RelativeError>,
}

impl Trials {
    pub fn new(catalogue: Catalogue) -> Self {
        Trials {
            catalogue,
            targets: Remembered::new(TARGETS),
            strategies: Remembered::new(STRATEGIES),
            errors: Remembered::new(ERRORS),
        }
    }

    /// Which table a name stands for.
    ///
    /// # Errors
    /// As [`Catalogue::identify`].
    pub fn identify(&self, name: &str) -> Result<DataUse> {
        self.catalogue.identify(name)
    }

    /// The table of a name.
    #[cfg(test)]
    pub fn load(&self, name: &str) -> Arc<crate::datasets::LoadedTable> {
        self.catalogue.load(name).unwrap()
    }

    /// The relative error of a method at a point. A function of its arguments: the noise is drawn
    /// from a ChaCha20 stream of their own.
    ///
    /// The cost of a trial is that of the strategy's answers and least squares, at most two
    /// products of a dense matrix with a vector, and of the answers by [`Workload::answers`]: all
    /// 2.1 million ranges over 2048 cells take some 10 ms.
    ///
    /// # Errors
    /// A table of another number of cells than the workload, a strategy that cannot answer it, or a
    /// budget without meaning.
    pub fn error(&self, point: &Point<'_>, setting: &Setting, method: &str) -> Result<Shared> {
        let Point { data, workload, epsilon } = *point;
        let Setting { delta, trials, sanity_share, noise_seed } = *setting;
        let stream = format!(
            "relative error; {noise_seed}; {}; {workload}; {epsilon}; {delta}; {method}",
            data.name
        );
        let key = format!("{stream}; {data:?}; {trials}; {sanity_share}");
        self.errors.get(key, || {
            let target = self.target(point, sanity_share)?;
            let strategy = self.strategy(&target.workload, workload, method)?;
            let rho = budget(epsilon, delta)?;
            let mut rng = ChaCha20Rng::from_seed(first_bytes(stream.as_bytes()));
            let started = Instant::now();
            let mut errors = Sample::default();
            for _ in 0..trials {
                errors.push(target.run(&strategy, rho, &mut rng)?);
            }
            let seconds = started.elapsed().as_secs_f64() / trials as f64;
            let queries = target.scales.len();
            Ok(RelativeError {
                mean: errors.mean(),
                standard_error: errors.standard_error(),
                queries,
                seconds,
            })
        })
    }

    fn target(&self, point: &Point<'_>, sanity_share: f64) -> Result<Arc<Target>> {
        let key = (point.data.clone(), point.workload.to_owned(), sanity_share.to_bits());
        self.targets.get(key, || {
            let table = self.catalogue.load(&point.data.name)?;
            let workload = Workload::parse(point.workload)?;
            let sizes = table.schema.sizes();
            let cells = table.records.marginal(AttributeSet::first(sizes.len()))?;
            if cells.len() != workload.cells() {
                return Err(Error::Computation {
                    what: format!("`{}` on {}", point.workload, point.data.name),
                    expected: format!("a workload over {} cells, those of {sizes:?}", cells.len()),
                    found: format!("{} cells", workload.cells()),
                    remedy: "write the workload over the sizes of the table, or over one attribute of as many cells"
                        .into(),
                });
            }
            let bound = sanity_share * table.records.len() as f64;
            let scales = workload.answers(&cells)?.into_iter().map(|answer| answer.max(bound)).collect();
            Ok(Target { workload, cells, scales })
        })
    }

    /// The strategy that a method selects for the workload with every query scaled to unit length,
    /// ready to be measured.
    pub(super) fn strategy(
        &self,
        workload: &Workload,
        text: &str,
        method: &str,
    ) -> Result<Arc<Strategy>> {
        self.strategies.get((text.to_owned(), method.to_owned()), || {
            let gram = workload.clone().normalised()?.gram()?;
            let chosen = strategy::by_name(method)?.select(&gram)?.strategy;
            // What is measured and how it is undone is computed when it is first asked for: here,
            // not in the first trial.
            for factor in chosen.factors() {
                factor.inverse()?;
            }
            Ok(chosen)
        })
    }
}

type Shared = Arc<RelativeError>;

impl Target {
    /// The mean over the queries of |answer − true answer| / max(true answer, sanity bound), of one
    /// run.
    fn run(&self, strategy: &Strategy, rho: Rho, rng: &mut ChaCha20Rng) -> Result<f64> {
        let mut table = PrivateTable::of_vector(self.workload.shape(), &self.cells, rho, rng)?;
        let mut estimate = estimate_cells(strategy, &mut table)?;
        // Answers are linear: the error of an answer is the answer on the error.
        estimate.iter_mut().zip(&self.cells).for_each(|(x, cell)| *x -= cell);
        let errors = self.workload.answers(&estimate)?;
        let sum: f64 =
            errors.iter().zip(&self.scales).map(|(error, scale)| error.abs() / scale).sum();
        Ok(sum / self.scales.len() as f64)
    }
}

/// ρ by the calibration of S2, β = ε²/(2 ln(2/δ)) = 2ρ.
///
/// # Errors
/// ε or δ without meaning, or an ε at which the classical calibration does not keep its promise.
pub(super) fn budget(epsilon: f64, delta: f64) -> std::result::Result<Rho, matmech::Error> {
    let budget = PrivacyBudget::from(Guarantee::ApproximateClassical { epsilon, delta });
    Ok(budget.privacy_cost()?.rho())
}
