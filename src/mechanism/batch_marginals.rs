//! ResidualPlanner on data: marginals, reconstructed one at a time (S4, Sec. 4.3 and 6).

use std::collections::{BTreeMap, HashMap};

use super::{ExpectedErrors, Mechanism, RunReport, marginals_of};
use crate::access::{PaidAccess, Question};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::estimation::ResidualEstimates;
use crate::privacy::{NoiseStream, Rho};
use crate::residual::{privacy_coefficient, variance_coefficient};
use crate::schema::Schema;
use crate::workload::GroupedWorkload;

/// ResidualPlanner as a mechanism for marginals, with the plans of [`BatchMarginals`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ResidualPlannerMechanism;

impl Mechanism for ResidualPlannerMechanism {
    fn name(&self) -> &str {
        "residual-planner"
    }

    fn summary(&self) -> &str {
        "all marginals at once, with noise that minimises the total squared error"
    }

    fn is_adaptive(&self) -> bool {
        false
    }

    fn accepts(&self, workload: &GroupedWorkload) -> Result<()> {
        marginals_of(self.name(), workload).map(drop)
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        let marginals = marginals_of(self.name(), workload)?;
        BatchMarginals::plan(workload.schema(), &marginals, access.total())?
            .run(access, answers)?;
        Ok(RunReport::default())
    }

    fn expected(&self, workload: &GroupedWorkload, rho: Rho) -> Result<ExpectedErrors> {
        let plan =
            BatchMarginals::plan(workload.schema(), &marginals_of(self.name(), workload)?, rho)?;
        let (squared_error, mean_l1) = (plan.expected_squared_error(), plan.expected_mean_l1());
        Ok(ExpectedErrors { squared_error: Some(squared_error), mean_l1: Some(mean_l1) })
    }
}

/// The optimal noise for the marginals of a workload, in closed form and without data.
///
/// With V_τ = Σ_{γ∈W, γ⊇τ} n_γ v_τ(γ), the total expected squared error Σ V_τ σ_τ² is minimal under
/// Σ p_τ/(2σ_τ²) = ρ for σ_τ² = √(T p_τ/(2ρ V_τ)), where T = (Σ √(p_τ V_τ))²/(2ρ) is the minimum.
/// This is the plan of [`ResidualPlanner`](crate::planner::ResidualPlanner) for identity queries,
/// by residual instead of by matrix.
///
/// *Cost*: O(2^k) per marginal on k attributes. *Reference*: Xiao et al., An optimal and scalable
/// matrix mechanism for noisy marginals (2023).
#[derive(Debug, Clone)]
pub struct BatchMarginals {
    schema: Schema,
    /// The marginals with their sizes.
    workload: Vec<(AttributeSet, Vec<usize>)>,
    variances: BTreeMap<AttributeSet, f64>,
    rho: Rho,
    expected_squared_error: f64,
}

impl BatchMarginals {
    /// Plans the marginals of a workload for the budget ρ.
    ///
    /// # Errors
    /// No marginals, or a marginal on attributes that the schema lacks.
    pub fn plan(schema: &Schema, workload: &[AttributeSet], rho: Rho) -> Result<Self> {
        if workload.is_empty() {
            return Err(Error::bad_input(
                "batch of marginals",
                "at least one marginal",
                "none",
                "name at least one marginal",
            ));
        }
        let mut marginals = Vec::with_capacity(workload.len());
        // p_τ and V_τ, by residual.
        let mut coefficients: BTreeMap<AttributeSet, (f64, f64)> = BTreeMap::new();
        for &gamma in workload {
            let sizes = schema.shape_of(gamma)?;
            let cells: f64 = sizes.iter().map(|&n| n as f64).product();
            for (axes, tau) in AxisSet::subsets(sizes.len()).zip(gamma.subsets()) {
                let price = privacy_coefficient(&sizes, axes);
                if price > 0.0 {
                    let (_, v) = coefficients.entry(tau).or_insert((price, 0.0));
                    *v += cells * variance_coefficient(&sizes, axes);
                }
            }
            marginals.push((gamma, sizes));
        }
        let root: f64 = coefficients.values().map(|(p, v)| (p * v).sqrt()).sum();
        let cost = rho.privacy_cost().get();
        let expected_squared_error = root * root / cost;
        let variance = |p: f64, v: f64| root / cost * (p / v).sqrt();
        let variances =
            coefficients.into_iter().map(|(tau, (p, v))| (tau, variance(p, v))).collect();
        Ok(BatchMarginals {
            schema: schema.clone(),
            workload: marginals,
            variances,
            rho,
            expected_squared_error,
        })
    }

    /// Returns the total expected squared error T of all cells of all marginals.
    pub fn expected_squared_error(&self) -> f64 {
        self.expected_squared_error
    }

    /// Returns the expected L1 error ‖μ̂_γ − μ_γ‖₁, averaged over the marginals of the workload.
    ///
    /// Every cell of the marginal on γ has Gaussian noise of the same variance Σ_{τ⊆γ} v_τ(γ) σ_τ²
    /// (S4, Prop. 4.4), so the expected error is n_γ √(2/π · variance).
    pub fn expected_mean_l1(&self) -> f64 {
        let mut total = 0.0;
        for (gamma, sizes) in &self.workload {
            let cells: f64 = sizes.iter().map(|&n| n as f64).product();
            let mut variance = 0.0;
            for (axes, tau) in AxisSet::subsets(sizes.len()).zip(gamma.subsets()) {
                if let Some(noise) = self.variances.get(&tau) {
                    variance += variance_coefficient(sizes, axes) * noise;
                }
            }
            total += cells * (2.0 / std::f64::consts::PI * variance).sqrt();
        }
        total / self.workload.len() as f64
    }

    /// Returns the measured residuals τ and their variances σ_τ², ∅ first.
    pub fn variances(&self) -> impl Iterator<Item = (AttributeSet, f64)> + '_ {
        self.variances.iter().map(|(&tau, &variance)| (tau, variance))
    }

    /// Measures the residuals and passes every estimated marginal to `each`, with its index.
    ///
    /// The whole budget is paid first. Marginals come in the order of the workload. *Memory*: the
    /// residuals that later marginals need (for all sets of three attributes, those on at most
    /// two), and one marginal. *Time*: O(k) per cell of the workload, and one count of the records
    /// per residual.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`]: the remaining budget is less than ρ; nothing was measured. A
    /// table of another schema. Errors of `each`.
    pub fn run(
        &self,
        access: &mut dyn PaidAccess,
        each: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        access.reserved("ResidualPlanner", self.rho, &mut |access| self.measure(access, each))
    }

    fn measure(
        &self,
        access: &mut dyn PaidAccess,
        each: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        let mut estimates = ResidualEstimates::new(&self.schema);
        // The number of remaining marginals that need a residual.
        let mut needed: HashMap<AttributeSet, usize> = HashMap::new();
        for tau in self.workload.iter().flat_map(|(gamma, _)| gamma.subsets()) {
            *needed.entry(tau).or_default() += 1;
        }
        for (index, &(gamma, _)) in self.workload.iter().enumerate() {
            let mut last_residual = None;
            for attributes in gamma.subsets() {
                let Some(&variance) = self.variances.get(&attributes) else { continue };
                if estimates.get(attributes).is_some() {
                    continue;
                }
                let question = Question::Residual { attributes, variance };
                let measured = access.measure(&question, NoiseStream::Separate { round: 0 })?;
                if attributes == gamma && needed.get(&gamma) == Some(&1) {
                    last_residual = Some(measured);
                } else {
                    estimates.update(attributes, &measured, variance)?;
                }
            }
            let marginal = match last_residual {
                Some(centred) => estimates.completed(gamma, centred)?,
                None => estimates.marginal(gamma)?,
            };
            each(index, &marginal)?;
            for tau in gamma.subsets() {
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
    use crate::access::PrivateTable;
    use crate::data::Records;

    use crate::planner::{Planner, ResidualPlanner};
    use crate::test_support::{Impulse, rho, rng, schema};
    use crate::workload::{Family, GroupFamily, attribute_sets};

    /// Adult at (ε, δ) = (1, 1e-9), all 3-way marginals, against the independently computed value
    /// of the specification of S4.
    #[test]
    fn the_total_error_on_adult_is_known() {
        let schema = schema(&[28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2]);
        let workload = attribute_sets(&schema, &[3]).unwrap();
        let plan = BatchMarginals::plan(&schema, &workload, rho(0.014_973_057_67)).unwrap();
        assert!(
            (plan.expected_squared_error() / 1.2145e10 - 1.0).abs() < 0.5e-4,
            "{}",
            plan.expected_squared_error()
        );
        assert_eq!(plan.variances().count(), 576);
    }

    /// The variances and the total error equal those of the planner for query matrices.
    #[test]
    fn plans_equal_those_of_residual_planner_for_identity_queries() {
        let schema = schema(&[5, 2, 7, 3]);
        let workload = attribute_sets(&schema, &[1, 3]).unwrap();
        let (rho, identity) = (rho(0.2), GroupFamily::Product(Family::IDENTITY));
        let grouped = GroupedWorkload::all_ways(schema.clone(), &identity, &[1, 3]).unwrap();
        let matrices = ResidualPlanner.plan(&grouped, rho.privacy_cost()).unwrap();
        let plan = BatchMarginals::plan(&schema, &workload, rho).unwrap();
        assert_relative_eq!(
            plan.expected_squared_error(),
            matrices.total_variance(),
            max_relative = 1e-12
        );
        assert_eq!(plan.variances().count(), matrices.measurements().len());
        let mut cost = 0.0;
        for (tau, variance) in plan.variances() {
            let sizes = schema.shape_of(tau).unwrap();
            let price = privacy_coefficient(&sizes, AxisSet::all(sizes.len()));
            let planned = matrices.measurements().iter().find(|m| m.attributes == tau).unwrap();
            assert_relative_eq!(price / variance, planned.privacy_cost.get(), max_relative = 1e-12);
            cost += price / (2.0 * variance);
        }
        assert_relative_eq!(cost, rho.get(), max_relative = 1e-12);
    }

    /// Returns the estimated marginals of a plan, concatenated.
    fn answers(plan: &BatchMarginals, access: &mut dyn PaidAccess) -> Vec<f64> {
        let mut all = Vec::new();
        plan.run(access, &mut |index, marginal| {
            assert!(index < plan.workload.len());
            all.extend_from_slice(marginal);
            Ok(())
        })
        .unwrap();
        all
    }

    /// Against the exact variances: the answers are unbiased, the total error is T, the L1 error is
    /// that of Gaussian noise of these variances, and the whole budget is spent.
    #[test]
    fn errors_equal_those_of_the_plan() {
        let schema = schema(&[3, 1, 4, 2]);
        let records = Records::uniform(&schema, 100, &mut rng(8)).unwrap();
        let workload = attribute_sets(&schema, &[2, 3]).unwrap();
        let plan = BatchMarginals::plan(&schema, &workload, rho(0.3)).unwrap();
        let exact = answers(&plan, &mut Impulse::new(&records, rho(0.3), None));
        let truth = Impulse::truth(&records, &workload);
        approx::assert_abs_diff_eq!(exact.as_slice(), truth.as_slice(), epsilon = 1e-9);
        let variances =
            Impulse::exact_variances(&records, rho(0.3), |access| answers(&plan, access));
        assert_relative_eq!(
            variances.iter().sum::<f64>(),
            plan.expected_squared_error(),
            max_relative = 1e-10
        );
        let l1: f64 = variances.iter().map(|v| (2.0 / std::f64::consts::PI * v).sqrt()).sum();
        assert_relative_eq!(
            l1 / workload.len() as f64,
            plan.expected_mean_l1(),
            max_relative = 1e-10
        );
    }

    /// Answers on a table of zeros equal the errors on a table with the same noise.
    #[test]
    fn answers_on_zeros_equal_the_errors_on_data() {
        let schema = schema(&[3, 1, 4, 2]);
        let records = Records::uniform(&schema, 100, &mut rng(8)).unwrap();
        let workload = attribute_sets(&schema, &[2, 3]).unwrap();
        let plan = BatchMarginals::plan(&schema, &workload, rho(0.3)).unwrap();
        let [mut rng, mut same] = [9, 9].map(ChaCha20Rng::seed_from_u64);
        let errors =
            answers(&plan, &mut PrivateTable::of_zeros(&schema.sizes(), rho(0.3), &mut rng));
        let mut table = PrivateTable::of_records(&records, rho(0.3), &mut same).unwrap();
        let noisy = answers(&plan, &mut table);
        assert_eq!(table.remaining(), None);
        let truth = Impulse::truth(&records, &workload);
        let differences: Vec<f64> = noisy.iter().zip(&truth).map(|(a, t)| a - t).collect();
        approx::assert_abs_diff_eq!(errors.as_slice(), differences.as_slice(), epsilon = 1e-9);
    }

    #[test]
    fn invalid_workloads_and_small_budgets_are_refused() {
        let schema = schema(&[2, 3]);
        assert!(BatchMarginals::plan(&schema, &[], rho(1.0)).is_err());
        assert!(BatchMarginals::plan(&schema, &[AttributeSet::first(3)], rho(1.0)).is_err());
        let mut rng = rng(9);
        let records = Records::uniform(&schema, 10, &mut rng).unwrap();
        let plan = BatchMarginals::plan(&schema, &[AttributeSet::first(2)], rho(1.0)).unwrap();
        let mut table = PrivateTable::of_records(&records, rho(0.999), &mut rng).unwrap();
        let refused = plan.run(&mut table, &mut |_, _| panic!("nothing may be answered"));
        assert!(matches!(refused, Err(Error::BudgetExhausted { .. })));
        assert!(table.accountant().ledger().is_empty());
    }
}
