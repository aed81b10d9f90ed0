//! Workloads of the tests, and plans against explicit matrices.

use super::*;

pub(super) const SIZES: [usize; 3] = [3, 2, 4];

pub(super) fn cost(beta: f64) -> PrivacyCost {
    PrivacyCost::new(beta).unwrap()
}

/// Returns a workload of overlapping products and joint queries over three attributes.
///
/// Groups and queries have weights.
pub(super) fn small_workload() -> GroupedWorkload {
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
pub(super) fn rows(group: &QueryGroup) -> Vec<(f64, Vec<f64>)> {
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
pub(super) fn marginalisation(attributes: AttributeSet) -> Array2<f64> {
    marginalisation_of(&SIZES, attributes)
}

pub(super) fn marginalisation_of(all: &[usize], attributes: AttributeSet) -> Array2<f64> {
    let cells: usize = all.iter().product();
    let sizes = attributes.select(all);
    let mut out = Array2::zeros((sizes.iter().product(), cells));
    for cell in 0..cells {
        let position = attributes.select(&coordinates(all, cell));
        out[[crate::domain::cell_index(&sizes, &position), cell]] = 1.0;
    }
    out
}

pub(super) fn pseudo_inverse(a: &Array2<f64>) -> Array2<f64> {
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
pub(super) fn check_against_matrices(plan: &Plan, workload: &GroupedWorkload) {
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

/// Returns a workload of products, two of them on the same attributes.
pub(super) fn products() -> GroupedWorkload {
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

pub(super) fn variance(planner: &dyn Planner, workload: &GroupedWorkload) -> f64 {
    planner.plan(workload, cost(1.0)).unwrap().total_variance()
}
