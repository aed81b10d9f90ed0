//! Plans against closed forms and random competitors; the whole mechanism on small tables.

use approx::assert_relative_eq;
use rand::RngExt;

use super::plan::{Measurable, StagePlan};
use super::scouts::{ClosureResidual, closure, scouts};
use super::unbiased::UnbiasedPlan;
use super::*;
use crate::access::PrivateTable;
use crate::data::Records;
use crate::domain::AttributeSet;
use crate::estimation::ResidualEstimates;
use crate::estimation::soft_ipf::{LearnedFit, SetEvidence};
use crate::mechanism::{BatchMarginals, MarginalErrors, Mechanism, by_name};
use crate::schema::{LevelSchema, Schema};
use crate::test_support::{rho, rng, schema};
use crate::workload::{GroupedWorkload, attribute_sets};

fn cost(residuals: &[ClosureResidual], list: &[(AttributeSet, f64)]) -> f64 {
    let price = |set| residuals.iter().find(|residual| residual.set == set).unwrap().price;
    list.iter().map(|(set, precision)| price(*set) * precision / 2.0).sum()
}

/// The first measurements spend their shares, with λ ∝ √n within an order, and leave out the
/// largest sets beyond the limit of cells.
#[test]
fn the_first_measurements_spend_their_shares() {
    let schema = schema(&[5, 2, 7, 3, 1]);
    let sets = attribute_sets(&schema, &[4]).unwrap();
    let all = closure(&LevelSchema::without_levels(&schema), &sets).unwrap();
    assert!(all.iter().all(|residual| !residual.set.contains(4)));
    let shares = Staged::default().shares;
    let measured = scouts(&all, &shares, 0.2, 1e6).unwrap();
    let of_order = |n: usize| -> Vec<(AttributeSet, f64)> {
        measured.iter().copied().filter(|(set, _)| set.len() == n).collect()
    };
    for (order, share) in
        [shares.total, shares.singles, shares.pairs, shares.larger / 2.0, shares.larger / 2.0]
            .into_iter()
            .enumerate()
    {
        let list = of_order(order);
        assert_relative_eq!(cost(&all, &list), 0.2 * share, max_relative = 1e-12);
        let cells = |set: AttributeSet| -> f64 {
            set.positions().map(|p| schema.sizes()[p] as f64).product()
        };
        let ratio = |(set, precision): &(AttributeSet, f64)| precision / cells(*set).sqrt();
        assert!(list.iter().all(|entry| (ratio(entry) / ratio(&list[0]) - 1.0).abs() < 1e-12));
    }
    let few = scouts(&all, &shares, 0.2, 119.0).unwrap();
    assert_eq!(few.iter().filter(|(set, _)| set.len() > 2).count(), 2);
    assert!(scouts(&all, &shares, 0.2, 118.0).unwrap_err().to_string().contains("staged"));
}

/// Without earlier measurements, the unbiased plan is that of ResidualPlanner.
#[test]
fn the_unbiased_plan_is_that_of_residual_planner() {
    let schema = schema(&[5, 2, 7, 3]);
    let sets = attribute_sets(&schema, &[1, 3]).unwrap();
    let all = closure(&LevelSchema::without_levels(&schema), &sets).unwrap();
    let unknown = ResidualEstimates::new(&schema);
    let plan = UnbiasedPlan::new(&unknown, &all, &sets, 0.3).unwrap();
    let expected = BatchMarginals::plan(&schema, &sets, rho(0.3)).unwrap();
    assert_relative_eq!(plan.mean_l1, expected.expected_mean_l1(), max_relative = 1e-9);
    assert_eq!(plan.measurements.len(), expected.variances().count());
    for (set, variance) in expected.variances() {
        let found = plan.measurements.iter().find(|(of, _)| *of == set).unwrap();
        assert_relative_eq!(found.1, variance.recip(), max_relative = 1e-9);
    }
    // With earlier measurements it spends the budget on the residuals that they lack.
    let mut known = unknown;
    for (set, precision) in scouts(&all, &Staged::default().shares, 3.0, 1e6).unwrap() {
        let cells = schema.shape_of(set).unwrap().iter().product();
        known.update(set, &vec![0.0; cells], precision.recip()).unwrap();
    }
    let plan = UnbiasedPlan::new(&known, &all, &sets, 0.3).unwrap();
    assert_relative_eq!(cost(&all, &plan.measurements), 0.3, max_relative = 1e-9);
    assert!(plan.measurements.len() < all.len());
}

/// Evidence of the residuals of skewed records, and the known precisions.
fn evidence(schema: &Schema, sets: &[AttributeSet]) -> (ResidualEstimates, Vec<SetEvidence>) {
    let mut rng = rng(3);
    let mut known = ResidualEstimates::new(schema);
    for residual in closure(&LevelSchema::without_levels(schema), sets).unwrap() {
        let shape = schema.shape_of(residual.set).unwrap();
        let mut cells: Vec<f64> = (0..shape.iter().product::<usize>())
            .map(|_| if residual.set.is_empty() { 1000.0 } else { rng.random_range(-30.0..30.0) })
            .collect();
        crate::residual::centre_box(&shape, &mut cells);
        if residual.set.is_empty() {
            cells = vec![1000.0];
        }
        known.update(residual.set, &cells, 50.0).unwrap();
    }
    let used = AttributeSet::first(schema.sizes().len());
    let (fit, evidence) = LearnedFit::default().fit(known, used, &[], &[]).unwrap();
    (fit.into_residuals(), evidence)
}

/// A plan spends its budget, and no random reallocation of it has a smaller predicted error.
#[test]
fn no_reallocation_has_a_smaller_predicted_error() {
    let schema = schema(&[5, 2, 7, 3]);
    let sets = attribute_sets(&schema, &[3]).unwrap();
    let all = closure(&LevelSchema::without_levels(&schema), &sets).unwrap();
    let (known, evidence) = evidence(&schema, &sets);
    let domain = LevelSchema::without_levels(&schema);
    let price = |set| all.iter().find(|residual| residual.set == set).unwrap().price;
    let residuals = |more: &[(AttributeSet, f64)]| -> Vec<Measurable> {
        let precision = |set: AttributeSet| {
            let added = more.iter().find(|(of, _)| *of == set).map_or(0.0, |(_, added)| *added);
            known.precision(set) + added
        };
        let total = AttributeSet::EMPTY;
        std::iter::once(Measurable::total(price(total), precision(total)))
            .chain(
                evidence
                    .iter()
                    .map(|e| Measurable::new(e, &e.posterior, price(e.set), precision(e.set))),
            )
            .collect()
    };
    let error = |more: &[(AttributeSet, f64)]| StagePlan::error(&residuals(more), &sets);
    let mut rng = rng(4);
    for budget in [0.003, 0.1, 5.0] {
        let plan = StagePlan::new(residuals(&[]), &domain, &sets, budget);
        assert_relative_eq!(cost(&all, &plan.measurements), budget, max_relative = 1e-9);
        let best = error(&plan.measurements);
        assert!(best < 0.999 * error(&[]));
        for round in 0..300 {
            // A part of the budget moves from one residual to another.
            let mut moved = plan.measurements.clone();
            let from = rng.random_range(0..moved.len());
            let to = all[rng.random_range(0..all.len())].set;
            let part = [0.02, 0.3, 1.0][round % 3] * moved[from].1;
            let gained = part * price(moved[from].0) / price(to);
            moved[from].1 -= part;
            match moved.iter_mut().find(|(set, _)| *set == to) {
                Some(entry) => entry.1 += gained,
                None => moved.push((to, gained)),
            }
            assert!(error(&moved) > best * (1.0 - 2e-3), "{budget}: {} to {best}", error(&moved));
        }
    }
}

/// Records of a chain of dependent attributes.
fn chain(schema: &Schema, count: usize) -> Records {
    let mut rng = rng(5);
    let sizes = schema.sizes();
    let mut columns = vec![Vec::with_capacity(count); sizes.len()];
    for _ in 0..count {
        let mut value = 0u32;
        for (column, &n) in columns.iter_mut().zip(&sizes) {
            if rng.random_bool(0.3) {
                value = rng.random_range(0..100);
            }
            column.push(value % n as u32);
        }
    }
    let columns = columns.into_iter().map(crate::data::Column::from_iter).collect();
    Records::new(schema, columns).unwrap()
}

/// Every run spends the budget, and its estimates are nonnegative and more accurate than those of
/// ResidualPlanner; with a large budget the switch gives the errors of ResidualPlanner. A plan for
/// the true widths is at least as accurate, but for 5 %.
#[test]
fn runs_spend_the_budget_and_are_accurate() {
    let schema = schema(&[6, 5, 7, 4, 5]);
    let records = chain(&schema, 3000);
    let identity = crate::workload::GroupFamily::Product(crate::workload::Family::IDENTITY);
    let workload = GroupedWorkload::all_ways(schema, &identity, &[3]).unwrap();
    let error = |mechanism: &dyn Mechanism, budget: f64, seed: u64| {
        let mut rng = rng(seed);
        let mut table = PrivateTable::of_records(&records, rho(budget), &mut rng).unwrap();
        let mut errors = MarginalErrors::of_records(records.len());
        let mut nonnegative = true;
        let report = mechanism
            .run(&workload, &mut table, &mut |index, answers| {
                let set = workload.groups()[index].attributes();
                let truth = records.marginal(set).unwrap();
                nonnegative &= answers.iter().all(|x| *x >= 0.0);
                errors.add(answers.iter().zip(&truth).map(|(a, t)| a - t));
                Ok(())
            })
            .unwrap();
        assert_relative_eq!(table.accountant().spent(), budget, max_relative = 1e-9);
        let switched = report.details.iter().find(|(name, _)| *name == "residual_planner");
        (errors.mean_l1(), nonnegative, switched.is_some_and(|(_, value)| *value == 1.0))
    };
    let mean = |mechanism: &dyn Mechanism, budget: f64| -> f64 {
        (0..5).map(|seed| error(mechanism, budget, seed).0).sum::<f64>() / 5.0
    };
    let planner = by_name("residual-planner").unwrap();
    let staged = Staged::default();
    let (_, nonnegative, switched) = error(&staged, 0.01, 1);
    assert!(nonnegative && !switched);
    let at_small_budget = mean(&staged, 0.01);
    assert!(at_small_budget < 0.5 * mean(planner.as_ref(), 0.01));
    assert!(error(&staged, 1e4, 1).2);
    assert!(mean(&staged, 1e4) < 1.1 * mean(planner.as_ref(), 1e4));
    let mut exact = ResidualEstimates::new(workload.schema());
    for group in workload.groups() {
        let set = group.attributes();
        exact.update_by_marginal(set, &records.marginal(set).unwrap(), 1.0).unwrap();
    }
    let fitted = LearnedFit::default().fit(exact, AttributeSet::first(5), &[], &[]).unwrap();
    let oracle = KnownWidths::new(staged, fitted.1);
    assert!(mean(&oracle, 0.01) < 1.05 * at_small_budget);
    assert!(oracle.as_staged().is_none(), "a release of a plan that depends on the records");
}
