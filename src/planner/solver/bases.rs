//! Fixed bases: one strategy per attribute for all residual subspaces, independent of the workload.

use std::fmt;
use std::sync::Arc;

use ndarray::Array2;

use super::{Solved, SubspaceProblem, SubspaceSolver};
use crate::domain::AttributeKind;
use crate::error::Result;
use crate::planner::SubspaceStrategy;
use crate::strategy::{Optimal, StrategyFactor, StrategySelector};
use crate::workload::{Family, Gram, check_dense_size};

/// A basis of one attribute's residual space, for any number of values.
pub trait AttributeBasis: fmt::Debug + Send + Sync {
    /// Returns one word for reports.
    ///
    /// Bases with the same name are equal.
    fn name(&self) -> &'static str;

    /// Returns the strategy V on an attribute with `n` values, at unit privacy cost.
    ///
    /// It is centred, so that it measures the residual only.
    ///
    /// # Errors
    /// There are too many values for dense matrices, or fewer than two.
    fn strategy(&self, n: usize) -> Result<StrategyFactor>;
}

/// ResidualPlanner's basis: `V = I − J/n`, scaled.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResidualBasis;

impl AttributeBasis for ResidualBasis {
    fn name(&self) -> &'static str {
        "residual"
    }

    fn strategy(&self, n: usize) -> Result<StrategyFactor> {
        check_dense_size("basis of an attribute", n)?;
        of_residual(Array2::eye(n))
    }
}

/// ResidualPlanner+'s basis for prefix sums: `V = C X C`, scaled.
///
/// X is the certified optimum for `[1ᵀ; P C]`, and `C = I − J/n`.
#[derive(Debug, Clone, Copy, Default)]
pub struct PrefixBasis;

impl PrefixBasis {
    /// Returns the Gram `J + C PᵀP C` of the workload for which X is optimal.
    ///
    /// # Errors
    /// There are too many values for dense matrices.
    pub fn workload(n: usize) -> Result<Array2<f64>> {
        check_dense_size("basis of an attribute", n)?;
        Ok(centred(Family::PREFIX.gram(&[n])?)? + Array2::<f64>::ones((n, n)))
    }

    /// Returns the basis for a given X in place of the certified optimum.
    ///
    /// # Errors
    /// X is zero on the residual space.
    pub fn with(x: Array2<f64>) -> Result<StrategyFactor> {
        of_residual(x)
    }
}

impl AttributeBasis for PrefixBasis {
    fn name(&self) -> &'static str {
        "prefix"
    }

    fn strategy(&self, n: usize) -> Result<StrategyFactor> {
        let best = Optimal::default().select(&Gram::dense(&[n], Self::workload(n)?)?)?;
        of_residual(best.strategy.factors()[0].gram()?.as_ref().clone())
    }
}

/// Returns `C X C`.
fn centred(x: Array2<f64>) -> Result<Array2<f64>> {
    Ok(Gram::dense(&[x.nrows()], x)?.residual().factors()[0].matrix.as_ref().clone())
}

fn of_residual(x: Array2<f64>) -> Result<StrategyFactor> {
    StrategyFactor::from_gram_scaled(&[x.nrows()], centred(x)?)
}

/// The bases of attributes, by their kind.
#[derive(Debug, Clone)]
pub struct Bases {
    /// The basis of numeric attributes.
    pub numeric: Arc<dyn AttributeBasis>,
    /// The basis of categorical attributes.
    pub categorical: Arc<dyn AttributeBasis>,
}

impl Default for Bases {
    /// Returns the bases of ResidualPlanner+.
    ///
    /// [`PrefixBasis`] for numeric attributes, [`ResidualBasis`] for categorical ones.
    fn default() -> Self {
        Bases::numeric(PrefixBasis)
    }
}

impl Bases {
    /// Uses the same basis for every attribute.
    pub fn uniform(basis: impl AttributeBasis + 'static) -> Self {
        let numeric: Arc<dyn AttributeBasis> = Arc::new(basis);
        Bases { categorical: numeric.clone(), numeric }
    }

    /// Uses a basis for numeric attributes, and [`ResidualBasis`] for categorical ones.
    pub fn numeric(basis: impl AttributeBasis + 'static) -> Self {
        Bases { numeric: Arc::new(basis), categorical: Arc::new(ResidualBasis) }
    }

    /// Returns the basis of a class.
    fn of_class(&self, class: usize) -> &dyn AttributeBasis {
        if class == 0 { self.numeric.as_ref() } else { self.categorical.as_ref() }
    }
}

/// Measures every residual subspace in the product of its attributes' bases.
///
/// *Cost*: one basis per kind and size of attribute. *Source*: S3, Sec. 5.
#[derive(Debug, Clone, Default)]
pub struct BasisSolver {
    /// The bases.
    ///
    /// Default [`Bases::default`].
    pub bases: Bases,
}

impl SubspaceSolver for BasisSolver {
    fn name(&self) -> &str {
        "given-bases"
    }

    fn class(&self, _position: usize, kind: AttributeKind) -> usize {
        usize::from(
            kind == AttributeKind::Categorical
                && self.bases.numeric.name() != self.bases.categorical.name(),
        )
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved> {
        let mut factors: Vec<StrategyFactor> = Vec::with_capacity(problem.sizes.len());
        for (k, (&n, &class)) in problem.sizes.iter().zip(problem.classes).enumerate() {
            let equal = (0..k).find(|&j| problem.sizes[j] == n && problem.classes[j] == class);
            factors.push(match equal {
                Some(j) => factors[j].clone(),
                None => self.bases.of_class(class).strategy(n)?,
            });
        }
        let strategy = SubspaceStrategy::Kronecker(factors);
        let mut error = 0.0;
        for (coefficient, kernels) in &problem.terms {
            error += coefficient * strategy.trace(kernels)?;
        }
        Ok(Solved { strategy, error, lower_bound: None, proof: None, iterations: 0 })
    }
}
