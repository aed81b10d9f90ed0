//! `planned`: residuals measured once by a plan without data, then local maximum entropy.
//!
//! The total gets 0.5 % of ρ, residuals of one attribute 10 %, of two 59.5 %, and larger ones 30 %
//! (in equal parts for each order above two). The share of an order that the workload lacks is
//! divided among the others. Within an order the precision is `λ_τ ∝ n_τ^½`, at the cost
//! `p_τ λ_τ/2`.
//!
//! The answers are those of [`LearnedFit`], whose prior widths are learned from the measurements, as
//! in `staged` and `release --adjust`.
//!
//! The measurements are a matrix mechanism whose answers could be released with exact errors. The
//! reconstruction is not linear: answers are nonnegative, biased and possibly inconsistent, and
//! their errors depend on the data. *Cost*: one count of the records per residual, then the fit.
//! *Memory*: all residuals, 8 bytes per cell of W↓, and the model. *Source*: ours. The shares were
//! chosen on one run on Adult, the exponent on synthetic tables; all were compared with other
//! values on these and on real tables (`docs/simulating.md`).

use super::{Mechanism, RunReport, marginals_of};
use crate::access::{PaidAccess, Question};
use crate::call::Call;
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::estimation::soft_ipf::LearnedFit;
use crate::estimation::{MarginalEstimates, ResidualEstimates};
use crate::privacy::{NoiseStream, Rho};
use crate::residual::privacy_coefficient;
use crate::schema::Schema;
use crate::workload::GroupedWorkload;

/// The share of ρ for the total.
const TOTAL_SHARE: f64 = 0.005;

/// Maximum number of cells of all residuals, which are kept until all are measured.
const MAX_CELLS: f64 = (1u64 << 28) as f64;

/// The mechanism `planned`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedResiduals {
    /// The share of ρ for residuals of one attribute.
    singles: f64,
    /// The share of ρ for residuals of three or more attributes; those of two get the rest.
    larger: f64,
    /// The exponent of n_τ in the precision within an order.
    exponent: f64,
}

impl Default for PlannedResiduals {
    fn default() -> Self {
        PlannedResiduals { singles: 0.1, larger: 0.3, exponent: 0.5 }
    }
}

impl Mechanism for PlannedResiduals {
    fn name(&self) -> &str {
        "planned"
    }

    fn summary(&self) -> &str {
        "measures planned residuals once, fits local maximum entropy; nonnegative, biased"
    }

    fn is_adaptive(&self) -> bool {
        false
    }

    fn is_linear(&self) -> bool {
        false
    }

    fn options(&self) -> &'static [&'static str] {
        &["singles", "larger", "exponent"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Mechanism>> {
        let share = |key, default| {
            call.number(key, default, "a positive share of the budget", |x| x > 0.0 && x < 1.0)
        };
        let (singles, larger) = (share("singles", self.singles)?, share("larger", self.larger)?);
        if singles + larger >= 1.0 - TOTAL_SHARE {
            let max = 1.0 - TOTAL_SHARE;
            return Err(call.refuse(
                format!("`singles` and `larger` that leave some for pairs: a sum below {max}"),
                &format!("a sum of {}", singles + larger),
            ));
        }
        let exponent = call.number("exponent", self.exponent, "a number from 0 to 2", |x| {
            (0.0..=2.0).contains(&x)
        })?;
        Ok(Box::new(PlannedResiduals { singles, larger, exponent }))
    }

    fn accepts(&self, workload: &GroupedWorkload) -> Result<()> {
        self.plan(workload.schema(), &marginals_of(self.name(), workload)?, 1.0).map(drop)
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        let marginals = marginals_of(self.name(), workload)?;
        let schema = workload.schema();
        let rho: Rho = access.total();
        let measurements = self.plan(schema, &marginals, rho.get())?;
        let mut residuals = ResidualEstimates::new(schema);
        access.reserved(self.name(), rho, &mut |access| {
            for &(attributes, variance) in &measurements {
                let question = Question::Residual { attributes, variance };
                let measured = access.measure(&question, NoiseStream::Separate { round: 0 })?;
                residuals.update(attributes, &measured, variance)?;
            }
            Ok(())
        })?;
        let used = marginals.iter().fold(AttributeSet::EMPTY, |all, gamma| all.union(*gamma));
        let (estimates, _) = LearnedFit::default().fit(residuals, used, &[], &[])?;
        for (index, &gamma) in marginals.iter().enumerate() {
            answers(index, &estimates.marginal(gamma)?)?;
        }
        let details = vec![("measurements", measurements.len() as f64)];
        Ok(RunReport { details, ..RunReport::default() })
    }
}

impl PlannedResiduals {
    /// Returns the residuals of W↓ with noise variances σ_τ², ∅ first, with Σ p_τ/(2σ_τ²) = ρ.
    fn plan(
        &self,
        schema: &Schema,
        workload: &[AttributeSet],
        rho: f64,
    ) -> Result<Vec<(AttributeSet, f64)>> {
        let sizes = schema.sizes();
        let mut sets: Vec<AttributeSet> =
            workload.iter().flat_map(|gamma| gamma.subsets()).collect();
        sets.sort_by_key(|set| (set.len(), *set));
        sets.dedup();
        let mut priced = Vec::with_capacity(sets.len());
        let mut all_cells = 0.0;
        for tau in sets {
            let shape = schema.shape_of(tau)?;
            let price = privacy_coefficient(&shape, AxisSet::all(shape.len()));
            let cells: f64 = tau.positions().map(|p| sizes[p] as f64).product();
            // An attribute of one value has no residual.
            if price > 0.0 {
                all_cells += cells;
                priced.push((tau, price, cells.powf(self.exponent)));
            }
        }
        if all_cells > MAX_CELLS {
            return Err(Error::too_large(
                "residuals of the workload, which the mechanism `planned` keeps in memory",
                "cells",
                MAX_CELLS,
                all_cells,
                "ask for fewer marginals, or use the mechanism aim-hybrid",
            ));
        }
        let orders = priced.iter().map(|(tau, ..)| tau.len()).max().unwrap_or(0);
        let mut of_order = vec![0.0; orders + 1];
        for (tau, price, weight) in &priced {
            of_order[tau.len()] += price * weight / 2.0;
        }
        let larger = of_order.iter().skip(3).filter(|cost| **cost > 0.0).count().max(1) as f64;
        let pairs = 1.0 - TOTAL_SHARE - self.singles - self.larger;
        let share = |order: usize| match order {
            0 => TOTAL_SHARE,
            1 => self.singles,
            2 => pairs,
            _ => self.larger / larger,
        };
        let present: f64 = (0..=orders).filter(|&order| of_order[order] > 0.0).map(share).sum();
        let variance = |tau: AttributeSet, weight: f64| {
            let order = tau.len();
            of_order[order] * present / (weight * share(order) * rho)
        };
        Ok(priced.into_iter().map(|(tau, _, weight)| (tau, variance(tau, weight))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::test_support::schema;
    use crate::workload::attribute_sets;

    /// The plan spends ρ by the shares, with λ ∝ n^½ within an order.
    #[test]
    fn the_plan_spends_the_budget_by_its_shares() {
        let schema = schema(&[5, 2, 7, 3]);
        let sizes = schema.sizes();
        for (ways, shares) in
            [(vec![3], vec![0.005, 0.1, 0.595, 0.3]), (vec![2], vec![0.005, 0.1, 0.595])]
        {
            let measured = PlannedResiduals::default()
                .plan(&schema, &attribute_sets(&schema, &ways).unwrap(), 0.2)
                .unwrap();
            let mut spent = vec![0.0; shares.len()];
            for (tau, variance) in &measured {
                spent[tau.len()] += Question::Residual { attributes: *tau, variance: *variance }
                    .cost(&sizes)
                    .unwrap()
                    .get();
            }
            let all: f64 = shares.iter().sum();
            for (spent, share) in spent.iter().zip(&shares) {
                approx::assert_relative_eq!(*spent, 0.2 * share / all, max_relative = 1e-12);
            }
            let weight = |k: usize| {
                measured[k].1
                    * measured[k].0.positions().map(|p| sizes[p] as f64).product::<f64>().sqrt()
            };
            approx::assert_relative_eq!(weight(1), weight(3), max_relative = 1e-12);
        }
        let large = Schema::uniform(5000, 3).unwrap();
        assert!(
            PlannedResiduals::default()
                .plan(&large, &attribute_sets(&large, &[3]).unwrap(), 1.0)
                .unwrap_err()
                .to_string()
                .contains("planned")
        );
    }
}
