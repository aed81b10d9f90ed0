//! Residuals as integer measurements, and centred answers from noisy integers.
//!
//! The strategy of a residual τ is B = ⊗_{i∈τ} (n_i I − J), for two values its first row. It has
//! B x_τ = n_τ · (centred marginal), so the centred answer is centre(y)/n_τ. With noise of
//! deviation σ its precision is λ = Δ²/(p_τ σ²), which costs p_τ λ/2 when one record is added or
//! removed.

use std::collections::HashMap;
use std::sync::Arc;

use num_bigint::BigUint;

use crate::domain::AttributeSet;
use crate::error::Result;
use crate::privacy::{ExactRho, PrivacyUnit, RationalDeviation};
use crate::release::integer_plan::{IntegerMeasurement, paid, with_fine_noise};
use crate::residual::centre_box;
use crate::strategy::{IntegerFactor, IntegerStrategy, JointSensitivity};

/// The variance assigned to noiseless measurements, in records².
const MIN_VARIANCE: f64 = 1e-12;

/// The integer strategies of residuals, with shared factors.
#[derive(Debug)]
pub(super) struct IntegerResiduals {
    sizes: Vec<usize>,
    unit: PrivacyUnit,
    factors: HashMap<usize, Arc<IntegerFactor>>,
    scalars: HashMap<u32, Arc<IntegerFactor>>,
}

impl IntegerResiduals {
    /// Creates strategies over attributes of these sizes.
    pub(super) fn new(sizes: Vec<usize>, unit: PrivacyUnit) -> Self {
        IntegerResiduals { sizes, unit, factors: HashMap::new(), scalars: HashMap::new() }
    }

    /// Returns B for the residual of τ.
    fn strategy(&mut self, tau: AttributeSet) -> Result<IntegerStrategy> {
        let factors = tau.select(&self.sizes).into_iter().map(|n| match self.factors.get(&n) {
            Some(factor) => Ok(factor.clone()),
            None => {
                let factor = Arc::new(IntegerFactor::centred_identity(n)?);
                Ok(self.factors.entry(n).or_insert(factor).clone())
            }
        });
        IntegerStrategy::new(factors.collect::<Result<_>>()?)
    }

    /// Returns the joint cost of residuals with the given precisions.
    pub(super) fn cost(&mut self, list: &[(AttributeSet, f64)]) -> Result<ExactRho> {
        let planned = Planned::of(self, list)?;
        Ok(planned.joint(self.unit).cost(&planned.deviations(1.0)?)?.rho)
    }

    /// Returns integer measurements of residuals, paid by a budget.
    ///
    /// The variances are those of the precisions times the smallest common factor for which the
    /// exact joint cost is at most the budget; deviations are rounded up. A public number of
    /// records is measured without noise. Strategies with coarse noise are multiplied by a power of
    /// two.
    ///
    /// # Errors
    /// No residual depends on the records, or integers that are too large.
    pub(super) fn measurements(
        &mut self,
        list: &[(AttributeSet, f64)],
        budget: &ExactRho,
    ) -> Result<Vec<IntegerMeasurement>> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let planned = Planned::of(self, list)?;
        let joint = planned.joint(self.unit);
        let chosen =
            paid(budget, &|s| planned.deviations(s), &|deviations| joint.cost(deviations))?;
        let fine = |((attributes, strategy), deviation): (&(AttributeSet, IntegerStrategy), _)| {
            let (strategy, deviation) = with_fine_noise(strategy, deviation, &mut self.scalars)?;
            Ok(IntegerMeasurement { attributes: *attributes, strategy, deviation })
        };
        planned.strategies.iter().zip(chosen).map(fine).collect()
    }
}

/// Strategies with the noise variances of their planned precisions.
struct Planned {
    strategies: Vec<(AttributeSet, IntegerStrategy)>,
    /// None for public answers.
    variances: Vec<Option<f64>>,
}

impl Planned {
    fn of(residuals: &mut IntegerResiduals, list: &[(AttributeSet, f64)]) -> Result<Self> {
        let (mut strategies, mut variances) = (Vec::new(), Vec::new());
        for &(attributes, precision) in list {
            let strategy = residuals.strategy(attributes)?;
            let sensitivity = strategy.squared_sensitivity(residuals.unit.neighbours).value;
            let is_public = sensitivity == BigUint::ZERO;
            variances.push((!is_public).then(|| information(&strategy) / precision));
            strategies.push((attributes, strategy));
        }
        Ok(Planned { strategies, variances })
    }

    fn joint(&self, unit: PrivacyUnit) -> JointSensitivity<'_> {
        JointSensitivity::of(self.strategies.iter().map(|(set, b)| (*set, b)), unit)
    }

    /// Returns the deviations for `s` times the planned variances, rounded up.
    fn deviations(&self, s: f64) -> Result<Vec<RationalDeviation>> {
        let deviation = |variance: &Option<f64>| match variance {
            None => Ok(RationalDeviation::ZERO),
            Some(variance) => Ok(RationalDeviation::rounded_up((s * variance).sqrt())?),
        };
        self.variances.iter().map(deviation).collect()
    }
}

/// Returns λσ² = Δ²/p_τ: n_i² per attribute, and 2 for one row of an attribute with two values.
fn information(strategy: &IntegerStrategy) -> f64 {
    let factor = |factor: &Arc<IntegerFactor>| match factor.shape() {
        [] => 1.0,
        _ => factor.row_count() as f64 * factor.cells() as f64,
    };
    strategy.factors().iter().map(factor).product()
}

/// Returns the centred answer of a residual and the variance 1/λ of its noise.
pub(super) fn centred(measurement: &IntegerMeasurement, noisy: &[i128]) -> (Vec<f64>, f64) {
    let strategy = &measurement.strategy;
    let scale: f64 = strategy.factors().iter().map(|factor| factor.number() as f64).product();
    let mut values: Vec<f64> = noisy.iter().map(|answer| *answer as f64 / scale).collect();
    let mut inner = values.len();
    for factor in strategy.factors().iter().filter(|factor| !factor.is_scalar()) {
        let rows = factor.row_count();
        inner /= rows.max(1);
        // The second row of an attribute with two values is the negative of the first.
        if rows == 1 && factor.cells() == 2 {
            let both = |block: &[f64]| {
                let negative: Vec<f64> = block.iter().map(|x| -x).collect();
                [block.to_vec(), negative].concat()
            };
            values = values.chunks(inner.max(1)).flat_map(both).collect();
        }
    }
    let shape = strategy.shape();
    centre_box(&shape, &mut values);
    let cells: f64 = shape.iter().map(|&n| n as f64).product();
    values.iter_mut().for_each(|value| *value /= cells);
    let variance = measurement.deviation.variance() / (scale * scale * information(strategy));
    (values, variance.max(MIN_VARIANCE))
}
