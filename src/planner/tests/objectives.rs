//! Objectives other than the total error, against values of `s6`, cones and scans of the weights.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT,
    SolverStatus,
};

use super::*;
use crate::residual::ReferenceMeasure;
use crate::strategy::{Objective, Optimal, OptimalOptions, StrategySelector};
use crate::workload::{Family as F, Gram, GramFactor, Workload};

/// The sizes of Adult's attributes in S4.
const ADULT: [usize; 15] = [28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2];

/// Returns a workload of product groups, each with its weight.
fn products(sizes: &[usize], groups: &[(&[usize], &[Family], f64)]) -> GroupedWorkload {
    let schema = schema(sizes);
    let group = |(positions, families, weight): &(&[usize], &[Family], f64)| {
        QueryGroup::product(&schema, set(positions), families, *weight).unwrap()
    };
    GroupedWorkload::new(schema.clone(), groups.iter().map(group).collect()).unwrap()
}

/// Returns all marginals of some sizes.
fn marginals(sizes: &[usize], ways: &[usize]) -> GroupedWorkload {
    let family = GroupFamily::Product(F::IDENTITY);
    GroupedWorkload::all_ways(schema(sizes), &family, ways).unwrap()
}

fn planner(text: &str) -> Box<dyn Planner> {
    by_name(text).unwrap()
}

fn gap(plan: &Plan) -> f64 {
    plan.objective_value() / plan.objective_lower_bound().unwrap() - 1.0
}

/// Returns the largest error for the plan of the total error.
fn largest(plan: &Plan) -> f64 {
    plan.groups().iter().map(GroupError::weighted_mean_square).fold(0.0, f64::max)
}

#[test]
fn nine_groups_of_mixed_families_reach_the_class_optimum() {
    let (i, p, r) = (F::IDENTITY, F::PREFIX, F::RANGE);
    let groups: [(&[usize], &[Family], f64); 9] = [
        (&[0], &[i], 1.0),
        (&[1], &[p], 1.0),
        (&[2], &[r], 1.0),
        (&[1], &[i], 1.0),
        (&[0, 1], &[i, p], 1.0),
        (&[1, 2], &[p, r], 1.0),
        (&[0, 2], &[i, r], 1.0),
        (&[0, 1], &[i, i], 1.0),
        (&[1, 2], &[r, r], 1.0),
    ];
    let workload = products(&[5, 7, 4], &groups);
    let options = OptimalOptions { tolerance: 1e-9, ..OptimalOptions::default() };
    let solver = CertifiedSolver { options, ..CertifiedSolver::default() };
    let measure = ReferenceMeasure::uniform(&[5, 7, 4]);
    let plan = Plan::for_objective(
        "query-smasher",
        &workload,
        PrivacyCost::UNIT,
        &measure,
        &solver,
        Objective::Max,
    )
    .unwrap();
    assert_relative_eq!(plan.objective_value(), 6.174_321_7, max_relative = 6e-8);
    assert!((-1e-12..6e-8).contains(&gap(&plan)), "{}", gap(&plan));
    check_errors_of_groups(&plan, &workload);
}

/// Checks the errors of the groups, query by query.
fn check_errors_of_groups(plan: &Plan, workload: &GroupedWorkload) {
    for (group, error) in workload.groups().iter().zip(plan.groups()) {
        let variance: f64 = rows(group)
            .into_iter()
            .map(|(w, row)| w * plan.query_variance(group.attributes(), &row).unwrap())
            .sum();
        assert_relative_eq!(error.variance, variance, max_relative = 1e-9);
        assert_eq!(error.weight, group.weight());
    }
}

/// The optimum of any matrix over the 140 cells, between the bound of the weights below and the
/// largest error of the strategy that belongs to them. It is below that of the class, 6.1743217.
#[test]
fn nine_groups_of_mixed_families_have_a_smaller_optimum_over_all_matrices() {
    let (i, p, r, t) = (F::IDENTITY, F::PREFIX, F::RANGE, F::TOTAL);
    // Without the identities on 2, and on 1 and 2: parts of the prefixes, with smaller errors.
    let groups = [
        ([i, t, t], 0.0165095),
        ([t, p, t], 0.209377),
        ([t, t, r], 0.121912),
        ([i, p, t], 0.200567),
        ([t, p, r], 0.0813728),
        ([i, t, r], 0.12956),
        ([t, r, r], 0.240701),
        ([t, i, t], 0.0),
        ([i, i, t], 0.0),
    ];
    let total: f64 = groups.iter().map(|(_, weight)| weight).sum();
    let workloads = groups.map(|([a, b, c], _)| {
        Workload::product(&[(a, &[5][..]), (b, &[7][..]), (c, &[4][..])]).unwrap()
    });
    let mut weighted = Array2::<f64>::zeros((140, 140));
    for (workload, (_, weight)) in workloads.iter().zip(&groups) {
        let share = weight / total / workload.count().as_f64();
        weighted.scaled_add(share, &workload.gram().unwrap().to_dense().unwrap());
    }
    let factor = GramFactor { shape: vec![5, 7, 4], matrix: Arc::new(weighted) };
    let gram = Gram::from_factors(vec![factor]).unwrap();
    let optimum = Optimal::default().select(&gram).unwrap();
    let lower = optimum.certificate.unwrap().lower_bound;
    let errors = workloads.iter().map(|workload| {
        optimum.strategy.error(&workload.gram().unwrap()).unwrap() / workload.count().as_f64()
    });
    let upper = errors.fold(0.0, f64::max);
    assert_relative_eq!(lower, 5.858_323_3, max_relative = 1e-6);
    assert!((5.858_323_3..5.858_4).contains(&upper), "{upper}");
}

#[test]
fn the_marginals_of_adult_have_the_smallest_largest_error() {
    let workload = marginals(&ADULT, &[1, 2, 3]);
    assert_eq!(workload.groups().len(), 575);
    let plan = planner("query-smasher(objective=max)").plan(&workload, PrivacyCost::UNIT).unwrap();
    assert_relative_eq!(plan.objective_value(), 293.317_75, max_relative = 1e-6);
    assert!((-1e-12..1e-6).contains(&gap(&plan)), "{}", gap(&plan));
    assert_eq!((plan.objective(), plan.lower_bound()), (Objective::Max, None));
    assert_relative_eq!(largest(&plan), plan.objective_value());
    // Residual bases are optimal for marginals.
    let bases = planner("residual-planner(objective=max)").plan(&workload, cost(2.0)).unwrap();
    assert_relative_eq!(2.0 * bases.objective_value(), plan.objective_value(), max_relative = 1e-6);
    assert_eq!(bases.objective_lower_bound(), None);
    // The mean square errors of all groups with equal weights.
    let groups = workload.groups().iter().map(|g| g.with_weight(1.0 / g.count().as_f64()));
    let equal = GroupedWorkload::new(workload.schema().clone(), groups.collect()).unwrap();
    let equal = planner("query-smasher").plan(&equal, PrivacyCost::UNIT).unwrap();
    let largest = equal.groups().iter().map(|g| g.rmse().powi(2)).fold(0.0, f64::max);
    assert_relative_eq!(largest / plan.objective_value() - 1.0, 0.266, epsilon = 5e-4);
}

/// Returns min over c of `max_g Σ_A k_gA/c_A` with Σ c = 1, by interior points.
///
/// The variables are c, u ≥ 1/c by ‖(2, c − u)‖ ≤ c + u, and the largest error.
fn by_cones(k: &[Vec<f64>]) -> f64 {
    let m = k[0].len();
    let (mut rows, mut columns, mut values, mut right) = (vec![], vec![], vec![], vec![]);
    let mut row = |entries: &[(usize, f64)], bound: f64| {
        for &(column, value) in entries {
            rows.push(right.len());
            columns.push(column);
            values.push(value);
        }
        right.push(bound);
    };
    row(&(0..m).map(|a| (a, 1.0)).collect::<Vec<_>>(), 1.0);
    for group in k {
        let mut entries: Vec<(usize, f64)> =
            group.iter().enumerate().map(|(a, k)| (m + a, *k)).collect();
        entries.push((2 * m, -1.0));
        row(&entries, 0.0);
    }
    for a in 0..m {
        row(&[(a, -1.0), (m + a, -1.0)], 0.0);
        row(&[], 2.0);
        row(&[(a, -1.0), (m + a, 1.0)], 0.0);
    }
    let matrix = CscMatrix::new_from_triplets(right.len(), 2 * m + 1, rows, columns, values);
    let mut cones = vec![NonnegativeConeT(1 + k.len())];
    cones.extend((0..m).map(|_| SecondOrderConeT(3)));
    let mut objective = vec![0.0; 2 * m];
    objective.push(1.0);
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-11)
        .tol_gap_rel(1e-11)
        .tol_feas(1e-11)
        .build()
        .unwrap();
    let zero = CscMatrix::zeros((2 * m + 1, 2 * m + 1));
    let mut solver =
        DefaultSolver::new(&zero, &objective, &matrix, &right, &cones, settings).unwrap();
    solver.solve();
    assert!(matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved));
    solver.solution.x[2 * m]
}

/// Returns `tr(K_gA V_A⁺)` of every group and measurement, from the cells of the queries.
fn contributions(plan: &Plan, workload: &GroupedWorkload) -> Vec<Vec<f64>> {
    let share = |group: &QueryGroup, measurement: &PlannedMeasurement| -> f64 {
        if !measurement.attributes.is_subset(group.attributes()) {
            return 0.0;
        }
        let kept = group.attributes().axes_in(measurement.attributes);
        let unit = group.weight() / group.count().as_f64();
        let measures = plan.measure().of(group.attributes());
        let of_row = |(weight, row): (f64, Vec<f64>)| {
            let mut part = crate::residual::contracted(group.sizes(), kept, row, &measures);
            crate::residual::centre_for(
                &kept.select(group.sizes()),
                &mut part,
                &plan.measure().of(measurement.attributes),
            );
            unit * weight * measurement.strategy.variance(&part).unwrap()
        };
        rows(group).into_iter().map(of_row).sum()
    };
    let of_group =
        |group: &QueryGroup| plan.measurements().iter().map(|m| share(group, m)).collect();
    workload.groups().iter().map(of_group).collect()
}

/// The division of the privacy cost for fixed strategies, against Clarabel.
#[test]
fn the_division_of_the_cost_agrees_with_clarabel() {
    let (i, p) = (F::IDENTITY, F::PREFIX);
    let small: [(&[usize], &[Family], f64); 4] =
        [(&[0], &[p], 1.0), (&[0, 1], &[i, i], 0.3), (&[1, 2], &[i, p], 2.0), (&[2], &[i], 5.0)];
    for workload in [products(&[3, 2, 4], &small), marginals(&[3, 2, 4], &[1, 2]), small_workload()]
    {
        for name in ["residual-planner", "residual-planner-plus"] {
            let text = format!("{name}(objective=max)");
            let plan = planner(&text).plan(&workload, PrivacyCost::UNIT).unwrap();
            let expected = by_cones(&contributions(&plan, &workload));
            assert_relative_eq!(plan.objective_value(), expected, max_relative = 1e-6);
        }
    }
}

/// The optimum over strategies and divisions: the bound of the plan for the total error with any
/// weights is at most the largest error, and with the best weights equal to it.
#[test]
fn no_weights_of_two_groups_prove_a_larger_bound() {
    let (i, r) = (F::IDENTITY, F::RANGE);
    let workload = products(&[4, 3], &[(&[0], &[r], 1.0), (&[0, 1], &[i, i], 1.5)]);
    for objective in [Objective::Max, Objective::Balanced(0.4)] {
        let text = format!("query-smasher(objective={objective})");
        let plan = planner(&text).plan(&workload, PrivacyCost::UNIT).unwrap();
        assert!((-1e-12..1e-6).contains(&gap(&plan)), "{}", gap(&plan));
        let counts: Vec<f64> = workload.groups().iter().map(|g| g.count().as_f64()).collect();
        let queries: f64 = counts.iter().sum();
        let share = if let Objective::Balanced(share) = objective { share } else { 0.0 };
        let bound = |w: f64| {
            let weights = [w, 1.0 - w].into_iter().zip(&counts);
            let weights: Vec<f64> =
                weights.map(|(w, n)| (1.0 - share) * w / n + share / queries).collect();
            let groups = workload.groups().iter().zip(&weights);
            let groups = groups.map(|(g, w)| g.with_weight(w * g.weight())).collect();
            let scaled = GroupedWorkload::new(workload.schema().clone(), groups).unwrap();
            planner("query-smasher").plan(&scaled, PrivacyCost::UNIT).unwrap().total_variance()
        };
        let best = (1..200).map(|k| bound(f64::from(k) / 200.0)).fold(0.0, f64::max);
        let value = plan.objective_value();
        assert!(best <= value * (1.0 + 1e-6) && best >= value * (1.0 - 1e-4), "{best} {value}");
    }
}

#[test]
fn an_optimised_measure_lowers_the_largest_error() {
    let (i, p) = (F::IDENTITY, F::PREFIX);
    let workload = products(&[6, 5], &[(&[0], &[p], 1.0), (&[0, 1], &[p, i], 1.0)]);
    let of = |text: &str| planner(text).plan(&workload, PrivacyCost::UNIT).unwrap();
    let uniform = of("anova(measure=uniform, objective=max)");
    let optimised = of("anova(objective=max)");
    let mean = of("anova");
    assert!(optimised.objective_value() <= uniform.objective_value());
    assert!(optimised.objective_value() <= largest(&mean));
    assert!((-1e-12..1e-5).contains(&gap(&optimised)), "{}", gap(&optimised));
    assert_relative_eq!(
        uniform.objective_value(),
        of("query-smasher(objective=max)").objective_value()
    );
    check_errors_of_groups(&optimised, &workload);
}

#[test]
fn one_group_and_the_mean_are_the_plan_of_the_total_error() {
    let workload = products(&[4, 5], &[(&[0, 1], &[F::PREFIX, F::RANGE], 2.0)]);
    for name in ["query-smasher", "weighted-fourier", "anova(measure=uniform)"] {
        let total = planner(name).plan(&workload, cost(0.5)).unwrap();
        let (base, options) = name.split_once('(').unwrap_or((name, ")"));
        for objective in ["mean", "max", "balanced:0.3"] {
            let text = match options {
                ")" => format!("{base}(objective={objective})"),
                options => format!("{base}(objective={objective}, {options}"),
            };
            let plan = planner(&text).plan(&workload, cost(0.5)).unwrap();
            let mean = total.total_variance() / total.queries().as_f64();
            assert_relative_eq!(plan.objective_value(), mean, max_relative = 1e-9);
            assert_relative_eq!(plan.total_variance(), total.total_variance());
        }
    }
}

#[test]
fn planners_without_the_option_and_unknown_objectives_are_refused() {
    for text in [
        "hdmm(objective=max)",
        "residual-planner-plus-prefix(objective=max)",
        "query-smasher(objective=largest)",
        "anova(objective=balanced:2)",
    ] {
        assert!(by_name(text).is_err(), "{text}");
    }
}
