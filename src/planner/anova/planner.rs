//! The planner: its options, and its searches for a measure.

use std::path::PathBuf;

use super::classes::Classes;
use super::compressed::compressed;
use super::objective::SearchObjective;
use super::options::SearchOptions;
use super::saddle::{self, PathLimits, SaddleSearch};
use super::search::{self, Search, Start};
use super::starts;
use crate::call::Call;
use crate::error::Result;
use crate::planner::Planner;
use crate::planner::minimise::{Limits, Minimum, logarithms, reference_measure, softmax};
use crate::planner::objective_planner::objective_of;
use crate::planner::plan::{MeasureSearch, MeasureStart, Plan};
use crate::planner::residual_plan::plan_for;
use crate::planner::solver::{CertifiedSolver, NearSolver};
use crate::privacy::PrivacyCost;
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::{self, Optimal, Status};
use crate::workload::GroupedWorkload;

/// The minimum improvement of the total error for which a measure replaces the uniform one.
const MIN_IMPROVEMENT: f64 = 1e-9;

/// Maximum searches for a measure for another objective than the mean.
const MAX_ROUNDS: usize = 5;

/// The reference measure of [`Anova`].
#[derive(Debug, Clone, PartialEq, Default)]
pub enum MeasureChoice {
    /// The measure with the smallest total error that the optimiser finds.
    ///
    /// The uniform measure if it is equally good.
    #[default]
    Optimised,
    /// The uniform measure, as in QuerySmasher.
    Uniform,
    /// The given measure.
    Given(ReferenceMeasure),
    /// The measure in a file, which is read when the schema is known.
    File(PathBuf),
}

/// QuerySmasher with a reference measure ν_i per attribute in place of uniform averages.
///
/// A query splits into parts `f_A`: contracted with ν_i along the attributes outside A, and centred
/// by `I − ν_i 1ᵀ` along those in A. Every residual Gram gets its certified optimum, as in S3.
///
/// The measure minimises `Σ_A √E_A` by L-BFGS on ν = softmax(z), with one measure per class of
/// attributes in the same role, exact gradients by the envelope theorem, and warm starts of the
/// solves. The starts are the uniform measure and the measures of the one-attribute optima. For at
/// most 10 attributes the measure of HDMM's Kronecker strategy is a third start; it is also a
/// candidate itself, because it may have negative weights. For joint queries, starts that descend
/// towards a better one are dropped.
///
/// Joint queries that are few compared with the cells have an error with kinks. If there are any,
/// Newton's method follows the central path of the saddle point in measure and dual weights, from
/// the second start.
///
/// The error is at most that of [`QuerySmasher`](crate::planner::QuerySmasher): the uniform measure
/// is used if the search finds none better. The class of strategies contains every Kronecker
/// strategy, and with one attribute every strategy; `docs/reference-measures.md` has the proofs.
/// [`Plan::lower_bound`] is the certificate for the plan's measure, not for all measures.
///
/// *Requirements*: as QuerySmasher. *Cost*: 10–30 evaluations per start, each with one solve and
/// one eigendecomposition per distinct residual problem; along a central path 10–20 steps, each
/// with one system over the cells (at most 1,600 of them) per residual problem. *Source*: the
/// project's `docs/reference-measures.md`; S3, Sec. 6 for the uniform measure.
#[derive(Debug, Clone, Default)]
pub struct Anova {
    /// The measure.
    ///
    /// Default [`MeasureChoice::Optimised`].
    pub measure: MeasureChoice,
    /// The limits of the search.
    pub search: SearchOptions,
    /// The solver of the residual problems of the final plan.
    pub solver: CertifiedSolver,
    /// The objective.
    ///
    /// For other objectives than the mean, an optimised measure is the one for the mean with the
    /// group weights of the objective, found alternately. Default
    /// [`Mean`](crate::strategy::Objective::Mean).
    pub objective: strategy::Objective,
}

impl Anova {
    /// Creates the planner for a measure.
    pub fn with_measure(measure: MeasureChoice) -> Self {
        Anova { measure, ..Self::default() }
    }

    /// Plans for an objective that is not the mean, by the uniform and by optimised measures.
    fn optimised_for_objective(
        &self,
        workload: &GroupedWorkload,
        privacy_cost: PrivacyCost,
    ) -> Result<Plan> {
        let plan = |measure: &ReferenceMeasure| {
            let (name, solver) = (self.name(), &self.solver);
            plan_for(name, workload, privacy_cost, measure, solver, self.objective)
        };
        let uniform = ReferenceMeasure::uniform(&workload.schema().sizes());
        let (mut best, mut reweighted) = plan(&uniform)?;
        let uniform_variance = best.total_variance();
        let mut best_search = None;
        for _ in 0..MAX_ROUNDS {
            let found = self.optimised(&reweighted, privacy_cost)?;
            let (candidate, next) = plan(found.measure())?;
            let search = found.search.map(|search| MeasureSearch { uniform_variance, ..search });
            best_search =
                best_search.or(search.map(|s| MeasureSearch { start: MeasureStart::None, ..s }));
            if candidate.objective_value() >= best.objective_value() * (1.0 - MIN_IMPROVEMENT) {
                break;
            }
            (best, reweighted, best_search) = (candidate, next, search);
        }
        best.search = best_search;
        Ok(best)
    }

    fn optimised(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        let uniform =
            Plan::by_residual_subspaces(self.name(), workload, privacy_cost, &self.solver)?;
        let uniform_variance = uniform.total_variance();
        let classes = Classes::of(workload);
        let smaller = compressed(workload)?;
        let kronecker = starts::of_kronecker_strategy(workload, privacy_cost);
        let found = if saddle::suits(&smaller)? {
            self.by_saddle_point(&smaller, &classes)?
        } else {
            let most = (uniform_variance * privacy_cost.get()).sqrt();
            self.by_descent(&smaller, &classes, kronecker.as_ref(), most)?
        };
        let mut search = MeasureSearch {
            status: found.status,
            start: MeasureStart::None,
            evaluations: found.evaluations,
            classes: classes.sizes.len(),
            uniform_variance,
        };
        let mut plan = uniform;
        if let Some((start, measure)) = found.measure {
            let solver = NearSolver::new(self.solver, found.weights);
            let (name, measure) = (self.name(), &measure);
            let candidate =
                Plan::by_reference_measure(name, workload, privacy_cost, measure, &solver)?;
            if candidate.total_variance() < uniform_variance {
                (plan, search.start) = (candidate, start);
            }
        }
        // The search cannot reach weights that are not positive, or different measures for
        // attributes of one class.
        if let Some(measure) = kronecker {
            let (name, solver) = (self.name(), &self.solver);
            let candidate =
                Plan::by_reference_measure(name, workload, privacy_cost, &measure, solver)?;
            if candidate.total_variance() < plan.total_variance() {
                (plan, search.start) = (candidate, MeasureStart::Kronecker);
            }
        }
        plan.iterations += found.iterations;
        plan.search = Some(search);
        Ok(plan)
    }

    /// Searches a measure by Newton's method in measures and dual weights.
    fn by_saddle_point(&self, workload: &GroupedWorkload, classes: &Classes) -> Result<Found> {
        let start = softmax(&starts::peaked(workload, classes)?.concat(), &classes.sizes);
        let limits = PathLimits {
            gap: self.search.gap,
            tolerance: self.search.solve_tolerance,
            steps: self.search.steps,
        };
        let mut search = SaddleSearch::new(workload, classes);
        let Some(end) = search::if_solved(search.run(start, &limits))? else {
            return Ok(Found::default());
        };
        let measures = end.measures.into_iter().map(Measure::of).collect::<Result<Vec<_>>>()?;
        let measure = ReferenceMeasure::of_classes(classes.of.clone(), &measures)?;
        Ok(Found {
            measure: Some((MeasureStart::Peaked, measure)),
            weights: end.weights,
            status: end.status,
            evaluations: end.steps,
            iterations: end.steps * search.problems(),
        })
    }

    /// Searches a measure with a value of F below `most` by L-BFGS from several starts.
    fn by_descent(
        &self,
        workload: &GroupedWorkload,
        classes: &Classes,
        kronecker: Option<&ReferenceMeasure>,
        most: f64,
    ) -> Result<Found> {
        let uniform_start = classes.sizes.iter().map(|&n| vec![0.0; n]).collect::<Vec<_>>();
        let mut starts = vec![
            (MeasureStart::Uniform, uniform_start),
            (MeasureStart::Peaked, starts::peaked(workload, classes)?),
        ];
        if let Some(measures) = kronecker {
            starts.push((
                MeasureStart::Kronecker,
                logarithms(measures, &classes.of, starts::MIN_SHARE),
            ));
        }
        let mut options = self.solver.options;
        options.tolerance = options.tolerance.max(self.search.solve_tolerance);
        let mut limits = Limits {
            tolerance: self.search.tolerance,
            steps: self.search.steps,
            evaluations: self.search.evaluations,
        };
        let mut objective = SearchObjective::new(workload, classes, Optimal::new(options)?);
        let mut search = Search::new(&mut objective, &classes.sizes);
        let mut starts: Vec<Start> =
            starts.iter().map(|(name, z)| search.start(*name, &z.concat())).collect();
        // If evaluations are expensive, the starts compete and only the best continues.
        let race = classes.joint.contains(&true);
        let cells = classes.joint_cells(workload);
        let mut heat = limits;
        if race {
            starts = search.screened(starts)?;
            heat.evaluations = self.search.heat_for(cells);
            // Smaller steps are within the tolerance of the solves.
            limits.tolerance = limits.tolerance.max(options.tolerance);
            heat.tolerance = limits.tolerance;
        }
        let mut best: Option<(MeasureStart, Minimum)> = None;
        for start in starts {
            let name = start.name;
            let Some(found) = search.minimise(start, &heat)? else { continue };
            if best.as_ref().is_none_or(|(_, known)| found.value < known.value) {
                best = Some((name, found));
            }
        }
        let unfinished = |found: &Minimum| race && found.status != Status::Converged;
        if let Some((name, found)) = best.as_mut().filter(|(_, found)| unfinished(found)) {
            let rest = Limits { evaluations: self.search.rest_for(cells), ..limits };
            let start = search.start(*name, &found.x);
            match search.minimise(start, &rest)? {
                Some(further) => *found = further,
                None => found.status = Status::Stalled,
            }
        }
        let evaluations = search.evaluations;
        let Some((start, best)) = best else {
            return Ok(Found { evaluations, iterations: objective.iterations, ..Found::default() });
        };
        // The bounds of the uniform plan differ by its tolerance: less than that is no gain.
        let gain = MIN_IMPROVEMENT.max(if race { options.tolerance } else { 0.0 });
        let measure = match best.value.powi(2) < most.powi(2) * (1.0 - gain) {
            true => Some((start, reference_measure(&best.x, &classes.sizes, &classes.of)?)),
            false => None,
        };
        let iterations = objective.iterations;
        Ok(Found { measure, weights: Vec::new(), status: best.status, evaluations, iterations })
    }
}

/// The end of a search.
struct Found {
    /// The measure and its start.
    measure: Option<(MeasureStart, ReferenceMeasure)>,
    /// Weights near the optimum of every residual problem, if they are known.
    weights: Vec<Vec<f64>>,
    status: Status,
    evaluations: usize,
    iterations: usize,
}

impl Default for Found {
    fn default() -> Self {
        let (measure, weights) = (None, Vec::new());
        Found { measure, weights, status: Status::Stalled, evaluations: 0, iterations: 0 }
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
        &["measure", "objective"]
    }

    fn files(&self) -> Vec<&std::path::Path> {
        match &self.measure {
            MeasureChoice::File(path) => vec![path],
            _ => Vec::new(),
        }
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Planner>> {
        let measure = match call.written("measure") {
            None | Some("optimised") => MeasureChoice::Optimised,
            Some("uniform") => MeasureChoice::Uniform,
            Some(path) => MeasureChoice::File(crate::named_file::resolved(path.as_ref())),
        };
        Ok(Box::new(Anova { measure, objective: objective_of(call)?, ..self.clone() }))
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        let given = match &self.measure {
            MeasureChoice::Optimised if self.objective == strategy::Objective::Mean => {
                return self.optimised(workload, privacy_cost);
            }
            MeasureChoice::Optimised => {
                return self.optimised_for_objective(workload, privacy_cost);
            }
            MeasureChoice::Uniform => ReferenceMeasure::uniform(&workload.schema().sizes()),
            MeasureChoice::Given(measure) => measure.clone(),
            MeasureChoice::File(path) => ReferenceMeasure::read(workload.schema(), path)?,
        };
        let (name, solver) = (self.name(), &self.solver);
        Plan::for_objective(name, workload, privacy_cost, &given, solver, self.objective)
    }
}
