//! Factorisations of prefix sums, the selection of their strategies, and the cost of their noise.

use ndarray::Array2;

use crate::call::Call;
use crate::error::{Error, Result};
use crate::workload::{Family, Gram, Workload, check_dense_size};
use crate::{Participation, Problem, Selection, Strategy, StrategyFactor, StrategySelector};

/// A factorisation W = BC of the prefix sums.
#[derive(Debug)]
pub(super) struct Factorisation {
    /// C, or X = CᵀC.
    pub(super) factor: StrategyFactor,
    /// `‖b_q‖²` of every query.
    pub(super) variances: Vec<f64>,
    /// What its noise takes.
    pub(super) cost: NoiseCost,
}

/// A strategy of prefix sums with a known factorisation.
pub(super) trait Factorised: std::fmt::Debug + Clone + Send + Sync + 'static {
    /// [`StrategySelector::name`].
    const NAME: &'static str;
    /// [`StrategySelector::summary`].
    const SUMMARY: &'static str;
    /// [`StrategySelector::options`].
    const OPTIONS: &'static [&'static str] = &[];

    /// Returns the factorisation for a problem of `steps` prefix sums.
    fn factorise(&self, problem: &Problem<'_>, steps: usize) -> Result<Factorisation>;

    /// Returns the strategy with the options of a call.
    fn configured(&self, _call: &Call<'_>) -> Result<Self> {
        Ok(self.clone())
    }
}

impl<F: Factorised> StrategySelector for F {
    fn name(&self) -> &str {
        F::NAME
    }

    fn summary(&self) -> &str {
        F::SUMMARY
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        select_gram(self, gram)
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        let found = self.factorise(problem, steps(F::NAME, problem)?)?;
        let strategy = Strategy::single(F::NAME, found.factor);
        let squared = problem.sensitivity(&strategy)?.squared;
        let largest = found.variances.iter().copied().fold(0.0, f64::max);
        let (total, queries) = (found.variances.iter().sum(), found.variances.len() as f64);
        let error = squared * problem.objective.of(total, largest, queries);
        let details = found.cost.details();
        Ok(Selection { strategy, error, certificate: None, proof: None, details })
    }

    fn query_errors(&self, problem: &Problem<'_>) -> Result<Vec<f64>> {
        let found = self.factorise(problem, steps(F::NAME, problem)?)?;
        let squared = problem.sensitivity(&Strategy::single(F::NAME, found.factor))?.squared;
        Ok(found.variances.into_iter().map(|variance| squared * variance).collect())
    }

    fn options(&self) -> &'static [&'static str] {
        F::OPTIONS
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        Ok(Box::new(Factorised::configured(self, call)?))
    }
}

/// Returns the number of steps of a problem of prefix sums.
///
/// # Errors
/// Another workload, too many steps for a matrix, or a participation that does not fit.
fn steps(name: &str, problem: &Problem<'_>) -> Result<usize> {
    problem.check()?;
    let workload = problem.workload;
    match (workload.families(), workload.shape()) {
        (Some([(family, _)]), &[steps]) if *family == Family::PREFIX => {
            check_dense_size(&format!("strategy `{name}`"), steps)?;
            Ok(steps)
        }
        _ => Err(not_prefix(name, &format!("`{}`", workload.name()))),
    }
}

/// Returns the error of another workload than prefix sums.
fn not_prefix(name: &str, found: &str) -> Error {
    Error::bad_input(
        format!("strategy `{name}`"),
        "prefix sums over one attribute",
        found,
        "use prefix:N, or another strategy, e.g. optimal",
    )
}

/// Selects a strategy of prefix sums for a Gram matrix.
///
/// # Errors
/// The Gram matrix is not that of prefix sums, `G_ij = n − max(i, j)`; or as
/// [`StrategySelector::select_for`].
pub(crate) fn select_gram(selector: &dyn StrategySelector, gram: &Gram) -> Result<Selection> {
    let found = match gram.factors() {
        [factor] if factor.shape.len() == 1 => {
            let n = factor.matrix.nrows();
            let entry = |((i, j), x): ((usize, usize), &f64)| *x == (n - i.max(j)) as f64;
            factor.matrix.indexed_iter().all(entry).then_some(n)
        }
        _ => None,
    };
    let Some(n) = found else {
        return Err(not_prefix(selector.name(), "the Gram matrix of another workload"));
    };
    selector.select_for(&Problem::new(&Workload::family(Family::PREFIX, &[n])?))
}

/// Returns the smallest distance of two steps of one person, and the largest number of them.
pub(super) fn separation_and_count(steps: usize, participation: Participation) -> (usize, usize) {
    match participation {
        Participation::Single => (steps, 1),
        Participation::Epochs(count) | Participation::Random { epochs: count, .. } => {
            (steps / count, count)
        }
        Participation::MinSeparation { separation, count } => (separation, count),
    }
}

/// Returns the factor of a matrix C, one row per measurement.
pub(super) fn factor(queries: Array2<f64>) -> Result<StrategyFactor> {
    StrategyFactor::from_queries(&[queries.ncols()], queries)
}

/// Memory and random numbers of noise that is drawn forward in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NoiseCost {
    /// Numbers stored per coordinate.
    pub buffers: f64,
    /// Normals drawn per coordinate and step, those of earlier steps that are drawn again included:
    /// the largest number of a step, or the average for a tree.
    pub normals: f64,
    /// Coefficients stored once for all coordinates.
    pub coefficients: f64,
}

impl NoiseCost {
    /// Returns the details of a selection.
    pub fn details(self) -> Vec<(&'static str, f64)> {
        vec![
            ("buffers", self.buffers),
            ("normals", self.normals),
            ("coefficients", self.coefficients),
        ]
    }
}
