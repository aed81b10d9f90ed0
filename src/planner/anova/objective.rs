//! The total error as a function of the reference measure, and its gradient.
//!
//! The total error is F² with `F(ν) = Σ_A √E_A`. For fixed dual weights μ of a residual problem,
//! `E_A = t²` with `t = tr √(D^½ G_A D^½)`, D = diag(μ), is a lower bound on the optimum. The
//! optimal μ attains it, so its derivative by ν is the derivative of the optimum (envelope
//! theorem): `∂E/∂G = t · D^½ (D^½ G D^½)^(−½) D^½`.

use std::collections::HashMap;

use ndarray::{Array2, Axis, Slice};

use super::classes::Classes;
use super::pullback::{Upstream, pull_back};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::Result;
use crate::planner::decomposition::{Decomposition, KernelId, Terms, factors};
use crate::planner::solver::SubspaceProblem;
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::Optimal;
use crate::workload::{GroupQueries, GroupedWorkload};
use matmech_linalg as linalg;

/// The kernels of terms with the ratios of their coefficients (as bits).
type Signature = Vec<(u64, Vec<KernelId>)>;

/// A solved residual problem that is not a product of others.
pub(super) struct SolvedProblem {
    /// The terms of its Gram matrix.
    terms: Terms,
    /// The error E.
    error: f64,
    derivative: Derivative,
    /// The derivative of F by E.
    pub upstream: f64,
}

/// The derivative of E.
pub(super) enum Derivative {
    /// By the Gram.
    Gram(Array2<f64>),
    /// By the rows of all terms, stacked.
    ///
    /// `rows` are these rows, scaled by √coefficient.
    Rows { by_rows: Array2<f64>, rows: Array2<f64>, first: Vec<usize> },
}

/// The objective function F of the search.
pub(super) struct SearchObjective<'a> {
    workload: &'a GroupedWorkload,
    classes: &'a Classes,
    optimal: Optimal,
    /// Dual weights of the last evaluation, by residual problem and index of the factor.
    ///
    /// The residual problem is the first one that they solve.
    weights: HashMap<Key, Vec<f64>>,
    /// The number of eigendecompositions.
    pub iterations: usize,
}

impl<'a> SearchObjective<'a> {
    /// Creates the objective of a workload.
    pub fn new(workload: &'a GroupedWorkload, classes: &'a Classes, optimal: Optimal) -> Self {
        SearchObjective { workload, classes, optimal, weights: HashMap::new(), iterations: 0 }
    }

    /// Computes F and its gradient by the measure of every class.
    ///
    /// *Cost*: one solve and one eigendecomposition per distinct residual problem, with a warm
    /// start from the last evaluation; O(groups · 2^k) for the coefficients.
    ///
    /// # Errors
    /// A solve fails.
    pub fn evaluate(&mut self, measures: &[Vec<f64>]) -> Result<(f64, Vec<Vec<f64>>)> {
        let (workload, classes) = (self.workload, self.classes);
        let found =
            evaluate(workload, classes, measures, &mut |key, problem| self.solve(key, problem))?;
        Ok((found.value, found.gradients))
    }

    /// Solves a problem. Returns E with its derivative.
    fn solve(&mut self, key: Key, problem: &SubspaceProblem<'_>) -> Result<(f64, Derivative)> {
        let start = self.weights.get(&key).map(Vec::as_slice);
        let gram = problem.gram()?;
        let found = self.optimal.with_derivative(problem.sizes, gram.view(), start)?;
        self.iterations += found.iterations;
        self.weights.insert(key, found.mu);
        Ok((found.error, Derivative::Gram(found.by_gram)))
    }
}

/// A residual problem and the index of its factor; the residual problem is the first one that it
/// solves.
pub(super) type Key = (AttributeSet, usize);

/// A function that returns E of a problem with its derivative.
pub(super) type Solve<'s> = dyn FnMut(Key, &SubspaceProblem<'_>) -> Result<(f64, Derivative)> + 's;

/// F at a measure, with its derivatives.
pub(super) struct Evaluation {
    pub value: f64,
    /// The derivatives by the measures of the classes.
    pub gradients: Vec<Vec<f64>>,
    pub decomposition: Decomposition,
    pub problems: Vec<SolvedProblem>,
    /// The derivatives by the kernels.
    pub upstream: Vec<Upstream>,
}

/// Computes F and its derivatives with the errors and derivatives that `solve` returns.
///
/// # Errors
/// A solve fails.
pub(super) fn evaluate(
    workload: &GroupedWorkload,
    classes: &Classes,
    measures: &[Vec<f64>],
    solve: &mut Solve<'_>,
) -> Result<Evaluation> {
    let per_class =
        measures.iter().map(|nu| Measure::of(nu.clone())).collect::<Result<Vec<_>>>()?;
    let measure = ReferenceMeasure::of_classes(classes.of.clone(), &per_class)?;
    let decomposition = Decomposition::for_measure(workload, &measure)?;
    let mut problems: Vec<SolvedProblem> = Vec::new();
    let mut known: HashMap<Signature, usize> = HashMap::new();
    let mut solved = |key: Key,
                      sizes: &[usize],
                      terms: Terms,
                      problems: &mut Vec<SolvedProblem>|
     -> Result<usize> {
        let signature: Signature =
            terms.iter().map(|(c, kernels)| (c.to_bits(), kernels.clone())).collect();
        if let Some(&index) = known.get(&signature) {
            return Ok(index);
        }
        let listed =
            terms.iter().map(|(c, kernels)| (*c, decomposition.kernels(kernels))).collect();
        let problem = SubspaceProblem { sizes, classes: &[], terms: listed };
        let (error, derivative) = solve(key, &problem)?;
        known.insert(signature, problems.len());
        problems.push(SolvedProblem { terms, error, derivative, upstream: 0.0 });
        Ok(problems.len() - 1)
    };
    let mut by_coefficients: Vec<Vec<f64>> = Vec::with_capacity(decomposition.residuals().len());
    let mut pending: Vec<(usize, usize, f64)> = Vec::new();
    let mut total = 0.0;
    for (k, residual) in decomposition.residuals().iter().enumerate() {
        let (terms, scale) = residual.relative_terms();
        if let Some(factors) = factors(&terms) {
            let joint = factors.len() == 1;
            let mut error = scale;
            let mut indices = Vec::with_capacity(factors.len());
            let mut summed = None;
            for (axis, terms) in factors.into_iter().enumerate() {
                let sizes = if joint { &residual.sizes[..] } else { &residual.sizes[axis..=axis] };
                if terms.len() > 1 {
                    summed = Some(axis);
                }
                let index = solved((residual.attributes, axis), sizes, terms, &mut problems)?;
                error *= problems[index].error;
                indices.push(index);
            }
            let root = error.sqrt();
            for &index in &indices {
                problems[index].upstream += root / (2.0 * problems[index].error);
            }
            match summed {
                // The derivative of E by a coefficient is that of the summed factor times the
                // other factors.
                Some(axis) => {
                    let others = error / (scale * problems[indices[axis]].error);
                    pending.push((k, indices[axis], others / (2.0 * root)));
                    by_coefficients.push(Vec::new());
                }
                None => by_coefficients.push(vec![root / (2.0 * scale)]),
            }
            total += root;
        } else {
            let index = solved((residual.attributes, 0), &residual.sizes, terms, &mut problems)?;
            let root = (scale * problems[index].error).sqrt();
            problems[index].upstream += scale / (2.0 * root);
            pending.push((k, index, 1.0 / (2.0 * root)));
            by_coefficients.push(Vec::new());
            total += root;
        }
    }
    let mut upstream = vec![Upstream::default(); decomposition.kernel_count()];
    let mut by_terms = Vec::with_capacity(problems.len());
    for problem in &problems {
        by_terms.push(problem.distribute(&decomposition, &mut upstream)?);
    }
    for (k, index, factor) in pending {
        by_coefficients[k] = by_terms[index].iter().map(|d| d * factor).collect();
    }
    add_energies(workload, &decomposition, &by_coefficients, &mut upstream)?;
    let mut gradients: Vec<Vec<f64>> = classes.sizes.iter().map(|&n| vec![0.0; n]).collect();
    for (id, upstream) in upstream.iter().enumerate() {
        pull_back(decomposition.kernels(&[id])[0], upstream, &mut gradients)?;
    }
    Ok(Evaluation { value: total, gradients, decomposition, problems, upstream })
}

/// Adds the derivatives by mean energies, given the derivatives by coefficients.
///
/// A coefficient is `Σ w Π g` over the groups, with mean energies g.
fn add_energies(
    workload: &GroupedWorkload,
    decomposition: &Decomposition,
    by_coefficients: &[Vec<f64>],
    upstream: &mut [Upstream],
) -> Result<()> {
    for group in workload.groups() {
        let factors = decomposition.factors_of(group)?;
        let way = group.attributes().len();
        for (attributes, term) in decomposition.terms_of(group)? {
            let Some(k) = decomposition.position(attributes) else { continue };
            let terms = &decomposition.residuals()[k].terms;
            let Some(term_index) = terms.iter().position(|t| t.kernels == term.kernels) else {
                continue;
            };
            let by = by_coefficients[k][term_index] * group.weight();
            match group.queries() {
                GroupQueries::Joint(_) if attributes.is_empty() => {
                    upstream[factors[0].0].energy += by
                }
                GroupQueries::Joint(_) => {}
                GroupQueries::Product(_) => {
                    let kept = group.attributes().axes_in(attributes);
                    for dropped in (0..way).filter(|&axis| !kept.contains(axis)) {
                        let others =
                            AxisSet::of(way, |axis| axis != dropped && !kept.contains(axis));
                        let rest: f64 =
                            others.select(&factors).iter().map(|(_, energy)| energy).product();
                        upstream[factors[dropped].0].energy += by * rest;
                    }
                }
            }
        }
    }
    Ok(())
}

impl Derivative {
    /// Creates the derivative by the rows of a problem's terms.
    pub fn by_rows(problem: &SubspaceProblem<'_>, by_rows: Array2<f64>, rows: Array2<f64>) -> Self {
        let mut first = vec![0];
        for (_, kernels) in &problem.terms {
            let count: usize = kernels.iter().filter_map(|kernel| kernel.joint_rows()).sum();
            first.push(first.last().copied().unwrap_or(0) + count);
        }
        Derivative::Rows { by_rows, rows, first }
    }
}

impl SolvedProblem {
    /// Adds the derivatives by the kernels.
    ///
    /// Returns the derivatives of E by the coefficients.
    fn distribute(
        &self,
        decomposition: &Decomposition,
        upstream: &mut [Upstream],
    ) -> Result<Vec<f64>> {
        let mut by_coefficients = Vec::with_capacity(self.terms.len());
        for (index, (coefficient, kernels)) in self.terms.iter().enumerate() {
            match &self.derivative {
                Derivative::Rows { by_rows, rows, first } => {
                    let range = Slice::from(first[index]..first[index + 1]);
                    let by = by_rows.slice_axis(Axis(0), range);
                    let term_rows = rows.slice_axis(Axis(0), range);
                    by_coefficients.push((&by * &term_rows).sum() / (2.0 * coefficient));
                    if let [kernel] = kernels.as_slice() {
                        upstream[*kernel].add_rows(self.upstream * coefficient.sqrt(), by);
                    }
                }
                Derivative::Gram(by_gram) => {
                    let list = decomposition.kernels(kernels);
                    let grams =
                        list.iter().map(|kernel| kernel.gram()).collect::<Result<Vec<_>>>()?;
                    let views = || grams.iter().map(|gram| gram.view());
                    let mut by_coefficient = 0.0;
                    for (axis, kernel) in kernels.iter().enumerate() {
                        let by = if kernels.len() == 1 {
                            by_gram.clone()
                        } else {
                            partial_trace(by_gram, &views().collect::<Vec<_>>(), axis)
                        };
                        by_coefficient = (&by * grams[axis].as_ref()).sum();
                        upstream[*kernel].add_gram(self.upstream * coefficient, &by);
                    }
                    by_coefficients.push(by_coefficient);
                }
            }
        }
        // E is homogeneous of degree 1 in the coefficients, so Euler's theorem gives the first
        // derivative.
        if let [first, others @ ..] = by_coefficients.as_mut_slice() {
            let rest: f64 =
                self.terms[1..].iter().zip(others.iter()).map(|((c, _), by)| c * by).sum();
            *first = (self.error - rest) / self.terms[0].0;
        }
        Ok(by_coefficients)
    }
}

/// Returns `∂/∂A_k` of `tr(Γ (A_1 ⊗ … ⊗ A_m))`: Γ contracted with all other factors.
///
/// O(cells²) time.
fn partial_trace(
    gamma: &Array2<f64>,
    factors: &[ndarray::ArrayView2<'_, f64>],
    axis: usize,
) -> Array2<f64> {
    let outer = linalg::kron_all(factors[..axis].iter().map(|f| f.view()));
    let inner = linalg::kron_all(factors[axis + 1..].iter().map(|f| f.view()));
    let (n, tail) = (factors[axis].nrows(), inner.nrows());
    let mut out = Array2::zeros((n, n));
    for ((a, b), &weight) in outer.indexed_iter() {
        if weight == 0.0 {
            continue;
        }
        for i in 0..n {
            for j in 0..n {
                let (top, left) = ((a * n + i) * tail, (b * n + j) * tail);
                let block = gamma.slice_axis(Axis(0), Slice::from(top..top + tail));
                let block = block.slice_axis(Axis(1), Slice::from(left..left + tail));
                out[[i, j]] += weight * (&block * &inner).sum();
            }
        }
    }
    out
}
