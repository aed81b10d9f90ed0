//! Reference measures and global bounds on workloads of S3's Tables 2 and 4, against independently
//! computed values.

use approx::assert_relative_eq;
use matmech::access::PrivateTable;
use matmech::data::Records;
use matmech::domain::{Attribute, AttributeKind};
use matmech::mechanism::run_plan;
use matmech::planner::{Anova, BoundWeights, GlobalBound, Planner};
use matmech::privacy::{PrivacyCost, Rho};
use matmech::schema::Schema;
use matmech::workload::{Family, GroupFamily, GroupedWorkload};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// Prefix queries on numeric attributes, which come first, and identity on categorical ones.
fn hybrid(numeric: &[usize], categorical: &[usize], ways: &[usize]) -> GroupedWorkload {
    let kinds = numeric.iter().map(|n| (n, AttributeKind::Numeric));
    let kinds =
        kinds.chain(categorical.iter().map(|n| (n, AttributeKind::Categorical))).enumerate();
    let attributes =
        kinds.map(|(k, (&size, kind))| Attribute::new(format!("A{k}"), size, kind)).collect();
    GroupedWorkload::all_ways(Schema::new(attributes).unwrap(), &GroupFamily::Hybrid, ways).unwrap()
}

/// Table 2: QuerySmasher equals its reference value, and `anova` is at most its reference value.
#[test]
fn anova_matches_table_2() {
    let cps = |ways: &[usize]| hybrid(&[50, 100], &[7, 4, 2], ways);
    let loans = |ways: &[usize]| hybrid(&[101; 4], &[3, 8, 36, 6, 51, 4, 5, 15], ways);
    for (workload, uniform, expected) in [
        (cps(&[1]), 3.13501, 3.06291),
        (cps(&[3]), 7.88598, 7.29957),
        (cps(&[1, 2, 3]), 8.14001, 7.56215),
        (loans(&[1]), 4.66976, 4.61455),
        (loans(&[2]), 14.57513, 14.1884),
    ] {
        let plan = Anova::default().plan(&workload, PrivacyCost::UNIT).unwrap();
        let search = plan.measure_search().unwrap();
        assert_relative_eq!(
            (search.uniform_variance / plan.queries().as_f64()).sqrt(),
            uniform,
            max_relative = 2e-5
        );
        assert!(plan.rmse() <= expected * (1.0 + 2e-5), "{} against {expected}", plan.rmse());
        assert!(plan.rmse() <= plan.lower_bound_rmse().unwrap() * (1.0 + 3e-7));
    }
}

/// Table 2, queries on one and on two attributes: the lower bound over all matrix mechanisms with
/// uniform weights.
#[test]
fn bounds_of_uniform_weights_match_table_2() {
    let adult =
        |ways: &[usize]| hybrid(&[100, 100, 100, 99, 85], &[42, 16, 15, 9, 7, 6, 5, 2, 2], ways);
    let cps = |ways: &[usize]| hybrid(&[50, 100], &[7, 4, 2], ways);
    let loans = |ways: &[usize]| hybrid(&[101; 4], &[3, 8, 36, 6, 51, 4, 5, 15], ways);
    for (workload, expected) in [
        (cps(&[1]), 3.0053),
        (cps(&[2]), 5.5743),
        (adult(&[1]), 4.9307),
        (adult(&[2]), 16.3559),
        (loans(&[1]), 4.5582),
        (loans(&[2]), 13.8308),
    ] {
        let bound = GlobalBound::of(&workload, &BoundWeights::Uniform, None).unwrap();
        let rmse = bound.rmse(workload.count().as_f64(), 1.0);
        assert!((rmse - expected).abs() < 6e-5, "{rmse} against {expected}");
    }
}

/// Table 4, n = 50 and d = 40: `anova`, and the lower bounds over all matrix mechanisms with
/// uniform weights, with the plan's measure, and optimised.
#[test]
fn anova_and_its_bounds_match_table_4() {
    for (family, expected, uniform, bound) in [
        (Family::PREFIX, 72.6370, 70.72257, 71.90013),
        (Family::RANGE, 100.75102, 100.64286, 100.64286),
    ] {
        let schema = Schema::uniform(50, 40).unwrap();
        let workload =
            GroupedWorkload::all_ways(schema, &GroupFamily::Product(family), &[1, 2]).unwrap();
        let plan = Anova::default().plan(&workload, PrivacyCost::UNIT).unwrap();
        assert_relative_eq!(plan.rmse(), expected, max_relative = 2e-5);
        let queries = plan.queries().as_f64();
        let of_uniform = GlobalBound::of(&workload, &BoundWeights::Uniform, None).unwrap();
        assert_relative_eq!(of_uniform.rmse(queries, 1.0), uniform, max_relative = 2e-6);
        let of_measure =
            GlobalBound::of(&workload, &BoundWeights::Given(plan.measure().clone()), None).unwrap();
        if family == Family::PREFIX {
            assert_relative_eq!(of_measure.rmse(queries, 1.0), bound, max_relative = 2e-5);
        }
        let global =
            GlobalBound::of(&workload, &BoundWeights::Optimised, Some(plan.measure())).unwrap();
        let optimised = global.rmse(queries, 1.0);
        assert!(optimised >= bound && optimised <= plan.rmse(), "{optimised}");
        assert!(global.quadrature_error < 1e-6);
    }
}

/// The mean sum of squared errors over 400 runs is within five standard errors of the plan's. Its
/// relative standard deviation per run is below √(2/5) for these workloads. The mean error is
/// within five standard errors of 0.
#[test]
fn squared_errors_match_the_plan() {
    for family in [GroupFamily::Product(Family::PREFIX), GroupFamily::Pairs(Family::AFFINE)] {
        let workload =
            GroupedWorkload::all_ways(Schema::uniform(5, 3).unwrap(), &family, &[1, 2]).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let records = Records::uniform(workload.schema(), 500, &mut rng).unwrap();
        let rho = Rho::new(0.8).unwrap();
        let plan = Anova::default().plan(&workload, rho.privacy_cost()).unwrap();
        assert!(!plan.measure().is_uniform());
        let expected: f64 = plan.groups().iter().map(|g| g.variance).sum();
        let runs = 400;
        let (mut squares, mut errors, mut queries) = (0.0, 0.0, 0usize);
        for _ in 0..runs {
            let mut table = PrivateTable::of_records(&records, rho, &mut rng).unwrap();
            run_plan(&plan, &workload, &mut table, &mut |index, answers| {
                let group = &workload.groups()[index];
                let exact = group.answers(&records.marginal(group.attributes())?)?;
                squares += answers.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                errors += answers.iter().zip(&exact).map(|(a, b)| a - b).sum::<f64>();
                queries += answers.len();
                Ok(())
            })
            .unwrap();
            assert!((table.accountant().spent() - rho.get()).abs() < 1e-9);
        }
        let mean = squares / f64::from(runs);
        assert!(
            (mean / expected - 1.0).abs() < 5.0 * (0.4 / f64::from(runs)).sqrt(),
            "{mean} {expected}"
        );
        // The sum of the errors of a run has root mean square at most √(queries · Σ variances).
        let spread = (queries as f64 / f64::from(runs) * expected / f64::from(runs)).sqrt();
        assert!((errors / f64::from(runs)).abs() < 5.0 * spread, "{errors}");
    }
}
