//! Bounds against the full matrix on small domains, and derivatives against central differences.

use approx::assert_relative_eq;
use ndarray::Array2;
use rand::RngExt;

use super::axis::Axis;
use super::by_structure::{FINE, by_structure, evaluate};
use super::structure::{Form, Structure};
use super::*;
use crate::domain::coordinates;
use crate::planner::minimise::reference_measure;
use crate::planner::{Anova, Planner};
use crate::privacy::PrivacyCost;
use crate::residual::ReferenceMeasure;
use crate::schema::Schema;
use crate::test_support::{all_ways, rng, schema, set};
use crate::workload::{
    Family, GroupFamily, GroupedWorkload, QueryGroup, attribute_sets, groups_of,
};
use matmech_linalg as linalg;

fn group(schema: &Schema, positions: &[usize], families: &[Family], weight: f64) -> QueryGroup {
    QueryGroup::product(schema, set(positions), families, weight).unwrap()
}

/// Returns a workload of mixed sizes and families, with weights.
///
/// Four pairs, and an attribute whose single queries are of another family.
fn mixed() -> GroupedWorkload {
    let schema = schema(&[4, 3, 5, 2]);
    use Family as F;
    let groups = vec![
        group(&schema, &[0, 1], &[F::PREFIX, F::IDENTITY], 1.0),
        group(&schema, &[0, 2], &[F::PREFIX, F::RANGE], 0.5),
        group(&schema, &[1, 2], &[F::IDENTITY, F::RANGE], 2.0),
        group(&schema, &[2, 3], &[F::RANGE, F::PREFIX], 0.7),
        group(&schema, &[0], &[F::PREFIX], 3.0),
        group(&schema, &[2], &[F::PREFIX], 1.2),
        group(&schema, &[3], &[F::PREFIX], 0.4),
    ];
    GroupedWorkload::new(schema, groups).unwrap()
}

/// Returns tr √(D^½ G D^½) from the full matrix.
fn brute_force(workload: &GroupedWorkload, weights: &ReferenceMeasure) -> f64 {
    let sizes = workload.schema().sizes();
    let gram = explicit::gram(workload).unwrap();
    let m: Vec<f64> = (0..gram.nrows())
        .map(|c| {
            coordinates(&sizes, c)
                .iter()
                .enumerate()
                .map(|(k, &v)| weights.of_attribute(k).weight(v))
                .product()
        })
        .collect();
    let scaled = Array2::from_shape_fn(gram.dim(), |(i, j)| (m[i] * m[j]).sqrt() * gram[[i, j]]);
    linalg::eigvalsh(scaled.view()).unwrap().iter().map(|x| x.max(0.0).sqrt()).sum()
}

fn some_weights(structure: &Structure) -> Vec<f64> {
    (0..structure.class_sizes.iter().sum()).map(|k| ((k * 5 + 2) % 7) as f64 * 0.17).collect()
}

fn measure(structure: &Structure, z: &[f64]) -> ReferenceMeasure {
    reference_measure(z, &structure.class_sizes, &structure.classes).unwrap()
}

#[test]
fn both_forms_equal_the_full_matrix() {
    for (workload, exchangeable) in [
        (all_ways(4, 4, GroupFamily::Product(Family::PREFIX), &[1, 2]), true),
        (all_ways(3, 2, GroupFamily::Product(Family::RANGE), &[1, 2]), true),
        (all_ways(3, 3, GroupFamily::Product(Family::PREFIX), &[2]), true),
        (mixed(), false),
    ] {
        let structure = Structure::of(&workload).unwrap();
        assert_eq!(matches!(structure.form, Form::Exchangeable(_)), exchangeable);
        let z = some_weights(&structure);
        let (trace, error, _) = evaluate(&structure, &z, FINE, false).unwrap();
        let expected = brute_force(&workload, &measure(&structure, &z));
        assert_relative_eq!(trace, expected, max_relative = 1e-6);
        assert!(
            error < 1e-6 * trace && trace - error <= expected * (1.0 + 1e-10),
            "{trace} {error} {expected}"
        );
        let given = GlobalBound::of(&workload, &BoundWeights::Given(measure(&structure, &z)), None)
            .unwrap();
        assert!(
            given.total_variance <= expected * expected
                && given.total_variance > 0.999_99 * expected * expected
        );
    }
}

#[test]
fn gradients_equal_central_differences() {
    for workload in [all_ways(4, 5, GroupFamily::Product(Family::PREFIX), &[1, 2]), mixed()] {
        let structure = Structure::of(&workload).unwrap();
        let z = some_weights(&structure);
        let (trace, _, gradient) = evaluate(&structure, &z, FINE, true).unwrap();
        for k in 0..z.len() {
            let moved = |step: f64| {
                let mut z = z.clone();
                z[k] += step;
                evaluate(&structure, &z, FINE, false).unwrap().0
            };
            let difference = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            assert!(
                (difference - gradient[k]).abs() < 1e-6 * trace,
                "{k}: {difference} against {}",
                gradient[k]
            );
        }
    }
}

/// Uniform weights separate the odd vectors of ranges, and all vectors of marginals. The trace is
/// that of the full matrix, and its derivatives are those of weights without the symmetry.
#[test]
fn separate_blocks_equal_the_full_matrix() {
    for family in [Family::RANGE, Family::IDENTITY] {
        let schema = schema(&[4, 4, 4]);
        let sets = attribute_sets(&schema, &[1, 2]).unwrap();
        let weights = [1.0, 2.0, 3.0, 1.0, 4.0, 2.0];
        let groups = groups_of(&schema, &GroupFamily::Product(family), &sets, &weights).unwrap();
        let workload = GroupedWorkload::new(schema, groups).unwrap();
        let structure = Structure::of(&workload).unwrap();
        assert!(matches!(structure.form, Form::Pairs(_)));
        let z = vec![0.0; some_weights(&structure).len()];
        let axis = Axis::of(&structure.axes[0].gram, None, &[0.25; 4]).unwrap();
        assert!(axis.s.iter().any(|s| *s == 0.0), "{family:?} {:?}", axis.s);
        let (trace, error, gradient) = evaluate(&structure, &z, FINE, true).unwrap();
        let expected = brute_force(&workload, &measure(&structure, &z));
        assert_relative_eq!(trace, expected, max_relative = 1e-6);
        assert!(error < 1e-6 * trace && trace - error <= expected * (1.0 + 1e-10));
        for k in 0..z.len() {
            let moved = |step: f64| {
                let mut z = z.clone();
                z[k] += step;
                evaluate(&structure, &z, FINE, false).unwrap().0
            };
            let difference = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            assert!((difference - gradient[k]).abs() < 1e-6 * trace, "{k}: {difference}");
        }
    }
}

/// Bounds are at most the certified optimum of the full domain, and at least 0.9 of it.
///
/// Uniform weights give a smaller bound than optimised ones.
#[test]
fn bounds_are_at_most_the_optimum_of_the_full_domain() {
    let mut rng = rng(30);
    for domain in 0..30 {
        let sizes: Vec<usize> =
            (0..rng.random_range(2..5)).map(|_| rng.random_range(2..6)).collect();
        let schema = schema(&sizes);
        let family = [Family::PREFIX, Family::RANGE, Family::IDENTITY][domain % 3];
        let sets = attribute_sets(&schema, [&[1, 2][..], &[2]][domain % 2]).unwrap();
        // Half of the domains have random weights.
        let weights: Vec<f64> = sets
            .iter()
            .map(|_| if domain % 4 < 2 { 1.0 } else { rng.random_range(0.2..5.0) })
            .collect();
        let groups = groups_of(&schema, &GroupFamily::Product(family), &sets, &weights).unwrap();
        let workload = GroupedWorkload::new(schema, groups).unwrap();
        let best = explicit::bound(&workload, None).unwrap();
        let structure = Structure::of(&workload).unwrap();
        let bound = by_structure(&structure, &BoundWeights::Optimised, None).unwrap();
        let uniform = by_structure(&structure, &BoundWeights::Uniform, None).unwrap();
        // The certified lower bound is within 1e-7 of the optimum.
        let name = format!("{domain}: {} on {sizes:?}", family.name());
        assert!(bound.total_variance <= best.total_variance * (1.0 + 2e-7), "{name}");
        assert!(uniform.total_variance <= bound.total_variance * (1.0 + 1e-6), "{name}");
        assert!(bound.total_variance > 0.9 * best.total_variance, "{name}");
    }
}

/// Bounds for uniform and for optimised weights against independently computed values.
///
/// On [4]^3 the bound is the optimum of the full domain.
#[test]
fn bounds_equal_independently_computed_values() {
    let rmse = |bound: &GlobalBound, workload: &GroupedWorkload| {
        bound.rmse(workload.count().as_f64(), 1.0)
    };
    for (family, n, d, uniform, optimised) in [
        (Family::PREFIX, 10, 5, 4.99564, 5.17573),
        (Family::PREFIX, 10, 40, 31.70162, 32.64305),
        (Family::PREFIX, 20, 10, 12.93468, 12.93468),
        (Family::RANGE, 10, 5, 5.85058, 5.87385),
        (Family::RANGE, 10, 40, 40.86009, 40.86422),
        (Family::RANGE, 20, 10, 16.60020, 16.60020),
    ] {
        let workload = all_ways(n, d, GroupFamily::Product(family), &[1, 2]);
        let plan = Anova::default().plan(&workload, PrivacyCost::UNIT).unwrap();
        let by_uniform = GlobalBound::of(&workload, &BoundWeights::Uniform, None).unwrap();
        assert_relative_eq!(rmse(&by_uniform, &workload), uniform, max_relative = 2e-6);
        let best =
            GlobalBound::of(&workload, &BoundWeights::Optimised, Some(plan.measure())).unwrap();
        let reached = rmse(&best, &workload);
        assert!(reached >= optimised * (1.0 - 2e-5), "{} {n} {d}: {reached}", family.name());
        assert!(reached <= plan.rmse());
    }
    let small = all_ways(4, 3, GroupFamily::Product(Family::PREFIX), &[1, 2]);
    let best = GlobalBound::of(&small, &BoundWeights::Optimised, None).unwrap();
    assert_eq!(best.method, BoundMethod::Explicit);
    assert_relative_eq!(rmse(&best, &small), 2.213482, max_relative = 1e-6);
}

#[test]
fn errors_say_why_a_workload_has_no_bound() {
    for (family, ways, expected) in [
        (GroupFamily::Pairs(Family::AFFINE), &[1, 2][..], "joint queries of `affine`"),
        (GroupFamily::Product(Family::PREFIX), &[3], "queries on 3 attributes"),
    ] {
        let message =
            GlobalBound::of(&all_ways(10, 5, family, ways), &BoundWeights::Optimised, None)
                .unwrap_err()
                .to_string();
        assert!(message.contains(expected) && message.contains("4096 cells"), "{message}");
    }
    let other = ReferenceMeasure::uniform(&[3, 3]);
    let weights = BoundWeights::Given(other);
    assert!(GlobalBound::of(&mixed(), &weights, None).unwrap_err().to_string().contains("[3, 3]"));
}
