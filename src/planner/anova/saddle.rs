//! The search for a measure of joint queries: Newton's method in measures and dual weights at once.
//!
//! F(ν) = Σ_A √E_A(ν) is a minimum over ν of maxima over the weights μ of all residual problems,
//! with kinks where the set of the cells with weight changes. An interior-point method follows the
//! central path of this saddle point: all barriers decrease together, and each step moves ν and all
//! μ. Its linear system is that of ν after all μ are eliminated, parameters × parameters.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ndarray::{Array1, Array2, Axis, Slice};

use super::classes::Classes;
use super::objective::{Derivative, Evaluation, Key, evaluate};
use super::rows::{DenseQueries, ProblemRows};
use crate::error::{Error, Result};
use crate::planner::decomposition::Decomposition;
use crate::planner::solver::{SubspaceProblem, solves_by_rows};
use crate::strategy::{Linearised, PathPoint, Spectra, Status};
use crate::workload::GroupedWorkload;
use matmech_linalg as linalg;

/// Factor between the barriers of successive steps.
const BARRIER_FACTOR: f64 = 0.15;

/// Largest relative decrease of a weight of the measure in one step.
const MAX_DECREASE: f64 = 0.5;

/// First addition to the diagonal of a system that is not positive definite, relative to its
/// largest entry.
const RIDGE: f64 = 1e-12;

/// Number of additions, each ten times the one before.
const MAX_RIDGES: i32 = 13;

/// Maximum number of products of a pair of rows and a parameter: 512 MiB.
const MAX_PRODUCTS: usize = 1 << 26;

/// Limits of the search.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathLimits {
    /// The relative gap at the end of the path.
    pub gap: f64,
    /// A step that lowers F by less than this share at the end of the path ends the search.
    pub tolerance: f64,
    /// Maximum steps.
    pub steps: usize,
}

/// The end of a search.
#[derive(Debug)]
pub(super) struct PathEnd {
    /// One measure per class.
    pub measures: Vec<Vec<f64>>,
    /// Weights of the cells of every problem, in the order of the problems.
    pub weights: Vec<Vec<f64>>,
    pub status: Status,
    /// Steps, each with an eigendecomposition per problem.
    pub steps: usize,
}

/// Returns whether some residual problem of a workload is solved by rows, and all are small enough
/// for the search.
///
/// # Errors
/// The workload cannot be decomposed.
pub(super) fn suits(workload: &GroupedWorkload) -> Result<bool> {
    let decomposition = Decomposition::of(workload)?;
    let mut by_rows = false;
    for residual in decomposition.residuals() {
        let terms: Vec<_> = residual
            .terms
            .iter()
            .map(|t| (t.coefficient, decomposition.kernels(&t.kernels)))
            .collect();
        let problem = SubspaceProblem { sizes: &residual.sizes, classes: &[], terms };
        let cells: usize = residual.sizes.iter().product();
        let rank = match problem.joint_rows() {
            _ if residual.is_product() => residual.sizes.iter().copied().max().unwrap_or(1),
            Some(rows) => rows.min(cells),
            None => cells,
        };
        if rank * rank / 2 * residual.sizes.iter().sum::<usize>() > MAX_PRODUCTS {
            return Ok(false);
        }
        let rows = problem.joint_rows();
        by_rows |= rows.is_some_and(|rows| solves_by_rows(&residual.sizes, rows));
    }
    Ok(by_rows)
}

/// A residual problem at the current point.
struct Current {
    key: Key,
    rows: ProblemRows,
    spectra: Spectra,
}

/// A linearised problem, and the index of the parameter for each of its own.
struct Part {
    key: Key,
    linearised: Linearised,
    parameters: Vec<usize>,
}

/// The linear system for a step of the measures.
struct System {
    hessian: Array2<f64>,
    right: Array1<f64>,
}

/// The search for a workload.
pub(super) struct SaddleSearch<'a> {
    workload: &'a GroupedWorkload,
    classes: &'a Classes,
    /// The first parameter of every class.
    first: Vec<usize>,
    dense: DenseQueries,
    points: HashMap<Key, PathPoint>,
}

impl<'a> SaddleSearch<'a> {
    pub fn new(workload: &'a GroupedWorkload, classes: &'a Classes) -> Self {
        let first =
            (0..classes.sizes.len()).map(|class| classes.sizes[..class].iter().sum()).collect();
        let (dense, points) = (DenseQueries::default(), HashMap::new());
        SaddleSearch { workload, classes, first, dense, points }
    }

    /// Follows the central path from a measure.
    ///
    /// *Cost* of a step: a Gram matrix of second derivatives per residual problem, on at most 1,600
    /// cells, and rank²·cells flops per parameter.
    ///
    /// # Errors
    /// A linear system or an eigendecomposition fails.
    pub fn run(&mut self, start: Vec<Vec<f64>>, limits: &PathLimits) -> Result<PathEnd> {
        let mut measures = start;
        let mut keys = Vec::new();
        let (mut status, mut steps) = (Status::IterationLimit, 0);
        while status != Status::Converged && steps < limits.steps {
            steps += 1;
            let (evaluation, current) = self.evaluated(&measures)?;
            keys = current.iter().map(|problem| problem.key).collect();
            let points = keys.iter().filter_map(|key| self.points.get(key));
            let gap = points.map(PathPoint::gap).fold(0.0, f64::max);
            let target = limits.gap.max(BARRIER_FACTOR * gap);
            let value = evaluation.value;
            let (system, parts) = self.linearised(evaluation, current, target)?;
            let step = system.step(&measures, &self.first)?;
            let decrease = step.dot(&system.right);
            let length = step
                .iter()
                .zip(measures.iter().flatten())
                .filter(|(d, _)| **d < 0.0)
                .fold(1.0f64, |length, (d, x)| length.min(-MAX_DECREASE * x / d));
            let step = step * length;
            for part in parts {
                let point = self.points.get_mut(&part.key);
                let point = point.ok_or_else(|| Error::bug("central path", "a point", "none"))?;
                let local = step.select(Axis(0), &part.parameters);
                let moved = part.linearised.step(point, &local)?;
                point.advance(&moved);
            }
            for (nu, first) in measures.iter_mut().zip(&self.first) {
                nu.iter_mut().enumerate().for_each(|(k, x)| *x += step[first + k]);
                let sum: f64 = nu.iter().sum();
                nu.iter_mut().for_each(|x| *x /= sum);
            }
            let at_end = gap <= 1.5 * limits.gap && length >= 1.0;
            if at_end && decrease.abs() <= limits.tolerance * value {
                status = Status::Converged;
            }
        }
        let weights = keys
            .iter()
            .filter_map(|key| self.points.get(key))
            .map(|point| point.mu.to_vec())
            .collect();
        Ok(PathEnd { measures, weights, status, steps })
    }

    /// Returns the number of residual problems.
    pub fn problems(&self) -> usize {
        self.points.len()
    }

    /// Evaluates F and its derivatives at the current weights.
    fn evaluated(&mut self, measures: &[Vec<f64>]) -> Result<(Evaluation, Vec<Current>)> {
        let mut current: Vec<Current> = Vec::new();
        let (workload, classes) = (self.workload, self.classes);
        let evaluation = evaluate(workload, classes, measures, &mut |key, problem| {
            let rows = self.dense.of_problem(problem)?;
            let point = match self.points.entry(key) {
                // A part that vanishes at some measures can change the cells of a problem.
                Entry::Occupied(entry) if entry.get().mu.len() == rows.rows.ncols() => {
                    entry.into_mut()
                }
                Entry::Occupied(mut entry) => {
                    entry.insert(rows.moving().start()?);
                    entry.into_mut()
                }
                Entry::Vacant(entry) => entry.insert(rows.moving().start()?),
            };
            let mu = &point.mu;
            let spectra = rows.moving().spectra(mu)?;
            let derivative = if rows.are_queries {
                let centred = rows.moving().centred();
                Derivative::by_rows(problem, spectra.by_rows(mu), centred)
            } else {
                Derivative::Gram(spectra.by_gram(mu))
            };
            // On the central path t is between the optimum and its lower bound t²/Σμ.
            let trace = spectra.trace();
            current.push(Current { key, rows, spectra });
            Ok((trace, derivative))
        })?;
        Ok((evaluation, current))
    }

    /// Linearises all problems, and eliminates their weights.
    fn linearised(
        &mut self,
        evaluation: Evaluation,
        current: Vec<Current>,
        gap: f64,
    ) -> Result<(System, Vec<Part>)> {
        let Evaluation { gradients, decomposition, problems, upstream, .. } = evaluation;
        let mut right: Array1<f64> = gradients.into_iter().flatten().map(|g| -g).collect();
        let mut hessian = Array2::zeros((right.len(), right.len()));
        for (id, upstream) in upstream.iter().enumerate() {
            let kernel = decomposition.kernels(&[id])[0];
            self.dense.add_curvature(kernel, upstream, &self.first, &mut hessian)?;
        }
        let mut parts = Vec::with_capacity(current.len());
        for (problem, Current { key, rows, spectra }) in problems.iter().zip(current) {
            let point = &self.points[&key];
            let barrier = gap * point.mu.sum() / point.mu.len() as f64;
            let linearised = rows.moving().linearised(spectra, point, barrier)?;
            let parameters: Vec<usize> = rows
                .classes
                .iter()
                .zip(&rows.shape)
                .flat_map(|(class, n)| self.first[*class]..self.first[*class] + n)
                .collect();
            for (k, &i) in parameters.iter().enumerate() {
                right[i] -= problem.upstream * linearised.right[k];
                for (l, &j) in parameters.iter().enumerate() {
                    hessian[[i, j]] += problem.upstream * linearised.hessian[[k, l]];
                }
            }
            parts.push(Part { key, linearised, parameters });
        }
        Ok((System { hessian, right }, parts))
    }
}

impl System {
    /// Returns the step of the measures, with sum 0 for every measure.
    ///
    /// In relative changes of the weights, with an addition to the diagonal if the matrix is not
    /// positive definite.
    ///
    /// # Errors
    /// No step is found.
    fn step(&self, measures: &[Vec<f64>], first: &[usize]) -> Result<Array1<f64>> {
        let weights = Array1::from_iter(measures.iter().flatten().copied());
        let count = weights.len();
        let mut matrix = Array2::from_shape_fn((count, count), |(i, j)| {
            0.5 * (self.hessian[[i, j]] + self.hessian[[j, i]]) * weights[i] * weights[j]
        });
        let largest = matrix.diag().iter().copied().fold(0.0, f64::max);
        // The right-hand side, then the sums of the measures.
        let mut right = Array2::zeros((count, 1 + measures.len()));
        right.column_mut(0).assign(&(&self.right * &weights));
        for (class, (nu, &first)) in measures.iter().zip(first).enumerate() {
            nu.iter().enumerate().for_each(|(k, x)| right[[first + k, 1 + class]] = *x);
        }
        let mut solved = linalg::spd_solve(matrix.view(), right.view());
        for power in 0..MAX_RIDGES {
            if solved.is_ok() {
                break;
            }
            let ridge = RIDGE * 10f64.powi(power) * largest;
            matrix.diag_mut().mapv_inplace(|x| x + ridge);
            solved = linalg::spd_solve(matrix.view(), right.view());
        }
        let solved = solved?;
        let sums = right.slice_axis(Axis(1), Slice::from(1..));
        let all = linalg::matmul(sums.t(), solved.view());
        let multipliers = linalg::spd_solve(
            all.slice_axis(Axis(1), Slice::from(1..)),
            all.slice_axis(Axis(1), Slice::from(..1)),
        )?;
        let corrections = solved.slice_axis(Axis(1), Slice::from(1..));
        let step = &solved.column(0) - &corrections.dot(&multipliers.column(0));
        Ok(step * weights)
    }
}
