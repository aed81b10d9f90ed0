//! Weights of query groups for the largest group error.
//!
//! Let err_g be the weighted mean square error of the queries of group g under a plan, and let
//! `E_A(w)` be the smallest error of residual subspace A for group weights w on the simplex. At
//! unit privacy cost
//!
//! ```text
//! V(w) = (Σ_A √E_A(w))²      c_A ∝ √E_A      err_g = √V Σ_A tr(K_gA V_A⁺) / √E_A
//! ```
//!
//! is the smallest `Σ_g w_g err_g` of any plan. The weighted mean is at most the maximum, so
//! `V(w) ≤ max_g err_g` for every plan of the class. √V is concave, and its maximum over w is the
//! smallest largest error. The fixed point `w_g ← w_g (err_g/V)²` with Anderson acceleration finds
//! it; a step that lowers V is undone and replaced by a plain step.

use super::decomposition::{Decomposition, ResidualProblem};
use super::objective_value::value;
use super::residual_solutions::Solutions;
use super::solver::SubspaceSolver;
use crate::error::Result;
use crate::strategy::{EXPONENT, MAX_STRETCH, Objective, WINDOW, normalised};
use crate::workload::GroupedWorkload;
use matmech_linalg::{Anderson, StepLimit};

/// The search ends at this relative gap.
const TOLERANCE: f64 = 1e-8;

/// Maximum number of evaluations of V.
const MAX_EVALUATIONS: usize = 300;

/// The search ends after this number of evaluations without a smaller gap.
const PATIENCE: usize = 40;

/// Relative error of V.
const ACCURACY: f64 = 0.5e-13;

/// The share of the weight that is divided evenly.
///
/// Every residual problem contains the queries of every group, whatever the weights. It lowers the
/// bound by at most this share.
const EVEN_SHARE: f64 = 1e-9;

/// The weights of the groups for an objective.
pub(super) struct GroupWeights {
    /// One weight of the mean square error per group; their sum is 1.
    pub weights: Vec<f64>,
    /// The number of calls of the solver.
    pub solves: usize,
    /// The number of eigendecompositions of these calls.
    pub iterations: usize,
}

impl GroupWeights {
    /// Searches the weights for an objective.
    ///
    /// *Cost*: per evaluation O(groups · 2^k), and one solve per distinct residual problem that is
    /// not a single product of kernels, unless the solver's strategies are fixed.
    ///
    /// # Errors
    /// A solve fails.
    pub fn of(
        workload: &GroupedWorkload,
        decomposition: &Decomposition,
        solver: &dyn SubspaceSolver,
        objective: Objective,
    ) -> Result<Self> {
        let mut errors = GroupErrors::new(workload, decomposition, solver)?;
        let counts: Vec<f64> = workload.groups().iter().map(|g| g.count().as_f64()).collect();
        let weights = search(&mut |weights| errors.at(weights), &counts, objective)?;
        Ok(GroupWeights { weights, solves: errors.solves, iterations: errors.iterations })
    }
}

/// V and the errors of the groups at some weights.
struct Evaluation {
    value: f64,
    errors: Vec<f64>,
}

/// Maximises V over the weights of the groups.
fn search(
    evaluate: &mut dyn FnMut(&[f64]) -> Result<Evaluation>,
    counts: &[f64],
    objective: Objective,
) -> Result<Vec<f64>> {
    let queries: f64 = counts.iter().sum();
    let share = match objective {
        Objective::Mean => 1.0,
        Objective::Max => 0.0,
        Objective::Balanced(share) => share,
    };
    let mixed = |free: &[f64]| -> Vec<f64> {
        free.iter().zip(counts).map(|(w, n)| (1.0 - share) * w + share * n / queries).collect()
    };
    let mut free = vec![1.0 / counts.len() as f64; counts.len()];
    let mut history = Anderson::new(WINDOW, StepLimit::Refuse(MAX_STRETCH));
    let (mut best, mut gap, mut since) = (mixed(&free), f64::INFINITY, 0);
    for _ in 0..MAX_EVALUATIONS {
        let weights = mixed(&free);
        let Evaluation { value: bound, errors } = evaluate(&weights)?;
        let found = value(objective, &errors, counts) / bound - 1.0;
        since += 1;
        if found < gap {
            (best, gap, since) = (weights, found, 0);
        }
        if gap <= TOLERANCE || since > PATIENCE {
            break;
        }
        let mean: f64 = free.iter().zip(&errors).map(|(w, e)| w * e).sum();
        let x = history.undone(bound, ACCURACY).unwrap_or_else(|| {
            let x = free.iter().map(|w| w.ln()).collect();
            let step = errors.iter().map(|e| EXPONENT * (e / mean).ln()).collect();
            history.next(x, step, &free, (bound, ACCURACY))
        });
        let next = normalised(&x);
        let (total, even) = (next.iter().sum::<f64>(), EVEN_SHARE / counts.len() as f64);
        free = next.iter().map(|w| (1.0 - EVEN_SHARE) * w / total + even).collect();
    }
    Ok(best)
}

/// A group's share of a term of a residual problem.
struct Part {
    residual: usize,
    term: usize,
    /// The coefficient of `tr(K V⁺)` in the group's weighted mean square error.
    coefficient: f64,
}

/// The errors of the groups as functions of their weights.
struct GroupErrors<'a> {
    decomposition: &'a Decomposition,
    solver: &'a dyn SubspaceSolver,
    /// The parts of every group.
    parts: Vec<Vec<Part>>,
    /// `tr(K V⁺)` of the terms of every residual problem, if V does not depend on the weights.
    fixed: Vec<Option<Vec<f64>>>,
    solves: usize,
    iterations: usize,
}

impl<'a> GroupErrors<'a> {
    fn new(
        workload: &GroupedWorkload,
        decomposition: &'a Decomposition,
        solver: &'a dyn SubspaceSolver,
    ) -> Result<Self> {
        let residuals = decomposition.residuals();
        let mut parts = Vec::with_capacity(workload.groups().len());
        for group in workload.groups() {
            let unit = group.weight() / group.count().as_f64();
            let mut of_group = Vec::new();
            for (attributes, term) in decomposition.terms_of(group)? {
                let Some(residual) = decomposition.position(attributes) else { continue };
                let terms = &residuals[residual].terms;
                let Some(index) = terms.iter().position(|t| t.kernels == term.kernels) else {
                    continue;
                };
                let coefficient = unit * term.coefficient;
                of_group.push(Part { residual, term: index, coefficient });
            }
            parts.push(of_group);
        }
        let mut solutions = Solutions::new(decomposition, solver);
        let mut fixed = Vec::with_capacity(residuals.len());
        for residual in residuals {
            let is_fixed = residual.terms.len() == 1 || solver.is_fixed();
            fixed.push(match is_fixed {
                true => Some(traces(&mut solutions, residual)?.1),
                false => None,
            });
        }
        let (solves, iterations) = (solutions.solves, solutions.iterations);
        Ok(GroupErrors { decomposition, solver, parts, fixed, solves, iterations })
    }

    /// Returns V and the errors of the groups at unit privacy cost.
    fn at(&mut self, weights: &[f64]) -> Result<Evaluation> {
        let residuals = self.decomposition.residuals();
        let mut coefficients: Vec<Vec<f64>> =
            residuals.iter().map(|residual| vec![0.0; residual.terms.len()]).collect();
        for (parts, weight) in self.parts.iter().zip(weights) {
            for part in parts {
                coefficients[part.residual][part.term] += weight * part.coefficient;
            }
        }
        let mut solutions = Solutions::new(self.decomposition, self.solver);
        // tr(K V⁺)/√E of every term.
        let mut shares: Vec<Vec<f64>> = Vec::with_capacity(residuals.len());
        let mut root = 0.0;
        for ((residual, coefficients), fixed) in
            residuals.iter().zip(&coefficients).zip(&self.fixed)
        {
            let (error, mut traces) = match fixed {
                Some(traces) => {
                    (coefficients.iter().zip(traces).map(|(c, t)| c * t).sum(), traces.clone())
                }
                None => {
                    let mut weighted = residual.clone();
                    for (term, coefficient) in weighted.terms.iter_mut().zip(coefficients) {
                        term.coefficient = *coefficient;
                    }
                    traces(&mut solutions, &weighted)?
                }
            };
            let part = error.sqrt();
            root += part;
            traces.iter_mut().for_each(|t| *t /= part);
            shares.push(traces);
        }
        self.solves += solutions.solves;
        self.iterations += solutions.iterations;
        let error = |parts: &Vec<Part>| {
            let of_part = |part: &Part| part.coefficient * shares[part.residual][part.term];
            root * parts.iter().map(of_part).sum::<f64>()
        };
        Ok(Evaluation { value: root * root, errors: self.parts.iter().map(error).collect() })
    }
}

/// Returns the error of a residual problem and `tr(K V⁺)` of its terms.
fn traces(solutions: &mut Solutions<'_>, residual: &ResidualProblem) -> Result<(f64, Vec<f64>)> {
    let (index, _) = solutions.solve(residual)?;
    let traces = residual
        .terms
        .iter()
        .map(|term| solutions.trace(index, &term.kernels))
        .collect::<Result<Vec<_>>>()?;
    let error = residual.terms.iter().zip(&traces).map(|(term, t)| term.coefficient * t).sum();
    Ok((error, traces))
}
