//! Running a plan on private data: measure, reconstruct and answer group by group (S3, Sec. 6.4).

use std::collections::HashMap;

use super::{ExpectedErrors, Mechanism, RunReport};
use crate::access::{PaidAccess, Question};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::planner::{Plan, PlannedMeasurement, Planner, QuerySmasher, Reconstruction};
use crate::privacy::{NoiseStream, Rho};
use crate::residual::{ReferenceMeasure, project_for, spread_for, summed};
use crate::workload::{GroupedWorkload, QueryGroup};

/// Maximum number of cells of a full-domain measurement: 1 GiB of estimates.
const MAX_CELLS: usize = 1 << 27;

/// Plans a workload without data, measures once, and answers every query without bias.
///
/// Every answer has the planned variance. *Requirements*: those of the planner. *Reference*: S3,
/// Sec. 6.
#[derive(Debug)]
pub struct QuerySmasherMechanism {
    planner: Box<dyn Planner>,
}

impl QuerySmasherMechanism {
    /// Creates the mechanism that runs a planner's plans; it has the planner's name.
    pub fn of(planner: Box<dyn Planner>) -> Self {
        QuerySmasherMechanism { planner }
    }
}

impl Default for QuerySmasherMechanism {
    /// Runs the plans of [`QuerySmasher`].
    fn default() -> Self {
        Self::of(Box::new(QuerySmasher::default()))
    }
}

impl Mechanism for QuerySmasherMechanism {
    fn name(&self) -> &str {
        self.planner.name()
    }

    fn summary(&self) -> &str {
        "plans for queries of every family, measures once, answers without bias"
    }

    fn is_adaptive(&self) -> bool {
        false
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        let plan = self.planner.plan(workload, access.total().privacy_cost())?;
        run_plan(&plan, workload, access, answers)?;
        let details = vec![("measurements", plan.measurements().len() as f64)];
        Ok(RunReport { details, ..RunReport::default() })
    }

    fn expected(&self, workload: &GroupedWorkload, rho: Rho) -> Result<ExpectedErrors> {
        let plan = self.planner.plan(workload, rho.privacy_cost())?;
        Ok(ExpectedErrors {
            squared_error: Some(plan.groups().iter().map(|g| g.variance).sum()),
            mean_l1: None,
        })
    }
}

/// Runs a plan on private data and passes the answers of every group to `answers`.
///
/// The whole plan is paid first. Every measurement is made exactly once, when the first group needs
/// it. `answers` gets each group's index and its answers in row order. The exact variances are
/// those of [`Plan::groups`].
///
/// *Memory*: the records, the estimates of residual subspaces that later groups need, and one
/// group's marginal and answers. *Time*: O(records + cells · Σ sizes) per measurement and group.
///
/// # Errors
/// [`Error::BudgetExhausted`]: the remaining budget is less than the plan's privacy cost; nothing
/// was measured. A workload that is not the plan's, a table of another schema, or a full-domain
/// plan over too many cells. Errors of `answers`.
pub fn run_plan(
    plan: &Plan,
    workload: &GroupedWorkload,
    access: &mut dyn PaidAccess,
    answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
) -> Result<()> {
    let same = plan.schema() == workload.schema()
        && plan.groups().len() == workload.groups().len()
        && plan.groups().iter().zip(workload.groups()).all(|(p, w)| p.attributes == w.attributes());
    if !same || access.sizes() != plan.schema().sizes() {
        return Err(Error::bad_input(
            "run of a plan",
            "the workload that the plan was made for, and a table of its schema",
            "another workload or another table",
            "plan this workload first",
        ));
    }
    if plan.reconstruction() == Reconstruction::FullDomain {
        let sizes = access.sizes();
        let cells = sizes
            .iter()
            .try_fold(1usize, |cells, &n| cells.checked_mul(n))
            .filter(|&n| n <= MAX_CELLS);
        if cells.is_none() {
            return Err(Error::too_large(
                "measurement of the full domain",
                "cells",
                MAX_CELLS as f64,
                sizes.iter().map(|&n| n as f64).product(),
                "use a planner that measures marginals or residual subspaces",
            ));
        }
    }
    access.reserved(
        &format!("plan of `{}`", plan.planner()),
        plan.privacy_cost().rho(),
        &mut |access| {
            let mut run = Run::new(plan, workload);
            for (index, group) in workload.groups().iter().enumerate() {
                let marginal = match plan.reconstruction() {
                    Reconstruction::ResidualSubspaces => {
                        run.marginal_by_residuals(group, access)?
                    }
                    Reconstruction::SameMarginal => {
                        run.take(group.attributes(), access)?.unwrap_or_default()
                    }
                    Reconstruction::FullDomain => run.marginal_of_full_domain(group, access)?,
                };
                answers(index, &group.answers(&marginal)?)?;
            }
            Ok(())
        },
    )
}

/// The measurements of a plan while groups are answered.
struct Run<'a> {
    measure: &'a ReferenceMeasure,
    measurements: HashMap<AttributeSet, &'a PlannedMeasurement>,
    /// For every measurement, the number of remaining groups that need it.
    needed: HashMap<AttributeSet, usize>,
    /// The estimates that remaining groups need.
    estimates: HashMap<AttributeSet, Vec<f64>>,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, workload: &GroupedWorkload) -> Self {
        let measurements: HashMap<_, _> =
            plan.measurements().iter().map(|m| (m.attributes, m)).collect();
        let everything = AttributeSet::first(plan.schema().attributes().len());
        let mut needed: HashMap<AttributeSet, usize> = HashMap::new();
        for group in workload.groups() {
            match plan.reconstruction() {
                Reconstruction::ResidualSubspaces => {
                    for set in group.attributes().subsets() {
                        *needed.entry(set).or_default() += 1;
                    }
                }
                Reconstruction::SameMarginal => *needed.entry(group.attributes()).or_default() += 1,
                Reconstruction::FullDomain => *needed.entry(everything).or_default() += 1,
            }
        }
        Run { measure: plan.measure(), measurements, needed, estimates: HashMap::new() }
    }

    /// Returns the estimate of a measurement; `None` if the plan does not measure it.
    ///
    /// It is measured on first use and kept while other groups need it.
    fn take(&mut self, set: AttributeSet, access: &mut dyn PaidAccess) -> Result<Option<Vec<f64>>> {
        let Some(measurement) = self.measurements.get(&set) else { return Ok(None) };
        let estimate = match self.estimates.remove(&set) {
            Some(known) => known,
            None => {
                let PlannedMeasurement { attributes, ref strategy, privacy_cost } = **measurement;
                let question = Question::Strategy { attributes, strategy, privacy_cost };
                strategy.reconstruct(&access.measure(&question, NoiseStream::Shared)?)?
            }
        };
        let left = self.needed.entry(set).or_insert(1);
        *left = left.saturating_sub(1);
        if *left > 0 {
            self.estimates.insert(set, estimate.clone());
        }
        Ok(Some(estimate))
    }

    /// Returns the estimated marginal of a group.
    ///
    /// Residual estimates are spread by the reference measure over the attributes they lack.
    fn marginal_by_residuals(
        &mut self,
        group: &QueryGroup,
        access: &mut dyn PaidAccess,
    ) -> Result<Vec<f64>> {
        let mut marginal = vec![0.0; group.sizes().iter().product()];
        let measures = self.measure.of(group.attributes());
        for (kept, set) in AxisSet::subsets(group.sizes().len()).zip(group.attributes().subsets()) {
            if let Some(mut estimate) = self.take(set, access)? {
                // The strategy determines the residual only up to the null space of its rows. The
                // projection for the measure fixes that component.
                if !self.measure.is_uniform() {
                    project_for(&kept.select(group.sizes()), &mut estimate, &self.measure.of(set));
                }
                spread_for(&mut marginal, group.sizes(), kept, &estimate, &measures);
            }
        }
        Ok(marginal)
    }

    fn marginal_of_full_domain(
        &mut self,
        group: &QueryGroup,
        access: &mut dyn PaidAccess,
    ) -> Result<Vec<f64>> {
        let everything = AttributeSet::first(access.sizes().len());
        let estimate = self.take(everything, access)?.unwrap_or_default();
        Ok(summed(access.sizes(), group.attributes().axes(), &estimate))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use approx::{assert_abs_diff_eq, assert_relative_eq};

    use super::*;
    use crate::access::PrivateTable;
    use crate::data::Records;

    use crate::planner::planners;
    use crate::privacy::PrivacyCost;
    use crate::schema::Schema;
    use crate::test_support::{Impulse, all_ways, rho, rng, schema, set};
    use crate::workload::{Family, GroupFamily, GroupQueries, JointQueries};

    const SIZES: [usize; 3] = [3, 2, 4];

    fn workload(joint: bool) -> GroupedWorkload {
        let schema = schema(&SIZES);
        let product = |positions: &[usize], families: &[Family], weight| {
            QueryGroup::product(&schema, set(positions), families, weight).unwrap()
        };
        let mut groups = vec![
            product(&[0, 1, 2], &[Family::PREFIX, Family::IDENTITY, Family::RANGE], 0.5),
            product(&[0, 2], &[Family::IDENTITY, Family::CIRCULAR], 2.0),
            product(&[1], &[Family::PREFIX], 3.0),
        ];
        if joint {
            let affine = Arc::new(JointQueries::family(Family::AFFINE, &[3, 4]).unwrap());
            groups.push(QueryGroup::joint(&schema, set(&[0, 2]), affine, "affine", 1.5).unwrap());
        }
        GroupedWorkload::new(schema, groups).unwrap()
    }

    fn records() -> Records {
        Records::uniform(&schema(&SIZES), 200, &mut rng(1)).unwrap()
    }

    /// Returns the answers of all groups of a run, concatenated.
    fn answers(plan: &Plan, workload: &GroupedWorkload, access: &mut dyn PaidAccess) -> Vec<f64> {
        let mut all = Vec::new();
        run_plan(plan, workload, access, &mut |_, answers| {
            all.extend_from_slice(answers);
            Ok(())
        })
        .unwrap();
        all
    }

    /// Returns the true answers of all groups, from the records' marginals.
    fn truth(workload: &GroupedWorkload, records: &Records) -> Vec<f64> {
        let of_group = |group: &QueryGroup| {
            group.answers(&records.marginal(group.attributes()).unwrap()).unwrap()
        };
        workload.groups().iter().flat_map(of_group).collect()
    }

    /// For every planner, against the exact variances: noiseless answers are the true ones, every
    /// group has the planned variance, every query the variance that the plan states for it, and
    /// the questions cost the budget.
    #[test]
    fn answers_are_unbiased_with_the_planned_variances() {
        let records = records();
        for planner in planners() {
            let workload = workload(planner.name() != "hdmm-kronecker");
            let plan = planner.plan(&workload, PrivacyCost::UNIT).unwrap();
            let exact = answers(&plan, &workload, &mut Impulse::new(&records, rho(0.5), None));
            assert_abs_diff_eq!(
                exact.as_slice(),
                truth(&workload, &records).as_slice(),
                epsilon = 1e-7
            );
            let variances = Impulse::exact_variances(&records, rho(0.5), |access| {
                answers(&plan, &workload, access)
            });
            let mut queries = variances.iter();
            for (group, planned) in workload.groups().iter().zip(plan.groups()) {
                let rows: Vec<Vec<f64>> = match group.queries() {
                    GroupQueries::Joint(joint) => joint.rows().unwrap().collect(),
                    GroupQueries::Product(_) => unit_rows(group),
                };
                let mut sum = 0.0;
                for (row, variance) in rows.iter().zip(queries.by_ref()) {
                    let stated = plan.query_variance(group.attributes(), row).unwrap();
                    assert_relative_eq!(*variance, stated, max_relative = 1e-8);
                    sum += variance;
                }
                assert_relative_eq!(sum, planned.variance, max_relative = 1e-8);
            }
        }
    }

    /// Returns the rows of a product, by its answers on unit marginals.
    fn unit_rows(group: &QueryGroup) -> Vec<Vec<f64>> {
        let cells: usize = group.sizes().iter().product();
        let unit = |cell: usize| {
            let mut marginal = vec![0.0; cells];
            marginal[cell] = 1.0;
            group.answers(&marginal).unwrap()
        };
        let columns: Vec<Vec<f64>> = (0..cells).map(unit).collect();
        (0..columns[0].len()).map(|q| columns.iter().map(|column| column[q]).collect()).collect()
    }

    /// The first query of the first group, computed directly: records with A1 ≤ 0, A2 = 0,
    /// A3 in [0, 0].
    #[test]
    fn answers_are_counts() {
        let records = records();
        let expected = (0..200)
            .filter(|&r| (0..3).all(|c| records.column(c).unwrap().nth(r) == Some(0)))
            .count();
        assert_eq!(truth(&workload(true), &records)[0], expected as f64);
        let workload = workload(true);
        let group = &workload.groups()[0];
        assert!(group.answers(&[0.0; 23]).unwrap_err().to_string().contains("24 cells"));
    }

    #[test]
    fn other_workloads_tables_and_small_budgets_are_refused() {
        let (mixed, products) = (workload(true), workload(false));
        let plan = planners()[0].plan(&mixed, PrivacyCost::UNIT).unwrap();
        let (mut source, records) = (rng(4), records());
        let refused = |plan: &Plan, workload: &GroupedWorkload, records: &Records, budget: f64| {
            let mut rng = rng(4);
            let mut table = PrivateTable::of_records(records, rho(budget), &mut rng).unwrap();
            let error =
                run_plan(plan, workload, &mut table, &mut |_, _| panic!("nothing may be answered"))
                    .unwrap_err();
            assert!(table.accountant().ledger().is_empty());
            error
        };
        let message = refused(&plan, &products, &records, 1.0).to_string();
        assert!(message.contains("plan this workload"), "{message}");
        assert!(matches!(refused(&plan, &mixed, &records, 0.499), Error::BudgetExhausted { .. }));
        let other = Records::uniform(&Schema::uniform(2, 3).unwrap(), 10, &mut source).unwrap();
        assert!(refused(&plan, &mixed, &other, 1.0).to_string().contains("a table of its schema"));
        let marginals = all_ways(40, 40, GroupFamily::Product(Family::IDENTITY), &[1]);
        let plan = crate::planner::by_name("hdmm-kronecker")
            .unwrap()
            .plan(&marginals, PrivacyCost::UNIT)
            .unwrap();
        let few = Records::uniform(marginals.schema(), 3, &mut source).unwrap();
        let message = refused(&plan, &marginals, &few, 1.0).to_string();
        assert!(message.contains("full domain"), "{message}");
    }
}
