//! Plans for reference measures against the values of the derivation, and the gradient against central differences.

use std::sync::Arc;

use approx::assert_relative_eq;

use super::*;
use crate::domain::AttributeSet;
use crate::planner::QuerySmasher;
use crate::schema::Schema;
use crate::workload::{Family, GroupFamily, JointQueries, QueryGroup};

fn all_ways(n: usize, d: usize, family: GroupFamily) -> GroupedWorkload {
    GroupedWorkload::all_ways(Schema::uniform(n, d).unwrap(), &family, &[1, 2]).unwrap()
}

fn set(positions: &[usize]) -> AttributeSet {
    AttributeSet::from_positions(positions).unwrap()
}

/// 1- and 2-way on [n]^d: QuerySmasher, and with the reference measure (independently computed, relative accuracy 1e-5).
#[test]
fn values_of_the_derivation() {
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
        let workload = all_ways(n, d, family);
        let plan = Anova::default().plan(&workload, PrivacyCost::UNIT).unwrap();
        let search = *plan.measure_search().unwrap();
        assert_relative_eq!((search.uniform_variance / plan.queries().as_f64()).sqrt(), uniform, max_relative = 2e-5);
        assert!(plan.rmse() <= expected * (1.0 + 2e-5), "{name}: {} against {expected}, {search:?}", plan.rmse());
        // The search finds a lower minimum than the derivation's for absolute differences of few attributes.
        assert!(plan.rmse() >= expected * (1.0 - 5e-3), "{name}: {} against {expected}", plan.rmse());
        assert!(plan.total_variance() / plan.lower_bound().unwrap() < 1.0 + 3e-7, "{name}");
    }
}

/// Mixed families on one attribute, joint queries of few and of many rows, weights, three attributes: value and gradient agree.
#[test]
fn gradients_are_those_of_central_differences() {
    let schema = Schema::of_sizes(&[3, 4, 3], crate::domain::AttributeKind::Numeric).unwrap();
    let rows = Arc::new(
        JointQueries::random(&[3, 3], crate::workload::RandomRows { seed: 5, skip: 0, queries: 30, probability: 0.4 })
            .unwrap(),
    );
    let affine = Arc::new(JointQueries::family(Family::AFFINE, &[3, 4]).unwrap());
    let abs = Arc::new(JointQueries::family(Family::ABS, &[3, 3]).unwrap().with_weights(vec![1.0, 2.0, 0.5]).unwrap());
    let product = |p: &[usize], families: &[Family], w| QueryGroup::product(&schema, set(p), families, w).unwrap();
    let joint = |p: &[usize], queries: &Arc<JointQueries>, w| {
        QueryGroup::joint(&schema, set(p), queries.clone(), "joint", w).unwrap()
    };
    let mixtures = vec![
        product(&[0, 1, 2], &[Family::PREFIX, Family::RANGE, Family::IDENTITY], 0.7),
        product(&[0, 1], &[Family::IDENTITY, Family::PREFIX], 1.5),
        product(&[1], &[Family::CIRCULAR], 2.0),
        joint(&[0, 2], &rows, 1.0),
    ];
    let few = vec![product(&[0], &[Family::PREFIX], 1.0), joint(&[0, 1], &affine, 2.0), joint(&[0, 2], &abs, 1.0)];
    let both: Vec<QueryGroup> = mixtures.iter().chain(&few).cloned().collect();
    for groups in [mixtures, few, both] {
        let workload = GroupedWorkload::new(schema.clone(), groups).unwrap();
        let classes = Classes::of(&workload);
        let options = crate::strategy::OptimalOptions { tolerance: 1e-11, max_iterations: 2000 };
        let z: Vec<f64> = (0..classes.sizes.iter().sum()).map(|k| ((k * 7 + 3) % 5) as f64 * 0.2).collect();
        let value = |z: &[f64]| {
            let mut objective = Objective::new(&workload, &classes, Optimal::new(options).unwrap(), &go_by_rows);
            let measures = softmax(z, &classes.sizes);
            let (value, gradients) = objective.evaluate(&measures).unwrap();
            (value, through_softmax(&measures, &gradients))
        };
        let (total, gradient) = value(&z);
        let plan = Anova::with_measure(MeasureChoice::Given(
            ReferenceMeasure::of_classes(
                classes.of.clone(),
                &softmax(&z, &classes.sizes).into_iter().map(|nu| Measure::of(nu).unwrap()).collect::<Vec<_>>(),
            )
            .unwrap(),
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
            assert!((difference - gradient[k]).abs() < 2e-5 * total, "{k}: {difference} against {}", gradient[k]);
        }
    }
}

#[test]
fn never_above_query_smasher() {
    let workload = all_ways(6, 4, GroupFamily::Product(Family::IDENTITY));
    let best = QuerySmasher::default().plan(&workload, PrivacyCost::UNIT).unwrap();
    let plan = Anova::default().plan(&workload, PrivacyCost::UNIT).unwrap();
    assert_eq!(plan.total_variance(), best.total_variance());
    assert!(plan.measure().is_uniform());
    assert_eq!(plan.measure_search().unwrap().start, MeasureStart::None);
}
