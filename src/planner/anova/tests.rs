//! Errors against independently computed values, and gradients against central differences.

use std::sync::Arc;

use approx::assert_relative_eq;

use super::classes::Classes;
use super::objective::SearchObjective;
use super::*;
use crate::error::Result;
use crate::planner::minimise::{Limits, minimise, reference_measure, softmax, through_softmax};
use crate::planner::{MeasureStart, Planner, QuerySmasher};
use crate::privacy::PrivacyCost;
use crate::residual::{Measure, ReferenceMeasure};
use crate::schema::Schema;
use crate::strategy::{Optimal, Status};
use crate::test_support::{all_ways, schema, set};
use crate::workload::{Family, GroupFamily, GroupedWorkload, JointQueries, QueryGroup};

/// Errors of 1- and 2-way workloads on [n]^d against independently computed values.
///
/// For QuerySmasher and for the optimised measure, to a relative accuracy of 1e-5.
#[test]
fn errors_equal_independently_computed_values() {
    for (family, n, d, uniform, expected) in [
        (GroupFamily::Product(Family::PREFIX), 4, 3, 2.30722888, 2.21643758),
        (GroupFamily::Product(Family::PREFIX), 10, 5, 5.44763, 5.20390),
        (GroupFamily::Product(Family::PREFIX), 10, 40, 33.69348, 32.6873),
        (GroupFamily::Product(Family::PREFIX), 20, 10, 13.81668, 13.37882),
        (GroupFamily::Product(Family::RANGE), 10, 5, 5.98854, 5.88410),
        (GroupFamily::Product(Family::RANGE), 10, 40, 41.07594, 40.87924),
        (GroupFamily::Product(Family::RANGE), 20, 10, 16.81191, 16.66144),
        (GroupFamily::Pairs(Family::AFFINE), 10, 5, 4.54102, 4.43137),
        (GroupFamily::Pairs(Family::AFFINE), 10, 40, 28.0097, 27.3713),
        (GroupFamily::Pairs(Family::AFFINE), 20, 10, 9.8321, 9.5428),
        (GroupFamily::Pairs(Family::ABS), 10, 5, 4.69513, 4.59091),
        (GroupFamily::Pairs(Family::ABS), 10, 40, 30.1029, 29.3425),
        (GroupFamily::Pairs(Family::ABS), 20, 10, 10.2002, 9.898),
    ] {
        let name = format!("{} {n}, {d}", family.name());
        let workload = all_ways(n, d, family, &[1, 2]);
        let plan = Anova::default().plan(&workload, PrivacyCost::UNIT).unwrap();
        let search = *plan.measure_search().unwrap();
        assert_relative_eq!(
            (search.uniform_variance / plan.queries().as_f64()).sqrt(),
            uniform,
            max_relative = 2e-5
        );
        assert!(
            plan.rmse() <= expected * (1.0 + 2e-5),
            "{name}: {} against {expected}, {search:?}",
            plan.rmse()
        );
        // For absolute differences of few attributes the search finds a lower minimum.
        assert!(
            plan.rmse() >= expected * (1.0 - 5e-3),
            "{name}: {} against {expected}",
            plan.rmse()
        );
        assert!(plan.total_variance() / plan.lower_bound().unwrap() < 1.0 + 3e-7, "{name}");
        if n == 4 {
            for (weight, expected) in plan
                .measure()
                .of_attribute(0)
                .to_vec()
                .iter()
                .zip([0.28899, 0.18175, 0.19268, 0.33658])
            {
                assert!((weight - expected).abs() < 2e-5, "{weight} against {expected}");
            }
        }
    }
}

/// Returns the objective as a function of the logarithms of weights.
fn objective(
    workload: &GroupedWorkload,
    tolerance: f64,
) -> impl FnMut(&[f64]) -> Result<(f64, Vec<f64>)> + '_ {
    let options = crate::strategy::OptimalOptions { tolerance, max_iterations: 2000 };
    move |z: &[f64]| {
        let classes = Classes::of(workload);
        let mut objective = SearchObjective::new(workload, &classes, Optimal::new(options)?);
        let measures = softmax(z, &classes.sizes);
        let (value, gradients) = objective.evaluate(&measures)?;
        Ok((value, through_softmax(&measures, &gradients)))
    }
}

/// Absolute differences of few attributes: the error is below the independently computed one.
///
/// The independent search did not leave the uniform start.
#[test]
fn absolute_differences_of_few_attributes_leave_the_uniform_measure() {
    let workload = all_ways(10, 5, GroupFamily::Pairs(Family::ABS), &[1, 2]);
    let (value, _) = objective(&workload, 1e-9)(&[0.0; 10]).unwrap();
    let plan = Anova::default().plan(&workload, PrivacyCost::UNIT).unwrap();
    assert_relative_eq!(
        (value * value / plan.queries().as_f64()).sqrt(),
        4.69513,
        max_relative = 2e-6
    );
    assert!(plan.rmse() < 4.59091, "{}", plan.rmse());
}

/// CPS of S3, Table 2, queries on three attributes: both starts reach the same minimum.
///
/// The starts are uniform and the one-attribute optima.
#[test]
fn both_starts_find_the_same_minimum() {
    let attribute = |(k, (size, kind))| crate::domain::Attribute::new(format!("A{k}"), size, kind);
    let (numeric, categorical) =
        (crate::domain::AttributeKind::Numeric, crate::domain::AttributeKind::Categorical);
    let sizes =
        [(50, numeric), (100, numeric), (7, categorical), (4, categorical), (2, categorical)];
    let schema = Schema::new(sizes.into_iter().enumerate().map(attribute).collect()).unwrap();
    let workload = GroupedWorkload::all_ways(schema, &GroupFamily::Hybrid, &[3]).unwrap();
    let classes = Classes::of(&workload);
    let uniform = classes.sizes.iter().map(|&n| vec![0.0; n]).collect::<Vec<_>>();
    for start in [uniform, starts::peaked(&workload, &classes).unwrap()] {
        let limits = Limits { tolerance: 1e-10, steps: 100, evaluations: 200 };
        let found = minimise(
            &mut objective(&workload, 1e-8),
            start.into_iter().flatten().collect(),
            &limits,
        )
        .unwrap();
        let rmse = found.value / workload.count().as_f64().sqrt();
        assert_relative_eq!(rmse, 7.2995688, max_relative = 1e-6);
    }
}

/// The gradient against central differences, and the value against the plan.
///
/// Mixed families on one attribute, sums that are products, joint queries of few and of many rows, weights, three
/// attributes.
#[test]
fn gradients_equal_central_differences() {
    let schema = schema(&[3, 4, 3]);
    let rows = Arc::new(
        JointQueries::random(
            &[3, 3],
            crate::workload::RandomRows { seed: 5, skip: 0, queries: 30, probability: 0.4 },
        )
        .unwrap(),
    );
    let affine = Arc::new(JointQueries::family(Family::AFFINE, &[3, 4]).unwrap());
    let abs = Arc::new(
        JointQueries::family(Family::ABS, &[3, 3])
            .unwrap()
            .with_weights(vec![1.0, 2.0, 0.5])
            .unwrap(),
    );
    let product = |p: &[usize], families: &[Family], w| {
        QueryGroup::product(&schema, set(p), families, w).unwrap()
    };
    let joint = |p: &[usize], queries: &Arc<JointQueries>, w| {
        QueryGroup::joint(&schema, set(p), queries.clone(), "joint", w).unwrap()
    };
    let mixtures = vec![
        product(&[0, 1, 2], &[Family::PREFIX, Family::RANGE, Family::IDENTITY], 0.7),
        product(&[0, 1], &[Family::IDENTITY, Family::PREFIX], 1.5),
        product(&[1], &[Family::CIRCULAR], 2.0),
        joint(&[0, 2], &rows, 1.0),
    ];
    let few = vec![
        product(&[0], &[Family::PREFIX], 1.0),
        joint(&[0, 1], &affine, 2.0),
        joint(&[0, 2], &abs, 1.0),
    ];
    let both: Vec<QueryGroup> = mixtures.iter().chain(&few).cloned().collect();
    let one_family_differs = vec![
        product(&[0, 1, 2], &[Family::PREFIX, Family::RANGE, Family::IDENTITY], 0.7),
        product(&[0, 1, 2], &[Family::PREFIX, Family::IDENTITY, Family::IDENTITY], 1.5),
        product(&[0, 1], &[Family::PREFIX, Family::CIRCULAR], 2.0),
        product(&[1], &[Family::IDENTITY], 0.5),
    ];
    for groups in [mixtures, few, both, one_family_differs] {
        let workload = GroupedWorkload::new(schema.clone(), groups).unwrap();
        let classes = Classes::of(&workload);
        let z: Vec<f64> =
            (0..classes.sizes.iter().sum()).map(|k| ((k * 7 + 3) % 5) as f64 * 0.2).collect();
        let value = |z: &[f64]| objective(&workload, 1e-11)(z).unwrap();
        let (total, gradient) = value(&z);
        let plan = Anova::with_measure(MeasureChoice::Given(
            reference_measure(&z, &classes.sizes, &classes.of).unwrap(),
        ))
        .plan(&workload, PrivacyCost::UNIT)
        .unwrap();
        assert_relative_eq!(plan.total_variance(), total * total, max_relative = 1e-6);
        for k in 0..z.len() {
            let moved = |step: f64| {
                let mut z = z.clone();
                z[k] += step;
                value(&z).0
            };
            let difference = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            assert!(
                (difference - gradient[k]).abs() < 2e-5 * total,
                "{k}: {difference} against {}",
                gradient[k]
            );
        }
    }
}

/// Workloads for the search along a central path: several terms, families next to joint queries,
/// and joint queries on three attributes.
fn joint_workloads() -> Vec<GroupedWorkload> {
    let schema = schema(&[6, 7, 6]);
    let joint = |p: &[usize], family: Family, sizes: &[usize], w| {
        let queries = Arc::new(JointQueries::family(family, sizes).unwrap());
        QueryGroup::joint(&schema, set(p), queries, family.name(), w).unwrap()
    };
    let product = |p: &[usize], families: &[Family], w| {
        QueryGroup::product(&schema, set(p), families, w).unwrap()
    };
    let rows = crate::workload::RandomRows { seed: 5, skip: 0, queries: 9, probability: 0.4 };
    let random = Arc::new(JointQueries::random(&[6, 7, 6], rows).unwrap());
    let several = vec![
        joint(&[0, 1], Family::AFFINE, &[6, 7], 2.0),
        joint(&[0, 1], Family::ABS, &[6, 7], 0.5),
        joint(&[0, 2], Family::ABS, &[6, 6], 1.0),
    ];
    let families = vec![
        product(&[0], &[Family::PREFIX], 1.0),
        product(&[1, 2], &[Family::PREFIX; 2], 0.5),
        joint(&[0, 1], Family::AFFINE, &[6, 7], 1.0),
    ];
    let three = vec![
        QueryGroup::joint(&schema, set(&[0, 1, 2]), random, "random", 1.0).unwrap(),
        product(&[1], &[Family::PREFIX], 1.0),
    ];
    [several, families, three]
        .into_iter()
        .map(|groups| GroupedWorkload::new(schema.clone(), groups).unwrap())
        .collect()
}

/// Oracle: certified errors of other measures. None near the found one is lower by more than the
/// gap at the end of the path explains.
#[test]
fn measures_of_joint_queries_are_minima() {
    for (index, workload) in joint_workloads().iter().enumerate() {
        assert!(saddle::suits(workload).unwrap(), "{index}");
        let plan = Anova::default().plan(workload, PrivacyCost::UNIT).unwrap();
        let search = *plan.measure_search().unwrap();
        assert_eq!(search.status, Status::Converged, "{index}: {search:?}");
        assert!(plan.total_variance() < search.uniform_variance, "{index}");
        assert!(plan.total_variance() / plan.lower_bound().unwrap() < 1.0 + 3e-7, "{index}");
        for trial in 0..12 {
            let moved = |(k, measure): (usize, &Measure)| {
                let weights = measure.to_vec();
                let moved: Vec<f64> = (0..)
                    .zip(&weights)
                    .map(|(c, w)| w * (1.0 + 0.03 * f64::sin((trial * 31 + k * 7 + c * c) as f64)))
                    .collect();
                let sum: f64 = moved.iter().sum();
                Measure::of(moved.iter().map(|w| w / sum).collect()).unwrap()
            };
            let measures = plan.measure().measures().iter().enumerate().map(moved).collect();
            let other = MeasureChoice::Given(ReferenceMeasure::new(measures));
            let other = Anova::with_measure(other).plan(workload, PrivacyCost::UNIT).unwrap();
            assert!(
                other.total_variance() >= plan.total_variance() * (1.0 - 2e-5),
                "{index}, {trial}: {} below {}",
                other.total_variance(),
                plan.total_variance()
            );
        }
    }
}

/// Oracle: second differences of `tr(Γ Gram)` in the measures that a kernel averages out.
#[test]
fn curvature_through_averages_equals_differences() {
    use super::objective::{Derivative, evaluate};
    const STEP: f64 = 3e-4;
    let sizes = [3, 2, 4];
    let schema = schema(&sizes);
    let rows = crate::workload::RandomRows { seed: 5, skip: 0, queries: 7, probability: 0.4 };
    let random = Arc::new(JointQueries::random(&sizes, rows).unwrap());
    let group = QueryGroup::joint(&schema, set(&[0, 1, 2]), random, "random", 1.0).unwrap();
    let workload = GroupedWorkload::new(schema, vec![group]).unwrap();
    let classes = Classes::of(&workload);
    let first = [0, 3, 5];
    let at = |step: f64| {
        let weights = |class: usize, n: usize| {
            let mut out = vec![1.0 / n as f64; n];
            out[0] += 0.1 + step * (1.0 + class as f64);
            out[1] -= 0.1 + step * (1.0 + class as f64);
            out
        };
        let measures: Vec<Vec<f64>> = (0..).zip(sizes).map(|(k, n)| weights(k, n)).collect();
        evaluate(&workload, &classes, &measures, &mut |_, problem| {
            let cells: usize = problem.sizes.iter().product();
            let by_gram = ndarray::Array2::from_shape_fn((cells, cells), |(i, j)| {
                1.0 / (1.0 + (i as f64 - j as f64).abs())
            });
            Ok((1.0, Derivative::Gram(by_gram)))
        })
        .unwrap()
    };
    let (here, up, down) = (at(0.0), at(STEP), at(-STEP));
    for id in 0..here.decomposition.kernel_count() {
        let kernel = here.decomposition.kernels(&[id])[0];
        let upstream = &here.upstream[id];
        let mut hessian = ndarray::Array2::zeros((9, 9));
        let mut dense = rows::DenseQueries::default();
        dense.add_curvature(kernel, upstream, &first, &mut hessian).unwrap();
        let mut direction = ndarray::Array1::zeros(9);
        for (axis, &first) in first.iter().enumerate().filter(|(a, _)| !kernel.kept().contains(*a))
        {
            direction[first] = 1.0 + axis as f64;
            direction[first + 1] = -1.0 - axis as f64;
        }
        // Only the measures of attributes that are averaged out move.
        let gram = |evaluation: &super::objective::Evaluation| {
            let other = evaluation.decomposition.kernels(&[id])[0];
            let axes = kernel.axes().iter().zip(other.axes()).enumerate();
            let axes: Vec<_> = axes
                .map(|(a, (here, moved))| if kernel.kept().contains(a) { here } else { moved })
                .cloned()
                .collect();
            let crate::planner::kernel::Source::Joint(queries, kept) = kernel.source() else {
                unreachable!()
            };
            let kernel = crate::planner::Kernel::of_joint(queries, *kept, &axes).unwrap();
            match &upstream.gram {
                Some(by) => (by * kernel.gram().unwrap().as_ref()).sum(),
                None => upstream.energy * kernel.mean_energy(),
            }
        };
        let second = (gram(&up) - 2.0 * gram(&here) + gram(&down)) / STEP.powi(2);
        let expected = direction.dot(&hessian.dot(&direction));
        assert_relative_eq!(second, expected, max_relative = 1e-4, epsilon = 1e-8);
    }
}

#[test]
fn identity_queries_keep_the_uniform_measure() {
    let workload = all_ways(6, 4, GroupFamily::Product(Family::IDENTITY), &[1, 2]);
    let best = QuerySmasher::default().plan(&workload, PrivacyCost::UNIT).unwrap();
    let plan = Anova::default().plan(&workload, PrivacyCost::UNIT).unwrap();
    assert_eq!(plan.total_variance(), best.total_variance());
    assert!(plan.measure().is_uniform());
    assert_eq!(plan.measure_search().unwrap().start, MeasureStart::None);
}
