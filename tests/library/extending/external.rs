//! A workload family, a planner and a mechanism outside the library, through its public interface.
//!
//! `docs/extending.md` refers to these files. `examples/` has a strategy and a subspace solver.

use approx::assert_relative_eq;
use matmech::access::PrivateTable;
use matmech::data::Records;
use matmech::mechanism::Mechanism;
use matmech::planner::{Planner, planners};
use matmech::privacy::{PrivacyCost, Rho};
use matmech::strategy::StrategySelector;
use matmech::workload::{Family, GroupFamily, GroupedWorkload, Workload};
use matmech::{Error, Optimal, Schema};
use ndarray::Array2;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::cheapest::Cheapest;
use super::equal_marginals::EqualMarginals;
use super::suffix::SUFFIX;
use super::whole_domain::WholeDomain;

fn one_and_two_way(family: Family) -> GroupedWorkload {
    let schema = Schema::uniform(5, 3).unwrap();
    GroupedWorkload::all_ways(schema, &GroupFamily::Product(family), &[1, 2]).unwrap()
}

/// The closed form against the rows; the error of suffix queries against that of prefix queries,
/// their mirror image.
#[test]
fn an_external_family_is_solved_and_planned() {
    let rows: Vec<f64> = SUFFIX.rows(&[5]).unwrap().flatten().collect();
    let rows = Array2::from_shape_vec((5, 5), rows).unwrap();
    assert_eq!(SUFFIX.gram(&[5]).unwrap(), rows.t().dot(&rows));
    assert_eq!(SUFFIX.count(&[5]).unwrap().to_string(), "5");
    assert!(SUFFIX.count(&[5, 5]).unwrap_err().to_string().contains("suffix"));

    let optimum = |family| {
        let gram = Workload::family(family, &[24]).unwrap().gram().unwrap();
        Optimal::default().select(&gram).unwrap().error
    };
    assert_relative_eq!(optimum(SUFFIX), optimum(Family::PREFIX), max_relative = 1e-6);
    for planner in planners() {
        // The prefix basis is not symmetric under reversal.
        if planner.name().starts_with("residual-planner-plus") {
            continue;
        }
        let rmse =
            |family| planner.plan(&one_and_two_way(family), PrivacyCost::UNIT).unwrap().rmse();
        assert_relative_eq!(rmse(SUFFIX), rmse(Family::PREFIX), max_relative = 1e-5);
    }
}

#[test]
fn an_external_planner_has_the_error_of_its_best_basis() {
    for family in [Family::IDENTITY, Family::PREFIX, Family::CIRCULAR] {
        let workload = one_and_two_way(family);
        let plan_by = |name: &str| {
            let planner = planners().into_iter().find(|planner| planner.name() == name).unwrap();
            planner.plan(&workload, PrivacyCost::UNIT).unwrap()
        };
        let plan = Cheapest.plan(&workload, PrivacyCost::UNIT).unwrap();
        assert_eq!(plan.planner(), "cheapest");
        assert_relative_eq!(plan.recomputed_privacy_cost(), 1.0, max_relative = 1e-9);
        let best = plan_by("residual-planner").rmse().min(plan_by("weighted-fourier").rmse());
        assert!(plan.rmse() <= best * (1.0 + 1e-12));
        let bound = plan_by("query-smasher").lower_bound_rmse().unwrap();
        assert!(plan.rmse() >= bound * (1.0 - 1e-9));
    }
}

/// The closed form of 1- and 2-way marginals of 3 attributes of 5 values: a cell of a k-way
/// marginal is a sum of 5^(3−k) cells, and there are 5^k of them.
#[test]
fn an_external_planner_of_any_measurements_has_the_errors_of_its_closed_form() {
    let workload = one_and_two_way(Family::IDENTITY);
    let plan = WholeDomain.plan(&workload, PrivacyCost::new(0.5).unwrap()).unwrap();
    assert_eq!((plan.planner(), plan.measurements().len()), ("whole-domain", 1));
    assert_relative_eq!(plan.recomputed_privacy_cost(), 0.5, max_relative = 1e-12);
    for group in plan.groups() {
        assert_relative_eq!(group.variance, 250.0, max_relative = 1e-12);
    }
    assert_relative_eq!(plan.total_variance(), 6.0 * 250.0, max_relative = 1e-12);
}

/// The mean sum of squared errors over 400 runs is within five standard errors of the closed form;
/// its relative standard deviation per run is at most √(2/5). Every run spends exactly the budget.
#[test]
fn the_errors_of_an_external_mechanism_match_its_closed_form() {
    let workload = one_and_two_way(Family::PREFIX);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let records = Records::uniform(workload.schema(), 500, &mut rng).unwrap();
    let rho = Rho::new(0.8).unwrap();
    let expected = EqualMarginals.expected(&workload, rho).unwrap().squared_error.unwrap();
    let runs = 400;
    let mut sum = 0.0;
    for _ in 0..runs {
        let mut table = PrivateTable::of_records(&records, rho, &mut rng).unwrap();
        EqualMarginals
            .run(&workload, &mut table, &mut |index, answers| {
                let group = &workload.groups()[index];
                let exact = group.answers(&records.marginal(group.attributes())?)?;
                sum += answers.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                Ok(())
            })
            .unwrap();
        assert!((table.accountant().spent() - rho.get()).abs() < 1e-9);
    }
    let mean = sum / f64::from(runs);
    assert!(
        (mean / expected - 1.0).abs() < 5.0 * (0.4 / f64::from(runs)).sqrt(),
        "{mean} {expected}"
    );
}

#[test]
fn an_external_mechanism_cannot_exceed_the_budget() {
    let workload = one_and_two_way(Family::IDENTITY);
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let records = Records::uniform(workload.schema(), 50, &mut rng).unwrap();
    let mut table = PrivateTable::of_records(&records, Rho::new(0.5).unwrap(), &mut rng).unwrap();
    EqualMarginals.run(&workload, &mut table, &mut |_, _| Ok(())).unwrap();
    let mut answered = 0;
    let again = EqualMarginals.run(&workload, &mut table, &mut |_, _| {
        answered += 1;
        Ok(())
    });
    assert!(matches!(again, Err(Error::BudgetExhausted { left: 0.0, .. })) && answered == 0);
}
