//! ResidualPlanner on data: all marginals of a workload at once, one after the other in little memory (S4, Sec. 4.3 and 6).

use std::collections::{BTreeMap, HashMap};

use super::measure_residual::{ResidualNoise, measure_residual};
use crate::data::{MarginalCounter, Records};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::{ResidualEstimates, subset};
use crate::planner::{privacy_coefficient, variance_coefficient};
use crate::privacy::ZcdpAccountant;
use crate::schema::Schema;

/// The optimal noise for the marginals of a workload, in closed form; no data is involved.
///
/// With V_τ = Σ_{γ∈W, γ⊇τ} n_γ v_τ(γ), the total expected squared error Σ V_τ σ_τ² is smallest under Σ p_τ/(2σ_τ²) = ρ for
/// σ_τ² = √(T p_τ/(2ρ V_τ)), where it is T = (Σ √(p_τ V_τ))²/(2ρ). It is the plan of
/// [`ResidualPlanner`](crate::planner::ResidualPlanner) for identity queries, by residual instead of by matrix.
///
/// *Cost*: O(2^k) per marginal on k attributes. *Reference*: Xiao et al., An optimal and scalable matrix mechanism for noisy
/// marginals (2023).
#[derive(Debug, Clone)]
pub struct BatchMarginals {
    schema: Schema,
    workload: Vec<Vec<usize>>,
    variances: BTreeMap<AttributeSet, f64>,
    rho: f64,
    expected_squared_error: f64,
}

impl BatchMarginals {
    /// The plan for the marginals on some ascending positions with the budget ρ.
    ///
    /// # Errors
    /// No marginal, positions that are not ascending positions of the schema, or a budget that is not positive.
    pub fn plan(schema: &Schema, workload: &[Vec<usize>], rho: f64) -> Result<Self> {
        if workload.is_empty() || !(rho > 0.0 && rho.is_finite()) {
            return Err(Error::invalid(
                "batch of marginals",
                "at least one marginal and a budget rho greater than 0",
                format!("{} marginals, rho = {rho}", workload.len()),
                "name the marginals and give a budget",
            ));
        }
        let estimates = ResidualEstimates::new(schema);
        // By residual: p_τ and V_τ.
        let mut coefficients: BTreeMap<AttributeSet, (f64, f64)> = BTreeMap::new();
        for positions in workload {
            let sizes = estimates.own_sizes(positions)?;
            let cells: f64 = sizes.iter().map(|&n| n as f64).product();
            for mask in 0..1usize << positions.len() {
                let price = privacy_coefficient(&sizes, mask);
                if price > 0.0 {
                    let own = coefficients.entry(subset(positions, mask)?).or_insert((price, 0.0));
                    own.1 += cells * variance_coefficient(&sizes, mask);
                }
            }
        }
        let root: f64 = coefficients.values().map(|(p, v)| (p * v).sqrt()).sum();
        let expected_squared_error = root * root / (2.0 * rho);
        let variance = |p: f64, v: f64| root / (2.0 * rho) * (p / v).sqrt();
        let variances = coefficients.into_iter().map(|(tau, (p, v))| (tau, variance(p, v))).collect();
        Ok(BatchMarginals {
            schema: schema.clone(),
            workload: workload.to_vec(),
            variances,
            rho,
            expected_squared_error,
        })
    }

    /// T: the expected squared error of all cells of all marginals together.
    pub fn expected_squared_error(&self) -> f64 {
        self.expected_squared_error
    }

    /// The expected value of ‖μ̂_γ − μ_γ‖₁, averaged over the marginals of the workload: every cell of the marginal on γ has
    /// Gaussian noise of the same variance Σ_{τ⊆γ} v_τ(γ) σ_τ² (S4, Prop. 4.4), so the sum is n_γ √(2/π · variance).
    ///
    /// # Errors
    /// None for a plan that was made.
    pub fn expected_mean_l1(&self) -> Result<f64> {
        let estimates = ResidualEstimates::new(&self.schema);
        let mut total = 0.0;
        for positions in &self.workload {
            let sizes = estimates.own_sizes(positions)?;
            let cells: f64 = sizes.iter().map(|&n| n as f64).product();
            let mut variance = 0.0;
            for mask in 0..1usize << positions.len() {
                if let Some(own) = self.variances.get(&subset(positions, mask)?) {
                    variance += variance_coefficient(&sizes, mask) * own;
                }
            }
            total += cells * (2.0 / std::f64::consts::PI * variance).sqrt();
        }
        Ok(total / self.workload.len() as f64)
    }

    /// The measurements: residuals τ and their σ_τ², ∅ first.
    pub fn variances(&self) -> impl Iterator<Item = (AttributeSet, f64)> + '_ {
        self.variances.iter().map(|(&tau, &variance)| (tau, variance))
    }

    /// Measures the residuals of the records and gives `each` the place and the estimate of every marginal of the workload,
    /// in its order. The whole budget is paid first.
    ///
    /// *Memory*: the residuals that a later marginal still needs (for all sets of three attributes, those on at most two),
    /// and one marginal. *Time*: O(k) per cell of the workload, and a count of the records per residual.
    ///
    /// # Errors
    /// The accountant has less than ρ left, records of another schema, and what `each` returns.
    pub fn run(
        &self,
        records: &Records,
        budget: &mut ZcdpAccountant,
        noise: &ResidualNoise,
        each: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        budget.spend("ResidualPlanner", self.rho)?;
        self.stream(Some(records), noise, each)
    }

    /// The errors that [`BatchMarginals::run`] would make, without any data: since the mechanism only adds noise, its
    /// estimates of a table of zeros are its errors on every table. For experiments, which save the counting.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn errors(&self, noise: &ResidualNoise, each: &mut dyn FnMut(usize, &[f64]) -> Result<()>) -> Result<()> {
        self.stream(None, noise, each)
    }

    /// Measures and reconstructs; without records, a table of zeros.
    fn stream(
        &self,
        records: Option<&Records>,
        noise: &ResidualNoise,
        each: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        let counter = records.map(MarginalCounter::new).transpose()?;
        let mut estimates = ResidualEstimates::new(&self.schema);
        // Marginals that still need a residual.
        let mut needed: HashMap<AttributeSet, usize> = HashMap::new();
        for positions in &self.workload {
            for mask in 0..1usize << positions.len() {
                *needed.entry(subset(positions, mask)?).or_default() += 1;
            }
        }
        for (place, positions) in self.workload.iter().enumerate() {
            let everything = (1usize << positions.len()) - 1;
            let mut own = None;
            for mask in 0..=everything {
                let tau = subset(positions, mask)?;
                let Some(&variance) = self.variances.get(&tau) else { continue };
                if estimates.get(tau).is_some() {
                    continue;
                }
                let inside: Vec<usize> = tau.positions().collect();
                let sizes = estimates.own_sizes(&inside)?;
                let mut marginal = Vec::new();
                match &counter {
                    Some(counter) => counter.count_into(&inside, &mut marginal)?,
                    None => marginal.resize(sizes.iter().product(), 0.0),
                }
                let measured = measure_residual(marginal, &sizes, variance, &mut noise.generator(tau, 0))?;
                if mask == everything && needed.get(&tau) == Some(&1) {
                    own = Some(measured);
                } else {
                    estimates.update(tau, &measured, variance)?;
                }
            }
            let marginal = match own {
                Some(own) => estimates.completed(positions, own)?,
                None => estimates.marginal(positions)?,
            };
            each(place, &marginal)?;
            for mask in 0..=everything {
                let tau = subset(positions, mask)?;
                let left = needed.entry(tau).or_insert(1);
                *left -= 1;
                if *left == 0 {
                    estimates.forget(tau);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::domain::{Attribute, AttributeKind};
    use crate::planner::{Planner, ResidualPlanner};
    use crate::workload::{Family, GroupFamily, GroupedWorkload, attribute_sets};

    fn schema(sizes: &[usize]) -> Schema {
        let attribute =
            |(k, &size): (usize, &usize)| Attribute { name: format!("A{k}"), size, kind: AttributeKind::Categorical };
        Schema::new(sizes.iter().enumerate().map(attribute).collect()).unwrap()
    }

    /// Adult at (ε, δ) = (1, 1e-9), all 3-way marginals, as the specification of S4 computed it independently.
    #[test]
    fn the_total_error_on_adult_is_known() {
        let schema = schema(&[28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2]);
        let workload = attribute_sets(&schema, &[3]).unwrap();
        let plan = BatchMarginals::plan(&schema, &workload, 0.014_973_057_67).unwrap();
        assert!((plan.expected_squared_error() / 1.2145e10 - 1.0).abs() < 0.5e-4, "{}", plan.expected_squared_error());
        assert_eq!(plan.variances().count(), 576);
    }

    /// The planner for query matrices finds the same variances and the same total.
    #[test]
    fn it_is_the_residual_planner_for_identity_queries() {
        let schema = schema(&[5, 2, 7, 3]);
        let workload = attribute_sets(&schema, &[1, 3]).unwrap();
        let (rho, identity) = (0.2, GroupFamily::Product(Family::Identity));
        let grouped = GroupedWorkload::all_ways(schema.clone(), &identity, &[1, 3]).unwrap();
        let matrices = ResidualPlanner.plan(&grouped, 2.0 * rho).unwrap();
        let plan = BatchMarginals::plan(&schema, &workload, rho).unwrap();
        assert_relative_eq!(plan.expected_squared_error(), matrices.total_variance(), max_relative = 1e-12);
        assert_eq!(plan.variances().count(), matrices.measurements().len());
        let mut cost = 0.0;
        for (tau, variance) in plan.variances() {
            let sizes: Vec<usize> = tau.positions().map(|p| schema.attributes()[p].size).collect();
            let price = privacy_coefficient(&sizes, (1 << sizes.len()) - 1);
            let other = matrices.measurements().iter().find(|m| m.attributes == tau).unwrap();
            assert_relative_eq!(price / variance, other.privacy_cost, max_relative = 1e-12);
            cost += price / (2.0 * variance);
        }
        assert_relative_eq!(cost, rho, max_relative = 1e-12);
    }

    /// The mean squared error of 3,000 runs against T: a run's error is a quadratic form in Gaussian noise, of variance at
    /// most twice its squared mean, so five standard errors of the mean are 5 √(2/3000) = 13%. For the L1 error the standard
    /// deviation of a run is at most √(π/2 − 1) of its mean, that of one Gaussian's absolute value.
    #[test]
    fn monte_carlo_errors_agree_with_the_plan() {
        const RUNS: usize = 3000;
        let schema = schema(&[3, 1, 4, 2]);
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        let records = Records::uniform(&schema, 100, &mut rng).unwrap();
        let workload = attribute_sets(&schema, &[2, 3]).unwrap();
        let truth: Vec<Vec<f64>> = workload.iter().map(|p| records.marginal(p).unwrap()).collect();
        let plan = BatchMarginals::plan(&schema, &workload, 0.3).unwrap();
        let (mut with_data, mut without, mut l1) = (0.0, 0.0, 0.0);
        for _ in 0..RUNS {
            let noise = ResidualNoise::from_rng(&mut rng);
            let mut budget = ZcdpAccountant::new(0.3).unwrap();
            let mut errors: Vec<Vec<f64>> = Vec::new();
            plan.run(&records, &mut budget, &noise, &mut |place, estimate| {
                errors.push(estimate.iter().zip(&truth[place]).map(|(a, t)| a - t).collect());
                with_data += errors[place].iter().map(|x| x * x).sum::<f64>();
                Ok(())
            })
            .unwrap();
            assert_eq!((errors.len(), budget.remaining()), (workload.len(), 0.0));
            plan.errors(&noise, &mut |place, error| {
                // The same noise makes the same errors, with data and without.
                approx::assert_abs_diff_eq!(error, errors[place].as_slice(), epsilon = 1e-9);
                without += error.iter().map(|x| x * x).sum::<f64>();
                l1 += error.iter().map(|x| x.abs()).sum::<f64>();
                Ok(())
            })
            .unwrap();
        }
        for sum in [with_data, without] {
            let ratio = sum / RUNS as f64 / plan.expected_squared_error();
            assert!((ratio - 1.0).abs() < 5.0 * (2.0 / RUNS as f64).sqrt(), "{ratio}");
        }
        let ratio = l1 / (RUNS * workload.len()) as f64 / plan.expected_mean_l1().unwrap();
        let deviation = (std::f64::consts::FRAC_PI_2 - 1.0).sqrt();
        assert!((ratio - 1.0).abs() < 5.0 * deviation / (RUNS as f64).sqrt(), "{ratio}");
    }

    #[test]
    fn misfits_are_refused() {
        let schema = schema(&[2, 3]);
        assert!(BatchMarginals::plan(&schema, &[], 1.0).is_err());
        assert!(BatchMarginals::plan(&schema, &[vec![0]], 0.0).is_err());
        assert!(BatchMarginals::plan(&schema, &[vec![1, 0]], 1.0).is_err());
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let records = Records::uniform(&schema, 10, &mut rng).unwrap();
        let plan = BatchMarginals::plan(&schema, &[vec![0, 1]], 1.0).unwrap();
        let noise = ResidualNoise::from_rng(&mut rng);
        let mut budget = ZcdpAccountant::new(0.999).unwrap();
        let mut seen = 0;
        let refused = plan.run(&records, &mut budget, &noise, &mut |_, _| {
            seen += 1;
            Ok(())
        });
        assert!(refused.unwrap_err().to_string().contains("ResidualPlanner") && seen == 0);
    }
}
