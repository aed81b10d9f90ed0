//! Plans against explicit matrices on small domains, and relations between planners from S3.

mod closed_forms;
mod families;
mod measures;
mod objectives;
mod of_measurements;

use std::sync::Arc;

use approx::{assert_abs_diff_eq, assert_relative_eq};
use ndarray::{Array1, Array2, Axis};

use super::*;
use crate::domain::{AttributeSet, coordinates};
use crate::error::Result;
use crate::privacy::PrivacyCost;
use crate::schema::Schema;
use crate::test_support::{all_ways, gram, schema, set};
use crate::workload::{
    Family, GroupFamily, GroupQueries, GroupedWorkload, JointQueries, QueryGroup,
};
use matmech_linalg as linalg;

const SIZES: [usize; 3] = [3, 2, 4];

fn cost(beta: f64) -> PrivacyCost {
    PrivacyCost::new(beta).unwrap()
}

/// Returns a workload of overlapping products and joint queries over three attributes.
///
/// Groups and queries have weights.
fn small_workload() -> GroupedWorkload {
    let schema = schema(&SIZES);
    let affine = JointQueries::family(Family::AFFINE, &[3, 4]).unwrap();
    let weighted = JointQueries::family(Family::ABS, &[2, 4])
        .unwrap()
        .with_weights(vec![1.0, 2.0, 0.5, 3.0])
        .unwrap();
    let groups = vec![
        QueryGroup::product(
            &schema,
            set(&[0, 1, 2]),
            &[Family::PREFIX, Family::IDENTITY, Family::RANGE],
            0.5,
        )
        .unwrap(),
        QueryGroup::product(&schema, set(&[0, 2]), &[Family::IDENTITY, Family::CIRCULAR], 2.0)
            .unwrap(),
        QueryGroup::joint(&schema, set(&[0, 2]), Arc::new(affine), "affine", 1.5).unwrap(),
        QueryGroup::joint(&schema, set(&[1, 2]), Arc::new(weighted), "abs", 1.0).unwrap(),
        QueryGroup::product(&schema, set(&[1]), &[Family::PREFIX], 3.0).unwrap(),
    ];
    GroupedWorkload::new(schema, groups).unwrap()
}

/// Returns the queries of a group over the cells of its marginal, with their weights.
fn rows(group: &QueryGroup) -> Vec<(f64, Vec<f64>)> {
    match group.queries() {
        GroupQueries::Joint(joint) => {
            joint.rows().unwrap().enumerate().map(|(q, row)| (joint.weight(q), row)).collect()
        }
        GroupQueries::Product(families) => families
            .iter()
            .zip(group.sizes())
            .fold(vec![vec![1.0]], |products: Vec<Vec<f64>>, (family, &n)| {
                let factor: Vec<Vec<f64>> = family.rows(&[n]).unwrap().collect();
                products
                    .iter()
                    .flat_map(|a| {
                        factor.iter().map(|b| {
                            a.iter()
                                .flat_map(|x| b.iter().map(move |y| x * y))
                                .collect::<Vec<f64>>()
                        })
                    })
                    .collect()
            })
            .into_iter()
            .map(|row| (1.0, row))
            .collect(),
    }
}

/// Returns the 0/1 matrix that sums the full domain to a marginal.
fn marginalisation(attributes: AttributeSet) -> Array2<f64> {
    marginalisation_of(&SIZES, attributes)
}

fn marginalisation_of(all: &[usize], attributes: AttributeSet) -> Array2<f64> {
    let cells: usize = all.iter().product();
    let sizes = attributes.select(all);
    let mut out = Array2::zeros((sizes.iter().product(), cells));
    for cell in 0..cells {
        let position = attributes.select(&coordinates(all, cell));
        out[[crate::domain::cell_index(&sizes, &position), cell]] = 1.0;
    }
    out
}

fn pseudo_inverse(a: &Array2<f64>) -> Array2<f64> {
    let eigen = linalg::eigh(a.view()).unwrap();
    let top = eigen.values.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> =
        (0..eigen.values.len()).filter(|&k| eigen.values[k] > 1e-9 * top).collect();
    let basis = eigen.vectors.select(Axis(1), &kept);
    let scaled = &basis / &eigen.values.select(Axis(0), &kept);
    scaled.dot(&basis.t())
}

/// Checks a plan against explicit matrices B and Σ on the full domain.
///
/// The privacy cost is at least max diag BᵀΣ⁻¹B. The measurements determine every workload query,
/// and its least-squares variance is the plan's.
fn check_against_matrices(plan: &Plan, workload: &GroupedWorkload) {
    let sizes = workload.schema().sizes();
    let marginalisation = |attributes| marginalisation_of(&sizes, attributes);
    let cells: usize = sizes.iter().product();
    let information = |of: &dyn Fn(&PlannedMeasurement) -> bool| {
        plan.measurements().iter().filter(|m| of(m)).fold(
            Array2::<f64>::zeros((cells, cells)),
            |sum, m| {
                let lift = marginalisation(m.attributes);
                sum + lift.t().dot(&m.strategy.gram().unwrap()).dot(&lift) * m.privacy_cost.get()
            },
        )
    };
    let cost = information(&|_| true).diag().iter().copied().fold(0.0, f64::max);
    assert!(cost <= plan.privacy_cost().get() * (1.0 + 1e-9), "{}: {cost}", plan.planner());
    assert!(plan.recomputed_privacy_cost() >= cost * (1.0 - 1e-12));
    let mut total = 0.0;
    for (group, error) in workload.groups().iter().zip(plan.groups()) {
        let same_marginal_only = plan.reconstruction() == Reconstruction::SameMarginal;
        let information =
            information(&|m| !same_marginal_only || m.attributes == group.attributes());
        let inverse = pseudo_inverse(&information);
        let lift = marginalisation(group.attributes());
        let mut sum = 0.0;
        for (weight, row) in rows(group) {
            let query = Array1::from_vec(row.clone()).dot(&lift);
            let estimator = query.dot(&inverse).dot(&information);
            assert_abs_diff_eq!(estimator, query, epsilon = 1e-7);
            let variance = query.dot(&inverse).dot(&query);
            assert_relative_eq!(
                plan.query_variance(group.attributes(), &row).unwrap(),
                variance,
                max_relative = 1e-6
            );
            sum += weight * variance;
        }
        assert_relative_eq!(error.variance, sum, max_relative = 1e-6);
        total += group.weight() * sum;
    }
    assert_relative_eq!(plan.total_variance(), total, max_relative = 1e-6);
}

#[test]
fn every_plan_equals_explicit_matrices_on_a_small_domain() {
    let (mixed, products) = (small_workload(), products());
    for planner in planners() {
        for workload in [&mixed, &products] {
            if planner.name() == "hdmm-kronecker" && std::ptr::eq(workload, &mixed) {
                assert!(
                    planner
                        .plan(workload, cost(0.7))
                        .err()
                        .unwrap()
                        .to_string()
                        .contains("hdmm-union")
                );
                continue;
            }
            let plan = planner.plan(workload, cost(0.7)).unwrap();
            assert_relative_eq!(plan.recomputed_privacy_cost(), 0.7, max_relative = 1e-9);
            check_against_matrices(&plan, workload);
        }
    }
}

/// Returns a workload of products, two of them on the same attributes.
fn products() -> GroupedWorkload {
    let schema = schema(&SIZES);
    let group = |positions: &[usize], families: &[Family], weight| {
        QueryGroup::product(&schema, set(positions), families, weight).unwrap()
    };
    let groups = vec![
        group(&[0, 2], &[Family::PREFIX, Family::RANGE], 1.0),
        group(&[0, 2], &[Family::IDENTITY, Family::IDENTITY], 0.5),
        group(&[1], &[Family::IDENTITY], 2.0),
        group(&[0, 1], &[Family::PREFIX, Family::IDENTITY], 1.0),
    ];
    GroupedWorkload::new(schema, groups).unwrap()
}

fn variance(planner: &dyn Planner, workload: &GroupedWorkload) -> f64 {
    planner.plan(workload, cost(1.0)).unwrap().total_variance()
}

#[test]
fn optimal_planners_agree_on_marginals_and_circular_queries() {
    let marginals = GroupedWorkload::all_ways(
        schema(&[3, 2, 4]),
        &GroupFamily::Product(Family::IDENTITY),
        &[1, 3],
    )
    .unwrap();
    let best = variance(&QuerySmasher::default(), &marginals);
    assert_relative_eq!(variance(&ResidualPlanner, &marginals), best, max_relative = 1e-7);
    assert_relative_eq!(variance(&WeightedFourier, &marginals), best, max_relative = 1e-7);
    let circular = GroupedWorkload::all_ways(
        schema(&[5, 2, 4]),
        &GroupFamily::Product(Family::CIRCULAR),
        &[2, 3],
    )
    .unwrap();
    let best = variance(&QuerySmasher::default(), &circular);
    assert_relative_eq!(variance(&WeightedFourier, &circular), best, max_relative = 1e-7);
    assert!(variance(&ResidualPlanner, &circular) > 1.01 * best);
}

#[test]
fn no_planner_is_below_the_certified_bound() {
    let workload = small_workload();
    let best = QuerySmasher::default().plan(&workload, cost(1.0)).unwrap();
    let bound = best.lower_bound().unwrap();
    assert!(best.total_variance() / bound < 1.0 + 3e-7);
    for planner in planners().iter().filter(|p| p.over_residual_subspaces()) {
        assert!(
            variance(planner.as_ref(), &workload) >= bound * (1.0 - 1e-12),
            "{}",
            planner.name()
        );
    }
}

/// On one attribute with one group, all forms of HDMM equal the optimum for the Gram.
///
/// On pairs, `Best` is the minimum of both forms.
#[test]
fn hdmm_on_one_group_equals_the_certified_optimum() {
    let workload = all_ways(8, 1, GroupFamily::Product(Family::RANGE), &[1]);
    let gram = gram("range:8");
    let optimum = crate::strategy::by_name("optimal").unwrap().select(&gram).unwrap().error;
    for form in [HdmmForm::Best, HdmmForm::SingleKronecker, HdmmForm::UnionOfKroneckers] {
        assert_relative_eq!(variance(&Hdmm { form }, &workload), optimum, max_relative = 1e-6);
    }
    let pairs = all_ways(4, 3, GroupFamily::Product(Family::PREFIX), &[2]);
    let (single, union) = (HdmmForm::SingleKronecker, HdmmForm::UnionOfKroneckers);
    let best = variance(&Hdmm::default(), &pairs);
    assert_eq!(
        best,
        variance(&Hdmm { form: single }, &pairs).min(variance(&Hdmm { form: union }, &pairs))
    );
}

#[test]
fn every_distinct_residual_problem_is_solved_once() {
    let certified = QuerySmasher::default();
    let prefix = || GroupFamily::Product(Family::PREFIX);
    assert_eq!(
        certified.plan(&all_ways(6, 30, prefix(), &[1, 2, 3]), cost(1.0)).unwrap().solves(),
        1
    );
    let affine = certified
        .plan(&all_ways(6, 30, GroupFamily::Pairs(Family::AFFINE), &[1, 2]), cost(1.0))
        .unwrap();
    assert_eq!((affine.solves(), affine.measurements().len()), (2, 1 + 30 + 435));
    let decomposition = Decomposition::of(&small_workload()).unwrap();
    let full = set(&[0, 1, 2]);
    let index = decomposition.position(full).unwrap();
    assert_eq!(decomposition.residuals()[index].terms.len(), 1);
    assert_eq!(decomposition.residuals().len(), 8);
}

#[test]
fn variances_scale_with_the_cost_and_errors_name_the_input() {
    let workload = small_workload();
    let at_cost_1 = variance(&ResidualPlanner, &workload);
    let plan_at_cost_4 = ResidualPlanner.plan(&workload, cost(4.0)).unwrap();
    assert_relative_eq!(plan_at_cost_4.total_variance(), at_cost_1 / 4.0, max_relative = 1e-12);
    let message = by_name("query-smash").err().unwrap().to_string();
    assert!(message.contains("query-smasher") && message.contains("residual-planner"), "{message}");
    assert!(
        plan_at_cost_4
            .query_variance(set(&[0, 1]), &[1.0; 5])
            .unwrap_err()
            .to_string()
            .contains("[3, 2]")
    );
    assert!(
        plan_at_cost_4
            .query_variance(set(&[0, 7]), &[1.0; 6])
            .unwrap_err()
            .to_string()
            .contains("below 3")
    );
    let few =
        GroupedWorkload::all_ways(schema(&[3, 2, 4]), &GroupFamily::Product(Family::PREFIX), &[1])
            .unwrap();
    let plan = QuerySmasher::default().plan(&few, cost(1.0)).unwrap();
    let corner = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert!(
        plan.query_variance(set(&[0, 1]), &corner).unwrap_err().to_string().contains("plan again")
    );
}

#[test]
fn residual_problems_that_do_not_fit_are_refused_with_their_size() {
    let schema = Schema::uniform(30, 3).unwrap();
    let group = |family| QueryGroup::product(&schema, set(&[0, 1, 2]), &[family; 3], 1.0).unwrap();
    let workload =
        GroupedWorkload::new(schema.clone(), vec![group(Family::PREFIX), group(Family::RANGE)])
            .unwrap();
    let message = QuerySmasher::default().plan(&workload, cost(1.0)).err().unwrap().to_string();
    assert!(message.contains("27000 cells") && message.contains("GiB"), "{message}");
    assert!(message.contains("weighted-fourier"), "{message}");
    assert!(WeightedFourier.plan(&workload, cost(1.0)).is_ok());
}

/// Enumerating the queries of the larger workload once would take hours.
#[test]
fn joint_queries_that_do_not_fit_are_refused_before_enumeration() {
    let random = GroupFamily::Random { seed: 1, probability: 0.3, queries_per_cell: 3 };
    for (size, family, bytes) in
        [(1000, random, "87.3 TiB"), (600, GroupFamily::Pairs(Family::AFFINE), "48.2 GiB")]
    {
        let workload =
            GroupedWorkload::all_ways(Schema::uniform(size, 2).unwrap(), &family, &[2]).unwrap();
        let message = QuerySmasher::default().plan(&workload, cost(1.0)).err().unwrap().to_string();
        assert!(
            message.contains(&format!("{} cells", size * size)) && message.contains(bytes),
            "{message}"
        );
    }
}
