//! Least-squares estimates of residual subspaces.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::weights::{Direction, Weights};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::planner::{Decomposition, SubspaceStrategy};
use crate::release::measurements::Measurements;
use crate::release::rounding;
use crate::residual::{ReferenceMeasure, project_for, spread_for};
use crate::schema::Schema;
use crate::strategy::{IntegerFactor, StrategyFactor};
use crate::workload::{Family, GroupedWorkload, QueryGroup};

/// The estimate of one residual subspace.
#[derive(Debug)]
pub(super) struct Part {
    /// The projected least-squares estimate from the conditioned answers: cells of the marginal.
    pub(super) estimate: Vec<f64>,
    /// The strategy at unit privacy cost.
    pub(super) strategy: Arc<SubspaceStrategy>,
    /// The indices of its factors among all distinct ones.
    pub(super) factors: Vec<usize>,
    /// The variance of the noise per unit of V⁺: the covariance is `noise` · V⁺.
    pub(super) noise: f64,
}

/// Estimates of all measured residual subspaces.
///
/// Everything here is computed from outputs and costs no privacy.
///
/// *Memory*: 8 bytes per cell of the measured subspaces.
#[derive(Debug)]
pub struct Estimates {
    pub(super) schema: Schema,
    pub(super) measure: ReferenceMeasure,
    pub(super) parts: HashMap<AttributeSet, Part>,
    pub(super) known: Mutex<KnownVariances>,
    /// The directions in which the schema determines the estimates, orthonormal when whitened.
    pub(super) directions: Vec<Direction>,
}

/// Variances by factor and families, which many groups share.
pub(super) type KnownVariances = HashMap<(usize, Vec<Family>), Arc<Vec<f64>>>;

impl Estimates {
    /// Returns the least-squares estimates from measurements that agree with the impossible cells and
    /// the public counts of the schema.
    ///
    /// *Time*: O(cells · Σ sizes) per subspace, and one pseudo-inverse per distinct factor.
    ///
    /// # Errors
    /// A strategy whose rank is below that of its subspace: it leaves queries unanswered.
    pub fn of(measurements: &Measurements) -> Result<Self> {
        let schema = measurements.header.schema.clone();
        let measure = rounding::reference_measure(&measurements.weights, &schema.sizes())?;
        let mut reals: HashMap<*const IntegerFactor, (usize, StrategyFactor)> = HashMap::new();
        let mut parts = HashMap::with_capacity(measurements.list.len());
        let mut answers = Weights::default();
        for (measurement, noisy) in &measurements.list {
            let strategy = &measurement.strategy;
            let mut factors = Vec::with_capacity(strategy.factors().len());
            for factor in strategy.factors().iter().filter(|factor| !factor.is_scalar()) {
                let key = Arc::as_ptr(factor);
                if !reals.contains_key(&key) {
                    reals.insert(key, (reals.len(), checked(factor)?));
                }
                factors.extend(reals.get(&key).cloned());
            }
            let (indices, factors) = factors.into_iter().unzip();
            let scale = strategy.scale();
            let strategy = Arc::new(SubspaceStrategy::Kronecker(factors));
            let scaled = noisy.iter().map(|answer| *answer as f64 / scale).collect();
            let attributes = measurement.attributes;
            answers.0.insert(attributes, scaled);
            let noise = measurement.deviation.variance() / (scale * scale);
            let part = Part { estimate: Vec::new(), strategy, factors: indices, noise };
            parts.insert(attributes, part);
        }
        let (known, directions) = (Mutex::default(), Vec::new());
        let mut estimates = Estimates { schema, measure, parts, known, directions };
        estimates.condition(&mut answers, &measurements.public_counts)?;
        for (set, answers) in &answers.0 {
            let estimate = estimates.reconstructed(*set, answers)?;
            estimates.parts.entry(*set).and_modify(|part| part.estimate = estimate);
        }
        Ok(estimates)
    }

    /// Returns P B⁺ y for answers y of the strategy of a measured subspace.
    pub(super) fn reconstructed(&self, set: AttributeSet, answers: &[f64]) -> Result<Vec<f64>> {
        let Some(part) = self.parts.get(&set) else {
            return Err(Error::bug("estimates", "a measured subspace", format!("{set:?}")));
        };
        let mut estimate = part.strategy.reconstruct(answers)?;
        if !self.measure.is_uniform() {
            project_for(&part.strategy.shape(), &mut estimate, &self.measure.of(set));
        }
        Ok(estimate)
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the reference measure.
    pub fn measure(&self) -> &ReferenceMeasure {
        &self.measure
    }

    /// Returns the measured subspaces, ∅ first.
    pub fn sets(&self) -> Vec<AttributeSet> {
        let mut sets: Vec<AttributeSet> = self.parts.keys().copied().collect();
        sets.sort_unstable_by_key(|set| (set.len(), *set));
        sets
    }

    /// Returns the projected estimate of a subspace, the variance of its noise per unit of V⁺, and
    /// the strategy.
    pub(in crate::release) fn part(
        &self,
        set: AttributeSet,
    ) -> Option<(&[f64], f64, &SubspaceStrategy)> {
        self.parts
            .get(&set)
            .map(|part| (part.estimate.as_slice(), part.noise, part.strategy.as_ref()))
    }

    /// Refuses queries that the measurements do not determine.
    ///
    /// # Errors
    /// A group with a component in a subspace that was not measured; the message names both.
    pub fn check_answers(&self, workload: &GroupedWorkload) -> Result<()> {
        if workload.schema() != &self.schema {
            return Err(Error::bug(
                "answers",
                "a workload over the schema of the measurements",
                "another",
            ));
        }
        let decomposition = Decomposition::for_measure(workload, &self.measure)?;
        for group in workload.groups() {
            for (set, _) in decomposition.terms_of(group)? {
                if !self.parts.contains_key(&set) {
                    let name = |set| match self.schema.names(set) {
                        none if none.is_empty() => "the number of records".into(),
                        names => names,
                    };
                    return Err(Error::bad_input(
                        format!("`{}` queries on {}", group.family(), name(group.attributes())),
                        "queries in the span of the measurements",
                        format!("a component on {} that was not measured", name(set)),
                        "use other queries, or add these to the workload of another release",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns the unbiased estimate of the measured components of a marginal. O(2^k · cells).
    ///
    /// # Errors
    /// Attributes outside the schema.
    pub fn marginal(&self, attributes: AttributeSet) -> Result<Vec<f64>> {
        let sizes = self.schema.shape_of(attributes)?;
        let mut marginal = vec![0.0; sizes.iter().product()];
        let measures = self.measure.of(attributes);
        for (kept, set) in AxisSet::subsets(sizes.len()).zip(attributes.subsets()) {
            if let Some(part) = self.parts.get(&set) {
                spread_for(&mut marginal, &sizes, kept, &part.estimate, &measures);
            }
        }
        Ok(marginal)
    }

    /// Returns the unbiased answers of a group's queries, in the order of the family's rows.
    ///
    /// # Errors
    /// As [`Estimates::marginal`]; or the family cannot be enumerated.
    pub fn answers(&self, group: &QueryGroup) -> Result<Vec<f64>> {
        group.answers(&self.marginal(group.attributes())?)
    }
}

/// Returns a factor as doubles if it spans its whole subspace.
fn checked(factor: &IntegerFactor) -> Result<StrategyFactor> {
    let real = factor.real()?;
    let full = rounding::full_rank(factor.shape());
    let rank = matmech_linalg::Semidefinite::of(real.gram()?.view())?.rank();
    if rank == full {
        return Ok(real);
    }
    Err(Error::bad_input(
        format!("integer strategy over {:?}", factor.shape()),
        format!("rows that span their residual subspace, of rank {full}"),
        format!("rows of rank {rank}"),
        "give the folder `measurements` of a release, as it was written",
    ))
}
