//! Solutions of residual problems, which equal problems share.

use std::collections::HashMap;
use std::sync::Arc;

use super::decomposition::{Decomposition, KernelId, ResidualProblem, Terms, factors};
use super::plan::SubspaceProof;
use super::solver::{Solved, SubspaceProblem, SubspaceSolver};
use super::subspace::SubspaceStrategy;
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::strategy::StrategyFactor;

/// The identity of a residual problem up to a factor.
///
/// The attributes' classes, and the kernels with the ratios of their coefficients (as bits).
type Signature = (Vec<usize>, Vec<(u64, Vec<KernelId>)>);

/// A strategy for a class of residual problems that are equal up to a factor.
pub(super) struct Solution {
    pub strategy: Arc<SubspaceStrategy>,
    pub error: f64,
    pub lower_bound: Option<f64>,
}

/// The solutions of all residual problems of a workload.
pub(super) struct Solutions<'a> {
    decomposition: &'a Decomposition,
    solver: &'a dyn SubspaceSolver,
    known: HashMap<Signature, usize>,
    /// The solutions, by index.
    pub list: Vec<Solution>,
    traces: HashMap<(usize, Vec<KernelId>), f64>,
    /// The proofs of the solver's calls.
    pub proofs: Vec<SubspaceProof>,
    /// The number of calls of the solver.
    pub solves: usize,
    /// The number of eigendecompositions of these calls.
    pub iterations: usize,
}

impl<'a> Solutions<'a> {
    pub fn new(decomposition: &'a Decomposition, solver: &'a dyn SubspaceSolver) -> Self {
        Solutions {
            decomposition,
            solver,
            known: HashMap::new(),
            list: Vec::new(),
            traces: HashMap::new(),
            proofs: Vec::new(),
            solves: 0,
            iterations: 0,
        }
    }

    /// Returns the index of a residual problem's solution.
    ///
    /// The second value is the ratio of its Gram to the Gram of the class.
    pub fn solve(&mut self, residual: &ResidualProblem) -> Result<(usize, f64)> {
        let (terms, scale) = residual.relative_terms();
        let pairs = residual.attributes.positions().zip(&residual.kinds);
        let classes: Vec<usize> =
            pairs.map(|(position, kind)| self.solver.class(position, *kind)).collect();
        Ok((self.class(residual.attributes, &residual.sizes, &classes, terms)?, scale))
    }

    fn class(
        &mut self,
        attributes: AttributeSet,
        sizes: &[usize],
        classes: &[usize],
        terms: Terms,
    ) -> Result<usize> {
        let signature =
            (classes.to_vec(), terms.iter().map(|(c, k)| (c.to_bits(), k.clone())).collect());
        if let Some(&index) = self.known.get(&signature) {
            return Ok(index);
        }
        let solution = match terms.as_slice() {
            [(_, kernels)] if kernels.is_empty() => Solution {
                strategy: Arc::new(SubspaceStrategy::Kronecker(Vec::new())),
                error: 1.0,
                lower_bound: Some(1.0),
            },
            _ => match factors(&terms) {
                Some(factors) if factors.len() > 1 => {
                    self.product(attributes, sizes, classes, factors)?
                }
                _ => {
                    let terms = terms
                        .iter()
                        .map(|(c, kernels)| (*c, self.decomposition.kernels(kernels)))
                        .collect();
                    let solved = self.solver.solve(&SubspaceProblem { sizes, classes, terms })?;
                    self.solves += 1;
                    self.iterations += solved.iterations;
                    let Solved { strategy, error, lower_bound, proof, .. } = solved;
                    self.proofs.extend(proof.map(|proof| SubspaceProof { attributes, proof }));
                    Solution { strategy: Arc::new(strategy), error, lower_bound }
                }
            },
        };
        let index = self.list.len();
        if let [(_, kernels)] = terms.as_slice() {
            self.traces.insert((index, kernels.clone()), solution.error);
        }
        self.list.push(solution);
        self.known.insert(signature, index);
        Ok(index)
    }

    /// Solves a product: the product of the factors' solutions.
    fn product(
        &mut self,
        attributes: AttributeSet,
        sizes: &[usize],
        classes: &[usize],
        of_attributes: Vec<Terms>,
    ) -> Result<Solution> {
        let (mut factors, mut error, mut lower_bound) = (Vec::new(), 1.0, Some(1.0));
        let problems = attributes.positions().zip(sizes).zip(classes).zip(of_attributes);
        for (((position, n), class), terms) in problems {
            let attribute = AttributeSet::from_positions(&[position])?;
            let index = self.class(attribute, &[*n], &[*class], terms)?;
            let factor = &self.list[index];
            error *= factor.error;
            lower_bound = lower_bound.zip(factor.lower_bound).map(|(a, b)| a * b);
            match factor.strategy.as_ref() {
                SubspaceStrategy::Kronecker(parts) => factors.extend(parts.iter().cloned()),
                fourier @ SubspaceStrategy::Fourier { .. } => {
                    factors.push(StrategyFactor::from_gram_scaled(&[*n], fourier.gram()?)?);
                }
            }
        }
        Ok(Solution {
            strategy: Arc::new(SubspaceStrategy::Kronecker(factors)),
            error,
            lower_bound,
        })
    }

    /// Returns `tr(K V⁺)` of a product of kernels under a solution, at unit privacy cost.
    pub fn trace(&mut self, index: usize, kernels: &[KernelId]) -> Result<f64> {
        if let Some(&known) = self.traces.get(&(index, kernels.to_vec())) {
            return Ok(known);
        }
        let trace = self.list[index].strategy.trace(&self.decomposition.kernels(kernels))?;
        self.traces.insert((index, kernels.to_vec()), trace);
        Ok(trace)
    }
}
