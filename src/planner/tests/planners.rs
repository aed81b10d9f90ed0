//! Plans of every planner against explicit matrices, and relations between planners.

use super::*;

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

/// Planners are free of scale, so a plan at unit cost gives the plan for every budget.
#[test]
fn plans_scale_with_the_privacy_cost() {
    let workload = products();
    let texts = ["query-smasher(objective=max)", "anova(objective=balanced:0.5)"];
    let more = texts.map(|text| by_name(text).unwrap());
    for planner in planners().into_iter().chain(more) {
        let planned = planner.plan(&workload, cost(0.03)).unwrap();
        let unit = planner.plan(&workload, PrivacyCost::UNIT).unwrap();
        let scaled = unit.at_privacy_cost(cost(0.03)).unwrap();
        let name = planner.name();
        assert_eq!(scaled.measurements().len(), planned.measurements().len(), "{name}");
        for (a, b) in scaled.measurements().iter().zip(planned.measurements()) {
            assert_eq!(a.attributes, b.attributes, "{name}");
            let (a, b) = (a.privacy_cost.get(), b.privacy_cost.get());
            assert_relative_eq!(a, b, max_relative = 1e-9);
        }
        for (a, b) in scaled.groups().iter().zip(planned.groups()) {
            assert_relative_eq!(a.variance, b.variance, max_relative = 1e-9);
        }
        let numbers = |plan: &Plan| {
            [
                plan.objective_value(),
                plan.recomputed_privacy_cost(),
                plan.lower_bound().unwrap_or(1.0),
                plan.objective_lower_bound().unwrap_or(1.0),
                plan.measure_search().map_or(1.0, |search| search.uniform_variance),
            ]
        };
        for (a, b) in numbers(&scaled).into_iter().zip(numbers(&planned)) {
            assert_relative_eq!(a, b, max_relative = 1e-9);
        }
        assert_eq!(scaled.privacy_cost(), cost(0.03));
        check_against_matrices(&scaled, &workload);
    }
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

/// Groups that differ in the family of one attribute, as levels with weights, are solved factor by
/// factor. The optimum is that of the whole problem.
#[test]
fn sums_that_differ_in_one_family_are_solved_as_products() {
    let schema = schema(&SIZES);
    let group = |positions: &[usize], families: &[Family], weight| {
        QueryGroup::product(&schema, set(positions), families, weight).unwrap()
    };
    let groups = vec![
        group(&[0, 1, 2], &[Family::IDENTITY, Family::PREFIX, Family::RANGE], 0.5),
        group(&[0, 1, 2], &[Family::IDENTITY, Family::PREFIX, Family::IDENTITY], 2.0),
        group(&[0, 2], &[Family::IDENTITY, Family::PREFIX], 1.5),
        group(&[2], &[Family::CIRCULAR], 1.0),
    ];
    let workload = GroupedWorkload::new(schema.clone(), groups).unwrap();
    let plan = QuerySmasher::default().plan(&workload, cost(1.0)).unwrap();
    let decomposition = Decomposition::of(&workload).unwrap();
    let solver = CertifiedSolver::default();
    let mut root = 0.0;
    for residual in decomposition.residuals() {
        assert!(residual.is_product() || residual.sizes.len() == 1);
        if residual.attributes.is_empty() {
            root += residual.terms[0].coefficient.sqrt();
            continue;
        }
        let terms = residual.terms.iter();
        let problem = SubspaceProblem {
            sizes: &residual.sizes,
            classes: &[],
            terms: terms.map(|t| (t.coefficient, decomposition.kernels(&t.kernels))).collect(),
        };
        root += solver.solve(&problem).unwrap().error.sqrt();
    }
    assert_relative_eq!(plan.total_variance(), root * root, max_relative = 1e-6);
    let bound = plan.lower_bound().unwrap();
    assert!(bound <= root * root && bound >= plan.total_variance() * (1.0 - 1e-6));
    for planner in planners() {
        match planner.plan(&workload, cost(1.0)) {
            Ok(plan) => check_against_matrices(&plan, &workload),
            Err(error) => assert_eq!(planner.name(), "hdmm-kronecker", "{error}"),
        }
    }
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
