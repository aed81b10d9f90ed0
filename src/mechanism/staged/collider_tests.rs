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

/// Returns the expected L1 error of a pair of binary attributes by ResidualPlanner for all pairs of
/// n attributes.
///
/// With V_τ = v_τ Σ_γ n_γ and p_τ = 2^(−|τ|), the variances are σ_τ² = S √(p_τ/V_τ)/(2ρ) with
/// S = Σ √(V_τ p_τ), and a cell of a pair has variance Σ_{τ⊆γ} v_τ σ_τ².
fn unbiased(n: f64, budget: f64) -> f64 {
    // The number of residuals of an order, and of the pairs that contain one.
    let numbers = [1.0, n, n * (n - 1.0) / 2.0];
    let pairs = [numbers[2], n - 1.0, 1.0];
    // v_τ = 4^(k − 2) p_τ for a residual on k attributes.
    let price = |k: usize| 0.5f64.powi(k as i32);
    let coefficient = |k: usize| 0.25f64.powi(2 - k as i32) * price(k);
    let scale: f64 = (0..3)
        .map(|k| numbers[k] * (4.0 * pairs[k] * coefficient(k) * price(k)).sqrt())
        .sum::<f64>()
        / (2.0 * budget);
    let in_pair = [1.0, 2.0, 1.0];
    let variance: f64 = (0..3)
        .map(|k| {
            let of_residual = scale * (price(k) / (4.0 * pairs[k] * coefficient(k))).sqrt();
            in_pair[k] * coefficient(k) * of_residual
        })
        .sum();
    4.0 * (2.0 / PI * variance).sqrt()
}

/// The errors of every pair are at most 3 times the unbiased ones (for `planned`, with one stage, 4
/// times), and fall like 1/√ρ, for AND, OR and XOR on 3, 8 and 12 attributes, with and without the
/// switch to unbiased answers.
#[test]
fn dependences_that_the_model_creates_are_corrected() {
    let identity = GroupFamily::Product(Family::IDENTITY);
    for attributes in [3, 8, 12] {
        let schema = schema(&vec![2; attributes]);
        let workload = GroupedWorkload::all_ways(schema.clone(), &identity, &[2]).unwrap();
        for (name, operation) in OPERATIONS {
            let records = colliders(&schema, operation);
            for (mechanism, limit) in [("staged(switch=0)", 3.0), ("staged", 3.0), ("planned", 4.0)]
            {
                let mechanism = by_name(mechanism).unwrap();
                let mut means = Vec::new();
                for budget in [0.01, 0.16, 2.56] {
                    let found = errors(&*mechanism, &records, &workload, budget);
                    let bound = limit * unbiased(attributes as f64, budget);
                    let largest = found.iter().copied().fold(0.0, f64::max);
                    let case = format!("{mechanism:?}, {name}, {attributes}, ρ = {budget}");
                    assert!(largest < bound, "{case}: {largest} of {bound}");
                    means.push(found.iter().sum::<f64>() / found.len() as f64);
                }
                // 1/√ρ gives a factor of 16.
                let factor = means[0] / means[2];
                assert!((8.0..32.0).contains(&factor), "{name}, {attributes}: {means:?}");
            }
        }
    }
}

/// The closed form of the unbiased error is that of the mechanism.
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
        let expected = unbiased(attributes as f64, 0.1);
        assert!((mean / expected - 1.0).abs() < 0.25, "{attributes}: {mean}, {expected}");
    }
}
