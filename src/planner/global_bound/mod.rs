//! A lower bound on the error of every matrix mechanism for a workload.
//!
//! For probabilities m on the cells of the full domain with Gram G, no strategy has a smaller total
//! error than `(tr √(D^½ G D^½))²`, D = diag(m). This matrix is too large to store. For a product
//! measure m = ⊗ m_i and queries on one and two attributes, it has few rows in a functional-ANOVA
//! basis of m ([`Axis`]). There it consists of small blocks ([`exchangeable`]), or of a dense block
//! and a diagonal block ([`pairs`], [`schur`]). Small domains are solved explicitly ([`explicit`]).

mod axis;
mod exchangeable;
mod explicit;
mod pairs;
mod schur;
mod structure;

use self::axis::Axis;
use self::schur::Step;
use self::structure::{Form, Structure};
use super::minimise::{Limits, minimise, reference_measure, softmax};
use crate::error::{Error, Result};
use crate::residual::ReferenceMeasure;
use crate::strategy::{Proof, Status};
use crate::workload::GroupedWorkload;

/// The maximum number of cells of a domain that is solved explicitly for lack of structure.
pub const MAX_EXPLICIT_CELLS: usize = 4_096;

/// The maximum number of cells of a domain that is always solved explicitly.
const MAX_CELLS_ALWAYS_EXPLICIT: usize = 1_024;

/// The maximum number of rows of a dense block whose weights are optimised.
const MAX_OPTIMISED_ROWS: usize = 700;

/// The step of the quadrature for the result.
const FINE: Step = Step(0.3);
/// The step of the quadrature in the search.
const COARSE: Step = Step(0.8);

/// The share by which the bound is lowered, for rounding in sums and decompositions.
const ROUNDING: f64 = 1e-10;

/// The weights m on the cells of the full domain that give a bound.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum BoundWeights {
    /// The product measure with the largest bound that the optimiser finds.
    ///
    /// It starts from uniform weights, and from a plan's reference measure if one is given.
    #[default]
    Optimised,
    /// Uniform weights.
    Uniform,
    /// The given product measure.
    Given(ReferenceMeasure),
    /// The weights of a proof over all cells, for [`BoundMethod::Explicit`].
    Cells(Proof),
}

/// How a bound was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundMethod {
    /// The certified optimum of the full domain, with a dense Gram.
    Explicit,
    /// Blocks of exchangeable attributes.
    Exchangeable,
    /// A dense block for single attributes and a diagonal block for pairs.
    Pairs,
}

/// A lower bound on the total variance of any matrix mechanism with Gaussian noise.
#[derive(Debug, Clone)]
pub struct GlobalBound {
    /// The lower bound on the weighted sum of variances at privacy cost 1.
    ///
    /// It is reduced by the quadrature's error.
    pub total_variance: f64,
    /// The error of the quadrature relative to `total_variance`, estimated from twice the step.
    pub quadrature_error: f64,
    /// How it was computed.
    pub method: BoundMethod,
    /// The product measure that gives the bound.
    ///
    /// `None` for [`BoundMethod::Explicit`].
    pub weights: Option<ReferenceMeasure>,
    /// The weights over all cells of [`BoundMethod::Explicit`].
    pub proof: Option<Proof>,
    /// How the search for the weights ended.
    pub status: Status,
    /// The number of evaluations of the bound.
    pub evaluations: usize,
}

impl GlobalBound {
    /// Computes the bound for a workload.
    ///
    /// `near` is an additional start of the search, such as the reference measure of an
    /// [`Anova`](super::Anova) plan.
    ///
    /// *Cost*: O(n³) per node of the quadrature for exchangeable attributes, independent of their
    /// number; O((Σ n)³ + Σ_pairs n_i n_j) per node otherwise; O(cells³) per iteration if explicit.
    ///
    /// # Errors
    /// The workload has queries on three or more attributes, joint queries, or several families of
    /// pairs on one attribute, over a domain of more than [`MAX_EXPLICIT_CELLS`] cells. Or the
    /// weights do not match the schema.
    pub fn of(
        workload: &GroupedWorkload,
        weights: &BoundWeights,
        near: Option<&ReferenceMeasure>,
    ) -> Result<Self> {
        let sizes = workload.schema().sizes();
        let given = if let BoundWeights::Given(measure) = weights { Some(measure) } else { None };
        for measure in near.into_iter().chain(given) {
            measure.check_sizes(&sizes)?;
        }
        if let BoundWeights::Cells(proof) = weights {
            return explicit::bound(workload, Some(proof));
        }
        let cells =
            sizes.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n)).unwrap_or(usize::MAX);
        if cells <= MAX_CELLS_ALWAYS_EXPLICIT && *weights == BoundWeights::Optimised {
            return explicit::bound(workload, None);
        }
        match Structure::of(workload) {
            Ok(structure) => by_structure(&structure, weights, near),
            Err(_) if cells <= MAX_EXPLICIT_CELLS && *weights == BoundWeights::Optimised => {
                explicit::bound(workload, None)
            }
            Err(reason) => Err(Error::bad_input(
                "global lower bound",
                "product queries on one and two attributes, one family of pairs per attribute, or \
                 a small domain",
                format!(
                    "{reason}, over {} cells",
                    sizes.iter().map(|&n| n as f64).product::<f64>()
                ),
                format!(
                    "ask for the bound of such a workload, or of a workload over at most \
                     {MAX_EXPLICIT_CELLS} cells"
                ),
            )),
        }
    }

    /// Returns the bound as the root mean square error of a number of queries, at a privacy cost.
    pub fn rmse(&self, queries: f64, privacy_cost: f64) -> f64 {
        (self.total_variance / privacy_cost / queries).sqrt()
    }
}

/// Returns tr √K at weights given by their logarithms, its error, and its gradient if requested.
fn evaluate(
    structure: &Structure,
    z: &[f64],
    step: Step,
    gradient: bool,
) -> Result<(f64, f64, Vec<f64>)> {
    let weights = softmax(z, &structure.class_sizes);
    let axes = (structure.axes.iter())
        .map(|axis| Axis::of(&axis.gram, axis.alone.as_ref(), &weights[axis.class]))
        .collect::<Result<Vec<_>>>()?;
    let mut by: Vec<_> = axes.iter().map(Axis::no_derivative).collect();
    let (trace, error) = match &structure.form {
        Form::Exchangeable(form) => form.root_trace(&axes[0], step, gradient.then_some(&mut by[0])),
        Form::Pairs(form) => form.root_trace(&axes, step, gradient.then_some(by.as_mut_slice())),
    };
    let mut gradients: Vec<Vec<f64>> =
        structure.class_sizes.iter().map(|&n| vec![0.0; n]).collect();
    if gradient {
        for ((axis, by), listed) in axes.iter().zip(&by).zip(&structure.axes) {
            let axis_gradient = axis.by_logits(by);
            gradients[listed.class].iter_mut().zip(axis_gradient).for_each(|(sum, g)| *sum += g);
        }
    }
    Ok((trace, error, gradients.into_iter().flatten().collect()))
}

fn by_structure(
    structure: &Structure,
    weights: &BoundWeights,
    near: Option<&ReferenceMeasure>,
) -> Result<GlobalBound> {
    let uniform = vec![0.0; structure.class_sizes.iter().sum()];
    let (mut starts, optimise) = match weights {
        BoundWeights::Uniform | BoundWeights::Cells(_) => (vec![uniform], false),
        BoundWeights::Given(measure) => (vec![structure.logits(measure)], false),
        BoundWeights::Optimised => (vec![uniform], structure.dense_rows() <= MAX_OPTIMISED_ROWS),
    };
    if let (BoundWeights::Optimised, Some(near)) = (weights, near) {
        starts.push(structure.logits(near));
    }
    let limits = Limits { tolerance: 1e-7, steps: 40, evaluations: 60 };
    let alone = starts.len() == 1;
    let mut best: Option<(f64, Vec<f64>, Status)> = None;
    let mut evaluations = 0;
    for start in starts {
        let (value, point, status) = if optimise {
            let (unit, ..) = evaluate(structure, &start, COARSE, false)?;
            let mut function = |z: &[f64]| {
                let (trace, _, gradient) = evaluate(structure, z, COARSE, true)?;
                let factor = -unit / (trace * trace);
                Ok((unit / trace, gradient.iter().map(|g| g * factor).collect()))
            };
            let found = minimise(&mut function, start, &limits)?;
            evaluations += found.evaluations + 1;
            (unit / found.value, found.x, found.status)
        } else if alone {
            (0.0, start, Status::Converged)
        } else {
            evaluations += 1;
            (evaluate(structure, &start, COARSE, false)?.0, start, Status::Converged)
        };
        if best.as_ref().is_none_or(|(known, ..)| value > *known) {
            best = Some((value, point, status));
        }
    }
    let Some((_, point, status)) = best else {
        return Err(Error::DidNotConverge {
            what: "global lower bound".into(),
            order: structure.axes.len(),
        });
    };
    let (trace, error, _) = evaluate(structure, &point, FINE, false)?;
    let lower_bound = (trace - error).max(0.0) * (1.0 - ROUNDING);
    Ok(GlobalBound {
        total_variance: lower_bound * lower_bound,
        quadrature_error: 2.0 * error / trace,
        method: match structure.form {
            Form::Exchangeable(_) => BoundMethod::Exchangeable,
            Form::Pairs(_) => BoundMethod::Pairs,
        },
        weights: Some(reference_measure(&point, &structure.class_sizes, &structure.classes)?),
        proof: None,
        status,
        evaluations: evaluations + 1,
    })
}

#[cfg(test)]
mod tests;
