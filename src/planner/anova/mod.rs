//! Functional ANOVA for a product reference measure: residual subspaces that average by the best
//! measure instead of uniformly.

mod classes;
mod compressed;
mod objective;
mod pullback;
mod starts;

use std::path::PathBuf;

use ndarray::Array1;

pub(super) use self::classes::Classes;
use self::compressed::compressed;
use self::objective::Objective;
use super::Planner;
use super::minimise::{Limits, Minimum, minimise, softmax, through_softmax};
use super::plan::{MeasureSearch, MeasureStart, Plan};
use super::solver::{CertifiedSolver, go_by_rows};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::{Optimal, Status};
use crate::workload::GroupedWorkload;

/// A measure that lowers the total error by less than this share is not worth leaving the uniform
/// one for.
const WORTH: f64 = 1e-9;

/// Which reference measure [`Anova`] plans for.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum MeasureChoice {
    /// The measure with the smallest total error that the optimiser finds; the uniform one where
    /// that is as good.
    #[default]
    Optimised,
    /// The uniform measure: QuerySmasher.
    Uniform,
    /// This one.
    Given(ReferenceMeasure),
    /// The one in a file, read when the schema is known.
    File(PathBuf),
}

/// When the search for a measure ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOptions {
    /// A step that lowers the error by less than this share ends the search. Default 1e-9.
    pub tolerance: f64,
    /// The most steps from each of the two starts. Default 60.
    pub steps: usize,
    /// The most evaluations of error and gradient from each start. Default 90.
    pub evaluations: usize,
    /// Where queries are joint, the evaluations after which only the better start goes on. Default
    /// 8.
    pub heat: usize,
    /// And the most evaluations of that. Default 40.
    pub rest: usize,
    /// Cells of joint problems in one evaluation, up to which these two hold; where there are more,
    /// both are lower in proportion, but not below half of `heat`, and `heat`. Default 10,000.
    pub cells: usize,
    /// Joint queries that are few against the cells are solved on the way to a point of the central
    /// path with this gap, whose error is a smooth function of the measure: with this gap where
    /// starts race, default 1e-2,
    pub gap: f64,
    /// and with this one after. Default 1e-3.
    pub last_gap: f64,
    /// Precision of the solves on the way; the final plan has the solver's own. Default 1e-7.
    pub solve_tolerance: f64,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions {
            tolerance: 1e-9,
            steps: 60,
            evaluations: 90,
            heat: 8,
            rest: 40,
            cells: 10_000,
            gap: 1e-2,
            last_gap: 1e-3,
            solve_tolerance: 1e-7,
        }
    }
}

impl SearchOptions {
    fn heat_for(&self, cells: usize) -> usize {
        self.in_proportion(self.heat, cells).max(self.heat.div_ceil(2))
    }

    fn rest_for(&self, cells: usize) -> usize {
        self.in_proportion(self.rest, cells).max(self.heat).min(self.evaluations)
    }

    fn in_proportion(&self, evaluations: usize, cells: usize) -> usize {
        if cells <= self.cells { evaluations } else { evaluations * self.cells / cells }
    }
}

/// QuerySmasher with a reference measure ν_i per attribute in place of uniform averages.
///
/// A query splits into `f_A`, contracted with ν_i along the attributes outside A and centred by
/// `I − ν_i 1ᵀ` inside; every residual Gram gets its certified optimum, as in S3. The measure
/// minimises `Σ_A √E_A`: L-BFGS on ν = softmax(z), one measure per class of attributes that play
/// the same role, exact gradients by the envelope theorem, solves started from the weights of the
/// last ones, and two starts: uniform, and the measures of the one-attribute optima. Where
/// attributes are few the measure of HDMM's Kronecker strategy is a third, and a candidate itself
/// where some of its weights are negative.
///
/// Never above [`QuerySmasher`](super::QuerySmasher): the uniform measure is kept where nothing
/// better is found. The class of strategies holds every Kronecker strategy, and with one attribute
/// every strategy; the proofs are in `docs/reference-measures.md`. [`Plan::lower_bound`] is the
/// certificate for the plan's measure, not for all measures.
///
/// *Requirements*: those of QuerySmasher. *Cost*: 10–30 evaluations per start, each one solve and
/// one eigendecomposition per distinct residual problem. *Source*: the project's
/// `docs/reference-measures.md`; S3, Sec. 6 for the uniform measure.
#[derive(Debug, Clone, Default)]
pub struct Anova {
    /// The measure. Default: optimised.
    pub measure: MeasureChoice,
    /// When the search ends.
    pub search: SearchOptions,
    /// The solver of the residual problems of the final plan.
    pub solver: CertifiedSolver,
}

impl Anova {
    /// The planner for a measure of one's choice.
    pub fn with_measure(measure: MeasureChoice) -> Self {
        Anova { measure, ..Self::default() }
    }

    fn optimised(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        let uniform =
            Plan::by_residual_subspaces(self.name(), workload, privacy_cost, &self.solver)?;
        let uniform_variance = uniform.total_variance();
        let classes = Classes::of(workload);
        let mut starts = vec![
            (
                MeasureStart::Uniform,
                classes.sizes.iter().map(|&n| vec![0.0; n]).collect::<Vec<_>>(),
            ),
            (MeasureStart::Peaked, starts::peaked(workload, &classes)?),
        ];
        let kronecker = starts::of_kronecker_strategy(workload, privacy_cost);
        if let Some(measures) = &kronecker {
            starts.push((MeasureStart::Kronecker, starts::logarithms(measures, &classes)));
        }
        let mut options = self.solver.options;
        options.tolerance = options.tolerance.max(self.search.solve_tolerance);
        let limits = Limits {
            tolerance: self.search.tolerance,
            steps: self.search.steps,
            evaluations: self.search.evaluations,
        };
        let smaller = compressed(workload)?;
        let mut objective = Objective::new(
            &smaller,
            &classes,
            Optimal::new(options)?,
            &go_by_rows,
            self.search.gap,
        );
        let mut evaluations = 0;
        // A weight of 1/n has a gradient and a curvature in proportion: in units of n those of all
        // classes are alike.
        let most = classes.sizes.iter().copied().max().unwrap_or(1) as f64;
        let units: Vec<f64> =
            classes.sizes.iter().flat_map(|&n| std::iter::repeat_n(n as f64 / most, n)).collect();
        let mut from =
            |objective: &mut Objective<'_>, z: Vec<f64>, limits: &Limits| -> Result<Minimum> {
                let mut function = |x: &[f64]| {
                    let z: Vec<f64> = x.iter().zip(&units).map(|(x, unit)| x * unit).collect();
                    let measures = softmax(&z, &classes.sizes);
                    let (value, gradients) = objective.evaluate(&measures)?;
                    let gradient = through_softmax(&measures, &gradients);
                    Ok((value, gradient.iter().zip(&units).map(|(g, unit)| g * unit).collect()))
                };
                let start = z.iter().zip(&units).map(|(z, unit)| z / unit).collect();
                let mut found = minimise(&mut function, start, limits)?;
                found.x.iter_mut().zip(&units).for_each(|(x, unit)| *x *= unit);
                evaluations += found.evaluations;
                Ok(found)
            };
        // Where an evaluation is dear the starts race, and only the first goes on.
        let race = classes.joint.contains(&true);
        let cells = classes.joint_cells(workload);
        let heat = if race {
            Limits { evaluations: self.search.heat_for(cells), ..limits }
        } else {
            limits
        };
        let mut best: Option<(MeasureStart, Minimum)> = None;
        for (start, z) in starts {
            let Some(found) =
                unless_stuck(from(&mut objective, z.into_iter().flatten().collect(), &heat))?
            else {
                continue;
            };
            if best.as_ref().is_none_or(|(_, known)| found.value < known.value) {
                best = Some((start, found));
            }
        }
        if let Some((_, found)) = best.as_mut().filter(|_| race) {
            objective.set_gap(self.search.last_gap);
            let rest = Limits { evaluations: self.search.rest_for(cells), ..limits };
            match unless_stuck(from(&mut objective, found.x.clone(), &rest))? {
                Some(further) => *found = further,
                None => found.status = Status::Stalled,
            }
        }
        let mut search = MeasureSearch {
            status: if best.is_some() { Status::Converged } else { Status::Stalled },
            start: MeasureStart::None,
            evaluations,
            classes: classes.sizes.len(),
            uniform_variance,
        };
        let mut plan = uniform;
        if let Some((start, found)) = best {
            search.status = found.status;
            if found.value.powi(2) / privacy_cost.get() < uniform_variance * (1.0 - WORTH) {
                let measures = softmax(&found.x, &classes.sizes)
                    .into_iter()
                    .map(Measure::of)
                    .collect::<Result<Vec<_>>>()?;
                let measure = ReferenceMeasure::of_classes(classes.of.clone(), &measures)?;
                let other = Plan::by_reference_measure(
                    self.name(),
                    workload,
                    privacy_cost,
                    &measure,
                    &self.solver,
                )?;
                if other.total_variance() < uniform_variance {
                    (plan, search.start) = (other, start);
                }
            }
        }
        // What the search cannot reach: weights that are not positive, and attributes of one class
        // with measures of their own.
        if let Some(measure) = kronecker {
            let other = Plan::by_reference_measure(
                self.name(),
                workload,
                privacy_cost,
                &measure,
                &self.solver,
            )?;
            if other.total_variance() < plan.total_variance() {
                (plan, search.start) = (other, MeasureStart::Kronecker);
            }
        }
        plan.iterations += objective.iterations;
        plan.search = Some(search);
        Ok(plan)
    }
}

impl Planner for Anova {
    fn name(&self) -> &str {
        "anova"
    }

    fn summary(&self) -> &str {
        "query-smasher's subspaces for the best product reference measure"
    }

    fn options(&self) -> &'static [&'static str] {
        &["measure"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Planner>> {
        let measure = match call.written("measure") {
            None | Some("optimised") => MeasureChoice::Optimised,
            Some("uniform") => MeasureChoice::Uniform,
            Some(path) => MeasureChoice::File(path.into()),
        };
        Ok(Box::new(Anova { measure, ..self.clone() }))
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        match &self.measure {
            MeasureChoice::Optimised => self.optimised(workload, privacy_cost),
            MeasureChoice::Uniform => {
                Plan::by_residual_subspaces(self.name(), workload, privacy_cost, &self.solver)
            }
            MeasureChoice::Given(measure) => Plan::by_reference_measure(
                self.name(),
                workload,
                privacy_cost,
                measure,
                &self.solver,
            ),
            MeasureChoice::File(path) => {
                let measure = ReferenceMeasure::read(workload.schema(), path)?;
                Plan::by_reference_measure(
                    self.name(),
                    workload,
                    privacy_cost,
                    &measure,
                    &self.solver,
                )
            }
        }
    }
}

/// A search on whose way a residual problem cannot be solved ends there; the plan of another start,
/// or the uniform one, stands.
fn unless_stuck(found: Result<Minimum>) -> Result<Option<Minimum>> {
    match found {
        Err(Error::DidNotConverge { .. } | Error::NotPositiveDefinite { .. }) => Ok(None),
        found => found.map(Some),
    }
}

/// The measure of a strategy on one attribute: `ν = X⁻¹1 / (1ᵀX⁻¹1)`, for which the strategy splits
/// into its total and its residual. Entries may be negative.
fn measure_of_strategy(covariance: &ndarray::Array2<f64>) -> Array1<f64> {
    let sums = covariance.sum_axis(ndarray::Axis(1));
    let total = sums.sum();
    sums / total
}

#[cfg(test)]
mod tests;
