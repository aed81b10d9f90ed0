//! Colliders: C is a function of two independent coins A and B.
//!
//! A fit to the pairs (A, C) and (B, C) makes A and B dependent. The pair (A, B) has no dependence,
//! so it is rejected before the fit and must be found after it.

use std::f64::consts::PI;

use rand::RngExt;

use crate::access::PrivateTable;
use crate::data::{Column, Records};
use crate::mechanism::{Mechanism, by_name};
use crate::schema::Schema;
use crate::test_support::{rho, rng, schema};
use crate::workload::{Family, GroupFamily, GroupedWorkload};

const RECORDS: usize = 20_000;

type Operation = fn(bool, bool) -> bool;

/// AND, OR and XOR.
const OPERATIONS: [(&str, Operation); 3] =
    [("and", |a, b| a && b), ("or", |a, b| a || b), ("xor", |a, b| a != b)];

/// Records of fair coins of which every third is the operation on the two before it.
fn colliders(schema: &Schema, operation: Operation) -> Records {
    let mut rng = rng(11);
    let mut columns = vec![Vec::with_capacity(RECORDS); schema.sizes().len()];
    for _ in 0..RECORDS {
        let mut coins = Vec::<bool>::new();
        for (k, column) in columns.iter_mut().enumerate() {
            let value = match k % 3 {
                2 => operation(coins[k - 2], coins[k - 1]),
                _ => rng.random_bool(0.5),
            };
            coins.push(value);
            column.push(u32::from(value));
        }
    }
    Records::new(schema, columns.into_iter().map(Column::from_iter).collect()).unwrap()
}

/// Returns the L1 error in records of every pair, averaged over seeds.
fn errors(
    mechanism: &dyn Mechanism,
    records: &Records,
    workload: &GroupedWorkload,
    budget: f64,
) -> Vec<f64> {
    const SEEDS: u64 = 6;
    let mut errors = vec![0.0; workload.groups().len()];
    for seed in 0..SEEDS {
        let mut rng = rng(seed);
        let mut table = PrivateTable::of_records(records, rho(budget), &mut rng).unwrap();
        let mut add = |index: usize, answers: &[f64]| {
            let truth = records.marginal(workload.groups()[index].attributes()).unwrap();
            let l1: f64 = answers.iter().zip(&truth).map(|(a, t)| (a - t).abs()).sum();
            errors[index] += l1 / SEEDS as f64;
            Ok(())
        };
        mechanism.run(workload, &mut table, &mut add).unwrap();
    }
    errors
}

/// p_τ of a residual on k binary attributes.
fn price(k: usize) -> f64 {
    0.5f64.powi(k as i32)
}

/// v_τ of a residual on k of the two binary attributes of a pair.
fn coefficient(k: usize) -> f64 {
    0.25f64.powi(2 - k as i32) * price(k)
}

/// The numbers of residuals on 0, 1 and 2 of n attributes.
fn numbers(n: f64) -> [f64; 3] {
    [1.0, n, n * (n - 1.0) / 2.0]
}

/// Returns the expected L1 error of the unbiased estimate of a pair of binary attributes.
///
/// A cell has variance Σ_{τ⊆γ} v_τ σ_τ², for given σ_τ² by the number of attributes.
fn unbiased(variances: [f64; 3]) -> f64 {
    let term = |k: usize| [1.0, 2.0, 1.0][k] * coefficient(k) * variances[k];
    4.0 * (2.0 / PI * (0..3).map(term).sum::<f64>()).sqrt()
}

/// Returns the variances of ResidualPlanner for all pairs of n attributes.
///
/// With V_τ = v_τ Σ_γ n_γ, σ_τ² = S √(p_τ/V_τ)/(2ρ), S = Σ √(V_τ p_τ).
fn of_residual_planner(n: f64, budget: f64) -> [f64; 3] {
    let pairs = [numbers(n)[2], n - 1.0, 1.0];
    let value = |k: usize| 4.0 * pairs[k] * coefficient(k);
    let sum: f64 = (0..3).map(|k| numbers(n)[k] * (value(k) * price(k)).sqrt()).sum();
    [0, 1, 2].map(|k| sum / (2.0 * budget) * (price(k) / value(k)).sqrt())
}

/// Returns the variances of a budget divided by shares: σ_τ² = (number) p_τ/(2 share ρ).
fn of_shares(n: f64, budget: f64, shares: [f64; 3]) -> [f64; 3] {
    let all: f64 = shares.iter().sum();
    [0, 1, 2].map(|k| numbers(n)[k] * price(k) * all / (2.0 * shares[k] * budget))
}

/// The errors of every pair are at most a multiple of the unbiased ones, and fall like 1/√ρ, for AND,
/// OR and XOR on 3, 8 and 12 attributes, with and without the switch to unbiased answers.
///
/// The unbiased errors are those of ResidualPlanner, and for `planned` those of its own measurements.
/// The multiples are 3 (the largest are 1.67, and 1.95 without the switch) and 5 for `planned` (3.9): a
/// pair whose dependence in the records is too weak for its evidence is not accepted, and a pair that
/// the first measurements show to be weak gets less of the budget later.
#[test]
fn dependences_that_the_model_creates_are_corrected() {
    let identity = GroupFamily::Product(Family::IDENTITY);
    let mut failures = Vec::new();
    for attributes in [3, 8, 12] {
        let schema = schema(&vec![2; attributes]);
        let workload = GroupedWorkload::all_ways(schema.clone(), &identity, &[2]).unwrap();
        let n = attributes as f64;
        for (name, operation) in OPERATIONS {
            let records = colliders(&schema, operation);
            for mechanism in ["staged(switch=0)", "staged", "planned"] {
                let of = by_name(mechanism).unwrap();
                let mut means = Vec::new();
                for budget in [0.01, 0.16, 2.56] {
                    let found = errors(&*of, &records, &workload, budget);
                    let (limit, variances) = match mechanism {
                        "planned" => (5.0, of_shares(n, budget, [0.005, 0.1, 0.595])),
                        _ => (3.0, of_residual_planner(n, budget)),
                    };
                    let bound = limit * unbiased(variances);
                    let largest = found.iter().copied().fold(0.0, f64::max);
                    let case = format!("{mechanism}, {name}, {attributes}, ρ = {budget}");
                    if largest >= bound {
                        failures.push(format!("{case}: {largest} of {bound}"));
                    }
                    means.push(found.iter().sum::<f64>() / found.len() as f64);
                }
                // 1/√ρ gives a factor of 16.
                let factor = means[0] / means[2];
                let case = format!("{mechanism}, {name}, {attributes}");
                if !(6.0..40.0).contains(&factor) {
                    failures.push(format!("{case}: {means:?}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// The closed forms of the unbiased error are those of ResidualPlanner.
#[test]
fn the_unbiased_error_is_that_of_residual_planner() {
    let identity = GroupFamily::Product(Family::IDENTITY);
    for attributes in [3, 8] {
        let schema = schema(&vec![2; attributes]);
        let workload = GroupedWorkload::all_ways(schema.clone(), &identity, &[2]).unwrap();
        let planner = by_name("residual-planner").unwrap();
        let records = colliders(&schema, OPERATIONS[0].1);
        let found = errors(&*planner, &records, &workload, 0.1);
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        let expected = unbiased(of_residual_planner(attributes as f64, 0.1));
        assert!((mean / expected - 1.0).abs() < 0.25, "{attributes}: {mean}, {expected}");
    }
}
