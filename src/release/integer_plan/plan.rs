//! Plans of integer measurements.

use std::collections::HashMap;

use num_bigint::BigUint;

use super::measurement::IntegerMeasurement;
use super::noise::{paid, with_fine_noise};
use super::rounded::Rounded;
use crate::access::IntegerQuestion;
use crate::error::{Error, Result};
use crate::planner::{Plan, Reconstruction};
use crate::privacy::{ExactRho, Neighbours, PrivacyUnit, RationalDeviation, Rho};
use crate::release::rounding::Precision;
use crate::strategy::{JointCost, JointSensitivity};
use crate::workload::GroupedWorkload;

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
    /// The total variance grows by at most a share of 10⁻⁶; for products with j ≥ 2 strategies that
    /// do not measure their whole subspace, by at most `10⁻⁶ + j (10^(−12/j) − 10⁻⁷)`. The
    /// deviations spend ρ for the given unit: σ_A² = s·Δ_A²/c_A with the plan's shares c_A, rounded
    /// up, and the smallest s whose joint cost is at most ρ. A public number of records is measured
    /// without noise. Strategies with coarse noise are multiplied by a power of two.
    ///
    /// # Errors
    /// The schema has public counts in which neighbours of the unit differ. The plan does not measure
    /// residual subspaces, has joint strategies over too many cells or
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
        if !workload.schema().public_counts().is_empty()
            && unit.neighbours == Neighbours::AddOrRemoveOneRecord
        {
            return Err(Error::bad_input(
                "[[public]] tables of the schema",
                "neighbouring tables with equal public counts, which replace records",
                "neighbours that add or remove records",
                "use --neighbours replace (neighbours=\"replace\" in Python), or remove the tables",
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
