//! Plans for reference measures.
//!
//! Tested against explicit matrices and the propositions of `docs/reference-measures.md`.

use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::StrategySelector;
use crate::test_support::{rng, schema, set};
use crate::workload::Gram;

fn group(schema: &Schema, positions: &[usize], families: &[Family], weight: f64) -> QueryGroup {
    QueryGroup::product(schema, set(positions), families, weight).unwrap()
}

fn joint(schema: &Schema, positions: &[usize], family: Family, weight: f64) -> QueryGroup {
    let queries = JointQueries::family(family, &set(positions).select(&schema.sizes())).unwrap();
    QueryGroup::joint(schema, set(positions), Arc::new(queries), family.name(), weight).unwrap()
}

/// Workloads on [4]^3, [3, 4, 2] and [5, 3], with products, mixtures, joint queries and weights.
fn domains() -> Vec<GroupedWorkload> {
    use Family as F;
    let (a, b, c) = (schema(&[4, 4, 4]), schema(&[3, 4, 2]), schema(&[5, 3]));
    let (cube, mixed, pair) = (
        vec![
            joint(&a, &[0, 1], F::AFFINE, 1.0),
            joint(&a, &[1, 2], F::ABS, 2.0),
            group(&a, &[0], &[F::PREFIX], 1.0),
        ],
        vec![
            group(&b, &[0, 1, 2], &[F::PREFIX, F::RANGE, F::IDENTITY], 0.5),
            group(&b, &[0, 1], &[F::IDENTITY, F::PREFIX], 2.0),
            joint(&b, &[0, 1], F::AFFINE, 1.5),
        ],
        vec![group(&c, &[0, 1], &[F::RANGE, F::PREFIX], 1.0), group(&c, &[1], &[F::PREFIX], 3.0)],
    );
    vec![
        all_ways(4, 3, GroupFamily::Product(F::PREFIX), &[1, 2]),
        GroupedWorkload::new(a, cube).unwrap(),
        GroupedWorkload::new(b, mixed).unwrap(),
        GroupedWorkload::new(c, pair).unwrap(),
    ]
}

/// Returns a random measure on attributes of these sizes.
///
/// Weights differ by at most a factor of 4.
fn some_measure(sizes: &[usize], rng: &mut ChaCha20Rng) -> ReferenceMeasure {
    let random_measure = |&n: &usize| {
        let weights: Vec<f64> = (0..n).map(|_| rng.random_range(0.5..2.0)).collect();
        let sum: f64 = weights.iter().sum();
        Measure::of(weights.iter().map(|w| w / sum).collect()).unwrap()
    };
    ReferenceMeasure::new(sizes.iter().map(random_measure).collect())
}

#[test]
fn plans_for_any_measure_equal_explicit_matrices() {
    let mut rng = rng(3);
    for workload in domains() {
        let given = MeasureChoice::Given(some_measure(&workload.schema().sizes(), &mut rng));
        for planner in [Anova::default(), Anova::with_measure(given)] {
            let plan = planner.plan(&workload, cost(0.7)).unwrap();
            assert_relative_eq!(plan.recomputed_privacy_cost(), 0.7, max_relative = 1e-9);
            check_against_matrices(&plan, &workload);
            assert!(plan.total_variance() <= plan.lower_bound().unwrap() * (1.0 + 3e-7));
        }
    }
}

/// Proposition 1: the uniform measure gives QuerySmasher, bit for bit.
///
/// Given as explicit weights, it gives QuerySmasher up to rounding.
#[test]
fn the_uniform_measure_gives_query_smasher() {
    for workload in domains() {
        let best = QuerySmasher::default().plan(&workload, cost(1.0)).unwrap();
        let plan = Anova::with_measure(MeasureChoice::Uniform).plan(&workload, cost(1.0)).unwrap();
        assert_eq!(plan.total_variance(), best.total_variance());
        let sizes = workload.schema().sizes();
        let explicit =
            sizes.iter().map(|&n| Measure::of(vec![1.0 / n as f64; n]).unwrap()).collect();
        let given = MeasureChoice::Given(ReferenceMeasure::new(explicit));
        let plan = Anova::with_measure(given).plan(&workload, cost(1.0)).unwrap();
        assert_relative_eq!(plan.total_variance(), best.total_variance(), max_relative = 3e-7);
        let optimised = Anova::default().plan(&workload, cost(1.0)).unwrap();
        assert!(optimised.total_variance() <= best.total_variance());
    }
}

/// Proposition 2: with `ν_i = X_i⁻¹1/(1ᵀX_i⁻¹1)`, the plan's error is at most that of ⊗ X_i.
///
/// Here ⊗ X_i is HDMM's Kronecker strategy.
#[test]
fn plans_are_at_most_the_kronecker_strategy_of_their_measure() {
    let mut checked = 0;
    let three = all_ways(4, 3, GroupFamily::Product(Family::PREFIX), &[3]);
    for workload in domains()
        .into_iter()
        .chain([three, all_ways(5, 2, GroupFamily::Product(Family::RANGE), &[1, 2])])
    {
        let Ok(single) = (Hdmm { form: HdmmForm::SingleKronecker }).plan(&workload, cost(1.0))
        else {
            continue;
        };
        let SubspaceStrategy::Kronecker(factors) = single.measurements()[0].strategy.as_ref()
        else {
            continue;
        };
        let measures: Vec<Vec<f64>> = factors
            .iter()
            .map(|factor| {
                let sums = factor.covariance().unwrap().sum_axis(Axis(1));
                let total = sums.sum();
                sums.iter().map(|s| s / total).collect()
            })
            .collect();
        if measures.iter().flatten().any(|w| *w <= 0.0) {
            continue;
        }
        let measure =
            ReferenceMeasure::new(measures.into_iter().map(|m| Measure::of(m).unwrap()).collect());
        let plan =
            Anova::with_measure(MeasureChoice::Given(measure)).plan(&workload, cost(1.0)).unwrap();
        assert!(plan.total_variance() <= single.total_variance() * (1.0 + 3e-7));
        checked += 1;
    }
    assert!(checked >= 3, "{checked}");
}

/// Proposition 3: with one attribute, the optimum over measures is the optimum over strategies.
#[test]
fn one_attribute_plans_equal_the_optimum() {
    let mut rng = rng(8);
    let random = Array2::from_shape_fn((14, 7), |_| f64::from(u8::from(rng.random_bool(0.4))));
    for (n, family) in [
        (10, GroupFamily::Product(Family::PREFIX)),
        (9, GroupFamily::Product(Family::RANGE)),
        (7, GroupFamily::Matrix(Arc::new(random.clone()))),
    ] {
        let workload = all_ways(n, 1, family.clone(), &[1]);
        let gram = match &family {
            GroupFamily::Product(family) => family.gram(&[n]).unwrap(),
            _ => random.t().dot(&random),
        };
        let optimum = crate::strategy::Optimal::default()
            .select(&Gram::dense(&[n], gram).unwrap())
            .unwrap()
            .error;
        let plan = Anova::default().plan(&workload, cost(1.0)).unwrap();
        assert_relative_eq!(plan.total_variance(), optimum, max_relative = 1e-6);
        if n == 10 {
            assert_relative_eq!(plan.rmse(), 1.5561415, max_relative = 1e-6);
            let uniform = plan.measure_search().unwrap().uniform_variance;
            assert_relative_eq!((uniform / 10.0).sqrt(), 1.6187813, max_relative = 2e-5);
        }
    }
}

/// Anova's variance against QuerySmasher's and HDMM's on 50 random workloads.
///
/// It is at most QuerySmasher's, and at most that of HDMM's Kronecker strategy if there are no
/// joint queries.
#[test]
fn anova_is_at_most_query_smasher_and_hdmm() {
    let mut rng = rng(21);
    let families = [Family::IDENTITY, Family::PREFIX, Family::RANGE, Family::CIRCULAR];
    let pairs = [Family::AFFINE, Family::ABS];
    let mut with_joint = 0;
    for trial in 0..50 {
        let sizes: Vec<usize> =
            (0..rng.random_range(1..5)).map(|_| rng.random_range(2..7)).collect();
        let schema = schema(&sizes);
        let groups: Vec<QueryGroup> = (0..rng.random_range(1..6))
            .map(|_| {
                let chosen: Vec<usize> =
                    (0..sizes.len()).filter(|_| rng.random_bool(0.6)).take(3).collect();
                let chosen = if chosen.is_empty() { vec![0] } else { chosen };
                let families: Vec<Family> =
                    chosen.iter().map(|_| families[rng.random_range(0..4)]).collect();
                if trial % 2 == 1 && chosen.len() == 2 {
                    return joint(
                        &schema,
                        &chosen,
                        pairs[rng.random_range(0..2)],
                        rng.random_range(0.2..5.0),
                    );
                }
                group(&schema, &chosen, &families, rng.random_range(0.2..5.0))
            })
            .collect();
        let workload = GroupedWorkload::new(schema, groups).unwrap();
        let anova = variance(&Anova::default(), &workload);
        let smasher = variance(&QuerySmasher::default(), &workload);
        assert!(anova <= smasher * (1.0 + 1e-7), "{trial}: {anova} {smasher}");
        if workload
            .groups()
            .iter()
            .any(|group| !matches!(group.queries(), GroupQueries::Product(_)))
        {
            with_joint += 1;
            continue;
        }
        let single = variance(&Hdmm { form: HdmmForm::SingleKronecker }, &workload);
        assert!(anova <= single * (1.0 + 1e-7), "{trial}, {sizes:?}: {anova} {single}");
    }
    assert!(with_joint >= 10, "{with_joint}");
}

/// Identity and circular queries keep the uniform measure.
///
/// It is optimal for them, because they are invariant under cyclic shifts.
#[test]
fn shift_invariant_workloads_give_query_smasher() {
    for family in [Family::IDENTITY, Family::CIRCULAR] {
        let workload = all_ways(5, 4, GroupFamily::Product(family), &[1, 2]);
        let plan = Anova::default().plan(&workload, cost(1.0)).unwrap();
        assert_eq!(plan.total_variance(), variance(&QuerySmasher::default(), &workload));
        assert!(plan.measure().is_uniform());
    }
}

#[test]
fn measures_of_another_schema_are_refused() {
    let workload = all_ways(4, 3, GroupFamily::Product(Family::PREFIX), &[1]);
    let given = MeasureChoice::Given(ReferenceMeasure::uniform(&[4, 3, 4]));
    let message = Anova::with_measure(given).plan(&workload, cost(1.0)).err().unwrap().to_string();
    assert!(message.contains("[4, 4, 4]") && message.contains("[4, 3, 4]"), "{message}");
}
