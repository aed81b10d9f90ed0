//! The relative error of a strategy on a table under a budget, by independent runs.

use std::f64::consts::PI;
use std::sync::Arc;
use std::time::Instant;

use matmech::access::PrivateTable;
use matmech::domain::AttributeSet;
use matmech::mechanism::estimate_cells;
use matmech::privacy::{Guarantee, PrivacyBudget, Rho};
use matmech::strategy::{self, Problem, Strategy};
use matmech::workload::{Gram, Workload};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::datasets::{Catalogue, DataUse};
use crate::error::{Error, Result};
use crate::files::first_bytes;
use crate::remembered::Remembered;
use crate::statistics::Sample;

/// Maximum number of cached strategies: those of one workload and some of the next.
///
/// Over 2048 cells a strategy holds up to three dense matrices of 34 MB.
const MAX_STRATEGIES: usize = 6;

/// Maximum number of cached workloads with their true answers.
const MAX_TARGETS: usize = 3;

/// Maximum number of cached Gram matrices of scaled workloads, up to 34 MB each.
const MAX_GRAMS: usize = 3;

/// Maximum number of cached errors: all of the largest experiment, a few numbers each.
const MAX_ERRORS: usize = 1 << 14;

/// The parameters that all points of an experiment share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub delta: f64,
    /// Number of independent runs.
    pub trials: usize,
    /// The sanity bound as a share of the records of the table.
    pub sanity_share: f64,
    /// Determines the noise, with table, workload, ε and method, so that all cells have the same
    /// value of an error.
    pub noise_seed: u64,
}

/// A table, a workload and an ε.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrialPoint<'a> {
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
    /// Wall time of one trial in seconds: noise, estimate and answers, without the selection of the
    /// strategy.
    pub seconds: f64,
}

impl RelativeError {
    /// Returns the ratio of this error to another, with its standard error.
    ///
    /// The standard error is that of the ratio of two independent means, to first order.
    pub fn over(&self, other: &Self) -> (f64, Option<f64>) {
        let ratio = self.mean / other.mean;
        let relative = |error: &Self| error.standard_error.map(|se| se / error.mean);
        let se = relative(self).zip(relative(other)).map(|(a, b)| ratio * a.hypot(b));
        (ratio, se)
    }
}

/// A workload on a table: the counts of the cells and the divisors of the queries' errors.
#[derive(Debug)]
struct Target {
    workload: Workload,
    cells: Vec<f64>,
    /// max(true answer, sanity bound).
    scales: Vec<f64>,
}

/// The cached runs of a process. Clones of the catalogue share the tables.
#[derive(Debug)]
pub(super) struct Trials {
    catalogue: Catalogue,
    targets: Remembered<(DataUse, String, u64), Target>,
    grams: Remembered<String, Gram>,
    strategies: Remembered<(String, String), Strategy>,
    errors: Remembered<String, RelativeError>,
    expectations: Remembered<String, f64>,
}

impl Trials {
    pub fn new(catalogue: Catalogue) -> Self {
        Trials {
            catalogue,
            targets: Remembered::new(MAX_TARGETS),
            grams: Remembered::new(MAX_GRAMS),
            strategies: Remembered::new(MAX_STRATEGIES),
            errors: Remembered::new(MAX_ERRORS),
            expectations: Remembered::new(MAX_ERRORS),
        }
    }

    /// Returns the table of a name on this machine.
    ///
    /// # Errors
    /// As [`Catalogue::identify`].
    pub fn identify(&self, name: &str) -> Result<DataUse> {
        self.catalogue.identify(name)
    }

    /// Loads the table of a name.
    #[cfg(test)]
    pub fn load(&self, name: &str) -> Arc<crate::datasets::LoadedTable> {
        self.catalogue.load(name).unwrap()
    }

    /// Returns the relative error of a method at a point.
    ///
    /// The arguments determine the result: they seed the ChaCha20 stream of the noise.
    ///
    /// *Cost* of a trial: measurement and least squares, at most two products of a dense matrix and
    /// a vector, and [`Workload::answers`] (about 10 ms for all 2.1 million ranges over 2048
    /// cells).
    ///
    /// # Errors
    /// Returns an error if the table and the workload have different numbers of cells, the strategy
    /// cannot answer the workload, or the budget is invalid.
    pub fn error(
        &self,
        point: &TrialPoint<'_>,
        setting: &Setting,
        method: &str,
    ) -> Result<Arc<RelativeError>> {
        let TrialPoint { data, workload, epsilon } = *point;
        let Setting { delta, trials, sanity_share, noise_seed } = *setting;
        let stream = format!(
            "relative error; {noise_seed}; {}; {workload}; {epsilon}; {delta}; {method}",
            data.name
        );
        let key = format!("{stream}; {data:?}; {trials}; {sanity_share}");
        self.errors.get(key, || {
            let target = self.target(point, sanity_share)?;
            let strategy = self.strategy(&target.workload, workload, method)?;
            let rho = classical_rho(epsilon, delta)?;
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

    /// Returns the expected relative error of a method at privacy cost 1.
    ///
    /// The noise of query q is normal with variance `s_q² = ‖A‖₂² q(AᵀA)⁺qᵀ` at cost 1, so the
    /// expectation is √(2/π) times the mean of s_q / max(true answer, sanity bound). At ε it is
    /// larger by √(2 ln(2/δ))/ε for every method.
    ///
    /// *Cost*: that of [`Problem::query_errors`].
    ///
    /// # Errors
    /// As [`Trials::error`].
    pub fn expected(
        &self,
        point: &TrialPoint<'_>,
        sanity_share: f64,
        method: &str,
    ) -> Result<Arc<f64>> {
        let key = format!("{:?}; {}; {sanity_share}; {method}", point.data, point.workload);
        self.expectations.get(key, || {
            let target = self.target(point, sanity_share)?;
            let strategy = self.strategy(&target.workload, point.workload, method)?;
            let variances = Problem::new(&target.workload).query_errors(&strategy)?;
            let sum: f64 = variances.iter().zip(&target.scales).map(|(v, s)| v.sqrt() / s).sum();
            Ok((2.0 / PI).sqrt() * sum / target.scales.len() as f64)
        })
    }

    fn target(&self, point: &TrialPoint<'_>, sanity_share: f64) -> Result<Arc<Target>> {
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
                    remedy: "use the attribute sizes of the table, or one attribute with the same \
                             number of cells"
                        .into(),
                });
            }
            let bound = sanity_share * table.records.len() as f64;
            let answers = workload.answers(&cells)?;
            let scales = answers.into_iter().map(|answer| answer.max(bound)).collect();
            Ok(Target { workload, cells, scales })
        })
    }

    /// Returns the strategy that a method selects for the workload with queries of unit length.
    ///
    /// Its inverses are computed, so that trials do not include this time.
    pub(super) fn strategy(
        &self,
        workload: &Workload,
        text: &str,
        method: &str,
    ) -> Result<Arc<Strategy>> {
        self.strategies.get((text.to_owned(), method.to_owned()), || {
            let gram =
                self.grams.get(text.to_owned(), || Ok(workload.clone().normalised()?.gram()?))?;
            let strategy = strategy::by_name(method)?.select(&gram)?.strategy;
            for factor in strategy.factors() {
                factor.inverse()?;
            }
            Ok(strategy)
        })
    }
}

impl Target {
    /// Runs one trial and returns the mean over the queries of
    /// |answer − true answer| / max(true answer, sanity bound).
    fn run(&self, strategy: &Strategy, rho: Rho, rng: &mut ChaCha20Rng) -> Result<f64> {
        let mut table = PrivateTable::of_vector(self.workload.shape(), &self.cells, rho, rng)?;
        let mut estimate = estimate_cells(strategy, &mut table)?;
        // Answers are linear in the cells: the errors of the answers are the answers on the errors.
        estimate.iter_mut().zip(&self.cells).for_each(|(x, cell)| *x -= cell);
        let errors = self.workload.answers(&estimate)?;
        let sum: f64 =
            errors.iter().zip(&self.scales).map(|(error, scale)| error.abs() / scale).sum();
        Ok(sum / self.scales.len() as f64)
    }
}

/// Returns ρ for the classical calibration of S2, β = ε²/(2 ln(2/δ)) = 2ρ.
///
/// # Errors
/// Returns an error if ε or δ is invalid, or if the classical calibration does not satisfy
/// (ε, δ)-differential privacy at this ε.
pub(super) fn classical_rho(epsilon: f64, delta: f64) -> std::result::Result<Rho, matmech::Error> {
    let budget = PrivacyBudget::from(Guarantee::ApproximateClassical { epsilon, delta });
    Ok(budget.privacy_cost()?.rho())
}

/// Returns a folder with a file of 120 records over 4 × 2 × 2 cells, `loans`.
#[cfg(test)]
pub(super) fn folder_with_loans() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let a = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3];
    let lines: String =
        (0..120).map(|k| format!("{},{},{}\n", a[k % 10], k / 10 % 3 / 2, k / 3 % 2)).collect();
    std::fs::write(root.path().join("loans.csv"), format!("a,b,c\n{lines}")).unwrap();
    root
}

/// Returns the catalogue of the tables in a folder.
#[cfg(test)]
pub(super) fn catalogue_of(folder: &std::path::Path) -> Catalogue {
    let folders = crate::datasets::Folders {
        user: Some(folder.to_owned()),
        tables: folder.join("tables"),
        downloads: folder.join("downloads"),
    };
    Catalogue::new(folder, folders)
}
