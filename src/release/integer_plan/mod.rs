//! Integer plans: integer measurements with their noise, exact cost and error.

mod rounded;

use std::collections::HashMap;
use std::sync::Arc;

use num_bigint::BigUint;

use self::rounded::Rounded;
use super::rounding::Precision;
use crate::access::IntegerQuestion;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::planner::{Plan, Reconstruction};
use crate::privacy::{ExactRho, PrivacyCost, PrivacyUnit, RationalDeviation, Rho};
use crate::strategy::{IntegerFactor, IntegerStrategy, JointCost, JointSensitivity};
use crate::workload::GroupedWorkload;

/// An integer measurement: `B x_A` with discrete Gaussian noise.
#[derive(Debug, Clone)]
pub struct IntegerMeasurement {
    /// The attributes A.
    pub attributes: AttributeSet,
    /// The strategy B.
    pub strategy: IntegerStrategy,
    /// The standard deviation σ.
    pub deviation: RationalDeviation,
}

impl IntegerMeasurement {
    /// Returns the measurement as a question to the data.
    pub fn question(&self) -> IntegerQuestion<'_> {
        IntegerQuestion {
            attributes: self.attributes,
            strategy: &self.strategy,
            deviation: self.deviation,
        }
    }

    /// Returns c_A = Δ²/Var, the privacy cost of the measurement when one record is added or
    /// removed; `None` without noise.
    fn worth(&self) -> Result<Option<PrivacyCost>> {
        if self.deviation == RationalDeviation::ZERO {
            return Ok(None);
        }
        Ok(Some(PrivacyCost::new(
            self.strategy.squared_sensitivity_f64() / self.deviation.variance(),
        )?))
    }
}

/// A plan of integer measurements, computed from the schema, the workload and the budget only.
#[derive(Debug, Clone)]
pub struct IntegerPlan {
    plan: Plan,
    weights: Vec<Vec<i64>>,
    measurements: Vec<IntegerMeasurement>,
    unit: PrivacyUnit,
    cost: JointCost,
    precision: Option<Precision>,
    rounding: (f64, f64),
}

impl IntegerPlan {
    /// Rounds a plan of residual subspaces and chooses the noise.
    ///
    /// The total variance grows by at most a share of 10⁻⁶. The deviations spend ρ for the given
    /// unit: σ_A² = s·Δ_A²/c_A with the plan's shares c_A, rounded up, and the smallest s whose
    /// joint cost is at most ρ. A public number of records is measured without noise. Strategies
    /// with coarse noise are multiplied by a power of two.
    ///
    /// # Errors
    /// The plan does not measure residual subspaces, has joint strategies over too many cells or
    /// answers that could overflow, or no number of bits is precise enough.
    pub fn of(
        plan: &Plan,
        workload: &GroupedWorkload,
        rho: Rho,
        unit: PrivacyUnit,
    ) -> Result<Self> {
        if plan.reconstruction() != Reconstruction::ResidualSubspaces {
            return Err(Error::bad_input(
                format!("release of a plan of `{}`", plan.planner()),
                "a planner that measures residual subspaces",
                "one that measures whole marginals or the full domain",
                "use --planner query-smasher, anova, residual-planner or residual-planner-plus",
            ));
        }
        let (rounded, precision) = Rounded::precise_enough(plan, workload)?;
        let rounding = (plan.total_variance(), rounded.variance);
        let Rounded { weights, strategies, measure, .. } = rounded;
        let sets = plan.measurements().iter().map(|measurement| measurement.attributes);
        let joint = JointSensitivity::of(
            sets.clone().zip(strategies.iter().map(|(strategy, _)| strategy)),
            unit,
        );
        let shares = plan.measurements().iter().map(|measurement| measurement.privacy_cost.get());
        // Answers on which all neighbours agree are public: they need no noise.
        let variances: Vec<Option<f64>> = (strategies.iter().zip(shares))
            .map(|((strategy, _), share)| {
                let sensitivity = strategy.squared_sensitivity(unit.neighbours).value;
                let is_public = sensitivity == BigUint::ZERO;
                (!is_public).then(|| strategy.squared_sensitivity_f64() / share)
            })
            .collect();
        let deviations = |s: f64| -> Result<Vec<RationalDeviation>> {
            let deviation = |variance: &Option<f64>| match variance {
                None => Ok(RationalDeviation::ZERO),
                Some(variance) => Ok(RationalDeviation::rounded_up((s * variance).sqrt())?),
            };
            variances.iter().map(deviation).collect()
        };
        let chosen = paid(&ExactRho::of_rounded_down(rho), &deviations, &|deviations| {
            joint.cost(deviations)
        })?;
        let mut scalars = HashMap::new();
        let measurements: Vec<IntegerMeasurement> = (sets.zip(&strategies).zip(chosen))
            .map(|((attributes, (strategy, _)), deviation)| {
                let (strategy, deviation) = with_fine_noise(strategy, deviation, &mut scalars)?;
                Ok(IntegerMeasurement { attributes, strategy, deviation })
            })
            .collect::<Result<_>>()?;
        let questions: Vec<IntegerQuestion<'_>> =
            measurements.iter().map(IntegerMeasurement::question).collect();
        let cost = IntegerQuestion::joint_cost(&questions, unit)?;
        if ExactRho::of_rounded_down(rho).minus(&cost.rho).is_none() {
            return Err(Error::bug(
                "integer plan",
                format!("a cost of at most {rho}"),
                cost.rho.to_f64_rounded_up(),
            ));
        }
        let real: Vec<_> = (strategies.iter().zip(&measurements))
            .map(|((_, real), measurement)| Ok((real.clone(), measurement.worth()?)))
            .collect::<Result<_>>()?;
        let plan = plan.with_strategies(workload, &measure, &real)?;
        Ok(IntegerPlan { plan, weights, measurements, unit, cost, precision, rounding })
    }

    /// Returns the errors of the integer measurements, with the strategies as doubles at unit
    /// privacy cost.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the reference measure ν = p/Σp of every measured attribute, as integers p.
    pub fn weights(&self) -> &[Vec<i64>] {
        &self.weights
    }

    /// Returns the measurements.
    pub fn measurements(&self) -> &[IntegerMeasurement] {
        &self.measurements
    }

    /// Returns the privacy unit.
    pub fn unit(&self) -> PrivacyUnit {
        self.unit
    }

    /// Returns the joint cost of all measurements, recomputed from the integers.
    pub fn cost(&self) -> &ExactRho {
        &self.cost.rho
    }

    /// Returns whether some neighbours attain the cost; otherwise it is an upper bound.
    pub fn is_attained(&self) -> bool {
        self.cost.is_attained
    }

    /// Returns the precision of rounded strategies; `None` if none was rounded.
    pub fn precision(&self) -> Option<Precision> {
        self.precision
    }

    /// Returns the total variance at the plan's shares, as planned and after rounding.
    pub fn rounding(&self) -> (f64, f64) {
        self.rounding
    }

    /// Returns the number of measured integers.
    pub fn answers(&self) -> usize {
        self.measurements.iter().map(|m| m.strategy.rows()).sum()
    }
}

/// Multiplies a strategy and its deviation by the smallest power of two that makes the noise fine.
///
/// The cost and the error do not change. One more factor of two keeps σ away from the limit.
pub(super) fn with_fine_noise(
    strategy: &IntegerStrategy,
    deviation: RationalDeviation,
    scalars: &mut HashMap<u32, Arc<IntegerFactor>>,
) -> Result<(IntegerStrategy, RationalDeviation)> {
    let is_fine =
        |power: u32| -> Result<bool> { Ok(deviation.times_power_of_two(power)?.is_fine()) };
    let mut power = 0;
    while deviation != RationalDeviation::ZERO && !is_fine(power)? {
        power += 1;
    }
    if power == 0 {
        return Ok((strategy.clone(), deviation));
    }
    power += 1;
    let number = 1i64.checked_shl(power).filter(|number| *number > 0).ok_or_else(|| {
        let remedy = "use a smaller budget: at this budget the noise is less than one record";
        Error::too_large("integer answers with fine noise", "bits", 62.0, power.into(), remedy)
    })?;
    let scalar = match scalars.get(&power) {
        Some(scalar) => scalar.clone(),
        None => scalars.entry(power).or_insert(Arc::new(IntegerFactor::scalar(number)?)).clone(),
    };
    let factors = std::iter::once(scalar).chain(strategy.factors().iter().cloned());
    Ok((IntegerStrategy::new(factors.collect())?, deviation.times_power_of_two(power)?))
}

/// Returns `deviations(s)` for the smallest s whose cost is at most a budget.
pub(super) fn paid(
    budget: &ExactRho,
    deviations: &dyn Fn(f64) -> Result<Vec<RationalDeviation>>,
    cost: &dyn Fn(&[RationalDeviation]) -> Result<JointCost>,
) -> Result<Vec<RationalDeviation>> {
    // The cost is inversely proportional to s, except for rounding, which is on the safe side.
    let total = budget.to_f64_rounded_up();
    let mut s = cost(&deviations(1.0)?)?.rho.to_f64_rounded_up() / total;
    if s <= 0.0 {
        let (expected, remedy) =
            ("queries that depend on the records", "add queries to the workload");
        return Err(Error::bad_input(
            "release",
            expected,
            "none: the number of records is public here",
            remedy,
        ));
    }
    for _ in 0..60 {
        let chosen = deviations(s)?;
        let spent = cost(&chosen)?;
        if budget.minus(&spent.rho).is_some() {
            return Ok(chosen);
        }
        s *= (spent.rho.to_f64_rounded_up() / total).max(1.0 + 1e-8);
    }
    Err(Error::bug("integer plan", "a cost of at most the budget", format!("more than {total}")))
}
