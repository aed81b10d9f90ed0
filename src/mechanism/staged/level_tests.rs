//! Levels in staged measurement: rounds, plans, and the error of whole runs.

use rand::RngExt;

use super::rounds::{expected_evidence, rounds};
use super::scouts::{ClosureResidual, closure, scouts};
use super::*;
use crate::access::PrivateTable;
use crate::data::{Column, Records};
use crate::domain::{Attribute, AttributeKind, AttributeSet, Hierarchy};
use crate::mechanism::{MarginalErrors, by_name};
use crate::schema::{LevelSchema, Schema};
use crate::test_support::{rho, rng, set};
use crate::workload::GroupedWorkload;

/// Areas inside the nodes of levels, and other attributes of given sizes.
fn schema(children: &[usize], others: &[usize]) -> Schema {
    let tree = Hierarchy::balanced(children).unwrap();
    let leaves = children.iter().product();
    let area = Attribute::new("area", leaves, AttributeKind::Categorical).with_hierarchy(tree);
    let other = |(k, size): (usize, &usize)| {
        Attribute::new(format!("B{k}"), *size, AttributeKind::Categorical)
    };
    Schema::new(std::iter::once(area).chain(others.iter().enumerate().map(other)).collect())
        .unwrap()
}

/// The first measurements are those of the closure, each once, and every round determines less than
/// the next: all that a product determines is in an earlier round, or a part of it.
#[test]
fn coarser_products_are_in_earlier_rounds() {
    let schema = schema(&[2, 3, 2], &[2, 3]);
    let domain = LevelSchema::new(&schema).unwrap();
    let all = closure(&domain, &[set(&[0, 1, 2])]).unwrap();
    // ∅, area or one of two levels, or none; each of the others or none.
    assert_eq!(all.len(), 4 * 2 * 2);
    let planned = scouts(&all, &Staged::default().shares, 1.0, 1e6).unwrap();
    let rounds = rounds(&domain, planned.clone());
    assert_eq!(rounds.len(), 4);
    assert_eq!(rounds.iter().flatten().count(), planned.len());
    let round_of = |set: AttributeSet| {
        rounds.iter().position(|round| round.iter().any(|(of, _)| *of == set)).unwrap()
    };
    for residual in &all {
        for below in domain.determined_by(residual.set) {
            assert!(round_of(below) <= round_of(residual.set));
            let is_coarser = below.len() == residual.set.len() && below != residual.set;
            if is_coarser && below.len() > 1 {
                assert!(round_of(below) <= round_of(residual.set));
                let depths = [below, residual.set].map(|set| domain.depth_of(set));
                assert_eq!(round_of(below) < round_of(residual.set), depths[0] < depths[1]);
            }
        }
    }
    let plain = LevelSchema::without_levels(&schema);
    let all = closure(&plain, &[set(&[0, 1, 2])]).unwrap();
    let planned = scouts(&all, &Staged::default().shares, 1.0, 1e6).unwrap();
    let (singles, products) = planned.into_iter().partition::<Vec<_>, _>(|(set, _)| set.len() < 2);
    let both: Vec<_> = singles.iter().chain(&products).copied().collect();
    assert_eq!(super::rounds::rounds(&plain, both), [singles, products]);
}

/// The expected evidence is the mean of the log-likelihood ratio at width 1 over its prior.
#[test]
fn the_expected_evidence_is_that_of_simulated_cells() {
    use rand_distr::{Distribution, StandardNormal};
    let mut rng = rng(8);
    let q = [3.0, 12.0, 0.5, 7.0];
    let (precision, price) = (0.05, 0.7);
    let residual = ClosureResidual { set: set(&[0]), price, cells: 4.0 };
    let expected = expected_evidence(&q, &residual, precision);
    let variance: f64 = price / precision;
    let trials = 200_000;
    let mut sum = 0.0;
    for _ in 0..trials {
        for q in q {
            let total = q * q + variance;
            let normal: f64 = StandardNormal.sample(&mut rng);
            let square = total * normal * normal;
            sum += 0.5 * (square / variance - square / total - (total / variance).ln());
        }
    }
    approx::assert_relative_eq!(sum / f64::from(trials), expected, max_relative = 0.02);
}

/// Records whose other attributes depend on the region, or on the area.
fn dependent(schema: &Schema, count: usize, by_area: bool, seed: u64) -> Records {
    let mut rng = rng(seed);
    let sizes = schema.sizes();
    let regions = schema.attributes()[0].hierarchy.as_ref().unwrap().levels()[0].node_of().to_vec();
    let mut columns = vec![Vec::with_capacity(count); sizes.len()];
    for _ in 0..count {
        // Small areas are more frequent in every region.
        let area = rng.random_range(0..sizes[0]).min(rng.random_range(0..sizes[0]));
        let key = if by_area { 7 * area + 3 } else { regions[area] as usize };
        columns[0].push(area as u32);
        for (k, column) in columns.iter_mut().enumerate().skip(1) {
            let n = sizes[k];
            let value = match rng.random_bool(0.5) {
                true => (key * (k + 2) + k) % n,
                false => rng.random_range(0..n),
            };
            column.push(value as u32);
        }
    }
    Records::new(schema, columns.into_iter().map(Column::from_iter).collect()).unwrap()
}

/// The mean L1 error of the groups of a workload, over seeds: with and without levels.
struct Errors {
    /// Per seed.
    with: Vec<f64>,
    without: Vec<f64>,
}

impl Errors {
    fn of(records: &Records, workload: &GroupedWorkload, budget: f64, seeds: u64) -> Self {
        let domain = LevelSchema::new(workload.schema()).unwrap();
        let extended = records.with_levels(&domain).unwrap();
        let error = |table: &Records, seed| {
            let mut rng = rng(seed);
            let mut table = PrivateTable::of_records(table, rho(budget), &mut rng).unwrap();
            let mut errors = MarginalErrors::of_records(records.len());
            let mechanism = by_name("staged").unwrap();
            let mut add = |index: usize, answers: &[f64]| {
                let group = &workload.groups()[index];
                let truth = records.marginal(group.attributes()).unwrap();
                let truth = group.answers(&truth).unwrap();
                errors.add(answers.iter().zip(&truth).map(|(a, t)| a - t));
                Ok(())
            };
            mechanism.run(workload, &mut table, &mut add).unwrap();
            approx::assert_relative_eq!(table.accountant().spent(), budget, max_relative = 1e-9);
            errors.mean_l1()
        };
        Errors {
            with: (0..seeds).map(|seed| error(&extended, seed)).collect(),
            without: (0..seeds).map(|seed| error(records, seed)).collect(),
        }
    }

    /// Returns the mean errors with and without levels, and the standard error of the difference.
    fn means(&self) -> [f64; 3] {
        let n = self.with.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
        let differences: Vec<f64> =
            self.with.iter().zip(&self.without).map(|(a, b)| a - b).collect();
        let centre = mean(&differences);
        let square = differences.iter().map(|d| (d - centre).powi(2)).sum::<f64>();
        [mean(&self.with), mean(&self.without), (square / (n - 1.0) / n).sqrt()]
    }
}

fn workload(schema: &Schema, text: &str) -> GroupedWorkload {
    GroupedWorkload::from_toml(schema, text, "W.toml", std::path::Path::new("")).unwrap()
}

const REGIONS: &str = "[[queries]]\nfamily = \"level(level 1)\"\nways = [1, 2]\n";
const PAIRS: &str = "[[queries]]\nfamily = \"identity\"\nways = [1, 2]\n";

/// The error of queries on regions, over 20 seeds: for six areas not larger than without levels
/// beyond three standard errors of the difference, for 64 areas less than 0.75 times that.
#[test]
fn levels_decrease_the_errors_of_their_queries() {
    for (children, factor) in [([2, 3], 1.0), ([8, 8], 0.75)] {
        let schema = schema(&children, &[2, 5, 8]);
        for (by_area, budget) in [(false, 0.001), (true, 0.01), (false, 0.1)] {
            let records = dependent(&schema, 5000, by_area, 1);
            let errors = Errors::of(&records, &workload(&schema, REGIONS), budget, 20);
            let [with, without, error] = errors.means();
            assert!(with <= factor * without + 3.0 * error, "{with} {without} ± {error}");
        }
    }
}

/// Prints the errors of tables of several sizes.
#[test]
#[ignore = "minutes; prints the comparison of docs/staged.md"]
fn errors_with_and_without_levels() {
    let both = format!("{REGIONS}{PAIRS}");
    for children in [&[2, 3][..], &[8, 8], &[8, 32], &[8, 8, 4]] {
        for (name, text) in [("region", REGIONS), ("pairs", PAIRS), ("both", &both)] {
            for by_area in [false, true] {
                for budget in [0.001, 0.01, 0.1, 1.0] {
                    let schema = schema(children, &[2, 5, 8]);
                    let records = dependent(&schema, 5000, by_area, 1);
                    let errors = Errors::of(&records, &workload(&schema, text), budget, 20);
                    let [with, without, error] = errors.means();
                    let ratio = with / without;
                    println!(
                        "{children:?} {name:7} by_area={by_area:5} rho={budget:5}: \
                         {with:.4} {without:.4} ratio {ratio:.3} ± {:.3}",
                        error / without
                    );
                }
            }
        }
    }
}
